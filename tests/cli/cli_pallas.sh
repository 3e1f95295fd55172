#!/bin/sh
# systole exec of kernels written in Pallas (tests/jax/pallas): the host's results, and those of
# simulated cores, are those of JAX's TPU interpret mode; what is broken is told in one message.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
data=tests/import/data/pallas

sed 1d $data/kernels.csv >"$work/kernels"
while IFS=, read -r name bound; do
    set -- exec $data/$name.mlirbc --inputs $data/$name.inputs.safetensors \
        --expect $data/$name.outputs.safetensors --tolerance "$bound"
    expect 0 'results are within' "$@" --backend host
    for chip in v5e v7x; do
        expect 0 'results are within' "$@" --tpu $chip
    done
done <"$work/kernels"

[ $failures -eq 0 ]
