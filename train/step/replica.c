/* Writes all-reduces and all-gathers of the replicas, and a replica's own number, into a trace. */
#include "train/step/replica.h"

#include <assert.h>

static int scaled(struct trace *t, enum replica_reduction kind, int node)
{
    struct graph *g = &t->graph;

    if (kind == REPLICA_SUM)
        return node;
    return graph_binary(g, HLO_MULTIPLY, node,
                        graph_splat(g, node, 1.0 / (double)t->replica_count));
}

int replica_all_reduce(struct trace *t, enum replica_reduction kind, int node)
{
    replica_all_reduce_all(t, kind, &node, 1);
    return node;
}

void replica_all_reduce_all(struct trace *t, enum replica_reduction kind, int *node, int count)
{
    struct graph *g = &t->graph;
    int all;

    if (t->replica_count == 1 || count == 0)
        return;
    for (int i = 0; i < count; i++)
        node[i] = scaled(t, kind, node[i]);
    all = graph_all_reduce_all(g, node, count);
    for (int i = 0; i < count; i++)
        node[i] = count == 1 ? all : graph_tuple_element(g, all, i);
}

int replica_all_gather(struct trace *t, int node, int axis)
{
    struct graph_groups all = {.count = 1, .size = t->replica_count};

    assert(axis >= 0 && axis < t->graph.node[node].shape.rank);
    return t->replica_count == 1 ? node : graph_all_gather(&t->graph, &node, 1, axis, &all);
}

int replica_id(struct trace *t)
{
    if (t->replica_count == 1)
        return graph_constant(&t->graph, shape_scalar(DTYPE_S32), 0);
    return graph_convert(&t->graph, graph_replica_id(&t->graph), DTYPE_S32);
}
