#!/bin/sh
# systole-view without a window: how it fails. Pictures: tests/cli/view_window.sh, tests/viz/app/test_panels.c.
viewer=${VIEWER-./systole-view} systole=${SYSTOLE:-./systole}
[ -n "$viewer" ] && [ -x "$viewer" ] || { echo "skipped: no systole-view (make view)"; exit 0; }
dir=${TMPDIR:-/tmp}/systole_view_cli.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "view_cli: $*"; status=1; }
unset DISPLAY WAYLAND_DISPLAY

expect() {          # part of the message, arguments
    message=$1; shift
    "$viewer" "$@" >"$dir/out" 2>"$dir/err"
    code=$?
    [ $code -eq 1 ] || fail "status $code of: $*"
    [ "$(wc -l <"$dir/err")" -eq 1 ] || fail "not one line of: $*: $(cat "$dir/err")"
    grep -qF -- "$message" "$dir/err" || fail "no \"$message\" of: $*: $(cat "$dir/err")"
    [ ! -s "$dir/out" ] || fail "output of: $*"
}
"$viewer" --bogus >"$dir/out" 2>&1
[ $? -eq 1 ] || fail "status of an option that is none: $?"
"$viewer" --help >/dev/full 2>"$dir/err"
[ $? -eq 1 ] && grep -q 'No space left on device' "$dir/err" || fail "help to a full disk"
expect 'name a run: a folder made with --out, or a .strace'
expect '/nowhere.strace' /nowhere.strace
expect "has no trace.strace: run again with --trace $dir/trace.strace" "$dir"
expect 'no panel is called "timelin" (did you mean "timeline"?)' x --panel timelin
expect '"12" is no size: write WIDTHxHEIGHT' x --size 12
expect '"5x5" is no size' x --size 5x5
expect '"20:10" is no range of cycles' x --range 20:10
expect '"a:b" is no range of cycles' x --range a:b
expect '--launch takes a number, from 0 on, or "last", not "first"' x --launch first
expect '--core takes 0 to' x --core -1
expect '--scale takes 50 to 400, not "1000"' x --scale 1000
expect 'no theme is called "drak" (did you mean "dark"?)' x --theme drak
expect '"7" is no place' x --pointer 7
expect '--cursor takes a cycle, 0 or more, not "-5"' x --cursor=-5
expect 'what is "c"?' a b c
head -c 1000 /dev/zero >"$dir/zero.strace"
expect 'zero.strace' "$dir/zero.strace" --png "$dir/p.png"
[ ! -e "$dir/p.png" ] || fail "a picture of nothing"

# the table of keys in the documentation is the program's
# no display: one message, and no window that nobody sees
"$systole" run examples/02_mxu_tile.tasm --tpu v3 --trace "$dir/t.strace" >"$dir/out" \
    || fail "no trace"
timeout 10 "$viewer" "$dir/t.strace" >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ] || fail "without a display: not status 1"
grep -q 'no window can be opened (.*): --png FILE draws without one' "$dir/err" \
    || fail "without a display: $(cat "$dir/err")"

expect 'there is no --cursor 1000000' "$dir/t.strace" --cursor 1000000 --png "$dir/c.png"
for cycle in 60 200; do
    "$viewer" "$dir/t.strace" --panel wavefront --cursor $cycle --png "$dir/$cycle.png" >"$dir/out" \
        || fail "no picture at cycle $cycle"
done
cmp -s "$dir/60.png" "$dir/200.png" && fail "two cycles, one picture"

# a folder whose trace is of another run
"$systole" run examples/02_mxu_tile.tasm --tpu v2 --out "$dir/run" >"$dir/out" || fail "no folder"
"$viewer" "$dir/run" --png "$dir/c.png" >"$dir/out" || fail "no picture of a folder"
cp "$dir/t.strace" "$dir/run/trace.strace"
expect 'its trace.strace is of another run than its stats.json' "$dir/run" --png "$dir/c.png"

"$viewer" --keys >"$dir/keys"
[ "$(wc -l <"$dir/keys")" -gt 30 ] || fail "no keys"
while IFS= read -r line; do
    grep -qFx -- "$line" docs/viewer.md || fail "docs/viewer.md lacks: $line"
done <"$dir/keys"

"$viewer" --help | grep -q 'systole-view t.strace --range' || fail "help has no example"
exit $status
