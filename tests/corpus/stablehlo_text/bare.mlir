#loc1 = model.py:6:0
#loc2 = pt_lib.py:42:0
#loc5 = "main"(#loc1)
#loc6 = "call"(#loc2)
#loc7 = #loc5
 at #loc6
#loc8 = "aten__add"(#loc7)
module @IrToHlo.4 attributes {mhlo.input_output_alias = [{alias = {kind = "may_alias", parameter_index = array<i64>, parameter_number = 0 : i64}, output_index = array<i64: 0>}]} {
  func.func @main(%arg0: tensor<2xf32> "data"(#loc8), %arg1: tensor<?xi64, #stablehlo.bounds<5>>) -> (tensor<2xf32>, tensor<i32>) {
    %0 = mhlo.copy %arg0 : tensor<2xf32> [unknown]
    %1 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?xi64, #stablehlo.bounds<5>>) -> tensor<i32> "aten__size"
    %2 = stablehlo.add %0, %arg0 : tensor<2xf32> "aten__add.1/aten__add"(#loc8)
    %3 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
    %4 = stablehlo.add %2, %3 : tensor<2xf32>
    return %4, %1 : tensor<2xf32>, tensor<i32> [unknown]
  } [unknown]
} [unknown]

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
