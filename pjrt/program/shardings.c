/* How parameters and results of a program for several devices lie on them, as callers read it. */
#include "pjrt/program/program.h"

#include "import/hlo_proto/hlo_proto.h"

/* `leaf` NULL: whole on every device */
static struct program_shardings list(struct arena *a, int count, const struct shard_leaf *leaf)
{
    static const struct hlo_sharding whole = {.kind = HLO_REPLICATED};
    struct program_shardings made = {.count = (size_t)count};

    made.bytes = arena_array(a, made.count + 1, sizeof(*made.bytes));
    made.size = arena_array(a, made.count + 1, sizeof(*made.size));
    for (int i = 0; i < count; i++)
        made.bytes[i] = hlo_proto_write_sharding(leaf ? &leaf[i].sharding : &whole, a,
                                                 &made.size[i]);
    return made;
}

void program_list_shardings(struct PJRT_Executable *p)
{
    const struct program_graph *g = &p->x.graph;
    const struct shard_boundary *b = &g->boundary;

    if (p->options.partitions == 1)
        return;
    p->parameter_sharding = list(&p->arena, p->parameters, g->is_cut ? b->parameter : NULL);
    p->output_sharding = list(&p->arena, p->outputs, g->is_cut ? b->result : NULL);
}
