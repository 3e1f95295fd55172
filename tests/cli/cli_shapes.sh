#!/bin/sh
# systole check shapes: shapes that failed once, drawn ones of fixed seeds, and some of a seed that
# is another each time.
systole=${SYSTOLE:-./systole}
out=${TMPDIR:-/tmp}/systole_shapes.$$
trap 'rm -f "$out" "$out".*' EXIT
status=0
fail() { echo "shapes: $*"; status=1; }
run() { $systole check shapes "$@" >"$out" 2>"$out.err" || { fail "$*"; cat "$out" "$out.err"; }; }

run --values --no-shrink --from tests/found/shapes.txt
run --no-shrink --from tests/found/shapes_timing.txt
run --values --no-shrink --set vmem.bytes=524288 --from tests/found/shapes_small.txt

run --count 300 --seed 1 --json "$out.json"
grep -q '^conv  ' "$out" || fail "no table"
grep -q '^300 shapes on 7 chips, 30 compared with the interpreter; seed 1$' "$out" ||
    fail "no verdict"
grep -q '"tried": 300, "compared": 30, "done": 300' "$out.json" || fail "the JSON does not count"
run --count 60 --seed 2 --values --tpu v3,v6e

# a shape that fails is made smaller and printed as a command; so little memory holds no tiles
if $systole check shapes --set vmem.bytes=65536 'conv 8x12x12x64 3x3x64x64 --tpu v2' \
        >"$out" 2>"$out.err"; then
    fail "64 KiB of vector memory suffice"
fi
grep -q "^refused  systole check shapes --set vmem.bytes=65536 'conv " "$out" ||
    fail "no command for what is refused"
grep -qx 'systole: 1 of 1 shapes fail' "$out.err" || fail "says \"$(cat "$out.err")\""

expect() {          # exit status, first line of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole check shapes "$@" >"$out" 2>"$out.err"
    [ $? -eq "$wanted" ] || fail "$*: another exit status than $wanted"
    case $(head -1 "$out.err") in
        "$message"*) ;;
        *) fail "$*: says \"$(head -1 "$out.err")\"" ;;
    esac
}
expect 1 'systole: unknown kind "cnv"; there are conv' --kind cnv
expect 1 'systole: unknown chip "v33"' --tpu v33
expect 1 'systole: a shape is "conv" with its sizes' 'cov 1x1x1x1'
expect 1 'systole: "conv 8x8x8x8 --tpu v3" lacks a shape' 'conv 8x8x8x8 --tpu v3'
expect 1 'systole: nowhere: cannot be read' --from nowhere

# a failure that is known is told and fails nothing; others are kept as --from reads them
echo 'conv 8x12x12x64 3x3x64x64 --tpu v2' >"$out.known"
$systole check shapes --no-shrink --set vmem.bytes=65536 --known "$out.known" --keep "$out.kept" \
    'conv 8x12x12x64 3x3x64x64 --tpu v2' >"$out" 2>"$out.err" || fail "a known failure fails"
grep -q '^known: refused ' "$out" || fail "a known failure is not told"
[ ! -e "$out.kept" ] || fail "a known failure is kept"
! $systole check shapes --no-shrink --set vmem.bytes=65536 --known "$out.known" --keep "$out.kept" \
    'conv 8x12x12x65 3x3x65x64 --tpu v2' >"$out" 2>"$out.err" || fail "an unknown failure does not"
grep -qx 'conv 8x12x12x65 3x3x65x64 --tpu v2' "$out.kept" || fail "an unknown failure is not kept"

# A minute of a seed that is another each day, the same all day so that what passed passes again:
# what fails is made smaller and kept, and fails the test unless tests/found/known.txt has it.
# tools/run_tests.sh prints these lines of a test that passes, too.
found=${BUILD:-build}/found_shapes.txt
[ -d "${found%/*}" ] || found=$out.found
$systole check shapes --count 100000 --seconds "${SYSTOLE_SHAPES_SECONDS:-60}" \
    --seed "$(date -u +%Y%m%d)" --known tests/found/known.txt --keep "$found" >"$out" 2>"$out.err" || {
    sed 's/^/found: /' "$out" "$out.err"
    fail "a drawn shape fails; smaller ones are in $found, to be mended or kept in tests/found/"
}
grep '^seed' "$out"
exit $status
