/* Loads and stores, the transcendental and the cross-lane units, words to the scalar unit. */
#include "tests/generate/random_maker.h"

#include "base/units.h"
#include "tests/test.h"

#define ROW_BYTES_OF_MEMORY 512
#define INDEX_MASK 15                   /* rows that an index address register may add */

static int first_operand(const struct isa_op *op, char role)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int i = 0; i < info->choice_first; i++)
        if (info->role[i] == role)
            return i;
    return -1;
}

static int any_stride(struct maker *m)
{
    static const int strides[] = {1, 1, 1, 1, 0, 2, 3, 8, 16, 31};

    return strides[below(m, COUNT_OF(strides))];
}

/* stride, sublane mask, pattern, register, lane mask: what the format has of them */
static int fill_access(struct maker *m, struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    int stride = any_stride(m);

    for (int i = 0; i < info->choice_first; i++) {
        struct isa_operand *o = &op->operand[i];

        switch (info->role[i]) {
        case 'd': case 'v': *o = reg(any_vreg(m)); break;
        case 'e': *o = reg(writable_sreg(m)); break;
        case 'S': *o = chance(m, 30) ? imm(random_word(&m->rng)) : reg(any_sreg(m)); break;
        case 'n': *o = reg(below(m, ISA_MASK_COUNT)); break;
        case 'T': *o = imm(stride); break;
        case 'M': *o = imm(chance(m, 60) ? 0xff : below(m, 256)); break;
        case 'R': *o = imm((int32_t)(rng_next(&m->rng) & 0x77777777u)); break;
        default: break;
        }
    }
    if (first_operand(op, 'T') < 0)
        return 1 + INDEX_MASK;
    return 1 + 7 * stride;
}

/* put 0..INDEX_MASK into every word of a register, or such a register into an index register */
static void make_index(struct maker *m)
{
    struct isa_op op;
    int v = any_vreg(m), i;

    for (i = 0; i < m->limits.vreg_count && !m->is_index[v]; i++)
        v = (v + 1) % m->limits.vreg_count;
    if (m->is_index[v]) {
        fresh_op(m, &op, OP_VSETIAR);
        op.operand[0] = reg(v);
        maybe_guard(m, &op);
        emit(m, &op);
        return;
    }
    fresh_op(m, &op, OP_VAND_U32);
    op.operand[0] = reg(v);
    op.operand[1] = reg(any_vreg(m));
    op.operand[2] = imm(INDEX_MASK);
    if (emit(m, &op))
        m->is_index_next[v] = true;
}

static bool is_kept_from_timing(enum isa_opcode code)
{
    return code == OP_VSETIAR || code == OP_VLD_IAR || code == OP_VST_IAR || code == OP_VPUSH ||
           code == OP_SPOP;
}

/* what a load to the CMEM FIFO does there */
static void make_cmem_load(struct maker *m)
{
    struct isa_op op;
    int span;

    fresh_op(m, &op, OP_CLD);
    span = fill_access(m, &op);
    set_guard(&op, fifo_guard(m, FIFO_CRF));
    if (fifo_takes(m, FIFO_CRF, 0, guard_of(&op), 1)
        && pick_address(m, IN_CMEM, ROW_BYTES_OF_MEMORY, span, false, &op.operand[0])
        && emit(m, &op))
        fifo_push(m, FIFO_CRF, 0, guard_of(&op), 1);
}

static void make_access(struct maker *m, enum isa_opcode code)
{
    bool is_word = code == OP_SLD || code == OP_SST;
    bool is_store = isa_info(code)->unit == UNIT_STORE || code == OP_SST;
    struct isa_op op;
    int span, base;

    fresh_op(m, &op, code);
    span = fill_access(m, &op);
    base = first_operand(&op, 'B');
    if (code == OP_SLD && op.operand[0].value < 0)
        return;
    if (!pick_address(m, is_word ? IN_SMEM : IN_VMEM, is_word ? 4 : ROW_BYTES_OF_MEMORY,
                      is_word ? 1 : span, is_store, &op.operand[base]))
        return;
    maybe_guard(m, &op);
    emit(m, &op);
}

void make_memory(struct maker *m)
{
    static const enum isa_opcode code[] = {
        OP_VLD, OP_VLD, OP_VST, OP_VST, OP_VLD_SSHFL, OP_VST_SSHFL, OP_VST_MSK, OP_SLD, OP_SST,
        OP_VLD_IAR, OP_VST_IAR, OP_VSETIAR};
    enum isa_opcode which = code[below(m, COUNT_OF(code))];

    if (m->r->options.for_timing && is_kept_from_timing(which))
        return;
    if (which == OP_VSETIAR)
        make_index(m);
    else
        make_access(m, which);
}

static bool push_word(struct maker *m, int fifo, uint8_t guard)
{
    int count = fifo == FIFO_DRF ? 2 : 1;
    struct isa_op op;

    if (!fifo_takes(m, fifo, 0, guard, count))
        return false;
    fresh_op(m, &op, fifo == FIFO_DRF ? OP_SDIVREM : OP_VPUSH);
    op.operand[0] = fifo == FIFO_DRF ? reg(any_sreg(m)) : reg(any_vreg(m));
    if (fifo == FIFO_DRF)
        op.operand[1] = chance(m, 50) ? imm(below(m, 9)) : reg(any_sreg(m));
    set_guard(&op, guard);
    if (!emit(m, &op))
        return false;
    fifo_push(m, fifo, 0, guard, count);
    return true;
}

/* what goes through a FIFO by itself: words to the scalar unit, tiles from CMEM */
void make_word(struct maker *m)
{
    int fifo = below(m, 2) && !m->r->options.for_timing ? FIFO_V2S : FIFO_DRF;

    if (m->r->cmem.bytes > 0 && chance(m, 50))
        fifo = FIFO_CRF;
    if (chance(m, 55))
        pop_entry(m, fifo);
    else if (fifo == FIFO_CRF)
        make_cmem_load(m);
    else
        push_word(m, fifo, fifo_guard(m, fifo));
}

/* an operation of the unit, by the table; `class` tells reductions from permutes */
static enum isa_opcode any_of_unit(struct maker *m, enum isa_unit unit, enum isa_slot slot,
                                   uint64_t classes)
{
    struct isa_op op;

    for (;;) {
        enum isa_opcode code = (enum isa_opcode)below(m, OP_COUNT);
        const struct isa_info *info = isa_info(code);

        if (info->unit != unit || info->slot != slot || !(classes >> info->latency_class & 1u))
            continue;
        fresh_op(m, &op, code);
        for (int i = 0; i < info->choice_first; i++)
            op.operand[i] = info->role[i] == 'i' ? imm(0) : reg(0);
        if (chip_has(m, &op))
            return code;
    }
}

#define ANY_CLASS UINT64_MAX
#define CLASS_BIT(c) (UINT64_C(1) << (c))

static bool fill_push(struct maker *m, struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int i = 0; i < info->choice_first; i++) {
        switch (info->role[i]) {
        case 'v': op->operand[i] = reg(any_vreg(m)); break;
        case 'S': op->operand[i] = chance(m, 50) ? imm(below(m, 300)) : reg(any_sreg(m)); break;
        case 'i': op->operand[i] = imm(below(m, 128) | (chance(m, 30) ? 256 : 0)); break;
        default: fail_msg("no random operand for '%c' of a push", info->role[i]);
        }
    }
    return chip_has(m, op);
}

static bool push_eup(struct maker *m, uint8_t guard)
{
    struct isa_op op;

    if (!fifo_takes(m, FIFO_EUP, 0, guard, 1))
        return false;
    fresh_op(m, &op, any_of_unit(m, UNIT_EUP, SLOT_EUP, ANY_CLASS));
    set_guard(&op, guard);
    if (!fill_push(m, &op) || !emit(m, &op))
        return false;
    fifo_push(m, FIFO_EUP, 0, guard, 1);
    return true;
}

void make_eup(struct maker *m)
{
    if (chance(m, 50))
        push_eup(m, fifo_guard(m, FIFO_EUP));
    else
        pop_entry(m, FIFO_EUP);
}

static bool push_lanes(struct maker *m, int unit, bool is_reduction, uint8_t guard)
{
    int fifo = FIFO_XLU + unit, kind = is_reduction ? OP_VPOP_XLANE : OP_VPOP_PERMUTE;
    struct isa_op op;

    if (!fifo_takes(m, fifo, kind, guard, 1))
        return false;
    fresh_op(m, &op, any_of_unit(m, UNIT_XLU, SLOT_PUSH,
                                 CLASS_BIT(is_reduction ? CLASS_XRED : CLASS_XPERM)));
    op.unit_index = (uint8_t)unit;
    set_guard(&op, guard);
    if (!fill_push(m, &op) || !emit(m, &op))
        return false;
    fifo_push(m, fifo, kind, guard, 1);
    return true;
}

/* the next tile of the open transpose, or the only one of a new one when `opens` and `closes` */
static bool push_transpose(struct maker *m, int unit, bool opens, bool closes)
{
    struct xlu_unit *x = &m->xlu[unit];
    int rows = isa_xpose_rows(x->type), fifo = FIFO_XLU + unit;
    struct isa_op op;

    if (closes && !fifo_takes(m, fifo, OP_VPOP_TRF, x->guard, x->width / rows))
        return false;
    fresh_op(m, &op, opens ? closes ? OP_VXPOSE_ONE : OP_VXPOSE_START
                           : closes ? OP_VXPOSE_END : OP_VXPOSE_CONT);
    op.unit_index = (uint8_t)unit;
    op.operand[0] = reg(any_vreg(m));
    op.operand[1] = imm(x->width);
    op.operand[ISA_XPOSE_TYPE] = imm(x->type);
    set_guard(&op, x->guard);
    if (!chip_has(m, &op) || !emit(m, &op))
        return false;
    x->is_open = !closes;
    x->rows = closes ? 0 : x->rows + rows;
    if (opens && !closes)
        pin(m, x->guard, 1);
    if (!opens && closes)
        pin(m, x->guard, -1);
    if (closes)
        fifo_push(m, fifo, OP_VPOP_TRF, x->guard, x->width / rows);
    return true;
}

static void make_transpose(struct maker *m, int unit)
{
    struct xlu_unit *x = &m->xlu[unit];
    int rows;

    if (!x->is_open) {
        x->guard = fifo_guard(m, FIFO_XLU + unit);
        x->type = below(m, 5);
        rows = isa_xpose_rows(x->type);
        x->width = rows * (1 + below(m, 128 / rows));
        if (fifo_takes(m, FIFO_XLU + unit, OP_VPOP_TRF, x->guard, 0)
            && x->width / rows <= m->fifo[FIFO_XLU + unit].depth)
            push_transpose(m, unit, true, chance(m, 40));
        return;
    }
    rows = isa_xpose_rows(x->type);
    push_transpose(m, unit, false, x->rows + rows >= 128 || chance(m, 30));
}

void make_xlu(struct maker *m)
{
    int unit = below(m, m->limits.xlu_count);

    if (chance(m, 45)) {
        pop_entry(m, FIFO_XLU + unit);
    } else if (m->xlu[unit].is_open || chance(m, 30)) {
        make_transpose(m, unit);
    } else {
        uint8_t guard = fifo_guard(m, FIFO_XLU + unit);

        push_lanes(m, unit, chance(m, 50), guard);
    }
}

void close_transposes(struct maker *m)
{
    for (int unit = 0; unit < m->limits.xlu_count; unit++)
        while (m->xlu[unit].is_open && !push_transpose(m, unit, false, true))
            if (!pop_entry(m, FIFO_XLU + unit))
                end_bundle(m);
}

/* the operation that pops the head of a FIFO */
static enum isa_opcode pop_code(int fifo, const struct queued *head)
{
    switch (fifo) {
    case FIFO_EUP: return OP_VPOP_EUP;
    case FIFO_CRF: return OP_VPOP_CRF;
    case FIFO_V2S: return OP_SPOP;
    case FIFO_DRF: return OP_SPOP_DRF;
    default: return (enum isa_opcode)head->kind;
    }
}

bool pop_entry(struct maker *m, int fifo)
{
    const struct queued *head = fifo_head(m, fifo);
    bool is_word = fifo == FIFO_V2S || fifo == FIFO_DRF;
    struct isa_op op;

    if (fifo >= FIFO_RESULT)
        return matrix_pop_entry(m, fifo);
    if (!head)
        return false;
    fresh_op(m, &op, pop_code(fifo, head));
    op.operand[0] = reg(is_word ? writable_sreg(m) : any_vreg(m));
    if (fifo >= FIFO_XLU)
        op.unit_index = (uint8_t)(fifo - FIFO_XLU);
    set_guard(&op, head->guard);
    if (op.operand[0].value < 0 || !emit(m, &op))
        return false;
    fifo_pop(m, fifo);
    return true;
}

bool push_entry(struct maker *m, int fifo)
{
    struct queued like = m->fifo[fifo].entry[0];
    int unit = fifo - FIFO_XLU;

    if (fifo >= FIFO_RESULT)
        return matrix_push_entry(m, fifo);
    switch (fifo) {
    case FIFO_EUP: return push_eup(m, like.guard);
    case FIFO_CRF: make_cmem_load(m); return false;
    case FIFO_V2S: return push_word(m, fifo, like.guard);
    case FIFO_DRF:
        return m->fifo[fifo].count + 2 > m->fifo[fifo].depth ? pop_entry(m, fifo)
                                                             : push_word(m, fifo, like.guard);
    default: break;
    }
    if (like.kind != OP_VPOP_TRF)
        return push_lanes(m, unit, like.kind == OP_VPOP_XLANE, like.guard);
    m->xlu[unit] = (struct xlu_unit){.guard = like.guard, .width = 8};
    return push_transpose(m, unit, true, true);
}
