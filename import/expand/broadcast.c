/* collective-broadcast by an all-gather, of which each device takes the first one's array. */
#include "import/expand/site.h"

/* a new first dimension, one row for each device of the group */
static int gathered(struct expand_site *s, int x, int64_t devices)
{
    struct hlo_builder *b = s->b;
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t *dim = arena_array(b->module->arena, (size_t)t.rank + 2, sizeof(*dim)), zero = 0;
    struct hlo_instruction i = {.op = OPCODE_ALL_GATHER, .operand_count = 1, .dims = {1, &zero},
                                .groups = s->from->groups};

    dim[0] = 1;
    for (int d = 0; d < t.rank; d++)
        dim[d + 1] = t.dim[d];
    x = hlo_reshape(b, x, t.rank + 1, dim);
    dim[0] = devices;
    i.type = hlo_array_type(b->module->arena, t.element, t.rank + 1, dim);
    return hlo_copy_instruction(b, &i, &x);
}

static int64_t all_devices(const struct expand_site *s)
{
    const struct hlo_groups *g = s->from->groups;

    if (!g || g->channel_id == 0)
        return s->old->replica_count;
    return g->use_global_ids ? s->old->replica_count * s->old->partition_count
                             : s->old->partition_count;
}

/* of one group: all are of the same size */
static int64_t group_size(const struct expand_site *s)
{
    const struct hlo_groups *g = s->from->groups;

    return g && g->size.count ? g->size.item[0] : all_devices(s);
}

int expand_collective_broadcast(struct expand_site *s)
{
    struct hlo_type t = s->from->type;
    int64_t devices = group_size(s);
    int x;

    if (s->from->operand_count != 1 || hlo_type_is_tuple(&t))
        return expand_refuse(s, "it needs one array");
    x = gathered(s, s->operand[0], devices);
    return hlo_reshape(s->b, hlo_slice_dim(s->b, x, 0, 0, 1), t.rank, t.dim);
}
