#map = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
!pair = tuple<tensor<4xf32>, tensor<i32>>
module @forms attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x3xf32> {tf.aliasing_output = 0 : i32} loc("x"), %y: tensor<4x3xf32>, %n: tensor<i32>) -> (tensor<4x3xf32> {jax.result_info = "r"}, tensor<4xf32>) attributes {note = "a\22b\5Cc"} {
    %0 = stablehlo.constant dense<[[1.0, -2.5e+00, 0x7FC00000], [0.0, 0xFF800000, 1.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<4x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.add %x, %0 : tensor<4x3xf32> loc("jit(f)/add"("f.py":3:4 to 3:9))
    %2 = stablehlo.compare  LT, %1, %y,  FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %3 = stablehlo.select %2, %1, %y : tensor<4x3xi1>, tensor<4x3xf32>
    %4 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %5 = stablehlo.transpose %3, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
    %6 = stablehlo.dot_general %3, %5, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %7 = stablehlo.slice %6 [0:4, 0:4:2] : (tensor<4x4xf32>) -> tensor<4x2xf32>
    %8 = stablehlo.pad %7, %f, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x3xf32>
    %9 = stablehlo.reduce(%8 init: %f) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %10:2 = stablehlo.reduce(%8 init: %f), (%4 init: %f) across dimensions = [1] : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<f32>, %e: tensor<f32>)  {
      %40 = stablehlo.maximum %a, %b : tensor<f32>
      %41 = stablehlo.minimum %d, %e : tensor<f32>
      stablehlo.return %40, %41 : tensor<f32>, tensor<f32>
    }
    %11:2 = stablehlo.while(%i = %n, %v = %9) : tensor<i32>, tensor<4xf32> attributes {known = true}
    cond {
      %40 = stablehlo.constant dense<3> : tensor<i32>
      %41 = stablehlo.compare LT, %i, %40 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %41 : tensor<i1>
    } do {
      %40 = stablehlo.add %v, %10#1 : tensor<4xf32>
      %41 = stablehlo.subtract %i, %c : tensor<i32>
      stablehlo.return %41, %40 : tensor<i32>, tensor<4xf32>
    }
    %12 = "stablehlo.case"(%n) ({
      stablehlo.return %9 : tensor<4xf32>
    }, {
      %40 = stablehlo.negate %11#1 : tensor<4xf32>
      stablehlo.return %40 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %13 = stablehlo.iota dim = 0 : tensor<4x1xi32>
    %14 = "stablehlo.gather"(%x, %13) <{dimension_numbers = #map, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
    %15 = "stablehlo.scatter"(%x, %13, %14) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %16:2 = "stablehlo.sort"(%12, %9) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):
      %40 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %40 : tensor<i1>
    }) {dimension = -1 : i64, is_stable = true} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %17 = stablehlo.tuple %16#0, %n : !pair
    %18 = stablehlo.get_tuple_element %17[0] : (!pair) -> tensor<4xf32>
    %19 = call @half(%18) : (tensor<4xf32>) -> tensor<4xf32>
    %20 = stablehlo.composite "chlo.tan" %19 {composite_attributes = {k = 4 : i64}, decomposition = @half, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %values, %indices = chlo.top_k(%20, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %21 = stablehlo.custom_call @mhlo.erf(%20) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    %22 = stablehlo.custom_call @Sharding(%21) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
    %23 = stablehlo.reduce_precision %22, format = e5m10 : tensor<4xf32>
    %24 = stablehlo.clamp %f, %23, %f : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %25:2 = stablehlo.optimization_barrier %24, %15 : tensor<4xf32>, tensor<4x3xf32>
    return %25#1, %25#0 : tensor<4x3xf32>, tensor<4xf32>
  }
  func.func private @half(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
