#!/bin/sh
# What copies of known sizes take on a TPU, and here: start-up time, streaming, a kernel's floor.
#
# usage: sh tools/copies.sh [--csv]
#
# Each row is a small program for every core named, run by systole run --mode timing. What is
# measured: YUT, profiles of fusions on a v4 whose two cores work as one device (each copies half
# here); HBMCOPY, Google's microbenchmark of copies on v7x, all cores at a time, reads and writes
# counted together. Columns: bytes of the device, measured and simulated microseconds, deviation.
cd "$(dirname "$0")/.." || exit 1
systole=${SYSTOLE:-./systole}
case ${1-} in "") csv=0;; --csv) csv=1;; *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# cycles CHIP: simulated microseconds of $work/p.tasm on all cores of a chip, without the launch
simulate() {
    "$systole" run "$work/p.tasm" --tpu "$1" --all-cores --mode timing >"$work/out" || exit 1
    sed -n 's/^  [0-9,]* cycles = \([0-9.,]*\) us.*/\1/p' "$work/out" | tr -d ,
}

row() {                     # what, chip, bytes, measured us, source; $work/p.tasm is the program
    simulated=$(simulate "$2")
    if [ $csv = 1 ]; then
        printf '%s,%s,%s,%s,%s,%s\n' "$1" "$2" "$3" "$4" "$simulated" "$5"
        return
    fi
    awk -v w="$1" -v c="$2" -v b="$3" -v m="$4" -v s="$simulated" -v f="$5" 'BEGIN {
        printf "%-22s %-4s %12d B %10.2f us %10.2f us %+7.1f %%  %s\n", w, c, b, m, s,
               100 * (s - m) / m, f }'
}

copy() {                    # mnemonic, granules of a core, destination granule
    printf '{ s0 = smov %s }\n{ s1 = smov %s }\n{ %s 0, s0, s1, [sflag:0] }\n' "$2" "$3" "$1"
    printf '{ dma.done.wait [sflag:0], s0 }\n{ vsyncset [sflag:0], 0 }\n'
}

us() {                      # an expression
    awk "BEGIN { printf \"%.4f\", $1 }"
}

if [ $csv = 1 ]; then
    echo what,chip,bytes,measured_us,simulated_us,source
else
    printf '%-22s %-4s %14s %13s %13s %9s  %s\n' what chip bytes measured simulated deviation source
fi

# 0.45 us up to 2 KB; 0.34 us + bytes / 0.997 TB/s from 2 to 17 MB
{ copy dma.hbm_to_cmem 32 0; echo '{ shalt }'; } >"$work/p.tasm"
row "copy HBM to CMEM" v4 2048 0.45 YUT
for mib in 2 4 8 16; do
    { copy dma.hbm_to_cmem $((mib * 16384)) 0; echo '{ shalt }'; } >"$work/p.tasm"
    row "copy HBM to CMEM" v4 $((mib * 1048576)) "$(us "0.34 + $mib * 1.048576 / 0.997")" YUT
done

# one tile per core comes in, is added to itself and goes out: the intercept of an add
{ copy dma.hbm_to_vmem 128 0; echo '{ v0 = vld [vmem:0] }'; echo '{ v0 = vadd.f32 v0, v0 }'
  echo '{ vst [vmem:0] v0 }'; echo '{ sfence }'; copy dma.vmem_to_hbm 128 4096
  echo '{ shalt }'; } >"$work/p.tasm"
row "add of one tile" v4 8192 0.98 YUT

# bytes of a core over measured GB/s of reads and writes together
for pair in 2:1379.335 512:3199.021; do
    mib=${pair%%:*} gbps=${pair##*:}
    { copy dma.hbm_to_hbm $((mib * 32768)) 100000000; echo '{ shalt }'; } >"$work/p.tasm"
    row "copy HBM to HBM" v7x $((mib * 2 * 1048576)) \
        "$(us "2 * $mib * 1048.576 / $gbps")" HBMCOPY
done
