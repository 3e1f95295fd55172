module @jit_indices attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x5xf32>, %arg1: tensor<2xi32>, %arg2: tensor<2x5xf32>) -> (tensor<6x5xf32> {jax.result_info = "result[0]"}, tensor<6x2xf32> {jax.result_info = "result[1]"}, tensor<6x5xf32> {jax.result_info = "result[2]"}, tensor<6x5xf32> {jax.result_info = "result[3]"}, tensor<3x3xf32> {jax.result_info = "result[4]"}, tensor<6x2xf32> {jax.result_info = "result[5][0]"}, tensor<6x2xi32> {jax.result_info = "result[5][1]"}) {
    %c = stablehlo.constant dense<5> : tensor<i32>
    %c_0 = stablehlo.constant dense<6> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<2xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<2xi1>, tensor<2xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %6 = "stablehlo.scatter"(%arg0, %5, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %35 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %35 : tensor<f32>
    }) : (tensor<6x5xf32>, tensor<2x1xi32>, tensor<2x5xf32>) -> tensor<6x5xf32>
    %7 = call @_take(%arg0, %arg1) : (tensor<6x5xf32>, tensor<2xi32>) -> tensor<6x2xf32>
    %8 = call @argsort(%arg0) : (tensor<6x5xf32>) -> tensor<6x5xi64>
    %9 = call @take_along_axis(%arg0, %8) : (tensor<6x5xf32>, tensor<6x5xi64>) -> tensor<6x5xf32>
    %10 = stablehlo.slice %arg1 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
    %11 = stablehlo.reshape %10 : (tensor<1xi32>) -> tensor<i32>
    %12 = stablehlo.slice %arg1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %13 = stablehlo.reshape %12 : (tensor<1xi32>) -> tensor<i32>
    %14 = stablehlo.compare LT, %11, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %15 = stablehlo.add %11, %c_0 : tensor<i32>
    %16 = stablehlo.select %14, %15, %11 : tensor<i1>, tensor<i32>
    %17 = stablehlo.compare LT, %13, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %18 = stablehlo.add %13, %c : tensor<i32>
    %19 = stablehlo.select %17, %18, %13 : tensor<i1>, tensor<i32>
    %20 = stablehlo.dynamic_slice %arg0, %16, %19, sizes = [2, 3] : (tensor<6x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %21 = stablehlo.slice %arg1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %22 = stablehlo.reshape %21 : (tensor<1xi32>) -> tensor<i32>
    %23 = stablehlo.slice %arg1 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
    %24 = stablehlo.reshape %23 : (tensor<1xi32>) -> tensor<i32>
    %25 = stablehlo.compare LT, %22, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %26 = stablehlo.add %22, %c_0 : tensor<i32>
    %27 = stablehlo.select %25, %26, %22 : tensor<i1>, tensor<i32>
    %28 = stablehlo.compare LT, %24, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %29 = stablehlo.add %24, %c : tensor<i32>
    %30 = stablehlo.select %28, %29, %24 : tensor<i1>, tensor<i32>
    %31 = stablehlo.dynamic_update_slice %arg0, %20, %27, %30 : (tensor<6x5xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<6x5xf32>
    %32 = call @sort(%arg0) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    %33 = stablehlo.slice %32 [0:6:2, 1:4] : (tensor<6x5xf32>) -> tensor<3x3xf32>
    %34:2 = stablehlo.composite "chlo.top_k" %arg0 {composite_attributes = {k = 2 : i64}, decomposition = @chlo.top_k.impl, version = 1 : i32} : (tensor<6x5xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
    return %6, %7, %9, %31, %33, %34#0, %34#1 : tensor<6x5xf32>, tensor<6x2xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<3x3xf32>, tensor<6x2xf32>, tensor<6x2xi32>
  }
  func.func private @chlo.top_k.impl(%arg0: tensor<6x5xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<6x5xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare GT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<6x5xf32>, tensor<6x5xi32>) -> (tensor<6x5xf32>, tensor<6x5xi32>)
    %2 = stablehlo.slice %1#0 [0:6, 0:2] : (tensor<6x5xf32>) -> tensor<6x2xf32>
    %3 = stablehlo.slice %1#1 [0:6, 0:2] : (tensor<6x5xi32>) -> tensor<6x2xi32>
    return %2, %3 : tensor<6x2xf32>, tensor<6x2xi32>
  }
  func.func private @_take(%arg0: tensor<6x5xf32>, %arg1: tensor<2xi32>) -> tensor<6x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %1 = "stablehlo.gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 6, 1>}> : (tensor<6x5xf32>, tensor<2x1xi32>) -> tensor<6x2xf32>
    return %1 : tensor<6x2xf32>
  }
  func.func private @argsort(%arg0: tensor<6x5xf32>) -> tensor<6x5xi64> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.iota dim = 1 : tensor<6x5xi64>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i64>, %arg4: tensor<i64>):
      %2 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %cst, %3 : tensor<i1>, tensor<f32>
      %6 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %7 = stablehlo.select %6, %cst_0, %arg2 : tensor<i1>, tensor<f32>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.select %8, %cst, %7 : tensor<i1>, tensor<f32>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<6x5xf32>, tensor<6x5xi64>) -> (tensor<6x5xf32>, tensor<6x5xi64>)
    return %1#1 : tensor<6x5xi64>
  }
  func.func private @take_along_axis(%arg0: tensor<6x5xf32>, %arg1: tensor<6x5xi64>) -> tensor<6x5xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<5> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.convert %arg1 : (tensor<6x5xi64>) -> tensor<6x5xi32>
    %1 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x5xi32>
    %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<6x5xi32>, tensor<6x5xi32>) -> tensor<6x5xi1>
    %3 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<6x5xi32>
    %4 = stablehlo.add %0, %3 : tensor<6x5xi32>
    %5 = stablehlo.select %2, %4, %0 : tensor<6x5xi1>, tensor<6x5xi32>
    %6 = stablehlo.reshape %5 : (tensor<6x5xi32>) -> tensor<6x5x1xi32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x5x1xi32>
    %8 = stablehlo.compare GE, %6, %7, SIGNED : (tensor<6x5x1xi32>, tensor<6x5x1xi32>) -> tensor<6x5x1xi1>
    %9 = stablehlo.broadcast_in_dim %c_0, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<6x5x1xi32>
    %11 = stablehlo.compare LE, %6, %10, SIGNED : (tensor<6x5x1xi32>, tensor<6x5x1xi32>) -> tensor<6x5x1xi1>
    %12 = stablehlo.and %8, %11 : tensor<6x5x1xi1>
    %13 = stablehlo.reduce(%12 init: %c) applies stablehlo.and across dimensions = [2] : (tensor<6x5x1xi1>, tensor<i1>) -> tensor<6x5xi1>
    %14 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x5xf32>, tensor<6x5x1xi32>) -> tensor<6x5xf32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %16 = stablehlo.select %13, %14, %15 : tensor<6x5xi1>, tensor<6x5xf32>
    return %16 : tensor<6x5xf32>
  }
  func.func private @sort(%arg0: tensor<6x5xf32>) -> tensor<6x5xf32> {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.select %3, %cst, %2 : tensor<i1>, tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.select %5, %cst_0, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %cst, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}
