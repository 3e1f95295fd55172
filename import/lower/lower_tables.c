/*
 * Tables of kernels written in Pallas: what bounds their grids and what they prefetch, where it is
 * made of constants alone, becomes constants, as XLA folds it. Then every mode knows which blocks
 * the kernel reads.
 */
#include "import/lower/lower_impl.h"
#include "stack/hlo/rewrite.h"
#include "stack/interp/interp.h"
#include "stack/mosaic/mosaic.h"

struct tables {
    const struct lower_known *known;
    bool *is_closed;                    /* by node: of constants alone, and of what is known */
    struct err *err;
    bool is_failed;
};

static bool may_be_closed(const struct graph_node *n)
{
    switch (n->op) {
    case HLO_PARAMETER: case HLO_PARTITION_ID: case HLO_REPLICA_ID: case HLO_RNG_BITS:
    case HLO_CUSTOM_CALL: case HLO_MOSAIC:
        return false;
    default:
        return graph_op_kind(n->op) != KIND_COLLECTIVE && graph_op_kind(n->op) != KIND_MESSAGE;
    }
}

/* what is known of a parameter, NULL: nothing */
static const struct lower_known *find_known(const struct graph_node *n,
                                            const struct lower_known *known)
{
    while (known && n->op == HLO_PARAMETER &&
           (n->parameter_index != known->parameter || n->shape.dtype != known->dtype))
        known = known->next;
    return n->op == HLO_PARAMETER ? known : NULL;
}

static void find_closed(const struct graph *g, const struct lower_known *known, bool *is_closed)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        is_closed[i] = may_be_closed(n) || find_known(n, known);
        for (int k = 0; k < n->operand_count; k++)
            is_closed[i] = is_closed[i] && is_closed[n->operand[k]];
    }
}

/* What `node` needs of its graph, as a graph of its own. */
static int add_needed(const struct graph *g, int node, const struct lower_known *known,
                      struct graph *to, int *made)
{
    const struct graph_node *n = &g->node[node];
    int *operand;

    if (made[node] != NODE_NONE)
        return made[node];
    if (find_known(n, known)) {
        made[node] = graph_literal(to, n->shape, find_known(n, known)->element);
        return made[node];
    }
    operand = arena_array(to->arena, (size_t)n->operand_count + 1, sizeof(*operand));
    for (int i = 0; i < n->operand_count; i++)
        operand[i] = add_needed(g, n->operand[i], known, to, made);
    made[node] = graph_add(to, n, operand, n->operand_count);
    return made[node];
}

/* The node's elements in the arena; NULL: failed. */
static const void *value_of(const struct graph *g, int node, const struct lower_known *known,
                            struct arena *a, struct err *e)
{
    int *made = arena_array(a, (size_t)g->node_count, sizeof(*made));
    struct interp_value out = {NULL};
    struct graph alone;
    int status;

    for (int i = 0; i < g->node_count; i++)
        made[i] = NODE_NONE;
    graph_init(&alone, a, "table");
    graph_output(&alone, add_needed(g, node, known, &alone, made), "table", -1);
    status = interp_run(&alone, INTERP_DOT_F32, NULL, &out, a, e);
    graph_fini(&alone);
    return status ? NULL : out.data;
}

/* bounds of the grid, prefetched arrays, others that the kernel has in SMEM */
static bool is_table(const struct mosaic_kernel *k, int array)
{
    const struct mosaic_block *b = k->main->body;

    return array < k->prefetch_count ||
           (k->grid_rank + array < b->argument_count &&
            b->argument[k->grid_rank + array]->type.space == MOSAIC_SMEM);
}

/* The kernel with what it prefetches told, and its operands constants. */
static int fold(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    struct tables *t = (struct tables *)(uintptr_t)user;
    const struct graph_node *own = &w->from->node[node];
    int count;
    struct mosaic_kernel *k;
    const int32_t **known;

    if (n->op != HLO_MOSAIC)
        return NODE_NONE;
    count = n->operand_count;
    k = arena_copy(w->to.arena, n->mosaic, 1, sizeof(*k));
    known = arena_array(w->to.arena, (size_t)count, sizeof(const int32_t *));
    for (int i = 0; i < count; i++) {
        int from = own->operand[i];

        if (!is_table(n->mosaic, i - n->mosaic->dynamic_count) || !t->is_closed[from] || w->from->node[from].tuple_count ||
            w->from->node[from].shape.dtype != DTYPE_S32)
            continue;
        known[i] = value_of(w->from, from, t->known, w->to.arena, t->err);
        if (!known[i]) {
            t->is_failed = true;
            return NODE_NONE;
        }
        graph_stand_for(&w->to, own);
        n->operand[i] = graph_literal(&w->to, w->from->node[from].shape, known[i]);
    }
    k->known = known;
    n->mosaic = k;
    return rewrite_add(&w->to, n);
}

int lower_tables(struct graph *g, const struct lower_known *known, struct err *e)
{
    struct tables t = {.known = known, .err = e};
    bool has_kernels = false;

    for (int i = 0; i < g->node_count; i++)
        has_kernels |= g->node[i].op == HLO_MOSAIC;
    if (!has_kernels)
        return 0;
    t.is_closed = mem_alloc((size_t)g->node_count * sizeof(*t.is_closed) + 1);
    find_closed(g, known, t.is_closed);
    rewrite_each(g, fold, &t);
    mem_free(t.is_closed);
    return t.is_failed ? -1 : 0;
}
