/* Shapes as text, as graphs, and smaller ones. */
#include "cli/validate/shape_case.h"

#include "base/text.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"

#include <stdlib.h>
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

struct words { char *rest, *option; struct err *e; };

static char *next_word(struct words *w)
{
    return strtok_r(NULL, " ", &w->rest);
}

/* one number for both, or two */
static int parse_pair(struct words *w, int64_t *to)
{
    char *word = next_word(w), *end = word;

    for (int i = 0; i < 2 && word; i++) {
        to[i] = strtoll(word, &end, 10);
        if (end == word || to[i] < 0 || to[i] > 1 << 20 || (*end && *end != 'x'))
            break;
        if (*end == '\0') {
            to[1] = i ? to[1] : to[0];
            return 0;
        }
        word = end + 1;
    }
    return err_set(w->e, "%s needs one or two whole numbers", w->option);
}

static int parse_type(struct words *w, enum graph_dtype *type)
{
    char *word = next_word(w);

    for (int i = 0; word && i < DTYPE_COUNT; i++)
        if (strcmp(word, graph_dtype_name((enum graph_dtype)i)) == 0) {
            *type = (enum graph_dtype)i;
            return 0;
        }
    return err_set(w->e, "--dtype needs a type");
}

static int parse_dims(struct words *w, struct op_request *r)
{
    char *word = next_word(w), *end = word;

    for (r->dim_count = 0; word && r->dim_count < GRAPH_RANK_MAX; word = end + 1) {
        r->dims[r->dim_count++] = (int)strtol(word, &end, 10);
        if (end == word || (*end && *end != ','))
            break;
        if (*end == '\0')
            return 0;
    }
    return err_set(w->e, "--dims needs whole numbers, e.g. 0,2");
}

static int parse_k(struct words *w, struct op_request *r)
{
    char *word = next_word(w);

    r->k = word ? strtoll(word, NULL, 10) : 0;
    return r->k > 0 ? 0 : err_set(w->e, "-k needs a whole number");
}

static int parse_grad(struct words *w, enum conv_way *way)
{
    char *word = next_word(w);

    for (int i = 1; word && i < CONV_WAYS; i++)
        if (strcmp(word, way_names[i]) == 0) {
            *way = (enum conv_way)i;
            return 0;
        }
    return err_set(w->e, "--grad needs input, kernel or step");
}

static int parse_pad(struct words *w, struct shape_case *c)
{
    bool is_same = strncmp(w->rest, "same", 4) == 0;

    if (c->kind == SHAPE_CONV)
        c->conv.is_same = is_same;
    else
        c->op.is_same = is_same;
    if (is_same) {
        next_word(w);
        return 0;
    }
    return parse_pair(w, c->conv.pad);
}

static int parse_option(struct words *w, struct shape_case *c, struct arena *a)
{
    enum graph_dtype type = DTYPE_F32;
    int64_t groups[2];

    if (strcmp(w->option, "--tpu") == 0) {
        char *word = next_word(w);

        c->tpu = word ? arena_strdup(a, word) : c->tpu;
        return word ? 0 : err_set(w->e, "--tpu needs a chip");
    }
    if (strcmp(w->option, "--dtype") == 0) {
        int failed = parse_type(w, &type);

        c->conv.is_f32 = type == DTYPE_F32;
        c->op.dtype = type;
        return failed;
    }
    if (strcmp(w->option, "--stride") == 0) {
        c->op.stride_count = 2;
        return parse_pair(w, c->conv.stride) ||
               (memcpy(c->op.stride, c->conv.stride, sizeof(c->conv.stride)), 0);
    }
    if (strcmp(w->option, "--window") == 0) {
        c->op.window_count = 2;
        return parse_pair(w, c->op.window);
    }
    if (strcmp(w->option, "--groups") == 0) {
        int failed = parse_pair(w, groups);

        c->conv.groups = failed ? 1 : groups[0];
        return failed;
    }
    if (strcmp(w->option, "--dilation") == 0)
        return parse_pair(w, c->conv.dilation);
    if (strcmp(w->option, "--pad") == 0)
        return parse_pad(w, c);
    if (strcmp(w->option, "--dims") == 0)
        return parse_dims(w, &c->op);
    if (strcmp(w->option, "-k") == 0)
        return parse_k(w, &c->op);
    if (strcmp(w->option, "--grad") == 0)
        return parse_grad(w, &c->conv.way);
    if (strcmp(w->option, "--row-major") == 0) {
        c->conv.is_row_major = true;
        return 0;
    }
    return err_set(w->e, "unknown option \"%s\" of a shape", w->option);
}

static int parse_shape(struct words *w, struct shape_case *c, int at)
{
    int64_t size[GRAPH_RANK_MAX];
    int rank = op_parse_sizes(w->option, size);

    if (rank < 0 || at >= OP_SHAPES_MAX || (c->kind == SHAPE_CONV && (rank != 4 || at > 1)))
        return err_set(w->e, "\"%s\" is no shape of it", w->option);
    if (c->kind == SHAPE_CONV) {
        memcpy(at ? c->conv.kernel : c->conv.input, size, sizeof(size));
        return 0;
    }
    c->op.shape[at].rank = rank;
    memcpy(c->op.shape[at].dim, size, sizeof(size));
    c->op.shape_count = at + 1;
    return 0;
}

static int parse_name(struct words *w, struct shape_case *c)
{
    char *word = w->option;

    if (word && strcmp(word, "op") == 0) {
        word = next_word(w);
        for (size_t i = 0; word && i < COUNT_OF(operations); i++)
            if (strcmp(word, operations[i].name) == 0) {
                c->op.name = operations[i].name;
                c->kind = operations[i].kind;
                return 0;
            }
    } else if (word && strcmp(word, "conv") == 0) {
        c->kind = SHAPE_CONV;
        return 0;
    }
    return err_set(w->e, "a shape is \"conv\" with its sizes, or \"op\" with dot, gather, scatter, "
                   "sort, topk, a reduction, a pool, or what moves data");
}

int shape_case_parse(struct shape_case *c, const char *text, struct arena *a, struct err *e)
{
    struct words w = {.e = e};
    int shapes = 0;

    *c = (struct shape_case){.conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1},
                             .op = {.dtype = DTYPE_BF16}, .tpu = "v5e"};
    w.option = strtok_r(arena_strdup(a, text), " ", &w.rest);
    if (w.option && strcmp(w.option, "systole") == 0)
        w.option = next_word(&w);
    if (parse_name(&w, c))
        return -1;
    while ((w.option = next_word(&w)))
        if (w.option[0] == '-' ? parse_option(&w, c, a) : parse_shape(&w, c, shapes++))
            return -1;
    if (shapes == 0 || (c->kind == SHAPE_CONV && shapes < 2))
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
        text = arena_printf(a, "%s -k %lld", text, (long long)r->k);
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
