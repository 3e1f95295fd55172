/*
 * Order at the units that answer through a FIFO: MXU, XLU, EUP and the
 * vector-to-scalar path; and the weights on their way into an MXU.
 *
 * Pushes keep their order and pops keep theirs; the k-th pop of a kind takes
 * the k-th result of that kind; a push waits until the pops that make room for
 * its results have issued.
 */
#include "sim/chip/limits.h"
#include "stack/backend/depend.h"

#include <assert.h>
#include <string.h>

enum result_kind { RESULT_PLAIN, RESULT_PERMUTED, RESULT_TRANSPOSED, RESULT_KIND_COUNT };

struct result {
    int op, delay;                      /* the push, and its cycles to the pop */
};

struct result_list {
    struct result *item;
    size_t count, capacity, taken_count;
};

struct fifo {
    const char *name;
    int unit_index;
    int64_t depth;
    struct depend_fifo_use *use;        /* to be told of, or NULL */
    struct result_list list[RESULT_KIND_COUNT];
    size_t result_count;
    int last_push, last_push_cycles, last_pop;
    int *pop;
    size_t pop_count, pop_capacity;
};

/* Staging registers A and B of one MXU, and the prep register before both. */
struct staging {
    int last_push[2], last_latch[2];
    int last_prep, last_prep_taken;
};

struct fifo_state {
    struct depend *d;
    const struct code_block *b;
    const struct chip *chip;
    struct fifo mxu[ISA_UNIT_MAX], xlu[ISA_UNIT_MAX], eup, v2s;
    struct depend_fifo_use *use;        /* of a loop's body: by FIFO */
    int use_limit;                      /* operations below this one are told of */
    struct staging staging[ISA_UNIT_MAX];
};

/* What an operation does at its FIFO. */
struct unit_use {
    struct fifo *fifo;                  /* NULL = nothing */
    bool is_pop;
    enum result_kind kind;
    int result_count;                   /* of a push */
    int busy_cycles, latency_cycles, result_step_cycles;
};

static void init_fifo(struct fifo *f, const char *name, int unit_index, int64_t depth)
{
    f->name = name;
    f->unit_index = unit_index;
    f->depth = depth;
    f->last_push = f->last_pop = -1;
    f->last_push_cycles = 1;
}

static void fini_fifo(struct fifo *f)
{
    for (int i = 0; i < RESULT_KIND_COUNT; i++)
        mem_free(f->list[i].item);
    mem_free(f->pop);
}

static struct unit_use mxu_use(struct fifo_state *st, const struct isa_op *op)
{
    struct matrix_op m = matrix_op_of_isa(op);
    int latch_cycles = m.staging >= 0 ? (int)st->chip->mxu_latch_cycles : 0;
    int matmul_cycles = chip_matrix_cycles(st->chip, &m);
    int results = m.kind == MATRIX_MULTIPLY
                  ? chip_mxu_halves(st->chip) * matrix_rows(m.type) / 8 : 0;

    return (struct unit_use){
        .fifo = &st->mxu[op->unit_index],
        .is_pop = m.kind == MATRIX_POP,
        .result_count = results,
        .busy_cycles = matmul_cycles + latch_cycles,
        .latency_cycles = (int)st->chip->mxu_latency_cycles + latch_cycles,
        .result_step_cycles = results ? matmul_cycles / results : 0,
    };
}

static struct unit_use xlu_use(struct fifo_state *st, const struct isa_op *op)
{
    const struct chip *chip = st->chip;
    uint32_t reads = isa_info(op->code)->reads;
    struct unit_use u = {.fifo = &st->xlu[op->unit_index], .result_count = 1,
                         .busy_cycles = (int)chip->xlu_issue_cycles};

    switch (isa_info(op->code)->latency_class) {
    case CLASS_XRED:
        u.latency_cycles = (int)chip->xlu_reduce_cycles;
        break;
    case CLASS_XPERM:
        u.kind = RESULT_PERMUTED;
        u.latency_cycles = (int)chip->xlu_permute_cycles;
        break;
    case CLASS_XPOSE:
        u.busy_cycles = chip_xpose_issue_cycles(chip, op->operand[ISA_XPOSE_TYPE].value);
        u.result_count = 0;
        break;
    case CLASS_XPOSE_END:
        u.kind = RESULT_TRANSPOSED;
        u.busy_cycles = chip_xpose_issue_cycles(chip, op->operand[ISA_XPOSE_TYPE].value);
        u.latency_cycles = (int)chip->xlu_xpose_cycles;
        u.result_step_cycles = (int)chip->xlu_xpose_pop_cycles;
        u.result_count = op->operand[1].value
                         / isa_xpose_rows(op->operand[ISA_XPOSE_TYPE].value);
        break;
    default:
        u.is_pop = true;
        u.kind = reads & ISA_TRANSPOSE ? RESULT_TRANSPOSED
                 : reads & ISA_PERMUTE ? RESULT_PERMUTED : RESULT_PLAIN;
    }
    return u;
}

static struct unit_use unit_use(struct fifo_state *st, const struct isa_op *op)
{
    const struct isa_info *info = isa_info(op->code);

    switch (info->unit) {
    case UNIT_MXU:
        return schedule_is_weight_push(op) ? (struct unit_use){.fifo = NULL} : mxu_use(st, op);
    case UNIT_XLU:
        return xlu_use(st, op);
    case UNIT_EUP:
        return (struct unit_use){.fifo = &st->eup, .is_pop = info->reads & ISA_EUP,
                                 .result_count = 1,
                                 .busy_cycles = (int)st->chip->eup_issue_cycles,
                                 .latency_cycles = (int)st->chip->eup_latency_cycles};
    default:
        break;
    }
    if (isa_touches(op->code) & ISA_V2S)
        return (struct unit_use){.fifo = &st->v2s, .is_pop = info->reads & ISA_V2S,
                                 .result_count = 1, .busy_cycles = 1,
                                 .latency_cycles = (int)st->chip->scalar_v2s_cycles};
    return (struct unit_use){.fifo = NULL};
}

static void tell_push(struct fifo_state *st, const struct unit_use *u, int i)
{
    struct depend_fifo_use *to = u->fifo->use;
    int at = to->push_count;

    if (i >= st->use_limit)
        return;
    to->depth = (int)u->fifo->depth;
    to->push[at] = i;
    to->push_cycles[at] = u->busy_cycles > 0 ? u->busy_cycles : 1;
    to->push_results[at] = u->result_count;
    to->push_count++;
}

static void tell_pop(struct fifo_state *st, const struct unit_use *u, int i, int push)
{
    struct depend_fifo_use *to = u->fifo->use;

    if (i >= st->use_limit)
        return;
    to->pop[to->pop_count] = i;
    to->pushed_by[to->pop_count++] = push;
}

static int order_push(struct fifo_state *st, const struct unit_use *u, int i, struct err *e)
{
    struct fifo *f = u->fifo;
    struct result_list *list = &f->list[u->kind];
    size_t total = f->result_count + (size_t)u->result_count;

    if (f->use) {
        tell_push(st, u, i);
    } else {
        depend_add(st->d, f->last_push, i, f->last_push_cycles);
        f->last_push = i;
        f->last_push_cycles = u->busy_cycles > 0 ? u->busy_cycles : 1;
    }
    if (!f->use && (int64_t)total > f->depth && u->result_count) {
        size_t needed = total - (size_t)f->depth;       /* pops before this push */

        if (f->pop_count < needed)
            return err_set(e, "block \"%s\": %zu results wait in %s%d, its depth is %lld",
                           st->b->note, total - f->pop_count, f->name, f->unit_index,
                           (long long)f->depth);
        depend_add(st->d, f->pop[needed - 1], i, 1);
    }
    list->item = mem_grow(list->item, &list->capacity, list->count + (size_t)u->result_count,
                          sizeof(*list->item));
    for (int k = 0; k < u->result_count; k++)
        list->item[list->count++] = (struct result){
            .op = i, .delay = u->latency_cycles + k * u->result_step_cycles};
    f->result_count = total;
    return 0;
}

static int order_pop(struct fifo_state *st, const struct unit_use *u, int i, struct err *e)
{
    struct fifo *f = u->fifo;
    struct result_list *list = &f->list[u->kind];
    const struct result *r;

    if (list->taken_count == list->count)
        return err_set(e, "block \"%s\": %s from %s%d without a push before it", st->b->note,
                       isa_info(st->b->op[i].op.code)->mnemonic, f->name, f->unit_index);
    r = &list->item[list->taken_count++];
    depend_add(st->d, r->op, i, r->delay > 0 ? r->delay : 1);
    if (f->use) {
        tell_pop(st, u, i, r->op);
    } else {
        depend_add(st->d, f->last_pop, i, 1);
        f->last_pop = i;
    }
    MEM_ADD(f->pop, f->pop_count, f->pop_capacity) = i;
    return 0;
}

/* the prep register is filled, then taken out by the next push of the unit that wants it */
static void order_prep(struct fifo_state *st, const struct matrix_op *m, int i)
{
    const struct isa_op *op = &st->b->op[i].op;
    struct staging *s = &st->staging[op->unit_index];

    if (m->kind == MATRIX_PREP_WEIGHTS) {
        depend_add(st->d, s->last_prep_taken, i, 1);
        s->last_prep = i;
    } else if (m->kind == MATRIX_PUSH && m->uses_prep) {
        depend_add(st->d, s->last_prep, i, 1);
        s->last_prep_taken = i;
    }
}

/* a staging register is filled in order, latched when full, and free again after that */
static void order_weights(struct fifo_state *st, int i)
{
    const struct isa_op *op = &st->b->op[i].op;
    struct staging *s = &st->staging[op->unit_index];
    struct matrix_op m = matrix_op_of_isa(op);
    int which = m.staging, previous, push_cycles;

    order_prep(st, &m, i);
    if (which < 0)
        return;
    previous = s->last_push[which];
    push_cycles = previous < 0 ? 1
                  : schedule_weight_push_cycles(st->chip, &st->b->op[previous].op);

    if (schedule_is_weight_push(op)) {
        depend_add(st->d, previous, i, push_cycles);
        depend_add(st->d, s->last_latch[which], i, 1);
        s->last_push[which] = i;
    } else {
        depend_add(st->d, previous, i, push_cycles);
        s->last_latch[which] = i;
    }
}

static int check_op(const struct fifo_state *st, int i, struct err *e)
{
    const struct isa_op *op = &st->b->op[i].op;
    const struct isa_info *info = isa_info(op->code);
    int64_t unit_count = info->unit == UNIT_MXU ? st->chip->mxu_count
                         : info->unit == UNIT_XLU ? st->chip->xlu_count : 1;
    bool is_fifo = info->unit == UNIT_MXU || info->unit == UNIT_XLU ||
                   info->unit == UNIT_EUP || isa_touches(op->code) & ISA_V2S;

    if (is_fifo && op->unit_index >= unit_count)
        return err_set(e, "block \"%s\": %s uses unit %d, the chip has %lld", st->b->note,
                       info->mnemonic, op->unit_index, (long long)unit_count);
    if (is_fifo && op->pred != ISA_PRED_ALWAYS)
        return err_set(e, "block \"%s\": %s must not be guarded, its FIFO would lose count",
                       st->b->note, info->mnemonic);
    return 0;
}

static int check_empty(const struct fifo_state *st, const struct fifo *f, struct err *e)
{
    if (f->pop_count == f->result_count)
        return 0;
    return err_set(e, "block \"%s\" leaves %zu results in %s%d, it must be empty at its end",
                   st->b->note, f->result_count - f->pop_count, f->name, f->unit_index);
}

static int order_op(struct fifo_state *st, int i, struct err *e)
{
    const struct isa_op *op = &st->b->op[i].op;
    struct unit_use u;

    if (check_op(st, i, e))
        return -1;
    if (isa_info(op->code)->unit == UNIT_MXU)
        order_weights(st, i);
    u = unit_use(st, op);
    if (!u.fifo)
        return 0;
    return u.is_pop ? order_pop(st, &u, i, e) : order_push(st, &u, i, e);
}

static int order_block(struct fifo_state *st, struct err *e)
{
    for (int i = 0; i < st->b->op_count; i++)
        if (order_op(st, i, e))
            return -1;
    for (int i = 0; i < ISA_UNIT_MAX; i++)
        if (check_empty(st, &st->mxu[i], e))
            return -1;
    for (int i = 0; i < ISA_UNIT_MAX; i++)
        if (check_empty(st, &st->xlu[i], e))
            return -1;
    return check_empty(st, &st->eup, e) || check_empty(st, &st->v2s, e) ? -1 : 0;
}

static void init_use(struct fifo_state *st, struct fifo *f, int index)
{
    size_t count = (size_t)st->use_limit + 1;

    if (!st->use)
        return;
    f->use = &st->use[index];
    *f->use = (struct depend_fifo_use){
        .push = arena_array(st->b->arena, count, sizeof(int)),
        .push_cycles = arena_array(st->b->arena, count, sizeof(int)),
        .push_results = arena_array(st->b->arena, count, sizeof(int)),
        .pop = arena_array(st->b->arena, count, sizeof(int)),
        .pushed_by = arena_array(st->b->arena, count, sizeof(int))};
}

int depend_fifos(struct depend *d, const struct code_block *b, const struct chip *chip,
                 struct depend_fifo_use *use, int use_limit, struct err *e)
{
    struct fifo_state st = {.d = d, .b = b, .chip = chip, .use = use, .use_limit = use_limit};
    int status;

    assert(chip->mxu_count <= ISA_UNIT_MAX && chip->xlu_count <= ISA_UNIT_MAX);
    for (int i = 0; i < ISA_UNIT_MAX; i++) {
        /* accumulators take turns, so they are a FIFO for what is written like one */
        init_fifo(&st.mxu[i], "mxu", i, chip->mxu_accumulators
                  ? chip->mxu_accumulators * chip_mxu_halves(chip) : chip->mxu_fifo_depth);
        st.staging[i] = (struct staging){{-1, -1}, {-1, -1}, -1, -1};
    }
    for (int i = 0; i < ISA_UNIT_MAX; i++)
        init_fifo(&st.xlu[i], "xlu", i, chip->xlu_fifo_depth);
    init_fifo(&st.eup, "eup", 0, chip->eup_fifo_depth);
    init_fifo(&st.v2s, "v2s", 0, chip->scalar_v2s_depth);
    for (int i = 0; i < ISA_UNIT_MAX; i++) {
        init_use(&st, &st.mxu[i], DEPEND_FIFO_MXU + i);
        init_use(&st, &st.xlu[i], DEPEND_FIFO_XLU + i);
    }
    init_use(&st, &st.eup, DEPEND_FIFO_EUP);
    init_use(&st, &st.v2s, DEPEND_FIFO_V2S);
    status = order_block(&st, e);
    for (int i = 0; i < ISA_UNIT_MAX; i++)
        fini_fifo(&st.mxu[i]);
    for (int i = 0; i < ISA_UNIT_MAX; i++)
        fini_fifo(&st.xlu[i]);
    fini_fifo(&st.eup);
    fini_fifo(&st.v2s);
    return status;
}
