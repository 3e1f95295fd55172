/*
 * Contents of the cross-lane units: reductions, permutes, transposes.
 */
#include "sim/vregs.h"

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
    int i;

    for (i = 0; i < SIMD_TILE_WORDS; i++)
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
    int i;

    for (i = 0; i < 8; i++)
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
    int per_word = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]) / 8, bits = 32 / per_word, i, j;
    uint32_t value_mask = 0xffffffffu >> (32 - bits);

    if (per_word == 1) {
        memcpy(x->buffer[x->row_count], tile, TILE_BYTES);
        x->row_count += 8;
        return;
    }
    for (i = 0; i < 8 * per_word; i++) {
        const uint32_t *from = tile + i / per_word * ROW_WORDS;
        uint32_t *to = x->buffer[x->row_count++];
        int shift = i % per_word * bits;

        for (j = 0; j < ROW_WORDS; j++)
            to[j] = from[j] >> shift & value_mask;
    }
}

#define ROWS_AT_ONCE 8
#define HALF (ROW_WORDS / 2)

/* the first `count` values of a row of the buffer as words of `per_word` neighbours */
static void merge_row(const uint32_t *value, int per_word, int count, uint32_t word[ROW_WORDS])
{
    int bits = 32 / per_word, j;

    memset(word, 0, ROW_BYTES);
    if (per_word == 1)
        memcpy(word, value, (size_t)count * sizeof(*word));
    for (j = 0; per_word > 1 && j < count; j++)
        word[j / per_word] |= value[j] << j % per_word * bits;
}

/* rows `first` to `first` + 7 of the buffer become words of as many lanes of the results */
static void turn_rows(const struct core *c, const struct decoded_op *o, int first,
                      uint32_t *const result[])
{
    const struct xlu *x = &c->xlu[o->unit];
    int per_word = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]) / 8, r, p;
    int sublanes = (o->o[1] + per_word - 1) / per_word;
    uint32_t word[ROW_WORDS], row[2][ROWS_AT_ONCE][HALF], column[2][HALF][ROWS_AT_ONCE];

    for (r = 0; r < ROWS_AT_ONCE; r++) {
        merge_row(x->buffer[first + r], per_word, o->o[1], word);
        memcpy(row[0][r], word, sizeof(row[0][r]));
        memcpy(row[1][r], word + HALF, sizeof(row[1][r]));
    }
    for (p = 0; p < sublanes; p++) {
        if (p % HALF == 0)
            c->simd->row_columns(column[p / HALF], (const uint32_t (*)[HALF])row[p / HALF]);
        memcpy(result[p / 8] + p % 8 * ROW_WORDS + first, column[p / HALF][p % HALF],
               sizeof(column[0][0]));
    }
}

/* whole words, up to whole groups of eight lanes: eight by eight */
static void turn_words(const struct core *c, const struct xlu *x, uint32_t *const result[],
                       int lanes)
{
    for (int first = 0; first < x->row_count; first += ROWS_AT_ONCE)
        for (int i = 0; 8 * i < lanes; i++)
            c->simd->turn(result[i] + first, x->buffer[first] + 8 * i);
}

/* what was not pushed is 0 */
static void transpose(struct core *c, const struct decoded_op *o)
{
    struct xlu *x = &c->xlu[o->unit];
    int rows = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]), first, i;
    bool is_words = rows == 8 && o->o[1] % 8 == 0;
    uint32_t *result[XLU_ROWS / 8];

    for (i = 0; i * rows < o->o[1]; i++) {
        result[i] = vregs_result(c, &x->result);
        if (x->row_count < ROW_WORDS || !is_words)
            memset(result[i], 0, TILE_BYTES);
    }
    if (is_words)
        turn_words(c, x, result, o->o[1]);
    for (first = 0; !is_words && first < x->row_count; first += ROWS_AT_ONCE)
        turn_rows(c, o, first, result);
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
