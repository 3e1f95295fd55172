#!/bin/sh
# systole check shapes: shapes that failed once, drawn ones of fixed seeds, and some of a seed that
# is another each time, whose failures are told but fail nothing.
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

# a new seed; tools/run_tests.sh prints these lines of a test that passes, too
$systole check shapes --count 150 --seed random >"$out" 2>"$out.err" ||
    sed 's/^/found: /' "$out" "$out.err"
grep '^seed' "$out"
exit $status
