/*
 * What operations on mask registers compute. Compares write one plane and
 * leave the mask unsplit; logic works on both planes where one of its operands
 * has two.
 */
#include "sim/core/vregs.h"

#define COMPARE(id, table, relation) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        struct mask *d = &c->m[o->o[0]]; \
        d->is_split = false; \
        c->simd->table[relation](d->low, vreg_read(c, o->o[1]), vreg_read(c, o->o[2])); \
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
COMPARE(VCMP_U32, compare_u32, o->o[3])

void exec_VCMP_BF16(struct core *c, const struct decoded_op *o)
{
    static const enum simd_unary unpack[] = { UN_UNPACK_I_L, UN_UNPACK_I_H };
    struct mask *d = &c->m[o->o[0]];
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS];

    for (int half = 0; half < 2; half++) {
        c->simd->unary[unpack[half]](a, vreg_read(c, o->o[1]));
        c->simd->unary[unpack[half]](b, vreg_read(c, o->o[2]));
        c->simd->compare_f32[o->o[3]](half ? d->high : d->low, a, b);
    }
    d->is_split = true;
}

/* x - x is NaN for these, and NaN differs from itself */
void exec_VWEIRD_F32(struct core *c, const struct decoded_op *o)
{
    struct mask *d = &c->m[o->o[0]];
    _Alignas(64) uint32_t rest[SIMD_TILE_WORDS];

    c->simd->binary[BIN_SUB_F32](rest, vreg_read(c, o->o[1]), vreg_read(c, o->o[1]));
    c->simd->compare_f32[CMP_NE](d->low, rest, rest);
    d->is_split = false;
}

/* a sum that wraps is below either operand */
void exec_VC_U32(struct core *c, const struct decoded_op *o)
{
    struct mask *d = &c->m[o->o[0]];
    _Alignas(64) uint32_t sum[SIMD_TILE_WORDS];

    c->simd->binary[BIN_ADD_S32](sum, vreg_read(c, o->o[1]), vreg_read(c, o->o[2]));
    c->simd->compare_u32[CMP_LT](d->low, sum, vreg_read(c, o->o[1]));
    d->is_split = false;
}

static const uint32_t zeros[SIMD_TILE_WORDS];

void exec_VNEZ(struct core *c, const struct decoded_op *o)
{
    struct mask *d = &c->m[o->o[0]];

    d->is_split = false;
    c->simd->compare_s32[CMP_NE](d->low, vreg_read(c, o->o[1]), zeros);
}

typedef void plane_fn(uint16_t *d, const uint16_t *a, const uint16_t *b);

/* the high plane first: d may be a or b, whose low plane may stand for both */
static void combine(struct core *c, const struct decoded_op *o, plane_fn *logic)
{
    struct mask *d = &c->m[o->o[0]];
    const struct mask *a = &c->m[o->o[1]], *b = &c->m[o->o[2]];
    bool is_split = a->is_split || b->is_split;

    if (is_split)
        logic(d->high, mask_high(a), mask_high(b));
    logic(d->low, a->low, b->low);
    d->is_split = is_split;
}

#define LOGIC(id, operator) \
    static void planes_##id(uint16_t *d, const uint16_t *a, const uint16_t *b) \
    { \
        for (int i = 0; i < SIMD_MASK_WORDS; i++) \
            d[i] = (uint16_t)(a[i] operator b[i]); \
    } \
    void exec_##id(struct core *c, const struct decoded_op *o) { combine(c, o, planes_##id); }

LOGIC(VMAND, &)
LOGIC(VMOR, |)
LOGIC(VMXOR, ^)

void exec_VMNEG(struct core *c, const struct decoded_op *o)
{
    struct mask *d = &c->m[o->o[0]];
    const struct mask *a = &c->m[o->o[1]];

    for (int i = 0; i < SIMD_MASK_WORDS; i++) {
        d->low[i] = (uint16_t)~a->low[i];
        d->high[i] = (uint16_t)~a->high[i];
    }
    d->is_split = a->is_split;
}

void exec_VMMOV(struct core *c, const struct decoded_op *o)
{
    c->m[o->o[0]] = c->m[o->o[1]];
}

void exec_VCMASK(struct core *c, const struct decoded_op *o)
{
    mask_bounds(&c->m[o->o[0]], (uint32_t)o->o[1]);
}

void exec_VMPACKC(struct core *c, const struct decoded_op *o)
{
    mask_pack_low(&c->m[o->o[0]], &c->m[o->o[1]], &c->m[o->o[2]]);
}

void exec_VSEL(struct core *c, const struct decoded_op *o)
{
    const struct mask *m = &c->m[o->o[1]];
    const uint32_t *a = vreg_read(c, o->o[2]), *b = vreg_read(c, o->o[3]);
    uint32_t *d = vreg_write(c, o->o[0]);

    if (m->is_split)
        for (int i = 0; i < 8; i++)
            mask_select_row(c->simd, d + i * ROW_WORDS, m, i, a + i * ROW_WORDS,
                            b + i * ROW_WORDS);
    else
        c->simd->select(d, m->low, a, b);
}

void exec_copy_m(struct core *c, const struct decoded_op *o)
{
    c->m[o->o[0]] = c->m[o->o[1]];
}
