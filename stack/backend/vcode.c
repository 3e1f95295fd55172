/* Appends blocks, operations and counted loops to a kernel's virtual-register code. */
#include "stack/backend/vcode.h"

#include "stack/backend/emitters.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

static struct vcode_block *current_block(struct vcode *c)
{
    return &c->block[c->block_count - 1];
}

void vcode_init(struct vcode *c, struct arena *a)
{
    memset(c, 0, sizeof(*c));
    c->arena = a;
    vcode_begin_block(c);
}

void vcode_fini(struct vcode *c)
{
    for (size_t i = 0; i < c->block_count; i++)
        mem_free(c->block[i].op);
    mem_free(c->block);
    mem_free(c->is_pinned);
    mem_free(c->step);
    mem_free(c->open_loop);
    mem_free(c->remark);
    memset(c, 0, sizeof(*c));
}

int vcode_vreg(struct vcode *c)
{
    c->is_pinned = mem_grow(c->is_pinned, &c->pinned_capacity, (size_t)c->vreg_count + 1,
                            sizeof(*c->is_pinned));
    return c->vreg_count++;
}

int vcode_mask(struct vcode *c)
{
    return c->mask_count++;
}

int vcode_pinned_vreg(struct vcode *c)
{
    int v = vcode_vreg(c);

    c->is_pinned[v] = true;
    return v;
}

void vcode_begin_block(struct vcode *c)
{
    struct vcode_block *last = c->block_count ? current_block(c) : NULL;
    const char *note = last ? last->note : NULL;
    bool is_same = c->note && note && !strcmp(c->note, note);

    if (!last || last->op_count || last->bundles || last->is_loop_start || last->is_loop_end ||
        last->skip_to) {
        last = &MEM_ADD(c->block, c->block_count, c->block_capacity);
        memset(last, 0, sizeof(*last));
    }
    last->note = is_same ? note : c->note ? arena_strdup(c->arena, c->note) : NULL;
}

void vcode_latch_begin(struct vcode *c)
{
    vcode_begin_block(c);
    c->block[c->block_count - 1].is_latch = true;
}

void vcode_loop_begin(struct vcode *c, int counter_sreg, int64_t count)
{
    assert(count > 0 && count <= INT32_MAX);
    assert(counter_sreg >= 0 && counter_sreg < ISA_SREG_COUNT);
    if (current_block(c)->is_latch)     /* which may go, and the counter must not go with it */
        vcode_begin_block(c);
    emit_smov(c, counter_sreg, I(count));
    vcode_begin_block(c);
    current_block(c)->is_loop_start = true;
    current_block(c)->counter_sreg = counter_sreg;
    current_block(c)->loop_count = count;
    MEM_ADD(c->open_loop, c->open_count, c->open_capacity) = counter_sreg;
}

void vcode_loop_step(struct vcode *c, int sreg, int64_t step)
{
    assert(c->open_count);
    assert(step >= INT32_MIN && step <= INT32_MAX);
    MEM_ADD(c->step, c->step_count, c->step_capacity) = (struct vcode_step){
        .counter_sreg = c->open_loop[c->open_count - 1], .sreg = sreg, .step = (int32_t)step};
}

/* the additions of this loop's steps; they stand last in the block */
static void emit_steps(struct vcode *c, int counter_sreg)
{
    int emitted = 0;

    while (c->step_count && c->step[c->step_count - 1].counter_sreg == counter_sreg) {
        const struct vcode_step *s = &c->step[--c->step_count];

        emit_sadd(c, s->sreg, R(s->sreg), I(s->step));
        emitted++;
    }
    current_block(c)->step_count = emitted;
}

void vcode_loop_end(struct vcode *c, int counter_sreg)
{
    struct vcode_block *b = current_block(c);

    assert(c->open_count && c->open_loop[c->open_count - 1] == counter_sreg);
    if (b->bundles || (b->is_loop_start && b->counter_sreg != counter_sreg)) {
        vcode_begin_block(c);           /* a block tells of one counter only */
        b = current_block(c);
    }
    c->open_count--;
    emit_steps(c, counter_sreg);
    b->is_loop_end = true;
    b->counter_sreg = counter_sreg;
    vcode_begin_block(c);
}

size_t vcode_skip_begin(struct vcode *c, int pred)
{
    size_t block = c->block_count - 1;

    if (current_block(c)->bundles) {
        vcode_begin_block(c);
        block = c->block_count - 1;
    }
    current_block(c)->skip_pred = pred;
    current_block(c)->skip_to = block + 1;      /* until vcode_skip_end knows */
    vcode_begin_block(c);
    return block;
}

void vcode_skip_end(struct vcode *c, size_t skip)
{
    vcode_begin_block(c);
    c->block[skip].skip_to = c->block_count - 1;
}

void vcode_bundles(struct vcode *c, const struct isa_program *p)
{
    vcode_begin_block(c);
    if (current_block(c)->is_loop_start)        /* whose label stands before the bundles */
        vcode_begin_block(c);
    current_block(c)->bundles = p;
    current_block(c)->bundles_origin = c->origin;
    vcode_begin_block(c);
}

struct vcode_op *vcode_put(struct vcode *c, struct isa_op op)
{
    struct vcode_block *b = current_block(c);
    struct vcode_op *o = &MEM_ADD(b->op, b->op_count, b->op_capacity);

    *o = (struct vcode_op){.op = op, .region = VCODE_REGION_ANY};
    if (!o->op.origin)
        o->op.origin = c->origin;
    return o;
}

int vcode_answer(struct vcode *c, struct isa_op push)
{
    struct isa_op pop = {.code = (uint16_t)isa_pop_of((enum isa_opcode)push.code),
                         .pred = ISA_PRED_ALWAYS,
                         .unit_index = push.unit_index,
                         .operand_count = 1};

    vcode_put(c, push);
    pop.operand[0] = operand_reg(vcode_vreg(c));
    vcode_put(c, pop);
    return pop.operand[0].value;
}

int vcode_in_register(struct vcode *c, struct isa_operand a)
{
    return a.kind == OPERAND_REG ? a.value : emit_vmov(c, a);
}

void vcode_await(struct vcode *c, struct isa_operand flag, int64_t granules, int pred)
{
    vcode_put(c, isa_if(pred, isa_dma_done(flag, I(granules))));
    vcode_put(c, isa_if(pred, isa_vsyncadd(flag, I(-granules))));
}

struct vcode_op *vcode_emit(struct vcode *c, enum isa_opcode code, int operand_count,
                            const struct isa_operand *operand)
{
    const struct isa_info *info = isa_info(code);
    struct isa_op op = {
        .code = (uint16_t)code, .pred = ISA_PRED_ALWAYS, .operand_count = info->operand_count};

    assert(operand_count == info->operand_count || operand_count == info->tail_first);
    if (operand_count)
        memcpy(op.operand, operand, (size_t)operand_count * sizeof(*operand));
    return vcode_put(c, op);
}

void vcode_remark(struct vcode *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    MEM_ADD(c->remark, c->remark_count, c->remark_capacity) = (struct vcode_remark){
        c->block_count - 1, arena_strdup(c->arena, text)};
}
