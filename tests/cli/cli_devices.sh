#!/bin/sh
# systole train --devices, --mesh: models on logical devices at the command line.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
model=examples/mnist_mlp.json
short="--batch 64 --steps 2 --steps-per-epoch 2"

refuse 'dens is to be on a device, but no layer has that name (did you mean "dense"?)' \
    train $model $short --devices dens=1
refuse '"dense" does not begin with a layer, = and a device, as in "dense_1=0,dense_2=1"' \
    train $model $short --devices dense
refuse '3 logical devices on 8 cores; each replica needs as many cores as it has devices' \
    train $model $short --devices dense_1=2
refuse '16 logical devices on 8 cores' train $model $short --devices dense_1=15
refuse 'layer dense is on devices 0 and 1; it can be on one' \
    train $model $short --devices dense=0,dense=1
refuse 'layers on devices, of a model in 2 stages; a replica is cut one way only' \
    train $model $short --devices dense_1=1 --pipeline 2

cuts='dense/kernel=-,model; dense/bias=model; dense_1/kernel=model'
refuse '3 logical devices of each replica on 8 cores; they must divide the cores' \
    train $model $short --mesh model=3 --layouts "$cuts"
refuse 'axes of logical devices: "model" is not a name, = and a size' \
    train $model $short --mesh model --layouts "$cuts"
refuse '--mesh model=2 cuts nothing by itself; --layouts says what it cuts' \
    train $model $short --mesh model=2
refuse 'layout of dense/kernel: the logical devices have no axis "model"' \
    train $model $short --layouts "$cuts"
refuse 'layout of dens/kernel: no variable of model mnist_mlp has that name (did you mean' \
    train $model $short --mesh model=2 --layouts dens/kernel=model
refuse '--mesh model=8: 16 logical devices of each replica on 8 cores; they must divide' \
    train $model $short --mesh model=8 --layouts "$cuts" --pipeline 2
refuse '--mesh model=2 does not go with --devices; a replica is cut one way only' \
    train $model $short --mesh model=2 --layouts "$cuts" --devices dense_1=1

# loss_of ARGUMENT...: of the epoch and of the test images
loss_of() {
    "$systole" train $model $short --csv-log "$work/log.csv" "$@" >"$work/log" 2>&1 ||
        fail "train $*: $(cat "$work/log")"
    tail -1 "$work/log.csv" | cut -d, -f2-5
    rm -f "$work/log.csv"
}
# two micro batches keep the loss a kernel of its own, so that its sum has the same order
whole=$(loss_of --tpu v3-1 --micro-batches 2)
cut=$(loss_of --tpu v3-2 --micro-batches 2 --devices dense=0,dense_1=1 --check-races \
    --check-replicas)
[ -n "$whole" ] && [ "$whole" = "$cut" ] || fail "on two devices $cut, on one core $whole"
grep -qF 'devices    2 of each replica: dense on 0; dense_1 on 1' "$work/log" ||
    fail "no devices in: $(cat "$work/log")"
grep -qF 'device/send' "$work/log" || fail "no messages in: $(cat "$work/log")"
expect 0 'batch      64 = 4 x 16' train $model $short --devices dense_1=1 --check-replicas
# so have steps in a loop
loop=$(loss_of --tpu v3-2 --micro-batches 2 --devices dense=0,dense_1=1 --steps-per-execution 2 \
    --check-races --check-replicas)
[ "$whole" = "$loop" ] || fail "on two devices in a loop $loop, on one core $whole"
# variables that are cut: steps in a loop have the same bits, no device is forgotten
cut=$(loss_of --tpu v3-8 --mesh model=2 --layouts "$cuts" --check-replicas)
loop=$(loss_of --tpu v3-8 --mesh model=2 --layouts "$cuts" --steps-per-execution 2)
[ -n "$cut" ] && [ "$cut" = "$loop" ] || fail "cut $cut, in a loop $loop"
grep -qF 'devices    2 of each replica, model=2: dense/kernel=-,model; ' "$work/log" ||
    fail "no devices in: $(cat "$work/log")"
# stages of two devices each
expect 0 'batch      64 = 2 x 32' train $model $short --mesh model=2 --layouts "$cuts" --pipeline 2 \
    --micro-batches 2 --check-replicas --check-races
grep -qF 'devices    2 of each stage, model=2: ' "$work/log" || fail "no stages in: $(cat "$work/log")"
# the same without a machine
expect 0 'test acc' train $model $short --mesh model=2 --layouts "$cuts" --backend host
expect 0 'test acc' train $model $short --devices dense_1=1 --backend host

[ $failures -eq 0 ] || exit 1
echo "cli_devices: ok"
