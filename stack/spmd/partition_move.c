/* Brings arrays from one sharding to another, and adds up parts of sums. */
#include "stack/spmd/partition_impl.h"

#include <string.h>

int partition_coordinate(struct partition *p, int axis)
{
    struct graph *g = p->to;
    int *kept = &p->coordinate[axis], size = p->mesh->axis[axis].size;
    int stride = mesh_stride(p->mesh, axis);
    const char *source = g->source;

    if (*kept != NODE_NONE)
        return *kept;
    g->source = "devices";
    *kept = graph_convert(g, graph_partition_id(g), DTYPE_S32);
    if (stride > 1)
        *kept = graph_binary(g, HLO_DIVIDE, *kept,
                             graph_constant(g, shape_scalar(DTYPE_S32), stride));
    if (stride * size < mesh_device_count(p->mesh))
        *kept = graph_binary(g, HLO_REMAINDER, *kept,
                             graph_constant(g, shape_scalar(DTYPE_S32), size));
    g->source = source;
    return *kept;
}

/* one number everywhere: each part of it is made, not taken from the whole */
static int smaller_splat(struct graph *g, int node, const struct shape *shape)
{
    struct graph_node n;

    while (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    if (g->node[node].op != HLO_CONSTANT || g->node[node].literal)
        return NODE_NONE;
    n = g->node[node];
    n.shape = *shape;
    return graph_add(g, &n, NULL, 0);
}

/* this device's part along dimension d */
static int cut(struct partition *p, int node, int d, int axis)
{
    struct graph *g = p->to;
    struct shape shape = g->node[node].shape;
    int64_t size = shape.dim[d] / p->mesh->axis[axis].size;
    int start[GRAPH_RANK_MAX], zero, splat;

    shape.dim[d] = size;
    if ((splat = smaller_splat(g, node, &shape)) != NODE_NONE)
        return splat;
    zero = graph_constant(g, shape_scalar(DTYPE_S32), 0.0);
    for (int i = 0; i < shape.rank; i++)
        start[i] = zero;
    int fourth = graph_constant(g, shape_scalar(DTYPE_S32), (double)size);
    start[d] = graph_binary(g, HLO_MULTIPLY, partition_coordinate(p, axis), fourth);
    return graph_dynamic_slice(g, node, start, shape.dim);
}

static int gather(struct partition *p, int node, int d, int axis)
{
    struct graph_groups groups = mesh_groups(p->mesh, 1u << axis, p->to->arena);

    return graph_all_gather(p->to, &node, 1, d, &groups);
}

int partition_move(struct partition *p, int node, const struct sharding *made,
                   const struct sharding *to, const struct shape *whole)
{
    for (int d = 0; d < whole->rank; d++)
        if (made->axis[d] && made->axis[d] != to->axis[d])
            node = gather(p, node, d, made->axis[d]);
    for (int d = 0; d < whole->rank; d++)
        if (to->axis[d] && made->axis[d] != to->axis[d])
            node = cut(p, node, d, to->axis[d]);
    return node;
}

int partition_part(struct partition *p, int node, const struct sharding *to)
{
    struct partition_part *part = &p->part[node];
    struct partition_moved *kept;

    if (memcmp(&part->made, to, sizeof(*to)) == 0)
        return part->node;
    for (const struct partition_moved *m = part->moved; m; m = m->next)
        if (memcmp(&m->sharding, to, sizeof(*to)) == 0)
            return m->node;
    kept = arena_alloc(p->to->arena, sizeof(*kept));
    kept->sharding = *to;
    kept->node = partition_move(p, part->node, &part->made, to, &p->from->node[node].shape);
    kept->next = part->moved;
    part->moved = kept;
    return kept->node;
}

int partition_sum(struct partition *p, int node, uint32_t mask, struct sharding *made,
                  const struct sharding *to)
{
    struct graph_groups groups;

    for (int d = 0; d < p->to->node[node].shape.rank; d++) {
        int axis = to->axis[d];

        if (axis == 0 || made->axis[d] || !(mask >> axis & 1))
            continue;
        groups = mesh_groups(p->mesh, 1u << axis, p->to->arena);
        node = graph_reduce_scatter(p->to, &node, 1, d, &groups);
        made->axis[d] = (int8_t)axis;
        mask &= ~(1u << axis);
    }
    if (!mask)
        return node;
    groups = mesh_groups(p->mesh, mask, p->to->arena);
    return graph_all_reduce_groups(p->to, &node, 1, &groups);
}
