module @jit_kinds attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<11xf32>) -> (tensor<11xi1> {jax.result_info = "result[0]"}, tensor<11xi4> {jax.result_info = "result[1]"}, tensor<11xui4> {jax.result_info = "result[2]"}, tensor<11xi8> {jax.result_info = "result[3]"}, tensor<11xui8> {jax.result_info = "result[4]"}, tensor<11xi16> {jax.result_info = "result[5]"}, tensor<11xui16> {jax.result_info = "result[6]"}, tensor<11xi32> {jax.result_info = "result[7]"}, tensor<11xui32> {jax.result_info = "result[8]"}, tensor<11xi64> {jax.result_info = "result[9]"}, tensor<11xui64> {jax.result_info = "result[10]"}, tensor<11xf16> {jax.result_info = "result[11]"}, tensor<11xbf16> {jax.result_info = "result[12]"}, tensor<11xf32> {jax.result_info = "result[13]"}, tensor<11xf64> {jax.result_info = "result[14]"}, tensor<11xcomplex<f32>> {jax.result_info = "result[15]"}, tensor<11xcomplex<f64>> {jax.result_info = "result[16]"}, tensor<11xf8E4M3FN> {jax.result_info = "result[17]"}, tensor<11xf8E5M2> {jax.result_info = "result[18]"}, tensor<11xf8E4M3B11FNUZ> {jax.result_info = "result[19]"}, tensor<11xf8E4M3FNUZ> {jax.result_info = "result[20]"}, tensor<11xf8E5M2FNUZ> {jax.result_info = "result[21]"}, tensor<11xf32> {jax.result_info = "result[22]"}, tensor<6xcomplex<f32>> {jax.result_info = "result[23]"}, tensor<i32> {jax.result_info = "result[24]"}, tensor<200xi1> {jax.result_info = "result[25]"}, tensor<11xf32> {jax.result_info = "result[26]"}, tensor<11xf32> {jax.result_info = "result[27]"}, tensor<11xf32> {jax.result_info = "result[28]"}, tensor<11xf32> {jax.result_info = "result[29]"}, tensor<3xui32> {jax.result_info = "result[30]"}, tensor<3x3xf32> {jax.result_info = "result[31]"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<77> : tensor<i32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f8E5M2FNUZ>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f8E4M3FNUZ>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f8E4M3B11FNUZ>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f8E5M2>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f8E4M3FN>
    %cst_8 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f64>>
    %cst_9 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f16>
    %c_13 = stablehlo.constant dense<0> : tensor<ui64>
    %c_14 = stablehlo.constant dense<0> : tensor<i64>
    %c_15 = stablehlo.constant dense<0> : tensor<ui32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %c_17 = stablehlo.constant dense<0> : tensor<ui16>
    %c_18 = stablehlo.constant dense<0> : tensor<i16>
    %c_19 = stablehlo.constant dense<0> : tensor<ui8>
    %c_20 = stablehlo.constant dense<0> : tensor<i8>
    %c_21 = stablehlo.constant dense<0> : tensor<ui4>
    %c_22 = stablehlo.constant dense<0> : tensor<i4>
    %c_23 = stablehlo.constant dense<false> : tensor<i1>
    %c_24 = stablehlo.constant dense<[true, false, false, true, false, false, true, false, false, true, false]> : tensor<11xi1>
    %c_25 = stablehlo.constant dense<[0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]> : tensor<11xi4>
    %c_26 = stablehlo.constant dense<[0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]> : tensor<11xui4>
    %c_27 = stablehlo.constant dense<[0, 1, -2, 1, 0, 3, 1, 0, 1, 0, -2]> : tensor<11xi8>
    %c_28 = stablehlo.constant dense<[0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]> : tensor<11xui8>
    %c_29 = stablehlo.constant dense<[0, 1, -2, 1, 0, 3, 1, 0, 1, 0, -2]> : tensor<11xi16>
    %c_30 = stablehlo.constant dense<[0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]> : tensor<11xui16>
    %c_31 = stablehlo.constant dense<[0, 1, -2, 1, 0, 3, 1, 0, 1, 0, -2]> : tensor<11xi32>
    %c_32 = stablehlo.constant dense<[0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]> : tensor<11xui32>
    %c_33 = stablehlo.constant dense<[0, 1, -2, 1, 0, 3, 1, 0, 1, 0, -2]> : tensor<11xi64>
    %c_34 = stablehlo.constant dense<[0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]> : tensor<11xui64>
    %cst_35 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, -2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, -2.000000e+00]> : tensor<11xf16>
    %cst_36 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<11xbf16>
    %cst_37 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, -2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, -2.000000e+00]> : tensor<11xf32>
    %cst_38 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, -2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, -2.000000e+00]> : tensor<11xf64>
    %cst_39 = stablehlo.constant dense<[(0.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (2.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (3.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (2.000000e+00,0.000000e+00)]> : tensor<11xcomplex<f32>>
    %cst_40 = stablehlo.constant dense<[(0.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (2.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (3.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (2.000000e+00,0.000000e+00)]> : tensor<11xcomplex<f64>>
    %cst_41 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<11xf8E4M3FN>
    %cst_42 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, -2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, -2.000000e+00]> : tensor<11xf8E5M2>
    %cst_43 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<11xf8E4M3B11FNUZ>
    %cst_44 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<11xf8E4M3FNUZ>
    %cst_45 = stablehlo.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 0.000000e+00, 3.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 2.000000e+00]> : tensor<11xf8E5M2FNUZ>
    %c_46 = stablehlo.constant dense<"0x0001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000000000000100000000000001000000000000010000"> : tensor<200xi1>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %1 = stablehlo.compare GT, %arg0, %0, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %2 = stablehlo.broadcast_in_dim %c_23, dims = [] : (tensor<i1>) -> tensor<11xi1>
    %3 = call @_where(%1, %c_24, %2) : (tensor<11xi1>, tensor<11xi1>, tensor<11xi1>) -> tensor<11xi1>
    %4 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %5 = stablehlo.compare GT, %arg0, %4, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %6 = stablehlo.broadcast_in_dim %c_22, dims = [] : (tensor<i4>) -> tensor<11xi4>
    %7 = call @_where_0(%5, %c_25, %6) : (tensor<11xi1>, tensor<11xi4>, tensor<11xi4>) -> tensor<11xi4>
    %8 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %9 = stablehlo.compare GT, %arg0, %8, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %10 = stablehlo.broadcast_in_dim %c_21, dims = [] : (tensor<ui4>) -> tensor<11xui4>
    %11 = call @_where_1(%9, %c_26, %10) : (tensor<11xi1>, tensor<11xui4>, tensor<11xui4>) -> tensor<11xui4>
    %12 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %13 = stablehlo.compare GT, %arg0, %12, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %14 = stablehlo.broadcast_in_dim %c_20, dims = [] : (tensor<i8>) -> tensor<11xi8>
    %15 = call @_where_2(%13, %c_27, %14) : (tensor<11xi1>, tensor<11xi8>, tensor<11xi8>) -> tensor<11xi8>
    %16 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %17 = stablehlo.compare GT, %arg0, %16, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %18 = stablehlo.broadcast_in_dim %c_19, dims = [] : (tensor<ui8>) -> tensor<11xui8>
    %19 = call @_where_3(%17, %c_28, %18) : (tensor<11xi1>, tensor<11xui8>, tensor<11xui8>) -> tensor<11xui8>
    %20 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %21 = stablehlo.compare GT, %arg0, %20, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %22 = stablehlo.broadcast_in_dim %c_18, dims = [] : (tensor<i16>) -> tensor<11xi16>
    %23 = call @_where_4(%21, %c_29, %22) : (tensor<11xi1>, tensor<11xi16>, tensor<11xi16>) -> tensor<11xi16>
    %24 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %25 = stablehlo.compare GT, %arg0, %24, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %26 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<ui16>) -> tensor<11xui16>
    %27 = call @_where_5(%25, %c_30, %26) : (tensor<11xi1>, tensor<11xui16>, tensor<11xui16>) -> tensor<11xui16>
    %28 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %29 = stablehlo.compare GT, %arg0, %28, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %30 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<11xi32>
    %31 = call @_where_6(%29, %c_31, %30) : (tensor<11xi1>, tensor<11xi32>, tensor<11xi32>) -> tensor<11xi32>
    %32 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %33 = stablehlo.compare GT, %arg0, %32, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %34 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<ui32>) -> tensor<11xui32>
    %35 = call @_where_7(%33, %c_32, %34) : (tensor<11xi1>, tensor<11xui32>, tensor<11xui32>) -> tensor<11xui32>
    %36 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %37 = stablehlo.compare GT, %arg0, %36, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %38 = stablehlo.broadcast_in_dim %c_14, dims = [] : (tensor<i64>) -> tensor<11xi64>
    %39 = call @_where_8(%37, %c_33, %38) : (tensor<11xi1>, tensor<11xi64>, tensor<11xi64>) -> tensor<11xi64>
    %40 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %41 = stablehlo.compare GT, %arg0, %40, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %42 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<ui64>) -> tensor<11xui64>
    %43 = call @_where_9(%41, %c_34, %42) : (tensor<11xi1>, tensor<11xui64>, tensor<11xui64>) -> tensor<11xui64>
    %44 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %45 = stablehlo.compare GT, %arg0, %44, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %46 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f16>) -> tensor<11xf16>
    %47 = call @_where_10(%45, %cst_35, %46) : (tensor<11xi1>, tensor<11xf16>, tensor<11xf16>) -> tensor<11xf16>
    %48 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %49 = stablehlo.compare GT, %arg0, %48, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %50 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<bf16>) -> tensor<11xbf16>
    %51 = call @_where_11(%49, %cst_36, %50) : (tensor<11xi1>, tensor<11xbf16>, tensor<11xbf16>) -> tensor<11xbf16>
    %52 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %53 = stablehlo.compare GT, %arg0, %52, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %54 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %55 = call @_where_12(%53, %cst_37, %54) : (tensor<11xi1>, tensor<11xf32>, tensor<11xf32>) -> tensor<11xf32>
    %56 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %57 = stablehlo.compare GT, %arg0, %56, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %58 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<11xf64>
    %59 = call @_where_13(%57, %cst_38, %58) : (tensor<11xi1>, tensor<11xf64>, tensor<11xf64>) -> tensor<11xf64>
    %60 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %61 = stablehlo.compare GT, %arg0, %60, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %62 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<complex<f32>>) -> tensor<11xcomplex<f32>>
    %63 = call @_where_14(%61, %cst_39, %62) : (tensor<11xi1>, tensor<11xcomplex<f32>>, tensor<11xcomplex<f32>>) -> tensor<11xcomplex<f32>>
    %64 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %65 = stablehlo.compare GT, %arg0, %64, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %66 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<complex<f64>>) -> tensor<11xcomplex<f64>>
    %67 = call @_where_15(%65, %cst_40, %66) : (tensor<11xi1>, tensor<11xcomplex<f64>>, tensor<11xcomplex<f64>>) -> tensor<11xcomplex<f64>>
    %68 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %69 = stablehlo.compare GT, %arg0, %68, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %70 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f8E4M3FN>) -> tensor<11xf8E4M3FN>
    %71 = call @_where_16(%69, %cst_41, %70) : (tensor<11xi1>, tensor<11xf8E4M3FN>, tensor<11xf8E4M3FN>) -> tensor<11xf8E4M3FN>
    %72 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %73 = stablehlo.compare GT, %arg0, %72, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %74 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f8E5M2>) -> tensor<11xf8E5M2>
    %75 = call @_where_17(%73, %cst_42, %74) : (tensor<11xi1>, tensor<11xf8E5M2>, tensor<11xf8E5M2>) -> tensor<11xf8E5M2>
    %76 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %77 = stablehlo.compare GT, %arg0, %76, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %78 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f8E4M3B11FNUZ>) -> tensor<11xf8E4M3B11FNUZ>
    %79 = call @_where_18(%77, %cst_43, %78) : (tensor<11xi1>, tensor<11xf8E4M3B11FNUZ>, tensor<11xf8E4M3B11FNUZ>) -> tensor<11xf8E4M3B11FNUZ>
    %80 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %81 = stablehlo.compare GT, %arg0, %80, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %82 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f8E4M3FNUZ>) -> tensor<11xf8E4M3FNUZ>
    %83 = call @_where_19(%81, %cst_44, %82) : (tensor<11xi1>, tensor<11xf8E4M3FNUZ>, tensor<11xf8E4M3FNUZ>) -> tensor<11xf8E4M3FNUZ>
    %84 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %85 = stablehlo.compare GT, %arg0, %84, FLOAT : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xi1>
    %86 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f8E5M2FNUZ>) -> tensor<11xf8E5M2FNUZ>
    %87 = call @_where_20(%85, %cst_45, %86) : (tensor<11xi1>, tensor<11xf8E5M2FNUZ>, tensor<11xf8E5M2FNUZ>) -> tensor<11xf8E5M2FNUZ>
    %88 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<11xf32>
    %89 = call @fft(%arg0) : (tensor<11xf32>) -> tensor<6xcomplex<f32>>
    %90 = stablehlo.popcnt %c : tensor<i32>
    %91 = stablehlo.reverse %c_46, dims = [0] : tensor<200xi1>
    %92 = stablehlo.xor %c_46, %91 : tensor<200xi1>
    %93 = stablehlo.composite "chlo.erf" %arg0 {decomposition = @chlo.erf.impl, version = 1 : i32} : (tensor<11xf32>) -> tensor<11xf32>
    %94 = stablehlo.cbrt %arg0 : tensor<11xf32>
    %95 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %96 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %97 = stablehlo.clamp %95, %arg0, %96 : tensor<11xf32>
    %98 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %99 = stablehlo.multiply %98, %arg0 : tensor<11xf32>
    %100 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<ui32>) -> tensor<4xui32>
    %101 = stablehlo.reshape %100 : (tensor<4xui32>) -> tensor<2x2xui32>
    %102 = stablehlo.bitcast_convert %101 : (tensor<2x2xui32>) -> tensor<2xui64>
    %output_state, %output = stablehlo.rng_bit_generator %102, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %103 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %104 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %105 = stablehlo.broadcast_in_dim %c_14, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %106 = stablehlo.add %103, %105 : tensor<3x3xi64>
    %107 = stablehlo.compare EQ, %106, %104, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %108 = stablehlo.convert %107 : (tensor<3x3xi1>) -> tensor<3x3xf32>
    %109 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %110 = stablehlo.multiply %108, %109 : tensor<3x3xf32>
    %111 = call @cholesky(%110) : (tensor<3x3xf32>) -> tensor<3x3xf32>
    return %3, %7, %11, %15, %19, %23, %27, %31, %35, %39, %43, %47, %51, %55, %59, %63, %67, %71, %75, %79, %83, %87, %88, %89, %90, %92, %93, %94, %97, %99, %output, %111 : tensor<11xi1>, tensor<11xi4>, tensor<11xui4>, tensor<11xi8>, tensor<11xui8>, tensor<11xi16>, tensor<11xui16>, tensor<11xi32>, tensor<11xui32>, tensor<11xi64>, tensor<11xui64>, tensor<11xf16>, tensor<11xbf16>, tensor<11xf32>, tensor<11xf64>, tensor<11xcomplex<f32>>, tensor<11xcomplex<f64>>, tensor<11xf8E4M3FN>, tensor<11xf8E5M2>, tensor<11xf8E4M3B11FNUZ>, tensor<11xf8E4M3FNUZ>, tensor<11xf8E5M2FNUZ>, tensor<11xf32>, tensor<6xcomplex<f32>>, tensor<i32>, tensor<200xi1>, tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<3xui32>, tensor<3x3xf32>
  }
  func.func private @chlo.erf.impl(%arg0: tensor<11xf32>) -> tensor<11xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<11xf32>
    %cst_0 = stablehlo.constant dense<-1.000000e+00> : tensor<11xf32>
    %cst_1 = stablehlo.constant dense<-0.0142647391> : tensor<11xf32>
    %cst_2 = stablehlo.constant dense<-0.00737332925> : tensor<11xf32>
    %cst_3 = stablehlo.constant dense<-0.00168282702> : tensor<11xf32>
    %cst_4 = stablehlo.constant dense<-2.13374049E-4> : tensor<11xf32>
    %cst_5 = stablehlo.constant dense<-1.45660715E-5> : tensor<11xf32>
    %cst_6 = stablehlo.constant dense<-0.0160960332> : tensor<11xf32>
    %cst_7 = stablehlo.constant dense<-2.954600e-03> : tensor<11xf32>
    %cst_8 = stablehlo.constant dense<-7.34990637E-4> : tensor<11xf32>
    %cst_9 = stablehlo.constant dense<-5.69250624E-5> : tensor<11xf32>
    %cst_10 = stablehlo.constant dense<-2.10102394E-6> : tensor<11xf32>
    %cst_11 = stablehlo.constant dense<2.77068146E-8> : tensor<11xf32>
    %cst_12 = stablehlo.constant dense<-2.72614237E-10> : tensor<11xf32>
    %cst_13 = stablehlo.constant dense<-4.000000e+00> : tensor<11xf32>
    %cst_14 = stablehlo.constant dense<4.000000e+00> : tensor<11xf32>
    %0 = stablehlo.clamp %cst_13, %arg0, %cst_14 : tensor<11xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<11xf32>
    %2 = stablehlo.multiply %cst_12, %1 : tensor<11xf32>
    %3 = stablehlo.add %2, %cst_11 : tensor<11xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<11xf32>
    %5 = stablehlo.add %4, %cst_10 : tensor<11xf32>
    %6 = stablehlo.multiply %5, %1 : tensor<11xf32>
    %7 = stablehlo.add %6, %cst_9 : tensor<11xf32>
    %8 = stablehlo.multiply %7, %1 : tensor<11xf32>
    %9 = stablehlo.add %8, %cst_8 : tensor<11xf32>
    %10 = stablehlo.multiply %9, %1 : tensor<11xf32>
    %11 = stablehlo.add %10, %cst_7 : tensor<11xf32>
    %12 = stablehlo.multiply %11, %1 : tensor<11xf32>
    %13 = stablehlo.add %12, %cst_6 : tensor<11xf32>
    %14 = stablehlo.multiply %cst_5, %1 : tensor<11xf32>
    %15 = stablehlo.add %14, %cst_4 : tensor<11xf32>
    %16 = stablehlo.multiply %15, %1 : tensor<11xf32>
    %17 = stablehlo.add %16, %cst_3 : tensor<11xf32>
    %18 = stablehlo.multiply %17, %1 : tensor<11xf32>
    %19 = stablehlo.add %18, %cst_2 : tensor<11xf32>
    %20 = stablehlo.multiply %19, %1 : tensor<11xf32>
    %21 = stablehlo.add %20, %cst_1 : tensor<11xf32>
    %22 = stablehlo.multiply %0, %13 : tensor<11xf32>
    %23 = stablehlo.divide %22, %21 : tensor<11xf32>
    %24 = stablehlo.clamp %cst_0, %23, %cst : tensor<11xf32>
    return %24 : tensor<11xf32>
  }
  func.func private @_where(%arg0: tensor<11xi1>, %arg1: tensor<11xi1>, %arg2: tensor<11xi1>) -> tensor<11xi1> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi1>
    return %0 : tensor<11xi1>
  }
  func.func private @_where_0(%arg0: tensor<11xi1>, %arg1: tensor<11xi4>, %arg2: tensor<11xi4>) -> tensor<11xi4> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi4>
    return %0 : tensor<11xi4>
  }
  func.func private @_where_1(%arg0: tensor<11xi1>, %arg1: tensor<11xui4>, %arg2: tensor<11xui4>) -> tensor<11xui4> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xui4>
    return %0 : tensor<11xui4>
  }
  func.func private @_where_2(%arg0: tensor<11xi1>, %arg1: tensor<11xi8>, %arg2: tensor<11xi8>) -> tensor<11xi8> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi8>
    return %0 : tensor<11xi8>
  }
  func.func private @_where_3(%arg0: tensor<11xi1>, %arg1: tensor<11xui8>, %arg2: tensor<11xui8>) -> tensor<11xui8> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xui8>
    return %0 : tensor<11xui8>
  }
  func.func private @_where_4(%arg0: tensor<11xi1>, %arg1: tensor<11xi16>, %arg2: tensor<11xi16>) -> tensor<11xi16> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi16>
    return %0 : tensor<11xi16>
  }
  func.func private @_where_5(%arg0: tensor<11xi1>, %arg1: tensor<11xui16>, %arg2: tensor<11xui16>) -> tensor<11xui16> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xui16>
    return %0 : tensor<11xui16>
  }
  func.func private @_where_6(%arg0: tensor<11xi1>, %arg1: tensor<11xi32>, %arg2: tensor<11xi32>) -> tensor<11xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi32>
    return %0 : tensor<11xi32>
  }
  func.func private @_where_7(%arg0: tensor<11xi1>, %arg1: tensor<11xui32>, %arg2: tensor<11xui32>) -> tensor<11xui32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xui32>
    return %0 : tensor<11xui32>
  }
  func.func private @_where_8(%arg0: tensor<11xi1>, %arg1: tensor<11xi64>, %arg2: tensor<11xi64>) -> tensor<11xi64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi64>
    return %0 : tensor<11xi64>
  }
  func.func private @_where_9(%arg0: tensor<11xi1>, %arg1: tensor<11xui64>, %arg2: tensor<11xui64>) -> tensor<11xui64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xui64>
    return %0 : tensor<11xui64>
  }
  func.func private @_where_10(%arg0: tensor<11xi1>, %arg1: tensor<11xf16>, %arg2: tensor<11xf16>) -> tensor<11xf16> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf16>
    return %0 : tensor<11xf16>
  }
  func.func private @_where_11(%arg0: tensor<11xi1>, %arg1: tensor<11xbf16>, %arg2: tensor<11xbf16>) -> tensor<11xbf16> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xbf16>
    return %0 : tensor<11xbf16>
  }
  func.func private @_where_12(%arg0: tensor<11xi1>, %arg1: tensor<11xf32>, %arg2: tensor<11xf32>) -> tensor<11xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf32>
    return %0 : tensor<11xf32>
  }
  func.func private @_where_13(%arg0: tensor<11xi1>, %arg1: tensor<11xf64>, %arg2: tensor<11xf64>) -> tensor<11xf64> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf64>
    return %0 : tensor<11xf64>
  }
  func.func private @_where_14(%arg0: tensor<11xi1>, %arg1: tensor<11xcomplex<f32>>, %arg2: tensor<11xcomplex<f32>>) -> tensor<11xcomplex<f32>> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xcomplex<f32>>
    return %0 : tensor<11xcomplex<f32>>
  }
  func.func private @_where_15(%arg0: tensor<11xi1>, %arg1: tensor<11xcomplex<f64>>, %arg2: tensor<11xcomplex<f64>>) -> tensor<11xcomplex<f64>> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xcomplex<f64>>
    return %0 : tensor<11xcomplex<f64>>
  }
  func.func private @_where_16(%arg0: tensor<11xi1>, %arg1: tensor<11xf8E4M3FN>, %arg2: tensor<11xf8E4M3FN>) -> tensor<11xf8E4M3FN> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf8E4M3FN>
    return %0 : tensor<11xf8E4M3FN>
  }
  func.func private @_where_17(%arg0: tensor<11xi1>, %arg1: tensor<11xf8E5M2>, %arg2: tensor<11xf8E5M2>) -> tensor<11xf8E5M2> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf8E5M2>
    return %0 : tensor<11xf8E5M2>
  }
  func.func private @_where_18(%arg0: tensor<11xi1>, %arg1: tensor<11xf8E4M3B11FNUZ>, %arg2: tensor<11xf8E4M3B11FNUZ>) -> tensor<11xf8E4M3B11FNUZ> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf8E4M3B11FNUZ>
    return %0 : tensor<11xf8E4M3B11FNUZ>
  }
  func.func private @_where_19(%arg0: tensor<11xi1>, %arg1: tensor<11xf8E4M3FNUZ>, %arg2: tensor<11xf8E4M3FNUZ>) -> tensor<11xf8E4M3FNUZ> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf8E4M3FNUZ>
    return %0 : tensor<11xf8E4M3FNUZ>
  }
  func.func private @_where_20(%arg0: tensor<11xi1>, %arg1: tensor<11xf8E5M2FNUZ>, %arg2: tensor<11xf8E5M2FNUZ>) -> tensor<11xf8E5M2FNUZ> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xf8E5M2FNUZ>
    return %0 : tensor<11xf8E5M2FNUZ>
  }
  func.func private @fft(%arg0: tensor<11xf32>) -> tensor<6xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [11] : (tensor<11xf32>) -> tensor<6xcomplex<f32>>
    return %0 : tensor<6xcomplex<f32>>
  }
  func.func private @cholesky(%arg0: tensor<3x3xf32>) -> tensor<3x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<3x3xf32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %3 = stablehlo.divide %1, %2 : tensor<3x3xf32>
    %4 = stablehlo.cholesky %3, lower = true : tensor<3x3xf32>
    %5 = stablehlo.iota dim = 0 : tensor<3x3xi64>
    %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<3x3xi64>
    %7 = stablehlo.add %5, %6 : tensor<3x3xi64>
    %8 = stablehlo.iota dim = 1 : tensor<3x3xi64>
    %9 = stablehlo.compare GE, %7, %8, SIGNED : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %11 = stablehlo.select %9, %4, %10 : tensor<3x3xi1>, tensor<3x3xf32>
    return %11 : tensor<3x3xf32>
  }
}
