#!/bin/sh
# systole chips: what it prints, and how it fails.
systole=${SYSTOLE:-./systole}
out=${TMPDIR:-/tmp}/systole_chips.$$
trap 'rm -f "$out" "$out.err"' EXIT
status=0
fail() { echo "chips: $*"; status=1; }

$systole chips >"$out" || fail "the list fails"
chips=$(for file in sim/chips/*.ini; do basename "$file" .ini; done)
for chip in $chips; do
    grep -q "^$chip " "$out" || fail "$chip is not listed"
done
grep -q '^v7x .* 2306.87 (2307) ' "$out" || fail "the peak of v7x is not the published one"
grep -q 'all computed peaks within 1 %' "$out" || fail "no verdict on the peaks"

$systole chips v3 --set mxu.count=8 >"$out" || fail "v3 cannot be printed"
keys=0
for key in $(sed -n 's/^PARAM[_A-Z]*([a-z]*, *\([a-z0-9_]*\),.*/\1/p' sim/chip/params.def); do
    keys=$((keys + 1))
    grep -q "^  $key " "$out" || fail "$key is not printed"
done
[ $keys -ge 80 ] || fail "only $keys keys found in sim/chip/params.def"
grep -q '^  count  *8 .*--set$' "$out" || fail "--set is not shown as the origin"

$systole chips v6e >"$out" || fail "v6e cannot be printed"
grep -q '^  int8    1835.01 TOP/s    computed, 1836 published (-0.05 %)$' "$out" ||
    fail "the int8 peak of v6e is not printed"
grep -q '^  v6e-128: 8x16 chips, 128 cores, ring along y$' "$out" ||
    fail "the slices of v6e are not printed"

$systole chips --timing-doc >"$out" || { fail "no timing document"; exit 1; }
cmp -s "$out" docs/timing.md ||
    fail "docs/timing.md is not what systole chips --timing-doc prints"
for key in $(sed -n 's/^PARAM[_A-Z]*([a-z]*, *\([a-z0-9_]*\),.*/\1/p' sim/chip/params.def); do
    grep -q "^| \`$key\` | .* [PDMCU] |$" "$out" || fail "$key is not in the timing document"
    grep -q "^- \`$key\`: .*: [PDMCU] " "$out" || fail "no source of $key in the timing document"
done

$systole chips --slice v5p-8 >"$out" || fail "the grid of v5p-8 cannot be printed"
grep -q '^v5p-8: 2x2x1 chips, 8 cores, mesh$' "$out" || fail "wrong grid of v5p-8"
$systole chips --slice v3-32 >"$out" || fail "the grid of v3-32 cannot be printed"
grep -q '^v3-32: 4x4 chips, 32 cores, mesh$' "$out" || fail "wrong grid of v3-32"

expect() {          # exit status, first line of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole chips "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    [ "$(head -1 "$out.err")" = "$message" ] || fail "$*: says \"$(head -1 "$out.err")\""
    [ -s "$out" ] && fail "$*: prints something before it fails"
}
expect 1 'systole: unknown chip "v33" (did you mean "v3"?); there are '"$(echo $chips | sed 's/ /, /g')" v33
expect 1 'systole: --set: unknown key "mxu.cuont" (did you mean "mxu.count"?)' v3 --set mxu.cuont=8
expect 1 'systole: no slice "tiny-7" (nearest: tiny-8); there are tiny, tiny-1, tiny-2, tiny-4, tiny-8, tiny-16, tiny-32' \
    --slice tiny-7
expect 1 'systole: nowhere/x.ini: cannot read: No such file or directory' nowhere/x.ini
expect 2 'systole chips: --timing-doc stands alone' v3 --timing-doc
expect 2 'systole chips: --set needs a chip' --set mxu.count=8
exit $status
