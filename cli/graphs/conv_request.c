/* A convolution from sizes and options, forward, a gradient of it, or a layer's training step. */
#include "cli/graphs/conv_request.h"

#include "base/units.h"
#include "cli/graphs/conv_graph.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

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
