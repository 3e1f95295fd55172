/*
 * Pipelines: the code around a step.
 *
 *   before the loop: all indices 0; the first boxes on their way
 *   each step: boxes of the next step on their way; wait for this step's and for
 *   the result buffers; the step; results on their way; indices go on
 *   behind the loop: wait for the last results
 *
 * A dimension *ticks* when all inside it are at their last: then the boxes of
 * its class change. Result flags start as if all buffers had been sent, so
 * that the first steps wait like the others.
 */
#include "stack/kernels/pipeline/pipeline_impl.h"

#include "base/units.h"
#include "isa/isa.h"
#include "stack/backend/emitters.h"

#define GRANULES_PER_ROW 16
#define TILE_GRANULES 128
#define TILE_ROWS 8
#define GRANULE_BYTES 32

/* predicates and scalars that are free between two steps */
enum { P_TICK = 1, P_LAST = 6, P_NOT_LAST = 7, P_TEMP = PIPELINE_FIRST_PRED,
       P_TEMP_2 = PIPELINE_FIRST_PRED + 1 };
enum { S_NEXT = 0, S_OFFSET = 5, S_TERM, S_BASE, S_FLAG, S_FROM, S_TO,
       S_SIZE };
enum { FLAG_IN, FLAG_OUT = 2 };

static int class_flag(const struct pipeline *f, int d, int which)
{
    return f->job->first_flag + 4 * d + which;
}

static int fixed_flag(const struct pipeline *f, bool is_result)
{
    return f->job->first_flag + 4 * f->dims + is_result;
}

static struct isa_operand granule(int64_t number)
{
    return I(number);
}

static int64_t last_index(const struct pipeline *f, int d)
{
    return f->first[d] + pipeline_steps(f, d) - 1;
}

/* ----- one copy */

struct place {                          /* of a copy: registers, or immediates */
    struct isa_operand array, vmem, flag;
    struct isa_operand granules, outer; /* and the count of the last level */
    int guard;
};

static void put_descriptor(struct pipeline *f, int w, const struct place *p)
{
    struct vcode *c = f->state->code;
    bool is_out = f->window[w].is_result;
    int64_t at = f->state->smem[w];

    emit_sst(c, NONE, I(at + 4), is_out ? p->vmem : p->array);
    emit_sst(c, NONE, I(at + 8), is_out ? p->array : p->vmem);
    emit_sst(c, NONE, I(at + 52), p->flag);
    if (p->outer.kind == OPERAND_REG && f->state->copy[w].level_count < PIPELINE_BOX_MAX)
        emit_sst(c, NONE, I(at + 4 + 12 * f->state->copy[w].level_count), p->outer);
    emit_sfence(c);
    vcode_put(c, isa_if(p->guard, isa_dma_general(NONE, I(at))));
}

/* an immediate or a register that nothing else needs, `by` further on */
static struct isa_operand further(struct vcode *c, struct isa_operand x, int64_t by)
{
    if (x.kind != OPERAND_REG)
        return granule((int64_t)(uint32_t)x.value + by);
    emit_sadd(c, x.value, x, I(by));
    return x;
}

/* copy `i` only if the box, which may be short, has so many */
static void put_limit(struct vcode *c, struct place *p, int guard, int64_t i)
{
    if (p->outer.kind != OPERAND_REG)
        return;
    emit_scmp_gt(c, P_TEMP, p->outer, I(i));
    if (guard >= 0)
        emit_pand(c, P_TEMP, P_TEMP, guard);
    p->guard = P_TEMP;
}

/* descriptors have three levels: of a box with four, a copy for each of the outermost */
static void put_descriptors(struct pipeline *f, int w, const struct place *first)
{
    const struct pipeline_copy *k = &f->state->copy[w];
    const struct pipeline_level *outer = &k->level[PIPELINE_BOX_MAX - 1];
    int64_t copies = k->level_count == PIPELINE_BOX_MAX ? outer->count : 1;
    struct place p = *first;

    for (int64_t i = 0; i < copies; i++) {
        if (i > 0) {
            emit_sfence(f->state->code);
            p.array = further(f->state->code, p.array, outer->array_stride);
            p.vmem = further(f->state->code, p.vmem, outer->vmem_stride);
        }
        if (f->window[w].short_count && copies > 1)
            put_limit(f->state->code, &p, first->guard, i);
        put_descriptor(f, w, &p);
    }
}

static void put_copy(struct pipeline *f, int w, const struct place *p)
{
    const struct pipeline_copy *k = &f->state->copy[w];
    bool is_out = f->window[w].is_result;
    bool is_common = f->window[w].array->space == SPACE_CMEM;
    enum isa_opcode code = is_out ? is_common ? OP_DMA_VMEM_CMEM : OP_DMA_VMEM_HBM
                                  : is_common ? OP_DMA_CMEM_VMEM : OP_DMA_HBM_VMEM;
    struct isa_operand from = is_out ? p->vmem : p->array, to = is_out ? p->array : p->vmem;

    if (k->level_count >= 2) {
        put_descriptors(f, w, p);
    } else if (k->level_count == 1) {
        int64_t array = k->level[0].array_stride, vmem = k->level[0].vmem_stride;

        vcode_put(f->state->code,
                  isa_if(p->guard, isa_make_dma_strided(code, from, p->granules, to, p->flag,
                                                        I(is_out ? vmem : array),
                                                        I(is_out ? array : vmem), I(k->run))));
    } else {
        vcode_put(f->state->code,
                  isa_if(p->guard, isa_make_dma(code, from, p->granules, to, p->flag)));
    }
}

/* the words of a descriptor that stay: docs/memory.md */
static void init_descriptor(struct pipeline *f, int w)
{
    const struct pipeline_copy *k = &f->state->copy[w];
    bool is_out = f->window[w].is_result;
    int64_t at = f->state->smem[w];
    int space = (int)f->window[w].array->space;
    int64_t word[16] = {[0] = is_out ? SPACE_VMEM | space << 4 : space | SPACE_VMEM << 4,
                        [3] = k->run, [4] = 1, [7] = 1, [10] = 1};

    for (int i = 0; i < k->level_count && i < PIPELINE_BOX_MAX - 1; i++) {
        word[4 + 3 * i] = k->level[i].count;
        word[5 + 3 * i] = is_out ? k->level[i].vmem_stride : k->level[i].array_stride;
        word[6 + 3 * i] = is_out ? k->level[i].array_stride : k->level[i].vmem_stride;
    }
    for (int i = 0; i < 16; i++)
        emit_sst(f->state->code, NONE, I(at + 4 * i), I(word[i]));
}

static int64_t array_granule(const struct pipeline *f, int w)
{
    return f->window[w].array->address / GRANULE_BYTES
           + (f->window[w].first + pipeline_start_tiles(f, w, false)) * TILE_GRANULES;
}

static int64_t vmem_granule(const struct pipeline *f, int w)
{
    return pipeline_row(f, w) * GRANULES_PER_ROW;
}

/* ----- all copies of a class */

/* to = the sum of steps along the grid, `unit` for each tile; indices stand in index[] */
static void put_offset(struct pipeline *f, const struct pipeline_move *m, const int *index,
                       int unit, int to)
{
    struct vcode *c = f->state->code;
    bool is_first = true;

    for (int d = 0; d < f->dims; d++) {
        if (m->step[d] == 0)
            continue;
        emit_smul(c, S_TERM, R(index[d]), I(m->step[d] * unit));
        if (m->limit[d] > 0)
            emit_smin_max(c, S_TERM, R(S_TERM), I(m->limit[d] * unit), SMIN_MAX_MIN, SMIN_MAX_S32);
        if (is_first)
            emit_smov(c, to, R(S_TERM));
        else
            emit_sadd(c, to, R(to), R(S_TERM));
        is_first = false;
    }
    if (is_first)
        emit_smov(c, to, I(0));
}

/* the flag of the buffer at `base` */
static void put_flag(struct pipeline *f, int d, int which, int base)
{
    struct vcode *c = f->state->code;

    emit_scmp_eq(c, P_TEMP, R(base), I(0));
    emit_select(c, S_FLAG, P_TEMP, I(class_flag(f, d, which)), I(class_flag(f, d, which + 1)));
}

/* The flag gets what a short box lacks, so that all boxes are waited for alike. */
static void put_short(struct pipeline *f, int w, const int *index, struct place *p)
{
    struct vcode *c = f->state->code;
    const struct pipeline_copy *k = &f->state->copy[w];
    bool has_descriptor = k->level_count >= 2;
    int64_t all = has_descriptor ? k->level[k->level_count - 1].count : k->granules;
    int d = f->window[w].short_dim;

    emit_scmp_eq(c, P_TEMP, R(index[d]), I(f->count[d] - 1));
    emit_select(c, S_SIZE, P_TEMP, I(has_descriptor ? k->short_outer : k->short_granules), I(all));
    p->granules = p->outer = R(S_SIZE);
    if (p->guard >= 0)
        emit_pand(c, P_TEMP, P_TEMP, p->guard);
    vcode_put(c, isa_if(P_TEMP, isa_vsyncadd(p->flag, I(k->granules - k->short_granules))));
}

static void copy_window(struct pipeline *f, int w, const int *index, int guard)
{
    struct vcode *c = f->state->code;
    struct place p = {.array = R(S_FROM), .vmem = R(S_TO), .flag = R(S_FLAG), .guard = guard,
                      .granules = I(f->state->copy[w].granules)};

    if (f->window[w].short_count)
        put_short(f, w, index, &p);
    emit_sadd(c, S_FROM, R(S_OFFSET), granule(array_granule(f, w)));
    emit_sadd(c, S_TO, R(S_BASE), I(vmem_granule(f, w)));
    put_copy(f, w, &p);
}

/* boxes of class d at the indices in index[], buffers at S_BASE granules, flag S_FLAG */
static void copy_class(struct pipeline *f, int d, bool is_result, const int *index, int guard)
{
    struct pipeline_state *s = f->state;
    bool is_start = index == s->index && !is_result;    /* first boxes may come in parts */

    for (int m = 0; m < s->move_count; m++) {
        bool is_there = false;

        for (int w = 0; w < f->window_count; w++) {
            if (!pipeline_is_copied(f, w) || s->class_of[w] != d || s->move_of[w] != m
                || f->window[w].is_result != is_result || (is_start && f->window[w].parts))
                continue;
            if (!is_there)
                put_offset(f, &s->move[m], index, TILE_GRANULES, S_OFFSET);
            is_there = true;
            copy_window(f, w, index, guard);
        }
    }
}

static void copy_fixed(struct pipeline *f, bool is_result)
{
    for (int w = 0; w < f->window_count; w++) {
        struct place p = {granule(array_granule(f, w)), I(vmem_granule(f, w)),
                          I(fixed_flag(f, is_result)), I(f->state->copy[w].granules), NONE, -1};

        if (pipeline_is_copied(f, w) && f->state->class_of[w] == PIPELINE_CLASS_NONE
            && f->window[w].is_result == is_result && !f->window[w].parts)
            put_copy(f, w, &p);
    }
}

/* whoever waits for a box that comes in parts finds that it has come */
static void credit_parts(struct pipeline *f)
{
    for (int w = 0; w < f->window_count; w++) {
        int d = f->state->class_of[w];

        if (f->window[w].parts)
            emit_vsyncadd(f->state->code,
                          I(d == PIPELINE_CLASS_NONE ? fixed_flag(f, false)
                                                  : class_flag(f, d, FLAG_IN)),
                          I(f->state->copy[w].granules));
    }
}

/* ----- indices */

/* P_TICK + d for each dimension, of the indices as they are; P_LAST: all at their last */
static void put_ticks(struct pipeline *f)
{
    struct pipeline_state *s = f->state;
    int inner = -1;

    for (int d = f->dims - 1; d >= 0; d--) {
        if (pipeline_steps(f, d) == 1)
            continue;
        if (inner < 0) {
            emit_pmov(s->code, P_TICK + d, I(1));
        } else {
            emit_scmp_eq(s->code, P_TICK + d, R(s->index[inner]), I(last_index(f, inner)));
            emit_pand(s->code, P_TICK + d, P_TICK + d, P_TICK + inner);
        }
        inner = d;
    }
    emit_scmp_eq(s->code, P_LAST, R(s->counter), I(1));
    emit_pneg(s->code, P_NOT_LAST, P_LAST);
}

/* to[d] = index of the step after this one (of no meaning after the last) */
static void put_next(struct pipeline *f, const int *to)
{
    struct pipeline_state *s = f->state;

    for (int d = 0; d < f->dims; d++) {
        if (pipeline_steps(f, d) == 1)
            continue;
        if (to[d] != s->index[d])
            emit_smov(s->code, to[d], R(s->index[d]));
        vcode_put(s->code, isa_if(P_TICK + d, isa_sadd(to[d], R(to[d]), I(1))));
        emit_scmp_eq(s->code, P_TEMP, R(to[d]), I(last_index(f, d) + 1));
        vcode_put(s->code, isa_if(P_TEMP, isa_smov(to[d], I(f->first[d]))));
    }
}

static void put_rows_in_place(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    for (int m = 0; m < s->move_count; m++)
        if (s->move[m].sreg >= 0)
            put_offset(f, &s->move[m], s->index, TILE_ROWS, s->move[m].sreg);
}

/* ----- before a step */

static void start_next(struct pipeline *f)
{
    struct pipeline_state *s = f->state;
    int next[PIPELINE_DIM_MAX] = {S_NEXT, S_NEXT + 1, S_NEXT + 2, S_NEXT + 3, S_NEXT + 4};

    put_ticks(f);
    put_next(f, next);
    for (int d = 0; d < f->dims; d++) {
        if (pipeline_class_granules(f, d, false) == 0)
            continue;
        emit_pand(s->code, P_TEMP_2, P_TICK + d, P_NOT_LAST);
        emit_ssub(s->code, S_BASE, I(s->delta), R(s->base[d]));
        put_flag(f, d, FLAG_IN, S_BASE);
        emit_sshll(s->code, S_BASE, R(S_BASE), I(4));
        copy_class(f, d, false, next, P_TEMP_2);
    }
}

/* predicate `p`: the boxes of class d are new in this step */
static int put_is_new(struct pipeline *f, int d, int p)
{
    struct pipeline_state *s = f->state;
    bool is_first = true;

    for (int inner = d + 1; inner < f->dims; inner++) {
        if (pipeline_steps(f, inner) == 1)
            continue;
        emit_scmp_eq(s->code, is_first ? p : P_TEMP, R(s->index[inner]), I(f->first[inner]));
        if (!is_first)
            emit_pand(s->code, p, p, P_TEMP);
        is_first = false;
    }
    return is_first ? -1 : p;
}

static void await_boxes(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    for (int d = 0; d < f->dims; d++) {
        int64_t in = pipeline_class_granules(f, d, false),
                out = pipeline_class_granules(f, d, true);
        int guard = in + out ? put_is_new(f, d, P_TEMP_2) : -1;

        if (in) {
            put_flag(f, d, FLAG_IN, s->base[d]);
            vcode_await(f->state->code, R(S_FLAG), in, guard);
        }
        if (out && pipeline_is_late(f, d)) {
            vcode_await(f->state->code, I(class_flag(f, d, FLAG_OUT)), out, P_TICK + d);
        } else if (out) {
            put_flag(f, d, FLAG_OUT, s->base[d]);
            vcode_await(f->state->code, R(S_FLAG), out, guard);
        }
    }
}

/* ----- around the loop */

static int result_buffers(const struct pipeline *f, int d)
{
    return pipeline_class_granules(f, d, true) == 0 ? 0 : pipeline_is_late(f, d) ? 1 : 2;
}

static void init_registers(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    for (int d = 0; d < f->dims; d++) {
        if (s->index[d] >= 0)
            emit_smov(s->code, s->index[d], I(f->first[d]));
        if (s->base[d] >= 0)
            emit_smov(s->code, s->base[d], I(0));
        for (int i = 0; i < result_buffers(f, d); i++)
            emit_vsyncset(s->code, I(class_flag(f, d, FLAG_OUT + i)),
                          I(pipeline_class_granules(f, d, true)));
    }
    for (int w = 0; w < f->window_count; w++) {
        const struct pipeline_move *m = &s->move[s->move_of[w]];

        if (m->sreg >= 0)
            emit_smov(s->code, m->sreg, I(pipeline_start_tiles(f, w, true) * TILE_ROWS));
        if (s->smem[w] >= 0)
            init_descriptor(f, w);
    }
}

static void start_first(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    credit_parts(f);
    copy_fixed(f, false);
    for (int d = 0; d < f->dims; d++) {
        if (pipeline_class_granules(f, d, false) == 0)
            continue;
        emit_smov(s->code, S_BASE, I(0));
        emit_smov(s->code, S_FLAG, I(class_flag(f, d, FLAG_IN)));
        copy_class(f, d, false, s->index, -1);
    }
    for (int d = 0; d < f->dims && f->is_first_alone; d++)
        if (pipeline_class_granules(f, d, false))
            emit_dma_done(s->code, I(class_flag(f, d, FLAG_IN)),
                          I(pipeline_class_granules(f, d, false)));
    if (pipeline_class_granules(f, PIPELINE_CLASS_NONE, false))
        vcode_await(f->state->code, I(fixed_flag(f, false)),
                    pipeline_class_granules(f, PIPELINE_CLASS_NONE, false), -1);
}

void pipeline_emit_begin(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    vcode_begin_block(s->code);
    init_registers(f);
    start_first(f);
    if (s->total > 1)
        vcode_loop_begin(s->code, s->counter, s->total);
    if (s->total > 1)
        start_next(f);
    await_boxes(f);
    vcode_begin_block(s->code);
}

/* the operands' next boxes must have come before results may overwrite them */
static void await_next(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    for (int d = 0; d < f->dims && s->is_awaited; d++) {
        int64_t in = pipeline_class_granules(f, d, false);

        if (in == 0)
            continue;
        emit_pand(s->code, P_TEMP_2, P_TICK + d, P_NOT_LAST);
        emit_ssub(s->code, S_BASE, I(s->delta), R(s->base[d]));
        put_flag(f, d, FLAG_IN, S_BASE);
        vcode_put(s->code, isa_if(P_TEMP_2, isa_dma_done(R(S_FLAG), I(in))));
    }
}

static void send_results(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    for (int d = 0; d < f->dims; d++) {
        if (pipeline_class_granules(f, d, true) == 0)
            continue;
        if (pipeline_is_late(f, d)) {
            emit_smov(s->code, S_FLAG, I(class_flag(f, d, FLAG_OUT)));
            emit_smov(s->code, S_BASE, I(0));
        } else {
            put_flag(f, d, FLAG_OUT, s->base[d]);
            emit_sshll(s->code, S_BASE, R(s->base[d]), I(4));
        }
        copy_class(f, d, true, s->index, P_TICK + d);
    }
}

static void advance(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    for (int d = 0; d < f->dims; d++)
        if (s->base[d] >= 0)
            vcode_put(s->code,
                      isa_if(P_TICK + d, isa_ssub(s->base[d], I(s->delta), R(s->base[d]))));
    put_next(f, s->index);
    put_rows_in_place(f);
}

static void await_results(struct pipeline *f)
{
    int64_t fixed = pipeline_class_granules(f, PIPELINE_CLASS_NONE, true);

    for (int d = 0; d < f->dims; d++)
        for (int i = 0; i < result_buffers(f, d); i++)
            vcode_await(f->state->code, I(class_flag(f, d, FLAG_OUT + i)),
                        pipeline_class_granules(f, d, true), -1);
    if (fixed)
        vcode_await(f->state->code, I(fixed_flag(f, true)), fixed, -1);
}

void pipeline_emit_finish(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    vcode_begin_block(s->code);
    if (s->total > 1) {
        emit_sfence(s->code);
        put_ticks(f);
        await_next(f);
        send_results(f);
        advance(f);
        vcode_loop_end(s->code, s->counter);
    }
}

void pipeline_emit_end(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    vcode_begin_block(s->code);
    emit_sfence(s->code);
    copy_fixed(f, true);
    await_results(f);
    vcode_begin_block(s->code);
}

/* ----- conditions for the step */

static int put_condition(struct pipeline *f, uint32_t mask, bool is_last)
{
    struct pipeline_state *s = f->state;
    int p = PIPELINE_FIRST_PRED + s->pred_count, temp = PIPELINE_FIRST_PRED + PIPELINE_PRED_COUNT;
    bool is_first = true;

    for (int i = 0; i < s->pred_count; i++)
        if (s->pred[i].mask == mask && s->pred[i].is_last == is_last)
            return PIPELINE_FIRST_PRED + i;
    s->pred[s->pred_count].mask = mask;
    s->pred[s->pred_count++].is_last = is_last;
    for (int d = 0; d < f->dims; d++) {
        if (!(mask >> d & 1) || pipeline_steps(f, d) == 1)
            continue;
        emit_scmp_eq(s->code, is_first ? p : temp, R(s->index[d]),
                     I(is_last ? last_index(f, d) : f->first[d]));
        if (!is_first)
            emit_pand(s->code, p, p, temp);
        is_first = false;
    }
    if (is_first)
        emit_pmov(s->code, p, I(1));
    return p;
}

int pipeline_is_first(struct pipeline *f, uint32_t dim_mask)
{
    return put_condition(f, dim_mask, false);
}

int pipeline_is_last(struct pipeline *f, uint32_t dim_mask)
{
    return put_condition(f, dim_mask, true);
}
