/*
 * Which dimension of each array runs along lanes, which along rows.
 *
 * After this pass all arrays are row-major: a node whose array is better laid
 * out in another order of dimensions has its dimensions in that order. So a
 * layout is seen in the shapes of the text, transposes that only undo each
 * other are gone, and those that are left are copies that the program makes.
 *
 * Convolutions say what they want (stack/kernels/conv/conv.h), and those that are products of
 * images are products from here on (pixel_product.h); products have rows and columns exchanged where
 * that saves copies (layout_product.c). What comes behind them
 * follows, elementwise, in windows and in reductions; elementwise work that nobody gives an order
 * takes the one with the least padding (layout_islands.c, narrow.c); what has no wish follows its readers.
 * Parameters, outputs and all other operations are row-major as the program has them: XLA's default
 * for the entry of a module.
 */
#include "stack/passes/pass.h"

#include "stack/hlo/array.h"
#include "stack/kernels/conv/conv.h"
#include "stack/kernels/dot/dot_form.h"
#include "stack/passes/layout/layout_order.h"
#include "stack/passes/layout/narrow.h"
#include "stack/expand/pixel_product.h"
#include "stack/passes/simplify/simplify.h"
#include "stack/hlo/window.h"

#include <string.h>

/* from minor_to_major */
static struct layout_order from_minor(const int *minor, int rank)
{
    struct layout_order o = {.is_set = true};

    for (int i = 0; i < rank; i++)
        o.dim[i] = minor[rank - 1 - i];
    return o;
}

/* Of equal elements the first is selected: dimensions that a window runs along keep their order. */
static void keep_taps(const struct graph_node *n, struct layout_order *o)
{
    int along[GRAPH_RANK_MAX], count = 0;

    if (n->op != HLO_SELECT_AND_SCATTER || !o->is_set)
        return;
    for (int d = 0; d < n->shape.rank; d++)
        if (n->window[d].size > 1)
            along[count++] = d;
    count = 0;
    for (int i = 0; i < n->shape.rank; i++)
        if (n->window[o->dim[i]].size > 1)
            o->dim[i] = along[count++];
}

/*
 * A gradient of pooling whose window would run inside tiles is slow, and pooling whose window would
 * run along lanes: they get an order of their own.
 */
static bool windows_are_inside(const struct layout_assignment *l, const struct graph_node *n)
{
    struct layout_order o = layout_of_operands(l, n), plain = layout_order_identity(n->shape.rank);
    const struct layout_order *has = o.is_set ? &o : &plain;
    int inside = n->op == HLO_SELECT_AND_SCATTER ? 2 : 1;

    for (int i = n->shape.rank - 1; i >= 0 && i >= n->shape.rank - inside; i--)
        if (n->window[has->dim[i]].size > 1)
            return true;
    return false;
}

static struct layout_order order_of_window(const struct layout_assignment *l,
                                           const struct graph_node *n)
{
    int minor[GRAPH_RANK_MAX];

    return windows_are_inside(l, n) && window_order(&n->shape, n->window, minor)
               ? from_minor(minor, n->shape.rank) : layout_of_operands(l, n);
}

static bool has_windows(const struct graph_node *n)
{
    return n->op == HLO_SELECT_AND_SCATTER || n->op == HLO_REDUCE_WINDOW;
}

/* behind a product that is transposed: what keeps its order, and what only renames */
static bool follow_transposed(struct layout_assignment *l, int node)
{
    const struct graph *g = l->w.from;
    const struct graph_node *n = &g->node[node];

    if (has_windows(n) && windows_are_inside(l, n))
        return false;

    for (int k = 0; k < n->operand_count && !l->is_transposed[node]; k++) {
        int a = n->operand[k];

        if (!l->is_transposed[a])
            continue;
        if (layout_keeps_order(n) && g->node[a].shape.rank == n->shape.rank) {
            l->order[node] = l->order[a];
            keep_taps(n, &l->order[node]);
            l->is_transposed[node] = true;
        } else {
            l->is_transposed[node] = layout_pass_on(g, node, &l->order[a], &l->order[node]);
        }
    }
    return l->is_transposed[node];
}

enum { TURNED_BYTES_MIN = 1 << 20, TURNED_GAIN_MIN = 2 };

/* the order in which a transpose moves nothing */
static bool order_of_transpose(const struct layout_assignment *l, const struct graph_node *n,
                               struct layout_order *o)
{
    const struct layout_order *from = &l->order[n->operand[0]];
    struct layout_order plain = layout_order_identity(n->shape.rank);

    if (!from->is_set)
        from = &plain;
    o->is_set = true;
    for (int i = 0; i < n->shape.rank; i++)
        o->dim[layout_order_place(from, n->dims[i], n->shape.rank)] = i;
    return true;
}

/* of a reshape that only puts ones elsewhere: ones first */
static bool order_of_reshape(const struct layout_assignment *l, const struct graph_node *n,
                             struct layout_order *o)
{
    const struct shape *from = &l->w.from->node[n->operand[0]].shape;
    struct layout_order plain = layout_order_identity(from->rank);
    int count = 0, at = 0;

    if (l->order[n->operand[0]].is_set &&
        !layout_order_is_same(&l->order[n->operand[0]], &plain, from->rank))
        return false;
    o->is_set = true;
    for (int i = 0; i < n->shape.rank; i++)
        if (n->shape.dim[i] == 1)
            o->dim[count++] = i;
    for (int i = 0; i < n->shape.rank; i++) {
        if (n->shape.dim[i] == 1)
            continue;
        while (at < from->rank && from->dim[at] == 1)
            at++;
        if (at == from->rank || from->dim[at++] != n->shape.dim[i])
            return false;
        o->dim[count++] = i;
    }
    return true;
}

/* ----- what convolutions wish of what others compute for them */

struct wish {
    struct layout_order order;
    bool is_torn;                       /* readers wish for several */
    struct layout_order made;           /* of what is computed elementwise from a convolution */
};

static void add_wish(struct wish *w, const struct layout_order *order, int rank)
{
    if (w->order.is_set && order->is_set && !layout_order_is_same(&w->order, order, rank))
        w->is_torn = true;
    w->is_torn |= !order->is_set;
    w->order = *order;
}

/* sums, and transposes, take any order */
static void wish_of_reader(const struct layout_assignment *l, struct wish *wish, int node)
{
    const struct graph *g = l->w.from;
    const struct graph_node *n = &g->node[node];
    struct conv_layouts c;

    if (n->op == HLO_REDUCE || n->op == HLO_TRANSPOSE)
        return;
    if (n->op == HLO_CONVOLUTION)
        conv_layouts(g, node, l->chip, &c);
    for (int k = 0; k < n->operand_count; k++) {
        int rank = g->node[n->operand[k]].shape.rank;
        struct layout_order order = {.is_set = false};

        if (n->op == HLO_CONVOLUTION && k < 2)
            order = from_minor(k == 0 ? c.lhs : c.rhs, rank);
        else if (graph_op_is_elementwise(n->op) && rank == n->shape.rank)
            order = wish[node].made.is_set ? wish[node].made : wish[node].order;
        if (wish[node].is_torn && !wish[node].made.is_set && n->op != HLO_CONVOLUTION)
            order.is_set = false;
        add_wish(&wish[n->operand[k]], &order, rank);
    }
}

static void find_made(const struct layout_assignment *l, struct wish *wish)
{
    const struct graph *g = l->w.from;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct conv_layouts c;

        if (n->op == HLO_CONVOLUTION) {
            conv_layouts(g, i, l->chip, &c);
            wish[i].made = from_minor(c.result, n->shape.rank);
        }
        for (int k = 0; k < n->operand_count && graph_op_is_elementwise(n->op); k++)
            if (wish[n->operand[k]].made.is_set && !wish[i].made.is_set)
                wish[i].made = wish[n->operand[k]].made;
    }
}

/*
 * By node: the order that all wish of it that read what is computed of it elementwise:
 * convolutions, and what meets their results
 */
static struct wish *find_wishes(const struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    struct wish *wish = mem_alloc((size_t)g->node_count * sizeof(*wish));
    const struct layout_order none = {.is_set = false};

    find_made(l, wish);
    for (int i = 0; i < g->output_count; i++)
        add_wish(&wish[g->output[i].node], &none, 0);
    for (int i = g->node_count - 1; i >= 0; i--)
        wish_of_reader(l, wish, i);
    return wish;
}

/* A transpose that moves nothing in the order that convolutions wish: what they read follows it. */
static bool follow_wish(struct layout_assignment *l, const struct wish *wish, int node)
{
    const struct graph_node *n = &l->w.from->node[node];
    struct layout_order turned = {0};

    if (n->op != HLO_TRANSPOSE || wish[node].is_torn || !wish[node].order.is_set)
        return false;
    order_of_transpose(l, n, &turned);
    if (!layout_order_is_same(&turned, &wish[node].order, n->shape.rank))
        return false;
    l->order[node] = turned;
    l->is_transposed[node] = true;
    return true;
}

/*
 * What would be mostly padding row-major, and lies otherwise before it is transposed or reshaped (the
 * kernels of PyTorch's convolutions, with 3 x 3 or 1 x 1 as their last dimensions), keeps the order
 * that it has: nothing moves, and what is computed of it elementwise is as small as it is.
 */
static bool follow_turned(struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];
    struct layout_order plain = layout_order_identity(n->shape.rank), turned = {0};

    if ((n->op != HLO_TRANSPOSE && n->op != HLO_RESHAPE) || n->shape.rank < 3 ||
        l->w.from->node[n->operand[0]].tuple_count ||
        layout_padded_bytes(&n->shape, &plain) < TURNED_BYTES_MIN ||
        !(n->op == HLO_TRANSPOSE ? order_of_transpose(l, n, &turned)
                                 : order_of_reshape(l, n, &turned)) ||
        layout_padded_bytes(&n->shape, &plain) < TURNED_GAIN_MIN * layout_padded_bytes(&n->shape, &turned))
        return false;
    l->order[node] = turned;
    l->is_transposed[node] = true;
    return true;
}

static void find_forward(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    struct wish *wish = find_wishes(l);

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct layout_order *o = &l->order[i];

        if (o->is_set || l->is_transposed[i] || follow_transposed(l, i) || follow_wish(l, wish, i) ||
            follow_turned(l, i))
            continue;
        if (n->op == HLO_CONVOLUTION) {
            struct conv_layouts c;

            conv_layouts(g, i, l->chip, &c);
            *o = from_minor(c.result, n->shape.rank);
        } else if (n->op == HLO_DOT) {
            o->is_set = dot_result_order(g, i, l->chip, l->codegen, o->dim);
        } else if (has_windows(n)) {
            *o = order_of_window(l, n);
            keep_taps(n, o);
        } else if (layout_keeps_order(n)) {
            *o = layout_of_operands(l, n);
        } else if (n->op == HLO_REDUCE && l->order[n->operand[0]].is_set) {
            *o = layout_reduced(&l->order[n->operand[0]], n->reduce_mask,
                         g->node[n->operand[0]].shape.rank);
        } else if (!layout_has_any_order(n) && n->op != HLO_REDUCE) {
            *o = layout_order_identity(n->shape.rank);
        }
    }
    mem_free(wish);
}

/* by node: nobody gives it an order, nor what it is computed from, which is spread or counted */
static bool *find_free(const struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    bool *is_free = mem_alloc((size_t)g->node_count * sizeof(*is_free));

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (l->order[i].is_set)
            continue;
        is_free[i] = layout_has_any_order(n) || graph_op_is_elementwise(n->op);
        for (int k = 0; k < n->operand_count && !layout_has_any_order(n); k++)
            is_free[i] &= is_free[n->operand[k]];
    }
    return is_free;
}

static void follow_readers(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    bool *is_free = find_free(l);

    for (int i = g->node_count - 1; i >= 0; i--) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0; layout_keeps_order(n) && l->order[i].is_set && k < n->operand_count; k++) {
            int a = n->operand[k];

            if (!l->order[a].is_set && is_free[a] && g->node[a].shape.rank == n->shape.rank)
                l->order[a] = l->order[i];
        }
    }
    mem_free(is_free);
}

/* what nobody has said anything about, in the order of the nodes */
static void fill(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (n->op == HLO_REDUCE)
            l->order[i] = layout_reduced(&l->order[n->operand[0]], n->reduce_mask,
                                  g->node[n->operand[0]].shape.rank);
        else if (!l->order[i].is_set)
            l->order[i] = layout_order_identity(n->shape.rank);
    }
}

static int rebuild_convolution(struct layout_assignment *l, int node)
{
    struct graph_node n = l->w.from->node[node];
    struct graph_conv *c = arena_alloc(l->w.to.arena, sizeof(*c));
    int rank = n.shape.rank, operand[2];
    struct conv_layouts wish;
    struct layout_order lhs, rhs, result = l->order[node];
    int product;

    conv_layouts(l->w.from, node, l->chip, &wish);
    lhs = from_minor(wish.lhs, rank);
    rhs = from_minor(wish.rhs, rank);
    *c = *n.conv;
    c->in_batch = layout_order_place(&lhs, c->in_batch, rank);
    c->in_feature = layout_order_place(&lhs, c->in_feature, rank);
    c->kernel_in = layout_order_place(&rhs, c->kernel_in, rank);
    c->kernel_out = layout_order_place(&rhs, c->kernel_out, rank);
    c->out_batch = layout_order_place(&result, c->out_batch, rank);
    c->out_feature = layout_order_place(&result, c->out_feature, rank);
    for (int i = 0; i < c->spatial_count; i++) {
        c->in_spatial[i] = layout_order_place(&lhs, c->in_spatial[i], rank);
        c->kernel_spatial[i] = layout_order_place(&rhs, c->kernel_spatial[i], rank);
        c->out_spatial[i] = layout_order_place(&result, c->out_spatial[i], rank);
    }
    operand[0] = layout_in_order(l, n.operand[0], &lhs);
    operand[1] = layout_in_order(l, n.operand[1], &rhs);
    n.conv = c;
    n.shape = layout_shape(&n.shape, &result);
    product = pixel_product(&l->w.to, &n, operand[0], operand[1]);
    return product != NODE_NONE ? product : graph_add(&l->w.to, &n, operand, 2);
}

/* in the order that was found, or as a plain product, which has no choice */
static int rebuild_dot(struct layout_assignment *l, int node)
{
    struct graph_node n = l->w.from->node[node];
    int lhs = layout_in_usual_order(l, n.operand[0]), rhs = layout_in_usual_order(l, n.operand[1]);
    int operand[2] = {lhs, rhs}, rank = n.shape.rank;
    struct layout_order found, usual = layout_order_identity(rank);

    n.operand = operand;
    if (n.dot.has_order)
        return graph_add(&l->w.to, &n, operand, 2);
    if (!dot_result_order(l->w.from, node, l->chip, l->codegen, found.dim))
        return simplify_dot_flatten(&l->w.to, &n);
    n.dot.has_order = !layout_order_is_same(&found, &usual, rank);
    for (int i = 0; i < rank && n.dot.has_order; i++)
        n.dot.order[i] = found.dim[i];
    return graph_add(&l->w.to, &n, operand, 2);
}

/* What turns its operand into the order that this lies in already moves nothing. */
static bool is_as_it_lies(const struct layout_assignment *l, const struct graph_node *n)
{
    if (n->op != HLO_TRANSPOSE || !l->order[n->operand[0]].is_set)
        return false;
    for (int i = 0; i < n->shape.rank; i++)
        if (l->order[n->operand[0]].dim[i] != n->dims[i])
            return false;
    return true;
}

static int rebuild_any(struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];

    graph_stand_for(&l->w.to, n);
    if (n->edge && l->is_transposed[node])
        return layout_rebuild_edge(l, node);
    if (n->op == HLO_CONVOLUTION)
        return rebuild_convolution(l, node);
    if (n->op == HLO_DOT)
        return layout_is_transposed_product(l, node) ? layout_rebuild_product(l, node)
                                                 : rebuild_dot(l, node);
    if ((n->op == HLO_TRANSPOSE && l->is_transposed[node]) || is_as_it_lies(l, n))
        return l->w.moved[n->operand[0]];
    if (n->op == HLO_RESHAPE && l->is_transposed[node])
        return graph_reshape(&l->w.to, l->w.moved[n->operand[0]],
                             layout_shape(&n->shape, &l->order[node]));
    return layout_rebuild(l, node);
}

void layout_restore_outputs(struct layout_assignment *l)
{
    struct graph *g = l->w.from;

    for (int i = 0; i < g->output_count; i++) {
        int node = g->output[i].node;

        l->w.moved[node] = layout_in_usual_order(l, node);
        l->order[node] = layout_order_identity(g->node[node].shape.rank);
    }
}

/* narrow arrays that are cut and joined, short dimensions first */
static void take_narrow(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    bool *is_set = mem_alloc((size_t)g->node_count + 1);
    int *count;

    for (int i = 0; i < g->node_count; i++)
        is_set[i] = l->order[i].is_set;
    count = narrow_find(g, is_set, false);
    for (int i = 0; i < g->node_count; i++)
        if (count[i])
            l->order[i] = narrow_order(g->node[i].shape.rank, count[i]);
    mem_free(is_set);
    mem_free(count);
}

int pass_layout(struct graph *g, const struct pass_context *c, struct err *e)
{
    struct layout_assignment l = {.chip = c->chip, .codegen = c->codegen};

    (void)e;
    l.order = mem_alloc((size_t)g->node_count * sizeof(*l.order));
    l.is_transposed = mem_alloc((size_t)g->node_count * sizeof(*l.is_transposed));
    rewrite_begin(&l.w, g);
    layout_transpose_products(&l);
    if (c->kept) {
        layout_keep_edges(&l, c->kept);
    } else {
        layout_islands(&l);
        take_narrow(&l);
    }
    find_forward(&l);
    follow_readers(&l);
    fill(&l);
    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op != HLO_PARAMETER)
            l.w.moved[i] = rebuild_any(&l, i);
    layout_restore_outputs(&l);
    rewrite_end(&l.w);
    mem_free(l.order);
    mem_free(l.is_transposed);
    graph_eliminate_common(g);
    return 0;
}
