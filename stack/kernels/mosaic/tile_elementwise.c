/*
 * Arithmetic of vectors on one tile, in the forms of stack/kernels/loop/fused_float.c: what a kernel
 * of Pallas computes has the same bits as the same operation outside of one.
 */
#include "stack/kernels/mosaic/tile.h"

#include <string.h>

static const enum graph_op graph_ops[MOSAIC_UNKNOWN] = {
#define LOWER(id, run, tile, op) [MOSAIC_##id] = op,
#include "stack/kernels/mosaic/lower.def"
};

static bool pull2(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *a,
                  opnd *b)
{
    if (!tile_pull(t, op->operand[0], at, a) ||
        !tile_pull(t, op->operand[op->operand_count - 1], at, b))
        return false;
    if (op->operand_count > 1 && op->operand[0]->type.element != MOSAIC_I1)
        tile_meet(t, at, a, b);
    return true;
}

/* a result of bf16 is rounded, unless all who read it pack it, which rounds */
static opnd rounded(struct tiler *t, const struct mosaic_op *op, opnd x)
{
    if (mosaic_is_fp8(op->result[0]->type.element))
        return tile_round_fp8(t, op->result[0]->type.element, x);
    if (op->result[0]->type.element != MOSAIC_BF16 || t->l->only_packed[op->result[0]->id])
        return x;
    return fused_round_bf16(t->c, x);
}

/* operands of constants come as one constant; the formulas want a register somewhere */
static opnd in_register(struct tiler *t, opnd x)
{
    return R(vcode_in_register(t->c, x));
}

bool tile_constant(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                   opnd *out)
{
    const struct mosaic_attr *a = mosaic_attr(op, "value");

    (void)at;
    if (a->kind != MOSAIC_ATTR_ELEMENTS || !a->is_splat)
        return tile_fail(t, op, "a vector of different constants");
    *out = I((int32_t)a->element[0]);
    if (op->result[0]->type.element == MOSAIC_I1) {
        int m = vcode_mask(t->c);

        vcode_put(t->c, isa_vmmov(m, I(a->element[0] & 1)));
        *out = R(m);
    }
    return true;
}

opnd tile_arithmetic(struct vcode *c, const struct mosaic_op *op, opnd a, opnd b)
{
    switch (op->code) {
    case MOSAIC_EXP2: return power_of_two(c, a);
    case MOSAIC_LOG2: return binary_log(c, a);
    case MOSAIC_RECIPROCAL: return reciprocal(c, a);
    default:
        return op->operand_count == 1 ? fused_float_unary(c, graph_ops[op->code], a)
                                      : fused_float_binary(c, graph_ops[op->code], a, b);
    }
}

bool tile_float(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    enum graph_op graph_op = graph_ops[op->code];
    opnd a, b;

    if (!pull2(t, op, at, &a, &b))
        return false;
    if (op->operand_count == 1)
        *out = fused_float_unary(t->c, graph_op, in_register(t, a));
    else if (op->code == MOSAIC_DIVF && a.kind == OPERAND_IMM && a.value == F(1).value)
        *out = reciprocal(t->c, b);
    else
        *out = fused_float_binary(t->c, graph_op, a.kind == OPERAND_IMM && b.kind == OPERAND_IMM
                                                      ? in_register(t, a) : a, b);
    *out = rounded(t, op, *out);
    return true;
}

bool tile_exp2(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    opnd a;

    if (!tile_pull(t, op->operand[0], at, &a))
        return false;
    *out = rounded(t, op, power_of_two(t->c, a));
    return true;
}

bool tile_log2(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    opnd a;

    if (!tile_pull(t, op->operand[0], at, &a))
        return false;
    *out = rounded(t, op, binary_log(t->c, a));
    return true;
}

bool tile_reciprocal(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                     opnd *out)
{
    opnd a;

    if (!tile_pull(t, op->operand[0], at, &a))
        return false;
    *out = rounded(t, op, reciprocal(t->c, a));
    return true;
}

bool tile_weird(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    opnd a;

    if (!tile_pull(t, op->operand[0], at, &a))
        return false;
    *out = R(emit_vweird_f32(t->c, vcode_in_register(t->c, a)));
    return true;
}

/* ----- integers and truths */

static bool on_masks(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                     opnd *out)
{
    opnd a, b;

    if (!pull2(t, op, at, &a, &b))
        return false;
    switch (op->code) {
    case MOSAIC_ANDI: case MOSAIC_MULI: case MOSAIC_MINUI:
        *out = R(emit_vmand(t->c, a.value, b.value));
        return true;
    case MOSAIC_ORI: case MOSAIC_MAXUI:
        *out = R(emit_vmor(t->c, a.value, b.value));
        return true;
    case MOSAIC_XORI: case MOSAIC_ADDI: case MOSAIC_SUBI:
        *out = R(emit_vmxor(t->c, a.value, b.value));
        return true;
    default: return tile_fail(t, op, "of truths");
    }
}

bool tile_integer(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    enum mosaic_element e = op->result[0]->type.element;
    bool is_unsigned = op->code == MOSAIC_DIVUI || op->code == MOSAIC_REMUI ||
                       op->code == MOSAIC_MINUI || op->code == MOSAIC_MAXUI;
    enum graph_dtype dtype = e == MOSAIC_I8 ? is_unsigned ? DTYPE_U8 : DTYPE_S8
                             : is_unsigned ? DTYPE_U32 : DTYPE_S32;
    opnd a, b;

    if (e == MOSAIC_I1)
        return on_masks(t, op, at, out);
    if (e != MOSAIC_I8 && mosaic_element_bits(e) != 32)
        return tile_fail(t, op, "of vectors of %s", mosaic_element_name(e));
    if (!pull2(t, op, at, &a, &b))
        return false;
    if (a.kind == OPERAND_IMM && b.kind == OPERAND_IMM)
        a = in_register(t, a);
    if (dtype == DTYPE_U8) {
        a = bit_and(t->c, in_register(t, a), I(255));
        b = bit_and(t->c, in_register(t, b), I(255));
    }
    *out = op->operand_count == 1
               ? fused_integer_unary(t->c, graph_ops[op->code], dtype, in_register(t, a))
               : fused_integer_binary(t->c, graph_ops[op->code], dtype, a, b);
    return true;
}

bool tile_cmpi(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    static const enum isa_opcode is_signed[] = {OP_VCMP_EQ_S32, OP_VCMP_NE_S32, OP_VCMP_LT_S32,
                                                OP_VCMP_LE_S32, OP_VCMP_GT_S32, OP_VCMP_GE_S32};
    static const enum isa_vcmp_u32_x0 is_unsigned[] = {VCMP_U32_LT, VCMP_U32_LE, VCMP_U32_GT,
                                                       VCMP_U32_GE};
    int64_t predicate = mosaic_int(op, "predicate", 0);
    opnd a, b;
    int m;

    if (predicate < 0 || predicate > 9)
        return tile_fail(t, op, "predicate %lld", (long long)predicate);
    if (!pull2(t, op, at, &a, &b))
        return false;
    if (op->operand[0]->type.element == MOSAIC_I1) {
        m = emit_vmxor(t->c, a.value, b.value);
        if (predicate > 1)
            return tile_fail(t, op, "truths by predicate %lld", (long long)predicate);
        *out = R(predicate == 0 ? emit_vmneg(t->c, m) : m);
        return true;
    }
    if (predicate < 6) {
        m = vcode_mask(t->c);
        vcode_put(t->c, isa_make_m_vv(is_signed[predicate], m, in_register(t, a), b));
        *out = R(m);
    } else {
        *out = R(emit_vcmp_u32(t->c, in_register(t, a), b, is_unsigned[predicate - 6]));
    }
    return true;
}

/* Ordered comparisons are false of NaN, unordered ones negations of the opposite; 6 is JAX's !=, which
 * NaN satisfies (stack/mosaic/run_elementwise.c). */
bool tile_cmpf(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    static const enum isa_opcode codes[] = {
        [1] = OP_VCMP_EQ_F32, [2] = OP_VCMP_GT_F32, [3] = OP_VCMP_GE_F32, [4] = OP_VCMP_LT_F32,
        [5] = OP_VCMP_LE_F32, [6] = OP_VCMP_NE_F32, [9] = OP_VCMP_LE_F32, [10] = OP_VCMP_LT_F32, [11] = OP_VCMP_GE_F32,
        [12] = OP_VCMP_GT_F32, [13] = OP_VCMP_NE_F32};
    int64_t predicate = mosaic_int(op, "predicate", 0);
    opnd a, b;
    int m;

    if (predicate < 1 || predicate > 14 || predicate == 8)
        return tile_fail(t, op, "predicate %lld", (long long)predicate);
    if (!pull2(t, op, at, &a, &b))
        return false;
    a = in_register(t, a);
    m = vcode_mask(t->c);
    if (predicate == 14 || predicate == 7) {    /* one is no number; both are */
        int n = vcode_mask(t->c);

        b = in_register(t, b);
        vcode_put(t->c, isa_make_m_vv(OP_VCMP_NE_F32, m, a, a));
        vcode_put(t->c, isa_make_m_vv(OP_VCMP_NE_F32, n, b, b));
        m = emit_vmor(t->c, m, n);
        *out = R(predicate == 7 ? emit_vmneg(t->c, m) : m);
        return true;
    }
    vcode_put(t->c, isa_make_m_vv(codes[predicate], m, a, b));
    *out = R(predicate >= 9 && predicate <= 12 ? emit_vmneg(t->c, m) : m);
    return true;
}

bool tile_select(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    opnd a, b;
    int m;

    if (!tile_pull(t, op->operand[1], at, &a) || !tile_pull(t, op->operand[2], at, &b) ||
        !tile_mask_beside(t, op->operand[0], at, &a, &b, &m))
        return false;
    if (op->result[0]->type.element == MOSAIC_I1) {
        int yes = emit_vmand(t->c, m, a.value);
        int no = emit_vmand(t->c, emit_vmneg(t->c, m), b.value);

        *out = R(emit_vmor(t->c, yes, no));
        return true;
    }
    tile_meet(t, at, &a, &b);
    *out = choose(t->c, m, a, b);
    return true;
}

/* ----- conversions */

static bool from_mask(struct tiler *t, const struct mosaic_op *op, int m, opnd *out)
{
    bool is_signed = op->code == MOSAIC_EXTSI || op->code == MOSAIC_SITOFP;

    if (mosaic_is_float(&op->result[0]->type))
        *out = choose(t->c, m, F(is_signed ? -1 : 1), F(0));
    else
        *out = choose(t->c, m, I(is_signed ? -1 : 1), I(0));
    return true;
}

/* as it is in registers */
static enum graph_dtype dtype_of(enum mosaic_element e, bool is_unsigned)
{
    switch (e) {
    case MOSAIC_F32: case MOSAIC_BF16: case MOSAIC_F8E5M2: case MOSAIC_F8E4M3FN:
    case MOSAIC_F8E4M3B11FNUZ:
        return DTYPE_F32;
    case MOSAIC_I8: return is_unsigned ? DTYPE_U8 : DTYPE_S8;
    case MOSAIC_I32: case MOSAIC_INDEX: return is_unsigned ? DTYPE_U32 : DTYPE_S32;
    default: return DTYPE_COUNT;
    }
}

bool tile_convert(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    enum mosaic_element from = op->operand[0]->type.element, to = op->result[0]->type.element;
    enum mosaic_code c = op->code;
    bool is_unsigned = c == MOSAIC_EXTUI || c == MOSAIC_UITOFP || c == MOSAIC_FPTOUI ||
                       c == MOSAIC_TPU_UITOFP || c == MOSAIC_TPU_FPTOUI;
    opnd a;

    if (!tile_pull(t, op->operand[0], at, &a))
        return false;
    if (from == MOSAIC_I1)
        return from_mask(t, op, a.value, out);
    a = in_register(t, a);
    if (is_unsigned && from == MOSAIC_I8)
        a = bit_and(t->c, a, I(255));   /* loads have signs */
    if (to == MOSAIC_I1) {
        *out = R(emit_vcmp_ne_s32(t->c, bit_and(t->c, a, I(1)), I(0)));
        return true;
    }
    if (dtype_of(from, is_unsigned) == DTYPE_COUNT || dtype_of(to, is_unsigned) == DTYPE_COUNT)
        return tile_fail(t, op, "%s to %s", mosaic_element_name(from), mosaic_element_name(to));
    if (mosaic_is_float(&op->operand[0]->type) && mosaic_is_float(&op->result[0]->type)) {
        *out = to == MOSAIC_F32 || mosaic_is_fp8(from) ? a : rounded(t, op, a);
    } else if (mosaic_is_float(&op->result[0]->type)) {
        *out = rounded(t, op, fused_convert(t->c, dtype_of(from, is_unsigned), DTYPE_F32, a));
    } else if (!strcmp(mosaic_text(op, "rounding_mode", ""), "to_nearest_even") &&
               mosaic_is_float(&op->operand[0]->type)) {
        opnd whole = R(emit_vround_f32(t->c, a, VROUND_F32_ROUND_RTNE));

        *out = fused_convert(t->c, DTYPE_F32, dtype_of(to, is_unsigned), whole);
    } else {
        *out = fused_convert(t->c, dtype_of(from, is_unsigned), dtype_of(to, is_unsigned), a);
    }
    return true;
}

bool tile_same(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    if (mosaic_element_bits(op->operand[0]->type.element) !=
        mosaic_element_bits(op->result[0]->type.element))
        return tile_fail(t, op, "bits of another width");
    return tile_pull(t, op->operand[0], at, out);
}

/* the same words as another type of 32 bits, in scalars' registers or vectors' alike */
bool tile_words(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    return tile_pull(t, op->operand[0], at, out);
}

/*
 * Rows of narrow elements share words: elements of another width are the same tiles of memory, seen as
 * others.
 */
int pallas_bitcast(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0], *to = op->result[0];
    int bits = mosaic_element_bits(from->type.element), wanted = mosaic_element_bits(to->type.element);
    struct place *p = &l->place[to->id];

    if (to->type.kind != MOSAIC_VECTOR)
        return pallas_fail(l, op, "to a scalar");
    if (bits == 32 && wanted == 32)
        return 0;
    if (to->type.rank < 2 || bits < 8 || wanted < 8 ||
        from->type.dim[from->type.rank - 2] % (TILE_ROWS * 32 / bits))
        return pallas_fail(l, op, "of %s as %s in rows that are no whole tiles",
                           mosaic_element_name(from->type.element),
                           mosaic_element_name(to->type.element));
    if (root_own(l, from))
        return -1;
    *p = l->place[from->id];
    tiles_of(&p->t, &to->type);
    return 0;
}
