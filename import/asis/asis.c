/* Numbers the units of a schedule, then rewrites the program so that each instruction has one. */
#include "import/asis/asis.h"

#include <string.h>

#define UNITS_MAX (1 << 20)

struct keeping {
    const struct hlo_module *module;
    struct kept_program *kept;
    struct arena *arena;
    int **unit;                         /* by computation and instruction; NULL: not scheduled */
    int *callers;                       /* by computation: of `call` alone */
    size_t unit_capacity, edge_capacity;
};

/* ---- units: the order in which a schedule runs ---- */

/* tells where a value lies or when it is there, and is no work of a core */
static bool is_no_work(const struct hlo_instruction *i)
{
    switch (i->op) {
    case OPCODE_PARAMETER: case OPCODE_CONSTANT: case OPCODE_TUPLE: case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_BITCAST: case OPCODE_AFTER_ALL: case OPCODE_PARTITION_ID: case OPCODE_REPLICA_ID:
    case OPCODE_OPT_BARRIER: case OPCODE_DOMAIN: case OPCODE_ADD_DEPENDENCY:
    case OPCODE_ASYNC_UPDATE: case OPCODE_ASYNC_DONE: case OPCODE_ALL_REDUCE_DONE:
    case OPCODE_ALL_GATHER_DONE: case OPCODE_COLLECTIVE_PERMUTE_DONE: case OPCODE_INFEED:
    case OPCODE_OUTFEED: case OPCODE_SEND: case OPCODE_SEND_DONE: case OPCODE_RECV:
    case OPCODE_RECV_DONE:
        return true;
    default:
        return false;
    }
}

/* what it calls is a schedule, too */
static bool is_flow(const struct keeping *k, const struct hlo_instruction *i)
{
    return i->op == OPCODE_WHILE || i->op == OPCODE_CONDITIONAL ||
           (i->op == OPCODE_CALL && k->callers[hlo_detail(i)->computation[0]] == 1);
}

static int add_unit(struct keeping *k, const struct hlo_instruction *i)
{
    struct kept_program *p = k->kept;
    struct kept_unit u = {
        .name = hlo_name_in(k->arena, i), .opcode = hlo_opcode_name(i->op), .line = i->line};

    u.kind = i->op == OPCODE_COPY_START  ? KEPT_COPY
             : i->op == OPCODE_COPY_DONE ? KEPT_DONE : KEPT_KERNEL;
    asis_read_config(hlo_detail(i)->config, k->arena, &u);
    p->unit = mem_grow(p->unit, &k->unit_capacity, (size_t)p->unit_count + 2, sizeof(*p->unit));
    p->unit[++p->unit_count] = u;
    return p->unit_count;
}

/* from the done to its start, whichever updates stand between */
static int start_of(const struct hlo_computation *c, const struct hlo_instruction *done)
{
    int at = done->operand_count ? done->operand[0] : -1;

    return at >= 0 && c->instruction[at].op == OPCODE_COPY_START ? at : -1;
}

static int number_units(struct keeping *k, int computation, struct err *e)
{
    const struct hlo_computation *c = &k->module->computation[computation];
    int *unit;

    if (k->unit[computation])
        return 0;
    unit = k->unit[computation] = arena_array(k->arena, (size_t)c->count + 1, sizeof(*unit));
    for (int n = 0; n < c->count; n++) {
        const struct hlo_instruction *i = &c->instruction[n];

        if (is_flow(k, i)) {            /* the last one first: a loop's condition before its body */
            for (int b = hlo_detail(i)->computation_count - 1; b >= 0; b--)
                if (number_units(k, hlo_detail(i)->computation[b], e))
                    return -1;
            continue;
        }
        if (is_no_work(i))
            continue;
        if (k->kept->unit_count == UNITS_MAX)
            return err_at(e, k->module->file ? k->module->file : "", i->line, i->col,
                          "%s: more than %d kernels in the schedule", hlo_name(i), UNITS_MAX);
        unit[n] = add_unit(k, i);
        if (i->op == OPCODE_COPY_DONE && start_of(c, i) >= 0)
            k->kept->unit[unit[start_of(c, i)]].done = unit[n];
    }
    return 0;
}

static void count_callers(struct keeping *k)
{
    for (int c = 0; c < k->module->computation_count; c++)
        for (int n = 0; n < k->module->computation[c].count; n++) {
            const struct hlo_instruction *i = &k->module->computation[c].instruction[n];

            for (int b = 0; b < hlo_detail(i)->computation_count; b++)
                k->callers[hlo_detail(i)->computation[b]]++;
        }
}

/* ---- edges: what a unit leaves to others ---- */

/* XLA's default tiles are those of stack/hlo/array.h but for the rows of packed types */
static void look_at_tiles(struct keeping *k, const struct hlo_type *t)
{
    int words = 4 / (int)(hlo_element_bytes(t->element) < 4 ? hlo_element_bytes(t->element) : 4);
    const struct hlo_layout *l = t->layout;
    bool is_ours;
    char text[200];

    if (!l || !l->tile_count || t->rank < 2)
        return;
    is_ours = l->tile[0].count == 2 && l->tile[0].item[0] == 8 * words &&
              l->tile[0].item[1] == 128;
    if (is_ours)
        return;
    if (!k->kept->other_tiles++)
        k->kept->first_other_tile = arena_printf(
            k->arena, "%s in tiles of %lldx%lld", hlo_type_print(t, text, sizeof(text)),
            (long long)(l->tile[0].count > 1 ? l->tile[0].item[l->tile[0].count - 2] : 1),
            (long long)(l->tile[0].count ? l->tile[0].item[l->tile[0].count - 1] : 1));
}

static void set_order(struct kept_edge *edge, const struct hlo_type *t)
{
    const struct hlo_layout *l = t->layout;

    if (!l || l->minor_to_major.count != t->rank || t->rank > GRAPH_RANK_MAX)
        return;
    for (int d = 0; d < t->rank; d++) {
        edge->order[d] = (int)l->minor_to_major.item[t->rank - 1 - d];
        edge->rank = edge->order[d] != d ? t->rank : edge->rank;
    }
}

static int add_edge(struct keeping *k, int unit, const struct hlo_type *t)
{
    struct kept_program *p = k->kept;
    struct kept_edge edge = {.unit = unit, .in_vmem = t->layout && t->layout->memory_space == 1};

    set_order(&edge, t);
    look_at_tiles(k, t);
    p->edge = mem_grow(p->edge, &k->edge_capacity, (size_t)p->edge_count + 2, sizeof(*p->edge));
    p->edge[++p->edge_count] = edge;
    return p->edge_count;
}

static const struct hlo_place *kept_place(struct hlo_builder *b, const struct hlo_place *from,
                                          int unit, int edge)
{
    struct hlo_place p = *from;
    struct hlo_place_more more = *hlo_place_more(from);

    more.unit = unit;
    more.edge = edge;
    p.more = &more;
    return hlo_place_keep(b->module->arena, &p, NULL);
}

/* `x` through a barrier for each array in it; `t` says how that lies */
static int leave(struct keeping *k, struct hlo_builder *b, int unit, int x,
                 const struct hlo_type *t)
{
    struct hlo_instruction barrier = {.op = OPCODE_OPT_BARRIER,
                                      .operand_count = 1,
                                      .type = t,
                                      .place = b->place,
                                      .line = b->line,
                                      .col = hlo_column(b->col)};
    int *part, made;

    if (!hlo_type_is_tuple(t)) {
        if (t->element == ELEMENT_TOKEN || hlo_type_elements(t) <= 1)
            return x;
        barrier.place = kept_place(b, hlo_place_of(&barrier), unit, add_edge(k, unit, t));
        return hlo_copy_instruction(b, &barrier, &x);
    }
    part = mem_alloc(((size_t)t->part_count + 1) * sizeof(*part));
    for (int i = 0; i < t->part_count; i++)
        part[i] = leave(k, b, unit, hlo_tuple_element(b, x, i), &t->part[i]);
    made = hlo_tuple(b, t->part_count, part);
    mem_free(part);
    return made;
}

/* ---- the program again ---- */

/* a computation in the place of its call, all of it of the call's unit */
static int inline_unit(struct hlo_builder *b, const struct hlo_instruction *from,
                       const int *operand, int unit)
{
    int first = b->module->computation[b->computation].count;
    int result = hlo_inline(b, hlo_detail(from)->computation[0], operand);
    struct hlo_computation *c = &b->module->computation[b->computation];

    for (int i = first; i < c->count; i++) {
        struct hlo_place p = *hlo_place_of(&c->instruction[i]);

        if (!p.op_name) {
            p = *hlo_place_of(from);
            p.op_name = p.op_name ? p.op_name : hlo_name_in(b->module->arena, from);
        }
        c->instruction[i].place = kept_place(b, &p, unit, hlo_place_more(&p)->edge);
    }
    return result;
}

/* the type of what a pair of start and done leaves: that of its done. NULL: there is none, or
 * somebody else takes the start apart */
static const struct hlo_type *done_type(const struct hlo_computation *c, int start)
{
    const struct hlo_type *t = NULL;
    int at = start;

    if (c->root == start)
        return NULL;
    for (int i = start + 1; i < c->count; i++) {
        const struct hlo_instruction *n = &c->instruction[i];

        for (int k = 0; k < n->operand_count; k++) {
            if (n->operand[k] != at)
                continue;
            if (t)
                return NULL;
            if (n->op == OPCODE_ASYNC_UPDATE)
                at = i;
            else if (n->op == OPCODE_ASYNC_DONE || n->op == OPCODE_COPY_DONE)
                t = n->type;
            else
                return NULL;
        }
    }
    return t;
}

/* a start is what its done gives; where somebody takes it apart otherwise it stays what it was */
static int start_unit(struct keeping *k, struct hlo_builder *b, const struct hlo_instruction *from,
                      const int *operand, int unit)
{
    const struct hlo_computation *c = &k->module->computation[b->computation];
    const struct hlo_type *t = done_type(c, (int)(from - c->instruction));

    if (!t)
        return -1;
    if (from->op == OPCODE_COPY_START)
        return leave(k, b, unit, operand[0], t);
    kept_note(k->kept, unit, "nothing runs beside it: it is done where it starts");
    return leave(k, b, unit, inline_unit(b, from, operand, unit), t);
}

static bool is_start_left_out(const struct keeping *k, const struct hlo_builder *b,
                              const struct hlo_instruction *from)
{
    const struct hlo_computation *c = &k->module->computation[b->computation];
    int start = from->operand[0];

    while (c->instruction[start].op == OPCODE_ASYNC_UPDATE)
        start = c->instruction[start].operand[0];
    return (c->instruction[start].op == OPCODE_COPY_START ||
            c->instruction[start].op == OPCODE_ASYNC_START) && done_type(c, start);
}

/* a constant whose elements the file leaves out: nobody knows them, as those of a parameter */
static int come_in(struct keeping *k, struct hlo_builder *b, const struct hlo_instruction *from)
{
    struct hlo_instruction i = {.op = OPCODE_PARAMETER, .type = from->type, .label = from->label,
                                .place = from->place, .line = from->line, .col = from->col};

    i.index = k->module->computation[b->computation].parameter_count + k->kept->elided++;
    if (!k->kept->first_elided)
        k->kept->first_elided = hlo_name_in(k->arena, from);
    return hlo_copy_instruction(b, &i, NULL);
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct keeping *k = r->user;
    const struct hlo_computation *c = &k->module->computation[b->computation];
    int unit = k->unit[b->computation] ? k->unit[b->computation][from - c->instruction] : 0;
    struct hlo_instruction own = *from;

    if (from->op == OPCODE_ASYNC_DONE || from->op == OPCODE_ASYNC_UPDATE ||
        from->op == OPCODE_COPY_DONE)
        return k->unit[b->computation] && is_start_left_out(k, b, from) ? operand[0] : -1;
    if (from->op == OPCODE_CONSTANT && k->kept->takes_elided &&
        b->computation == k->module->entry &&
        !hlo_type_is_tuple(from->type) && from->literal && !from->literal->data)
        return come_in(k, b, from);
    if (!unit)                          /* what is in a fusion is inlined with it */
        return from->op == OPCODE_FUSION ? hlo_inline(b, hlo_detail(from)->computation[0], operand)
                                         : -1;
    own.place = kept_place(b, hlo_place_of(from), unit,
                           hlo_place_more(hlo_place_of(from))->edge);
    b->place = own.place;
    switch (from->op) {
    case OPCODE_FUSION: case OPCODE_CALL:
        return leave(k, b, unit, inline_unit(b, from, operand, unit), from->type);
    case OPCODE_COPY_START: case OPCODE_ASYNC_START:
        return start_unit(k, b, from, operand, unit);
    case OPCODE_ALL_REDUCE_START: case OPCODE_ALL_GATHER_START:
    case OPCODE_COLLECTIVE_PERMUTE_START:
        kept_note(k->kept, unit, "nothing runs beside it: it is done where it starts");
        return hlo_copy_instruction(b, &own, operand);
    default:
        /* a copy inside a fusion is nothing, this one is a kernel */
        own.place = kept_place(b, own.place, unit, from->op == OPCODE_COPY ? -1 : 0);
        return leave(k, b, unit, hlo_copy_instruction(b, &own, operand), from->type);
    }
}

/* lists that grow become the arena's */
static void settle(struct keeping *k)
{
    struct kept_program *p = k->kept;

    p->unit = arena_take(k->arena, p->unit, (size_t)p->unit_count + 1, sizeof(*p->unit));
    p->edge = arena_take(k->arena, p->edge, (size_t)p->edge_count + 1, sizeof(*p->edge));
}

static int check(const struct hlo_module *m, struct err *e)
{
    const char *file = m->file ? m->file : "";

    if (!m->is_scheduled)
        return err_at(e, file, 1, 1, "--as-is keeps what a compiler has decided, but this program "
                      "is not scheduled: its header has no is_scheduled=true. Print it after "
                      "optimization (compiled.as_text(), or *after_optimizations* of "
                      "--xla_dump_to), or leave --as-is out");
    if (m->entry < 0)
        return err_at(e, file, 1, 1, "%s: has no entry computation", m->name);
    return 0;
}

int asis_program(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                 bool has_values, struct kept_program *kept, struct err *e)
{
    struct keeping k = {.module = old, .kept = kept, .arena = a};
    struct hlo_rewrite r = {.visit = visit, .user = &k};
    size_t count = (size_t)old->computation_count + 1;
    int status;

    *kept = (struct kept_program){.arena = a, .takes_elided = !has_values};
    if (check(old, e))
        return -1;
    k.unit = arena_array(a, count, sizeof(*k.unit));
    k.callers = arena_array(a, count, sizeof(*k.callers));
    kept->unit = mem_grow(NULL, &k.unit_capacity, 1, sizeof(*kept->unit));
    kept->edge = mem_grow(NULL, &k.edge_capacity, 1, sizeof(*kept->edge));
    count_callers(&k);
    status = number_units(&k, old->entry, e);
    if (status == 0)
        status = hlo_rewrite_module(old, made, a, &r, e);
    settle(&k);
    return status;
}
