#!/bin/sh
# systole compile: what it refuses, and how it says so.
. tests/cli/cli_rig.inc

model=examples/mnist_mlp.json

# usage errors (2) and users' mistakes (1)
expect 2 'which model' compile
expect 2 'only one model may be given, not' compile $model $model
expect 2 '--codegen is "fast", allowed are xla, best' compile $model --codegen fast
expect 2 '--batch is "0", allowed are whole numbers in 1..1048576' compile $model --batch 0
expect 2 '--policy is "half", allowed are float32, mixed_bfloat16' compile $model --policy half
expect 2 'no optimizer "loin"' compile $model --optimizer loin
expect 2 '--emit is "llvm", allowed are graph, llo, bundles, listing' compile $model --emit llvm
expect 2 'it needs --run' compile $model --emit listing
expect 2 '--dump-after is "nothing", allowed are vectors, trips, heads, ' compile $model --dump-after nothing
refuse 'no/such.json: ' compile no/such.json
refuse '"resnet5"' compile resnet5
refuse 'batch is "0"; it must be 1 to 65536' compile mlp:batch=0
refuse 'knows no option "depth"; there are train, forward, batch' compile mlp:depth=3
expect 2 '--batch is an option of JSON files' compile mlp --batch 7
expect 2 '--inference is an option of JSON files' compile mlp:train --inference
expect 0 'resnet50' compile --list
refuse 'did you mean "v5e"' compile $model --tpu v5f
printf 'garbage\n' >"$work/cache"
refuse "$work/cache:1: not a tuning cache of this version" compile $model --tune-cache "$work/cache"
printf 'systole tuning 1\nTPU_v5e xla dot zz 5 1\n' >"$work/cache"
refuse "$work/cache:2: not \"CHIP xla|best KIND" compile $model --tune-cache "$work/cache"
refuse 'no/such/folder' compile $model --out no/such/folder
refuse 'no/such/cache' compile $model --tune --tune-cache no/such/cache
expect 0 'Examples:' compile --help

# a listing tells of each kernel and bundle, and is a program still
mkdir "$work/listing"
expect 0 'cycles = ' compile $model --batch 16 --tpu v5e --run --emit listing --out "$work/listing"
grep -q '^// k0: .* cycles up to the next kernel: .* issued, .* waited' "$work/listing/listing.txt" ||
    fail 'the listing has no sums of its kernels'
expect 0 '' asm "$work/listing/listing.txt" -o "$work/listing/program.o"

# kernels, memory and cycles; the same twice; files where they are asked for
expect 0 'convolution fusion' compile $model --tpu v5e
expect 0 'VMEM  16 MiB of 16 MiB in use; 0 arrays stay' compile $model --tpu v3
expect 0 ' cycles = ' compile mlp:train,batch=16 --tpu v6e --run
grep ' cycles = ' "$work/log" >"$work/first"
expect 0 'simulated' compile mlp:train,batch=16 --tpu v6e --run
grep ' cycles = ' "$work/log" | cmp -s - "$work/first" || fail "two runs differ"
expect 0 '// after fusion' compile mlp --dump-after fusion
grep -q 'kind=kLoop\|kind=kOutput\|fusion(' "$work/log" || fail "no fusion in the dump"
expect 0 'bytes, ' compile mlp --dump-after memory
expect 0 'compiled in' compile mlp --run --emit listing --out "$work/out"
grep -q '^/\* *[1-9][0-9]* .*0x[0-9a-f]* : { ' "$work/out/listing.txt" || fail "no listing"
expect 0 'compiled in' compile mlp --emit bundles --out "$work/out"
expect 0 '' lint "$work/out/program.tasm" --tpu v5e
# the code of every kernel in virtual registers
expect 0 'compiled in' compile mlp:train,batch=16 --tpu v3 --emit llo --out "$work/out"
count=$(grep -c '^kernel k' "$work/out/kernels.llo")
[ "$count" = "$(grep -c '^}$' "$work/out/kernels.llo")" ] || fail "kernels do not end in the llo"
grep -q "^ *$((count - 1))  fusion" "$work/log" || fail "$count kernels in the llo"
for line in '^kernel k0 "fusion.*", convolution fusion, source "dense_1" {' \
    '// window 0: operand ' '// . ENTRY ' '^  loop s[0-9]* = [1-9][0-9]* rounds {' \
    '^ *%v[0-9]* = vld \[vmem:.*// region' 'bundles, scheduled by the kernel itself'; do
    grep -q "$line" "$work/out/kernels.llo" || fail "no $line in the llo"
done
expect 0 'kernel k0 "fusion' compile mlp --emit llo
expect 0 'compiled in' compile mlp --emit graph --dump-after all --out "$work/out"
[ -s "$work/out/module.hlo" ] && [ -s "$work/out/passes.hlo" ] || fail "no graph in the folder"

# rows that gathers ask for are assumed; a file of them is read
printf '1 2 3\n' >"$work/indices"
refuse 'no/such/indices' compile mlp --run --assume-index no/such/indices
expect 0 ' cycles = ' compile mlp --run --assume-index "$work/indices"

# tilings: found once, read by later runs, never slower
expect 0 ' cycles = ' compile mlp:batch=16 --tpu v5e --run
cycles() { sed -n 's/,//g; s/^\([0-9]*\) cycles = .*/\1/p' "$work/log"; }
before=$(cycles)
rm -f "$work/cache"
expect 0 ' cycles = ' compile mlp:batch=16 --tpu v5e --run --tune --tune-cache "$work/cache"
tuned=$(cycles)
[ "$tuned" -le $((before + before / 20)) ] || fail "tuning: $before cycles, then $tuned"
grep -q '^TPU_v5e xla dot ' "$work/cache" || fail "no tiling in the cache"
expect 0 ' cycles = ' compile mlp:batch=16 --tpu v5e --run --tune-cache "$work/cache"
[ "$(cycles)" = "$tuned" ] || fail "the cache gives $(cycles) cycles, tuning gave $tuned"

# both cores of a v4 are one device
expect 0 ' for both cores of TPU v4' compile mlp:batch=16 --tpu v4 --run
both=$(cycles)
for line in '^megacore: 2 cores, [0-9]* barriers; [0-9]* of [0-9]* kernels run on core 0 alone$' \
    'simulated        core 1  bound by' '^at barriers core 0 has waited for [0-9,]* cycles, core 1 for '; do
    grep -q "$line" "$work/log" || fail "no $line of both cores"
done
expect 0 ' for one core of TPU v4' compile mlp:batch=16 --tpu v4 --run --no-megacore
grep -q 'megacore' "$work/log" && fail "one core speaks of two"
[ "$both" -lt "$(cycles)" ] || fail "two cores take $both cycles, one $(cycles)"

# a replica on every core of a slice; what of their sums is exposed
expect 0 ' for each of 8 cores of TPU v3' compile mlp:train,batch=2048 --tpu v3-8 --run --bucket 1M
for line in '^communication: 2 collectives$' '^  hidden  *[1-9][0-9,]* cycles,' \
    '^  exposed  *[1-9][0-9,]* cycles,' '^16,384 samples in a step of 8 replicas: .* per chip$'; do
    grep -q "$line" "$work/log" || fail "no $line of replicas"
done
expect 0 '  hidden                 0 cycles,' compile mlp:train,batch=2048 --tpu v3-8 --run --no-overlap
# one chip stands for all, nearly: addresses of blocks differ between chips
expect 0 ' cycles = ' compile mlp:train,batch=64 --tpu v3-8 --run
one=$(cycles)
expect 0 ' cycles = ' compile mlp:train,batch=64 --tpu v3-8 --run --all-chips
all=$(cycles)
[ $((one * 100)) -gt $((all * 99)) ] && [ $((one * 99)) -lt $((all * 100)) ] ||
    fail "one chip: $one cycles, all chips: $all"
# nor does a mesh of 4x4 close: one chip is a mean of its places
expect 0 ' cycles = ' compile mlp:train,batch=32 --tpu v3-32 --run
one=$(cycles)
expect 0 ' cycles = ' compile mlp:train,batch=32 --tpu v3-32 --run --all-chips
all=$(cycles)
[ $((one * 100)) -gt $((all * 98)) ] && [ $((one * 98)) -lt $((all * 100)) ] &&
    [ "$one" -ne "$all" ] || fail "one chip of a mesh: $one cycles, all chips: $all"
# a Keras model's step sums its gradients as training on the slice does
expect 0 ' for each of 8 cores of TPU v3' compile $model --batch 8 --tpu v3-8 --run
for line in '^communication: 1 collective$' '  all-reduce  .* all-reduce$' \
    '^64 samples in a step of 8 replicas: '; do
    grep -q "$line" "$work/log" || fail "no $line of a Keras model"
done
expect 0 ' cycles = ' compile $model --batch 8 --tpu v3 --run
grep -q 'all-reduce' "$work/log" && fail "one core sums over several"
expect 2 'allowed are sizes from 1 byte' compile mlp:train --tpu v3-8 --bucket 0

# a sum of this size in groups of 16 goes up and down a tree, where chips do different things: none
# stands for all, which once waited for ever
cat >"$work/groups.hlo.txt" <<'END'
HloModule groups, num_partitions=256

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY main {
  p = f32[24576]{0} parameter(0), sharding={replicated}
  ROOT r = f32[24576]{0} all-reduce(p), channel_id=1, replica_groups=[16,16]<=[256], use_global_device_ids=true, to_apply=add, sharding={replicated}
}
END
expect 0 ' cycles = ' compile "$work/groups.hlo.txt" --tpu v5e-256 --run
one=$(cycles)
expect 0 ' cycles = ' compile "$work/groups.hlo.txt" --tpu v5e-256 --run --all-chips
[ "$one" -eq "$(cycles)" ] || fail "a tree over groups: $one cycles, all chips: $(cycles)"

exit $failures
