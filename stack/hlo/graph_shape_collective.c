/* Checks operations between devices: groups, pairs, and the blocks of a dimension. */
#include "stack/hlo/graph_shape_impl.h"

#include <inttypes.h>

#define DEVICES_MAX (1 << 20)

/* every device is in one place */
static int check_members(const struct graph_node *n, struct err *e)
{
    const struct graph_groups *s = n->groups;
    int count = s->count * s->size, bad = -1;
    bool *is_there = mem_alloc((size_t)count * sizeof(*is_there));

    for (int i = 0; i < count; i++)
        is_there[i] = false;
    for (int i = 0; i < count && bad < 0; i++) {
        if (s->member[i] < 0 || s->member[i] >= count || is_there[s->member[i]])
            bad = i;
        else
            is_there[s->member[i]] = true;
    }
    mem_free(is_there);
    if (bad >= 0)
        return err_set(e, "%s: %d groups of %d have each device of 0..%d once, but place %d is %d",
                       n->name, s->count, s->size, count - 1, bad, s->member[bad]);
    return 0;
}

static int check_groups(const struct graph_node *n, struct err *e)
{
    const struct graph_groups *s = n->groups;

    if (!s && n->op == HLO_ALL_REDUCE)
        return 0;
    if (!s)
        return err_set(e, "%s: %s needs its groups of devices", n->name, graph_op_name(n->op));
    if (s->count < 1 || s->size < 1 || s->size > DEVICES_MAX / s->count)
        return err_set(e, "%s: %d groups of %d devices", n->name, s->count, s->size);
    if (!s->member && s->count != 1)
        return err_set(e, "%s: %d groups, but no list of who is in them", n->name, s->count);
    return s->member ? check_members(n, e) : 0;
}

static int check_block(const struct graph_node *n, const struct shape *a, struct err *e)
{
    char text[128];

    if (n->op == HLO_ALL_TO_ALL && (a->rank < 1 || a->dim[0] != n->groups->size))
        return err_set(e, "%s: dimension 0 of %s has not an entry for each of the %d devices of a "
                       "group", n->name, shape_print(a, text, sizeof(text)), n->groups->size);
    if (n->op == HLO_ALL_TO_ALL)
        return 0;
    if (n->dim < 0 || n->dim >= a->rank)
        return err_set(e, "%s: dimension %d of %s", n->name, n->dim,
                       shape_print(a, text, sizeof(text)));
    if (n->op == HLO_REDUCE_SCATTER && a->dim[n->dim] % n->groups->size)
        return err_set(e, "%s: dimension %d of %s is no multiple of the %d devices of a group",
                       n->name, n->dim, shape_print(a, text, sizeof(text)), n->groups->size);
    return 0;
}

/* nobody gives or gets twice; pairs are few */
static int check_pairs(const struct graph_node *n, struct err *e)
{
    for (int64_t i = 0; i < n->count; i++) {
        if (n->pair[i].source < 0 || n->pair[i].target < 0)
            return err_set(e, "%s: pair %" PRId64 " is from %d to %d", n->name, i,
                           n->pair[i].source, n->pair[i].target);
        for (int64_t k = 0; k < i; k++)
            if (n->pair[k].source == n->pair[i].source || n->pair[k].target == n->pair[i].target)
                return err_set(e, "%s: pairs %" PRId64 " and %" PRId64 " have the same %s", n->name,
                               k, i, n->pair[k].source == n->pair[i].source ? "source" : "target");
    }
    return 0;
}

struct shape shape_infer_collected(const struct graph_node *n, const struct shape *operand)
{
    struct shape s = *operand;

    if (n->op == HLO_REDUCE_SCATTER)
        s.dim[n->dim] /= n->groups->size;
    if (n->op == HLO_ALL_GATHER)
        s.dim[n->dim] *= n->groups->size;
    return s;
}

static int check_operand(const struct graph_node *n, const struct shape *a, struct err *e)
{
    struct shape whole;

    if (n->op != HLO_ALL_GATHER && n->op != HLO_ALL_TO_ALL && shape_infer_check_reduction(n, a, e))
        return -1;
    if (n->op == HLO_ALL_REDUCE)
        return 0;
    if (check_block(n, a, e))
        return -1;
    whole = shape_infer_collected(n, a);
    return shape_infer_check_dims(n, &whole, e);
}

int shape_infer_collective(const struct graph *g, const struct graph_node *n, struct shape *out,
                           struct err *e)
{
    *out = *shape_of_operand(g, n, 0);
    if (n->op == HLO_COLLECTIVE_PERMUTE)
        return check_pairs(n, e);
    if (check_groups(n, e))
        return -1;
    for (int i = 0; i < n->operand_count; i++)
        if (check_operand(n, shape_of_operand(g, n, i), e))
            return -1;
    *out = shape_infer_collected(n, out);
    return 0;
}

int shape_infer_message(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    *out = n->op == HLO_SEND             ? shape_scalar(DTYPE_U32)
           : n->op == HLO_ADD_DEPENDENCY ? *shape_of_operand(g, n, 0) : n->shape;
    if (n->op != HLO_ADD_DEPENDENCY && !n->message)
        return err_set(e, "%s: %s does not say with whom", n->name, graph_op_name(n->op));
    return 0;
}

static int check_devices_of(const struct graph_node *n, int device_count, struct err *e)
{
    if (n->groups && n->groups->count * n->groups->size != device_count)
        return err_set(e, "%s: %d groups of %d are %d devices, but there are %d", n->name,
                       n->groups->count, n->groups->size, n->groups->count * n->groups->size,
                       device_count);
    for (int64_t i = 0; n->op == HLO_COLLECTIVE_PERMUTE && i < n->count; i++)
        if (n->pair[i].source >= device_count || n->pair[i].target >= device_count)
            return err_set(e, "%s: from device %d to device %d, but there are %d", n->name,
                           n->pair[i].source, n->pair[i].target, device_count);
    return 0;
}

int graph_check_devices(const struct graph *g, int device_count, struct err *e)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (check_devices_of(n, device_count, e))
            return -1;
        for (int k = 0; k < GRAPH_CALLED_MAX; k++)
            if (n->called[k] && graph_check_devices(n->called[k], device_count, e))
                return -1;
    }
    return 0;
}

bool graph_has_collective(const struct graph *g)
{
    for (int i = 0; g && i < g->node_count; i++) {
        if (graph_op_kind(g->node[i].op) == KIND_COLLECTIVE)
            return true;
        for (int k = 0; k < GRAPH_CALLED_MAX; k++)
            if (graph_has_collective(g->node[i].called[k]))
                return true;
    }
    return false;
}
