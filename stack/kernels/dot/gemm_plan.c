/*
 * How a product is cut into blocks, chunks and passes: all ways that fit are
 * weighed by a simple count of cycles, the cheapest is taken.
 */
#include "stack/kernels/dot/gemm.h"

#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"

#define TILE 128                        /* columns */
#define PACKED_ROWS 16
#define TILE_BYTES 4096
#define PAGE_BYTES (1 << 16)            /* operands begin at one: host memory is paged so */
#define PASS_CYCLES 16                   /* between two passes, beyond what the rows take */
#define EVENT_CYCLES 60                 /* per chunk: waits, addresses */
#define COPY_WEIGHT 0.05                /* of hidden copies: fewer are better, all else alike */
#define STREAM_SHARE 0.8                /* of its port that streams from and to HBM reach */

static int64_t round_cycles(const struct gemm_plan *p, const struct chip *chip)
{
    return p->is_packed ? chip_matmul_cycles(chip, MATRIX_BF16)
                        : 2 * chip_matmul_cycles(chip, MATRIX_F32);
}

/* tiles of results that a unit gives in a round */
static int64_t round_results(const struct gemm_plan *p)
{
    return 2 * p->halves;
}

int64_t gemm_peak_per_cycle(const struct chip *chip)
{
    int64_t rows = chip_matmul_cycles(chip, MATRIX_BF16)
                       ? PACKED_ROWS * 64 / chip_matmul_cycles(chip, MATRIX_BF16)
                       : 8 * 64 / chip_matmul_cycles(chip, MATRIX_F32);

    return rows * chip->mxu_size * chip->mxu_size * chip->mxu_count / 64;
}

/* vector registers of a program: operands, results and sums, three sets of weights */
static int64_t registers_of(int64_t units, int64_t halves)
{
    return 4 + 4 * units * halves + 9;
}

static int read_chip(struct gemm_plan *p, const struct chip *chip, struct err *e)
{
    int64_t depth;

    p->array = chip->mxu_size;
    p->halves = chip_mxu_halves(chip);
    p->units = (int)chip->mxu_count;
    p->has_accumulators = chip->mxu_accumulators > 0;
    p->is_packed = chip_matmul_cycles(chip, MATRIX_BF16) && chip_push_cycles(chip, MATRIX_BF16);
    if (!p->is_packed && (p->array > TILE || p->has_accumulators))
        return err_set(e, "a matrix unit that takes f32 alone must be 128 wide and have a FIFO");
    while (p->units > 1 && registers_of(p->units, p->halves) > chip->core_vregs)
        p->units--;
    if (registers_of(p->units, p->halves) > chip->core_vregs)
        return err_set(e, "a product needs %lld vector registers, the chip has %lld",
                       (long long)registers_of(p->units, p->halves), (long long)chip->core_vregs);
    depth = p->has_accumulators ? chip->mxu_accumulators : chip->mxu_fifo_depth;
    if (p->has_accumulators ? depth < 2 : depth < 2 * round_results(p))
        return err_set(e, "a product needs %d places for results in a matrix unit, the chip has "
                       "%lld", p->has_accumulators ? 2 : (int)(2 * round_results(p)),
                       (long long)depth);
    return 0;
}

/* a block's share of `total` tiles when a block has at most `most`, all shares equal */
static int64_t equal_share(int64_t total, int64_t most, int64_t *blocks)
{
    *blocks = div_up(total, most);
    return div_up(total, *blocks);
}

/* the share that adds least to `total` among those near `most` */
static int64_t tight_share(int64_t total, int64_t most, int64_t *blocks)
{
    int64_t best = 0, waste = INT64_MAX, count;

    for (count = div_up(total, most); count <= 2 * div_up(total, most); count++) {
        int64_t share = div_up(total, count);

        if (share * count - total < waste) {
            waste = share * count - total;
            best = share;
        }
    }
    *blocks = div_up(total, best);
    return best;
}

static int64_t buffer_rows(const struct gemm_plan *p, int which)
{
    switch (which) {
    case 0: return p->block_rows * p->chunk_depth / 256;
    case 1: return p->block_columns * p->chunk_depth / 256;
    default: return p->block_rows * p->block_columns / TILE;
    }
}

static int64_t vmem_rows(const struct gemm_plan *p)
{
    return 2 * (buffer_rows(p, 0) + buffer_rows(p, 1) + buffer_rows(p, 2));
}

static void place_buffers(struct gemm_plan *p)
{
    int64_t row = 0;

    for (int i = 0; i < 2; i++) {
        p->a_row[i] = row;
        p->b_row[i] = p->a_row[i] + buffer_rows(p, 0);
        p->c_row[i] = p->b_row[i] + buffer_rows(p, 1);
        row = p->c_row[i] + buffer_rows(p, 2);
    }
}

static void cut(struct gemm_plan *p, const struct chip *chip, int64_t rows, int64_t passes,
                int64_t depth_tiles)
{
    const struct gemm_problem *q = &p->problem;
    int64_t most = rows / PACKED_ROWS;

    if (p->has_accumulators && most > chip->mxu_accumulators / 2)
        most = chip->mxu_accumulators / 2;
    p->rounds = equal_share(div_up(q->m, PACKED_ROWS), most, &p->row_blocks);
    p->column_passes = equal_share(div_up(q->n, p->units * p->array), passes, &p->column_blocks);
    p->depth_tiles = tight_share(div_up(q->k, p->array), depth_tiles, &p->chunks);
    p->block_rows = p->rounds * PACKED_ROWS;
    p->block_columns = p->column_passes * p->units * p->array;
    p->chunk_depth = p->depth_tiles * p->array;
    p->rows = p->row_blocks * p->block_rows;
    p->columns = p->column_blocks * p->block_columns;
    p->depth = p->chunks * p->chunk_depth;
}

static double longer(double a, double b)
{
    return a > b ? a : b;
}

/* cycles, about: the passes, what copies take beyond them, the first copy in, the last out */
static double estimate(const struct gemm_plan *p, const struct chip *chip)
{
    double bytes_per_cycle =
        chip->dma_core_gbps * 1e3 / (double)chip->chip_clock_mhz * STREAM_SHARE;
    double rows = (double)(p->rounds * round_cycles(p, chip)), passes, chunk, in, out;
    double blocks, window;
    double weights = p->is_packed ? (double)(p->array / 16 * chip_push_cycles(chip, MATRIX_BF16))
                                  : 16.0 * chip_push_cycles(chip, MATRIX_F32);

    passes = (double)(p->depth_tiles * p->column_passes);
    chunk = passes * (longer(rows, weights) + PASS_CYCLES) + EVENT_CYCLES +
            4.0 * (double)(p->chunk_depth + p->block_columns) / TILE;
    in = (double)(2 * p->chunk_depth * (p->block_rows + p->block_columns)) / bytes_per_cycle;
    out = (double)((p->problem.is_result_bf16 ? 2 : 4) * p->block_rows * p->block_columns) /
          bytes_per_cycle;
    blocks = (double)(p->row_blocks * p->column_blocks);
    if (passes == 1)                    /* a copy begins with the pass before, and must end first */
        return blocks * ((double)p->chunks * (chunk + in) + out) + in + out;
    window = (passes - 1) / passes;
    return blocks * ((double)(p->chunks - 1) * longer(chunk, in / window) +
                     longer(chunk, (in + out) / window)) + in + out +
           COPY_WEIGHT * blocks * (double)p->chunks * in;
}

/* rounds from a push to its pop: as many as the result takes, if the FIFO has room */
static void choose_lag(struct gemm_plan *p, const struct chip *chip)
{
    int64_t room = chip->mxu_fifo_depth / round_results(p) - 2;

    p->lag = div_up(chip->mxu_latency_cycles, round_cycles(p, chip)) + 1;
    if (p->lag > room)
        p->lag = room > 1 ? room : 1;
    if (p->has_accumulators || p->lag > p->rounds)
        p->lag = p->rounds;
}

static int64_t paged(int64_t bytes)
{
    return div_up(bytes, PAGE_BYTES) * PAGE_BYTES;
}

static int place_in_hbm(struct gemm_plan *p, int64_t hbm_bytes, struct err *e)
{
    int64_t result = p->rows * p->columns * (p->problem.is_result_bf16 ? 2 : 4);

    p->a_address = 0;
    p->b_address = paged(2 * p->rows * p->depth);
    p->c_address = p->b_address + paged(2 * p->depth * p->columns);
    p->hbm_bytes = p->c_address + result;
    if (p->hbm_bytes <= hbm_bytes)
        return 0;
    return err_set(e, "operands and result take %.1f MiB, the HBM of a core has %.1f MiB",
                   (double)p->hbm_bytes / MIB, (double)hbm_bytes / MIB);
}

int gemm_plan(struct gemm_plan *p, const struct gemm_problem *problem, const struct chip *chip,
              int64_t hbm_bytes, struct err *e)
{
    struct gemm_plan base = {.problem = *problem};
    double best = 0;

    if (read_chip(&base, chip, e))
        return -1;
    *p = base;
    for (int64_t rows = PACKED_ROWS; rows <= PACKED_ROWS * GEMM_ROUNDS_MAX; rows *= 2)
        for (int64_t passes = 1; passes <= 8; passes *= 2)
            for (int64_t tiles = 1; tiles <= 16; tiles *= 2) {
                struct gemm_plan one = base;

                cut(&one, chip, rows, passes, tiles);
                if (vmem_rows(&one) * 512 > chip->vmem_bytes)
                    continue;
                if (p->rounds == 0 || estimate(&one, chip) < best) {
                    *p = one;
                    best = estimate(p, chip);
                }
            }
    if (p->rounds == 0)
        return err_set(e, "the smallest blocks do not fit the %lld bytes of vector memory",
                       (long long)chip->vmem_bytes);
    place_buffers(p);
    choose_lag(p, chip);
    return place_in_hbm(p, hbm_bytes, e);
}
