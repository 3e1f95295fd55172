#!/bin/sh
# Energy of real runs: sums, the files, the answers that show it.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

train() { "$systole" train examples/mnist_mlp.json --steps 1 --batch 64 "$@" >"$work/log" 2>&1 ||
    fail "train $*: $(tail -3 "$work/log")"; }
train --tpu v3-8 --threads 1 --out "$work/one"
train --tpu v3-8 --threads 2 --out "$work/two"
train --tpu v5e --out "$work/v5e"
train --tpu v3 --mode functional --out "$work/functional"
for file in energy.csv energy_ops.csv; do
    cmp -s "$work/one/$file" "$work/two/$file" || fail "$file depends on host threads"
done

# the components add up to the total, and so do the groups of every source operation
awk -F, 'NR > 1 && $1 != "total" { sum += $2 } $1 == "total" { total = $2 }
    END { exit !(total > 0 && sum == total) }' "$work/one/energy.csv" ||
    fail "$(cat "$work/one/energy.csv")"
awk -F, 'NR > 1 { share += $4; if ($5 + $6 + $7 + $8 + $9 + $10 != $2) exit 1 }
    END { d = share - 100; exit !(d < 1e-6 && d > -1e-6) }' "$work/one/energy_ops.csv" ||
    fail "$(cat "$work/one/energy_ops.csv")"

# HBM: every byte on the data buses, 43,750 fJ each; more than half of so small a step
bytes=$(awk -F'[:,]' '/"(read|write)_bytes"/ { sum += $2 } END { print sum / 2 }' \
    "$work/one/stats.json")
awk -F, -v bytes="$bytes" '$1 == "hbm" { exit !($2 == bytes * 43750) }' "$work/one/energy.csv" ||
    fail "HBM of $bytes bytes: $(grep ^hbm "$work/one/energy.csv")"

grep -q '^energy, 16 nm  ' "$work/one/report.txt" || fail 'no energy in the report'
grep -q 'beside 450 W of TDP$' "$work/one/report.txt" || fail 'no TDP in the report'
grep -q '^energy, 7 nm (assumed)  ' "$work/v5e/report.txt" || fail 'no word of the assumed node'
grep -q '"energy": null' "$work/functional/stats.json" || fail 'energy without bytes of memory'
[ "$(wc -l <"$work/functional/energy.csv")" -eq 1 ] || fail 'rows of energy in functional mode'
"$systole" diff "$work/one" "$work/v5e" >"$work/log"
grep -q '^  energy of the step .* uJ$' "$work/log" || fail 'no energy in systole diff'
grep -q '^source operations of one core' "$work/log" || fail 'no source operations in systole diff'
"$systole" diff "$work/one" "$work/v5e" --csv >"$work/csv"
for run in one v5e; do sed -n 's/^ "step_cycles": \([0-9]*\),$/\1/p' "$work/$run/stats.json"; done |
    paste -s - >"$work/steps"
awk -F, 'NR == FNR { split($0, step, "\t"); next }
    $1 == "source" { a += $4; b += $5 }
    END { exit !(a == step[1] && b == step[2]) }' "$work/steps" "$work/csv" ||
    fail 'the source operations do not add up to the steps'
"$systole" sweep --vary batch=16,64 --best energy_uj --out "$work/sweep" -- \
    train examples/mnist_mlp.json --steps 1 --tpu v3 >"$work/log" 2>&1 ||
    fail "$(tail -3 "$work/log")"
grep -q '^\* best:   batch=16$' "$work/log" ||
    fail "the smaller batch needs less: $(cat "$work/log")"

[ $failures -eq 0 ]
