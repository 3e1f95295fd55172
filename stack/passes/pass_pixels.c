/*
 * Pixels side by side: arrays of few features, whose tiles of lanes would be half empty or more.
 *
 * [batch, height, width, features] with at most half a tile of lanes of features becomes
 * [batch, height, width / P, P x features], P = 2, 4 or 8: a part of the bytes in memory, and a
 * convolution between such arrays fills the matrix unit, with zeros in its kernel where a pixel of
 * a group does not meet a tap (stack/passes/pixels/pixels_conv.h). In elements it is a reshape that
 * moves nothing; so what is done element by element stays as it is, with values per feature P
 * times, and sums per feature are added in Ps at the end.
 *
 * A *family* is arrays that elementwise work joins. It is laid out so where all that makes them
 * and all that reads them can be: convolutions, elementwise work, reductions of rows of pixels,
 * windows (pools and their gradients, of images side by side: stack/passes/pixels/pixels_images.h),
 * and reshapes of the program itself between pixels and their groups.
 */
#include "stack/passes/pass.h"

#include "stack/hlo/array.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/conv/conv.h"
#include "stack/passes/pixels/pixels_conv.h"
#include "stack/passes/pixels/pixels_images.h"

#define FEATURES_MIN 16                 /* fewer: kernels of groups would be most of the work, */
#define ROWS_MIN 512                    /* as of arrays with less pixels than so many times P x P */
#define IMAGES_MIN 16                   /* fewer: pixels are rows, and lanes are no one's concern; */
#define TRAINED_IMAGES_MIN 1            /* but not where gradients by kernel want images there */
#define WIDTH 2                         /* dimensions of an array */
#define FEATURES 3

struct pixels {
    struct rewrite w;
    int *family;                        /* by node: one that stands for all; NODE_NONE: none */
    bool *is_refused;                   /* by node that stands for a family */
    bool *is_output;
    int64_t images_min;
    int *packed;                        /* by node: pixels side by side, in the new graph; */
    int *images;                        /* images side by side, where a window reads them */
};

/* ----- what may have pixels side by side */

/* how many pixels of an array of this shape fill a tile of lanes; 1: it stays */
static int count_pixels(const struct shape *s)
{
    int64_t rows = s->dim[0] * s->dim[1] * s->dim[WIDTH];
    int pixels = 1;

    if (s->rank != 4 || s->dim[FEATURES] < FEATURES_MIN)
        return 1;
    for (int next = 2; next <= PIXELS_MAX; next *= 2)
        if (next * s->dim[FEATURES] <= ARRAY_LANES && s->dim[WIDTH] % next == 0 &&
            rows >= ROWS_MIN * next * next)
            pixels = next;
    return pixels;
}

static bool has_features(const struct pixels *p, const struct shape *s)
{
    return count_pixels(s) > 1 && s->dim[0] >= p->images_min;
}

/* of values that are the same along the width */
static bool is_spread(const struct graph *g, const struct graph_node *n)
{
    if (n->op != HLO_BROADCAST || n->shape.rank != 4)
        return false;
    for (int i = 0; i < g->node[n->operand[0]].shape.rank; i++)
        if (n->dims[i] == WIDTH || (i > 0 && n->dims[i] <= n->dims[i - 1]))
            return false;
    return true;
}

static bool has_pixels(const int *spatial) { return spatial[0] == 1 && spatial[1] == WIDTH; }

/* contracts batch and pixels of what is its kernel: a gradient by kernel */
static bool is_by_kernel(const struct graph_node *n)
{
    return n->conv->kernel_in == 0 && n->conv->kernel_out == FEATURES;
}

/* an input of such a gradient that may be packed; a first layer's, with images last, stays */
static bool is_input_by_kernel(const struct graph_conv *c)
{
    return c->in_feature == 0 && c->in_batch == FEATURES && has_pixels(c->in_spatial);
}

/* labels of an array in the order of its dimensions */
static bool is_input_plain(const struct graph_conv *c)
{
    return c->in_batch == 0 && has_pixels(c->in_spatial) && c->in_feature == FEATURES;
}

static bool is_result_plain(const struct graph_conv *c)
{
    return c->out_batch == 0 && has_pixels(c->out_spatial) && c->out_feature == FEATURES;
}

static bool is_elementwise(const struct graph *g, const struct graph_node *n)
{
    if (!graph_op_is_elementwise(n->op))
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (!shape_same_dims(&g->node[n->operand[k]].shape, &n->shape))
            return false;
    return true;
}

static struct shape shape_of_groups(const struct shape *s)
{
    struct shape to = *s;
    int pixels = count_pixels(s);

    to.dim[WIDTH] /= pixels;
    to.dim[FEATURES] *= pixels;
    return to;
}

/* a reshape of the array `pixels` of the program from its groups, or to them */
static bool is_between(const struct graph_node *n, const struct shape *pixels,
                       const struct shape *other)
{
    struct shape s;

    if (n->op != HLO_RESHAPE || count_pixels(pixels) == 1)
        return false;
    s = shape_of_groups(pixels);
    return shape_equal(&s, other);
}

static bool is_from_groups(const struct graph *g, const struct graph_node *n)
{
    return n->op == HLO_RESHAPE && is_between(n, &n->shape, &g->node[n->operand[0]].shape);
}

static int find(const struct pixels *p, int node)
{
    while (node != NODE_NONE && p->family[node] != node)
        node = p->family[node];
    return node;
}

static bool is_packed(const struct pixels *p, int node)
{
    int family = p->family[node] == NODE_NONE ? NODE_NONE : find(p, node);

    return family != NODE_NONE && !p->is_refused[family];
}

static int pixels_of(const struct pixels *p, int node)
{
    return is_packed(p, node) ? count_pixels(&p->w.from->node[node].shape) : 1;
}

/* arrays of the right shape, each with those that elementwise work joins it with */
static void find_families(struct pixels *p)
{
    const struct graph *g = p->w.from;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        p->family[i] = has_features(p, &n->shape) && n->tuple_count == 0 && !is_spread(g, n)
                           ? i : NODE_NONE;
        for (int k = 0; k < n->operand_count && p->family[i] >= 0 && is_elementwise(g, n); k++)
            if (p->family[n->operand[k]] >= 0)
                p->family[find(p, n->operand[k])] = find(p, i);
    }
}

/* the convolution over groups that there is as families are now; false: none */
static bool find_width(const struct pixels *p, int node, struct pixels_width *w)
{
    const struct graph_node *n = &p->w.from->node[node];
    const struct graph_window *along = &n->window[1];
    int in = pixels_of(p, n->operand[0]);

    if (is_by_kernel(n))
        return along->stride == 1 && !along->is_reversed && n->conv->feature_groups == 1 &&
               has_pixels(n->conv->kernel_spatial) &&
               pixels_width_make(w, in, pixels_of(p, n->operand[1]),
                                 n->shape.dim[n->conv->out_spatial[1]], along->pad_low,
                                 along->window_dilation, along->base_dilation);
    return along->window_dilation == 1 && n->conv->batch_groups == 1 &&
           pixels_width_make(w, in, pixels_of(p, node), along->size, along->pad_low,
                             along->stride, along->base_dilation);
}

/* a convolution or a window whose result may be packed */
static bool may_make(const struct pixels *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    struct pixels_width w;

    if (n->op == HLO_CONVOLUTION)
        return n->conv->spatial_count == 2 && !is_by_kernel(n) && is_result_plain(n->conv) &&
               find_width(p, node, &w);
    return pixels_images(p->w.from, n, PIXELS_MAX) > 1 && is_packed(p, n->operand[0]);
}

/* of whole rows of pixels; a sum is not of a wider type than what it adds */
static bool may_reduce(const struct graph *g, const struct graph_node *n)
{
    return (n->reduce_mask & 1 << WIDTH) != 0 && n->operand_count == 1 &&
           n->shape.dtype == g->node[n->operand[0]].shape.dtype;
}

/* node `user` may read its operand k as packed */
static bool may_read(const struct pixels *p, int user, int k)
{
    const struct graph *g = p->w.from;
    const struct graph_node *n = &g->node[user];
    struct pixels_width w;

    if (is_elementwise(g, n))
        return p->family[user] >= 0;
    if (is_between(n, &g->node[n->operand[k]].shape, &n->shape))
        return true;
    if (n->op == HLO_REDUCE)
        return may_reduce(g, n);
    if (n->op != HLO_CONVOLUTION)
        return pixels_images(g, n, pixels_of(p, n->operand[0])) > 1;
    if (n->conv->spatial_count != 2 || !find_width(p, user, &w))
        return false;
    if (!is_by_kernel(n))
        return k == 0 && is_input_plain(n->conv);
    return k == 1 || is_input_by_kernel(n->conv);
}

/* what makes or reads an array as it was keeps its whole family so; whether any was refused */
static bool refuse(struct pixels *p)
{
    const struct graph *g = p->w.from;
    bool is_new = false;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (is_packed(p, i)) {
            bool is_right = may_make(p, i) || is_elementwise(g, n) || is_from_groups(g, n);

            for (int k = 0; k < n->operand_count && is_elementwise(g, n); k++)
                is_right &= is_spread(g, &g->node[n->operand[k]]) || p->family[n->operand[k]] >= 0;
            if (!is_right || p->is_output[i])
                is_new = p->is_refused[find(p, i)] = true;
        }
        for (int k = 0; k < n->operand_count; k++)
            if (is_packed(p, n->operand[k]) && !may_read(p, i, k))
                is_new = p->is_refused[find(p, n->operand[k])] = true;
    }
    return is_new;
}

/* ----- elementwise work and reductions */

/* [..., features] with its features so many times */
static int repeated(struct graph *g, int v, int count)
{
    const struct shape s = g->node[v].shape;
    struct shape times = s, all = s;
    int dims[GRAPH_RANK_MAX], last = s.rank - 1;

    for (int i = 0; i < s.rank; i++)
        dims[i] = i + (i == last);
    times.rank++;
    times.dim[last] = count;
    times.dim[last + 1] = s.dim[last];
    all.dim[last] *= count;
    return graph_reshape(g, graph_broadcast(g, v, times, dims), all);
}

static int groups_of(struct pixels *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    struct graph *g = &p->w.to;
    struct shape s = shape_of_groups(&n->shape);
    int v, rank;

    if (p->packed[node] != NODE_NONE)
        return p->packed[node];
    v = p->w.moved[n->operand[0]];
    rank = g->node[v].shape.rank;
    if (rank > 0 && n->dims[rank - 1] == FEATURES)
        v = repeated(g, v, count_pixels(&n->shape));
    p->packed[node] = graph_broadcast(g, v, s, rank > 0 ? n->dims : NULL);
    return p->packed[node];
}

static int elementwise(struct pixels *p, int node)
{
    struct graph_node n = rewrite_node(&p->w, node);

    for (int k = 0; k < n.operand_count; k++)
        n.operand[k] = groups_of(p, p->w.from->node[node].operand[k]);
    n.shape = shape_of_groups(&n.shape);
    return rewrite_add(&p->w.to, &n);
}

/* of groups, and then of the pixels of each, unless features have been reduced with them */
static int reduction(struct pixels *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    struct graph *g = &p->w.to;
    int pixels = pixels_of(p, n->operand[0]);
    int v = graph_reduce(g, n->reduce_kind, groups_of(p, n->operand[0]), n->reduce_mask);
    struct shape s = g->node[v].shape;

    if ((n->reduce_mask & 1 << FEATURES) != 0)
        return v;
    s.rank++;
    s.dim[s.rank - 2] = pixels;
    s.dim[s.rank - 1] = n->shape.dim[n->shape.rank - 1];
    return graph_reduce(g, n->reduce_kind, graph_reshape(g, v, s), 1u << (s.rank - 2));
}

/* ----- windows and convolutions */

static int packed_or_moved(struct pixels *p, int node)
{
    return is_packed(p, node) ? groups_of(p, node) : p->w.moved[node];
}

/* what has no pixels side by side gets images so, too */
static int images_of(struct pixels *p, int node, int images)
{
    struct graph *g = &p->w.to;
    int64_t features = images * p->w.from->node[node].shape.dim[FEATURES];

    if (p->images[node] == NODE_NONE || g->node[p->images[node]].shape.dim[FEATURES] != features)
        p->images[node] = pixels_to_images(g, packed_or_moved(p, node), pixels_of(p, node), images);
    return p->images[node];
}

static int window(struct pixels *p, int node)
{
    const int *from = p->w.from->node[node].operand;
    struct graph_node n = rewrite_node(&p->w, node);
    int images = pixels_images(p->w.from, &p->w.from->node[node], pixels_of(p, from[0]));

    n.operand[0] = images_of(p, from[0], images);
    if (n.op == HLO_SELECT_AND_SCATTER)
        n.operand[1] = images_of(p, from[1], images);
    return pixels_from_images(&p->w.to, pixels_window(&p->w.to, &n), pixels_of(p, node), images);
}

static int convolution(struct pixels *p, int node)
{
    const struct graph_node *from = &p->w.from->node[node];
    struct graph_node n = rewrite_node(&p->w, node);
    struct pixels_width w;
    int input;

    if (from->conv->spatial_count != 2 || !find_width(p, node, &w) || (w.in == 1 && w.out == 1))
        return NODE_NONE;
    input = packed_or_moved(p, from->operand[0]);
    if (!is_by_kernel(from))
        return pixels_forward(&p->w.to, &n, &w, input);
    return pixels_gradient(&p->w.to, &n, &w, input, packed_or_moved(p, from->operand[1]));
}

/* ----- the new graph */

static void visit(struct pixels *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    int made = NODE_NONE;

    graph_stand_for(&p->w.to, n);
    if (n->op == HLO_CONVOLUTION)
        made = convolution(p, node);
    else if (n->operand_count > 0 && is_packed(p, n->operand[0]) && pixels_images(p->w.from, n, 2) > 1)
        made = window(p, node);
    else if (is_packed(p, node))
        made = n->op == HLO_RESHAPE ? p->w.moved[n->operand[0]] : elementwise(p, node);
    else if (n->op == HLO_REDUCE && is_packed(p, n->operand[0]))
        made = reduction(p, node);
    else if (n->op == HLO_RESHAPE && is_packed(p, n->operand[0]))
        made = groups_of(p, n->operand[0]);
    if (made == NODE_NONE) {
        rewrite_copy(&p->w, node);
        return;
    }
    if (is_packed(p, node)) {
        p->packed[node] = made;
        made = graph_reshape(&p->w.to, made, n->shape);
    }
    p->w.moved[node] = made;
}

int pass_pixels(struct graph *g, const struct pass_context *c, struct err *e)
{
    struct pixels p = {.w.from = g};
    size_t count = (size_t)g->node_count;
    struct arena a;
    bool has_any = false;

    (void)e;
    if (c->keeps_roundings)
        return 0;                       /* sums per feature would be rounded in parts */
    arena_init(&a);
    p.family = arena_array(&a, count, sizeof(int));
    p.packed = arena_array(&a, count, sizeof(int));
    p.images = arena_array(&a, count, sizeof(int));
    p.is_refused = arena_array(&a, count, sizeof(bool));
    p.is_output = arena_array(&a, count, sizeof(bool));
    for (int i = 0; i < g->node_count; i++)
        p.packed[i] = p.images[i] = NODE_NONE;
    for (int i = 0; i < g->output_count; i++)
        p.is_output[g->output[i].node] = true;
    p.images_min = conv_has_gradients_by_kernel(g) ? TRAINED_IMAGES_MIN : IMAGES_MIN;
    find_families(&p);
    while (refuse(&p))
        continue;
    for (int i = 0; i < g->node_count; i++)
        has_any |= is_packed(&p, i);
    if (has_any) {
        rewrite_begin(&p.w, g);
        for (int i = 0; i < p.w.from->node_count; i++)
            if (p.w.from->node[i].op != HLO_PARAMETER)
                visit(&p, i);
        rewrite_end(&p.w);
    }
    arena_fini(&a);
    return 0;
}
