#!/bin/sh
# systole gemm: right values on every chip, the same whatever the host does, and how it fails.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_gemm.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "gemm: $*"; status=1; }
out=$dir/out

for chip in tiny v2 v3 v4 v5e v5p v6e v7x; do
    $systole gemm 200x300x400 --tpu $chip >"$out" || fail "$chip: $(tail -1 "$out")"
    grep -q '^within the bound of OpenBLAS: at most 0\.[0-9]* of' "$out" || fail "$chip: not checked"
done
$systole gemm --m 700 --n 520 --k 600 --out-type bf16 >"$out" || fail "bf16: $(tail -1 "$out")"
grep -q '2^-8 |c|$' "$out" || fail "bf16: $(tail -1 "$out")"
grep -q '^700x520x600, 1 core: blocks of [0-9]*x[0-9]*, k in chunks of [0-9]*; [0-9]* bundles$' \
    "$out" || fail "no plan: $(head -1 "$out")"
grep -q '^[0-9,]* cycles = [0-9.]* us; [0-9.]* TFLOP/s = [0-9.]* % of the peak of 61.60 TFLOP/s$' \
    "$out" || fail "no rate"

# cores share the rows; threads, SIMD paths and a trace change nothing
$systole gemm 500x200x300 --tpu v3-8 --out-npy "$dir/c1.npy" | sed '/^host time/d' >"$dir/one"
$systole gemm 500x200x300 --tpu v3-8 --out-npy "$dir/c2.npy" --threads 2 --simd c \
    --trace "$dir/t.json.gz" \
    | sed '/^host time/d;/^trace written/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "threads, simd path or trace change the report"
cmp -s "$dir/c1.npy" "$dir/c2.npy" || fail "threads or simd path change the result"
[ -s "$dir/t.json.gz" ] || fail "no trace"
grep -q '^500x200x300, 8 cores' "$dir/one" || fail "not on all cores: $(head -1 "$dir/one")"
$systole gemm 9x200x300 --tpu v3-8 >"$out" || fail "cores without rows: $(tail -1 "$out")"
$systole gemm 500x200x300 --tpu v3-8 --mode timing | sed '/^host time/d' >"$dir/two"
sed '/^within the bound/d' "$dir/one" | cmp -s - "$dir/two" || fail "timing mode differs"
$systole gemm 300x200x300 --mode functional >"$out" || fail "functional: $(tail -1 "$out")"
grep -q '^within the bound' "$out" || fail "functional mode is not checked"

# another seed, other operands; files for operands: C x I is C rounded to bf16
$systole gemm 500x200x300 --tpu v3 --seed 2 --out-npy "$dir/c2.npy" >"$out" || fail "seed"
cmp -s "$dir/c1.npy" "$dir/c2.npy" && fail "the seed changes nothing"
$systole gemm 500x64x200 --a "$dir/c1.npy" --out-npy "$dir/d.npy" --asm "$dir/g.tasm" >"$out" \
    || fail "operands from files: $(tail -1 "$out")"
$systole lint "$dir/g.tasm" --tpu v3 >"$out" 2>&1 || fail "the program written: $(head -1 "$out")"

# a product as the compiler makes it: M K N
$systole gemm 256 512 384 --dtype bf16 --tpu v6e --codegen xla >"$out" \
    || fail "compiled: $(tail -1 "$out")"
grep -q '^gemm 256 512 384 on one core' "$out" || fail "compiled: $(head -1 "$out")"
grep -q 'convolution fusion .* 100,663,296 ' "$out" || fail "compiled: no kernel of its FLOPs"
grep -q "^ *[0-9.]* TFLOP/s = [0-9.]* % of the matrix units' peak of 917" "$out" \
    || fail "compiled: no utilisation"
grep -q '^ *roof: .* bound by ' "$out" || fail "compiled: no roof"
$systole gemm 7 129 1000 --dtype f32 --codegen best >"$out" || fail "compiled f32: $(tail -1 "$out")"
$systole gemm 64 64 64 --help | grep -q 'systole gemm 4096 4096 4096' || fail "compiled: no help"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole gemm "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$got" -eq 1 ] && [ "$(wc -l <"$out.err")" -ne 1 ] && fail "$*: says more than one line"
}
expect 2 'which sizes? MxNxK, or --m, --n and --k'
expect 2 'which sizes?' --m 4 --n 4
expect 2 '"4x4"; MxNxK is needed' 4x4
expect 2 'the sizes are given twice; write MxNxK once, or --m, --n and --k' 4x4x4 --m 8
expect 2 'the sizes are given twice; write MxNxK once, or --m, --n and --k' 4x4x4 8x8x8
expect 2 '"4x4x4x4"; MxNxK is needed' 4x4x4x4
expect 2 '"4x4x4x"; MxNxK is needed' 4x4x4x
expect 2 'a side of MxNxK is "0", allowed are whole numbers in 1..1048576' 4x0x4
expect 2 '--k is "-1", allowed are whole numbers in 1..1048576' --k=-1
expect 2 'a side is "0", allowed are whole numbers in 1..1048576' 4 0 4
expect 2 'M, K and N are three numbers, "5" is one more' 4 4 4 5
expect 2 '--dtype is "s8", allowed are f32, bf16' 4 4 4 --dtype s8
expect 2 '--out-type is "f16", allowed are f32, bf16' 4x4x4 --out-type f16
expect 2 '--seed is "x", allowed are whole numbers from 0 on' 4x4x4 --seed x
expect 2 '--a, --b and --out-npy are about values, which --mode timing does not have' \
    4x4x4 --mode timing --out-npy "$dir/x.npy"
expect 2 '--trace shows cycles, which --mode functional does not work out' \
    4x4x4 --mode functional --trace "$dir/x.json"
expect 1 'operands and result take 8388608.0 MiB, the HBM of a core has 16384.0 MiB; the chip is v3' \
    1048576x1048576x1048576 --mode timing
expect 1 'a product needs 17 vector registers, the chip has 12; the chip is v2' \
    4x4x4 --tpu v2 --set core.vregs=12
expect 1 'unknown chip "v9"' 4x4x4 --tpu v9
expect 1 "$dir/c1.npy: a matrix of 4x4 is needed, this is one of 500x200" 4x4x4 --b "$dir/c1.npy"
expect 1 'nowhere.npy' 4x4x4 --a nowhere.npy
expect 1 'README.md: not a .npy file' 4x4x4 --a README.md
expect 1 "cannot write $dir/no/c.npy" 4x4x4 --out-npy "$dir/no/c.npy"
expect 1 "cannot write $dir/no/g.tasm" 4x4x4 --asm "$dir/no/g.tasm"
expect 1 'its name must end in .strace, .pftrace, .json' 4x4x4 --trace "$dir/t.png"
expect 1 'a matrix of 16384x16384 elements; at most 134217728 are possible, except with --mode timing' \
    16384x1x16384
exit $status
