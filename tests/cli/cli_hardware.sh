#!/bin/sh
# systole check hardware --record and --against: a small folder of made-up measurements, then, where
# the public ones are found, a part of their rows against tests/hardware/record.csv; all of them in
# make check-long (SYSTOLE_LONG). The tables of docs/accuracy.md are those of the record.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

dir=$work/measured
mkdir "$dir"
rows() {        # measured us of three products
    echo 'workload,op,M,K,N,hidden,inter,heads_q,heads_kv,q_len,kv_len,head_dim,measured_value,measured_unit,peer_abs_pct_err'
    for us in "$@"; do echo "product_$us,gemm,256,256,256,,,,,,,,$us,us,"; done
    echo 'song,dance,,,,,,,,,,,5,us,'
} >"$dir/pytorchsim_tpuv6e_ops.csv"
record=$work/r.csv

rows 2 3 4
expect 0 'rows' check hardware "$dir" --record "$record" --unscored
grep -q 'an operation that is not known here: song (1)' "$work/log" || fail "$(cat "$work/log")"
grep -q '^pytorchsim_tpuv6e_ops.csv,gemm,all,3,3,' "$record" || fail "$(cat "$record")"
grep -q '^pytorchsim_tpuv6e_ops.csv,3,product_3,' "$work/r_rows.csv" || fail "$(cat "$work/r_rows.csv")"
expect 0 'rows' check hardware "$dir" --against "$record"

# farther from what is measured: told with its row, and recorded only for a reason
rows 2 3 9
expect 1 'gemm is worse' check hardware "$dir" --against "$record"
grep -q 'line 4, product_9: ' "$work/log" || fail "$(cat "$work/log")"
expect 1 '--reason says why' check hardware "$dir" --record "$record"
grep -q ',gemm,all,3,3,.*,$' "$record" || fail "recorded without a reason: $(cat "$record")"
expect 0 'rows' check hardware "$dir" --record "$record" --reason 'another measurement'
grep -q ',gemm,all,.*,another measurement$' "$record" || fail "$(cat "$record")"
expect 0 'rows' check hardware "$dir" --against "$record" --part

# a row that is scored no more, nearer as the others are
rows 2 3
echo 'product_9,dance,256,256,256,,,,,,,,9,us,' >>"$dir/pytorchsim_tpuv6e_ops.csv"
expect 1 'rows scored never become fewer' \
    check hardware "$dir" --record "$record" --reason 'no reason will do'
expect 1 'rows were scored' check hardware "$dir" --against "$record"

refuse 'without --row' check hardware "$dir" --record "$record" --row gemm
refuse '--reason goes with --record' check hardware "$dir" --reason x
refuse 'no-such.csv' check hardware "$dir" --file v6e_ops --limit 1 --tables no-such.csv
echo 'file,group' >"$work/bad.csv"
refuse 'no column "set"' check hardware --tables "$work/bad.csv"

sh tools/accuracy_tables.sh --check || fail "the tables of docs/accuracy.md"

measured=${SYSTOLE_SHARED:-../shared}/reference/hardware
if [ ! -d "$measured" ]; then
    echo "skipped: no measurements in $measured"
elif [ -z "$SYSTOLE_LONG" ]; then
    expect 0 rows check hardware "$measured" --part --against tests/hardware/record.csv
else
    expect 0 rows check hardware "$measured" --against tests/hardware/record.csv
fi

[ $failures -eq 0 ]
