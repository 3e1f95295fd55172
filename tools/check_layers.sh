#!/bin/sh
# Fails when a file includes a header, or its object uses a symbol, of a folder that it may not
# know (docs/architecture.md). Which folders of the top level go together stands below; the order
# of all folders stands in tools/rooms.txt. Objects are looked at where a build is found.
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
found=$(mktemp -d) || exit 1
trap 'rm -rf "$found"' EXIT

# "FILE FOLDER-OF-FILE FOLDER-IT-USES WHAT" of includes, then of symbols
includes() {
    find base isa hbm interconnect sim stack import report data keras train api files exec include cli pjrt viz \
        -name '*.[ch]' -o -name '*.def' -o -name '*.inc' | xargs awk '
        /^ *# *include "[a-z_0-9]+\// {
            path = $0
            sub(/^[^"]*"/, "", path); sub(/".*/, "", path)
            own = FILENAME; sub(/\/[^\/]*$/, "", own)
            used = path; sub(/\/[^\/]*$/, "", used)
            if (own != used && path !~ /\.pb-c\.h$/) print FILENAME, own, used, path
        }'
}

symbols() {
    find "$build" -name '*.o' | grep -vE "^$build/(tests|examples|san|debug|fuzz|clang|lib)/" |
    while read -r object; do
        source=${object#"$build"/}
        [ -e "${source%.o}.c" ] && echo "$object"
    done | xargs nm -A | sed "s|^$build/\([^:]*\)\.o:|\1.c |" | awk '
        { own = $1; sub(/\/[^\/]*$/, "", own) }
        $NF ~ /^__/ { next }            # of the C library, also where pjrt/ has its own
        $3 ~ /^[TDBRC]$/ && NF == 4 { home[$4] = own; next }
        $2 == "U" { use[++n] = $1 " " own " " $3 }
        END {
            for (i = 1; i <= n; i++) {
                split(use[i], u, " ")
                if (u[3] in home && home[u[3]] != u[2]) print u[1], u[2], home[u[3]], u[3]
            }
        }'
}

includes >"$found/uses"
symbols >>"$found/uses"
awk '
    function top(folder) { sub(/\/.*/, "", folder); return folder }
    BEGIN {
        allow["base"] = ""; allow["isa"] = allow["hbm"] = allow["interconnect"] = "base"
        allow["sim"] = "base isa hbm interconnect"
        allow["stack"] = allow["report"] = allow["sim"] " sim"
        allow["data"] = "base"
        allow["import"] = "base isa hbm interconnect sim stack"
        allow["keras"] = "base isa sim stack"
        allow["train"] = allow["stack"] " stack data keras"
        allow["api"] = allow["train"] " report train include"
        allow["files"] = allow["train"] " train"
        allow["exec"] = allow["import"] " import report"
        allow["cli"] = allow["api"] " api files import exec"
        allow["pjrt"] = allow["exec"] " exec report include"
        allow["viz"] = allow["report"] " report"
        allow["include"] = "systole"
    }
    FNR == NR { if ($1 !~ /^#/ && NF) rank[$1] = ++rooms; next }
    {
        if (top($3) != top($2) && index(" " allow[top($2)] " ", " " top($3) " ") == 0)
            print $1 " may not use " $4 " of " $3 "/"
        else if (top($3) == top($2) && top($3) ~ /^(sim|stack|import|report|keras|train|cli|pjrt|viz)$/) {
            if (!($2 in rank)) print $2 "/ is missing in tools/rooms.txt"
            else if (rank[$3] >= rank[$2] || !($3 in rank))
                print $1 " uses " $4 " of " $3 "/, which tools/rooms.txt has no lower than " $2 "/"
        }
    }' tools/rooms.txt "$found/uses" | sort -u >"$found/wrong"
for file in $(find viz tests -name '*.[ch]'); do
    case $file in
        viz/sdl/*|tests/viz/sdl/*) ;;
        *) ! grep -q '^ *# *include <SDL' "$file" || echo "$file may not include SDL" ;;
    esac
done >>"$found/wrong"
cat "$found/wrong"
[ ! -s "$found/wrong" ]
