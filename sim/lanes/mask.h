/*
 * Mask registers: 8 x 128 bits in two planes. Bit 128*i + j of `low` is for
 * the low 16 bits of word (i, j) of a tile, that of `high` for its high 16.
 * Operations on 32-bit words write both planes alike (is_split is false and
 * `high` is not looked at) and read `low`; those on packed tiles of 16 rows
 * read each half's own bit, which serves all 8 or 4-bit values in that half.
 */
#ifndef SIM_MASK_H
#define SIM_MASK_H
#include "sim/lanes/simd.h"

#include <stdbool.h>

struct mask {
    uint16_t low[SIMD_MASK_WORDS], high[SIMD_MASK_WORDS];
    bool is_split;
};

static inline const uint16_t *mask_high(const struct mask *m)
{
    return m->is_split ? m->high : m->low;
}

static inline bool mask_bit(const uint16_t *plane, int sublane, int lane)
{
    return plane[8 * sublane + lane / 16] >> (lane % 16) & 1;
}

void mask_fill(struct mask *d, bool value);

/*
 * The elements between two corners, which belong to them. `bounds` packs the
 * last lane (bits 19..13), the last sublane (12..10), the first lane (9..3)
 * and the first sublane (2..0).
 */
void mask_bounds(struct mask *d, uint32_t bounds);

/* for a packed tile of 16 rows, of which b's `low` speaks for rows 0..7 and a's for 8..15 */
void mask_pack_low(struct mask *d, const struct mask *a, const struct mask *b);

/* d = the tile where the mask is set, else +0; packed: each half by its own bit */
void mask_tile(const struct simd_path *simd, uint32_t *d, const struct mask *m,
               const uint32_t *tile, bool is_packed);

/* sublane `row` of d = that of a where the mask is set, else that of b; each: its 128 words */
static inline void mask_select_row(const struct simd_path *simd, uint32_t *d, const struct mask *m,
                                   int row, const uint32_t *a, const uint32_t *b)
{
    if (m->is_split)
        simd->select_row_halves(d, m->low + 8 * row, m->high + 8 * row, a, b);
    else
        simd->select_row(d, m->low + 8 * row, a, b);
}
#endif
