#!/bin/sh
# systole hlo: a program shown, printed, cut, compared, on programs of tests/corpus.
. tests/cli/cli_rig.inc

ops=tests/corpus/hlo_text/operations.hlo
expect 0 '4 parameters' hlo $ops
grep -q 'flops, .* transcendentals' "$work/log" || fail "no cost: $(cat "$work/log")"
expect 0 '"flops": ' hlo $ops --json

# ----- what is printed is the same program, and is printed the same
expect 0 'ENTRY %main' hlo $ops --print hlo
cp "$work/log" "$work/printed.hlo"
expect 0 'ENTRY %main' hlo "$work/printed.hlo" --print hlo
cmp -s "$work/log" "$work/printed.hlo" || fail 'printed again it is another text'
expect 0 '' hlo $ops --diff "$work/printed.hlo"

# ----- an instruction alone, with what it calls
expect 0 'while(state.2), condition=condition' hlo $ops --cut loop --print short
cp "$work/log" "$work/loop.hlo"
expect 0 '1 parameter' hlo "$work/loop.hlo"
refuse 'no computation and no instruction is named "loup" (did you mean "loop"?)' hlo $ops --cut loup

exit $((failures > 0))
