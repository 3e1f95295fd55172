/*
 * Dynamic slices and updates that begin inside tiles, a tile at a time.
 *
 * The *wide* array is the one in which the slice lies, the *narrow* one is the slice. Of the wide
 * array the tiles that a block of the narrow one covers come to VMEM, a *strip* for each row of
 * tiles, one more each way than the block has. Loads that begin inside a tile bring rows to where
 * they belong, from two strips under a mask; a rotation brings lanes there, from two neighbours
 * under another. Of a slice the tiles made so are the result; of an update they replace what lies
 * there, under a mask of the rows and lanes that the update has, and the strips go back.
 *
 * Elements of 32 bits shift both ways; others, of which rows share a word, along lanes alone.
 */
#include "stack/kernels/index/kernel_index.h"

#include <string.h>

#include "base/units.h"

#define TILE_ROWS 8                     /* of 512 bytes; its sublanes */
#define SPILL_ROWS 256
#define COLUMNS_AT_ONCE 4               /* whose rotations are under way together */
#define CLEARED_AT_ONCE 64              /* rows */
#define PRED_STRIP 9
#define REGION_WIDE 1
#define REGION_NARROW 2
#define BLOCK_CYCLES 400                /* a block's copies in and out, its place */
#define TILE_CYCLES 30

struct shift {
    struct index_work *w;
    const struct array *wide, *narrow;
    bool has_rows, has_lanes;           /* it may begin inside a tile along these */
    int64_t across, columns;            /* tiles of a strip of the narrow array; of the wide one */
    int64_t block, strips;              /* strips of a block */
    int64_t wide_row, narrow_row;       /* VMEM */
    int flag_in, flag_out;
    /* of the block at hand: its first row in the narrow array, how many; first tile in the wide; */
    struct isa_operand row, rows, tile;
    struct isa_operand sublane, lane;   /* where in that tile it begins; */
    struct isa_operand last_strip;      /* the last that it covers; granules of each that it does */
    struct isa_operand granules;
    struct isa_operand column, strip_row;       /* of an update: the lane and row it has there */
};

static bool may_begin_inside(const struct index_work *w, int dim)
{
    return w->axis[dim].component >= 0;
}

static bool plan(struct shift *s, struct index_work *w)
{
    const struct array *wide = w->is_scatter ? w->result : w->table, *narrow = w->rows;
    int64_t room = w->job->vmem_rows - SPILL_ROWS;

    if (w->indices || wide->is_linear || narrow->is_linear ||
        memcmp(wide->order, narrow->order, sizeof(wide->order)) != 0)
        return false;
    *s = (struct shift){.w = w, .wide = wide, .narrow = narrow, .across = narrow->tiles_across,
                        .has_rows = may_begin_inside(w, wide->row_dim),
                        .has_lanes = may_begin_inside(w, wide->lane_dim)};
    if (s->has_rows && w->pack > 1)
        return false;
    s->columns = s->across + s->has_lanes;
    for (int64_t k = 1; k <= narrow->tiles_down; k++) {
        /* and before, between and behind both what loads reach at their ends */
        int64_t rows = ((k + s->has_rows) * s->columns + (k + 4) * s->across + 4) *
                       TILE_ROWS + CLEARED_AT_ONCE;

        if (narrow->tiles_down % k == 0 && rows <= room)
            s->block = k;
    }
    s->strips = s->block + s->has_rows;
    s->wide_row = w->vmem_next + TILE_ROWS;
    s->narrow_row = s->wide_row + (s->strips * s->columns + 1 + 2 * s->across) * TILE_ROWS;
    s->flag_in = w->flag_index + 1;
    s->flag_out = w->flag_index + 2;
    return s->block > 0;
}

/* where the block at s->row lies in the wide array, and what of it */
static void find_place(struct shift *s)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    struct isa_operand end, lanes;
    struct index_spot spot;
    int kept = m->next_sreg;

    index_only_spot(w, &spot);
    builder_set(m, s->tile, builder_add(m, spot.tile, builder_shift(m, spot.lane, -7)));
    builder_set(m, s->sublane, spot.sublane);
    builder_set(m, s->lane, builder_and(m, spot.lane, ARRAY_LANES - 1));
    builder_set(m, s->rows, builder_min(m, builder_sub(m, I(s->narrow->rows), s->row),
                                        I(s->block * s->narrow->tile_rows)));
    end = builder_add(m, builder_add(m, s->rows, s->sublane), I(-1));
    builder_set(m, s->last_strip, builder_div(m, end, s->narrow->tile_rows));
    lanes = builder_add(m, s->lane, I(s->narrow->lanes + ARRAY_LANES - 1));
    builder_set(m, s->granules, builder_mul(m, builder_shift(m, lanes, -7), INDEX_GRANULES));
    m->next_sreg = kept;
}

/* strips of `a`, which lies as the wide array does, that the block covers, in or back out */
static void move_strips(struct shift *s, const struct array *a, bool is_in)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    enum isa_opcode code = is_in ? index_copy_code(a->space, SPACE_VMEM)
                                 : index_copy_code(SPACE_VMEM, a->space);
    int kept = m->next_sreg;
    struct isa_operand there = builder_reg(m), here = builder_reg(m), strip = builder_reg(m);
    struct isa_operand counter, flag = I(is_in ? s->flag_in : s->flag_out), count;

    builder_set(m, there, builder_add(m, builder_mul(m, s->tile, INDEX_GRANULES),
                                      I(a->address / ARRAY_GRANULE_BYTES)));
    builder_set(m, here, I(s->wide_row * INDEX_ROW_GRANULES));
    builder_set(m, strip, I(0));
    counter = builder_loop_begin(m, s->strips);
    emit_scmp_le(m->code, PRED_STRIP, strip, s->last_strip);
    vcode_put(m->code, isa_if(PRED_STRIP, isa_make_dma(code, is_in ? there : here, s->granules,
                                                       is_in ? here : there, flag)));
    builder_advance(m, there, a->tiles_across * INDEX_GRANULES);
    builder_advance(m, here, s->columns * INDEX_GRANULES);
    builder_advance(m, strip, 1);
    builder_loop_end(m, counter);
    count = builder_reg(m);
    emit_smul(m->code, count.value, builder_add(m, s->last_strip, I(1)), s->granules);
    builder_await(m, flag, count);
    m->next_sreg = kept;
    vcode_begin_block(m->code);
}

/* all of the block of the narrow array, whose strips are whole, in or out */
static void move_block(struct shift *s, bool is_in)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    const struct array *a = s->narrow;
    int64_t granules = s->block * s->across * INDEX_GRANULES;
    struct isa_operand flag = I(is_in ? s->flag_in : s->flag_out), there, here;
    int kept = m->next_sreg;

    there = builder_mul(m, builder_div(m, s->row, a->tile_rows), a->tiles_across);
    there = builder_mul(m, builder_add(m, there, index_outer_tile(w, a)), INDEX_GRANULES);
    there = builder_add(m, there, I(a->address / ARRAY_GRANULE_BYTES));
    here = I(s->narrow_row * INDEX_ROW_GRANULES);
    if (is_in)
        emit_dma(m->code, index_copy_code(a->space, SPACE_VMEM), there, I(granules), here, flag);
    else
        emit_dma(m->code, index_copy_code(SPACE_VMEM, a->space), here, I(granules), there, flag);
    vcode_await(m->code, flag, granules, -1);
    m->next_sreg = kept;
    vcode_begin_block(m->code);
}

static int lane_numbers(struct shift *s)
{
    struct builder *m = &s->w->m;

    return emit_vand_u32(m->code, R(emit_vlaneseq(m->code)), I(ARRAY_LANES - 1));
}

static int sublane_numbers(struct shift *s)
{
    struct builder *m = &s->w->m;

    return emit_vshrl_u32(m->code, R(emit_vlaneseq(m->code)), I(7));
}

/* of numbers in every element: those below a scalar */
static int is_below(struct shift *s, int numbers, struct isa_operand end)
{
    struct builder *m = &s->w->m;
    int every = builder_splat(m, end);

    return emit_vcmp_lt_s32(m->code, R(numbers), R(every));
}

static int added(struct shift *s, int numbers, struct isa_operand by)
{
    struct builder *m = &s->w->m;
    int every = builder_splat(m, by);

    return emit_vadd_s32(m->code, R(numbers), R(every));
}

/* the loaded rows whose sublane is below `first`, the others from elsewhere */
static int join_rows(struct shift *s, int below, int others, struct isa_operand first)
{
    int mask = is_below(s, sublane_numbers(s), first);

    return emit_vsel(s->w->m.code, mask, R(below), R(others));
}

/* eight rows of the wide array from s->sublane on in a tile at `at`, and on in the next strip's */
static int load_slice(struct shift *s, struct isa_operand at, int64_t offset)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg, here, behind;
    int64_t next = (s->columns - 1) * TILE_ROWS;

    here = emit_vld(m->code, isa_rows_at(at, offset), REGION_WIDE);
    if (!s->has_rows)
        return here;
    behind = emit_vld(m->code, isa_rows_at(at, offset + next), REGION_WIDE);
    here = join_rows(s, here, behind, builder_sub(m, I(TILE_ROWS), s->sublane));
    m->next_sreg = kept;
    return here;
}

/* eight rows of the update that go into one tile: from s->sublane on the strip's, before that the
 * end of the strip before */
static int load_update(struct shift *s, struct isa_operand at, int64_t offset)
{
    struct builder *m = &s->w->m;
    int here = emit_vld(m->code, isa_rows_at(at, offset), REGION_NARROW), before;

    if (!s->has_rows)
        return here;
    before = emit_vld(m->code, isa_rows_at(at, offset - (s->across - 1) * TILE_ROWS),
                      REGION_NARROW);
    return join_rows(s, before, here, s->sublane);
}

/* tiles of a strip, a few at once by `make`; `at` and `to` are VMEM rows, behind them afterwards */
static void each_group(struct shift *s, struct isa_operand at, struct isa_operand to, int64_t tiles,
                       void (*make)(struct shift *s, struct isa_operand at, struct isa_operand to,
                                    int count))
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    int64_t whole = tiles / COLUMNS_AT_ONCE, rest = tiles % COLUMNS_AT_ONCE;

    if (whole > 0) {
        struct isa_operand counter = builder_loop_begin(m, whole);

        make(s, at, to, COLUMNS_AT_ONCE);
        builder_advance(m, at, COLUMNS_AT_ONCE * TILE_ROWS);
        builder_advance(m, to, COLUMNS_AT_ONCE * TILE_ROWS);
        builder_loop_end(m, counter);
        m->next_sreg = kept;
    }
    if (rest > 0) {
        make(s, at, to, (int)rest);
        builder_advance(m, at, rest * TILE_ROWS);
        builder_advance(m, to, rest * TILE_ROWS);
    }
}

/* ----- slices */

/* `count` tiles of the result from VMEM row `to` on, of rows from `at` on */
static void slice_tiles(struct shift *s, struct isa_operand at, struct isa_operand to, int count)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg, tile[COLUMNS_AT_ONCE + 1];
    struct isa_operand up, left;

    up = builder_and(m, builder_sub(m, I(0), s->lane), ARRAY_LANES - 1);
    left = builder_sub(m, I(ARRAY_LANES), s->lane);
    for (int c = 0; c < count + s->has_lanes; c++) {
        tile[c] = load_slice(s, at, c * TILE_ROWS);
        if (s->has_lanes)
            tile[c] = builder_rotate_lanes(m, tile[c], up);
    }
    for (int c = 0; c < count; c++) {
        int made = tile[c];

        if (s->has_lanes)
            made = emit_vsel(m->code, is_below(s, lane_numbers(s), left), R(tile[c]),
                             R(tile[c + 1]));
        emit_vst(m->code, isa_rows_at(to, c * TILE_ROWS), made, REGION_NARROW);
    }
    m->next_sreg = kept;
}

/* a strip of the result after the other */
static void slice_block(struct shift *s)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), counter;

    builder_set(m, at, builder_add(m, s->sublane, I(s->wide_row)));
    builder_set(m, to, I(s->narrow_row));
    counter = builder_loop_begin(m, s->block);
    each_group(s, at, to, s->across, slice_tiles);
    builder_advance(m, at, s->has_lanes * TILE_ROWS);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

/* ----- updates */

/* of rows and lanes numbered from these on in the block: those that the update has */
static int is_updated(struct shift *s, struct isa_operand row, struct isa_operand lane)
{
    struct builder *m = &s->w->m;
    int zero = builder_splat(m, I(0)), rows, lanes, mask;

    lanes = added(s, lane_numbers(s), lane);
    mask = is_below(s, lanes, I(s->narrow->lanes));
    mask = emit_vmand(m->code, mask, emit_vcmp_ge_s32(m->code, R(lanes), R(zero)));
    if (!s->has_rows && s->narrow->rows % s->narrow->tile_rows == 0)
        return mask;
    rows = added(s, sublane_numbers(s), row);
    mask = emit_vmand(m->code, mask, is_below(s, rows, s->rows));
    return emit_vmand(m->code, mask, emit_vcmp_ge_s32(m->code, R(rows), R(zero)));
}

/*
 * `count` tiles of a strip of the wide array at VMEM row `to`. The update's tile that the first of
 * them begins in is at row `at` + s->sublane; s->column and s->strip_row are where that is in it.
 */
static void update_tiles(struct shift *s, struct isa_operand at, struct isa_operand to, int count)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg, tile[COLUMNS_AT_ONCE + 1];
    struct isa_operand lane = builder_sub(m, s->column, s->lane);

    for (int c = -s->has_lanes; c < count; c++) {
        int *made = &tile[c + s->has_lanes];

        *made = load_update(s, at, c * TILE_ROWS);
        if (s->has_lanes)
            *made = builder_rotate_lanes(m, *made, s->lane);
    }
    for (int c = 0; c < count; c++) {
        int made = tile[c + s->has_lanes], old, mask;

        if (s->has_lanes)
            made = emit_vsel(m->code, is_below(s, lane_numbers(s), s->lane), R(tile[c]), R(made));
        old = emit_vld(m->code, isa_rows_at(to, c * TILE_ROWS), REGION_WIDE);
        mask = is_updated(s, s->strip_row, builder_add(m, lane, I(c * ARRAY_LANES)));
        emit_vst(m->code, isa_rows_at(to, c * TILE_ROWS),
                 emit_vsel(m->code, mask, R(made), R(old)), REGION_WIDE);
    }
    builder_advance(m, s->column, count * ARRAY_LANES);
    m->next_sreg = kept;
}

static void update_block(struct shift *s)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), counter;

    s->column = builder_reg(m);
    s->strip_row = builder_reg(m);
    builder_set(m, at, builder_sub(m, I(s->narrow_row), s->sublane));
    builder_set(m, to, I(s->wide_row));
    builder_set(m, s->strip_row, builder_sub(m, I(0), s->sublane));
    counter = builder_loop_begin(m, s->strips);
    builder_set(m, s->column, I(0));
    each_group(s, at, to, s->columns, update_tiles);
    builder_advance(m, at, -s->has_lanes * TILE_ROWS);
    builder_advance(m, s->strip_row, s->narrow->tile_rows);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

/* ----- the whole */

static void make_block(struct shift *s)
{
    struct index_work *w = s->w;

    find_place(s);
    move_strips(s, w->is_scatter ? w->result : w->table, true);
    if (w->is_scatter) {
        move_block(s, true);
        update_block(s);
        move_strips(s, w->result, false);
    } else {
        slice_block(s);
        move_block(s, false);
    }
}

/*
 * Zeros where loads may reach that no copy fills: beside the strips, whose last column and last
 * strip a block need not cover. What is loaded there is masked.
 */
static void clear(struct shift *s)
{
    struct builder *m = &s->w->m;
    int64_t tiles = s->w->is_scatter ? (s->block + 1) * s->across + 2 : 0;
    int64_t end = s->narrow_row + tiles * TILE_ROWS;
    int64_t rows = end - s->w->vmem_next;
    int kept = m->next_sreg, zero;
    struct isa_operand at = builder_reg(m), counter;

    builder_set(m, at, I(s->w->vmem_next));
    counter = builder_loop_begin(m, div_up(rows, CLEARED_AT_ONCE));
    zero = emit_vmov(m->code, I(0));
    for (int i = 0; i < CLEARED_AT_ONCE; i += TILE_ROWS)
        emit_vst(m->code, isa_rows_at(at, i), zero, VCODE_REGION_ANY);
    builder_advance(m, at, CLEARED_AT_ONCE);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

bool index_shifts(struct index_work *w)
{
    struct shift s;

    return plan(&s, w);
}

int64_t index_shift_cycles(struct index_work *w)
{
    struct shift s;
    int64_t outer;

    if (!plan(&s, w))
        return INT64_MAX;
    outer = w->rows->tile_count / w->rows->tiles_down / w->rows->tiles_across;
    return outer * (w->rows->tiles_down / s.block) *
           (BLOCK_CYCLES + 2 * w->job->chip->dma_read_ns * w->job->chip->chip_clock_mhz / 1000 +
            s.strips * s.columns * TILE_CYCLES);
}

int index_shift(struct index_work *w, struct err *e)
{
    struct shift s;
    struct index_nest nest;
    struct isa_operand counter;
    struct isa_operand *kept[] = {&s.row, &s.rows, &s.tile, &s.sublane, &s.lane,
                                   &s.last_strip, &s.granules};

    plan(&s, w);
    if (!index_fits_smem(w))
        return index_no_smem(w, e);
    if (w->is_scatter)
        index_copy_operand(w, s.flag_in);
    index_begin(w);
    clear(&s);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        *kept[i] = builder_reg(&w->m);
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        w->coordinate[d] = I(0);
    w->coordinate[w->rows->row_dim] = s.row;
    index_nest_begin(w, w->rows, &nest);
    builder_set(&w->m, s.row, I(0));
    counter = builder_loop_begin(&w->m, w->rows->tiles_down / s.block);
    make_block(&s);
    builder_advance(&w->m, s.row, s.block * w->rows->tile_rows);
    builder_loop_end(&w->m, counter);
    index_nest_end(w, &nest);
    return 0;
}
