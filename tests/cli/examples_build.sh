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
