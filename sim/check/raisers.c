/*
 * Lists the operations that can still change a flag: a search over bundles reachable from where
 * each core stands.
 */
#include "sim/check/raisers.h"

/* where an operation that changes flags has its flag, value and core, as 1 + operand; 0: none */
static const struct shape {
    uint8_t flag, value, target, source_flag;
} shapes[ISA_FMT_COUNT] = {
    [ISA_FMT_SYNC] = {1, 2, 0, 0},
    [ISA_FMT_SYNC_R] = {1, 2, 3, 0},
    [ISA_FMT_DMA] = {4, 0, 0, 0},
    [ISA_FMT_DMA_REM] = {4, 0, 6, 5},
};

static const struct isa_operand *operand(const struct isa_op *op, uint8_t which)
{
    return which > 0 ? &op->operand[which - 1] : NULL;
}

static void add(struct raisers *l, const struct raiser *r)
{
    MEM_ADD(l->item, l->count, l->capacity) = *r;
}

static const struct isa_operand zero = {.kind = OPERAND_IMM};

static void add_op(struct raisers *l, const struct isa_program *p, uint32_t bundle, uint32_t index)
{
    const struct isa_op *op = &p->op[index];
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    const struct shape *s = &shapes[info->format];
    struct raiser r = {.bundle = bundle, .op = index, .flag = operand(op, s->flag),
                       .value = operand(op, s->value), .target = operand(op, s->target),
                       .is_store = op->code == OP_VSYNCSET || op->code == OP_VSYNCSET_R
                                   || op->code == OP_VSYNCPA};

    if (!(info->writes & ISA_FLAGS))
        return;
    if (op->code == OP_VSYNCPA)
        r.value = &zero;
    add(l, &r);
    if (s->source_flag) {
        r.flag = operand(op, s->source_flag);
        r.target = NULL;
        add(l, &r);
    }
}

struct reach {
    bool *is_reached;
    uint32_t *stack;                    /* reached, and not gone on from yet */
    uint32_t depth, bundle_count;
};

static void reach_bundle(struct reach *r, uint32_t bundle)
{
    if (bundle >= r->bundle_count || r->is_reached[bundle])
        return;
    r->is_reached[bundle] = true;
    r->stack[r->depth++] = bundle;
}

/* a branch is taken and not */
static void reach_next(struct reach *r, const struct isa_program *p, uint32_t bundle)
{
    const struct isa_op *op = &p->op[p->bundle[bundle].first_op];
    bool ends = false;

    for (uint32_t i = 0; i < p->bundle[bundle].op_count; i++, op++) {
        if (op->code == OP_SBR)
            reach_bundle(r, (uint32_t)op->operand[0].value);
        ends = ends || (isa_info(op->code)->writes & ISA_HALT && op->pred == ISA_PRED_ALWAYS);
    }
    if (!ends)
        reach_bundle(r, bundle + 1);
}

/* a branch under way goes where it goes beside what stands next */
static bool *reach_from(const struct core *c, uint32_t from)
{
    const struct isa_program *p = c->program->source;
    struct reach r = {.is_reached = mem_alloc(p->bundle_count * sizeof(bool)),
                      .stack = mem_alloc(p->bundle_count * sizeof(uint32_t)),
                      .bundle_count = p->bundle_count};

    reach_bundle(&r, from);
    if (c->branch_in > 0 && from > 0)
        reach_bundle(&r, c->branch_target);
    while (r.depth > 0)
        reach_next(&r, p, r.stack[--r.depth]);
    mem_free(r.stack);
    return r.is_reached;
}

struct raisers raisers_from(const struct core *c, uint32_t from)
{
    const struct isa_program *p = c->program->source;
    bool *is_reached = reach_from(c, from);
    struct raisers l = {0};

    for (uint32_t b = 0; b < p->bundle_count; b++)
        for (uint32_t i = 0; is_reached[b] && i < p->bundle[b].op_count; i++)
            add_op(&l, p, b, p->bundle[b].first_op + i);
    mem_free(is_reached);
    return l;
}

static enum raiser_likelihood is_number(const struct core *c, const struct isa_operand *o,
                                        int32_t number)
{
    if (o->kind == OPERAND_REG)
        return c->s[o->value] == number ? RAISE_SURELY : RAISE_PERHAPS;
    return o->value == number ? RAISE_SURELY : RAISE_NEVER;
}

static bool waits_for_less(const struct core *c)
{
    switch (c->wait_code) {
    case OP_VWAIT_LT: case OP_VWAIT_LE: case OP_VWAIT_NOTDONE: return true;
    case OP_VWAIT_EQ: return c->flag[c->wait_flag] > c->wait_value;
    default: return false;
    }
}

/* vwait.ne is helped by any change */
static bool helps(const struct raiser *r, const struct core *waiting)
{
    int64_t change = r->value ? r->value->value : 1;

    if (r->value && r->value->kind == OPERAND_REG)
        return true;
    if (r->is_store)
        change -= waiting->flag[waiting->wait_flag];
    if (waiting->wait_code == OP_VWAIT_NE)
        return change != 0;
    return waits_for_less(waiting) ? change < 0 : change > 0;
}

enum raiser_likelihood raiser_helps(const struct core *c, const struct raiser *r,
                                    const struct core *waiting)
{
    enum raiser_likelihood flag, core;

    if (!helps(r, waiting))
        return RAISE_NEVER;
    if (!r->flag)
        return RAISE_PERHAPS;
    flag = is_number(c, r->flag, waiting->wait_flag);
    if (r->target)
        core = is_number(c, r->target, waiting->number);
    else
        core = c == waiting ? RAISE_SURELY : RAISE_NEVER;
    return flag < core ? flag : core;
}
