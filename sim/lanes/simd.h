/*
 * Lane arithmetic of the vector unit, the EUP and the MXU, one table per SIMD
 * path. All paths compute the same bits (docs/numerics.md); simd_select checks
 * that at start on adversarial inputs and refuses a path that differs.
 *
 * A tile is SIMD_TILE_WORDS 32-bit words, sublane-major: word 128*i + j is
 * sublane i, lane j; 64-byte aligned. A mask has bit 128*i + j, in 64 uint16_t.
 * Destinations may be the same tile as a source, never overlap partly.
 *
 * simd_thread_begin must have run in a thread before it calls any kernel; it
 * sets what the path needs (flush-to-zero control), simd_thread_end restores.
 */
#ifndef SIM_SIMD_H
#define SIM_SIMD_H
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SIMD_TILE_WORDS 1024
#define SIMD_MASK_WORDS 64              /* uint16_t */
#define SIMD_ARRAY_PAIRS 64             /* pairs of rows of a 128x128 weight array */

enum simd_binary {
#define BINARY(id, function, name) BIN_##id,
#define UNARY(id, function, name)
#include "sim/lanes/simd_kernels.def"
    BIN_COUNT
};
enum simd_unary {
#define BINARY(id, function, name)
#define UNARY(id, function, name) UN_##id,
#include "sim/lanes/simd_kernels.def"
    UN_COUNT
};
enum simd_compare { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_COUNT };

typedef void simd_binary_fn(uint32_t *d, const uint32_t *a, const uint32_t *b);
typedef void simd_unary_fn(uint32_t *d, const uint32_t *a);
typedef void simd_compare_fn(uint16_t *mask, const uint32_t *a, const uint32_t *b);

/*
 * out (8x128 f32) = rows x W, each element a chain of 128 fused multiply-adds
 * over k = 1,0,3,2,5,4,… from +0, or from the element of `start` where that is
 * not NULL; NaN is 0x7fc00000. `out` may be `start`.
 */
typedef void simd_matmul_fn(uint32_t *out, const uint32_t *start, const uint32_t row[8][64],
                            const uint32_t pair[64][128]);

/*
 * The same from +0, and then `addend` added to the finished chains as
 * binary[BIN_ADD_F32] does, where it is not NULL; it may be `out`. is_finite:
 * what simd_path.are_finite says of the weights, or false. That and `ahead`, two
 * tiles that will be read soon, change nothing but the time it takes.
 */
typedef void simd_matmul_add_fn(uint32_t *out, const uint32_t *addend, const uint32_t row[8][64],
                                const uint32_t pair[64][128], bool is_finite,
                                const uint32_t *const ahead[2]);

struct simd_path {
    const char *name;                   /* "c", "avx2", "avx512", "avx512bf16" */
    simd_binary_fn *binary[BIN_COUNT];
    simd_unary_fn *unary[UN_COUNT];
    simd_compare_fn *compare_f32[CMP_COUNT], *compare_s32[CMP_COUNT], *compare_u32[CMP_COUNT];
    void (*select)(uint32_t *d, const uint16_t *mask, const uint32_t *a, const uint32_t *b);
    /* one sublane, 128 words; of each half of a word the mask's own bit chooses */
    void (*select_row)(uint32_t *d, const uint16_t *mask, const uint32_t *a, const uint32_t *b);
    void (*select_row_halves)(uint32_t *d, const uint16_t *low, const uint16_t *high,
                              const uint32_t *a, const uint32_t *b);

    void (*spread)(uint32_t *d, const uint32_t value[8]);       /* sublane i: 128 times value i */
    /* lane j of each sublane goes to lane (j + up) mod 128, up < 128; d is not a */
    void (*rotate)(uint32_t *d, const uint32_t *a, uint32_t up);
    /* d[128*j + i] = a[128*i + j] for i, j < 8 */
    void (*turn)(uint32_t *d, const uint32_t *a);

    /*
     * Weights: pair[p][n] holds bf16 W[2p][n] in its low and W[2p+1][n] in its
     * high half. pack_rows rounds 8 rows (a tile of f32) into 4 rows of pairs.
     */
    void (*pack_rows)(uint32_t pair[4][128], const uint32_t *tile);

    /*
     * Left-hand rows, or weight columns given as rows: row[r][p] holds bf16
     * lanes 2p and 2p+1 of row r. Out of a tile of f32, rounded; out of four
     * sublanes of a packed tile, of which sublane i holds rows 2i and 2i+1;
     * row_columns turns 8 rows into the columns of a weight array, pair[p][r].
     */
    void (*rows_of_f32)(uint32_t row[8][64], const uint32_t *tile);
    void (*rows_of_bf16)(uint32_t row[8][64], const uint32_t *sublanes);
    void (*row_columns)(uint32_t pair[64][8], const uint32_t row[8][64]);

    bool (*are_finite)(const uint32_t pair[64][128]);   /* no weight is infinite or NaN */
    simd_matmul_fn *matmul;
    simd_matmul_add_fn *matmul_add;
};

/*
 * The path called `name` ("auto", "c", "avx2", "avx512", "avx512bf16"), self-tested once
 * per process. NULL with *e set when the host cannot run it or it differs.
 */
const struct simd_path *simd_select(const char *name, struct err *e);

/* d = both halves of a packed bf16 tile through a kernel for f32, each rounded back */
void simd_halves(const struct simd_path *path, enum simd_unary op, uint32_t *d, const uint32_t *a);

uint32_t simd_thread_begin(void);       /* returns what simd_thread_end needs */
void simd_thread_end(uint32_t saved);
#endif
