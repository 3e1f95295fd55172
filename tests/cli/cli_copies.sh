#!/bin/sh
# tools/copies.sh: copies of known sizes against a TPU v4, and how it fails.
. tests/cli/cli_rig.inc

SYSTOLE=$systole sh tools/copies.sh --csv >"$work/csv" || fail "copies.sh: status $?"
[ "$(wc -l <"$work/csv")" -eq 9 ] || fail "8 rows expected: $(cat "$work/csv")"
# a start-up time and a rate, each measured on its own: 5 % leaves room for what HBM does besides
awk -F, 'NR > 1 && $2 == "v4" { n++; e = ($5 - $4) / $4; if (e > .05 || e < -.05) print }
    END { if (n != 6) print n " rows of v4" }' "$work/csv" >"$work/off"
[ -s "$work/off" ] && fail "off by more than 5 %: $(cat "$work/off")"
# 1 GiB read and written at the rate of two dies, less turns of the buses; single banks are
# refreshed while others go on, so refreshes do not cost it their 9 % of the time
awk -F, '$3 == 1073741824 { n++; e = ($5 - $4) / $4; if (e > .05 || e < 0) print }
    END { if (n != 1) print n }' "$work/csv" >"$work/off"
[ -s "$work/off" ] && fail "the long copy on v7x: $(cat "$work/off")"
SYSTOLE=$systole sh tools/copies.sh | grep -q '^copy HBM to CMEM *v4 *2048 B *0.45 us' ||
    fail "no table"
sh tools/copies.sh --all >"$work/log"
[ $? -eq 2 ] || fail "an unknown argument is taken"
[ $failures -eq 0 ]
