#!/bin/sh
# Measures the promised figures: build/bench.json and a table. MNIST is looked
# for in $MNIST, then beside the tree; without it the training runs are left out.
cd "$(dirname "$0")/.." || exit 1
data=$MNIST
for folder in "$SYSTOLE_SHARED/data/mnist" ../shared/data/mnist; do
    [ -n "$data" ] || [ ! -d "$folder" ] || data=$folder
done
mkdir -p build
exec "${SYSTOLE:-./systole}" bench --out build/bench.json ${data:+--data "$data"} "$@"
