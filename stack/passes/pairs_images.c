/* Takes arrays between pairs of pixels and pairs of images, and windows to the latter. */
#include "stack/passes/pairs_images.h"

#include "stack/hlo/array.h"

#define FEATURES 3

static bool is_trivial(const struct graph_window *w)
{
    return w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
           w->base_dilation == 1;
}

bool pairs_is_window(const struct graph *g, const struct graph_node *n)
{
    const struct shape *s = &g->node[n->operand[0]].shape;
    int64_t rows = ARRAY_TILE_BYTES / (4 * ARRAY_LANES) * 4 / array_element_bytes(s->dtype);

    return (n->op == HLO_REDUCE_WINDOW || n->op == HLO_SELECT_AND_SCATTER) && s->rank == 4 &&
           s->dim[0] % (2 * rows) == 0 && is_trivial(&n->window[0]) &&
           is_trivial(&n->window[FEATURES]);
}

int pairs_to_images(struct graph *g, int x, bool is_pairs)
{
    static const int of_pairs[] = {2, 3, 4, 1, 0, 5}, of_pixels[] = {2, 3, 1, 0, 4};
    const struct shape s = g->node[x].shape;
    int64_t n = s.dim[0] / 2, h = s.dim[1], w = s.dim[2], c = s.dim[FEATURES];

    if (is_pairs) {
        c /= 2;
        x = graph_reshape(g, x, shape_make(s.dtype, 6, (const int64_t[]){2, n, h, w, 2, c}));
        x = graph_transpose(g, x, of_pairs);
        w *= 2;
    } else {
        x = graph_reshape(g, x, shape_make(s.dtype, 5, (const int64_t[]){2, n, h, w, c}));
        x = graph_transpose(g, x, of_pixels);
    }
    return graph_reshape(g, x, shape_make(s.dtype, 4, (const int64_t[]){h, w, n, 2 * c}));
}

int pairs_from_images(struct graph *g, int x, bool is_pairs)
{
    static const int to_pairs[] = {4, 3, 0, 1, 2, 5}, to_pixels[] = {3, 2, 0, 1, 4};
    const struct shape s = g->node[x].shape;
    int64_t h = s.dim[0], w = s.dim[1], n = s.dim[2], c = s.dim[FEATURES] / 2;

    if (is_pairs) {
        w /= 2;
        x = graph_reshape(g, x, shape_make(s.dtype, 6, (const int64_t[]){h, w, 2, n, 2, c}));
        x = graph_transpose(g, x, to_pairs);
        c *= 2;
    } else {
        x = graph_reshape(g, x, shape_make(s.dtype, 5, (const int64_t[]){h, w, n, 2, c}));
        x = graph_transpose(g, x, to_pixels);
    }
    return graph_reshape(g, x, shape_make(s.dtype, 4, (const int64_t[]){2 * n, h, w, c}));
}

int pairs_window_of_images(struct graph *g, const struct graph_node *n)
{
    const struct graph_window w[] = {n->window[1], n->window[2], n->window[0], n->window[FEATURES]};

    return n->op == HLO_REDUCE_WINDOW
               ? graph_reduce_window(g, n->reduce_kind, n->operand[0], w)
               : graph_select_and_scatter(g, n->direction, n->operand[0], n->operand[1], w);
}
