/*
 * What scalar operations compute. isa/ops.def states each effect.
 */
#include "sim/core.h"

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

#define COMPARE(id, relation) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->p[o->o[0]] = A relation B; \
    }

COMPARE(SCMP_EQ, ==)
COMPARE(SCMP_NE, !=)
COMPARE(SCMP_LT, <)
COMPARE(SCMP_LE, <=)
COMPARE(SCMP_GT, >)
COMPARE(SCMP_GE, >=)

/* a predicate operand is 2 * number + negated */
static uint8_t predicate(const struct core *c, int32_t operand)
{
    return (uint8_t)(c->p[operand >> 1] ^ (operand & 1));
}

void exec_SELECT(struct core *c, const struct decoded_op *o)
{
    c->s[o->o[0]] = c->s[o->o[predicate(c, o->o[1]) ? 2 : 3]];
}

void exec_PMOV(struct core *c, const struct decoded_op *o)
{
    c->p[o->o[0]] = predicate(c, o->o[1]);
}

void exec_PNEG(struct core *c, const struct decoded_op *o)
{
    c->p[o->o[0]] = !predicate(c, o->o[1]);
}

void exec_POR(struct core *c, const struct decoded_op *o)
{
    c->p[o->o[0]] = predicate(c, o->o[1]) | predicate(c, o->o[2]);
}

void exec_PAND(struct core *c, const struct decoded_op *o)
{
    c->p[o->o[0]] = predicate(c, o->o[1]) & predicate(c, o->o[2]);
}

void exec_PNAND(struct core *c, const struct decoded_op *o)
{
    c->p[o->o[0]] = !(predicate(c, o->o[1]) & predicate(c, o->o[2]));
}

/* the word at base + offset, or NULL after a fault */
static unsigned char *smem_word(struct core *c, const struct decoded_op *o, int operand)
{
    int64_t address = (int64_t)c->s[o->o[operand]] + o->o[operand + 1];

    if (address < 0 || address > c->chip->smem_bytes - 4 || address % 4 != 0) {
        core_fault(c, FAULT_ADDRESS, "smem address %lld out of 0..%lld, multiples of 4, in %s",
                   (long long)address, (long long)c->chip->smem_bytes - 4,
                   isa_info(o->code)->mnemonic);
        return NULL;
    }
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

    if (word)
        memcpy(word, &c->s[o->o[2]], 4);
}

void exec_SBR(struct core *c, const struct decoded_op *o)
{
    c->branch_target = (uint32_t)o->o[0];
    c->branch_in = (int)c->chip->core_branch_delay_bundles + 1;
}

void exec_SPOP(struct core *c, const struct decoded_op *o)
{
    c->s[o->o[0]] = (int32_t)c->v2s.word[c->v2s.read++ & c->v2s.mask];
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

void exec_copy_s(struct core *c, const struct decoded_op *o)
{
    c->s[o->o[0]] = c->s[o->o[1]];
}

void exec_copy_p(struct core *c, const struct decoded_op *o)
{
    c->p[o->o[0]] = c->p[o->o[1]];
}
