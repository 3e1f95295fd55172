/* Builders of operations between devices. */
#include "stack/hlo/graph.h"

#include <string.h>

static const struct graph_groups *keep_groups(struct graph *g, const struct graph_groups *s)
{
    struct graph_groups *kept;

    if (!s)
        return NULL;
    kept = arena_copy(g->arena, s, 1, sizeof(*s));
    if (s->member)
        kept->member = arena_copy(g->arena, s->member, (size_t)s->count * (size_t)s->size,
                                  sizeof(*s->member));
    return kept;
}

int graph_all_reduce(struct graph *g, int a)
{
    return graph_all_reduce_all(g, &a, 1);
}

int graph_all_reduce_all(struct graph *g, const int *operand, int count)
{
    return graph_all_reduce_groups(g, operand, count, NULL);
}

int graph_all_reduce_groups(struct graph *g, const int *operand, int count,
                            const struct graph_groups *groups)
{
    struct graph_node n = {.op = HLO_ALL_REDUCE, .groups = keep_groups(g, groups)};

    return graph_add(g, &n, operand, count);
}

int graph_reduce_scatter(struct graph *g, const int *operand, int count, int dim,
                         const struct graph_groups *groups)
{
    struct graph_node n = {.op = HLO_REDUCE_SCATTER, .dim = dim, .groups = keep_groups(g, groups)};

    return graph_add(g, &n, operand, count);
}

int graph_all_gather(struct graph *g, const int *operand, int count, int dim,
                     const struct graph_groups *groups)
{
    struct graph_node n = {.op = HLO_ALL_GATHER, .dim = dim, .groups = keep_groups(g, groups)};

    return graph_add(g, &n, operand, count);
}

int graph_all_to_all(struct graph *g, int a, const struct graph_groups *groups)
{
    struct graph_node n = {.op = HLO_ALL_TO_ALL, .groups = keep_groups(g, groups)};

    return graph_add(g, &n, &a, 1);
}

int graph_collective_permute(struct graph *g, int a, const struct graph_pair *pair, int count)
{
    struct graph_node n = {.op = HLO_COLLECTIVE_PERMUTE, .count = count,
                           .pair = arena_copy(g->arena, pair, (size_t)count, sizeof(*pair))};

    return graph_add(g, &n, &a, 1);
}

int graph_send(struct graph *g, int a, int before, const struct graph_message *message)
{
    struct graph_node n = {.op = HLO_SEND, .message = message};

    return graph_add(g, &n, (int[]){a, before}, 2);
}

int graph_receive(struct graph *g, struct shape shape, int before,
                  const struct graph_message *message)
{
    struct graph_node n = {.op = HLO_RECEIVE, .shape = shape, .message = message};

    return graph_add(g, &n, &before, 1);
}

int graph_add_dependency(struct graph *g, int a, int before)
{
    struct graph_node n = {.op = HLO_ADD_DEPENDENCY};

    return graph_add(g, &n, (int[]){a, before}, 2);
}

int graph_partition_id(struct graph *g)
{
    struct graph_node n = {.op = HLO_PARTITION_ID, .shape = shape_scalar(DTYPE_U32)};

    return graph_add(g, &n, NULL, 0);
}

int graph_replica_id(struct graph *g)
{
    struct graph_node n = {.op = HLO_REPLICA_ID, .shape = shape_scalar(DTYPE_U32)};

    return graph_add(g, &n, NULL, 0);
}
