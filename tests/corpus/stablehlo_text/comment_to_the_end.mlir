func.func @main() -> tensor<f32> {
  %0 = stablehlo.constant dense<// 1.0> : tensor<f32>