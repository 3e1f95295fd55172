/* Writes scalar expressions as operations and folds what is constant in them. */
#include "stack/backend/builder.h"

#include <assert.h>

#define FIRST_PRED 1                    /* p0 belongs to loops */
#define PRED_COUNT 7
#define LANE_BITS 7                     /* of an element's number in a vector */

void builder_init(struct builder *k, struct vcode *code, const struct chip *chip)
{
    *k = (struct builder){.code = code, .chip = chip, .sreg_end = ISA_SREG_COUNT, .next_pred = 0};
}

struct isa_operand builder_reg(struct builder *k)
{
    k->is_exhausted |= k->next_sreg >= k->sreg_end;
    return R(k->is_exhausted ? k->sreg_end - 1 : k->next_sreg++);
}

static bool is_imm(struct isa_operand a) { return a.kind == OPERAND_IMM; }

void builder_set(struct builder *k, struct isa_operand to, struct isa_operand from)
{
    if (from.kind == OPERAND_REG && from.value == to.value)
        return;
    emit_smov(k->code, to.value, from);
}

static struct isa_operand scalar(struct builder *k, enum isa_opcode code, struct isa_operand a,
                                 struct isa_operand b)
{
    struct isa_operand to = builder_reg(k);

    vcode_put(k->code, isa_make_e_ss(code, to.value, a, b));
    return to;
}

struct isa_operand builder_add(struct builder *k, struct isa_operand a, struct isa_operand b)
{
    if (is_imm(a) && is_imm(b))
        return I((int64_t)a.value + b.value);
    if (is_imm(a) && !a.value)
        return b;
    if (is_imm(b) && !b.value)
        return a;
    return scalar(k, OP_SADD, a, b);
}

struct isa_operand builder_sub(struct builder *k, struct isa_operand a, struct isa_operand b)
{
    if (is_imm(a) && is_imm(b))
        return I((int64_t)a.value - b.value);
    if (is_imm(b) && !b.value)
        return a;
    return scalar(k, OP_SSUB, a, b);
}

static int log2_of(int64_t x)           /* -1: no power of two */
{
    int k = 0;

    while (((int64_t)1 << k) < x)
        k++;
    return ((int64_t)1 << k) == x ? k : -1;
}

struct isa_operand builder_mul(struct builder *k, struct isa_operand a, int64_t by)
{
    if (is_imm(a))
        return I(a.value * by);
    if (!by)
        return I(0);
    if (by > 0 && log2_of(by) >= 0)
        return builder_shift(k, a, log2_of(by));
    return scalar(k, OP_SMUL, a, I(by));
}

struct isa_operand builder_add_product(struct builder *k, struct isa_operand sum,
                                       struct isa_operand a, int64_t by)
{
    struct isa_operand to = is_imm(sum) ? builder_reg(k) : sum;
    int kept = k->next_sreg;
    struct isa_operand product = builder_mul(k, a, by);

    if (is_imm(sum) && is_imm(product)) {
        k->next_sreg = kept - 1;
        return builder_add(k, sum, product);
    }
    emit_sadd(k->code, to.value, sum, product);
    k->next_sreg = kept;
    return to;
}

struct isa_operand builder_and(struct builder *k, struct isa_operand a, int32_t bits)
{
    return is_imm(a) ? I(a.value & bits) : scalar(k, OP_SAND, a, I(bits));
}

struct isa_operand builder_shift(struct builder *k, struct isa_operand a, int left)
{
    if (is_imm(a))
        return I(left < 0 ? a.value >> -left : (int32_t)((uint32_t)a.value << left));
    if (!left)
        return a;
    return left < 0 ? scalar(k, OP_SSHRA, a, I(-left)) : scalar(k, OP_SSHLL, a, I(left));
}

static struct isa_operand extreme(struct builder *k, bool is_min, struct isa_operand a,
                                  struct isa_operand b)
{
    if (is_imm(a) && is_imm(b))
        return (a.value < b.value) == is_min ? a : b;
    return builder_if_less(k, a, b, is_min ? a : b, is_min ? b : a);
}

struct isa_operand builder_min(struct builder *k, struct isa_operand a, struct isa_operand b)
{
    return extreme(k, true, a, b);
}

struct isa_operand builder_max(struct builder *k, struct isa_operand a, struct isa_operand b)
{
    return extreme(k, false, a, b);
}

/*
 * With 2^s < by <= 2^(s+1) and f = ceil(2^(32+s) / by) < 2^32 the error f by - 2^(32+s)
 * is below 2^(s+1), and so a f >> (32 + s) is exact for a < 2^31.
 */
struct isa_operand builder_div(struct builder *k, struct isa_operand a, int64_t by)
{
    int s = 0;
    uint64_t factor;

    if (is_imm(a))
        return I(a.value / by);
    if (log2_of(by) >= 0)
        return builder_shift(k, a, -log2_of(by));
    while (((int64_t)1 << (s + 1)) < by)
        s++;
    factor = (((uint64_t)1 << (32 + s)) + (uint64_t)by - 1) / (uint64_t)by;
    return builder_shift(k, scalar(k, OP_SMULHI, a, I(factor)), -s);
}

struct isa_operand builder_mod(struct builder *k, struct isa_operand a, int64_t by)
{
    if (is_imm(a))
        return I(a.value % by);
    if (by == 1)
        return I(0);
    if (log2_of(by) >= 0)
        return builder_and(k, a, (int32_t)(by - 1));
    return builder_sub(k, a, builder_mul(k, builder_div(k, a, by), by));
}

void builder_advance(struct builder *k, struct isa_operand a, int64_t by)
{
    if (!is_imm(a) && by)
        emit_sadd(k->code, a.value, a, I(by));
}

void builder_await(struct builder *k, struct isa_operand flag, struct isa_operand granules)
{
    int kept = k->next_sreg;
    struct isa_operand minus = builder_sub(k, I(0), granules);

    emit_dma_done(k->code, flag, granules);
    emit_vsyncadd(k->code, flag, minus);
    k->next_sreg = kept;
}

static struct isa_operand choose(struct builder *k, enum isa_opcode compare, struct isa_operand a,
                                 struct isa_operand b, struct isa_operand x, struct isa_operand y)
{
    struct isa_operand to = builder_reg(k);
    int p = FIRST_PRED + k->next_pred;

    k->next_pred = (k->next_pred + 1) % PRED_COUNT;
    vcode_put(k->code, isa_make_q_ss(compare, p, a, b));
    emit_select(k->code, to.value, p, x, y);
    return to;
}

struct isa_operand builder_if_less(struct builder *k, struct isa_operand a, struct isa_operand b,
                                   struct isa_operand x, struct isa_operand y)
{
    if (is_imm(a) && is_imm(b))
        return a.value < b.value ? x : y;
    return choose(k, OP_SCMP_LT, a, b, x, y);
}

struct isa_operand builder_if_equal(struct builder *k, struct isa_operand a, struct isa_operand b,
                                    struct isa_operand x, struct isa_operand y)
{
    if (is_imm(a) && is_imm(b))
        return a.value == b.value ? x : y;
    return choose(k, OP_SCMP_EQ, a, b, x, y);
}

int builder_splat(struct builder *k, struct isa_operand a)
{
    return is_imm(a) ? emit_vmov(k->code, a) : emit_vstv(k->code, a.value);
}

int builder_rotate_lanes(struct builder *k, int a, struct isa_operand up)
{
    return is_imm(up) && !(up.value & (ARRAY_LANES - 1)) ? a : emit_vrot_lane(k->code, 0, a, up);
}

int builder_lane_numbers(struct builder *k)
{
    return emit_vand_u32(k->code, R(emit_vlaneseq(k->code)), I(ARRAY_LANES - 1));
}

int builder_sublane_numbers(struct builder *k)
{
    return emit_vshrl_u32(k->code, R(emit_vlaneseq(k->code)), I(LANE_BITS));
}

int builder_are_below(struct builder *k, int numbers, struct isa_operand end)
{
    return emit_vcmp_lt_s32(k->code, R(numbers), R(builder_splat(k, end)));
}

struct isa_operand builder_loop_begin(struct builder *k, int64_t count)
{
    struct isa_operand counter = builder_reg(k);

    vcode_loop_begin(k->code, counter.value, count);
    return counter;
}

void builder_loop_end(struct builder *k, struct isa_operand counter)
{
    vcode_loop_end(k->code, counter.value);
}

void builder_while_end(struct builder *k, struct isa_operand counter, struct isa_operand a,
                       struct isa_operand b)
{
    int kept = k->next_sreg;

    builder_set(k, counter, builder_if_less(k, a, b, I(2), I(1)));
    k->next_sreg = kept;
    vcode_loop_end(k->code, counter.value);
}
