/* Reductions along rows and outer dimensions, which give a vector that stands in memory, and elements
 * that leave vectors for the scalar unit. */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/lower_keep.h"
#include "stack/kernels/mosaic/tile.h"

#define LANE_TILES 4                    /* that a loop over rows keeps in registers */

struct reduction {
    const struct mosaic_op *op;
    const struct mosaic_value *from;
    const char *kind;
    enum mosaic_element element;
    int64_t first_lane, lanes;          /* tiles, of this loop */
    int64_t down, first_row;            /* row tiles of an outer index; the first one here */
    int64_t last_rows;                  /* rows of the last row tile; 0: 8 */
    int acc[LANE_TILES];                /* pinned registers */
    bool is_all;                        /* lanes, too: into acc[0] */
    int64_t last_lanes;                 /* of the last tile; 0: 128 */
};

/* a vector of one lane stands in all of them: those are not to be reduced */
static bool has_lanes(const struct lower *l, const struct reduction *r)
{
    return tile_layout_of(l, r->from).lane_dim >= 0 && tile_lane_count(l, r->from) > 1;
}

static bool add_rows(struct tiler *t, int64_t row, int64_t parts)
{
    struct reduction *r = t->user;
    opnd neutral;

    tile_neutral(r->kind, r->element, &neutral);
    for (int64_t p = 0; p < parts; p++)
        for (int64_t i = 0; i < r->lanes; i++) {
            struct tile_at at = {.row = r->first_row + row + p, .lane = r->first_lane + i,
                                 .all_lanes = r->is_all && !has_lanes(t->l, r)};
            opnd v;

            if (!tile_pull(t, r->from, &at, &v))
                return false;
            if (r->last_rows && at.row % r->down == r->down - 1 && !t->is_moving)
                v = choose(t->c, tile_row_mask(t, r->last_rows), v, neutral);
            if (r->last_lanes && at.lane == tile_lanes_across(t->l, r->from) - 1)
                v = choose(t->c, tile_lane_mask(t, r->last_lanes), v, neutral);
            v = tile_combine(t, r->kind, r->element, R(r->acc[r->is_all ? 0 : i]), v);
            vcode_put(t->c, isa_vmov(r->acc[r->is_all ? 0 : i], v));
        }
    return true;
}

/* all sublanes get what they give together */
static int across_sublanes(struct lower *l, const struct reduction *r, int v)
{
    struct tiler t = {.l = l, .c = &l->code};

    for (int by = TILE_ROWS / 2; by; by /= 2)
        v = vcode_in_register(&l->code,
                              tile_combine(&t, r->kind, r->element, R(v),
                                           R(emit_vrot_slane(&l->code, v, I(by)))));
    return v;
}

/* what is reduced into, for one outer index: `keeps` row by row, else a row */
static int reduce_outer(struct lower *l, struct reduction *r, const struct place *to, int64_t row,
                        int64_t rows_of_result)
{
    struct tiler t = {.l = l, .c = &l->code, .body = add_rows, .user = r};
    int64_t across = tile_lanes_across(l, r->from);
    opnd neutral;

    tile_neutral(r->kind, r->element, &neutral);
    if (r->is_all) {
        r->acc[0] = vcode_pinned_vreg(&l->code);
        vcode_put(&l->code, isa_vmov(r->acc[0], neutral));
    }
    for (int64_t lane = 0; lane < across; lane += LANE_TILES) {
        int status;

        r->first_lane = lane;
        r->lanes = across - lane < LANE_TILES ? across - lane : LANE_TILES;
        r->first_row = row * r->down;
        pallas_begin_block(l);
        for (int i = 0; i < r->lanes && !r->is_all; i++) {
            r->acc[i] = vcode_pinned_vreg(&l->code);
            vcode_put(&l->code, isa_vmov(r->acc[i], neutral));
        }
        if (r->last_rows && r->down > 1) {      /* the last row tile by itself */
            status = tile_loop(&t, r->down - 1, r->lanes);
            r->first_row += r->down - 1;
            status = status || tile_loop(&t, 1, r->lanes);
        } else {
            status = tile_loop(&t, r->down, r->lanes);
        }
        mem_free(t.memo);
        mem_free(t.loaded);
        tile_lives_fini(&t);
        t.memo = NULL;
        t.loaded = NULL;
        t.memo_count = t.memo_capacity = t.loaded_count = t.loaded_capacity = 0;
        if (status)
            return -1;
        pallas_begin_block(l);
        for (int i = 0; i < r->lanes && !r->is_all; i++) {
            int v = across_sublanes(l, r, vcode_in_register(&l->code, R(r->acc[i])));
            int64_t rows = to->t.row_dim < 0 ? 1 : to->t.dim[to->t.row_dim], in = row % rows;
            int64_t at = to->base + row / rows * div_up(rows, TILE_ROWS) * to->t.row_step +
                         in / TILE_ROWS * to->t.row_step + (lane + i) * to->t.lane_step;

            emit_vst(&l->code,
                     rows_of_result > 1 ? isa_rows_some(NONE, at, 1 << (in % TILE_ROWS))
                                        : isa_rows_at(NONE, at), v, to->region);
        }
        pallas_begin_block(l);
    }
    if (r->is_all) {
        struct tiler one = {.l = l, .c = &l->code};
        opnd all = R(across_sublanes(l, r, vcode_in_register(&l->code, R(r->acc[0]))));

        if (has_lanes(l, r) &&
            !tile_across_lanes(&one, r->op, all, &all))
            return -1;
        emit_vst(&l->code, isa_rows_at(NONE, to->base), vcode_in_register(&l->code, all),
                 to->region);
        pallas_begin_block(l);
    }
    return 0;
}

static bool is_neutral_start(const struct mosaic_op *op, opnd neutral)
{
    const struct mosaic_op *start = op->operand[1]->op;
    const struct mosaic_attr *a = start && start->code == MOSAIC_CONSTANT
                                      ? mosaic_attr(start, "value") : NULL;

    return a && a->kind == MOSAIC_ATTR_ELEMENTS && a->is_splat &&
           ((int32_t)a->element[0] == neutral.value ||
            (neutral.value == 0 && a->element[0] == 0x80000000u));
}

/* Along lanes it is pulled; along rows it is computed here. */
int pallas_multi_reduction(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0], *to = op->result[0];
    struct tile_layout layout = tile_layout_of(l, from);
    struct reduction r = {.op = op, .from = from, .kind = mosaic_text(op, "kind", ""),
                          .element = from->type.element};
    uint32_t mask = mosaic_reduced_dims(op);
    bool keeps = false;
    int64_t outer;
    struct place p;
    opnd neutral;

    if (to->type.kind != MOSAIC_VECTOR)
        return pallas_fail(l, op, "to a scalar");
    if ((layout.lane_dim >= 0 && mask == 1u << layout.lane_dim) || tile_outer_reduced(op) >= 0)
        return 0;
    if (!tile_neutral(r.kind, r.element, &neutral) || !is_neutral_start(op, neutral))
        return pallas_fail(l, op, "along rows, of kind \"%s\" and what it begins with", r.kind);
    for (int d = 0; d < from->type.rank; d++)
        if (!(mask >> d & 1) && from->type.dim[d] != 1)
            keeps = true;
    r.is_all = !keeps;
    if (r.is_all)
        r.last_lanes = tile_lane_count(l, from) > 1 ? tile_lane_count(l, from) % TILE_LANES : 0;
    if (layout.row_dim < 0 || (!r.is_all && (layout.lane_dim < 0 || mask != 1u << layout.row_dim)) ||
        (from->type.element != MOSAIC_F32 && from->type.element != MOSAIC_I32))
        return pallas_fail(l, op, "along other dimensions than the last two, one at a time");
    r.down = tile_down(l, from);
    r.last_rows = tile_row_count(l, from) % TILE_ROWS;
    outer = tile_rows_down(l, from) / r.down;
    if (root_settle_products(l, from) || root_flush(l) || keep_under(l, from))
        return -1;
    pallas_take_for(l, to);
    p = place_new(l, &to->type, op, "a reduction");
    pallas_take_for(l, NULL);
    p.is_spread = r.is_all;
    if (r.is_all && outer != 1)
        return pallas_fail(l, op, "of all of %d dimensions", from->type.rank);
    for (int64_t i = 0; i < outer; i++)
        if (reduce_outer(l, &r, &p, i, outer))
            return -1;
    l->place[to->id] = p;
    return 0;
}

/* ----- elements for the scalar unit */

/* the first element of a vector of one: the queue to the scalar unit takes that of a register */
int pallas_extract(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0];
    struct tiler t = {.l = l, .c = &l->code, .lane_index = -1, .row_index = -1, .run = 1};
    struct tile_at at = {.row = 0};
    struct place p;
    opnd v;
    int to;

    if (mosaic_elements(&from->type) != 1 || op->result[0]->type.kind != MOSAIC_SCALAR ||
        mosaic_element_bits(from->type.element) != 32 || from->type.element == MOSAIC_I1)
        return pallas_fail(l, op, "an element of a vector of several, or of narrow ones");
    if (root_materialize(l, from, &p))
        return -1;
    pallas_begin_block(l);
    if (p.has_offset)
        return pallas_fail(l, op, "of memory whose place is computed");
    if (from->type.element == MOSAIC_F32) {
        mem_free(t.loaded);
        return cell_extract(l, op, &p);
    }
    v = tile_load(&t, &p, &at);
    emit_vpush(&l->code, vcode_in_register(&l->code, v));
    to = scalar_register(l);
    vcode_put(&l->code, isa_spop(to));
    l->scalar[op->result[0]->id] = scalar_keep(l, R(to));
    mem_free(t.loaded);
    return 0;
}
