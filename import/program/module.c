/* Modules, computations and instructions: made, and added to. */
#include "import/program/build.h"

#include "import/program/shared.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_COMPUTATION 1024          /* instructions; those with more grow by an eighth */

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
    hlo_shared_fini(&m->shared);
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

#define NAME_MAX 64                     /* bytes of a name that is made; opcodes are short */

int64_t hlo_name_number(const struct hlo_instruction *i)
{
    return i->label & HLO_IS_NUMBER ? (int64_t)(i->label & ~HLO_IS_NUMBER) : -1;
}

int64_t hlo_number_said(const struct hlo_instruction *i)
{
    const char *name, *dot;

    if (hlo_name_number(i) >= 0)
        return hlo_name_number(i);
    name = hlo_name(i);
    dot = strrchr(name, '.');
    return name[0] == 'x' && name[1] == '.' && dot ? atoll(dot + 1) : -1;
}

static void print_name(char *to, const struct hlo_instruction *i)
{
    text_print(to, NAME_MAX, "x.%s.%lld", hlo_opcode_name(i->op), (long long)hlo_name_number(i));
}

const char *hlo_name(const struct hlo_instruction *i)
{
    static _Thread_local char made[HLO_NAMES][NAME_MAX];
    static _Thread_local int next;
    char *here;

    if (hlo_name_number(i) < 0)
        return i->label ? (const char *)(uintptr_t)i->label : "";
    here = made[next];
    next = (next + 1) % HLO_NAMES;
    print_name(here, i);
    return here;
}

const char *hlo_name_in(struct arena *a, const struct hlo_instruction *i)
{
    char text[NAME_MAX];

    if (hlo_name_number(i) < 0)
        return hlo_name(i);
    print_name(text, i);
    return arena_strdup(a, text);
}

const struct hlo_place hlo_nowhere = { .op_type = NULL };

const struct hlo_place *hlo_place_of(const struct hlo_instruction *i)
{
    return i->place ? i->place : &hlo_nowhere;
}

const struct hlo_place_more hlo_no_more = {.rest = NULL};

static bool has_same_more(const struct hlo_place *p, const struct hlo_place *q)
{
    const struct hlo_place_more *a = hlo_place_more(p), *b = hlo_place_more(q);

    return a->rest == b->rest && a->frame == b->frame && a->is_of_frame == b->is_of_frame &&
           a->unit == b->unit && a->edge == b->edge;
}

static bool is_same_place(const struct hlo_place *a, const struct hlo_place *b)
{
    return a->op_type == b->op_type && a->op_name == b->op_name && a->file == b->file &&
           a->line == b->line && a->end_line == b->end_line && a->col == b->col &&
           a->end_col == b->end_col && has_same_more(a, b);
}

const struct hlo_place *hlo_place_keep(struct arena *a, const struct hlo_place *p,
                                       const struct hlo_place *last)
{
    struct hlo_place *made;
    bool was_packed;

    if (is_same_place(p, &hlo_nowhere))
        return NULL;
    if (last && is_same_place(p, last))
        return last;
    was_packed = arena_pack(a, true);
    made = arena_copy(a, p, 1, sizeof(*p));
    made->more = !has_same_more(p, &hlo_nowhere) ? arena_copy(a, p->more, 1, sizeof(*p->more))
                                                 : NULL;
    arena_pack(a, was_packed);
    return made;
}

/* What a caller may have on its stack; texts, literals and shardings live as long as the module. */
static void keep(struct hlo_module *m, struct hlo_instruction *i)
{
    i->type = hlo_keep_type(m, i->type);
    i->detail = hlo_keep_detail(m, i->detail);
    if (i->operand_count)
        i->operand = arena_copy(m->arena, i->operand, (size_t)i->operand_count,
                                sizeof(*i->operand));
}

static void keep_parameter(struct hlo_computation *c, int64_t number, int index)
{
    assert(number >= 0 && number < INT32_MAX);
    while (c->parameter_count <= number)
        MEM_ADD(c->parameter, c->parameter_count, c->parameter_capacity) = -1;
    c->parameter[number] = index;
}

static void resize(struct hlo_computation *c, size_t capacity)
{
    c->instruction = mem_resize(c->instruction, capacity, sizeof(*c->instruction));
    c->capacity = capacity;
}

void hlo_computation_trim(struct hlo_computation *c)
{
    if (c->count && (size_t)c->count < c->capacity)
        resize(c, (size_t)c->count);
    if (c->parameter_count && (size_t)c->parameter_count < c->parameter_capacity) {
        c->parameter_capacity = (size_t)c->parameter_count;
        c->parameter = mem_resize(c->parameter, c->parameter_capacity, sizeof(*c->parameter));
    }
}

void hlo_computation_reserve(struct hlo_computation *c, int count)
{
    if (count > c->count && (size_t)count > c->capacity)
        resize(c, (size_t)count);
}

int hlo_add(struct hlo_module *m, int computation, const struct hlo_instruction *i)
{
    struct hlo_computation *c = &m->computation[computation];
    struct hlo_instruction made = *i;
    bool was_packed = arena_pack(m->arena, true);

    for (int k = 0; k < made.operand_count; k++)
        assert(made.operand[k] >= 0 && made.operand[k] < c->count);
    keep(m, &made);
    if (!made.label)
        made.label = hlo_number_label(m->next_name++);
    arena_pack(m->arena, was_packed);
    if ((size_t)c->count == c->capacity && c->count >= LARGE_COMPUTATION)
        resize(c, c->capacity + c->capacity / 8);
    MEM_ADD(c->instruction, c->count, c->capacity) = made;
    c->root = c->count - 1;
    if (made.op == OPCODE_PARAMETER)
        keep_parameter(c, made.index, c->count - 1);
    return c->count - 1;
}
