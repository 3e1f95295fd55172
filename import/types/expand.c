/* The order of the passes, and what they leave of a program's parameters and results. */
#include "import/expand/expand.h"
#include "import/program/mixed.h"
#include "import/types/repr.h"
#include "import/types/sized.h"
#include "import/expand/ranks.h"

#include <string.h>

static const struct { enum hlo_opcode op; const char *target; expand_function *function; } rows[] = {
#define EXPAND_OPCODE(opcode, function) { OPCODE_##opcode, NULL, function },
#define EXPAND_TARGET(target, function) { OPCODE_CUSTOM_CALL, target, function },
#include "import/expand/expand.def"
};

/* whether an array, or each array of a tuple, is without elements */
static bool is_nothing(const struct hlo_type *t)
{
    bool is_empty = hlo_type_leaves(t) > 0;

    for (int n = 0; n < hlo_type_leaves(t); n++) {
        const struct hlo_type *leaf = hlo_type_leaf(t, n);

        is_empty &= leaf->element != ELEMENT_TOKEN && leaf->element != ELEMENT_OPAQUE &&
                    hlo_type_elements(leaf) == 0;
    }
    return is_empty;
}

/* a result without elements, for loops over its parts would read what is not there */
static int expand_to_nothing(struct hlo_builder *b, const struct hlo_type *t)
{
    int count = hlo_type_leaves(t), made;
    int *leaf;

    if (!hlo_type_is_tuple(t))
        return hlo_constant(b, t, 0);
    leaf = mem_alloc((size_t)count * sizeof(*leaf));
    for (int n = 0; n < count; n++)
        leaf[n] = hlo_constant(b, hlo_type_leaf(t, n), 0);
    made = hlo_tuple(b, count, leaf);
    mem_free(leaf);
    return made;
}

static int expand_operation(struct hlo_rewrite *r, struct hlo_builder *b,
                            const struct hlo_instruction *from, const int *operand)
{
    struct expand_site s = {.b = b, .from = from, .operand = operand, .old = r->old, .err = r->err};
    int made = EXPAND_KEEP;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && made == EXPAND_KEEP; i++) {
        const char *target = hlo_detail(from)->target;

        if (rows[i].op == from->op
            && (!rows[i].target || (target && !strcmp(rows[i].target, target))))
            made = is_nothing(from->type) ? expand_to_nothing(b, from->type)
                                           : rows[i].function(&s);
    }
    if (made == EXPAND_FAILED)
        r->status = -1;
    return made;
}

/* an element of a tuple that stands there is the operand that it was made of */
static int forward_element(struct hlo_rewrite *r, struct hlo_builder *b,
                           const struct hlo_instruction *from, const int *operand)
{
    const struct hlo_instruction *tuple;

    (void)r;
    if (from->op != OPCODE_GET_TUPLE_ELEMENT)
        return EXPAND_KEEP;
    tuple = &b->module->computation[b->computation].instruction[operand[0]];
    return tuple->op == OPCODE_TUPLE ? tuple->operand[from->index] : EXPAND_KEEP;
}

static void leaves_of(struct expand_leaf *leaf, int *count, int *next, int parameter,
                      const struct hlo_type *t)
{
    for (int n = 0; n < hlo_type_leaves(t); n++) {
        const struct hlo_type *own = hlo_type_leaf(t, n);
        struct expand_leaf *l = &leaf[(*count)++];

        *l = (struct expand_leaf){.type = *own, .first = *next, .parameter = parameter};
        l->form = expand_form_of(own->element, &l->part, &l->parts);
        for (int d = 0; d < own->rank && own->is_bounded; d++)
            l->sizes += own->is_bounded[d];
        *next += l->parts + l->sizes;
    }
}

static void make_boundary(const struct hlo_module *m, struct arena *a, struct expand_boundary *to)
{
    const struct hlo_computation *entry = &m->computation[m->entry];
    const struct hlo_type *result = entry->instruction[entry->root].type;
    int leaves = 0, next = 0;

    *to = (struct expand_boundary){0};
    for (int p = 0; p < entry->parameter_count; p++)
        leaves += hlo_type_leaves(entry->instruction[entry->parameter[p]].type);
    to->parameter = arena_array(a, (size_t)leaves + 1, sizeof(*to->parameter));
    for (int p = 0; p < entry->parameter_count; p++)
        leaves_of(to->parameter, &to->parameter_count, &next, p,
                  entry->instruction[entry->parameter[p]].type);
    to->result = arena_array(a, (size_t)hlo_type_leaves(result) + 1, sizeof(*to->result));
    next = 0;
    leaves_of(to->result, &to->result_count, &next, -1, result);
}

typedef int expand_pass(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                        struct err *e);

static int expand_operations(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                             struct err *e)
{
    struct hlo_rewrite r = {.visit = expand_operation};

    return hlo_rewrite_module(old, made, a, &r, e);
}

static int forward_elements(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                            struct err *e)
{
    struct hlo_rewrite r = {.visit = forward_element};

    return hlo_rewrite_module(old, made, a, &r, e);
}

/* arrays of any size have no place on a machine */
static int refuse_unbounded(const struct hlo_module *m, struct err *e)
{
    for (int c = 0; c < m->computation_count; c++) {
        for (int k = 0; k < m->computation[c].count; k++) {
            const struct hlo_instruction *i = &m->computation[c].instruction[k];

            for (int n = 0; n < hlo_type_leaves(i->type); n++) {
                const struct hlo_type *t = hlo_type_leaf(i->type, n);

                for (int d = 0; d < t->rank; d++)
                    if (t->dim[d] < 0)
                        return err_at(e, m->file ? m->file : "", i->line, i->col,
                                      "%s %s: dimension %d has no bound; export the program for "
                                      "shapes that are known",
                                      hlo_opcode_name(i->op), hlo_name(i), d);
            }
        }
    }
    return 0;
}

int expand_program(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                   struct expand_boundary *boundary, struct err *e)
{
    static expand_pass *const passes[] = {hlo_widen_mixed, expand_operations, sized_rewrite, repr_rewrite,
                                          ranks_rewrite, forward_elements};
    enum { PASSES = sizeof(passes) / sizeof(passes[0]) };
    struct hlo_module between[PASSES];

    if (old->entry < 0)
        return err_set(e, "%s has no entry computation", old->name);
    if (refuse_unbounded(old, e))
        return -1;
    make_boundary(old, a, boundary);
    for (int p = 0; p < PASSES; p++) {
        int status = passes[p](p ? &between[p - 1] : old, &between[p], a, e);

        if (p)
            hlo_module_fini(&between[p - 1]);
        if (status)
            return -1;
    }
    *made = between[PASSES - 1];
    hlo_eliminate_dead(made);
    return 0;
}
