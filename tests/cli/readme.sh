#!/bin/sh
# Does README quote what its commands print today? A block of commands is carried out, and each line
# of the block behind it must be among what they print; `...` stands for any lines. Left out are
# times of the host, what OpenBLAS is off by, pictures, and what needs Python.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_readme.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "readme: $*"; status=1; }

# blocks 1, 2, .. of README, each in a file of its own
awk -v dir="$dir" '/^```/ { inside = !inside; n += inside; next } inside { print > (dir "/block." n) }' \
    README.md
plain() { sed -E 's/at most [0-9.]+ of/at most/; s/(samples\/s|[0-9],[0-9]{3}) +(host s|[0-9.]+)$/\1/' "$1"; }

# the training that the first insights read: the recipe of `make demo`
sed -n '/^demo:/,/^$/p' Makefile | sed '1d; s|\./$(SYSTOLE)|"$systole"|; s|out/|"$dir/out/"|' >"$dir/demo"
systole=$systole dir=$dir sh "$dir/demo" >"$dir/printed" 2>&1 || fail "make demo: $(tail -1 "$dir/printed")"
grep -l '^epoch ' "$dir"/block.* >"$dir/quoted" || fail "no training is quoted"
checked=0

quotes() { # what was printed has each line of a block
    plain "$dir/printed" >"$dir/plain"
    plain "$1" | grep -vx '\.\.\.' >"$dir/lines"
    while IFS= read -r line; do
        grep -qF -- "$line" "$dir/plain" || fail "not printed today: $line"
        checked=$((checked + 1))
    done <"$dir/lines"
}

quotes "$(cat "$dir/quoted")"
for block in "$dir"/block.*; do
    command=$(sed -n 's|^\./systole \([a-z].*\)|\1|p' "$block" | sed 's/ *#.*//')
    answer=$dir/block.$((${block##*.} + 1))
    case $command in ''|jax*) continue ;; esac
    command=$(echo "$command" | sed "s| out\$| $dir/out|; s| out | $dir/out |")
    # shellcheck disable=SC2086
    $systole $command >"$dir/printed" 2>&1 || fail "$command: $(tail -1 "$dir/printed")"
    quotes "$answer"
done
test "$checked" -ge 15 || fail "only $checked lines are quoted"
exit $status
