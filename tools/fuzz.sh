#!/bin/sh
# fuzz.sh BUILD SECONDS NAME...: runs each target BUILD/tests/fuzz/fuzz_NAME for SECONDS of processor
# time, from the corpus in tests/corpus/NAME and what earlier runs found; prints a table. Inputs
# that fail stay in BUILD/findings.
build=$1 seconds=$2
shift 2
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$build/findings"
status=0

# of all children so far; times prints them in its second line: 1m2.34s 0m5.6s
cpu_seconds() {
    sed -n '2{s/\([0-9]*\)m\([0-9.]*\)s \([0-9]*\)m\([0-9.]*\)s.*/\1 \2 \3 \4/p}' "$build/times" |
        awk '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }'
}

printf '%-10s %8s %12s %10s %8s %8s  %s\n' target 'cpu s' inputs inputs/s edges corpus findings
for name in "$@"; do
    target=$build/tests/fuzz/fuzz_$name corpus=$build/corpus/$name log=$build/fuzz_$name.log
    mkdir -p "$corpus"
    : >"$log"
    times >"$build/times"
    start=$(cpu_seconds) spent=0 inputs=0 bad=0
    while [ "$spent" -lt "$seconds" ] && [ $bad -eq 0 ]; do
        left=$((seconds - spent))
        "$target" -max_total_time=$((left < 60 ? left : 60)) -max_len=4096 -timeout=20 \
            -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
            -artifact_prefix="$build/findings/$name-" "$corpus" "tests/corpus/$name" \
            >"$log" 2>&1 || bad=1
        times >"$build/times"
        spent=$(($(cpu_seconds) - start))
        ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
        inputs=$((inputs + ${ran:-0}))
    done
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    found=none
    if [ $bad -ne 0 ]; then
        status=1
        found=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        found="${found:-see} ($log)"
    fi
    printf '%-10s %8d %12d %10d %8s %8d  %s\n' "$name" "$spent" "$inputs" \
        $((inputs / (spent > 0 ? spent : 1))) "${edges:-?}" "$(ls "$corpus" | wc -l)" "$found"
done
exit $status
