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

# ----- the user's mistakes
sed 's/, is_scheduled=true//' "$work/two.hlo" >"$work/plain.hlo"
refuse 'plain.hlo:1:1: --as-is keeps what a compiler has decided, but this program is not scheduled' \
    compile "$work/plain.hlo" --as-is
expect 2 'it needs --as-is' compile "$work/two.hlo" --json
expect 2 'mnist_mlp is none' compile mnist_mlp --as-is
[ $failures -eq 0 ]
