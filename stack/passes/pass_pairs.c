/*
 * Pairs of pixels: arrays of few features, whose tiles of lanes would be half empty.
 *
 * [batch, height, width, features] with at most half a tile of lanes of features becomes
 * [batch, height, width / 2, 2 x features]: half of the bytes in memory, and a convolution between
 * such arrays fills the matrix unit, with zeros in its kernel where a pixel of a pair does not meet
 * a tap. In elements it is a reshape that moves nothing; so what is done element by element stays
 * as it is, with values per feature twice, and sums per feature are added in twos at the end.
 *
 * Along the width out[w] = sum over taps t of in[w + t - p] k[t], stride one. With w = 2 j + s of
 * the result and 2 m + r of the input, whichever are pairs:
 *
 *   result   taps u = s + t of a stride of two, k[u - s] in column block s
 *   input    taps v = t - r + 1 of an input dilated by two, k[v + r - 1] in row block r
 *   both     taps q of pairs, k[t] where 2 q + r = s + t - p
 *
 * and gradients by kernel are those of these kernels, added up over r and s.
 *
 * A *family* is arrays that elementwise work joins. It is laid out in pairs where all that makes
 * them and all that reads them can be: convolutions, elementwise work, sums per feature, windows
 * (pools and their gradients, of pairs of images: stack/passes/pairs_images.h), and reshapes of
 * the program itself between pixels and their pairs.
 */
#include "stack/passes/pass.h"

#include "stack/hlo/array.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/conv/conv.h"
#include "stack/passes/pairs_images.h"

#define FEATURES_MIN 17                 /* fewer: a first layer, which has layouts of its own */
#define IMAGES_MIN 16                   /* fewer: pixels are rows, and lanes are no one's concern; */
#define TRAINED_IMAGES_MIN 1            /* but not where gradients by kernel want images there */
#define WIDTH 2                         /* dimensions of an array */
#define FEATURES 3

struct pairs {
    struct rewrite w;
    int *family;                        /* by node: one that stands for all; NODE_NONE: none */
    bool *is_refused;                   /* by node that stands for a family */
    bool *is_output;
    int64_t images_min;
    int *packed;                        /* by node: the pairs, in the new graph; */
    int *images;                        /* pairs of images, where a window reads them */
};

/* ----- what may be pairs */

static bool has_features(const struct pairs *p, const struct shape *s)
{
    return s->rank == 4 && s->dim[FEATURES] >= FEATURES_MIN &&
           2 * s->dim[FEATURES] <= ARRAY_LANES && s->dim[WIDTH] % 2 == 0 && s->dim[0] >= p->images_min;
}

static bool is_spread(const struct graph *g, const struct graph_node *n)
{
    int rank = n->op == HLO_BROADCAST ? g->node[n->operand[0]].shape.rank : GRAPH_RANK_MAX;

    return rank == 0 || (rank == 1 && n->shape.rank == 4 && n->dims[0] == FEATURES);
}

static bool has_pixels(const int *spatial) { return spatial[0] == 1 && spatial[1] == WIDTH; }

/* contracts batch and pixels of what is its kernel: a gradient by kernel */
static bool is_by_kernel(const struct graph_node *n)
{
    return n->conv->kernel_in == 0 && n->conv->kernel_out == FEATURES;
}

/* an input of such a gradient that may be pairs; a first layer's, with images last, stays */
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

static bool is_plain_along_width(const struct graph_node *n)
{
    const struct graph_window *w = &n->window[1];

    return n->conv->spatial_count == 2 && n->conv->feature_groups == 1 &&
           n->conv->batch_groups == 1 && w->stride == 1 && w->base_dilation == 1 &&
           w->window_dilation == 1;
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

static struct shape shape_of_pairs(const struct shape *s)
{
    struct shape to = *s;

    to.dim[WIDTH] /= 2;
    to.dim[FEATURES] *= 2;
    return to;
}

/* a reshape of the array `pixels` of the program from its pairs, or to them */
static bool is_between(const struct graph_node *n, const struct shape *pixels,
                       const struct shape *other)
{
    struct shape s = *pixels;

    if (n->op != HLO_RESHAPE || pixels->rank != 4 || pixels->dim[WIDTH] % 2 != 0)
        return false;
    s = shape_of_pairs(&s);
    return shape_equal(&s, other);
}

static bool is_from_pairs(const struct graph *g, const struct graph_node *n)
{
    return n->op == HLO_RESHAPE && is_between(n, &n->shape, &g->node[n->operand[0]].shape);
}

static int find(const struct pairs *p, int node)
{
    while (node != NODE_NONE && p->family[node] != node)
        node = p->family[node];
    return node;
}

static bool is_pairs(const struct pairs *p, int node)
{
    int family = p->family[node] == NODE_NONE ? NODE_NONE : find(p, node);

    return family != NODE_NONE && !p->is_refused[family];
}

/* arrays of the right shape, each with those that elementwise work joins it with */
static void find_families(struct pairs *p)
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

/* a convolution or a window whose result may be pairs */
static bool may_make(const struct pairs *p, const struct graph_node *n)
{
    if (n->op == HLO_CONVOLUTION)
        return is_plain_along_width(n) && is_result_plain(n->conv);
    return pairs_is_window(p->w.from, n) && is_pairs(p, n->operand[0]);
}

/* node `user` may read its operand k as pairs */
static bool may_read(const struct pairs *p, int user, int k)
{
    const struct graph *g = p->w.from;
    const struct graph_node *n = &g->node[user];

    if (is_elementwise(g, n))
        return p->family[user] >= 0;
    if (is_between(n, &g->node[n->operand[k]].shape, &n->shape))
        return true;
    if (pairs_is_window(g, n))
        return is_pairs(p, n->operand[0]);
    if (n->op == HLO_REDUCE)
        return n->reduce_mask == 7 && n->reduce_kind == REDUCE_ADD &&
               n->shape.dtype == g->node[n->operand[k]].shape.dtype;
    if (n->op != HLO_CONVOLUTION || !is_plain_along_width(n))
        return false;
    if (!is_by_kernel(n))
        return k == 0 && is_input_plain(n->conv);
    return has_pixels(n->conv->kernel_spatial) && !n->window[1].is_reversed &&
           (k == 1 || is_input_by_kernel(n->conv));
}

/* what makes or reads an array as no pairs keeps its whole family so; whether any was refused */
static bool refuse(struct pairs *p)
{
    const struct graph *g = p->w.from;
    bool is_new = false;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        bool is_right = may_make(p, n) || is_elementwise(g, n) || is_from_pairs(g, n);

        if (is_pairs(p, i)) {
            for (int k = 0; k < n->operand_count && is_elementwise(g, n); k++)
                is_right &= is_spread(g, &g->node[n->operand[k]]) || p->family[n->operand[k]] >= 0;
            if (!is_right || p->is_output[i])
                is_new = p->is_refused[find(p, i)] = true;
        }
        for (int k = 0; k < n->operand_count; k++)
            if (is_pairs(p, n->operand[k]) && !may_read(p, i, k))
                is_new = p->is_refused[find(p, n->operand[k])] = true;
    }
    return is_new;
}

/* ----- elementwise work and sums */

/* [features] twice */
static int twice(struct graph *g, int v)
{
    const struct shape s = g->node[v].shape;
    const int dim = 1;
    struct shape both = shape_make(s.dtype, 2, (const int64_t[]){2, s.dim[0]});

    v = graph_broadcast(g, v, both, &dim);
    return graph_reshape(g, v, shape_make(s.dtype, 1, (const int64_t[]){2 * s.dim[0]}));
}

static int pairs_of(struct pairs *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    struct graph *g = &p->w.to;
    struct shape s = shape_of_pairs(&n->shape);
    const int dim = FEATURES;
    int v;

    if (p->packed[node] != NODE_NONE)
        return p->packed[node];
    v = p->w.moved[n->operand[0]];
    p->packed[node] = g->node[v].shape.rank == 0 ? graph_broadcast(g, v, s, NULL)
                                                 : graph_broadcast(g, twice(g, v), s, &dim);
    return p->packed[node];
}

static int elementwise(struct pairs *p, int node)
{
    struct graph_node n = rewrite_node(&p->w, node);

    for (int k = 0; k < n.operand_count; k++)
        n.operand[k] = pairs_of(p, p->w.from->node[node].operand[k]);
    n.shape = shape_of_pairs(&n.shape);
    return rewrite_add(&p->w.to, &n);
}

static int sum(struct pairs *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    struct graph *g = &p->w.to;
    int v = graph_reduce(g, REDUCE_ADD, pairs_of(p, n->operand[0]), 7);

    v = graph_reshape(g, v, shape_make(n->shape.dtype, 2, (const int64_t[]){2, n->shape.dim[0]}));
    return graph_reduce(g, REDUCE_ADD, v, 1);
}

/* ----- windows */

/* what is no pairs becomes images, too */
static int images_of(struct pairs *p, int node)
{
    struct graph *g = &p->w.to;

    if (p->images[node] == NODE_NONE)
        p->images[node] = is_pairs(p, node) ? pairs_to_images(g, pairs_of(p, node), true)
                                            : pairs_to_images(g, p->w.moved[node], false);
    return p->images[node];
}

static int window(struct pairs *p, int node)
{
    const int *from = p->w.from->node[node].operand;
    struct graph_node n = rewrite_node(&p->w, node);

    n.operand[0] = images_of(p, from[0]);
    if (n.op == HLO_SELECT_AND_SCATTER)
        n.operand[1] = images_of(p, from[1]);
    return pairs_from_images(&p->w.to, pairs_window_of_images(&p->w.to, &n), is_pairs(p, node));
}

/* ----- convolutions */

/* of the product along the width: taps, padding before, how many pairs of taps from which on */
struct width { int64_t taps, pad, pair_taps, first_pair; };

static int64_t floor_half(int64_t x) { return x >= 0 ? x / 2 : -((1 - x) / 2); }

static struct width width_of(int64_t taps, int64_t pad)
{
    int64_t first = floor_half(-pad);

    return (struct width){taps, pad, floor_half(taps - pad) - first + 1, first};
}

static int zeros_before(struct graph *g, int x, int dim, int64_t low, int64_t high)
{
    int64_t before[GRAPH_RANK_MAX] = {0}, behind[GRAPH_RANK_MAX] = {0};
    int64_t between[GRAPH_RANK_MAX] = {0};

    before[dim] = low;
    behind[dim] = high;
    return graph_pad(g, x, graph_constant(g, shape_make(g->node[x].shape.dtype, 0, NULL), 0),
                     before, behind, between);
}

/* of pairs both ways: element 2 q + r of column block s is tap 2 q + r - offset(s) */
static int64_t offset(const struct width *w, int s) { return s - w->pad - 2 * w->first_pair; }

/* [height, width, in, out], the width in the order of the taps */
static int plain_kernel(struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    const int order[] = {c->kernel_spatial[0], c->kernel_spatial[1], c->kernel_in, c->kernel_out};
    const int dim = 1;
    int k = graph_transpose(g, n->operand[1], order);

    return n->window[1].is_reversed && n->window[1].size > 1 ? graph_reverse(g, k, &dim, 1) : k;
}

static int kernel_of_pairs(struct graph *g, const struct graph_node *n, const struct width *w,
                           bool is_in, bool is_out)
{
    int k = plain_kernel(g, n), part[2];
    struct shape s = g->node[k].shape;

    for (int i = 0; i < 2; i++) {
        int64_t low = is_in && is_out ? offset(w, i) : is_out ? i : 1 - i;
        int64_t taps = is_in && is_out ? 2 * w->pair_taps : w->taps + 1;

        part[i] = zeros_before(g, k, 1, low, taps - w->taps - low);
        if (is_in && is_out)
            part[i] = graph_reshape(g, part[i], shape_make(s.dtype, 4, (const int64_t[]){
                          s.dim[0], w->pair_taps, 2 * s.dim[2], s.dim[3]}));
    }
    return graph_concatenate(g, part, 2, is_out ? 3 : 2);
}

static void window_of_pairs(struct graph_window *to, const struct width *w, int64_t pairs_in,
                            int64_t pairs_out, bool is_in, bool is_out)
{
    to->is_reversed = false;
    if (is_in && is_out) {
        to->size = w->pair_taps;
        to->pad_low = -w->first_pair;
        to->pad_high = pairs_out + to->size - 1 - pairs_in - to->pad_low;
        return;
    }
    to->size = w->taps + 1;
    if (is_out) {
        to->stride = 2;
    } else {
        to->base_dilation = 2;
        to->pad_low++;
        to->pad_high++;
    }
}

static int forward(struct pairs *p, int node, bool is_in, bool is_out)
{
    struct graph *g = &p->w.to;
    struct graph_node n = rewrite_node(&p->w, node);
    struct graph_window window[2] = {n.window[0], n.window[1]};
    struct graph_conv c = *n.conv;
    struct width w = width_of(n.window[1].size, n.window[1].pad_low);
    int from = p->w.from->node[node].operand[0], x, k;

    x = is_in ? pairs_of(p, from) : n.operand[0];
    k = kernel_of_pairs(g, &n, &w, is_in, is_out);
    window_of_pairs(&window[1], &w, g->node[x].shape.dim[c.in_spatial[1]], n.shape.dim[WIDTH] / 2,
                    is_in, is_out);
    c.kernel_spatial[0] = 0;
    c.kernel_spatial[1] = 1;
    c.kernel_in = 2;
    c.kernel_out = 3;
    return graph_convolution(g, x, k, window, &c, n.shape.dtype, n.precision);
}

/* sizes [first, first + size) of dimension `a`, and of `b` */
static int cut(struct graph *g, int x, int a, int64_t first_a, int64_t size_a, int b,
               int64_t first_b, int64_t size_b)
{
    const struct shape s = g->node[x].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++)
        limit[i] = s.dim[i];
    start[a] = first_a;
    limit[a] = first_a + size_a;
    start[b] = first_b;
    limit[b] = first_b + size_b;
    return graph_slice(g, x, start, limit, NULL);
}

/* [height, width, in, out] to the dimensions and the type of the gradient */
static int as_gradient(struct graph *g, const struct graph_node *n, int x)
{
    const struct graph_conv *c = n->conv;
    int back[4] = {0};

    back[c->out_spatial[0]] = 0;
    back[c->out_spatial[1]] = 1;
    back[c->out_batch] = 2;
    back[c->out_feature] = 3;
    return graph_convert(g, graph_transpose(g, x, back), n->shape.dtype);
}

static void label_kernel_gradient(struct graph_conv *c)
{
    c->out_spatial[0] = 0;
    c->out_spatial[1] = 1;
    c->out_batch = 2;
    c->out_feature = 3;
}

/* the window of the gradient: the other operand's pixels, or pairs */
static void window_of_gradient(struct graph_window *to, const struct width *w, int64_t in_width,
                               bool is_in, bool is_kernel)
{
    to->size /= is_kernel ? 2 : 1;
    if (is_in && is_kernel) {
        to->pad_low = -w->first_pair;
        to->pad_high = w->pair_taps - 1 + to->size - in_width - to->pad_low;
    } else if (is_kernel) {
        to->window_dilation = 2;
    } else {
        to->base_dilation = 2;
        to->pad_low++;
        to->pad_high++;
    }
}

/* what the kernel of pairs has of the gradient, in part i of two that are added */
static int part_of(struct graph *g, const struct graph_node *n, int x, const struct width *w, int i,
                   bool is_in, bool is_kernel)
{
    int64_t in = n->shape.dim[n->conv->out_batch], out = n->shape.dim[n->conv->out_feature];

    if (is_kernel)
        return cut(g, x, 1, is_in ? offset(w, i) : i, w->taps, 3, i * out, out);
    return cut(g, x, 1, 1 - i, w->taps, 2, i * in, in);
}

static int gradient(struct pairs *p, int node, bool is_in, bool is_kernel)
{
    struct graph *g = &p->w.to;
    struct graph_node n = rewrite_node(&p->w, node);
    struct graph_window window[2] = {n.window[0], n.window[1]};
    struct graph_conv c = *n.conv;
    struct width w = width_of(n.shape.dim[c.out_spatial[1]], n.window[1].pad_low);
    const int *from = p->w.from->node[node].operand;
    int x = is_in ? pairs_of(p, from[0]) : n.operand[0];
    int k = is_kernel ? pairs_of(p, from[1]) : n.operand[1], y, first;

    window_of_gradient(&window[1], &w, g->node[x].shape.dim[WIDTH], is_in, is_kernel);
    label_kernel_gradient(&c);
    y = graph_convolution(g, x, k, window, &c, DTYPE_F32, n.precision);
    if (is_in && is_kernel)
        y = graph_reshape(g, y, shape_make(DTYPE_F32, 4, (const int64_t[]){
                n.shape.dim[n.conv->out_spatial[0]], 2 * w.pair_taps,
                n.shape.dim[n.conv->out_batch], 2 * n.shape.dim[n.conv->out_feature]}));
    first = part_of(g, &n, y, &w, 0, is_in, is_kernel);
    y = graph_binary(g, HLO_ADD, first, part_of(g, &n, y, &w, 1, is_in, is_kernel));
    return as_gradient(g, &n, y);
}

/* ----- the new graph */

static int convolution(struct pairs *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    bool is_in = is_pairs(p, n->operand[0]), is_kernel = is_pairs(p, n->operand[1]);

    if (!is_by_kernel(n))
        return is_in || is_pairs(p, node) ? forward(p, node, is_in, is_pairs(p, node)) : NODE_NONE;
    return is_in || is_kernel ? gradient(p, node, is_in, is_kernel) : NODE_NONE;
}

static void visit(struct pairs *p, int node)
{
    const struct graph_node *n = &p->w.from->node[node];
    int made = NODE_NONE;

    graph_stand_for(&p->w.to, n);
    if (n->op == HLO_CONVOLUTION)
        made = convolution(p, node);
    else if (pairs_is_window(p->w.from, n) && is_pairs(p, n->operand[0]))
        made = window(p, node);
    else if (is_pairs(p, node))
        made = n->op == HLO_RESHAPE ? p->w.moved[n->operand[0]] : elementwise(p, node);
    else if (n->op == HLO_REDUCE && is_pairs(p, n->operand[0]))
        made = sum(p, node);
    else if (n->op == HLO_RESHAPE && is_pairs(p, n->operand[0]))
        made = pairs_of(p, n->operand[0]);
    if (made == NODE_NONE) {
        rewrite_copy(&p->w, node);
        return;
    }
    if (is_pairs(p, node)) {
        p->packed[node] = made;
        made = graph_reshape(&p->w.to, made, n->shape);
    }
    p->w.moved[node] = made;
}

int pass_pairs(struct graph *g, const struct pass_context *c, struct err *e)
{
    struct pairs p = {.w.from = g};
    size_t count = (size_t)g->node_count;
    struct arena a;
    bool has_any = false;

    (void)e;
    if (c->keeps_roundings)
        return 0;                       /* sums per feature would be rounded in two parts */
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
        has_any |= is_pairs(&p, i);
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
