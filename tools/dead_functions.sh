#!/bin/sh
# Lists functions that no program reaches, and exits with 1 when there are any: make dead.
#
# usage: sh tools/dead_functions.sh BUILD LIBRARIES...
#
# BUILD holds objects with a section for each function (-ffunction-sections, -O0: nothing is
# inlined away). Each program, each example and the shared libraries, whose roots are the names of
# include/systole.h and GetPjrtApi, is linked once more, and the linker tells what it leaves out of them. What all
# of them leave out is dead. Tests are no programs here: what they alone call belongs to tests/.
set -e
build=$1
shift
libraries="$*"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

objects() {                 # of the sources in some folders; what protoc makes is not ours
    for folder; do
        find "$folder" -name '*.c' | sed "s|^|$build/|; s|c$|o|"
        find "$folder" -name '*.proto' | sed "s|^|$build/|; s|proto$|pb-c.o|"
    done
}

reach() {                   # the functions that a link keeps, into $work/kept
    printf '%s\n' "$@" | grep '\.o$' | sort >"$work/linked"
    ${CC:-cc} -pthread -Wl,--gc-sections -Wl,--print-gc-sections -o "$work/program" "$@" \
        $libraries 2>"$work/messages" || { cat "$work/messages"; exit 2; }
    sed -n "s/.*removing unused section '\.text\.\([^']*\)' in file '\([^']*\)'/\2 \1/p" \
        "$work/messages" | sort >"$work/left_out"
    join "$work/linked" "$work/all" | sort | comm -23 - "$work/left_out" >>"$work/kept"
}

rooms=$(sed -n 's/^LAYERS *:= *//p' Makefile)
library=$(objects $rooms; echo "$build/chips_data.o")
commands=$(objects cli files)
viewer=$(objects viz)
guest=$(objects pjrt)

# object function, of all that is ours
for o in $library $commands $viewer $guest; do
    case $o in *.pb-c.o) continue;; esac
    objdump -h "$o" | sed -n "s|.* \.text\.\([^ ]*\) .*|$o \1|p"
done | sort >"$work/all"

reach $commands $library
[ -z "$viewer" ] || reach $viewer $library
for e in $(objects examples); do
    reach "$e" $library
done
reach -shared -Wl,--version-script=api/exports.map -Wl,-Bsymbolic $library
reach -shared -Wl,--version-script=pjrt/api/exports.map -Wl,-Bsymbolic $guest $library

sort -u "$work/kept" | comm -23 "$work/all" - | sed "s|^$build/||; s|\.o |.c: |" >"$work/dead"
if [ -s "$work/dead" ]; then
    cat "$work/dead"
    echo "$(wc -l <"$work/dead") functions that no program reaches"
    exit 1
fi
echo "every function is reached by a program, an example or include/systole.h"
