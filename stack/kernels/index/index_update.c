/*
 * Emits how an update is combined with the old word: it replaces it, or the scatter's operation
 * joins both.
 */
#include "stack/kernels/index/index_update.h"

#include "stack/kernels/loop/fused.h"

#include <assert.h>

static int shifted(struct index_work *w, enum isa_opcode code, int v, struct isa_operand by)
{
    struct builder *m = &w->m;

    if (by.kind == OPERAND_IMM && !by.value)
        return v;
    return emit_d_vv(m->code, code, R(v), by.kind == OPERAND_IMM ? by : R(builder_splat(m, by)));
}

static int32_t all_bits(const struct index_work *w)
{
    return w->pack == 1 ? -1 : (int32_t)((1u << w->element_bits) - 1);
}

/* an element's bits as a number of 32 bits */
static int widen(struct index_work *w, int v)
{
    struct builder *m = &w->m;

    if (w->result->shape.dtype == DTYPE_BF16)
        return emit_vshll_u32(m->code, R(v), I(16));
    if (w->result->shape.dtype == DTYPE_S8)
        return emit_vshra_s32(m->code, R(emit_vshll_u32(m->code, R(v), I(24))), I(24));
    return v;
}

static int narrow(struct index_work *w, int v)
{
    struct builder *m = &w->m;

    if (w->result->shape.dtype == DTYPE_BF16)
        v = emit_vpack_i_bf16(m->code, R(v), R(v));
    return w->pack == 1 ? v : emit_vand_u32(m->code, R(v), I(all_bits(w)));
}

static int combined_words(struct index_work *w, int old, int new)
{
    enum graph_dtype t = w->result->shape.dtype;
    int to = vcode_vreg(&w->code);

    assert(w->combine <= REDUCE_OR);
    vcode_put(&w->code,
              fused_combine(w->combine, t == DTYPE_PRED ? DTYPE_U32 : t, to, R(old), R(new)));
    return to;
}

static int combined(struct index_work *w, int old, int new)
{
    int wide;

    if (w->combine == REDUCE_REPLACE)
        return new;
    wide = widen(w, new);
    return narrow(w, combined_words(w, widen(w, old), wide));
}

int index_update(struct index_work *w, int old, int new, const struct index_part *part, int mask)
{
    struct builder *m = &w->m;
    int value, hole;

    if (w->pack == 1) {
        value = combined(w, old, new);
        return mask < 0 ? value : emit_vsel(m->code, mask, R(value), R(old));
    }
    new = emit_vand_u32(m->code, R(shifted(w, OP_VSHRL_U32, new, part->new_shift)), I(all_bits(w)));
    value =
        emit_vand_u32(m->code, R(shifted(w, OP_VSHRL_U32, old, part->old_shift)), I(all_bits(w)));
    value = shifted(w, OP_VSHLL_U32, combined(w, value, new), part->old_shift);
    hole = shifted(w, OP_VSHLL_U32, builder_splat(m, I(all_bits(w))), part->old_shift);
    hole = emit_vxor_u32(m->code, R(hole), I(-1));
    value = emit_vor_u32(m->code, R(emit_vand_u32(m->code, R(old), R(hole))), R(value));
    return mask < 0 ? value : emit_vsel(m->code, mask, R(value), R(old));
}
