#!/bin/sh
# Fails when two arguments of one call, or two elements of one list in braces, make nodes,
# operations, registers or random numbers: C leaves their order open, compilers choose different
# ones, and the same source would make another program.
#
#   sh tools/argument_order.sh [FILE...]        all of the sources, or these
#
# What makes something is found by itself: the functions named below, and whatever calls one of
# them. A function is known by its name in its own file, then by its name elsewhere; calls through
# pointers are not seen.
cd "$(dirname "$0")/.." || exit 1
roots="add_named graph_add hlo_add vcode_put vcode_vreg vcode_mask rng_next"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# what tests are made of draws the same from a seed whoever compiles it; tests themselves may not
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(find base isa hbm interconnect sim stack import exec report data keras train \
    api files cli pjrt viz examples tests/rigs tests/generate -name '*.[ch]' -o -name '*.inc' | LC_ALL=C sort)

# "file line token" of names, brackets, marks; no comments, texts, numbers, preprocessor lines
tokens() {
    for file; do
        awk -v file="$file" '
            { line = $0; gsub(/"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/, "0", line) }
            inside { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
            { while (match(line, /\/\*/)) {
                  head = substr(line, 1, RSTART - 1); line = substr(line, RSTART + 2)
                  if (match(line, /\*\//)) line = head " " substr(line, RSTART + 2)
                  else { line = head; inside = 1; break }
              } }
            goes_on || /^ *#/ { goes_on = /\\$/; next }
            { while (match(line, /[A-Za-z_][A-Za-z_0-9]*|[][(){},;.=?:]|[-+*\/%<>!&|^~]+/)) {
                  print file, NR, substr(line, RSTART, RLENGTH)
                  line = substr(line, RSTART + RLENGTH)
              } }' "$file"
    done
}
tokens "$@" >"$work/tokens"

awk -v roots="$roots" '
    BEGIN {
        calls = count = 0
        for (n = split(roots, word, " "); n; n--) is_root[word[n]] = 1
        for (n = split("if for while switch return sizeof do else", word, " "); n; n--)
            is_keyword[word[n]] = 1
    }

    # what a name means in a file: the key of a function, or nothing
    function meaning(file, name) {
        if ((file, name) in own) return file SUBSEP name
        if (name in defined) return defined[name]
        if (name ~ /^ar_/) return defined["hlo_add"]
        return name ~ /^emit_/ ? defined["vcode_put"] : ""      # made by tools/emitters.c
    }
    # macros of import/expand/arith.h, which work their operands out one after another
    function is_ordered(name) { return name ~ /^ar_/ && !(name in defined) }

    FNR == 1 { pass++ }
    $1 != file || FNR == 1 {
        file = $1
        depth = round = top = is_static = 0
        function_of = candidate = before = before2 = ""
    }

    # ----- which functions there are, and what they call
    pass == 1 {
        t = $3
        if (depth == 0) {
            if (t == "static") is_static = 1
            if (t == "(" && round++ == 0) candidate = before
            if (t == ")") round--
            if (t == "{" && before == ")" && candidate != "") {
                function_of = candidate
                own[file, function_of] = 1
                if ((!is_static || file !~ /\.c$/) && !(function_of in defined))
                    defined[function_of] = file SUBSEP function_of
            }
            if (round == 0 && (t == ";" || t == "=" || t == "}")) { candidate = ""; is_static = 0 }
        } else if (t == "(" && function_of != "" && before2 != "." && before2 != "->" &&
                   before ~ /^[A-Za-z_]/ && !(before in is_keyword)) {
            caller[calls] = function_of; callee[calls] = before; in_file[calls++] = file
        }
        if (t == "{") depth++
        if (t == "}" && --depth == 0) { function_of = candidate = ""; is_static = 0 }
        before2 = before; before = t
        next
    }

    # ----- which of them make something
    pass == 2 && !closed {
        closed = 1
        for (i = 0; i < calls; i++) {
            key = meaning(in_file[i], callee[i])
            if (key != "") callers[key] = callers[key] " " i
        }
        for (key in own) {
            split(key, part, SUBSEP)
            if (part[2] in is_root) { makes[key] = 1; todo[++count] = key }
        }
        for (i = 1; i in todo; i++) {
            n = split(callers[todo[i]], which, " ")
            for (; n; n--) {
                key = in_file[which[n]] SUBSEP caller[which[n]]
                if (!(key in makes)) { makes[key] = 1; todo[++count] = key }
            }
        }
    }

    function open(kind, is_making) {
        name_of[top + 1] = before; kind_of[++top] = kind; line_of[top] = $2; making[top] = is_making; found[top] = now[top] = 0
    }
    function argument_ends() { if (now[top]) found[top]++; now[top] = 0 }
    function close_one() {
        argument_ends()
        if (found[top] > 1 && (kind_of[top] == "call" || kind_of[top] == "list") &&
            !is_ordered(name_of[top])) {
            print file ":" line_of[top] ": " found[top] " " (kind_of[top] == "list" ? "elements of a list" : "arguments of " name_of[top]) " make something"
            bad++
        }
        last_kind = kind_of[top]
        if (top > 1 && kind_of[top] != "block" && (making[top] || found[top])) now[top - 1] = 1
        top--
    }

    # ----- what stands in one list of arguments
    {
        t = $3
        if (t == "(") {
            if (before !~ /^[A-Za-z_]/) open("group", 0)
            else if (before in is_keyword) open("word", 0)
            else open("call", before2 != "." && before2 != "->" && meaning(file, before) in makes)
        } else if (t == "[") open("group", 0)
        else if (t == "{")
            open(before == "=" || (before == ")" && last_kind == "group") || \
                 (top && kind_of[top] != "block" && before ~ /^[,{(]$/) ? "list" : "block", 0)
        else if (t ~ /^[])}]$/) { if (top) close_one() }
        else if (t == "," && top) argument_ends()
        before2 = before; before = t
    }
    END { exit bad > 0 }
' "$work/tokens" "$work/tokens"
