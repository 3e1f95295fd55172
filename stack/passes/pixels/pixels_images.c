/* Takes arrays between pixels and images side by side, and windows to the latter. */
#include "stack/passes/pixels/pixels_images.h"

#include "stack/hlo/array.h"

#define FEATURES 3

static bool is_trivial(const struct graph_window *w)
{
    return w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
           w->base_dilation == 1;
}

int pixels_images(const struct graph *g, const struct graph_node *n, int pixels)
{
    const struct shape *s;
    int64_t rows;

    if ((n->op != HLO_REDUCE_WINDOW && n->op != HLO_SELECT_AND_SCATTER) ||
        n->shape.rank != 4 || !is_trivial(&n->window[0]) || !is_trivial(&n->window[FEATURES]))
        return 1;
    s = &g->node[n->operand[0]].shape;
    rows = ARRAY_TILE_BYTES / (4 * ARRAY_LANES) * 4 / array_element_bytes(s->dtype);
    while (pixels > 1 && s->dim[0] % (pixels * rows) != 0)
        pixels /= 2;
    return pixels;
}

int pixels_to_images(struct graph *g, int x, int pixels, int images)
{
    static const int order[] = {2, 3, 4, 1, 0, 5};
    const struct shape s = g->node[x].shape;
    int64_t n = s.dim[0] / images, h = s.dim[1], w = s.dim[2], c = s.dim[FEATURES] / pixels;

    x = graph_reshape(g, x, shape_make(s.dtype, 6, (const int64_t[]){images, n, h, w, pixels, c}));
    x = graph_transpose(g, x, order);
    return graph_reshape(g, x, shape_make(s.dtype, 4, (const int64_t[]){
               h, w * pixels, n, images * c}));
}

int pixels_from_images(struct graph *g, int x, int pixels, int images)
{
    static const int order[] = {4, 3, 0, 1, 2, 5};
    const struct shape s = g->node[x].shape;
    int64_t h = s.dim[0], w = s.dim[1] / pixels, n = s.dim[2], c = s.dim[FEATURES] / images;

    x = graph_reshape(g, x, shape_make(s.dtype, 6, (const int64_t[]){h, w, pixels, n, images, c}));
    x = graph_transpose(g, x, order);
    return graph_reshape(g, x, shape_make(s.dtype, 4, (const int64_t[]){
               images * n, h, w, pixels * c}));
}

int pixels_window(struct graph *g, const struct graph_node *n)
{
    const struct graph_window w[] = {n->window[1], n->window[2], n->window[0], n->window[FEATURES]};

    return n->op == HLO_REDUCE_WINDOW
               ? graph_reduce_window(g, n->reduce_kind, n->operand[0], w)
               : graph_select_and_scatter(g, n->direction, n->operand[0], n->operand[1], w);
}
