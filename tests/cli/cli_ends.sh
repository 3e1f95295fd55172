#!/bin/sh
# Both ends of the range of every parameter of a chip, by itself: a run ends, or says in one line
# why it cannot be; none divides by zero, overflows or never comes to an end.
. tests/cli/cli_rig.inc

one() {             # KEY=VALUE
    timeout 60 "$systole" collective permute --bytes 64K --tpu v4-8 --set "$1" >"$work/out" \
        2>"$work/log"
    got=$?
    case $got in
    0) grep -qE '(nan|inf| -[0-9]{3})' "$work/out" && fail "$1: $(grep -E 'nan|inf| -' "$work/out")" ;;
    1) [ "$(wc -l <"$work/log")" -eq 1 ] || fail "$1: $(cat "$work/log")" ;;
    *) fail "$1: status $got: $(cat "$work/log")" ;;
    esac
}

tried=0
for key in $(sed -n 's/^PARAM\(_D\)\{0,1\}(\([a-z0-9]*\), *\([a-z0-9_]*\),.*/\2.\3/p' sim/chip/params.def); do
    "$systole" chips v4 --set "$key=x" >"$work/out" 2>"$work/log"
    range=$(sed -n 's/.* in \([-0-9.e+]*[0-9]\)\.\.\([-0-9.e+]*\), found "x"$/\1 \2/p' "$work/log")
    [ -n "$range" ] || grep -q 'is modelled yet' "$work/log" || fail "$key: $(cat "$work/log")"
    for value in $range; do
        one "$key=$value"
        tried=$((tried + 1))
    done
done
[ $tried -gt 250 ] || fail "only $tried ends were found"
[ $failures -eq 0 ]
