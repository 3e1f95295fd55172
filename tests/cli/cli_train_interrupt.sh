#!/bin/sh
# An interrupt ends a training behind the step under way: the report tells what was done, status 1,
# and with a checkpoint it goes on to the same weights and log as one that nobody stopped.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_interrupt.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "interrupt: $*"; status=1; }

train() {
    folder=$1; shift
    exec $systole train examples/mnist_mlp.json --tpu v3-8 --batch 64 --steps-per-epoch 30 \
        --epochs 4 --checkpoint "$dir/$folder" --csv-log "$dir/$folder.csv" "$@"
}

(train whole) >"$dir/whole.txt" || fail "uninterrupted: $(tail -1 "$dir/whole.txt")"
train cut --out "$dir/out" >"$dir/cut.txt" 2>"$dir/cut.err" &
until grep -q '^ *1 ' "$dir/cut.txt" || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $! 2>/dev/null              # a shell has its jobs ignore SIGINT
wait $!
got=$?
if [ $got -eq 0 ]; then
    echo "skipped: the training was over before it could be interrupted"
else
    [ $got -eq 1 ] || fail "exit status $got"
    grep -q '^interrupted after step [0-9]* of 120; --resume goes on from there$' "$dir/cut.txt" \
        || fail "$(grep interrupted "$dir/cut.txt")"
    grep -q '^one step on v3-8' "$dir/cut.txt" || fail "no report"
    [ -s "$dir/out/stats.json" ] || fail "no folder"
    grep -qi 'nan' "$dir/out/report.txt" "$dir/out/stats.json" && fail "what is not known is nan"
    (train cut --resume) >"$dir/rest.txt" 2>&1 || fail "resumed: $(tail -1 "$dir/rest.txt")"
    cmp -s "$dir/whole.csv" "$dir/cut.csv" || fail "the log is another one"
    cmp -s "$dir/whole/ckpt-00000120.safetensors" "$dir/cut/ckpt-00000120.safetensors" \
        || fail "the weights are others"
fi
exit $status
