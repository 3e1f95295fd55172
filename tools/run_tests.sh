#!/bin/sh
# Runs the test programs given, then all test scripts; each program's output stays in PROGRAM.log.
# The last line counts: "N passed, N failed".
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0
for test in "$@"; do
    log=$test.log
    "$test" >"$log" 2>&1
    status=$?
    ok=$(grep -c '^\[       OK \]' "$log")
    skipped=$(grep -c '^\[  SKIPPED \]' "$log")
    # cmocka lists failures twice: once when they happen, once in the summary
    bad=$(grep '^\[  FAILED  \] [a-z_0-9]*$' "$log" | sort -u | wc -l)
    [ $status -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    passed=$((passed + ok)) failed=$((failed + bad))
    printf '%-44s %4d passed %3d failed' "${test#build/}" "$ok" "$bad"
    [ "$skipped" -gt 0 ] && printf '   (skips: see %s)' "$log"
    echo
    if [ $status -ne 0 ]; then grep -v '^\[ RUN \|^\[       OK ' "$log" | head -60; fi
    grep '^skipped:' "$log"
done
for script in tools/check_layers.sh tests/*.sh; do
    if output=$(sh "$script" 2>&1); then
        passed=$((passed + 1)); word=passed
        echo "$output" | grep '^skipped:'
    else
        failed=$((failed + 1)); word=FAILED
        echo "$output"
    fi
    printf '%-44s %s\n' "$script" "$word"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
