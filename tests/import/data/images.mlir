module @jit_images attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x6x5x4xf32>, %arg1: tensor<3x2x2x4xf32>) -> (tensor<1x2x10x4xf32> {jax.result_info = "result[0]"}, tensor<1x3x3x4xf32> {jax.result_info = "result[1]"}, tensor<1x6x5x4xf32> {jax.result_info = "result[2]"}, tensor<1x12x7x4xf32> {jax.result_info = "result[3]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<1x6x5x4xf32>, tensor<3x2x2x4xf32>) -> tensor<1x2x10x4xf32>
    %1 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{padding = dense<[[0, 0], [0, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<1x6x5x4xf32>, tensor<f32>) -> tensor<1x3x3x4xf32>
    %3 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<f32>
    %4 = "stablehlo.reduce_window"(%arg0, %3) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<1x6x5x4xf32>, tensor<f32>) -> tensor<1x5x4x4xf32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x5x4x4xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<1x5x4x4xf32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x5x4x4xf32>
    %8 = stablehlo.multiply %7, %6 : tensor<1x5x4x4xf32>
    %9 = "stablehlo.select_and_scatter"(%arg0, %8, %cst) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.compare GE, %arg2, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<1x6x5x4xf32>, tensor<1x5x4x4xf32>, tensor<f32>) -> tensor<1x6x5x4xf32>
    %10 = stablehlo.pad %arg0, %cst, low = [0, -1, 1, 0], high = [0, 2, 1, 0], interior = [0, 1, 0, 0] : (tensor<1x6x5x4xf32>, tensor<f32>) -> tensor<1x12x7x4xf32>
    return %0, %2, %9, %10 : tensor<1x2x10x4xf32>, tensor<1x3x3x4xf32>, tensor<1x6x5x4xf32>, tensor<1x12x7x4xf32>
  }
}
