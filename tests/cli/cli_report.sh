#!/bin/sh
# systole report: the tables of a run again; folders of train, run and gemm; messages.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "report: $*"; failures=$((failures + 1)); }

# expect STATUS TEXT ARGUMENT...: the exit status of systole report, and TEXT in what it prints
expect() {
    status=$1 text=$2; shift 2
    "$systole" report "$@" >"$work/log" 2>&1
    got=$?
    [ $got -eq "$status" ] || fail "$*: status $got, expected $status: $(head -3 "$work/log")"
    grep -qF -- "$text" "$work/log" || fail "$*: no \"$text\" in: $(head -5 "$work/log")"
    if [ "$status" -eq 1 ] && [ "$(wc -l <"$work/log")" -ne 1 ]; then
        fail "$*: one line expected: $(cat "$work/log")"
    fi
}

"$systole" train examples/mnist_mlp.json --tpu v3-8 --batch 32 --steps 2 --out "$work/t" \
    >"$work/log" 2>&1 || fail "train: $(tail -1 "$work/log")"
"$systole" gemm 300x200x300 --tpu v5e --out "$work/g" --out-npy "$work/c.npy" >"$work/log" 2>&1 \
    || fail "gemm: $(tail -1 "$work/log")"
[ -s "$work/c.npy" ] || fail "gemm: no result beside the folder"
"$systole" run examples/07_two_core_exchange.tasm --all-cores --out "$work/r" >"$work/log" 2>&1 \
    || fail "run: $(tail -1 "$work/log")"
grep -qx "results in $work/r" "$work/log" || fail "run does not say where its results are"
for dir in t g r; do
    for file in config.ini report.txt stats.json stats.txt steps.csv ops.csv \
        collectives.csv layers.csv links.csv \
        memory.csv counters.csv energy.csv energy_ops.csv; do
        [ -s "$work/$dir/$file" ] || fail "$dir has no $file"
    done
    [ "$(ls "$work/$dir" | wc -l)" -eq 14 ] || fail "$dir: $(ls "$work/$dir")"
done

# text: all tables of the run; what a run does not have is left out, unless it is asked for
expect 0 'source operations of one core, by category' "$work/t"
for title in 'step breakdown, mean' '^epochs' '^layers' '^units, mean' '^issue, stalls' \
    '^HBM by chip' '^links between' '^memory of a core' '^counters, all' \
    '^energy, all cores' '^energy of one core'; do
    grep -q "$title" "$work/log" || fail "text has no table \"$title\""
done
[ "$(awk '{ if (length($0) > 200) n++ } END { print n + 0 }' "$work/log")" -eq 0 ] \
    || fail "lines of more than 200 characters"
expect 0 'gemm 300x200x300; v5e' "$work/g"
grep -q '^links' "$work/log" && fail "a single chip has a table of links"
expect 0 '(none)' "$work/g" --section links
expect 0 'exposed_hbm' "$work/r/stats.json" --section steps

# CSV is the file of the folder; JSON has the same rows
for section in ops collectives layers links memory energy energy_ops counters; do
    expect 0 , "$work/t" --section $section --csv
    cmp -s "$work/log" "$work/t/$section.csv" || fail "--csv of $section is not $section.csv"
done
expect 0 '"format": "systole-report"' "$work/t" --json
rows=$(grep -c '"framework_op"' "$work/log")
[ "$rows" -eq "$(($(wc -l <"$work/t/ops.csv") - 1))" ] || fail "--json has $rows operations"
expect 0 '"cycles"' "$work/t" --section ops --json
grep -q '"counters"' "$work/log" && fail "--section ops --json has counters"
expect 0 '| part | cycles | time_us |' "$work/t" --section steps --md
expect 0 '# ' "$work/g" --md

# order and length
expect 0 'cycles' "$work/t" --section ops --sort wasted_cycles --top 3 --csv
[ "$(wc -l <"$work/log")" -eq 4 ] || fail "--top 3 has $(wc -l <"$work/log") lines"
expect 0 'cycles' "$work/t" --section ops --sort wasted_cycles --json
sed -n 's/.*"wasted_cycles": \([0-9]*\),/\1/p' "$work/log" >"$work/one"
[ "$(wc -l <"$work/one")" -gt 10 ] || fail "few operations have wasted cycles"
expect 0 'wasted_cycles' "$work/t" --section ops --sort wasted_cycles
sort -rn "$work/one" | cmp -s - "$work/one" || fail "--sort wasted_cycles is not in order"
expect 0 'by category' "$work/t" --section ops --top 1
[ "$(grep -c '^    ' "$work/log")" -eq 1 ] || fail "--top 1 shows not one operation"

# the same run again gives the same files, whatever the host does
"$systole" train examples/mnist_mlp.json --tpu v3-8 --batch 32 --steps 2 --threads 2 --simd c \
    --out "$work/t2" >"$work/log" 2>&1 || fail "again: $(tail -1 "$work/log")"
for file in steps.csv ops.csv layers.csv links.csv memory.csv counters.csv; do
    cmp -s "$work/t/$file" "$work/t2/$file" || fail "$file differs from run to run"
done
sed '/^host_/d' "$work/t/stats.txt" >"$work/one"
sed '/^host_/d' "$work/t2/stats.txt" | cmp -s - "$work/one" || fail "stats.txt differs"

# gem5's form: name, value, # text (unit)
sed '/^$/d;/^-----/d' "$work/t/stats.txt" \
    | grep -vE '^[A-Za-z0-9_.]+ +-?[0-9.e+-]+  # .+ \([^ ]+\)$' >"$work/one"
[ -s "$work/one" ] && fail "stats.txt: $(head -1 "$work/one")"
grep -q '^---------- Begin Simulation Statistics ----------$' "$work/t/stats.txt" \
    || fail "stats.txt does not begin"

# the run again, from config.ini alone
grep -q '^name = train$' "$work/t/config.ini" || fail "config.ini has no command"
args=$(sed -n 's/^argument_[0-9]* = //p' "$work/t/config.ini" | sed "s,^$work/t\$,$work/t3,")
"$systole" train $args >"$work/log" 2>&1 || fail "the command again: $(tail -1 "$work/log")"
cmp -s "$work/t/ops.csv" "$work/t3/ops.csv" || fail "the command again gives something else"

# a run in two parts leaves the same tables as one in one part
"$systole" run examples/02_mxu_tile.tasm --save-at 500="$work/half.snap" --out "$work/s1" \
    >"$work/log" 2>&1 || fail "save-at: $(tail -1 "$work/log")"
"$systole" run --resume "$work/half.snap" --out "$work/s2" >"$work/log" 2>&1 \
    || fail "resume: $(tail -1 "$work/log")"
for file in ops.csv layers.csv links.csv memory.csv counters.csv; do
    cmp -s "$work/s1/$file" "$work/s2/$file" || fail "$file of a resumed run differs"
done
grep -q '^clock_mhz = 940 ; snapshot$' "$work/s2/config.ini" \
    || fail "no origin of a snapshot's chip"

# functional mode has no time: tables about it are empty
"$systole" gemm 64x64x64 --mode functional --out "$work/f" >"$work/log" 2>&1 || fail functional
[ "$(wc -l <"$work/f/ops.csv")" -eq 1 ] || fail "functional mode has rows in ops.csv"
expect 0 'gemm 64x64x64' "$work/f"
"$systole" train examples/mnist_mlp.json --backend host --tpu v3-1 --batch 32 --steps 1 \
    --out "$work/h" >"$work/log" 2>&1 || fail host
expect 0 'on the host' "$work/h"

# a run that ends with a fault leaves the way to it, and no tables
printf '{ v0 = vpop.eup }\n{ shalt }\n' >"$work/bad.tasm"
"$systole" run "$work/bad.tasm" --out "$work/bad" >"$work/log" 2>&1 && fail "a fault is no error"
[ "$(ls "$work/bad")" = trace.strace ] || fail "a fault leaves $(ls "$work/bad")"

# messages
expect 2 'which run?'
expect 2 'only one run may be given, not' "$work/t" "$work/g"
expect 2 'no section "op" (did you mean "ops"?)' "$work/t" --section op
expect 2 '--csv has one header: which table?' "$work/t" --csv
expect 2 '--sort needs a table' "$work/t" --sort cycles
expect 2 '--json, --csv and --md do not go together' "$work/t" --json --csv --section ops
expect 2 '--top is "0", allowed are whole numbers in 1..1000000' "$work/t" --top 0
expect 1 'section ops has no column "cycle" (did you mean "cycles"?)' "$work/t" --section ops \
    --sort cycle
expect 0 'Examples:' --help
expect 1 'cannot read: No such file or directory' "$work/nothing"
mkdir "$work/empty"
expect 1 'is no folder of a run: it has no stats.json' "$work/empty"
mkdir "$work/foreign"
echo '{"format": "other"}' >"$work/foreign/stats.json"
expect 1 'is no systole-stats file' "$work/foreign"
head -c 3000 "$work/t/stats.json" >"$work/foreign/stats.json"
expect 1 "$work/foreign/stats.json:" "$work/foreign"
sed 's/"version": 1/"version": 99/' "$work/t/stats.json" >"$work/foreign/stats.json"
expect 1 'was written by a newer systole: version 99' "$work/foreign"
echo '{"format": "systole-stats", "version": 1}' >"$work/foreign/stats.json"
expect 1 'has no tables' "$work/foreign"
echo '{"format": "systole-stats", "version": 1, "tables": {"ops": 3}}' >"$work/foreign/stats.json"
expect 1 'tables.ops is not a list' "$work/foreign"
echo '{"format": "systole-stats", "version": 1, "tables": {"ops": [{"cycles": "x"}]}}' \
    >"$work/foreign/stats.json"
expect 1 'tables.ops: row 1 has a "cycles" of the wrong kind' "$work/foreign"
echo 'no trace' >"$work/bad.strace"
expect 1 "$work/bad.strace" "$work/bad.strace"
for command in 'run examples/01_vector_add.tasm' 'gemm 8x8x8'; do
    "$systole" $command --out '' >"$work/log" 2>&1 && fail "$command --out '' passes"
    grep -q -- '--out is empty' "$work/log" || fail "$command: $(head -1 "$work/log")"
    "$systole" $command --out "$work/c.npy" >"$work/log" 2>&1 && fail "a file is no folder"
    grep -q 'is a file; name a folder' "$work/log" || fail "$command: $(head -1 "$work/log")"
done

[ "$failures" -eq 0 ]
