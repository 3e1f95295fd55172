/*
 * Transposed rows, made ready in VMEM by the cross-lane units: a nest of loops
 * over the places where rows of k begin.
 */
#include "base/units.h"
#include "stack/kernels/conv/conv_nest.h"

#define TILE_ROWS 8                     /* VMEM rows of a tile */
#define LANES ARRAY_LANES
#define BLOCKS_USUAL 16                 /* transposes in straight code */

static int64_t within(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* 128 of k by the lanes of one tile; when the section at hand has pushed it last, -1: not yet */
struct block { int slot, width; int64_t from, to; int pushed_at; };

struct transpose {
    const struct conv_plan *p;
    const struct conv_window *w;
    int64_t features;                   /* from the block's first on */
    int64_t height;                     /* rows of a tile */
    int64_t depth;                      /* of 128 rows those that any block has, in whole tiles */
    struct block block[CONV_TRANSPOSES_MAX];     /* of the body */
    int blocks, waves;                  /* a wave: a block for every unit */
};

/* the tile with rows k.. of a slot: tile of the window from the nest's; rows that are there */
static int64_t row_source(const struct transpose *x, int slot, int64_t k, int64_t *rows)
{
    const struct conv_plan *p = x->p;
    int64_t feature = slot * LANES + k, tile = 0;

    if (conv_has_many_taps(p)) {
        int64_t member = k / p->member_rows;

        feature = member < p->members && slot < p->slots ? k % p->member_rows : INT32_MAX;
        tile = (slot * p->members + member) * p->spread *
               p->shape.dim[p->along].tap_stride * x->w->pitch[p->along];
    }
    *rows = within(x->features - feature, x->height);
    return *rows ? tile + feature / x->height * x->w->pitch[BOX_ROWS] : 0;
}

/* a tile whose rows from `rows` on are zeros */
static int load_rows(struct nest_body *b, int64_t tile, int64_t rows, int64_t height)
{
    int v, last, sublanes = (int)(height == 16 ? rows / 2 : rows);

    if (rows == height || height == 8 || rows % 2 == 0)
        return conv_nest_load(b, tile, rows == height ? 0xff : (1 << sublanes) - 1);
    last = conv_nest_load(b, tile, 1 << sublanes);
    bundler_add(&b->g->b, isa_vand_u32(last, R(last), I(0xffff)));
    if (sublanes == 0)
        return last;
    v = conv_nest_load(b, tile, (1 << sublanes) - 1);
    bundler_add(&b->g->b, isa_vor_u32(v, R(v), R(last)));
    return v;
}

/* row tile `k` of a block into a unit, at `not_before` or later; returns its time */
static int push_tile(struct nest_body *b, const struct transpose *x, const struct block *block,
                     int unit, int64_t k, int not_before)
{
    int64_t rows, tile = row_source(x, block->slot, k, &rows);
    int v = rows ? load_rows(b, block->from + tile, rows, x->height) : NEST_V_ZERO;
    struct isa_op op = isa_vxpose_cont(unit, v, block->width, x->height == 16);
    bool is_end = k + x->height == x->depth;

    op.code = k > 0    ? (is_end ? OP_VXPOSE_END : OP_VXPOSE_CONT)
              : is_end ? OP_VXPOSE_ONE
                       : OP_VXPOSE_START;
    return bundler_add_after(&b->g->b, not_before, op);
}

/* returns the time of the pop */
static int pop_tile(struct nest_body *b, const struct block *block, int unit, int64_t tile, int to,
                    int not_before)
{
    int v = conv_nest_vector(b);
    int at = bundler_add_after(&b->g->b, not_before, isa_vpop_trf(unit, v));

    bundler_add(&b->g->b, isa_vst(isa_rows_at(R(to), (block->to + tile) * TILE_ROWS), v));
    return at;
}

/* of the blocks of wave `wave`, row tile k; returns the time of the last push */
static int push_row(struct nest_body *b, struct transpose *x, int wave, int64_t k,
                    const int *not_before)
{
    int units = (int)b->g->chip->xlu_count, at = 0;

    for (int unit = 0; unit < units && wave >= 0; unit++)
        if (wave * units + unit < x->blocks) {
            struct block *block = &x->block[wave * units + unit];

            at = block->pushed_at = push_tile(b, x, block, unit, k, not_before[unit]);
        }
    return at;
}

/*
 * The pushes of a wave beside the results of another; -1: none. A transpose is
 * ended once those results have left, for its own need their room. Where it is one row tile, no
 * push of this wave stands before those results, and they are put behind their own pushes.
 */
static void put_wave(struct nest_body *b, struct transpose *x, int pushed, int popped, int to)
{
    static const int at_once[ISA_UNIT_MAX];
    int units = (int)b->g->chip->xlu_count, behind[ISA_UNIT_MAX] = {0};

    for (int64_t k = 0; k < LANES; k += x->height) {
        int at = k + x->height < x->depth ? push_row(b, x, pushed, k, at_once) : 0;

        for (int unit = 0; unit < units; unit++) {
            int i = popped * units + unit, after = at;

            if (popped < 0 || i >= x->blocks || k >= x->block[i].width)
                continue;
            if (x->depth == x->height && after <= x->block[i].pushed_at)
                after = x->block[i].pushed_at + 1;
            behind[unit] = 1 + pop_tile(b, &x->block[i], unit, k / x->height, to, after);
        }
    }
    push_row(b, x, pushed, x->depth - x->height, behind);
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
                                                           i * to_step + to, -1};
            }
    x->waves = (x->blocks + units - 1) / units;
}

/*
 * The waves of a body. A wave's results come when the one after it has been
 * pushed, and are popped beside the one after that: the last POP_DELAY waves are
 * popped by the next body, from whose pointer theirs is kept apart. The first
 * body finds waves of zeros there, whose results are overwritten later.
 */
#define POP_DELAY 2

static void transpose_body(struct nest_body *b, struct transpose *x, int last_to)
{
    for (int wave = 0; wave < x->waves; wave++)
        put_wave(b, x, wave, wave < POP_DELAY ? x->waves - POP_DELAY + wave : wave - POP_DELAY,
                 wave < POP_DELAY ? last_to : b->to);
    bundler_add(&b->g->b, isa_smov(last_to, R(b->to)));
}

static void fill_with_zeros(struct nest_body *b, const struct transpose *x)
{
    int units = (int)b->g->chip->xlu_count;

    for (int wave = x->waves - POP_DELAY; wave < x->waves; wave++)
        for (int64_t k = 0; k < x->depth; k += x->height)
            for (int unit = 0; unit < units; unit++) {
                struct block none = {.slot = INT16_MAX, .width = x->block[0].width};

                if (wave * units + unit >= x->blocks)
                    continue;
                none.width = x->block[wave * units + unit].width;
                push_tile(b, x, &none, unit, k, 0);
            }
}

/* rest of a dimension of `count` places in bodies of `unroll`, too short to pop beside pushes */
static bool has_short_rest(const struct conv_plan *p, int64_t count, int64_t unroll)
{
    int64_t rest = count % unroll * p->slots * p->batch_tiles;

    return rest && rest < POP_DELAY * (int64_t)p->chip->xlu_count;
}

/*
 * Places of a body. A divisor of their number needs no second nest for the rest; of a number that
 * has none near, as 59 rows of an image with their border, the rest is a nest of its own.
 */
static int64_t unroll_of(const struct conv_plan *p, int64_t count)
{
    int64_t usual = within(BLOCKS_USUAL / (p->slots * p->batch_tiles), count), unroll = usual;

    if (usual <= 1)
        return 1;
    while (count % unroll)
        unroll--;
    if (2 * unroll >= usual)
        return unroll;
    for (int64_t i = usual; 2 * i >= usual && i > 1; i--)
        if (!has_short_rest(p, count, i))
            return i;
    return unroll;
}

/* a section ends: the next one pops what it has pushed whenever that was */
static void forget_pushes(struct transpose *x)
{
    for (int i = 0; i < x->blocks; i++)
        x->block[i].pushed_at = -1;
}

/* a body of one wave has none to overlap with: all of it is popped at once */
static void short_body(struct nest_body *b, struct transpose *x)
{
    for (int wave = 0; wave < x->waves; wave++) {
        put_wave(b, x, wave, -1, b->to);
        conv_end(b->g);
        forget_pushes(x);
        conv_begin(b->g, NULL);
        put_wave(b, x, -1, wave, b->to);
    }
}

static void transpose_loops(struct conv_gen *g, struct transpose *x, struct conv_nest *n,
                            struct nest_body *b, int64_t from, int64_t to)
{
    bool is_short = x->waves < POP_DELAY;

    conv_begin(g, "transpose");
    bundler_add(&g->b, isa_vmov(NEST_V_ZERO, I(0)));
    bundler_add(&g->b, isa_smov(NEST_OTHER, I(to)));
    if (!is_short)
        fill_with_zeros(b, x);
    conv_end(g);
    conv_begin(g, NULL);
    g->temp = NEST_COUNT;
    conv_nest_enter(g, n, conv_add(g, conv_buffer_row(g, WINDOW_LHS), conv_known(from)), to);
    b->from = NEST_FROM + n->levels;
    b->to = NEST_TO + n->levels;
    if (is_short)
        short_body(b, x);
    else
        transpose_body(b, x, NEST_OTHER);
    conv_nest_leave(g, n);
    if (is_short)
        return;
    forget_pushes(x);
    conv_begin(g, NULL);
    for (int wave = x->waves - POP_DELAY; wave < x->waves; wave++)
        put_wave(b, x, -1, wave, NEST_OTHER);
    conv_end(g);
}

/* where the places along each spatial dimension begin in the window, and in the rows made */
struct places { int64_t count, from, to; };

/* a nest over `first` .. of blocks of features, places `skip` .. of dimension `inner` in bodies */
static void transpose_places(struct conv_gen *g, struct transpose *x, int64_t first, int64_t end,
                             const struct places *at, int inner, int64_t skip, int64_t count,
                             int64_t unroll)
{
    const struct conv_plan *p = x->p;
    int64_t unit = LANES / x->height * x->w->pitch[BOX_ROWS];
    struct conv_nest n = {0};
    struct nest_body b = {.g = g};

    conv_nest_level(&n, end - first, p->slots * unit * TILE_ROWS, p->feature_stride * TILE_ROWS);
    for (int i = 0; i < CONV_SPATIAL; i++)
        if (i != inner)
            conv_nest_level(&n, at[i].count, at[i].from * TILE_ROWS, at[i].to * TILE_ROWS);
    conv_nest_level(&n, count / unroll, unroll * at[inner].from * TILE_ROWS,
                    unroll * at[inner].to * TILE_ROWS);
    list_blocks(x, unroll, at[inner].from, at[inner].to, (int)g->chip->xlu_count);
    transpose_loops(g, x, &n, &b,
                    (first * p->slots * unit + skip * at[inner].from) * TILE_ROWS,
                    p->rows_row + (first * p->feature_stride + skip * at[inner].to) * TILE_ROWS);
}

static void transpose_nest(struct conv_gen *g, struct transpose *x, int64_t first, int64_t end)
{
    const struct conv_plan *p = x->p;
    struct places at[CONV_SPATIAL];
    int64_t unroll, whole;
    int inner = CONV_SPATIAL - 1;

    if (end <= first)
        return;
    for (int i = 0; i < CONV_SPATIAL; i++)
        at[i] = (struct places){conv_places(p, i), conv_place_step(p, i) * x->w->pitch[i],
                                p->base[i]};
    while (inner > 0 && at[inner].count == 1)
        inner--;
    unroll = unroll_of(p, at[inner].count);
    whole = at[inner].count / unroll * unroll;
    x->features -= first * p->slots * LANES;
    x->depth = round_up(conv_has_many_taps(p) ? p->members * p->member_rows
                                              : within(x->features, LANES), x->height);
    transpose_places(g, x, first, end, at, inner, 0, whole, unroll);
    if (whole < at[inner].count)
        transpose_places(g, x, first, end, at, inner, whole, at[inner].count - whole,
                         at[inner].count - whole);
    x->features += first * p->slots * LANES;
}

void conv_transpose_rows(struct conv_gen *g)
{
    const struct conv_plan *p = g->p;
    struct transpose x = {.p = p, .w = &p->window[WINDOW_LHS], .features = p->features_here};
    int64_t full;

    x.height = x.w->array->tile_rows;
    full = conv_has_many_taps(p) ? 0 : within(x.features / (p->slots * LANES), p->feature_blocks);
    transpose_nest(g, &x, 0, full);
    transpose_nest(g, &x, full, p->feature_blocks);
}
