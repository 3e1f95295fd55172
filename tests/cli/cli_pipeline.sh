#!/bin/sh
# systole train --pipeline: a model in stages at the command line.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
model=examples/mnist_mlp.json
short="--batch 64 --steps 2 --steps-per-epoch 2"

refuse '4 stages of model mnist_mlp, which has 2 layers' train $model $short --pipeline 4
refuse '16 stages on 8 cores; each replica needs as many' train $model $short --pipeline 16
refuse '3 stages on 8 cores' train $model $short --pipeline 3
refuse 'samples of each replica cannot be cut into 3 micro batches' \
    train $model $short --pipeline 2 --micro-batches 3
refuse 'a stage is to begin at dens, but no layer has that name (did you mean "dense"?)' \
    train $model $short --pipeline 2 --pipeline-cuts dens
refuse 'dense_1: the number of stages is missing' train $model $short --pipeline-cuts dense_1
refuse 'stage 2, from layer flatten to flatten, has no variables' \
    train examples/mnist_cnn.json --batch 64 --steps 1 --pipeline 4 \
    --pipeline-cuts conv2d_1,flatten,dense
expect 2 '--pipeline is "-1", allowed are whole numbers' train $model --pipeline -1

# loss_of ARGUMENT...: of the epoch and of the test images
loss_of() {
    "$systole" train $model $short --csv-log "$work/log.csv" "$@" >"$work/log" 2>&1 ||
        fail "train $*: $(cat "$work/log")"
    tail -1 "$work/log.csv" | cut -d, -f2-5
    rm -f "$work/log.csv"
}
whole=$(loss_of --tpu v3-1 --micro-batches 2)
cut=$(loss_of --tpu v3-2 --pipeline 2 --micro-batches 2 --check-races --check-replicas)
[ -n "$whole" ] && [ "$whole" = "$cut" ] || fail "in two stages $cut, on one core $whole"
# two steps per execution: a loop on each stage
loop=$(loss_of --tpu v3-2 --pipeline 2 --micro-batches 2 --steps-per-execution 2 --check-races)
[ "$loop" = "$whole" ] || fail "in a loop $loop, on one core $whole"
grep -qF 'pipeline of 2 stages, 2 micro batches, 2 steps: ' "$work/log" || fail "$(cat "$work/log")"
# the table of stages
expect 0 'pipeline of 2 stages, 4 micro batches: cycles of a core, mean of 4 replicas' \
    train $model $short --pipeline 2 --micro-batches 4
grep -qF '(S - 1) / (M + S - 1) of equal' "$work/log" || fail "no bubble in: $(cat "$work/log")"
grep -qF '    0  dense  ' "$work/log" || fail "no stage of dense in: $(cat "$work/log")"
# a checkpoint of all stages: in two parts the same bits
"$systole" train $model $short --steps 4 --epochs 2 --pipeline 2 --checkpoint "$work/a" \
    >"$work/log" 2>&1 || fail "$(cat "$work/log")"
"$systole" train $model $short --epochs 1 --pipeline 2 --checkpoint "$work/b" >/dev/null 2>&1
"$systole" train $model $short --steps 4 --epochs 2 --pipeline 2 --checkpoint "$work/b" --resume \
    >"$work/log" 2>&1 || fail "$(cat "$work/log")"
for file in "$work"/a/*4.safetensors; do
    cmp -s "$file" "$work/b/${file##*/}" || fail "another checkpoint: ${file##*/}"
done
# the same without a machine
expect 0 'test acc' train $model $short --pipeline 2 --micro-batches 2 --backend host
# a mask of the first stage leaves steps out of the loss of the last one
model=$work/masked.json
cat >"$model" <<'END'
{"class_name": "Sequential", "config": {"name": "masked", "layers": [
 {"class_name": "InputLayer", "config": {"batch_shape": [null, 5], "dtype": "int32", "name": "in"}},
 {"class_name": "Embedding", "config": {"name": "ids", "input_dim": 9, "output_dim": 6, "mask_zero": true}},
 {"class_name": "LSTM", "config": {"name": "lstm", "units": 4, "return_sequences": true}},
 {"class_name": "Dense", "config": {"name": "out", "units": 3, "activation": "softmax"}}]}}
END
mkdir "$work/data"
for part in train test; do
    for name in x y; do
        printf '\223NUMPY\001\000v\000%-117s\n' \
            "{'descr': '|u1', 'fortran_order': False, 'shape': (32, 5), }" >"$work/data/${name}_$part.npy"
    done
    for i in $(seq 32); do      # sequences of 1 to 5 steps
        for t in 0 1 2 3 4; do
            printf "\\00$((t <= i % 5 ? 1 + (i * 3 + t) % 8 : 0))" >>"$work/data/x_$part.npy"
            printf "\\00$(((i + t) % 3))" >>"$work/data/y_$part.npy"
        done
    done
done
short="--data $work/data --batch 16 --epochs 1 --precision highest"
whole=$(loss_of --tpu v3-1)
cut=$(loss_of --tpu v3-2 --pipeline 2 --micro-batches 1 --check-races)
[ -n "$whole" ] && [ "$whole" = "$cut" ] || fail "masked: in two stages $cut, on one core $whole"

[ $failures -eq 0 ] || exit 1
echo "cli_pipeline: ok"
