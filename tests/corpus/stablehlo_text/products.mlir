func.func @main(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x2xf32>, %s: tensor<3xui64>, %z: tensor<8x15xcomplex<f32>>) -> tensor<1x8x8x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x8x8x2xf32>
  %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%0, %1) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %10 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %10 : tensor<f32>
  }) : (tensor<1x8x8x2xf32>, tensor<f32>) -> tensor<1x4x4x2xf32>
  %3 = "stablehlo.select_and_scatter"(%0, %2, %1) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %10 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %10 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %10 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %10 : tensor<f32>
  }) : (tensor<1x8x8x2xf32>, tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x8x8x2xf32>
  %state, %bits = stablehlo.rng_bit_generator %s, algorithm =  PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8x128xui32>)
  %4 = stablehlo.fft %z, type = FFT, length = [15] : (tensor<8x15xcomplex<f32>>) -> tensor<8x15xcomplex<f32>>
  %5 = stablehlo.constant dense<"0x000000000000803F0000004000004040"> : tensor<2x2xf32>
  %6 = stablehlo.constant dense<"0x0F"> : tensor<7xi1>
  %7 = stablehlo.constant dense<[(1.0, -1.0), (0.5, 0.0)]> : tensor<2xcomplex<f64>>
  %8 = stablehlo.cholesky %5, lower = true : tensor<2x2xf32>
  %9 = "stablehlo.triangular_solve"(%8, %5) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %9, dense<1.0> : tensor<2x2xf32>
  return %3 : tensor<1x8x8x2xf32>
}
