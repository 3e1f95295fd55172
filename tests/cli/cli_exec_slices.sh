#!/bin/sh
# systole exec of one program on several devices, each of them both cores of a chip (megacore): the
# host's results. A step of a decoder: a cache that is cut is updated, read and summed over devices.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

cat >"$work/decode.hlo" <<'END'
HloModule decode, num_partitions=4

larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  cache = f32[4,16,4,8] parameter(0), sharding={devices=[2,2,1,1]<=[4]}
  key = f32[4,4,8] parameter(1), sharding={devices=[2,1,1,2]<=[4] last_tile_dim_replicate}
  query = f32[4,4,8] parameter(2), sharding={devices=[2,1,1,2]<=[4] last_tile_dim_replicate}
  zero = f32[] constant(0)
  low = f32[] constant(-1e30)
  none = s32[] constant(0)
  at = s32[] constant(5)
  one = f32[4,1,4,8] broadcast(key), dimensions={0,2,3}
  new = f32[4,16,4,8] dynamic-update-slice(cache, one, none, at, none, none)
  scores = f32[4,4,16] dot(query, new), lhs_batch_dims={0,1}, lhs_contracting_dims={2}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}, operand_precision={highest,highest}
  top = f32[4,4] reduce(scores, low), dimensions={2}, to_apply=larger
  tops = f32[4,4,16] broadcast(top), dimensions={0,1}
  less = f32[4,4,16] subtract(scores, tops)
  power = f32[4,4,16] exponential(less)
  total = f32[4,4] reduce(power, zero), dimensions={2}, to_apply=add
  totals = f32[4,4,16] broadcast(total), dimensions={0,1}
  weight = f32[4,4,16] divide(power, totals)
  read = f32[4,4,8] dot(weight, new), lhs_batch_dims={0,1}, lhs_contracting_dims={2}, rhs_batch_dims={0,2}, rhs_contracting_dims={1}, operand_precision={highest,highest}
  ROOT all = (f32[4,16,4,8], f32[4,4,8]) tuple(new, read), sharding={{devices=[2,2,1,1]<=[4]}, {devices=[2,1,1,2]<=[4] last_tile_dim_replicate}}
}
END
for slice in v4-8 v5p-8 v3-8; do
    expect 0 '2 of 2 results are within' exec "$work/decode.hlo" --tpu $slice --compare
done
# groups of different sizes: sums and maxima of those in one's own; a halo of neighbours' rows
cat >"$work/uneven.hlo" <<'END'
HloModule uneven, replica_count=8

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

larger {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = s32[] maximum(x, y)
}

ENTRY main {
  a = f32[5,7] parameter(0)
  b = s32[3] parameter(1)
  r = u32[] replica-id()
  f = f32[] convert(r)
  fs = f32[5,7] broadcast(f), dimensions={}
  c = f32[5,7] multiply(a, fs)
  x = f32[5,7] all-reduce(c), replica_groups={{0,1,2},{3},{4,5,6,7}}, to_apply=add
  s = s32[] convert(r)
  ss = s32[3] broadcast(s), dimensions={}
  d = s32[3] multiply(b, ss)
  y = s32[3] all-reduce(d), replica_groups={{7,0},{1,2,3,4,5,6}}, to_apply=larger
  ROOT t = (f32[5,7], s32[3]) tuple(x, y)
}
END
cat >"$work/halo.hlo" <<'END'
HloModule halo, num_partitions=8

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

ENTRY main {
  a = f32[30,12] parameter(0), sharding={devices=[8,1]<=[8]}
  k = f32[3,12,5] parameter(1), sharding={replicated}
  z = f32[] constant(0)
  w = f32[15,12] reduce-window(a, z), window={size=4x1 stride=2x1 pad=1_1x0_0}, to_apply=add
  i = f32[1,30,12] reshape(a)
  c = f32[1,30,5] convolution(i, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, operand_precision={highest,highest}
  b = f32[27,12] slice(a), slice={[3:30], [0:12]}
  d = f32[3,12] slice(a), slice={[0:3], [0:12]}
  r = f32[30,12] concatenate(b, d), dimensions={0}
  v = f32[30,12] reverse(r), dimensions={0}
  ROOT t = (f32[15,12], f32[1,30,5], f32[30,12], f32[30,12]) tuple(w, c, r, v), sharding={{devices=[8,1]<=[8]}, {devices=[1,8,1]<=[8]}, {devices=[8,1]<=[8]}, {devices=[8,1]<=[8]}}
}
END
for slice in v3-8 v5e-8; do
    expect 0 '2 of 2 results are within' exec "$work/uneven.hlo" --tpu $slice --compare
    expect 0 '4 of 4 results are within' exec "$work/halo.hlo" --tpu $slice --compare
done
# named: the least slice of the chip that has as many devices, two cores each where they are one
expect 1 'the program is for 4 devices, v4-2 has 1; name a slice that has them, e.g. --tpu v4-8' exec "$work/decode.hlo" --tpu v4-2
expect 1 'e.g. --tpu v6e-4' exec "$work/decode.hlo" --tpu v6e-1
expect 1 'e.g. --tpu tiny-4' exec "$work/decode.hlo" --tpu tiny
# its batch is its own, so nothing is said of samples
expect 0 'cycles = ' compile "$work/decode.hlo" --tpu v5e-4 --run
! grep -q ' samples' "$work/log" || fail "samples of a program: $(cat "$work/log")"

[ $failures -eq 0 ]
