/* The steps of cutting a program, and what its parameters and results have become. */
#include "import/program/sharding.h"
#include "import/shard/shard_impl.h"
#include "import/shard/turn.h"

#include <string.h>

static bool is_step_into_region(const struct hlo_instruction *n)
{
    return n->op == OPCODE_CUSTOM_CALL && hlo_detail(n)->target &&
           (!strcmp(hlo_detail(n)->target, "SPMDFullToShardShape") ||
            strstr(hlo_detail(n)->target, "GlobalToLocalShape"));
}

/* collectives between partitions that no manual region has: a partitioner has been here */
static bool is_cut_already(const struct hlo_module *m)
{
    bool has_exchange = false;

    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_instruction *n = &m->computation[c].instruction[i];

            if (is_step_into_region(n))
                return false;
            has_exchange |= hlo_detail(n)->groups && hlo_detail(n)->groups->channel_id &&
                            !hlo_detail(n)->groups->is_host_transfer;
        }
    return has_exchange;
}

bool shard_is_wanted(const struct hlo_module *m)
{
    return m->entry >= 0 && !m->is_scheduled && shard_partitions(m) > 1 && !is_cut_already(m);
}

static void add_leaves(const struct shard_state *s, int i, int parameter, struct shard_leaf *to,
                       int *count)
{
    const struct hlo_instruction *n = &s->module->computation[s->module->entry].instruction[i];
    const struct shard_place *p = shard_place_of(s, s->module->entry, i);

    for (int l = 0; l < p->leaves; l++) {
        const struct hlo_type *t = hlo_type_leaf(n->type, l);

        to[(*count)++] = (struct shard_leaf){
            .whole = *t, .part = shard_local_type(&s->mesh, &p->lay[l], t, s->arena),
            .sharding = shard_lay_write(&s->mesh, &p->lay[l], t->rank, s->arena),
            .parameter = parameter,
        };
    }
}

static int count_leaves(const struct hlo_computation *c)
{
    int count = 0;

    for (int k = 0; k < c->parameter_count; k++)
        if (c->parameter[k] >= 0)
            count += hlo_type_leaves(c->instruction[c->parameter[k]].type);
    return count;
}

static void find_boundary(const struct shard_state *s, struct shard_boundary *b)
{
    const struct hlo_computation *c = &s->module->computation[s->module->entry];
    int results = hlo_type_leaves(c->instruction[c->root].type);

    *b = (struct shard_boundary){.partitions = s->mesh.devices};
    b->parameter = arena_array(s->arena, (size_t)count_leaves(c), sizeof(*b->parameter));
    b->result = arena_array(s->arena, (size_t)results, sizeof(*b->result));
    for (int k = 0; k < c->parameter_count; k++)
        if (c->parameter[k] >= 0)
            add_leaves(s, c->parameter[k], k, b->parameter, &b->parameter_count);
    add_leaves(s, c->root, -1, b->result, &b->result_count);
}

/* until what may not run exchanges nothing; what is made whole stays so, so this ends */
static int cut(struct shard_state *s, struct hlo_module *made)
{
    for (;;) {
        shard_note(s);
        shard_spread(s);
        if (shard_settle_boundary(s))
            return -1;
        if (shard_emit(s, made))
            return -1;
        if (!shard_find_uncertain(s, made))
            return 0;
        hlo_module_fini(made);
    }
}

int shard_program(const struct hlo_module *from, const struct shard_options *options,
                  struct hlo_module *made, struct arena *a, struct shard_boundary *boundary,
                  struct err *e)
{
    struct hlo_module flat;
    struct shard_state s = {.arena = a, .module = &flat, .err = e};
    struct shard_turns turns;
    int64_t partitions;
    int status;

    if (from->entry < 0)
        return err_set(e, "the module has no entry computation");
    if (shard_prepare(from, &flat, a, e))
        return -1;
    partitions = options->partitions ? options->partitions : shard_partitions(&flat);
    if (partitions > HLO_DEVICES_MAX) {
        hlo_module_fini(&flat);
        return err_set(e, "%lld partitions are more than %d", (long long)partitions,
                       HLO_DEVICES_MAX);
    }
    shard_mesh_find(&s.mesh, &flat, partitions);
    shard_turns_find(&s, &flat, &turns);
    s.is_whole = arena_array(a, (size_t)flat.computation_count, sizeof(*s.is_whole));
    status = cut(&s, made);
    if (!status) {
        find_boundary(&s, boundary);
        status = shard_turns_make(&s, &turns, made, boundary);
    }
    if (!status) {
        made->partition_count = partitions;
        made->entry_parameter = NULL;   /* these spoke of whole arrays */
        made->entry_parameter_count = 0;
        made->entry_result = NULL;
        hlo_eliminate_dead(made);
    }
    hlo_module_fini(&flat);
    return status;
}
