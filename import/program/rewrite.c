/* Modules made from modules, instruction by instruction; computations in the place of their calls. */
#include "import/program/build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Names that our own code gives are x.OPCODE.NUMBER: the first number that no name here has. */
static int64_t first_free_name(const struct hlo_module *m)
{
    int64_t next = m->next_name;

    for (int c = 0; c < m->computation_count; c++) {
        for (int i = 0; i < m->computation[c].count; i++) {
            int64_t number = hlo_number_said(&m->computation[c].instruction[i]);

            if (number >= next)
                next = number + 1;
        }
    }
    return next;
}

int hlo_copy_instruction(struct hlo_builder *b, const struct hlo_instruction *from,
                         const int *operand)
{
    struct hlo_instruction i = *from;
    struct hlo_detail d = *hlo_detail(from);

    d.control = (struct hlo_ints){ 0 }; /* an order of its old computation */
    i.detail = &d;
    i.operand = operand;
    return hlo_add(b->module, b->computation, &i);
}

struct rewriting {
    const struct hlo_module *old;
    struct hlo_module *made;
    struct hlo_rewrite *r;
    bool *is_done, *is_open;            /* by computation */
};

static int rewrite_computation(struct rewriting *w, int computation, struct err *e);

static int rewrite_called(struct rewriting *w, const struct hlo_instruction *i, struct err *e)
{
    for (int k = 0; k < hlo_detail(i)->computation_count; k++) {
        if (rewrite_computation(w, hlo_detail(i)->computation[k], e) != 0)
            return -1;
    }
    return 0;
}

static int rewrite_instruction(struct rewriting *w, struct hlo_builder *b,
                               const struct hlo_instruction *i, const int *index)
{
    int room[8], *operand = room, made;

    if (i->operand_count > 8)
        operand = mem_alloc((size_t)i->operand_count * sizeof(*operand));
    for (int k = 0; k < i->operand_count; k++)
        operand[k] = index[i->operand[k]];
    b->place = i->place;
    b->line = i->line;
    b->col = i->col;
    made = w->r->visit(w->r, b, i, operand);
    if (made < 0 && w->r->status == 0)
        made = hlo_copy_instruction(b, i, operand);
    if (operand != room)
        mem_free(operand);
    return made;
}

static int rewrite_instructions(struct rewriting *w, int computation, int *index)
{
    const struct hlo_computation *from = &w->old->computation[computation];
    struct hlo_builder b = { .module = w->made, .computation = computation };

    for (int i = 0; i < from->count; i++) {
        index[i] = rewrite_instruction(w, &b, &from->instruction[i], index);
        if (w->r->status != 0)
            return -1;
    }
    w->made->computation[computation].root = from->count ? index[from->root] : -1;
    return 0;
}

/* Those that it calls come first: a visit may put them in the place of their calls. */
static int rewrite_computation(struct rewriting *w, int computation, struct err *e)
{
    const struct hlo_computation *from = &w->old->computation[computation];
    int *index, status;

    if (w->is_done[computation])
        return 0;
    if (w->is_open[computation])
        return err_at(e, w->old->file ? w->old->file : "", from->line, from->col,
                      "computation %s calls itself", from->name);
    w->is_open[computation] = true;
    for (int i = 0; i < from->count; i++) {
        if (rewrite_called(w, &from->instruction[i], e) != 0)
            return -1;
    }
    index = mem_alloc((size_t)(from->count + 1) * sizeof(*index));
    status = rewrite_instructions(w, computation, index);
    mem_free(index);
    w->is_open[computation] = false;
    w->is_done[computation] = true;
    return status;
}

/* all that is said of the module itself; lists that grow become its own */
static void copy_header(const struct hlo_module *old, struct hlo_module *made, struct arena *a)
{
    *made = *old;
    made->arena = a;
    made->computation = NULL;
    made->computation_count = 0;
    made->computation_capacity = made->alias_capacity = made->mesh_capacity = 0;
    made->alias = NULL;
    made->mesh = NULL;
    made->shared = (struct hlo_shared){.type = {.entry = NULL}};
    made->alias_count = made->mesh_count = 0;
    made->next = NULL;
    for (int i = 0; i < old->alias_count; i++)
        MEM_ADD(made->alias, made->alias_count, made->alias_capacity) = old->alias[i];
    for (int i = 0; i < old->mesh_count; i++)
        MEM_ADD(made->mesh, made->mesh_count, made->mesh_capacity) = old->mesh[i];
    made->next_name = first_free_name(old);
    for (int c = 0; c < old->computation_count; c++) {
        const struct hlo_computation *from = &old->computation[c];
        int index = hlo_add_named_computation(made, from->name);

        made->computation[index].thread = from->thread;
        made->computation[index].line = from->line;
        made->computation[index].col = from->col;
    }
}

int hlo_rewrite_module(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                       struct hlo_rewrite *r, struct err *e)
{
    size_t count = (size_t)old->computation_count;
    struct rewriting w = { .old = old, .made = made, .r = r };
    int status = 0;

    r->old = old;
    r->err = e;
    r->status = 0;
    w.is_done = mem_alloc(count + 1);
    w.is_open = mem_alloc(count + 1);
    copy_header(old, made, a);
    for (int c = 0; c < old->computation_count && status == 0; c++)
        status = rewrite_computation(&w, c, e);
    mem_free(w.is_done);
    mem_free(w.is_open);
    if (status != 0)
        hlo_module_fini(made);
    return status;
}

int hlo_inline(struct hlo_builder *b, int computation, const int *operand)
{
    int count = b->module->computation[computation].count, result;
    int *index = mem_alloc((size_t)(count + 1) * sizeof(*index));

    assert(computation != b->computation);
    for (int i = 0; i < count; i++) {
        struct hlo_instruction from = b->module->computation[computation].instruction[i];
        int *own = NULL;

        if (from.op == OPCODE_PARAMETER) {
            index[i] = operand[from.index];
            continue;
        }
        if (from.operand_count)
            own = mem_alloc((size_t)from.operand_count * sizeof(*own));
        for (int k = 0; k < from.operand_count; k++)
            own[k] = index[from.operand[k]];
        from.label = 0;               /* it may be there more than once */
        index[i] = hlo_copy_instruction(b, &from, own);
        mem_free(own);
    }
    result = index[b->module->computation[computation].root];
    mem_free(index);
    return result;
}
