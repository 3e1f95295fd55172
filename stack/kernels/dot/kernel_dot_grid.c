/*
 * Cuts a product into steps: the dimensions of the grid, a window for each array, and what all of
 * it costs.
 */
#include "stack/kernels/dot/kernel_dot_grid.h"

#include <string.h>

#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_prepare.h"
#include "stack/kernels/dot/kernel_dot_fused.h"
#include "stack/kernels/dot/kernel_dot_inside.h"
#include "stack/kernels/pipeline/vector_rows.h"

#define TILE 128
#define XLA_GAP_CYCLES 15               /* passes of XLA do not run into each other: accuracy.md */
#define TILE_ROWS 8                     /* of VMEM */
#define SPILL_ROWS 512                  /* for registers of fused loops */

static int64_t round_groups(const struct dot_problem *p) { return div_up(p->m, p->group_rows); }

/* rows of some array end before `rows`; of one in VMEM alone, where no copy can leave them out */
static bool is_ragged(const struct dot_problem *p, int64_t rows, bool in_vmem)
{
    if (!p->is_lhs_transposed && p->lhs.row_tiles * p->lhs.array->tile_rows < rows
        && (!in_vmem || p->lhs.array->space == SPACE_VMEM))
        return true;
    for (int i = 0; i < p->extra_count; i++) {
        const struct dot_matrix *m = &p->extra[i].matrix;

        if (p->extra[i].kind == EXTRA_MATRIX && m->row_tiles * m->array->tile_rows < rows
            && (!in_vmem || m->array->space == SPACE_VMEM))
            return true;
    }
    return false;
}

int dot_batch_dim(const struct dot_problem *p)
{
    int dim = -1;

    for (int i = 0; i < p->outer_count; i++)
        if (p->outer[i].side != SIDE_K && (dim < 0 || p->outer[i].side == SIDE_BATCH))
            dim = i;
    return dim;
}

int64_t dot_batch_count(const struct dot_problem *p)
{
    return dot_batch_dim(p) < 0 ? 1 : p->outer[dot_batch_dim(p)].count;
}

/* indices of an outer dimension in the grid */
static int64_t grid_count(const struct dot_grid *g, int outer)
{
    return div_up(g->p->outer[outer].count, outer == dot_batch_dim(g->p) ? g->batches : 1);
}

int64_t dot_batch_stride(const struct dot_grid *g, int window, const struct dot_matrix *m)
{
    const struct dot_block *b = m == &g->p->lhs ? &g->lhs_block : &g->rhs_block;

    if (g->batches == 1 || m->outer[dot_batch_dim(g->p)] == 0)
        return 0;
    if (window < 0)
        return b->lanes * b->rows * TILE_ROWS;
    return pipeline_stride(&g->pipeline, window, 2);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* how a window moves along a dimension of the grid, `limit` at most (0: as far as it gets) */
static void set_step(const struct dot_grid *g, struct pipeline_window *w, enum dot_dim dim,
                     int64_t step, int64_t limit)
{
    if (g->dim[dim] < 0)
        return;
    w->step[g->dim[dim]] = step;
    w->limit[g->dim[dim]] = limit;
}

/* of boxes that do not divide the array; else 0 */
static int64_t last_start(int64_t tiles, int64_t box)
{
    return tiles > box && tiles % box ? tiles - box : 0;
}

/* a box of several batches */
static void add_batches(const struct dot_grid *g, const struct dot_matrix *m,
                        struct pipeline_window *w)
{
    int batch = dot_batch_dim(g->p);
    int64_t stride = m->outer[batch];

    if (stride == 0)
        return;
    w->box_count[2] = g->batches;
    w->box_stride[2] = stride;
    w->box_dims = 3;
    set_step(g, w, (enum dot_dim)(DIM_OUTER + batch), g->batches * stride,
             last_start(g->p->outer[batch].count, g->batches) * stride);
}

/* rows of all steps along a dimension, counted by what a step has of them */
static int64_t rows_of_steps(const struct dot_grid *g, enum dot_dim down)
{
    const struct dot_problem *p = g->p;

    if (down == DIM_N || p->is_lhs_transposed)
        return round_up(down == DIM_N ? p->n : p->m, TILE);
    return round_groups(p) * p->group_rows;
}

/* Rows that end inside what a step has: the last box is shorter. */
static void set_row_steps(const struct dot_grid *g, const struct dot_matrix *m, int64_t rows,
                          enum dot_dim down, struct pipeline_window *w)
{
    int64_t across = m->array->tiles_across, all = rows_of_steps(g, down) / m->array->tile_rows;

    set_step(g, w, down, rows * across, last_start(all, rows) * across);
    if (g->dim[down] < 0 || m->array->space == SPACE_VMEM || all == m->row_tiles)
        return;
    w->box_count[1] = rows;
    w->short_dim = g->dim[down];
    w->short_count = all - m->row_tiles;
}

/*
 * A window of a box of `lanes` x `rows` tiles that moves with grid dimensions along and down. The
 * last box of a contraction may go beyond the array by part of 128 rows: what is read there
 * counts as zero (kernel_dot_prepare.c).
 */
static struct pipeline_window box_of(const struct dot_grid *g, const struct dot_matrix *m,
                                     int64_t lanes, int64_t rows, enum dot_dim along,
                                     enum dot_dim down)
{
    int64_t across = m->array->tiles_across;
    struct pipeline_window w = {.array = m->array, .box_dims = 2,
                                .box_count = {smaller(lanes, m->lane_tiles),
                                              smaller(rows, m->row_tiles)},
                                .box_stride = {1, across}};

    for (int i = 0; i < g->p->outer_count; i++)
        set_step(g, &w, (enum dot_dim)(DIM_OUTER + i), m->outer[i], 0);
    if (g->batches > 1)
        add_batches(g, m, &w);
    set_step(g, &w, along, lanes, last_start(m->lane_tiles, lanes));
    if (down == DIM_K)
        set_step(g, &w, down, rows * across, 0);
    else
        set_row_steps(g, m, rows, down, &w);
    return w;
}

static int add_window(struct dot_grid *g, struct pipeline_window w)
{
    g->pipeline.window[g->pipeline.window_count] = w;
    return g->pipeline.window_count++;
}

/* an operand that a fused loop makes: its block takes the window's place */
static int add_block(struct dot_grid *g, struct dot_block *b, const struct dot_matrix *m,
                     struct pipeline_window w, enum dot_dim along, enum dot_dim down, struct err *e)
{
    b->lanes = w.box_count[0];
    b->rows = w.box_count[1];
    b->batches = w.box_dims > 2 ? w.box_count[2] : 1;
    return dot_cut_fused(g, b, m, along, down, e);
}

static int add_operand(struct dot_grid *g, bool is_rhs, struct pipeline_window w,
                       enum dot_dim along, enum dot_dim down, struct err *e)
{
    const struct dot_problem *p = g->p;
    struct dot_block *b = is_rhs ? &g->rhs_block : &g->lhs_block;
    int *window = is_rhs ? &g->rhs_window : &g->lhs_window;

    *window = -1;
    if (b->fused)
        return add_block(g, b, is_rhs ? &p->rhs : &p->lhs, w, along, down, e);
    *window = add_window(g, w);
    return 0;
}

static int add_operands(struct dot_grid *g, struct err *e)
{
    const struct dot_problem *p = g->p;
    int64_t rows = g->groups * p->group_rows;
    int64_t per = TILE / p->rhs.array->tile_rows, lhs_per = p->lhs.array->tile_rows;
    enum dot_dim lhs_along = p->is_lhs_transposed ? DIM_M : DIM_K;
    enum dot_dim lhs_down = p->is_lhs_transposed ? DIM_K : DIM_M;
    enum dot_dim rhs_along = p->is_rhs_transposed ? DIM_K : DIM_N;
    enum dot_dim rhs_down = p->is_rhs_transposed ? DIM_N : DIM_K;

    if (add_operand(g, false,
                    p->is_lhs_transposed
                        ? box_of(g, &p->lhs, div_up(rows, TILE), g->depth * TILE / lhs_per,
                                 lhs_along, lhs_down)
                        : box_of(g, &p->lhs, g->depth, div_up(rows, lhs_per), lhs_along,
                                 lhs_down),
                    lhs_along, lhs_down, e))
        return -1;
    return add_operand(g, true,
                       p->is_rhs_transposed
                           ? box_of(g, &p->rhs, g->depth, g->tiles * per, rhs_along, rhs_down)
                           : box_of(g, &p->rhs, g->tiles, g->depth * per, rhs_along, rhs_down),
                       rhs_along, rhs_down, e);
}

static int add_windows(struct dot_grid *g, struct err *e)
{
    const struct dot_problem *p = g->p;
    int64_t rows = g->groups * p->group_rows;

    if (add_operands(g, e))
        return -1;
    if (g->result_block.fused)
        return dot_cut_fused(g, &g->result_block, &p->extra[0].matrix, DIM_N, DIM_M, e);
    for (int i = 0; i < p->extra_count; i++) {
        const struct dot_matrix *m = &p->extra[i].matrix;
        struct pipeline_window w;

        if (p->extra[i].kind == EXTRA_COLUMNS)
            w = (struct pipeline_window){.array = m->array, .box_dims = 1,
                                         .box_count = {m->array->tile_count}, .box_stride = {1}};
        else
            w = box_of(g, m, g->tiles, rows / m->array->tile_rows, DIM_N, DIM_M);
        w.is_result = p->extra[i].is_result;
        g->window[i] = add_window(g, w);
    }
    return 0;
}

/* VMEM that fused loops use beside windows: their blocks, and what they keep */
static void place_blocks(struct dot_grid *g)
{
    struct dot_block *block[] = {&g->lhs_block, &g->rhs_block, &g->result_block};
    int64_t next = g->pipeline.scratch_rows;

    for (size_t i = 0; i < COUNT_OF(block); i++) {
        if (!block[i]->fused)
            continue;
        block[i]->row = next;
        next += block[i]->lanes * block[i]->rows * block[i]->batches * TILE_ROWS;
        block[i]->fused->plan.scratch_row = next;
        next += block[i]->fused->plan.pipeline.scratch_rows;
    }
    g->pipeline.scratch_rows = next;
}

/* VMEM of vectors that each step unpacks */
static void place_columns(struct dot_grid *g)
{
    for (int i = 0; i < g->p->extra_count; i++) {
        const struct dot_extra *x = &g->p->extra[i];
        int64_t rows = x->kind == EXTRA_COLUMNS ? vector_rows(x->matrix.array) : 0;

        g->columns_row[i] = rows ? g->pipeline.scratch_rows : -1;
        g->pipeline.scratch_rows += rows;
    }
}

int64_t dot_columns_row(const struct dot_grid *g, int extra)
{
    return g->columns_row[extra] < 0 ? pipeline_row(&g->pipeline, g->window[extra])
                                     : pipeline_scratch_row(&g->pipeline) + g->columns_row[extra];
}

static void find_blocks(struct dot_grid *g)
{
    struct dot_fused_loops *s = g->p->fused;

    for (int i = 0; s && i < FUSED_COUNT; i++) {
        struct dot_block *b = i == FUSED_RESULT                      ? &g->result_block
                              : (i == FUSED_RHS) != g->p->is_swapped ? &g->rhs_block
                                                                     : &g->lhs_block;

        if (s->fused[i].is_there)
            b->fused = &s->fused[i];
    }
}

/* zeros take the place of padding as tiles are loaded, where nothing has copied them before */
static void mask_padding(struct dot_grid *g)
{
    const struct dot_problem *p = g->p;

    if (p->k % TILE == 0 || g->depth * TILE < p->k)
        return;
    if (!dot_prepares(g, false))
        g->step.lhs_depth = p->k;
    if (!dot_prepares(g, true) && !matrix_is_integer(p->rhs_type))
        g->step.rhs_depth = p->k;
}

/* the fullest slots of what is computed of a round's results; their sums are added before */
static int64_t epilogue_cycles(const struct dot_grid *g, const struct chip *chip)
{
    const struct fused_cost *c = &g->p->epilogue;
    const struct dot_step *s = &g->step;
    int64_t results = s->width * s->group_rows / 8 * (s->by_rows ? s->units : 1);
    int64_t valu = c->valu + (c->valu > 0) + (s->splits > 1);
    int64_t cycles = div_up(results * valu, chip->slots_valu);
    int64_t eup = chip->slots_eup ? div_up(results * c->eup, chip->slots_eup) : 0;

    return cycles > eup ? cycles : eup;
}

/*
 * Where parts of the units add to one result, rounds of so many more rows have as many results as
 * where they do not: what is computed of them has then as many values beside each other.
 */
static void widen_rounds(struct dot_step *s)
{
    int64_t rows = s->group_rows * DOT_SPLITS;

    if (s->rounds % DOT_SPLITS || rows > TILE_ROWS * DOT_PARTS_MAX)
        return;
    s->group_rows = (int)rows;
    s->rounds /= DOT_SPLITS;
}

static void make_step(struct dot_grid *g, const struct chip *chip, int width)
{
    const struct dot_problem *p = g->p;
    struct dot_step *s = &g->step;
    bool by_rows = g->share == SHARE_ROWS || g->share == SHARE_BATCHES;
    int64_t matrices = g->share == SHARE_BATCHES ? chip->mxu_count : 1;

    *s = (struct dot_step){
        .chip = chip, .lhs_type = dot_prepared_type(p, false),
        .rhs_type = dot_prepared_type(p, true),
        .is_rhs_transposed = p->is_rhs_transposed, .units = (int)chip->mxu_count,
        .by_rows = by_rows, .splits = g->share == SHARE_DEPTH ? DOT_SPLITS : 0,
        .group_rows = p->group_rows, .width = width,
        .rounds = g->share == SHARE_ROWS ? g->groups / chip->mxu_count : g->groups,
        .columns = g->batches / matrices * (g->tiles / width),
        .depth_tiles = g->depth * dot_terms(p),
        .first_step = -1};
    if (g->share == SHARE_DEPTH)
        widen_rounds(s);
    s->epilogue_cycles = g->result_block.fused ? 0 : epilogue_cycles(g, chip);
    s->gap_cycles = g->pipeline.job->codegen == CODEGEN_XLA ? XLA_GAP_CYCLES : 0;
    s->keeps_pace = g->pipeline.job->codegen == CODEGEN_BEST;   /* XLA's take longer: accuracy.md */
    s->adds_up = g->result_block.fused != NULL;
    if (g->contraction || s->adds_up)
        s->sum_column_step = width * g->groups * p->group_rows * matrices;
    g->sum_rows = (s->sum_column_step ? g->tiles : width) * g->groups * p->group_rows
                  * (s->adds_up ? g->batches : matrices);
    /* for the fused loop, rows of all batches in a row */
    if (s->adds_up && g->batches > 1) {
        s->sum_column_step = g->groups * p->group_rows * matrices;
        s->sum_tile_step = g->groups * p->group_rows * g->batches;
    }
    if (s->columns == g->batches / matrices && g->dim[DIM_N] < 0)
        s->valid_columns = p->n;
    if (!p->is_lhs_transposed && g->groups == round_groups(p)
        && p->lhs.row_tiles * p->lhs.array->tile_rows < g->groups * p->group_rows
        && !dot_prepares(g, false))
        s->lhs_row_tiles = p->lhs.row_tiles;
    mask_padding(g);
    g->pipeline.scratch_rows =
        g->sum_rows + dot_prepared_rows(g, false) + dot_prepared_rows(g, true);
}

/* the next dimension inside, unless it has one index */
static int add_dim(struct dot_grid *g, enum dot_dim dim, int64_t count)
{
    g->dim[dim] = -1;
    if (count == 1)
        return 0;
    if (g->pipeline.dims == PIPELINE_DIM_MAX)
        return -1;
    g->dim[dim] = g->pipeline.dims++;
    g->pipeline.count[g->dim[dim]] = count;
    return 0;
}

static int add_outers(struct dot_grid *g, enum dot_side side)
{
    for (int i = 0; i < g->p->outer_count; i++)
        if (g->p->outer[i].side == side &&
            add_dim(g, (enum dot_dim)(DIM_OUTER + i), grid_count(g, i)))
            return -1;
    return 0;
}

static int add_rows(struct dot_grid *g)
{
    return add_outers(g, SIDE_M) || add_dim(g, DIM_M, div_up(round_groups(g->p), g->groups));
}

static int add_columns(struct dot_grid *g)
{
    return add_outers(g, SIDE_N) || add_dim(g, DIM_N, div_up(div_up(g->p->n, TILE), g->tiles));
}

/* batches, rows and columns, in either order, and inside of all the contraction */
static int order_dims(struct dot_grid *g, bool columns_outside, struct err *e)
{
    int first;

    if (add_outers(g, SIDE_BATCH) || (columns_outside && add_columns(g)) || add_rows(g)
        || (!columns_outside && add_columns(g)))
        return err_set(e, "a grid of more than %d dimensions", PIPELINE_DIM_MAX);
    first = g->pipeline.dims;
    if (add_outers(g, SIDE_K) || add_dim(g, DIM_K, div_up(g->p->k, TILE) / g->depth))
        return err_set(e, "a grid of more than %d dimensions", PIPELINE_DIM_MAX);
    for (int d = first; d < g->pipeline.dims; d++)
        g->contraction |= 1u << d;
    if (g->pipeline.dims == 0)
        g->pipeline.count[g->pipeline.dims++] = 1;
    return 0;
}

/* whether tiles of 128 rows read what lies behind an array at the end of the vector memory */
static bool reads_outside(const struct dot_matrix *m, int64_t rows, const struct chip *chip)
{
    int64_t more = div_up(rows, TILE) * TILE / m->array->tile_rows - m->row_tiles;

    return m->array->space == SPACE_VMEM
           && m->array->address + m->array->bytes
                      + more * m->array->tiles_across * ARRAY_TILE_BYTES > chip->vmem_bytes;
}

/* whether weights are loaded that no column has, or that are copied first */
static bool pushes_padding(const struct dot_grid *g, int64_t width)
{
    return dot_prepares(g, true)
           || (g->p->is_rhs_transposed && width != div_up(g->p->n, TILE));
}

/* whether columns outside the tiles that are there would be needed */
static int check_sizes(const struct dot_grid *g, const struct tiling *t, const struct chip *chip,
                       struct err *e)
{
    const struct dot_problem *p = g->p;
    int64_t tiles = div_up(p->n, TILE), depth = div_up(p->k, TILE);
    int64_t width = t->size[DOT_WIDTH];

    if (width < 1 || g->tiles < 1 || g->tiles % width || g->tiles > tiles || g->groups < 1
        || g->groups > round_groups(p) || g->depth < 1 || depth % g->depth)
        return err_set(e, "blocks of %lldx%lldx%lld do not cut %lldx%lldx%lld",
                       (long long)t->size[DOT_BM], (long long)t->size[DOT_BK],
                       (long long)t->size[DOT_BN], (long long)p->m, (long long)p->k,
                       (long long)p->n);
    if (g->groups != round_groups(p) && is_ragged(p, rows_of_steps(g, DIM_M), true))
        return err_set(e, "rows in vector memory that end inside a tile must be in one block");
    if (g->share == SHARE_ROWS && is_ragged(p, round_groups(p) * p->group_rows, false))
        return err_set(e, "rows that end inside a tile and are shared by the units");
    if (g->depth < depth && p->k % TILE
        && (p->rhs.array->space == SPACE_VMEM || p->lhs.array->space == SPACE_VMEM))
        return err_set(e, "a contraction that ends inside a tile must be in one block");
    if (p->is_lhs_transposed && g->groups != round_groups(p) && g->groups * p->group_rows % TILE)
        return err_set(e, "blocks of rows that are no multiple of 128");
    if (g->share == SHARE_ROWS && g->groups % chip->mxu_count)
        return err_set(e, "rows that the units do not share evenly");
    if ((p->is_lhs_transposed && reads_outside(&p->lhs, p->k, chip))
        || (pushes_padding(g, width) && reads_outside(&p->rhs, p->is_rhs_transposed ? p->n : p->k,
                                                      chip)))
        return err_set(e, "rows that end inside a tile at the end of the vector memory");
    if (g->batches < 1 || g->batches > dot_batch_count(p)
        || (g->batches > 1 && g->tiles != width))
        return err_set(e, "steps of several batches have one column");
    if (g->batches > 1 && (g->groups != round_groups(p) || g->tiles != tiles))
        return err_set(e, "steps of several batches have all rows and columns of them");
    if (g->batches > 1 && (dot_prepares(g, false) || dot_prepares(g, true))
        && !dot_prepares_batches(g))
        return err_set(e, "operands that are copied first are copied matrix by matrix");
    if (g->share == SHARE_DEPTH && (p->is_lhs_transposed || g->batches > 1))
        return err_set(e, "units share passes where rows are taken as they lie");
    if (g->share == SHARE_BATCHES && (g->batches == 1 || g->batches % chip->mxu_count))
        return err_set(e, "batches that the units do not share evenly");
    return 0;
}

/* what one block has overwritten the next would take for the old value */
static bool overlaps_in_place(const struct pipeline *f)
{
    for (int r = 0; r < f->window_count; r++) {
        const struct pipeline_window *result = &f->window[r];
        bool has_overlap = false;

        for (int d = 0; d < f->dims; d++)
            has_overlap |= result->limit[d] != 0;
        for (int o = 0; has_overlap && result->is_result && o < f->window_count; o++)
            if (!f->window[o].is_result && f->window[o].array->space == result->array->space &&
                f->window[o].array->address == result->array->address)
                return true;
    }
    return false;
}

/* Rows for registers of fused loops; XLA's tilings leave them free in any case. */
static int64_t spill_rows(const struct dot_grid *g)
{
    const struct kernel_job *job = g->pipeline.job;
    bool has_fused = g->lhs_block.fused || g->rhs_block.fused || g->result_block.fused;

    return has_fused || (job->codegen == CODEGEN_XLA && job->vmem_rows > 4 * SPILL_ROWS)
               ? SPILL_ROWS : 0;
}

int dot_grid_make(struct dot_grid *g, const struct dot_problem *p, const struct kernel_job *job,
                  const struct tiling *t, struct err *e)
{
    memset(g, 0, sizeof(*g));
    g->p = p;
    g->pipeline.job = job;
    g->groups = div_up(t->size[DOT_BM], p->group_rows);
    g->tiles = div_up(t->size[DOT_BN], TILE);
    g->depth = div_up(t->size[DOT_BK], TILE);
    g->share = (enum dot_share)t->size[DOT_SHARE];
    g->batches = t->size[DOT_BATCHES] > 0 ? t->size[DOT_BATCHES] : 1;
    if (check_sizes(g, t, job->chip, e))
        return -1;
    if (order_dims(g, t->size[DOT_COLUMNS_OUTSIDE] != 0, e))
        return -1;
    if (g->batches > 1 && g->contraction)
        return err_set(e, "steps of several batches have all of the contraction");
    find_blocks(g);
    if (g->share == SHARE_BATCHES && g->tiles > 1 && g->result_block.fused)
        return err_set(e, "batches that units share with columns that follow each other");
    make_step(g, job->chip, (int)t->size[DOT_WIDTH]);
    if (g->share == SHARE_DEPTH && (dot_step_passes(&g->step) > 1 || g->contraction
                                    || !dot_epilogue_is_slow(&g->step)))
        return err_set(e, "units share passes where each has one, beside what takes longer");
    if (add_windows(g, e))
        return -1;
    pipeline_share(&g->pipeline, job->core);
    place_blocks(g);
    place_columns(g);
    if (t->size[DOT_PARTS])
        dot_grid_begin_early(g);
    g->is_inside = dot_goes_inside(g);
    if (overlaps_in_place(&g->pipeline))
        return err_set(e, "blocks that overlap where a result overwrites an operand");
    if (dot_step_check(&g->step, e))
        return -1;
    if (pipeline_vmem_rows(&g->pipeline) + spill_rows(g) > job->vmem_rows)
        return err_set(e, "its windows take %lld KiB of vector memory, there are %lld",
                       (long long)(pipeline_vmem_rows(&g->pipeline) / 2),
                       (long long)(job->vmem_rows / 2));
    return 0;
}

int64_t dot_grid_steps(const struct dot_grid *g)
{
    return pipeline_total_steps(&g->pipeline);
}

int dot_grid_moves_along(const struct dot_grid *g, bool is_rhs)
{
    const struct dot_block *b = is_rhs ? &g->rhs_block : &g->lhs_block;
    int d = g->pipeline.dims - 1;

    if (!b->fused)
        return pipeline_class(&g->pipeline, is_rhs ? g->rhs_window : g->lhs_window);
    while (d >= 0 && !(b->moves >> d & 1))
        d--;
    return d;
}

uint32_t dot_grid_inside(const struct dot_grid *g, bool is_rhs)
{
    uint32_t mask = 0;

    for (int d = dot_grid_moves_along(g, is_rhs) + 1; d < g->pipeline.dims; d++)
        if (pipeline_steps(&g->pipeline, d) > 1)
            mask |= 1u << d;
    return mask;
}
