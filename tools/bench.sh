#!/bin/sh
# Measures the promised figures: build/bench.json and a table. MNIST is looked for in $MNIST, then
# beside the tree, the transformer's text in $TEXT and there; without them what needs them is left
# out.
cd "$(dirname "$0")/.." || exit 1
data=$MNIST
for folder in "$SYSTOLE_SHARED/data/mnist" ../shared/data/mnist; do
    [ -n "$data" ] || [ ! -d "$folder" ] || data=$folder
done
text=$TEXT
for file in "$SYSTOLE_SHARED/data/tinyshakespeare/input.txt" ../shared/data/tinyshakespeare/input.txt; do
    [ -n "$text" ] || [ ! -f "$file" ] || text=$file
done
mkdir -p build
exec "${SYSTOLE:-./systole}" bench --out build/bench.json ${data:+--data "$data"} \
    ${text:+--text "$text"} "$@"
