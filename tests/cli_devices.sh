#!/bin/sh
# systole train --devices: layers on logical devices at the command line.
cd "$(dirname "$0")/.." || exit 1
. tests/cli_rig.inc
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
refuse '2 steps per execution; a step whose layers are on several devices is one execution' \
    train $model $short --devices dense_1=1 --steps-per-execution 2

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
# the same without a machine
expect 0 'test acc' train $model $short --devices dense_1=1 --backend host

[ $failures -eq 0 ] || exit 1
echo "cli_devices: ok"
