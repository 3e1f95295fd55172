/*
 * What a program says of how its arrays lie: shardings of parameters, results and constraints;
 * and over which axes the arrays of manual regions lie by hand.
 */
#include "import/shard/shard_impl.h"

#include <stdlib.h>
#include <string.h>

int shard_first_leaf(const struct hlo_type *tuple, int index)
{
    int first = 0;

    for (int k = 0; k < index; k++)
        first += hlo_type_leaves(&tuple->part[k]);
    return first;
}

static bool is_call_of(const struct hlo_instruction *n, const char *target)
{
    return n->op == OPCODE_CUSTOM_CALL && hlo_detail(n)->target &&
           !strcmp(hlo_detail(n)->target, target);
}

static void make_places(struct shard_state *s, int computation)
{
    const struct hlo_computation *c = &s->module->computation[computation];
    struct shard_computation *to = &s->computation[computation];

    if (to->is_cut)
        return;
    to->is_cut = true;
    to->place = arena_array(s->arena, (size_t)c->count, sizeof(*to->place));
    for (int i = 0; i < c->count; i++) {
        struct shard_place *p = &to->place[i];
        const struct hlo_instruction *n = &c->instruction[i];

        p->leaves = hlo_type_leaves(n->type);
        p->lay = arena_array(s->arena, (size_t)p->leaves, sizeof(*p->lay));
        p->is_fixed = arena_array(s->arena, (size_t)p->leaves, sizeof(*p->is_fixed));
        p->open = arena_array(s->arena, (size_t)p->leaves, sizeof(*p->open));
        p->rule = shard_rule_make(s->module, c, n, s->arena);
        if (n->op == OPCODE_WHILE || n->op == OPCODE_CONDITIONAL)
            for (int k = 0; k < hlo_detail(n)->computation_count; k++)
                make_places(s, hlo_detail(n)->computation[k]);
    }
}

/* ----- manual regions: what is made of arrays that lie by hand lies by hand */

static uint32_t entered_axes(const struct shard_state *s, const struct hlo_instruction *n)
{
    struct shard_lay lay;
    uint32_t manual = 0;

    if (hlo_detail(n)->sharding_count)
        shard_lay_read(&s->mesh, &hlo_detail(n)->sharding[0], n->type->rank, &lay, &manual);
    return manual;
}

/*
 * Axes of an array behind a region: those that its own sharding still names, and those of regions
 * around it, of which the constraint before the step out of this one says nothing.
 */
static uint32_t left_axes(const struct shard_state *s, const struct hlo_computation *c,
                          const struct hlo_instruction *n, uint32_t inside, uint32_t around)
{
    const struct hlo_instruction *before = &c->instruction[n->operand[0]];
    uint32_t left = around;

    if (is_call_of(before, "Sharding"))
        left |= inside & ~entered_axes(s, before);
    return left | entered_axes(s, n);
}

static void spread_manual(struct shard_state *s, int computation, uint32_t around)
{
    const struct hlo_computation *c = &s->module->computation[computation];

    for (int i = 0; i < c->count; i++) {
        const struct hlo_instruction *n = &c->instruction[i];
        struct shard_place *p = shard_place_of(s, computation, i);

        if (n->op == OPCODE_PARAMETER)
            p->manual = around;
        for (int k = 0; k < n->operand_count; k++)
            p->manual |= shard_place_of(s, computation, n->operand[k])->manual;
        if (is_call_of(n, "SPMDFullToShardShape") ||
            is_call_of(n, "Sharding"))          /* of what a region makes of nothing, at its end */
            p->manual |= entered_axes(s, n);
        else if (is_call_of(n, "SPMDShardToFullShape"))
            p->manual = left_axes(s, c, n, p->manual, around);
        for (int k = 0; shard_is_structure(n->op) && k < hlo_detail(n)->computation_count; k++)
            spread_manual(s, hlo_detail(n)->computation[k], p->manual);
    }
}

/* ----- notes */

/* `unspecified_dims=[0,2]` in a constraint's text: these may be cut by others */
static uint32_t unspecified_dims(const struct hlo_instruction *n)
{
    const char *at =
        hlo_detail(n)->config ? strstr(hlo_detail(n)->config, "unspecified_dims=[") : NULL;
    uint32_t dims = 0;

    for (at = at ? at + strlen("unspecified_dims=[") : ""; *at >= '0' && *at <= '9'; ) {
        char *end;
        long dim = strtol(at, &end, 10);

        if (dim < 32)
            dims |= 1u << dim;
        at = *end == ',' ? end + 1 : end;
    }
    return dims;
}

static uint32_t open_dims(const struct hlo_instruction *n, const struct hlo_sharding *said)
{
    uint32_t dims = unspecified_dims(n);

    for (int k = 0; k < said->open.count; k++)
        if (said->open.item[k] < 32)
            dims |= 1u << said->open.item[k];
    return dims;
}

/* axes that would cut a dimension into more parts than it has indices are left out */
static void trim(const struct shard_state *s, const struct hlo_type *t, struct shard_lay *lay)
{
    struct shard_lay kept = {0};

    for (int i = 0; i < lay->count; i++) {
        int dim = lay->cut[i].dim;

        if (shard_lay_parts(&s->mesh, &kept, dim) * s->mesh.size[lay->cut[i].axis] <= t->dim[dim])
            shard_lay_add(&kept, dim, lay->cut[i].axis);
    }
    *lay = kept;
}

static void note_leaf(struct shard_state *s, struct shard_place *p, int leaf,
                      const struct hlo_instruction *n, const struct hlo_sharding *said)
{
    const struct hlo_type *t = hlo_type_leaf(n->type, leaf);
    struct shard_lay lay;
    uint32_t manual;

    if (said->kind == HLO_MANUAL || said->kind == HLO_UNKNOWN ||
        !shard_lay_read(&s->mesh, said, t->rank, &lay, &manual) ||
        (shard_lay_mask(&lay) & p->manual))
        return;
    trim(s, t, &lay);
    p->lay[leaf] = lay;
    p->is_fixed[leaf] = true;
    p->open[leaf] = open_dims(n, said);
}

/* arrays enter a manual region as they are cut outside, but for the axes that lie by hand */
static void note_entered(struct shard_state *s, int computation, struct shard_place *p,
                         const struct hlo_instruction *n)
{
    const struct shard_place *from = shard_place_of(s, computation, n->operand[0]);

    for (int i = 0; i < from->lay[0].count; i++)
        if (!(p->manual >> from->lay[0].cut[i].axis & 1))
            shard_lay_add(&p->lay[0], from->lay[0].cut[i].dim, from->lay[0].cut[i].axis);
}

static void fix(struct shard_place *p)
{
    for (int l = 0; l < p->leaves; l++)
        p->is_fixed[l] = true;
}

static void note_instruction(struct shard_state *s, int computation, int i)
{
    const struct hlo_instruction *n = &s->module->computation[computation].instruction[i];
    struct shard_place *p = shard_place_of(s, computation, i);

    if (s->is_whole[computation]) {
        fix(p);
        return;
    }
    if (is_call_of(n, "SPMDFullToShardShape")) {
        note_entered(s, computation, p, n);
        return;
    }
    if (hlo_detail(n)->sharding_count != 1 && hlo_detail(n)->sharding_count != p->leaves)
        return;
    for (int l = 0; l < p->leaves; l++)
        note_leaf(s, p, l, n, &hlo_detail(n)->sharding[hlo_detail(n)->sharding_count == 1 ? 0 : l]);
}

/* parameters of which nothing is said are whole; results, if the program does not leave it to us */
static bool are_results_free(const struct hlo_module *m)
{
    for (int i = 0; i < m->other.count; i++)
        if (!strcmp(m->other.item[i].key, "allow_spmd_sharding_propagation_to_output"))
            return strstr(m->other.item[i].value, "true") != NULL;
    return m->mesh_count > 0;
}

static void fix_entry(struct shard_state *s)
{
    const struct hlo_computation *c = &s->module->computation[s->module->entry];

    for (int i = 0; i < c->count; i++)
        if (c->instruction[i].op == OPCODE_PARAMETER)
            fix(shard_place_of(s, s->module->entry, i));
    if (!are_results_free(s->module))
        fix(shard_place_of(s, s->module->entry, c->root));
}

void shard_note(struct shard_state *s)
{
    s->computation = arena_array(s->arena, (size_t)s->module->computation_count,
                                 sizeof(*s->computation));
    make_places(s, s->module->entry);
    spread_manual(s, s->module->entry, 0);
    for (int c = 0; c < s->module->computation_count; c++)
        for (int i = 0; s->computation[c].is_cut && i < s->module->computation[c].count; i++)
            note_instruction(s, c, i);
    fix_entry(s);
}
