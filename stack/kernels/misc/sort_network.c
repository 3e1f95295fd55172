/*
 * Batcher's bitonic sorting network on tiles in VMEM: partners in one tile are brought together by
 * permutes, others by loads.
 */
#include "stack/kernels/misc/sort_network.h"

#define TILE_ROWS 8
#define UNROLLED_PAIRS 4
#define REGION_WORK 1

enum { SREG_AT, SREG_TILE, SREG_FALLS, SREG_OUTER, SREG_INNER };

int sort_low_bits(enum sort_along along)
{
    static const int bits[] = {[SORT_LANES] = 7, [SORT_SUBLANES] = 3, [SORT_TILES] = 0,
                               [SORT_ELEMENTS] = 10};

    return bits[along];
}

int sort_position(struct builder *m, enum sort_along along)
{
    if (along == SORT_TILES)
        return emit_vmov(m->code, I(0));
    if (along != SORT_ELEMENTS)
        return along == SORT_LANES
                   ? emit_vand_u32(m->code, R(emit_vlaneseq(m->code)), I(ARRAY_LANES - 1))
                   : emit_vshrl_u32(m->code, R(emit_vlaneseq(m->code)), I(7));
    return emit_vlaneseq(m->code);
}

/* ----- tiles in registers */

struct elements { int v[SORT_ARRAYS_MAX]; };

static int64_t array_rows(const struct sort_network *s) { return s->stride * TILE_ROWS; }

static void load(const struct sort_network *s, int64_t offset, struct elements *x)
{
    for (int i = 0; i < s->arrays; i++) {
        x->v[i] = emit_vld(s->m->code, isa_rows_at(R(SREG_AT), i * array_rows(s) + offset),
                           REGION_WORK + i);
    }
}

static void store(const struct sort_network *s, int64_t offset, const struct elements *x)
{
    for (int i = 0; i < s->arrays; i++)
        emit_vst(s->m->code, isa_rows_at(R(SREG_AT), i * array_rows(s) + offset), x->v[i],
                 REGION_WORK + i);
}

/* mask: a comes before b */
static int before(const struct sort_network *s, const struct elements *a,
                  const struct elements *b)
{
    struct builder *m = s->m;
    int less = emit_vcmp_lt_s32(m->code, R(a->v[0]), R(b->v[0]));
    int same = emit_vcmp_eq_s32(m->code, R(a->v[0]), R(b->v[0]));
    int first = emit_vcmp_lt_s32(m->code, R(a->v[1]), R(b->v[1]));

    return emit_vmor(m->code, less, emit_vmand(m->code, same, first));
}

static int select(const struct sort_network *s, int mask, int a, int b)
{
    return emit_vsel(s->m->code, mask, R(a), R(b));
}

/* ----- partners in one tile */

static int permuted(const struct sort_network *s, int v, int bit, int by, int unit)
{
    struct vcode *c = s->m->code;
    int32_t pattern = 0;

    if (by >= 0)
        return emit_vperm(c, unit, v, by);
    for (int i = 0; i < TILE_ROWS; i++)
        pattern |= (int32_t)((uint32_t)(i ^ (1 << bit)) << (4 * i));
    return emit_vperm_slane(c, v, I(pattern));
}

/* 1 where the larger of the pair belongs; size: bit of the number that turns the order */
static int wants_large(const struct sort_network *s, int position, int bit, int size)
{
    struct builder *m = s->m;
    int low = sort_low_bits(s->along);
    int here = emit_vshrl_u32(m->code, R(position), I(bit));
    int falls = size < low ? emit_vshrl_u32(m->code, R(position), I(size))
                           : builder_splat(m, R(SREG_FALLS));

    return emit_vand_u32(m->code, R(emit_vxor_u32(m->code, R(here), R(falls))), I(1));
}

/*
 * Mask: a comes before b, or the other way round where `turned` is 1. The turn is a vector, not a
 * mask: it is ready long before a and b are, and masks are few.
 */
static int before_or_turned(const struct sort_network *s, const struct elements *a,
                            const struct elements *b, int turned)
{
    struct builder *m = s->m;
    int is_before = emit_vsel(m->code, before(s, a, b), I(1), I(0));

    return emit_vcmp_ne_s32(m->code, R(is_before), R(turned));
}

static void exchange_inside(const struct sort_network *s, struct elements *x, int position,
                            int bit, int size)
{
    struct builder *m = s->m;
    bool is_lane = s->along == SORT_LANES || (s->along == SORT_ELEMENTS && bit < 7);
    int by = is_lane ? emit_vxor_u32(
                           m->code,
                           R(emit_vand_u32(m->code, R(emit_vlaneseq(m->code)), I(ARRAY_LANES - 1))),
                           I(1 << bit))
                     : -1;
    int sublane_bit = s->along == SORT_ELEMENTS ? bit - 7 : bit, stays;
    struct elements other;

    for (int i = 0; i < s->arrays; i++)
        other.v[i] = permuted(s, x->v[i], sublane_bit, by, i % (int)m->chip->xlu_count);
    /* stays: the smaller one where that belongs, the larger one elsewhere */
    stays = before_or_turned(s, x, &other, wants_large(s, position, bit, size));
    for (int i = 0; i < s->arrays; i++)
        x->v[i] = select(s, stays, x->v[i], other.v[i]);
}

/* SREG_FALLS = bit `bit` of the tile's number, which goes on; the last merge rises throughout */
static void next_tile(const struct sort_network *s, int bit, int64_t step)
{
    struct vcode *c = s->m->code;

    if (bit + sort_low_bits(s->along) == s->bits)
        return;
    emit_sshrl(c, SREG_FALLS, R(SREG_TILE), I(bit));
    emit_sand(c, SREG_FALLS, R(SREG_FALLS), I(1));
    emit_sadd(c, SREG_TILE, R(SREG_TILE), I(step));
}

/* exchanges at bits below `end` down to `first`, which stay in a tile, of a merge to 2^size */
static void stages_inside(const struct sort_network *s, int first, int end, int size)
{
    struct vcode *c = s->m->code;
    int low = sort_low_bits(s->along), position;
    struct elements x;

    vcode_begin_block(c);
    emit_smov(c, SREG_AT, I(s->row));
    emit_smov(c, SREG_TILE, I(0));
    emit_smov(c, SREG_FALLS, I(0));
    vcode_loop_begin(c, SREG_OUTER, s->tiles);
    if (size >= low)
        next_tile(s, size - low, 1);
    position = sort_position(s->m, s->along);
    load(s, 0, &x);
    for (int bit = end - 1; bit >= first; bit--)
        exchange_inside(s, &x, position, bit, size);
    store(s, 0, &x);
    vcode_loop_step(c, SREG_AT, TILE_ROWS);
    vcode_loop_end(c, SREG_OUTER);
}

/*
 * Lanes go through the cross-lane unit, whose latency is long: a loop for each bit, whose rounds
 * overlap. Sublanes turn in the vector ALUs: one loop for all of them.
 */
static void all_inside(const struct sort_network *s, int end, int size)
{
    int lanes = s->along == SORT_LANES || s->along == SORT_ELEMENTS ? 7 : 0;

    if (end > lanes)
        stages_inside(s, lanes, end, size);
    for (int bit = end < lanes ? end : lanes; bit > 0; bit--)
        stages_inside(s, bit - 1, bit, size);
}

/* ----- partners in two tiles */

static void exchange_tiles(const struct sort_network *s, int64_t offset, int64_t apart)
{
    struct elements a, b;
    int swap;

    load(s, offset, &a);
    load(s, offset + apart, &b);
    swap = before_or_turned(s, &b, &a, builder_splat(s->m, R(SREG_FALLS)));
    for (int i = 0; i < s->arrays; i++) {
        int low = select(s, swap, b.v[i], a.v[i]);

        b.v[i] = select(s, swap, a.v[i], b.v[i]);
        a.v[i] = low;
    }
    store(s, offset, &a);
    store(s, offset + apart, &b);
}

/* tiles whose numbers differ in bit `bit`, of a merge to 2^size tiles; few of them: unrolled */
static void stage_of_near(const struct sort_network *s, int bit, int size)
{
    struct vcode *c = s->m->code;
    int64_t pairs = (int64_t)1 << bit;

    vcode_loop_begin(c, SREG_OUTER, s->tiles / (2 * pairs));
    next_tile(s, size, 2 * pairs);
    for (int64_t i = 0; i < pairs; i++)
        exchange_tiles(s, i * TILE_ROWS, pairs * TILE_ROWS);
    vcode_loop_step(c, SREG_AT, 2 * pairs * TILE_ROWS);
    vcode_loop_end(c, SREG_OUTER);
}

static void stage_of_far(const struct sort_network *s, int bit, int size)
{
    struct vcode *c = s->m->code;
    int64_t pairs = (int64_t)1 << bit;

    vcode_loop_begin(c, SREG_OUTER, s->tiles / (2 * pairs));
    next_tile(s, size, 2 * pairs);
    vcode_loop_begin(c, SREG_INNER, pairs);
    exchange_tiles(s, 0, pairs * TILE_ROWS);
    vcode_loop_step(c, SREG_AT, TILE_ROWS);
    vcode_loop_end(c, SREG_INNER);
    emit_sadd(c, SREG_AT, R(SREG_AT), I(pairs * TILE_ROWS));
    vcode_loop_end(c, SREG_OUTER);
}

static void stage_of_tiles(const struct sort_network *s, int bit, int size)
{
    struct vcode *c = s->m->code;

    vcode_begin_block(c);
    emit_smov(c, SREG_AT, I(s->row));
    emit_smov(c, SREG_TILE, I(0));
    emit_smov(c, SREG_FALLS, I(0));
    if ((int64_t)1 << bit <= UNROLLED_PAIRS)
        stage_of_near(s, bit, size);
    else
        stage_of_far(s, bit, size);
}

/* merges of 2, 4, … elements, rising and falling in turn; the last one rises */
void sort_network(const struct sort_network *s)
{
    int low = sort_low_bits(s->along);

    for (int size = 1; size <= s->bits; size++) {
        int inside = size < low ? size : low;

        for (int bit = size - 1; bit >= low; bit--)
            stage_of_tiles(s, bit - low, size - low);
        all_inside(s, inside, size);
    }
    vcode_begin_block(s->m->code);
}
