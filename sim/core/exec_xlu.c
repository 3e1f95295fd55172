/* Executes the operations of the cross-lane units: reductions, permutes, transposes. */
#include "sim/core/vregs.h"

#include <string.h>

#define REDUCTION(id, kernel) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        uint32_t *d = vregs_result(c, &c->xlu[o->unit].result); \
        \
        c->simd->unary[kernel](d, vreg_read(c, o->o[0])); \
    }

REDUCTION(VADD_XLANE, UN_ADD_XLANE)
REDUCTION(VMAX_XLANE, UN_MAX_XLANE)
REDUCTION(VMIN_XLANE, UN_MIN_XLANE)
REDUCTION(VXLANE_INDEX, UN_MAX_INDEX + o->o[1])

void exec_VXLANE_BF16(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = vregs_result(c, &c->xlu[o->unit].result);

    simd_halves(c->simd, UN_ADD_XLANE + (unsigned)o->o[1], d, vreg_read(c, o->o[0]));
}

void exec_VPERM(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = vregs_result(c, &c->xlu[o->unit].result);
    const uint32_t *a = vreg_read(c, o->o[0]), *lane = vreg_read(c, o->o[1]);

    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        d[i] = a[i / ROW_WORDS * ROW_WORDS + (int)(lane[i] % ROW_WORDS)];
}

void exec_VROT_LANE(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = vregs_result(c, &c->xlu[o->unit].result);

    c->simd->rotate(d, vreg_read(c, o->o[0]), (uint32_t)c->s[o->o[1]] % ROW_WORDS);
}

void exec_VBCAST_LANE(struct core *c, const struct decoded_op *o)
{
    uint32_t *d = vregs_result(c, &c->xlu[o->unit].result), value[8];
    const uint32_t *a = vreg_read(c, o->o[0]);

    for (int i = 0; i < 8; i++)
        value[i] = a[i * ROW_WORDS
                     + ((o->o[1] & 127) + (o->o[1] & 256 ? i : 0)) % ROW_WORDS];
    c->simd->spread(d, value);
}

#define POP(id) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        vreg_pop(c, o->o[0], &c->xlu[o->unit].result); \
    }

POP(VPOP_XLANE)
POP(VPOP_PERMUTE)
POP(VPOP_TRF)

/* the timing side has checked that there is room; row r of the tile: sublane r / P, part r mod P */
static void gather(struct core *c, const struct decoded_op *o)
{
    struct xlu *x = &c->xlu[o->unit];
    const uint32_t *tile = vreg_read(c, o->o[0]);
    int per_word = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]) / 8, bits = 32 / per_word;
    uint32_t value_mask = 0xffffffffu >> (32 - bits);

    if (per_word == 1) {
        memcpy(x->buffer[x->row_count], tile, TILE_BYTES);
        x->row_count += 8;
        return;
    }
    for (int i = 0; i < 8 * per_word; i++) {
        const uint32_t *from = tile + i / per_word * ROW_WORDS;
        uint32_t *to = x->buffer[x->row_count++];
        int shift = i % per_word * bits;

        for (int j = 0; j < ROW_WORDS; j++)
            to[j] = from[j] >> shift & value_mask;
    }
}

#define ROWS_AT_ONCE 8
#define HALF (ROW_WORDS / 2)

/* `word` = pairs of neighbours, the second one `bits` further up */
static void merge_pairs(uint32_t *restrict word, const uint32_t *restrict value, int bits)
{
    for (int j = 0; j < HALF; j++)
        word[j] = value[2 * j] | value[2 * j + 1] << bits;
}

/* a row of the buffer as words of `per_word` neighbours; what follows them is of no interest */
static void merge_row(const uint32_t *value, int per_word, uint32_t word[ROW_WORDS])
{
    uint32_t half[ROW_WORDS] = {0};

    merge_pairs(word, value, 32 / per_word);
    for (int bits = 64 / per_word; bits < 32; bits *= 2) {
        memcpy(half, word, HALF * sizeof(*half));
        merge_pairs(word, half, bits);
    }
}

/* rows `first` to `first` + 7 of the buffer become words of as many lanes of the results */
static void turn_rows(const struct core *c, const struct xlu *x, int per_word, int lanes,
                      int first, uint32_t *const result[])
{
    uint32_t word[ROWS_AT_ONCE][ROW_WORDS], *rows = x->buffer[first];

    if (per_word > 1) {
        for (int r = 0; r < ROWS_AT_ONCE; r++)
            merge_row(x->buffer[first + r], per_word, word[r]);
        rows = word[0];
    }
    for (int i = 0; 8 * i * per_word < lanes; i++)
        c->simd->turn(result[i] + first, rows + 8 * i);
}

/* what was not pushed is 0; the width is whole tiles (isa/check.c) */
static void transpose(struct core *c, const struct decoded_op *o)
{
    struct xlu *x = &c->xlu[o->unit];
    int rows = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]);
    uint32_t *result[XLU_ROWS / 8];

    for (int i = 0; i * rows < o->o[1]; i++) {
        result[i] = vregs_result(c, &x->result);
        if (x->row_count < XLU_ROWS)
            memset(result[i], 0, TILE_BYTES);
    }
    for (int first = 0; first < x->row_count; first += ROWS_AT_ONCE)
        turn_rows(c, x, rows / 8, o->o[1], first, result);
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
