/*
 * Products that loops over row tiles multiply: weights into the units before the loop, then tile by
 * tile. An *array* is what a gain register holds: `halves` tiles of 128 of the contraction by as many
 * of the columns. Each product of a loop has units of its own: those of one unit keep the order in
 * which rows are pushed, and a product behind another would hold up the next rows of the first.
 */
#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/mosaic/product.h"

#define GAINS 2


static int64_t arrays_along(const struct chip *chip, int64_t size)
{
    return div_up(div_up(size, TILE_LANES), chip_mxu_halves(chip));
}

static int64_t arrays_of(const struct chip *chip, const struct product *p)
{
    return arrays_along(chip, p->k) * arrays_along(chip, p->n);
}

int pulled_units(const struct chip *chip, const struct product *p)
{
    int64_t units = div_up(arrays_of(chip, p), GAINS);

    return units > INT16_MAX ? INT16_MAX : (int)units;
}

bool pulled_can(const struct chip *chip, const struct product *p)
{
    return p->batches == 1 && p->m >= 2 * TILE_ROWS && p->n > 1 &&
           matrix_rows(p->lhs_type) <= 2 * TILE_ROWS && matrix_rows(p->rhs_type) <= 2 * TILE_ROWS &&
           chip_matmul_cycles(chip, MATRIX_F32) && chip_push_cycles(chip, p->rhs_type) &&
           (p->is_rhs_transposed || p->k % matrix_rows(p->rhs_type) == 0) &&
           pulled_units(chip, p) <= chip->mxu_count;
}

/* ----- weights */

struct array_at {                       /* of a product: tiles where it begins */
    const struct pulled *p;
    int64_t depth, column;
    int unit, gain;
};

static int load_weights(struct lower *l, const struct place *w, int64_t row_tile, int64_t lane)
{
    return emit_vld(&l->code,
                    isa_rows_at(w->has_offset ? scalar_use(l, w->offset) : NONE,
                                w->base + row_tile * w->t.row_step + lane * w->t.lane_step),
                    w->region);
}

/* lanes beyond the contraction hold anything: they must be zeros on both sides */
static int without_padding(struct vcode *c, int v, int64_t left)
{
    opnd lane;

    if (left >= TILE_LANES)
        return v;
    lane = bit_and(c, R(emit_vlaneseq(c)), I(TILE_LANES - 1));
    return vcode_in_register(c, bit_and(c, R(v), choose(c, emit_vcmp_lt_s32(c, lane, I(left)),
                                                        I(-1), I(0))));
}

/* tile `group` of the array, and what stands beside it: rows of the contraction, or columns */
static void push_weights(struct lower *l, const struct array_at *a, int64_t group)
{
    const struct product *p = &a->p->p;
    struct vcode *c = &l->code;
    int64_t rows = matrix_rows(p->rhs_type), per = TILE_LANES / rows;
    int v, upper = -1;

    if (p->is_rhs_transposed) {
        int64_t left = p->k - a->depth * TILE_LANES;

        v = load_weights(l, &p->rhs, a->column * per + group, a->depth);
        v = without_padding(c, v, left);
        if (chip_mxu_halves(l->chip) > 1 && left > TILE_LANES) {
            upper = load_weights(l, &p->rhs, a->column * per + group, a->depth + 1);
            upper = without_padding(c, upper, left - TILE_LANES);
        }
    } else if (p->k <= a->depth * TILE_LANES + group * rows) {
        v = emit_vmov(c, I(0));
    } else {
        v = load_weights(l, &p->rhs, a->depth * per + group, a->column);
        if (chip_mxu_halves(l->chip) > 1 && (a->column + 1) * TILE_LANES < p->n)
            upper = load_weights(l, &p->rhs, a->depth * per + group, a->column + 1);
    }
    if (upper >= 0)
        emit_vmatprep_subr(c, a->unit, upper, (int)p->rhs_type);
    emit_vmatpush(c, a->unit, v, upper >= 0, (int)p->rhs_type, p->is_rhs_transposed, a->gain);
}

static int64_t groups_of(const struct lower *l, const struct array_at *a)
{
    const struct product *p = &a->p->p;
    int64_t all = chip_mxu_halves(l->chip) * TILE_LANES, left = p->n - a->column * TILE_LANES;

    if (p->is_rhs_transposed && left < all)
        all = left;
    return div_up(all, matrix_rows(p->rhs_type));
}

static struct array_at array_of(const struct tiler *t, const struct tile_product *use, int64_t i)
{
    const struct chip *chip = t->l->chip;
    int64_t across = arrays_along(chip, use->pulled->p.n);

    return (struct array_at){use->pulled, i / across * chip_mxu_halves(chip),
                             i % across * chip_mxu_halves(chip),
                             use->first_unit + (int)i % use->units, (int)i / use->units};
}

/* units that nobody needs go to who has the most arrays in each of its own */
static void share_units(struct tiler *t)
{
    int left = (int)t->l->chip->mxu_count - t->units_used, first = 0;

    for (; left > 0; left--) {
        struct tile_product *most = NULL;

        for (int i = 0; i < t->product_count; i++) {
            struct tile_product *p = &t->product[i];

            if (p->units < p->arrays && (!most || p->arrays * most->units > most->arrays * p->units))
                most = p;
        }
        if (!most)
            break;
        most->units++;
    }
    for (int i = 0; i < t->product_count; i++) {
        t->product[i].first_unit = first;
        first += t->product[i].units;
    }
}

bool pulled_load(struct tiler *t)
{
    struct lower *l = t->l;

    if (t->product_count == 0)
        return true;
    share_units(t);
    pallas_begin_block(l);
    for (int gain = 0; gain < GAINS; gain++)
        for (int64_t k = chip_mxu_halves(l->chip) * TILE_LANES / TILE_ROWS - 1; k >= 0; k--)
            for (int u = 0; u < t->product_count; u++)
                for (int64_t i = 0; i < t->product[u].arrays; i++) {
                    struct array_at a = array_of(t, &t->product[u], i);

                    if (a.gain == gain && k < groups_of(l, &a))
                        push_weights(l, &a, k);
                }
    pallas_begin_block(l);
    t->has_latched = false;
    return !l->is_failed;
}

/* a multiplication of zeros takes weights out of their staging register */
static void latch(struct lower *l, const struct array_at *a)
{
    struct vcode *c = &l->code;

    emit_vmatmul(c, a->unit, emit_vmov(c, I(0)), 0, MATRIX_F32, 1 + a->gain, a->gain);
    for (int i = 0; i < chip_mxu_halves(l->chip); i++)
        emit_vpop_mrf(c, a->unit, 0);
}

void pulled_latch(struct tiler *t, bool is_loop)
{
    if (t->product_count == 0 || t->has_latched)
        return;
    if (is_loop)
        vcode_latch_begin(&t->l->code);
    else
        pallas_begin_block(t->l);
    for (int u = 0; u < t->product_count; u++)
        for (int64_t i = 0; i < t->product[u].arrays; i++) {
            struct array_at a = array_of(t, &t->product[u], i);

            latch(t->l, &a);
        }
    t->has_latched = true;
    t->marks_latches = is_loop;
    scalar_forget(t->l);
}

/* ----- rows */

static const struct tile_product *use_of(struct tiler *t, const struct pulled *p)
{
    struct tile_product *use;
    int units = pulled_units(t->l->chip, &p->p);

    for (int i = 0; i < t->product_count; i++)
        if (t->product[i].pulled == p)
            return &t->product[i];
    if (t->product_count == TILE_PRODUCTS_MAX ||
        t->units_used + units > t->l->chip->mxu_count) {
        tile_fail(t, p->p.op, "a loop over its rows needs more weights than the matrix units hold");
        return NULL;
    }
    use = &t->product[t->product_count++];
    *use = (struct tile_product){.pulled = p, .first_unit = t->units_used, .units = units,
                                 .arrays = (int)arrays_of(t->l->chip, &p->p)};
    t->units_used += units;
    return use;
}

/* the left operand lies in memory as it is pushed: 16 rows of bf16 to a tile */
static const struct place *packed_rows(const struct tiler *t, const struct pulled *p,
                                       const struct tile_at *at)
{
    const struct place *lhs = p->has_lhs ? &p->p.lhs : &t->l->place[p->p.op->operand[0]->id];

    return lhs->is_there && lhs->t.element == MOSAIC_BF16 && lhs->t.rows == 2 * TILE_ROWS &&
                   place_is_plain(lhs) && t->parts % 2 == 0 && at->row % 2 == 0 &&
                   tile_down_of(lhs) % 2 == 0 && chip_matmul_cycles(t->l->chip, MATRIX_BF16)
               ? lhs : NULL;
}

/* ones in the lanes that the contraction's last tile has: made once an iteration */
static opnd lane_bits(struct tiler *t, int64_t count)
{
    const struct tile_at nowhere = {0};
    int id = INT32_MIN + (int)count;
    opnd bits;

    if (!tile_remembers(t, id, &nowhere, &bits)) {
        bits = choose(t->c, tile_lane_mask(t, count), I(-1), I(0));
        tile_remember(t, id, &nowhere, bits);
    }
    return bits;
}

static bool left_tile(struct tiler *t, const struct pulled *p, const struct place *packed,
                      const struct tile_at *at, int64_t depth, int *to)
{
    struct tile_at here = {.row = at->row, .lane = depth};
    opnd v;

    if (packed)
        v = R(tile_load_packed(t, packed, &here));
    else if (p->has_lhs)
        v = tile_load(t, &p->p.lhs, &here);
    else if (!tile_pull(t, p->p.op->operand[0], &here, &v))
        return false;
    if (p->p.k - depth * TILE_LANES < TILE_LANES) {
        v = R(vcode_in_register(t->c, v));
        v = bit_and(t->c, v, lane_bits(t, p->p.k % TILE_LANES));
    }
    *to = vcode_in_register(t->c, v);
    return !t->is_failed;
}

/* the first one of an iteration to use an array, in the first loop behind its weights */
static bool latches(struct tiler *t, const struct array_at *a)
{
    uint32_t bit = 1u << (a->unit * GAINS + a->gain);
    bool is_first = t->marks_latches && !(t->arrays_met & bit);

    t->arrays_met |= bit;
    return is_first;
}

/* rows at->row, and those of the next row tile where they lie in the same tiles, through all arrays */
static bool multiply(struct tiler *t, const struct pulled *p, const struct tile_at *at)
{
    const struct tile_product *use = use_of(t, p);
    const struct place *packed = packed_rows(t, p, at);
    int halves = chip_mxu_halves(t->l->chip), parts = packed ? 2 : 1, left[2];
    enum matrix_type type = packed ? MATRIX_BF16 : MATRIX_F32;
    int64_t across = div_up(p->p.n, TILE_LANES);
    opnd *sum = arena_array(t->l->a, (size_t)across * 2, sizeof(*sum));
    int64_t depth = -1;

    for (int64_t i = 0; use && i < use->arrays; i++) {
        struct array_at a = array_of(t, use, i);
        bool has_upper = halves > 1 && (a.depth + 1) * TILE_LANES < p->p.k;

        if (a.depth != depth)
            for (int h = 0; h <= has_upper; h++)
                if (!left_tile(t, p, packed, at, a.depth + h, &left[h]))
                    return false;
        depth = a.depth;
        if (has_upper)
            emit_vmatprep_mubr(t->c, a.unit, left[1], (int)type);
        vcode_put(t->c, isa_vmatmul(a.unit, left[0], has_upper, (int)type, 0, a.gain))->region =
            latches(t, &a) ? VCODE_LATCHES : 0;
    }
    for (int64_t i = 0; use && i < use->arrays; i++) {
        struct array_at a = array_of(t, use, i);

        for (int k = 0; k < parts * halves; k++) {
            opnd popped = R(emit_vpop_mrf(t->c, a.unit, 0));
            int64_t lane = a.column + k % halves;

            if (lane < across)
                sum[lane * 2 + k / halves] = a.depth ? add(t->c, sum[lane * 2 + k / halves], popped)
                                                     : popped;
        }
    }
    for (int64_t i = 0; use && i < across * parts; i++)
        tile_remember(t, ~p->p.op->result[0]->id,
                      &(struct tile_at){.row = at->row + i % parts, .lane = i / parts},
                      sum[i / parts * 2 + i % parts]);
    return use && !t->is_failed;
}

/* the first row, the first lane of a tile in all of it: who reads it broadcasts one row or column */
static opnd in_all(struct tiler *t, const struct tile_at *at, opnd v)
{
    if (at->all_lanes)
        v = R(emit_vbcast_lane(t->c, tile_unit(t), vcode_in_register(t->c, v), 0));
    return at->all_rows ? R(emit_vperm_slane(t->c, vcode_in_register(t->c, v), I(0))) : v;
}

bool pulled_tile(struct tiler *t, const struct pulled *p, const struct tile_at *at, opnd *out)
{
    struct tile_at plain = {.row = at->row, .lane = at->lane};
    int id = ~p->p.op->result[0]->id;

    if (!tile_remembers(t, id, &plain, out) &&
        (!multiply(t, p, &plain) || !tile_remembers(t, id, &plain, out)))
        return false;
    *out = in_all(t, at, *out);
    return true;
}
