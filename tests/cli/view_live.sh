#!/bin/sh
# systole run --view, driven by a real window on a virtual display, and what is wrong with it said.
viewer=${VIEWER-./systole-view} systole=${SYSTOLE:-./systole}
systole=$(realpath "$systole") rig=$(realpath tests/cli/window_rig.inc)
example=$(realpath examples/03_double_buffered_matmul.tasm)
dir=${TMPDIR:-/tmp}/systole_view_live.$$
mkdir "$dir" && cd "$dir" || exit 1
trap 'kill $run $xvfb 2>/dev/null; rm -rf "$dir"' EXIT
status=0
fail() { echo "view_live: $*"; status=1; }
. "$rig"

# what goes with --view and what does not
for bad in "--mode functional" "--trace x.strace" "--save-at 5=x"; do
    "$systole" run "$example" --tpu v3 --view=s $bad >out 2>err && fail "--view with $bad runs"
    grep -q -- "--view" err || fail "--view with $bad: $(cat err)"
done
"$systole" run "$example" --tpu v3 --view=/nowhere/s >out 2>err && fail "a socket nowhere"
grep -q "cannot listen on /nowhere/s" err || fail "a socket nowhere: $(cat err)"
[ ! -e trace.strace ] && [ ! -e x.strace ] || fail "a run that did not begin leaves a trace"

cd - >/dev/null
need_viewer
cd "$dir" || exit 1
"$viewer" --live nowhere.socket 2>err && fail "the viewer finds a run that is not there"
grep -q "no run waits at nowhere.socket" err || fail "no run: $(cat err)"

start_display
"$systole" run "$example" --tpu v3 | grep -v "host time" >plain
"$systole" run "$example" --tpu v3 --out folder --view=live.socket >driven 2>err &
run=$!
for i in $(seq 50); do [ -S live.socket ] && break; sleep 0.1; done
open_window --live live.socket
answer_s=0.5                            # answers of the run come
picture                                 # 1: in front of the first bundle
picture o                               # 2: a bundle on
same 1 2 && fail "a step changes nothing"
picture colon u n t i l space at 2 0 0 0 Return     # 3: the timeline has grown
same 2 3 && fail "until changes nothing"
picture u                               # 4: back
same 3 4 && fail "back changes nothing"
xdotool key ctrl+q
for i in $(seq 100); do kill -0 $run 2>/dev/null || break; sleep 0.1; done
kill -0 $run 2>/dev/null && fail "the run does not end after the viewer"
wait $run || fail "the run fails: $(cat err)"

# the same run as without a viewer, and a trace of all of it
grep -v "host time\|^waiting for\|^results in" driven >driven.report
cmp plain driven.report || fail "a driven run reports something else"
[ -s folder/trace.strace ] && [ ! -e live.socket ] || fail "no trace, or a socket is left"
"$systole" report folder/trace.strace >/dev/null 2>err || fail "the trace: $(cat err)"
"$viewer" folder --panel timeline --png all.png >/dev/null 2>err || fail "$(cat err)"
[ ! -s err ] || fail "the trace is not complete: $(cat err)"
exit $status
