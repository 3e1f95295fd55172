/* Fills, packs and applies mask registers, two planes of bits at a time. */
#include "sim/lanes/mask.h"

#include <string.h>

#define PLANE_BYTES (SIMD_MASK_WORDS * sizeof(uint16_t))
#define ROW_MASK_WORDS 8                /* uint16_t of a sublane */
#define ROW_LANES 128

void mask_fill(struct mask *d, bool value)
{
    memset(d->low, value ? 0xff : 0, PLANE_BYTES);
    d->is_split = false;
}

void mask_bounds(struct mask *d, uint32_t bounds)
{
    int first_sublane = (int)(bounds & 7), first_lane = (int)(bounds >> 3 & 127);
    int last_sublane = (int)(bounds >> 10 & 7), last_lane = (int)(bounds >> 13 & 127);
    uint16_t row[ROW_MASK_WORDS] = {0};

    for (int j = first_lane; j <= last_lane; j++)
        row[j / 16] = (uint16_t)(row[j / 16] | 1u << (j % 16));
    mask_fill(d, false);
    for (int i = first_sublane; i <= last_sublane; i++)
        memcpy(&d->low[ROW_MASK_WORDS * i], row, sizeof(row));
}

/* rows 2i and 2i + 1 share a sublane of the packed tile */
void mask_pack_low(struct mask *d, const struct mask *a, const struct mask *b)
{
    uint16_t lower[SIMD_MASK_WORDS], upper[SIMD_MASK_WORDS];

    memcpy(lower, b->low, PLANE_BYTES);
    memcpy(upper, a->low, PLANE_BYTES);
    for (int row = 0; row < 16; row++) {
        const uint16_t *from = (row < 8 ? lower : upper) + row % 8 * ROW_MASK_WORDS;
        uint16_t *to = (row % 2 ? d->high : d->low) + row / 2 * ROW_MASK_WORDS;

        memcpy(to, from, ROW_MASK_WORDS * sizeof(*to));
    }
    d->is_split = true;
}

void mask_tile(const struct simd_path *simd, uint32_t *d, const struct mask *m,
               const uint32_t *tile, bool is_packed)
{
    static const uint32_t zeros[SIMD_TILE_WORDS];

    if (!is_packed || !m->is_split) {
        simd->select(d, m->low, tile, zeros);
        return;
    }
    for (int at = 0; at < SIMD_TILE_WORDS; at += ROW_LANES)
        simd->select_row_halves(d + at, m->low + at / 16, m->high + at / 16, tile + at, zeros);
}
