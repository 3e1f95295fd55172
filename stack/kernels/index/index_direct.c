/*
 * Dynamic slices and updates of arrays that stay in VMEM: loads and stores, and no copy.
 *
 * The *wide* array is the one in which the slice lies, the *narrow* one is the slice. Tiles are
 * loaded where they lie: rotations of sublanes and of lanes bring them to their places, under masks
 * where two of them meet. An update stores under a mask of the rows and lanes that it has. Where
 * the slice is a single row, that row is loaded or stored alone and no sublane is rotated; of rows
 * that share words its bits are shifted to where they belong, and join the others' in an update. The
 * same of each of many matrices (a batch of columns, of rows) is more strips of one matrix. One
 * element of a vector lies in a row of 128 of them, and is a row of one lane.
 *
 * A slice may reach into one strip (a row of tiles) and one column of tiles more than it has
 * itself. Whether it does is known as it runs: loads then stay at the last tile that it covers, and
 * stores are left out. So nothing outside the two arrays is touched.
 */
#include "stack/kernels/index/kernel_index.h"

#include <string.h>

#include "base/units.h"

#define TILE_ROWS 8                     /* of 512 bytes; its sublanes */
#define TILES_AT_ONCE 8                 /* whose rotations are under way together */
#define COLUMNS_MAX 32                  /* beyond it registers would not do */
#define REGION_WIDE 1
#define REGION_NARROW 2
#define PRED_STRIP 9                    /* the builder takes p1..p7 */
#define PRED_COLUMN 10
#define PRED_BOTH 11
#define PLACE_CYCLES 60                 /* a start's address */
#define TILE_CYCLES 3
#define MASK_CYCLES 6                   /* of a tile that goes under one */

struct direct {
    struct index_work *w;
    const struct array *wide, *narrow;
    bool has_rows, has_lanes;           /* it may begin inside a tile along these */
    bool is_one_row;
    bool has_strip, has_column;         /* it may reach into one more than it has */
    int outer;                          /* dimensions outside tiles that are a loop each */
    int64_t down, across, columns;      /* strips of the narrow array, tiles of each; of the wide */
    int64_t lanes;                      /* of the narrow array that hold elements */
    int64_t wide_step, narrow_step;     /* rows of VMEM from a strip to the next */
    int64_t group;                      /* strips in one piece of code */
    struct isa_operand sublane, lane;   /* where in its first tile it begins */
    struct isa_operand bits;            /* and, of one row that shares words, in the word */
    struct isa_operand first, from;     /* VMEM rows of the first tile in the wide and the narrow */
    struct isa_operand last_strip;      /* VMEM rows from the first strip to the last covered one */
    struct isa_operand last_column;     /* the same of columns */
};

static bool may_begin_inside(const struct index_work *w, int dim)
{
    return w->axis[dim].component >= 0;
}

/*
 * Matrices that lie one behind the other, and of which the same is taken: of whole columns their
 * strips follow each other in both arrays, of a row there is a strip in each.
 */
static void join_matrices(struct direct *d)
{
    const struct array *narrow = d->narrow;
    int64_t matrices = 1;

    d->outer = narrow->outer_count;
    if (d->has_rows && !d->is_one_row)
        return;
    while (d->outer > 0 && !may_begin_inside(d->w, narrow->outer_dim[d->outer - 1]))
        matrices *= narrow->shape.dim[narrow->outer_dim[--d->outer]];
    d->down *= matrices;
    if (!d->is_one_row)
        return;
    d->wide_step *= d->wide->tiles_down;
    d->narrow_step *= narrow->tiles_down;
}

static int64_t places(const struct direct *d)
{
    int64_t count = 1;

    for (int i = 0; i < d->outer; i++)
        count *= d->narrow->shape.dim[d->narrow->outer_dim[i]];
    return count;
}

static void plan_matrix(struct direct *d)
{
    const struct array *wide = d->wide, *narrow = d->narrow;

    d->down = narrow->tiles_down;
    d->across = narrow->tiles_across;
    d->lanes = narrow->lanes;
    d->has_rows = may_begin_inside(d->w, wide->row_dim);
    d->has_lanes = may_begin_inside(d->w, wide->lane_dim);
    d->is_one_row = d->has_rows && narrow->rows == 1;
    d->has_strip = d->has_rows && !d->is_one_row && wide->tiles_down > 1;
    d->has_column = d->has_lanes && narrow->lanes > 1 && wide->tiles_across > 1;
    d->columns = d->across + d->has_column;
    d->wide_step = wide->tiles_across * TILE_ROWS;
    d->narrow_step = d->across * TILE_ROWS;
    join_matrices(d);
    d->group = d->columns >= TILES_AT_ONCE ? 1 : TILES_AT_ONCE / d->columns;
    d->group = d->group < d->down ? d->group : d->down;
}

static void plan_element(struct direct *d)
{
    d->down = d->across = d->columns = d->group = d->lanes = 1;
    d->has_rows = d->has_lanes = d->is_one_row = true;
}

static bool plan(struct direct *d, struct index_work *w)
{
    const struct array *wide = w->is_scatter ? w->result : w->table, *narrow = w->rows;

    *d = (struct direct){.w = w, .wide = wide, .narrow = narrow};
    if (w->indices || wide->is_linear != narrow->is_linear || wide->space != SPACE_VMEM ||
        narrow->space != SPACE_VMEM)
        return false;
    if (wide->is_linear) {
        plan_element(d);
        return wide->shape.rank == 1 && narrow->shape.dim[0] == 1 && may_begin_inside(w, 0);
    }
    if (memcmp(wide->order, narrow->order, sizeof(wide->order)) != 0)
        return false;
    plan_matrix(d);
    return d->columns <= COLUMNS_MAX && (w->pack == 1 || !d->has_rows || d->is_one_row);
}

/* ----- where it is */

/* in the register `to`, so that those its value was made with are free; a number stays one */
static struct isa_operand kept(struct direct *d, struct isa_operand to, struct isa_operand value)
{
    if (value.kind != OPERAND_REG)
        return value;
    builder_set(&d->w->m, to, value);
    return to;
}

/* rows from the first tile to the last that `size` elements from `inside` on reach, `step` each */
static struct isa_operand last_covered(struct direct *d, struct isa_operand inside, int64_t size,
                                       int tile_log2, int64_t step)
{
    struct builder *m = &d->w->m;
    struct isa_operand end = builder_add(m, inside, I(size - 1));

    return builder_mul(m, builder_shift(m, end, -tile_log2), step);
}

static void find_last_covered(struct direct *d, struct isa_operand strip, struct isa_operand column)
{
    d->last_strip = d->last_column = I(0);
    if (d->has_strip)
        d->last_strip =
            kept(d, strip, last_covered(d, d->sublane, d->narrow->rows, 3, d->wide_step));
    if (d->has_column)
        d->last_column = kept(d, column, last_covered(d, d->lane, d->lanes, 7, TILE_ROWS));
}

/* What is found stays in registers taken first: the many that finding it takes are given back. */
static void find_place(struct direct *d)
{
    struct index_work *w = d->w;
    struct builder *m = &w->m;
    struct isa_operand to[7], row;
    struct index_spot spot;
    int found;

    for (size_t i = 0; i < COUNT_OF(to); i++)
        to[i] = builder_reg(m);
    found = m->next_sreg;
    index_only_spot(w, &spot);
    d->sublane = kept(d, to[0], spot.sublane);
    d->bits = kept(d, to[6], builder_mul(m, spot.part, w->element_bits));
    d->lane = kept(d, to[1], builder_and(m, spot.lane, ARRAY_LANES - 1));
    row = builder_mul(m, builder_add(m, spot.tile, builder_shift(m, spot.lane, -7)), TILE_ROWS);
    row = builder_add(m, row, I(d->wide->address / ARRAY_ROW_BYTES));
    d->first = kept(d, to[2], d->is_one_row ? builder_add(m, row, d->sublane) : row);
    m->next_sreg = found;
    row = builder_mul(m, index_outer_tile(w, d->narrow), TILE_ROWS);
    d->from = kept(d, to[3], builder_add(m, row, I(d->narrow->address / ARRAY_ROW_BYTES)));
    m->next_sreg = found;
    find_last_covered(d, to[4], to[5]);
    m->next_sreg = found;
}

/* ----- tiles */

/* numbers less `by` that are from 0 to below `end` */
static int are_among(struct direct *d, int numbers, struct isa_operand by, int64_t end)
{
    struct builder *m = &d->w->m;
    int below = builder_are_below(m, numbers, builder_add(m, by, I(end)));
    int least = builder_splat(m, by);

    return emit_vmand(m->code, below, emit_vcmp_ge_s32(m->code, R(numbers), R(least)));
}

static int load(struct direct *d, struct isa_operand at, int64_t offset, int region)
{
    struct isa_rows rows = isa_rows_at(at, offset);

    if (d->is_one_row)
        rows = isa_rows_apart(at, offset, 0);
    return emit_vld(d->w->m.code, rows, region);
}

/* rotations of lanes take turns among the cross-lane units */
static int rotated(struct direct *d, int v, struct isa_operand up, int64_t turn)
{
    struct builder *m = &d->w->m;

    return emit_vrot_lane(m->code, (int)(turn % m->chip->xlu_count), v, up);
}

static bool shares_words(const struct direct *d) { return d->is_one_row && d->w->pack > 1; }

static int shifted(struct direct *d, enum isa_opcode code, int v)
{
    struct builder *m = &d->w->m;

    return emit_d_vv(m->code, code, R(v), R(builder_splat(m, d->bits)));
}

/* ----- slices */

/* the strip's tile in a column, of what lies from s->sublane on in it and on in the next */
static void load_strip(struct direct *d, struct isa_operand at, struct isa_operand edge, int *tile)
{
    struct builder *m = &d->w->m;

    for (int64_t c = 0; c < d->columns; c++) {
        tile[c] = c < d->across ? load(d, at, c * TILE_ROWS, REGION_WIDE)
                                : load(d, edge, 0, REGION_WIDE);
        if (d->has_rows && !d->is_one_row)
            tile[c] = emit_vrot_slane(m->code, tile[c], d->sublane);
        if (shares_words(d))
            tile[c] = shifted(d, OP_VSHRL_U32, tile[c]);
    }
}

/* rows of the next strip behind those of this one */
static void join_strips(struct direct *d, const int *tile, const int *next, int *to)
{
    struct builder *m = &d->w->m;
    struct isa_operand own = builder_sub(m, I(TILE_ROWS), d->sublane);
    int mask = builder_are_below(m, builder_sublane_numbers(m), own);

    for (int64_t c = 0; c < d->columns; c++)
        to[c] = emit_vsel(m->code, mask, R(tile[c]), R(next[c]));
}

static void store_slice(struct direct *d, int *tile, struct isa_operand to, int64_t offset,
                        int64_t turn)
{
    struct builder *m = &d->w->m;
    struct isa_operand up = builder_and(m, builder_sub(m, I(0), d->lane), ARRAY_LANES - 1);
    struct isa_operand own = builder_sub(m, I(ARRAY_LANES), d->lane);
    int mask = -1;

    for (int64_t c = 0; d->has_lanes && c < d->columns; c++)
        tile[c] = rotated(d, tile[c], up, turn + c);
    if (d->has_column)
        mask = builder_are_below(m, builder_lane_numbers(m), own);
    for (int64_t c = 0; c < d->across; c++) {
        int made = d->has_column ? emit_vsel(m->code, mask, R(tile[c]), R(tile[c + 1])) : tile[c];

        emit_vst(m->code, isa_rows_at(to, c * TILE_ROWS + offset), made, REGION_NARROW);
    }
}

/* `count` strips of the narrow array at `to`, of the wide one's from `at` on */
static void slice_strips(struct direct *d, struct isa_operand at, struct isa_operand to,
                         int64_t count)
{
    struct builder *m = &d->w->m;
    int tile[TILES_AT_ONCE + 2][COLUMNS_MAX + 1], kept_reg = m->next_sreg;
    int64_t loaded = count + d->has_strip;

    for (int64_t u = 0; u < loaded; u++) {
        struct isa_operand strip = builder_add(m, at, I(u * d->wide_step));

        if (u == count)
            strip = builder_min(m, strip, builder_add(m, d->first, d->last_strip));
        load_strip(d, strip, builder_add(m, strip, d->last_column), tile[u]);
        m->next_sreg = kept_reg;
    }
    for (int64_t u = 0; u < count; u++) {
        if (d->has_strip)
            join_strips(d, tile[u], tile[u + 1], tile[u]);
        store_slice(d, tile[u], to, u * d->narrow_step, u * d->columns);
        m->next_sreg = kept_reg;
    }
}

/* ----- updates */

/* tiles of a strip of the narrow array, turned to the sublanes where they go */
static void load_update(struct direct *d, struct isa_operand from, int64_t offset, int *tile)
{
    struct builder *m = &d->w->m;

    for (int64_t c = 0; c < d->across; c++) {
        tile[c] = load(d, from, c * TILE_ROWS + offset, REGION_NARROW);
        if (d->has_rows && !d->is_one_row)
            tile[c] = emit_vrot_slane(m->code, tile[c],
                                      builder_sub(m, I(TILE_ROWS), d->sublane));
    }
}

/* the strip before ends in the rows above where this one begins */
static void join_before(struct direct *d, const int *before, const int *tile, int *to)
{
    struct builder *m = &d->w->m;
    int mask = builder_are_below(m, builder_sublane_numbers(m), d->sublane);

    for (int64_t c = 0; c < d->across; c++)
        to[c] = emit_vsel(m->code, mask, R(before[c]), R(tile[c]));
}

/* the mask of what the update has in a tile: rows of the strip, lanes of the column; -1: all */
static int updated(struct direct *d, int of_rows, int64_t column)
{
    struct builder *m = &d->w->m;
    struct isa_operand begin = builder_sub(m, d->lane, I(column * ARRAY_LANES));
    int of_lanes;

    if (!d->has_lanes)
        return of_rows;
    of_lanes = are_among(d, builder_lane_numbers(m), begin, d->lanes);
    return of_rows < 0 ? of_lanes : emit_vmand(m->code, of_lanes, of_rows);
}

/* words in which the row's bits are the update's, at VMEM row `at` + offset, and the others' stay */
static int joined_words(struct direct *d, struct isa_operand at, int64_t offset, int v)
{
    struct builder *m = &d->w->m;
    int own = builder_splat(m, I((int32_t)((1u << d->w->element_bits) - 1))), hole, old;

    v = shifted(d, OP_VSHLL_U32, emit_vand_u32(m->code, R(v), R(own)));
    hole = emit_vxor_u32(m->code, R(shifted(d, OP_VSHLL_U32, own)), I(-1));
    old = load(d, at, offset, REGION_WIDE);
    return emit_vor_u32(m->code, R(emit_vand_u32(m->code, R(old), R(hole))), R(v));
}

static void store_tile(struct direct *d, struct isa_operand at, int64_t offset, int v, int mask,
                       int pred)
{
    struct isa_rows rows = d->is_one_row ? isa_rows_some(at, offset, 1) : isa_rows_at(at, offset);
    struct isa_op op = mask < 0 ? isa_vst(rows, v) : isa_vst_msk(rows, mask, v);

    vcode_put(d->w->m.code, isa_if(pred, op))->region = REGION_WIDE;
}

/* one strip of the wide array, of the narrow one's tiles; `is_extra`: the one more that it has */
static void store_update(struct direct *d, int *tile, struct isa_operand at, int64_t offset,
                         int of_rows, bool is_extra, int64_t turn)
{
    struct builder *m = &d->w->m;
    int mask = -1, kept_reg = m->next_sreg;

    for (int64_t c = 0; d->has_lanes && c < d->across; c++)
        tile[c] = rotated(d, tile[c], d->lane, turn + c);
    if (d->has_column)
        mask = builder_are_below(m, builder_lane_numbers(m), d->lane);
    for (int64_t c = 0; c < d->columns; c++) {
        int pred = is_extra ? PRED_STRIP : -1, made = tile[c < d->across ? c : d->across - 1];

        if (c == d->across)
            pred = is_extra ? PRED_BOTH : PRED_COLUMN;
        else if (c > 0 && d->has_column)
            made = emit_vsel(m->code, mask, R(tile[c - 1]), R(tile[c]));
        if (shares_words(d))
            made = joined_words(d, at, c * TILE_ROWS + offset, made);
        store_tile(d, at, c * TILE_ROWS + offset, made, updated(d, of_rows, c), pred);
        m->next_sreg = kept_reg;
    }
}

/* the mask of rows in a strip whose first row is the update's number `number`; -1: all of them */
static int rows_of_strip(struct direct *d, struct isa_operand number)
{
    struct builder *m = &d->w->m;

    if (!d->has_rows || d->is_one_row)
        return -1;
    number = builder_sub(m, I(0), number);
    return are_among(d, builder_sublane_numbers(m), number, d->narrow->rows);
}

/*
 * `count` strips of the wide array from `at` on, of the narrow one's from `from` on, the first of
 * which begins with row `number` of the update.
 */
static void update_strips(struct direct *d, struct isa_operand at, struct isa_operand from,
                          struct isa_operand number, int64_t count)
{
    struct builder *m = &d->w->m;
    int tile[TILES_AT_ONCE + 2][COLUMNS_MAX + 1], made[COLUMNS_MAX + 1], kept_reg = m->next_sreg;

    if (d->has_strip)
        load_update(d, builder_max(m, builder_sub(m, from, I(d->narrow_step)), d->from), 0, tile[0]);
    m->next_sreg = kept_reg;
    for (int64_t u = 0; u < count; u++) {
        load_update(d, from, u * d->narrow_step, tile[u + 1]);
        m->next_sreg = kept_reg;
    }
    for (int64_t u = 0; u < count; u++) {
        int mask = rows_of_strip(d, builder_add(m, number, I(u * TILE_ROWS)));

        memcpy(made, tile[u + 1], sizeof(made));
        if (d->has_strip)
            join_before(d, tile[u], tile[u + 1], made);
        store_update(d, made, at, u * d->wide_step, mask, false, u * d->across);
        m->next_sreg = kept_reg;
    }
}

/* what the last strip leaves for the one behind it */
static void update_extra(struct direct *d, struct isa_operand at, struct isa_operand from,
                         struct isa_operand number)
{
    struct builder *m = &d->w->m;
    int tile[COLUMNS_MAX + 1], kept_reg = m->next_sreg;

    load_update(d, builder_sub(m, from, I(d->narrow_step)), 0, tile);
    store_update(d, tile, at, 0, rows_of_strip(d, number), true, 0);
    m->next_sreg = kept_reg;
}

/* ----- strips and places */

static void some_strips(struct direct *d, struct isa_operand wide, struct isa_operand narrow,
                        struct isa_operand number, int64_t count)
{
    struct builder *m = &d->w->m;

    if (d->w->is_scatter)
        update_strips(d, wide, narrow, number, count);
    else
        slice_strips(d, wide, narrow, count);
    builder_advance(m, wide, count * d->wide_step);
    builder_advance(m, narrow, count * d->narrow_step);
    builder_advance(m, number, count * TILE_ROWS);
}

static void ask_for_extras(struct direct *d)
{
    struct vcode *c = d->w->m.code;

    if (d->has_strip)
        emit_scmp_eq(c, PRED_STRIP, d->last_strip, I(d->down * d->wide_step));
    if (d->has_column)
        emit_scmp_eq(c, PRED_COLUMN, d->last_column, I(d->across * TILE_ROWS));
    if (d->has_strip && d->has_column)
        emit_pand(c, PRED_BOTH, PRED_STRIP, PRED_COLUMN);
}

static void make_place(struct direct *d)
{
    struct builder *m = &d->w->m;
    int kept_reg = m->next_sreg;
    int64_t groups = d->down / d->group, rest = d->down % d->group;
    struct isa_operand wide, narrow, number, counter;

    find_place(d);
    if (d->w->is_scatter)
        ask_for_extras(d);
    wide = builder_reg(m), narrow = builder_reg(m), number = builder_reg(m);
    builder_set(m, wide, d->first);
    builder_set(m, narrow, d->from);
    builder_set(m, number, builder_sub(m, I(0), d->sublane));
    if (groups > 1)
        counter = builder_loop_begin(m, groups);
    some_strips(d, wide, narrow, number, d->group);
    if (groups > 1)
        builder_loop_end(m, counter);
    if (rest)
        some_strips(d, wide, narrow, number, rest);
    if (d->w->is_scatter && d->has_strip)
        update_extra(d, wide, narrow, number);
    m->next_sreg = kept_reg;
}

int64_t index_direct_cycles(struct index_work *w)
{
    int64_t tiles, groups, cycles;
    struct direct d;

    if (!plan(&d, w))
        return INT64_MAX;
    tiles = d.down * d.columns;
    groups = div_up(d.down, d.group) + (w->is_scatter && d.has_strip);
    cycles = PLACE_CYCLES + tiles * (d.has_lanes || d.has_rows ? MASK_CYCLES : TILE_CYCLES);
    if (d.has_lanes)
        cycles += groups * w->job->chip->xlu_permute_cycles;
    return places(&d) * cycles;
}

bool index_is_direct(struct index_work *w)
{
    struct direct d;

    return plan(&d, w) && (!index_is_whole(w) || index_direct_cycles(w) < index_whole_cycles(w));
}

int index_direct(struct index_work *w, struct err *e)
{
    struct direct d;
    struct array loops;
    struct index_nest nest;

    plan(&d, w);
    loops = *d.narrow;
    loops.outer_count = d.outer;
    for (int i = 0; i < GRAPH_RANK_MAX; i++)
        w->coordinate[i] = I(0);
    if (!index_fits_smem(w))
        return index_no_smem(w, e);
    if (w->is_scatter)
        index_copy_operand(w, w->flag_index + 1);
    index_begin(w);
    index_nest_begin(w, &loops, &nest);
    make_place(&d);
    index_nest_end(w, &nest);
    vcode_begin_block(w->m.code);
    emit_sfence(w->m.code);
    return 0;
}
