/*
 * Copies operands that the passes cannot take as they lie into scratch: transposed, masked, split
 * into parts of f32.
 */
#include "stack/kernels/dot/kernel_dot_prepare.h"

#include <string.h>

#include "base/units.h"
#include "stack/hlo/precision.h"
#include "stack/backend/emitters.h"

#define TILE 128
#define TILE_ROWS 8                     /* of VMEM */
#define XPOSE_GROUPS_MAX 16
#define SQUARES_BEHIND_MAX 2
#define SQUARES_TOGETHER 8              /* in straight code, of several batches */

/* registers of the copy; the pipeline's own are above */
enum { S_ROW_LOOP, S_TILE_LOOP, S_FROM, S_TO, S_FROM_ROW, S_TO_ROW, S_LEFT, S_LEFT_ROW };

struct copy {
    struct dot_grid *g;
    struct vcode *c;
    const struct dot_matrix *m;
    struct dot_place from;
    bool is_rhs;
    bool is_ragged, is_cut;             /* the contraction ends in a square; in steps of several */
    int terms;
    int tiles;                          /* in a unit of work along the rows: f32 pairs are packed */
    int64_t to_row, to_row_step, to_lane_step, to_term_step;
    int64_t depth;                      /* tiles of 128 along the contraction */
};

int dot_terms(const struct dot_problem *p)
{
    return precision_passes(p->precision)->pass_count;
}

/* behind the contraction boxes have something, and no zeros yet (kernel_dot_tail.c) */
static bool is_ragged(const struct dot_grid *g)
{
    return g->p->k % TILE != 0 && !dot_masks_tail(g, false);
}

/* which step has the end of the contraction is known as the code runs */
static bool is_cut(const struct dot_grid *g)
{
    return is_ragged(g) && g->depth * TILE < g->p->k;
}

bool dot_prepares(const struct dot_grid *g, bool is_rhs)
{
    const struct dot_problem *p = g->p;

    return (!is_rhs && p->is_lhs_transposed) || dot_terms(p) > 1;
}

enum matrix_type dot_prepared_type(const struct dot_problem *p, bool is_rhs)
{
    return dot_terms(p) > 1 ? MATRIX_BF16 : is_rhs ? p->rhs_type : p->lhs_type;
}

bool dot_prepares_batches(const struct dot_grid *g)
{
    const struct dot_problem *p = g->p;
    bool ends_in_square = g->depth > 1 || p->k % matrix_rows(p->lhs_type) != 0;

    return p->is_lhs_transposed && dot_terms(p) == 1 && !dot_prepares(g, true)
           && !(p->k % TILE != 0 && ends_in_square)
           && g->depth * div_up(g->groups * p->group_rows, TILE) <= SQUARES_TOGETHER;
}

/* of the left operand */
static int64_t dot_prepared_batches(const struct dot_grid *g)
{
    return g->batches > 1 && g->p->lhs.outer[dot_batch_dim(g->p)] ? g->batches : 1;
}

/* rows of the result, or of the contraction in the right operand, that a box of tiles has */
static int64_t box_rows(const struct dot_grid *g, bool is_rhs)
{
    const struct dot_problem *p = g->p;

    if (is_rhs)
        return (p->is_rhs_transposed ? g->tiles : g->depth) * TILE;
    return p->is_lhs_transposed ? round_up(g->groups * p->group_rows, TILE)
                                : g->groups * p->group_rows;
}

static int64_t box_lanes(const struct dot_grid *g, bool is_rhs)         /* tiles */
{
    return is_rhs && !g->p->is_rhs_transposed ? g->tiles : g->depth;
}

int64_t dot_prepared_rows(const struct dot_grid *g, bool is_rhs)
{
    int64_t rows = div_up(box_rows(g, is_rhs), matrix_rows(dot_prepared_type(g->p, is_rhs)));

    if (!dot_prepares(g, is_rhs))
        return 0;
    return rows * box_lanes(g, is_rhs) * dot_terms(g->p) * TILE_ROWS
           * (is_rhs ? 1 : dot_prepared_batches(g));
}

static int64_t squares_across(const struct dot_grid *g) { return box_rows(g, false) / TILE; }

/* passes whose rows are transposed before the step, 0: all */
static int transposed_before(const struct dot_grid *g)
{
    if (g->transposes_first || g->batches > 1 || !g->p->is_lhs_transposed || is_ragged(g)
        || dot_terms(g->p) > 1)
        return 0;
    return dot_transpose_passes(&g->step, squares_across(g));
}

static int batches_at_once(const struct dot_grid *g)
{
    return g->share == SHARE_BATCHES ? g->step.units : 1;
}

/* columns of a span beside which batches are transposed, 0: none are; those before the step */
static int transposing_columns(const struct dot_grid *g, int *lead)
{
    int64_t rows = is_ragged(g) ? g->p->k : TILE;

    if (g->transposes_first || dot_prepared_batches(g) == 1 || !g->p->is_lhs_transposed
        || dot_terms(g->p) > 1 || dot_grid_inside(g, false))
        return 0;
    return dot_transpose_columns(&g->step, batches_at_once(g), squares_across(g),
                                 div_up(rows, matrix_rows(g->p->lhs_type)), lead);
}

/* of an operand: its window, or the block of its fused loop */
struct dot_place dot_place_of(const struct dot_grid *g, bool is_rhs)
{
    const struct dot_block *block = is_rhs ? &g->rhs_block : &g->lhs_block;
    int window = is_rhs ? g->rhs_window : g->lhs_window;

    if (block->fused)
        return (struct dot_place){-1, pipeline_scratch_row(&g->pipeline) + block->row,
                              block->lanes * TILE_ROWS, TILE_ROWS};
    return (struct dot_place){pipeline_base(&g->pipeline, window), pipeline_row(&g->pipeline, window),
                          pipeline_stride(&g->pipeline, window, 1),
                          pipeline_stride(&g->pipeline, window, 0)};
}

static void add_batches(const struct dot_grid *g, struct dot_transpose *t)
{
    t->span_columns = transposing_columns(g, &t->lead);
    t->lead *= batches_at_once(g);
    t->batches = t->span_columns * batches_at_once(g);
    t->tiles = div_up(is_ragged(g) ? g->p->k : TILE, matrix_rows(g->p->lhs_type));
    t->batch_step = dot_batch_stride(g, g->lhs_window, &g->p->lhs);
    t->to_batch_step = dot_prepared_rows(g, false) / dot_prepared_batches(g);
}

void dot_set_transpose(struct dot_grid *g, int is_new)
{
    int groups = TILE / matrix_rows(g->p->lhs_type);
    struct dot_place from = dot_place_of(g, false);
    int64_t to_row_step = g->depth * TILE_ROWS;
    int lead;

    g->step.transpose = (struct dot_transpose){
        .passes_before = transposed_before(g), .is_new = is_new, .squares = squares_across(g),
        .from = {.base = from.base, .row = from.row, .depth_step = groups * from.row_step,
                 .side_step = from.lane_step},
        .group_step = from.row_step, .to_group_step = to_row_step,
        .to_square_step = groups * to_row_step};
    if (transposing_columns(g, &lead))
        add_batches(g, &g->step.transpose);
}

/* units that take `count` squares in turn */
static int64_t squares_at_once(const struct dot_grid *g, int64_t count)
{
    int64_t units = g->pipeline.job->chip->xlu_count;

    while (count % units)
        units--;
    return units;
}

/* whether the loop inside goes across squares of a step, not along the contraction */
static bool is_transposed_across(int64_t across, int64_t depth) { return across >= depth; }

/* that are transposed before the step */
static int64_t batches_before(const struct dot_grid *g)
{
    int lead, columns = transposing_columns(g, &lead);

    return columns ? lead * batches_at_once(g) : dot_prepared_batches(g);
}

/* of those, whose squares are transposed in one piece of straight code */
static int64_t batches_together(const struct dot_grid *g)
{
    int64_t most = SQUARES_TOGETHER / (squares_across(g) * g->depth);

    while (most > 1 && batches_before(g) % most)
        most--;
    return most;
}

/* of a cross-lane unit, for a square that has `rows` */
static int64_t square_cycles(const struct dot_grid *g, int64_t rows)
{
    const struct chip *chip = g->pipeline.job->chip;
    int per_tile = matrix_rows(g->p->lhs_type);
    int64_t push = per_tile == 8 ? chip->xlu_xpose_issue_cycles
                                 : chip->xlu_xpose_packed_issue_cycles;
    int64_t in = div_up(rows, per_tile) * push, out = TILE / per_tile * chip->xlu_xpose_pop_cycles;
    int64_t most = in > out ? in : out;

    return most > chip->xlu_xpose_gap_cycles ? most : chip->xlu_xpose_gap_cycles;
}

/* all squares, loop by loop, whose rounds overlap */
static int64_t transposed_cycles(const struct dot_grid *g)
{
    int64_t across = squares_across(g), each = square_cycles(g, TILE), cycles = 0;
    int64_t rest = is_ragged(g) && !is_cut(g) ? g->p->k % TILE : 0, depth = g->depth - (rest > 0);
    bool is_wide = is_transposed_across(across, depth);
    int64_t inner = is_wide ? across : depth, outer = is_wide ? depth : across;

    if (depth)
        cycles = outer * (inner * each / squares_at_once(g, inner)
                          + g->pipeline.job->chip->xlu_xpose_cycles + each);
    if (rest)
        cycles += across * square_cycles(g, rest) / squares_at_once(g, across)
                  + g->pipeline.job->chip->xlu_xpose_cycles + square_cycles(g, rest);
    return cycles;
}

/* those squares that nothing hides, in rows of them, each with a wait */
static int64_t transpose_cycles(const struct dot_grid *g)
{
    const struct chip *chip = g->pipeline.job->chip;
    int64_t before = transposed_before(g) * dot_halves(chip), each = square_cycles(g, TILE);

    if (g->batches > 1)
        return batches_before(g)
               * (squares_across(g) * g->depth * each / chip->xlu_count
                  + (chip->xlu_xpose_cycles + each) / batches_together(g));
    if (before)
        return squares_across(g) * before * each / chip->xlu_count + chip->xlu_xpose_cycles + each;
    return transposed_cycles(g);
}

int64_t dot_prepare_cycles(const struct dot_grid *g, bool is_rhs)
{
    int64_t tiles;

    if (!dot_prepares(g, is_rhs))
        return 0;
    tiles = dot_prepared_rows(g, is_rhs) / TILE_ROWS;
    if (is_rhs || !g->p->is_lhs_transposed)
        return tiles * (dot_terms(g->p) > 1 ? 3 : 2);
    return transpose_cycles(g);
}

/* ----- parts of a value */

/* `tile`: one tile, or two of f32 that become packed parts; stored at S_TO + offset */
static void put_out(struct copy *k, const int *tile, int64_t offset)
{
    const struct precision_passes *passes = precision_passes(k->g->p->precision);
    int part[PART_COUNT], rest[2] = {tile[0], tile[k->tiles - 1]};
    bool is_hlo_rhs = k->is_rhs != k->g->p->is_swapped;

    if (k->terms == 1) {
        for (int i = 0; i < k->tiles; i++)
            emit_vst(k->c, isa_rows_at(R(S_TO), offset + i * k->to_row_step), tile[i], 1);
        return;
    }
    for (int i = 0; i < passes->part_count; i++) {
        part[i] = emit_vpack_c_bf16(k->c, R(rest[1]), R(rest[0]));
        for (int h = 0; h < 2 && i + 1 < passes->part_count; h++)
            rest[h] =
                emit_vsub_f32(k->c, R(rest[h]),
                              R(emit_d_v(k->c, h ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, R(part[i]))));
    }
    for (int i = 0; i < k->terms; i++) {
        enum precision_part which = is_hlo_rhs ? passes->pass[i].rhs : passes->pass[i].lhs;

        emit_vst(k->c, isa_rows_at(R(S_TO), offset + i * k->to_term_step), part[which], 1);
    }
}

/* ----- what is left of the contraction from this step on, in S_LEFT_ROW */

static void put_left(struct copy *k)
{
    const struct dot_grid *g = k->g;
    int index = pipeline_index(&g->pipeline, g->dim[DIM_K]);

    if (index < 0) {
        emit_smov(k->c, S_LEFT_ROW, I(g->p->k));
        return;
    }
    emit_smul(k->c, S_LEFT_ROW, R(index), I(-g->depth * TILE));
    emit_sadd(k->c, S_LEFT_ROW, R(S_LEFT_ROW), I(g->p->k));
}

static int lane_sequence(struct vcode *c)
{
    int v = vcode_vreg(c);

    vcode_put(c, isa_vlaneseq(v));
    return v;
}

/* lanes before S_LEFT */
static int lanes_left(struct copy *k)
{
    int lane = emit_vand_u32(k->c, R(lane_sequence(k->c)), I(TILE - 1));

    return emit_vcmp_lt_s32(k->c, R(lane), R(emit_vstv(k->c, S_LEFT)));
}

/* a word of ones where the rows of the tile that begins at S_LEFT are not padding */
static int row_bits(struct copy *k)
{
    int per_word = matrix_rows(k->is_rhs ? k->g->p->rhs_type : k->g->p->lhs_type) / 8;
    int seq = lane_sequence(k->c), first, left, all, some;

    first = emit_vshrl_u32(k->c, R(seq), I(7));
    if (per_word == 2)
        first = emit_vadd_s32(k->c, R(first), R(first));
    left = emit_vsub_s32(k->c, R(emit_vstv(k->c, S_LEFT)), R(first));
    all = emit_vcmp_ge_s32(k->c, R(left), I(per_word));
    if (per_word == 1)
        return emit_vsel(k->c, all, I(-1), I(0));
    some = emit_vcmp_ge_s32(k->c, R(left), I(1));
    return emit_vsel(k->c, all, I(-1), R(emit_vsel(k->c, some, I(0xffff), I(0))));
}

/* ----- copies */

static void step_both(struct copy *k, int64_t from, int64_t to)
{
    vcode_loop_step(k->c, S_FROM, from);
    vcode_loop_step(k->c, S_TO, to);
}

static void set_from(struct copy *k)
{
    if (k->from.base < 0)
        emit_smov(k->c, S_FROM_ROW, I(k->from.row));
    else
        emit_sadd(k->c, S_FROM_ROW, R(k->from.base), I(k->from.row));
    emit_smov(k->c, S_TO_ROW, I(k->to_row));
}

static void begin_row(struct copy *k)
{
    emit_smov(k->c, S_FROM, R(S_FROM_ROW));
    emit_smov(k->c, S_TO, R(S_TO_ROW));
    emit_smov(k->c, S_LEFT, R(S_LEFT_ROW));
}

static void load_tiles(struct copy *k, int *tile)
{
    for (int i = 0; i < k->tiles; i++)
        tile[i] = emit_vld(k->c, isa_rows_at(R(S_FROM), i * k->from.row_step), 0);
}

/* contracted along the lanes: the last tile of each row is masked */
static void copy_lanes(struct copy *k, int64_t units)
{
    int tile[2] = {-1, -1}, mask;

    vcode_loop_begin(k->c, S_ROW_LOOP, units);
    begin_row(k);
    vcode_loop_begin(k->c, S_TILE_LOOP, k->depth);
    load_tiles(k, tile);
    mask = k->is_ragged ? lanes_left(k) : -1;
    for (int i = 0; i < k->tiles && k->is_ragged; i++)
        tile[i] = emit_vsel(k->c, mask, R(tile[i]), I(0));
    put_out(k, tile, 0);
    if (k->is_ragged)
        vcode_loop_step(k->c, S_LEFT, -TILE);
    step_both(k, k->from.lane_step, k->to_lane_step);
    vcode_loop_end(k->c, S_TILE_LOOP);
    vcode_loop_step(k->c, S_FROM_ROW, k->tiles * k->from.row_step);
    vcode_loop_step(k->c, S_TO_ROW, k->to_row_step);
    vcode_loop_end(k->c, S_ROW_LOOP);
}

/* contracted along the rows: those behind the last one are masked */
static void copy_rows(struct copy *k, int64_t units, int64_t lanes)
{
    int tile[2] = {-1, -1}, rows = matrix_rows(k->g->p->rhs_type);

    vcode_loop_begin(k->c, S_ROW_LOOP, units);
    begin_row(k);
    vcode_loop_begin(k->c, S_TILE_LOOP, lanes);
    load_tiles(k, tile);
    for (int i = 0; i < k->tiles && k->is_ragged; i++) {
        if (i > 0)
            emit_sadd(k->c, S_LEFT, R(S_LEFT_ROW), I(-rows));
        tile[i] = emit_vand_u32(k->c, R(tile[i]), R(row_bits(k)));
        if (i > 0)
            emit_smov(k->c, S_LEFT, R(S_LEFT_ROW));
    }
    put_out(k, tile, 0);
    step_both(k, k->from.lane_step, k->to_lane_step);
    vcode_loop_end(k->c, S_TILE_LOOP);
    vcode_loop_step(k->c, S_FROM_ROW, k->tiles * k->from.row_step);
    vcode_loop_step(k->c, S_TO_ROW, k->to_row_step);
    if (k->is_ragged)
        vcode_loop_step(k->c, S_LEFT_ROW, -k->tiles * rows);
    vcode_loop_end(k->c, S_ROW_LOOP);
}

/* `rows` of a square of 128 x 128 into a cross-lane unit, zeros for the others */
static void push_rows(struct copy *k, int unit, int64_t from, int64_t rows)
{
    int per_tile = matrix_rows(k->g->p->lhs_type), groups = TILE / per_tile;
    enum isa_vxpose_cont_x0 type = groups == 16 ? VXPOSE_CONT_B32
                                 : groups == 8  ? VXPOSE_CONT_B16 : VXPOSE_CONT_B8;
    int64_t count = div_up(rows, per_tile);

    for (int64_t i = 0; i < count; i++) {
        int v = emit_vld(k->c, isa_rows_at(R(S_FROM), from + i * k->from.row_step), 0);
        struct isa_op op;

        if (rows < (i + 1) * per_tile)
            v = dot_keep_rows(k->c, v, rows - i * per_tile, per_tile);
        op = isa_vxpose_cont(unit, v, TILE, type);
        op.code = count == 1       ? OP_VXPOSE_ONE
                  : i == 0         ? OP_VXPOSE_START
                  : i == count - 1 ? OP_VXPOSE_END
                                   : OP_VXPOSE_CONT;
        vcode_put(k->c, op);
    }
}

static int pop_tile(struct copy *k, int unit)
{
    return emit_vpop_trf(k->c, unit);
}

/* the first squares of a contraction in straight code: some go in before those ahead come out */
static void copy_few(struct copy *k, int64_t across)
{
    const struct chip *chip = k->g->pipeline.job->chip;
    int64_t groups = TILE / matrix_rows(k->g->p->lhs_type), count = across * k->depth;
    int64_t behind = chip->xlu_fifo_depth / groups - 1, units = chip->xlu_count;

    behind = (behind < SQUARES_BEHIND_MAX ? behind : SQUARES_BEHIND_MAX) * units;
    begin_row(k);
    for (int64_t i = 0; i < count + behind; i++) {
        int64_t old = i - behind;

        if (i < count)
            push_rows(k, (int)(i % units), i / across * groups * k->from.row_step
                                               + i % across * k->from.lane_step, TILE);
        for (int64_t t = 0; t < groups && old >= 0; t++)
            emit_vst(k->c,
                     isa_rows_at(R(S_TO), old / across * k->to_lane_step +
                                              (old % across * groups + t) * k->to_row_step),
                     pop_tile(k, (int)(old % units)), 1);
    }
}

/* where tile 0 of square `i` of a piece of several batches is, and goes to */
struct square { int64_t from, to; };

static struct square square_of(const struct copy *k, int64_t across, int64_t i)
{
    int64_t groups = TILE / matrix_rows(k->g->p->lhs_type), each = across * k->depth;
    int64_t batch = i / each, depth = i % each / across, side = i % across;

    return (struct square){
        .from = batch * dot_batch_stride(k->g, k->g->lhs_window, k->m)
                + depth * groups * k->from.row_step + side * k->from.lane_step,
        .to = batch * (dot_prepared_rows(k->g, false) / dot_prepared_batches(k->g))
              + depth * k->to_lane_step + side * groups * k->to_row_step};
}

/* all batches of a step, some at a time; a short contraction leaves the unit's other rows zero */
static void copy_batches(struct copy *k, int64_t across)
{
    const struct chip *chip = k->g->pipeline.job->chip;
    int64_t groups = TILE / matrix_rows(k->g->p->lhs_type), units = chip->xlu_count;
    int64_t together = batches_together(k->g), count = together * across * k->depth;
    int64_t behind = chip->xlu_fifo_depth / groups - 1;
    int64_t rows = k->is_ragged ? k->g->p->k : TILE;

    behind = (behind < SQUARES_BEHIND_MAX ? behind : SQUARES_BEHIND_MAX) * units;
    begin_row(k);
    vcode_loop_begin(k->c, S_ROW_LOOP, batches_before(k->g) / together);
    for (int64_t i = 0; i < count + behind; i++) {
        struct square old = square_of(k, across, i - behind);

        if (i < count)
            push_rows(k, (int)(i % units), square_of(k, across, i).from, rows);
        for (int64_t t = 0; t < groups && i >= behind; t++)
            emit_vst(k->c, isa_rows_at(R(S_TO), old.to + t * k->to_row_step),
                     pop_tile(k, (int)((i - behind) % units)), 1);
    }
    step_both(k, square_of(k, across, count).from, square_of(k, across, count).to);
    vcode_loop_end(k->c, S_ROW_LOOP);
}

/* squares along a side of a block: how many, and from one to the next */
struct side { int64_t count, from, to, left; };

/* a square's `rows`; where the contraction is cut, what is left of it is known as the code runs */
static void transpose_square(struct copy *k, int unit, int64_t from, int64_t to, int64_t rows)
{
    int groups = TILE / matrix_rows(k->g->p->lhs_type), tile[XPOSE_GROUPS_MAX];
    int mask = k->is_cut ? lanes_left(k) : -1;

    push_rows(k, unit, from, rows);
    for (int i = 0; i < groups; i++)
        tile[i] = pop_tile(k, unit);
    for (int i = 0; i < groups && k->is_cut; i++)
        tile[i] = emit_vsel(k->c, mask, R(tile[i]), I(0));
    for (int i = 0; i < groups; i += k->tiles)
        put_out(k, tile + i, to + i / k->tiles * k->to_row_step);
}

/* columns of tiles become rows of them: `rows` of each square of a block, all rounds of the
 * longer side in one loop, so that they overlap */
static void transpose_squares(struct copy *k, struct side outer, struct side inner, int64_t rows)
{
    int64_t at_once = squares_at_once(k->g, inner.count);

    vcode_loop_begin(k->c, S_ROW_LOOP, outer.count);
    begin_row(k);
    vcode_loop_begin(k->c, S_TILE_LOOP, inner.count / at_once);
    for (int u = 0; u < at_once; u++) {
        transpose_square(k, u, u * inner.from, u * inner.to, rows);
        if (k->is_cut && inner.left && u + 1 < at_once)
            emit_sadd(k->c, S_LEFT, R(S_LEFT), I(inner.left));
    }
    if (k->is_cut && inner.left)
        vcode_loop_step(k->c, S_LEFT, inner.left);
    step_both(k, at_once * inner.from, at_once * inner.to);
    vcode_loop_end(k->c, S_TILE_LOOP);
    vcode_loop_step(k->c, S_FROM_ROW, outer.from);
    vcode_loop_step(k->c, S_TO_ROW, outer.to);
    if (k->is_cut && outer.left)
        vcode_loop_step(k->c, S_LEFT_ROW, outer.left);
    vcode_loop_end(k->c, S_ROW_LOOP);
}

/* rows here are the result's; behind the squares of 128 rows those that have less */
static void copy_transposed(struct copy *k, int64_t squares)
{
    int groups = TILE / matrix_rows(k->g->p->lhs_type);
    int64_t rest = k->is_ragged && !k->is_cut ? k->g->p->k % TILE : 0;
    struct side across = {squares, k->from.lane_step, groups / k->tiles * k->to_row_step, 0};
    struct side depth = {k->depth - (rest > 0), groups * k->from.row_step, k->to_lane_step, -TILE};
    bool is_wide = is_transposed_across(squares, depth.count);

    if (depth.count)
        transpose_squares(k, is_wide ? depth : across, is_wide ? across : depth, TILE);
    if (rest == 0)
        return;
    k->from.row += depth.count * depth.from;
    k->to_row += depth.count * depth.to;
    vcode_begin_block(k->c);
    set_from(k);
    transpose_squares(k, (struct side){.count = 1}, across, rest);
}

/* ----- the whole */

static struct copy make_copy(struct dot_grid *g, bool is_rhs, int64_t to_row, struct vcode *c)
{
    struct copy k = {.g = g, .c = c, .from = dot_place_of(g, is_rhs), .is_rhs = is_rhs,
                     .terms = dot_terms(g->p),
                     .is_ragged = is_ragged(g), .is_cut = is_cut(g), .to_row = to_row,
                     .depth = g->depth,
                     .m = is_rhs ? &g->p->rhs : &g->p->lhs};
    int64_t lanes = box_lanes(g, is_rhs);

    if (!is_rhs && g->step.transpose.passes_before)
        k.depth = g->step.transpose.passes_before * dot_halves(g->pipeline.job->chip);
    k.tiles = matrix_rows(dot_prepared_type(g->p, is_rhs))
              / matrix_rows(is_rhs ? g->p->rhs_type : g->p->lhs_type);
    k.to_lane_step = TILE_ROWS;
    k.to_row_step = lanes * TILE_ROWS;
    k.to_term_step = lanes * TILE_ROWS;
    if (is_rhs && !g->p->is_rhs_transposed)
        k.to_term_step = dot_prepared_rows(g, true) / k.terms;
    else
        k.to_row_step *= k.terms;
    return k;
}

int dot_prepare(struct dot_grid *g, bool is_rhs, int64_t to_row, struct vcode *c,
                struct dot_box *box)
{
    struct copy k = make_copy(g, is_rhs, to_row, c);
    int rows = matrix_rows(is_rhs ? g->p->rhs_type : g->p->lhs_type);
    int64_t units = div_up(box_rows(g, is_rhs), rows * k.tiles);

    vcode_begin_block(c);
    set_from(&k);
    put_left(&k);
    if (!is_rhs && g->p->is_lhs_transposed)
        (g->batches > 1                 ? copy_batches
         : g->step.transpose.passes_before ? copy_few
                                      : copy_transposed)(&k, squares_across(g));
    else if (is_rhs && !g->p->is_rhs_transposed)
        copy_rows(&k, units, box_lanes(g, true));
    else
        copy_lanes(&k, units);
    vcode_begin_block(c);
    *box = (struct dot_box){.base = -1, .row = to_row, .depth_step = k.to_lane_step,
                            .side_step = k.to_row_step};
    if (is_rhs && !g->p->is_rhs_transposed)
        *box = (struct dot_box){.base = -1, .row = to_row, .depth_step = k.to_row_step,
                                .side_step = k.to_lane_step};
    return 0;
}
