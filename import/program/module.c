/* Modules, computations and instructions: made, and added to. */
#include "import/program/build.h"

#include <assert.h>
#include <string.h>

#define TRIMMED_MAX 4096                /* a copy of more would cost more than it frees */

void hlo_module_init(struct hlo_module *m, struct arena *a, const char *name)
{
    *m = (struct hlo_module){ .arena = a, .name = arena_strdup(a, name), .entry = -1,
                              .replica_count = 1, .partition_count = 1 };
}

void hlo_module_fini(struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++) {
        mem_free(m->computation[c].instruction);
        mem_free(m->computation[c].parameter);
    }
    mem_free(m->computation);
    mem_free(m->alias);
    mem_free(m->mesh);
    m->computation = NULL;
    m->alias = NULL;
    m->mesh = NULL;
    m->computation_count = m->alias_count = m->mesh_count = 0;
}

static bool is_computation(const struct hlo_module *m, const char *name)
{
    for (int c = 0; c < m->computation_count; c++) {
        if (strcmp(m->computation[c].name, name) == 0)
            return true;
    }
    return false;
}

int hlo_add_computation(struct hlo_module *m, const char *name)
{
    const char *unique = arena_strdup(m->arena, name);

    while (is_computation(m, unique))
        unique = arena_printf(m->arena, "%s.%lld", name, (long long)m->next_name++);
    return hlo_add_named_computation(m, unique);
}

int hlo_add_named_computation(struct hlo_module *m, const char *name)
{
    struct hlo_computation c = { .name = name, .root = -1 };

    MEM_ADD(m->computation, m->computation_count, m->computation_capacity) = c;
    return m->computation_count - 1;
}

const struct hlo_detail hlo_no_detail = { .target = NULL };

struct hlo_detail *hlo_own_detail(struct arena *a, struct hlo_instruction *i)
{
    i->detail = arena_copy(a, hlo_detail(i), 1, sizeof(*i->detail));
    return i->detail;
}

const struct hlo_place *hlo_place_of(const struct hlo_instruction *i)
{
    static const struct hlo_place nothing = { .op_type = NULL };

    return i->place ? i->place : &nothing;
}

static bool is_same_place(const struct hlo_place *a, const struct hlo_place *b)
{
    return a->op_type == b->op_type && a->op_name == b->op_name && a->file == b->file &&
           a->line == b->line && a->end_line == b->end_line && a->col == b->col &&
           a->end_col == b->end_col && a->frame == b->frame && a->rest == b->rest &&
           a->is_of_frame == b->is_of_frame && a->unit == b->unit && a->edge == b->edge;
}

const struct hlo_place *hlo_place_keep(struct arena *a, const struct hlo_place *p,
                                       const struct hlo_place *last)
{
    static const struct hlo_place nothing = { .op_type = NULL };
    struct hlo_place *made;
    bool was_packed;

    if (is_same_place(p, &nothing))
        return NULL;
    if (last && is_same_place(p, last))
        return last;
    was_packed = arena_pack(a, true);
    made = arena_copy(a, p, 1, sizeof(*p));
    arena_pack(a, was_packed);
    return made;
}

static void *copy_one(struct arena *a, const void *from, size_t bytes)
{
    return from ? arena_copy(a, from, 1, bytes) : NULL;
}

static void copy_ints(struct arena *a, struct hlo_ints *list)
{
    *list = hlo_ints_copy(a, list->item, list->count);
}

static struct hlo_dot *copy_dot(struct arena *a, const struct hlo_dot *from)
{
    struct hlo_dot *d = copy_one(a, from, sizeof(*from));

    if (d) {
        copy_ints(a, &d->lhs_batch);
        copy_ints(a, &d->rhs_batch);
        copy_ints(a, &d->lhs_contract);
        copy_ints(a, &d->rhs_contract);
        copy_ints(a, &d->lhs_ragged);
        copy_ints(a, &d->rhs_group);
    }
    return d;
}

static struct hlo_conv *copy_conv(struct arena *a, const struct hlo_conv *from)
{
    struct hlo_conv *c = copy_one(a, from, sizeof(*from));

    if (c) {
        copy_ints(a, &c->in_spatial);
        copy_ints(a, &c->kernel_spatial);
        copy_ints(a, &c->out_spatial);
    }
    return c;
}

static struct hlo_gather *copy_gather(struct arena *a, const struct hlo_gather *from)
{
    struct hlo_gather *g = copy_one(a, from, sizeof(*from));

    if (g) {
        copy_ints(a, &g->offset_dims);
        copy_ints(a, &g->collapsed_dims);
        copy_ints(a, &g->start_index_map);
        copy_ints(a, &g->operand_batching);
        copy_ints(a, &g->indices_batching);
    }
    return g;
}

static struct hlo_groups *copy_groups(struct arena *a, const struct hlo_groups *from)
{
    struct hlo_groups *g = copy_one(a, from, sizeof(*from));

    if (g) {
        copy_ints(a, &g->size);
        copy_ints(a, &g->id);
        copy_ints(a, &g->pair);
    }
    return g;
}

static struct hlo_detail *copy_detail(struct arena *a, const struct hlo_detail *from)
{
    struct hlo_detail *d;

    if (!from || memcmp(from, &hlo_no_detail, sizeof(*from)) == 0)
        return NULL;
    d = copy_one(a, from, sizeof(*from));
    copy_ints(a, &d->start);
    copy_ints(a, &d->limit);
    copy_ints(a, &d->stride);
    copy_ints(a, &d->low);
    copy_ints(a, &d->high);
    copy_ints(a, &d->interior);
    copy_ints(a, &d->sizes);
    copy_ints(a, &d->control);
    d->gather = copy_gather(a, d->gather);
    d->dot = copy_dot(a, d->dot);
    d->conv = copy_conv(a, d->conv);
    d->groups = copy_groups(a, d->groups);
    if (d->window_count)
        d->window = arena_copy(a, d->window, (size_t)d->window_count, sizeof(*d->window));
    return d;
}

static bool has_dims(const struct hlo_instruction *i, const struct hlo_type *t)
{
    return i->type.rank == t->rank &&
           memcmp(i->type.dim, t->dim, (size_t)t->rank * sizeof(*t->dim)) == 0;
}

/* Most instructions have the sizes of their first operand, or of the one before. */
static const int64_t *keep_dims(struct arena *a, const struct hlo_computation *c,
                                const struct hlo_instruction *i)
{
    int near[2] = {i->operand_count ? i->operand[0] : -1, c->count - 1};

    for (int k = 0; k < 2 && i->type.rank > 0; k++) {
        if (near[k] >= 0 && has_dims(&c->instruction[near[k]], &i->type))
            return c->instruction[near[k]].type.dim;
    }
    return hlo_ints_copy(a, i->type.dim, i->type.rank).item;
}

/* What a caller may have on its stack; texts, literals and shardings live as long as the module. */
static void copy_lists(struct arena *a, const struct hlo_computation *c, struct hlo_instruction *i)
{
    i->type.dim = keep_dims(a, c, i);
    if (i->type.part_count)
        i->type.part = arena_copy(a, i->type.part, (size_t)i->type.part_count,
                                  sizeof(*i->type.part));
    if (i->operand_count)
        i->operand = arena_copy(a, i->operand, (size_t)i->operand_count, sizeof(*i->operand));
    if (i->computation_count)
        i->computation = arena_copy(a, i->computation, (size_t)i->computation_count,
                                    sizeof(*i->computation));
    copy_ints(a, &i->dims);
    i->detail = copy_detail(a, i->detail);
}

static void keep_parameter(struct hlo_computation *c, int64_t number, int index)
{
    assert(number >= 0 && number < INT32_MAX);
    while (c->parameter_count <= number)
        MEM_ADD(c->parameter, c->parameter_count, c->parameter_capacity) = -1;
    c->parameter[number] = index;
}

void hlo_computation_trim(struct hlo_computation *c)
{
    struct hlo_instruction *exact;

    if (c->count == 0 || (size_t)c->count > c->capacity / 8 * 7 || c->count > TRIMMED_MAX)
        return;
    exact = mem_alloc_unset((size_t)c->count * sizeof(*exact));
    memcpy(exact, c->instruction, (size_t)c->count * sizeof(*exact));
    mem_free(c->instruction);
    c->instruction = exact;
    c->capacity = (size_t)c->count;
}

void hlo_computation_reserve(struct hlo_computation *c, int count)
{
    size_t capacity = (size_t)count;
    struct hlo_instruction *place;

    if (count <= c->count || capacity <= c->capacity)
        return;
    place = mem_alloc(capacity * sizeof(*place));
    if (c->count)
        memcpy(place, c->instruction, (size_t)c->count * sizeof(*place));
    mem_free(c->instruction);
    c->instruction = place;
    c->capacity = capacity;
}

int hlo_add(struct hlo_module *m, int computation, const struct hlo_instruction *i)
{
    struct hlo_computation *c = &m->computation[computation];
    struct hlo_instruction made = *i;
    bool was_packed = arena_pack(m->arena, true);

    for (int k = 0; k < made.operand_count; k++)
        assert(made.operand[k] >= 0 && made.operand[k] < c->count);
    copy_lists(m->arena, c, &made);
    if (!made.name)
        made.name = arena_printf(m->arena, "x.%s.%lld", hlo_opcode_name(made.op),
                                 (long long)m->next_name++);
    arena_pack(m->arena, was_packed);
    MEM_ADD(c->instruction, c->count, c->capacity) = made;
    c->root = c->count - 1;
    if (made.op == OPCODE_PARAMETER)
        keep_parameter(c, made.index, c->count - 1);
    return c->count - 1;
}
