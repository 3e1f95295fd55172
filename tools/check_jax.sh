#!/bin/sh
# Runs tests/jax/test_*.py and *.sh with the JAX that tests/jax/requirements.txt pins; with arguments
# only those tests.
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- $(ls tests/jax/test_*.py tests/jax/*.sh 2>/dev/null)
export JAX_PLATFORMS=cpu
exec sh tools/check_python.sh jax tests/jax/requirements.txt "$@"
