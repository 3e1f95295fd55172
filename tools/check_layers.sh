#!/bin/sh
# Fails when a file includes a header of a folder it may not know (docs/architecture.md).
# Folders of the top level: the lists below. Folders inside one: tools/rooms.txt, bottom to top.
cd "$(dirname "$0")/.." || exit 1
status=0
check() {           # folder, allowed folders
    folder=$1; shift
    for file in $(find "$folder" -name '*.[ch]' -o -name '*.def' -o -name '*.inc'); do
        for used in $(sed -n 's/^ *# *include "\([a-z_0-9]*\)\/.*/\1/p' "$file" | sort -u); do
            case " $* " in
                *" $used "*) ;;
                *) echo "$file may not include $used/"; status=1 ;;
            esac
        done
    done
}
check base base
check isa base isa
check hbm base hbm
check interconnect base interconnect
check sim base isa hbm interconnect sim
check stack base isa hbm interconnect sim stack
check report base isa hbm interconnect sim report
check data base data
check keras base isa sim stack keras
check train base isa hbm interconnect sim stack data keras train
check api base isa hbm interconnect sim stack report data keras train include api
check include systole
check cli base isa hbm interconnect sim stack report data keras train include api cli
check viz base isa hbm interconnect sim report viz
for file in $(find viz tests -name '*.[ch]'); do
    case $file in
        viz/sdl/*|tests/viz/sdl/*) ;;
        *) ! grep -q '^ *# *include <SDL' "$file" || { echo "$file may not include SDL"; status=1; } ;;
    esac
done
exit $status
