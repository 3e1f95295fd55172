/* A convolution from sizes and options, forward, a gradient of it, or a layer's training step. */
#include "cli/graphs/conv_request.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/graphs/conv_graph.h"
#include "cli/graphs/op_graph.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

/* ----- from text */

/* one number for both, or two */
static int parse_pair(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    int64_t *to = (int64_t *)(void *)((char *)values + o->at);
    int64_t size[GRAPH_RANK_MAX];
    int count = 1;

    if (text_parse_int(text, o->lo, 1 << 20, &size[0]))
        count = op_parse_sizes(text, size);
    if (count < 1 || count > 2 || size[0] < o->lo || (count == 2 && size[1] < o->lo))
        return err_set(e, "--%s is \"%s\"; one or two whole numbers from %lld on are needed, "
                       "e.g. 2x2", o->name, text, (long long)o->lo);
    to[0] = size[0];
    to[1] = size[count - 1];
    return 0;
}

static int parse_pad(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct conv_request *r = values;

    r->is_same = strcmp(text, "same") == 0;
    return r->is_same ? 0 : parse_pair(o, text, values, e);
}

int conv_request_take_shape(struct conv_request *r, const char *text, struct err *e)
{
    int64_t *to = r->shape_count ? r->kernel : r->input;

    if (r->shape_count == 2)
        return err_set(e, "an input and a kernel, not also \"%s\"", text);
    if (op_parse_sizes(text, to) != 4)
        return err_set(e, "\"%s\": four sizes are needed, %s", text,
                       r->shape_count ? "height x width x input features x features"
                                      : "batch x height x width x features");
    r->shape_count++;
    return 0;
}

#define AT(member) CLI_AT(struct conv_request, member)

static const struct cli_option rows[] = {
    {"stride", 0, "HxW", "steps of the window (default: 1)", 1, CLI_OTHER, AT(stride), .lo = 1,
     .parse = parse_pair},
    {"pad", 0, "HxW", "zeros on each side, or \"same\" (default: 0)", 1, CLI_OTHER, AT(pad),
     .parse = parse_pad},
    {"dilation", 0, "HxW", "distance of the kernel's elements (default: 1)", 1, CLI_OTHER,
     AT(dilation), .lo = 1, .parse = parse_pair},
    {"groups", 0, "N", "groups of features; as many as input features: depthwise", 1, CLI_WHOLE,
     AT(groups), .lo = 1, .hi = 1 << 20},
    {"grad", 0, "OF", "time the gradient by input or by kernel instead; step: a layer "
     "with bias and relu, and all its gradients (default: none)", 1, CLI_CHOICE, AT(way),
     .words = "none|input|kernel|step"},
    {"dtype", 0, "TYPE", "of operands and result: bf16 (default) or f32", 1, CLI_CHOICE,
     AT(is_f32), .words = "bf16|f32"},
    {"row-major", 0, NULL,
     "input and result as NxHxWxC in memory, as a program's parameters are, with transposes "
     "around the convolution (default: laid out as inside a network)", 1, CLI_FLAG,
     AT(is_row_major)},
    {0}};
const struct cli_options conv_request_options = {.row = rows};

/* ----- the graph */

static int check_sizes(const struct conv_request *r, struct err *e)
{
    double elements = 1;

    for (int i = 0; i < 4; i++)
        elements *= (double)r->input[i];
    if (elements > (double)SHAPE_ELEMS_MAX)
        return err_set(e, "the input has more than %lld elements", SHAPE_ELEMS_MAX);
    if (r->kernel[2] * r->groups != r->input[3])
        return err_set(e, "%lld input features in %lld group%s need a kernel of %lld, not %lld",
                       (long long)r->input[3], (long long)r->groups,
                       r->groups == 1 ? "" : "s",
                       (long long)(r->input[3] / r->groups), (long long)r->kernel[2]);
    if (r->kernel[3] % r->groups)
        return err_set(e, "%lld output features do not divide into %lld groups",
                       (long long)r->kernel[3], (long long)r->groups);
    return 0;
}

static int make_windows(const struct conv_request *r, struct graph_window w[2], struct err *e)
{
    for (int i = 0; i < 2; i++) {
        int64_t reach = (r->kernel[i] - 1) * r->dilation[i] + 1, in = r->input[1 + i];
        int64_t both = 2 * r->pad[i];

        if (r->is_same) {
            both = (div_up(in, r->stride[i]) - 1) * r->stride[i] + reach - in;
            both = both < 0 ? 0 : both;
        }
        w[i] = (struct graph_window){.size = r->kernel[i], .stride = r->stride[i],
                                     .pad_low = both / 2, .pad_high = both - both / 2,
                                     .base_dilation = 1, .window_dilation = r->dilation[i]};
        if (in + both < reach)
            return err_set(e, "a window of %lld over %lld with %lld of padding",
                           (long long)reach, (long long)in, (long long)both);
    }
    return 0;
}

/* as in a layer: features' biases are added, and what is below zero is cut off */
static int activated(struct graph *g, int y, int *bias)
{
    struct shape s = g->node[y].shape;
    int last = s.rank - 1;

    *bias = graph_parameter(g, shape_make(s.dtype, 1, &s.dim[last]), "bias");
    y = graph_binary(g, HLO_ADD, y, graph_broadcast(g, *bias, s, &last));
    return graph_binary(g, HLO_MAXIMUM, y, graph_splat(g, y, 0));
}

static int add_gradients(struct graph *g, int y, const int *wrt, int count, struct err *e)
{
    static const char *const names[] = {"input.gradient", "kernel.gradient", "bias.gradient"};
    int gradient[3], seed = graph_parameter(g, g->node[y].shape, "output.gradient");

    if (graph_backward(g, y, seed, wrt, count, gradient, e))
        return -1;
    for (int i = 0; i < count; i++)
        graph_output(g, gradient[i], count == 1 ? "gradient" : names[i], -1);
    return 0;
}

int conv_request_graph(const struct conv_request *r, struct graph *g, struct err *e)
{
    struct conv_graph c = {.type = r->is_f32 ? DTYPE_F32 : DTYPE_BF16, .groups = r->groups,
                           .is_row_major = r->is_row_major,
                           .is_training = r->way == CONV_BY_KERNEL || r->way == CONV_STEP};
    int y, wrt[3];

    if (check_sizes(r, e) || make_windows(r, c.window, e))
        return -1;
    memcpy(c.in, r->input, sizeof(c.in));
    memcpy(c.kernel, r->kernel, sizeof(c.kernel));
    if (conv_graph_add(g, &c, &wrt[0], &wrt[1], &y, e))
        return -1;
    if (r->way == CONV_STEP)
        y = activated(g, y, &wrt[2]);
    if (r->way == CONV_FORWARD || r->way == CONV_STEP)
        graph_output(g, y, "output", -1);
    if (r->way == CONV_STEP ? add_gradients(g, y, wrt, 3, e)
        : r->way != CONV_FORWARD && add_gradients(g, y, &wrt[r->way == CONV_BY_KERNEL], 1, e))
        return -1;
    graph_eliminate_dead(g);
    return graph_verify(g, e);
}
