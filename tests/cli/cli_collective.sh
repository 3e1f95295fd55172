#!/bin/sh
# systole collective: times beside bounds on both engines, sweeps, a formula's costs, and what
# cannot be, with what can.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

# the page
expect 0 'all-reduce of 16 MiB on v4-128: 4x4x4 chips, 128 cores, torus' \
    collective all-reduce --bytes 16M --tpu v4-128 --algo torus --engine steps
for line in '  ranks         64 chips, each with 16 MiB of f32, 1/2 of it on each of its cores' \
    '  algorithm     torus, steps in chunks of ' '  engine        steps: asked for; ' \
    ', one chip for all 64' '  simulated time  ' '  bus bandwidth  ' '  closed-form bound  ' \
    '  efficiency  ' '  published equation  ' '  links busy  ' 'host time '; do
    grep -qF -- "$line" "$work/log" || fail "no \"$line\" in: $(cat "$work/log")"
done
expect 0 '  ranks         4 cores, each with 4 KiB of bf16; 4 such groups side by side' \
    collective all-gather --bytes 4K --tpu v5e-16 --type bf16 --axes y --algo ring
expect 0 '128 cores, each with 1 MiB of f32' \
    collective all-reduce --bytes 1M --tpu v4-128 --over cores --algo torus --engine steps
expect 0 '  engine        cores: programs on 8 cores would take less than 0.1 s of this host; ' \
    collective all-reduce --bytes 64K --tpu v4-8
expect 0 '  engine        steps: programs on 8192 cores would take about ' \
    collective all-reduce --bytes 64M --tpu v4-8192 --algo torus
for kind in all-reduce all-gather barrier; do        # thousands of cores: seconds to make them
    set -- $kind --tpu v4-8192 --engine auto
    [ $kind = barrier ] || set -- "$@" --bytes 256K
    expect 0 '  engine        steps: programs on 8192 cores would take about ' collective "$@"
done

# 256 MiB over six links of 50 x 128/142 GB/s: 2 x 4095/4096 x 2^28 / 270.42e9 = 1.985 ms
expect 0 'the bandwidth of the links (bandwidth 1.985 ms, ' \
    collective all-reduce --bytes 256M --tpu v4-8192 --algo torus

# chunks as they are chosen: nine tenths of it at least, and few enough operations to simulate
# every chip of the pod
grep '%  of the bound' "$work/log" | awk '{ x = $2 } END { exit !(x >= 90) }' ||
    fail "an all-reduce of 256 MiB: $(cat "$work/log")"
sed -n 's/.*host; \([0-9,]*\) operations.*/\1/p' "$work/log" | tr -d , |
    awk '{ x = $1 } END { exit !(x > 0 && x <= 100e6) }' ||
    fail "too many operations: $(cat "$work/log")"

# what auto chose by: a time for each algorithm that can, the least taken
"$systole" collective all-reduce --bytes 64M --tpu v4-8192 --json "$work/one.json" >"$work/log"
p=', biring .*, torus .* (taken), tree .*; not for this size: exchange'
grep -q "^  predicted     ring .*$p\$" \
    "$work/log" || fail "no predictions: $(cat "$work/log")"
sed -n '/"predicted_us"/,/}/p' "$work/one.json" | tr -d ' ",' |
    awk -F: '/^[a-z]+:[0-9]/ { n++; t[$1] = $2; if (!best || $2 < t[best]) best = $1 }
        END { exit !(n == 4 && best == "torus") }' || fail "predictions: $(cat "$work/one.json")"
expect 0 '; not for this size and chunk: exchange' \
    collective all-reduce --bytes 4K --tpu v4-8 --chunk 1K
expect 0 '  algorithm     direct (the only one for permute)' \
    collective permute --bytes 4K --tpu v4-8
expect 0 ' (alone: there is nothing to send)' collective all-reduce --bytes 4K --tpu v5e-1
expect 0 '  ranks         1 core, each with 4 KiB' collective all-reduce --bytes 4K --tpu v5e-1
"$systole" collective all-reduce --bytes 4K --tpu v4-8 --algo ring >"$work/log"
grep -q '^  predicted' "$work/log" && fail "predictions not asked for: $(cat "$work/log")"

# one chip for all, or every chip: the same times, of every algorithm that does the kind
for tpu in v4-16 v4-128 v5p-128 v7x-64; do
    for kind in all-reduce reduce-scatter all-gather all-to-all broadcast permute; do
        set -- collective $kind --tpu $tpu --engine steps --sweep bytes=64K,1M --sweep algo=all
        "$systole" "$@" --csv "$work/one" >"$work/log" || fail "$kind on $tpu: $(cat "$work/log")"
        "$systole" "$@" --csv "$work/all" --no-symmetry >"$work/log"
        cut -d, -f1-21 "$work/one" >"$work/one.cut"
        cut -d, -f1-21 "$work/all" | cmp -s - "$work/one.cut" ||
            fail "$kind on $tpu: $(diff "$work/one" "$work/all")"
    done
done
"$systole" collective all-reduce --bytes 1M --tpu v7x-64 --algo torus --engine steps >"$work/log"
grep -q 'one chip for all 64' "$work/log" || fail "no symmetry: $(cat "$work/log")"

# Both engines: within 5 %. Step by step knows no banks and queues of the HBM, so a read or write
# of a busy one is up to 0.4 us sooner there; plans hide that behind other chunks, and what is
# left of it, and who goes first of those who meet, is less than a twentieth.
microseconds() { "$systole" collective "$@" --csv - | tail -1 | cut -d, -f10; }
while read -r kind bytes tpu algo; do
    cores=$(microseconds "$kind" --bytes "$bytes" --tpu "$tpu" --algo "$algo" --engine cores)
    steps=$(microseconds "$kind" --bytes "$bytes" --tpu "$tpu" --algo "$algo" --engine steps)
    echo "$cores $steps" | awk '{ exit !($1 > 0 && $2 > 0.95 * $1 && $2 < 1.05 * $1) }' ||
        fail "$kind $bytes on $tpu by $algo: $steps us step by step, $cores us on cores"
done <<END
all-reduce 64K v4-128 torus
all-reduce 4K v4-128 exchange
all-gather 1M v5e-16 ring
reduce-scatter 1M v5e-16 torus
all-reduce 64K v3-32 biring
all-to-all 64K v4-16 direct
broadcast 64K v5e-16 direct
all-reduce 1M v4-8 tree
all-reduce 16M v5e-16 torus
all-gather 16M v5e-16 biring
all-gather 16M v3-32 torus
all-reduce 16M v4-16 torus
all-gather 8M v7x-8 torus
END

# and programs on the cores reach nine tenths of the bound where bytes count
for request in '16M --tpu v5e-16' '16M --tpu v4-8' '32M --tpu v3-32 --over chips'; do
    expect 0 '  of the bound' collective all-reduce --algo torus --engine cores --bytes $request
    grep '%  of the bound' "$work/log" | awk '{ exit !($2 >= 90) }' ||
        fail "all-reduce of $request: $(cat "$work/log")"
done

# every kind on small slices of every build
for tpu in v4-8 v3-8 v5e-16 v7x-4 v4-128; do
    for kind in permute all-to-all broadcast; do
        expect 0 "$kind of 64 KiB on $tpu: " collective $kind --tpu $tpu --bytes 64K
    done
    expect 0 "barrier on $tpu: " collective barrier --tpu $tpu
    grep -q 'bandwidth  \|nan\|inf' "$work/log" && fail "a barrier's page: $(cat "$work/log")"
done
expect 0 '  ranks         4 chips; each of their 2 cores waits for the same core of the others' \
    collective barrier --tpu v4-8
refuse 'a barrier moves no bytes' collective barrier --bytes 4K

# data
expect 0 '  values                right: ' \
    collective reduce-scatter --bytes 64K --tpu v4-16 --algo biring --check
expect 2 '--check is about data' collective all-reduce --bytes 64K --check --engine steps

# files
expect 0 'simulated time' collective all-reduce --bytes 1M --tpu v4-8 --csv "$work/one.csv" \
    --json "$work/one.json"
[ "$(wc -l <"$work/one.csv")" -eq 2 ] || fail "one.csv: $(cat "$work/one.csv")"
grep -q '"algo": "torus"' "$work/one.json" || fail "one.json: $(cat "$work/one.json")"
expect 0 'of bound' collective all-reduce --tpu v4-128 --algo torus --engine steps \
    --sweep bytes=64K:1M:x4 --sweep type=f32,bf16 --csv "$work/sweep.csv"
[ "$(wc -l <"$work/sweep.csv")" -eq 7 ] || fail "sweep.csv: $(cat "$work/sweep.csv")"
[ "$(cut -d, -f5 "$work/sweep.csv" | sort -un | tr '\n' ' ')" = "bytes 65536 262144 1048576 " ] ||
    fail "bytes of the sweep: $(cut -d, -f5 "$work/sweep.csv")"
expect 0 'left out: direct does not do all-reduce' collective all-reduce --bytes 64K --tpu v4-8 \
    --sweep algo=all
[ "$(grep -c ' cores ' "$work/log")" -eq 5 ] || fail "algo=all: $(cat "$work/log")"

# what cannot be
refuse 'takes multiples of 4,096 bytes; the nearest are 999424 and 1003520' \
    collective all-reduce --bytes 1000001 --tpu v4-128 --algo ring
refuse '68719476736 bytes do not fit the 32 GiB of HBM of a chip, with all that all-reduce needs; '\
'at most 34359738368' collective all-reduce --bytes 64G --tpu v4-128
refuse '34359738368 bytes do not fit the 32 GiB of HBM of a chip, which its 2 cores share' \
    collective all-reduce --bytes 32G --tpu v3-8
refuse 'which does not hold them; at most 8388608 bytes, or take torus' \
    collective all-reduce --bytes 64M --tpu v4-8 --algo exchange
refuse 'takes multiples of 262,144 bytes, so at least that' \
    collective all-reduce --bytes 4K --tpu v4-8192 --algo torus
refuse 'takes multiples of 2,048 bytes; the nearest are 2048 and 4096' \
    collective all-reduce --bytes 2560 --tpu v5e-16 --algo ring \
    --costs examples/collectives/astra.ini
refuse 'chunks of 1000 bytes are not whole rows of 512 bytes; the nearest are 512 and 1024' \
    collective all-reduce --bytes 1M --tpu v4-128 --chunk 1000
refuse 'chunks of 100 bytes are less than a row of VMEM; the least is 512' \
    collective broadcast --bytes 1M --tpu v4-8 --chunk 100 --algo tree
refuse 'chunks of 16777216 bytes do not fit VMEM with 1 channel; at most ' \
    collective all-reduce --bytes 256M --tpu v4-8 --algo ring --chunk 16M
refuse 'direct does not cut arrays into chunks; leave the chunk out' \
    collective permute --bytes 1M --tpu v4-8 --chunk 4K
expect 0 '  algorithm     ring, steps in chunks of 256 KiB' \
    collective all-reduce --bytes 2M --tpu v4-8 --algo ring --chunk 1G
expect 2 '--chunk is "0", allowed are sizes from 1 byte' collective all-reduce --bytes 1M --chunk 0
expect 2 '--chunk is "-1", allowed are sizes from 1 byte' \
    collective all-reduce --bytes 1M --chunk -1
refuse 'no slice "v4-100" (nearest: v4-128)' collective all-reduce --bytes 1M --tpu v4-100
refuse '--axes names z; the chips of v5e-64 stand in a grid of x and y' \
    collective all-reduce --bytes 1M --axes z --tpu v5e-64
refuse 'ring does not do broadcast' collective broadcast --bytes 1M --algo ring
refuse 'no rank 9999 to be the root; ranks are 0 to 63' \
    collective broadcast --bytes 1M --algo tree --root 9999
refuse 'cannot write /nowhere/x.csv' collective all-reduce --bytes 1M --csv /nowhere/x.csv
expect 2 'which collective?' collective --bytes 1M
expect 2 'how many bytes has each device? (--bytes 256M)' collective all-reduce
expect 2 'only one collective may be given, not all-reduce and barrier' collective all-reduce barrier
expect 2 '(did you mean "all-reduce"?)' collective allreduce --bytes 1M
expect 2 '(did you mean "ring"?)' collective all-reduce --bytes 1M --algo rong
expect 2 '--bytes is "0", allowed are sizes from 1 byte to 1 TiB' collective all-reduce --bytes 0
expect 2 '--chunk is "x", allowed are sizes' collective all-reduce --bytes 1M --chunk x
expect 2 '--type is "f16", allowed are f32, bf16' collective all-reduce --bytes 1M --type f16
expect 2 '--over is "chip", allowed are chips, cores (did you mean "chips"?)' \
    collective all-reduce --bytes 1M --over chip
expect 2 '--axes is "xx", allowed are x, y and z, each once' \
    collective all-reduce --bytes 1M --axes xx
expect 2 '--axes is empty' collective all-reduce --bytes 1M --axes ''
expect 2 '--root is "-1", allowed are whole numbers in 0..' \
    collective broadcast --bytes 1M --root=-1
expect 2 '--engine is "step", allowed are auto, cores, steps (did you mean "steps"?)' \
    collective all-reduce --bytes 1M --engine step
expect 2 '--threads is "0", allowed are whole numbers in 1..256' \
    collective all-reduce --bytes 1M --threads 0
expect 2 '--json is for one collective; a sweep writes --csv' \
    collective all-reduce --bytes 1M --json x --sweep algo=all
expect 2 '--costs replaces the chip' collective all-reduce --bytes 1M --engine cores --costs x

# sweeps that are none
for wrong in 'bytes|write KEY=VALUES, as in bytes=4K:1G:x4' '=1|write KEY=VALUES' \
    'bytes=1K:2K|is no range' 'bytes=1K:2K:3|is no range' 'bytes=2K:1K:x2|goes down' \
    'bytes=1,,2|an empty value' 'size=1|no option "size"' 'algo=rong|(did you mean "ring"?)' \
    'bytes=1:1M:+1|more than 256 values'; do
    refuse "${wrong#*|}" collective all-reduce --tpu v4-8 --bytes 1M --sweep "${wrong%%|*}"
done
refuse 'is given twice' collective all-reduce --sweep bytes=4K --sweep bytes=8K

# a formula's costs
formula=examples/collectives/astra.ini
expect 0 '  engine        steps: costs of examples/collectives/astra.ini' \
    collective all-reduce --bytes 1M --tpu v5e-16 --algo ring --costs $formula
refuse 'nowhere.ini: cannot read it' collective all-reduce --bytes 1M --costs nowhere.ini
change() {          # SED TEXT: a changed formula is refused
    sed "$1" $formula >"$work/costs.ini"
    refuse "$2" collective all-reduce --bytes 1M --tpu v5e-16 --costs "$work/costs.ini"
}
change 's/^gbps = [0-9.]*/gbps = fast/' 'link.gbps is "fast", allowed are numbers in 0.001..1e+06'
change 's/^hop_ns.*//' 'link.hop_ns is missing'
change 's/^hop_ns/gbps/' 'link.gbps stands there twice'
change 's/^hop_ns/hops/' 'no such key: link.hops'
change 's/^series = 4/series = 1.5/' 'array.series is 1.5, allowed are whole numbers in 1..1024'
change 's/^hop_ns.*/what is this/' 'neither [section] nor key = value'

[ $failures -eq 0 ]
