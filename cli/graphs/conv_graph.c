/*
 * Builds the graph of one convolution, forward or one of its gradients, in the layouts that its
 * kernel asks for.
 */
#include "cli/graphs/conv_graph.h"

#include "stack/kernels/conv/conv.h"

static const int row_major[] = {0, 1, 2, 3};

/* the dimensions of input and result, major first: orders of batch, height, width, features */
static int add(struct graph *g, const struct conv_graph *c, const int *in, const int *out, int *x,
               int *k)
{
    struct graph_conv conv = {.spatial_count = 2, .kernel_in = 2, .kernel_out = 3,
                              .kernel_spatial = {0, 1}, .feature_groups = c->groups,
                              .batch_groups = 1};
    int *in_label[] = {&conv.in_batch, &conv.in_spatial[0], &conv.in_spatial[1], &conv.in_feature};
    int *out_label[] = {&conv.out_batch, &conv.out_spatial[0], &conv.out_spatial[1],
                        &conv.out_feature};
    int64_t dims[4];

    for (int i = 0; i < 4; i++) {
        dims[i] = c->in[in[i]];
        *in_label[in[i]] = i;
        *out_label[out[i]] = i;
    }
    *x = graph_parameter(g, shape_make(c->type, 4, dims), "input");
    *k = graph_parameter(g, shape_make(c->type, 4, c->kernel), "kernel");
    return graph_convolution(g, *x, *k, c->window, &conv, c->type, PRECISION_DEFAULT);
}

/* what the kernel wants inside a network; -1: no gradient */
static int ask(const struct conv_graph *c, struct conv_layouts *wish, struct arena *a,
               struct err *e)
{
    struct graph g;
    int x, k, y, gradient, failed = 0;

    graph_init(&g, a, "conv");
    y = add(&g, c, row_major, row_major, &x, &k);
    if (c->is_training)
        failed = graph_backward(&g, y, graph_parameter(&g, g.node[y].shape, "gradient"), &k, 1,
                                &gradient, e);
    if (!failed)
        conv_layouts(&g, y, NULL, wish);
    graph_fini(&g);
    return failed;
}

int conv_graph_add(struct graph *g, const struct conv_graph *c, int *x, int *k, int *y,
                   struct err *e)
{
    struct conv_layouts wish;
    int in[4], out[4];

    if (c->is_row_major) {
        *y = add(g, c, row_major, row_major, x, k);
        return 0;
    }
    if (ask(c, &wish, g->arena, e))
        return -1;
    for (int i = 0; i < 4; i++) {
        in[i] = wish.lhs[3 - i];
        out[i] = wish.result[3 - i];
    }
    *y = add(g, c, in, out, x, k);
    return 0;
}
