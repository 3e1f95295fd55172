#!/bin/sh
# What one core's ceiling towards HBM must be, from measured operations that do nothing but stream.
#
# usage: sh tools/hbm_ceiling.sh CEILING,CEILING... OPSTATS.csv...
#
# The files are XProf's statistics of operations (columns Category, HLO op, Avg. self time (us),
# Measured Memory BW (GiB/s), Operational Intensity (FLOP/Byte)). Of them count loop fusions,
# elementwise operations, reductions and slices that read an operand, move at least 4 MB and do
# less than one FLOP per byte: all that is known before a time is. For each ceiling in GB/s the
# predicted time is bytes / (ceiling x what a stream of reads reaches of a chip's HBM, by
# systole mem), once for each row, beside the measured one. CHIP (default v3) is the chip.
cd "$(dirname "$0")/.." || exit 1
systole=${SYSTOLE:-./systole}
[ $# -ge 2 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
ceilings=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$systole" mem --tpu "${CHIP:-v3}" --csv "$work/stream" >/dev/null || exit 1
share=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR == 2 { print $at["peak_percent"] / 100 }' "$work/stream")
for file; do
    [ -r "$file" ] || { echo "$0: cannot read $file"; exit 1; }
done
awk -v share="$share" -v ceilings="$ceilings" '
# the words of a line of CSV, "quoted, ""with"" commas" or not
function split_csv(line, word,    count, at, c, quoted) {
    count = 1; word[1] = ""; quoted = 0
    for (at = 1; at <= length(line); at++) {
        c = substr(line, at, 1)
        if (c == "\"" && quoted && substr(line, at + 1, 1) == "\"") {
            word[count] = word[count] c
            at++
        }
        else if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) word[++count] = ""
        else word[count] = word[count] c
    }
    return count
}
FNR == 1 {
    n = split_csv($0, word)
    for (i = 1; i <= n; i++) place[word[i]] = i
    us = place["Avg. self time (us)"]; rate = place["Measured Memory BW (GiB/s)"]
    kind = place["Category"]; op = place["HLO op"]
    work = place["Operational Intensity (FLOP/Byte)"]
    if (!us || !rate || !kind || !op || !work) {
        print FILENAME ": no statistics of operations"
        bad = 1
        exit 1
    }
    next
}
{
    split_csv($0, word); all++
    gbps = word[rate] * 1.073741824; bytes = gbps * word[us] * 1e3
    if (word[kind] !~ /^(loop fusion|non-fusion elementwise|reduce|slice)$/ || bytes < 4e6 ||
        word[work] >= 1 || word[op] ~ /fusion\(\)/) next
    rows++; measured[rows] = word[us]; moved[rows] = bytes
    if (gbps > most) most = gbps
}
END {
    if (bad) exit 1
    if (!rows) { print "no row that streams"; exit 1 }
    printf "%d of %d operations stream; the fastest moves %.0f GB/s\n", rows, all, most
    printf "a stream of reads reaches %.1f %% of the HBM\n", 100 * share
    count = split(ceilings, ceiling, ",")
    for (k = 1; k <= count; k++) {
        sum = off = 0; over = 0
        for (i = 1; i <= rows; i++) {
            d = moved[i] / (ceiling[k] * share * 1e3) / measured[i] - 1
            sum += d < 0 ? -d : d; off += d; over += d > 0
        }
        printf "ceiling %4d GB/s: mean absolute error %5.1f %%, mean %+6.1f %%, ", ceiling[k],
            100 * sum / rows, 100 * off / rows
        printf "slower than measured in %d rows\n", over
    }
}' "$@"
