/*
 * Dynamic slices and updates that begin inside tiles, a tile at a time.
 *
 * The *wide* array is the one in which the slice lies, the *narrow* one is the slice. Of the wide
 * array the tiles that a block of the narrow one covers come to VMEM, a *strip* for each row of
 * tiles, one more each way than the block has. Of a slice the tiles made from them
 * (index_shift_tiles.c) are the result; of an update they replace what lies there, and the strips
 * go back.
 *
 * A block is short where the slice is one row of each of many matrices: a step of a loop over time,
 * the newest position of a cache. So a group of blocks comes and goes together, and the time of a
 * copy passes once for all of them. A single strip that is too long comes in chunks of columns.
 */
#include "stack/kernels/index/index_shift.h"

#include <string.h>

#include "base/units.h"

#define SPILL_ROWS 256
#define GROUP_MAX 64                    /* blocks: beyond it nothing of the copies' time is left */
#define CLEARED_AT_ONCE 64              /* rows */
#define PRED_STRIP 9
#define GROUP_CYCLES 400                /* the copies of a group in and out */
#define BLOCK_CYCLES 100                /* a block's place */
#define TILE_CYCLES 30

static bool may_begin_inside(const struct index_work *w, int dim)
{
    return w->axis[dim].component >= 0;
}

int64_t shift_wide_rows(const struct shift *s)
{
    return s->strips * s->columns * SHIFT_TILE_ROWS;
}

int64_t shift_narrow_rows(const struct shift *s)
{
    return s->block * s->across * SHIFT_TILE_ROWS;
}

/* what loads reach before and behind the blocks of the narrow array: a strip, a tile, a sublane */
static int64_t margin_rows(const struct shift *s) { return (s->across + 2) * SHIFT_TILE_ROWS; }

static int64_t group_rows(const struct shift *s, int64_t group)
{
    return group * (shift_wide_rows(s) + shift_narrow_rows(s)) + SHIFT_TILE_ROWS +
           2 * margin_rows(s) + CLEARED_AT_ONCE;
}

static void set_block(struct shift *s, int64_t block)
{
    s->block = block;
    s->strips = block + s->has_rows;
}

/* a strip in as few chunks as fit */
static bool choose_chunks(struct shift *s, int64_t room)
{
    int64_t low = 0, high = s->narrow->tiles_across;    /* columns that fit; that do not */

    set_block(s, 1);
    s->group = 1;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;

        s->across = middle;
        s->columns = middle + s->has_lanes;
        *(group_rows(s, 1) <= room ? &low : &high) = middle;
    }
    s->across = low;
    s->columns = low + s->has_lanes;
    s->chunks = low > 0 ? div_up(s->narrow->tiles_across, low) : 0;
    return low > 0;
}

/* as many strips as fit that divide those of the slice; of whole slices as many as fit */
static bool choose_block(struct shift *s, int64_t room)
{
    int64_t places = index_outer_places(s->narrow), best = 0;

    s->chunks = 1;
    for (int64_t k = 1; k <= s->narrow->tiles_down; k++) {
        set_block(s, k);
        if (s->narrow->tiles_down % k == 0 && group_rows(s, 1) <= room)
            best = k;
    }
    if (best == 0)
        return choose_chunks(s, room);
    set_block(s, best);
    s->group = 1;
    while (best == s->narrow->tiles_down && s->group < GROUP_MAX && s->group < places &&
           group_rows(s, s->group + 1) <= room)
        s->group++;
    return true;
}

static bool plan(struct shift *s, struct index_work *w)
{
    const struct array *wide = w->is_scatter ? w->result : w->table, *narrow = w->rows;

    if (w->indices || wide->is_linear || narrow->is_linear ||
        memcmp(wide->order, narrow->order, sizeof(wide->order)) != 0)
        return false;
    *s = (struct shift){.w = w, .wide = wide, .narrow = narrow, .across = narrow->tiles_across,
                        .has_rows = may_begin_inside(w, wide->row_dim),
                        .has_lanes = may_begin_inside(w, wide->lane_dim)};
    s->columns = s->across + s->has_lanes;
    if (!choose_block(s, w->job->vmem_rows - SPILL_ROWS))
        return false;
    s->wide_row = w->vmem_next + SHIFT_TILE_ROWS;
    s->narrow_row = s->wide_row + s->group * shift_wide_rows(s) + margin_rows(s);
    s->flag_in = w->flag_index + 1;
    s->flag_out = w->flag_index + 2;
    return true;
}

/* the first column of the chunk at hand */
static struct isa_operand first_column(struct shift *s)
{
    return s->chunks == 1 ? I(0) : index_word_get(s->w, s->chunk_smem);
}

struct isa_operand shift_lanes(struct shift *s)
{
    return s->chunks == 1 ? I(s->narrow->lanes) : index_word_get(s->w, s->lanes_smem);
}

static void begin_chunk(struct shift *s, struct isa_operand column)
{
    struct builder *m = &s->w->m;
    struct isa_operand left = builder_mul(m, column, -ARRAY_LANES);

    index_word_set(s->w, s->chunk_smem, column);
    left = builder_add(m, left, I(s->narrow->lanes));
    index_word_set(s->w, s->lanes_smem, builder_min(m, left, I(s->across * ARRAY_LANES)));
}

/* what is known while compiling has no register, and stays what it is */
static void keep(struct shift *s, struct isa_operand to, struct isa_operand value)
{
    if (to.kind == OPERAND_REG)
        builder_set(&s->w->m, to, value);
}

/* the last strip that the block covers, and granules of each that it does */
static void find_extent(struct shift *s, const struct index_spot *spot)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand end, columns, first;

    end = builder_add(m, builder_mul(m, spot->sublane, w->pack), spot->part);
    end = builder_add(m, builder_add(m, s->rows, end), I(-1));
    builder_set(m, s->last_strip, builder_div(m, end, s->narrow->tile_rows));
    m->next_sreg = kept;
    columns = builder_add(m, s->lane, I(s->narrow->lanes + ARRAY_LANES - 1));
    columns = builder_shift(m, columns, -7);
    first = first_column(s);
    columns = builder_sub(m, columns, first);
    if (s->chunks > 1)
        columns = builder_min(m, columns, I(s->columns));
    builder_set(m, s->granules, builder_mul(m, columns, INDEX_GRANULES));
    m->next_sreg = kept;
}

/* where the block at s->row lies in the wide array, and what of it */
static void find_place(struct shift *s)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    struct isa_operand tile, left;
    struct index_spot spot;
    int kept = m->next_sreg, kept_spot;

    index_nest_place(w, s->narrow, builder_add(m, index_word_get(w, s->base_smem), s->slot));
    index_only_spot(w, &spot);
    kept_spot = m->next_sreg;
    tile = first_column(s);
    tile = builder_add(m, spot.tile, tile);
    builder_set(m, s->tile, builder_add(m, tile, builder_shift(m, spot.lane, -7)));
    m->next_sreg = kept_spot;
    keep(s, s->sublane, spot.sublane);
    keep(s, s->bits, builder_mul(m, spot.part, w->element_bits));
    keep(s, s->lane, builder_and(m, spot.lane, ARRAY_LANES - 1));
    m->next_sreg = kept_spot;
    left = builder_sub(m, I(s->narrow->rows), s->row);
    keep(s, s->rows, builder_min(m, left, I(s->block * s->narrow->tile_rows)));
    m->next_sreg = kept_spot;
    find_extent(s, &spot);
    m->next_sreg = kept;
}

/* asks for the strips of `a`, which lies as the wide array does, that the block covers, in or out */
static void move_strips(struct shift *s, const struct array *a, bool is_in)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    enum isa_opcode code = is_in ? index_copy_code(a->space, SPACE_VMEM)
                                 : index_copy_code(SPACE_VMEM, a->space);
    int kept = m->next_sreg;
    struct isa_operand there = builder_reg(m), here = builder_reg(m), strip = builder_reg(m);
    struct isa_operand counter, flag = I(is_in ? s->flag_in : s->flag_out);
    int64_t slot_granules = shift_wide_rows(s) * INDEX_ROW_GRANULES;

    builder_set(m, there, builder_add(m, builder_mul(m, s->tile, INDEX_GRANULES),
                                      I(a->address / ARRAY_GRANULE_BYTES)));
    builder_set(m, here, builder_add(m, builder_mul(m, s->slot, slot_granules),
                                     I(s->wide_row * INDEX_ROW_GRANULES)));
    builder_set(m, strip, I(0));
    counter = builder_loop_begin(m, s->strips);
    emit_scmp_le(m->code, PRED_STRIP, strip, s->last_strip);
    vcode_put(m->code, isa_if(PRED_STRIP, isa_make_dma(code, is_in ? there : here, s->granules,
                                                       is_in ? here : there, flag)));
    builder_advance(m, there, a->tiles_across * INDEX_GRANULES);
    builder_advance(m, here, s->columns * INDEX_GRANULES);
    builder_advance(m, strip, 1);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

static void await_strips(struct shift *s, bool is_in)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand count = builder_reg(m);

    emit_smul(m->code, count.value, builder_add(m, s->last_strip, I(1)), s->granules);
    emit_smul(m->code, count.value, count, I(s->group));
    builder_await(m, I(is_in ? s->flag_in : s->flag_out), count);
    m->next_sreg = kept;
    vcode_begin_block(m->code);
}

/* all of the group's blocks of the narrow array, which follow each other, in or out */
static void move_blocks(struct shift *s, bool is_in)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    const struct array *a = s->narrow;
    int64_t granules = s->group * s->block * s->across * INDEX_GRANULES;
    struct isa_operand flag = I(is_in ? s->flag_in : s->flag_out), there, here;
    int kept = m->next_sreg;

    there = builder_mul(m, index_word_get(w, s->base_smem), a->tiles_down);
    there = builder_add(m, there, builder_div(m, s->row, a->tile_rows));
    here = first_column(s);
    there = builder_add(m, builder_mul(m, there, a->tiles_across), here);
    there = builder_mul(m, there, INDEX_GRANULES);
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

static void each_block(struct shift *s, void (*make)(struct shift *s))
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand counter;

    if (s->group == 1) {
        make(s);
        return;
    }
    builder_set(m, s->slot, I(0));
    counter = builder_loop_begin(m, s->group);
    make(s);
    builder_advance(m, s->slot, 1);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

static void fetch_strips(struct shift *s)
{
    find_place(s);
    move_strips(s, s->w->is_scatter ? s->w->result : s->w->table, true);
}

static void store_strips(struct shift *s)
{
    if (s->group > 1)                   /* it is another block's by now */
        find_place(s);
    move_strips(s, s->w->result, false);
}

static void make_group(struct shift *s)
{
    each_block(s, fetch_strips);
    await_strips(s, true);
    if (s->w->is_scatter) {
        move_blocks(s, true);
        each_block(s, shift_update_block);
        each_block(s, store_strips);
        await_strips(s, false);
    } else {
        each_block(s, shift_slice_block);
        move_blocks(s, false);
    }
}

/*
 * Zeros where loads may reach that no copy fills: beside the strips, whose last column and last
 * strip a block need not cover. What is loaded there is masked.
 */
static void clear(struct shift *s)
{
    struct builder *m = &s->w->m;
    int64_t end = s->narrow_row;
    int kept = m->next_sreg, zero;
    struct isa_operand at = builder_reg(m), counter;

    if (s->w->is_scatter)
        end += s->group * shift_narrow_rows(s) + margin_rows(s);
    builder_set(m, at, I(s->w->vmem_next));
    counter = builder_loop_begin(m, div_up(end - s->w->vmem_next, CLEARED_AT_ONCE));
    zero = emit_vmov(m->code, I(0));
    for (int i = 0; i < CLEARED_AT_ONCE; i += SHIFT_TILE_ROWS)
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
    const struct chip *chip = w->job->chip;
    int64_t groups, copies = 2 * chip->dma_read_ns * chip->chip_clock_mhz / 1000;
    struct shift s;

    if (!plan(&s, w))
        return INT64_MAX;
    groups = div_up(index_outer_places(w->rows), s.group) * (w->rows->tiles_down / s.block) * s.chunks;
    return groups * (GROUP_CYCLES + copies +
                     s.group * (BLOCK_CYCLES + s.strips * s.columns * TILE_CYCLES));
}

/* The last chunk begins so early that it is whole: what it makes again is the same. */
static void make_chunks(struct shift *s)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand counter, next;

    if (s->chunks == 1) {
        make_group(s);
        return;
    }
    begin_chunk(s, I(0));
    counter = builder_loop_begin(m, s->chunks);
    make_group(s);
    next = builder_add(m, first_column(s), I(s->across));
    begin_chunk(s, builder_min(m, next, I(s->narrow->tiles_across - s->across)));
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

/* the rows of the group's places, a block after the other */
static void make_rows(struct shift *s)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;
    struct isa_operand counter;

    if (s->block == s->narrow->tiles_down) {
        make_chunks(s);
        return;
    }
    builder_set(m, s->row, I(0));
    counter = builder_loop_begin(m, s->narrow->tiles_down / s->block);
    make_chunks(s);
    builder_advance(m, s->row, s->block * s->narrow->tile_rows);
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

/* The last group begins so early that it is whole: what it makes again is the same. */
static void make_places(struct shift *s)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int64_t places = index_outer_places(s->narrow);
    struct isa_operand counter, base;
    int kept = m->next_sreg;

    if (places == s->group) {
        make_rows(s);
        return;
    }
    counter = builder_loop_begin(m, div_up(places, s->group));
    make_rows(s);
    base = builder_add(m, index_word_get(w, s->base_smem), I(s->group));
    index_word_set(w, s->base_smem, builder_min(m, base, I(places - s->group)));
    builder_loop_end(m, counter);
    m->next_sreg = kept;
}

static void take_registers(struct shift *s)
{
    bool has_blocks = s->block < s->narrow->tiles_down;
    struct { struct isa_operand *to; bool varies; } kept[] = {
        {&s->slot, s->group > 1}, {&s->row, has_blocks},
        {&s->sublane, s->has_rows}, {&s->bits, s->has_rows && s->w->pack > 1},
        {&s->lane, s->has_lanes}, {&s->tile, true}, {&s->last_strip, true}, {&s->granules, true},
    };

    for (size_t i = 0; i < COUNT_OF(kept); i++)
        *kept[i].to = kept[i].varies ? builder_reg(&s->w->m) : I(0);
    s->rows = has_blocks ? builder_reg(&s->w->m) : I(s->narrow->rows);
}

int index_shift(struct index_work *w, struct err *e)
{
    struct shift s;

    plan(&s, w);
    s.base_smem = index_word(w, 0);
    if (s.chunks > 1) {
        s.chunk_smem = index_word(w, 0);
        s.lanes_smem = index_word(w, 0);
    }
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        w->coordinate[d] = I(0);
    index_nest_words(w, w->rows);
    if (!index_fits_smem(w))
        return index_no_smem(w, e);
    if (w->is_scatter)
        index_copy_operand(w, s.flag_in);
    index_begin(w);
    clear(&s);
    take_registers(&s);
    w->coordinate[w->rows->row_dim] = s.row;
    make_places(&s);
    return 0;
}
