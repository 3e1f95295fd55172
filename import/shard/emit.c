/* The program of one device, instruction by instruction: structure, sources, manual regions. */
#include "import/shard/emit.h"

#include <string.h>

static const struct shard_place *operand_place(const struct shard_emitter *e,
                                               const struct hlo_instruction *n, int k)
{
    return shard_place_of(e->s, e->computation, n->operand[k]);
}

static const struct hlo_type *operand_type(const struct shard_emitter *e,
                                           const struct hlo_instruction *n, int k)
{
    return e->s->module->computation[e->computation].instruction[n->operand[k]].type;
}

static int copy_as(struct shard_emitter *e, const struct hlo_instruction *n,
                   const struct hlo_type *type, const int *operand)
{
    struct hlo_instruction i = *n;

    i.type = type;
    if (!shard_keeps_sharding(n))
        hlo_own_detail(e->b->module->arena, &i)->sharding_count = 0;
    return hlo_copy_instruction(e->b, &i, operand);
}

static struct hlo_type part_of(struct shard_emitter *e, const struct hlo_instruction *n,
                               const struct shard_lay *lay)
{
    return shard_local_tuple(e->mesh, lay, n->type, e->b->module->arena);
}

/* how each leaf lies, for who looks at the program's parameters and results */
static void note_lays(struct shard_emitter *e, int made, const struct hlo_instruction *n,
                      const struct shard_place *p)
{
    struct arena *a = e->b->module->arena;
    struct hlo_sharding *s = arena_array(a, (size_t)p->leaves, sizeof(*s));
    struct hlo_instruction *to = &e->b->module->computation[e->b->computation].instruction[made];

    for (int l = 0; l < p->leaves; l++)
        s[l] = shard_lay_write(e->mesh, &p->lay[l], hlo_type_leaf(n->type, l)->rank, a);
    hlo_own_detail(a, to)->sharding = s;
    to->detail->sharding_count = p->leaves;
}

static bool is_entry(const struct shard_emitter *e)
{
    return e->computation == e->s->module->entry;
}

static int emit_parameter(struct shard_emitter *e, const struct hlo_instruction *n,
                          const struct shard_place *p)
{
    struct hlo_type t = part_of(e, n, p->lay);
    int made = copy_as(e, n, &t, NULL);

    if (is_entry(e))
        note_lays(e, made, n, p);
    return made;
}

static const struct shard_lay whole = {0};

static int emit_constant(struct shard_emitter *e, const struct hlo_instruction *n,
                         const struct shard_place *p)
{
    struct hlo_literal *l;
    struct hlo_type t;

    if (!p->lay[0].count)
        return copy_as(e, n, n->type, NULL);
    if (!n->literal->is_splat)
        return shard_move(e, copy_as(e, n, n->type, NULL), n->type, &whole, &p->lay[0]);
    t = part_of(e, n, p->lay);
    t.layout = NULL;
    l = arena_copy(e->b->module->arena, n->literal, 1, sizeof(*l));
    l->type = t;
    return hlo_constant_literal(e->b, l);
}

/* counts from where this device's part begins */
static int emit_iota(struct shard_emitter *e, const struct hlo_instruction *n,
                     const struct shard_place *p)
{
    struct shard_axes axes = shard_lay_axes(&p->lay[0], (int)n->index);
    struct hlo_type t = part_of(e, n, p->lay);
    int made, offset;

    t.layout = NULL;
    if (!axes.count)
        return copy_as(e, n, &t, NULL);
    offset = hlo_convert(e->b, shard_offset_of(e, &axes, n->type->dim[n->index]), t.element);
    made = hlo_iota(e->b, &t, (int)n->index);
    return hlo_binary(e->b, OPCODE_ADD, made, hlo_splat(e->b, offset, &t));
}

static int emit_tuple(struct shard_emitter *e, const struct hlo_instruction *n,
                      const struct shard_place *p, const int *operand)
{
    int *part = arena_array(e->b->module->arena, (size_t)n->operand_count, sizeof(*part)), first = 0;
    struct hlo_type t = part_of(e, n, p->lay);
    int made;

    for (int k = 0; k < n->operand_count; k++) {
        const struct shard_place *from = operand_place(e, n, k);

        part[k] = shard_move_value(e, operand[k], operand_type(e, n, k), from->lay, p->lay + first);
        first += from->leaves;
    }
    made = copy_as(e, n, &t, part);
    if (is_entry(e) && n == &e->s->module->computation[e->computation].instruction[
                                e->s->module->computation[e->computation].root])
        note_lays(e, made, n, p);
    return made;
}

static int emit_element(struct shard_emitter *e, const struct hlo_instruction *n,
                        const struct shard_place *p, const int *operand)
{
    int first = shard_first_leaf(operand_type(e, n, 0), (int)n->index);

    return shard_move_value(e, shard_element(e, operand[0], (int)n->index), n->type,
                            operand_place(e, n, 0)->lay + first, p->lay);
}

/* what its bodies and branches want of each operand, they get; the result is as it should be */
static int emit_control(struct shard_emitter *e, const struct hlo_instruction *n,
                        const struct shard_place *p, const int *operand)
{
    int *own = arena_array(e->b->module->arena, (size_t)n->operand_count, sizeof(*own));
    const struct hlo_module *m = e->s->module;
    struct hlo_type t = part_of(e, n, p->lay);

    for (int k = 0; k < n->operand_count; k++) {
        int called = hlo_detail(n)->computation[n->op == OPCODE_WHILE ? 0 : k ? k - 1 : 0];
        const struct shard_place *to =
            shard_place_of(e->s, called, m->computation[called].parameter[0]);

        own[k] = n->op == OPCODE_CONDITIONAL && !k ? operand[k] :
                 shard_move_value(e, operand[k], operand_type(e, n, k), operand_place(e, n, k)->lay,
                                  to->lay);
    }
    return copy_as(e, n, &t, own);
}

/* barriers and their like, of which the first operand is the result */
static int emit_through(struct shard_emitter *e, const struct hlo_instruction *n,
                        const struct shard_place *p, const int *operand)
{
    const struct shard_lay *from = operand_place(e, n, 0)->lay;
    struct hlo_type t = part_of(e, n, from);

    return shard_move_value(e, copy_as(e, n, &t, operand), n->type, from, p->lay);
}

/* no rule: all operands whole, so is the result */
static int emit_whole(struct shard_emitter *e, const struct hlo_instruction *n,
                      const struct shard_place *p, const int *operand)
{
    int *own = arena_array(e->b->module->arena, (size_t)n->operand_count, sizeof(*own)), most = 0;
    struct shard_lay *uncut;
    int made;

    for (int k = 0; k < n->operand_count; k++)
        if (operand_place(e, n, k)->leaves > most)
            most = operand_place(e, n, k)->leaves;
    most = p->leaves > most ? p->leaves : most;
    uncut = mem_alloc((size_t)(most + 1) * sizeof(*uncut));
    for (int k = 0; k < n->operand_count; k++)
        own[k] = shard_move_value(e, operand[k], operand_type(e, n, k), operand_place(e, n, k)->lay,
                                  uncut);
    made = shard_move_value(e, copy_as(e, n, n->type, own), n->type, uncut, p->lay);
    mem_free(uncut);
    return made;
}

/* ----- manual regions */

static bool is_call_of(const struct hlo_instruction *n, const char *target)
{
    return n->op == OPCODE_CUSTOM_CALL && n->operand_count == 1 && hlo_detail(n)->target &&
           !strcmp(hlo_detail(n)->target, target);
}

/* by dimension first what lies by hand, then our own cuts */
static struct shard_lay join(const struct shard_lay *by_hand, uint32_t manual,
                             const struct shard_lay *own)
{
    struct shard_lay lay = {0};

    for (int i = 0; i < by_hand->count; i++)
        if (manual >> by_hand->cut[i].axis & 1)
            shard_lay_add(&lay, by_hand->cut[i].dim, by_hand->cut[i].axis);
    for (int i = 0; i < own->count; i++)
        shard_lay_add(&lay, own->cut[i].dim, own->cut[i].axis);
    return lay;
}

static int check_region(struct shard_emitter *e, const struct hlo_instruction *n,
                        const struct hlo_type *local, const struct hlo_type *whole_type,
                        const struct shard_lay *lay)
{
    struct hlo_type part;
    char a[128], b[128];

    part = shard_local_type(e->mesh, lay, whole_type, e->b->module->arena);
    if (!hlo_type_is_tuple(&part) && hlo_type_equal(&part, local))
        return 0;
    return err_at(e->s->err, e->s->module->file ? e->s->module->file : "", n->line, n->col,
                  "%s: %s in a manual region is no part of %s", hlo_name(n),
                  hlo_type_print(local, a, sizeof(a)), hlo_type_print(whole_type, b, sizeof(b)));
}

static int emit_enter(struct shard_emitter *e, const struct hlo_instruction *n,
                      const struct shard_place *p, const int *operand)
{
    const struct shard_place *from = operand_place(e, n, 0);
    const struct hlo_type *t = operand_type(e, n, 0);
    struct shard_lay by_hand = join(&from->lay[0], p->manual & ~from->manual, &whole), lay;

    if (check_region(e, n, n->type, t, &by_hand))
        return -1;
    lay = join(&from->lay[0], p->manual & ~from->manual, &p->lay[0]);
    return shard_move(e, operand[0], t, &from->lay[0], &lay);
}

static int emit_leave(struct shard_emitter *e, const struct hlo_instruction *n,
                      const struct shard_place *p, const int *operand)
{
    const struct shard_place *from = operand_place(e, n, 0);
    uint32_t manual = from->manual & ~p->manual, ignored;
    struct shard_lay said = {0}, by_hand, lay;

    if (hlo_detail(n)->sharding_count)
        shard_lay_read(e->mesh, &hlo_detail(n)->sharding[0], n->type->rank, &said, &ignored);
    by_hand = join(&said, manual, &whole);
    if (check_region(e, n, operand_type(e, n, 0), n->type, &by_hand))
        return -1;
    lay = join(&said, manual, &from->lay[0]);
    return shard_move(e, operand[0], n->type, &lay, &p->lay[0]);
}

/* ----- */

static int emit_structure(struct shard_emitter *e, const struct hlo_instruction *n,
                          const struct shard_place *p, const int *operand)
{
    switch (n->op) {
    case OPCODE_TUPLE: return emit_tuple(e, n, p, operand);
    case OPCODE_GET_TUPLE_ELEMENT: return emit_element(e, n, p, operand);
    case OPCODE_WHILE: case OPCODE_CONDITIONAL: return emit_control(e, n, p, operand);
    default: return emit_through(e, n, p, operand);
    }
}

static int emit_instruction(struct shard_emitter *e, const struct hlo_instruction *n,
                            const struct shard_place *p, const int *operand)
{
    if (n->op == OPCODE_PARAMETER)
        return emit_parameter(e, n, p);
    if (n->op == OPCODE_CONSTANT && p->leaves == 1 && n->literal)
        return emit_constant(e, n, p);
    if (n->op == OPCODE_IOTA && (hlo_element_is_integer(n->type->element) ||
                                 hlo_element_is_float(n->type->element)))
        return emit_iota(e, n, p);
    if (shard_is_structure(n->op))
        return emit_structure(e, n, p, operand);
    if (is_call_of(n, "SPMDFullToShardShape"))
        return emit_enter(e, n, p, operand);
    if (is_call_of(n, "SPMDShardToFullShape"))
        return emit_leave(e, n, p, operand);
    if (p->rule)
        return shard_emit_rule(e, n, p, operand);
    return emit_whole(e, n, p, operand);
}

static void begin_computation(struct shard_emitter *e, int computation)
{
    e->computation = computation;
    e->number = -1;
    e->index_count = 0;
    e->moved_count = 0;
    for (int i = 0; i < SHARD_MOVED_LISTS; i++)
        e->moved_list[i] = -1;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct shard_emitter *e = r->user;
    const struct shard_computation *c = &e->s->computation[b->computation];
    const struct hlo_instruction *first = e->s->module->computation[b->computation].instruction;
    int made;

    if (!c->is_cut)
        return -1;
    e->b = b;
    if (e->computation != b->computation || from == first)
        begin_computation(e, b->computation);
    made = emit_instruction(e, from, &c->place[from - first], operand);
    r->status = made < 0 ? -1 : 0;
    return made;
}

/* the first channel that no collective of the program has */
static int64_t free_channel(const struct hlo_module *m)
{
    int64_t channel = 1;

    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_groups *g = hlo_detail(&m->computation[c].instruction[i])->groups;

            if (g && g->channel_id >= channel)
                channel = g->channel_id + 1;
        }
    return channel;
}

int shard_emit(struct shard_state *s, struct hlo_module *made)
{
    struct shard_emitter e = {.s = s, .mesh = &s->mesh, .computation = -1,
                              .channel = free_channel(s->module)};
    struct hlo_rewrite r = {.user = &e, .visit = visit};
    int status = hlo_rewrite_module(s->module, made, s->arena, &r, s->err);

    mem_free(e.index);
    mem_free(e.lists);
    mem_free(e.moved);
    return status;
}
