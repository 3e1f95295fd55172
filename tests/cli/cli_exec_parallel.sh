#!/bin/sh
# Programs that run a function on several devices themselves, as tests of StableHLO do: on the host
# and on the cores of a slice, with what they check. Replicas and partitions at once.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# number of the device, sums over its partition's replicas, over all, and a ring of partitions
cat >"$work/grid.mlir" <<'END'
func.func @each(%x : tensor<2xi64>, %y : tensor<2xf32>) -> (tensor<2xi64>, tensor<2xf32>, tensor<2xi64>) {
  %r = stablehlo.replica_id : tensor<ui32>
  %p = stablehlo.partition_id : tensor<ui32>
  %rr = stablehlo.convert %r : (tensor<ui32>) -> tensor<i64>
  %pp = stablehlo.convert %p : (tensor<ui32>) -> tensor<i64>
  %ten = stablehlo.constant dense<10> : tensor<i64>
  %t = stablehlo.multiply %rr, %ten : tensor<i64>
  %n = stablehlo.add %t, %pp : tensor<i64>
  %number = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i64>) -> tensor<2xi64>
  %z = stablehlo.add %x, %number : tensor<2xi64>
  %sum = "stablehlo.all_reduce"(%z) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %c = stablehlo.xor %a, %b : tensor<i64>
    stablehlo.return %c : tensor<i64>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
  %all = "stablehlo.all_reduce"(%y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2xf32>) -> tensor<2xf32>
  %ring = "stablehlo.collective_permute"(%z) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>} : (tensor<2xi64>) -> tensor<2xi64>
  return %sum, %all, %ring : tensor<2xi64>, tensor<2xf32>, tensor<2xi64>
}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %y0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y1 = stablehlo.constant dense<[4.0, 8.0]> : tensor<2xf32>
  %r:12 = "interpreter.run_parallel"(%x, %y0, %x, %y1, %x, %y0, %x, %y1) {
    programs = [[@each, @each], [@each, @each]]
  } : (tensor<2xi64>, tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> (tensor<2xi64>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[10, 14]> : tensor<2xi64>
  check.expect_eq_const %r#9, dense<[14, 14]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[10.0, 20.0]> : tensor<2xf32>
  check.expect_eq_const %r#10, dense<[10.0, 20.0]> : tensor<2xf32>
  check.expect_eq_const %r#2, dense<[2, 3]> : tensor<2xi64>
  check.expect_eq_const %r#5, dense<[1, 2]> : tensor<2xi64>
  check.expect_eq_const %r#8, dense<[12, 13]> : tensor<2xi64>
  check.expect_eq_const %r#11, dense<[11, 12]> : tensor<2xi64>
  return
}
END
expect 0 'own 32 checks hold' exec "$work/grid.mlir" --backend host
expect 0 '8 of the program'"'"'s own 8 checks hold' exec "$work/grid.mlir" --tpu v5e-4
expect 0 '2 tries, 0 fail' check programs "$work/grid.mlir"
sed 's/%r#11, dense<\[11, 12\]>/%r#11, dense<[11, 13]>/' "$work/grid.mlir" >"$work/wrong.mlir"
expect 1 'check.expect_eq' exec "$work/wrong.mlir" --tpu v5e-4
expect 1 '4 devices' exec "$work/grid.mlir" --tpu v5e
{
    sed '/^func.func @main/,$d; s/@each/@other/' "$work/grid.mlir"
    sed 's/\[\[@each, @each\], /[[@each, @other], /' "$work/grid.mlir"
} >"$work/two.mlir"
expect 1 'functions of their own' exec "$work/two.mlir" --tpu v5e-4
sed 's/(%x, %y0, %x, %y1,/(%x, %x, %x, %y1,/; s/} : (tensor<2xi64>, tensor<2xf32>/} : (tensor<2xi64>, tensor<2xi64>/' \
    "$work/grid.mlir" >"$work/types.mlir"
expect 1 'not what the function takes' exec "$work/types.mlir" --tpu v5e-4

[ $failures -eq 0 ]
