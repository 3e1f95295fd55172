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
$systole gemm --help | grep -q '(default: best)' || fail "help names another default of --codegen"
$systole gemm --m 700 --n 520 --k 600 --out-type bf16 >"$out" || fail "bf16: $(tail -1 "$out")"
grep -q '2^-8 |c|$' "$out" || fail "bf16: $(tail -1 "$out")"
grep -q '^gemm 700x520x600 on one core of TPU v3, --codegen best: 1 kernel, [0-9]* bundles$' \
    "$out" || fail "no title: $(head -1 "$out")"
grep -q "^ *[0-9.]* TFLOP/s = [0-9.]* % of the matrix units' peak of 61.6$" "$out" \
    || fail "no rate"
$systole gemm 200x300x400 --dtype f32 --tpu v5e >"$out" || fail "f32: $(tail -1 "$out")"
grep -q 'sum |a||b|$' "$out" || fail "f32: $(tail -1 "$out")"

# three numbers are the same product
$systole gemm 200x300x400 | sed '/^compiled in/d' >"$dir/one"
$systole gemm 200 300 400 | sed '/^compiled in/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "M N K is not MxNxK"
$systole gemm --m 200 -n 300 --k=400 | sed '/^compiled in/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "--m, --n and --k are not MxNxK"
$systole gemm 200x200x200 | sed '/^compiled in/d' >"$dir/one"
$systole gemm 200 | sed '/^compiled in/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "SIZE is not SIZExSIZExSIZE"

# cores share the rows; threads, SIMD paths and a trace change nothing
$systole gemm 500x200x300 --tpu v3-8 --out-npy "$dir/c1.npy" | sed '/^compiled in/d' >"$dir/one"
$systole gemm 500x200x300 --tpu v3-8 --out-npy "$dir/c2.npy" --threads 2 --simd c \
    --trace "$dir/t.pftrace" \
    | sed '/^compiled in/d;/^trace written/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "threads, simd path or trace change the report"
cmp -s "$dir/c1.npy" "$dir/c2.npy" || fail "threads or simd path change the result"
# a NaN and an infinity of the user's: two rows of the result, and counted
cp "$dir/c1.npy" "$dir/n.npy"
printf '\000\000\300\177' | dd of="$dir/n.npy" bs=1 seek=256 conv=notrunc 2>/dev/null
printf '\000\000\200\177' | dd of="$dir/n.npy" bs=1 seek=1056 conv=notrunc 2>/dev/null
$systole gemm 500x16x200 --a "$dir/n.npy" >"$out" || fail "NaN among the operands"
grep -q '^NaN and infinite: 2 elements of the operands, 32 of 8000 of the result, the same' "$out" \
    || fail "NaN: $(grep -A2 bound "$out")"
[ -s "$dir/t.pftrace" ] || fail "no trace"
grep -q '^gemm 500x200x300 on 8 cores of TPU v3' "$dir/one" || fail "not on all cores: $(head -1 "$dir/one")"
$systole gemm 9x200x300 --tpu v3-8 >"$out" || fail "cores without rows: $(tail -1 "$out")"
$systole gemm 500x200x300 --tpu v3-8 --mode timing | sed '/^compiled in/d' >"$dir/two"
sed '/^within the bound/d' "$dir/one" | cmp -s - "$dir/two" || fail "timing mode differs"
$systole gemm 300x200x300 --mode functional >"$out" || fail "functional: $(tail -1 "$out")"
grep -q '^within the bound' "$out" || fail "functional mode is not checked"

# another seed, other operands; files for operands: C x I is C rounded to bf16
$systole gemm 500x200x300 --tpu v3 --seed 2 --out-npy "$dir/c2.npy" >"$out" || fail "seed"
cmp -s "$dir/c1.npy" "$dir/c2.npy" && fail "the seed changes nothing"
$systole gemm 500x64x200 --a "$dir/c1.npy" --out-npy "$dir/d.npy" --asm "$dir/g.tasm" >"$out" \
    || fail "operands from files: $(tail -1 "$out")"
$systole lint "$dir/g.tasm" --tpu v3 >"$out" 2>&1 || fail "the program written: $(head -1 "$out")"

# as XLA does it, and what it costs
$systole gemm 256 384 512 --tpu v6e --codegen xla --mode timing >"$out" \
    || fail "xla: $(tail -1 "$out")"
grep -q '^gemm 256x384x512 on one core .*--codegen xla' "$out" || fail "xla: $(head -1 "$out")"
grep -q 'convolution fusion .* 100,663,296 ' "$out" || fail "no kernel of its FLOPs"
grep -q "^ *[0-9.]* TFLOP/s = [0-9.]* % of the matrix units' peak of 917" "$out" \
    || fail "no utilisation"
grep -q '^ *roof: .* bound by ' "$out" || fail "no roof"
grep -q 'within the bound' "$out" && fail "values in timing mode"
$systole gemm 7 1000 129 --dtype f32 --codegen xla >"$out" || fail "xla, f32: $(tail -1 "$out")"

# what a product is from HBM, at least, as shares of the peak: docs/performance.md
share() {
    $systole gemm "$1" --tpu "$2" --mode timing >"$out" || fail "$1 on $2: $(tail -1 "$out")"
    awk -v least="$3" '/matrix units. peak/ { found = $4 >= least } END { exit !found }' "$out" \
        || fail "$1 on $2: $(grep 'peak of' "$out")"
}
share 1024x1024x1024 v3 86
share 2048x2048x2048 v5e 92
share 2048x2048x2048 v6e 67

# with more units than the chip has, they are used, and no slower than as XLA does it
cycles() {
    $systole gemm "$@" --mode timing --no-megacore | sed -n 's/^\([0-9,]*\) cycles = .*/\1/p' \
        | tr -d ,
}
for case in "2048x2048x2048 v2" "4096x512x1024 v3" "2048x2048x2048 v4" "1536x768x2048 v5e"; do
    size=${case% *} chip=${case#* }
    best=$(cycles "$size" --tpu "$chip" --set mxu.count=8)
    xla=$(cycles "$size" --tpu "$chip" --set mxu.count=8 --codegen xla)
    [ "$best" -le "$xla" ] || fail "$size on $chip with 8 units: best $best, xla $xla cycles"
done

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole gemm "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$got" -eq 1 ] && [ "$(wc -l <"$out.err")" -ne 1 ] && fail "$*: says more than one line"
}
# more than the host has is refused before anything is computed; without values it goes
if [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -lt 60 ]; then
    expect 1 'of host memory, and' 8192x8192x8192 --tpu v5e-256
else
    echo "skipped: this host has the memory for 256 devices"
fi
$systole gemm 2048x512x512 --tpu v5e-256 --mode timing >"$out" || fail "256 devices: $(tail -1 "$out")"

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
expect 2 'M, N and K are three numbers, "5" is one more' 4 4 4 5
expect 2 'M, N and K are three numbers, or one for all' 4 4
expect 2 'the sizes are given twice; write MxNxK once, or M N K, or' 4 4 4 --m 8
expect 2 '--dtype is "s8", allowed are bf16, f32' 4 4 4 --dtype s8
expect 2 '--out-type is "f16", allowed are f32, bf16' 4x4x4 --out-type f16
expect 2 '--seed is "x", allowed are whole numbers from 0 on' 4x4x4 --seed x
expect 2 '--a, --b and --out-npy are about values, which --mode timing does not have' \
    4x4x4 --mode timing --out-npy "$dir/x.npy"
expect 2 '--trace shows cycles, which --mode functional does not work out' \
    4x4x4 --mode functional --trace "$dir/x.pftrace"
expect 1 'arrays that live at the same time need 6 TiB of HBM, a core has 16 GiB; 6 TiB are alive at once: 4 TiB ' \
    1048576x1048576x1048576 --mode timing
expect 1 'a product needs more vector registers than the 8 that the chip has; ' \
    4x4x4 --tpu v2 --set core.vregs=8
expect 1 'unknown chip "v9"' 4x4x4 --tpu v9
expect 1 "$dir/c1.npy: a matrix of 4x4 is needed, this is one of 500x200" 4x4x4 --b "$dir/c1.npy"
expect 1 'nowhere.npy' 4x4x4 --a nowhere.npy
expect 1 'README.md: not a .npy file' 4x4x4 --a README.md
expect 1 "cannot write $dir/no/c.npy" 4x4x4 --out-npy "$dir/no/c.npy"
expect 1 "cannot write $dir/no/g.tasm" 4x4x4 --asm "$dir/no/g.tasm"
expect 1 'its name must end in .strace, .pftrace' 4x4x4 --trace "$dir/t.png"
expect 1 'a matrix of 16384x16384 elements; 134217728 are the most, except with --mode timing' \
    16384x1x16384
exit $status
