#!/bin/sh
# systole exec of kernels written in Pallas (tests/jax/pallas): the host's results, and those of
# simulated cores, are those of JAX's TPU interpret mode; what is broken is told in one message.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
data=tests/import/data/pallas

sed 1d $data/kernels.csv >"$work/kernels"
while IFS=, read -r name bound; do
    set -- exec $data/$name.mlirbc --inputs $data/$name.inputs.safetensors \
        --expect $data/$name.outputs.safetensors --tolerance "$bound"
    expect 0 'results are within' "$@" --backend host
    for chip in v5e v7x; do
        expect 0 'results are within' "$@" --tpu $chip
    done
done <"$work/kernels"

# kernels between devices, on simulated cores and on the host
for name in right_permute ring_gather ring_sum ring_scatter; do
    set -- exec $data/$name.mlirbc --inputs $data/$name.inputs.safetensors \
        --expect $data/$name.outputs.safetensors --tolerance 1e-6
    for chips in v5e-4 v5p-8; do
        expect 0 '1 of 1 results are within' "$@" --tpu $chips
    done
    expect 0 '1 of 1 results are within' "$@" --tpu v5e-4 --backend host
    expect 0 '1 of 1 results are within' exec $data/$name.mlirbc --tpu v5p-8 --compare
    expect 0 ' cycles = ' exec $data/$name.mlirbc --tpu v5e-4 --mode timing
done

# what a kernel prints, where the host carries it out
expect 0 'step 0 of 7' exec $data/printed_parts.mlirbc --inputs $data/printed_parts.inputs.safetensors --backend host
expect 0 'sum 19840' exec $data/printed_parts.mlirbc --inputs $data/printed_parts.inputs.safetensors --backend host
expect 0 'x 0 0.25 0.5 0.75' exec $data/printed_parts.mlirbc --inputs $data/printed_parts.inputs.safetensors --backend host

# a row of 50,257 elements is more than registers hold
expect 0 '1 of 1 results are within' exec $data/wide_softmax.mlirbc --compare --tolerance 1e-5

# arrays of 130 columns lie with rows along lanes at the entry, where they are padded least, and are
# copied for a kernel, which has columns there; a kernel by itself has them as it wants them
for chip in v5e v7x; do
    expect 0 '1 of 1 results are within' exec $data/odd_columns.mlirbc --compare --tpu $chip --tolerance 2e-2
done
expect 0 'copy.x' compile $data/odd_columns.mlirbc --tpu v5e --run
expect 0 'HBM   12.4 MiB' compile $data/odd_columns.mlirbc --tpu v5e --run
cycles=$("$systole" kernel $data/odd_columns.mlirbc --tpu v5e | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
[ "${cycles:-99999}" -lt 30000 ] || fail "a kernel with copies of its arrays: $cycles cycles"

# heads of bf16 that fill tiles of eight rows are moved before a kernel; three of them, which a TPU pads
# row-major, too, lie as the kernel has them
for chip in v5e v7x; do
    for name in heads_turned heads_turned_three; do
        expect 0 '1 of 1 results are within' exec $data/$name.mlirbc --compare --tpu $chip --tolerance 0
    done
done
expect 0 'transpose' exec $data/heads_turned.mlirbc --tpu v5e --mode timing
"$systole" exec $data/heads_turned_three.mlirbc --tpu v5e --mode timing | grep -q transpose &&
    fail "three heads of bf16 are moved"

# indices that go through a third dimension and back stay where they are, a last tile of few rows is made
# as the others, heads of tokens are stored eight tokens at a time, and rows go to lanes by the cross-lane
# units, whatever dimensions move beside them, and runs of few row tiles overlap: 80, 25, 113 and 3.9
# thousand cycles before
for most in taken_lanes:2000 rope_heads:6600 turned_dimensions:7500 rows_as_others:3000; do
    name=${most%:*}
    cycles=$("$systole" kernel $data/$name.mlirbc --tpu v5e | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
    [ "${cycles:-99999}" -lt "${most#*:}" ] || fail "$name: $cycles cycles"
done

# integers along lanes are floats for the cross-lane units, half a word at a time where they may be large;
# a loop whose rounds wait long for them overlaps as many as it has registers for: 337, 319, 35 and 40
# thousand cycles before
for most in routed:v5e:9000 routed:v7x:8000 best_lanes:v7x:7000 best_eight:v5e:13000; do
    name=${most%%:*} chip=${most#*:}
    cycles=$("$systole" kernel $data/$name.mlirbc --tpu "${chip%:*}" | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
    [ "${cycles:-99999}" -lt "${chip#*:}" ] || fail "$name on ${chip%:*}: $cycles cycles"
done

# row tiles whose maxima, exponentials, sums and products wait for each other go side by side: 17.1 and
# 16.1 thousand cycles before
for chip in v5e:8000 v7x:7500; do
    cycles=$("$systole" kernel $data/attention_bias.mlirbc --tpu "${chip%:*}" | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
    [ "${cycles:-99999}" -lt "${chip#*:}" ] || fail "chains side by side on ${chip%:*}: $cycles cycles"
done

# rows that registers do not hold until their sum is known are read again, and placed in source order:
# 12.9, 9.8 and 8.4 thousand cycles before
for most in wide_norm:v5e:10500 wide_norm:v7x:7200 wide_norm_gradient:v5e:7800; do
    name=${most%%:*} chip=${most#*:}
    cycles=$("$systole" kernel $data/$name.mlirbc --tpu "${chip%:*}" | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
    [ "${cycles:-99999}" -lt "${chip#*:}" ] || fail "$name on ${chip%:*}: $cycles cycles"
done

# windows that reach out of their arrays, by whole rows of tiles or along another dimension; of ones
# sums of three neighbours, the middle one twice, are 4, and 3 where one is outside
for chip in v5e v5p v7x; do
    for name in halo_padded halo_images halo_one_image; do
        expect 0 '1 of 1 results are within' exec $data/$name.mlirbc --compare --tpu $chip
    done
done
for name in halo_images halo_one_image; do
    expect 0 ' cycles = ' exec $data/$name.mlirbc --input 0=ones
    grep -q '128\] *3 *4 ' "$work/log" || fail "$name of ones: $(cat "$work/log")"
done

# random bits are ours: the same on cores and on the host, others with another seed
for name in random_uniform random_bits; do
    for chip in v5e v7x; do
        expect 0 '1 of 1 results are within' exec $data/$name.mlir --compare --tpu $chip --input 0=ones
    done
done
"$systole" exec $data/random_uniform.mlir --input 0=ones | sed -n '/^ *0 /p' >"$work/ones"
"$systole" exec $data/random_uniform.mlir --input 0=zeros | sed -n '/^ *0 /p' >"$work/zeros"
cmp -s "$work/ones" "$work/zeros" && fail "the seed makes no difference: $(cat "$work/ones")"

# elements packed into words and taken out of them, rounding by chance: interpret mode lacks them
for chip in v5e v7x; do
    expect 0 '6 of 6 results are within' exec $data/packs.mlirbc --compare --tpu $chip --tolerance 0
done

# a float that a kernel takes out of a vector to add it up needs no scalar unit, and so no values
expect 0 ' cycles = ' exec $data/word.mlirbc --tpu v7x --mode timing

# parts of the keys one behind the other: a loop begins while the one before it ends, which takes
# 1,200 cycles off, and values are what they were
expect 0 '1 of 1 results are within' exec $data/key_parts.mlirbc --compare --tpu v6e
cycles=$("$systole" kernel $data/key_parts.mlirbc --tpu v6e | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
[ "${cycles:-99999}" -lt 14800 ] || fail "parts of an attention: $cycles cycles"

# masks that scores and weights of a softmax share are compared twice rather than kept, and so rounds
# overlap: a third of the cycles; integers summed up over steps are summed up in their buffer
for chip in v3 v6e v7x; do
    expect 0 '1 of 1 results are within' exec $data/masked_rows.mlirbc --compare --tpu $chip
done
for chip in v5e v6e; do
    expect 0 '1 of 1 results are within' exec $data/int8_sums.mlirbc --compare --tpu $chip --tolerance 0
done
cycles=$("$systole" kernel $data/masked_rows.mlirbc --tpu v6e --input 0=ones |
         sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
[ "${cycles:-99999}" -lt 6200 ] || fail "masked rows: $cycles cycles"
# sums of 64 rows, and their maxima, though the sums are written twice
ops=$("$systole" kernel $data/named_twice.mlirbc --tpu v6e | sed -n 's/^ *xlu[01] *\([0-9]*\) .*/\1/p' |
      awk '{ sum += $1 } END { print sum }')
[ "$ops" = 32 ] || fail "a sum that is written twice: $ops operations across lanes"
stores=$("$systole" kernel $data/int8_sums.mlirbc --tpu v6e | sed -n 's/^ *store *\([0-9,]*\) .*/\1/p' | tr -d ,)
[ "${stores:-9999}" -lt 1400 ] || fail "sums of integers beside their products: $stores stores"

# a call with this configuration, of one array of 8 by 128
call() {
    sed "s|CONFIG|$1|" >"$work/call.mlir" <<'MLIR'
module @m {
  func.func @main(%arg0: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0) {backend_config = "CONFIG", api_version = 1 : i32} : (tensor<8x128xf32>) -> tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}
MLIR
}

call '{\\22custom_call_config\\22: {\\22body\\22: \\22?!\\22}}'
expect 1 'the body of the kernel is not written in base64' exec "$work/call.mlir" --tpu v5e
call '{\\22custom_call_config\\22: {\\22body\\22: \\22AAAA\\22}}'
expect 1 'does not begin with "ML' exec "$work/call.mlir" --tpu v5e
expect 1 'does not begin with "ML' exec "$work/call.mlir" --backend host
call '{\\22custom_call_config\\22: {\\22body\\22: \\22AAAA\\22, \\22serialization_format\\22: 3}}'
expect 1 'serialization_format 3 of the body; 1, bytecode, is read' exec "$work/call.mlir" --tpu v5e
call 'nothing'
expect 1 'backend_config is no JSON object' exec "$work/call.mlir" --tpu v5e

[ $failures -eq 0 ]
