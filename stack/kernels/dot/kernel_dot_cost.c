/*
 * What a tiling of a product costs, and what of its copies that decides: first boxes in parts,
 * how many buffers results have.
 */
#include <string.h>

#include "stack/kernels/dot/kernel_dot_grid.h"
#include "stack/kernels/dot/kernel_dot_inside.h"
#include "stack/kernels/dot/kernel_dot_prepare.h"

#define TILE 128
#define STEP_CYCLES 90                  /* of the pipeline: indices, waits, copies begun */
#define LATE_SHARE 0.7                  /* of the steps between, for the copies of results */
#define COPY_WEIGHT 0.02                /* of hidden copies: fewer are better, all else alike */
#define PARTS_SHARE 1.4                 /* of a pass, for a part on its way */

static int64_t window_bytes(const struct pipeline_window *w)
{
    int64_t tiles = 1;

    for (int i = 0; i < w->box_dims; i++)
        tiles *= w->box_count[i];
    return tiles * ARRAY_TILE_BYTES;
}

static double port_cycles(const struct dot_grid *g, int64_t bytes)
{
    const struct chip *chip = g->step.chip;

    return (double)bytes * (double)chip->chip_clock_mhz / ((double)chip->dma_core_gbps * 1e3);
}

/*
 * Where the contraction is cut, results are written in its last step alone: one buffer for them,
 * if it is sent before the next ones come.
 */
static void choose_buffers(struct dot_grid *g)
{
    struct pipeline *f = &g->pipeline;
    int64_t steps = 1, bytes = 0;

    for (int d = 0; d < f->dims; d++)
        if (g->contraction >> d & 1)
            steps *= pipeline_steps(f, d);
    for (int w = 0; w < f->window_count; w++)
        if (f->window[w].is_result && !pipeline_is_in_place(f, w))
            bytes += window_bytes(&f->window[w]);
    if (port_cycles(g, bytes) < LATE_SHARE * (double)((steps - 1) * dot_step_cycles(&g->step)))
        f->late_dims = g->contraction;
}

/* an operand that passes take from its window, tile of the contraction by tile */
static bool comes_in_parts(const struct dot_grid *g, bool is_rhs)
{
    int window = is_rhs ? g->rhs_window : g->lhs_window;

    return window >= 0 && g->pipeline.window[window].array->space == SPACE_HBM
           && g->pipeline.window[window].box_dims == 2 && !g->pipeline.window[window].short_count;
}

/* The first boxes in parts, where a step finds passes that take them one by one. */
static void ask_for_parts(struct dot_grid *g)
{
    const struct dot_problem *p = g->p;
    int halves = dot_halves(g->step.chip);
    bool fits = (p->k % TILE == 0 || g->dim[DIM_K] < 0) && g->batches == 1
                && !p->is_lhs_transposed && !dot_prepares(g, false) && !dot_prepares(g, true)
                && p->extra_count < DOT_POINTERS_MAX && dot_step_takes_parts(&g->step);
    double cycles = 0;

    for (int is_rhs = 0; fits && is_rhs < 2; is_rhs++)
        if (comes_in_parts(g, is_rhs))
            cycles += port_cycles(g, window_bytes(&g->pipeline.window[is_rhs ? g->rhs_window
                                                                          : g->lhs_window]));
    cycles *= (double)halves / (double)g->step.depth_tiles;
    if (cycles > PARTS_SHARE * (double)dot_pass_cycles(&g->step))   /* passes wait for each */
        return;
    for (int is_rhs = 0; fits && is_rhs < 2; is_rhs++)
        if (comes_in_parts(g, is_rhs)) {
            struct pipeline_window *w = &g->pipeline.window[is_rhs ? g->rhs_window : g->lhs_window];
            bool is_by_rows = is_rhs && !p->is_rhs_transposed;

            w->parts = (int)(g->step.depth_tiles / halves);
            w->part_dim = is_by_rows;
            w->part_count = is_by_rows ? halves * TILE / w->array->tile_rows : halves;
        }
}

void dot_grid_begin_early(struct dot_grid *g)
{
    g->pipeline.is_first_alone = true;
    ask_for_parts(g);
    choose_buffers(g);
}

/* times that an operand's box changes */
static int64_t changes(const struct dot_grid *g, bool is_rhs)
{
    int64_t count = 1;

    for (int d = 0; d <= dot_grid_moves_along(g, is_rhs); d++)
        count *= pipeline_steps(&g->pipeline, d);
    return count;
}

/* times that sums are complete */
static int64_t blocks(const struct dot_grid *g)
{
    int64_t count = 1;

    for (int d = 0; d < g->pipeline.dims; d++)
        count *= g->contraction >> d & 1 ? 1 : pipeline_steps(&g->pipeline, d);
    return count;
}

static int64_t stage_cycles(const struct dot_block *b)
{
    return b->fused ? (int64_t)loop_step_cycles(&b->fused->plan) : 0;
}

static int64_t prepare_cycles(const struct dot_grid *g)
{
    return changes(g, false) * (dot_prepare_cycles(g, false) + stage_cycles(&g->lhs_block))
           + changes(g, true) * (dot_prepare_cycles(g, true) + stage_cycles(&g->rhs_block))
           + blocks(g) * stage_cycles(&g->result_block);
}

/*
 * What the first step takes beyond the others: parts of its operands come while it computes its
 * first column, and the boxes of the next step with them.
 */
static double first_step_cycles(const struct dot_grid *g, double step, double next,
                                double cycles_per_byte)
{
    double parts = 0, usual = next > step ? next : step, longest, late;

    for (int w = 0; w < g->pipeline.window_count; w++) {
        const struct pipeline_window *x = &g->pipeline.window[w];

        if (x->parts)
            parts += (double)window_bytes(x) * cycles_per_byte
                     * (1 - (double)PIPELINE_PARTS_BEFORE / x->parts);
    }
    longest = parts + next > usual ? parts + next : usual;
    /* copies under way share the port's rate */
    late = parts + (parts < next ? parts : next) - step / (double)g->step.columns;
    return (late > 0 && step + late > longest ? step + late : longest) - usual;
}

/*
 * From step to step: a box is asked for when the step before begins, which then waits for its own,
 * so that a round trip and a step's work fit into two steps.
 */
static double cycles_between(const struct dot_grid *g, double step, double copied)
{
    const struct chip *chip = g->step.chip;
    double latency = (double)(chip->dma_read_ns * chip->chip_clock_mhz) / 1e3;
    double most = copied > step ? copied : step, two = latency + copied + step;

    return g->pipeline.job->codegen == CODEGEN_BEST && copied > 0 && two > 2 * most ? two / 2
                                                                                    : most;
}

/*
 * Cycles of all steps: boxes for the next step are copied during a step, and
 * more of them the further out the grid goes on; the longer of copies and
 * products counts. What begins and ends it is `exposed`.
 */
static int64_t pipeline_cycles(const struct dot_grid *g, int64_t step_cycles,
                               double cycles_per_byte)
{
    const struct pipeline *f = &g->pipeline;
    int64_t outside = 1;
    double sum = (double)step_cycles, copied = 0;

    for (int d = 0; d < f->dims; d++) {
        copied = 0;

        for (int w = 0; w < f->window_count; w++)
            if (f->window[w].array->space != SPACE_VMEM && pipeline_class(f, w) >= d)
                copied += (double)window_bytes(&f->window[w]) * cycles_per_byte;
        sum += (double)(outside * (pipeline_steps(f, d) - 1))
               * cycles_between(g, (double)step_cycles, copied);
        outside *= pipeline_steps(f, d);
    }
    return (int64_t)(sum + first_step_cycles(g, (double)step_cycles, copied, cycles_per_byte));
}

void dot_grid_cost(const struct dot_grid *g, struct kernel_cost *out)
{
    const struct dot_problem *p = g->p;
    int64_t steps = dot_grid_steps(g), exposed;
    int64_t step = (g->is_inside ? dot_inside_cycles(g)
                                 : dot_step_cycles(&g->step) + prepare_cycles(g) / steps)
                   + (steps > 1 ? STEP_CYCLES : 0);
    double per_byte;

    *out = (struct kernel_cost){.steps = steps, .is_idle = g->pipeline.is_idle};
    if (g->pipeline.is_idle)
        return;
    out->compute_cycles = steps * step;
    out->copy_cycles = pipeline_copy_cycles(&g->pipeline, &exposed);
    out->fixed_cycles = exposed;
    out->hbm_bytes = pipeline_copy_bytes(&g->pipeline);
    out->flops = 2 * p->m * p->n * p->k;
    for (int i = 0; i < p->outer_count; i++)
        out->flops *= p->outer[i].count;
    out->issued_flops = steps * dot_step_flops(&g->step);
    out->vmem_rows = pipeline_vmem_rows(&g->pipeline);
    per_byte = out->hbm_bytes ? (double)out->copy_cycles / (double)out->hbm_bytes : 0;
    out->total_cycles = exposed + pipeline_cycles(g, step, per_byte);
    if (g->pipeline.is_first_alone)
        out->total_cycles += (int64_t)(COPY_WEIGHT * (double)out->copy_cycles);
}
