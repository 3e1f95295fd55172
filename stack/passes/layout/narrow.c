/*
 * Narrow arrays: points f32[4096,3] whose x, y and z are computed with, codes f32[4096,63] of sines
 * and cosines of them, the states of many small systems. Row-major each is mostly padding, and a
 * piece that is cut off or joined is shifted along lanes; with the short dimensions first a piece is
 * some rows. What a group of such operations, and of the elementwise work between them, weighs in
 * either order is compared, with the copies that others need who make what the group reads or read
 * what it makes. Groups of elementwise work alone are islands (layout_islands.c).
 */
#include "stack/passes/layout/narrow.h"

#include "stack/passes/layout/layout_order.h"

#include <string.h>

enum { GROUP_BYTES_MIN = 1 << 19, GROUP_GAIN_MIN = 4, SHIFTED_WEIGHT = 4 };
#define NEVER_BYTES (1LL << 40)

/* what a group weighs, bytes with padding */
struct weight {
    bool has_cuts, is_bound;
    int rank;                           /* of all members */
    /* by how many dimensions go first: members and what else is made as they lie; */
    int64_t usual[GRAPH_RANK_MAX];      /* row-major, with transposes that need not be, */
    int64_t turned[GRAPH_RANK_MAX];     /* or so, with copies at the edges of the group */
};

struct groups {
    const struct graph *g;
    bool has_states;
    int *head;                          /* by node: another of its group, or itself */
    int *asked;                         /* by node: the group that has counted its copy last */
    bool *is_member;
    bool *is_free;                      /* by node: a parameter whose order its readers choose */
    struct weight *weight;              /* by head */
};

static bool is_cut(const struct graph_node *n)
{
    return n->op == HLO_SLICE || n->op == HLO_PAD || n->op == HLO_CONCATENATE ||
           n->op == HLO_REVERSE || layout_is_dynamic(n);
}

static bool may_join(const struct groups *s, int node)
{
    const struct graph_node *n = &s->g->node[node];

    return n->shape.rank > 1 && n->tuple_count == 0 &&
           (graph_op_is_elementwise(n->op) || layout_has_any_order(n) || is_cut(n) ||
            (s->has_states && n->op == HLO_PARAMETER));
}

static int head_of(const struct groups *s, int node)
{
    while (s->head[node] != node)
        node = s->head[node];
    return node;
}

struct layout_order narrow_order(int rank, int count)
{
    struct layout_order o = {.is_set = true};

    for (int i = 0; i < rank; i++)
        o.dim[i] = (i + rank - count) % rank;
    return o;
}

static int64_t turned_bytes(const struct shape *s, int count)
{
    struct layout_order o = narrow_order(s->rank, count);

    return layout_padded_bytes(s, &o);
}

static void join_two(struct groups *s, int a, int b)
{
    if (s->is_member[a] && s->is_member[b] && s->g->node[a].shape.rank == s->g->node[b].shape.rank)
        s->head[head_of(s, a)] = head_of(s, b);
}

static void join(struct groups *s)
{
    const struct graph *g = s->g;

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count && !layout_has_any_order(&g->node[i]); k++)
            join_two(s, i, g->node[i].operand[k]);
    for (int i = 0; i < g->output_count && s->has_states; i++)
        join_two(s, g->output[i].node, g->parameter[i]);
}

/* parameters that only members read, and nobody gives back */
static void find_free(struct groups *s)
{
    const struct graph *g = s->g;

    for (int i = 0; i < g->parameter_count; i++)
        s->is_free[g->parameter[i]] = !s->has_states;
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            s->is_free[g->node[i].operand[k]] &= s->is_member[i];
    for (int i = 0; i < g->output_count; i++) {
        s->is_free[g->output[i].node] = false;
        if (g->output[i].alias_parameter >= 0)
            s->is_free[g->parameter[g->output[i].alias_parameter]] = false;
    }
}

/* a transpose whose operand lies as its result does with `count` dimensions first, or the reverse */
static bool turns(const struct graph_node *n, int count, bool is_back)
{
    struct layout_order o = narrow_order(n->shape.rank, is_back ? count : n->shape.rank - count);

    return n->op == HLO_TRANSPOSE &&
           memcmp(n->dims, o.dim, (size_t)n->shape.rank * sizeof(n->dims[0])) == 0;
}

/*
 * An array that crosses the group's edge is copied. Of a column there is nothing to move: it is a
 * reshape of a vector in either order.
 */
static void add_copy(struct groups *s, int head, int node)
{
    const struct shape *x = &s->g->node[node].shape;
    struct weight *w = &s->weight[head];

    if (s->asked[node] == head)
        return;
    s->asked[node] = head;
    for (int count = 1; count < x->rank; count++) {
        bool moves = false;

        for (int d = x->rank - count; d < x->rank; d++)
            moves |= x->dim[d] > 1;
        w->turned[count] += turned_bytes(x, count);
        *(moves ? &w->turned[count] : &w->usual[count]) += turned_bytes(x, 0);
    }
}

/*
 * A transpose at the edge is none in the order that it turns from or to. One to another order says
 * what order the group has (follow_turned of pass_layout).
 */
static void add_transpose(struct groups *s, int head, const struct graph_node *n, bool is_back)
{
    struct weight *w = &s->weight[head];
    int64_t usual = turned_bytes(&n->shape, 0);

    for (int count = 1; count < n->shape.rank; count++) {
        if (turns(n, count, is_back)) {
            w->usual[count] += usual + turned_bytes(&n->shape, count);
            w->has_cuts = true;
        } else {
            w->turned[count] += NEVER_BYTES;
        }
    }
}

static void weigh_operand(struct groups *s, int head, int a)
{
    const struct graph_node *n = &s->g->node[a];

    s->weight[head].is_bound |= n->op == HLO_CONVOLUTION;
    if (n->op == HLO_TRANSPOSE)
        add_transpose(s, head, n, false);
    else if (!s->is_free[a] && n->op != HLO_CONSTANT)
        add_copy(s, head, a);
}

/* a place along lanes that is found as it runs shifts all lanes: no order to choose */
static bool is_inside_lanes(const struct graph *g, const struct graph_node *n, int count)
{
    int lanes = n->shape.rank - count - 1, other = n->op == HLO_DYNAMIC_SLICE ? 0 : 1;

    return layout_is_dynamic(n) &&
           g->node[n->operand[other]].shape.dim[lanes] != n->shape.dim[lanes];
}

/* row-major: pieces that are cut or joined along lanes are shifted along them, one by one */
static int64_t usual_weight(const struct graph *g, const struct graph_node *n)
{
    int last = n->shape.rank - 1;
    bool is_shifted = is_cut(n) && !layout_is_dynamic(n) &&
                      g->node[n->operand[0]].shape.dim[last] != n->shape.dim[last];

    return (is_shifted ? SHIFTED_WEIGHT : 1) * turned_bytes(&n->shape, 0);
}

static void weigh_member(struct groups *s, int node)
{
    const struct graph_node *n = &s->g->node[node];
    int head = head_of(s, node);
    struct weight *w = &s->weight[head];

    w->rank = n->shape.rank;
    w->has_cuts |= is_cut(n) || n->op == HLO_PARAMETER;
    for (int count = 1; count < n->shape.rank; count++) {
        w->usual[count] += usual_weight(s->g, n);
        w->turned[count] += is_inside_lanes(s->g, n, count) ? NEVER_BYTES
                                                            : turned_bytes(&n->shape, count);
    }
    for (int k = 0; k < n->operand_count && !layout_has_any_order(n); k++)
        if (s->g->node[n->operand[k]].shape.rank == n->shape.rank && !s->is_member[n->operand[k]])
            weigh_operand(s, head, n->operand[k]);
}

/* what reads a member from outside: convolutions have wishes of their own, sums have none */
static void weigh_reader(struct groups *s, int node)
{
    const struct graph_node *n = &s->g->node[node];

    if (s->is_member[node] && !layout_has_any_order(n))
        return;
    for (int k = 0; k < n->operand_count; k++) {
        int a = n->operand[k];

        if (!s->is_member[a] || n->op == HLO_REDUCE)
            continue;
        s->weight[head_of(s, a)].is_bound |= n->op == HLO_CONVOLUTION;
        if (n->op == HLO_TRANSPOSE)
            add_transpose(s, head_of(s, a), n, true);
        else
            add_copy(s, head_of(s, a), a);
    }
}

static void weigh_output(struct groups *s, int i)
{
    int node = s->g->output[i].node, parameter = s->has_states ? s->g->parameter[i] : NODE_NONE;
    const struct graph_node *n = &s->g->node[node];

    if (s->has_states && s->is_member[parameter]) {
        if (n->op == HLO_TRANSPOSE)
            add_transpose(s, head_of(s, parameter), n, false);
        else if (!s->is_member[node])
            add_copy(s, head_of(s, parameter), node);
    } else if (s->is_member[node]) {
        add_copy(s, head_of(s, node), node);
    }
}

static void weigh(struct groups *s)
{
    const struct graph *g = s->g;

    memset(s->asked, 0xff, (size_t)g->node_count * sizeof(*s->asked));
    for (int i = 0; i < g->node_count; i++)
        if (s->is_member[i])
            weigh_member(s, i);
    memset(s->asked, 0xff, (size_t)g->node_count * sizeof(*s->asked));
    for (int i = 0; i < g->node_count; i++)
        weigh_reader(s, i);
    for (int i = 0; i < g->output_count; i++)
        weigh_output(s, i);
}

/* how many of the last dimensions go first; 0: none, the group is as light row-major */
static int turned_count(const struct weight *w)
{
    int best = 0;

    if (!w->has_cuts || w->is_bound)
        return 0;
    for (int count = 1; count < w->rank; count++)
        if (w->usual[count] >= GROUP_BYTES_MIN &&
            w->usual[count] >= GROUP_GAIN_MIN * w->turned[count] &&
            (!best || w->turned[count] < w->turned[best]))
            best = count;
    return best;
}

int *narrow_find(const struct graph *g, const bool *is_fixed, bool has_states)
{
    size_t size = (size_t)g->node_count + 1;
    struct groups s = {.g = g, .has_states = has_states, .head = mem_alloc(size * sizeof(int)),
                       .asked = mem_alloc(size * sizeof(int)), .is_member = mem_alloc(size),
                       .is_free = mem_alloc(size),
                       .weight = mem_alloc(size * sizeof(struct weight))};
    int *count = mem_alloc(size * sizeof(*count));

    for (int i = 0; i < g->node_count; i++) {
        s.head[i] = i;
        s.is_member[i] = may_join(&s, i) && !is_fixed[i];
    }
    join(&s);
    find_free(&s);
    weigh(&s);
    for (int i = 0; i < g->node_count; i++)
        if (s.is_member[i])
            count[i] = turned_count(&s.weight[head_of(&s, i)]);
    mem_free(s.head);
    mem_free(s.asked);
    mem_free(s.is_member);
    mem_free(s.is_free);
    mem_free(s.weight);
    return count;
}
