#!/bin/sh
# Runs tests/frameworks/{tf,torch}/test_*.py, each folder with the packages that its requirements.txt
# pins: some 2 GB for TensorFlow, 7 GB for PyTorch/XLA. With arguments only those folders.
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- tf torch
failed=0
for folder; do
    sh tools/check_python.sh "$folder" "tests/frameworks/$folder/requirements.txt" \
        "tests/frameworks/$folder"/test_*.py || failed=1
done
exit $failed
