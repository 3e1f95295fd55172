/*
 * Tiles as the matrix units take them: every type becomes bf16, exactly but
 * for f32, which is rounded (docs/mxu.md). Sublane i of a packed tile holds
 * rows P i .. P i + P - 1, P values in a word, the first in the lowest bits.
 */
#ifndef SIM_MATRIX_TILE_H
#define SIM_MATRIX_TILE_H
#include "isa/matrix.h"
#include "sim/lanes/simd.h"

#define MATRIX_ROWS_MAX 64              /* of a tile, four bits each */

/* row[r][p]: bf16 lanes 2p and 2p+1 of row r; matrix_rows(type) of them */
void matrix_rows_of_tile(const struct simd_path *simd, enum matrix_type type,
                         const uint32_t *tile, uint32_t row[MATRIX_ROWS_MAX][64]);

/*
 * Weights as groups of 8 rows, [4][128] pairs, or columns, [64][8] pairs, of
 * 512 words; a group for every 8 rows in the tile. The answer is `room`, or
 * the tile itself where that is the same.
 */
#define MATRIX_GROUP_WORDS 512
const uint32_t *matrix_groups_of_tile(const struct simd_path *simd, enum matrix_type type,
                                      bool is_columns, const uint32_t *tile,
                                      uint32_t room[MATRIX_ROWS_MAX / 8 * MATRIX_GROUP_WORDS]);

#endif
