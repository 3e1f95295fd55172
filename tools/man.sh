#!/bin/sh
# A manual page from what --help says, which comes from the program's tables of options.
# Usage: sh tools/man.sh VERSION PROGRAM [COMMAND [CHECK]] > PAGE.1
set -e
version=$1
shift
program=$(basename "$1")
name=$program${2:+-$2}${3:+-$3}
above=${2:+$program${3:+-$2}}           # whose list has a line of this one
# which is shorter than its own description
short=
[ -z "$2" ] || short=$("$1" ${3:+"$2"} --help |
    awk -v name="${3:-$2}" '$1 == name { sub(/^ *[a-z]+ */, ""); print; exit }')
ARGP_HELP_FMT='rmargin=9999,opt-doc-col=90' "$@" --help |
    awk -v name="$name" -v version="$version" -v short="$short" -v above="$above" '
function safe(text) {                   # of a line of its own: no dot or quote begins it
    gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
    if (text ~ /^[.\x27]/) text = "\\\&" text
    return text
}
function bold(page) { return "\\fB" safe(page) "\\fR(1)" }
function plain() { if (indented) { print ".fi\n.RE"; indented = 0 } }
BEGIN {
    upper = toupper(name); gsub(/-/, "\\-", upper)
    printf ".TH \"%s\" 1 \"\" \"Systole %s\" \"Systole\"\n", upper, version
}
NR == 1 || /^  or: / {                  # usages come first
    line = $0; sub(/^Usage: /, "", line); sub(/^  or:  /, "", line)
    usage[++usages] = line; next
}
!described {
    if ($0 == "" && summary == "") next
    if ($0 != "" && $0 !~ /^ +-/) { summary = summary (summary == "" ? "" : " ") $0; next }
    described = 1
    first = short != "" ? short : summary
    if (short == "") sub(/[.:] .*/, "", first)
    sub(/[.:]$/, "", first)
    print ".SH NAME\n" safe(name) " \\- " safe(tolower(substr(first, 1, 1)) substr(first, 2))
    print ".SH SYNOPSIS"
    for (i = 1; i <= usages; i++) print (i > 1 ? ".br\n" : "") safe(usage[i])
    print ".SH DESCRIPTION\n" safe(summary)
}
/^ +--?[^ ]/ && !listed {
    plain()
    if (!options) { print ".SH OPTIONS"; options = 1 }
    names = substr($0, 1, 89); meaning = substr($0, 91)
    sub(/^ +/, "", names); sub(/ +$/, "", names); sub(/^ +/, "", meaning)
    print ".TP\n\\fB" safe(names) "\\fR\n" safe(meaning)
    if (names ~ /--usage/) listed = 1   # the last option; what follows are examples
    next
}
/^ [A-Z].*:$/ { plain(); line = $0; sub(/^ /, "", line); sub(/:$/, "", line)
                if (!options) print ".SH OPTIONS"
                print ".SS " safe(line); options = 1; next }
/^Mandatory or optional arguments/ { next }
/^  [a-z]+ / && below == "" { below = $1 }      # the first of a list of commands or checks
/^  / { if (options == 1) { print ".SH NOTES"; options = 2 }
        if (!indented) { print ".RS\n.nf"; indented = 1 }
        line = $0; sub(/^  /, "", line); print safe(line); next }
/^$/ { plain(); if (options != 1) print ".PP"; next }
{ plain()
  if (options == 1) { print ".SH NOTES"; options = 2 }
  if (!options) print ".PP"
  if ($0 ~ /^Examples?:$/) { print ".SH EXAMPLES"; next }
  print safe($0); if ($0 ~ /:$/) print ".br" }
END { plain()
      see = above != "" ? bold(above) : name == "systole" ? bold("systole-view") : bold("systole")
      if (usage[1] ~ /^systole (check )?(COMMAND|CHECK) /)
          see = see "; each has a page, as " bold(name "-" below)
      print ".SH SEE ALSO\n" see }
'
