#!/bin/sh
# systole compile: what it refuses, and how it says so.
. tests/cli_rig.inc

model=examples/mnist_mlp.json

# usage errors (2) and users' mistakes (1)
expect 2 'which model' compile
expect 2 'one model, not' compile $model $model
expect 2 '--codegen is "fast", allowed are xla, best' compile $model --codegen fast
expect 2 '--batch is "0", allowed are whole numbers in 1..1048576' compile $model --batch 0
expect 2 '--policy is "half", allowed are float32, mixed_bfloat16' compile $model --policy half
expect 2 '--optimizer is "lion", allowed are adam, sgd' compile $model --optimizer lion
expect 2 '--emit is "llvm", allowed are graph, bundles, listing' compile $model --emit llvm
expect 2 'it needs --run' compile $model --emit listing
expect 2 '--dump-after is "nothing", allowed are simplify, ' compile $model --dump-after nothing
refuse 'no/such.json: ' compile no/such.json
refuse '"resnet5"' compile resnet5
expect 0 'resnet50' compile --list
refuse 'did you mean "v5e"' compile $model --tpu v5f
printf 'garbage\n' >"$work/cache"
refuse "$work/cache:1: not a tuning cache of this version" compile $model --tune-cache "$work/cache"
printf 'systole tuning 1\nTPU_v5e xla dot zz 5 1\n' >"$work/cache"
refuse "$work/cache:2: not \"CHIP xla|best KIND" compile $model --tune-cache "$work/cache"
refuse 'no/such/folder' compile $model --out no/such/folder
refuse 'no/such/cache' compile $model --tune --tune-cache no/such/cache
expect 0 'Examples:' compile --help

exit $failures
