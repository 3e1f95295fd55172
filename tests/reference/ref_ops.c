/*
 * Operations of the reference by number, their operands, and the scalar unit.
 * An operation of the table that nobody wrote here does not link.
 */
#include "sim/lanes/f32_exact.h"
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

static ref_fn *const functions[OP_COUNT] = {
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) [OP_##id] = ref_##id,
#include "isa/ops.def"
};

ref_fn *ref_function(enum isa_opcode code)
{
    return functions[code];
}

int ref_choice(const struct ref_op *x, int choice)
{
    return x->op->operand[isa_info(x->op->code)->choice_first + choice].value;
}

int32_t ref_s(const struct ref_op *x, int operand)
{
    const struct isa_operand *o = &x->op->operand[operand];

    return o->kind == OPERAND_REG ? x->c->s[o->value] : o->kind == OPERAND_IMM ? o->value : 0;
}

bool ref_p(const struct ref_op *x, int operand)
{
    const struct isa_operand *o = &x->op->operand[operand];

    return o->kind == OPERAND_REG ? x->c->p[o->value] != (o->is_negated != 0) : o->value != 0;
}

const struct ref_mask *ref_m(const struct ref_op *x, int operand)
{
    static struct ref_mask none, all;
    const struct isa_operand *o = &x->op->operand[operand];

    memset(&all, 1, sizeof(all));
    return o->kind == OPERAND_REG ? &x->c->mask[o->value] : o->value ? &all : &none;
}

const uint32_t (*ref_v(struct ref_op *x, int operand))[LANES]
{
    const struct isa_operand *o = &x->op->operand[operand];
    uint32_t (*tile)[LANES] = x->splat[x->splat_count], word = (uint32_t)o->value;

    if (o->kind == OPERAND_REG)
        return (const uint32_t (*)[LANES])x->c->v[o->value];
    if (x->op->code == OP_VLOGIC_PACKED)
        word = ref_choice(x, 1) == 0 ? (word & 0xffff) * 0x10001u : (word & 0xff) * 0x1010101u;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++)
            tile[i][j] = word;
    x->splat_count++;
    return (const uint32_t (*)[LANES])tile;
}

#define SCALAR(id, expression) \
    void ref_##id(struct ref_op *x) \
    { \
        uint32_t a = (uint32_t)ref_s(x, 1), b = (uint32_t)ref_s(x, 2); \
        (void)b; \
        x->result.s = (int32_t)(expression); \
    }

static uint32_t shift_right_signed(uint32_t a, uint32_t count)
{
    for (count = count < 31 ? count : 31; count > 0; count--)
        a = a >> 1 | (a & 0x80000000u);
    return a;
}

static uint32_t leading_zeros(uint32_t a)
{
    uint32_t zeros = 0;

    while (zeros < 32 && !(a >> (31 - zeros) & 1))
        zeros++;
    return zeros;
}

SCALAR(SMOV, a)
SCALAR(SADD, a + b)
SCALAR(SSUB, a - b)
SCALAR(SMUL, (uint64_t)a * b)
SCALAR(SMULHI, (uint64_t)a * b >> 32)
SCALAR(SAND, a & b)
SCALAR(SOR, a | b)
SCALAR(SXOR, a ^ b)
SCALAR(SSHLL, b < 32 ? (uint64_t)a << b : 0)
SCALAR(SSHRL, b < 32 ? a >> b : 0)
SCALAR(SSHRA, shift_right_signed(a, b))
SCALAR(SLEA_VMEM, a + b)
SCALAR(SLEA_HBM, a + b)
SCALAR(SLEA_SMEM, a + b)
SCALAR(SLEA_SFLAG, a + b)
SCALAR(SCLZ, leading_zeros(a))

#define F(bits) f32_from_bits(bits)

SCALAR(SADD_F32, f32_bits(f32_add(F(a), F(b))))
SCALAR(SSUB_F32, f32_bits(f32_sub(F(a), F(b))))
SCALAR(SMUL_F32, f32_bits(f32_mul(F(a), F(b))))
SCALAR(SMIN_MAX_F32, f32_bits(ref_choice(x, 0) ? f32_max(F(a), F(b)) : f32_min(F(a), F(b))))
SCALAR(SCVT_S32_F32, f32_bits(f32_round((double)(int32_t)a)))
SCALAR(SCVT_F32_S32, f32_to_s32(F(a)))

void ref_SMIN_MAX(struct ref_op *x)
{
    bool is_max = ref_choice(x, 0) == 1, is_unsigned = ref_choice(x, 1) == 1;
    int64_t a = ref_s(x, 1), b = ref_s(x, 2);

    if (is_unsigned) {
        a = (uint32_t)a;
        b = (uint32_t)b;
    }
    x->result.s = (int32_t)(uint32_t)(is_max ? (a > b ? a : b) : a < b ? a : b);
}

/* eq, ne, lt, le, gt, ge; NaN makes all false but ne */
static bool compare(int relation, double a, double b)
{
    switch (relation) {
    case 0: return a == b;
    case 1: return !(a == b);
    case 2: return a < b;
    case 3: return a <= b;
    case 4: return a > b;
    default: return a >= b;
    }
}

#define COMPARE(id, relation) \
    void ref_##id(struct ref_op *x) { x->result.p = compare(relation, ref_s(x, 1), ref_s(x, 2)); }

COMPARE(SCMP_EQ, 0)
COMPARE(SCMP_NE, 1)
COMPARE(SCMP_LT, 2)
COMPARE(SCMP_LE, 3)
COMPARE(SCMP_GT, 4)
COMPARE(SCMP_GE, 5)

void ref_SCMP_U32(struct ref_op *x)
{
    x->result.p = compare(ref_choice(x, 0), (uint32_t)ref_s(x, 1), (uint32_t)ref_s(x, 2));
}

void ref_SCMP_F32(struct ref_op *x)
{
    x->result.p = compare(ref_choice(x, 0), (double)f32_flush(F((uint32_t)ref_s(x, 1))),
                          (double)f32_flush(F((uint32_t)ref_s(x, 2))));
}

void ref_SELECT(struct ref_op *x) { x->result.s = ref_s(x, ref_p(x, 1) ? 2 : 3); }
void ref_PMOV(struct ref_op *x) { x->result.p = ref_p(x, 1); }
void ref_PNEG(struct ref_op *x) { x->result.p = !ref_p(x, 1); }
void ref_POR(struct ref_op *x) { x->result.p = ref_p(x, 1) || ref_p(x, 2); }
void ref_PAND(struct ref_op *x) { x->result.p = ref_p(x, 1) && ref_p(x, 2); }
void ref_PXOR(struct ref_op *x) { x->result.p = ref_p(x, 1) != ref_p(x, 2); }
void ref_PNAND(struct ref_op *x) { x->result.p = !(ref_p(x, 1) && ref_p(x, 2)); }

void ref_SDIVREM(struct ref_op *x)
{
    uint32_t a = (uint32_t)ref_s(x, 0), b = (uint32_t)ref_s(x, 1);
    cycle_t ready_at = x->at + x->c->m->chip.scalar_div_cycles;

    ref_push_word(x, &x->c->drf, ready_at, b ? a / b : 0xffffffffu);
    ref_push_word(x, &x->c->drf, ready_at, b ? a % b : a);
}

void ref_SPOP_DRF(struct ref_op *x) { x->result.s = (int32_t)ref_pop_word(&x->c->drf); }
void ref_SPOP(struct ref_op *x) { x->result.s = (int32_t)ref_pop_word(&x->c->v2s); }

void ref_VPUSH(struct ref_op *x)
{
    ref_push_word(x, &x->c->v2s, x->at + x->c->m->chip.scalar_v2s_cycles, ref_v(x, 0)[0][0]);
}

void ref_SBR(struct ref_op *x)
{
    x->c->branch_target = (uint32_t)x->op->operand[0].value;
    x->c->branch_in = (int)x->c->m->chip.core_branch_delay_bundles + 1;
}

void ref_SETRNGSEED(struct ref_op *x)
{
    x->c->rng_seed = (uint32_t)ref_s(x, 0);
    x->c->rng_draw = 0;
}

void ref_SHALT(struct ref_op *x) { x->c->halts = true; }
void ref_SHALT_ERR(struct ref_op *x) { ref_fault(x->c, x->at, FAULT_HALT_ERR, "shalt.err"); }

void ref_VDELAY(struct ref_op *x)
{
    int32_t cycles = ref_s(x, 0);

    if (cycles < 0)
        ref_fault(x->c, x->at, FAULT_OPERATION, "a negative delay");
    else
        x->c->delay_until = later(x->c->delay_until, x->at + 1 + cycles);
}

/* a fence is all time, marks are only for traces */
void ref_SFENCE(struct ref_op *x) { (void)x; }
void ref_VTRACE(struct ref_op *x) { (void)x; }
void ref_VSETTM(struct ref_op *x) { (void)x; }

#define STAND_IN(id) void ref_##id(struct ref_op *x) { (void)x; }

STAND_IN(STAND_IN_SCALAR)
STAND_IN(STAND_IN_VALU)
STAND_IN(STAND_IN_EUP)
STAND_IN(STAND_IN_LOAD)
STAND_IN(STAND_IN_STORE)
STAND_IN(STAND_IN_PUSH)
STAND_IN(STAND_IN_POP)
STAND_IN(STAND_IN_MISC)
STAND_IN(STAND_IN_DMA)
