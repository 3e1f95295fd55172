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

# ----- regions that lie by hand are cut before anything is said to be unknown
cat > "$work/manual.mlir" <<'END'
module @manual attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
      %1 = stablehlo.add %b, %b : tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
END
expect 0 'all of it can be run on cores' hlo "$work/manual.mlir"

exit $((failures > 0))
