/* Executes scalar operations, as isa/ops.def states the effect of each. */
#include "sim/core/hooks.h"
#include "sim/lanes/f32_exact.h"

#include <string.h>

#define A (c->s[o->o[1]])
#define B (c->s[o->o[2]])
#define UA ((uint32_t)A)
#define UB ((uint32_t)B)

#define SCALAR(id, expression) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->s[o->o[0]] = (int32_t)(expression); \
    }

SCALAR(SMOV, A)
SCALAR(copy_s, A)
SCALAR(SADD, UA + UB)
SCALAR(SSUB, UA - UB)
SCALAR(SMUL, UA * UB)
SCALAR(SAND, UA & UB)
SCALAR(SOR, UA | UB)
SCALAR(SXOR, UA ^ UB)
SCALAR(SSHLL, UB < 32 ? UA << UB : 0)
SCALAR(SSHRL, UB < 32 ? UA >> UB : 0)
SCALAR(SSHRA, A >> (UB < 31 ? UB : 31))
SCALAR(SLEA_VMEM, UA + UB)
SCALAR(SLEA_HBM, UA + UB)
SCALAR(SLEA_SMEM, UA + UB)
SCALAR(SLEA_SFLAG, UA + UB)

SCALAR(SMULHI, (uint64_t)UA * UB >> 32)
SCALAR(SCLZ, A ? __builtin_clz(UA) : 32)

#define FA (f32_from_bits(UA))
#define FB (f32_from_bits(UB))

SCALAR(SADD_F32, f32_bits(f32_add(FA, FB)))
SCALAR(SSUB_F32, f32_bits(f32_sub(FA, FB)))
SCALAR(SMUL_F32, f32_bits(f32_mul(FA, FB)))
SCALAR(SCVT_S32_F32, f32_bits((float)A))
SCALAR(SCVT_F32_S32, f32_to_s32(FA))
SCALAR(SMIN_MAX_F32, f32_bits(o->o[3] ? f32_max(FA, FB) : f32_min(FA, FB)))

/* o3: minimum or maximum, o4: signed or unsigned */
void exec_SMIN_MAX(struct core *c, const struct decoded_op *o)
{
    bool is_less = o->o[4] ? UA < UB : A < B;

    c->s[o->o[0]] = is_less != (o->o[3] != 0) ? A : B;
}

/* `which` in the order eq, ne, lt, le, gt, ge; unordered values are none of the three */
static bool relation_holds(int32_t which, bool is_less, bool is_equal, bool is_greater)
{
    switch (which) {
    case 0: return is_equal;
    case 1: return !is_equal;
    case 2: return is_less;
    case 3: return is_less || is_equal;
    case 4: return is_greater;
    default: return is_greater || is_equal;
    }
}

void exec_SCMP_F32(struct core *c, const struct decoded_op *o)
{
    float a = f32_flush(FA), b = f32_flush(FB);

    c->p[o->o[0]] = relation_holds(o->o[3], a < b, a == b, a > b);
}

/* a predicate operand is 2 * number + negated */
static uint8_t predicate(const struct core *c, int32_t operand)
{
    return (uint8_t)(c->p[operand >> 1] ^ (operand & 1));
}

SCALAR(SELECT, c->s[o->o[predicate(c, o->o[1]) ? 2 : 3]])

#define PREDICATE(id, expression) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->p[o->o[0]] = (uint8_t)(expression); \
    }
#define PA predicate(c, o->o[1])
#define PB predicate(c, o->o[2])

PREDICATE(SCMP_EQ, A == B)
PREDICATE(SCMP_NE, A != B)
PREDICATE(SCMP_LT, A < B)
PREDICATE(SCMP_LE, A <= B)
PREDICATE(SCMP_GT, A > B)
PREDICATE(SCMP_GE, A >= B)
PREDICATE(SCMP_U32, relation_holds(o->o[3], UA < UB, UA == UB, UA > UB))
PREDICATE(PMOV, PA)
PREDICATE(PNEG, !PA)
PREDICATE(POR, PA | PB)
PREDICATE(PAND, PA & PB)
PREDICATE(PXOR, PA ^ PB)
PREDICATE(PNAND, !(PA & PB))
PREDICATE(copy_p, c->p[o->o[1]])

/* the word at base + offset, or NULL after a fault */
static unsigned char *smem_word(struct core *c, const struct decoded_op *o, int operand)
{
    int64_t address = (int64_t)c->s[o->o[operand]] + c->s[o->o[operand + 1]];

    if (address < 0 || address > c->chip->smem_bytes - 4 || address % 4 != 0) {
        core_fault(c, FAULT_ADDRESS, "smem address %lld out of 0..%lld, multiples of 4, in %s",
                   (long long)address, (long long)c->chip->smem_bytes - 4,
                   isa_info(o->code)->mnemonic);
        return NULL;
    }
    if (c->checks && !c->hooks->checks.touch(c, o, SPACE_SMEM, address, 4, o->code == OP_SST))
        return NULL;
    return c->smem + address;
}

void exec_SLD(struct core *c, const struct decoded_op *o)
{
    const unsigned char *word = smem_word(c, o, 1);

    if (word)
        memcpy(&c->s[o->o[0]], word, 4);
}

void exec_SST(struct core *c, const struct decoded_op *o)
{
    unsigned char *word = smem_word(c, o, 0);

    if (!word)
        return;
    memcpy(word, &c->s[o->o[2]], 4);
    core_note_smem(c, word + 4 - c->smem);
}

void exec_SBR(struct core *c, const struct decoded_op *o)
{
    c->branch_target = (uint32_t)o->o[0];
    c->branch_in = c->branch_delay_bundles + 1;
}

SCALAR(SPOP, word_fifo_read(&c->v2s))
SCALAR(SPOP_DRF, word_fifo_read(&c->drf))

/* by zero as HLO defines it */
void exec_SDIVREM(struct core *c, const struct decoded_op *o)
{
    uint32_t dividend = (uint32_t)c->s[o->o[0]], divisor = (uint32_t)c->s[o->o[1]];

    word_fifo_write(&c->drf, divisor ? dividend / divisor : UINT32_MAX);
    word_fifo_write(&c->drf, divisor ? dividend % divisor : dividend);
}

void exec_SHALT(struct core *c, const struct decoded_op *o)
{
    (void)o;
    c->halts = true;
}

void exec_SHALT_ERR(struct core *c, const struct decoded_op *o)
{
    (void)o;
    core_fault(c, FAULT_HALT_ERR, "shalt.err reached: the program stopped itself");
}
