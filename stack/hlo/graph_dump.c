/* Prints a graph as the text of an HLO module. */
#include "stack/hlo/graph_dump.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Identifiers of HLO hold letters, digits, and these: part 0 of a, "a{0}", is "a.0" there. */
void graph_dump_name(const char *name, FILE *to)
{
    fputc('%', to);
    for (; *name; name++) {
        bool is_plain = isalnum((unsigned char)*name) || strchr("_-.", *name);

        if (is_plain || name[1])
            fputc(is_plain ? *name : '.', to);
    }
}

static void print_shape(const struct shape *s, FILE *to)
{
    char text[160];

    fputs(shape_print(s, text, sizeof(text)), to);
}

/* "  %name.suffix = f32[2] op(" */
static void begin_line(const struct graph_dump *d, const struct graph_node *n, const char *suffix,
                       const struct shape *shape, const char *op)
{
    fputs("  ", d->to);
    graph_dump_name(n->name, d->to);
    fprintf(d->to, "%s = ", suffix);
    print_shape(shape, d->to);
    fprintf(d->to, " %s(", op);
}

static void print_constant(const struct graph_dump *d, const struct graph_node *n,
                           const char *suffix, enum graph_dtype dtype, double value)
{
    struct shape scalar = shape_scalar(dtype);

    begin_line(d, n, suffix, &scalar, "constant");
    graph_dump_value(dtype, value, d->to);
    fputs(")\n", d->to);
}

/* a loop that counts its trips: the counter is not the node's, but the text's */
static bool has_counter(const struct graph_node *n)
{
    return n->op == HLO_WHILE && n->count != GRAPH_TRIPS_UNKNOWN;
}

static void print_types(const struct graph_node *n, FILE *to)
{
    if (n->tuple_count == 0 && n->op != HLO_WHILE) {
        print_shape(&n->shape, to);
        return;
    }
    fputc('(', to);
    for (int i = 0; i < n->tuple_count; i++) {
        fputs(i ? ", " : "", to);
        print_shape(&n->tuple[i], to);
    }
    if (n->tuple_count == 0)
        print_shape(&n->shape, to);
    fputs(has_counter(n) ? ", s32[])" : ")", to);
}

static void print_operands(const struct graph_dump *d, const struct graph_node *n, int first)
{
    for (int i = first; i < n->operand_count; i++) {
        fputs(i > first ? ", " : "", d->to);
        graph_dump_name(d->g->node[n->operand[i]].name, d->to);
    }
}

static void print_own(const struct graph_node *n, const char *suffix, FILE *to)
{
    graph_dump_name(n->name, to);
    fputs(suffix, to);
}

static bool is_arg(const struct graph_node *n)
{
    return n->op == HLO_REDUCE &&
           (n->reduce_kind == REDUCE_ARGMAX || n->reduce_kind == REDUCE_ARGMIN);
}

/* the extra instructions that a reduction's start needs */
static void print_start(const struct graph_dump *d, const struct graph_node *n)
{
    const struct shape *a = &d->g->node[n->operand[0]].shape;
    struct shape index = *a;
    int dim = 0;

    print_constant(d, n, ".init", a->dtype, graph_identity(n->reduce_kind, a->dtype));
    if (!is_arg(n))
        return;
    while (!(n->reduce_mask & (1u << dim)))
        dim++;
    index.dtype = DTYPE_S32;
    begin_line(d, n, ".indices", &index, "iota");
    fprintf(d->to, "), iota_dimension=%d\n", dim);
    print_constant(d, n, ".zero", DTYPE_S32, 0.0);
}

/* the state of XLA's generator: here seed, stream, 0, 0 */
static void print_random_state(const struct graph_dump *d, const struct graph_node *n)
{
    struct shape word = shape_make(DTYPE_U32, 1, (int64_t[]){1}), scalar = shape_scalar(DTYPE_U32);
    struct shape three = shape_make(DTYPE_U32, 1, (int64_t[]){3});
    struct shape four = shape_make(DTYPE_U32, 1, (int64_t[]){4});

    begin_line(d, n, ".seed", &scalar, "bitcast-convert");
    print_operands(d, n, 0);
    fputs(")\n", d->to);
    begin_line(d, n, ".word", &word, "reshape");
    print_own(n, ".seed", d->to);
    fputs(")\n", d->to);
    begin_line(d, n, ".stream", &three, "constant");
    fprintf(d->to, "{%" PRIu32 ", 0, 0})\n", (uint32_t)n->count);
    begin_line(d, n, ".state", &four, "concatenate");
    print_own(n, ".word", d->to);
    fputs(", ", d->to);
    print_own(n, ".stream", d->to);
    fputs("), dimensions={0}\n", d->to);
}

/* operands from `first` on, and a counter's start, as one tuple */
static void print_state(const struct graph_dump *d, const struct graph_node *n, int first)
{
    if (has_counter(n))
        print_constant(d, n, ".zero", DTYPE_S32, 0.0);
    fputs("  ", d->to);
    print_own(n, ".state", d->to);
    fputs(" = (", d->to);
    for (int i = first; i < n->operand_count; i++) {
        fputs(i > first ? ", " : "", d->to);
        print_shape(&d->g->node[n->operand[i]].shape, d->to);
    }
    fputs(has_counter(n) ? ", s32[]) tuple(" : ") tuple(", d->to);
    print_operands(d, n, first);
    if (has_counter(n)) {
        fputs(", ", d->to);
        print_own(n, ".zero", d->to);
    }
    fputs(")\n", d->to);
}

static bool takes_start(const struct graph_node *n)
{
    return n->op == HLO_REDUCE || n->op == HLO_REDUCE_WINDOW || n->op == HLO_SELECT_AND_SCATTER;
}

static bool is_spread_constant(const struct graph_node *n)
{
    return n->op == HLO_CONSTANT && !n->literal && n->shape.rank > 0;
}

static void print_before(const struct graph_dump *d, const struct graph_node *n)
{
    if (takes_start(n))
        print_start(d, n);
    else if (n->op == HLO_RNG_BITS)
        print_random_state(d, n);
    else if (n->op == HLO_WHILE || n->op == HLO_CONDITIONAL)
        print_state(d, n, n->op == HLO_CONDITIONAL);
    else if (is_spread_constant(n))
        print_constant(d, n, ".value", n->shape.dtype, n->value);
}

static void print_metadata(const struct graph_node *n, FILE *to)
{
    if (n->source[0] != '\0') {
        fputs(", metadata={op_name=\"", to);
        for (const char *c = n->source; *c; c++)
            fprintf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        fputs("\"}", to);
    }
    fputc('\n', to);
}

static bool is_number(const struct graph_node *n)
{
    return n->op == HLO_PARTITION_ID || n->op == HLO_REPLICA_ID;
}

/* a result that HLO gives with others, and which of them it is; -1: the instruction's own */
static int element_wanted(const struct graph_node *n)
{
    if (is_arg(n) || n->op == HLO_RNG_BITS)
        return 1;
    return n->op == HLO_WHILE && n->tuple_count == 0 ? 0 : -1;
}

static bool is_ordered(const struct graph_node *n)
{
    return n->op == HLO_DOT && n->dot.has_order;
}

/* Where HLO's instruction gives something else than the node, that is the next one's: behind it
 * stands what makes the node's of it. */
static const char *suffix_of(const struct graph_node *n)
{
    return element_wanted(n) >= 0 ? ".all" : is_ordered(n) ? ".product" : is_number(n) ? ".id" : "";
}

/* of a product before its dimensions are put in order */
static struct shape product_shape(const struct graph_node *n)
{
    struct shape s = n->shape;

    for (int i = 0; i < s.rank; i++)
        s.dim[n->dot.order[i]] = n->shape.dim[i];
    return s;
}

static void print_result_type(const struct graph_dump *d, const struct graph_node *n)
{
    struct shape product = is_ordered(n) ? product_shape(n) : n->shape;

    if (is_ordered(n) || is_number(n)) {
        product.dtype = is_number(n) ? DTYPE_U32 : product.dtype;
        print_shape(&product, d->to);
        return;
    }
    if (is_arg(n) || n->op == HLO_RNG_BITS) {
        struct shape first = n->shape;

        if (is_arg(n))
            first.dtype = d->g->node[n->operand[0]].shape.dtype;
        else
            first = shape_make(DTYPE_U32, 1, (int64_t[]){4});
        fputc('(', d->to);
        print_shape(&first, d->to);
        fputs(", ", d->to);
        print_shape(&n->shape, d->to);
        fputc(')', d->to);
        return;
    }
    print_types(n, d->to);
}

static void print_arguments(const struct graph_dump *d, const struct graph_node *n)
{
    if (n->op == HLO_PARAMETER && d->takes_tuple) {
        fputs("%state", d->to);
    } else if (n->op == HLO_PARAMETER) {
        fprintf(d->to, "%d", n->parameter_index);
    } else if (n->op == HLO_RNG_BITS || n->op == HLO_WHILE) {
        print_own(n, ".state", d->to);
    } else if (n->op == HLO_CONDITIONAL) {
        graph_dump_name(d->g->node[n->operand[0]].name, d->to);
        for (int i = 0; i < GRAPH_CALLED_MAX; i++) {
            fputs(", ", d->to);
            print_own(n, ".state", d->to);
        }
    } else if (is_spread_constant(n)) {
        print_own(n, ".value", d->to);
    } else if (n->op == HLO_CONSTANT) {
        graph_dump_literal(n, d->to);
    } else {
        print_operands(d, n, 0);
    }
    if (is_arg(n)) {
        fputs(", ", d->to);
        print_own(n, ".indices", d->to);
    }
    if (takes_start(n)) {
        fputs(", ", d->to);
        print_own(n, ".init", d->to);
    }
    if (is_arg(n)) {
        fputs(", ", d->to);
        print_own(n, ".zero", d->to);
    }
}

/* by a name that HLO has */
static const char *instruction_of(const struct graph_dump *d, const struct graph_node *n)
{
    if (is_spread_constant(n))
        return "broadcast";
    if (n->op == HLO_PARAMETER && d->takes_tuple)
        return "get-tuple-element";
    return graph_dump_target(n) ? "custom-call" : graph_op_name(n->op);
}

static void print_main(const struct graph_dump *d, const struct graph_node *n, bool is_root)
{
    const char *op = instruction_of(d, n), *suffix = suffix_of(n);

    fputs(is_root && !suffix[0] ? "  ROOT " : "  ", d->to);
    print_own(n, suffix, d->to);
    fputs(" = ", d->to);
    print_result_type(d, n);
    fprintf(d->to, " %s(", op);
    print_arguments(d, n);
    fputc(')', d->to);
    if (is_spread_constant(n))
        fputs(", dimensions={}", d->to);
    if (n->op == HLO_PARAMETER && d->takes_tuple)
        fprintf(d->to, ", index=%d", n->parameter_index);
    if (n->op == HLO_RNG_BITS)
        fputs(", algorithm=rng_default", d->to);
    graph_dump_attributes(d, n);
    print_metadata(n, d->to);
}

/* what a device's number stands for, where that is another number */
static void print_number_table(const struct graph_dump *d, const struct graph_node *n)
{
    struct shape all = shape_make(n->shape.dtype, 1, &n->count), one = all;

    one.dim[0] = 1;
    begin_line(d, n, ".by_device", &all, "constant");
    for (int64_t i = 0; i < n->count; i++)
        fprintf(d->to, "%s%" PRId32, i ? ", " : "{", ((const int32_t *)n->literal)[i]);
    fputs("})\n", d->to);
    begin_line(d, n, ".its", &one, "dynamic-slice");
    print_own(n, ".by_device, ", d->to);
    print_own(n, ".id), dynamic_slice_sizes={1}\n", d->to);
}

static void print_dimensions(const int *dims, int count, FILE *to)
{
    fputc(')', to);
    graph_dump_dims("dimensions", dims, count, to);
    fputc('\n', to);
}

static void print_after(const struct graph_dump *d, const struct graph_node *n)
{
    bool has_table = n->op == HLO_PARTITION_ID && n->literal;

    fputs(element_wanted(n) >= 0 ? " get-tuple-element("
          : is_ordered(n)        ? " transpose("
          : has_table            ? " reshape("
                                 : " convert(", d->to);
    print_own(n, has_table ? ".its" : suffix_of(n), d->to);
    if (element_wanted(n) >= 0)
        fprintf(d->to, "), index=%d\n", element_wanted(n));
    else if (is_ordered(n))
        print_dimensions(n->dot.order, n->shape.rank, d->to);
    else
        fputs(")\n", d->to);
}

static void print_node(const struct graph_dump *d, const struct graph_node *n, bool is_root)
{
    print_before(d, n);
    print_main(d, n, is_root);
    if (!suffix_of(n)[0])
        return;
    if (n->op == HLO_PARTITION_ID && n->literal)
        print_number_table(d, n);
    fputs(is_root ? "  ROOT " : "  ", d->to);
    print_own(n, " = ", d->to);
    print_shape(&n->shape, d->to);
    print_after(d, n);
}

static void print_results(const struct graph_dump *d)
{
    fputs("  ROOT %results = (", d->to);
    for (int i = 0; i < d->g->output_count; i++) {
        fputs(i ? ", " : "", d->to);
        print_shape(&d->g->node[d->g->output[i].node].shape, d->to);
    }
    fputs(d->has_counter ? ", s32[]) tuple(" : ") tuple(", d->to);
    for (int i = 0; i < d->g->output_count; i++) {
        fputs(i ? ", " : "", d->to);
        graph_dump_name(d->g->node[d->g->output[i].node].name, d->to);
    }
    fputs(d->has_counter ? ", %next_trip)\n" : ")\n", d->to);
}

static void print_parameter_tuple(const struct graph_dump *d)
{
    fputs("  %state = (", d->to);
    for (int i = 0; i < d->g->parameter_count; i++) {
        fputs(i ? ", " : "", d->to);
        print_shape(&d->g->node[d->g->parameter[i]].shape, d->to);
    }
    fputs(d->has_counter ? ", s32[]) parameter(0)\n" : ") parameter(0)\n", d->to);
}

static void print_trip(const struct graph_dump *d)
{
    fprintf(d->to, "  %%trip = s32[] get-tuple-element(%%state), index=%d\n"
            "  %%one_trip = s32[] constant(1)\n"
            "  %%next_trip = s32[] add(%%trip, %%one_trip)\n", d->g->output_count);
}

/* one result may be given bare, else it is in a tuple */
static void print_computation(const struct graph_dump *d, bool is_bare)
{
    fputs(" {\n", d->to);
    if (d->takes_tuple)
        print_parameter_tuple(d);
    for (int i = 0; i < d->g->node_count; i++)
        print_node(d, &d->g->node[i], is_bare && d->g->output[0].node == i);
    if (d->has_counter)
        print_trip(d);
    if (!is_bare)
        print_results(d);
    fputs("}\n", d->to);
}

/* of a loop that counts its trips */
static void print_counter_condition(const struct graph_dump *d, const struct graph_node *n)
{
    fprintf(d->to, "%%%s%s.condition {\n  %%state = ", d->path, n->name);
    print_types(n, d->to);
    fprintf(d->to, " parameter(0)\n  %%trip = s32[] get-tuple-element(%%state), index=%d\n"
            "  %%trips = s32[] constant(%" PRId64 ")\n"
            "  ROOT %%goes_on = pred[] compare(%%trip, %%trips), direction=LT\n}\n\n",
            n->operand_count, n->count);
}

static void print_called(const struct graph_dump *d);

/* computation `which` of those that the node calls, and what that calls */
static void print_called_one(const struct graph_dump *d, const struct graph_node *n, int which,
                             const char *role)
{
    char path[DUMP_PATH_CHARS];
    struct graph_dump inner = {
        .g = n->called[which], .to = d->to, .path = path,
        .takes_tuple = n->op == HLO_WHILE || n->op == HLO_CONDITIONAL,
        .has_counter = has_counter(n)};
    bool is_body = n->op == HLO_WHILE && which == 0;

    snprintf(path, sizeof(path), "%s%s.%s.", d->path, n->name, role);
    print_called(&inner);
    fprintf(d->to, "%%%.*s", (int)strlen(path) - 1, path);
    print_computation(&inner, !is_body && inner.g->output_count == 1);
    fputc('\n', d->to);
}

static void print_called(const struct graph_dump *d)
{
    for (int i = 0; i < d->g->node_count; i++) {
        const struct graph_node *n = &d->g->node[i];

        if (n->op == HLO_SORT)
            graph_dump_comparator(d, n);
        if (!n->called[0])
            continue;
        print_called_one(d, n, 0, n->op == HLO_WHILE         ? "body"
                                  : n->op == HLO_CONDITIONAL ? "true"
                                                             : "computation");
        if (has_counter(n))
            print_counter_condition(d, n);
        else if (n->called[1])
            print_called_one(d, n, 1, n->op == HLO_WHILE ? "condition" : "false");
    }
}

static void print_aliases(const struct graph *g, FILE *to)
{
    int count = 0;

    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].alias_parameter >= 0)
            fprintf(to, "%s{%d}: (%d, {}, may-alias)",
                    count++ ? ", " : ", input_output_alias={ ", i, g->output[i].alias_parameter);
    fputs(count ? " }\n\n" : "\n\n", to);
}

void graph_dump(const struct graph *g, FILE *to)
{
    struct graph_dump d = {.g = g, .to = to, .path = ""};

    fprintf(to, "HloModule %s", g->name);
    print_aliases(g, to);
    graph_dump_helpers(g, to);
    print_called(&d);
    fputs("ENTRY ", to);
    graph_dump_name(g->name, to);
    print_computation(&d, false);
}
