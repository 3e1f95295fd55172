func.func @main(%x: tensor<4xf32>, %y: tensor<2xi32>) -> (tensor<4xf32>, tensor<2xi32>, tensor<f32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %0 = "stablehlo.send"(%x, %y, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  %1:3 = "stablehlo.recv"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, tensor<2xi32>, !stablehlo.token)
  %2:2 = "stablehlo.infeed"(%1#2) <{infeed_config = "in"}> : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  %3 = "stablehlo.outfeed"(%1#0, %2#1) <{outfeed_config = "out"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %4 = stablehlo.after_all %3, %t : !stablehlo.token
  return %1#0, %1#1, %2#0 : tensor<4xf32>, tensor<2xi32>, tensor<f32>
}
