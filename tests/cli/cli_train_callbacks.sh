#!/bin/sh
# systole train with weights of classes and samples, weighted metrics, and Keras's callbacks.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
model=examples/mnist_mlp.json
data=$work/data
mkdir "$data"

# npy FILE DTYPE SHAPE: the head of an array, whose elements come behind it
npy() {
    printf '\223NUMPY\001\000v\000' >"$1"
    printf "%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" >>"$1"
}

# repeat COUNT BYTES: as many times
repeat() { i=0; while [ $i -lt "$1" ]; do printf "$2"; i=$((i + 1)); done; }

for part in train test; do
    npy "$data/x_$part.npy" '|u1' '64, 784'
    cat README.md CHANGELOG.md docs/*.md | head -c 50176 >>"$data/x_$part.npy"
    npy "$data/y_$part.npy" '|u1' '64,'
    repeat 32 '\000\001' >>"$data/y_$part.npy"
done
npy "$work/w.npy" '<f4' '64,'
repeat 32 '\000\000\200\077\000\000\240\100' >>"$work/w.npy"    # 1 and 5
npy "$work/short.npy" '<f4' '2,'
repeat 1 '\000\000\200\077\000\000\240\100' >>"$work/short.npy"

# log NAME OPTION...: a short training, its CSV log in $work/NAME.csv
log() {
    name=$1; shift
    expect 0 epoch train $model --backend host --data "$data" --batch 16 --epochs 3 \
        --optimizer 'SGD(0.01)' --csv-log "$work/$name.csv" "$@"
}

# a weight of a class is that of its samples; metrics count it where they are weighted
log plain --metrics accuracy
log class --metrics accuracy --class-weight 0=1,1=5
log file --metrics accuracy --class-weight "$work/short.npy"
log sample --metrics accuracy --sample-weight "$work/w.npy"
log metric --metrics accuracy --weighted-metrics accuracy --sample-weight "$work/w.npy"
cmp -s "$work/class.csv" "$work/file.csv" || fail "weights of classes differ from their file's"
cmp -s "$work/class.csv" "$work/sample.csv" || fail "weights of classes differ from their samples'"
cmp -s "$work/class.csv" "$work/plain.csv" && fail "weights of classes change nothing"
head -n 1 "$work/metric.csv" | grep -q '^epoch,loss,accuracy,weighted_accuracy,val_loss' ||
    fail "no weighted accuracy: $(head -n 1 "$work/metric.csv")"
[ "$(cut -d , -f 1-3 "$work/metric.csv")" = "$(cut -d , -f 1-3 "$work/class.csv")" ] ||
    fail "a weighted metric changes the others"
[ "$(cut -d , -f 3 "$work/metric.csv")" != "$(cut -d , -f 4 "$work/metric.csv")" ] ||
    fail "the weighted accuracy is the other one"

short="train $model --backend host --data $data --batch 16 --epochs 1"
expect 1 'weights of their classes do not go beside them' $short --class-weight 0=2 \
    --sample-weight "$work/w.npy"
expect 1 'class 99 has a weight, the model has' $short --class-weight 99=2
refuse 'no CLASS=WEIGHT' $short --class-weight one=2
expect 1 '2 weights of 64 training samples' $short --sample-weight "$work/short.npy"
refuse '--sample-weight is for the samples of x_train.npy' train $model --backend host \
    --sample-weight "$work/w.npy"

# a training that was stopped goes on where its backup had come to, to the same end
log whole
log first --epochs 2 --callbacks "BackupAndRestore('$work/backup', delete_checkpoint=False)"
log second --callbacks "BackupAndRestore('$work/backup')"
[ "$(tail -n 1 "$work/whole.csv")" = "$(tail -n 1 "$work/second.csv")" ] ||
    fail "from a backup: $(cat "$work/second.csv"), not $(cat "$work/whole.csv")"
[ "$(wc -l <"$work/second.csv")" -eq 2 ] || fail "epochs before the backup are done again"
ls "$work/backup"/*.safetensors >/dev/null 2>&1 && fail "the backup is left"

# rates, a log with its own separator, event files
log rates --callbacks "LearningRateScheduler('0=0.5, 2=0.25', verbose=1), TensorBoard('$work/board'),
    CSVLogger('$work/semicolon.csv', separator=';'), ReduceLROnPlateau(patience=9, verbose=0)"
grep -q 'epoch 3: learning rate is 0.25' "$work/log" || fail "no line of a rate: $(cat "$work/log")"
[ "$(cut -d ';' -f 6 "$work/semicolon.csv" | tr '\n' ' ')" = "learning_rate 0.5 0.5 0.25 " ] ||
    fail "rates or columns: $(cat "$work/semicolon.csv")"
ls "$work"/board/train/events.out.tfevents.* "$work"/board/validation/events.out.tfevents.* \
    >/dev/null || fail "no event files"
refuse 'callback "TensorBord" is none of' $short --callbacks 'TensorBord()'
refuse 'histogram_freq is not supported' $short --callbacks 'TensorBoard(histogram_freq=1)'
refuse 'expected a number at column 6' $short --callbacks "LearningRateScheduler('lr * ')"
[ $failures -eq 0 ]
