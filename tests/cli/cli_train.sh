#!/bin/sh
# systole train at the command line: messages, exit statuses, what is left behind.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
model=examples/mnist_mlp.json

word() { printf "\\$(printf %03o $(($1 >> 24 & 255)))\\$(printf %03o $(($1 >> 16 & 255)))\\$(
    printf %03o $(($1 >> 8 & 255)))\\$(printf %03o $(($1 & 255)))"; }

# idx FOLDER COUNT SIDE: four small IDX files, all pixels and labels zero
idx() {
    mkdir -p "$1"
    for prefix in train t10k; do
        { word 2051; word "$2"; word "$3"; word "$3"
          head -c $(($2 * $3 * $3)) /dev/zero; } >"$1/$prefix-images-idx3-ubyte"
        { word 2049; word "$2"; head -c "$2" /dev/zero; } >"$1/$prefix-labels-idx1-ubyte"
    done
}

# npy FILE TYPE SHAPE BYTES: zeros, as numpy.save writes them
npy() {
    { printf '\223NUMPY\001\000\166\000'
      printf "%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
      head -c "$4" /dev/zero; } >"$1"
}

# the program and its commands
expect 2 'Usage: systole COMMAND'
expect 0 'train a Keras model on a simulated slice' --help
expect 0 'systole 0.' --version
expect 2 'unknown command "trian" (did you mean "train"?)' trian
expect 0 'Example:' train --help
expect 0 'Usage: systole run' run -h
expect 0 'Usage: systole lint' help lint
expect 2 'unknown command "trian"' help trian

# wrong usage
expect 2 'which model?' train
expect 2 'unrecognized option' train $model --epcohs 3
expect 2 '--batch is "0", allowed are whole numbers in 1..1048576' train $model --batch 0
expect 2 '--lr is "fast", allowed are numbers' train $model --lr fast
expect 2 '--policy is "bf16", allowed are float32, mixed_bfloat16' train $model --policy bf16
expect 2 '--momentum belongs to --optimizer sgd' train $model --momentum 0.9
expect 2 '--beta-1 belongs to --optimizer adam' train $model --optimizer sgd --beta-1 0.9
expect 2 '--threads belongs to --backend sim' train $model --backend host --threads 2
expect 2 '--reference-dot belongs to --backend host' train $model --reference-dot bf16

expect 2 '--seed is "-1", allowed are whole numbers from 0 on' \
    train $model --seed -1
expect 2 '--data is empty' train $model --data ''

# what the user names must exist and fit
refuse 'v3-8' train $model --tpu v3-9
refuse 'the nearest that can are 496 and 504' train $model --batch 500
refuse 'the nearest that can are 504 and 512' train $model --batch 511 --tpu v2-8 --backend host
refuse 'did you mean "mxu.count"?' train $model --set mxu.cuont=2
refuse 'contradicts slice v3-8' train $model --set chip.cores=1
expect 0 'v3-1: 1 chip, 1 core' train $model --tpu v3-1 --batch 64 --steps 1
refuse 'no tiling goes with these layouts and 64 KiB of vector memory' train $model --set vmem.bytes=65536
refuse 'takes 392 KiB of HBM, 16 KiB are free beside other variables' train $model --set hbm.gib=0.001
refuse 'Is a directory' train "$work" --backend host
refuse "$work/none.json" train "$work/none.json" --backend host
refuse "$work/none: not a folder" train $model --backend host --data "$work/none"
refuse 'drawn digits: 12000 training images are less than a batch of 16384' \
    train $model --backend host --batch 16384
refuse '/dev/null/out' train $model --backend host --out /dev/null/out
refuse 'cannot write /nowhere/at/all/t.pftrace' train $model --trace /nowhere/at/all/t.pftrace
refuse 'its name must end in .strace, .pftrace' train $model --trace "$work/t.png"
mkdir "$work/folder.pftrace"
refuse 'folder.pftrace: Is a directory' train $model --trace "$work/folder.pftrace"

# data that does not fit
idx "$work/small" 16 5
refuse 'images are 5x5 = 25 pixels, model' train $model --backend host --batch 8 \
    --data "$work/small"
idx "$work/data" 16 28
expect 0 'dropping the last 4 of 16 training images: not a whole batch of 12' \
    train $model --backend host --batch 12 --epochs 1 --data "$work/data"

# arrays as NumPy saves them
mkdir "$work/npy"
npy "$work/npy/x_train.npy" '|u1' '16, 28, 28' 12544
refuse 'has no x_test.npy, nor x_test.npy.gz' train $model --backend host --data "$work/npy"
npy "$work/npy/x_test.npy" '<f4' '8, 784' 25088
npy "$work/npy/y_test.npy" '<i4' '8,' 32
refuse 'has no y_train.npy' train $model --backend host --data "$work/npy"
npy "$work/npy/y_train.npy" '|u1' '16,' 16
gzip "$work/npy/x_train.npy"
expect 0 '16 training and 8 test samples of u8[28,28]' \
    train $model --backend host --batch 8 --epochs 1 --data "$work/npy"
expect 0 'dropping the last 4 of 16 training samples' \
    train $model --tpu v3-2 --batch 12 --epochs 1 --data "$work/npy"
expect 1 '16 training samples are less than a batch of 512' \
    train $model --backend host --data "$work/npy"
npy "$work/npy/y_test.npy" '<i4' '7,' 28
refuse 'y_test.npy: holds 7 slices' train $model --backend host --data "$work/npy"
# Keras takes classes as floats, too
npy "$work/npy/y_test.npy" '<f4' '8,' 32
expect 0 '8 test samples' train $model --backend host --batch 8 --epochs 1 --data "$work/npy"
npy "$work/npy/y_test.npy" '<f4' '8,' 28 && printf '\0\0\300\077' >>"$work/npy/y_test.npy"
refuse 'y_test.npy: label 1.5 of sample 7 is not a whole number' \
    train $model --backend host --data "$work/npy"
expect 1 'takes f32[10]' train $model --backend host --data "$work/npy" --loss mse
npy "$work/npy/y_test.npy" '<i4' '8,' 28
refuse 'y_test.npy' train $model --backend host --data "$work/npy"
npy "$work/npy/y_test.npy" '<U4' '8,' 128
refuse 'y_test.npy: only arrays of f16, f32, f64, bool and' train $model --backend host \
    --data "$work/npy"
# what NumPy makes by itself: int64 and float64; and what Fortran and other machines leave
npy "$work/npy/y_test.npy" '<i8' '8,' 64
npy "$work/npy/x_test.npy" '>f8' '8, 784' 50176
expect 0 'y_test.npy: i8 elements are read as i4' train $model --backend host --batch 8 \
    --epochs 1 --data "$work/npy"
grep -q 'x_test.npy: big-endian f8 elements are read as f4, rounded' "$work/log" ||
    fail "f64: $(cat "$work/log")"
npy "$work/npy/y_test.npy" '<i8' '8,' 56 && printf '\0\0\0\0\1\0\0\0' >>"$work/npy/y_test.npy"
expect 1 'y_test.npy: element 7 is 4294967296, which i4 does not have' train $model \
    --backend host --data "$work/npy"
npy "$work/npy/x_test.npy" '<f4' '8, 784' 25088
npy "$work/npy/y_test.npy" '<i4' '8,' 28 && printf '\012\000\000\000' >>"$work/npy/y_test.npy"
refuse 'y_test.npy: label 10 of sample 7 is not in 0..9' \
    train $model --backend host --data "$work/npy"
npy "$work/npy/y_test.npy" '<i4' '8,' 32
npy "$work/npy/x_test.npy" '<f4' '8, 5, 5' 800
refuse 'x_test.npy: samples are f32[5,5], model' train $model --backend host --data "$work/npy"

head -c 1000 "$work/data/train-images-idx3-ubyte" >"$work/cut" &&
    mv "$work/cut" "$work/data/train-images-idx3-ubyte"
refuse 'train-images-idx3-ubyte: truncated' train $model --backend host --data "$work/data" \
    --out "$work/out_failed"
for wrong in '--batch 500' '--tpu v3-9' '--set mxu.count=9' '--data /nowhere' '--lr x' \
    '--set vmem.bytes=65536' '--trace /nowhere/t.json'; do
    # shellcheck disable=SC2086
    "$systole" train $model --out "$work/out_failed" $wrong >"$work/text" 2>"$work/log" &&
        fail "$wrong was accepted"
    [ -s "$work/text" ] && fail "$wrong: prints before it fails: $(cat "$work/text")"
done
[ -e "$work/out_failed" ] && fail 'a failed run left its folder'

# a run on the host leaves its results
expect 0 'epoch' train $model --backend host --steps 24 --batch 512 --out "$work/out"
[ "$(wc -l <"$work/out/steps.csv")" -eq 25 ] || fail "steps.csv: $(wc -l <"$work/out/steps.csv")"
for line in 'steps = 24 ; command line' 'epochs = 5 ; default' 'data = drawn digits ; default'; do
    grep -qF "$line" "$work/out/config.ini" || fail "no \"$line\" in config.ini"
done

# a run on a slice: results, trace, the same cycles and losses for two threads and with a trace
run() {
    name=$1; shift
    expect 0 'cycles/step' train $model --tpu v3-8 --batch 256 --steps 2 --out "$work/$name" "$@"
}
run one --threads 1 --check-replicas
run two --threads 2
run profiled --threads 2 --host-profile
grep -q '^this simulation took .* s on 2 threads: 10 launches, 7 of them repeated (values only)$' \
    "$work/log" || fail "no host time: $(cat "$work/log")"
[ "$(wc -l <"$work/profiled/host_profile.csv")" -eq 11 ] || fail 'parts in host_profile.csv'
[ -e "$work/two/host_profile.csv" ] && fail 'a host profile that nobody asked for'
run traced --threads 1 --trace "$work/traced/t.pftrace"
[ -s "$work/traced/t.pftrace" ] || fail 'no trace'
for name in two profiled traced; do
    cmp -s "$work/one/steps.csv" "$work/$name/steps.csv" || fail "steps of one and $name differ"
done
for file in config.ini report.txt steps.csv stats.json; do
    [ -s "$work/one/$file" ] || fail "no $file"
done
# functional mode: the same losses, no cycles
expect 0 'mode       functional: cycles are not simulated' train $model --tpu v3-8 --batch 256 \
    --steps 2 --mode functional --out "$work/functional"
grep -q 'cycles/step' "$work/log" && fail 'functional mode shows cycles per step'
grep -q '^  functional mode: cycles were not simulated$' "$work/log" || fail "$(cat "$work/log")"
cut -d, -f1-4 "$work/one/steps.csv" >"$work/values"
cut -d, -f1-4 "$work/functional/steps.csv" | cmp -s "$work/values" - || fail 'other losses'
cut -d, -f5 "$work/functional/steps.csv" | sed 1d | grep -qv '^0$' && fail 'cycles in steps.csv'
for key in '"mode": "functional"' '"step_cycles": 0' '"bound": null'; do
    grep -qF "$key" "$work/functional/stats.json" || fail "no $key in stats.json"
done
grep -qF '"mode": "both"' "$work/one/stats.json" || fail 'no mode in stats.json'
refuse '--mode timing works out no values, and training needs the loss' \
    train $model --mode timing
expect 2 '--trace shows cycles, which --mode functional does not work out' \
    train $model --mode functional --trace "$work/t.json"
expect 2 '--mode belongs to --backend sim' train $model --backend host --mode functional
expect 0 'test acc' train $model --tpu v3 --set mxu.count=1 --batch 64 --steps 1

# optimizers, losses, metrics by Keras's names
expect 0 'optimizer  AdamW(1e-3, weight_decay=0.01), lr 0.001' train $model --backend host \
    --steps 2 --optimizer 'AdamW(1e-3, weight_decay=0.01)'
expect 0 'optimizer  SGD, lr 0.05, momentum 0.9' train $model --backend host --steps 2 \
    --optimizer sgd --lr 0.05 --momentum 0.9
expect 2 'did you mean "Adam"?' train $model --optimizer adm
expect 2 '--momentum belongs to --optimizer sgd, ' train $model --optimizer lion --momentum 0.9
refuse 'did you mean "mean_squared_error"?' train $model --backend host --loss mean_squared_eror
refuse 'unknown metric "loss"' train $model --backend host --metrics loss,accuracy
expect 0 'sparse_top_k_cat  test sparse_top_k_cat' train $model --backend host --steps 2 \
    --metrics sparse_top_k_categorical_accuracy,accuracy
expect 0 'test top3 ' train $model --backend host --steps 2 \
    --metrics "SparseTopKCategoricalAccuracy(k=3, name='top3'), accuracy" \
    --loss 'SparseCategoricalCrossentropy(from_logits=False)' --csv-log "$work/by_call.csv"
expect 0 'epoch' train $model --backend host --steps 2 --csv-log "$work/by_name.csv"
cut -d, -f2 "$work/by_name.csv" >"$work/by_name"
cut -d, -f2 "$work/by_call.csv" | cmp -s "$work/by_name" - || fail 'another loss by call'
expect 0 'epoch' train $model --backend host --steps 2 --csv-log "$work/logits.csv" \
    --loss 'SparseCategoricalCrossentropy(from_logits=True)'
cut -d, -f2 "$work/logits.csv" | cmp -s "$work/by_name" - && fail 'from_logits does nothing'
refuse '--loss Huber(delta=-1): Huber: delta is -1, allowed are' train $model --backend host \
    --loss 'Huber(delta=-1)'
refuse '--loss Hubr(): unknown loss' train $model --backend host --loss 'Hubr()'
refuse '--metrics AUC(n=3): AUC has no argument n' train $model --backend host \
    --metrics 'accuracy,AUC(n=3)'
refuse '--metrics AUC(3,accuracy: expected' train $model --backend host --metrics 'AUC(3,accuracy'

# 2,000 test images are four launches, of which one is enough
expect 0 ': 5 launches' train $model --tpu v3 --steps 1 --host-profile
expect 0 ': 2 launches' train $model --tpu v3 --steps 1 --host-profile --validation-steps 1

# several steps per execution, state in parts: the same losses; a row per epoch
# logged NAME OPTIONS...: two epochs of four steps
logged() {
    name=$1; shift
    expect 0 'wall time' train $model --tpu v3 --batch 512 --steps-per-epoch 4 --epochs 2 \
        --csv-log "$work/$name.csv" "$@"
    cut -d, -f1-7 "$work/$name.csv" >"$work/$name.values"
}
logged plain
logged execution --steps-per-execution 3
logged sharded --shard-state
logged micro --micro-batches 4
cmp -s "$work/plain.values" "$work/execution.values" ||
    fail 'three steps per execution are other steps'
[ "$(wc -l <"$work/plain.csv")" -eq 3 ] || fail "log: $(cat "$work/plain.csv")"
for name in sharded micro; do
    for field in 2 4; do
        one=$(cut -d, -f$field "$work/plain.csv" | tail -1 | cut -c1-6)
        other=$(cut -d, -f$field "$work/$name.csv" | tail -1 | cut -c1-6)
        [ "$one" = "$other" ] || fail "$name: $one is $other"
    done
done
expect 0 '3 steps per execution' train $model --tpu v3 --batch 512 --steps 6 \
    --steps-per-execution 3
refuse 'cannot write /nowhere/log.csv' train $model --backend host --csv-log /nowhere/log.csv
expect 2 '--shard-state belongs to --backend sim' train $model --backend host --shard-state
expect 0 'epoch' train $model --backend host --epochs 3 --early-stopping 1 --lr 10

# ten steps in one go, and five and five by two processes: the same bits
part="$model --tpu v3 --batch 512 --steps-per-epoch 5 --optimizer adamw"
# shellcheck disable=SC2086
{
    expect 0 'wall time' train $part --epochs 2 --checkpoint "$work/whole" \
        --csv-log "$work/whole.csv"
    expect 0 'wall time' train $part --epochs 1 --checkpoint "$work/parts" \
        --csv-log "$work/parts.csv"
    refuse '1 epochs are done already' train $part --epochs 1 --checkpoint "$work/parts" --resume
    refuse '5 steps are done already, and there are to be 5 in all, by --epochs, ' train $part \
        --epochs 2 --steps 5 --checkpoint "$work/parts" --resume
    expect 0 'resuming   after 1 epochs, 5 steps' train $part --epochs 2 \
        --checkpoint "$work/parts" --resume --csv-log "$work/parts.csv"
    refuse 'of a training with seed 1, not 2' train $part --epochs 3 --seed 2 \
        --checkpoint "$work/parts" --resume
    refuse 'up to step 10, and this one is at step 0; --resume goes on from them, --overwrite' \
        train $part --epochs 1 --checkpoint "$work/parts"
    expect 2 '--overwrite removes the checkpoints that --resume goes on from' train $part \
        --checkpoint "$work/parts" --resume --overwrite
    expect 2 '--overwrite belongs to --checkpoint' train $part --overwrite
    cp -r "$work/parts" "$work/anew"
    expect 0 'wall time' train $part --epochs 1 --checkpoint "$work/anew" --overwrite
    [ "$(ls "$work/anew")" = ckpt-00000005.safetensors ] || fail "anew: $(ls "$work/anew")"
    refuse 'no checkpoint to resume from' train $part --checkpoint "$work" --resume
    refuse 'that --checkpoint names' train $part --resume
}
cmp -s "$work/whole/ckpt-00000010.safetensors" "$work/parts/ckpt-00000010.safetensors" ||
    fail 'a training in two parts is another one'
cmp -s "$work/whole.csv" "$work/parts.csv" || fail 'a log in two parts is another one'

# cut within epochs by --steps: the same log and the same checkpoint in the end
cut="$model --backend host --batch 512 --steps-per-epoch 5 --epochs 2"
# shellcheck disable=SC2086
{
    expect 0 'epoch' train $cut --checkpoint "$work/uncut" --csv-log "$work/uncut.csv"
    expect 0 'epoch' train $cut --steps 3 --checkpoint "$work/cut" --csv-log "$work/cut.csv"
    expect 0 'resuming   after 0 epochs, 3 steps' train $cut --steps 7 --checkpoint "$work/cut" \
        --csv-log "$work/cut.csv" --resume
    expect 0 'resuming   after 1 epochs, 7 steps' train $cut --checkpoint "$work/cut" \
        --csv-log "$work/cut.csv" --resume
    # and as if it had been killed between step 3 and step 5
    expect 2 '--checkpoint-steps belongs to --checkpoint' train $cut --checkpoint-steps 3
    expect 0 'epoch' train $cut --epochs 1 --checkpoint "$work/kept" --checkpoint-steps 3 \
        --csv-log "$work/kept.csv"
    rm "$work/kept/ckpt-00000005.safetensors"
    expect 0 'resuming   after 0 epochs, 3 steps' train $cut --checkpoint "$work/kept" \
        --csv-log "$work/kept.csv" --resume
}
cmp -s "$work/uncut.csv" "$work/kept.csv" || fail "kept: $(cat "$work/kept.csv")"
cmp -s "$work/uncut/ckpt-00000010.safetensors" "$work/kept/ckpt-00000010.safetensors" ||
    fail 'a training that goes on within an epoch is another one'
cmp -s "$work/uncut.csv" "$work/cut.csv" || fail "cut: $(cat "$work/cut.csv")"
cmp -s "$work/uncut/ckpt-00000010.safetensors" "$work/cut/ckpt-00000010.safetensors" ||
    fail 'a training that was cut within its epochs is another one'

# early stopping goes on as well, epoch by epoch: best, patience, the best weights, what the log says
stop="$model --backend host --batch 512 --steps-per-epoch 2 --early-stopping 2 \
    --optimizer sgd --lr 0.5 --momentum 0.9"
# shellcheck disable=SC2086
{
    expect 0 'epoch' train $stop --epochs 9 --checkpoint "$work/stop" --csv-log "$work/stop.csv"
    "$systole" train $stop --epochs 1 --checkpoint "$work/again" --csv-log "$work/again.csv" \
        >/dev/null 2>&1
    for epochs in 2 3 4 5 6 7 8 9; do
        echo "$epochs,0,0,0,0,0,0,0" >>"$work/again.csv"        # of a run that was killed later
        "$systole" train $stop --epochs $epochs --checkpoint "$work/again" --resume \
            --csv-log "$work/again.csv" >/dev/null 2>&1
    done
}
# shellcheck disable=SC2086
expect 1 '--early-stopping has ended this training after 4 epochs' train $stop --epochs 9 \
    --checkpoint "$work/again" --resume --out "$work/again_out"
[ "$(wc -l <"$work/stop.csv")" -lt 10 ] || fail 'early stopping never stops'
sed -i '/,0,0,0,0,0,0,0$/d' "$work/again.csv"   # behind the end nothing is written
cmp -s "$work/stop.csv" "$work/again.csv" ||
    fail "early stopping in parts: $(cat "$work/again.csv"), in one: $(cat "$work/stop.csv")"
for file in "$work"/stop/ckpt-*; do
    cmp -s "$file" "$work/again/${file##*/}" || fail "early stopping in parts: ${file##*/}"
done

# a second process in the same folder, or on the same log, is told who is there
# shellcheck disable=SC2086
"$systole" train $part --epochs 1000 --checkpoint "$work/held" --csv-log "$work/held.csv" \
    >/dev/null 2>&1 &
holder=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s "$work/held.csv.lock" ] && [ -s "$work/held/checkpoints.lock" ] && break
    sleep 1
done
# shellcheck disable=SC2086
{
    expect 1 "$work/held is being written by process $holder" train $part --overwrite \
        --checkpoint "$work/held"
    expect 1 "held.csv is being written by process $holder" train $part --csv-log "$work/held.csv"
    kill -KILL $holder
    wait $holder 2>/dev/null
    expect 0 'wall time' train $part --epochs 1 --checkpoint "$work/held" --overwrite \
        --csv-log "$work/held.csv"
}
[ "$(ls "$work/held")" = ckpt-00000005.safetensors ] || fail "held: $(ls "$work/held")"
[ -e "$work/held.csv.lock" ] && fail 'a lock stays behind'

# launches of two steps, the last of each epoch of one: a row for each
expect 0 'results in' train $model --tpu v3 --epochs 2 --steps-per-epoch 5 --batch 512 \
    --steps-per-execution 2 --out "$work/launches"
[ "$(cut -d, -f1 "$work/launches/steps.csv" | tr '\n' ' ')" = 'step 2 4 5 7 9 10 ' ] ||
    fail "rows of launches: $(cat "$work/launches/steps.csv")"
# a schedule makes the rate of the steps
expect 2 '--lr does not go with CosineDecay of --optimizer, which makes the rate' train $model --lr 0.1 \
    --optimizer 'Adam(CosineDecay(0.1, 4))'
# shellcheck disable=SC2086
expect 0 'Adam(ExponentialDecay(0.01, 5, 0.5)), beta-1' train $part --epochs 1 --backend host \
    --csv-log "$work/decay.csv" --optimizer 'Adam(ExponentialDecay(0.01, 5, 0.5))'
[ "$(sed -n 2p "$work/decay.csv" | cut -d, -f6 | cut -c1-5)" = 0.005 ] ||
    fail "rates of a schedule: $(cat "$work/decay.csv")"
# the rate of a checkpoint, another one, and that one again
# shellcheck disable=SC2086
{
    expect 0 'lr 0.001,' train $part --epochs 3 --checkpoint "$work/parts" --resume
    expect 0 'lr 0.5,' train $part --epochs 4 --checkpoint "$work/parts" --resume --lr 0.5 \
        --csv-log "$work/rate.csv"
    expect 0 'lr 0.5,' train $part --epochs 5 --checkpoint "$work/parts" --resume
}
[ "$(sed -n 2p "$work/rate.csv" | cut -d, -f6)" = 0.5 ] || fail "rate: $(cat "$work/rate.csv")"
# on another number of replicas: eight go on as two of two stages, and on the host
# shellcheck disable=SC2086
{
    expect 0 'wall time' train $part --tpu v3-8 --epochs 1 --checkpoint "$work/moved" \
        --csv-log "$work/moved.csv"
    expect 0 'resuming   after 1 epochs' train $part --tpu v3-2 --pipeline 2 --epochs 2 \
        --checkpoint "$work/moved" --resume --csv-log "$work/moved.csv"
    expect 0 'resuming   after 2 epochs' train $part --backend host --epochs 3 \
        --checkpoint "$work/moved" --resume --csv-log "$work/moved.csv"
}
for i in 2 3; do
    [ "$(sed -n ${i}p "$work/moved.csv" | cut -d, -f2 | cut -c1-4)" = \
        "$(sed -n ${i}p "$work/whole.csv" | cut -d, -f2 | cut -c1-4)" ] ||
        fail "moved: $(cat "$work/moved.csv"), on one slice $(cat "$work/whole.csv")"
done

[ $failures -eq 0 ]
