#!/bin/sh
# systole mem at the command line: figures that add up, files, configurations, references, and
# a message for everything that is wrong.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
ini=examples/hbm/dramsim3_hbm2.ini

# one pattern, in words: bandwidth, rows, latencies with bars, idle latencies
expect 0 'GB/s, ' mem --tpu v4 --bytes 8M
for text in 'v4: 32 GiB, 64 pseudo-channels of 16 banks, rows of 1 KiB; peak 1199.8 GB/s' \
    'accesses of 4 KiB in order, up to 1 every 0.952 ns, at most 64 in flight' \
    'seq: 8 MiB in 2,048 accesses' 'row hits ' 'read latency' '####' \
    'row hit: its row is open' 'conflict: its bank has another row open'; do
    grep -qF -- "$text" "$work/log" || fail "no \"$text\" in $(cat "$work/log")"
done
expect 0 'write latency' mem --tpu v4 --bytes 1M --writes
expect 0 'accesses of 512 B in order, up to 4 every 1.064 ns, as many in flight as the memory' \
    mem --bytes 1M --access 512 --per-cycle 4 --in-flight 0
expect 0 'of the bytes' mem --bytes 1M --pattern copy
expect 0 'random_mix:70' mem --bytes 1M --pattern all --tpu tiny
expect 0 'peak 449.9 GB/s' mem --bytes 1M --set hbm.channels=32

# the CSV: time, bytes and rate of every pattern agree, shares of rows add up
expect 0 'stride_wr:8192' mem --bytes 2M --pattern seq,copy,random_mix:30,stride_wr:8K \
    --csv "$work/csv" --json "$work/json"
[ "$(wc -l <"$work/csv")" -eq 5 ] || fail "rows: $(cat "$work/csv")"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { d = ($at["read_bytes"] + $at["write_bytes"]) / $at["time_ns"] / $at["gbps"] - 1
      rows = $at["row_hit_percent"] + $at["row_closed_percent"] + $at["row_conflict_percent"]
      if (d > 1e-6 || d < -1e-6 || rows < 99.999 || rows > 100.001 ||
          $at["read_bytes"] + $at["write_bytes"] != 2097152 ||
          $at["accesses"] * $at["access_bytes"] != 2097152 || $at["peak_percent"] > 100) exit 1 }' \
    "$work/csv" || fail "figures that do not add up: $(cat "$work/csv")"
grep -q '"pattern": "random_mix:30"' "$work/json" || fail 'no pattern in the JSON'
grep -q '"hit": ' "$work/json" || fail 'no idle latencies in the JSON'
cp "$work/csv" "$work/before"
expect 0 'GB/s' mem --bytes 2M --pattern seq,copy,random_mix:30,stride_wr:8K --csv "$work/csv"
cmp -s "$work/csv" "$work/before" || fail 'the same run gave other figures'

# configurations: a driver of its own, a whole chip's file, changes from the command line
expect 0 'accesses of 64 B in order, up to 8 every 1.000 ns, as many in flight' \
    mem --config $ini --bytes 256K
expect 0 'dramsim3_hbm2.ini: 8 GiB, 8 pseudo-channels' mem --config $ini --bytes 256K
expect 0 'peak 512.0 GB/s' mem --config $ini --bytes 256K --set hbm.burst_ps=1000 \
    --set hbm.tccd_l_ps=1000
expect 0 'v5e.ini: 16 GiB, 32 pseudo-channels' mem --config sim/chips/v5e.ini --bytes 1M
"$systole" mem --tpu v5e --bytes 1M | sed '1d;/host/d' >"$work/chip"
"$systole" mem --config sim/chips/v5e.ini --bytes 1M | sed '1d;/host/d' | cmp -s - "$work/chip" ||
    fail "a chip and its file differ"

# what is wrong with sizes and patterns
expect 2 '--bytes is "0", allowed are sizes from 1 byte' mem --bytes 0
expect 2 '--bytes is "1.5M"' mem --bytes 1.5M
expect 2 '--access is "x"' mem --access x
expect 2 '--per-cycle is "0", allowed are whole numbers in 1..1024' mem --per-cycle 0
expect 2 '--in-flight is "-1", allowed are whole numbers in 0..1000000' mem --in-flight -1
expect 2 '--footprint is "0"' mem --footprint 0
refuse '--bytes is 64 GiB, v4 has 32 GiB' mem --tpu v4 --bytes 64G
refuse '--footprint is 33 GiB, v4 has 32 GiB' mem --tpu v4 --footprint 33G
refuse 'an access of 64 GiB does not fit into the 32 GiB of v4' mem --tpu v4 --access 64G
refuse 'unknown pattern "sek" (did you mean "seq"?); there are seq, stride:BYTES' \
    mem --pattern sek
refuse 'unknown pattern ""' mem --pattern seq,
refuse 'expected a stride of at least 1 byte' mem --pattern stride:0
refuse 'a stride of 512 bytes is no multiple of an access of 4096 bytes; the nearest is 4096' \
    mem --pattern stride:512
refuse 'expected a percentage of reads in 0..100, as in mix:70' mem --pattern mix:120
refuse 'no multiple of two accesses of 4096 bytes; the nearest below is 8192' \
    mem --pattern copy --footprint 12K
refuse 'at most 32 patterns' mem --pattern "$(yes seq | head -33 | paste -sd,)"
expect 2 'no argument expected: seq' mem seq
refuse 'unknown chip' mem --tpu v44
refuse 'unknown key "hbm.tcrcd_ps" (did you mean "hbm.trcd_ps"?)' mem --set hbm.tcrcd_ps=1
refuse 'cannot write' mem --csv "$work/no/where"
[ -e "$work/no" ] && fail 'something was left behind'

# what is wrong with configurations: the line, the key, the nearest name
wrong() {                               # TEXT SED-SCRIPT
    sed "$2" $ini >"$work/wrong.ini"
    refuse "wrong.ini:$1" mem --config "$work/wrong.ini" --bytes 64K
}
line() { grep -n "^$1" $ini | cut -d: -f1; }
wrong "$(line trcd_ps): unknown key \"hbm.tcrcd_ps\" (did you mean \"hbm.trcd_ps\"?)" \
    's/^trcd_ps/tcrcd_ps/'
wrong "$(line '\[hbm\]'): missing key \"hbm.trcd_ps\"" '/^trcd_ps/d'
wrong "$(line trcd_ps): hbm.trcd_ps: expected an integer in 0..1000000, found \"fast\"" \
    's/^trcd_ps.*/trcd_ps = fast/'
wrong "$(line cycle_ps): unknown key \"driver.cycles_ps\" (did you mean \"driver.cycle_ps\"?)" \
    's/^cycle_ps/cycles_ps/'
wrong "$(line cycle_ps): driver.cycle_ps: expected an integer in 1..1000000, found \"0\"" \
    's/^cycle_ps.*/cycle_ps = 0/'
wrong "$(line cycle_ps): expected [section], key = value or a comment" 's/^cycle_ps.*/cycle/'
wrong "$(line per_cycle): \"driver.cycle_ps\" stands twice; first in line $(line cycle_ps)" \
    's/^per_cycle/cycle_ps/'
wrong "$(line judged): reference.judged: expected an integer in 0..1, found \"yes\"" \
    's/^judged.*/judged = yes/'
wrong "$(line mapping): reference.mapping: expected 1..63 characters" 's/^mapping.*/mapping =/'
wrong "$(line map): controller.map: " 's/^map = column/map = colum/'
wrong "$(line map): controller.map: hbm.map must have as many channels as the memory" \
    's/^map = column:32 channel:8/map = column:32 channel:4/'
wrong "$(line map): controller.map keeps 2048 bytes on one channel, hbm.interleave_bytes is 1024" \
    's/^interleave_bytes = 2048/interleave_bytes = 1024/'
wrong "$(line '\[driver\]'): unknown section [drivers] (did you mean \"driver\"?)" \
    's/^\[driver\]/[drivers]/'
wrong "$(line '\[hbm\]'): unknown section [hbmm] (did you mean \"hbm\"?)" 's/^\[hbm\]/[hbmm]/'
refuse 'cannot open: No such file or directory' mem --config "$work/none.ini"
refuse 'missing section [hbm]' mem --config /dev/null
printf 'gib = 8\0\n' >"$work/zero.ini"
refuse 'contains a zero byte' mem --config "$work/zero.ini"
expect 2 '--tpu and --config do not go together' mem --tpu v4 --config $ini
expect 2 'only --reference takes several configurations' mem --config $ini --config $ini

# references: rows made up around what we have ourselves
head='simulator,mapping,pattern,accesses_64B,achieved_gbps,avg_read_latency_cycles,row_hit_rate'
row() { echo "dramsim3,HBM2_8Gb_x128.ini,$1,20000,$2,80,0.9"; }
gbps() { "$systole" mem --config $ini --bytes 1280000 --pattern "$1" --csv "$work/csv" \
    >/dev/null; awk -F, 'NR == 2 { print $8 }' "$work/csv"; }
seq=$(gbps seq) random=$(gbps random)
{ echo "$head"; row seq_rd "$seq"; row rand_rd "$(echo "$random" | awk '{ print $1 * 1.08 }')"
  echo "other,thing,seq_rd,1,1,1,1"; } >"$work/ref.csv"
expect 0 'within 5 %' mem --reference "$work/ref.csv" $ini
grep -q ' [+]0.0 % .*within 5 %' "$work/log" || fail "$(cat "$work/log")"
grep -q 'random .*-7.4 % .*within 10 %' "$work/log" || fail "$(cat "$work/log")"
grep -q '^1 rows of other configurations left out' "$work/log" || fail "$(cat "$work/log")"
{ echo "$head"; row seq_rd "$(echo "$seq" | awk '{ print $1 * 1.08 }')"; } >"$work/ref.csv"
expect 1 'MISSES 5 %' mem --reference "$work/ref.csv" $ini
sed 's/^judged.*/judged = 0/' $ini >"$work/reported.ini"
expect 0 'reported' mem --reference "$work/ref.csv" "$work/reported.ini"
refused_row() {                         # TEXT ROW
    { echo "$head"; echo "$2"; } >"$work/ref.csv"
    expect 1 "$1" mem --reference "$work/ref.csv" $ini
}
{ echo "$head"; row sec_rd 1; row seq_rd "$seq"; } >"$work/ref.csv"
expect 0 'line 2 is left out: unknown pattern "sec_rd" (did you mean "seq_rd"?)' \
    mem --reference "$work/ref.csv" $ini
grep -q 'within 5 %' "$work/log" || fail "the row after an unknown pattern: $(cat "$work/log")"
refused_row 'ref.csv:2: achieved_gbps: expected a number' "$(row seq_rd fast)"
refused_row 'ref.csv:2: accesses_64B: expected a whole number' 'a,b,seq_rd,0,1,1,1'
refused_row 'ref.csv:2: 3 columns, and no accesses_64B' 'a,b,seq_rd'
refused_row 'ref.csv: no row is of a configuration given' 'a,b,seq_rd,1,1,1,1'
echo 'simulator,mapping' >"$work/ref.csv"
refuse 'ref.csv:1: no column "pattern" in the heading' mem --reference "$work/ref.csv" $ini
refuse 'cannot open' mem --reference "$work/none.csv" $ini
expect 2 '--reference needs the configurations' mem --reference "$work/ref.csv"
expect 2 '--reference drives what its rows say' mem --reference "$work/ref.csv" $ini --bytes 1M

# the rows of DRAMsim3 are met; those of the other mappings run; injection by 1, 2 and 3
for try in "$SYSTOLE_SHARED" ../shared; do
    [ -n "$try" ] && [ -z "$rows" ] && [ -r "$try/reference/hbm/hbm2_patterns.csv" ] &&
        rows=$try/reference/hbm/hbm2_patterns.csv
done
if [ -n "$rows" ]; then
    expect 0 'within 5 %' mem --reference "$rows" examples/hbm/*.ini
    [ "$(grep -c ' within [0-9]* %$' "$work/log")" -eq 5 ] || fail "$(cat "$work/log")"
    [ "$(grep -c ' reported$' "$work/log")" -eq 20 ] || fail "$(cat "$work/log")"
else
    echo 'skipped: no reference/hbm/hbm2_patterns.csv under SYSTOLE_SHARED or ../shared'
fi
while read -r per_cycle share; do
    "$systole" mem --config $ini --bytes 12800000 --per-cycle "$per_cycle" --csv "$work/csv" \
        >/dev/null || fail "per cycle $per_cycle"
    awk -F, -v share="$share" 'NR == 2 { exit !($9 / 100 / share < 1.01 && $9 / 100 / share > 0.99) }' \
        "$work/csv" || fail "$per_cycle per cycle, $share of the peak expected: $(cat "$work/csv")"
done <<END
1 0.246
2 0.471
3 0.697
4 0.922
END
"$systole" mem --config $ini --bytes 64K --json "$work/json" >/dev/null
awk '/"hit":/ { exit !($2 + 0 >= 18 && $2 + 0 <= 21) }' "$work/json" || fail 'idle latency of a hit'
awk '/"random":/ { exit !($2 + 0 >= 34.7 && $2 + 0 <= 42.5) }' "$work/json" ||
    fail 'idle latency of random reads'

# the tool that holds a core's ceiling against streaming operations: one that moves 8 MB at
# exactly 400 GB/s (372.529 GiB/s), others that do not stream
cat >"$work/ops.csv" <<'END'
Category,HLO op,Avg. self time (us),Measured Memory BW (GiB/s),Operational Intensity (FLOP/Byte)
loop fusion,"%f = ""f32""[1,2] fusion(f32[1,2] %a)",20,372.529,0.2
loop fusion,%f = f32 fusion(),20,372.529,0.2
loop fusion,small(%a),2,372.529,0.2
reduce,much work(%a),20,372.529,30
all-reduce,"%a(b,c)",20,372.529,0
END
SYSTOLE=$systole sh tools/hbm_ceiling.sh 400,800 "$work/ops.csv" >"$work/log" ||
    fail "$(cat "$work/log")"
grep -q '^1 of 5 operations stream; the fastest moves 400 GB/s' "$work/log" ||
    fail "$(cat "$work/log")"
# at 400 the share that a stream reaches is all that is lost; at 800 half of that time
awk '/a stream of reads/ { s = $6 / 100 } $2 == 400 { a = $7 / 100 } $2 == 800 { b = $7 / 100 }
    END { exit !(a - (1 / s - 1) < 0.002 && (1 / s - 1) - a < 0.002 &&
                 b - (1 - 0.5 / s) < 0.002 && (1 - 0.5 / s) - b < 0.002) }' "$work/log" ||
    fail "$(cat "$work/log")"
echo 'Rank,Category' >"$work/ops.csv"
SYSTOLE=$systole sh tools/hbm_ceiling.sh 400 "$work/ops.csv" >"$work/log" && fail 'no statistics'
grep -q 'no statistics of operations' "$work/log" || fail "$(cat "$work/log")"
SYSTOLE=$systole sh tools/hbm_ceiling.sh 400 "$work/none.csv" >"$work/log" && fail 'no file'
sh tools/hbm_ceiling.sh >"$work/log"
[ $? -eq 2 ] && grep -q '^usage: sh tools/hbm_ceiling.sh' "$work/log" || fail "$(cat "$work/log")"

[ $failures -eq 0 ]
