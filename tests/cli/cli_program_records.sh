#!/bin/sh
# systole check programs --record and --against: what became of each sample stands in
# tests/import/record, and none gets worse. Values on cores of programs of one operation here; all of
# them, on the host, on cores and in timing mode, in make check-long (SYSTOLE_LONG).
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# a record of our own programs, changed: what was better before is a failure, what was worse is not
own=tests/import/data
expect 0 '2 tries, 0 fail' check programs control.mlir --samples $own --record "$work/r.csv"
expect 0 '2 tries, 0 fail' check programs control.mlir --samples $own --against "$work/r.csv"
grep -q '^control.mlir,v5e,right,0,0$' "$work/r.csv" || fail "$(cat "$work/r.csv")"
sed 's/v5e,right,0,0/v5e,right,3,3/' "$work/r.csv" >"$work/better.csv"
expect 1 'control.mlir v5e is worse: right, 0 of 0; it was right, 3 of 3' \
    check programs control.mlir --samples $own --against "$work/better.csv"
sed 's/v5e,right/v5e,wrong/' "$work/r.csv" >"$work/worse.csv"
expect 0 '2 tries' check programs control.mlir --samples $own --against "$work/worse.csv"

# broken records
refuse 'no-such.csv' check programs $own/control.mlir --against no-such.csv
echo 'path,way,outcome,right,compared
a,host,splendid,0,0' >"$work/bad.csv"
refuse 'outcome is "splendid"' check programs $own/control.mlir --against "$work/bad.csv"
echo 'path,way' >"$work/bad.csv"
refuse 'outcome' check programs $own/control.mlir --against "$work/bad.csv"
refuse 'there is no such' check programs $own/no-such.mlir --record "$work/none.csv"
[ ! -e "$work/none.csv" ] || fail "a record of nothing was written"

samples=${SYSTOLE_SHARED:-../shared}/samples
if [ ! -d "$samples" ]; then
    echo "skipped: no samples in $samples"
elif [ -z "$SYSTOLE_LONG" ]; then
    expect 0 tries check programs stablehlo_testdata stablehlo --samples "$samples" --ways v5e \
        --against tests/import/record/testdata.csv
else
    expect 0 tries check programs stablehlo_testdata stablehlo --samples "$samples" \
        --ways host,v5e,timing:v5e --against tests/import/record/testdata.csv
    expect 0 tries check programs programs/jax programs/tf programs/torch --samples "$samples" \
        --first-form --seconds 400 --ways host,v5e,timing:v5e \
        --against tests/import/record/programs.csv
    expect 0 tries check programs hlo --samples "$samples" --seconds 400 --ways timing:v5e,timing:v6e \
        --against tests/import/record/hlo.csv
fi

[ $failures -eq 0 ]
