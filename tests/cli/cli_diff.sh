#!/bin/sh
# systole diff at the command line: real runs, messages, exit statuses.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

train() { "$systole" train examples/mnist_mlp.json --steps 1 "$@" >"$work/log" 2>&1 ||
    fail "train $*: $(cat "$work/log")"; }
train --tpu v3-8 --batch 64 --out "$work/a"
train --tpu v3-8 --batch 64 --threads 1 --out "$work/again"
train --tpu v3-8 --batch 128 --out "$work/b"
train --tpu v5e --batch 64 --set mxu.count=2 --out "$work/v5e"
train --backend host --batch 64 --out "$work/host"
train --tpu v3-8 --batch 64 --trace "$work/a.strace"
train --tpu v3-8 --batch 64 --set hbm.channels=32 --trace "$work/few.strace"

expect 0 'the runs are equal' diff "$work/a" "$work/again"
expect 0 'the runs are equal' diff "$work/a" "$work/again/stats.json" --exit-code
expect 0 'data.batch' diff "$work/a" "$work/b"
expect 1 'data.batch' diff "$work/a" "$work/b" --exit-code
expect 0 'clock, MHz' diff "$work/a" "$work/v5e"
expect 0 'no cycles to compare' diff "$work/a" "$work/host"
expect 0 'core 3, cycles' diff "$work/a" "$work/b" --core 3

# a trace is as good as its folder, but for the options and what was learnt
expect 0 'both steps take the same time' diff "$work/a" "$work/a.strace"
expect 0 'what was learnt' diff "$work/a" "$work/a.strace"
grep -q 'chip parameters that differ' "$work/log" && fail 'the chip of a trace is another one'
expect 0 'hbm.channels' diff "$work/a" "$work/few.strace"

# the parts add up to the difference of the steps, in each file's own numbers
for other in b v5e; do
    "$systole" diff "$work/a" "$work/$other" --csv >"$work/csv"
    for run in a "$other"; do
        sed -n 's/^ "step_cycles": \([0-9]*\),$/\1/p' "$work/$run/stats.json"
    done | paste -s - >"$work/steps"
    awk -F, 'NR == FNR { split($0, step, "\t"); next }
        $1 == "cycles" { a += $4; b += $5; d += $6; rows++ }
        END { exit !(rows == 21 && a == step[1] && b == step[2] && d == step[2] - step[1]) }' \
        "$work/steps" "$work/csv" || fail "the cycles of a and $other do not add up"
    awk -F, '{ gsub(/"[^"]*"/, ""); if (NF != 7) exit 1 }' "$work/csv" ||
        fail "a line of the CSV of $other has not seven fields"
done

expect 1 'no core 9 to compare: the run has 8 cores' diff "$work/a" "$work/b" --core 9
expect 1 "$work/nothing: cannot read: No such file or directory" diff "$work/a" "$work/nothing"
expect 1 'is no folder of a run: it has no stats.json' diff "$work/a" "$work"
expect 1 'config.ini:1:1: ' diff "$work/a" "$work/b/config.ini"
expect 2 'which two runs?' diff "$work/a"
expect 2 'two runs are enough' diff a b c
expect 2 '--json and --csv do not go together' diff a b --json --csv
expect 2 '--core is "x", allowed are whole numbers in 0..65535' diff a b --core x

[ $failures -eq 0 ]
