#!/bin/sh
# systole net at the command line: figures that agree with theory, files, and a message for
# everything that is wrong.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# one load on a ring of 8x8: hops, bytes, bound; all delivered
expect 0 '8x8 chips, torus, 256 links of 50 GB/s each way, 400 ns per hop, routing xyz' \
    net --grid 8x8 --load 0.5 --messages 100
for text in 'uniform traffic in messages of 4 KiB, 4544 bytes on the wire: 0.09088 us of a link' \
    'idle network   4.06 hops on average: 4.06 x 400 ns + 0.09088 us = 1.716 us' \
    'busiest link   carries 1.016 times what one chip offers: 98.4 % can be accepted' \
    'messages delivered, 64 of 64 chips send'; do
    grep -qF -- "$text" "$work/log" || fail "no \"$text\" in $(cat "$work/log")"
done
expect 0 '49.2 % can be accepted' net --grid 8x8 --mesh --load 0.1 --messages 50
expect 0 '33.3 % can be accepted' net --grid 8x8 --traffic tornado --load 0.1 --messages 50
expect 0 '56 of 64 chips send' net --grid 8x8 --traffic transpose --load 0.1 --messages 50
expect 0 'some axes closed' net --tpu v3-1024 --load 0.05 --messages 10
expect 0 'v4-256_twisted: 4x4x8 chips, twisted torus, 768 links' \
    net --tpu v4-256_twisted --load 0.5 --messages 20
expect 0 'routing adaptive' net --grid 4x4 --routing adaptive --load 0.2 --messages 20
expect 0 '10 ns per hop' net --grid 4x4 --set ici.hop_ns=10 --load 0.2 --messages 20 --seeds 2

# a sweep: what goes in comes out until the bound, the CSV says the same
expect 0 'keeps up to ' net --grid 4x4 --traffic neighbour --messages 200 --csv "$work/csv"
[ "$(wc -l <"$work/csv")" -eq 15 ] || fail "rows: $(cat "$work/csv")"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { o = $at["offered_percent"]; a = $at["accepted_percent"]
      if (a > 101 || (o < 90 && (a < 0.97 * o || a > 1.03 * o)) || $at["jain_index"] > 1.000001 ||
          $at["sent_messages"] != $at["delivered_messages"] ||
          $at["link_use_max_percent"] > 100.001 ||
          $at["mean_latency_us"] < 0.89 || $at["most_latency_us"] < $at["p99_latency_us"]) exit 1 }' \
    "$work/csv" || fail "figures that do not add up: $(cat "$work/csv")"
cp "$work/csv" "$work/before"
expect 0 'keeps up to ' net --grid 4x4 --traffic neighbour --messages 200 --csv "$work/csv"
cmp -s "$work/csv" "$work/before" || fail 'the same run gave other figures'

# everything to everyone: the twisted torus against the plain one, from either side
expect 0 'the twisted torus is 1.' net --traffic all-to-all --tpu v4-256
grep -qF '(its bound: 1.69)' "$work/log" || fail "another bound: $(cat "$work/log")"
cp "$work/log" "$work/before"
expect 0 'the twisted torus is 1.' net --traffic all-to-all --tpu v4-256_twisted --csv "$work/csv"
[ "$(tail -1 "$work/log")" = "$(tail -1 "$work/before")" ] || fail 'the two sides differ'
grep -q '^twisted torus,' "$work/csv" || fail "no row in $(cat "$work/csv")"
expect 0 'busiest link' net --traffic all-to-all --grid 4x4 --mesh
grep -q 'times as fast' "$work/log" && fail 'a mesh is compared with a twisted torus'

refuse 'no traffic "tornados" (did you mean "tornado"?)' net --traffic tornados
refuse 'no slice "v4-4x4x5" (nearest: v4-4x4x4)' net --tpu v4-4x4x5
refuse '--grid 8x is no grid of at most 16384 chips' net --grid 8x
refuse '--grid 8x8y is no grid' net --grid 8x8y
refuse '--grid 0x8 is no grid' net --grid 0x8
refuse '--grid 512x512 is no grid' net --grid 512x512
refuse 'a network needs at least 2 chips' net --grid 1x1
refuse 'a network needs at least 2 chips' net --tpu v3
refuse 'cannot be twisted: k x k x 2k and k x 2k x 2k can, k being at least 3; the nearest is 4x4x8' \
    net --grid 4x4x4 --twisted
refuse 'transpose needs axes of equal length, not 4x8x1; the nearest grid is 8x8x1' \
    net --grid 4x8 --traffic transpose
refuse '--load 0 is not a number from 0.001 to 6' net --load 0
expect 2 '--bytes is "0", allowed are sizes from 1 byte to 1 GiB' net --bytes 0
expect 2 '--bytes is "2G", allowed are sizes from 1 byte to 1 GiB' net --bytes 2G
expect 2 '--messages is "5", allowed are whole numbers in 10..1000000' net --messages 5
expect 2 '--seeds is "x", allowed are whole numbers in 1..1000' net --seeds x
expect 2 '--hot is "101", allowed are whole numbers in 1..100' net --hot 101
refuse 'are too many; at most 65536' net --grid 16x16 --messages 100000
refuse 'ici.routing' net --routing yxz
refuse 'all-to-all takes grids of 2 to 2048 chips, not 4096' net --traffic all-to-all --tpu v4-8192
refuse 'nowhere/net.csv' net --grid 4x4 --load 0.1 --csv nowhere/net.csv
expect 2 '--torus, --mesh and --twisted do not go together' net --grid 4x4 --torus --mesh
expect 2 'go with --grid' net --mesh
expect 2 '--load or --sweep' net --load 0.5 --sweep
expect 2 'no argument expected: uniform' net uniform
[ $failures -eq 0 ] && echo "cli_net: passed"
exit $failures
