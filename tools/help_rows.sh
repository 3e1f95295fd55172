#!/bin/sh
# The options of a program as its --help tells them, a line each, with tabs between: SHORT LONG
# ARGUMENT MEANING. So completions come from the tables that --help prints. With these settings
# argp folds no line. Usage: sh tools/help_rows.sh PROGRAM [COMMAND]
ARGP_HELP_FMT='rmargin=9999,opt-doc-col=90' "$@" --help 2>/dev/null | awk '
/^ +--?[^ ]/ && !done {
    names = substr($0, 1, 89); meaning = substr($0, 91)
    sub(/^ +/, "", names); sub(/ +$/, "", names); sub(/^ +/, "", meaning)
    short = long = argument = ""
    if (names ~ /^-[^-]/) short = substr(names, 2, 1)
    if (match(names, /--[^ =\[]+/)) {
        long = substr(names, RSTART + 2, RLENGTH - 2)
        argument = substr(names, RSTART + RLENGTH)
        if (sub(/^\[=/, "", argument)) sub(/\]$/, "", argument)
        sub(/^=/, "", argument)
    }
    print short "\t" long "\t" argument "\t" meaning
    if (long == "usage") done = 1       # the last one; what follows are examples
}'
