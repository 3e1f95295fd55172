#!/bin/sh
# systole tune: variants of a folder are timed, the best is named, the others are told why they do not
# run; map, table, picture.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
data=tests/import/data

# the same variants as their own commands say
mkdir "$work/v"
cp $data/pallas/matmul.mlirbc "$work/v/a"
cp $data/pallas/matmul_f32.mlirbc "$work/v/b"
cp $data/pallas_mistakes/never_waited.mlir "$work/v/c"
cat >"$work/v/variants.csv" <<'CSV'
file,block_m,block_n,error
b,1024,8,
a,256,8,
c,256,16,
,1024,16,"ValueError: no such, blocks"
CSV
expect 0 '2 of 4 variants run; best: block_m=' tune "$work/v" --tpu v5e --csv "$work/table.csv" \
    --png "$work/map.png"
grep -q '(a) .*a copy that is never waited for' "$work/log" || fail "no reason: $(cat "$work/log")"
grep -q '(b) not lowered: ValueError: no such, blocks' "$work/log" || fail "no error of JAX"
for f in a b; do
    expect 0 '' kernel "$work/v/$f" --tpu v5e
    sed -n 's/ cycles = .*//p' "$work/log" | tr -d ,
done >"$work/alone"
cut -d, -f3 "$work/table.csv" | sed 1d | grep . | sort -n >"$work/cycles"
sort -n "$work/alone" | cmp -s - "$work/cycles" || fail "cycles: $(cat "$work/cycles" "$work/alone")"
grep -q '^1024,16,,,,,,,"not lowered: ValueError: no such, blocks"' "$work/table.csv" ||
    fail "table: $(cat "$work/table.csv")"
[ "$(head -c 4 "$work/map.png" | tail -c 3)" = PNG ] || fail "no picture"
# numbers stand in their order: 256 before 1024
expect 0 'block_m' tune "$work/v" --map block_m,block_n
awk '/^ *256 /{ if (!a) a = NR } /^ *1024 /{ if (!b) b = NR } END { exit !(a && a < b) }' "$work/log" ||
    fail "order of rows: $(cat "$work/log")"
"$systole" tune "$work/v" | grep -q "$(printf '\033')" && fail "colours where there is no terminal"
# any number of jobs, the same table
expect 0 '' tune "$work/v" --jobs 1 --csv "$work/one.csv"
cmp -s "$work/one.csv" "$work/table.csv" || fail "another table with one job"

# of a script: its variants are lowered first, here by a stand-in for Python that has them already
cat >"$work/python" <<SH
#!/bin/sh
echo "\$@" >"$work/called"
while [ "\$1" != --out ]; do shift; done
mkdir -p "\$2" && cp "$work"/v/* "\$2"
SH
chmod +x "$work/python"
expect 0 '2 of 4 variants run' tune script.py:f --vary block_m=256,1024 --vary block_n=8,16 \
    --arg 'bf16[64,64]' --for-chip --tpu v5e-4 --python "$work/python" --keep "$work/kept"
grep -q 'lower_variants.py script.py:f --vary block_m=256,1024 --vary block_n=8,16 --arg bf16.64,64. --tpu v5e --out' \
    "$work/called" || fail "called with $(cat "$work/called")"
[ -f "$work/kept/variants.csv" ] || fail "--keep keeps nothing"
TMPDIR=$work expect 0 '2 of 4 variants run' tune script.py:f --vary m=1 --python "$work/python"
ls -d "$work"/systole* 2>/dev/null && fail "lowered variants are left behind"
printf '#!/bin/sh\nexit 3\n' >"$work/python"
refuse 'could not be lowered' tune script.py:f --vary m=1 --python "$work/python"
refuse 'which parameters of script.py:f vary?' tune script.py:f
refuse 'are for SCRIPT.py:FUNCTION' tune "$work/v" --vary m=1

refuse 'No such file' tune "$work/none"
refuse '--map is "block_m,other"' tune "$work/v" --map block_m,other
sed -i '/^[ab],/d' "$work/v/variants.csv"
expect 1 'none of 2 variants runs: mistakes.py:' tune "$work/v"
echo file >"$work/v/variants.csv"
refuse 'nothing varies' tune "$work/v"
printf 'file,m\n' >"$work/v/variants.csv"
refuse 'no variants in it' tune "$work/v"

[ $failures -eq 0 ]
