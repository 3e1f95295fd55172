/*
 * Loop fusions: the body once more, with a node for each set of dimensions of the space on which a
 * value is used, and what does not depend on a dimension computed without it.
 */
#include "stack/kernels/loop/loop_plan.h"

#include <string.h>

#define NOT_KNOWN UINT32_MAX

uint32_t loop_low_bits(int count)
{
    return count >= 32 ? UINT32_MAX : (1u << count) - 1;
}

/* number of the k-th set bit */
static int bit_of(uint32_t mask, int k)
{
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && k-- == 0)
            return i;
    return -1;
}

/* the dimensions of the space that a node has, told by what it is made of; or NOT_KNOWN */
static void find_masks(const struct graph *g, const struct shape *space, uint32_t *mask)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        mask[i] = n->shape.rank == 0 ? 0 : NOT_KNOWN;
        if (shape_same_dims(&n->shape, space)) {
            mask[i] = loop_low_bits(space->rank);
        } else if (n->op == HLO_REDUCE && mask[n->operand[0]] != NOT_KNOWN) {
            uint32_t from = mask[n->operand[0]];

            mask[i] = from;
            for (int d = 0; d < g->node[n->operand[0]].shape.rank; d++)
                if (n->reduce_mask >> d & 1)
                    mask[i] &= ~(1u << bit_of(from, d));
        } else if (fused_is_elementwise(n)) {
            for (int k = 0; k < n->operand_count; k++)
                if (g->node[n->operand[k]].shape.rank == n->shape.rank
                    && mask[n->operand[k]] != NOT_KNOWN)
                    mask[i] = mask[n->operand[k]];
        }
    }
}

/* ----- a copy of the body in which every node has one mask */

struct copier {
    const struct graph *from;
    const struct shape *space;
    struct loop_plan *p;
    uint32_t *told;                     /* masks by find_masks */
    struct { uint32_t mask; int made; } *memo;
    int *memo_from, memo_count, memo_max;
    struct err *e;
};

static int copy_node(struct copier *c, int node, uint32_t mask);

/*
 * Dimensions of the space for a shape of which those in `open` may lie anywhere in order and the
 * others lie on `mask`: the first that have its sizes.
 */
static uint32_t match_dims(const struct shape *space, const struct shape *s, uint32_t open,
                           uint32_t mask)
{
    uint32_t out = 0;
    int at = 0, fixed = 0;

    for (int d = 0; d < s->rank; d++) {
        if (!(open >> d & 1)) {
            int place = bit_of(mask, fixed++);

            if (place < at)             /* the open ones before it lie behind it */
                return NOT_KNOWN;
            at = place;
        } else
            while (at < space->rank && (mask >> at & 1 || space->dim[at] != s->dim[d]))
                at++;
        if (at < 0 || at >= space->rank)
            return NOT_KNOWN;
        out |= 1u << at++;
    }
    return out;
}

static uint32_t mask_of_operand(struct copier *c, const struct graph_node *n, int k,
                                uint32_t mask)
{
    const struct graph_node *o = &c->from->node[n->operand[k]];
    uint32_t out = 0;

    if (n->op == HLO_REDUCE && c->told[n->operand[k]] != NOT_KNOWN)
        return c->told[n->operand[k]];
    if (n->op == HLO_REDUCE)
        return match_dims(c->space, &o->shape, n->reduce_mask, mask);
    if (n->op == HLO_BROADCAST) {
        for (int d = 0; d < o->shape.rank; d++)
            out |= 1u << bit_of(mask, n->dims[d]);
        return out;
    }
    return o->shape.rank == 0 ? 0 : mask;
}

/* ----- what does not depend on an axis is computed without it */

static bool is_spread(const struct graph *g, int node)
{
    return g->node[node].op == HLO_BROADCAST
           && g->node[g->node[node].operand[0]].op != HLO_CONSTANT;
}

static bool is_constant(const struct graph *g, int node)
{
    if (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONSTANT;
}

static int add_mapped(struct copier *c, const struct graph_node *n, const int *operand, int count,
                      uint32_t mask)
{
    int made = graph_add(&c->p->body, n, operand, count);

    if (made >= c->memo_max)
        return err_set(c->e, "too many values");
    c->p->mask[made] = mask;
    return made;
}

/* the operand of `node` below its broadcast; of a constant its value in the shape of `like` */
static int without_spread(struct copier *c, int node, int like)
{
    struct graph *g = &c->p->body;
    struct graph_node n = g->node[node];

    if (is_spread(g, node))
        return n.operand[0];
    if (n.op == HLO_BROADCAST)
        n = g->node[n.operand[0]];
    n.shape = (struct shape){.dtype = n.shape.dtype, .rank = g->node[like].shape.rank};
    memcpy(n.shape.dim, g->node[like].shape.dim, sizeof(n.shape.dim));
    return add_mapped(c, &n, NULL, 0, c->p->mask[like]);
}

/* the operand whose broadcast all others share, or -1 */
static int shared_spread(const struct copier *c, const int *operand, int count)
{
    const struct graph *g = &c->p->body;
    int found = -1;

    for (int k = 0; k < count; k++) {
        if (is_constant(g, operand[k]))
            continue;
        if (!is_spread(g, operand[k])
            || (found >= 0 && c->p->mask[g->node[operand[k]].operand[0]]
                                  != c->p->mask[g->node[found].operand[0]]))
            return -1;
        found = operand[k];
    }
    return found;
}

/* f(spread a, spread b) is spread f(a, b) */
static int copy_hoisted(struct copier *c, const struct graph_node *n, const int *operand,
                        uint32_t mask, int spread)
{
    struct graph *g = &c->p->body;
    int small[3], like = g->node[spread].operand[0], made;
    struct graph_node over = g->node[spread], inner = *n;

    for (int k = 0; k < n->operand_count; k++) {
        small[k] = without_spread(c, operand[k], like);
        if (small[k] < 0)
            return -1;
    }
    inner.shape.rank = g->node[like].shape.rank;
    memcpy(inner.shape.dim, g->node[like].shape.dim, sizeof(inner.shape.dim));
    made = add_mapped(c, &inner, small, n->operand_count, c->p->mask[like]);
    if (made < 0)
        return -1;
    over.shape.dtype = n->shape.dtype;
    return add_mapped(c, &over, &made, 1, mask);
}

/* x / spread y is x times spread 1 / y, which is how divisions are made anyway */
static int copy_division(struct copier *c, const struct graph_node *n, const int *operand,
                         uint32_t mask)
{
    struct graph *g = &c->p->body;
    int like = g->node[operand[1]].operand[0], one, inverse[2];
    struct graph_node constant = {.op = HLO_CONSTANT, .value = 1, .shape = g->node[like].shape,
                                  .source = n->source};
    struct graph_node over = g->node[operand[1]], divide = *n, times = *n;

    one = add_mapped(c, &constant, NULL, 0, c->p->mask[like]);
    if (one < 0)
        return -1;
    divide.shape = g->node[like].shape;
    inverse[0] = one;
    inverse[1] = like;
    inverse[1] = add_mapped(c, &divide, inverse, 2, c->p->mask[like]);
    if (inverse[1] < 0)
        return -1;
    inverse[1] = add_mapped(c, &over, &inverse[1], 1, mask);
    inverse[0] = operand[0];
    times.op = HLO_MULTIPLY;
    return inverse[1] < 0 ? -1 : add_mapped(c, &times, inverse, 2, mask);
}

static int add_copy(struct copier *c, const struct graph_node *n, const int *operand,
                    uint32_t mask)
{
    const struct graph *g = &c->p->body;
    int spread = -1;

    if (fused_is_elementwise(n) && n->operand_count > 0)
        spread = shared_spread(c, operand, n->operand_count);
    if (spread >= 0)
        return copy_hoisted(c, n, operand, mask, spread);
    if (n->op == HLO_DIVIDE && n->shape.dtype == DTYPE_F32 && is_spread(g, operand[1])
        && !is_constant(g, operand[0]))
        return copy_division(c, n, operand, mask);
    return add_mapped(c, n, operand, n->operand_count, mask);
}

/* an operand, or a slice of one */
static int copy_view(struct copier *c, int node)
{
    const struct graph_node *n = &c->from->node[node];
    int made = graph_parameter(&c->p->body, n->shape, n->name);

    c->p->array_of[made] = c->p->view_of[node];
    return made;
}

static int copy_made(struct copier *c, int node, uint32_t mask)
{
    const struct graph_node *n = &c->from->node[node];
    int operand[3];

    if (n->op == HLO_PARAMETER || n->op == HLO_SLICE)
        return copy_view(c, node);
    for (int k = 0; k < n->operand_count; k++) {
        uint32_t from = mask_of_operand(c, n, k, mask);

        if (from == NOT_KNOWN)
            return err_set(c->e, "%s lies on no axes of the largest shape", n->name);
        operand[k] = copy_node(c, n->operand[k], from);
        if (operand[k] < 0)
            return -1;
    }
    return add_copy(c, n, operand, mask);
}

static int copy_node(struct copier *c, int node, uint32_t mask)
{
    int made;

    if (c->told[node] != NOT_KNOWN && c->told[node] != mask
        && c->from->node[node].shape.rank > 0)
        return err_set(c->e, "%s lies on other axes than where it is used",
                       c->from->node[node].name);
    for (int i = 0; i < c->memo_count; i++)
        if (c->memo_from[i] == node && c->memo[i].mask == mask)
            return c->memo[i].made;
    made = copy_made(c, node, mask);
    if (made < 0)
        return -1;
    if (c->memo_count == c->memo_max)
        return err_set(c->e, "too many values");
    c->p->mask[made] = mask;
    c->memo_from[c->memo_count] = node;
    c->memo[c->memo_count].mask = mask;
    c->memo[c->memo_count++].made = made;
    return made;
}

int loop_copy_body(struct loop_plan *p, const struct shape *space, struct err *e)
{
    const struct graph *g = p->job->body;
    size_t count = (size_t)g->node_count * 4 + 64;
    struct copier c = {.from = g, .space = space, .p = p, .e = e, .memo_max = (int)count};

    p->mask = arena_array(p->arena, count, sizeof(*p->mask));
    p->level = arena_array(p->arena, count, sizeof(*p->level));
    p->array_of = arena_array(p->arena, count, sizeof(*p->array_of));
    p->kept_row = arena_array(p->arena, count, sizeof(*p->kept_row));
    p->sum_row = arena_array(p->arena, count, sizeof(*p->sum_row));
    p->is_kept = arena_array(p->arena, count, sizeof(*p->is_kept));
    p->is_finished = arena_array(p->arena, count, sizeof(*p->is_finished));
    p->is_lifted = arena_array(p->arena, count, sizeof(*p->is_lifted));
    c.told = arena_array(p->arena, count, sizeof(*c.told));
    c.memo = arena_array(p->arena, count, sizeof(*c.memo));
    c.memo_from = arena_array(p->arena, count, sizeof(*c.memo_from));
    find_masks(g, space, c.told);
    graph_init(&p->body, p->arena, g->name);
    for (int i = 0; i < g->output_count; i++) {
        int node = g->output[i].node;
        uint32_t mask = c.told[node];

        if (mask == NOT_KNOWN)
            mask = match_dims(space, &g->node[node].shape, UINT32_MAX, 0);
        if (mask == NOT_KNOWN)
            return err_set(e, "result %s lies on no axes of the largest shape",
                           g->output[i].name);
        node = copy_node(&c, node, mask);
        if (node < 0)
            return -1;
        graph_output(&p->body, node, g->output[i].name, -1);
    }
    return 0;
}
