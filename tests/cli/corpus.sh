#!/bin/sh
# Every file of tests/corpus/NAME goes through the fuzz target of that name, built without libFuzzer.
status=0
for target in ${FUZZERS:-build/tests/fuzz/fuzz_asm build/tests/fuzz/fuzz_object}; do
    name=${target##*/fuzz_}
    set -- tests/corpus/"$name"/*
    [ -e "$1" ] || { echo "corpus: tests/corpus/$name has no files"; status=1; continue; }
    [ $# -le 30 ] || { echo "corpus: $# files for $name (at most 30)"; status=1; }
    output=$("$target" "$@" 2>&1) || { echo "corpus: $target:"; echo "$output" | tail -5; status=1; }
done
exit $status
