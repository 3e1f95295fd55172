#include "stack/backend/move_code.h"

#include <assert.h>

#define FIRST_PRED 1                    /* p0 belongs to loops */
#define PRED_COUNT 7
#define REGION_VMEM VCODE_REGION_ANY

void move_code_init(struct move_code *m, struct vcode *code, const struct chip *chip)
{
    *m = (struct move_code){.code = code, .chip = chip, .sreg_end = ISA_SREG_COUNT,
                            .next_pred = 0};
}

struct isa_operand move_reg(struct move_code *m)
{
    m->is_exhausted |= m->next_sreg >= m->sreg_end;
    return operand_reg(m->is_exhausted ? m->sreg_end - 1 : m->next_sreg++);
}

static bool is_imm(struct isa_operand a) { return a.kind == OPERAND_IMM; }

void move_set(struct move_code *m, struct isa_operand to, struct isa_operand from)
{
    if (from.kind == OPERAND_REG && from.value == to.value)
        return;
    vcode_emit(m->code, OP_SMOV, 2, (struct isa_operand[]){to, from});
}

static struct isa_operand scalar(struct move_code *m, enum isa_opcode code, struct isa_operand a,
                                 struct isa_operand b)
{
    struct isa_operand to = move_reg(m);

    vcode_emit(m->code, code, 3, (struct isa_operand[]){to, a, b});
    return to;
}

struct isa_operand move_add(struct move_code *m, struct isa_operand a, struct isa_operand b)
{
    if (is_imm(a) && is_imm(b))
        return move_imm((int64_t)a.value + b.value);
    if (is_imm(a) && !a.value)
        return b;
    if (is_imm(b) && !b.value)
        return a;
    return scalar(m, OP_SADD, a, b);
}

struct isa_operand move_sub(struct move_code *m, struct isa_operand a, struct isa_operand b)
{
    if (is_imm(a) && is_imm(b))
        return move_imm((int64_t)a.value - b.value);
    if (is_imm(b) && !b.value)
        return a;
    return scalar(m, OP_SSUB, a, b);
}

static int log2_of(int64_t x)           /* -1: no power of two */
{
    int k = 0;

    while (((int64_t)1 << k) < x)
        k++;
    return ((int64_t)1 << k) == x ? k : -1;
}

struct isa_operand move_mul(struct move_code *m, struct isa_operand a, int64_t by)
{
    if (is_imm(a))
        return move_imm(a.value * by);
    if (!by)
        return move_imm(0);
    if (by > 0 && log2_of(by) >= 0)
        return move_shift(m, a, log2_of(by));
    return scalar(m, OP_SMUL, a, move_imm(by));
}

struct isa_operand move_add_product(struct move_code *m, struct isa_operand sum,
                                    struct isa_operand a, int64_t by)
{
    struct isa_operand to = is_imm(sum) ? move_reg(m) : sum;
    int kept = m->next_sreg;
    struct isa_operand product = move_mul(m, a, by);

    if (is_imm(sum) && is_imm(product)) {
        m->next_sreg = kept - 1;
        return move_add(m, sum, product);
    }
    vcode_emit(m->code, OP_SADD, 3, (struct isa_operand[]){to, sum, product});
    m->next_sreg = kept;
    return to;
}

struct isa_operand move_and(struct move_code *m, struct isa_operand a, int32_t bits)
{
    return is_imm(a) ? move_imm(a.value & bits) : scalar(m, OP_SAND, a, move_imm(bits));
}

struct isa_operand move_shift(struct move_code *m, struct isa_operand a, int left)
{
    if (is_imm(a))
        return move_imm(left < 0 ? a.value >> -left : (int32_t)((uint32_t)a.value << left));
    if (!left)
        return a;
    return left < 0 ? scalar(m, OP_SSHRA, a, move_imm(-left))
                    : scalar(m, OP_SSHLL, a, move_imm(left));
}

static struct isa_operand extreme(struct move_code *m, bool is_min, struct isa_operand a,
                                  struct isa_operand b)
{
    if (is_imm(a) && is_imm(b))
        return (a.value < b.value) == is_min ? a : b;
    return move_if_less(m, a, b, is_min ? a : b, is_min ? b : a);
}

struct isa_operand move_min(struct move_code *m, struct isa_operand a, struct isa_operand b)
{
    return extreme(m, true, a, b);
}

struct isa_operand move_max(struct move_code *m, struct isa_operand a, struct isa_operand b)
{
    return extreme(m, false, a, b);
}

/*
 * With 2^s < by <= 2^(s+1) and f = ceil(2^(32+s) / by) < 2^32 the error f by - 2^(32+s)
 * is below 2^(s+1), and so a f >> (32 + s) is exact for a < 2^31.
 */
struct isa_operand move_div(struct move_code *m, struct isa_operand a, int64_t by)
{
    int s = 0;
    uint64_t factor;

    if (is_imm(a))
        return move_imm(a.value / by);
    if (log2_of(by) >= 0)
        return move_shift(m, a, -log2_of(by));
    while (((int64_t)1 << (s + 1)) < by)
        s++;
    factor = (((uint64_t)1 << (32 + s)) + (uint64_t)by - 1) / (uint64_t)by;
    return move_shift(m, scalar(m, OP_SMULHI, a, operand_imm((int32_t)(uint32_t)factor)), -s);
}

struct isa_operand move_mod(struct move_code *m, struct isa_operand a, int64_t by)
{
    if (is_imm(a))
        return move_imm(a.value % by);
    if (by == 1)
        return move_imm(0);
    if (log2_of(by) >= 0)
        return move_and(m, a, (int32_t)(by - 1));
    return move_sub(m, a, move_mul(m, move_div(m, a, by), by));
}

static struct isa_operand choose(struct move_code *m, enum isa_opcode compare,
                                 struct isa_operand a, struct isa_operand b, struct isa_operand x,
                                 struct isa_operand y)
{
    struct isa_operand p = operand_reg(FIRST_PRED + m->next_pred), to = move_reg(m);

    m->next_pred = (m->next_pred + 1) % PRED_COUNT;
    vcode_emit(m->code, compare, 3, (struct isa_operand[]){p, a, b});
    vcode_emit(m->code, OP_SELECT, 4, (struct isa_operand[]){to, p, x, y});
    return to;
}

struct isa_operand move_if_less(struct move_code *m, struct isa_operand a, struct isa_operand b,
                                struct isa_operand x, struct isa_operand y)
{
    if (is_imm(a) && is_imm(b))
        return a.value < b.value ? x : y;
    return choose(m, OP_SCMP_LT, a, b, x, y);
}

struct isa_operand move_if_equal(struct move_code *m, struct isa_operand a, struct isa_operand b,
                                 struct isa_operand x, struct isa_operand y)
{
    if (is_imm(a) && is_imm(b))
        return a.value == b.value ? x : y;
    return choose(m, OP_SCMP_EQ, a, b, x, y);
}

int move_v1(struct move_code *m, enum isa_opcode code, struct isa_operand a)
{
    int to = vcode_vreg(m->code);

    vcode_emit(m->code, code, 2, (struct isa_operand[]){operand_reg(to), a});
    return to;
}

int move_v2(struct move_code *m, enum isa_opcode code, int a, struct isa_operand b)
{
    return move_v2_choice(m, code, a, b, 0, NULL);
}

int move_v1_choice(struct move_code *m, enum isa_opcode code, int a, int choice)
{
    int to = vcode_vreg(m->code);

    vcode_emit(m->code, code, 3,
               (struct isa_operand[]){operand_reg(to), operand_reg(a), operand_imm(choice)});
    return to;
}

int move_v2_choice(struct move_code *m, enum isa_opcode code, int a, struct isa_operand b,
                   int count, const int32_t *choice)
{
    struct isa_operand o[ISA_OPERAND_MAX] = {operand_reg(vcode_vreg(m->code)), operand_reg(a), b};

    for (int i = 0; i < count; i++)
        o[3 + i] = operand_imm(choice[i]);
    vcode_emit(m->code, code, 3 + count, o);
    return o[0].value;
}

int move_splat(struct move_code *m, struct isa_operand a)
{
    return move_v1(m, is_imm(a) ? OP_VMOV : OP_VSTV, a);
}

int move_compare(struct move_code *m, enum isa_opcode code, int a, struct isa_operand b)
{
    int to = vcode_mask(m->code);

    vcode_emit(m->code, code, 3, (struct isa_operand[]){operand_reg(to), operand_reg(a), b});
    return to;
}

int move_mask_and(struct move_code *m, int a, int b)
{
    return move_compare(m, OP_VMAND, a, operand_reg(b));
}

void move_select_into(struct move_code *m, int to, int mask, struct isa_operand a,
                      struct isa_operand b)
{
    vcode_emit(m->code, OP_VSEL, 4,
               (struct isa_operand[]){operand_reg(to), operand_reg(mask), a, b});
}

int move_select(struct move_code *m, int mask, struct isa_operand a, struct isa_operand b)
{
    int to = vcode_vreg(m->code);

    move_select_into(m, to, mask, a, b);
    return to;
}

static int element_index(struct move_code *m)
{
    int to = vcode_vreg(m->code);

    vcode_emit(m->code, OP_VLANESEQ, 1, (struct isa_operand[]){operand_reg(to)});
    return to;
}

int move_lane_index(struct move_code *m)
{
    return move_v2(m, OP_VAND_U32, element_index(m), operand_imm(ARRAY_LANES - 1));
}

int move_sublane_index(struct move_code *m)
{
    return move_v2(m, OP_VSHRL_U32, element_index(m), operand_imm(7));
}

int move_rotate_lanes(struct move_code *m, int a, struct isa_operand up)
{
    int to = vcode_vreg(m->code);

    if (is_imm(up) && !(up.value & (ARRAY_LANES - 1)))
        return a;
    vcode_emit(m->code, OP_VROT_LANE, 2, (struct isa_operand[]){operand_reg(a), up});
    vcode_emit(m->code, OP_VPOP_PERMUTE, 1, (struct isa_operand[]){operand_reg(to)});
    return to;
}

static void address(struct isa_operand *o, struct isa_operand row, int64_t offset, int stride)
{
    o[0] = is_imm(row) ? operand_none() : row;
    o[1] = move_imm(offset + (is_imm(row) ? row.value : 0));
    o[2] = operand_imm(stride);
    o[3] = operand_imm(0xff);
}

int move_load(struct move_code *m, struct isa_operand row, int64_t offset, int stride)
{
    struct isa_operand o[5] = {operand_reg(vcode_vreg(m->code))};

    address(o + 1, row, offset, stride);
    vcode_emit(m->code, OP_VLD, 5, o)->region = REGION_VMEM;
    return o[0].value;
}

void move_store(struct move_code *m, struct isa_operand row, int64_t offset, int stride, int v)
{
    struct isa_operand o[5];

    address(o, row, offset, stride);
    o[4] = operand_reg(v);
    vcode_emit(m->code, OP_VST, 5, o)->region = REGION_VMEM;
}

void move_copy(struct move_code *m, enum isa_opcode code, struct isa_operand from,
               struct isa_operand to, int64_t granules, int flag)
{
    vcode_emit(m->code, code, 4,
               (struct isa_operand[]){from, move_imm(granules), to, operand_imm(flag)});
}

void move_wait(struct move_code *m, int flag, int64_t granules)
{
    vcode_emit(m->code, OP_DMA_DONE, 2,
               (struct isa_operand[]){operand_imm(flag), move_imm(granules)});
    vcode_emit(m->code, OP_VSYNCADD, 2,
               (struct isa_operand[]){operand_imm(flag), move_imm(-granules)});
}

struct isa_operand move_loop_begin(struct move_code *m, int64_t count)
{
    struct isa_operand counter = move_reg(m);

    vcode_loop_begin(m->code, counter.value, count);
    return counter;
}

void move_loop_end(struct move_code *m, struct isa_operand counter)
{
    vcode_loop_end(m->code, counter.value);
}

void move_while_end(struct move_code *m, struct isa_operand counter, struct isa_operand a,
                    struct isa_operand b)
{
    int kept = m->next_sreg;

    move_set(m, counter, move_if_less(m, a, b, move_imm(2), move_imm(1)));
    m->next_sreg = kept;
    vcode_loop_end(m->code, counter.value);
}
