#!/bin/sh
# systole collective --costs: with a peer's cost formula our one-direction ring takes the peer's
# times within 3 %, and the ring in both directions what the formula says of half the bytes.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
rows=${SYSTOLE_SHARED:-../shared}/reference/collectives_astra.csv
[ -r "$rows" ] || { echo "skipped: no $rows"; exit 0; }

ours() {            # ALGO NODES MIB: nanoseconds
    "$systole" collective all-reduce --bytes "$3M" --tpu "v5e-$2" --algo "$1" --csv - \
        --costs examples/collectives/astra.ini | tail -1 | cut -d, -f10 |
        awk '{ printf "%.0f\n", 1000 * $1 }'
}

grep '^ring,' "$rows" >"$work/ring"
[ "$(wc -l <"$work/ring")" -eq 6 ] || fail "rows: $(cat "$work/ring")"
while IFS=, read -r _ nodes mib time; do
    ring=$(ours ring "$nodes" "$mib")
    echo "$ring $time" | awk '{ exit !($1 > 0.97 * $2 && $1 < 1.03 * $2) }' ||
        fail "ring of $nodes, $mib MiB: $ring ns, the peer has $time"
    # 4 pieces of 2 (n - 1) steps of 510 ns and s / 53.687 + 1.5 s / 1600 ns, s halved
    both=$(ours biring "$nodes" "$mib")
    echo "$both $nodes $mib" | awk '{
        half = $3 * 1048576 / 4 / $2 / 2
        formula = 4 * 2 * ($2 - 1) * (510 + half / 53.687 + 1.5 * half / 1600)
        exit !($1 > 0.97 * formula && $1 < 1.03 * formula)
    }' || fail "both ways round, $nodes nodes, $mib MiB: $both ns"
done <"$work/ring"

[ $failures -eq 0 ]
