/*
 * The updates of a scatter that are single elements, one after the other in the order in which they
 * lie: each is put into its lane of its row of the panel.
 */
#include "stack/kernels/index/index_scatter.h"
#include "stack/kernels/index/index_update.h"

#include "base/units.h"

/* of an element: place and guards, by its index's numbers; what the vector ALUs share */
#define SCALAR_CYCLES 6
#define COMPONENT_SCALAR_CYCLES 4
#define COMPONENT_VECTOR_OPS 16
#define VECTOR_OPS 48
#define PART_CYCLES 12                  /* its bits of a word */

/*
 * A row's elements stand in lanes, and each goes to another lane. Turning them one by one, each would
 * wait for the cross-lane unit. The transpose of as many copies of the row as it has lanes brings
 * them apart at once: row i of it has element i in every lane.
 */
static void spread_row(struct scatter *s, int lanes)
{
    struct vcode *c = &s->w->code;
    int groups = (int)div_up(lanes, SCATTER_SUBLANES), copies = ARRAY_LANES / SCATTER_SUBLANES;
    int row = emit_vld(c, isa_rows_of(s->at, 0, 0, ISA_ALL_SUBLANES), SCATTER_REGION_UPDATES);

    for (int k = 0; k < copies; k++) {
        struct isa_op op = isa_vxpose_cont(0, row, groups * SCATTER_SUBLANES, VXPOSE_CONT_B32);

        op.code = (uint16_t)(k == 0 ? OP_VXPOSE_START : k == copies - 1 ? OP_VXPOSE_END
                                                                        : OP_VXPOSE_CONT);
        vcode_put(c, op);
    }
    for (int k = 0; k < groups; k++)
        emit_vst(c, isa_rows_at(NONE, s->spread_row + k * SCATTER_SUBLANES), emit_vpop_trf(c, 0),
                 SCATTER_REGION_SPREAD);
    vcode_begin_block(c);
}

int64_t scatter_spread_rows(const struct index_work *w)
{
    return w->has_whole_rows ? 0 : ARRAY_LANES;
}

/* `count` elements of the row at s->at whose word has `shift` bits below it */
static void update_elements(struct scatter *s, int count, struct isa_operand shift)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    struct isa_operand word[GRAPH_RANK_MAX][INDEX_BATCH], unused[INDEX_BATCH];
    int kept = m->next_sreg, temps, lanes = builder_lane_numbers(m);
    struct isa_operand spread = builder_reg(m);
    bool is_linear = s->updates->is_linear;
    int64_t end = is_linear ? shape_elems(&s->updates->shape) : s->updates->rows;

    emit_sadd(&w->code, spread.value, builder_and(m, s->lane, ARRAY_LANES - 1), I(s->spread_row));
    index_batch_registers(w, count, word, unused);
    if (is_linear)
        scatter_load_batch(s, 0, s->lane, (end - 1) / count * count, count, word);
    else
        scatter_load_batch(s, s->updates->row_dim, s->row, end - 1, count, word);
    temps = m->next_sreg;
    for (int u = 0; u < count; u++) {
        struct isa_operand one[GRAPH_RANK_MAX], at;
        int pred = SCATTER_PRED + 2 * (u & 1), old, new, here;
        struct index_part part = {.new_shift = shift};
        struct index_spot spot;
        bool has_pred;

        m->next_sreg = temps;
        for (int k = 0; k < w->components; k++)
            one[k] = word[k][u];
        index_spot(w, s->fast_dim, u, one, pred, &spot);
        has_pred = spot.is_inside.kind == OPERAND_REG;
        if (is_linear ? end % ARRAY_LANES || s->updates->rows % s->tile_rows
                      : end % s->tile_rows)
            has_pred = scatter_check_end(s, is_linear ? s->lane : s->row, is_linear ? u : 0, end,
                                         pred, has_pred);
        part.old_shift = builder_mul(m, spot.part, w->element_bits);
        at = scatter_target_row(s, &spot,
                                builder_add(m, spot.tile, builder_shift(m, spot.lane, -7)), pred,
                                has_pred);
        here = emit_vcmp_eq_s32(m->code, R(lanes),
                                R(builder_splat(m, builder_and(m, spot.lane, ARRAY_LANES - 1))));
        new = emit_vld(&w->code, isa_rows_of(spread, u, 1, 1), SCATTER_REGION_SPREAD);
        old = emit_vld(&w->code, isa_rows_of(at, 0, 1, 1), SCATTER_REGION_PANEL);
        scatter_store_rows(w, isa_rows_of(at, 0, SCATTER_SUBLANES, 1),
                           index_update(w, old, new, &part, here), pred);
    }
    m->next_sreg = kept;
}

static void update_lanes(struct scatter *s, int count, struct isa_operand shift)
{
    struct index_work *w = s->w;
    int batch = index_batch(w);

    for (int first = 0; first < count; first += batch) {
        int some = count - first < batch ? count - first : batch;

        vcode_begin_block(&w->code);
        update_elements(s, some, shift);
        builder_advance(&w->m, s->lane, some);
    }
    vcode_begin_block(&w->code);
}

/* one row of the updates' tile at s->at: the lanes that it has */
static void update_row_elements(struct scatter *s, int lanes, struct isa_operand shift)
{
    struct builder *m = &s->w->m;
    int kept = m->next_sreg;

    spread_row(s, lanes);
    if (lanes / INDEX_BATCH) {
        struct isa_operand counter = builder_loop_begin(m, lanes / INDEX_BATCH);

        update_lanes(s, INDEX_BATCH, shift);
        builder_loop_end(m, counter);
        m->next_sreg = kept;
    }
    if (lanes % INDEX_BATCH)
        update_lanes(s, lanes % INDEX_BATCH, shift);
}

/* row q of a word: tiles that are whole, then the lanes of one more */
static void update_part_row(struct scatter *s, int q, int64_t whole, int rest)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    struct isa_operand shift = I(q * w->element_bits);
    int kept = m->next_sreg;

    if (!s->updates->is_linear)
        builder_set(m, s->lane, I(0));
    if (whole) {
        struct isa_operand counter = builder_loop_begin(m, whole);

        update_row_elements(s, ARRAY_LANES, shift);
        builder_advance(m, s->at, SCATTER_SUBLANES);
        builder_loop_end(m, counter);
        m->next_sreg = kept;
    }
    if (rest)
        update_row_elements(s, rest, shift);
    builder_advance(m, s->at, -whole * SCATTER_SUBLANES);
    builder_advance(m, s->row, 1);
}

void scatter_elements(struct scatter *s, struct extent e)
{
    struct index_work *w = s->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg, words = e.rows / w->pack;
    bool is_linear = s->updates->is_linear;
    int64_t whole = is_linear ? 1 : s->updates->lanes / ARRAY_LANES;
    int rest = is_linear ? 0 : (int)(s->updates->lanes % ARRAY_LANES);

    if (words) {
        struct isa_operand rows = builder_loop_begin(m, words);

        for (int q = 0; q < w->pack; q++)
            update_part_row(s, q, whole, rest);
        builder_advance(m, s->at, 1);
        builder_loop_end(m, rows);
        m->next_sreg = kept;
    }
    for (int q = 0; q < e.rows % w->pack; q++)
        update_part_row(s, q, whole, rest);
    if (e.rest)
        update_part_row(s, e.rows % w->pack, 0, e.rest);
    builder_advance(m, s->at, s->across * SCATTER_SUBLANES - words);
}

int64_t scatter_elements_cycles(const struct scatter *s, struct extent e)
{
    const struct array *u = s->updates;
    const struct chip *chip = s->w->job->chip;
    int64_t lanes = u->is_linear ? e.rows * ARRAY_LANES + e.rest : e.rows * u->lanes;
    int64_t rows = u->is_linear ? e.rows + (e.rest > 0) : e.rows * div_up(u->lanes, ARRAY_LANES);
    int64_t copies = ARRAY_LANES / SCATTER_SUBLANES, components = s->w->components;
    int64_t each = SCALAR_CYCLES + components * COMPONENT_SCALAR_CYCLES
                   + (VECTOR_OPS + components * COMPONENT_VECTOR_OPS) / chip->slots_valu
                   + (s->w->pack > 1 ? PART_CYCLES : 0);

    return lanes * each
           + rows * (chip->xlu_xpose_cycles + copies * (chip->xlu_xpose_issue_cycles +
                                                        chip->xlu_xpose_pop_cycles));
}
