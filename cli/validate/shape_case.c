/* Shapes as text, as graphs, and smaller ones. */
#include "cli/validate/shape_case.h"

#include "base/units.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

const char *const shape_kind_names[SHAPE_KINDS] = {"conv", "product", "window", "index",
                                                   "move", "sort"};

static const char *const way_names[CONV_WAYS] = {NULL, "input", "kernel", "step"};

static const struct { const char *name; enum shape_kind kind; } operations[] = {
    {"dot", SHAPE_PRODUCT},
    {"max-pool", SHAPE_WINDOW}, {"sum-pool", SHAPE_WINDOW},
    {"max-pool-gradient", SHAPE_WINDOW}, {"sum-pool-gradient", SHAPE_WINDOW},
    {"reduce-add", SHAPE_WINDOW}, {"reduce-max", SHAPE_WINDOW},
    {"gather", SHAPE_INDEX}, {"scatter", SHAPE_INDEX},
    {"transpose", SHAPE_MOVE}, {"reshape", SHAPE_MOVE}, {"slice", SHAPE_MOVE}, {"pad", SHAPE_MOVE},
    {"concatenate", SHAPE_MOVE}, {"reverse", SHAPE_MOVE},
    {"sort", SHAPE_SORT}, {"topk", SHAPE_SORT},
};

/* ----- from text */

static int take_shape(void *values, const char *text, struct err *e)
{
    struct shape_case *c = values;

    return c->kind == SHAPE_CONV ? conv_request_take_shape(&c->conv, text, e)
                                 : op_request_take_shape(&c->op, text, e);
}

static const struct cli_option chip_row[] = {
    {"tpu", 0, "NAME", "chip", 1, CLI_TEXT, CLI_AT(struct shape_case, tpu)}, {0}};
static const struct cli_part conv_parts[] = {
    {&conv_request_options, offsetof(struct shape_case, conv)}, {0}};
static const struct cli_part op_parts[] = {
    {&op_request_options, offsetof(struct shape_case, op)}, {0}};
static const struct cli_syntax conv_syntax = {.own = {chip_row, conv_parts, NULL},
                                              .argument = take_shape};
static const struct cli_syntax op_syntax = {.own = {chip_row, op_parts, NULL},
                                            .argument = take_shape};

/* "conv", or "op" and a name */
static int parse_name(struct shape_case *c, const char *word, char **rest, struct err *e)
{
    c->kind = SHAPE_CONV;
    if (word && strcmp(word, "conv") == 0)
        return 0;
    word = word && strcmp(word, "op") == 0 ? strtok_r(*rest, " ", rest) : NULL;
    for (size_t i = 0; word && i < COUNT_OF(operations); i++)
        if (strcmp(word, operations[i].name) == 0) {
            c->op.name = operations[i].name;
            c->kind = operations[i].kind;
            return 0;
        }
    return err_set(e, "a shape is \"conv\" with its sizes, or \"op\" with dot, gather, scatter, "
                   "sort, topk, a reduction, a pool, or what moves data");
}

int shape_case_parse(struct shape_case *c, const char *text, struct arena *a, struct err *e)
{
    char *rest = arena_strdup(a, text), *word = strtok_r(rest, " ", &rest);

    *c = (struct shape_case){.conv = CONV_REQUEST_DEFAULT, .op = OP_REQUEST_DEFAULT, .tpu = "v5e"};
    if (word && strcmp(word, "systole") == 0)
        word = strtok_r(rest, " ", &rest);
    if (parse_name(c, word, &rest, e)
        || cli_read_words(c->kind == SHAPE_CONV ? &conv_syntax : &op_syntax, rest, c, e))
        return -1;
    if (c->kind == SHAPE_CONV ? c->conv.shape_count < 2 : c->op.shape_count == 0)
        return err_set(e, "\"%s\" lacks a shape", text);
    return 0;
}

/* ----- to text */

static const char *print_sizes(const int64_t *size, int count, struct arena *a)
{
    const char *text = "";

    for (int i = 0; i < count; i++)
        text = arena_printf(a, "%s%s%lld", text, i ? "x" : "", (long long)size[i]);
    return text;
}

static const char *print_pair(const char *text, const char *option, const int64_t *x,
                              int64_t usual, struct arena *a)
{
    if (x[0] == usual && x[1] == usual)
        return text;
    return arena_printf(a, "%s --%s %lldx%lld", text, option, (long long)x[0], (long long)x[1]);
}

static const char *print_conv(const struct conv_request *r, struct arena *a)
{
    const char *text = arena_printf(a, "conv %s %s", print_sizes(r->input, 4, a),
                                    print_sizes(r->kernel, 4, a));

    if (r->groups > 1)
        text = arena_printf(a, "%s --groups %lld", text, (long long)r->groups);
    text = print_pair(text, "stride", r->stride, 1, a);
    text = print_pair(text, "dilation", r->dilation, 1, a);
    text = r->is_same ? arena_printf(a, "%s --pad same", text)
                      : print_pair(text, "pad", r->pad, 0, a);
    if (r->way != CONV_FORWARD)
        text = arena_printf(a, "%s --grad %s", text, way_names[r->way]);
    return arena_printf(a, "%s%s%s", text, r->is_f32 ? " --dtype f32" : "",
                        r->is_row_major ? " --row-major" : "");
}

static const char *print_op(const struct op_request *r, struct arena *a)
{
    const char *text = arena_printf(a, "op %s", r->name);

    for (int i = 0; i < r->shape_count; i++)
        text = arena_printf(a, "%s %s", text, print_sizes(r->shape[i].dim, r->shape[i].rank, a));
    for (int i = 0; i < r->dim_count; i++)
        text = arena_printf(a, "%s%s%d", text, i ? "," : " --dims ", r->dims[i]);
    if (r->window_count)
        text = arena_printf(a, "%s --window %s", text, print_sizes(r->window, r->window_count, a));
    if (r->stride_count)
        text = arena_printf(a, "%s --stride %s", text, print_sizes(r->stride, r->stride_count, a));
    if (r->is_same)
        text = arena_printf(a, "%s --pad same", text);
    if (r->k)
        text = arena_printf(a, "%s --count %lld", text, (long long)r->k);
    return arena_printf(a, "%s --dtype %s", text, graph_dtype_name(r->dtype));
}

const char *shape_case_print(const struct shape_case *c, struct arena *a)
{
    const char *text = c->kind == SHAPE_CONV ? print_conv(&c->conv, a) : print_op(&c->op, a);

    return arena_printf(a, "%s --tpu %s", text, c->tpu);
}

int shape_case_graph(const struct shape_case *c, struct arena *a, struct graph **out,
                     struct err *e)
{
    if (c->kind != SHAPE_CONV)
        return op_graph(&c->op, a, out, e);
    *out = arena_alloc(a, sizeof(**out));
    graph_init(*out, a, "conv");
    return conv_request_graph(&c->conv, *out, e);
}

/* ----- smaller ones */

static void halve(int64_t *x)
{
    *x = *x > 1 ? *x / 2 : 1;
}

static void set_pair(int64_t *x, int64_t value)
{
    x[0] = x[1] = value;
}

static void reduce_features(struct conv_request *r, bool is_groups)
{
    int64_t inputs = r->kernel[2], outputs = r->kernel[3] / r->groups;

    if (is_groups)
        halve(&r->groups);
    else
        halve(&inputs);
    r->kernel[2] = inputs;
    r->input[3] = inputs * r->groups;
    r->kernel[3] = outputs * r->groups;
}

static bool reduce_conv(struct conv_request *r, int at)
{
    switch (at) {
    case 0: halve(&r->input[0]); return true;
    case 1: halve(&r->input[1]); return true;
    case 2: halve(&r->input[2]); return true;
    case 3: halve(&r->kernel[0]); return true;
    case 4: halve(&r->kernel[1]); return true;
    case 5: reduce_features(r, true); return true;
    case 6: reduce_features(r, false); return true;
    case 7: r->kernel[3] = r->groups * (r->kernel[3] / r->groups > 1 ? r->kernel[3] / r->groups / 2
                                                                     : 1); return true;
    case 8: set_pair(r->stride, 1); return true;
    case 9: set_pair(r->dilation, 1); return true;
    case 10: r->is_same = false; set_pair(r->pad, 0); return true;
    case 11: r->is_row_major = false; return true;
    case 12: r->is_f32 = false; return true;
    case 13: r->way = r->way == CONV_STEP ? CONV_BY_KERNEL : r->way; return true;
    case 14: r->way = r->way == CONV_STEP ? CONV_BY_INPUT : r->way; return true;
    case 15: r->way = CONV_FORWARD; return true;
    case 16: r->input[0] -= r->input[0] > 1; return true;
    case 17: r->input[1] -= r->input[1] > 1; return true;
    case 18: r->input[2] -= r->input[2] > 1; return true;
    default: return false;
    }
}

/* the contracted dimension of a product is one of both operands */
static void halve_size(struct op_request *r, int shape, int dim)
{
    int rank = r->shape[shape].rank;

    halve(&r->shape[shape].dim[dim]);
    if (strcmp(r->name, "dot") != 0)
        return;
    if (dim < rank - 2)
        r->shape[!shape].dim[dim] = r->shape[shape].dim[dim];
    else if (dim == (shape ? rank - 2 : rank - 1))
        r->shape[!shape].dim[shape ? rank - 1 : rank - 2] = r->shape[shape].dim[dim];
}

static bool reduce_op(struct op_request *r, int at)
{
    for (int i = 0; i < r->shape_count; i++) {
        if (at < r->shape[i].rank) {
            halve_size(r, i, at);
            return true;
        }
        at -= r->shape[i].rank;
    }
    if (at < r->window_count) {
        halve(&r->window[at]);
        return true;
    }
    at -= r->window_count;
    if (at < r->stride_count) {
        halve(&r->stride[at]);
        return true;
    }
    r->is_same &= at != r->stride_count;
    if (at > r->stride_count && r->k > 1)
        halve(&r->k);
    return at == r->stride_count || (r->k > 1 && at == r->stride_count + 1);
}

bool shape_case_reduce(struct shape_case *c, int at)
{
    return c->kind == SHAPE_CONV ? reduce_conv(&c->conv, at) : reduce_op(&c->op, at);
}
