#!/bin/sh
# systole-view with two runs: they are compared, and a second one that is no run is one message.
viewer=${VIEWER-./systole-view} systole=${SYSTOLE:-./systole}
[ -n "$viewer" ] && [ -x "$viewer" ] || { echo "skipped: no systole-view (make view)"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
status=0
fail() { echo "view_compare: $*"; status=1; }
unset DISPLAY WAYLAND_DISPLAY

"$systole" run examples/03_double_buffered_matmul.tasm --tpu v3 --trace "$dir/a.strace" >/dev/null
"$systole" run examples/04_pipelined_matmul_v5e.tasm --tpu v5e --trace "$dir/b.strace" >/dev/null
picture() {
    "$viewer" "$@" --png "$dir/p.png" >"$dir/out" 2>"$dir/err" || fail "$*: $(cat "$dir/err")"
}
picture "$dir/a.strace" "$dir/b.strace"
grep -q 'the panel compare of ' "$dir/out" || fail "two runs do not open to be compared"
cp "$dir/p.png" "$dir/two.png"
picture "$dir/a.strace" --with "$dir/b.strace"
cmp -s "$dir/p.png" "$dir/two.png" || fail "--with differs from a second name"
picture "$dir/a.strace" "$dir/b.strace" --panel timeline
grep -q 'the panel timeline of ' "$dir/out" || fail "--panel with two runs"
picture "$dir/a.strace" --panel compare
cmp -s "$dir/p.png" "$dir/two.png" && fail "one run looks like two"

# a first run, a second that is none, and what is said
refused() {
    rm -f "$dir/p.png"
    "$viewer" "$dir/a.strace" "$1" --png "$dir/p.png" >"$dir/out" 2>"$dir/err" && fail "opens $1"
    [ "$(wc -l <"$dir/err")" -eq 1 ] || fail "not one line: $(cat "$dir/err")"
    grep -qF -- "$2" "$dir/err" || fail "no \"$2\" in: $(cat "$dir/err")"
    [ ! -e "$dir/p.png" ] || fail "a picture of $1"
}
head -c 3000 /dev/zero >"$dir/zero.strace"
mkdir "$dir/folder"
head -c 12 "$dir/b.strace" >"$dir/head.strace"
refused "$dir/zero.strace" "$dir/zero.strace: not a .strace"
refused examples/mnist_mlp.json 'examples/mnist_mlp.json: not a .strace'
refused "$dir/none" "$dir/none: cannot read: No such file or directory"
refused "$dir/folder" "$dir/folder has no trace.strace: run again with --trace"
refused "$dir/head.strace" "$dir/head.strace: "
"$viewer" a b --with c >"$dir/out" 2>"$dir/err" && fail "three runs"
grep -qF 'one run, or two to compare: what is ' "$dir/err" || fail "three: $(cat "$dir/err")"
exit $status
