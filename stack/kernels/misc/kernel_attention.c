/*
 * Kernels of kind "attention": custom calls that keep blocks of keys with a running softmax, so
 * that scores are never in HBM. FLASH streams heads through a pipeline: a step has a whole head in
 * VMEM. docs/kernels.md.
 *
 * Values: products in the order of the matrix unit, base-2 exponentials, the sum of a block's
 * exponentials and its product with v added to the running ones after these are scaled. Not here:
 * chips with accumulators (v7x), heads other than 128 wide, dropout, biases.
 */
#include "stack/kernels/misc/attention_impl.h"

#include <math.h>

#include "base/units.h"
#include "stack/kernels/pipeline/pipeline.h"

#define DEPTH 128                       /* of a head */
#define TILE_ROWS 8
#define SPILL_TILES 32
#define HEADS_OF_TILE 8                 /* pairs of k and v in the 16 rows of a token's tile */
#define TILE_CYCLES 5                   /* of 8 rows by 128 keys, when the loops are full; */
#define STEP_CYCLES 1100                /* of a block of keys, latencies one behind the other */

enum { WINDOW_Q, WINDOW_K, WINDOW_V, WINDOW_O };
/* kept in a step of FLASH: its first query, counters of blocks; the core has those before */
enum { SREG_FIRST = 13, SREG_QUERIES, SREG_BLOCKS };

static const struct graph_node *node_of(const struct graph *body)
{
    return &body->node[body->output[0].node];
}

/* ----- what is made */

static int check_rows(const struct graph_attention *a, const char *name, struct err *e)
{
    bool is_one = a->block_q == 1;

    if (a->form == ATTENTION_PAGED && !is_one)
        return err_set(e, "%s: %lld queries of a sequence; over pages of one head one is made", name,
                       (long long)a->q_len);
    if (is_one ? a->heads_q / a->heads_kv > TILE_ROWS : a->block_q % ATTENTION_PACKED_ROWS)
        return err_set(e, "%s: blocks of %lld queries of %lld heads to one of k; multiples of 16 "
                       "queries are made, and one query of up to 8 heads", name,
                       (long long)a->block_q, (long long)(a->heads_q / a->heads_kv));
    if (a->form == ATTENTION_FLASH && (is_one || a->q_len % a->block_q || a->kv_len % a->block_kv))
        return err_set(e, "%s: %lld queries in blocks of %lld, %lld keys in blocks of %lld; blocks "
                       "divide both, those of queries are multiples of 16", name,
                       (long long)a->q_len, (long long)a->block_q, (long long)a->kv_len,
                       (long long)a->block_kv);
    return 0;
}

static int check_pages(const struct graph_attention *a, const char *name, struct err *e)
{
    if (a->page_tokens % ATTENTION_PACKED_ROWS || a->block_kv % a->page_tokens)
        return err_set(e, "%s: pages of %lld tokens, multiples of 16 that divide blocks of %lld are "
                       "made", name, (long long)a->page_tokens, (long long)a->block_kv);
    if (a->form == ATTENTION_RAGGED && a->heads_kv > HEADS_OF_TILE)
        return err_set(e, "%s: %lld heads of k, up to 8 are made", name, (long long)a->heads_kv);
    return 0;
}

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *n = node_of(body);
    const struct graph_attention *a = n->attention;

    if (chip->mxu_accumulators)
        return err_set(e, "%s: %s has accumulators, which attention's kernels do not use", n->name,
                       chip->chip_name);
    if (a->depth != DEPTH)
        return err_set(e, "%s: heads are %lld wide, %d is made", n->name, (long long)a->depth,
                       DEPTH);
    if (a->block_kv % ARRAY_LANES)
        return err_set(e, "%s: blocks of %lld keys, multiples of 128 are made", n->name,
                       (long long)a->block_kv);
    if (a->form != ATTENTION_FLASH && check_pages(a, n->name, e))
        return -1;
    return check_rows(a, n->name, e);
}

static struct attention_work work_of(const struct kernel_job *job)
{
    const struct graph_node *n = node_of(job->body);
    const struct graph_attention *a = n->attention;
    int64_t group = a->heads_q / a->heads_kv;
    const struct array *of[4] = {NULL};

    for (int i = 0; i < n->operand_count; i++)
        of[i] = job->operand[job->body->node[n->operand[i]].parameter_index];
    return (struct attention_work){
        .job = job, .a = a, .q = of[0], .k = of[1], .o = job->result[0],
        .v = a->form == ATTENTION_RAGGED ? of[1] : of[2], .table = of[n->operand_count - 1],
        .group = group, .q_blocks = div_up(a->q_len, a->block_q), .head_rows = group * a->block_q,
        .table_pages = a->form == ATTENTION_FLASH ? 0
                       : div_up(a->kv_len, a->block_kv) * (a->block_kv / a->page_tokens)};
}

int64_t attention_place_core(struct attention_work *w, int64_t row, int64_t heads,
                             int64_t members, int64_t groups)
{
    struct attention_core *k = &w->core;

    k->c = &w->code;
    k->chip = w->job->chip;
    k->heads = heads;
    k->members = members;
    k->groups = groups;
    k->keys = w->a->block_kv;
    k->scale = (float)(1.4426950408889634 / sqrt((double)DEPTH));
    k->s_row = row;
    k->m_row = k->s_row + core_score_rows(k);
    k->l_row = k->m_row + core_state_rows(k);
    k->alpha_row = k->l_row + core_state_rows(k);
    k->acc_row = k->alpha_row + core_state_rows(k);
    return k->acc_row + core_state_rows(k);
}

/* ----- flash */

static void add_window(struct pipeline *f, const struct array *a, int64_t rows, bool is_of_group)
{
    int64_t tiles = rows / ATTENTION_PACKED_ROWS;

    f->window[f->window_count++] = (struct pipeline_window){
        .array = a, .box_dims = 1, .box_stride = {1}, .box_count = {tiles},
        .step = {is_of_group ? f->count[1] * tiles : tiles, is_of_group ? tiles : 0}};
}

static struct pipeline flash_frame(struct attention_work *w)
{
    struct pipeline f = {.job = w->job,
                         .dims = 2,
                         .count = {w->a->sequences * w->a->heads_kv, w->group},
                         .scratch_rows =
                             attention_place_core(w, 0, 1, 1, w->a->block_q / TILE_ROWS)};

    add_window(&f, w->q, w->a->q_len, true);
    add_window(&f, w->k, w->a->kv_len, false);
    add_window(&f, w->v, w->a->kv_len, false);
    add_window(&f, w->o, w->a->q_len, true);
    f.window[WINDOW_O].is_result = true;
    return f;
}

/* to a core's register the row where a window's box is now */
static void point(struct attention_work *w, const struct pipeline *f, int sreg, int window)
{
    int base = pipeline_base(f, window);
    int64_t row = pipeline_row(f, window);

    builder_set(&w->m, R(sreg), base < 0 ? I(row) : builder_add(&w->m, R(base), I(row)));
}

/* the same for the block of queries that begins with S[SREG_FIRST] */
static void point_at_block(struct attention_work *w, const struct pipeline *f, int window)
{
    point(w, f, SREG_Q, window);
    builder_set(&w->m, R(SREG_Q), builder_add(&w->m, R(SREG_Q),       /* two queries lie in a row */
                                        builder_shift(&w->m, R(SREG_FIRST), -1)));
    w->m.next_sreg = SREG_CORE;
}

/* causal: as long as the block's last query sees keys of the next block */
static void end_of_keys(struct attention_work *w)
{
    if (w->a->is_causal)
        builder_while_end(&w->m, R(SREG_BLOCKS), I(-w->a->block_q), R(SREG_LIMIT));
    else
        builder_loop_end(&w->m, R(SREG_BLOCKS));
}

/* all blocks of keys that a block of queries sees */
static void flash_keys(struct attention_work *w)
{
    int64_t key_rows = w->a->block_kv / ATTENTION_PACKED_ROWS * TILE_ROWS;

    vcode_loop_begin(&w->code, SREG_BLOCKS, w->a->is_causal ? 1 : w->a->kv_len / w->a->block_kv);
    core_step(&w->core);
    emit_sadd(&w->code, SREG_KEYS, R(SREG_KEYS), I(key_rows));
    emit_sadd(&w->code, SREG_VALUES, R(SREG_VALUES), I(key_rows));
    emit_ssub(&w->code, SREG_LIMIT, R(SREG_LIMIT), I(w->a->block_kv));
    end_of_keys(w);
}

static void flash_step(struct attention_work *w, const struct pipeline *f)
{
    struct vcode *c = &w->code;

    emit_smov(c, SREG_FIRST, I(0));
    vcode_loop_begin(c, SREG_QUERIES, w->q_blocks);
    point_at_block(w, f, WINDOW_Q);
    point(w, f, SREG_KEYS, WINDOW_K);
    point(w, f, SREG_VALUES, WINDOW_V);
    w->m.next_sreg = SREG_CORE;
    emit_sadd(c, SREG_LIMIT, R(SREG_FIRST), I(w->a->kv_len - w->a->q_len));
    core_begin(&w->core);
    flash_keys(w);
    point_at_block(w, f, WINDOW_O);
    core_end(&w->core);
    emit_sadd(c, SREG_FIRST, R(SREG_FIRST), I(w->a->block_q));
    vcode_loop_end(c, SREG_QUERIES);
}

static int flash_emit(struct attention_work *w, struct arena *a, struct err *e)
{
    struct pipeline f = flash_frame(w);

    w->core.is_causal = w->core.is_masked = w->a->is_causal;
    w->m.next_sreg = SREG_CORE;
    w->m.sreg_end = SREG_FIRST;
    if (pipeline_begin(&f, &w->code, a, e))
        return -1;
    attention_place_core(w, pipeline_scratch_row(&f), 1, 1, w->a->block_q / TILE_ROWS);
    flash_step(w, &f);
    pipeline_end(&f, &w->code);
    return 0;
}

/* ----- the kind */

static int64_t rows_of(struct attention_work *w)
{
    struct pipeline f;

    if (w->a->form != ATTENTION_FLASH)
        return attention_paged_rows(w);
    f = flash_frame(w);
    return pipeline_vmem_rows(&f);
}

static bool is_row_major(const struct array *a)
{
    for (int i = 0; i < a->shape.rank; i++)
        if (a->order[i] != a->shape.rank - 1 - i)
            return false;
    return true;
}

/* the blocks are the call's; arrays that are copied page by page or once as a whole lie in HBM */
static int tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    struct attention_work w = work_of(job);

    for (int i = 0; i < job->operand_count; i++)
        if (!is_row_major(job->operand[i]) || job->operand[i]->space != SPACE_HBM)
            return 0;
    if (max < 1 || !is_row_major(w.o) || w.o->space != SPACE_HBM ||
        rows_of(&w) + SPILL_TILES * TILE_ROWS > job->vmem_rows)
        return 0;
    list[0] = (struct tiling){.count = 0};
    return 1;
}

/* heads that loops go over: of RAGGED a step has all */
static int64_t step_heads(const struct attention_work *w)
{
    return w->a->form == ATTENTION_FLASH ? w->a->heads_q
           : w->a->form == ATTENTION_PAGED ? w->a->heads_kv : 1;
}

/* blocks of keys, over all of the grid */
static int64_t steps_of(const struct attention_work *w)
{
    int64_t blocks = 0, past = w->a->kv_len - w->a->q_len;

    for (int64_t b = 1; b <= w->q_blocks; b++)
        blocks += div_up(w->a->is_causal ? past + b * w->a->block_q : w->a->kv_len,
                         w->a->block_kv);
    return w->a->sequences * step_heads(w) * blocks;
}

static int64_t keys_bytes(const struct attention_work *w)
{
    int64_t keys = w->a->block_kv * steps_of(w);

    if (w->a->form == ATTENTION_FLASH)
        return w->k->bytes + w->v->bytes;
    return keys * (w->a->form == ATTENTION_RAGGED ? ARRAY_TILE_BYTES : 2 * 2 * DEPTH);
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    struct attention_work w = work_of(job);
    int64_t mhz = job->chip->chip_clock_mhz, steps = steps_of(&w);
    int64_t heads = w.a->form == ATTENTION_RAGGED ? w.a->heads_kv : 1;
    int64_t tiles = heads * div_up(w.head_rows, TILE_ROWS) * w.a->block_kv / ARRAY_LANES;

    (void)t;
    *out = (struct kernel_cost){
        .compute_cycles = steps * (STEP_CYCLES + TILE_CYCLES * tiles), .steps = steps,
        .fixed_cycles = (job->chip->dma_read_ns + job->chip->dma_write_ns) * mhz / 1000,
        .hbm_bytes = keys_bytes(&w) + w.q->bytes + w.o->bytes, .flops = graph_flops(job->body),
        .vmem_rows = rows_of(&w) + SPILL_TILES * TILE_ROWS};
    out->copy_cycles = out->hbm_bytes * mhz / (int64_t)(job->chip->dma_core_gbps * 1000);
    out->total_cycles = out->fixed_cycles + later(out->compute_cycles, out->copy_cycles);
    return 0;
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    struct attention_work w = work_of(job);
    int64_t spill = job->vmem_row + rows_of(&w);
    int status;

    *out = (struct segment){.tiling = *t};
    vcode_init(&w.code, a);
    w.code.note = job->name;
    builder_init(&w.m, &w.code, job->chip);
    status = w.a->form == ATTENTION_FLASH ? flash_emit(&w, a, e) : attention_paged_emit(&w, e);
    if (!status)
        status = kernel_finish(job, &w.code, spill, SPILL_TILES, a, out, e);
    vcode_fini(&w.code);
    return status ? status : cost(job, t, &out->cost);
}

const struct kernel_kind kernel_attention = {
    .name = "attention", .category = "custom-call", .check_supported = check_supported,
    .tilings = tilings, .cost = cost, .emit = emit, .is_for_one_core = true,
    .takes_all_vmem = true};
