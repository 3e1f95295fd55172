#!/bin/sh
# systole train of a model of two inputs and two outputs: its files, losses and their weights.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
model=tests/keras/files/2025_masked_two_ends.json
data=$work/data
mkdir "$data"

# npy FILE TYPE SHAPE BYTES: zeros, as numpy.save writes them
npy() {
    { printf '\223NUMPY\001\000\166\000'
      printf "%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
      head -c "$4" /dev/zero; } >"$data/$1.npy"
}
set_of() {
    npy "x_$1_tokens" '<i4' "$2, 6" $(($2 * 24))
    npy "x_$1_extra" '<f4' "$2, 3" $(($2 * 12))
    npy "y_$1_kind" '<i4' "$2," $(($2 * 4))
    npy "y_$1_size" '<f4' "$2, 1" $(($2 * 4))
}

losses=kind=sparse_categorical_crossentropy,size=mse
with="$model --backend host --input-shape tokens=6 --batch 8 --epochs 1"
refuse 'say it with --input-shape' train $model --backend host
refuse 'has no x_test_tokens.npy' train $with --data "$data"
set_of test 8
refuse 'has no x_train_tokens.npy' train $with --data "$data" --loss $losses
set_of train 16
refuse 'no output "sort"; its outputs' train $with --data "$data" --loss sort=mse
refuse '"-1" is no number from 0 up' train $with --data "$data" --loss-weights kind=-1
refuse '"x" is no number from 0 up' train $with --data "$data" --loss-weights x
refuse 'labels of shape [] do not fit predictions of shape [1]' train $with --data "$data"

# the first epoch's loss without a step that changes anything
loss() {
    "$systole" train $with --data "$data" --loss $losses --optimizer "SGD(0.0)" \
        --loss-weights "$1" | awk '$1 == 1 { loss = $2 } END { print loss }'
}
both=$(loss kind=1,size=0.5)
apart=$(echo "$(loss kind=1,size=0) $(loss kind=0,size=1)" | awk '{ print $1 + $2 / 2 }')
echo "$both $apart" | awk '{ exit !($1 > 0.5 && $1 - $2 < 2e-4 && $2 - $1 < 2e-4) }' ||
    fail "the losses' sum is $both, their parts make $apart"

# every metric of every output, named after it, also on the device
expect 0 'epoch      loss' train $with --data "$data" --loss $losses --csv-log "$work/log.csv" \
    --metrics accuracy,size=mae
head -1 "$work/log.csv" | grep -q 'kind_accuracy.*size_accuracy.*size_m' ||
    fail "the log lacks the outputs' metrics: $(head -1 "$work/log.csv")"
expect 0 'epoch      loss' train $model --tpu v3-2 --input-shape tokens=6 --batch 8 --epochs 1 \
    --data "$data" --loss $losses --no-trace

refuse '"mae" is one too many' train $with --data "$data" --loss mse,mae
refuse "all must be of one reduction" train $with --data "$data" \
    --loss "kind=SparseCategoricalCrossentropy(reduction='sum'),size=mse"

# ----- members of a .npz, and what was trained there evaluated: by their names, or as they are named
npz=tests/corpus/zip/two_ends.npz
names=x_test_tokens,x_test_extra,y_test_kind,y_test_size
with="--backend host --input-shape tokens=6 --batch 8"
expect 0 'epoch      loss' train $model $with --data $npz --loss $losses --epochs 2 \
    --save "$work/w.keras"
said=$(awk '$1 == 2 { print $5 }' "$work/log")
expect 0 'size_accuracy' evaluate "$work/w.keras" $with --data $npz --loss $losses
got=$(awk '$1 == "kind_accuracy" { printf "%.2f", 100 * $2 }' "$work/log")
[ -n "$got" ] && [ "$got" = "$said" ] || fail "kind_accuracy is $got, of the training $said"
value() {
    "$systole" evaluate "$work/w.keras" $with --data "$1" --loss $losses --metrics size=mae \
        --loss-weights "$2" | awk '$1 == "loss" { print $2 }'
}
[ "$(value $npz size=0.5)" = "$(value $npz:$names size=0.5)" ] || fail "names say another loss"
both=$(value $npz kind=1,size=0.5)
apart=$(echo "$(value $npz size=0) $(value $npz kind=0)" | awk '{ print $1 + $2 / 2 }')
echo "$both $apart" | awk '{ exit !($1 > 0.1 && $1 - $2 < 2e-4 && $2 - $1 < 2e-4) }' ||
    fail "the evaluated losses' sum is $both, their parts make $apart"

# each output's own loss, whatever it weighs, and the sum with the weights, also on the device
for machine in '--backend host' '--tpu v3-2'; do
    "$systole" evaluate "$work/w.keras" $machine --input-shape tokens=6 --batch 8 --data $npz \
        --loss $losses --loss-weights kind=3,size=0.5 |
        awk '$1 == "loss" { all = $2 } $1 == "kind_loss" { kind = $2 } $1 == "size_loss" { size = $2 }
             END { d = all - 3 * kind - size / 2
                   exit !(kind > 0.1 && size > 0.01 && d < 2e-4 && d > -2e-4) }' ||
        fail "$machine: the losses of outputs do not make the loss"
done
refuse "needed are 4, in the order of $names" evaluate "$work/w.keras" $with --data $npz:a,b
refuse 'has no array "x_test_token"' evaluate "$work/w.keras" $with \
    --data $npz:x_test_token,x_test_extra,y_test_kind,y_test_size --loss $losses

# predictions: one file for each output, on the host as on eight cores, and what evaluate counts
expect 0 'y_kind.npy' predict "$work/w.keras" $with --data $npz --out "$work/y.npy"
expect 0 'chip_size.npy' predict "$work/w.keras" --tpu v3-8 --input-shape tokens=6 --batch 8 \
    --data $npz --out "$work/chip.npy"
[ -e "$work/y.npy" ] && fail "of two outputs one file was left without a name"
# the last $1 numbers of a file
numbers() { tail -c $((4 * $1)) "$2" | od -An -v -tf4 | awk '{ for (i = 1; i <= NF; i++) print $i }'; }
for output in kind size; do
    count=$((($(wc -c <"$work/y_$output.npy") - 128) / 4))
    numbers $count "$work/y_$output.npy" >"$work/host"
    numbers $count "$work/chip_$output.npy" | paste "$work/host" - |
        awk '{ d = $1 - $2; bad += d > 0.02 || d < -0.02; other += $1 != 0 }
             END { exit bad || !other || !NR }' || fail "$output: host and chip predict differently"
done

[ $failures -eq 0 ]
