/*
 * What the passes read, made ready in VMEM: weights as f32 tiles in the order
 * in which they are pushed, and transposed rows.
 *
 * Both are nests of loops whose body is straight code for 128 of k per slot.
 * Bodies differ where features end inside a block, so that a nest is made for
 * the full blocks and one for the last.
 */
#include <assert.h>

#include "stack/conv_emit.h"

#define TILE_ROWS 8                     /* VMEM rows of a tile */
#define LANES ARRAY_LANES
#define WEIGHT_TILES (LANES / 8)        /* of a slot */
#define LEVELS_MAX 8
#define V_ZERO 0
#define MASK_LANES 2                    /* of kernels that lie swapped */
#define BLOCKS_USUAL 16                 /* transposes in straight code */

enum { S_FROM = 0, S_TO = S_FROM + LEVELS_MAX + 1, S_COUNT = S_TO + LEVELS_MAX + 1,
       S_LAST_TO = ISA_SREG_COUNT - 1 };

/* ----- nests of loops over two pointers, VMEM rows */

struct level { int64_t count, from, to; };
struct nest { int levels; struct level level[LEVELS_MAX]; int label[LEVELS_MAX]; };

static void add_level(struct nest *n, int64_t count, int64_t from, int64_t to)
{
    assert(n->levels < LEVELS_MAX);
    if (count > 1)
        n->level[n->levels++] = (struct level){count, from, to};
}

/* opens the section of the body: its pointers are S_FROM + levels and S_TO + levels */
static void enter(struct conv_gen *g, struct nest *n, struct conv_value from, int64_t to)
{
    PUT(g, OP_SMOV, REG(S_FROM), conv_operand(from));
    PUT(g, OP_SMOV, REG(S_TO), IMM(to));
    conv_end(g);
    for (int i = 0; i < n->levels; i++) {
        conv_begin(g, NULL);
        PUT(g, OP_SMOV, REG(S_FROM + i + 1), REG(S_FROM + i));
        PUT(g, OP_SMOV, REG(S_TO + i + 1), REG(S_TO + i));
        PUT(g, OP_SMOV, REG(S_COUNT + i), IMM(n->level[i].count));
        conv_end(g);
        n->label[i] = conv_label(g);
        conv_here(g, n->label[i]);
    }
    conv_begin(g, NULL);
}

static void leave(struct conv_gen *g, struct nest *n)
{
    for (int i = n->levels - 1; i >= 0; i--) {
        PUT(g, OP_SADD, REG(S_FROM + i + 1), REG(S_FROM + i + 1), IMM(n->level[i].from));
        PUT(g, OP_SADD, REG(S_TO + i + 1), REG(S_TO + i + 1), IMM(n->level[i].to));
        conv_loop_end(g, n->label[i], S_COUNT + i);
        conv_begin(g, NULL);
    }
    conv_end(g);
}

/* ----- straight code */

struct body {
    struct conv_gen *g;
    int from, to;                       /* scalar registers */
    int next_v;
};

static int vector(struct body *b)
{
    int v = 1 + b->next_v;

    b->next_v = (b->next_v + 1) % ((int)b->g->chip->core_vregs - 1);
    return v;
}

static int load(struct body *b, int64_t tile, int mask)
{
    int v = vector(b);

    PUT(b->g, OP_VLD, REG(v), REG(b->from), IMM(tile * TILE_ROWS), IMM(1), IMM(mask));
    return v;
}

static int store(struct body *b, int not_before, int64_t tile, int mask, int v)
{
    return PUT_AT(b->g, not_before, OP_VST, REG(b->to), IMM(tile * TILE_ROWS), IMM(1), IMM(mask),
                  REG(v));
}

/* the first `rows` rows of a register, zeros behind them */
static void store_rows(struct body *b, int64_t tile, int64_t rows, int v)
{
    int zeros = -1;

    if (rows < 8)
        zeros = store(b, 0, tile, 0xff, V_ZERO);
    if (rows > 0)
        store(b, zeros + 1, tile, (1 << rows) - 1, v);
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

static bool has_many_taps(const struct conv_plan *p)    /* 128 of k hold several */
{
    return p->shape.mode == CONV_TRANSPOSED && p->feature_blocks == 1 && p->along >= 0;
}

/* where 8 rows of k, or 16, lie: tile of the window from the nest's; rows that are there */
static int64_t weight_source(const struct weights *x, int slot, int64_t k, int64_t *rows)
{
    const struct conv_plan *p = x->p;
    int64_t height = x->w->array->tile_rows, feature = slot * LANES + k, tile = 0;

    if (has_many_taps(p)) {
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

static void weights_body(struct body *b, const struct weights *x)
{
    int64_t height = x->w->array->tile_rows, rows;

    for (int slot = 0; slot < x->p->slots; slot++)
        for (int64_t k = 0; k < LANES; k += height) {
            int64_t tile = weight_source(x, slot, k, &rows), to = slot * WEIGHT_TILES + k / 8;
            int v = rows ? load(b, tile, 0xff) : V_ZERO, low = v, high = v;

            if (height == 16 && rows) {
                low = vector(b);
                high = vector(b);
                PUT(b->g, OP_VUNPACK_C_L, REG(low), REG(v));
                PUT(b->g, OP_VUNPACK_C_H, REG(high), REG(v));
            }
            store_rows(b, to, within(rows, 8), low);
            if (height == 16)
                store_rows(b, to + 1, within(rows - 8, 8), high);
        }
}

/* kernels with input features along lanes: 8 rows are columns of the product */
static void swapped_body(struct body *b, const struct weights *x)
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
            int v = lanes ? load(b, tile + k / height * x->w->pitch[BOX_ROWS], 0xff) : V_ZERO;
            int parts[2] = {v, v};

            if (height == 16 && lanes)
                for (int part = 0; part < 2; part++) {
                    parts[part] = vector(b);
                    PUT(b->g, part ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, REG(parts[part]), REG(v));
                }
            for (int part = 0; part < height / 8; part++) {
                if (lanes && lanes < LANES)
                    PUT(b->g, OP_VSEL, REG(parts[part]), REG(MASK_LANES), REG(parts[part]),
                        IMM(0));
                store(b, 0, to + part, 0xff, parts[part]);
            }
        }
    }
}

/* ----- weights of groups: a block of the diagonal for each */

/* one row of the kernel in sublane `sublane`, as f32 */
static int load_row(struct body *b, const struct weights *x, int64_t tile, int64_t row, int sublane)
{
    int64_t height = x->w->array->tile_rows, within_tile = row % height;
    int64_t at = (tile + row / height * x->w->pitch[BOX_ROWS]) * TILE_ROWS +
                 within_tile / (height / 8) - sublane;
    int v = vector(b), f32;

    PUT(b->g, OP_VLD, REG(v), REG(b->from), IMM(at), IMM(1), IMM(1 << sublane));
    if (height == 8)
        return v;
    f32 = vector(b);
    PUT(b->g, OP_VUNPACK_I_BF16, REG(f32), REG(v), IMM(within_tile % 2));
    return f32;
}

/* row k of the block for tile `column`: what its group has of it, or -1 */
static int grouped_row(struct body *b, const struct weights *x, int64_t tile, int64_t feature,
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
    PUT(b->g, OP_VCMASK, REG(mask), IMM((end - 1) << 13 | 7 << 10 | first << 3));
    PUT(b->g, OP_VSEL, REG(v), REG(mask), REG(v), IMM(0));
    return v;
}

static void grouped_body(struct body *b, const struct weights *x, int64_t block, int64_t column)
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
                    PUT(b->g, OP_VOR_U32, REG(sum), REG(sum), REG(v));
                else if (v >= 0)
                    sum = v;
            }
            store(b, 0, slot * WEIGHT_TILES + k / 8, 0xff, sum < 0 ? V_ZERO : sum);
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
    struct nest n = {0};
    struct body b = {.g = g};
    struct level taps[CONV_SPATIAL];
    struct conv_value from;

    if (end <= first || column_end <= column)
        return;
    for (int i = CONV_SPATIAL - 1; i >= 0; i--) {
        int64_t step = i == p->pair_level ? 2 : 1;

        taps[i] = (struct level){conv_level_count(p, i, r[i]), step * tap_pitch(x, i), to};
        to *= taps[i].count;
    }
    add_level(&n, column_end - column, column_from * TILE_ROWS,
              p->passes * slot_tiles * TILE_ROWS);
    for (int i = 0; i < CONV_SPATIAL; i++)
        add_level(&n, taps[i].count, taps[i].from * TILE_ROWS, taps[i].to * TILE_ROWS);
    add_level(&n, end - first, p->slots * unit * TILE_ROWS, slot_tiles * TILE_ROWS);
    if (is_grouped)
        unit = 0;
    conv_begin(g, "weights");
    g->temp = S_COUNT;
    x->features -= is_grouped ? 0 : first * p->slots * LANES;
    x->columns -= column * LANES;
    if (p->is_rhs_swapped && x->features < p->slots * LANES && x->features % LANES)
        PUT(g, OP_VCMASK, REG(MASK_LANES), IMM((x->features % LANES - 1) << 13 | 7 << 10));
    PUT(g, OP_VMOV, REG(V_ZERO), IMM(0));
    from = conv_add(g, conv_buffer_row(g, WINDOW_RHS),
                    conv_known((first_tap(x, r) + first * p->slots * unit +
                                column * column_from) * TILE_ROWS));
    enter(g, &n, from, p->weights_row + (to_tile + column * p->passes * slot_tiles +
                                         first * slot_tiles) * TILE_ROWS);
    b.from = S_FROM + n.levels;
    b.to = S_TO + n.levels;
    if (is_grouped)
        grouped_body(&b, x, first, column);
    else if (p->is_rhs_swapped)
        swapped_body(&b, x);
    else
        weights_body(&b, x);
    leave(g, &n);
    x->features += is_grouped ? 0 : first * p->slots * LANES;
    x->columns += column * LANES;
}

static void phase_weights(struct conv_gen *g, struct weights *x, const int64_t *r, int64_t to_tile)
{
    const struct conv_plan *p = x->p;
    int64_t per_block = p->slots * LANES, columns = x->w->box[BOX_LANES];
    int64_t full = has_many_taps(p) ? 0 : x->features / per_block, full_columns;

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
                int64_t passes = p->feature_blocks;

                for (int i = 0; i < CONV_SPATIAL; i++)
                    passes *= conv_level_count(p, i, r[i]);
                if (!passes)
                    continue;
                phase_weights(g, &x, r, to);
                to += passes * p->slots * WEIGHT_TILES;
            }
}

/* ----- transposed rows */

/* 128 of k by the lanes of one tile */
struct block { int slot, width; int64_t from, to; };

struct transpose {
    const struct conv_plan *p;
    const struct conv_window *w;
    int64_t features;                   /* from the block's first on */
    int64_t height;                     /* rows of a tile */
    struct block block[CONV_TRANSPOSES_MAX];     /* of the body */
    int blocks, waves;                  /* a wave: a block for every unit */
};

/* the tile with rows k.. of a slot: tile of the window from the nest's; rows that are there */
static int64_t row_source(const struct transpose *x, int slot, int64_t k, int64_t *rows)
{
    const struct conv_plan *p = x->p;
    int64_t feature = slot * LANES + k, tile = 0;

    if (has_many_taps(p)) {
        int64_t member = k / p->member_rows;

        feature = member < p->members && slot < p->slots ? k % p->member_rows : INT32_MAX;
        tile = (slot * p->members + member) * p->spread *
               p->shape.dim[p->along].tap_stride * x->w->pitch[p->along];
    }
    *rows = within(x->features - feature, x->height);
    return *rows ? tile + feature / x->height * x->w->pitch[BOX_ROWS] : 0;
}

/* a tile whose rows from `rows` on are zeros */
static int load_rows(struct body *b, int64_t tile, int64_t rows, int64_t height)
{
    int v, last, sublanes = (int)(height == 16 ? rows / 2 : rows);

    if (rows == height || height == 8 || rows % 2 == 0)
        return load(b, tile, rows == height ? 0xff : (1 << sublanes) - 1);
    last = load(b, tile, 1 << sublanes);
    PUT(b->g, OP_VAND_U32, REG(last), REG(last), IMM(0xffff));
    if (sublanes == 0)
        return last;
    v = load(b, tile, (1 << sublanes) - 1);
    PUT(b->g, OP_VOR_U32, REG(v), REG(v), REG(last));
    return v;
}

static int put_on_xlu(struct conv_gen *g, int not_before, enum isa_opcode code, int unit,
                      int count, const struct isa_operand *operand)
{
    struct isa_op op = bundler_op(code, unit, count, operand);

    return bundler_put(&g->b, &op, not_before);
}

/* row tile `k` of a block into a unit; returns its time */
static int push_tile(struct body *b, const struct transpose *x, const struct block *block, int unit,
                     int64_t k)
{
    int64_t rows, tile = row_source(x, block->slot, k, &rows);
    int v = rows ? load_rows(b, block->from + tile, rows, x->height) : V_ZERO;
    const struct isa_operand operand[] = {REG(v), IMM(block->width), IMM(x->height == 16)};

    return put_on_xlu(b->g, 0, k == 0                    ? OP_VXPOSE_START
                               : k + x->height == LANES ? OP_VXPOSE_END
                                                         : OP_VXPOSE_CONT, unit, 3, operand);
}

static void pop_tile(struct body *b, const struct block *block, int unit, int64_t tile, int to,
                     int not_before)
{
    int v = vector(b);
    const struct isa_operand operand[] = {REG(v)};

    put_on_xlu(b->g, not_before, OP_VPOP_TRF, unit, 1, operand);
    PUT(b->g, OP_VST, REG(to), IMM((block->to + tile) * TILE_ROWS), IMM(1), IMM(0xff), REG(v));
}

/* the pushes of a wave beside the results of another; -1: none */
static void put_wave(struct body *b, const struct transpose *x, int pushed, int popped, int to)
{
    int units = (int)b->g->chip->xlu_count;

    for (int64_t k = 0; k < LANES; k += x->height) {
        int at = 0;

        for (int unit = 0; unit < units && pushed >= 0; unit++)
            if (pushed * units + unit < x->blocks)
                at = push_tile(b, x, &x->block[pushed * units + unit], unit, k);
        for (int unit = 0; unit < units; unit++) {
            int i = popped * units + unit;

            if (popped >= 0 && i < x->blocks && k < x->block[i].width)
                pop_tile(b, &x->block[i], unit, k / x->height, to, at);
        }
    }
}

static void list_blocks(struct transpose *x, int64_t unroll, int64_t from_step, int64_t to_step,
                        int units)
{
    const struct conv_plan *p = x->p;

    x->blocks = 0;
    for (int64_t i = 0; i < unroll; i++)
        for (int slot = 0; slot < p->slots; slot++)
            for (int64_t l = 0; l < p->batch_tiles; l++) {
                int64_t width = within(p->groups * p->group_rows - l * LANES, LANES);
                int64_t to = slot * p->slot_stride + l * LANES / x->height;

                if (width > 0)
                    x->block[x->blocks++] = (struct block){slot, (int)width, i * from_step + l,
                                                           i * to_step + to};
            }
    x->waves = (x->blocks + units - 1) / units;
}

/*
 * The waves of a body. A wave's results come when the one after it has been
 * pushed, and are popped beside the one after that: the last LAG waves are
 * popped by the next body, from whose pointer theirs is kept apart. The first
 * body finds waves of zeros there, whose results are overwritten later.
 */
#define LAG 2

static void transpose_body(struct body *b, const struct transpose *x, int last_to)
{
    for (int wave = 0; wave < x->waves; wave++)
        put_wave(b, x, wave, wave < LAG ? x->waves - LAG + wave : wave - LAG,
                 wave < LAG ? last_to : b->to);
    PUT(b->g, OP_SMOV, REG(last_to), REG(b->to));
}

static void fill_with_zeros(struct body *b, const struct transpose *x)
{
    int units = (int)b->g->chip->xlu_count;

    for (int wave = x->waves - LAG; wave < x->waves; wave++)
        for (int64_t k = 0; k < LANES; k += x->height)
            for (int unit = 0; unit < units; unit++) {
                struct block none = {.slot = INT16_MAX, .width = x->block[0].width};

                if (wave * units + unit >= x->blocks)
                    continue;
                none.width = x->block[wave * units + unit].width;
                push_tile(b, x, &none, unit, k);
            }
}

static int64_t unroll_of(const struct conv_plan *p, int64_t count)
{
    int64_t unroll = within(BLOCKS_USUAL / (p->slots * p->batch_tiles), count);

    if (unroll < 1)
        return 1;
    while (count % unroll)
        unroll--;
    return unroll;
}

/* a body of one wave has none to overlap with: all of it is popped at once */
static void short_body(struct body *b, const struct transpose *x)
{
    for (int wave = 0; wave < x->waves; wave++) {
        put_wave(b, x, wave, -1, b->to);
        conv_end(b->g);
        conv_begin(b->g, NULL);
        put_wave(b, x, -1, wave, b->to);
    }
}

static void transpose_loops(struct conv_gen *g, struct transpose *x, struct nest *n,
                            struct body *b, int64_t from, int64_t to)
{
    bool is_short = x->waves < LAG;

    conv_begin(g, "transpose");
    PUT(g, OP_VMOV, REG(V_ZERO), IMM(0));
    PUT(g, OP_SMOV, REG(S_LAST_TO), IMM(to));
    if (!is_short)
        fill_with_zeros(b, x);
    conv_end(g);
    conv_begin(g, NULL);
    g->temp = S_COUNT;
    enter(g, n, conv_add(g, conv_buffer_row(g, WINDOW_LHS), conv_known(from)), to);
    b->from = S_FROM + n->levels;
    b->to = S_TO + n->levels;
    if (is_short)
        short_body(b, x);
    else
        transpose_body(b, x, S_LAST_TO);
    leave(g, n);
    if (is_short)
        return;
    conv_begin(g, NULL);
    for (int wave = x->waves - LAG; wave < x->waves; wave++)
        put_wave(b, x, -1, wave, S_LAST_TO);
    conv_end(g);
}

static void transpose_nest(struct conv_gen *g, struct transpose *x, int64_t first, int64_t end)
{
    const struct conv_plan *p = x->p;
    int64_t unit = LANES / x->height * x->w->pitch[BOX_ROWS], unroll;
    struct nest n = {0};
    struct body b = {.g = g};
    int64_t extent[CONV_SPATIAL], from[CONV_SPATIAL];

    if (end <= first)
        return;
    for (int i = 0; i < CONV_SPATIAL; i++) {
        extent[i] = conv_places(p, i);
        from[i] = conv_place_step(p, i) * x->w->pitch[i];
    }
    unroll = unroll_of(p, extent[2]);
    add_level(&n, end - first, p->slots * unit * TILE_ROWS, p->feature_stride * TILE_ROWS);
    add_level(&n, extent[0], from[0] * TILE_ROWS, p->base[0] * TILE_ROWS);
    add_level(&n, extent[1], from[1] * TILE_ROWS, p->base[1] * TILE_ROWS);
    add_level(&n, extent[2] / unroll, unroll * from[2] * TILE_ROWS,
              unroll * p->base[2] * TILE_ROWS);
    x->features -= first * p->slots * LANES;
    list_blocks(x, unroll, from[2], p->base[2], (int)g->chip->xlu_count);
    transpose_loops(g, x, &n, &b,
                    first * p->slots * unit * TILE_ROWS,
                    p->rows_row + first * p->feature_stride * TILE_ROWS);
    x->features += first * p->slots * LANES;
}

void conv_transpose_rows(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    struct transpose x = {.p = p, .w = &p->window[WINDOW_LHS], .features = p->features_here};
    int64_t full;

    x.height = x.w->array->tile_rows;
    full = has_many_taps(p) ? 0 : within(x.features / (p->slots * LANES), p->feature_blocks);
    transpose_nest(g, &x, 0, full);
    transpose_nest(g, &x, full, p->feature_blocks);
}
