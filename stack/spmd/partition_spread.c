/* How arrays lie, from those that are said to be cut: both ways until nothing changes. */
#include "stack/spmd/partition_impl.h"

static struct partition_part *part_of(struct partition *p, int node) { return &p->part[node]; }

/* takes over one cut if dimension d has none, the axis is not used and the size divides */
static bool take(struct partition *p, int node, int d, int axis)
{
    const struct graph_node *n = &p->from->node[node];
    struct partition_part *to = part_of(p, node);

    if (axis == 0 || d < 0 || to->is_fixed || to->wanted.axis[d] || n->tuple_count)
        return false;
    if (sharding_axes(&to->wanted) >> axis & 1 || n->shape.dim[d] % p->mesh->axis[axis].size)
        return false;
    to->wanted.axis[d] = (int8_t)axis;
    return true;
}

static bool spread_forwards(struct partition *p, int node)
{
    const struct graph_node *n = &p->from->node[node];
    bool has_changed = false;

    for (int k = 0; k < n->operand_count && !n->tuple_count; k++)
        for (int d = 0; d < n->shape.rank; d++) {
            int from = partition_link_operand_dim(p->from, n, k, d);

            if (from >= 0)
                has_changed |= take(p, node, d, part_of(p, n->operand[k])->wanted.axis[from]);
        }
    return has_changed;
}

static bool spread_backwards(struct partition *p, int node)
{
    const struct graph_node *n = &p->from->node[node];
    bool has_changed = false;

    for (int k = 0; k < n->operand_count && !n->tuple_count; k++) {
        const struct graph_node *operand = &p->from->node[n->operand[k]];

        for (int d = 0; d < n->shape.rank; d++) {
            int to = partition_link_operand_dim(p->from, n, k, d);

            if (to >= 0 && partition_link_may_cut(p->from, operand, to))
                has_changed |= take(p, n->operand[k], to, part_of(p, node)->wanted.axis[d]);
        }
    }
    return has_changed;
}

void partition_spread(struct partition *p)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (int i = 0; i < p->from->node_count; i++)
            has_changed |= spread_forwards(p, i);
        for (int i = p->from->node_count - 1; i >= 0; i--)
            has_changed |= spread_backwards(p, i);
    }
}
