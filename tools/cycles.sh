#!/bin/sh
# cycles.sh [--record]: runs the commands of tests/cycles/cycles.txt and holds the cycles that each
# prints against those that stand beside it; --record writes today's there, so that a commit's diff
# shows which programs it has made faster or slower. A command is what follows `systole`.
cd "$(dirname "$0")/.." || exit 1
list=tests/cycles/cycles.txt
SYSTOLE=${SYSTOLE:-./systole}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export SYSTOLE work

# one command: its number, so that the order is kept, the cycles that it prints, itself
one='
    number=$1; shift
    "$SYSTOLE" "$@" >"$work/$number.out" 2>&1 || exit 0
    cycles=$(sed -n "s/^ *\([0-9,]*\) cycles = .*/\1/p" "$work/$number.out" | head -1 | tr -d ,)
    echo "$cycles" >"$work/$number.cycles"'

grep -v '^#' "$list" | sed 's/^ *[0-9?]* *//' | grep -n . | sed 's/:/ /' >"$work/commands"
xargs -L 1 -P "$(nproc 2>/dev/null || echo 1)" sh -c "$one" one <"$work/commands"

failed=0
while read -r number command; do
    cycles=$(cat "$work/$number.cycles" 2>/dev/null)
    if [ -z "$cycles" ]; then
        echo "systole $command: no cycles: $(tail -1 "$work/$number.out")"
        failed=1
    fi
    printf '%12s %s\n' "${cycles:-?}" "$command" >>"$work/now"
done <"$work/commands"

if [ "$1" = --record ]; then
    { grep '^#' "$list"; cat "$work/now"; } >"$work/list" && cp "$work/list" "$list"
    exit $failed
fi
grep -v '^#' "$list" >"$work/before"
if ! diff "$work/before" "$work/now" >"$work/changed"; then
    echo "cycles changed (< recorded, > now); if they are meant to, sh tools/cycles.sh --record:"
    cat "$work/changed"
    failed=1
fi
echo "$(grep -c . "$work/commands") programs, $(grep -c '^>' "$work/changed") with other cycles"
exit $failed
