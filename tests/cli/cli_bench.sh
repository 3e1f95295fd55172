#!/bin/sh
# systole bench: what it measures is what docs/performance.md promises; what it cannot measure it
# leaves out and says so; a list that cannot be written is an error before any work.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
measured=$(sed -n 's/^    {"\([a-z_0-9]*\)", "[a-zA-Z]*", \(true\|false\), .*/\1/p' cli/commands/cmd_bench.c | sort)
promised=$(sed -n '/^| `/p' docs/performance.md | cut -d'|' -f2 | grep -o '`[a-z_0-9]*`' | tr -d '`' | sort)
if [ -z "$measured" ] || [ "$measured" != "$promised" ]; then
    echo "measured by cli/commands/cmd_bench.c:" $measured
    echo "promised in docs/performance.md:" $promised
    exit 1
fi

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
"$systole" bench --only memory --out "$out/list.json" >"$out/text" || exit 1
grep -q 'mnist_peak_memory .*left out: needs --data' "$out/text" || { cat "$out/text"; exit 1; }
[ "$(tr -d '\n' <"$out/list.json")" = '[]' ] || { cat "$out/list.json"; exit 1; }
"$systole" bench --only training_cnn --out "$out/list.json" >"$out/text" || exit 1
[ "$(grep -c '^training_cnn.* left out: needs --data' "$out/text")" = 4 ] || { cat "$out/text"; exit 1; }
"$systole" bench --only transformer --out "$out/list.json" >"$out/text" || exit 1
grep -q '^training_transformer.* left out: needs --text' "$out/text" || { cat "$out/text"; exit 1; }
for wrong in '--only nothing' '--only mnist --data /nowhere'; do
    # shellcheck disable=SC2086
    "$systole" bench --out "$out/wrong.json" $wrong >"$out/text" 2>&1 && { echo "$wrong"; exit 1; }
    [ -e "$out/wrong.json" ] && { echo "$wrong left a list"; exit 1; }
done
"$systole" bench --only nothing --out "$out/wrong.json" >"$out/text" 2>"$out/error"
grep -q '^systole: --only "nothing": no figure' "$out/error" || { cat "$out/error"; exit 1; }
[ -s "$out/text" ] && { echo "a heading before the message"; exit 1; }
if "$systole" bench --only trace --out "$out/text/list.json" 2>"$out/error"; then
    echo "an unwritable list was accepted"
    exit 1
fi
grep -q "cannot write $out/text/list.json" "$out/error" || { cat "$out/error"; exit 1; }
"$systole" bench --sgemm 16 | grep -qx '[0-9]*\.[0-9]*' || { echo "no seconds of sgemm"; exit 1; }
"$systole" bench --sgemm 0 2>"$out/error"
[ $? -eq 2 ] || { echo "sgemm of side 0"; exit 1; }
grep -q -e '--sgemm is "0", allowed are whole numbers in 1..16384' "$out/error" || exit 1

# a small model in the CNN's place: steps that take time, memory that is the run's, nothing left
mnist=${SYSTOLE_SHARED:-../shared}/data/mnist
if [ -d "$mnist" ]; then
    mkdir "$out/tmp" || exit 1
    TMPDIR=$out/tmp "$systole" bench --only training_cnn --cnn examples/mnist_mlp.json \
        --data "$mnist" --out "$out/list.json" >"$out/text" || { cat "$out/text"; exit 1; }
    if grep -q 'left out: needs .* GB of memory$' "$out/text"; then
        echo "skipped: training_cnn, for $(grep -m 1 -o 'needs .*' "$out/text")"
        exit 0
    fi
    [ "$(grep -c 's of processor time a step$' "$out/text")" = 2 ] || { cat "$out/text"; exit 1; }
    awk '/^training_cnn.*_gb / { good += $2 > 0.02 && $NF == "ok" }
         END { exit good != 2 }' "$out/text" || { cat "$out/text"; exit 1; }
    TMPDIR=$out/tmp "$systole" bench --only mnist_default --data "$mnist" --out "$out/list.json" \
        >"$out/text" || { cat "$out/text"; exit 1; }
    [ -z "$(ls "$out/tmp")" ] || { ls -R "$out/tmp"; exit 1; }
    if "$systole" bench --only training_cnn --cnn /nowhere --data "$mnist" \
        --out "$out/wrong.json" >"$out/text" 2>"$out/error"; then
        echo "a model that is not there was measured"
        exit 1
    fi
    grep -q '^systole: a training run of the CNN failed' "$out/error" || { cat "$out/error"; exit 1; }
else
    echo "skipped: no $mnist"
fi
