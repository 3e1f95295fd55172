/* Writes the gradients of dots and convolutions, which are dots and convolutions again. */
#include "stack/grad/grad_impl.h"

/* ---- dots ---- */

/* one operand of a dot: its dimensions by role */
struct role {
    int node;
    const int *batch, *contract;
    int free_dims[GRAPH_RANK_MAX], free_count, rank;
};

static struct role role_of(const struct graph *g, const struct graph_node *n, int operand)
{
    struct role r = {.node = n->operand[operand],
                     .batch = operand ? n->dot.rhs_batch : n->dot.lhs_batch,
                     .contract = operand ? n->dot.rhs_contract : n->dot.lhs_contract};

    r.rank = g->node[r.node].shape.rank;
    for (int i = 0; i < r.rank; i++) {
        bool is_free = true;

        for (int k = 0; k < n->dot.batch_count; k++)
            is_free = is_free && r.batch[k] != i;
        for (int k = 0; k < n->dot.contract_count; k++)
            is_free = is_free && r.contract[k] != i;
        if (is_free)
            r.free_dims[r.free_count++] = i;
    }
    return r;
}

/*
 * dy by the other operand, in one order or the other: came[i] is the dimension of the operand
 * wanted that dimension i of this product is
 */
static void place_dims(const struct graph_node *n, const struct role *own,
                       const struct role *other, bool dy_first, int *came)
{
    int at = 0;

    for (int k = 0; k < n->dot.batch_count; k++)
        came[at++] = own->batch[k];
    for (int k = 0; k < own->free_count && dy_first; k++)
        came[at++] = own->free_dims[k];
    for (int dim = 0; dim < other->rank; dim++)
        for (int k = 0; k < n->dot.contract_count; k++)
            if (other->contract[k] == dim)
                came[at++] = own->contract[k];
    for (int k = 0; k < own->free_count && !dy_first; k++)
        came[at++] = own->free_dims[k];
}

static bool is_in_order(const int *came, int rank)
{
    for (int i = 0; i < rank; i++)
        if (came[i] != i)
            return false;
    return true;
}

/* dy's dimensions: batch, free ones of the left side, of the right side */
static struct graph_dot product_of(const struct graph_node *n, const struct role *other,
                                   int first_other, bool dy_first)
{
    struct graph_dot d = {.batch_count = n->dot.batch_count,
                          .contract_count = other->free_count};

    for (int k = 0; k < d.batch_count; k++) {
        d.lhs_batch[k] = dy_first ? k : other->batch[k];
        d.rhs_batch[k] = dy_first ? other->batch[k] : k;
    }
    for (int k = 0; k < d.contract_count; k++) {
        d.lhs_contract[k] = dy_first ? first_other + k : other->free_dims[k];
        d.rhs_contract[k] = dy_first ? other->free_dims[k] : first_other + k;
    }
    return d;
}

/* of the two orders the one that leaves nothing to transpose, where there is one */
static int dot_gradient(struct graph *g, const struct graph_node *n, int operand, int dy)
{
    struct role own = role_of(g, n, operand), other = role_of(g, n, 1 - operand);
    int first_other = n->dot.batch_count + (operand == 0 ? own.free_count : 0);
    enum graph_dtype dtype = g->node[own.node].shape.dtype;
    int came[GRAPH_RANK_MAX], to[GRAPH_RANK_MAX], product, d = grad_convert(g, dy, dtype);
    bool dy_first = true;
    struct graph_dot dot;

    place_dims(n, &own, &other, true, came);
    if (!is_in_order(came, own.rank)) {
        place_dims(n, &own, &other, false, came);
        dy_first = !is_in_order(came, own.rank);
        place_dims(n, &own, &other, dy_first, came);
    }
    dot = product_of(n, &other, first_other, dy_first);
    product = graph_dot_general(g, dy_first ? d : other.node, dy_first ? other.node : d, &dot,
                                n->shape.dtype, n->precision);
    product = grad_convert(g, product, dtype);
    if (is_in_order(came, own.rank))
        return product;
    for (int i = 0; i < own.rank; i++)
        to[came[i]] = i;
    return graph_transpose(g, product, to);
}

bool grad_dot(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph_node usual = *n;
    int back[GRAPH_RANK_MAX];

    if (n->dot.has_order) {
        for (int i = 0; i < n->shape.rank; i++)
            back[n->dot.order[i]] = i;
        dy = graph_transpose(gr->g, dy, back);
        usual.dot.has_order = 0;
        usual.shape = gr->g->node[dy].shape;
        usual.shape.dtype = n->shape.dtype;
        n = &usual;
    }
    for (int i = 0; i < 2; i++)
        if (grad_wants(gr, n, i))
            grad_accumulate(gr, n, i, dot_gradient(gr->g, n, i, dy));
    return true;
}

/* ---- convolutions ---- */

static int64_t dilated(int64_t length, int64_t dilation)
{
    return (length - 1) * dilation + 1;
}

/* dimension `dim` of size k * inner becomes two, k in front */
static int split_dim(struct graph *g, int a, int dim, int64_t k)
{
    struct shape s = g->node[a].shape;

    for (int i = s.rank; i > dim; i--)
        s.dim[i] = s.dim[i - 1];
    s.rank++;
    s.dim[dim + 1] = s.dim[dim] / k;
    s.dim[dim] = k;
    return graph_reshape(g, a, s);
}

/* dimension `from` goes in front of dimension `to` and becomes one with it */
static int merge_dim(struct graph *g, int a, int from, int to)
{
    int perm[GRAPH_RANK_MAX], at = 0, rank = g->node[a].shape.rank;
    struct shape s;

    for (int i = 0; i < rank; i++) {
        if (i == to)
            perm[at++] = from;
        if (i != from)
            perm[at++] = i;
    }
    a = graph_transpose(g, a, perm);
    s = g->node[a].shape;
    to -= from < to;                    /* where `from` stands now */
    s.dim[to] *= s.dim[to + 1];
    for (int i = to + 1; i + 1 < rank; i++)
        s.dim[i] = s.dim[i + 1];
    s.rank--;
    return graph_reshape(g, a, s);
}

/* part k of dimension `from`, split in `count`, goes in front of dimension `to` */
static int move_groups(struct graph *g, int a, int from, int to, int64_t count)
{
    a = split_dim(g, a, from, count);
    return merge_dim(g, a, from, to > from ? to + 1 : to);
}

static void swap(int *a, int *b)
{
    int t = *a;

    *a = *b;
    *b = t;
}

/*
 * dy over the kernel with its features swapped and turned round: strides become
 * holes in dy, holes of the input strides.
 */
static int input_gradient(struct graph *g, const struct graph_node *n, int dy)
{
    struct graph_window w[GRAPH_SPATIAL_MAX] = {0};
    struct shape in = g->node[n->operand[0]].shape;
    struct graph_conv c = *n->conv;
    int kernel = n->operand[1], da;

    for (int i = 0; i < c.spatial_count; i++) {
        const struct graph_window *f = &n->window[i];
        int64_t reach = dilated(f->size, f->window_dilation);

        w[i] = *f;
        w[i].stride = f->base_dilation;
        w[i].base_dilation = f->stride;
        w[i].is_reversed = !f->is_reversed;
        w[i].pad_low = reach - 1 - f->pad_low;
        w[i].pad_high = dilated(in.dim[c.in_spatial[i]], f->base_dilation) + reach - 1 -
                        dilated(n->shape.dim[c.out_spatial[i]], f->stride) - w[i].pad_low;
        swap(&c.in_spatial[i], &c.out_spatial[i]);
    }
    swap(&c.in_batch, &c.out_batch);
    swap(&c.in_feature, &c.out_feature);
    swap(&c.kernel_in, &c.kernel_out);
    c.feature_groups = n->conv->feature_groups * n->conv->batch_groups;
    c.batch_groups = 1;
    if (c.feature_groups > 1)
        kernel = move_groups(g, kernel, n->conv->kernel_out, n->conv->kernel_in,
                             c.feature_groups);
    da = graph_convolution(g, dy, kernel, w, &c, n->shape.dtype, n->precision);
    if (n->conv->batch_groups > 1)
        da = move_groups(g, da, n->conv->in_feature, n->conv->in_batch, n->conv->batch_groups);
    return da;
}

/* the input over dy, batch and features having changed places; groups become those of the other */
static int kernel_gradient(struct graph *g, const struct graph_node *n, int dy)
{
    struct graph_window w[GRAPH_SPATIAL_MAX] = {0};
    struct shape in = g->node[n->operand[0]].shape;
    const struct graph_conv *f = n->conv;
    struct graph_conv c = {
        .spatial_count = f->spatial_count, .in_batch = f->in_feature, .in_feature = f->in_batch,
        .kernel_in = f->out_batch, .kernel_out = f->out_feature, .out_batch = f->kernel_in,
        .out_feature = f->kernel_out, .feature_groups = f->batch_groups,
        .batch_groups = f->feature_groups};
    int reversed[GRAPH_SPATIAL_MAX], reversed_count = 0, db;

    for (int i = 0; i < f->spatial_count; i++) {
        const struct graph_window *v = &n->window[i];
        int64_t out = n->shape.dim[f->out_spatial[i]];

        w[i] = (struct graph_window){
            .size = out, .stride = v->window_dilation, .window_dilation = v->stride,
            .base_dilation = v->base_dilation, .pad_low = v->pad_low};
        w[i].pad_high = dilated(out, v->stride) -
                        dilated(in.dim[f->in_spatial[i]], v->base_dilation) +
                        dilated(v->size, v->window_dilation) - v->pad_low - 1;
        c.in_spatial[i] = f->in_spatial[i];
        c.kernel_spatial[i] = f->out_spatial[i];
        c.out_spatial[i] = f->kernel_spatial[i];
        if (v->is_reversed)
            reversed[reversed_count++] = f->kernel_spatial[i];
    }
    db = graph_convolution(g, n->operand[0], dy, w, &c, n->shape.dtype, n->precision);
    return reversed_count ? graph_reverse(g, db, reversed, reversed_count) : db;
}

bool grad_convolution(struct grad *gr, const struct graph_node *n, int dy)
{
    enum graph_dtype dtype = gr->g->node[n->operand[0]].shape.dtype;
    int d = grad_convert(gr->g, dy, dtype);

    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0, grad_convert(gr->g, input_gradient(gr->g, n, d), dtype));
    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, grad_convert(gr->g, kernel_gradient(gr->g, n, d), dtype));
    return true;
}
