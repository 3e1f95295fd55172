#!/bin/sh
# The header of the PJRT interface has the sizes, offsets and numbers of the table of facts that it
# was written from, where that table is found: PJRT_ABI names it.
cd "$(dirname "$0")/../.." || exit 1
table=${PJRT_ABI:-../shared/facts/pjrt_abi.csv}
[ -r "$table" ] || { echo "skipped: no $table"; exit 0; }
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT

# fields between commas, those in quotes with commas of their own
awk '
    function split_row(line,    i, c, quoted) {
        n = 1; f[1] = ""
        for (i = 1; i <= length(line); i++) {
            c = substr(line, i, 1)
            if (c == "\"") quoted = !quoted
            else if (c == "," && !quoted) f[++n] = ""
            else f[n] = f[n] c
        }
    }
    FNR == NR { if (match($0, /^struct [A-Za-z_0-9]+ \{/)) has[$2] = 1
                if (match($0, /^enum [A-Za-z_0-9]+ \{/)) has[$2] = 1; next }
    { split_row($0) }
    f[1] == "enum" && has[f[2]] {
        printf "_Static_assert(%s == %s, \"\");\n", f[4], f[3]; rows++ }
    f[1] == "constant" && f[4] == "PJRT_API_MINOR" {
        printf "_Static_assert(PJRT_API_MINOR == %s, \"\");\n", f[3]; rows++ }
    f[1] == "constant" && f[4] == "STRUCT_SIZE" && has[f[2]] && match(f[9], /sizeof is [0-9]+/) {
        printf "_Static_assert(sizeof(struct %s) == %s, \"\");\n", f[2],
               substr(f[9], RSTART + 10, RLENGTH - 10); rows++ }
    (f[1] == "struct" || f[1] == "function") && has[f[2]] && f[4] != "(opaque)" {
        printf "_Static_assert(offsetof(struct %s, %s) == %s, \"\");\n", f[2], f[4], f[6]
        printf "_Static_assert(sizeof(((struct %s *)0)->%s) == %s, \"\");\n", f[2], f[4], f[7]
        rows += 2 }
    END { print "/* " rows " */" }
' pjrt/abi/abi.h "$table" >"$made/facts"
{ echo '#include "pjrt/abi/abi.h"'; cat "$made/facts"; } >"$made/facts.c"
count=$(grep -c _Static_assert "$made/facts")
[ "$count" -gt 2000 ] || { echo "only $count facts of the table were found"; exit 1; }
${CC:-cc} -std=c11 -I. -fsyntax-only "$made/facts.c" || exit 1
# and a wrong one would not pass
sed 's/struct PJRT_Api, PJRT_Client_Compile) == 200/struct PJRT_Api, PJRT_Client_Compile) == 208/' \
    "$made/facts.c" >"$made/wrong.c"
! ${CC:-cc} -std=c11 -I. -fsyntax-only "$made/wrong.c" 2>/dev/null ||
    { echo "a wrong offset was not noticed"; exit 1; }
echo "$count facts hold"
