#!/bin/sh
# systole exec of programs that JAX, Flax, Optax and Keras have exported (tests/jax/programs): the
# host's results, and those of simulated cores, are JAX's; training steps over 20 steps.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
data=tests/import/data/programs
# These take most of the time on cores: make check-jax runs them there.
long=' cnn_flax diffusion_unet keras_functional llama_block resnet_flax vit_flax '

sed 1d $data/programs.csv >"$work/programs"
while IFS=, read -r name steps carry bound devices; do
    chip=v5e
    [ "$devices" = 1 ] || chip=v5e-$devices
    set -- exec $data/$name.mlirbc --inputs $data/$name.inputs.safetensors \
        --expect $data/$name.outputs.safetensors --tolerance "$bound" --steps "$steps"
    [ "$carry" = 0 ] || set -- "$@" --carry "0-$((carry - 1))"
    expect 0 'results are within' "$@" --backend host
    case $long in *" $name "*) ;; *) expect 0 'results are within' "$@" --tpu $chip ;; esac
done <"$work/programs"

[ $failures -eq 0 ]
