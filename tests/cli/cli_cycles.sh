#!/bin/sh
# The cycles of our own programs are those that tests/cycles/cycles.txt has.
cd "$(dirname "$0")/../.." || exit 1
sh tools/cycles.sh
