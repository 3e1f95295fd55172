/*
 * What a loop reads again in each of its rounds and leaves as it is, weights mostly, is copied before
 * it into VMEM, where its rounds read the copy (XLA gives the operand of a loop a place there for
 * the loop's whole time).
 *
 * A short loop has all of it copied or nothing, rows that it takes one by one, too. Of a longer one
 * those operands are that the loop reads several times in all, one after the other while half of
 * VMEM's room for arrays holds them and the other half what a round makes.
 */
#include "stack/module/module_walk.h"

#include "stack/hlo/array.h"

#define READS_MIN 3.0                   /* of all of an array: fewer do not pay for the copy */
#define ROUNDS_GUESSED 16.0             /* of a loop that ends by its condition */

static double part_read(const struct graph *g, int user, int node)
{
    const struct graph_node *n = &g->node[user];

    if (n->operand[0] != node || (n->op != HLO_DYNAMIC_SLICE && n->op != HLO_GATHER))
        return 1;
    return (double)shape_elems(&n->shape) / (double)shape_elems(&g->node[node].shape);
}

static double reads_of(const struct graph *g, int node);

static double reads_by_loop(const struct graph_node *loop, int k)
{
    double rounds = loop->count == GRAPH_TRIPS_UNKNOWN ? ROUNDS_GUESSED : (double)loop->count;
    const struct graph *body = loop->called[0];

    return body->output[k].node == body->parameter[k] ? rounds * reads_of(body, body->parameter[k])
                                                      : 1;
}

/* how often all of the node is read by the graph */
static double reads_of(const struct graph *g, int node)
{
    double reads = 0;

    for (int i = node + 1; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0; k < n->operand_count; k++) {
            if (n->operand[k] != node)
                continue;
            if (n->op == HLO_WHILE)
                reads += reads_by_loop(n, k);
            else
                reads += n->op == HLO_RESHAPE ? reads_of(g, i) : part_read(g, i, node);
        }
    }
    return reads;
}

static int64_t shape_bytes(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.bytes;
}

static int64_t node_bytes(const struct graph_node *n)
{
    int64_t bytes = n->tuple_count ? 0 : shape_bytes(&n->shape);

    for (int i = 0; i < n->tuple_count; i++)
        bytes += shape_bytes(&n->tuple[i]);
    return n->op == HLO_GET_TUPLE_ELEMENT || n->op == HLO_PARAMETER ? 0 : bytes;
}

/* what is made in the graph and alive at once, at most; what loops in it change lies elsewhere */
static int64_t alive_bytes(const struct graph *g)
{
    int *last = mem_alloc(((size_t)g->node_count + 1) * sizeof(*last));
    int64_t alive = 0, most = 0;

    for (int i = 0; i < g->node_count; i++) {
        last[i] = i;
        for (int k = 0; k < g->node[i].operand_count; k++)
            last[g->node[i].operand[k]] = i;
    }
    for (int i = 0; i < g->output_count; i++)
        last[g->output[i].node] = g->node_count;
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        int64_t inside = n->op == HLO_WHILE || n->op == HLO_CONDITIONAL ? alive_bytes(n->called[0]) : 0;

        alive += node_bytes(n);
        most = alive + inside > most ? alive + inside : most;
        for (int k = 0; k < n->operand_count; k++)
            if (last[n->operand[k]] == i) {
                alive -= node_bytes(&g->node[n->operand[k]]);
                last[n->operand[k]] = -1;       /* named twice, it goes once */
            }
    }
    mem_free(last);
    return most;
}

bool module_walk_is_unchanged(const struct graph_node *loop, int k)
{
    return loop->called[0]->output[k].node == loop->called[0]->parameter[k];
}

static bool says_where(const struct graph *g, int node);

/* operand k of the node is, or may go on to be, where something begins or lies */
static bool takes_where(const struct graph *g, int node, int k)
{
    const struct graph_node *n = &g->node[node];

    switch (n->op) {
    case HLO_RESHAPE: case HLO_ADD_DEPENDENCY: return says_where(g, node);
    case HLO_FUSION: return says_where(n->called[0], n->called[0]->parameter[k]);
    case HLO_GATHER: case HLO_SCATTER: return k == 1;
    case HLO_DYNAMIC_SLICE: return k >= 1;
    case HLO_DYNAMIC_UPDATE_SLICE: return k >= 2;
    case HLO_WHILE: case HLO_CONDITIONAL: case HLO_CUSTOM_CALL: case HLO_MOSAIC: case HLO_RNG_BITS:
        return true;
    default: return false;
    }
}

static bool says_where(const struct graph *g, int node)
{
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->node[i].operand_count; k++)
            if (g->node[i].operand[k] == node && takes_where(g, i, k))
                return true;
    return false;
}

/* Of where slices begin, what the host wrote is known in timing mode, its copy is not. */
static bool may_be_indices(const struct graph *body, int parameter)
{
    const struct shape *s = &body->node[parameter].shape;

    return (s->dtype == DTYPE_S32 || s->dtype == DTYPE_U32) && says_where(body, parameter);
}

/* times that the loop's rounds read operand k from HBM, where it lies; 0: it changes, or lies else */
static double reads_again(const struct module_walk *w, const struct graph_node *n, int k)
{
    const struct module_value *from = w->node[n->operand[k]];
    enum buffer_role role = module_plan_buffer(w->plan, from)->role;

    if (!module_walk_is_unchanged(n, k) || may_be_indices(n->called[0], n->called[0]->parameter[k]) ||
        role == BUFFER_TEMPORARY || role == BUFFER_STATE)
        return 0;
    return reads_by_loop(n, k);
}

static bool keeps_all(const struct module_walk *w, const struct graph_node *n)
{
    int64_t bytes = 0;

    for (int k = 0; k < n->operand_count; k++)
        if (reads_again(w, n, k) > 0)
            bytes += w->node[n->operand[k]]->array.bytes;
    return bytes <= module_plan_resident_bytes(w->plan, n->called[0]->node_count) / 2;
}

void module_walk_keep_read(const struct module_walk *w, int node, bool *is_kept)
{
    const struct graph_node *n = &w->g->node[node];
    int64_t half = module_plan_resident_bytes(w->plan, 0) / 2, bytes = 0;
    bool all = keeps_all(w, n), has_room = alive_bytes(n->called[0]) <= half;

    for (int k = 0; n->count != 1 && k < n->operand_count; k++) {
        int64_t own = w->node[n->operand[k]]->array.bytes;
        double reads = reads_again(w, n, k);

        is_kept[k] = reads > 0 && (all || (has_room && reads >= READS_MIN && bytes + own <= half));
        bytes += is_kept[k] ? own : 0;
    }
}
