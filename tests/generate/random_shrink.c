/* From programs that show a difference to fewer operations that still show it. */
#include "tests/generate/random_program.h"

#include <string.h>

/* What goes: operations by number, or all that name one sync flag. */
struct cut {
    uint32_t first, count;
    int flag;                           /* -1: by number */
};

static bool names_flag(const struct isa_op *op, int flag)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int i = 0; i < info->choice_first; i++)
        if (info->role[i] == 'F' && op->operand[i].kind == OPERAND_IMM
            && op->operand[i].value == flag)
            return true;
    return false;
}

static bool is_cut(const struct cut *c, const struct isa_program *p, uint32_t i)
{
    return c->flag >= 0 ? names_flag(&p->op[i], c->flag) : i >= c->first && i < c->first + c->count;
}

/* `p` without these operations, in memory of the arena */
static struct isa_program without(struct arena *a, const struct isa_program *p, const struct cut *c)
{
    struct isa_program q = *p;
    uint32_t kept = 0;

    q.op = arena_array(a, p->op_count, sizeof(*q.op));
    q.bundle = arena_array(a, p->bundle_count, sizeof(*q.bundle));
    for (uint32_t b = 0; b < p->bundle_count; b++) {
        q.bundle[b] = p->bundle[b];
        q.bundle[b].first_op = kept;
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++)
            if (!is_cut(c, p, p->bundle[b].first_op + i))
                q.op[kept++] = p->op[p->bundle[b].first_op + i];
        q.bundle[b].op_count = (uint16_t)(kept - q.bundle[b].first_op);
    }
    q.op_count = kept;
    return q;
}

/* `p` without the empty bundle b: branches go where they went */
static struct isa_program without_bundle(struct arena *a, const struct isa_program *p, uint32_t b)
{
    struct isa_program q = *p;

    q.op = arena_array(a, p->op_count + 1, sizeof(*q.op));
    q.bundle = arena_array(a, p->bundle_count, sizeof(*q.bundle));
    memcpy(q.op, p->op, p->op_count * sizeof(*q.op));
    memcpy(q.bundle, p->bundle, b * sizeof(*q.bundle));
    memcpy(q.bundle + b, p->bundle + b + 1, (p->bundle_count - b - 1) * sizeof(*q.bundle));
    q.bundle_count--;
    for (uint32_t i = 0; i < q.op_count; i++)
        if (q.op[i].code == OP_SBR && q.op[i].operand[0].value > (int32_t)b)
            q.op[i].operand[0].value--;
    return q;
}

/* keeps the candidate where the difference is still there */
static bool try_program(struct random_programs *r, int core, struct isa_program candidate,
                        random_differs_fn *differs, void *context)
{
    struct isa_program kept = r->program[core];

    r->program[core] = candidate;
    if (differs(r, context))
        return true;
    r->program[core] = kept;
    return false;
}

static void shrink_ops(struct random_programs *r, int core, random_differs_fn *differs,
                       void *context)
{
    struct cut c = {.flag = -1};

    for (c.count = r->program[core].op_count; c.count > 0; c.count /= 2)
        for (c.first = 0; c.first < r->program[core].op_count;)
            if (!try_program(r, core, without(&r->arena, &r->program[core], &c), differs, context))
                c.first += c.count;
}

/* a copy, the waits for it and the messages about it go together, on all cores */
static void shrink_flag(struct random_programs *r, int flag, random_differs_fn *differs,
                        void *context)
{
    struct isa_program kept[RANDOM_CORES_MAX];
    struct cut c = {.flag = flag};
    uint32_t dropped = 0;

    memcpy(kept, r->program, sizeof(kept));
    for (int core = 0; core < r->busy_count; core++) {
        r->program[core] = without(&r->arena, &kept[core], &c);
        dropped += kept[core].op_count - r->program[core].op_count;
    }
    if (dropped > 0 && !differs(r, context))
        memcpy(r->program, kept, sizeof(kept));
}

static void shrink_bundles(struct random_programs *r, int core, random_differs_fn *differs,
                           void *context)
{
    uint32_t b = r->program[core].bundle_count;

    while (b-- > 0)
        if (r->program[core].bundle[b].op_count == 0 && r->program[core].bundle_count > 1)
            try_program(r, core, without_bundle(&r->arena, &r->program[core], b), differs,
                        context);
}

static uint32_t size_of(const struct random_programs *r)
{
    uint32_t size = 0;

    for (int core = 0; core < r->busy_count; core++)
        size += r->program[core].op_count;
    return size;
}

void random_programs_shrink(struct random_programs *r, random_differs_fn *differs, void *context)
{
    uint32_t before;

    do {
        before = size_of(r);
        for (int flag = 0; flag < r->chip.sync_flags; flag++)
            shrink_flag(r, flag, differs, context);
        for (int core = 0; core < r->busy_count; core++)
            shrink_ops(r, core, differs, context);
    } while (size_of(r) < before);
    for (int core = 0; core < r->busy_count; core++)
        shrink_bundles(r, core, differs, context);
}
