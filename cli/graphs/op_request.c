/* An operation's name, sizes and options as text tells them. */
#include "cli/graphs/op_graph.h"

#include "stack/hlo/graph_shape.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_ONE (1LL << 31)

int op_parse_sizes(const char *text, int64_t *to)
{
    int count = 0;

    for (;;) {
        char *end;
        long long value = strtoll(text, &end, 10);

        if (end == text || value < 1 || value > SIZE_MAX_ONE || count == GRAPH_RANK_MAX)
            return -1;
        to[count++] = value;
        if (*end == '\0')
            return count;
        if (*end != 'x' && *end != ',')
            return -1;
        text = end + 1;
    }
}

int op_request_take_shape(struct op_request *r, const char *text, struct err *e)
{
    struct shape *s = &r->shape[r->shape_count];
    int64_t elements = 1;

    if (r->shape_count == OP_SHAPES_MAX)
        return err_set(e, "%d shapes are the most", OP_SHAPES_MAX);
    s->rank = op_parse_sizes(text, s->dim);
    if (s->rank < 0)
        return err_set(e, "\"%s\" is no shape; up to %d sizes from 1 on are needed, e.g. "
                       "8x128x256", text, GRAPH_RANK_MAX);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] > SHAPE_ELEMS_MAX / elements)
            return err_set(e, "%s has more than %lld elements", text, SHAPE_ELEMS_MAX);
        elements *= s->dim[i];
    }
    r->shape_count++;
    return 0;
}

static int parse_type(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    enum graph_dtype *to = (enum graph_dtype *)(void *)((char *)values + o->at);

    for (int i = 0; i < DTYPE_COUNT; i++)
        if (strcmp(graph_dtype_name((enum graph_dtype)i), text) == 0) {
            *to = (enum graph_dtype)i;
            return 0;
        }
    return err_set(e, "--%s is \"%s\", allowed are f32, bf16, s32, u32, s8, u8, pred", o->name,
                   text);
}

static int parse_dims(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct op_request *r = values;
    const char *at = text;

    for (r->dim_count = 0; *at;) {
        char *end;
        long value = strtol(at, &end, 10);

        if (end == at || value < 0 || value >= GRAPH_RANK_MAX || r->dim_count == GRAPH_RANK_MAX ||
            (*end && *end != ','))
            return err_set(e, "--%s is \"%s\"; whole numbers in 0..%d are needed, e.g. 0,2,1",
                           o->name, at, GRAPH_RANK_MAX - 1);
        r->dims[r->dim_count++] = (int)value;
        at = *end ? end + 1 : end;
    }
    return 0;
}

static int parse_sizes(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct op_request *r = values;
    bool is_window = o->at == offsetof(struct op_request, window);
    int count = op_parse_sizes(text, is_window ? r->window : r->stride);

    *(is_window ? &r->window_count : &r->stride_count) = count;
    return count > 0 ? 0 : err_set(e, "--%s is \"%s\"; sizes from 1 on are needed, e.g. 3x3",
                                   o->name, text);
}

#define AT(member) CLI_AT(struct op_request, member)

static const struct cli_option rows[] = {
    {"dtype", 0, "TYPE", "of the operands: f32, bf16 (default), s32, u32, s8, u8, pred", 1,
     CLI_OTHER, AT(dtype), .parse = parse_type},
    {"dims", 0, "D,D…", "dimensions, counted from 0", 1, CLI_OTHER, .parse = parse_dims},
    {"window", 0, "HxW", "of pooling (default: 2)", 1, CLI_OTHER, AT(window),
     .parse = parse_sizes},
    {"stride", 0, "HxW", "of pooling (default: the window)", 1, CLI_OTHER, AT(stride),
     .parse = parse_sizes},
    {"pad", 0, "same", "of pooling: zeros beside the image, a window for every stride", 1,
     CLI_CHOICE, AT(is_same), .words = "none|same"},
    {NULL, 'k', "N", "how many, of topk", 1, CLI_WHOLE, AT(k), .lo = 1, .hi = SHAPE_ELEMS_MAX},
    {"to", 0, "TYPE", "of convert's result (default: f32)", 1, CLI_OTHER, AT(to),
     .parse = parse_type},
    {"count", 0, "N", "how many, of topk", 1, CLI_WHOLE, AT(k), .lo = 1,
     .hi = SHAPE_ELEMS_MAX},
    {0}};
const struct cli_options op_request_options = {.row = rows};
