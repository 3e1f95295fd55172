#!/bin/sh
# systole roofline at the command line: real runs, pictures, messages.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

train() { "$systole" train examples/mnist_mlp.json --steps 1 --batch 64 "$@" >"$work/log" 2>&1 ||
    fail "train $*: $(cat "$work/log")"; }
train --tpu v3 --out "$work/v3" --trace "$work/v3.strace"
train --tpu v6e --out "$work/v6e"
train --backend host --out "$work/host"

expect 0 'whole step' roofline "$work/v3"
expect 0 '61.6 TFLOP/s   reached from 136.9 FLOP per byte of HBM on' roofline "$work/v3"
expect 0 'plot in' roofline "$work/v3" "$work/v6e" --svg "$work/both.svg"
grep -q 'int8 1835 T' "$work/both.svg" || fail 'no roof of int8'
grep -q '^</svg>$' "$work/both.svg" || fail 'no whole picture'

# times of the operations and of the step, in the CSV: as many us as the run says
"$systole" roofline "$work/v3" --csv >"$work/csv"
us=$(sed -n 's/^ "step_us": \([0-9.]*\),$/\1/p' "$work/v3/stats.json")
awk -F, -v us="$us" 'NR == 2 { d = $3 - us; exit !(d < 1e-6 && d > -1e-6 && $4 == 100) }' \
    "$work/csv" || fail "the step does not take $us us: $(sed -n 2p "$work/csv")"
awk -F, 'NR > 1 { for (i = 10; i <= 14; i++) if ($i < 0 || $i > 100) exit 1 }' "$work/csv" ||
    fail 'a use outside 0..100 %'

# a trace has the same points, under the roofs of its own chip
"$systole" roofline "$work/v3.strace" --csv | cut -d, -f2- >"$work/of_trace"
cut -d, -f2- "$work/csv" | cmp - "$work/of_trace" || fail 'a trace has other points'
train --tpu v3 --set mxu.count=1 --trace "$work/one.strace"
"$systole" roofline "$work/v3" | grep 'TFLOP/s' >"$work/two"
"$systole" roofline "$work/one.strace" | grep 'TFLOP/s' | cmp -s - "$work/two" &&
    fail 'a trace stands under the roofs of the built-in chip'

expect 1 'has no cycles' roofline "$work/host"
expect 1 'cannot read: No such file or directory' roofline "$work/nothing"
expect 1 'No such file or directory' roofline "$work/v3" --svg "$work/no/where.svg"
expect 1 '--png draws one run' roofline "$work/v3" "$work/v6e" --png "$work/r.png"

# the viewer draws the run of a folder that has its trace, and says what a folder without lacks
if [ -x ./systole-view ]; then
    train --tpu v3 --out "$work/traced" --trace "$work/traced/trace.strace"
    expect 0 'the panel roofline' roofline "$work/traced" --png "$work/r.png"
    [ "$(head -c 4 "$work/r.png" | tail -c 3)" = PNG ] || fail 'no PNG'
    rm -f "$work/r.png"
    ./systole-view "$work/traced" --launch 7 --png "$work/r.png" >"$work/log" 2>&1 &&
        fail 'a launch that the run lacks'
    grep -qF 'there is no launch 7: the run has launches 0 to 0' "$work/log" || fail 'launch 7'
    rm -f "$work/v3/trace.strace"
    expect 1 'systole-view could not draw' roofline "$work/v3" --png "$work/r.png"
    expect 1 '--trace' roofline "$work/v3" --png "$work/r.png"
    [ ! -e "$work/r.png" ] || fail 'a picture without a trace'
else
    echo 'skipped: systole-view is not built, so no PNG of a roofline'
fi
mkdir "$work/alone"
cp "$systole" "$work/alone/systole"
systole=$work/alone/systole
expect 1 'systole-view, which draws PNGs, is not built beside this program; --svg FILE' \
    roofline "$work/v3" --png "$work/r.png"
printf '#!/bin/sh\nfor a; do echo "$a"; done >"%s/asked"\n' "$work" >"$work/alone/systole-view"
chmod +x "$work/alone/systole-view"
expect 0 'whole step' roofline "$work/v3" --png "$work/r.png"
[ "$(paste -sd' ' "$work/asked")" = \
    "$work/v3 --panel roofline --launch last --png $work/r.png --size 1600x1000" ] ||
    fail "$(cat "$work/asked")"
printf '#!/bin/sh\nexit 3\n' >"$work/alone/systole-view"
expect 1 'systole-view could not draw' roofline "$work/v3" --png "$work/r.png"
expect 2 'which run?' roofline
expect 2 'at most 8 runs in one plot' roofline a b c d e f g h i

[ $failures -eq 0 ]
