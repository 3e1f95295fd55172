/*
 * The tiles of dynamic slices and updates that begin inside tiles.
 *
 * Loads that begin inside a tile bring rows to where they belong, from two strips under a mask; a
 * rotation brings lanes there, from two neighbours under another. Where rows share a word, each
 * word is put together of two, those that two such loads, a sublane apart, bring there. A slice is
 * made of such tiles; an update goes under a mask of the rows and lanes that it has, of the bits of
 * those rows where they share words.
 */
#include "stack/kernels/index/index_shift.h"

#define COLUMNS_AT_ONCE 4               /* whose rotations are under way together */
#define REGION_WIDE 1
#define REGION_NARROW 2

static int added(struct shift *s, int numbers, struct isa_operand by)
{
    struct builder *m = &s->w->m;
    int every = builder_splat(m, by);

    return emit_vadd_s32(m->code, R(numbers), R(every));
}

/* the loaded rows whose sublane is below `first`, the others from elsewhere */
static int join_rows(struct shift *s, int below, int others, struct isa_operand first)
{
    struct builder *m = &s->w->m;
    int mask = builder_are_below(m, builder_sublane_numbers(m), first);

    return emit_vsel(m->code, mask, R(below), R(others));
}

/* a load at `at` + offset of rows below sublane `first`, `step` rows further on of the others */
static int load_joined(struct shift *s, struct isa_operand at, int64_t offset, int64_t step,
                       struct isa_operand first, int region)
{
    struct builder *m = &s->w->m;
    int below = emit_vld(m->code, isa_rows_at(at, offset), region);
    int others = emit_vld(m->code, isa_rows_at(at, offset + step), region);

    return join_rows(s, below, others, first);
}

static int shifted(struct shift *s, enum isa_opcode code, int v, struct isa_operand by)
{
    struct builder *m = &s->w->m;
    int bits = builder_splat(m, by);

    return emit_d_vv(m->code, code, R(v), R(bits));
}

/* rows that share words: what `bits` further on is in `here` and, behind its end, in `next` */
static int funnel(struct shift *s, enum isa_opcode towards, int here, enum isa_opcode back, int next)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;

    here = shifted(s, towards, here, s->bits);
    next = shifted(s, back, next, builder_sub(m, I(32), s->bits));
    m->next_sreg = kept;
    return emit_vor_u32(m->code, R(here), R(next));
}

/* eight rows of the wide array from s->sublane on in a tile at `at`, and on in the next strip's */
static int load_slice(struct shift *s, struct isa_operand at, int64_t offset)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg, here, next;
    int64_t step = (s->columns - 1) * SHIFT_TILE_ROWS;

    if (!s->has_rows)
        return emit_vld(m->code, isa_rows_at(at, offset), REGION_WIDE);
    here = load_joined(s, at, offset, step, builder_sub(m, I(SHIFT_TILE_ROWS), s->sublane),
                       REGION_WIDE);
    m->next_sreg = kept;
    if (s->w->pack == 1)
        return here;
    next = load_joined(s, at, offset + 1, step,
                       builder_sub(m, I(SHIFT_TILE_ROWS - 1), s->sublane), REGION_WIDE);
    m->next_sreg = kept;
    return funnel(s, OP_VSHRL_U32, here, OP_VSHLL_U32, next);
}

/* eight rows of the update that go into one tile: from s->sublane on the strip's, before that the
 * end of the strip before */
static int load_update(struct shift *s, struct isa_operand at, int64_t offset)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg, here, before;
    int64_t step = (s->across - 1) * SHIFT_TILE_ROWS;

    if (!s->has_rows)
        return emit_vld(m->code, isa_rows_at(at, offset), REGION_NARROW);
    here = load_joined(s, at, offset - step, step, s->sublane, REGION_NARROW);
    if (s->w->pack == 1)
        return here;
    before = load_joined(s, at, offset - step - 1, step, builder_add(m, s->sublane, I(1)),
                         REGION_NARROW);
    m->next_sreg = kept;
    return funnel(s, OP_VSHLL_U32, here, OP_VSHRL_U32, before);
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
        builder_advance(m, at, COLUMNS_AT_ONCE * SHIFT_TILE_ROWS);
        builder_advance(m, to, COLUMNS_AT_ONCE * SHIFT_TILE_ROWS);
        builder_loop_end(m, counter);
        m->next_sreg = kept;
    }
    if (rest > 0) {
        make(s, at, to, (int)rest);
        builder_advance(m, at, rest * SHIFT_TILE_ROWS);
        builder_advance(m, to, rest * SHIFT_TILE_ROWS);
    }
}

/* the block's own rows of VMEM */
static struct isa_operand wide_row(struct shift *s)
{
    struct builder *m = &s->w->m;

    return builder_add(m, builder_mul(m, s->slot, shift_wide_rows(s)), I(s->wide_row));
}

static struct isa_operand narrow_row(struct shift *s)
{
    struct builder *m = &s->w->m;

    return builder_add(m, builder_mul(m, s->slot, shift_narrow_rows(s)), I(s->narrow_row));
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
        tile[c] = load_slice(s, at, c * SHIFT_TILE_ROWS);
        if (s->has_lanes)
            tile[c] = builder_rotate_lanes(m, tile[c], up);
    }
    for (int c = 0; c < count; c++) {
        int made = tile[c];

        if (s->has_lanes)
            made = emit_vsel(m->code, builder_are_below(m, builder_lane_numbers(m), left), R(tile[c]),
                             R(tile[c + 1]));
        emit_vst(m->code, isa_rows_at(to, c * SHIFT_TILE_ROWS), made, REGION_NARROW);
    }
    m->next_sreg = kept;
}

/* a strip of the result after the other */
void shift_slice_block(struct shift *s)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), counter;

    builder_set(m, at, builder_add(m, s->sublane, wide_row(s)));
    builder_set(m, to, narrow_row(s));
    counter = builder_loop_begin(m, s->block);
    each_group(s, at, to, s->across, slice_tiles);
    builder_advance(m, at, s->has_lanes * SHIFT_TILE_ROWS);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

/* ----- updates */

/* numbers in every element that are from 0 to below a scalar */
static int is_among(struct shift *s, int numbers, struct isa_operand end)
{
    struct builder *m = &s->w->m;
    int zero = builder_splat(m, I(0)), below = builder_are_below(m, numbers, end);

    return emit_vmand(m->code, below, emit_vcmp_ge_s32(m->code, R(numbers), R(zero)));
}

static bool has_all_rows(const struct shift *s)
{
    return !s->has_rows && s->narrow->rows % s->narrow->tile_rows == 0;
}

/* lanes numbered from `lane` on in the block, and rows from `row` on, a row in each word */
static int is_updated(struct shift *s, struct isa_operand row, struct isa_operand lane)
{
    struct builder *m = &s->w->m;
    int numbers = added(s, builder_lane_numbers(m), lane);
    int mask = is_among(s, numbers, shift_lanes(s));

    if (has_all_rows(s) || s->w->pack > 1)
        return mask;
    return emit_vmand(m->code, mask, is_among(s, added(s, builder_sublane_numbers(m), row), s->rows));
}

/* the bits of each word whose rows, several in each, the block has */
static int updated_bits(struct shift *s, struct isa_operand row)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int first = emit_vshll_u32(m->code, R(builder_sublane_numbers(m)), I(w->pack_log2)), bits = -1;

    first = added(s, first, row);
    for (int q = 0; q < w->pack; q++) {
        int32_t own = (int32_t)(((1u << w->element_bits) - 1) << (q * w->element_bits));
        int mask = is_among(s, emit_vadd_s32(m->code, R(first), I(q)), s->rows);
        int some = emit_vsel(m->code, mask, R(builder_splat(m, I(own))), I(0));

        bits = q ? emit_vor_u32(m->code, R(bits), R(some)) : some;
    }
    return bits;
}

/* the new words where the block has rows, the old ones elsewhere */
static int merged(struct shift *s, int made, int old)
{
    struct builder *m = &s->w->m;
    int bits, kept;

    if (has_all_rows(s) || s->w->pack == 1)
        return made;
    bits = updated_bits(s, s->strip_row);
    kept = emit_vand_u32(m->code, R(old), R(emit_vxor_u32(m->code, R(bits), I(-1))));
    return emit_vor_u32(m->code, R(emit_vand_u32(m->code, R(made), R(bits))), R(kept));
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

        *made = load_update(s, at, c * SHIFT_TILE_ROWS);
        if (s->has_lanes)
            *made = builder_rotate_lanes(m, *made, s->lane);
    }
    for (int c = 0; c < count; c++) {
        int made = tile[c + s->has_lanes], old, mask;

        if (s->has_lanes)
            made = emit_vsel(m->code, builder_are_below(m, builder_lane_numbers(m), s->lane), R(tile[c]), R(made));
        old = emit_vld(m->code, isa_rows_at(to, c * SHIFT_TILE_ROWS), REGION_WIDE);
        mask = is_updated(s, s->strip_row, builder_add(m, lane, I(c * ARRAY_LANES)));
        made = merged(s, made, old);
        emit_vst(m->code, isa_rows_at(to, c * SHIFT_TILE_ROWS),
                 emit_vsel(m->code, mask, R(made), R(old)), REGION_WIDE);
    }
    builder_advance(m, s->column, count * ARRAY_LANES);
    m->next_sreg = kept;
}

void shift_update_block(struct shift *s)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), first, counter;

    s->column = builder_reg(m);
    s->strip_row = builder_reg(m);
    builder_set(m, at, builder_sub(m, narrow_row(s), s->sublane));
    builder_set(m, to, wide_row(s));
    first = builder_mul(m, s->sublane, s->w->pack);
    first = builder_add(m, builder_div(m, s->bits, s->w->element_bits), first);
    builder_set(m, s->strip_row, builder_sub(m, I(0), first));
    counter = builder_loop_begin(m, s->strips);
    builder_set(m, s->column, I(0));
    each_group(s, at, to, s->columns, update_tiles);
    builder_advance(m, at, -s->has_lanes * SHIFT_TILE_ROWS);
    builder_advance(m, s->strip_row, s->narrow->tile_rows);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}
