#!/bin/sh
# systole run: data in, results out, and how it fails.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_run.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "run: $*"; status=1; }
out=$dir/out

# A = 32x128 f32 of 1.5 (0x3fc00000) as raw bytes; B = 1x128 of zeros stays unwritten
head -c 16384 /dev/zero | sed 's/\x00\x00\x00\x00/\x00\x00\xc0\x3f/g' >"$dir/a.bin"
$systole run examples/01_vector_add.tasm --hbm 0="$dir/a.bin" --dump 0x20000:2x3 \
    --out-npy 0x20000:32x128="$dir/c.npy" >"$out" || fail "the example fails"
grep -q '^examples/01_vector_add.tasm on v3: 1 chip, 2 cores; TPU v3 at 940 MHz$' "$out" \
    || fail "no title"
grep -q '^  [0-9,]* cycles = [0-9.]* us; 1 of 2 cores ran$' "$out" || fail "no cycles"
grep -q 'hbm_wait' "$out" || fail "no stall reasons"
[ "$(tail -3 "$out")" = 'core 0, hbm 0x20000, f32[2,3]
1.5 1.5 1.5
1.5 1.5 1.5' ] || fail "wrong sums: $(tail -3 "$out")"

# the .npy goes back in: C + C
$systole run examples/01_vector_add.tasm --hbm 0="$dir/c.npy" --hbm 0x10000="$dir/c.npy" \
    --dump 0x20000:1x2 >"$out" || fail "the .npy cannot be read back"
[ "$(tail -1 "$out")" = '3 3' ] || fail "wrong sums from .npy: $(tail -1 "$out")"

# nothing of the host changes a cycle (a trace adds a table); a slower chip does
$systole run examples/03_double_buffered_matmul.tasm --tpu v3-8 --all-cores | sed '/^host time/d' \
    >"$dir/one"
$systole run examples/03_double_buffered_matmul.tasm --tpu v3-8 --all-cores --threads 2 --simd c \
    --trace "$dir/t.pftrace" \
    | sed '/^host time/d;/^trace written/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "threads, simd path or trace change the report"
[ -s "$dir/t.pftrace" ] || fail "no trace"
$systole run examples/03_double_buffered_matmul.tasm --tpu v3-8 --all-cores \
    --set mxu.latency_cycles=400 | sed '/^host time/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" && fail "--set changes nothing"

# timing mode has the same report; functional mode says that it has no cycles
$systole run examples/03_double_buffered_matmul.tasm --tpu v3-8 --all-cores --mode timing \
    | sed '/^host time/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "timing mode has another report"
$systole run examples/04_pipelined_matmul_v5e.tasm --tpu v5e --mode timing \
    | sed '/^host time/d' >"$dir/one"
$systole run examples/04_pipelined_matmul_v5e.tasm --tpu v5e --mode timing --no-memo \
    | sed '/^host time/d' >"$dir/two"
cmp -s "$dir/one" "$dir/two" || fail "memoised loops have another report"
$systole run examples/01_vector_add.tasm --mode functional --hbm 0="$dir/c.npy" \
    --hbm 0x10000="$dir/c.npy" --dump 0x20000:1x2 >"$out" || fail "functional mode fails"
[ "$(tail -1 "$out")" = '3 3' ] || fail "functional mode: wrong sums: $(tail -1 "$out")"
grep -q '^  functional mode: cycles were not simulated$' "$out" || fail "functional mode has cycles"
grep -q 'HBM read  *32,768 B$' "$out" || fail "functional mode: $(cat "$out")"
grep -q 'load  *8 operations$' "$out" || fail "functional mode: $(cat "$out")"

# copies from and to the host have a section of their own, of programs that reach it
printf '{ dma.vmem_to_host 0, 16, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 16 }\n' >"$dir/host.tasm"
printf '{ vsyncadd [sflag:0], -16 }\n{ shalt }\n' >>"$dir/host.tasm"
$systole run "$dir/host.tasm" --tpu v3 | grep -A2 "^host memory, over PCIe" |
    grep -q "written       512 B" || fail "no bytes to the host in the report"
$systole run $ex --tpu v3 | grep -q "^host memory" && fail "host bytes of a program without"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole run "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$got" -eq 1 ] && [ "$(wc -l <"$out.err")" -ne 1 ] && fail "$*: says more than one line"
}
ex=examples/01_vector_add.tasm
printf '{ v1 = vld [vmem:32761] }\n{ shalt }\n' >"$dir/bad.tasm"
printf '\223NUMPY\001\000\020\000{}              \n' >"$dir/bad.npy"
expect 1 "core 0 cycle 0 bundle 0 (line 1): vmem address 32768 out of 0..32767 rows in vld" \
    "$dir/bad.tasm"
expect 1 "nowhere.tasm" nowhere.tasm
expect 1 "no slice \"v3-7\"" $ex --tpu v3-7
expect 1 "unknown key \"mxu.cuont\"" $ex --set mxu.cuont=8
expect 1 "a multiple of 32 bytes is needed" $ex --hbm 7="$dir/a.bin"
expect 1 "ADDR=FILE is needed" $ex --hbm 0
expect 1 "ADDR=FILE is needed" $ex --hbm 0=
expect 1 'hbm address "0?"' $ex --dump "0
:8x8"
expect 1 "out of 0..17179869183" $ex --hbm 0x3fffff000="$dir/a.bin" --hbm 0x400000000="$dir/a.bin"
expect 1 "nowhere.bin" $ex --hbm 0=nowhere.bin
expect 1 "only arrays of f16, f32, f64, bool and integers" $ex --hbm 0="$dir/bad.npy"
expect 1 "ADDR:ROWSxCOLS is needed" $ex --dump 0:4by4
expect 1 "ADDR:ROWSxCOLS=FILE is needed" $ex --out-npy 0:4x4
expect 1 "cannot write" $ex --out-npy 0:4x4="$dir/no/such/c.npy"
expect 1 "at most 67108864 elements" $ex --dump 0:1000000x1000000
expect 1 "16384 from 0x3ffffc000 on" $ex --dump 0x3ffffc000:32x129
expect 1 "its name must end in .strace, .pftrace, .xplane.pb or .kanata" $ex --trace "$dir/t.png"
expect 1 "cannot write $dir/no/such/t.pftrace" $ex --trace "$dir/no/such/t.pftrace"
printf '{ shalt.err }\n' >"$dir/stop.tasm"
expect 1 "shalt.err reached" "$dir/stop.tasm" --trace "$dir/stop.pftrace"
expect 1 "contradicts slice v3-8" $ex --tpu v3-8 --set chip.cores=1
expect 2 "whole numbers in 1..256" $ex --threads 0
expect 2 "--dump, --out-npy and --result show values, which --mode timing does not" \
    $ex --mode timing --dump 0:8x8
expect 2 "show values" $ex --mode timing --out-npy 0:8x8="$dir/c.npy"
expect 2 "--trace shows cycles, which --mode functional does not" \
    $ex --mode functional --trace "$dir/t.pftrace"
expect 2 '--mode is "fast", allowed are both, timing, functional' $ex --mode fast
printf '{ vpush v1 }\n{ s1 = spop }\n{ shalt }\n' >"$dir/pop.tasm"
expect 1 "spop needs an element of a vector, which timing mode does not work out; use --mode both" \
    "$dir/pop.tasm" --mode timing
expect 2 "which program?"
$systole run examples/mnist_mlp.json >"$out" 2>&1 && fail "a model runs as a program"
grep -q 'is JSON, no program in assembly; systole train, summary and compile take Keras models$' "$out" ||
    fail "a model is read as assembly: $(head -1 "$out")"

exit $status
