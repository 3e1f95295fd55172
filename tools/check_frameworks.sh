#!/bin/sh
# Runs tests/frameworks/{tf,torch,jax}/test_*.py, each folder with the packages that its
# requirements.txt pins: some 2 GB for TensorFlow, 7 GB for PyTorch/XLA. jax is the newest, which wants
# a newer Python than the others: PYTHON_NEWEST, else python3.13. With arguments only those folders.
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- tf torch jax
failed=0
for folder; do
    environment=$folder python=${PYTHON:-python3}
    [ "$folder" != jax ] || environment=newest python=${PYTHON_NEWEST:-python3.13}
    PYTHON=$python sh tools/check_python.sh "$environment" "tests/frameworks/$folder/requirements.txt" \
        "tests/frameworks/$folder"/test_*.py || failed=1
done
exit $failed
