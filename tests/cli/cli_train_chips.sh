#!/bin/sh
# systole train on every generation: the same losses bit for bit, each chip its own cycles.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# train SLICE: three small steps; losses and accuracies to SLICE.losses, cycles to SLICE.cycles
train() {
    "$systole" train examples/mnist_mlp.json --tpu "$1" --batch 64 --steps 3 --check-replicas \
        --out "$work/$1" >"$work/log" 2>&1 || fail "$1: $(tail -1 "$work/log")"
    cut -d, -f1-4 "$work/$1/steps.csv" >"$work/$1.losses"
    cut -d, -f5 "$work/$1/steps.csv" | tail -1 >"$work/$1.cycles"
}

# same REFERENCE SLICE...: the same arithmetic in the same order, in other times
same() {
    reference=$1; shift
    train "$reference"
    [ "$(wc -l <"$work/$reference.losses")" -eq 4 ] || fail "$reference: no three steps"
    for slice in "$@"; do
        train "$slice"
        cmp -s "$work/$reference.losses" "$work/$slice.losses" ||
            fail "losses of $slice differ from those of $reference"
        cmp -s "$work/$reference.cycles" "$work/$slice.cycles" &&
            fail "$slice takes as many cycles as $reference"
    done
}

# one core; eight on 2x2 chips, where the order of the all-reduce is the same
same v3-1 v2-1 v4-1 v5e-1 v5p-1
same v3-8 v4-8 v5p-8
# matrices of 256 rows add them in one chain, those of 128 in two: other last bits
train v6e-1
train v7x-1

[ $failures -eq 0 ]
