/*
 * Weights, made ready in VMEM as f32 tiles in the order in which they are
 * pushed: nests of loops whose body is straight code for 128 of k per slot.
 * Bodies differ where features end inside a block, so that a nest is made for
 * the full blocks and one for the last.
 */
#include "stack/kernels/conv/conv_nest.h"

#define TILE_ROWS 8                     /* VMEM rows of a tile */
#define LANES ARRAY_LANES
#define WEIGHT_TILES (LANES / 8)        /* of a slot */
#define MASK_LANES 2                    /* of kernels that lie swapped */

/* the first `rows` rows of a register, zeros behind them */
static void store_rows(struct nest_body *b, int64_t tile, int64_t rows, int v)
{
    int zeros = -1;

    if (rows < 8)
        zeros = conv_nest_store(b, 0, tile, 0xff, NEST_V_ZERO);
    if (rows > 0)
        conv_nest_store(b, zeros + 1, tile, (1 << rows) - 1, v);
}

static int64_t within(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* ----- weights */

struct weights {
    const struct conv_plan *p;
    const struct conv_window *w;
    int64_t features;                   /* of the block of k at hand, from its first on */
    int64_t columns;                    /* swapped: of the tile of columns, from its first on */
};

static int64_t sign(const struct conv_plan *p, int dim)
{
    return p->shape.dim[dim].is_reversed ? -1 : 1;
}

/* tiles of the window from a tap to the next that a phase meets */
static int64_t tap_pitch(const struct weights *x, int dim)
{
    return sign(x->p, dim) * x->p->shape.dim[dim].tap_step * x->w->pitch[dim];
}

/* where 8 rows of k, or 16, lie: tile of the window from the nest's; rows that are there */
static int64_t weight_source(const struct weights *x, int slot, int64_t k, int64_t *rows)
{
    const struct conv_plan *p = x->p;
    int64_t height = x->w->array->tile_rows, feature = slot * LANES + k, tile = 0;

    if (conv_has_many_taps(p)) {
        int64_t member = k / p->member_rows;

        feature = k % p->member_rows;
        if (member >= p->members)
            feature = INT32_MAX;
        tile = sign(p, p->along) * (slot * p->members + member) * p->spread *
               x->w->pitch[p->along];
    } else if (p->shape.mode == CONV_ROWS && p->contracted == 1) {
        feature = slot && p->pair_level < 0 ? INT32_MAX : k;
        if (slot && p->pair_level >= 0)
            tile = tap_pitch(x, p->pair_level);
    }
    *rows = within(x->features - feature, height);
    return *rows ? tile + feature / height * x->w->pitch[BOX_ROWS] : 0;
}

static void weights_body(struct nest_body *b, const struct weights *x)
{
    int64_t height = x->w->array->tile_rows, rows;

    for (int slot = 0; slot < x->p->slots; slot++)
        for (int64_t k = 0; k < LANES; k += height) {
            int64_t tile = weight_source(x, slot, k, &rows), to = slot * WEIGHT_TILES + k / 8;
            int v = rows ? conv_nest_load(b, tile, 0xff) : NEST_V_ZERO, low = v, high = v;

            if (height == 16 && rows) {
                low = conv_nest_vector(b);
                high = conv_nest_vector(b);
                bundler_add(&b->g->b, isa_vunpack_c_l(low, R(v)));
                bundler_add(&b->g->b, isa_vunpack_c_h(high, R(v)));
            }
            store_rows(b, to, within(rows, 8), low);
            if (height == 16)
                store_rows(b, to + 1, within(rows - 8, 8), high);
        }
}

/* kernels with input features along lanes: 8 rows are columns of the product */
static void swapped_body(struct nest_body *b, const struct weights *x)
{
    const struct conv_plan *p = x->p;
    int64_t height = x->w->array->tile_rows;

    for (int slot = 0; slot < p->slots; slot++) {
        int64_t lanes = within(x->features - (p->contracted == 1 ? 0 : slot * LANES), LANES);
        int64_t tile = p->contracted > 1 ? slot : 0;

        if (slot && p->contracted == 1 && p->pair_level < 0)
            lanes = 0;
        else if (slot && p->contracted == 1)
            tile = tap_pitch(x, p->pair_level);
        for (int64_t k = 0; k < within(x->columns, LANES); k += height) {
            int64_t to = slot * WEIGHT_TILES + k / 8;
            int64_t row = k / height * x->w->pitch[BOX_ROWS];
            int v = lanes ? conv_nest_load(b, tile + row, 0xff) : NEST_V_ZERO;
            int parts[2] = {v, v};

            if (height == 16 && lanes)
                for (int part = 0; part < 2; part++) {
                    parts[part] = conv_nest_vector(b);
                    bundler_add(&b->g->b, isa_make_d_v(part ? OP_VUNPACK_C_H : OP_VUNPACK_C_L,
                                                       parts[part], R(v)));
                }
            for (int part = 0; part < height / 8; part++) {
                if (lanes && lanes < LANES)
                    bundler_add(&b->g->b, isa_vsel(parts[part], MASK_LANES, R(parts[part]), I(0)));
                conv_nest_store(b, 0, to + part, 0xff, parts[part]);
            }
        }
    }
}

/* ----- weights of groups: a block of the diagonal for each */

/* one row of the kernel in sublane `sublane`, as f32 */
static int load_row(struct nest_body *b, const struct weights *x, int64_t tile, int64_t row,
                    int sublane)
{
    int64_t height = x->w->array->tile_rows, within_tile = row % height;
    int64_t at = (tile + row / height * x->w->pitch[BOX_ROWS]) * TILE_ROWS +
                 within_tile / (height / 8) - sublane;
    int v = conv_nest_vector(b), f32;

    bundler_add(&b->g->b, isa_vld(v, isa_rows_some(R(b->from), at, 1 << sublane)));
    if (height == 8)
        return v;
    f32 = conv_nest_vector(b);
    bundler_add(&b->g->b, isa_vunpack_i_bf16(f32, R(v), within_tile % 2 ? VUNPACK_I_BF16_H
                                                                          : VUNPACK_I_BF16_L));
    return f32;
}

/* row k of the block for tile `column`: what its group has of it, or -1 */
static int grouped_row(struct nest_body *b, const struct weights *x, int64_t tile, int64_t feature,
                       int64_t column, int sublane)
{
    const struct conv_plan *p = x->p;
    int64_t group = feature / p->group_inputs;
    int64_t first = group * p->group_columns - column * LANES, end = first + p->group_columns;
    int v, mask;

    first = within(first, LANES);
    end = within(end, LANES);
    if (first == end)
        return -1;
    v = load_row(b, x, tile, feature % p->group_inputs, sublane);
    if (end - first == LANES)
        return v;
    mask = 3 + sublane;
    bundler_add(&b->g->b, isa_vcmask(mask, (end - 1) << 13 | 7 << 10 | first << 3));
    bundler_add(&b->g->b, isa_vsel(v, mask, R(v), I(0)));
    return v;
}

static void grouped_body(struct nest_body *b, const struct weights *x, int64_t block,
                         int64_t column)
{
    const struct conv_plan *p = x->p;

    for (int slot = 0; slot < p->slots; slot++) {
        bool is_pair = p->contracted == 1;
        int64_t first = is_pair ? 0 : (block * p->slots + slot) * LANES;
        int64_t tile = is_pair && slot && p->pair_level >= 0 ? tap_pitch(x, p->pair_level) : 0;

        for (int64_t k = 0; k < LANES; k += 8) {
            int sum = -1;

            for (int row = 0; row < 8; row++) {
                int64_t feature = first + k + row;
                int v;

                if (feature >= x->features || (is_pair && slot && p->pair_level < 0))
                    break;
                v = grouped_row(b, x, tile, feature, column, row);
                if (v >= 0 && sum >= 0)
                    bundler_add(&b->g->b, isa_vor_u32(sum, R(sum), R(v)));
                else if (v >= 0)
                    sum = v;
            }
            conv_nest_store(b, 0, slot * WEIGHT_TILES + k / 8, 0xff, sum < 0 ? NEST_V_ZERO : sum);
        }
    }
}

/* tiles of the window from its first to the first tap of a phase */
static int64_t first_tap(const struct weights *x, const int64_t *r)
{
    int64_t tile = 0;

    for (int i = 0; i < CONV_SPATIAL; i++) {
        const struct conv_dim *d = &x->p->shape.dim[i];
        int64_t tap = d->dilation == 1 ? 0 : d->phase[r[i]].first;

        tile += (d->is_reversed ? x->w->box[i] - 1 - tap : tap) * x->w->pitch[i];
    }
    return tile;
}

/* blocks of features [first, end), tiles of columns [column, column_end) of a phase */
static void weights_nest(struct conv_gen *g, struct weights *x, const int64_t *r,
                         int64_t to_tile, int64_t first, int64_t end, int64_t column,
                         int64_t column_end)
{
    const struct conv_plan *p = x->p;
    const struct conv_window *w = x->w;
    int64_t slot_tiles = p->slots * WEIGHT_TILES, to = p->feature_blocks * slot_tiles;
    int64_t unit = p->is_rhs_swapped ? 1 : LANES / w->array->tile_rows * w->pitch[BOX_ROWS];
    bool is_grouped = p->shape.feature_groups > 1;
    int64_t column_from = p->is_rhs_swapped ? LANES / w->array->tile_rows * w->pitch[BOX_ROWS] : 1;
    struct conv_nest n = {0};
    struct nest_body b = {.g = g};
    struct nest_level taps[CONV_SPATIAL];
    struct conv_value from;

    if (end <= first || column_end <= column)
        return;
    for (int i = CONV_SPATIAL - 1; i >= 0; i--) {
        int64_t step = i == p->pair_level ? 2 : 1;

        taps[i] = (struct nest_level){conv_level_count(p, i, r[i]), step * tap_pitch(x, i), to};
        to *= taps[i].count;
    }
    conv_nest_level(&n, column_end - column, column_from * TILE_ROWS,
              p->passes * slot_tiles * TILE_ROWS);
    for (int i = 0; i < CONV_SPATIAL; i++)
        conv_nest_level(&n, taps[i].count, taps[i].from * TILE_ROWS, taps[i].to * TILE_ROWS);
    conv_nest_level(&n, end - first, p->slots * unit * TILE_ROWS, slot_tiles * TILE_ROWS);
    if (is_grouped)
        unit = 0;
    conv_begin(g, "weights");
    g->temp = NEST_COUNT;
    x->features -= is_grouped ? 0 : first * p->slots * LANES;
    x->columns -= column * LANES;
    if (p->is_rhs_swapped && x->features < p->slots * LANES && x->features % LANES)
        bundler_add(&g->b, isa_vcmask(MASK_LANES, (x->features % LANES - 1) << 13 | 7 << 10));
    bundler_add(&g->b, isa_vmov(NEST_V_ZERO, I(0)));
    from = conv_add(g, conv_buffer_row(g, WINDOW_RHS),
                    conv_known((first_tap(x, r) + first * p->slots * unit +
                                column * column_from) * TILE_ROWS));
    conv_nest_enter(g, &n, from, p->weights_row + (to_tile + column * p->passes * slot_tiles +
                                         first * slot_tiles) * TILE_ROWS);
    b.from = NEST_FROM + n.levels;
    b.to = NEST_TO + n.levels;
    if (is_grouped)
        grouped_body(&b, x, first, column);
    else if (p->is_rhs_swapped)
        swapped_body(&b, x);
    else
        weights_body(&b, x);
    conv_nest_leave(g, &n);
    x->features += is_grouped ? 0 : first * p->slots * LANES;
    x->columns += column * LANES;
}

static void phase_weights(struct conv_gen *g, struct weights *x, const int64_t *r, int64_t to_tile)
{
    const struct conv_plan *p = x->p;
    int64_t per_block = p->slots * LANES, columns = x->w->box[BOX_LANES];
    int64_t full = conv_has_many_taps(p) ? 0 : x->features / per_block, full_columns;

    if (p->is_rhs_swapped)
        columns = within((x->columns + LANES - 1) / LANES, conv_column_tiles(p));
    if (p->shape.feature_groups > 1) {
        for (int64_t column = 0; column < columns; column++)
            for (int64_t block = 0; block < p->feature_blocks; block++)
                weights_nest(g, x, r, to_tile, block, block + 1, column, column + 1);
        return;
    }
    full = within(full, p->feature_blocks);
    full_columns = p->is_rhs_swapped ? within(x->columns / LANES, columns) : columns;
    for (int tail = 0; tail < 2; tail++) {
        int64_t column = tail ? full_columns : 0, end = tail ? columns : full_columns;

        weights_nest(g, x, r, to_tile, 0, full, column, end);
        weights_nest(g, x, r, to_tile, full, p->feature_blocks, column, end);
    }
}

void conv_prepare_weights(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    const struct conv_dim *d = p->shape.dim;
    const struct conv_window *w = &p->window[WINDOW_RHS];
    struct weights x = {.p = p, .w = w, .features = p->features_here,
                        .columns = w->box[BOX_ROWS] * w->array->tile_rows};
    int64_t to = 0;

    for (int64_t r0 = 0; r0 < d[0].phases; r0++)
        for (int64_t r1 = 0; r1 < d[1].phases; r1++)
            for (int64_t r2 = 0; r2 < d[2].phases; r2++) {
                const int64_t r[] = {r0, r1, r2};
                int64_t passes = conv_phase_passes(p, r);

                if (!passes)
                    continue;
                phase_weights(g, &x, r, to);
                to += passes * p->slots * WEIGHT_TILES;
            }
}
