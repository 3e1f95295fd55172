#!/bin/sh
# systole run --from-dump: a synthetic kernel, mistakes, and the compiler's own listings where
# they are at hand.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_listing.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "listing: $*"; status=1; }
out=$dir/out

# a .npy of 4-byte elements: file, type, shape, then the bytes as octal escapes for printf
npy() {
    header="{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header" >"$1"
    printf "$4" >>"$1"
}

# a kernel that adds 1 to u32[3] in VMEM
cat >"$dir/add.txt" <<'END'
     0   :  { %s10_s0 = inlined_call_operand.vmem [shape: u32[3], index: 0, kind: input, shape index: {}] /* operand 0 */  ;;  %s11_s1 = inlined_call_operand.vmem [shape: u32[3], index: 1, kind: output, shape index: {}] /* operand 1 */ } /* entry bundle: %add = fusion(%x) */
   0x1   :  { %v1_v0 = vld [vmem:[%s10_s0] sm:$0x1] }
   0x2   :  { %v2_v1 = vadd.s32 1, %v1_v0 }
   0x3   :  { %3 = vst [vmem:[%s11_s1] sm:$0x1] /*vst_source=*/%v2_v1 } /* exit bundle */
END
npy "$dir/x.npy" '<u4' '3,' '\001\000\000\000\377\000\000\000\377\377\377\377'
npy "$dir/wanted.npy" '<u4' '3,' '\002\000\000\000\000\001\000\000\000\000\000\000'
$systole run --from-dump "$dir/add.txt" --tpu v6e --operand 0="$dir/x.npy" \
    --result 1="$dir/y.npy" --utilization "$dir/units.txt" >"$out" || fail "add fails"
[ "$(tail -c 12 "$dir/y.npy" | od -An -tx1)" = "$(tail -c 12 "$dir/wanted.npy" | od -An -tx1)" ] \
    || fail "wrong sums"
grep -q "'descr': '<u4', 'fortran_order': False, 'shape': (3,), }" "$dir/y.npy" \
    || fail "wrong head of the result"
grep -q 'add.txt: %add = fusion(%x)$' "$out" || fail "no entry"
grep -q '^  4 bundles, 3 operations, 0 of them not known$' "$out" || fail "no counts"
grep -q '^  operand 0  input  u32\[3\]  *vmem 0x0  *s0  from ' "$out" || fail "no operand"
grep -q '^  operand 1  output u32\[3\]  *vmem 0x1000  *s1  zero$' "$out" || fail "no output"
printf '%s\n' '== CAPACTIY:' '  MXU|  XLU| VALU|  EUP| LOAD|STORE| SALU' \
    '    2     2     4     1     3     2     2' '== UTILIZATION:' '0 0 0 0 0 0 0' \
    '0 0 0 0 1 0 0' '0 0 1 0 0 0 0' '0 0 0 0 0 1 0' | cmp -s - "$dir/units.txt" \
    || fail "wrong units"

# a folder tells where the operands lie: 12 B of a row of 512 B each
$systole run --from-dump "$dir/add.txt" --tpu v6e --out "$dir/folder" >"$out" || fail "no folder"
for line in 'VMEM,%s10_s0,,0,12,512,500,97.65625,0,4,yes,1024,' \
    'VMEM,%s11_s1,,4096,12,512,500,97.65625,0,4,yes,1024,'; do
    grep -q "^$line" "$dir/folder/memory.csv" || fail "memory.csv: $(sed -n 2,3p "$dir/folder/memory.csv")"
done
grep -q '^from-dump = .*add.txt ; command line$' "$dir/folder/config.ini" || fail "config.ini"

# generated operands follow the seed; the result goes back in
for seed in 1 1 2; do
    $systole run --from-dump "$dir/add.txt" --tpu v6e --operand-seed $seed \
        --result 1="$dir/seed$seed.$((n += 1)).npy" >/dev/null || fail "seed $seed fails"
done
cmp -s "$dir/seed1.1.npy" "$dir/seed1.2.npy" || fail "one seed, two results"
cmp -s "$dir/seed1.1.npy" "$dir/seed2.3.npy" && fail "two seeds, one result"
$systole run --from-dump "$dir/add.txt" --tpu v6e --operand 0="$dir/seed1.1.npy" >/dev/null \
    || fail "a result cannot be read back"

# bf16: rounded from f32 on the way in, f32 on the way out
sed 's/u32\[3\]/bf16[3]/g; s/vadd.s32 1, %v1_v0/vmov %v1_v0/' "$dir/add.txt" >"$dir/bf16.txt"
npy "$dir/f.npy" '<f4' '3,' '\000\000\200\077\001\200\200\077\000\200\201\077'
$systole run --from-dump "$dir/bf16.txt" --tpu v6e --operand 0="$dir/f.npy" \
    --result 1="$dir/g.npy" >/dev/null || fail "bf16 fails"
[ "$(tail -c 12 "$dir/g.npy" | od -An -tx1 | tr -d ' \n')" = 0000803f0000813f0000823f ] \
    || fail "bf16 is not rounded to nearest even: $(tail -c 12 "$dir/g.npy" | od -An -tx1)"

# an operation that is not known
sed 's/vadd.s32/vfrob.s32/' "$dir/add.txt" >"$dir/frob.txt"
$systole run --from-dump "$dir/frob.txt" --tpu v6e >"$out" || fail "frob does not run"
grep -q '^     1 x vfrob.s32: line 3, bundle 0x2: unknown operation "vfrob.s32"' "$out" \
    || fail "vfrob.s32 is not told"
grep -q 'first that was reached is "%v2_v1 = vfrob.s32 1, %v1_v0" in bundle 0x2, line 3' "$out" \
    || fail "no first unknown"
grep -q '^after 2 bundles with 1 operations' "$out" || fail "no count before the first unknown"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole run "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
}
d="--tpu v6e --from-dump"
printf '0 : { %%s1_s1 = smov 1\n' >"$dir/cut.txt"
printf '%s\n' '0 : { %1 = sbr.rel target bundleno = 0 (0x0), region = 1 }' '1 : {}' '2 : {}' \
    '3 : {}' '4 : {}' >"$dir/loop.txt"
expect 1 "cut.txt:1:5: error: the bundle opened here is not closed" $d "$dir/cut.txt"
expect 1 "not a listing" $d LICENSE
expect 1 "nowhere.txt" $d nowhere.txt
sed 's/u32\[3\]/u32[65536,65536]/' "$dir/add.txt" >"$dir/large.txt"
rm -f "$dir/large.units"
expect 1 "the operand takes" $d "$dir/large.txt" --utilization "$dir/large.units"
cmp -s "$dir/large.units" "$dir/units.txt" || fail "no units of a listing that does not fit"
expect 1 "still running at the cycle limit of 1000" $d "$dir/loop.txt" --cycle-limit 1000
expect 1 '--operand "0"; N=FILE.npy is needed' $d "$dir/add.txt" --operand 0
expect 1 'the listing has no operand 7 (it has 2)' $d "$dir/add.txt" --operand 7=x.npy
expect 1 'f.npy: f4[3]; operand 0 is u32[3], which takes elements of type u4' $d "$dir/add.txt" \
    --operand 0="$dir/f.npy"
npy "$dir/two.npy" '<u4' '2,' '\001\000\000\000\377\000\000\000'
expect 1 'two.npy: u4[2]; operand 0 is u32[3]' $d "$dir/add.txt" --operand 0="$dir/two.npy"
expect 1 'operand 0 is no output' $d "$dir/add.txt" --result 0="$dir/y.npy"
expect 1 'nodir' $d "$dir/add.txt" --result 1="$dir/nodir/y.npy"
expect 1 'nodir' $d "$dir/add.txt" --utilization "$dir/nodir/u.txt"
expect 2 '--from-dump goes with neither PROGRAM nor --all-cores' $d "$dir/add.txt" x.tasm
expect 2 '--operand, --result and --utilization go with --from-dump' x.tasm --operand 0=x.npy
expect 2 '--operand-seed is "x"' $d "$dir/add.txt" --operand-seed x
printf '0 : { %%s1_s1 = smov 1 ;; %%s1_s2 = smov 1 ;; %%s1_s3 = smov 1 }\n' >"$dir/slots.txt"
expect 0 "warning: $dir/slots.txt:1: bundle 0: 3 operations for the scalar slot" \
    $d "$dir/slots.txt"

samples=${SYSTOLE_SHARED:-../shared}/samples
if [ ! -d $samples/llo_v6e ]; then
    echo "skipped: no listings in $samples"
    exit $status
fi
all=0 equal=0
for file in $samples/llo_v6e/*.final_bundles.txt; do
    table=${file%.final_bundles.txt}.utilization.txt name=$(basename "$file")
    $systole run --from-dump "$file" --tpu v6e --utilization "$dir/units.txt" \
        | sed '/^host time/d' >"$dir/one" || fail "$name does not run"
    all=$((all + 1))
    if cmp "$table" "$dir/units.txt"; then
        equal=$((equal + 1))
    else
        fail "$name: the units differ from the compiler's"
    fi
    $systole run --from-dump "$file" --tpu v6e --threads 2 --simd c | sed '/^host time/d' \
        >"$dir/two"
    cmp -s "$dir/one" "$dir/two" || fail "$name: threads or simd path change the report"
done
echo "units per bundle: $equal of $all listings for v6e have the compiler's table"
exit $status
