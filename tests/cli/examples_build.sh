#!/bin/sh
# The programs of examples/ over include/systole.h: each is built, says what is wrong with its
# arguments, and shakespeare trains a small model for some steps, where its text is at hand.
cd "$(dirname "$0")/../.." || exit 1
built=${EXAMPLES:-build/examples}
text=${SYSTOLE_SHARED:-../shared}/data/tinyshakespeare/input.txt
status=0
fail() { echo "$*"; status=1; }

for source in examples/*.c examples/*/*.c; do
    [ -e "$source" ] || continue
    program=${source#examples/}
    [ -x "$built/${program%.c}" ] || fail "$built/${program%.c} is not built: make examples"
done

out=$("$built/shakespeare" 2>&1) && fail "shakespeare without a text succeeds"
case $out in
    "usage: shakespeare TEXT"*) ;;
    *) fail "shakespeare without a text says: $out" ;;
esac
out=$("$built/shakespeare" /dev/null --steps 0 2>&1) && fail "0 steps are accepted"
[ "$out" = "shakespeare: 0: expected a number from 1 up" ] || fail "--steps 0: $out"
out=$("$built/shakespeare" /nowhere 2>&1) && fail "a text that is not there succeeds"
[ "$out" = "shakespeare: /nowhere: No such file or directory" ] || fail "/nowhere: $out"
out=$("$built/shakespeare" examples 2>&1) && fail "a folder as text succeeds"
[ "$out" = "shakespeare: examples: Is a directory" ] || fail "a folder as text: $out"

out=$("$built/resnet50" v3-9 2>&1) && fail "resnet50 on v3-9 succeeds"
case $out in
    "resnet50: "*v3-8*) ;;
    *) fail "resnet50 on v3-9 says: $out" ;;
esac

# The guide's loop, killed within an epoch and begun again, prints what it does in one go; it learns.
mnist=${SYSTOLE_SHARED:-../shared}/data/mnist
custom=$built/tpu_guide/9_custom_training
out=$("$custom" 2>&1) && fail "9_custom_training without arguments succeeds"
case $out in
    "usage: "*" MNIST_FOLDER CHECKPOINTS [TPU [EPOCHS [IMAGES]]]") ;;
    *) fail "9_custom_training without arguments says: $out" ;;
esac
lines=$(wc -l <examples/tpu_guide/9_custom_training.c)
[ "$lines" -le 60 ] || fail "9_custom_training.c has $lines lines, which are to be 60"
if [ -e "$mnist/train-images-idx3-ubyte.gz" ]; then
    folder=$(mktemp -d) || exit 1
    whole=$("$custom" "$mnist" "$folder/a" v2-8 2 3072 2>&1) || fail "$whole"
    "$custom" "$mnist" "$folder/b" v2-8 1 3072 >"$folder/first" 2>&1 || fail "$(cat "$folder/first")"
    [ -e "$folder/b/ckpt-00000005.safetensors" ] || fail "no checkpoint at step 5 of 6"
    again=$("$custom" "$mnist" "$folder/b" v2-8 2 3072 2>&1) || fail "$again"
    [ "$(echo "$again" | tail -1)" = "$(echo "$whole" | tail -1)" ] ||
        fail "from a checkpoint: $again; in one go: $whole"
    echo "$whole" | awk '/^epoch/ { n++; accuracy = $6; test = $11 }
                         END { exit !(n == 2 && accuracy > 0.6 && test > 0.6) }' ||
        fail "two epochs that learn expected: $whole"
    rm -r "$folder"
else
    echo "skipped: no $mnist"
fi

if [ ! -e "$text" ]; then
    echo "skipped: no $text"
    exit $status
fi
# a piece of the text and a small model: its losses begin near ln 65 = 4.17, and sink
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
head -c 3000 "$text" >"$work/text"
cat >"$work/model.json" <<'END'
{"class_name": "Sequential", "config": {"name": "small", "layers": [
 {"class_name": "InputLayer", "config": {"batch_shape": [null, 128], "dtype": "int32"}},
 {"class_name": "Embedding", "config": {"name": "e", "input_dim": 65, "output_dim": 16}},
 {"class_name": "Dense", "config": {"name": "d", "units": 65, "activation": "linear"}}]}}
END
for tpu in cpu v3-8; do
    out=$("$built/shakespeare" "$work/text" --tpu $tpu --steps 4 --every 1 --validate 3 \
        --sample 3 --model "$work/model.json" 2>&1) || fail "$out"
    echo "$out" | grep -q "; 3000 characters, 52 different ones; 2145 parameters$" ||
        fail "no line about text and model: $out"
    echo "$out" | awk '/^step/ { for (i = 1; i < NF; i++) if ($i == "loss") v = $(i + 1)
                                 if (v < 3.9 || v > 4.3) exit 1
                                 first = first ? first : v; n++ }
                       END { exit !(n == 6 && v < first) }' ||
        fail "six losses near 4.17 that sink expected: $out"
done
exit $status
