/*
 * Programs for C[M][N] = A[M][K] x B[K][N] on the matrix units of a core:
 * bf16 operands, f32 sums, docs/gemm.md.
 *
 * Operands and result lie in HBM in tiles: bf16 as T(8,128)(2,1), packed tiles
 * of 16 rows x 128 columns, f32 as T(8,128); tiles of 4 KiB in row-major
 * order. The sizes are rounded up to whole blocks; the host fills what is
 * added with zeros (gemm_pack).
 *
 * Values. The array sums `array` products in the order of docs/numerics.md
 * (k = 1, 0, 3, 2, …), each pass from +0. With accumulators the passes of a
 * chunk of `chunk_depth` are added from +0 on, in ascending k, then the sums
 * of the chunks; otherwise all passes are added from +0 on in ascending k. A
 * bf16 result is that f32 sum rounded.
 */
#ifndef STACK_GEMM_H
#define STACK_GEMM_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include "sim/chip/chip.h"

#include <stdbool.h>
#include <stdint.h>

#define GEMM_SIDE_MAX (1 << 20)
#define GEMM_ROUNDS_MAX 512             /* of a pass, 16 rows each */

struct gemm_problem {
    int64_t m, n, k;                    /* of one core, 1..GEMM_SIDE_MAX */
    bool is_result_bf16;
};

/* How a problem is cut. Rows, columns and depths are elements unless they say otherwise. */
struct gemm_plan {
    struct gemm_problem problem;
    int units, halves;                  /* matrix units used; tiles that an array is wide */
    int64_t array;                      /* rows and columns of an array */
    bool has_accumulators, is_packed;   /* the unit takes bf16, not only f32 */
    int64_t block_rows, block_columns, chunk_depth;
    int64_t row_blocks, column_blocks, chunks;
    int64_t rows, columns, depth;       /* blocks x their size: what lies in HBM */
    int64_t rounds;                     /* tiles of 16 rows in a block */
    int64_t depth_tiles, column_passes; /* passes of a chunk: depth_tiles x column_passes */
    int64_t lag;                        /* rounds from a push to its pop */
    int64_t a_address, b_address, c_address, hbm_bytes;
    int64_t a_row[2], b_row[2], c_row[2];       /* buffers in VMEM */
};

/* -1 when no blocks fit the core's VMEM, units and `hbm_bytes` of HBM. */
int gemm_plan(struct gemm_plan *p, const struct gemm_problem *problem, const struct chip *chip,
              int64_t hbm_bytes, struct err *e);

/* The program of a plan, for one core; it ends with shalt. Fits any plan of gemm_plan. */
int gemm_program(const struct gemm_plan *p, const struct chip *chip, struct arena *a,
                 struct isa_program *out, struct err *e);

/* peak of the units that the core has, in multiply-adds per cycle */
int64_t gemm_peak_per_cycle(const struct chip *chip);

/*
 * Dense row-major f32 to bf16 tiles (rounded as the units do) of a padded
 * matrix and back; `tiles` has room for rows x columns elements.
 */
void gemm_pack(const float *dense, int64_t dense_rows, int64_t dense_columns, int64_t rows,
               int64_t columns, uint16_t *tiles);
void gemm_unpack_f32(const float *tiles, int64_t columns, int64_t dense_rows,
                     int64_t dense_columns, float *dense);
void gemm_unpack_bf16(const uint16_t *tiles, int64_t columns, int64_t dense_rows,
                      int64_t dense_columns, float *dense);
#endif
