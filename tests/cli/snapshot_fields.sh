#!/bin/sh
# Every field of what a snapshot, a key or a kept program saves stands in a table of fields:
# SAVED…(struct, field), or APART(struct, field) when it is walked by hand or not saved. Who adds a
# field is sent here.
cd "$(dirname "$0")/../.." || exit 1
tables="sim/snapshot/snapshot*.c hbm/hbm_archive.c hbm/hbm_queue.c interconnect/net.c
    stack/hlo/graph_key.c stack/module/module_key.c stack/module/module_archive.c"
status=0

# names of the fields of a struct, nested ones not: "struct NAME" as it is declared in FILE
fields() {
    awk -v head="struct $1 {" '
        in_comment { if (/\*\//) in_comment = 0; next }
        /\/\*/ && !/\*\// { in_comment = 1 }
        { sub(/ *\/\*.*/, "") }
        $0 ~ "^ *" head "$" && !depth { depth = 1; next }
        !depth { next }
        /\{ *$/ { depth++; next }
        /^ *\}/ { depth--; if (depth == 0) exit; if (depth > 1 || !/\} *\*?[a-z]/) next }
        depth > 1 { next }
        { text = text " " $0 }
        END {
            count = split(text, item, ";")
            for (i = 1; i < count; i++) {
                line = item[i]
                if (match(line, /\(\*[a-z_]+\)\(/))      # of a function
                    line = "x " substr(line, RSTART + 2, RLENGTH - 4)
                sub(/^ *\}/, "x ", line)        # the name behind a nested struct
                gsub(/\[[^]]*\]/, "", line)
                gsub(/[()*]/, " ", line)
                while (sub(/,/, " ,", line)) sub(/,/, "\n", line)
                n = split(line, part, "\n")
                for (j = 1; j <= n; j++) {
                    words = split(part[j], word, " ")
                    print word[words]
                }
            }
        }' "$2"
}

look() {        # file, structs in it
    file=$1; shift
    for struct in "$@"; do
        names=$(fields "$struct" "$file")
        [ -n "$names" ] || { echo "snapshot_fields: no struct $struct in $file"; status=1; }
        for name in $names; do
            grep -qE "(SAVED|SAVED_BOOL|SAVED_TIME|APART)\($struct, $name\)" $tables && continue
            echo "snapshot_fields: $file: field $name of struct $struct is in no table of" \
                "the files that save it: save it there, or say APART"
            status=1
        done
    done
}

look sim/core/core.h core fifo quadrant prepared accumulator mxu xlu access_rows \
    store_record dma issue_time
look sim/results/results.h fault stand_in_site
look sim/machine/machine_impl.h dma_port core_ports machine cmem_port host_link
look sim/machine/staging.h staged
look sim/time/events.h event
look sim/lanes/mask.h mask
look sim/check/race_impl.h site extent side copy access race
look sim/check/checks.h checks
look hbm/hbm_impl.h hbm_bank hbm_bank_past hbm_taken hbm_activate hbm_channel hbm_write hbm
look hbm/hbm_queue.h hbm_queue hbm_held
look interconnect/net.c link
look interconnect/net.h net_link_stats
look stack/hlo/graph.h shape graph_dot graph_window graph_conv graph_gather graph_attention \
    graph_node graph_output graph
look stack/module/module.h module_settings module module_kernel module_sum
look stack/kernels/pipeline/kernel.h segment
look stack/module/link.h link_result
exit $status
