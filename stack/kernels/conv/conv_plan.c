/*
 * A tiling of a convolution: what a step works on, where it lies in VMEM, how
 * the passes walk over it.
 *
 * The numbers of a tiling (stack/kernels/pipeline/kernel.h) are, in this order: tiles of batch,
 * outputs of a phase along the three dimensions, groups of columns, tiles of
 * contracted features. Then, for rows, whether they are dense, whether columns are the innermost
 * dimension of the grid, and the taps of a step along the last two dimensions
 * (0: all); for transposed rows, the taps that a member of k takes along the
 * dimension `along`, and those of a step along the last dimension (0: all).
 */
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/conv/conv_body.h"
#include "stack/hlo/graph_shape.h"
#include "stack/kernels/conv/conv_impl.h"
#include "stack/kernels/pipeline/vector_rows.h"

#define LANES ARRAY_LANES
#define TILE_ROWS 8                     /* VMEM rows of a tile */
#define SPILL_TILES 16

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ----- the machine */

static int read_chip(struct conv_plan *p, struct err *e)
{
    const struct chip *chip = p->chip;
    int64_t depth = chip->mxu_fifo_depth;

    p->halves = chip_mxu_halves(chip);
    p->slots = p->halves;
    p->units = (int)chip->mxu_count;
    p->is_packed = chip_matmul_cycles(chip, MATRIX_BF16) && chip_push_cycles(chip, MATRIX_BF16);
    p->has_accumulators = chip->mxu_accumulators > 0;
    if (!p->is_packed && (p->halves > 1 || p->has_accumulators))
        return err_set(e, "a matrix unit that takes f32 alone must be 128 wide and have a FIFO");
    if (!p->has_accumulators && depth < 4 * p->halves)
        return err_set(e, "a convolution needs %d places for results in a matrix unit, the chip "
                       "has %lld", 4 * p->halves, (long long)depth);
    if (chip->slots_scalar < 2 || chip->core_branch_delay_bundles < 1)
        return err_set(e, "the loops of a convolution need two scalar slots and a delay bundle");
    return 0;
}

/* ----- arrays */

static int64_t lane_tiles(const struct array *a) { return a->tiles_across; }

static int check_layout(const struct array *a, const char *what, int lane, int row, struct err *e)
{
    char layout[128];

    if (a->is_linear || a->lane_dim != lane)
        return err_set(e, "the %s must have dimension %d along lanes, but is %s", what, lane,
                       array_print(a, layout, sizeof(layout)));
    if (a->row_dim != row)
        return err_set(e, "the %s must have dimension %d along rows, but is %s", what, row,
                       array_print(a, layout, sizeof(layout)));
    return 0;
}

static int check_layouts(struct conv_plan *p, const struct conv_body *b, struct err *e)
{
    const struct conv_shape *s = &p->shape;
    const struct array *lhs = p->job->operand[b->lhs], *rhs = p->job->operand[b->rhs];
    const int *batch = s->batch_dim, *feature = s->feature_dim;
    bool is_rows = s->mode == CONV_ROWS;

    p->is_rhs_swapped = is_rows && s->feature_groups == 1 && !s->is_depthwise &&
                        rhs->lane_dim == batch[CONV_RHS];
    if (check_layout(lhs, "input", is_rows ? feature[CONV_LHS] : batch[CONV_LHS],
                     is_rows ? batch[CONV_LHS] : feature[CONV_LHS], e) ||
        check_layout(rhs, "kernel",
                     p->is_rhs_swapped ? batch[CONV_RHS] : feature[CONV_RHS],
                     p->is_rhs_swapped ? feature[CONV_RHS] : batch[CONV_RHS], e))
        return -1;
    for (int i = 0; i < p->out_count; i++)
        if (conv_is_block(p, i) &&
            check_layout(p->job->result[i], "result", feature[CONV_RESULT],
                         batch[CONV_RESULT], e))
            return -1;
    for (int i = 0; i < p->extra_count; i++) {
        const struct array *a = p->job->operand[b->extra[i].operand];

        if (b->extra[i].kind == EXTRA_FULL &&
            check_layout(a, "operand of the fused part", feature[CONV_RESULT],
                         batch[CONV_RESULT], e))
            return -1;
    }
    return 0;
}

bool conv_is_block(const struct conv_plan *p, int i)
{
    return !p->is_of_features[i] && i != p->made_out;
}

static void note_rows(const struct array *a, bool *has_bytes, bool *has_halves)
{
    *has_bytes = *has_bytes || a->tile_rows == 32;
    *has_halves = *has_halves || a->tile_rows == 16;
}

/* a group of 32 rows is four tiles of sums: what lies in tiles of 16 rows has two of them */
static int check_rows(const struct conv_plan *p, const struct conv_body *b, struct err *e)
{
    bool has_bytes = false, has_halves = p->job->operand[b->lhs]->element_bytes == 2;

    for (int i = 0; i < p->out_count; i++)
        if (conv_is_block(p, i))
            note_rows(p->job->result[i], &has_bytes, &has_halves);
    for (int i = 0; i < p->extra_count; i++)
        if (b->extra[i].kind == EXTRA_FULL)
            note_rows(p->job->operand[b->extra[i].operand], &has_bytes, &has_halves);
    if (has_bytes && (has_halves || p->is_vector))
        return err_set(e, "elements of 8 bits beside %s in the fused part",
                       has_halves ? "those of 16" : "sums of single features");
    return 0;
}

/* ----- the block */

bool conv_has_lines(const struct conv_plan *p) { return p->shape.is_pixels || p->is_dense; }

static void set_group(struct conv_plan *p, const struct conv_body *b)
{
    p->is_lhs_bf16 = p->job->operand[b->lhs]->element_bytes == 2 && !conv_has_lines(p);
    p->group_rows = p->is_lhs_bf16 ? 16 : 8;
    for (int i = 0; i < p->out_count; i++)
        if (conv_is_block(p, i) && p->job->result[i]->tile_rows > p->group_rows)
            p->group_rows = p->job->result[i]->tile_rows;
    for (int i = 0; i < p->extra_count; i++)
        if (b->extra[i].kind == EXTRA_FULL &&
            p->job->operand[b->extra[i].operand]->tile_rows > p->group_rows)
            p->group_rows = p->job->operand[b->extra[i].operand]->tile_rows;
    p->subs = p->group_rows / 8;
    p->parts = p->is_lhs_bf16 ? p->group_rows / 16 : p->group_rows / 8;
}

/* How 128 of k are filled: blocks of features, or several taps of few features. */
static void fill_k(struct conv_plan *p)
{
    int64_t rows = p->contracted * (p->is_lhs_bf16 ? 16 : 8);

    p->feature_blocks = 1;
    p->members = 1;
    p->along = -1;
    p->pair_level = -1;
    if (p->shape.mode == CONV_ROWS) {
        p->feature_blocks = p->is_vector ? 1 : div_up(p->contracted, p->slots);
        for (int i = 0; i < CONV_SPATIAL && p->slots > 1 && p->contracted == 1; i++)
            if (p->shape.dim[i].taps > 1 && !(i == 2 && conv_has_lines(p)))
                p->pair_level = i;
        return;
    }
    p->member_rows = least(rows, LANES);
    if (rows > LANES) {
        p->feature_blocks = div_up(rows, LANES * p->slots);
        return;
    }
    p->members = LANES / rows;
    for (int i = CONV_SPATIAL - 1; i >= 0; i--)
        if (p->shape.dim[i].taps > 1 && p->shape.dim[i].dilation == 1 &&
            (p->along < 0 || (p->shape.dim[i].taps > LANES / rows && p->along == 2)))
            p->along = i;
    if (p->along < 0)
        p->members = 1;
    else
        p->members = least(p->members, p->shape.dim[p->along].taps);
}

/* taps of 128-row slots together: of all slots where each has taps of its own */
static int64_t all_members(const struct conv_plan *p)
{
    return p->along >= 0 && p->feature_blocks == 1 &&
                   p->contracted * (p->is_lhs_bf16 ? 16 : 8) <= LANES
               ? p->members * p->slots : p->members;
}

/*
 * Taps of a step that phase `r` meets: of a share of a window that is cut, as many in each that
 * meets any.
 */
int64_t conv_step_taps(const struct conv_plan *p, int dim, int64_t r)
{
    const struct conv_dim *d = &p->shape.dim[dim];

    if (d->dilation == 1)
        return p->taps[dim];
    if (d->phase[r].count == 0)
        return 0;
    return p->taps[dim] == d->taps ? d->phase[r].count : p->taps[dim] / d->tap_step;
}

/* inputs that a block of q outputs of each phase spans, with all its taps */
int64_t conv_span(const struct conv_plan *p, int dim)
{
    const struct conv_dim *d = &p->shape.dim[dim];
    int64_t last = 0;

    for (int64_t r = 0; r < d->phases; r++) {
        int64_t taps = conv_step_taps(p, dim, r);
        int64_t end = d->phase[r].offset - d->lowest + (taps - 1) * d->tap_stride;

        if (taps && end > last)
            last = end;
    }
    return (p->q[dim] - 1) * d->step + last + 1;
}

static void set_groups(struct conv_plan *p, const struct array *lhs)
{
    const struct conv_shape *s = &p->shape;
    int64_t groups = s->feature_groups * s->batch_groups, tiles = lhs->tiles_across;
    int64_t inputs = s->mode == CONV_ROWS ? s->features : s->batch;

    p->is_grouped = groups > 1;
    p->group_inputs = inputs / groups;
    p->group_columns = s->out_features / groups;
    p->is_diagonal = p->is_grouped && p->group_inputs == p->group_columns &&
                     LANES % p->group_inputs == 0 &&
                     (p->is_vector || tiles == 1 ||
                      (inputs % LANES == 0 && tiles % p->slots == 0));
}

/* groups leave no choice: a tile of columns with its tile of features, or all with all */
static void set_grouped_block(struct conv_plan *p, const struct array *lhs)
{
    int64_t wide = least(p->is_vector ? p->column_groups : p->slots, lhs->tiles_across);
    bool is_rows = p->shape.mode == CONV_ROWS;

    if (is_rows)
        p->contracted = p->is_diagonal ? wide : lhs->tiles_across;
    else
        p->batch_tiles = p->is_diagonal ? wide : lhs->tiles_across;
}

static void set_block(struct conv_plan *p, const struct tiling *t, const struct array *lhs)
{
    const struct conv_shape *s = &p->shape;

    p->tiling = *t;
    p->batch_tiles = conv_has_lines(p) ? div_up(s->batch, p->group_rows) : t->size[0];
    for (int i = 0; i < CONV_SPATIAL; i++) {
        p->q[i] = t->size[1 + i];
        p->taps[i] = s->dim[i].taps;
    }
    p->column_groups = t->size[4];
    p->contracted = t->size[5];
    set_groups(p, lhs);
    if (p->is_grouped)
        set_grouped_block(p, lhs);
    fill_k(p);
    p->spread = t->size[6];
    if (p->along >= 0)
        p->taps[p->along] = p->spread * all_members(p);
    for (int i = 1; i < CONV_SPATIAL - s->is_pixels && s->mode == CONV_ROWS; i++)
        if (t->size[7 + i] && s->dim[i].dilation == 1)
            p->taps[i] = t->size[7 + i];
    if (s->mode == CONV_TRANSPOSED && p->along != CONV_SPATIAL - 1 && t->size[7])
        p->taps[CONV_SPATIAL - 1] = t->size[7];
}

/* ----- units: columns first, what is left shares the rows */

int64_t conv_column_tiles(const struct conv_plan *p)
{
    return p->column_groups * p->unit_columns * p->halves;
}

static void share_units(struct conv_plan *p)
{
    int64_t tiles = div_up(p->shape.out_features, LANES);
    int columns = (int)div_up(tiles, p->halves);

    p->unit_columns = p->is_diagonal ? 1 : columns < p->units ? columns : p->units;
    p->unit_rows = p->units / p->unit_columns;
    while (conv_vector_registers(p) > p->chip->core_vregs && p->unit_rows > 1)
        p->unit_rows--;
    while (conv_vector_registers(p) > p->chip->core_vregs && p->unit_columns > 1)
        p->unit_columns--;
    if (p->is_grouped && !p->is_vector)
        p->column_groups = p->is_diagonal ? 1 : div_up(tiles, p->unit_columns * p->halves);
}

/* a level of the walk whose count the rows of units divide, the outermost first; lines are whole */
/* ----- the grid */

static void make_grid(struct conv_plan *p)
{
    static const int outer[GRID_DIMS] = {GRID_F, GRID_B, GRID_O0, GRID_O1, GRID_O2, GRID_C,
                                         GRID_T0, GRID_T1, GRID_T2};
    static const int inner[GRID_DIMS] = {GRID_B, GRID_O0, GRID_O1, GRID_O2, GRID_F, GRID_C,
                                         GRID_T0, GRID_T1, GRID_T2};
    const struct conv_shape *s = &p->shape;
    const struct array *lhs = p->window[WINDOW_LHS].array;
    bool is_rows = s->mode == CONV_ROWS;

    memcpy(p->order, is_rows && p->tiling.size[7] ? inner : outer, sizeof(p->order));
    p->count[GRID_F] = div_up(div_up(s->out_features, LANES), conv_column_tiles(p));
    p->count[GRID_B] = is_rows ? div_up(s->batch, p->batch_tiles * p->group_rows)
                               : div_up(lane_tiles(lhs), p->batch_tiles);
    p->count[GRID_C] =
        div_up(is_rows ? lhs->tiles_across : lhs->tiles_down, p->contracted);
    if (p->is_diagonal)
        p->count[is_rows ? GRID_C : GRID_B] = 1;
    for (int i = 0; i < CONV_SPATIAL; i++) {
        p->count[GRID_O0 + i] = div_up(div_up(s->dim[i].out, s->dim[i].phases), p->q[i]);
        p->count[GRID_T0 + i] = div_up(s->dim[i].taps, p->taps[i]);
    }
}

/* ----- VMEM */

static int64_t weight_tiles(const struct conv_plan *p)
{
    return p->is_vector ? 0 : conv_column_tiles(p) * p->passes * p->slots * (LANES / 8);
}

static int64_t sum_tiles(const struct conv_plan *p)
{
    return p->is_vector ? 0 : conv_column_tiles(p) * p->phase_count * p->rounds * p->unit_rows * p->subs;
}

int64_t conv_total_tiles(const struct conv_plan *p)
{
    return conv_column_tiles(p) * p->count[GRID_F];
}

static void place(struct conv_plan *p)
{
    int64_t row = p->job->vmem_row;

    p->totals_row = row;
    row += p->total_count * conv_total_tiles(p) * TILE_ROWS;
    p->sums_row = row;
    row += sum_tiles(p) * TILE_ROWS;
    p->weights_row = row;
    row += weight_tiles(p) * TILE_ROWS;
    p->rows_row = row;
    if (p->shape.mode == CONV_TRANSPOSED)
        row += conv_tile_count(p) * p->slots * p->feature_blocks * TILE_ROWS;
    if (conv_has_lines(p))
        row += p->feature_blocks * p->feature_stride * TILE_ROWS;
    p->smem_words = 0;
    for (int i = 0, flag = p->job->first_flag; i < WINDOW_COUNT; i++) {
        struct conv_window *w = &p->window[i];

        if (!p->is_used[i])
            continue;
        w->flag = flag;
        w->smem = p->job->smem + 4 * p->smem_words;
        flag += 2;
        p->smem_words += WINDOW_WORDS;
        if (p->made_out >= 0 && i == WINDOW_OUT + p->made_out) {
            w->row += p->window[WINDOW_LHS].row;
            continue;
        }
        w->row = row;
        row += w->tiles * TILE_ROWS * w->buffers;
        p->vector_row[i] = i < WINDOW_EXTRA || !vector_rows(w->array) ? w->row : row;
        row += i < WINDOW_EXTRA ? 0 : vector_rows(w->array);
    }
    p->spill_row = row;
    row += SPILL_TILES * TILE_ROWS;
    p->vmem_rows = row - p->job->vmem_row;
}

/*
 * Of groups of the batch the epilogue reads whole groups of rows, also of those that the last tile
 * of columns has no columns for, so that all tiles are alike, and drops what is not there.
 */
static int64_t rows_past_sums(const struct conv_plan *p)
{
    int64_t groups = p->shape.batch_groups, rows = p->group_inputs;
    int64_t past = round_up(rows, p->group_rows) - rows;

    if (groups == 1)
        return 0;
    if (p->group_columns < LANES && LANES % p->group_columns == 0)
        past += (round_up(groups, LANES / p->group_columns) - groups) * rows;
    return past;
}

/* a total leaves out rows of the only group of a pixel, whose images end in it; else nothing */
static int check_totals(const struct conv_plan *p, struct err *e)
{
    int64_t rows = p->out_groups * p->group_rows * p->count[GRID_B];
    bool is_exact = (rows == p->shape.batch || rows == p->group_rows) && !conv_has_lines(p) &&
                    !p->is_grouped;

    for (int i = 0; i < CONV_SPATIAL; i++)
        is_exact &= p->q[i] * p->shape.dim[i].phases * p->count[GRID_O0 + i] == p->shape.dim[i].out;
    if (p->total_count > 0 && !is_exact)
        return err_set(e, "sums per feature take blocks that divide the result");
    return 0;
}

/* of a dilated input each share of the window's taps has whole rounds of the phases */
static int check_taps(const struct conv_plan *p, struct err *e)
{
    for (int i = 0; i < CONV_SPATIAL; i++) {
        const struct conv_dim *d = &p->shape.dim[i];

        if (d->dilation > 1 && p->taps[i] != d->taps &&
            (d->taps % p->taps[i] || p->taps[i] % d->tap_step))
            return err_set(e, "shares of %lld taps of a window of %lld over a dilated input",
                           (long long)p->taps[i], (long long)d->taps);
    }
    return 0;
}

static int check_fit(const struct conv_plan *p, struct err *e)
{
    int64_t read_rows = p->sums_row + sum_tiles(p) * TILE_ROWS + rows_past_sums(p);

    for (int g = GRID_C; g <= GRID_T2 && p->is_vector; g++)
        if (p->count[g] > 1)
            return err_set(e, "a depthwise convolution has all of its sums in one step");
    if (read_rows > p->chip->vmem_bytes / ARRAY_ROW_BYTES)
        return err_set(e, "sums of %lld groups end behind the vector memory",
                       (long long)p->shape.batch_groups);
    if (p->count[GRID_C] > 1 && p->shape.features % p->features_here)
        return err_set(e, "%lld input features do not divide into blocks of %lld",
                       (long long)p->shape.features, (long long)p->features_here);
    if (p->smem_words / WINDOW_WORDS * 2 > p->job->flag_count)
        return err_set(e, "%lld windows take two flags each, the kernel has %d",
                       (long long)(p->smem_words / WINDOW_WORDS), p->job->flag_count);
    if (p->vmem_rows > p->job->vmem_rows)
        return err_set(e, "the tiling takes %lld KiB of vector memory, the kernel has %lld",
                       (long long)(p->vmem_rows / 2), (long long)(p->job->vmem_rows / 2));
    return 0;
}

static int check_kind(const struct conv_plan *p, struct err *e)
{
    const struct conv_shape *s = &p->shape;
    int64_t columns = s->out_features / s->batch_groups;

    for (int i = 0; i < 2; i++)
        if (!graph_dtype_is_float(p->job->body->node[s->node->operand[i]].shape.dtype))
            return err_set(e, "%s: a convolution of %s (f32, bf16, and up to 32768 products of s8 "
                           "and u8)", s->node->name, graph_dtype_name(
                               p->job->body->node[s->node->operand[i]].shape.dtype));
    if (s->node->precision != PRECISION_DEFAULT)
        return err_set(e, "%s: products of f32 in one pass of bf16 only, not precision %s",
                       s->node->name, s->node->precision == PRECISION_HIGH ? "high" : "highest");
    if (s->batch_groups > 1 && s->out_features > LANES && LANES % columns && columns % LANES)
        return err_set(e, "%s: batch groups of %lld columns (divisors or multiples of %d)",
                       s->node->name, (long long)columns, LANES);
    return 0;
}

/* what does not depend on the tiling */
static int begin_plan(struct conv_plan *p, const struct kernel_job *job, struct conv_body *b,
                      struct err *e)
{
    memset(p, 0, sizeof(*p));
    p->job = job;
    p->chip = job->chip;
    if (conv_body_of(job->body, b, e) ||
        conv_shape_of(&job->body->node[b->conv], &job->operand[b->lhs]->shape,
                      &job->operand[b->rhs]->shape, &p->shape, e) ||
        read_chip(p, e))
        return -1;
    conv_shape_resolve(&p->shape, job->operand[b->lhs]);
    p->is_vector = p->shape.is_depthwise && p->shape.mode == CONV_ROWS;
    if (p->is_vector)
        p->units = p->slots = p->halves = 1;
    p->out_count = b->out_count;
    p->extra_count = b->extra_count;
    p->total_count = b->total_count;
    p->maker_count = b->maker_count;
    p->made_out = b->made_out;
    for (int i = 0; i < p->maker_count; i++)
        p->is_maker_vector[i] = b->maker[i].kind != EXTRA_FULL;
    for (int role = 0; role < CONV_RESULT; role++)
        p->is_made[role] = b->made[role] != NODE_NONE;
    memcpy(p->is_of_features, b->is_of_features, sizeof(p->is_of_features));
    while (!conv_is_block(p, p->first_out))
        p->first_out++;
    return check_kind(p, e) || check_layouts(p, b, e) || conv_check_makers(p, b, e) ||
                   check_rows(p, b, e) ? -1 : 0;
}

int conv_check_job(const struct kernel_job *job, struct err *e)
{
    struct conv_plan *p = mem_alloc(sizeof(*p));
    struct conv_body b;
    int failed = begin_plan(p, job, &b, e);

    mem_free(p);
    return failed;
}

int conv_plan_make(struct conv_plan *p, const struct kernel_job *job, const struct tiling *t,
                   struct err *e)
{
    struct conv_body b;

    if (begin_plan(p, job, &b, e))
        return -1;
    p->is_dense = p->shape.mode == CONV_ROWS && t->size[6];
    if (p->is_dense && !conv_may_be_dense(&p->shape))
        return err_set(e, "rows of this convolution cannot be dense");
    set_group(p, &b);
    set_block(p, t, job->operand[b.lhs]);
    share_units(p);
    p->window[WINDOW_LHS].array = job->operand[b.lhs];
    make_grid(p);
    p->groups = p->shape.mode == CONV_ROWS ? p->batch_tiles
                : p->count[GRID_B] > 1     ? p->batch_tiles * LANES / p->group_rows
                                           : div_up(p->shape.batch, p->group_rows);
    if (p->is_diagonal && p->shape.mode == CONV_TRANSPOSED)
        p->groups = least(p->groups, p->batch_tiles * LANES / p->group_rows);
    p->out_groups = p->shape.batch_groups > 1 ? div_up(p->group_inputs, p->group_rows) : p->groups;
    if (p->is_dense)
        p->groups = div_up(p->q[2] * p->shape.batch, p->group_rows);
    p->features_here = p->shape.features;
    if (p->count[GRID_C] > 1 || (p->is_diagonal && p->count[GRID_F] > 1 &&
                                 p->shape.mode == CONV_ROWS))
        p->features_here = p->contracted * (p->shape.mode == CONV_ROWS ? LANES
                                            : p->is_lhs_bf16          ? 16
                                                                      : 8);
    conv_make_windows(p, &b);
    conv_walk_rows(p);
    conv_count_passes(p);
    conv_choose_pop_delay(p);
    if (p->shape.mode == CONV_TRANSPOSED && p->slots * p->batch_tiles > CONV_TRANSPOSES_MAX)
        return err_set(e, "a block of %lld tiles of rows to transpose (at most %d)",
                       (long long)(p->slots * p->batch_tiles), CONV_TRANSPOSES_MAX);
    if (conv_vector_registers(p) > p->chip->core_vregs)
        return err_set(e, "a convolution needs %d vector registers, the chip has %lld",
                       conv_vector_registers(p), (long long)p->chip->core_vregs);
    place(p);
    return conv_check_made(p, e) || check_totals(p, e) || check_taps(p, e) || check_fit(p, e) ? -1 : 0;
}
