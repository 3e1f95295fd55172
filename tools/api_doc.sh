#!/bin/sh
# docs/api.md from include/systole.h and its parts, in the order in which it includes them: their
# comments as text, their declarations as code, section by section; a part's opening line, which
# says what is in the file, stays there. Usage: sh tools/api_doc.sh > docs/api.md; a test compares.
cd "$(dirname "$0")/.." || exit 1
awk '
function flush_code() {
    if (code != "") { printf "```c\n%s```\n\n", code; code = "" }
}
function flush_text() {
    if (text != "") { printf "%s\n", text; text = "" }
}
/^ \*\/|\*\/$/ && in_comment {
    line = $0; sub(/^ \* ?/, "", line); sub(/ ?\*\/$/, "", line); sub(/^ \/$/, "", line)
    if (line != "" && line != "/") text = text line "\n"
    in_comment = 0; next
}
in_comment {
    line = $0; sub(/^ \* ?/, "", line); text = text line "\n"; next
}
FNR == 1 { listing = 0 }
listing { next }
/^#ifndef SYSTOLE_H/ { print "# The C interface\n"; flush_text(); listing = 1; next }
/^#ifndef SYSTOLE_/ { text = ""; next }
/^#if|^#endif|^extern "C"|^}$|^#include|^#define SYSTOLE_[A-Z]*_H$/ { next }
/^\/\* ----- .* ----- \*\// {
    flush_code(); flush_text(); title = $0
    sub(/^\/\* ----- /, "", title); sub(/ ----- \*\/$/, "", title)
    print "## " title "\n"; next
}
/^\/\*.*\*\/$/ {
    flush_code(); line = $0; sub(/^\/\* ?/, "", line); sub(/ ?\*\/$/, "", line)
    text = text line "\n"; next
}
/^\/\*/ { flush_code(); line = $0; sub(/^\/\* ?/, "", line)
          if (line != "") text = text line "\n"; in_comment = 1; next }
/^$/ { flush_code(); next }
{ flush_text(); code = code $0 "\n" }
END { flush_code(); flush_text() }
' include/systole.h $(sed -n 's/^#include "\(.*\)"/include\/\1/p' include/systole.h)
