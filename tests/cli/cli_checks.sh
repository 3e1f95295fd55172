#!/bin/sh
# systole run and train with --check-races, run with --check-unwritten, and what a deadlock prints.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
status=0
fail() { echo "checks: $*"; status=1; }
out=$dir/out

expect() {          # part of the one line of the message, arguments
    message=$1; shift
    $systole run "$@" >"$out" 2>"$out.err"
    [ $? -eq 1 ] || fail "$*: not an error"
    grep -qF "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$(wc -l <"$out.err")" -eq 1 ] || fail "$*: says more than one line"
    grep -q 'cycles = ' "$out" || fail "$*: no report of the cycles up to the fault"
}

cat >"$dir/race.tasm" <<'END'
// a tile is used before it is there
{ dma.hbm_to_vmem 0, 128, 0, [sflag:0] }
{ vdelay 2000 }
{ v1 = vld [vmem:0] }
{ dma.done.wait [sflag:0], 128 }
{ vsyncadd [sflag:0], -128 }
{ shalt }
END
$systole run "$dir/race.tasm" >"$out" 2>&1 ||
    fail "a race is a fault without the check: $(cat "$out")"
expect "core 0 cycle 2002 bundle 2 (line 4): race: vld reads vmem bytes 0..4095 while \
dma.hbm_to_vmem of core 0 cycle 0 bundle 0 (line 2) writes 0..4095: no wait for its flag 0" \
    "$dir/race.tasm" --check-races --trace "$dir/t.pftrace"
[ -s "$dir/t.pftrace" ] || fail "no trace after a race"
expect "core 0 cycle 2002 bundle 2 (line 4): vld reads vmem row 0 (granule 0), which nothing has \
written in this launch" "$dir/race.tasm" --check-unwritten

# a deadlock: the message, then who waits for whom
printf '{ vwait.ge [sflag:3], 1 }\n{ vsyncadd.remote [sflag:3], 1, 1 }\n{ shalt }\n' \
    >"$dir/lock.tasm"
$systole run "$dir/lock.tasm" --all-cores >"$out" 2>"$out.err" && fail "a deadlock is no error"
cat >"$out.wanted" <<END
systole: deadlock: core 0 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 3 >= 1, which is 0; \
core 1 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 3 >= 1, which is 0
  core 0 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 3 >= 1, which is 0
    no copy is under way and no program changes it
  core 1 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 3 >= 1, which is 0
    core 0 changes it with vsyncadd.remote (line 2), but waits itself
    core 1 changes it with vsyncadd.remote (line 2), behind this wait
  a cycle: core 1 waits for core 1
END
cmp -s "$out.wanted" "$out.err" ||
    fail "the deadlock prints: $(cat "$out.err")"
grep -q 'cycles = ' "$out" || fail "no report of the cycles up to the deadlock"

# the examples have neither
for program in examples/*.tasm; do
    case $program in
    *exchange*) set -- --tpu v3-8 --all-cores ;;
    *v6e*) set -- --tpu v6e ;;
    *v5e*|*branch_delay*) set -- --tpu v5e ;;
    *) set -- --tpu v3 ;;
    esac
    $systole run "$program" "$@" --check-races --check-unwritten >"$out" 2>&1 ||
        fail "$program: $(tail -1 "$out")"
done

# what is compiled reads on behind its arrays, and so has no such check
$systole conv 3x3x8x9 1x1x9x2 --grad input --stride 2x2 --check-unwritten >"$out" 2>&1 &&
    fail "conv takes --check-unwritten"
grep -q "unrecognized option '--check-unwritten'" "$out" || fail "$(cat "$out")"

# the training step has no races where VMEM holds nothing but windows
for slice in v2-8 v3-8 v4-8; do
    $systole train examples/mnist_mlp.json --tpu $slice --batch 64 --steps 2 --check-races \
        >"$out" 2>&1 || fail "$slice: $(tail -1 "$out")"
done
exit $status
