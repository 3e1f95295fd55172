#!/bin/sh
# systole check pallas: kernels of Pallas beside what they were measured with. A small folder of our
# own, its record, and what is told when a kernel becomes worse; then, where the public measurements
# are found, some of their modules against tests/hardware/pallas.csv.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

dir=$work/modules
mkdir "$dir"
cp tests/import/data/pallas/matmul.mlirbc tests/import/data/pallas/add.mlirbc "$dir"
printf 'file,tpu,op,arguments,row\nmatmul.mlirbc,v5e,product,{},1\nadd.mlirbc,v6e,sum,{},2\n' \
    >"$dir/index.csv"
ms_of() {       # of both rows, in ms
    printf 'median_ms,peak_memory_mb\n%s,0.2\n%s,0.2\n' "$1" "$2" >"$work/times.csv"
}

ms_of 0.005 0.002
expect 0 'v5e   all' check pallas "$dir" --measured "$work/times.csv" --record "$work/r.csv"
[ "$(wc -l <"$work/r.csv")" -eq 3 ] || fail "$(cat "$work/r.csv")"
expect 0 'v5e   all' check pallas "$dir" --measured "$work/times.csv" --against "$work/r.csv"

# the record is written module by module: one that cannot be is told behind the first
expect 1 'none/r.csv' check pallas "$dir" --measured "$work/times.csv" --record "$work/none/r.csv"
grep -q '^add.mlirbc' "$work/log" && fail "the record is written at the end: $(cat "$work/log")"

# what stands in the record was nearer than today's
sed 's/^\(matmul[^,]*,[^,]*,[^,]*,\)\([0-9.]*\),[0-9.]*,/\1\2,\2,/' "$work/r.csv" >"$work/near.csv"
expect 1 'farther from what was measured' check pallas "$dir" --measured "$work/times.csv" \
    --against "$work/near.csv"
grep -q '^matmul.mlirbc: 0.0 % from what was measured before, now ' "$work/log" ||
    fail "$(cat "$work/log")"
expect 1 'no-such.csv' check pallas "$dir" --measured "$work/times.csv" --against no-such.csv

measured=${SYSTOLE_SHARED:-../shared}/samples/pallas/modules/as_recorded
if [ -d "$measured" ]; then
    for module in 265_ 279_ 192_ 037_ 142_; do
        expect 0 'memory within' check pallas "$measured" --file $module --against tests/hardware/pallas.csv
    done
else
    echo "skipped: no measurements in $measured"
fi

[ $failures -eq 0 ]
