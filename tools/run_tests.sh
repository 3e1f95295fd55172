#!/bin/sh
# Runs the test programs given, then the test scripts given, as many at a time as there are CPUs;
# each program's output stays in its .log. The last line counts: "N passed, N failed, N skipped"; a script
# that skips a part, and says so, has passed all the same. Seconds of the programs and of the scripts
# go into the file $TIMES, if it is given, and CPU seconds of each into $TIMES.list, longest first.
cd "$(dirname "$0")/.." || exit 1
results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT
export results

# CPU seconds of what this shell has waited for, a sum of "1m2.5s" for user and system
used='
    used() {
        times >"$results/$number.times"
        awk -v of="$1" "NR == 2 {
            for (i = 1; i <= 2; i++) { split(\$i, t, /[ms]/); s += 60 * t[1] + t[2] }
            printf \"%7.1f %s\\n\", s, of }" "$results/$number.times" >"$results/$number.seconds"
    }'

# one test program: its line and what it has to say in $results/NUMBER, "passed failed skipped" in
# .count
run_program=$used'
    number=$1 test=$2 log=$2.log
    "$test" >"$log" 2>&1
    status=$?
    used "$test"
    ok=$(grep -c "^\[       OK \]" "$log")
    # cmocka lists what fails or is skipped twice: once when it happens, once in the summary
    skipped=$(grep "^\[  SKIPPED \] [a-z_0-9]*$" "$log" | sort -u | wc -l)
    said=$(grep -c "^skipped:" "$log")
    [ "$said" -le "$skipped" ] || skipped=$said
    bad=$(grep "^\[  FAILED  \] [a-z_0-9]*$" "$log" | sort -u | wc -l)
    [ $status -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    {
        printf "%-44s %4d passed %3d failed" "${test#build/}" "$ok" "$bad"
        [ "$skipped" -gt 0 ] && printf "   (skips: see %s)" "$log"
        echo
        if [ $status -ne 0 ]; then grep -v "^\[ RUN \|^\[       OK " "$log" | head -60; fi
        grep "^skipped:" "$log"
    } >"$results/$number"
    echo "$ok $bad $skipped" >"$results/$number.count"
    cat "$results/$number"
    :'

run_script=$used'
    number=$1 script=$2
    output=$(sh "$script" 2>&1)
    status=$?
    used "$script"
    if [ $status -eq 0 ]; then
        echo "1 0 $(echo "$output" | grep -c "^skipped:")" >"$results/$number.count"
        { echo "$output" | grep "^skipped:\|^found:\|^seed "; printf "%-44s passed\n" "$script"; } \
            >"$results/$number"
    else
        echo "0 1 0" >"$results/$number.count"
        { echo "$output"; printf "%-44s FAILED\n" "$script"; } >"$results/$number"
    fi
    cat "$results/$number"
    :'

cpus=$(nproc 2>/dev/null || echo 1)
began=$(date +%s)
number=0
for test in "$@"; do
    number=$((number + 1))
    case $test in *.sh) ;; *) echo "program$number $test" ;; esac
done | xargs -r -L 1 -P "$cpus" sh -c "$run_program" run
between=$(date +%s)
number=0
for script in "$@"; do
    number=$((number + 1))
    case $script in *.sh) echo "script$number $script" ;; esac
done | xargs -r -L 1 -P "$cpus" sh -c "$run_script" run
[ -z "$TIMES" ] || {
    echo $((between - began)) $(($(date +%s) - between)) >"$TIMES"
    sort -rn "$results"/*.seconds >"$TIMES.list"
}

cat "$results"/*.count | {
    passed=0 failed=0 skipped=0
    while read -r ok bad left; do
        passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left))
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
