#!/bin/sh
# The real window on a virtual display: keys and pointer change what is on screen as they should.
viewer=${VIEWER-./systole-view} systole=${SYSTOLE:-./systole}
[ -n "$viewer" ] && [ -x "$viewer" ] || { echo "skipped: no systole-view (make view)"; exit 0; }
for tool in Xvfb xdotool; do
    command -v $tool >/dev/null || { echo "skipped: no $tool (apt-get install xvfb xdotool)"; exit 0; }
done
"$systole" run --help | grep -q strace || { echo "skipped: systole run writes no .strace yet"; exit 0; }
viewer=$(realpath "$viewer") systole=$(realpath "$systole")
example=$(realpath examples/03_double_buffered_matmul.tasm)
dir=${TMPDIR:-/tmp}/systole_view_window.$$
mkdir "$dir" && cd "$dir" || exit 1
status=0
fail() { echo "view_window: $*"; status=1; }

"$systole" run "$example" --tpu v3 --trace t.strace >/dev/null || fail "no trace"

Xvfb -displayfd 3 -screen 0 1400x900x24 3>display >/dev/null 2>&1 &
xvfb=$!
trap 'kill $window $xvfb 2>/dev/null; rm -rf "$dir"' EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do [ -s display ] && break; sleep 0.3; done
[ -s display ] || { echo "skipped: Xvfb does not start"; exit 0; }
DISPLAY=:$(cat display)
export DISPLAY

SDL_VIDEODRIVER=x11 "$viewer" t.strace --size 1000x600 2>err &
window=$!
id=$(timeout 20 xdotool search --sync --onlyvisible --name systole-view | head -1)
[ -n "$id" ] || { fail "no window: $(cat err)"; exit 1; }
xdotool windowfocus "$id" 2>/dev/null

# presses the keys, then P, and waits for picture number N
n=0
picture() {
    for k in "$@"; do xdotool key "$k"; done
    n=$((n + 1))
    xdotool key p
    for i in $(seq 50); do [ -s systole-view-$n.png ] && break; sleep 0.1; done
    [ -s systole-view-$n.png ] || fail "no picture after: $*"
}
same() { cmp -s "systole-view-$1.png" "systole-view-$2.png"; }

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
[ ! -s err ] || fail "says: $(cat err)"
exit $status
