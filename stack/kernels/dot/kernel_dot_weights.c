/*
 * Weights into the staging registers of all units: the last rows of an array
 * first. A tile holds 8, 16 or 32 rows of the contraction or, pushed
 * transposed, as many columns of the result.
 */
#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

#define TILE 128

static int tile_rows(const struct dot_code *d)
{
    return matrix_rows(d->s->rhs_type);
}

/* tiles that go one after the other into a unit: rows of the array, or columns in use */
static int64_t items_of_unit(const struct dot_code *d, int unit)
{
    const struct dot_step *s = d->s;
    int64_t columns = d->unit_tiles[unit] * TILE;
    int64_t there = s->valid_columns - d->unit_first[unit] * TILE;

    if (columns == 0)
        return 0;
    if (!s->is_rhs_transposed)
        return d->halves * (TILE / tile_rows(d));
    if (s->valid_columns && there < columns)
        columns = there;
    return div_up(columns, tile_rows(d));
}

static int64_t unit_items(const struct dot_code *d)
{
    int64_t most = 0;

    for (int unit = 0; unit < d->s->units; unit++)
        if (items_of_unit(d, unit) > most)
            most = items_of_unit(d, unit);
    return most;
}

/* pushes of a tile: one after the other into a unit, they would wait, and all that stands behind */
static int parts_of_tile(const struct dot_code *d) { return d->unpacks_weights ? 2 : 1; }

int64_t dot_weight_items(const struct dot_code *d)
{
    return unit_items(d) * parts_of_tile(d) * d->s->units;
}

static void load(struct dot_code *d, int to, int base, int64_t row)
{
    bundler_add(&d->b, isa_vld(to, isa_rows_at(R(base), row)));
}

/*
 * A tile into a unit, the one in `upper` (-1: none) beside it in the array. Both are two bundles and
 * take the unit as long as one: a unit of one tile leaves as many to the others, which would wait
 * for it in each.
 */
static void push(struct dot_code *d, int unit, int from, int upper, enum matrix_type type)
{
    int after = 0;

    if (upper >= 0)
        bundler_add(&d->b, isa_vmatprep_subr(unit, upper, (int)type));
    else if (d->some_have_two)
        after = d->b.last_push[0][unit] + 2;
    bundler_add_after(&d->b, after,
                      isa_vmatpush(unit, from, upper >= 0, (int)type, d->s->is_rhs_transposed, 0));
}

struct item {                           /* a tile of weights and the one beside it */
    int64_t row, upper_row;
    bool has_upper, is_zero;
    int bits, upper_bits;               /* registers that take out padding; -1: there is none */
};

/* rows of the contraction in the last pass of a column, of its end, that are not padding */
static int64_t last_rows(const struct dot_code *d)
{
    int64_t all = d->s->rhs_depth ? d->s->rhs_depth : d->s->depth_tiles * TILE;

    return all - (int64_t)(d->passes * d->splits - 1) * d->halves * TILE;
}

/* tile `group` of a unit from the first on; is_end: of the last pass of a column */
static struct item item_of(const struct dot_code *d, int unit, int64_t group, bool is_end)
{
    const struct dot_step *s = d->s;
    int64_t per = TILE / tile_rows(d), tile = s->by_rows ? 0 : d->unit_first[unit];
    int64_t across = s->is_rhs_transposed ? per : 1, down = s->is_rhs_transposed ? 1 : per;
    int64_t first = (s->by_rows ? unit * s->rhs_unit_step : 0) + tile * s->rhs.side_step * across
                    + unit / d->split_units * d->halves * s->rhs.depth_step * down;
    bool is_last = is_end && unit / d->split_units == d->splits - 1;

    bool has_upper = d->halves > 1 && !(is_last && d->last_is_half);
    int64_t left = last_rows(d) - group * tile_rows(d);
    int bits = -1;

    if (s->is_rhs_transposed) {
        if (is_last && s->rhs_depth)
            bits = d->v_lane_bits;
        return (struct item){
            .row = first + group * s->rhs.side_step, .has_upper = has_upper,
            .upper_row = first + group * s->rhs.side_step + s->rhs.depth_step,
            .bits = has_upper ? -1 : bits, .upper_bits = bits};
    }
    if (is_last && left > 0 && left < tile_rows(d))
        bits = d->v_row_bits;
    return (struct item){
        .row = first + group * s->rhs.depth_step,
        .upper_row = first + s->rhs.side_step + group * s->rhs.depth_step,
        .has_upper = d->unit_tiles[unit] > 1, .is_zero = is_last && left <= 0,
        .bits = bits, .upper_bits = bits};
}

static int next_set(struct dot_code *d)
{
    int set = d->v_weights + d->next_weights * d->weight_set;

    d->next_weights = (d->next_weights + 1) % d->weights_count;
    return set;
}

/*
 * Zeros for rows that the contraction does not have, before the first pass of a step alone: what
 * others have pushed and not taken may stand there. A pass that takes weights leaves zeros.
 */
static void put_zeros(struct dot_code *d, int unit)
{
    if (d->v_zero < 0) {
        d->v_zero = next_set(d);
        bundler_add(&d->b, isa_vmov(d->v_zero, I(0)));
    }
    push(d, unit, d->v_zero, -1, d->unpacks_weights ? MATRIX_F32 : d->s->rhs_type);
}

static void put_item(struct dot_code *d, int unit, const struct item *it, int part, int base,
                     int64_t offset)
{
    int v = next_set(d);

    if (v == d->v_zero)
        d->v_zero = -1;
    load(d, v, base, offset + it->row);
    if (it->bits >= 0)
        bundler_add(&d->b, isa_vand_u32(v, R(v), R(it->bits)));
    if (it->has_upper)
        load(d, v + 1, base, offset + it->upper_row);
    if (it->has_upper && it->upper_bits >= 0)
        bundler_add(&d->b, isa_vand_u32(v + 1, R(v + 1), R(it->upper_bits)));
    if (!d->unpacks_weights) {
        push(d, unit, v, it->has_upper ? v + 1 : -1, d->s->rhs_type);
        return;
    }
    bundler_add(&d->b, isa_make_d_v(part ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, v + 1, R(v)));
    push(d, unit, v + 1, -1, MATRIX_F32);
}

void dot_put_weights(struct dot_code *d, int base, int64_t offset, bool is_last, int64_t first,
                     int64_t end)
{
    int parts = parts_of_tile(d);

    for (int64_t i = first; i < end; i++) {
        int unit = (int)(i % d->s->units), part = parts - 1 - (int)(i / d->s->units % parts);
        int64_t group = unit_items(d) - 1 - i / d->s->units / parts;
        struct item it;

        if (group >= items_of_unit(d, unit))
            continue;
        it = item_of(d, unit, group, is_last);
        if (it.is_zero && d->is_first_pass)
            put_zeros(d, unit);
        if (!it.is_zero)
            put_item(d, unit, &it, part, base, offset);
    }
}

/* ones in lanes before `count` */
static void put_lane_bits(struct dot_code *d, int to, int64_t count)
{
    bundler_add(&d->b, isa_vlaneseq(to));
    bundler_add(&d->b, isa_vand_u32(to, R(to), I(TILE - 1)));
    bundler_add(&d->b, isa_vcmp_lt_s32(0, R(to), I(count)));
    bundler_add(&d->b, isa_vsel(to, 0, I(-1), I(0)));
}

/* ones in words, and in the part of a word, of rows before `count` of a tile */
static void put_row_bits(struct dot_code *d, int to, int64_t count)
{
    int per_word = matrix_values_per_word(d->s->rhs_type);
    int part = (int)(count % per_word) * (32 / per_word);       /* bits of the word that ends them */

    bundler_add(&d->b, isa_vlaneseq(to));
    bundler_add(&d->b, isa_vshrl_u32(to, R(to), I(7)));
    bundler_add(&d->b, isa_vcmp_lt_s32(0, R(to), I(count / per_word)));
    bundler_add(&d->b, isa_vcmp_lt_s32(1, R(to), I((count + per_word - 1) / per_word)));
    bundler_add(&d->b, isa_vsel(to, 1, I((1 << part) - 1), I(0)));
    bundler_add(&d->b, isa_vsel(to, 0, I(-1), R(to)));
}

void dot_put_bits(struct dot_code *d)
{
    if (d->v_lane_bits >= 0)
        put_lane_bits(d, d->v_lane_bits,
                      (d->s->lhs_depth ? d->s->lhs_depth : d->s->rhs_depth) % TILE);
    if (d->v_row_bits >= 0)
        put_row_bits(d, d->v_row_bits, last_rows(d) % tile_rows(d));
}
