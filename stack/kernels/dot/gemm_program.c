/*
 * A product around its passes: copies of the next chunk and of finished
 * blocks, waits, and which pass comes next. Blocks go down the rows first;
 * inside a block chunks go along k.
 *
 * A chunk runs its passes in three goes. Before the first: the copy of the
 * chunk after it starts, into the buffers that the chunk before has left.
 * Before the second: all results of the last block are in its buffer, its copy
 * out starts. Before the last: the next chunk must have arrived, since the last
 * pass loads its first weights.
 */
#include <stdio.h>

#include "base/units.h"
#include "stack/kernels/dot/gemm_impl.h"

#define GRANULES_PER_ROW 16             /* of VMEM */
#define TILE_GRANULES 128
#define C_FLAGS 5                       /* 2 and 3: the sum, to go from one to the other */

enum { T_A = S_TEMP, T_B, T_FLAG, T_FROM, T_TO };

static void begin(struct gemm *g, const char *note)
{
    bundler_begin(&g->b, note, 0);
}

static void end(struct gemm *g)
{
    bundler_end(&g->b);
}

static void set(struct gemm *g, int to, int64_t value)
{
    bundler_add(&g->b, isa_smov(to, I(value)));
}

static void add(struct gemm *g, int to, int from, int64_t value)
{
    bundler_add(&g->b, isa_sadd(to, R(from), I(value)));
}

/* to = sum - from: the other of two values whose sum is known */
static void other(struct gemm *g, int to, int64_t sum, int from)
{
    bundler_add(&g->b, isa_ssub(to, I(sum), R(from)));
}

/* until so many granules have arrived; the flag is 0 again then */
static void wait_for(struct gemm *g, int flag, int64_t granules, int pred)
{
    begin(g, NULL);
    bundler_add(&g->b, isa_if(pred, isa_dma_done(R(flag), I(granules))));
    end(g);
    begin(g, NULL);
    bundler_add(&g->b, isa_if(pred, isa_vsyncadd(R(flag), I(-granules))));
    end(g);
}

static int64_t a_sum(const struct gemm *g) { return g->p->a_row[0] + g->p->a_row[1]; }
static int64_t b_sum(const struct gemm *g) { return g->p->b_row[0] + g->p->b_row[1]; }
static int64_t c_sum(const struct gemm *g) { return g->p->c_row[0] + g->p->c_row[1]; }
static int64_t row_tiles(const struct gemm *g) { return g->p->depth / 128; }
static int64_t column_tiles(const struct gemm *g) { return g->p->columns / 128; }

/* ----- copies in */

static int64_t chunk_granules(const struct gemm *g)
{
    const struct gemm_plan *p = g->p;

    return p->chunk_depth * (p->block_rows + p->block_columns) / 16;
}

/* `tiles` tiles one after the other in VMEM, `stride` tiles apart in HBM, to or fro */
static void copy_tiles(struct gemm *g, enum isa_opcode code, int flag, int64_t tiles,
                       int64_t stride, int pred)
{
    bool is_in = code == OP_DMA_HBM_VMEM;

    bundler_add(
        &g->b, isa_if(pred, isa_make_dma_strided(code, R(T_FROM), I(tiles * TILE_GRANULES), R(T_TO),
                                                 R(flag), I((is_in ? stride : 1) * TILE_GRANULES),
                                                 I((is_in ? 1 : stride) * TILE_GRANULES),
                                                 I(TILE_GRANULES))));
}

/* the next chunk into the buffers T_A, T_B (VMEM rows), column of tiles by column of tiles */
static void copy_chunk(struct gemm *g, int pred)
{
    const struct gemm_plan *p = g->p;

    begin(g, "copy in");
    bundler_add(&g->b, isa_sshll(T_A, R(T_A), I(4)));
    bundler_add(&g->b, isa_sshll(T_B, R(T_B), I(4)));
    for (int64_t i = 0; i < p->chunk_depth / 128; i++) {
        add(g, T_FROM, S_FROM_A, i * TILE_GRANULES);
        add(g, T_TO, T_A, i * p->block_rows / 2 * GRANULES_PER_ROW);
        copy_tiles(g, OP_DMA_HBM_VMEM, T_FLAG, p->rounds, row_tiles(g), pred);
    }
    for (int64_t i = 0; i < p->block_columns / 128; i++) {
        add(g, T_FROM, S_FROM_B, i * TILE_GRANULES);
        add(g, T_TO, T_B, i * p->chunk_depth / 2 * GRANULES_PER_ROW);
        copy_tiles(g, OP_DMA_HBM_VMEM, T_FLAG, p->chunk_depth / 16, column_tiles(g), pred);
    }
    end(g);
}

/* the chunk after the one just copied: along k, then down the rows, then along the columns */
static void advance_fetch(struct gemm *g)
{
    const struct gemm_plan *p = g->p;
    int64_t a_block = p->rounds * row_tiles(g) * TILE_GRANULES;

    begin(g, NULL);
    add(g, S_FETCH_LEFT, S_FETCH_LEFT, -1);
    add(g, S_FETCH_CHUNK, S_FETCH_CHUNK, 1);
    add(g, S_FROM_A, S_FROM_A, p->chunk_depth / 128 * TILE_GRANULES);
    add(g, S_FROM_B, S_FROM_B, p->chunk_depth / 16 * column_tiles(g) * TILE_GRANULES);
    bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_FETCH_CHUNK), I(p->chunks)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_FETCH_CHUNK, I(0))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_sadd(S_FROM_A_BLOCK, R(S_FROM_A_BLOCK), I(a_block))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_FROM_A, R(S_FROM_A_BLOCK))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_FROM_B, R(S_FROM_B_BLOCK))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_sadd(S_FETCH_ROWS, R(S_FETCH_ROWS), I(1))));
    bundler_add(&g->b, isa_scmp_eq(P_TEMP_2, R(S_FETCH_ROWS), I(p->row_blocks)));
    bundler_add(&g->b, isa_if(P_TEMP_2, isa_smov(S_FETCH_ROWS, I(0))));
    bundler_add(&g->b, isa_if(P_TEMP_2, isa_smov(S_FROM_A_BLOCK, I(p->a_address / 32))));
    bundler_add(&g->b, isa_if(P_TEMP_2, isa_smov(S_FROM_A, I(p->a_address / 32))));
    bundler_add(&g->b, isa_if(P_TEMP_2, isa_sadd(S_FROM_B_BLOCK, R(S_FROM_B_BLOCK),
                                                 I(p->block_columns / 128 * TILE_GRANULES))));
    bundler_add(&g->b, isa_if(P_TEMP_2, isa_smov(S_FROM_B, R(S_FROM_B_BLOCK))));
    end(g);
}

/* ----- results out */

static int64_t result_rows(const struct gemm *g)    /* of a tile in HBM */
{
    return g->p->problem.is_result_bf16 ? 16 : 8;
}

static int64_t block_granules(const struct gemm *g)
{
    return g->p->block_rows * g->p->block_columns / result_rows(g) / 128 * TILE_GRANULES;
}

/* f32 tiles of the block at T_A, two to a packed one, which goes where they were */
static void pack_block(struct gemm *g, int label)
{
    const struct gemm_plan *p = g->p;
    int64_t tiles = p->rounds * p->block_columns / 128;

    begin(g, "pack the result");
    bundler_add(&g->b, isa_smov(T_FROM, R(T_A)));
    bundler_add(&g->b, isa_smov(T_TO, R(T_A)));
    set(g, S_LOOP, tiles);
    end(g);
    bundler_label(&g->b, label, label == LABEL_PACK ? "pack" : "pack_last");
    begin(g, NULL);
    bundler_add(&g->b, isa_vld(GEMM_V_POPPED, isa_rows_at(R(T_FROM), 0)));
    bundler_add(&g->b, isa_vld(GEMM_V_POPPED + 1, isa_rows_at(R(T_FROM), 8)));
    add(g, S_LOOP, S_LOOP, -1);
    bundler_add(&g->b, isa_scmp_gt(P_LOOP, R(S_LOOP), I(0)));
    add(g, T_FROM, T_FROM, 16);
    bundler_add(&g->b, isa_vpack_c_bf16(GEMM_V_POPPED, R(GEMM_V_POPPED + 1), R(GEMM_V_POPPED)));
    bundler_add(&g->b, isa_vst(isa_rows_at(R(T_TO), 0), GEMM_V_POPPED));
    add(g, T_TO, T_TO, 8);
    bundler_end_branch(&g->b, label, P_LOOP, false);
}

/* the block at T_A (VMEM row) to its place, raising T_FLAG; `label` for a loop of its own */
static void copy_block(struct gemm *g, int label)
{
    const struct gemm_plan *p = g->p;
    int64_t tiles = p->block_rows / result_rows(g);
    int64_t down = tiles * column_tiles(g) * TILE_GRANULES;

    if (p->problem.is_result_bf16)
        pack_block(g, label);
    begin(g, "copy out");
    bundler_add(&g->b, isa_sshll(T_B, R(T_A), I(4)));
    bundler_add(&g->b, isa_sfence());
    end(g);
    begin(g, NULL);
    for (int64_t i = 0; i < p->block_columns / 128; i++) {
        add(g, T_FROM, T_B, i * tiles * TILE_GRANULES);
        add(g, T_TO, S_OUT, i * TILE_GRANULES);
        copy_tiles(g, OP_DMA_VMEM_HBM, T_FLAG, tiles, column_tiles(g), ISA_PRED_ALWAYS);
    }
    add(g, S_OUT, S_OUT, down);
    add(g, S_OUT_ROWS, S_OUT_ROWS, 1);
    bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_OUT_ROWS), I(p->row_blocks)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_OUT_ROWS, I(0))));
    bundler_add(&g->b, isa_if(P_TEMP, isa_sadd(S_OUT, R(S_OUT),
                                               I(p->block_columns / 128 * TILE_GRANULES -
                                                 down * p->row_blocks))));
    end(g);
}

/* ----- the goes of a chunk */

static void run_passes(struct gemm *g, int64_t count, int phase)
{
    bool accumulates = g->p->has_accumulators;

    begin(g, NULL);
    set(g, S_PASSES, count);
    set(g, S_PHASE, phase);
    if (phase == 1)
        bundler_add(&g->b, isa_pmov(P_TEMP, R(P_BEGIN)));
    else
        bundler_add(&g->b, isa_pneg(P_TEMP, P_WRAP));
    if (phase == 1)
        bundler_add(&g->b, isa_pmov(P_BEGIN, I(0)));
    if (phase == 1 || accumulates)
        bundler_end_branch(&g->b, accumulates ? LABEL_ADD_PASS : LABEL_FIRST, P_TEMP, false);
    else
        end(g);
    begin(g, NULL);
    bundler_end_branch(&g->b, LABEL_PASS, ISA_PRED_ALWAYS, false);
}

static void begin_chunk(struct gemm *g)
{
    begin(g, "next chunk");
    other(g, T_A, a_sum(g), S_A);
    other(g, T_B, b_sum(g), S_B);
    other(g, T_FLAG, 1, S_FLAG);
    bundler_add(&g->b, isa_scmp_eq(P_NEW_BLOCK, R(S_CHUNK), I(0)));
    bundler_add(&g->b, isa_scmp_ne(P_LATER, R(S_CHUNK), I(0)));
    bundler_add(&g->b, isa_scmp_ge(P_TEMP, R(S_BLOCK), I(2)));
    bundler_add(&g->b, isa_pand(P_TEMP, P_TEMP, P_NEW_BLOCK));
    bundler_add(&g->b, isa_scmp_gt(P_FETCH, R(S_FETCH_LEFT), I(0)));
    bundler_add(&g->b, isa_if(P_NEW_BLOCK, isa_ssub(S_C, I(c_sum(g)), R(S_C))));
    bundler_add(&g->b, isa_if(P_NEW_BLOCK, isa_ssub(S_C_FLAG, I(C_FLAGS), R(S_C_FLAG))));
    bundler_add(&g->b, isa_smov(S_BLOCK_RESULT, R(S_C)));
    bundler_add(&g->b, isa_smov(S_ROWS, R(S_A)));
    set(g, S_TILES, g->p->depth_tiles);
    bundler_add(&g->b, isa_pmov(P_ADD, R(P_LATER)));
    end(g);
    wait_for(g, S_C_FLAG, block_granules(g), P_TEMP);
    copy_chunk(g, P_FETCH);
    advance_fetch(g);
}

/* the block before this one is complete */
static void finish_last_block(struct gemm *g)
{
    begin(g, "finished block");
    bundler_add(&g->b, isa_scmp_ge(P_TEMP, R(S_BLOCK), I(1)));
    bundler_add(&g->b, isa_pand(P_TEMP, P_TEMP, P_NEW_BLOCK));
    bundler_add(&g->b, isa_if(P_NEW_BLOCK, isa_sadd(S_BLOCK, R(S_BLOCK), I(1))));
    other(g, T_A, c_sum(g), S_C);
    other(g, T_FLAG, C_FLAGS, S_C_FLAG);
    bundler_end_branch(&g->b, LABEL_NO_OUT, P_TEMP, true);
    copy_block(g, LABEL_PACK);
    bundler_label(&g->b, LABEL_NO_OUT, "no_block");
}

/* for the last pass of the chunk, which loads weights of the next one */
static void expect_chunk(struct gemm *g)
{
    begin(g, "expect the next chunk");
    other(g, T_FLAG, 1, S_FLAG);
    bundler_add(&g->b, isa_scmp_gt(P_TEMP, R(S_LEFT), I(1)));
    bundler_add(&g->b, isa_smov(S_WEIGHTS, R(S_B)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_ssub(S_WEIGHTS, I(b_sum(g)), R(S_B))));
    set(g, S_WEIGHT_TILES, g->p->depth_tiles);
    end(g);
    wait_for(g, T_FLAG, chunk_granules(g), P_TEMP);
}

static void end_chunk(struct gemm *g)
{
    begin(g, "end of a chunk");
    other(g, S_A, a_sum(g), S_A);
    other(g, S_B, b_sum(g), S_B);
    other(g, S_FLAG, 1, S_FLAG);
    add(g, S_CHUNK, S_CHUNK, 1);
    bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_CHUNK), I(g->p->chunks)));
    bundler_add(&g->b, isa_if(P_TEMP, isa_smov(S_CHUNK, I(0))));
    add(g, S_LEFT, S_LEFT, -1);
    bundler_add(&g->b, isa_scmp_gt(P_TEMP_2, R(S_LEFT), I(0)));
    bundler_end_branch(&g->b, LABEL_CHUNK, P_TEMP_2, false);
}

/* behind the passes: to what comes after the go that has ended */
static void dispatch(struct gemm *g, int64_t passes)
{
    static const int label[] = {LABEL_SECOND, LABEL_LAST};

    for (int phase = 1; phase < (passes > 2 ? 3 : 2) && passes > 1; phase++) {
        begin(g, NULL);
        bundler_add(&g->b, isa_scmp_eq(P_TEMP, R(S_PHASE), I(phase)));
        bundler_end_branch(&g->b, label[phase - 1], P_TEMP, false);
    }
}

static void goes(struct gemm *g)
{
    int64_t passes = g->p->depth_tiles * g->p->column_passes;

    bundler_label(&g->b, LABEL_CHUNK, "chunk");
    begin_chunk(g);
    if (passes == 1)
        expect_chunk(g);
    run_passes(g, 1, 1);
    if (passes > 1) {
        bundler_label(&g->b, LABEL_SECOND, "second");
        finish_last_block(g);
    }
    if (passes > 2) {
        run_passes(g, passes - 2, 2);
        bundler_label(&g->b, LABEL_LAST, "last");
    }
    if (passes > 1) {
        expect_chunk(g);
        run_passes(g, 1, 3);
    }
    gemm_passes(g);
    dispatch(g, passes);
    if (passes == 1)
        finish_last_block(g);
    end_chunk(g);
}

/* ----- the whole */

static void set_registers(struct gemm *g)
{
    const struct gemm_plan *p = g->p;
    const struct { int number; int64_t value; } values[] = {
        {S_A, p->a_row[0]}, {S_B, p->b_row[0]}, {S_FLAG, 0}, {S_C, p->c_row[1]}, {S_C_FLAG, 3},
        {S_CHUNK, 0}, {S_BLOCK, 0}, {S_LEFT, p->chunks * p->row_blocks * p->column_blocks},
        {S_FETCH_LEFT, p->chunks * p->row_blocks * p->column_blocks}, {S_FETCH_CHUNK, 0},
        {S_FETCH_ROWS, 0}, {S_FROM_A, p->a_address / 32}, {S_FROM_A_BLOCK, p->a_address / 32},
        {S_FROM_B, p->b_address / 32}, {S_FROM_B_BLOCK, p->b_address / 32},
        {S_OUT, p->c_address / 32}, {S_OUT_ROWS, 0}, {S_LAST_RESULT, p->c_row[0]},
        {S_WEIGHTS, p->b_row[0]}, {S_WEIGHT_TILES, p->depth_tiles},
        {T_A, p->a_row[0]}, {T_B, p->b_row[0]}, {T_FLAG, 0}};

    begin(g, "start");
    for (size_t i = 0; i < COUNT_OF(values); i++)
        set(g, values[i].number, values[i].value);
    bundler_add(&g->b, isa_pmov(P_BEGIN, I(1)));
    bundler_add(&g->b, isa_pmov(P_LAST_ADD, I(0)));
    end(g);
}

static void first_chunk(struct gemm *g)
{
    copy_chunk(g, ISA_PRED_ALWAYS);
    advance_fetch(g);
    wait_for(g, S_FLAG, chunk_granules(g), ISA_PRED_ALWAYS);
    begin(g, "first weights");
    gemm_put_weights(g, 0, gemm_weight_items(g));
    gemm_advance_weights(g);
    end(g);
}

static void last_block(struct gemm *g)
{
    gemm_drain(g);
    begin(g, NULL);
    bundler_add(&g->b, isa_smov(T_A, R(S_C)));
    bundler_add(&g->b, isa_smov(T_FLAG, R(S_C_FLAG)));
    end(g);
    copy_block(g, LABEL_PACK_LAST);
    begin(g, NULL);
    other(g, T_B, C_FLAGS, S_C_FLAG);
    end(g);
    if (g->p->row_blocks * g->p->column_blocks > 1)
        wait_for(g, T_B, block_granules(g), ISA_PRED_ALWAYS);
    wait_for(g, S_C_FLAG, block_granules(g), ISA_PRED_ALWAYS);
    begin(g, NULL);
    bundler_add(&g->b, isa_shalt());
    end(g);
}

int gemm_program(const struct gemm_plan *p, const struct chip *chip, struct arena *a,
                 struct isa_program *out, struct err *e)
{
    struct gemm g = {.p = p, .chip = chip};
    char name[80];

    bundler_init(&g.b, chip);
    gemm_prepare_passes(&g);
    set_registers(&g);
    first_chunk(&g);
    goes(&g);
    last_block(&g);
    snprintf(name, sizeof(name), "gemm %lldx%lldx%lld", (long long)p->problem.m,
             (long long)p->problem.n, (long long)p->problem.k);
    bundler_finish(&g.b, name, a, out);
    bundler_fini(&g.b);
    return isa_check(out, &g.b.limits, e);
}
