#!/bin/sh
# systole op, conv and check hardware: what they print, and how they fail.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_op.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "op: $*"; status=1; }
out=$dir/out

refused() { # exit status, what the message has to hold, command
    want=$1 text=$2; shift 2
    $systole "$@" >"$out" 2>&1
    got=$?
    [ $got = "$want" ] || fail "$*: exit status $got, not $want"
    grep -qF -- "$text" "$out" || fail "$*: no \"$text\" but: $(cat "$out")"
}

$systole op --list >"$out" || fail "--list"
grep -q '^  softmax ' "$out" || fail "--list has no softmax"
grep -qw 'tanh' "$out" || fail "--list has no tanh"
refused 1 'unknown operation "sofmax" (did you mean "softmax"?)' op sofmax 8x8
refused 1 'reshape takes SHAPE TO, e.g. 1024x768; 1 given' op reshape 8x8
refused 1 'shapes of 64 and 60 elements' op reshape 8x8 60
refused 1 '--dims has 2; dimensions here are 0..1' op reduce-add 8x8 --dims 2
refused 1 '--dims must name each of the 2 dimensions once' op transpose 8x8 --dims 1,1
refused 1 'a product needs [..,m,k] and [..,k,n]' op dot 8x16 8x16
refused 1 '--count is 9, allowed are 1..8' op topk 8 --count 9
refused 2 '"8x" is no shape' op add 8x
refused 2 '"8x-1" is no shape' op add 8x-1
refused 2 'more than 1099511627776 elements' op add 2000000000x2000000000
refused 2 '--dtype is "f64"' op add 8 --dtype f64
refused 2 '--codegen is "fast", allowed are xla, best' op add 8 --codegen fast
refused 2 'which operation?' op
refused 1 'does not take' op popcnt 8x8 --dtype f32
refused 1 'softmax takes f32, bf16, not s32 (--dtype)' op softmax 8x8 --dtype s32
refused 1 'layer-norm takes f32, bf16, not u8' op layer-norm 8x8 --dtype u8
refused 1 'dot takes f32, bf16, s8, u8, not u32' op dot 8x8 8x8 --dtype u32
refused 1 'flash_attention takes Q K, e.g. 1024x768; 1 given' op flash_attention 2x64x128
refused 1 'queries HEADSxQUERIESxDEPTH and keys' op flash_attention 2x64x128 2x256x64
refused 1 '17 queries of a sequence; over pages' op paged_attention 2x8x17x128 2x512x128 --tpu v6e
for c in 'flash_attention 4x64x128 2x256x128' 'paged_attention 2x8x1x128 2x512x128' \
         'ragged_paged_attention 2x8x32x128 2x512x128'; do
    $systole op $c --tpu v6e >"$out" 2>&1 || fail "op $c: $(cat "$out")"
    grep -q ' custom-call ' "$out" || fail "op $c: no custom call but: $(cat "$out")"
done
for op in 'gather 1000x16 640' 'scatter 997x64 640'; do        # the smallest chip has room for indices
    $systole op $op --tpu tiny >"$out" 2>&1 || fail "op $op on tiny: $(cat "$out")"
done
for op in 'reduce-add 8x8' 'argmax 8x8' 'sort 8x8' 'max-pool 1x8x8x8' 'scatter 9x8 7' 'topk 8x8'; do
    refused 1 'takes f32, bf16, s32, u32, s8, u8, not pred' op $op --dtype pred
done
refused 2 'four sizes are needed, batch x height x width x features' conv 8x8 3x3x8x8
refused 2 'which sizes?' conv
refused 1 '8 input features in 1 group need a kernel of 8, not 4' conv 1x8x8x8 3x3x4x8
refused 1 'do not divide into 2 groups' conv 1x8x8x8 3x3x4x7 --groups 2
refused 1 'a window of 9 over 8' conv 1x8x8x8 9x9x8x8
refused 2 '--grad is "weights", allowed are none, input, kernel, step' conv 1x8x8x8 3x3x8x8 --grad weights
refused 2 '--stride is "0"' conv 1x8x8x8 3x3x8x8 --stride 0
# as inside a network: no transposes, whatever the batch, and of the first layer's images none
for c in '1x28x28x32 3x3x32x32' '1x28x28x32 3x3x32x32 --grad kernel' '64x7x7x16 3x3x16x32' \
         '64x9x9x3 3x3x3x8' '64x9x9x3 3x3x3x8 --grad kernel'; do
    $systole conv $c --tpu v3 --pad 1 >"$out" 2>&1 || fail "conv $c: $(cat "$out")"
    grep -q ': 1 kernel,' "$out" || fail "conv $c has more than its kernel: $(head -1 "$out")"
done

cycles() { $systole op gather 30522x768 512 --tpu v6e "$@" | sed -n 's/ cycles = .*//p' | head -1; }
seq 0 511 >"$dir/rows"
[ -n "$(cycles)" ] && [ "$(cycles)" != "$(cycles --assume-index "$dir/rows")" ] ||
    fail "which rows a gather reads makes no difference"
echo 30522 >"$dir/far"
refused 1 "$dir/far" op gather 30522x768 512 --assume-index "$dir/far"
refused 1 "$dir/none" op gather 30522x768 512 --assume-index "$dir/none"

refused 1 "$dir: no measurements here" check hardware "$dir"
echo 'op,workload,measured_value,measured_unit,M,K,N' >"$dir/pytorchsim_tpuv6e_ops.csv"
echo 'gemm,g,1.5,us,8,0,8' >>"$dir/pytorchsim_tpuv6e_ops.csv"
refused 1 'pytorchsim_tpuv6e_ops.csv:2: K: expected a whole number in 1..1e+09, found "0"' \
    check hardware "$dir"
echo 'op,workload,measured_value,measured_unit,M,K,N' >"$dir/pytorchsim_tpuv6e_ops.csv"
echo 'gemm,g,1.5,us,8,,8' >>"$dir/pytorchsim_tpuv6e_ops.csv"
refused 1 'pytorchsim_tpuv6e_ops.csv:2: K: expected a whole number in 1..1e+09, found ""' \
    check hardware "$dir"
refused 1 'no measurements here with a name like tpuv9' check hardware "$dir" --file tpuv9
refused 2 '--limit is "0"' check hardware "$dir" --limit 0
refused 2 'only one folder may be given, not' check hardware "$dir" "$dir"
exit $status
