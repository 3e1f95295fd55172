#!/bin/sh
# systole kernel: the time of one kernel of Pallas, its VMEM by buffer, cycles by line of its source;
# of a program and of a Mosaic module alone; and what is told where that cannot be.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
data=tests/import/data/pallas

# the same cycles as in its program
expect 0 'Line' kernel $data/flash.mlirbc --tpu v5e
cycles=$(sed -n 's/ cycles = .*//p' "$work/log")
grep -q 'operand 1 .*window .* 2 ' "$work/log" || fail "no window of two buffers: $(cat "$work/log")"
expect 0 "$cycles cycles" exec $data/flash.mlirbc --tpu v5e --mode timing
expect 0 'Line' kernel $data/matmul.mlirbc --tpu v5e
grep -q 'kernels.py:.*result_fifo' "$work/log" || fail "no line that waits for a product"

# lines come to the cycles of the kernel, buffers to its VMEM
expect 0 '' kernel $data/flash.mlirbc --tpu v6e --json "$work/kernel.json"
sed -n 's/^ "cycles": *\([0-9]*\),/\1/p' "$work/kernel.json" >"$work/cycles"
awk '/"lines"/ { inside = 1 } inside && /"cycles"/ { gsub(/[^0-9.e+]/, "", $2); sum += $2 }
     END { printf "%d\n", sum + 0.5 }' "$work/kernel.json" >"$work/sum"
cmp -s "$work/cycles" "$work/sum" || fail "lines: $(cat "$work/sum") of $(cat "$work/cycles") cycles"
sed -n 's/^ "vmem_bytes": *\([0-9]*\),/\1/p' "$work/kernel.json" >"$work/vmem"
awk '/"vmem": / { inside = 1 } /"units"/ { inside = 0 }
     inside && /"bytes"/ { gsub(/[^0-9]/, "", $2); sum += $2 } END { print sum }' \
    "$work/kernel.json" >"$work/sum"
cmp -s "$work/vmem" "$work/sum" || fail "buffers: $(cat "$work/sum") of $(cat "$work/vmem") bytes"

# an array that a kernel gets twice
expect 0 ' cycles = ' kernel $data/twice.mlirbc

# columns that a loop carries are one pass over the rows, and stand in all lanes: 39,081 cycles before
expect 0 ' cycles = ' kernel $data/threshold.mlirbc --tpu v5e
columns=$(sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' "$work/log" | tr -d ,)
[ "${columns:-99999}" -lt 9000 ] || fail "columns that a loop carries: $columns cycles"

# rounds of a loop that compares the numbers of its rows overlap, too: 4,999 cycles where they did not
expect 0 ' cycles = ' kernel $data/numbered_rows.mlirbc --tpu v5e

# floats of vectors that results in SMEM take are worked out, which timing mode does not
expect 0 ' cycles = ' kernel $data/smem_results.mlirbc --tpu v5e
rows=$(sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' "$work/log" | tr -d ,)
[ "${rows:-99999}" -lt 3200 ] || fail "a loop that compares the numbers of its rows: $rows cycles"

# bundles stand beside the lines
expect 0 'kernels.py' kernel $data/softmax.mlirbc --bundles
grep -q '^/\* .*:[0-9]* \*/ .*vpow2\|^/\* .*:[0-9]* \*/.*vst' "$work/log" || fail "no bundle with its line"

# a folder of results speaks of lines and buffers
expect 0 'results in' kernel $data/flash.mlirbc --out "$work/run"
grep -q ',kernels.py:[0-9]*,' "$work/run/ops.csv" || fail "no lines in ops.csv"
grep -q '^VMEM,"operand 1, two buffers' "$work/run/memory.csv" || fail "no buffers in memory.csv"
cp "$work/log" "$work/with"

# its trace has the lines, what was made of them, and buffers, which the viewer draws
grep -aq '"file":"kernels.py","number":122,' "$work/run/trace.strace" || fail "no lines in the trace"
grep -aq '\["[^"]*vmax.xlane[^"]*",[1-9]' "$work/run/trace.strace" || fail "no operation of a line there"
grep -aq '"name":"operand 1","kind":"window","copies":2' "$work/run/trace.strace" || fail "no buffers there"
if [ -x ./systole-view ]; then
    for panel in source vmem; do
        ./systole-view "$work/run" --panel $panel --png "$work/panel.png" >"$work/log" 2>&1 ||
            fail "no picture of the panel $panel: $(cat "$work/log")"
    done
fi
cp "$work/with" "$work/log"
expect 0 'Line' kernel $data/flash.mlirbc
sed '/^trace written/d; /^results in/d' "$work/with" | cmp -s - "$work/log" ||
    fail "a folder changes what is printed"

# with the text of a line where the file is here
(cd tests/jax/pallas && "$(cd "$OLDPWD" && realpath "$systole")" kernel "$OLDPWD/$data/layernorm.mlirbc" >"$work/log")
grep -q 'kernels.py:[0-9]* .*jax.lax.rsqrt' "$work/log" || fail "no text of lines: $(cat "$work/log")"

# a Mosaic module by itself: arrays and results are found, the cycles are the same
strings -n 100 $data/flash.mlirbc | grep -o 'TUzvUg[A-Za-z0-9+/=]*' | base64 -d >"$work/body"
expect 0 "$cycles cycles" kernel "$work/body" --tpu v5e
strings -n 100 $data/gather_blocks.mlirbc | grep -o 'TUzvUg[A-Za-z0-9+/=]*' | base64 -d >"$work/body"
refuse 'follows from values of the call' kernel "$work/body"
head -c 300 "$work/body" >"$work/cut"
refuse 'bytecode' kernel "$work/cut"

# tables that come from a parameter
refuse 'follows from values of parameter 0 of the program: --input 0=' kernel $data/gather_blocks.mlirbc
expect 0 'grid: 5 arbitrary' kernel $data/gather_blocks.mlirbc --input 0=iota

# tables of bytes, which become words before the call, are told of as well
refuse 'follows from values of parameter 0 of the program: --input 0=' kernel $data/with_table.mlirbc
expect 0 ' cycles = ' kernel $data/with_table.mlirbc --input 0=ones

# what decides nothing (a row that a load begins at, how far a vector is rotated) may hold anything
expect 0 ' cycles = ' kernel $data/parts_at.mlirbc
expect 0 ' cycles = ' kernel $data/rotated.mlirbc
# of equal elements, too, which no vector unit writes then
expect 0 'grid: 40 arbitrary' kernel $data/rounds_of_table.mlirbc --input 0=ones --mode timing
refuse '--input 9=iota: the program has 2 parameters' kernel $data/gather_blocks.mlirbc --input 9=iota

# which of them; none
expect 0 'kernel main' kernel $data/add.mlirbc --kernel 1
refuse "--kernel other: the program's kernels are 1 main" kernel $data/add.mlirbc --kernel other
printf 'HloModule m\nENTRY e {\n  ROOT p = f32[8] parameter(0)\n}\n' >"$work/none.hlo"
refuse 'there is no tpu_custom_call in it' kernel "$work/none.hlo"
refuse 'No such file' kernel "$work/nothing"

# VMEM: the limit, buffer by buffer
expect 0 'of the scoped limit of 4,096 KiB' kernel $data/flash.mlirbc --vmem-limit-kib 4096
refuse 'of 1280 KiB; KiB taken: operand 0 2 x 32, operand 1 2 x 32' kernel $data/flash.mlirbc \
    --vmem-limit-kib 1280

LIBTPU_INIT_ARGS='--xla_a=1 --xla_tpu_scoped_vmem_limit_kib=4096 --xla_b=2' \
    "$systole" kernel $data/flash.mlirbc | grep -q 'of the scoped limit of 4,096 KiB' ||
    fail "the limit of LIBTPU_INIT_ARGS"
LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=1280 expect 1 'of VMEM, of which' \
    exec $data/flash.mlirbc --mode timing

# one that reaches other devices runs on all of them; told is what the first one does
expect 0 'on 4 devices of TPU v5e' kernel $data/ring_gather.mlirbc --tpu v5e-4
expect 0 'ici_wait' kernel $data/ring_gather.mlirbc --tpu v5e-4
refuse 'the program is for 4 devices, v5e has 1' kernel $data/ring_gather.mlirbc --tpu v5e

[ $failures -eq 0 ]
