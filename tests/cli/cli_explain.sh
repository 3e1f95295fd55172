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
train() {
    folder=$1; shift
    $systole train $model --epochs 1 --steps 1 --out "$folder" "$@" >"$out" 2>&1 \
        || fail "train $*: $(tail -1 "$out")"
}

# a small batch on slow links: waits for the all-reduce
train "$dir/links" --batch 64 --tpu v5e-16
$systole explain "$dir/links" >"$out" || fail "status of a run"
head -1 "$out" | grep -q \
    '^[0-9]* % of the step waits for other cores, mostly .*cycles (all-reduce)\.' \
    || fail "first line: $(head -1 "$out")"
$systole explain "$dir/links" --verify --top 3 >"$out" 2>"$out.err" \
    || fail "verify: $(cat "$out.err")"
awk '/^verified/ { on = 1 } on && /links of unlimited/ { found = $NF > 0.5 && $NF < 2 }
     END { exit !found }' "$out" || fail "links: $(grep 'links of' "$out")"

# a small batch on eight cores: waits for memory; causes add up to the step
train "$dir/small" --batch 64 --tpu v3-8
$systole explain "$dir/small" --top 27 >"$out" || fail "status of a run"
head -1 "$out" | grep -q \
    '^[0-9]* % of the step waits for memory, mostly .*cycles (Adam/dense/kernel)\.' \
    || fail "first line: $(head -1 "$out")"
sed -n 2p "$out" | grep -q '^Try --batch 256 (four times the batch): predicted gain' \
    || fail "second line: $(sed -n 2p "$out")"
awk 'length($0) > 100 && !/^systole / { bad = 1 } END { exit bad }' "$out" \
    || fail "a line of more than 100 characters"
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
$systole explain "$dir/small" --verify --top 1 >"$out" 2>"$out.err" \
    || fail "verify: $(cat "$out.err")"
grep -q '^simulating again: four times the batch (--batch 256)$' "$out.err" || fail "no progress"
awk '/^verified/ { on = 1 }
     on && /four times/ { found = $NF > 0.5 && $NF < 2 }
     END { exit !found }' \
    "$out" || fail "four times the batch: $(grep 'four times the batch  ' "$out")"

# parameters of the run are kept; a run that is impossible says so
train "$dir/set" --batch 64 --tpu v3-2 --set hbm.burst_ps=9000 --policy mixed_bfloat16
$systole explain "$dir/set" --verify --top 2 >"$out" 2>"$out.err" || fail "verify with --set"
grep -q '^mnist_mlp, v3-2' "$out" || fail "title of a run with --set"
head -1 "$out" | grep -q 'waits for memory' || fail "slow memory: $(head -1 "$out")"

# programs in assembly: a cause that is put in is the cause that is found
{   # 40 copies of 512 bytes, one after the other
    i=0
    while [ $i -lt 40 ]; do
        echo "{ dma.hbm_to_vmem $((i * 16)), 16, $((i * 16)), [sflag:0] }"
        echo "{ dma.done.wait [sflag:0], 16 }"
        echo "{ vsyncadd [sflag:0], -16 }"
        i=$((i + 1))
    done
    echo "{ shalt }"
} >"$dir/copies.tasm"
{   # 40 powers of two of the one before
    echo "{ v0 = vld [vmem:0] }"
    i=0
    while [ $i -lt 40 ]; do
        echo "{ vpow2.f32 v0 }"
        echo "{ v0 = vpop.eup }"
        i=$((i + 1))
    done
    echo "{ shalt }"
} >"$dir/eup.tasm"
verified() {        # folder, cause that is first, change, least and most of measured by predicted
    $systole explain "$dir/$1" --verify --top 1 >"$out" 2>"$out.err" || fail "$1: $(cat "$out.err")"
    head -1 "$out" | grep -qF "mostly $2" || fail "$1: $(head -1 "$out")"
    awk -v change="$3" -v least="$4" -v most="$5" '/^verified/ { on = 1 }
        on && index($0, "  " change "  ") { found = $NF >= least && $NF <= most }
        END { exit !found }' "$out" || fail "$1: $(grep -F "  $3  " "$out")"
}
(cd "$dir" && case $systole in /*) ;; *) systole=$OLDPWD/$systole ;; esac
 $systole run copies.tasm --out copies >"$out" && $systole run eup.tasm --out eup >"$out") \
    || fail "programs: $(tail -1 "$out")"
verified copies 'small copies' 'copies that start at once' 0.7 1.1
verified eup 'waiting for the transcendental unit' \
    'a transcendental unit that answers at once' 0.9 1.1

# products: one column fills an array as much as all of them
$systole gemm 2048x1x2048 --mode timing --out "$dir/narrow" >"$out" \
    || fail "gemm: $(tail -1 "$out")"
verified narrow 'partly filled arrays' 'sizes that fill units' 0.99 1.01
sed -n 2p "$out" | grep -q '^Try 2048x256x2048 (sizes that fill units)' \
    || fail "$(sed -n 2p "$out")"
$systole gemm --m 2048 --n=2048 -k 2048 --tpu v6e --mode timing --out "$dir/wide" >"$out" \
    || fail "gemm: $(tail -1 "$out")"
verified wide 'memory bandwidth' 'twice M, N and K' 0.5 2
verified wide 'memory bandwidth' 'memory of unlimited rate' 0.5 2

# a trace by itself, and one that the run left, tell bundles; a truncated one what is missing
train "$dir/traced" --batch 64 --tpu v3-2 --trace "$dir/t.strace"
for run in "$dir/t.strace" "$dir/traced"; do
    $systole explain "$run" --top 3 >"$out" || fail "trace: $run"
    grep -q '^   bundles bundle [0-9]* [0-9,]*, bundle [0-9]* [0-9,]*' "$out" \
        || fail "$run: no bundles"
    sed -n 2p "$out" | grep -q '^Try --batch 256' || fail "$run: $(sed -n 2p "$out")"
done
$systole run "$dir/eup.tasm" --trace "$dir/e.strace" >"$out" || fail "run with a trace"
$systole explain "$dir/e.strace" --top 1 | grep -q 'bundle [0-9]* (line [0-9]*) [0-9]' \
    || fail "no source lines"

# the line that a trace keeps is the command word by word
cp "$dir/eup.tasm" "$dir/it's a program.tasm"
$systole run "$dir/it's a program.tasm" --trace "$dir/s.strace" >"$out" 2>&1 \
    || fail "a path with spaces: $(tail -1 "$out")"
verified s.strace 'waiting for the transcendental unit' \
    'a transcendental unit that answers at once' 0.9 1.1

# runs again write nowhere but into their own folder, whatever the command names
mkdir "$dir/mine"
train "$dir/writer" --batch 64 --tpu v3-2 --csv-log "$dir/mine/log.csv" \
    --checkpoint "$dir/mine" --trace "$dir/mine/t.pftrace"
(cd "$dir" && case $systole in /*) ;; *) systole=$OLDPWD/$systole ;; esac
 $systole gemm 256x256x256 --tpu v3 --asm=mine/g.tasm --out-npy mine/g.npy --out gemm_writer \
     >"$out" && $systole run eup.tasm --out run_writer --trace mine/r.strace \
     --out-npy 0x0:8x128=mine/r.npy --save-at 5=mine/r.snap >"$out") \
    || fail "writers: $(tail -1 "$out")"
forged=$dir/forged
cp -r "$dir/writer" "$forged"
sed "s|^argument_\([0-9]*\) = --csv-log|argument_\1 = --csv-l|
     s|^argument_\([0-9]*\) = --trace|argument_\1 = --trace-l=op|" \
    "$dir/writer/config.ini" >"$forged/config.ini"
for file in "$dir"/mine/*; do
    echo mine >"$file"
done
ls "$dir/mine" >"$dir/names"
for run in writer gemm_writer run_writer forged; do
    $systole explain "$dir/$run" --verify --top 2 >"$out" 2>"$out.err" || fail "$run: $(cat "$out.err")"
    for file in "$dir"/mine/*; do
        [ "$(cat "$file")" = mine ] || fail "$run wrote $file"
    done
    ls "$dir/mine" | cmp -s - "$dir/names" || fail "$run left $(ls "$dir/mine")"
    [ $run = forged ] || ! grep -q 'could not run' "$out" || fail "$run: $(grep 'not run' "$out")"
done
mkdir "$dir/below"
for path in "$dir/mine/new.csv" "$dir/below/../mine/new.csv" new.csv; do
    SYSTOLE_WRITES_BELOW=$dir/below $systole mem --bytes 64K --csv "$path" >"$out" 2>&1 &&
        fail "$path is written"
    grep -q "cannot write $path: this run may write below" "$out" || fail "$(cat "$out")"
done

# what cannot run again says why, and leaves nothing behind
sed 's/^name = train/name = trai/' "$dir/small/config.ini" >"$dir/set/config.ini"
TMPDIR=$dir/empty
export TMPDIR
mkdir "$TMPDIR"
$systole explain "$dir/set" --verify --top 1 >"$out" 2>&1 || fail "a command that does not exist"
grep -q 'could not run: unknown command "trai"' "$out" || fail "$(grep 'could not run' "$out")"
[ -z "$(ls "$TMPDIR")" ] || fail "files left in $TMPDIR"
unset TMPDIR
sed '/^name = train/d' "$dir/small/config.ini" >"$dir/set/config.ini"
$systole explain "$dir/set" >"$out" || fail "a run without its command"
rmdir "$dir/empty"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole explain "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$got" -eq 1 ] && [ "$(wc -l <"$out.err")" -ne 1 ] && fail "$*: says more than one line"
}
expect 2 'which run? (a folder that --out left, or a .strace)'
expect 2 'only one run may be given, not' "$dir/small" "$dir/set"
expect 2 '--top is "x", allowed are whole numbers in 0..' "$dir/small" --top x
expect 1 'does not tell the command that made it' "$dir/set" --verify
expect 1 'nowhere: cannot read: No such file' "$dir/nowhere"
head -c $(($(wc -c <"$dir/t.strace") / 2)) "$dir/t.strace" >"$dir/cut.strace"
expect 1 'cut.strace: has no counters of the run' "$dir/cut.strace"
head -c 300 "$dir/t.strace" >"$dir/cut.strace"
expect 1 'cut.strace' "$dir/cut.strace"
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
