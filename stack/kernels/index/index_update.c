/*
 * Emits how an update is combined with the old word: it replaces it, or the scatter's operation
 * joins both.
 */
#include "stack/kernels/index/index_update.h"

#include <assert.h>

static int shifted(struct index_work *w, enum isa_opcode code, int v, struct isa_operand by)
{
    struct move_code *m = &w->m;

    if (by.kind == OPERAND_IMM && !by.value)
        return v;
    return move_v2(m, code, v, by.kind == OPERAND_IMM ? by : operand_reg(move_splat(m, by)));
}

static int32_t all_bits(const struct index_work *w)
{
    return w->pack == 1 ? -1 : (int32_t)((1u << w->element_bits) - 1);
}

/* an element's bits as a number of 32 bits */
static int widen(struct index_work *w, int v)
{
    struct move_code *m = &w->m;

    if (w->result->shape.dtype == DTYPE_BF16)
        return move_v2(m, OP_VSHLL_U32, v, operand_imm(16));
    if (w->result->shape.dtype == DTYPE_S8)
        return move_v2(m, OP_VSHRA_S32, move_v2(m, OP_VSHLL_U32, v, operand_imm(24)),
                       operand_imm(24));
    return v;
}

static int narrow(struct index_work *w, int v)
{
    struct move_code *m = &w->m;

    if (w->result->shape.dtype == DTYPE_BF16)
        v = move_v2(m, OP_VPACK_I_BF16, v, operand_reg(v));
    return w->pack == 1 ? v : move_v2(m, OP_VAND_U32, v, operand_imm(all_bits(w)));
}

struct rule { enum isa_opcode code; int choices; int32_t choice[2]; };
#define PLAIN(code) {OP_##code, 0, {0, 0}}      /* an operation without choices */

/* of numbers of 32 bits, by type class: f32, s32, u32 */
static struct rule rule_of(const struct index_work *w)
{
    static const struct rule rules[REDUCE_OR + 1][3] = {
        [REDUCE_ADD] = {PLAIN(VADD_F32), PLAIN(VADD_S32), PLAIN(VADD_S32)},
        [REDUCE_MUL] = {PLAIN(VMUL_F32), PLAIN(VMUL_U32), PLAIN(VMUL_U32)},
        [REDUCE_MAX] = {PLAIN(VMAX_F32), {OP_VMAX_INT, 2, {0, 0}}, {OP_VMAX_INT, 2, {0, 1}}},
        [REDUCE_MIN] = {PLAIN(VMIN_F32), {OP_VMAX_INT, 2, {1, 0}}, {OP_VMAX_INT, 2, {1, 1}}},
        [REDUCE_AND] = {PLAIN(VAND_U32), PLAIN(VAND_U32), PLAIN(VAND_U32)},
        [REDUCE_OR] = {PLAIN(VOR_U32), PLAIN(VOR_U32), PLAIN(VOR_U32)}};
    static const int class_of[DTYPE_COUNT] = {[DTYPE_S32] = 1, [DTYPE_S8] = 1, [DTYPE_U32] = 2,
                                              [DTYPE_U8] = 2, [DTYPE_PRED] = 2};

    assert(w->combine <= REDUCE_OR);
    return rules[w->combine][class_of[w->result->shape.dtype]];
}

static int combined(struct index_work *w, int old, int new)
{
    struct rule r;

    if (w->combine == REDUCE_REPLACE)
        return new;
    r = rule_of(w);
    return narrow(w, move_v2_choice(&w->m, r.code, widen(w, old), operand_reg(widen(w, new)),
                                    r.choices, r.choice));
}

int index_update(struct index_work *w, int old, int new, const struct index_part *part, int mask)
{
    struct move_code *m = &w->m;
    int value, hole;

    if (w->pack == 1) {
        value = combined(w, old, new);
        return mask < 0 ? value : move_select(m, mask, operand_reg(value), operand_reg(old));
    }
    new = move_v2(m, OP_VAND_U32, shifted(w, OP_VSHRL_U32, new, part->new_shift),
                  operand_imm(all_bits(w)));
    value = move_v2(m, OP_VAND_U32, shifted(w, OP_VSHRL_U32, old, part->old_shift),
                    operand_imm(all_bits(w)));
    value = shifted(w, OP_VSHLL_U32, combined(w, value, new), part->old_shift);
    hole = shifted(w, OP_VSHLL_U32, move_splat(m, operand_imm(all_bits(w))), part->old_shift);
    hole = move_v2(m, OP_VXOR_U32, hole, operand_imm(-1));
    value = move_v2(m, OP_VOR_U32, move_v2(m, OP_VAND_U32, old, operand_reg(hole)),
                    operand_reg(value));
    return mask < 0 ? value : move_select(m, mask, operand_reg(value), operand_reg(old));
}
