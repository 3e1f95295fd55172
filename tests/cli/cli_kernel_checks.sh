#!/bin/sh
# systole kernel --check-races --check-unwritten --check-bounds: kernels with one mistake each
# (tests/jax/pallas/mistakes.py) are told of with its line, kernels without any are not; and what is
# told where such a kernel is timed.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
data=tests/import/data

check() { expect "$1" "$2" kernel "$3" --check-races --check-unwritten --check-bounds --input 0=ones $4; }

sed 1d $data/pallas_mistakes/mistakes.csv >"$work/mistakes"
while IFS=, read -r name found; do
    chip=v5e
    [ $name = parallel_sum ] && chip=v5p       # where two cores share a parallel dimension
    check 1 "$found" $data/pallas_mistakes/$name.mlir "--tpu $chip"
    case $found in
    race | unwritten)
        grep -q "^$found: .*kernel main" "$work/log" || fail "$name: $(cat "$work/log")"
        grep -q ' 1 found$' "$work/log" || fail "$name: more than its mistake: $(cat "$work/log")" ;;
    *) [ "$(wc -l <"$work/log")" -eq 1 ] || fail "$name: one line expected: $(cat "$work/log")" ;;
    esac
done <"$work/mistakes"
expect 0 ' 0 found' kernel $data/pallas_mistakes/parallel_sum.mlir --check-races --tpu v5e
expect 1 'mistakes.py:' kernel $data/pallas_mistakes/wrong_slot.mlir --check-races
# pages that are fetched into one half of a buffer and seen as words in the other are no race
expect 0 ' 0 found' kernel $data/pallas/pages_bf16_4.mlirbc --input 0=zeros --check-races --check-unwritten --tpu v5e
expect 0 ' 0 found' kernel $data/pallas_mistakes/wrong_slot.mlir --check-unwritten
expect 0 ' 0 found' kernel $data/pallas_mistakes/unwritten_rows.mlir --check-races

# kernels of four devices (tests/jax/pallas/mistakes_devices.py), which JAX's detector finds the same
# races in; two of them have none
sed 1d $data/pallas_mistakes/devices.csv >"$work/mistakes"
while IFS=, read -r name found; do
    file=$data/pallas_mistakes/$name.mlir
    if [ -z "$found" ]; then
        expect 0 ' 0 found' kernel $file --tpu v5e-4 --check-races --check-unwritten
    else
        expect 1 "$found" kernel $file --tpu v5e-4 --check-races --check-unwritten
    fi
done <"$work/mistakes"
expect 1 'tpu.enqueue_dma: it writes memory of device 3, which uses it' \
    kernel $data/pallas_mistakes/zeros_late.mlir --tpu v5e-4 --check-races

# none of these has a mistake
for name in add batched column_sums conditional copies flash layernorm loop_carry masks matmul narrow \
            overhang softmax transposed; do
    expect 0 '1 kernel was carried out on the host: 0 found' kernel $data/pallas/$name.mlirbc \
        --check-races --check-unwritten --check-bounds
done

# timed, they end with the line, too
timed() { refuse "$2" kernel $data/pallas_mistakes/$1.mlir --input 0=ones; }
timed never_waited 'tpu.enqueue_dma: a copy that is never waited for: its semaphore has'
timed left_raised 'tpu.sem_signal: nobody waits for all of it: its semaphore has 1 left at the end'
timed waits_for_ever 'tpu.sem_wait: deadlock'
timed block_outside 'the block of operand 0 from element 64 on, of dimension 0, lies outside its array, which has 64 (grid step 3)'

[ $failures -eq 0 ]
