#!/bin/sh
# accuracy_tables.sh [--check]: writes the tables of docs/accuracy.md, between its marks, from the
# record of errors (tests/hardware/record.csv); --check fails where they are not those already.
cd "$(dirname "$0")/.." || exit 1
doc=docs/accuracy.md
new=$(mktemp) tables=$(mktemp) || exit 1
trap 'rm -f "$new" "$tables"' EXIT
"${SYSTOLE:-./systole}" check hardware --tables tests/hardware/record.csv >"$tables" || exit 1
awk -v tables="$tables" '
    /^<!-- tables: end/ { within = 0 }
    !within { print }
    /^<!-- tables: begin/ { within = 1; print ""; while ((getline line <tables) > 0) print line; print "" }
' "$doc" >"$new"
if [ "$1" = --check ]; then
    diff "$doc" "$new" && exit 0
    echo "the tables of $doc are not those of the record: sh tools/accuracy_tables.sh"
    exit 1
fi
cp "$new" "$doc"
