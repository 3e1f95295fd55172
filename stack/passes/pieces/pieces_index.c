/*
 * Gathers, scatters and select-and-scatters in pieces: rows of indices, columns of slices, and
 * elements together with all places whose windows reach them.
 */
#include "stack/passes/pieces/pieces.h"

#include <string.h>

/* dimensions of a gather's result that are not of a slice, in order, are those of the indices */
static int index_dim_of(const struct graph_gather *w, int result_dim)
{
    int at = result_dim;

    for (int i = 0; i < w->offset_count; i++) {
        if (w->offset_dims[i] == result_dim)
            return -1;
        at -= w->offset_dims[i] < result_dim;
    }
    return at + (at >= w->index_vector_dim);
}

static bool is_collapsed(const struct graph_gather *w, int dim)
{
    for (int i = 0; i < w->collapsed_count; i++)
        if (w->collapsed_dims[i] == dim)
            return true;
    return false;
}

/* where, among the dimensions of a slice, the table's dimension `dim` is; -1: nowhere */
static int offset_of(const struct graph_gather *w, int dim)
{
    int at = 0;

    if (is_collapsed(w, dim))
        return -1;
    for (int d = 0; d < dim; d++)
        at += !is_collapsed(w, d);
    return at;
}

/* the table's dimension along which a gather's result dimension `dim` runs */
static int table_dim_of(const struct graph_gather *w, int rank, int dim)
{
    for (int d = 0; d < rank; d++) {
        int at = offset_of(w, d);

        if (at >= 0 && w->offset_dims[at] == dim)
            return d;
    }
    return -1;
}

/* slices that are whole along a dimension stay so in each piece: their start is 0 there */
static bool has_columns(const struct graph *g, const struct graph_node *n, int dim)
{
    const struct shape *table = &g->node[n->operand[0]].shape;
    int at = table_dim_of(n->gather, table->rank, dim);

    return at >= 0 && table->dim[at] > 1 && n->gather->slice_sizes[at] == table->dim[at];
}

/*
 * Indices are left whole where columns can be cut: parts of them are made by a kernel, so that
 * timing mode does not know them.
 */
bool pieces_can_cut_index(const struct graph *g, const struct graph_node *n, int dim)
{
    const struct graph_gather *w = n->gather;
    const struct shape *table = &g->node[n->operand[0]].shape;
    int at;

    if (w->batching_count > 0)
        return false;
    if (n->op == HLO_SCATTER) {
        at = offset_of(w, dim);
        return at >= 0 && g->node[n->operand[2]].shape.dim[w->offset_dims[at]] == table->dim[dim];
    }
    if (has_columns(g, n, dim))
        return true;
    for (int d = 0; d < n->shape.rank; d++)
        if (has_columns(g, n, d))
            return false;
    return index_dim_of(w, dim) >= 0;
}

static int cut(struct graph *g, int a, int dim, const struct piece_part *p, int d)
{
    return pieces_slice(g, a, dim, p->from[d], p->from[d] + p->count[d]);
}

int pieces_make_gather(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    int table = n->operand[0], indices = n->operand[1];
    struct graph_gather w = *n->gather;

    for (int d = 0; d < n->shape.rank; d++) {
        int from = index_dim_of(&w, d);

        if (!pieces_is_cut(p, d))
            continue;
        if (from >= 0) {
            indices = cut(g, indices, from, p, d);
        } else {
            from = table_dim_of(&w, g->node[table].shape.rank, d);
            table = cut(g, table, from, p, d);
            w.slice_sizes[from] = p->count[d];
        }
    }
    return graph_gather(g, table, indices, &w);
}

int pieces_make_scatter(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    int table = n->operand[0], updates = n->operand[2];

    for (int d = 0; d < n->shape.rank; d++)
        if (pieces_is_cut(p, d)) {
            table = cut(g, table, d, p, d);
            updates = cut(g, updates, n->gather->offset_dims[offset_of(n->gather, d)], p, d);
        }
    return graph_scatter(g, n->reduce_kind, table, n->operand[1], updates, n->gather);
}

static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
static int64_t within(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* what a piece of a select-and-scatter needs along a dimension: elements and places of windows */
struct reach { int64_t x_first, x_end, place_first, place_end; };

/* Windows are whole, so that each chooses what it chose; at least one, be it beside the piece. */
static struct reach reach_of(const struct graph_window *w, int64_t size, int64_t places,
                             int64_t first, int64_t end)
{
    struct reach r;
    int64_t from, to;

    r.place_first = within(floor_div(first + w->pad_low - w->size, w->stride) + 1, 0, places - 1);
    r.place_end = within(floor_div(end - 1 + w->pad_low, w->stride) + 1, r.place_first + 1, places);
    from = r.place_first * w->stride - w->pad_low;
    to = (r.place_end - 1) * w->stride - w->pad_low + w->size;
    r.x_first = within(from, 0, first);
    r.x_end = within(to, end, size);
    return r;
}

/*
 * Every element gets its sources from the same places, in the same order, as in the whole: the
 * bits are the same. Windows that reach two pieces choose twice.
 */
int pieces_make_selection(struct graph *g, const struct graph_node *n, const struct piece_part *p)
{
    struct graph_window w[GRAPH_RANK_MAX];
    int64_t skip[GRAPH_RANK_MAX] = {0};
    int x = n->operand[0], source = n->operand[1], made;

    memcpy(w, n->window, (size_t)n->shape.rank * sizeof(*w));
    for (int d = 0; d < n->shape.rank; d++) {
        int64_t first = p->from[d], end = first + p->count[d];
        struct reach r;

        if (!pieces_is_cut(p, d))
            continue;
        r = reach_of(&w[d], n->shape.dim[d], g->node[source].shape.dim[d], first, end);
        x = pieces_slice(g, x, d, r.x_first, r.x_end);
        source = pieces_slice(g, source, d, r.place_first, r.place_end);
        w[d].pad_low = r.x_first - (r.place_first * w[d].stride - w[d].pad_low);
        w[d].pad_high = (r.place_end - r.place_first - 1) * w[d].stride + w[d].size - w[d].pad_low -
                        (r.x_end - r.x_first);
        skip[d] = first - r.x_first;
    }
    made = graph_select_and_scatter(g, n->direction, x, source, w);
    for (int d = 0; d < n->shape.rank; d++)
        if (pieces_is_cut(p, d))
            made = pieces_slice(g, made, d, skip[d], skip[d] + p->count[d]);
    return made;
}

static bool is_packed(const struct shape *s)
{
    return s->dtype == DTYPE_BF16 || s->dtype == DTYPE_S8 || s->dtype == DTYPE_U8;
}

/*
 * Elements of words are fetched through less vector memory than narrow ones, whose tiles have more
 * rows: what moves by index alone moves wide, and the bits are the same.
 */
int pieces_wide_index(struct graph *g, const struct graph_node *n)
{
    bool is_float = n->shape.dtype == DTYPE_BF16;
    int wide, made;

    if (!is_packed(&n->shape))
        return NODE_NONE;
    wide = graph_convert(g, n->operand[0], is_float ? DTYPE_F32 : DTYPE_S32);
    made = n->op == HLO_GATHER ? graph_gather(g, wide, n->operand[1], n->gather)
                               : graph_dynamic_slice(g, wide, n->operand + 1, n->shape.dim);
    return graph_convert(g, made, n->shape.dtype);
}
