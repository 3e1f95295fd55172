#!/bin/sh
# Commands that read what a run left, on folders whose files are cut short or damaged: never a
# crash or a hang; a mistake is one message and status 1.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
status=0
fail() { echo "cli_garbled: $*"; status=1; }

"$systole" run examples/02_mxu_tile.tasm --tpu v3 --out "$dir/good" >"$dir/out" || fail "no folder"

try() {             # what was done to which file, command, its arguments
    what=$1; shift
    timeout 20 "$systole" "$@" >"$dir/out" 2>"$dir/err"
    code=$?
    case $code in
    0) ;;
    1) [ "$(grep -c '^systole: ' "$dir/err")" -eq 1 ] \
           || fail "$what: systole $*: no message, or several: $(cat "$dir/err")" ;;
    *) fail "$what: systole $*: status $code: $(tail -5 "$dir/err")" ;;
    esac
}

commands() {        # what was done
    try "$1" report "$dir/bad"
    try "$1" explain "$dir/bad"
    try "$1" roofline "$dir/bad"
    try "$1" diff "$dir/good" "$dir/bad"
    try "$1" diff "$dir/bad" "$dir/good"
}

with() {            # file, what is done, a filter from stdin to stdout
    rm -rf "$dir/bad"
    cp -r "$dir/good" "$dir/bad"
    sh -c "$3" <"$dir/good/$1" >"$dir/bad/$1"
    commands "$1 $2"
}

for file in stats.json ops.csv config.ini; do
    [ -s "$dir/good/$file" ] || { fail "the run left no $file"; continue; }
    bytes=$(wc -c <"$dir/good/$file")
    with $file "empty" 'true'
    for part in 1 3 5 7; do
        with $file "cut to $part/8" "head -c $((bytes * part / 8))"
    done
    with $file "of zeros" "head -c 500 /dev/zero"
    with $file "with another number everywhere" "sed 's/[0-9][0-9]*/99999999999999999999/g'"
    with $file "with negative numbers" "sed 's/\([^0-9A-Za-z_.]\)\([0-9]\)/\1-\2/g'"
    with $file "without digits" "tr -d 0-9"
    with $file "with lists for objects" "tr '{}:' '[],'"
    with $file "of bytes that are no text" "tr 'a-m' '\200-\214'"
    with $file "with lines in reverse" "sed '1!G;h;\$!d'"
    rm "$dir/bad/$file"
    commands "$file missing"
done
exit $status
