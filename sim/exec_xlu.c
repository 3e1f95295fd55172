/*
 * Contents of the cross-lane units: reductions, permutes, transposes.
 */
#include "sim/vregs.h"

#include <string.h>

#define REDUCTION(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        c->simd->unary[kernel](fifo_write(&c->xlu[o->unit].result), vreg_read(c, o->o[0])); \
    }

REDUCTION(VADD_XLANE, UN_ADD_XLANE)
REDUCTION(VMAX_XLANE, UN_MAX_XLANE)
REDUCTION(VMIN_XLANE, UN_MIN_XLANE)
REDUCTION(VXLANE_INDEX, UN_MAX_INDEX + o->o[1])

void exec_VXLANE_BF16(struct core *c, const struct decoded_op *o)
{
    simd_halves(c->simd, UN_ADD_XLANE + (unsigned)o->o[1], fifo_write(&c->xlu[o->unit].result),
                vreg_read(c, o->o[0]));
}

void exec_VPERM(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = fifo_write(&c->xlu[o->unit].result);
    const uint32_t *a = vreg_read(c, o->o[0]), *lane = vreg_read(c, o->o[1]);
    int i;

    for (i = 0; i < SIMD_TILE_WORDS; i++)
        d[i] = a[i / ROW_WORDS * ROW_WORDS + (int)(lane[i] % ROW_WORDS)];
}

void exec_VROT_LANE(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = fifo_write(&c->xlu[o->unit].result);
    const uint32_t *a = vreg_read(c, o->o[0]);
    uint32_t up = (uint32_t)c->s[o->o[1]] % ROW_WORDS, i;

    for (i = 0; i < 8; i++, a += ROW_WORDS, d += ROW_WORDS) {
        memcpy(d + up, a, (ROW_WORDS - up) * sizeof(*d));
        memcpy(d, a + ROW_WORDS - up, up * sizeof(*d));
    }
}

void exec_VBCAST_LANE(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = fifo_write(&c->xlu[o->unit].result);
    const uint32_t *a = vreg_read(c, o->o[0]);
    int i, j;

    for (i = 0; i < 8; i++) {
        int lane = ((o->o[1] & 127) + (o->o[1] & 256 ? i : 0)) % ROW_WORDS;

        for (j = 0; j < ROW_WORDS; j++)
            d[i * ROW_WORDS + j] = a[i * ROW_WORDS + lane];
    }
}

#define POP(id) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        memcpy(vreg_write(c, o->o[0]), fifo_read(&c->xlu[o->unit].result), TILE_BYTES); \
    }

POP(VPOP_XLANE)
POP(VPOP_PERMUTE)
POP(VPOP_TRF)

/* the timing side has checked that there is room; row r of the tile: sublane r / P, part r mod P */
static void gather(struct core *c, const struct decoded_op *o)
{
    struct xlu *x = &c->xlu[o->unit];
    const uint32_t *tile = vreg_read(c, o->o[0]);
    int per_word = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]) / 8, bits = 32 / per_word, i, j;
    uint32_t value_mask = 0xffffffffu >> (32 - bits);

    for (i = 0; i < 8 * per_word; i++, x->row_count++)
        for (j = 0; j < ROW_WORDS; j++)
            x->buffer[x->row_count][j] =
                tile[i / per_word * ROW_WORDS + j] >> i % per_word * bits & value_mask;
}

/* column `row` of the buffer into its part of the words of a sublane; what was not pushed is 0 */
static void put_column(const struct xlu *x, int row, int shift, uint32_t *sublane)
{
    int j;

    for (j = 0; j < x->row_count; j++)
        sublane[j] |= x->buffer[j][row] << shift;
}

static void transpose(struct core *c, const struct decoded_op *o)
{
    struct xlu *x = &c->xlu[o->unit];
    int per_word = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]) / 8, rows = 8 * per_word, row;
    uint32_t *d = NULL;

    for (row = 0; row < o->o[1]; row++) {
        if (row % rows == 0) {
            d = fifo_write(&x->result);
            memset(d, 0, TILE_BYTES);
        }
        put_column(x, row, row % per_word * (32 / per_word),
                   d + row % rows / per_word * ROW_WORDS);
    }
    x->row_count = 0;
}

void exec_VXPOSE_START(struct core *c, const struct decoded_op *o)
{
    gather(c, o);
}

void exec_VXPOSE_CONT(struct core *c, const struct decoded_op *o)
{
    gather(c, o);
}

void exec_VXPOSE_END(struct core *c, const struct decoded_op *o)
{
    gather(c, o);
    transpose(c, o);
}

void exec_VXPOSE_ONE(struct core *c, const struct decoded_op *o)
{
    exec_VXPOSE_END(c, o);
}
