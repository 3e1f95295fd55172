#!/bin/sh
# systole sweep at the command line: a grid, stopped and taken up again, and what is refused.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

cp examples/mnist_mlp.json "$work/model.json"
command="train $work/model.json --tpu v3 --steps 1"
sweep() { folder=$1; shift; echo "sweep --out $work/$folder $*"; }

# every point is the run that the same options make by themselves
grid='--vary mxu.count=1,2 --vary batch=16..64x2'
# shellcheck disable=SC2086
expect 0 '* best:   ' $(sweep whole $grid -j2 -- $command)
[ "$(wc -l <"$work/whole/sweep.csv")" -eq 7 ] || fail "$(cat "$work/whole/sweep.csv")"
# shellcheck disable=SC2086
"$systole" $command --set mxu.count=2 --batch 32 --out "$work/alone" >/dev/null 2>&1
cycles=$(sed -n 's/^ "step_cycles": \([0-9]*\),$/\1/p' "$work/alone/stats.json")
grep -q "^2,32,done,$cycles," "$work/whole/sweep.csv" || fail 'a point differs from its run'
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "samples_per_second") column = i }
    NR == 2 { first = $column }
    NR > 1 { d = $column / first - $(NF - 3); if (d > 1e-6 || d < -1e-6) exit 1 }' \
    "$work/whole/sweep.csv" || fail 'speed-up is not the ratio to the first point'

# wait_for FOLDER COUNT: until so many points are done
wait_for() {
    tries=0
    while [ "$(find "$work/$1/points" -name point.json 2>/dev/null | wc -l)" -lt "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { fail "no $2 points in $1"; return; }
        sleep 0.05
    done
}

# stopped in the middle, by hand and without mercy, and taken up again: the same results
for signal in INT KILL; do
    # on a busy host the sweep may be over before the signal comes: then once more
    for try in 1 2 3 4 5; do
        rm -rf "${work:?}/$signal"
        # shellcheck disable=SC2086
        "$systole" $(sweep $signal $grid -- $command) >"$work/log.$signal" 2>&1 &
        sweeper=$!
        wait_for $signal 1
        kill -$signal $sweeper 2>/dev/null
        wait $sweeper 2>/dev/null
        ended=$?
        done=$(find "$work/$signal/points" -name point.json | wc -l)
        [ "$done" -lt 6 ] && break
    done
    [ "$done" -lt 6 ] || fail "the sweep was over before $signal came, five times"
    # shellcheck disable=SC2086
    expect 0 "of 6 points are in $work/$signal already" $(sweep $signal $grid -- $command)
    cmp -s "$work/whole/sweep.csv" "$work/$signal/sweep.csv" ||
        fail "after $signal: $(diff "$work/whole/sweep.csv" "$work/$signal/sweep.csv")"
    [ $signal = KILL ] && break
    [ $ended -eq 1 ] || fail "interrupted, with exit status $ended"
    grep -q '^interrupted; the same command goes on' "$work/log.INT" ||
        fail "$(cat "$work/log.INT")"
    grep -q 'not run$' "$work/log.INT" || fail 'no count of what was not run'
done
find "$work/INT" "$work/KILL" -name '*.tmp' | grep -q . && fail 'half-written files left behind'

# more values for the same command: only the new points run
# shellcheck disable=SC2086
expect 0 '6 of 8 points are' $(sweep whole --vary mxu.count=1,2 --vary batch=16..128x2 -- $command)
# a point that fails keeps its message, and the others go on
# shellcheck disable=SC2086
expect 1 'failed: ' $(sweep part --vary tpu=v3,v33,v2 --best step_us -- $command)
grep -q '^v33,failed,.*"no chip\|^v33,failed,.*v33' "$work/part/sweep.csv" ||
    fail "$(cat "$work/part/sweep.csv")"
[ "$(grep -c ',done,' "$work/part/sweep.csv")" -eq 2 ] || fail "$(cat "$work/part/sweep.csv")"
grep -q '^1 failed, 0 not run$' "$work/log" || fail 'no count of failures'

# products and programs as well; rows that the sizes fix already cannot vary
expect 0 'speed-up: model_tflops against the first point' sweep --out "$work/gemm" \
    --vary m=8,256 --vary tpu=v3,v4 -- gemm --n 128 --k 128 --mode timing
expect 1 'failed: the sizes are given twice; write MxNxK once, or --m, --n and --k' sweep --out "$work/sizes" \
    --vary m=8 -- gemm 8x8x8
expect 0 'speed-up: step_us against the first point' sweep --out "$work/run" \
    --vary sync.resume_cycles=1,64 -- run examples/01_vector_add.tasm

# the folder of another command, of another model, of a sweep that is damaged
# shellcheck disable=SC2086
expect 1 'holds the sweep of another command' $(sweep whole $grid -- $command --seed 2)
echo >>"$work/model.json"
# shellcheck disable=SC2086
expect 1 'a file that the command names or a built-in chip has changed' \
    $(sweep whole $grid -- $command)
echo '{' >"$work/part/sweep.json"
# shellcheck disable=SC2086
expect 1 'is damaged' $(sweep part --vary batch=8 -- $command)

# refused before anything runs
refuse() {
    status=$1 text=$2; shift 2
    # shellcheck disable=SC2086
    expect "$status" "$text" sweep --out "$work/none" "$@"
    [ -e "$work/none" ] && fail "$*: a folder is left behind"
}
refuse 1 '(did you mean "mxu.count"?)' --vary mxu.cuont=1 -- train m.json
refuse 1 '(did you mean "batch"?)' --vary btach=1 -- train m.json
refuse 1 '(did you mean "train"?)' --vary batch=1 -- trian m.json
refuse 1 '--best is "x"' --vary batch=1 --best x -- train m.json
refuse 1 '--out goes before the command' --vary batch=1 -- train m.json --out there
refuse 1 '--checkpoint would be written anew by every point; --vary checkpoint=A,B names one' \
    --vary batch=1 -- train m.json --checkpoint=x
refuse 1 '--csv-log would be' --vary batch=1 -- train m.json --csv x.csv
refuse 1 '--trace would be written anew' --vary batch=1 -- train m.json --trace=t.pftrace
refuse 2 'what is to vary?' -- train m.json
refuse 2 'which command?' --vary batch=1
refuse 2 '--jobs is "0", allowed are whole numbers in 1..64' -j0 --vary batch=1 -- train m.json
expect 2 'where to?' sweep --vary batch=1 -- train m.json
expect 1 'No such file or directory' sweep --out "$work/no/where" --vary batch=1 -- train m.json

[ $failures -eq 0 ]
