#!/bin/sh
# Holds what the program computes against itself: built by every compiler found, at -O0 to -O3, on
# every SIMD path, with 1 to 8 threads, in five locales, each alone and 40 combinations drawn of
# them, weights, logs, cycles and the graphs of other frameworks' programs have one hash. A build by a compiler that warns fails, too.
#
#   sh tools/same_by_compilers.sh [SEED]
#
# COMPILERS names the compilers (default: gcc-12 gcc-13 gcc-14 clang-14 clang-19, those that are
# there), BUILDS where builds go and stay (default: build/compilers), DRAWN how many combinations.
cd "$(dirname "$0")/.." || exit 1
builds=${BUILDS:-build/compilers}
seed=${1:-1}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

[ -n "$COMPILERS" ] || for c in gcc-12 gcc-13 gcc-14 clang-14 clang-19; do
    command -v $c >/dev/null && COMPILERS="$COMPILERS $c"
done
[ -n "$COMPILERS" ] || { echo "skipped: no compiler of those named above is here"; exit 0; }

# build COMPILER LEVEL: its program in $builds/COMPILER-LEVEL
build() {
    make CC="$1" OPT="-O$2" WERROR=1 BUILD="$builds/$1-O$2" "$builds/$1-O$2/systole" \
        >"$work/log" 2>&1 || { tail -20 "$work/log"; echo "FAILED: $1 -O$2"; exit 1; }
    made="$made $1-O$2"
}

# hash_of BUILD PATH THREADS LOCALE: of all that a few commands leave, but for times of the host
hash_of() {
    rm -rf "$work/out"
    mkdir "$work/out"
    systole=$(realpath "$builds/$1/systole")
    (
        export LC_ALL="$4"
        "$systole" train examples/mnist_mlp.json --tpu v3-8 --batch 64 --steps 3 \
            --validation-steps 1 --simd "$2" --threads "$3" --checkpoint "$work/out/ck" \
            --csv-log "$work/out/log.csv" --out "$work/out/k" --no-trace >/dev/null
        "$systole" gemm 256x384x128 --simd "$2" --out-npy "$work/out/c.npy" >/dev/null
        "$systole" run examples/06_cross_lane_softmax.tasm --simd "$2" --dump 0x1000:8x128 \
            >"$work/out/softmax"
        "$systole" collective all-reduce --bytes 64K --tpu v4-8 --threads "$3" \
            >"$work/out/collective"
        "$systole" mem --tpu v5e --bytes 64K >"$work/out/mem"
        for name in complex_matrices kalman_filter spectral_filter sort_statistics beam_search; do
            "$systole" compile tests/import/data/programs/$name.mlirbc --tpu v5e --emit graph
        done >"$work/out/graphs"
    ) 2>"$work/log" || { cat "$work/log"; echo "FAILED: $*"; failures=$((failures + 1)); }
    find "$work/out" -type f ! -name config.ini ! -name report.txt ! -name 'stats.*' |
        LC_ALL=C sort | xargs cat "$work/out/k/stats.json" |
        LC_ALL=C sed '/^ "host": {/,/^ }/d; /"host_us"/d; /"host_seconds"/d; /^host /d' |
        sha256sum | cut -c 1-16
}

# try BUILD PATH THREADS LOCALE
try() {
    got=$(hash_of "$@")
    [ -n "$wanted" ] || wanted=$got
    [ "$got" = "$wanted" ] && return
    echo "FAILED: $* gives $got, not $wanted"
    failures=$((failures + 1))
}

paths=c
for path in avx2 avx512 avx512bf16; do      # of those that this host has
    "${SYSTOLE:-./systole}" run examples/01_vector_add.tasm --simd $path >/dev/null 2>&1 &&
        paths="$paths $path"
done
locales=C
for name in de_DE fr_FR tr_TR hi_IN; do     # commas, and letters that are not what they seem
    locale -a 2>/dev/null | grep -qi "^$name.utf-*8$" && locales="$locales $name.UTF-8"
done
best=${paths##* }

for compiler in $COMPILERS; do build "$compiler" 2; done
first=$(echo $COMPILERS | cut -d ' ' -f 1)
for level in 0 1 3; do build "$first" $level; done

for one in $made; do try "$one" "$best" 1 C; done
for path in $paths; do try "$first-O2" "$path" 1 C; done
for threads in 1 2 3 4 5 6 7 8; do try "$first-O2" "$best" $threads C; done
for name in $locales; do try "$first-O2" "$best" 1 "$name"; done

# the Nth word, counted from 0, of those given
pick() { n=$1; shift; shift $((n % $#)); echo "$1"; }
drawn=0
for number in $(awk -v seed="$seed" -v n="${DRAWN:-40}" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) print int(rand() * 1e9) }'); do
    # shellcheck disable=SC2086
    try "$(pick $number $made)" "$(pick $((number / 100)) $paths)" \
        $((1 + number / 10000 % 8)) "$(pick $((number / 1000000)) $locales)"
    drawn=$((drawn + 1))
done
echo "$made; $paths; 1 to 8 threads; $locales; $drawn drawn with seed $seed: $wanted"
[ $failures -eq 0 ]
