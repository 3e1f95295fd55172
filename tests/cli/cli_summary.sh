#!/bin/sh
# systole summary: layers of a file, and what it refuses.
. tests/cli/cli_rig.inc

expect 2 'which model' summary
expect 2 'only one model may be given, not' summary a.json b.json
expect 2 '--codegen is "fast", allowed are xla, best' summary a.json --codegen fast
expect 2 '--batch is "0", allowed are whole numbers in 1..1048576' summary a.json --batch 0
expect 2 'there are float32, mixed_bfloat16, bfloat16' summary a.json --policy half
expect 0 'Examples:' summary --help
refuse 'no/such.json: cannot open' summary no/such.json
refuse 'did you mean "v3"' summary examples/mnist_mlp.json --tpu v33
printf '{\n "class_name": }\n' >"$work/broken.json"
refuse "$work/broken.json:2:" summary "$work/broken.json"

expect 0 'Total params: 38,375,818 (146.39 MB)' summary examples/mnist_cnn.json --plain
expect 0 'Predicted for one core of TPU v2, mixed_bfloat16, 25 samples at a time:' \
    summary examples/mnist_cnn.json --tpu v2 --batch 25 --policy mixed_bfloat16
grep -q '^conv2d_1 (Conv2D) .* 680,362,240 .* compute$' "$work/log" || fail "$(cat "$work/log")"
expect 0 '"trainable_parameters": 101770' summary examples/mnist_mlp.json --json --tpu v2
grep -q '"forward_cycles": [0-9]' "$work/log" && [ "$(grep -c '"class": "Dense"' "$work/log")" -eq 2 ] ||
    fail "no JSON of the rows: $(cat "$work/log")"
expect 0 '"connected_to": ' summary examples/resnet_small.json --json --plain
! grep -q cycles "$work/log" || fail "cycles with --plain: $(cat "$work/log")"
expect 0 'block1_attention (MultiHeadAttention)' summary examples/char_transformer.json --plain
expect 0 'block3_skip_bn' summary examples/resnet_small.json --inference --codegen best

[ $failures -eq 0 ]
