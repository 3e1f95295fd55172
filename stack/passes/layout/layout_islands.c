/*
 * Islands: elementwise work on arrays whose last dimensions are short, as all differences of points
 * are, f32[500,500,3]. Row-major such an array is mostly padding, of 128 lanes 125. Where all of
 * what it is computed from is spread from smaller arrays, its order is nobody's wish, and the short
 * dimensions go first: f32[3,500,500]. So it is of parameters that elementwise work alone reads, the
 * predictions and labels f32[60000,1] of a loss: the module lays them out at its entry as they are
 * read. Sums over any dimension take it as it is; what else reads it gets a copy.
 */
#include "stack/passes/layout/layout_order.h"
#include "stack/passes/layout/narrow.h"

#include <string.h>

enum { ISLAND_BYTES_MIN = 1 << 20, ISLAND_GAIN_MIN = 4 };

struct islands {
    struct layout_assignment *l;
    int *head;                          /* by node: another of its island, or itself */
    bool *is_bound, *is_free;           /* by head: an operand has an order; one is spread, or read */
    bool *is_read_alone;                /* by node: a parameter that islands alone read */
};

static bool is_member(const struct graph_node *n)
{
    return n->shape.rank > 1 && n->tuple_count == 0 &&
           (graph_op_is_elementwise(n->op) || layout_has_any_order(n));
}

static int head_of(const struct islands *s, int node)
{
    while (s->head[node] != node)
        node = s->head[node];
    return node;
}

static bool has_same_dims(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(*a->dim)) == 0;
}

/* a node whose operands are spread: an array, not a number */
static bool spreads(const struct graph *g, const struct graph_node *n)
{
    return n->op == HLO_BROADCAST && g->node[n->operand[0]].shape.rank > 0;
}

/* parameters that anybody else reads, or that are given back, lie as they do */
static void find_parameters(struct islands *s)
{
    const struct graph *g = s->l->w.from;

    for (int i = 0; i < g->parameter_count; i++)
        s->is_read_alone[g->parameter[i]] = true;
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            if (!graph_op_is_elementwise(g->node[i].op))
                s->is_read_alone[g->node[i].operand[k]] = false;
    for (int i = 0; i < g->output_count; i++) {
        s->is_read_alone[g->output[i].node] = false;
        if (g->output[i].alias_parameter >= 0)
            s->is_read_alone[g->parameter[g->output[i].alias_parameter]] = false;
    }
}

static void join_operands(struct islands *s, int node)
{
    const struct graph *g = s->l->w.from;
    const struct graph_node *n = &g->node[node];

    if (spreads(g, n))
        s->is_free[head_of(s, node)] = true;
    for (int k = 0; k < n->operand_count && graph_op_is_elementwise(n->op); k++) {
        int a = n->operand[k], mine = head_of(s, node), theirs;

        if (!has_same_dims(&g->node[a].shape, &n->shape))
            continue;
        if (!is_member(&g->node[a])) {
            *(s->is_read_alone[a] ? &s->is_free[mine] : &s->is_bound[mine]) = true;
            continue;
        }
        theirs = head_of(s, a);
        s->head[mine] = theirs;
        s->is_bound[theirs] |= s->is_bound[mine];
        s->is_free[theirs] |= s->is_free[mine];
    }
}

/* false: row-major is nearly as good as any other */
static bool find_order(const struct shape *s, struct layout_order *best)
{
    struct layout_order plain = layout_order_identity(s->rank);
    int64_t usual = layout_padded_bytes(s, &plain), least = usual;

    for (int count = 1; count < s->rank; count++) {
        struct layout_order o = narrow_order(s->rank, count);
        int64_t bytes = layout_padded_bytes(s, &o);

        if (bytes < least) {
            least = bytes;
            *best = o;
        }
    }
    return usual >= ISLAND_BYTES_MIN && usual >= ISLAND_GAIN_MIN * least;
}

void layout_islands(struct layout_assignment *l)
{
    const struct graph *g = l->w.from;
    size_t count = (size_t)g->node_count;
    struct islands s = {.l = l, .head = mem_alloc(count * sizeof(*s.head)),
                        .is_bound = mem_alloc(count), .is_free = mem_alloc(count),
                        .is_read_alone = mem_alloc(count)};

    find_parameters(&s);
    for (int i = 0; i < g->node_count; i++) {
        s.head[i] = i;
        if (is_member(&g->node[i]))
            join_operands(&s, i);
    }
    for (int i = 0; i < g->node_count; i++) {
        int head = head_of(&s, i);
        struct layout_order o;

        if (is_member(&g->node[i]) && s.is_free[head] && !s.is_bound[head] &&
            !l->order[i].is_set && find_order(&g->node[i].shape, &o))
            l->order[i] = o;
    }
    mem_free(s.head);
    mem_free(s.is_bound);
    mem_free(s.is_free);
    mem_free(s.is_read_alone);
}
