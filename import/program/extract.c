/* Cuts a computation or one instruction out of a program. */
#include "import/program/extract.h"

#include "base/text.h"
#include "import/program/build.h"

#include <string.h>

struct extraction {
    const struct hlo_module *m;
    struct hlo_module *made;
    int *place;                         /* of computations of m in the new module, -1: not there */
    int *pending;                       /* those that are to be copied, in the order of `place` */
    int pending_count;
};

/* its place in the new module, where it will be copied to */
static int want(struct extraction *x, int computation)
{
    if (x->place[computation] < 0) {
        x->place[computation] = x->pending_count;
        x->pending[x->pending_count++] = computation;
    }
    return x->place[computation];
}

/* Its calls lead to the new module. */
static struct hlo_instruction redirected(struct extraction *x, const struct hlo_instruction *from)
{
    struct hlo_instruction i = *from;
    int *callee =
        arena_array(x->made->arena, (size_t)hlo_detail(from)->computation_count, sizeof(*callee));

    for (int n = 0; n < hlo_detail(from)->computation_count; n++)
        callee[n] = want(x, hlo_detail(from)->computation[n]);
    if (hlo_detail(from)->computation_count)
        hlo_own_detail(x->made->arena, &i)->computation = callee;
    return i;
}

static void copy_computation(struct extraction *x, int computation)
{
    const struct hlo_computation *from = &x->m->computation[computation];
    int to = hlo_add_computation(x->made, from->name);

    for (int n = 0; n < from->count; n++) {
        struct hlo_instruction i = redirected(x, &from->instruction[n]);

        hlo_add(x->made, to, &i);
    }
    x->made->computation[to].root = from->root;
    x->made->computation[to].thread = from->thread;
    x->made->computation[to].line = from->line;
    x->made->computation[to].col = from->col;
}

static bool comes_along(const struct hlo_instruction *i)
{
    return i->op == OPCODE_CONSTANT || i->op == OPCODE_IOTA;
}

/* The operation alone in a computation of its name; an operand used twice is one parameter. */
static void copy_instruction(struct extraction *x, const struct hlo_computation *c, int at)
{
    const struct hlo_instruction *from = &c->instruction[at];
    struct hlo_instruction i = redirected(x, from);
    int *operand = arena_array(x->made->arena, (size_t)from->operand_count, sizeof(*operand));
    int to = hlo_add_computation(x->made, hlo_name(from)), parameters = 0;

    for (int n = 0; n < from->operand_count; n++) {
        const struct hlo_instruction *source = &c->instruction[from->operand[n]];
        struct hlo_instruction given = {.op = OPCODE_PARAMETER, .type = source->type,
                                        .label = source->label, .line = source->line,
                                        .col = source->col};
        int before = 0;

        while (from->operand[before] != from->operand[n])
            before++;
        if (before < n) {
            operand[n] = operand[before];
            continue;
        }
        if (comes_along(source))
            given = *source;
        else
            given.index = parameters++;
        hlo_own_detail(x->made->arena, &given)->control = (struct hlo_ints){.count = 0};
        operand[n] = hlo_add(x->made, to, &given);
    }
    i.operand = operand;
    hlo_own_detail(x->made->arena, &i)->control = (struct hlo_ints){.count = 0};
    if (i.op == OPCODE_PARAMETER)
        i.index = 0;
    hlo_add(x->made, to, &i);
}

/* Callees are behind in the new module; they and what they call are copied until none is missing. */
static void copy_callees(struct extraction *x, int first)
{
    for (int n = first; n < x->pending_count; n++)
        copy_computation(x, x->pending[n]);
}

/* the computation, or the instruction `*at` in it (-1: it is the computation) */
static int find(const struct hlo_module *m, const char *name, int *at)
{
    *at = -1;
    for (int c = 0; c < m->computation_count; c++) {
        if (strcmp(m->computation[c].name, name) == 0)
            return c;
    }
    for (int k = 0; k < m->computation_count; k++) {    /* the entry's own ones first */
        int c = m->entry < 0 ? k : k == 0 ? m->entry : k <= m->entry ? k - 1 : k;

        for (int n = 0; n < m->computation[c].count; n++) {
            if (strcmp(hlo_name(&m->computation[c].instruction[n]), name) == 0) {
                *at = n;
                return c;
            }
        }
    }
    return -1;
}

static int tell_unknown(const struct hlo_module *m, const char *name, struct err *e)
{
    struct near_text near;
    const char **names;
    struct arena made;
    int count = 0;

    arena_init(&made);
    for (int c = 0; c < m->computation_count; c++)
        count += 1 + m->computation[c].count;
    names = mem_alloc((size_t)count * sizeof(*names));
    count = 0;
    for (int c = 0; c < m->computation_count; c++) {
        names[count++] = m->computation[c].name;
        for (int n = 0; n < m->computation[c].count; n++)
            names[count++] = hlo_name_in(&made, &m->computation[c].instruction[n]);
    }
    near = text_did_you_mean(name, names, (size_t)count);
    mem_free(names);
    arena_fini(&made);
    return err_at(e, m->file, 0, 0, "no computation and no instruction is named \"%.80s\"%s", name,
                  near.text);
}

int hlo_extract(const struct hlo_module *m, const char *name, struct arena *a,
                struct hlo_module *made, struct err *e)
{
    size_t count = (size_t)m->computation_count;
    struct extraction x = {.m = m, .made = made};
    int at, found;

    name += *name == '%';
    found = find(m, name, &at);
    if (found < 0)
        return tell_unknown(m, name, e);
    hlo_module_init(made, a, name);
    made->file = m->file;
    made->replica_count = m->replica_count;
    made->partition_count = m->partition_count;
    made->is_scheduled = m->is_scheduled;
    made->tables = m->tables;
    x.place = mem_alloc((count + 1) * sizeof(*x.place));
    x.pending = mem_alloc((count + 1) * sizeof(*x.pending));
    for (int c = 0; c < m->computation_count; c++)
        x.place[c] = -1;
    if (at < 0) {
        want(&x, found);
        copy_callees(&x, 0);
    } else {
        x.pending_count = 1;            /* place 0 is the instruction's */
        copy_instruction(&x, &m->computation[found], at);
        copy_callees(&x, 1);
    }
    made->entry = 0;
    mem_free(x.place);
    mem_free(x.pending);
    return 0;
}
