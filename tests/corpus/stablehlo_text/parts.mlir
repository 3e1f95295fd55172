// RUN: split
func.func @first() {
  %index = stablehlo.constant dense<1> : tensor<i32>
  %a = stablehlo.constant dense<0> : tensor<2xi64>
  %b = stablehlo.constant dense<1> : tensor<2xi64>
  %r0, %r1 = "stablehlo.case"(%index) ({
    stablehlo.return %a, %a : tensor<2xi64>, tensor<2xi64>
  }, {
    stablehlo.return %b, %b : tensor<2xi64>, tensor<2xi64>
  }) : (tensor<i32>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r0, dense<[1, 1]> : tensor<2xi64>
  func.return
}

// -----

module @second {
  func.func @sum(%operand : tensor<4xi64>) -> tensor<4xi64> {
    %0 = "stablehlo.all_reduce"(%operand) ({
      ^bb0(%a: tensor<i64>, %b: tensor<i64>):
        %1 = stablehlo.add %a, %b : tensor<i64>
        stablehlo.return %1 : tensor<i64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xi64>) -> tensor<4xi64>
    return %0 : tensor<4xi64>
  }
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
    %1 = stablehlo.constant dense<5> : tensor<4xi64>
    %2:2 = "interpreter.run_parallel"(%0, %1) {programs=[[@sum], [@sum]]} : (tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    check.expect_almost_eq %2#0, %2#1 {tolerance = 1.0e-03 : f64} : tensor<4xi64>
    func.return
  }
}
