#!/bin/sh
# systole explain: sums of what it prints, a prediction held against a second run, how it fails.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_explain.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "explain: $*"; status=1; }
out=$dir/out
model=examples/mnist_mlp.json
train() { folder=$1; shift; $systole train $model --epochs 1 --steps 1 --out "$folder" "$@" >"$out" 2>&1 \
    || fail "train $*: $(tail -1 "$out")"; }

# a small batch on eight cores: waits for the all-reduce; causes add up to the step
train "$dir/small" --batch 64 --tpu v3-8
$systole explain "$dir/small" --top 27 >"$out" || fail "status of a run"
head -1 "$out" | grep -q '^[0-9]* % of the step waits for other cores and chips, mostly .*cycles\.' \
    || fail "first line: $(head -1 "$out")"
sed -n 2p "$out" | grep -q '^Try --batch 256 (four times the batch): predicted to gain' \
    || fail "second line: $(sed -n 2p "$out")"
awk 'length($0) > 100 { bad = 1 } END { exit bad }' "$out" || fail "a line of more than 100 characters"
awk '/^causes, mean/ { on = 1; next }
     on && /^$/ { on = 0 }
     on { match($0, /[0-9,]+ +[0-9.]+ %/); n = substr($0, RSTART, RLENGTH); sub(/ .*/, "", n)
          gsub(",", "", n) }
     on && /^  = the step  / { ok = n > 1000 && sum == n; on = 0 }
     on { sum += n }
     END { exit !ok }' "$out" || fail "the causes do not add up to the step"
$systole explain "$dir/small" --json >"$out" || fail "json"
grep -q '"format": "systole-explain"' "$out" || fail "json without its format"

# predictions have the right sign and size
$systole explain "$dir/small" --verify --top 1 >"$out" 2>"$out.err" || fail "verify: $(cat "$out.err")"
grep -q '^simulating again: four times the batch (--batch 256)$' "$out.err" || fail "no progress"
awk '/^verified/ { on = 1 } on && /four times/ { found = $NF > 0.5 && $NF < 2 } END { exit !found }' \
    "$out" || fail "four times the batch: $(grep 'four times the batch  ' "$out")"
awk '/^verified/ { on = 1 } on && /links without/ { found = $NF > 0.5 && $NF < 2 }
     END { exit !found }' "$out" || fail "links: $(grep 'links without' "$out")"

# parameters of the run are kept; a run that is impossible says so
train "$dir/set" --batch 64 --tpu v3-2 --set hbm.burst_ps=9000 --policy mixed_bfloat16
$systole explain "$dir/set" --verify --top 2 >"$out" 2>"$out.err" || fail "verify with --set"
grep -q '^mnist_mlp, v3-2' "$out" || fail "title of a run with --set"
head -1 "$out" | grep -q 'waits for memory' || fail "slow memory: $(head -1 "$out")"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole explain "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$got" -eq 1 ] && [ "$(wc -l <"$out.err")" -ne 1 ] && fail "$*: says more than one line"
}
expect 2 'which run? (a folder that --out left)'
expect 2 'one run is enough' "$dir/small" "$dir/set"
expect 2 '--top is "x", allowed are whole numbers in 0..' "$dir/small" --top x
expect 1 'nowhere: cannot read: No such file' "$dir/nowhere"
mkdir "$dir/empty"
expect 1 'is no folder of a run: it has no stats.json' "$dir/empty"
$systole train $model --epochs 1 --steps 1 --tpu v3-2 --mode functional --out "$dir/functional" \
    >"$out" || fail "functional run"
expect 1 'is of a run with --mode functional, which has no cycles to explain' "$dir/functional"
$systole train $model --epochs 1 --steps 1 --tpu v3-2 --backend host --out "$dir/host" >"$out" \
    || fail "run on the host"
expect 1 'is of a run on the host interpreter, which has no cycles to explain' "$dir/host"

# every damage is met with a message
damage() {          # part of the message, what sed does to stats.json
    mkdir -p "$dir/damaged"
    cp "$dir/small/config.ini" "$dir/damaged"
    sed "$2" "$dir/small/stats.json" >"$dir/damaged/stats.json"
    cmp -s "$dir/small/stats.json" "$dir/damaged/stats.json" && fail "sed $2 changes nothing"
    expect 1 "$1" "$dir/damaged"
}
damage 'the cycles of a core do not add up' 's/"hbm_wait": [0-9]*/"hbm_wait": 1/'
damage 'the cycles of a core are not those of the step' 's/^ "step_cycles": .*/ "step_cycles": 5,/'
damage 'the step has no cycles' 's/^ "step_cycles": .*/ "step_cycles": 0,/'
damage '"matmul_cycles" is not there or no count' 's/"matmul_cycles": /&-/'
damage '"slice" has no numbers of chips and cores' '/"slice"/,/}/s/"chips": 4/"chips": 3/'
damage 'has other numbers of chips and cores than its name' 's/"name": "v3-8"/"name": "v3-32"/'
damage 'a link joins a chip that is not there' 's/"to": 1/"to": 9/'
damage 'no slice "v3-7"' 's/"name": "v3-8"/"name": "v3-7"/'
rm "$dir/damaged/config.ini"
cp "$dir/small/stats.json" "$dir/damaged"
expect 1 "has no config.ini with the chip's parameters" "$dir/damaged"
exit $status
