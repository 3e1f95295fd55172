/*
 * Products whose results lie with rows and columns exchanged.
 *
 * A projection [positions, heads x size] that is split into heads cuts its lanes where no tile
 * ends: a copy, and a transpose behind it. Written as [heads x size, positions] the split is one of
 * rows, the transpose another name for what is there, and the product with it contracts rows
 * instead of lanes, which its kernel takes as well. So does XLA (docs/accuracy.md). The same way
 * back: the heads' results as [size, positions] are the rows of one matrix.
 *
 * Which products are transposed: those behind which fewer bytes are copied then, up to the next
 * operation that needs an order of its own.
 */
#include "stack/passes/layout/layout_order.h"

#include "stack/hlo/array.h"
#include "stack/hlo/bitcast.h"
#include "stack/passes/simplify/simplify.h"

#include <string.h>

#define WALK_NODES_MAX 64               /* what follows a product is looked at so far */

/* ----- what moves nothing */

static bool pass_transpose(const struct graph_node *n, const struct layout_order *from,
                           struct layout_order *to)
{
    *to = (struct layout_order){.is_set = true};
    for (int i = 0; i < n->shape.rank; i++)
        for (int k = 0; k < n->shape.rank; k++)
            if (n->dims[k] == from->dim[i])
                to->dim[i] = k;
    return true;
}

/* the old dimensions of a run, if they follow each other in the new array; where; else -1 */
static int place_of_run(const struct reshape_runs *r, int run, const struct layout_order *from,
                        int rank)
{
    int first = layout_order_place(from, r->from[run], rank);

    for (int d = r->from[run]; d < r->from[run + 1]; d++)
        if (layout_order_place(from, d, rank) != first + d - r->from[run])
            return -1;
    return first;
}

static bool pass_reshape(const struct shape *in, const struct shape *out,
                         const struct layout_order *from, struct layout_order *to)
{
    struct shape before = layout_shape(in, from), after;
    struct reshape_runs r;
    int rank = 0;

    *to = (struct layout_order){.is_set = true};
    reshape_runs_find(in, out, &r);
    for (int i = 0; i < r.count; i++)
        if (r.from[i] == r.from[i + 1] || r.to[i] == r.to[i + 1]
            || place_of_run(&r, i, from, in->rank) < 0)
            return false;
    for (int i = 0; i < in->rank; i++)
        for (int run = 0; run < r.count; run++)
            for (int d = r.to[run]; d < r.to[run + 1] && r.from[run] == from->dim[i]; d++)
                to->dim[rank++] = d;
    after = layout_shape(out, to);
    return array_is_bitcast(&before, &after);
}

bool layout_pass_on(const struct graph *g, int node, const struct layout_order *from,
                    struct layout_order *to)
{
    const struct graph_node *n = &g->node[node];

    if (n->op == HLO_TRANSPOSE)
        return pass_transpose(n, from, to);
    return n->op == HLO_RESHAPE
           && pass_reshape(&g->node[n->operand[0]].shape, &n->shape, from, to);
}

/* ----- products */

/* [M,K] x [K,N], or so in one leading batch dimension, in any order of the two tiled ones */
static bool is_product(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    int batches = n->dot.batch_count;

    if (n->op != HLO_DOT || n->dot.has_order || n->dot.contract_count != 1 || batches > 1
        || (batches && (n->dot.lhs_batch[0] || n->dot.rhs_batch[0])))
        return false;
    for (int k = 0; k < 2; k++)
        if (g->node[n->operand[k]].shape.rank != batches + 2)
            return false;
    return n->shape.dim[batches] > 1 && n->shape.dim[batches + 1] > 1;
}

/* batches stay in front */
static bool takes_order(const struct graph_node *dot, const struct layout_order *o)
{
    return !dot->dot.batch_count || o->dim[0] == 0;
}

/* ----- what is copied behind one */

struct walk {
    const struct graph *g;
    const int *user, *first_user;       /* of node i: user[first_user[i]] to first_user[i + 1] */
    const bool *is_output;
    int left;
};

static int64_t bytes_of(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.bytes;
}

static int64_t follow(struct walk *w, int node, const struct layout_order *o);

/* another operand that lies otherwise comes into this order, unless it is made as it is wanted */
static int64_t others(const struct walk *w, const struct graph_node *n, int node,
                      const struct layout_order *o)
{
    struct layout_order plain = layout_order_identity(n->shape.rank);
    int64_t bytes = 0;

    for (int k = 0; k < n->operand_count && !layout_order_is_same(o, &plain, n->shape.rank); k++) {
        const struct graph_node *a = &w->g->node[n->operand[k]];

        while (a->op == HLO_CONVERT)
            a = &w->g->node[a->operand[0]];
        if (n->operand[k] != node && a->shape.rank == n->shape.rank && a->op != HLO_BROADCAST
            && a->op != HLO_IOTA && a->op != HLO_CONSTANT)
            bytes += bytes_of(&a->shape);
    }
    return bytes;
}

static int64_t follow_user(struct walk *w, int node, int user, const struct layout_order *o)
{
    const struct graph_node *n = &w->g->node[user];
    const struct shape *s = &w->g->node[node].shape;
    struct layout_order plain = layout_order_identity(s->rank), out;
    bool is_plain = layout_order_is_same(o, &plain, s->rank);

    if (layout_pass_on(w->g, user, o, &out) && (n->op == HLO_RESHAPE || !is_plain))
        return follow(w, user, &out);
    out = layout_order_identity(n->shape.rank);
    if (n->op == HLO_TRANSPOSE || n->op == HLO_RESHAPE)
        return bytes_of(&n->shape) + (is_plain ? 0 : bytes_of(s)) + follow(w, user, &out);
    if (layout_keeps_order(n) && n->shape.rank == s->rank)
        return others(w, n, node, o) + follow(w, user, o);
    if (n->op == HLO_REDUCE || (is_product(w->g, user) && takes_order(n, o)))
        return 0;
    return is_plain ? 0 : bytes_of(s);
}

static int64_t follow(struct walk *w, int node, const struct layout_order *o)
{
    const struct shape *s = &w->g->node[node].shape;
    struct layout_order plain = layout_order_identity(s->rank);
    int64_t bytes = 0;

    if (w->left-- <= 0)
        return 0;
    if (w->is_output[node] && !layout_order_is_same(o, &plain, s->rank))
        bytes += bytes_of(s);
    for (int i = w->first_user[node]; i < w->first_user[node + 1]; i++)
        bytes += follow_user(w, node, w->user[i], o);
    return bytes;
}

static int64_t copied_bytes(struct walk *w, int node, const struct layout_order *o)
{
    w->left = WALK_NODES_MAX;
    return follow(w, node, o);
}

static void list_users(struct walk *w, struct arena *a)
{
    const struct graph *g = w->g;
    int *first = arena_array(a, (size_t)g->node_count + 2, sizeof(int)), *user;
    bool *is_output = arena_array(a, (size_t)g->node_count + 1, sizeof(bool));

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            first[g->node[i].operand[k] + 2]++;
    for (int i = 2; i < g->node_count + 2; i++)
        first[i] += first[i - 1];
    user = arena_array(a, (size_t)first[g->node_count + 1] + 1, sizeof(int));
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            user[first[g->node[i].operand[k] + 1]++] = i;
    for (int i = 0; i < g->output_count; i++)
        is_output[g->output[i].node] = true;
    w->user = user;
    w->first_user = first;
    w->is_output = is_output;
}

bool layout_product_takes(const struct graph *g, int node, const struct layout_order *o)
{
    return is_product(g, node) && takes_order(&g->node[node], o);
}

void layout_transpose_products(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    struct walk w = {.g = g};
    struct arena a;

    arena_init(&a);
    list_users(&w, &a);
    for (int i = 0; i < g->node_count; i++) {
        int rank = g->node[i].shape.rank;
        struct layout_order plain = layout_order_identity(rank), transposed = plain;

        if (!is_product(g, i))
            continue;
        transposed.dim[rank - 2] = rank - 1;
        transposed.dim[rank - 1] = rank - 2;
        if (copied_bytes(&w, i, &transposed) >= copied_bytes(&w, i, &plain))
            continue;
        l->order[i] = transposed;
        l->is_transposed[i] = true;
    }
    arena_fini(&a);
}

/* ----- rebuilt */

/* the contracted dimension in the new operand; batches are in front still */
static int contracted(const struct layout_assignment *l, int operand, int dim)
{
    return layout_order_place(&l->order[operand], dim, l->w.from->node[operand].shape.rank);
}

bool layout_is_transposed_product(const struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];

    return l->is_transposed[node]
           || (is_product(l->w.from, node)
               && (l->is_transposed[n->operand[0]] || l->is_transposed[n->operand[1]]));
}

int layout_rebuild_product(struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];
    struct graph_dot dot = n->dot;
    int operand[2], contract[2] = {dot.lhs_contract[0], dot.rhs_contract[0]};
    bool is_transposed = l->is_transposed[node];
    struct layout_order usual = layout_order_identity(n->shape.rank);

    for (int k = 0; k < 2; k++) {
        int a = n->operand[k];
        struct layout_order plain = layout_order_identity(l->w.from->node[a].shape.rank);

        if (l->is_transposed[a] && takes_order(n, &l->order[a])) {
            contract[k] = contracted(l, a, contract[k]);
            operand[k] = l->w.moved[a];
        } else {
            operand[k] = layout_in_order(l, a, &plain);
        }
    }
    dot.lhs_contract[0] = contract[is_transposed];
    dot.rhs_contract[0] = contract[!is_transposed];
    dot.has_order = !is_transposed && !layout_order_is_same(&l->order[node], &usual, n->shape.rank);
    for (int i = 0; i < n->shape.rank && dot.has_order; i++)
        dot.order[i] = l->order[node].dim[i];
    return graph_dot_general(&l->w.to, operand[is_transposed], operand[!is_transposed], &dot,
                             n->shape.dtype, n->precision);
}
