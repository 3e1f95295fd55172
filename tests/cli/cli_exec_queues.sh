#!/bin/sh
# systole exec: infeeds, outfeeds and messages to the host, in loops and branches, on both backends.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc


cat >"$work/feed.hlo" <<'END'
HloModule feeds

body {
  s = (s32[], f32[4], token[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sum = f32[4] get-tuple-element(s), index=1
  t = token[] get-tuple-element(s), index=2
  in = ((f32[4], s64[]), token[]) infeed(t)
  data = (f32[4], s64[]) get-tuple-element(in), index=0
  x = f32[4] get-tuple-element(data), index=0
  k = s64[] get-tuple-element(data), index=1
  t1 = token[] get-tuple-element(in), index=1
  kf = f32[] convert(k)
  kb = f32[4] broadcast(kf), dimensions={}
  y = f32[4] multiply(x, kb)
  n = f32[4] add(sum, y)
  t2 = token[] outfeed(n, t1), outfeed_shape=f32[4]
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[4], token[]) tuple(j, n, t2)
}

cond {
  s = (s32[], f32[4], token[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  c = s32[] constant(3)
  ROOT p = pred[] compare(i, c), direction=LT
}

ENTRY main {
  a = f32[4] parameter(0)
  z = s32[] constant(0)
  t0 = token[] after-all()
  st = (s32[], f32[4], token[]) tuple(z, a, t0)
  w = (s32[], f32[4], token[]) while(st), condition=cond, body=body
  v = f32[4] get-tuple-element(w), index=1
  t3 = token[] get-tuple-element(w), index=2
  s1 = (f32[4], u32[], token[]) send(v, t3), channel_id=7, is_host_transfer=true
  s2 = token[] send-done(s1), channel_id=7, is_host_transfer=true
  r1 = (f32[2], u32[], token[]) recv(s2), channel_id=8, is_host_transfer=true
  r2 = (f32[2], token[]) recv-done(r1), channel_id=8, is_host_transfer=true
  d = f32[2] get-tuple-element(r2), index=0
  ROOT o = (f32[4], f32[2]) tuple(v, d)
}
END
cat >"$work/until.hlo" <<'END'
HloModule until

yes { t = (f32[], token[]) parameter(0)
  k = token[] get-tuple-element(t), index=1
  in = (f32[], token[]) infeed(k)
  x = f32[] get-tuple-element(in), index=0
  k1 = token[] outfeed(x, k), outfeed_shape=f32[]
  ROOT r = (f32[], token[]) tuple(x, k1) }

no { t = (f32[], token[]) parameter(0)
  x = f32[] get-tuple-element(t), index=0
  k = token[] get-tuple-element(t), index=1
  ROOT r = (f32[], token[]) tuple(x, k) }

body { s = (f32[], f32[], token[]) parameter(0)
  v = f32[] get-tuple-element(s), index=0
  last = f32[] get-tuple-element(s), index=1
  k = token[] get-tuple-element(s), index=2
  two = f32[] constant(2)
  half = f32[] divide(v, two)
  floor = f32[] floor(half)
  is_even = pred[] compare(half, floor), direction=EQ
  t = (f32[], token[]) tuple(last, k)
  c = (f32[], token[]) conditional(is_even, t, t), true_computation=yes, false_computation=no
  y = f32[] get-tuple-element(c), index=0
  k1 = token[] get-tuple-element(c), index=1
  one = f32[] constant(1)
  w = f32[] add(v, one)
  ROOT r = (f32[], f32[], token[]) tuple(w, y, k1) }

cond { s = (f32[], f32[], token[]) parameter(0)
  v = f32[] get-tuple-element(s), index=0
  limit = f32[] constant(9)
  ROOT p = pred[] compare(v, limit), direction=LT }

ENTRY main { a = f32[] parameter(0)
  k = token[] after-all()
  s = (f32[], f32[], token[]) tuple(a, a, k)
  w = (f32[], f32[], token[]) while(s), condition=cond, body=body
  ROOT y = f32[] get-tuple-element(w), index=1 }
END

sed '/^  in = /d; s/get-tuple-element(in)/get-tuple-element(t)/' "$work/until.hlo" >"$work/out.hlo"
printf 'HloModule m\nENTRY e {\n  ROOT a = f32[2] parameter(0)\n}\n' >"$work/empty.hlo"
printf 'HloModule m\nENTRY e {\n  ROOT a = f32[1] parameter(0)\n}\n' >"$work/one.hlo"
printf 'HloModule m\nENTRY e {\n  ROOT a = f32[5] parameter(0)\n}\n' >"$work/five.hlo"
for many in one five; do
    expect 0 '' exec "$work/$many.hlo" --backend host --out "$work/$many"
    cp "$work/$many/result_0.npy" "$work/$many.npy"
done

# ----- a loop that says how often it runs: entries of several arrays, two steps, both backends
for backend in host cores; do
    expect 0 'outfeed.1  f32[6,4]         0       12' exec "$work/feed.hlo" --backend $backend \
        --input 0=zeros --infeed 0=iota --infeed 1=ones --infeed 2=iota --steps 2 --out "$work/$backend"
    for file in result_0.npy outfeed.0.npy outfeed.1.npy outputs.safetensors; do
        [ -s "$work/$backend/$file" ] || fail "$backend: --out left no $file"
        cmp -s "$work/host/$file" "$work/$backend/$file" || fail "$file of $backend is another one"
    done
done
expect 0 '4 of 4 results are within' exec "$work/feed.hlo" --compare
expect 0 '4 of 4 results are within' run "$work/feed.hlo" --input 0=zeros --infeed 0=iota \
    --infeed 1=ones --infeed 2=iota --steps 2 --expect "$work/host/outputs.safetensors"
expect 1 'f32[6,4] there' exec "$work/feed.hlo" --expect "$work/host/outputs.safetensors"
expect 0 'cycles' exec "$work/feed.hlo" --mode timing
expect 0 'all of it can be run' hlo "$work/feed.hlo"
grep -q 'infeed.1 .*infeed .*f32\[4\] .* 3  in' "$work/log" || fail "hlo lists no queue: $(cat "$work/log")"

# ----- what one program has given, another one takes; too little is told, wherever it runs
cp "$work/host/outfeed.0.npy" "$work/two.npy"
for backend in host cores; do
    refuse 'infeed 1 (in) has 2 entries, infeed 2 (in) 3' \
        exec "$work/feed.hlo" --backend $backend --infeed "1=$work/two.npy"
    expect 1 'queue is empty' exec "$work/until.hlo" --backend $backend --input 0=zeros \
        --infeed "0=$work/one.npy"
    refuse 'infeed 0 (r1, channel 8) is f32[2,2], this is f32[2,4]' exec "$work/feed.hlo" \
        --backend $backend --infeed "0=$work/two.npy"
done
refuse '3 infeeds, counted from 0' exec "$work/feed.hlo" --infeed 3=ones
refuse 'the program has none' exec "$work/empty.hlo" --infeed 0=ones
refuse 'did you mean "ones"' exec "$work/feed.hlo" --infeed 0=one

# ----- a loop whose end is computed, and a branch that feeds in and out: five times
for backend in host cores; do
    expect 0 'outfeed.0  f32[5]         0        4' exec "$work/until.hlo" --backend $backend \
        --input 0=zeros --infeed 0=iota
done
expect 0 '2 of 2 results are within' exec "$work/until.hlo" --input 0=zeros --infeed 0=iota --compare
expect 0 'outfeed.0  f32[5]' exec "$work/until.hlo" --input 0=zeros --queue-entries 3 \
    --infeed "0=$work/five.npy"
expect 1 '--queue-entries says another number' exec "$work/out.hlo" --input 0=zeros --queue-entries 3

# ----- where a condition is computed nobody can wait for the host
sed '/^cond/,/^}/s/  limit = .*/  k = token[] get-tuple-element(s), index=2\n  in = (f32[], token[]) infeed(k)\n  limit = f32[] get-tuple-element(in), index=0/' \
    "$work/until.hlo" >"$work/waits.hlo"
refuse "in: infeed where a loop's condition is computed" exec "$work/waits.hlo"

# ----- an infeed of a type that none has
printf 'HloModule m\nENTRY e {\n  t = token[] after-all()\n  ROOT a = f32[2] infeed(t)\n}\n' >"$work/odd.hlo"
refuse 'a: ' exec "$work/odd.hlo" --backend host
refuse 'a: infeed' exec "$work/odd.hlo"

exit $((failures > 0))
