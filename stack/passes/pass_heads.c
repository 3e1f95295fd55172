/*
 * Attention's heads lie in rows, positions along lanes.
 *
 * A head of 32 or 64 fills a quarter or a half of 128 lanes, and [batch, position, head, size]
 * cuts lanes where no tile ends. As [batch, head, size, position] lanes are full, heads are whole
 * tiles of rows, and of the products of attention each finds in its operands' tiles one dimension
 * that is contracted and one that is not: scores q^T k, values v^T weights^T, and all gradients of
 * both. So every array of a batched product of which one tiled dimension is narrow and the other
 * fills lanes better lies with the latter along lanes; projections make and take it so, and what
 * stands between follows. And scores, which are reduced over their keys, have these along rows and
 * queries along lanes, so that sums need no cross-lane unit. docs/kernels.md.
 *
 * Works on the graph as it is written, before pass_simplify makes plain matrices of products.
 */
#include "stack/passes/pass.h"

#include "stack/hlo/bitcast.h"
#include "stack/kernels/dot/dot_form.h"
#include "stack/passes/layout/layout_order.h"

#include <string.h>

#define LANES 128

/* ----- dimensions of a product */

#define LABELS_MAX (2 * GRAPH_RANK_MAX)

enum part { LHS, RHS, RESULT, PARTS };

/* dimensions have a label each: what two arrays share has one */
struct product {
    int count[PARTS], label[PARTS][GRAPH_RANK_MAX];
    int64_t size[LABELS_MAX];
    bool is_batch[LABELS_MAX];
    int label_count;
};

static int place(const struct product *p, enum part part, int label)
{
    for (int i = 0; i < p->count[part]; i++)
        if (p->label[part][i] == label)
            return i;
    return -1;
}

static int new_label(struct product *p, int64_t size, bool is_batch)
{
    p->size[p->label_count] = size;
    p->is_batch[p->label_count] = is_batch;
    return p->label_count++;
}

static void add_free(struct product *p, enum part part, const struct shape *s)
{
    for (int i = 0; i < s->rank; i++)
        if (p->label[part][i] < 0) {
            p->label[part][i] = new_label(p, s->dim[i], false);
            p->label[RESULT][p->count[RESULT]++] = p->label[part][i];
        }
}

/* the product of node `n` of `g`, dimensions as they stand there */
static void read_product(struct product *p, const struct graph *g, const struct graph_node *n)
{
    const struct shape *lhs = &g->node[n->operand[0]].shape, *rhs = &g->node[n->operand[1]].shape;
    const struct graph_dot *d = &n->dot;

    *p = (struct product){.count = {lhs->rank, rhs->rank, 0}};
    memset(p->label, -1, sizeof(p->label));
    for (int i = 0; i < d->batch_count; i++) {
        int l = new_label(p, lhs->dim[d->lhs_batch[i]], true);

        p->label[LHS][d->lhs_batch[i]] = p->label[RHS][d->rhs_batch[i]] = l;
        p->label[RESULT][p->count[RESULT]++] = l;
    }
    for (int i = 0; i < d->contract_count; i++)
        p->label[LHS][d->lhs_contract[i]] = p->label[RHS][d->rhs_contract[i]] =
            new_label(p, lhs->dim[d->lhs_contract[i]], false);
    add_free(p, LHS, lhs);
    add_free(p, RHS, rhs);
}

static void put_in_order(struct product *p, enum part part, const struct layout_order *o)
{
    int old[GRAPH_RANK_MAX];

    memcpy(old, p->label[part], sizeof(old));
    for (int i = 0; i < p->count[part]; i++)
        p->label[part][i] = old[o->dim[i]];
}

/* ----- what should lie how */

/* share of lanes that such a dimension fills, in 1/1000 */
static int64_t filled(int64_t size)
{
    return 1000 * size / ((size + LANES - 1) / LANES * LANES);
}

/* tiles of rows end where the dimension does, whatever is in front of it */
static bool ends_with_tiles(enum graph_dtype dtype, int64_t narrow, int64_t wide)
{
    const struct shape apart = {dtype, 3, {2, narrow, wide}};
    const struct shape joined = {dtype, 2, {2 * narrow, wide}};

    return array_is_bitcast(&apart, &joined);
}

static bool is_narrow(enum graph_dtype dtype, int64_t narrow, int64_t wide)
{
    return narrow < LANES && wide >= LANES && filled(narrow) < filled(wide) &&
           ends_with_tiles(dtype, narrow, wide);
}

/* batches, then the narrow one of the two others, then the wide one; false: no wish */
static bool wanted_order(const struct product *p, enum part part, enum graph_dtype dtype,
                         struct layout_order *o)
{
    int tiled[2], count = 0, at = 0;
    bool first;

    *o = (struct layout_order){.is_set = true};
    for (int i = 0; i < p->count[RESULT]; i++)
        if (p->is_batch[p->label[RESULT][i]])
            o->dim[at++] = place(p, part, p->label[RESULT][i]);
    for (int i = 0; i < p->count[part]; i++)
        if (!p->is_batch[p->label[part][i]])
            tiled[count++] = i;
    first = is_narrow(dtype, p->size[p->label[part][tiled[0]]], p->size[p->label[part][tiled[1]]]);
    if (!first &&
        !is_narrow(dtype, p->size[p->label[part][tiled[1]]], p->size[p->label[part][tiled[0]]]))
        return false;
    o->dim[at++] = tiled[!first];
    o->dim[at] = tiled[first];
    return true;
}

/* [batch, m, k] x [batch, k, n], in any order */
static bool is_batched(const struct graph *g, const struct graph_node *n)
{
    int rank = n->dot.batch_count + 2;

    return n->op == HLO_DOT && n->dot.batch_count > 0 && n->dot.contract_count == 1 &&
           !n->dot.has_order && n->shape.rank == rank &&
           g->node[n->operand[0]].shape.rank == rank && g->node[n->operand[1]].shape.rank == rank;
}

struct heads {
    struct layout_assignment l;
    bool *is_seed;                      /* products of heads */
};

static void wish(struct heads *h, int node, const struct layout_order *o)
{
    if (!h->l.order[node].is_set)
        h->l.order[node] = *o;
}

/* ----- scores */

/* dimensions over which is reduced what is computed elementwise of `product`, one bit each */
static uint32_t reduced_dims(const struct graph *g, int product, bool *comes_of_it)
{
    uint32_t mask = 0;

    memset(comes_of_it, 0, (size_t)g->node_count * sizeof(*comes_of_it));
    comes_of_it[product] = true;
    for (int i = product + 1; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0; k < n->operand_count && comes_of_it[n->operand[k]]; k++)
            if (n->op == HLO_REDUCE)
                mask |= n->reduce_mask;
        for (int k = 0; k < n->operand_count && graph_op_is_elementwise(n->op); k++)
            comes_of_it[i] |= comes_of_it[n->operand[k]] &&
                              shape_same_dims(&g->node[n->operand[k]].shape, &n->shape);
    }
    return mask;
}

/* batches, then the dimension that is reduced, then the other, which fills lanes as well */
static bool order_of_scores(const struct graph *g, int node, bool *comes_of_it,
                            struct layout_order *o)
{
    const struct shape *s = &g->node[node].shape;
    int last = s->rank - 1;

    if (s->dim[last] < LANES || s->dim[last - 1] < LANES ||
        filled(s->dim[last - 1]) < filled(s->dim[last]) ||
        reduced_dims(g, node, comes_of_it) != 1u << last)
        return false;
    *o = layout_order_identity(s->rank);
    o->dim[last] = last - 1;
    o->dim[last - 1] = last;
    return true;
}

static void wish_for_scores(struct heads *h)
{
    const struct graph *g = h->l.w.from;
    bool *comes_of_it = mem_alloc((size_t)g->node_count * sizeof(*comes_of_it));

    for (int i = 0; i < g->node_count; i++) {
        struct layout_order o;

        if (h->is_seed[i] && !h->l.order[i].is_set && order_of_scores(g, i, comes_of_it, &o))
            wish(h, i, &o);
    }
    mem_free(comes_of_it);
}

static bool find_seeds(struct heads *h)
{
    const struct graph *g = h->l.w.from;
    bool is_any = false;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct product p;

        if (!is_batched(g, n))
            continue;
        read_product(&p, g, n);
        for (enum part part = LHS; part < PARTS; part++) {
            int node = part == RESULT ? i : n->operand[part];
            struct layout_order o;

            if (!wanted_order(&p, part, g->node[node].shape.dtype, &o))
                continue;
            wish(h, node, &o);
            h->is_seed[i] = is_any = true;
        }
    }
    return is_any;
}

/* in which order a transpose's operand lies if it moves nothing, from the order of its result */
static struct layout_order before_transpose(const struct graph_node *n,
                                            const struct layout_order *o)
{
    struct layout_order from = {.is_set = true};

    for (int i = 0; i < n->shape.rank; i++)
        from.dim[i] = n->dims[o->dim[i]];
    return from;
}

/* what makes an array makes it as it is wanted */
static void wish_backwards(struct heads *h)
{
    const struct graph *g = h->l.w.from;

    for (int i = g->node_count - 1; i >= 0; i--) {
        const struct graph_node *n = &g->node[i];
        struct layout_order o = h->l.order[i];

        if (!o.is_set)
            continue;
        if (n->op == HLO_TRANSPOSE) {
            o = before_transpose(n, &o);
            wish(h, n->operand[0], &o);
        } else if (graph_op_is_elementwise(n->op)) {
            for (int k = 0; k < n->operand_count; k++)
                if (g->node[n->operand[k]].shape.rank == n->shape.rank)
                    wish(h, n->operand[k], &o);
        } else if (n->op == HLO_DOT ? n->dot.has_order : !layout_has_any_order(n)) {
            h->l.order[i].is_set = false;       /* it is as it is */
        }
    }
}

/* what reads it follows, unless it has been asked for otherwise */
static void follow(struct heads *h)
{
    const struct graph *g = h->l.w.from;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct layout_order *o = &h->l.order[i];

        if (n->op == HLO_REDUCE) {
            *o = layout_reduced(&h->l.order[n->operand[0]], n->reduce_mask,
                                g->node[n->operand[0]].shape.rank);
        } else if (o->is_set) {
            continue;
        } else if (n->op == HLO_TRANSPOSE) {
            layout_pass_on(g, i, &h->l.order[n->operand[0]], o);
        } else if (graph_op_is_elementwise(n->op)) {
            *o = layout_of_operands(&h->l, n);
        }
        if (!o->is_set)
            *o = layout_order_identity(n->shape.rank);
    }
}

/* ----- products again */

/* whether label b follows a in every array that has one of them */
static bool is_pair(const struct product *p, int a, int b)
{
    for (enum part part = LHS; part < PARTS; part++) {
        int at = place(p, part, a), next = place(p, part, b);

        if ((at >= 0) != (next >= 0) || (at >= 0 && next != at + 1))
            return false;
    }
    return p->is_batch[a] == p->is_batch[b];
}

static void join(struct product *p, int a, int b)
{
    p->size[a] *= p->size[b];
    for (enum part part = LHS; part < PARTS; part++) {
        int at = place(p, part, b);

        if (at < 0)
            continue;
        memmove(&p->label[part][at], &p->label[part][at + 1],
                (size_t)(--p->count[part] - at) * sizeof(int));
    }
}

/*
 * Heads and their size count as one where they are nothing else to this product. Batches stay
 * apart: a mask may be spread over heads, a bias over samples. To the kernel they are one.
 */
static void join_pairs(struct product *p)
{
    for (int a = 0; a < p->label_count; a++)
        for (int b = 0; b < p->label_count; b++)
            if (a != b && !p->is_batch[a] && place(p, LHS, b) + place(p, RHS, b) > -2
                && is_pair(p, a, b)) {
                join(p, a, b);
                b = -1;
            }
}

static struct shape shape_of(const struct product *p, enum part part, enum graph_dtype dtype)
{
    struct shape s = {.dtype = dtype, .rank = p->count[part]};

    for (int i = 0; i < s.rank; i++)
        s.dim[i] = p->size[p->label[part][i]];
    return s;
}

/* HLO's attributes of it */
static struct graph_dot dot_of(const struct product *p)
{
    struct graph_dot d = {.has_order = 1};
    int usual[GRAPH_RANK_MAX], count = 0;

    for (int i = 0; i < p->count[LHS]; i++) {
        int l = p->label[LHS][i], other = place(p, RHS, l);

        if (other < 0)
            continue;
        if (p->is_batch[l]) {
            d.lhs_batch[d.batch_count] = i;
            d.rhs_batch[d.batch_count++] = other;
            usual[count++] = l;
        } else {
            d.lhs_contract[d.contract_count] = i;
            d.rhs_contract[d.contract_count++] = other;
        }
    }
    for (enum part part = LHS; part <= RHS; part++)
        for (int i = 0; i < p->count[part]; i++)
            if (place(p, part == LHS ? RHS : LHS, p->label[part][i]) < 0)
                usual[count++] = p->label[part][i];
    for (int i = 0; i < p->count[RESULT]; i++)
        for (int k = 0; k < count; k++)
            if (usual[k] == p->label[RESULT][i])
                d.order[i] = k;
    return d;
}

/* operands as they lie, the result as it is wanted; NODE_NONE: the kernel does not make that */
static int as_they_lie(struct heads *h, int node)
{
    struct layout_assignment *l = &h->l;
    const struct graph_node *n = &l->w.from->node[node];
    const struct layout_order *order[PARTS] = {&l->order[n->operand[0]], &l->order[n->operand[1]],
                                               &l->order[node]};
    struct graph_dot dot;
    struct product p;
    int operand[2], made;

    read_product(&p, l->w.from, n);
    for (enum part part = LHS; part < PARTS; part++)
        put_in_order(&p, part, order[part]);
    join_pairs(&p);
    dot = dot_of(&p);
    for (int k = 0; k < 2; k++) {
        enum graph_dtype dtype = l->w.from->node[n->operand[k]].shape.dtype;

        operand[k] = graph_reshape(&l->w.to, l->w.moved[n->operand[k]],
                                   shape_of(&p, (enum part)k, dtype));
    }
    made = graph_dot_general(&l->w.to, operand[0], operand[1], &dot, n->shape.dtype, n->precision);
    if (!dot_is_made(&l->w.to, made, l->chip))
        return NODE_NONE;
    return graph_reshape(&l->w.to, made, layout_shape(&n->shape, order[RESULT]));
}

static int as_written(struct heads *h, int node)
{
    struct layout_assignment *l = &h->l;
    struct graph_node n = l->w.from->node[node];
    struct layout_order wanted = l->order[node];
    int operand[2], made;

    for (int k = 0; k < 2; k++) {
        struct layout_order plain = layout_order_identity(l->w.from->node[n.operand[k]].shape.rank);

        operand[k] = layout_in_order(l, n.operand[k], &plain);
    }
    made = graph_add(&l->w.to, &n, operand, 2);
    for (int i = 0; i < n.shape.rank; i++)
        if (wanted.dim[i] != i)
            return graph_transpose(&l->w.to, made, wanted.dim);
    return made;
}

static bool is_plain(const struct heads *h, int node)
{
    struct layout_order plain = layout_order_identity(h->l.w.from->node[node].shape.rank);

    return layout_order_is_same(&h->l.order[node], &plain, h->l.w.from->node[node].shape.rank);
}

static int rebuild_dot(struct heads *h, int node)
{
    const struct graph_node *n = &h->l.w.from->node[node];
    int made = NODE_NONE;

    if (h->is_seed[node] || ((!is_plain(h, n->operand[0]) || !is_plain(h, n->operand[1]) ||
                              !is_plain(h, node)) && !n->dot.has_order))
        made = as_they_lie(h, node);
    return made == NODE_NONE ? as_written(h, node) : made;
}

/* from as its operand lies to as it is wanted itself */
static int rebuild_transpose(struct heads *h, int node)
{
    const struct graph_node *n = &h->l.w.from->node[node];
    struct layout_order wanted = before_transpose(n, &h->l.order[node]);

    return layout_in_order(&h->l, n->operand[0], &wanted);
}

static int rebuild(struct heads *h, int node)
{
    const struct graph_node *n = &h->l.w.from->node[node];

    graph_stand_for(&h->l.w.to, n);
    if (n->op == HLO_DOT)
        return rebuild_dot(h, node);
    if (n->op == HLO_TRANSPOSE)
        return rebuild_transpose(h, node);
    return layout_rebuild(&h->l, node);
}

int pass_heads(struct graph *g, const struct pass_context *c, struct err *e)
{
    struct heads h = {.l.chip = c->chip};

    (void)e;
    h.l.order = mem_alloc((size_t)g->node_count * sizeof(*h.l.order));
    h.is_seed = mem_alloc((size_t)g->node_count * sizeof(*h.is_seed));
    h.l.w.from = g;
    if (find_seeds(&h)) {
        wish_for_scores(&h);
        rewrite_begin(&h.l.w, g);
        wish_backwards(&h);
        follow(&h);
        for (int i = 0; i < g->node_count; i++)
            if (g->node[i].op != HLO_PARAMETER)
                h.l.w.moved[i] = rebuild(&h, i);
        layout_restore_outputs(&h.l);
        rewrite_end(&h.l.w);
    }
    mem_free(h.l.order);
    mem_free(h.is_seed);
    return 0;
}
