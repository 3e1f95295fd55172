/*
 * What vector ALU and EUP operations compute, by the kernels of the chosen
 * SIMD path where there is arithmetic.
 */
#include "sim/core.h"

#include <string.h>

#define BINARY(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->simd->binary[kernel](c->tile[o->o[0]], c->tile[o->o[1]], c->tile[o->o[2]]); \
    }

BINARY(VADD_F32, BIN_ADD_F32)
BINARY(VSUB_F32, BIN_SUB_F32)
BINARY(VMUL_F32, BIN_MUL_F32)
BINARY(VMAX_F32, BIN_MAX_F32)
BINARY(VMIN_F32, BIN_MIN_F32)
BINARY(VADD_S32, BIN_ADD_S32)
BINARY(VSUB_S32, BIN_SUB_S32)
BINARY(VMUL_U32, BIN_MUL_U32)
BINARY(VAND_U32, BIN_AND)
BINARY(VOR_U32, BIN_OR)
BINARY(VXOR_U32, BIN_XOR)
BINARY(VSHLL_U32, BIN_SHLL)
BINARY(VSHRL_U32, BIN_SHRL)
BINARY(VSHRA_S32, BIN_SHRA)
BINARY(VPACK_C_BF16, BIN_PACK_C_BF16)

#define UNARY(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->simd->unary[kernel](c->tile[o->o[0]], c->tile[o->o[1]]); \
    }

UNARY(VCVT_F32_S32, UN_F32_FROM_S32)
UNARY(VCVT_S32_F32, UN_S32_FROM_F32)
UNARY(VUNPACK_C_L, UN_UNPACK_C_L)
UNARY(VUNPACK_C_H, UN_UNPACK_C_H)

#define COMPARE(id, table, relation) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->simd->table[relation](c->m[o->o[0]], c->tile[o->o[1]], c->tile[o->o[2]]); \
    }

COMPARE(VCMP_EQ_F32, compare_f32, CMP_EQ)
COMPARE(VCMP_NE_F32, compare_f32, CMP_NE)
COMPARE(VCMP_LT_F32, compare_f32, CMP_LT)
COMPARE(VCMP_LE_F32, compare_f32, CMP_LE)
COMPARE(VCMP_GT_F32, compare_f32, CMP_GT)
COMPARE(VCMP_GE_F32, compare_f32, CMP_GE)
COMPARE(VCMP_EQ_S32, compare_s32, CMP_EQ)
COMPARE(VCMP_NE_S32, compare_s32, CMP_NE)
COMPARE(VCMP_LT_S32, compare_s32, CMP_LT)
COMPARE(VCMP_LE_S32, compare_s32, CMP_LE)
COMPARE(VCMP_GT_S32, compare_s32, CMP_GT)
COMPARE(VCMP_GE_S32, compare_s32, CMP_GE)

#define MASK(id, operator) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        uint16_t *d = c->m[o->o[0]]; \
        const uint16_t *a = c->m[o->o[1]], *b = c->m[o->o[2]]; \
        int i; \
        for (i = 0; i < SIMD_MASK_WORDS; i++) \
            d[i] = a[i] operator b[i]; \
    }

MASK(VMAND, &)
MASK(VMOR, |)
MASK(VMXOR, ^)

void exec_VSEL(struct core *c, const struct decoded_op *o)
{
    c->simd->select(c->tile[o->o[0]], c->m[o->o[1]], c->tile[o->o[2]], c->tile[o->o[3]]);
}

void exec_VMOV(struct core *c, const struct decoded_op *o)
{
    memmove(c->tile[o->o[0]], c->tile[o->o[1]], TILE_BYTES);
}

void exec_VSTV(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = c->tile[o->o[0]], value = (uint32_t)c->s[o->o[1]];
    int i;

    for (i = 0; i < SIMD_TILE_WORDS; i++)
        d[i] = value;
}

void exec_VLANESEQ(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = c->tile[o->o[0]];
    uint32_t i;

    for (i = 0; i < SIMD_TILE_WORDS; i++)
        d[i] = i;
}

void exec_VROT_SLANE(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = c->tile[o->o[0]], rotated[SIMD_TILE_WORDS];
    const uint32_t *a = c->tile[o->o[1]];
    uint32_t down = (uint32_t)c->s[o->o[2]], i;

    for (i = 0; i < 8; i++)
        memcpy(&rotated[i * ROW_WORDS], &a[(i + down) % 8 * ROW_WORDS], ROW_BYTES);
    memcpy(d, rotated, sizeof(rotated));
}

#define TRANSCENDENTAL(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->simd->unary[kernel](fifo_write(&c->eup), c->tile[o->o[0]]); \
    }

TRANSCENDENTAL(VPOW2, UN_POW2)
TRANSCENDENTAL(VLOG2, UN_LOG2)
TRANSCENDENTAL(VRCP, UN_RCP)
TRANSCENDENTAL(VRSQRT, UN_RSQRT)
TRANSCENDENTAL(VTANH, UN_TANH)

void exec_VPOP_EUP(struct core *c, const struct decoded_op *o)
{
    memcpy(c->tile[o->o[0]], fifo_read(&c->eup), TILE_BYTES);
}

void exec_copy_v(struct core *c, const struct decoded_op *o)
{
    memcpy(c->tile[o->o[0]], c->tile[o->o[1]], TILE_BYTES);
}

void exec_copy_m(struct core *c, const struct decoded_op *o)
{
    memcpy(c->m[o->o[0]], c->m[o->o[1]], sizeof(c->m[0]));
}
