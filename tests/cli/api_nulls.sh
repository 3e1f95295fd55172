#!/bin/sh
# Is a NULL in the place of each pointer of each function of include/systole.h refused, without a
# crash? The calls are made from the headers' prototypes; which NULLs they allow stands below.
cd "$(dirname "$0")/../.." || exit 1
library=$(dirname "${SYSTOLE:-./systole}")/build/libsystole.a
test -f "$library" || { echo "skipped: no $library"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# function argument: as the headers say. Arguments named `user` and those of *_free may be NULL.
cat >"$work/allowed" <<'END'
sy_cluster_resolve tpu
sy_cluster_resolve o
sy_assignment_build shape
sy_assignment_build stride
sy_assignment_build order
sy_strategy_create a
sy_strategy_create o
sy_variable_create o
sy_variable_places out
sy_context_scope name
sy_transpose axes
sy_matmul precision
sy_conv2d w
sy_max_pool2d w
sy_average_pool2d w
sy_embedding_lookup weights
sy_model_input out
sy_model_build policy
sy_model_build precision
sy_model_variables out
sy_model_fit o
sy_metric_update labels
sy_metric_update weights
sy_optimizer_create name
sy_distributed_next_steps got
END

cat include/systole/*.h | awk -v allowed="$work/allowed" '
# prototypes, one to a line, without comments
{ text = text " " $0 "\n" }
function value(type, name,    base) {
    base = type; gsub(/const|\*| /, "", base)
    if (name == "user") return "NULL"
    if (type ~ /sy_step/) return "any_step"
    if (type ~ /sy_map/) return "any_map"
    if (type ~ /sy_filter/) return "any_filter"
    if (type ~ /sy_open/) return "any_open"
    if (type ~ /sy_make_dataset/) return "any_make"
    if (type ~ /\*.*\*/) return type ~ /char/ ? "texts" : type ~ /sy_(value|variable)/ && name != "out" && name != "output" ? "(void *)&f." base : "(void *)slot"
    if (type !~ /\*/ && type !~ /\[/) {
        if (base == "sy_tensor") return "f.tensor"
        if (base == "sy_shape") return "sy_dims(2)"
        if (base == "sy_call") return "(sy_call){0}"
        if (base == "double" || base == "float") return "0.5"
        return base ~ /sy_/ ? "(" base ")1" : "1"
    }
    if (base ~ /^(sy_tensor)$/) return "&f.tensor"
    if (base == "FILE") return "f.file"
    if (base == "char") return "\"x\""
    if (base ~ /^sy_(context|cluster|assignment|strategy|variable|value|array|dataset|iterator|element|distributed|model|embedding|metric|optimizer|record_writer|example)$/)
        return "f." base
    return "(void *)bytes"
}
END {
    while ((getline line < allowed) > 0) may[line] = 1
    gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", text)
    count = split(text, piece, ";")
    for (p = 1; p <= count; p++) {
        s = piece[p]
        gsub(/#[^\n]*\n/, "", s); gsub(/extern "C" \{/, "", s); sub(/^[ \n]*\}/, "", s); gsub(/[ \n\t]+/, " ", s)
        if (s !~ /^ ?[a-z_0-9 ]+[ *]+sy_[a-z_0-9]+\(/ || s ~ /typedef/ || s ~ /\{/) continue
        head = s; sub(/\(.*/, "", head); name = head; sub(/.*[ *]/, "", name)
        result = head; sub(name "$", "", result)
        args = s; sub(/^[^(]*\(/, "", args); sub(/\)[^)]*$/, "", args)
        n = split(args, arg, ","); functions++
        if (args ~ /^ ?void ?$/) n = 0
        for (i = 1; i <= n; i++) {
            a = arg[i]; id[i] = a
            sub(/\[[^]]*\]$/, "", id[i]); sub(/\)\[[^]]*\]$/, "", id[i]); sub(/.*[ *(]/, "", id[i])
            type[i] = a; sub(id[i] "\\)?(\\[[^]]*\\])*$", "", type[i])
            if (a ~ /\[[0-9]*\]$/) type[i] = type[i] "*"
            if (a ~ /\(\*/) type[i] = "const int *"
        }
        for (k = 1; k <= n; k++) {
            function_type = type[k] ~ /sy_(step|map|filter|open|make_dataset) *$/
            if ((type[k] !~ /\*/ && !function_type) || id[k] == "user") continue
            call = ""
            for (i = 1; i <= n; i++)
                call = call (i > 1 ? ", " : "") (i == k ? "NULL" : value(type[i], id[i]))
            kind = result ~ /sy_status *$/ ? "STATUS" : result ~ /sy_tensor *$/ ? "TENSOR" : "OTHER"
            call = name "(" call ")"
            if (kind == "TENSOR") call = "(" call ").node"
            if (kind == "OTHER") call = "(" call ", 0)"
            is_free = name ~ /_free$/ || (name " " id[k]) in may
            if ((name " " id[k]) in may) { used[name " " id[k]] = 1 }
            printf "    CALL(%s, \"%s\", \"%s\", %d, %s);\n", kind, name, id[k], is_free, call
        }
    }
    for (m in may) if (!(m in used)) printf "#error \"%s is allowed, but not there\"\n", m
    printf "    printf(\"%d functions, %%d calls\\n\", calls);\n", functions
}' >"$work/calls" || exit 1

{
    cat tests/cli/api_nulls.inc
    echo "static sy_status try_all(sy_context *c, const sy_tensor *in, int n, sy_tensor *out, int m,"
    echo "                         void *u)"
    echo "{"
    echo "    (void)n, (void)m, (void)u; f.sy_context = c; f.tensor = in[0]; out[0] = in[0];"
    cat "$work/calls"
    echo "    return SY_OK;"
    echo "}"
    cat tests/cli/api_nulls_main.inc
} >"$work/nulls.c"
flags=
nm "$library" 2>/dev/null | grep -q "__asan_" && flags="-fsanitize=address,undefined"
${CC:-cc} -std=c11 -I. $flags -w -o "$work/nulls" "$work/nulls.c" "$library" \
    $(pkg-config --libs jansson inih zlib openblas libprotobuf-c) -lm -lpthread || exit 1
(cd "$work" && ./nulls)
