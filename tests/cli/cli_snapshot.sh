#!/bin/sh
# systole run --save-at and --resume: a run in two processes says what one in one says.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_snapshot.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "snapshot: $*"; status=1; }
out=$dir/out

report() { sed '/^host time/d;/^snapshot of cycle/d'; }
awk 'BEGIN { for (i = 0; i < 65536; i++) printf "%c", 48 + (i * 7919) % 64 }' >"$dir/data.bin"

# both CYCLES, PROGRAM...: one report, dump and error message, paused or not
both() {
    cycles=$1; shift
    points=
    for cycle in $cycles; do points="$points --save-at $cycle=$dir/$cycle.snap"; done
    $systole run "$@" --hbm 0="$dir/data.bin" --dump 0x1000:8x128 2>"$dir/err" | report >"$dir/one"
    # shellcheck disable=SC2086
    $systole run "$@" --hbm 0="$dir/data.bin" --dump 0x1000:8x128 $points 2>"$dir/err.2" | report \
        >"$dir/two"
    cmp -s "$dir/one" "$dir/two" || fail "$*: --save-at changes the report"
    cmp -s "$dir/err" "$dir/err.2" || fail "$*: --save-at changes the error"
    for cycle in $cycles; do
        for how in "--threads 2 --simd c" "--no-memo"; do
            # shellcheck disable=SC2086
            $systole run --resume "$dir/$cycle.snap" --dump 0x1000:8x128 $how 2>"$dir/err.2" |
                report >"$dir/two"
            cmp -s "$dir/one" "$dir/two" || fail "$* from cycle $cycle ($how): another report"
            cmp -s "$dir/err" "$dir/err.2" || fail "$* from cycle $cycle ($how): another error"
        done
    done
    rm -f "$dir"/*.snap
}

both "0 77 291 504" examples/01_vector_add.tasm
both "300 700" examples/02_mxu_tile.tasm --tpu tiny
both "900 2222" examples/03_double_buffered_matmul.tasm --tpu v3-8 --all-cores
both "1200" examples/05_transpose.tasm --tpu v5e --set vmem.bytes=33554432
both "150 700" examples/06_cross_lane_softmax.tasm --set xlu.reduce_cycles=200
both "200 500 700" examples/07_two_core_exchange.tasm --tpu v3-8 --all-cores
both "200 500" examples/07_two_core_exchange.tasm --tpu v3-8 --all-cores --cycle-limit 600
printf '{ vdelay 100 }\n{ s1 = smov 32761 }\n{ v1 = vld [vmem:s1] }\n{ shalt }\n' >"$dir/bad.tasm"
both "50" "$dir/bad.tasm"
for mode in timing functional; do
    for cycle in 40 900; do
        $systole run examples/07_two_core_exchange.tasm --all-cores --mode $mode \
            --save-at $cycle="$dir/m.snap" >"$dir/one" 2>"$dir/err"
        [ -s "$dir/m.snap" ] || continue
        $systole run --resume "$dir/m.snap" | report >"$dir/two"
        report <"$dir/one" | cmp -s - "$dir/two" || fail "mode $mode from cycle $cycle differs"
        rm "$dir/m.snap"
    done
done

# the trace of a run that goes on from a snapshot begins there, and then is that of one run
$systole run examples/01_vector_add.tasm --trace "$dir/a.strace" --save-at 100="$dir/t.snap" >"$out"
grep -q "^snapshot of cycle 100 written to $dir/t.snap$" "$out" || fail "says nothing of its snapshot"
$systole run --resume "$dir/t.snap" --trace "$dir/b.strace" >/dev/null
for part in a b; do
    $systole export "$dir/$part.strace" -o "$dir/$part.pftrace" --window 311: >"$dir/$part.told"
done
cmp -s "$dir/a.pftrace" "$dir/b.pftrace" || fail "the trace of a run in two parts differs"
[ "$(sed -n 's/.*, \([0-9]*\) events and .*/\1/p' "$dir/b.told")" -gt 30 ] \
    || fail "the second part has no trace: $(cat "$dir/b.told")"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole run "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -e "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
}
ex=examples/01_vector_add.tasm
head -c 100 "$dir/t.snap" >"$dir/short.snap"
expect 1 "$dir/none: cannot open: No such file" --resume "$dir/none"
expect 1 "$ex: not a snapshot" --resume $ex
expect 1 "$dir/short.snap: snapshot of 100 bytes says it has " --resume "$dir/short.snap"
expect 1 "taken in mode both; this machine is in mode timing" --resume "$dir/t.snap" --mode timing
expect 2 "--resume goes with neither PROGRAM" --resume "$dir/t.snap" $ex
expect 2 "--resume goes with neither PROGRAM" --resume "$dir/t.snap" --tpu v4
expect 2 "--resume goes with neither PROGRAM" --resume "$dir/t.snap" --hbm 0="$dir/data.bin"
expect 1 "CYCLE=FILE is needed, CYCLE in 0..2305843009213693951" $ex --save-at 5
expect 1 "CYCLE=FILE is needed" $ex --save-at -5="$dir/x"
expect 1 "cannot write $dir/no/x" $ex --save-at 5="$dir/no/x"
expect 1 "--save-at 99999=$dir/x: the run was over after " $ex --save-at 99999="$dir/x"
[ -e "$dir/x" ] && fail "a snapshot that was not taken left a file"
expect 1 "--save-at 5=$dir/x: the machine goes on at cycle " --resume "$dir/t.snap" --save-at 5="$dir/x"
exit $status
