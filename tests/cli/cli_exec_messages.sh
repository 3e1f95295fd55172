#!/bin/sh
# systole exec of programs whose devices send each other messages: a send and its recv are the
# collective-permute of the same pairs, in a loop, too, and in whatever order the two stand.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# a loop whose rounds pass a half of what each device has to the next one; $1: how
ring() {
    cat <<END
HloModule ring, num_partitions=4

body {
  p = (s32[], f32[8,128]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  x = f32[8,128] get-tuple-element(p), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  half = f32[] constant(0.5)
  h = f32[8,128] broadcast(half), dimensions={}
$1
  z = f32[8,128] add(got, x)
  ROOT t = (s32[], f32[8,128]) tuple(m, z)
}

cond {
  p = (s32[], f32[8,128]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  k = s32[] constant(3)
  ROOT c = pred[] compare(n, k), direction=LT
}

ENTRY main {
  x = f32[8,128] parameter(0)
  id = u32[] partition-id()
  f = f32[] convert(id)
  b = f32[8,128] broadcast(f), dimensions={}
  y = f32[8,128] add(x, b)
  zero = s32[] constant(0)
  t = (s32[], f32[8,128]) tuple(zero, y)
  w = (s32[], f32[8,128]) while(t), condition=cond, body=body
  r = f32[8,128] get-tuple-element(w), index=1
  ROOT g = f32[32,128] all-gather(r), dimensions={0}, channel_id=9, replica_groups={{0,1,2,3}}, use_global_device_ids=true
}
END
}

ring '  y = f32[8,128] multiply(x, h)
  got = f32[8,128] collective-permute(y), channel_id=2, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}' \
    >"$work/permute.hlo"
ring '  token = token[] after-all()
  recv = (f32[8,128], u32[], token[]) recv(token), channel_id=2
  recv-done = (f32[8,128], token[]) recv-done(recv), channel_id=2
  got = f32[8,128] get-tuple-element(recv-done), index=0
  y = f32[8,128] multiply(x, h)
  send = (f32[8,128], u32[], token[]) send(y, token), channel_id=2, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2},{2,3},{3,0}}"}
  send-done = token[] send-done(send), channel_id=2' >"$work/messages.hlo"
"$systole" exec "$work/permute.hlo" --tpu v5e-4 --backend host --out "$work/ring" >"$work/log" 2>&1 ||
    fail "permute.hlo: $(cat "$work/log")"
for way in "--backend host" "--mode both"; do
    "$systole" exec "$work/messages.hlo" --tpu v5e-4 $way \
        --expect "$work/ring/outputs.safetensors" >"$work/log" 2>&1
    grep -q ' equal$' "$work/log" || fail "messages $way: $(cat "$work/log")"
done
expect 0 'all of it can be run on cores' hlo "$work/messages.hlo"

# of replicas, in StableHLO: two of four exchange what they have
cat >"$work/exchange.mlir" <<'END'
module @sr attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %t = stablehlo.create_token : !stablehlo.token
    %id = stablehlo.replica_id : tensor<ui32>
    %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
    %x = stablehlo.add %arg0, %b : tensor<4x5xf32>
    %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x5xf32>, !stablehlo.token) -> !stablehlo.token
    %r:2 = "stablehlo.recv"(%s) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<4x5xf32>, !stablehlo.token)
    return %r#0 : tensor<4x5xf32>
  }
}
END
for way in "--backend host" "--mode both"; do
    "$systole" exec "$work/exchange.mlir" --tpu v5e-4 $way --input 0=zeros >"$work/log" 2>&1
    awk '$2 == "f32[4,5]" && $3 == 1 && $4 == 1 { found = 1 } END { exit !found }' "$work/log" ||
        fail "exchange.mlir $way: $(cat "$work/log")"
done

# what waits for itself, and what no pairs are known of, is told by its line
circle='  token = token[] after-all()
  recv = (f32[8,128], u32[], token[]) recv(token), channel_id=2
  recv-done = (f32[8,128], token[]) recv-done(recv), channel_id=2
  got = f32[8,128] get-tuple-element(recv-done), index=0
  y = f32[8,128] multiply(got, h)
  send = (f32[8,128], u32[], token[]) send(y, token), channel_id=2'
ring "$circle, frontend_attributes={_xla_send_recv_source_target_pairs=\"{{0,1}}\"}" >"$work/circle.hlo"
expect 1 "circle.hlo:3:1: body: what a channel's send sends is computed from what its recv brings" \
    exec "$work/circle.hlo" --tpu v5e-4
ring "$circle" >"$work/nowhere.hlo"
expect 1 'nowhere.hlo:12:3: recv: ' exec "$work/nowhere.hlo" --tpu v5e-4

[ $failures -eq 0 ]
