#!/bin/sh
# systole asm, disasm and lint: from text to object to text, and how they fail.
systole=${SYSTOLE:-./systole}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
status=0
fail() { echo "asm: $*"; status=1; }

for example in examples/*.tasm; do
    $systole asm "$example" -o "$dir/a.syso" >/dev/null || fail "$example does not assemble"
    $systole disasm "$dir/a.syso" >"$dir/a.tasm" || fail "$example cannot be printed"
    $systole disasm "$dir/a.tasm" -o "$dir/b.tasm" ||
        fail "$example: what is printed does not assemble"
    cmp -s "$dir/a.tasm" "$dir/b.tasm" || fail "$example: printing is no fixed point"
    chips=$(sed -n 's|^// expect: \([a-z0-9]*\) [0-9]* cycles$|\1|p' "$example")
    [ -n "$chips" ] || fail "$example names no chip"
    for chip in $chips; do
        $systole lint --tpu $chip "$dir/a.syso" >"$dir/out" || fail "$example does not fit $chip"
        grep -q "fits $chip" "$dir/out" || fail "$example: no verdict for $chip"
        grep -q 'nan\| 0 slots' "$dir/out" && fail "$example: a slot that $chip lacks is shown"
    done
done

$systole asm --isa-doc | cmp -s - docs/isa.md || fail "docs/isa.md is not what asm --isa-doc prints"

expect() {              # exit status, part of the message, command...
    wanted=$1 message=$2; shift 2
    "$@" >"$dir/out" 2>"$dir/err"
    found=$?
    [ $found -eq "$wanted" ] || fail "$*: exit status $found, expected $wanted"
    grep -qF "$message" "$dir/err" || fail "$*: no \"$message\" in: $(cat "$dir/err")"
}

printf '{ v1 = vad.f32 v2, v3 }\n{ s1 = smov }\n' >"$dir/bad.tasm"
expect 1 'bad.tasm:1:8: error: unknown operation "vad.f32" (did you mean "vadd.f32"?)' \
    $systole asm "$dir/bad.tasm"
expect 1 'bad.tasm:2:13: error: expected an immediate' $systole asm "$dir/bad.tasm"
[ -e "$dir/bad.syso" ] && fail "an object file was written in spite of errors"
printf '{ v1 = vmov 0 ;; v2 = vmov 0 ;; v3 = vmov 0 }\n' >"$dir/wide.tasm"
slots='wide.tasm:1: bundle 0: 3 operations for the valu slot, a bundle has 2'
expect 1 "$slots; the chip is v3 (--tpu)" $systole lint "$dir/wide.tasm"
expect 1 "$slots; the chip is v2-8 (--tpu)" $systole run --tpu v2-8 "$dir/wide.tasm"
expect 1 'unknown chip "v9"' $systole lint --tpu v9 "$dir/wide.tasm"
head -c 60 "$dir/a.syso" >"$dir/cut.syso"
expect 1 'object file of 60 bytes says it has' $systole disasm "$dir/cut.syso"
expect 1 'cannot open' $systole disasm "$dir/none.syso"
expect 1 'cannot write' $systole asm examples/01_vector_add.tasm -o "$dir/none/a.syso"
expect 2 'which program?' $systole asm
expect 2 'only one program may be given' $systole lint a.tasm b.tasm
exit $status
