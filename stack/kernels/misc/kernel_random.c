/*
 * Kernels of kind "random": the bits of rng-bit-generator, tile by tile.
 *
 * Each tile is what the machine's generator gives after it has been seeded with
 * a key of the tile's number (graph_rng_key), so that the bits of an array do
 * not depend on how a kernel goes through it. Tiles leave in chunks, two buffers.
 */
#include "stack/kernels/pipeline/kernel.h"
#include "stack/kernels/index/kernel_index.h"

#include "base/units.h"

#include <string.h>

#define CHUNK_TILES_MAX 64
#define UNROLLED 8
#define TILE_ROWS 8
#define SPILL_TILES 8
#define PRED_LATER 8
#define TILE_KEY INT32_C(-2048144789)   /* graph_rng_key: 0x85ebca6b from tile to tile */

/* fewer where vector memory is small; 0: no two buffers fit */
static int64_t chunk_tiles(const struct kernel_job *job)
{
    int64_t room = (job->vmem_rows / TILE_ROWS - SPILL_TILES) / 2;

    return room > CHUNK_TILES_MAX ? CHUNK_TILES_MAX : room > 0 ? room : 0;
}

struct random_work {
    const struct kernel_job *job;
    int64_t chunk;                      /* tiles */
    const struct graph_node *node;
    const struct array *to;
    struct vcode code;
    struct builder m;
    struct isa_operand key, turn, step, at;
};

static int random_check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *n = &body->node[body->output[0].node];

    (void)chip;
    if (body->output_count != 1 || n->op != HLO_RNG_BITS)
        return err_set(e, "%s: something comes after the random bits in their fusion", n->name);
    if (body->node[n->operand[0]].op != HLO_PARAMETER)
        return err_set(e, "%s: its seed is computed in its fusion", n->name);
    return 0;
}

/* `count` tiles from VMEM row S[row] on */
static void draw(struct random_work *w, struct isa_operand row, int count)
{
    for (int i = 0; i < count; i++) {
        emit_setrngseed(&w->code, w->key);
        emit_vst(&w->code, isa_rows_at(row, i * TILE_ROWS), emit_vrng(&w->code), VCODE_REGION_ANY);
        builder_advance(&w->m, w->key, TILE_KEY);
    }
    builder_advance(&w->m, row, count * TILE_ROWS);
}

static void draw_chunk(struct random_work *w, int64_t tiles)
{
    struct builder *m = &w->m;
    int kept = m->next_sreg, flag = w->job->first_flag + 1;
    struct isa_operand row = builder_reg(m), out = builder_add(m, w->turn, I(flag)), counter;
    struct isa_operand base = builder_reg(m);

    /* the chunk two before has left this buffer; it was a whole one */
    emit_scmp_ge(&w->code, PRED_LATER, w->step, I(2));
    vcode_await(&w->code, out, w->chunk * INDEX_GRANULES, PRED_LATER);
    builder_set(
        m, base,
        builder_add(m, builder_mul(m, w->turn, w->chunk * TILE_ROWS), I(w->job->vmem_row)));
    builder_set(m, row, base);
    vcode_begin_block(&w->code);
    if (tiles / UNROLLED) {
        counter = builder_loop_begin(m, tiles / UNROLLED);
        draw(w, row, UNROLLED);
        builder_loop_end(m, counter);
    }
    draw(w, row, (int)(tiles % UNROLLED));
    vcode_begin_block(&w->code);
    emit_dma(&w->code, index_copy_code(SPACE_VMEM, w->to->space), builder_shift(m, base, 4),
             I(tiles * INDEX_GRANULES), w->at, out);
    builder_advance(&w->m, w->at, tiles * INDEX_GRANULES);
    builder_advance(&w->m, w->step, 1);
    emit_ssub(&w->code, w->turn.value, I(1), w->turn);
    m->next_sreg = kept;
}

static void read_seed(struct random_work *w, const struct array *seed)
{
    struct builder *m = &w->m;
    enum isa_opcode code = seed->space == SPACE_HBM ? OP_DMA_HBM_SMEM : OP_DMA_VMEM_SMEM;
    int64_t at = round_up(w->job->smem, ARRAY_GRANULE_BYTES);
    uint32_t stream = graph_rng_key(0, w->node->count, 0);

    emit_dma(m->code, code, I(seed->address / ARRAY_GRANULE_BYTES), I(1),
             I(at / ARRAY_GRANULE_BYTES), I(w->job->first_flag));
    vcode_await(m->code, I(w->job->first_flag), 1, -1);
    emit_sld(&w->code, w->key.value, NONE, I(at));
    emit_sadd(&w->code, w->key.value, w->key, I(stream));
}

static void make_code(struct random_work *w)
{
    struct builder *m = &w->m;
    struct isa_operand *start[] = {&w->key, &w->turn, &w->step, &w->at};
    int64_t tiles = w->to->tile_count, whole = tiles / w->chunk, rest = tiles % w->chunk;
    int64_t chunks = whole + (rest > 0);
    int flag = w->job->first_flag + 1;
    struct isa_operand counter;

    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
        *start[i] = builder_reg(m);
        builder_set(m, *start[i], I(0));
    }
    builder_set(m, w->at, I(w->to->address / ARRAY_GRANULE_BYTES));
    read_seed(w, w->job->operand[w->job->body->node[w->node->operand[0]].parameter_index]);
    if (whole) {
        counter = builder_loop_begin(m, whole);
        draw_chunk(w, w->chunk);
        builder_loop_end(m, counter);
    }
    if (rest)
        draw_chunk(w, rest);
    for (int64_t i = chunks > 1 ? chunks - 2 : 0; i < chunks; i++)
        vcode_await(m->code, I(flag + (int)(i % 2)),
                    (i < whole ? w->chunk : rest) * INDEX_GRANULES, -1);
}

static int random_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    if (max < 1 || !chunk_tiles(job))
        return 0;
    list[0] = (struct tiling){.count = 0};
    return 1;
}

/* a tile takes a few bundles in a row: seed, bits, store */
static int random_cost(const struct kernel_job *job, const struct tiling *t,
                       struct kernel_cost *out)
{
    int64_t tiles = job->result[0]->tile_count, mhz = job->chip->chip_clock_mhz;

    (void)t;
    *out = (struct kernel_cost){
        .compute_cycles = 5 * tiles, .hbm_bytes = tiles * ARRAY_TILE_BYTES,
        .copy_cycles = tiles * ARRAY_TILE_BYTES * mhz
                       / (int64_t)(job->chip->dma_core_gbps * 1000),
        .fixed_cycles = (job->chip->dma_read_ns + job->chip->dma_write_ns) * mhz / 1000,
        .vmem_rows = (2 * chunk_tiles(job) + SPILL_TILES) * TILE_ROWS,
        .steps = div_up(tiles, chunk_tiles(job))};
    out->total_cycles = out->fixed_cycles + (out->compute_cycles > out->copy_cycles
                                             ? out->compute_cycles : out->copy_cycles);
    return 0;
}

static int check_layout(const struct random_work *w, struct err *e)
{
    for (int i = 0; i < w->to->shape.rank; i++)
        if (w->to->order[i] != w->to->shape.rank - 1 - i)
            return err_set(e, "%s: random bits in another layout than row-major", w->node->name);
    return 0;
}

static int random_emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                       struct segment *out, struct err *e)
{
    struct random_work w = {.job = job, .chunk = chunk_tiles(job), .to = job->result[0],
                            .node = &job->body->node[job->body->output[0].node]};
    int64_t spill = job->vmem_row + 2 * chunk_tiles(job) * TILE_ROWS;
    int status;

    *out = (struct segment){.tiling = *t};
    if (check_layout(&w, e))
        return -1;
    vcode_init(&w.code, a);
    w.code.note = job->name;
    builder_init(&w.m, &w.code, job->chip);
    make_code(&w);
    status = kernel_finish(job, &w.code, spill, SPILL_TILES, a, out, e);
    vcode_fini(&w.code);
    return status ? status : random_cost(job, t, &out->cost);
}

const struct kernel_kind kernel_random = {
    .name = "random", .category = "rng-bit-generator", .check_supported = random_check_supported,
    .tilings = random_tilings, .cost = random_cost, .emit = random_emit, .is_for_one_core = true,
};
