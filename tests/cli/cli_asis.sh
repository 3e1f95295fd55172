#!/bin/sh
# systole compile --as-is: kernels, order and places of a scheduled program are its compiler's.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# two fusions of the same sum, which one compiler fuses and shares, and the other one did not
cat >"$work/two.hlo" <<'END'
HloModule two, is_scheduled=true

first {
  a = f32[64,256]{1,0} parameter(0)
  b = f32[64,256]{1,0} parameter(1)
  s = f32[64,256]{1,0} add(a, b)
  ROOT t = f32[64,256]{1,0} tanh(s)
}

second {
  c = f32[64,256]{1,0} parameter(0)
  d = f32[64,256]{1,0} parameter(1)
  e = f32[64,256]{1,0} parameter(2)
  s = f32[64,256]{1,0} add(c, d)
  ROOT t = f32[64,256]{1,0} multiply(s, e)
}

ENTRY main {
  x = f32[64,256]{1,0} parameter(0)
  y = f32[64,256]{1,0} parameter(1)
  one = f32[64,256]{1,0} fusion(x, y), kind=kLoop, calls=first, backend_config={"window_config":{"estimated_cycles":"2000","output_window_bounds":["8","2"],"iteration_bounds":["1"]}}
  ROOT two = f32[64,256]{1,0} fusion(x, y, one), kind=kLoop, calls=second, backend_config={"window_config":{"estimated_cycles":"x","output_window_bounds":[{}]}}
}
END

# ----- fusions and their order
expect 0 ' 1 kernels' compile "$work/two.hlo" --tpu v6e
expect 0 ' 2 kernels' compile "$work/two.hlo" --tpu v6e --as-is
expect 0 '2 of 2 units are one kernel each, 0 in pieces' compile "$work/two.hlo" --as-is
expect 0 'out 8x2, times 1' compile "$work/two.hlo" --tpu v6e --as-is --run
grep -q ' 1  *one  *fusion  *1  *2,000 ' "$work/log" || fail "no row of unit one: $(cat "$work/log")"
expect 0 '"estimated_cycles": 2000' compile "$work/two.hlo" --tpu v6e --as-is --run --json

# ----- memory spaces, asynchronous copies, several results, layouts, a loop
cat >"$work/places.hlo" <<'END'
HloModule places, is_scheduled=true

first {
  a = f32[128,256]{1,0:T(8,128)S(1)} parameter(0)
  b = f32[128,256]{1,0:T(8,128)} parameter(1)
  s = f32[128,256]{1,0:T(8,128)} add(a, b)
  t = f32[128,256]{1,0:T(8,128)} tanh(s)
  ROOT st = (f32[128,256]{1,0:T(8,128)S(1)}, f32[128,256]{1,0:T(8,128)}) tuple(s, t)
}

second {
  c = f32[128,256]{1,0:T(8,128)S(1)} parameter(0)
  d = f32[128,256]{1,0:T(8,128)S(1)} parameter(1)
  ROOT m = f32[128,256]{1,0:T(8,128)} multiply(c, d)
}

turned {
  c = f32[128,256]{1,0:T(8,128)} parameter(0)
  d = f32[128,256]{1,0:T(8,128)} parameter(1)
  t = f32[256,128]{0,1:T(8,128)} transpose(d), dimensions={1,0}
  u = f32[256,128]{0,1:T(8,128)} transpose(c), dimensions={1,0}
  ROOT m = f32[256,128]{0,1:T(8,128)} multiply(t, u)
}

turned_on {
  c = f32[256,128]{0,1:T(8,128)} parameter(0)
  ROOT m = f32[256,128]{0,1:T(8,128)} add(c, c)
}

body {
  state = (s32[], f32[256,128]{0,1:T(8,128)}) parameter(0)
  n = s32[] get-tuple-element(state), index=0
  x = f32[256,128]{0,1:T(8,128)} get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(n, one)
  y = f32[256,128]{0,1:T(8,128)} fusion(x), kind=kLoop, calls=turned_on
  ROOT out = (s32[], f32[256,128]{0,1:T(8,128)}) tuple(next, y)
}

condition {
  state = (s32[], f32[256,128]{0,1:T(8,128)}) parameter(0)
  n = s32[] get-tuple-element(state), index=0
  three = s32[] constant(3)
  ROOT less = pred[] compare(n, three), direction=LT
}

ENTRY main {
  x = f32[128,256]{1,0:T(8,128)} parameter(0)
  start = (f32[128,256]{1,0:T(8,128)S(1)}, f32[128,256]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(x)
  y = f32[128,256]{1,0:T(8,128)} parameter(1)
  plain = f32[128,256]{1,0:T(8,128)S(1)} exponential(y)
  done = f32[128,256]{1,0:T(8,128)S(1)} copy-done(start)
  both = (f32[128,256]{1,0:T(8,128)S(1)}, f32[128,256]{1,0:T(8,128)}) fusion(done, y), kind=kLoop, calls=first
  s = f32[128,256]{1,0:T(8,128)S(1)} get-tuple-element(both), index=0
  t = f32[128,256]{1,0:T(8,128)} get-tuple-element(both), index=1
  again = f32[128,256]{1,0:T(8,128)} fusion(s, done), kind=kLoop, calls=second
  moved = f32[128,256]{1,0:T(8,128)} copy(plain)
  wide = f32[256,128]{0,1:T(8,128)} fusion(again, moved), kind=kLoop, calls=turned
  zero = s32[] constant(0)
  begin = (s32[], f32[256,128]{0,1:T(8,128)}) tuple(zero, wide)
  loop = (s32[], f32[256,128]{0,1:T(8,128)}) while(begin), condition=condition, body=body
  last = f32[256,128]{0,1:T(8,128)} get-tuple-element(loop), index=1
  ROOT out = (f32[256,128]{0,1:T(8,128)}, f32[128,256]{1,0:T(8,128)}) tuple(last, t)
}
END
for tpu in v5e v6e v3; do
    expect 0 '2 of 2 results are within' exec "$work/places.hlo" --tpu $tpu --compare --as-is
done
expect 0 'VMEM: 2 of 2 arrays lie there as they did; copies: 1 of 1 run beside kernels' \
    compile "$work/places.hlo" --tpu v6e --as-is
expect 0 'lies in HBM' compile "$work/places.hlo" --tpu v3 --as-is
# a copy of what a kernel of ours makes first: it must not start before that
sed 's/  start = (f32\[128,256\]{1,0/  start = (f32[128,256]{0,1/; s/^  \([xy]\) = f32\[128,256\]{1,0:T(8,128)} parameter/  \1 = f32[128,256]{0,1} parameter/' \
    "$work/places.hlo" >"$work/made.hlo"
expect 0 '2 of 2 results are within' exec "$work/made.hlo" --tpu v5e --compare --as-is
expect 2 'the host has none' exec "$work/places.hlo" --backend host --as-is

# ----- layouts: what a unit leaves lies as it did, and transposes inside it move nothing
cat >"$work/layouts.hlo" <<'END'
HloModule layouts, is_scheduled=true

turned {
  c = f32[96,160]{1,0:T(8,128)} parameter(0)
  d = f32[96,160]{1,0:T(8,128)} parameter(1)
  t = f32[160,96]{0,1:T(8,128)} transpose(d), dimensions={1,0}
  u = f32[160,96]{0,1:T(8,128)} transpose(c), dimensions={1,0}
  two = f32[] constant(2)
  twos = f32[160,96]{0,1:T(8,128)} broadcast(two), dimensions={}
  m = f32[160,96]{0,1:T(8,128)} multiply(t, twos)
  ROOT s = f32[160,96]{0,1:T(8,128)} subtract(m, u)
}

product {
  a = f32[160,96]{0,1:T(8,128)} parameter(0)
  w = f32[96,64]{1,0:T(8,128)} parameter(1)
  ROOT p = f32[160,64]{0,1:T(8,128)} convolution(a, w), dim_labels=bf_io->bf
}

back {
  a = f32[160,64]{0,1:T(8,128)} parameter(0)
  t = f32[64,160]{1,0:T(8,128)} transpose(a), dimensions={1,0}
  ROOT e = f32[64,160]{1,0:T(8,128)} tanh(t)
}

ENTRY main {
  x = f32[96,160]{1,0:T(8,128)} parameter(0)
  y = f32[96,160]{1,0:T(8,128)} parameter(1)
  w = f32[96,64]{1,0:T(8,128)} parameter(2)
  wide = f32[160,96]{0,1:T(8,128)} fusion(x, y), kind=kLoop, calls=turned
  p = f32[160,64]{0,1:T(8,128)} fusion(wide, w), kind=kOutput, calls=product
  ROOT out = f32[64,160]{1,0:T(8,128)} fusion(p), kind=kLoop, calls=back
}
END
expect 0 '1 of 1 results are within' exec "$work/layouts.hlo" --tpu v6e --compare --as-is
expect 0 '3 of 3 units are one kernel each' compile "$work/layouts.hlo" --tpu v6e --as-is
grep -qF 'layouts: 2 of 2 arrays that are not row-major are so here' "$work/log" ||
    fail "layouts: $(cat "$work/log")"

# ----- products as XLA:TPU writes them: without windows, and with a batch for one
cat >"$work/products.hlo" <<'END'
HloModule products

ENTRY main {
  x = f32[24,40]{1,0} parameter(0)
  w = f32[56,40]{1,0} parameter(1)
  y = f32[56,24]{1,0} convolution(x, w), dim_labels=bf_oi->fb
  a = f32[4,24,40]{2,1,0} parameter(2)
  b = f32[4,56,40]{2,1,0} parameter(3)
  c = f32[4,24,56]{2,1,0} convolution(a, b), window={size=4 stride=3 lhs_dilate=4}, dim_labels=0bf_0oi->0bf
  ROOT out = (f32[56,24]{1,0}, f32[4,24,56]{2,1,0}) tuple(y, c)
}
END
expect 0 'dot.' compile "$work/products.hlo" --tpu v5e
grep -q 'convolution\.' "$work/log" && fail "a convolution is left: $(cat "$work/log")"
expect 0 '2 of 2 results are within' exec "$work/products.hlo" --tpu v5e --compare

# ----- a constant whose elements the file leaves out is enough for cycles, never for values
sed 's/  two = .*/  two = f32[96,64]{1,0} constant({...})/; s/  p = .*/  w2 = f32[96,64]{1,0} copy(two)\n  p = f32[160,64]{0,1:T(8,128)} fusion(wide, w2), kind=kOutput, calls=product/
    s/  twos = .*/  two = f32[] constant(2)\n&/' "$work/layouts.hlo" |
    awk '/two = f32\[96/ && !moved {held = $0; moved = 1; next} {print} /w = f32.*parameter\(2\)/ {print held}' >"$work/elided.hlo"
expect 0 'leaves out the elements of 1, first two' compile "$work/elided.hlo" --as-is
refuse 'left out' exec "$work/elided.hlo" --as-is

# ----- the user's mistakes
sed '/ROOT st/d' "$work/places.hlo" >"$work/broken.hlo"
refuse 'broken.hlo:52:3: both (fusion): its type is' compile "$work/broken.hlo" --as-is
sed 's/copy-done(start)/get-tuple-element(start), index=0/' "$work/places.hlo" >"$work/apart.hlo"
expect 0 'copies: 0 of 0' compile "$work/apart.hlo" --as-is
sed 's/, is_scheduled=true//' "$work/two.hlo" >"$work/plain.hlo"
refuse 'plain.hlo:1:1: --as-is keeps what a compiler has decided, but this program is not scheduled' \
    compile "$work/plain.hlo" --as-is
expect 2 'it needs --as-is' compile "$work/two.hlo" --json
expect 2 'mnist_mlp is none' compile mnist_mlp --as-is
[ $failures -eq 0 ]
