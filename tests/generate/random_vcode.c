#include "tests/generate/random_vcode.h"

#include "base/rng.h"
#include "isa/matrix.h"
#include "tests/test.h"

#define REGION_COUNT 4
#define PINNED_COUNT 3
#define FIFO_MAX 14                     /* 8 MXU, 4 XLU, EUP, V2S */

/* Results that wait in one FIFO, with the operation that pops each. */
struct waiting {
    enum isa_opcode pop[1024];
    int first, end;
};

struct maker {
    struct vcode *c;
    const struct chip *chip;
    const struct random_vcode *r;
    struct rng rng;
    int value[8192], value_count, mask[8192], mask_count;
    int pinned[PINNED_COUNT];
    int pointer_delta[REGION_COUNT];    /* rows that each region's pointer has moved */
    int region_rows, based_rows[REGION_COUNT];  /* of a region; what its pointer may reach */
    struct waiting fifo[FIFO_MAX];
    bool is_streaming;                  /* loads from two regions, stores into the others */
    bool is_loaded[8];                  /* gain registers of the MXUs */
};

static int below(struct maker *m, int end)
{
    return (int)rng_below(&m->rng, (uint32_t)end);
}

static int a_value(struct maker *m)
{
    int reach = m->r->reach < m->value_count ? m->r->reach : m->value_count;

    if (below(m, 12) == 0)
        return m->pinned[below(m, PINNED_COUNT)];
    return m->value[m->value_count - 1 - below(m, reach)];
}

static int a_mask(struct maker *m)
{
    int reach = m->mask_count < 5 ? m->mask_count : 5;

    return m->mask[m->mask_count - 1 - below(m, reach)];
}

static int new_value(struct maker *m)
{
    return m->value[m->value_count++] = vcode_vreg(m->c);
}

static struct vcode_op *emit(struct maker *m, enum isa_opcode code, int count,
                             struct isa_operand a, struct isa_operand b, struct isa_operand c)
{
    const struct isa_operand operand[] = {a, b, c};

    return vcode_emit(m->c, code, count, operand);
}

#define NONE operand_none()

static void make_load_or_store(struct maker *m)
{
    static const enum isa_opcode code[] = {OP_VLD, OP_VLD, OP_VST, OP_VST, OP_VST_MSK};
    enum isa_opcode which = code[below(m, 5)];
    bool is_load = which == OP_VLD;
    int region = m->is_streaming ? 2 * !is_load + below(m, 2) : below(m, REGION_COUNT);
    int stride = below(m, 3), offset, k = 0;
    struct isa_operand operand[6];

    offset = below(m, m->based_rows[region] - 7 * stride);
    if (below(m, 2))
        stride = 1, offset = 8 * below(m, m->based_rows[region] / 8);
    if (is_load)
        operand[k++] = operand_reg(vcode_vreg(m->c));
    operand[k++] = below(m, m->r->has_steps ? 16 : 4) ? operand_reg(1 + region) : NONE;
    operand[k] = operand_imm(offset - m->pointer_delta[region]);
    if (operand[k - 1].kind == OPERAND_NONE)
        operand[k] = operand_imm(offset + region * m->region_rows);
    k++;
    operand[k++] = operand_imm(stride);
    operand[k++] = operand_imm(below(m, 3) ? 0xff : below(m, 256));
    if (which == OP_VST_MSK)
        operand[k++] = operand_reg(a_mask(m));
    if (!is_load)
        operand[k++] = operand_reg(a_value(m));
    vcode_emit(m->c, which, k, operand)->region =
        below(m, m->r->has_steps ? 200 : 30) ? region : VCODE_REGION_ANY;
    if (is_load)
        m->value[m->value_count++] = operand[0].value;
}

static void guard(struct maker *m, struct vcode_op *op)
{
    op->op.pred = (uint8_t)(1 + below(m, 3));
    op->op.pred_is_negated = (uint8_t)below(m, 2);
}

static void make_lanes(struct maker *m)
{
    static const enum isa_opcode binary[] = {OP_VADD_F32, OP_VMUL_F32, OP_VSUB_F32, OP_VMAX_F32,
                                             OP_VADD_S32, OP_VXOR_U32, OP_VAND_U32};
    int a = a_value(m), b = a_value(m), acc = m->pinned[below(m, PINNED_COUNT)];
    struct isa_operand with;

    switch (below(m, 10)) {
    case 0:
        with = operand_imm(0x3f800000 + below(m, 9));
        emit(m, OP_VMOV, 2, operand_reg(new_value(m)), with, NONE);
        break;
    case 1:
        with = operand_reg(8 + below(m, 5));
        emit(m, OP_VSTV, 2, operand_reg(new_value(m)), with, NONE);
        break;
    case 2:
        m->mask[m->mask_count++] = vcode_mask(m->c);
        emit(m, OP_VCMP_LT_S32, 3, operand_reg(m->mask[m->mask_count - 1]), operand_reg(a),
             operand_reg(b));
        break;
    case 3: {
        int to = new_value(m), mask = a_mask(m);
        struct isa_operand o[] = {operand_reg(to), operand_reg(mask), operand_reg(a),
                                  operand_reg(b)};

        vcode_emit(m->c, OP_VSEL, 4, o);
        break;
    }
    case 4:                             /* an older value changed under a guard */
        guard(m, emit(m, OP_VMUL_F32, 3, operand_reg(b), operand_reg(a), operand_reg(a)));
        break;
    case 5:
        emit(m, OP_VADD_S32, 3, operand_reg(acc), operand_reg(acc), operand_reg(a));
        if (below(m, 3) == 0)
            guard(m, &m->c->block[m->c->block_count - 1]
                          .op[m->c->block[m->c->block_count - 1].op_count - 1]);
        break;
    default:
        with = operand_reg(new_value(m));
        emit(m, binary[below(m, 7)], 3, with, operand_reg(a), operand_reg(b));
    }
}

static void make_scalar(struct maker *m)
{
    int region = below(m, REGION_COUNT), from = 8 + below(m, 4), to = 8 + below(m, 4);
    int step = 8 * (below(m, 3) - 1);
    struct isa_operand with, predicate;

    switch (below(m, 5)) {
    case 0:
        if (m->r->has_steps)
            break;
        emit(m, OP_SADD, 3, operand_reg(1 + region), operand_reg(1 + region), operand_imm(step));
        m->pointer_delta[region] += step;
        break;
    case 1:
        with = operand_imm(below(m, 100));
        predicate = operand_reg(1 + below(m, 3));
        emit(m, below(m, 2) ? OP_SCMP_GT : OP_SCMP_LT, 3, predicate, operand_reg(from), with);
        break;
    case 2:
        emit(m, OP_SMUL, 3, operand_reg(to), operand_reg(from), operand_imm(3 + below(m, 9)));
        break;
    default:
        emit(m, OP_SSUB, 3, operand_reg(to), operand_reg(from), operand_imm(below(m, 99)));
    }
}

static int fifo_count(const struct waiting *w)
{
    return w->end - w->first;
}

static void pop_one(struct maker *m, int f)
{
    struct waiting *w = &m->fifo[f];
    enum isa_opcode code = w->pop[w->first++];
    struct vcode_op *op;

    if (code == OP_VPOP_MRF)
        op = emit(m, code, 2, operand_reg(new_value(m)), operand_imm(0), NONE);
    else if (code == OP_SPOP)
        op = emit(m, code, 1, operand_reg(8 + below(m, 4)), NONE, NONE);
    else
        op = emit(m, code, 1, operand_reg(new_value(m)), NONE, NONE);
    op->op.unit_index = (uint8_t)(f < 8 ? f : f < 12 ? f - 8 : 0);
    if (w->first == w->end)
        w->first = w->end = 0;
}

static void add_waiting(struct maker *m, int f, enum isa_opcode pop, int count)
{
    for (int i = 0; i < count; i++)
        m->fifo[f].pop[m->fifo[f].end++] = pop;
}

static void make_room(struct maker *m, int f, int64_t depth, int count)
{
    while (fifo_count(&m->fifo[f]) + count > depth)
        pop_one(m, f);
}

static void make_mxu(struct maker *m)
{
    int mxu = below(m, (int)m->chip->mxu_count), which = below(m, 10);
    int latch = which >= 8 ? which - 7 : !m->is_loaded[mxu];
    struct isa_operand push[] = {NONE, operand_imm(0), operand_imm(MATRIX_F32),
                                 operand_imm(which == 4), operand_imm(which / 2 % 2)};
    struct isa_operand multiply[] = {NONE, operand_imm(0), operand_imm(MATRIX_F32),
                                     operand_imm(latch), operand_imm(0)};

    if (which < 5) {
        push[0] = operand_reg(a_value(m));
        vcode_emit(m->c, OP_VMATPUSH, 5, push)->op.unit_index = (uint8_t)mxu;
        return;
    }
    make_room(m, mxu, m->chip->mxu_fifo_depth, 1);
    multiply[0] = operand_reg(a_value(m));
    vcode_emit(m->c, OP_VMATMUL, 5, multiply)->op.unit_index = (uint8_t)mxu;
    m->is_loaded[mxu] = true;
    add_waiting(m, mxu, OP_VPOP_MRF, 1);
}

static void make_transpose(struct maker *m, int xlu)
{
    int width = 8 * (1 + below(m, 4)), tiles = 1 + below(m, 3);

    make_room(m, 8 + xlu, m->chip->xlu_fifo_depth, width / 8);
    for (int i = 0; i < tiles; i++) {
        enum isa_opcode code = tiles == 1 ? OP_VXPOSE_ONE : i == 0 ? OP_VXPOSE_START
                               : i == tiles - 1 ? OP_VXPOSE_END : OP_VXPOSE_CONT;

        emit(m, code, 3, operand_reg(a_value(m)), operand_imm(width),
             operand_imm(0))->op.unit_index =
            (uint8_t)xlu;
    }
    add_waiting(m, 8 + xlu, OP_VPOP_TRF, width / 8);
}

static void make_xlu(struct maker *m)
{
    int xlu = below(m, (int)m->chip->xlu_count), which = below(m, 3);
    struct vcode_op *op;

    if (which == 0) {
        make_transpose(m, xlu);
        return;
    }
    make_room(m, 8 + xlu, m->chip->xlu_fifo_depth, 1);
    if (which == 1) {
        op = emit(m, OP_VADD_XLANE, 1, operand_reg(a_value(m)), NONE, NONE);
    } else {
        struct isa_operand lane = operand_imm(below(m, 128));

        op = emit(m, OP_VBCAST_LANE, 2, operand_reg(a_value(m)), lane, NONE);
    }
    op->op.unit_index = (uint8_t)xlu;
    add_waiting(m, 8 + xlu, which == 1 ? OP_VPOP_XLANE : OP_VPOP_PERMUTE, 1);
}

static void make_eup_or_v2s(struct maker *m)
{
    bool is_eup = below(m, 3) > 0;
    int f = is_eup ? 12 : 13;
    struct isa_operand a;

    make_room(m, f, is_eup ? m->chip->eup_fifo_depth : m->chip->scalar_v2s_depth, 1);
    a = operand_reg(a_value(m));
    emit(m, is_eup ? (below(m, 2) ? OP_VRCP : OP_VTANH) : OP_VPUSH, 1, a, NONE, NONE);
    add_waiting(m, f, is_eup ? OP_VPOP_EUP : OP_SPOP, 1);
}

static void make_outside(struct maker *m)
{
    int word = 4 * below(m, 3);
    struct isa_operand dma[] = {operand_imm(0), operand_imm(128), operand_reg(8), operand_imm(3)};

    switch (m->r->has_outside ? below(m, 9) : 8) {
    case 0: vcode_emit(m->c, OP_DMA_HBM_VMEM, 4, dma); break;
    case 1: emit(m, OP_DMA_DONE, 2, operand_imm(3), operand_imm(128), NONE); break;
    case 2: case 3: case 4:
        emit(m, OP_SLD, 3, operand_reg(8 + below(m, 4)), NONE, operand_imm(word));
        break;
    case 5: case 6: case 7:
        emit(m, OP_SST, 3, NONE, operand_imm(word), operand_reg(8 + below(m, 4)));
        break;
    default: emit(m, OP_VTRACE, 1, operand_imm(below(m, 9)), NONE, NONE);
    }
}

static void make_op(struct maker *m)
{
    int dice = below(m, 100), f = below(m, FIFO_MAX);

    if (dice < 25)
        make_load_or_store(m);
    else if (dice < 50)
        make_lanes(m);
    else if (dice < 58)
        make_scalar(m);
    else if (dice < 70)
        make_mxu(m);
    else if (dice < 77)
        make_xlu(m);
    else if (dice < 84)
        make_eup_or_v2s(m);
    else if (dice < 87 && !m->r->has_steps)
        make_outside(m);
    else if (fifo_count(&m->fifo[f]))
        pop_one(m, f);
}

static void make_block(struct maker *m)
{
    m->value_count = m->mask_count = 0;
    for (int i = 0; i < 4; i++)
        emit(m, OP_VMOV, 2, operand_reg(new_value(m)), operand_imm(0x3f800000 + i), NONE);
    m->mask[m->mask_count++] = vcode_mask(m->c);
    emit(m, OP_VCMP_EQ_S32, 3, operand_reg(m->mask[0]), operand_reg(m->value[0]),
         operand_reg(m->value[1]));
    for (int i = 0; i < m->r->op_count; i++)
        make_op(m);
    for (int f = 0; f < FIFO_MAX; f++)
        while (fifo_count(&m->fifo[f]))
            pop_one(m, f);
    for (int i = 0; i < 8; i++)
        make_load_or_store(m);
    for (int region = 0; region < REGION_COUNT && !m->r->has_steps; region++) {
        emit(m, OP_SSUB, 3, operand_reg(1 + region), operand_reg(1 + region),
             operand_imm(m->pointer_delta[region]));
        m->pointer_delta[region] = 0;
    }
}

/* a loop over one block; each pointer runs through a part of its region */
static void make_stepping_loop(struct maker *m)
{
    static const int steps[] = {0, 1, 3, 8, 8, 8, 16, -8, -1};
    int count = 1 + below(m, below(m, 2) ? 4 : 20), step[REGION_COUNT];

    for (int i = 0; i < REGION_COUNT; i++) {
        int span;

        step[i] = steps[below(m, 9)];
        span = step[i] * (count - 1);
        m->based_rows[i] = 16 + below(m, 12) * 8;
        emit(m, OP_SMOV, 2, operand_reg(1 + i),
             operand_imm(i * m->region_rows - (span < 0 ? span : 0)), NONE);
        assert_in_range(abs(span) + m->based_rows[i], 0, m->region_rows);
    }
    m->is_streaming = below(m, 3) > 0;
    vcode_loop_begin(m->c, 20, count);
    for (int i = 0; i < REGION_COUNT; i++)
        vcode_loop_step(m->c, 1 + i, step[i]);
    vcode_loop_step(m->c, 12, 5);
    make_block(m);
    vcode_loop_end(m->c, 20);
}

static void make_program(struct maker *m)
{
    for (int i = 0; i < REGION_COUNT; i++) {
        emit(m, OP_SMOV, 2, operand_reg(1 + i), operand_imm(i * m->region_rows), NONE);
        emit(m, OP_SMOV, 2, operand_reg(8 + i), operand_imm(17 * i), NONE);
    }
    for (int i = 0; i < PINNED_COUNT; i++)
        emit(m, OP_VMOV, 2, operand_reg(m->pinned[i]), operand_imm(i), NONE);
    if (m->r->has_steps) {
        for (int i = 0; i < 3; i++)
            make_stepping_loop(m);
        return;
    }
    make_block(m);
    vcode_loop_begin(m->c, 20, 1 + below(m, 3));
    m->c->note = "outer";
    if (below(m, 2))
        make_block(m);
    vcode_loop_begin(m->c, 21, 1 + below(m, 3));
    m->c->note = "inner";
    make_block(m);
    if (below(m, 2)) {
        vcode_begin_block(m->c);
        make_block(m);
    }
    vcode_loop_end(m->c, 21);
    if (below(m, 2))
        make_block(m);
    vcode_loop_end(m->c, 20);
    m->c->note = "last";
    vcode_begin_block(m->c);
    make_block(m);
    for (int i = 0; i < PINNED_COUNT; i++) {
        struct isa_operand o[] = {NONE, operand_imm(8 * i), operand_imm(1), operand_imm(0xff),
                                  operand_reg(m->pinned[i])};

        vcode_emit(m->c, OP_VST, 5, o)->region = 0;
    }
}

void random_vcode_emit(struct vcode *c, const struct chip *chip, const struct random_vcode *r)
{
    struct maker *m = test_calloc(1, sizeof(*m));

    m->c = c;
    m->chip = chip;
    m->r = r;
    rng_init(&m->rng, r->seed);
    for (int i = 0; i < PINNED_COUNT; i++)
        m->pinned[i] = vcode_pinned_vreg(c);
    m->region_rows = (r->has_steps ? RANDOM_STEPS_ROWS : RANDOM_ROWS) / REGION_COUNT;
    for (int i = 0; i < REGION_COUNT; i++)
        m->based_rows[i] = m->region_rows;
    make_program(m);
    test_free(m);
}
