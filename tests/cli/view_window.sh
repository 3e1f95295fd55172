#!/bin/sh
# The real window on a virtual display: keys and pointer change what is on screen as they should.
viewer=${VIEWER-./systole-view} systole=${SYSTOLE:-./systole}
status=0
fail() { echo "view_window: $*"; status=1; }
. tests/cli/window_rig.inc
need_viewer
systole=$(realpath "$systole")
example=$(realpath examples/03_double_buffered_matmul.tasm)
dir=${TMPDIR:-/tmp}/systole_view_window.$$
mkdir "$dir" && cd "$dir" || exit 1
trap 'kill $window $xvfb 2>/dev/null; rm -rf "$dir"' EXIT

"$systole" run "$example" --tpu v3 --trace t.strace >/dev/null || fail "no trace"
start_display
open_window t.strace

picture                                 # 1: the whole run
picture w                               # 2: nearer
same 1 2 && fail "w changes nothing"
picture Home Escape                     # 3: all again
picture t                               # 4: light
same 3 4 && fail "t changes nothing"
picture t                               # 5: dark again
picture question                        # 6: help
same 5 6 && fail "? shows no help"
picture Escape Home slash v m a t m u l Return      # 7: found
same 5 7 && fail "search shows nothing"
picture Escape Home                     # 8
xdotool mousemove --window "$id" 400 300 mousedown 1 mousemove --window "$id" 700 300 mouseup 1
picture                                 # 9: a selection with its card
same 8 9 && fail "dragging selects nothing"
xdotool mousemove --window "$id" 600 300 click 4 click 4
picture                                 # 10: the wheel
same 9 10 && fail "the wheel does not zoom"
xdotool windowsize --sync "$id" 700 500
picture                                 # 11
[ "$(od -An -tu1 -j16 -N8 systole-view-11.png | tr -s ' ')" = " 0 0 2 188 0 0 1 244" ] \
    || fail "the picture has not the window's new size"

xdotool key ctrl+q
for i in $(seq 30); do kill -0 $window 2>/dev/null || break; sleep 0.1; done
kill -0 $window 2>/dev/null && fail "Ctrl+q does not quit"
# a window that goes may still have a question of the server's under way: Xlib's words, not ours
grep -v "^X Error of\|^  [A-Z][a-z]* [a-z]* .*request\|^  Major opcode\|^  Resource id\|^  .*erial number" \
    viewer.err >said
[ ! -s said ] || fail "says: $(cat viewer.err)"
exit $status
