/* Convolutions in pieces: groups, images, pixels, features, taps; and plainer ones. */
#include "stack/passes/pieces/pieces.h"

#include "base/units.h"

#include <string.h>

#define LANES 128
#define ROWS 8
#define HOLES_MAX 16                    /* between elements, that the kernel leaves out by itself */

enum { CUT_GROUPS, CUT_IMAGES, CUT_COLUMNS, CUT_PIXELS, CUT_FEATURES = CUT_PIXELS + 3, CUT_TAPS,
       CUT_DIMS = CUT_TAPS + 3 };

bool pieces_of_convolution(const struct graph *g, const struct graph_node *n, struct pieces *out)
{
    const struct graph_conv *c = n->conv;
    const struct shape *x = &g->node[n->operand[0]].shape, *k = &g->node[n->operand[1]].shape;
    int64_t groups = c->feature_groups * c->batch_groups;
    bool is_whole = groups > 1;

    out->count = CUT_DIMS;
    out->combine = HLO_ADD;
    out->dim[CUT_GROUPS] = (struct piece_dim){groups, 1, c->out_feature};
    out->dim[CUT_IMAGES] = (struct piece_dim){c->batch_groups > 1 ? 1 : x->dim[c->in_batch], ROWS,
                                              c->out_batch};
    out->dim[CUT_COLUMNS] = (struct piece_dim){is_whole ? 1 : k->dim[c->kernel_out], LANES,
                                               c->out_feature};
    out->dim[CUT_FEATURES] = (struct piece_dim){c->feature_groups > 1 ? 1 : x->dim[c->in_feature],
                                                ROWS, -1};
    for (int i = 0; i < 3; i++) {
        bool is_there = i < c->spatial_count;
        int out_dim = is_there ? c->out_spatial[i] : 0;

        out->dim[CUT_PIXELS + i] = (struct piece_dim){is_there ? n->shape.dim[out_dim] : 1, 1,
                                                      out_dim};
        out->dim[CUT_TAPS + i] = (struct piece_dim){is_there ? n->window[i].size : 1, 1, -1};
    }
    return true;
}

/* operands of a piece, as they are cut */
struct cut { struct graph *g; int x, k; const int64_t *from, *count; };

static void cut_groups(struct cut *c, struct graph_conv *v)
{
    int64_t groups = v->feature_groups * v->batch_groups, first = c->from[CUT_GROUPS];
    int64_t end = first + c->count[CUT_GROUPS];
    int dim = v->batch_groups > 1 ? v->in_batch : v->in_feature;
    int64_t inputs = c->g->node[c->x].shape.dim[dim] / groups;
    int64_t outputs = c->g->node[c->k].shape.dim[v->kernel_out] / groups;

    if (groups == 1)
        return;
    c->x = pieces_slice(c->g, c->x, dim, first * inputs, end * inputs);
    c->k = pieces_slice(c->g, c->k, v->kernel_out, first * outputs, end * outputs);
    if (v->batch_groups > 1)
        v->batch_groups = end - first;
    else
        v->feature_groups = end - first;
}

/* `v` is the convolution as a whole: groups of images share all features, groups of features none */
static void cut_features(struct cut *c, const struct graph_conv *v)
{
    const int64_t *f = c->from, *n = c->count;

    if (v->batch_groups == 1)
        c->x = pieces_slice(c->g, c->x, v->in_batch, f[CUT_IMAGES], f[CUT_IMAGES] + n[CUT_IMAGES]);
    if (v->feature_groups > 1)
        return;
    c->x = pieces_slice(c->g, c->x, v->in_feature, f[CUT_FEATURES],
                        f[CUT_FEATURES] + n[CUT_FEATURES]);
    c->k = pieces_slice(c->g, c->k, v->kernel_in, f[CUT_FEATURES],
                        f[CUT_FEATURES] + n[CUT_FEATURES]);
    if (v->batch_groups == 1)
        c->k = pieces_slice(c->g, c->k, v->kernel_out, f[CUT_COLUMNS],
                            f[CUT_COLUMNS] + n[CUT_COLUMNS]);
}

static void cut_window(struct cut *c, const struct graph_node *n, int i, struct graph_window *w)
{
    int in_dim = n->conv->in_spatial[i], kernel_dim = n->conv->kernel_spatial[i];
    int64_t taps = w->size, start, limit;
    int64_t first = c->from[CUT_TAPS + i], end = first + c->count[CUT_TAPS + i];

    if (c->count[CUT_PIXELS + i] == n->shape.dim[n->conv->out_spatial[i]] && end - first == taps)
        return;
    pieces_window(w, c->g->node[c->x].shape.dim[in_dim], c->from[CUT_PIXELS + i],
                  c->count[CUT_PIXELS + i], first, end - first, &start, &limit);
    c->x = pieces_slice(c->g, c->x, in_dim, start, limit);
    c->k = w->is_reversed ? pieces_slice(c->g, c->k, kernel_dim, taps - end, taps - first)
                          : pieces_slice(c->g, c->k, kernel_dim, first, end);
}

int pieces_make_convolution(struct graph *g, const struct graph_node *n, enum graph_dtype dtype,
                            const int64_t *from, const int64_t *count)
{
    struct graph_window w[GRAPH_SPATIAL_MAX];
    struct graph_conv v = *n->conv;
    struct cut c = {g, n->operand[0], n->operand[1], from, count};

    for (int i = 0; i < v.spatial_count; i++)       /* there may be none */
        w[i] = n->window[i];
    cut_groups(&c, &v);
    cut_features(&c, n->conv);
    for (int i = 0; i < v.spatial_count; i++)
        cut_window(&c, n, i, &w[i]);
    return graph_convolution(g, c.x, c.k, w, &v, dtype, n->precision);
}

/* ----- plainer ones */

static int padded(struct graph *g, int a, int dim, int64_t high, int64_t interior)
{
    int64_t low[GRAPH_RANK_MAX] = {0}, behind[GRAPH_RANK_MAX] = {0}, between[GRAPH_RANK_MAX] = {0};
    int zero = graph_constant(g, shape_make(g->node[a].shape.dtype, 0, NULL), 0);

    behind[dim] = high;
    between[dim] = interior;
    return graph_pad(g, a, zero, low, behind, between);
}

/* dimension `dim` of groups of `has` becomes groups of `wanted`: zeros behind each, or cut off */
static int resize_groups(struct graph *g, int a, int dim, int64_t has, int64_t wanted)
{
    struct shape s = g->node[a].shape, apart = s;

    memmove(apart.dim + dim + 1, s.dim + dim, (size_t)(s.rank - dim) * sizeof(*s.dim));
    apart.rank++;
    apart.dim[dim] = s.dim[dim] / has;
    apart.dim[dim + 1] = has;
    s.dim[dim] = apart.dim[dim] * wanted;
    return graph_reshape(g, padded(g, graph_reshape(g, a, apart), dim + 1, wanted - has, 0), s);
}

/* columns of a group that end where tiles do, or share one */
static int64_t whole_columns(int64_t columns)
{
    int64_t wanted = 1;

    if (columns > LANES)
        return round_up(columns, LANES);
    while (wanted < columns)
        wanted *= 2;
    return wanted;
}

static int with_whole_groups(struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    int64_t all = g->node[n->operand[1]].shape.dim[c->kernel_out], has = all / c->batch_groups;
    int64_t wanted = whole_columns(has);
    int k, y;

    if (c->batch_groups == 1 || all <= LANES || wanted == has)
        return NODE_NONE;
    k = resize_groups(g, n->operand[1], c->kernel_out, has, wanted);
    y = graph_convolution(g, n->operand[0], k, n->window, c, n->shape.dtype, n->precision);
    return resize_groups(g, y, c->out_feature, wanted, has);
}

static int with_filled_holes(struct graph *g, const struct graph_node *n, int64_t holes_max)
{
    struct graph_window w[GRAPH_SPATIAL_MAX];
    int x = n->operand[0];
    bool has_holes = false;

    for (int i = 0; i < n->conv->spatial_count; i++)
        w[i] = n->window[i];
    for (int i = 0; i < n->conv->spatial_count; i++)
        if (w[i].base_dilation > holes_max) {
            x = padded(g, x, n->conv->in_spatial[i], 0, w[i].base_dilation - 1);
            w[i].base_dilation = 1;
            has_holes = true;
        }
    return has_holes ? graph_convolution(g, x, n->operand[1], w, n->conv, n->shape.dtype,
                                         n->precision)
                     : NODE_NONE;
}

int pieces_plain_form(struct graph *g, const struct graph_node *n, bool is_last)
{
    int node = NODE_NONE;

    if (n->op == HLO_CONVOLUTION)
        node = with_filled_holes(g, n, is_last ? 1 : HOLES_MAX);
    if (n->op == HLO_CONVOLUTION && node == NODE_NONE)
        node = with_whole_groups(g, n);
    if (node == NODE_NONE && (n->op == HLO_DOT || n->op == HLO_CONVOLUTION))
        node = pieces_precise_product(g, n);
    if (is_last && (n->op == HLO_GATHER || n->op == HLO_DYNAMIC_SLICE))
        node = pieces_wide_index(g, n);
    return node;
}
