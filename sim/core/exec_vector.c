/*
 * What vector ALU and EUP operations compute (those on masks: exec_mask.c), by
 * the kernels of the chosen SIMD path where there is arithmetic.
 */
#include "sim/core/vregs.h"

#include <string.h>

#define BINARY(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        const uint32_t *a = vreg_read(c, o->o[1]), *b = vreg_read(c, o->o[2]); \
        \
        c->simd->binary[kernel](vreg_write(c, o->o[0]), a, b); \
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
        const uint32_t *a = vreg_read(c, o->o[1]); \
        \
        c->simd->unary[kernel](vreg_write(c, o->o[0]), a); \
    }

UNARY(VCVT_F32_S32, UN_F32_FROM_S32)
UNARY(VCVT_S32_F32, UN_S32_FROM_F32)

/* families: the choices of the mnemonic follow the registers */
BINARY(VMAX_INT, BIN_MAX_S32 + 2 * o->o[4] + o->o[3])
BINARY(VMUL_U64_LOW, BIN_MUL_U32)
BINARY(VMUL_U64_HIGH, BIN_MUL_HIGH_U32)
BINARY(VLOGIC_PACKED, BIN_AND + o->o[3])
BINARY(VCLAMPS_F32, BIN_CLAMP_F32)
BINARY(VADD_LOW_BF16, BIN_ADD_LOW_BF16)
BINARY(VARITH_BF16, BIN_ADD_BF16 + o->o[3])
BINARY(VCVT_SR_BF16, BIN_STOCHASTIC_BF16)
UNARY(VROUND_F32, UN_ROUND_RTNE + o->o[2])
UNARY(VCLZ, UN_CLZ)
UNARY(VPCNT, UN_PCNT)
UNARY(VCVT_F32_FP8, UN_F32_FROM_E5M2 + o->o[2])
UNARY(VCVT_FP8_F32, UN_E5M2_FROM_F32 + o->o[2])
BINARY(VPACK_I_BF16, BIN_PACK_I_BF16)
BINARY(VPACK_B16, o->o[3] ? BIN_PACK_I_B16 : BIN_PACK_C_B16)
BINARY(VPACK_C_B8, BIN_PACK_C_B8 + o->o[3])
UNARY(VUNPACK_C_B16, o->o[2] ? UN_UNPACK_C_H_B16 : UN_UNPACK_C_L_B16)
UNARY(VUNPACK_I_BF16, o->o[2] ? UN_UNPACK_I_H : UN_UNPACK_I_L)
UNARY(VUNPACK_I_B16, o->o[2] ? UN_UNPACK_I_H_B16 : UN_UNPACK_I_L_B16)
UNARY(VUNPACK_C_4, UN_UNPACK_C_L_S4 + 2 * o->o[3] + o->o[2])

/* of rows in VMEM: matrix units take them as they are, packed */
static void unpack(struct core *c, const struct decoded_op *o, int half, enum simd_unary kernel)
{
    const struct vreg *from = &c->vreg[o->o[1] % ISA_VREG_MAX];
    const uint32_t *a;

    if (vreg_may_borrow(c, o->o[0]) && o->o[1] < ISA_VREG_MAX && from->form == VREG_ROWS) {
        int64_t row = from->row + 4 * half;

        vreg_forget(c, o->o[0]);
        vreg_set_rows(c, o->o[0], VREG_UNPACKED, row);
        return;
    }
    a = vreg_read(c, o->o[1]);
    c->simd->unary[kernel](vreg_write(c, o->o[0]), a);
}

void exec_VUNPACK_C_L(struct core *c, const struct decoded_op *o)
{
    unpack(c, o, 0, UN_UNPACK_C_L);
}

void exec_VUNPACK_C_H(struct core *c, const struct decoded_op *o)
{
    unpack(c, o, 1, UN_UNPACK_C_H);
}

/*
 * Which operand is a result of a matrix unit that nobody reads again, where the other one is a
 * tile to add it to; 0: none.
 */
static int result_operand(const struct core *c, const struct decoded_op *o)
{
    for (int i = 1; i <= 2; i++) {
        int32_t other = o->o[3 - i];

        if (!(o->o[VADD_LAST_READS] >> i & 1) || (c->vreg[o->o[i]].form != VREG_RESULT
                                                  && c->vreg[o->o[i]].form != VREG_PRODUCT))
            continue;
        if (other >= V_CONST || (other < ISA_VREG_MAX && (c->vreg[other].form == VREG_ROWS
                                                          || c->vreg[other].form == VREG_CONSTANT)))
            return i;
    }
    return 0;
}

/* worked out when it is wanted */
void exec_last_VADD_F32(struct core *c, const struct decoded_op *o)
{
    int i = vreg_may_borrow(c, o->o[0]) ? result_operand(c, o) : 0;
    int32_t d = o->o[0], other = i ? o->o[3 - i] : 0;
    struct vreg sum;
    bool has_rows;

    if (i == 0) {
        exec_VADD_F32(c, o);
        return;
    }
    sum = c->vreg[o->o[i]];
    sum.form = VREG_SUM;
    sum.addend = c->tile[other];
    has_rows = other < ISA_VREG_MAX && c->vreg[other].form == VREG_ROWS;
    sum.row = has_rows ? c->vreg[other].row : 0;
    vreg_forget(c, o->o[i]);
    if (o->o[VADD_LAST_READS] >> (3 - i) & 1)
        vreg_forget(c, other);
    vreg_forget(c, d);
    c->vreg[d] = sum;
    c->vreg_by_rows |= (uint64_t)has_rows << d;
    c->vreg_by_entry |= UINT64_C(1) << d;
}

void exec_VUNPACK_C_8(struct core *c, const struct decoded_op *o)
{
    static const enum simd_unary convert[] = {
        UN_S32_FROM_S8, UN_F32_FROM_E5M2, UN_F32_FROM_E4M3B11FNUZ, UN_F32_FROM_E4M3FN,
    };
    const uint32_t *a = vreg_read(c, o->o[1]);
    uint32_t *d = vreg_write(c, o->o[0]);
    bool is_plain = o->o[3] == 0;       /* u8: the bits themselves */

    c->simd->unary[UN_UNPACK_C_0_U8 + o->o[2]](d, a);
    if (!is_plain)
        c->simd->unary[convert[o->o[3] - 1]](d, d);
}

void exec_VMOV(struct core *c, const struct decoded_op *o)
{
    const uint32_t *a;

    if (vreg_may_borrow(c, o->o[0]) && o->o[1] >= V_CONST) {
        vreg_borrow_constant(c, o->o[0], o->o[1]);
        return;
    }
    a = vreg_read(c, o->o[1]);
    memmove(vreg_write(c, o->o[0]), a, TILE_BYTES);
}

void exec_VSTV(struct core *c, const struct decoded_op *o)
{
    uint32_t value = (uint32_t)c->s[o->o[1]];

    c->simd->spread(vreg_write(c, o->o[0]), (const uint32_t[8]){value, value, value, value, value,
                                                                value, value, value});
}

#define LANES_4(n) (n), (n) + 1, (n) + 2, (n) + 3
#define LANES_16(n) LANES_4(n), LANES_4((n) + 4), LANES_4((n) + 8), LANES_4((n) + 12)
#define LANES_64(n) LANES_16(n), LANES_16((n) + 16), LANES_16((n) + 32), LANES_16((n) + 48)
#define LANES_256(n) LANES_64(n), LANES_64((n) + 64), LANES_64((n) + 128), LANES_64((n) + 192)

void exec_VLANESEQ(struct core *c, const struct decoded_op *o)
{
    static const _Alignas(64) uint32_t lanes[SIMD_TILE_WORDS] = {
        LANES_256(0), LANES_256(256), LANES_256(512), LANES_256(768)
    };

    if (vreg_may_borrow(c, o->o[0]))
        vreg_borrow_tile(c, o->o[0], lanes);
    else
        memcpy(vreg_write(c, o->o[0]), lanes, TILE_BYTES);
}

/* sublanes from `down` on, then those before */
void exec_VROT_SLANE(struct core *c, const struct decoded_op *o)
{
    uint32_t held[SIMD_TILE_WORDS];
    const uint32_t *a = vreg_read(c, o->o[1]);
    size_t down = (uint32_t)c->s[o->o[2]] % 8 * ROW_WORDS, rest = SIMD_TILE_WORDS - down;
    uint32_t *d = vreg_write(c, o->o[0]);

    if (a == d)
        a = memcpy(held, a, TILE_BYTES);
    memcpy(d, a + down, rest * sizeof(*d));
    memcpy(d + rest, a, down * sizeof(*d));
}

/* four rows of each operand, the first one's below */
void exec_VCOMBINE(struct core *c, const struct decoded_op *o)
{
    uint32_t combined[SIMD_TILE_WORDS];
    int first_row = o->o[3] ? 4 : 0;

    memcpy(combined, vreg_read(c, o->o[1]) + first_row * ROW_WORDS, TILE_BYTES / 2);
    memcpy(combined + 4 * ROW_WORDS, vreg_read(c, o->o[2]) + first_row * ROW_WORDS,
           TILE_BYTES / 2);
    memcpy(vreg_write(c, o->o[0]), combined, TILE_BYTES);
}

/* sublane i from the sublane that nibble i of the pattern names */
void exec_VPERM_SLANE(struct core *c, const struct decoded_op *o)
{
    uint32_t permuted[SIMD_TILE_WORDS];
    const uint32_t *a = vreg_read(c, o->o[1]);
    uint32_t pattern = (uint32_t)c->s[o->o[2]];

    for (int i = 0; i < 8; i++)
        memcpy(permuted + i * ROW_WORDS, a + (pattern >> 4 * i & 7) * ROW_WORDS, ROW_BYTES);
    memcpy(vreg_write(c, o->o[0]), permuted, TILE_BYTES);
}

#define TRANSCENDENTAL(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        uint32_t *d = vregs_result(c, &c->eup); \
        \
        c->simd->unary[kernel](d, vreg_read(c, o->o[0])); \
    }

TRANSCENDENTAL(VPOW2, UN_POW2)
TRANSCENDENTAL(VLOG2, UN_LOG2)
TRANSCENDENTAL(VRCP, UN_RCP)
TRANSCENDENTAL(VRSQRT, UN_RSQRT)
TRANSCENDENTAL(VTANH, UN_TANH)
TRANSCENDENTAL(VTRIG, UN_SINQ + o->o[1])

void exec_VEUP_BF16(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = vregs_result(c, &c->eup);

    simd_halves(c->simd, UN_POW2 + (unsigned)o->o[1], d, vreg_read(c, o->o[0]));
}

void exec_VPOP_EUP(struct core *c, const struct decoded_op *o)
{
    vreg_pop(c, o->o[0], &c->eup);
}

void exec_copy_v(struct core *c, const struct decoded_op *o)
{
    if (vreg_may_borrow(c, o->o[0]))
        vreg_exchange(c, o->o[0], o->o[1]);
    else
        memcpy(vreg_write(c, o->o[0]), c->tile[o->o[1]], TILE_BYTES);
}
