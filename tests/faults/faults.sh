#!/bin/sh
# Runs commands that read and write files again and again, and lets one call of the system, or one
# allocation, fail in each run: the first, the second, until none is left to fail.
#
#   sh tests/faults/faults.sh STEP [CASE]...
#
# STEP 1 tries every call, 40 every 40th one. A run must succeed and leave what the undisturbed run
# leaves, or end with status 1 and a message; a file under its own name is whole, as it was before or
# as the undisturbed run makes it; nothing temporary stays. Where it is killed instead, the same
# command once more leaves what the undisturbed run leaves. $SYSTOLE is the program, $FAULTS the
# folder of fault_calls and fault_memory.so, $KINDS the kinds of faults (default: all), $RANDOM_KILLS
# how often a command that can go on is killed at a random moment, too, drawn with $SEED.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
top=$PWD
systole=$(realpath "$systole")
tools=$(realpath "${FAULTS:-build/tests/faults}")
work=$(realpath "$work")
step=$1; shift
. tests/faults/prepare.inc
. tests/faults/cases.inc
runs=0 seed=${SEED:-1}
mkdir "$work/tmp"
export TMPDIR="$work/tmp" FAULT_REPORT="$work/report" ASAN_OPTIONS=detect_leaks=0

# without times of the host, which differ although all went well; of a trace what can be read of it
plain() {
    case $1 in
    *.strace) "$systole" export "$1" -o "$work/plain.pftrace" >/dev/null 2>&1 &&
        cat "$work/plain.pftrace" ;;
    *.ini | *.json | *.csv | */report.txt | */stats.txt | */stdout | *.log)
        sed 's/[0-9][0-9.e+-]*/N/g; s/  */ /g; s/^\(trace written to [^:,]*\).*/\1/' "$1" ;;
    *) cat "$1" ;;
    esac
}

same() {            # FILE FILE
    [ -f "$2" ] || return 1
    cmp -s "$1" "$2" && return 0
    plain "$1" >"$work/left" && plain "$2" >"$work/right" && cmp -s "$work/left" "$work/right"
}

begins() {          # FILE FILE: the first is whole lines with which the second begins
    [ -f "$2" ] && head -c "$(wc -c <"$1")" "$2" | cmp -s - "$1" && [ -z "$(tail -c 1 "$1")" ]
}

# go WORD...: the command in the folder run, behind the words
go() {                # SC2086: words of the command
    # shellcheck disable=SC2086
    (cd "$work/run" && exec "$@" "$systole" $command >stdout 2>"$work/said")
}

# what the run has left, given its status; `after` is what happened to it
check_files() {
    status=$1 after=$2
    (cd "$work/run" && find . -type f) | while read -r file; do
        case $file in
        *.tmp | *.lock)          # nor can it be removed where removing is what fails
            case $status,$what in 137,* | *,unlink* | *,rmdir) ;; *) echo "$file stays" ;; esac ;;
        ./stdout) [ "$status" -ne 0 ] || [ "$what" = again ] || same "$work/run/$file" "$work/whole/$file" ||
            echo "another output: $(diff "$work/left" "$work/right" | head -3)" ;;
        *) same "$work/run/$file" "$work/whole/$file" ||
            { [ ! -e "$work/whole/$file" ] && same "$work/run/$file" "$work/start/$file"; } ||
            { [ "$status" -ne 0 ] &&
                { expr "$file" : "${tells:-$}" >/dev/null || same "$work/run/$file" "$work/start/$file" ||
                    { [ "$file" = "./$grows" ] && begins "$work/run/$file" "$work/whole/$file"; }; }; } ||
            echo "$file is torn" ;;
        esac
    done >"$work/wrong"
    (cd "$work/whole" && find . -type f) | while read -r file; do
        [ -e "$work/run/$file" ] || { [ "$status" -ne 0 ] &&
            { [ ! -e "$work/start/$file" ] || [ -n "$clears" ]; }; } || echo "$file is missing"
    done >>"$work/wrong"
    [ "$status" -eq 137 ] || find "$work/tmp" -mindepth 1 >>"$work/wrong"
    [ -s "$work/wrong" ] && fail "$after: status $status: $(cat "$work/wrong" "$work/said")"
}

# one run with the Nth fault of a kind; false when there was none
one() {
    kind=$1 n=$2
    rm -rf "$work/run" "$work/report"
    cp -r "$work/start" "$work/run"
    runs=$((runs + 1))
    if [ "$kind" = memory ]; then
        FAULT_MEMORY=$n LD_PRELOAD="$tools/fault_memory.so" go
    else
        go "$tools/fault_calls" "$kind" "$n" "$work/run" "$work/report"
    fi
    got=$?
    read -r hit what <"$work/report" || hit=lost
    after="$name: $kind $n${what:+ ($what)}"
    case $got in
    0 | 137) ;;
    1) grep -qE 'systole: |: failed: ' "$work/said" || fail "$after: no message: $(cat "$work/said")" ;;
    *) fail "$after: status $got: $(tail -5 "$work/said")" ;;
    esac
    check_files "$got" "$after"
    [ "$got" -ne 137 ] || finish_killed
    [ "$hit" = hit ]
}

# kills at moments drawn over the time that the command takes
kill_at_random() {
    what=
    for n in $(seq "$1"); do
        rm -rf "$work/run"
        cp -r "$work/start" "$work/run"
        runs=$((runs + 1))
        go timeout --foreground -s KILL "$(awk -v seed="$seed" -v n="$n" -v most="$took_s" \
            'BEGIN { srand(seed * 1000 + n); print 0.001 + rand() * most }')"
        got=$?
        after="$name: killed at random, seed $seed, number $n"
        check_files $got "$after"
        [ $got -ne 137 ] || finish_killed
    done
}

finish_killed() {
    rm -rf "$work/tmp"/*
    what=again
    command=${again:-$command} go
    got=$?
    if grep -q 'no checkpoint to resume from' "$work/said"; then
        go
        got=$?
    elif grep -q 'epochs are done already' "$work/said"; then
        got=0
        rm -f "$work/run"/*.lock "$work/run"/*/*.lock   # nobody holds them
    fi
    check_files $got "$after, then once more"
}

run_case() {
    name=$1 before=: command='' again='' grows='' clears='' tells='' resumes=
    "case_$name"
    rm -rf "$work/start" "$work/run"
    mkdir "$work/start"
    (cd "$work/start" && prepare && eval "$before") >"$work/said" 2>&1 ||
        { fail "$name: $(cat "$work/said")"; return; }
    cp -r "$work/start" "$work/run"
    began=$(date +%s%N)
    go || { fail "$name: $(cat "$work/said")"; return; }
    took_s=$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }')
    rm -rf "$work/whole"
    mv "$work/run" "$work/whole"
    for kind in ${KINDS:-enospc stays eio eintr short memory kill}; do
        [ "$kind" != kill ] || [ -n "$resumes" ] || continue
        [ "$kind" != memory ] || [ -e "$tools/fault_memory.so" ] || continue
        n=$((1 + (${#name} + ${#kind}) % step))     # not always the same ones
        while one "$kind" $n && [ $failures -lt 30 ]; do n=$((n + step)); done
        [ $n -gt 1 ] || [ "$got" -ne 77 ] || { echo "skipped: no calls are caught here"; exit 0; }
    done
    [ -z "$resumes" ] || kill_at_random "${RANDOM_KILLS:-0}"
}

[ $# -gt 0 ] || set -- $cases
for case in "$@"; do run_case "$case"; done
[ "${RANDOM_KILLS:-0}" -eq 0 ] || echo "seed $seed"
echo "$runs runs of $# commands, each with a fault"
[ $failures -eq 0 ]
