/*
 * Passes inside the fused loop that computes the right operand.
 *
 * A block of such a loop makes the values of 128 columns along all of the contraction: weights of
 * passes of its own. Of few rows these take the units less time than the block takes the vector
 * unit. So weights go from registers into the second staging register of the units, which holds
 * zeros between kernels (dot_put_weights fills the first one), rows of the left operand follow,
 * and the results of the block leave with it: all of it operations of the loop's body, whose
 * rounds overlap. The sums are those of separate passes, in the same order.
 */
#include "stack/kernels/dot/kernel_dot_inside.h"

#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_prepare.h"
#include "stack/kernels/loop/loop_nest.h"

#define TILE 128
#define TILE_ROWS 8                     /* of VMEM */
#define STAGING 1                       /* and gain register */
#define REGION_LHS 5000                 /* beside those of the loop */
#define REGION_RESULT 5001
#define BLOCK_TILES_MAX 512             /* of the right operand, in a block of the loop */
#define ROWS_MAX 128

struct inside {
    const struct dot_grid *g;
    int64_t tiles;                      /* of the contraction, of one matrix */
    int tile[BLOCK_TILES_MAX];
    int batches;                        /* matrices in a block */
};

static const struct loop_plan *plan_of(const struct dot_grid *g)
{
    return &g->rhs_block.fused->plan;
}

static int64_t rounds(const struct dot_grid *g) { return g->groups; }
static int64_t rhs_rows(const struct dot_grid *g) { return matrix_rows(g->p->rhs_type); }
static int64_t lhs_rows(const struct dot_grid *g) { return matrix_rows(g->p->lhs_type); }

static int64_t pass_count(const struct dot_grid *g)
{
    return div_up(g->depth, dot_halves(g->step.chip));
}

/* tiles of weights that a pass has */
static int64_t pass_tiles(const struct dot_grid *g, int64_t pass)
{
    int64_t per = dot_halves(g->step.chip) * TILE / rhs_rows(g);
    int64_t left = div_up(g->p->k, rhs_rows(g)) - pass * per;

    return left < per ? left : per;
}

/* cycles of the unit that a block keeps longest */
static int64_t block_cycles(const struct dot_grid *g)
{
    const struct chip *chip = g->step.chip;
    int64_t units = chip->mxu_count, most = 0;

    for (int64_t u = 0; u < units; u++) {
        int64_t weights = 0, rows = 0;

        for (int64_t pass = u; pass < pass_count(g); pass += units) {
            weights += pass_tiles(g, pass) * chip_push_cycles(chip, g->p->rhs_type);
            rows += rounds(g) * g->p->group_rows / lhs_rows(g)
                    * chip_matmul_cycles(chip, g->p->lhs_type);
        }
        most = weights > most ? weights : most;
        most = rows > most ? rows : most;
    }
    return most;
}

static int64_t block_count(const struct dot_grid *g) { return g->tiles * g->batches; }

/* of the vector unit, for a block: sums of passes, padding taken out, results packed */
static int64_t vector_cycles(const struct dot_grid *g)
{
    int64_t parts = rounds(g) * g->p->group_rows / TILE_ROWS, padding = g->p->k % TILE ? parts + 6 : 0;

    return div_up(parts * pass_count(g) + parts / 2 + padding, g->step.chip->slots_valu);
}

/* of a loop over blocks: the units' answers come when its last block's vector work has ended */
static int64_t drain_cycles(const struct dot_grid *g)
{
    return g->step.chip->mxu_latency_cycles + 2 * block_cycles(g);
}

int64_t dot_inside_cycles(const struct dot_grid *g)
{
    const struct loop_plan *p = plan_of(g);
    int64_t blocks = block_count(g), rounds_of_loop = p->axis_count > 2 ? p->axis[2].box : 1;
    int64_t loop = (int64_t)loop_step_cycles(p) + blocks * vector_cycles(g);
    int64_t units = blocks * block_cycles(g);

    return (loop > units ? loop : units) + blocks / rounds_of_loop * drain_cycles(g);
}

/* the product's own result and nothing computed of it */
static bool has_plain_result(const struct dot_problem *p)
{
    const struct dot_extra *x = &p->extra[0];
    enum graph_dtype t = p->body->node[p->node].shape.dtype;

    return p->extra_count == 1 && x->is_result && x->kind == EXTRA_MATRIX && x->node == p->node
           && (t == DTYPE_F32 || t == DTYPE_BF16);
}

static bool has_native_types(const struct dot_grid *g)
{
    const struct dot_problem *p = g->p;
    const struct chip *chip = g->step.chip;

    return p->rhs_type == MATRIX_BF16 && p->lhs_type == MATRIX_BF16 && dot_terms(p) == 1
           && chip_push_cycles(chip, p->rhs_type) && chip_matmul_cycles(chip, p->lhs_type)
           && chip->mxu_accumulators == 0;
}

/* the loop's axes are columns, contraction and batches; a step has all of the last two */
static bool has_plain_axes(const struct dot_grid *g)
{
    const struct loop_plan *p = plan_of(g);
    const struct loop_array *own = &p->array[g->rhs_block.fused->own];
    int64_t batches = 1;

    for (int a = AXIS_ROWS + 1; a < p->axis_count; a++)
        batches *= p->axis[a].box;
    return own->is_tiled && p->group_rows == rhs_rows(g) && p->body.output_count == 1
           && batches == g->batches && p->axis[AXIS_LANES].box == g->tiles
           && p->axis[AXIS_ROWS].box == div_up(g->p->k, rhs_rows(g))
           && p->axis[AXIS_ROWS].box <= BLOCK_TILES_MAX;
}

bool dot_goes_inside(const struct dot_grid *g)
{
    const struct dot_problem *p = g->p;

    if (!g->rhs_block.fused || g->lhs_block.fused || g->result_block.fused || g->contraction
        || p->is_rhs_transposed || p->is_lhs_transposed || !has_native_types(g)
        || !has_plain_result(p) || !has_plain_axes(g) || g->step.lhs_row_tiles
        || g->groups * p->group_rows > ROWS_MAX || dot_grid_inside(g, true)
        || g->step.parts.count || !loop_goes_together(plan_of(g)))
        return false;
    return dot_inside_cycles(g)
           < (int64_t)loop_step_cycles(plan_of(g)) + dot_step_cycles(&g->step);
}

/* ----- the code of a block */

static struct loop_sval row_of(struct loop_nest *n, int base, int64_t row, int64_t lane_step,
                               int64_t batch_step)
{
    int64_t stride[LOOP_AXIS_MAX] = {[AXIS_LANES] = lane_step};

    for (int a = AXIS_ROWS + 1; a < n->p->axis_count; a++) {
        stride[a] = batch_step;
        batch_step *= n->p->axis[a].box;
    }
    return loop_nest_row(n, base, row, stride, n->p->full_mask & ~(1u << AXIS_ROWS));
}

static struct loop_sval lhs_row(const struct inside *x, struct loop_nest *n)
{
    const struct dot_grid *g = x->g;
    struct dot_place at = dot_place_of(g, false);

    return row_of(n, at.base, at.row, 0, dot_batch_stride(g, g->lhs_window, &g->p->lhs));
}

static struct loop_sval result_row(const struct inside *x, struct loop_nest *n)
{
    const struct dot_grid *g = x->g;
    const struct pipeline *f = &g->pipeline;
    int w = g->window[0];
    bool moves = g->batches > 1 && g->p->extra[0].matrix.outer[dot_batch_dim(g->p)];

    return row_of(n, pipeline_base(f, w), pipeline_row(f, w), pipeline_stride(f, w, 0),
                  moves ? pipeline_stride(f, w, 2) : 0);
}

/* which matrix of the block the unit in hand is of */
static int batch_of(const struct loop_nest *n)
{
    int64_t at = 0, next = 1;

    for (int a = AXIS_ROWS + 1; a < n->p->axis_count; a++) {
        at += n->unit[a] * next;
        next *= n->now[a];
    }
    return (int)(at * n->now[AXIS_LANES] + n->unit[AXIS_LANES]);
}

static void take(void *user, struct loop_nest *n, int tile)
{
    struct inside *x = user;
    int at = batch_of(n) * (int)x->tiles + (int)n->unit[AXIS_ROWS];

    lhs_row(x, n);                      /* their tracks are found with those of the unit */
    result_row(x, n);
    if (n->is_collecting)
        return;
    if (at >= BLOCK_TILES_MAX) {
        n->has_failed = true;
        return;
    }
    x->tile[at] = tile;
}

/* the last rows first; those that there are not are zeros since the pass before */
static void push_weights(struct inside *x, struct loop_nest *n, int64_t pass, int unit, int batch)
{
    const struct dot_grid *g = x->g;
    int64_t first = pass * (dot_halves(g->step.chip) * TILE / rhs_rows(g));

    for (int64_t i = pass_tiles(g, pass) - 1; i >= 0; i--) {
        int v = x->tile[batch * x->tiles + first + i];
        int64_t rows = g->p->k - (first + i) * rhs_rows(g);

        if (rows < rhs_rows(g))
            v = dot_keep_rows(n->code, v, rows, (int)rhs_rows(g));
        emit_vmatpush(n->code, unit, v, 0, (int)g->p->rhs_type, 0, STAGING);
    }
}

/* a tile of the left operand, zeros for lanes behind the contraction */
static int lhs_tile(const struct inside *x, struct loop_nest *n, int64_t round, int64_t depth)
{
    const struct dot_grid *g = x->g;
    struct dot_place at = dot_place_of(g, false);
    struct loop_sval row = lhs_row(x, n);
    int64_t left = g->p->k - depth * TILE;
    int v;

    row.add += round * at.row_step + depth * at.lane_step;
    v = loop_nest_load(n, row, 1, REGION_LHS);
    if (left >= TILE)
        return v;
    if (n->lane_mask < 0)
        n->lane_mask = emit_vcmp_lt_s32(n->code, R(loop_nest_lane_index(n)), I(left));
    return emit_vsel(n->code, n->lane_mask, R(v), I(0));
}

/* all rows through the weights of a pass */
static void push_rows(struct inside *x, struct loop_nest *n, int64_t pass, int unit)
{
    const struct dot_grid *g = x->g;
    int64_t halves = dot_halves(g->step.chip), first = pass * halves;
    int type = (int)g->p->lhs_type;

    for (int64_t round = 0; round < rounds(g) * g->p->group_rows / lhs_rows(g); round++) {
        int lower = lhs_tile(x, n, round, first);
        bool has_upper = halves > 1 && first + 1 < g->depth;

        if (has_upper)
            emit_vmatprep_mubr(n->code, unit, lhs_tile(x, n, round, first + 1), type);
        emit_vmatmul(n->code, unit, lower, has_upper, type, round ? 0 : 1 + STAGING, STAGING);
    }
}

/* the first of two tiles of columns; those of the other half nobody wants */
static int pop(const struct inside *x, struct loop_nest *n, int unit)
{
    int v = emit_vpop_mrf(n->code, unit, 0);

    for (int i = 1; i < dot_halves(x->g->step.chip); i++)
        emit_vpop_mrf(n->code, unit, 0);
    return v;
}

/* sums of the passes, `part` by 8 rows */
static void add_results(const struct inside *x, struct loop_nest *n, int64_t pass, int unit,
                        int *sum)
{
    for (int64_t i = 0; i < rounds(x->g) * x->g->p->group_rows / TILE_ROWS; i++) {
        int v = pop(x, n, unit);

        /* separate passes add the first one's to zero, too */
        sum[i] = emit_vadd_f32(n->code, R(v), pass ? R(sum[i]) : I(0));
    }
}

static void store_results(const struct inside *x, struct loop_nest *n, const int *sum)
{
    const struct dot_grid *g = x->g;
    const struct array *m = g->p->extra[0].matrix.array;
    int64_t step = pipeline_stride(&g->pipeline, g->window[0], 1);
    int parts = m->tile_rows / TILE_ROWS;

    for (int64_t i = 0; i < rounds(g) * g->p->group_rows / m->tile_rows; i++) {
        struct loop_sval row = result_row(x, n);
        struct fused_value v = {.is_mask = false};

        for (int k = 0; k < parts; k++)
            v.part[k] = R(sum[i * parts + k]);
        row.add += i * step;
        loop_nest_store(n, row, 0xff, REGION_RESULT,
                        fused_pack(n->code, g->step.chip, m->shape.dtype, &v));
    }
}

static void multiply(struct inside *x, struct loop_nest *n, int batch)
{
    const int units = (int)x->g->step.chip->mxu_count;
    int sum[ROWS_MAX / TILE_ROWS];

    for (int64_t pass = 0; pass < pass_count(x->g); pass++) {
        int unit = (int)(pass + batch) % units;

        push_weights(x, n, pass, unit, batch);
        push_rows(x, n, pass, unit);
        add_results(x, n, pass, unit, sum);
    }
    store_results(x, n, sum);
}

/* every matrix of the block */
static void end_block(void *user, struct loop_nest *n)
{
    for (;;) {
        int a = 0;

        n->cache_count = 0;
        multiply(user, n, batch_of(n));
        for (; a < n->p->axis_count; a++) {
            if (a != AXIS_ROWS && ++n->unit[a] < n->now[a])
                break;
            n->unit[a] = 0;
        }
        if (a == n->p->axis_count)
            return;
    }
}

const struct loop_sink *dot_inside_sink(const struct dot_grid *g, struct arena *a)
{
    struct loop_sink *sink = arena_alloc(a, sizeof(*sink));
    struct inside *x = arena_alloc(a, sizeof(*x));

    x->g = g;
    x->tiles = plan_of(g)->axis[AXIS_ROWS].box;
    *sink = (struct loop_sink){.user = x, .take = take, .end = end_block};
    return sink;
}
