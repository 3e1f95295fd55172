/*
 * Loop fusions: columns as rows.
 *
 * A value of the rows alone, in registers, takes one for 8 elements, each in all lanes of its
 * sublane; in memory 128 of them lie in a row. Where what is computed of such values only goes
 * into results that lie so, or comes from operands that do, a phase takes them as they lie, 128 in
 * a register (the same in all sublanes). A sum over one tile of lanes gets there by a store of its
 * diagonal into one row; what is spread over the lanes is spread as it is kept.
 */
#include "stack/kernels/loop/loop_nest.h"

#define ROWS_PER_TILE 8
#define LANES_MASK (1u << AXIS_LANES)
#define LANE_BITS 7
#define LATE_OPS_MAX 640                /* of a block of 128 rows */

static uint32_t column_mask(const struct loop_plan *p) { return p->full_mask & ~LANES_MASK; }

static bool lies_in_rows(const struct loop_array *a)
{
    return !a->is_tiled && a->lane_axis == AXIS_ROWS && a->row_axis != AXIS_ROWS && a->smem < 0;
}

/* a value of the rows of which the phase has no more than one register for 128 */
static bool takes_node(const struct loop_plan *p, int node)
{
    const struct graph *g = &p->body;
    const struct graph_node *n = &g->node[node];
    bool is_kept_behind = p->is_kept[node] && p->level[node] > 0;

    for (int k = 0; k < n->operand_count; k++)
        if (p->is_lifted[n->operand[k]])
            return false;
    switch (n->op) {
    case HLO_PARAMETER:
        return lies_in_rows(&p->array[p->array_of[node]]);
    case HLO_BROADCAST:
        return p->mask[n->operand[0]] == p->mask[node]
               || !(p->mask[n->operand[0]] >> AXIS_ROWS & 1);
    case HLO_REDUCE:
        return loop_reduced_axes(p, node) == LANES_MASK && loop_sums_lanes(p, node)
               && n->shape.dtype == DTYPE_F32 && g->node[n->operand[0]].shape.dtype == DTYPE_F32
               && !p->is_kept[node];
    default:
        return fused_is_elementwise(n) && !is_kept_behind;
    }
}

/* steps, blocks and arrays have whole rows of 128 */
static bool has_whole_rows(const struct loop_plan *p)
{
    const struct loop_axis *x = &p->axis[AXIS_ROWS];
    int64_t chunk = loop_chunk_units(p);

    return !p->is_linear && p->axis[AXIS_LANES].units == 1 && chunk > 1 && x->box % chunk == 0
           && x->units % chunk == 0 && x->elements % ARRAY_LANES == 0 && loop_has_chunks(p)
           && !loop_nest_has_edge(p, AXIS_ROWS);
}

bool loop_goes_by_rows(const struct loop_plan *p, uint32_t mask)
{
    if (mask != column_mask(p) || !has_whole_rows(p))
        return false;
    for (int i = 0; i < p->body.node_count; i++) {
        const struct graph_node *n = &p->body.node[i];

        if (p->mask[i] == mask && !takes_node(p, i))
            return false;
        if (n->op == HLO_REDUCE && p->mask[n->operand[0]] == mask)
            return false;
    }
    for (int i = 0; i < p->body.output_count; i++)
        if (p->mask[p->body.output[i].node] == mask
            && !lies_in_rows(&p->array[p->operand_count + i]))
            return false;
    return true;
}

bool loop_is_row(const struct loop_plan *p, int reduce)
{
    return p->mask[reduce] == column_mask(p) && loop_reduced_axes(p, reduce) == LANES_MASK
           && loop_goes_by_rows(p, p->mask[reduce]);
}

/* ----- sums: rows of scratch, as the units of the box follow each other */

/* the first element of the unit in hand, counted over all rows of the box */
static struct loop_sval first_element(struct loop_nest *n)
{
    const struct loop_plan *p = n->p;
    int64_t stride[LOOP_AXIS_MAX] = {0}, next = p->axis[AXIS_ROWS].unit_elements;

    for (int a = AXIS_ROWS; a < p->axis_count; a++) {
        stride[a] = next;
        next *= p->axis[a].box;
    }
    return loop_nest_row(n, -1, 0, stride, column_mask(p));
}

/* blocks begin at every 128th row: lanes are known when code is made */
static struct loop_sval lane_of(struct loop_nest *n, struct loop_sval first)
{
    if (n->is_chunked)
        return (struct loop_sval){-1, first.add % ARRAY_LANES};
    return loop_sval_masked(n, first, ARRAY_LANES - 1);
}

/* the 128 rows in which element `first` lies */
static struct loop_sval chunk_of(struct loop_nest *n, struct loop_sval first)
{
    struct loop_sval chunk;

    if (!n->is_chunked)
        return loop_sval_shifted(n, first, LANE_BITS);
    chunk = loop_sval_shifted(n, (struct loop_sval){first.sreg, 0}, LANE_BITS);
    chunk.add += first.add / ARRAY_LANES;
    return chunk;
}

/* the row of scratch in which the unit's sums lie */
static struct loop_sval row_of_sum(struct loop_nest *n, int reduce, struct loop_sval first)
{
    struct loop_sval row = chunk_of(n, first);

    row.add += loop_scratch_row(n->p) + n->p->sum_row[reduce];
    return row;
}

/* lane - sublane - 8 x part is the unit's first lane: where a column's values lie in their row */
static int diagonal_of_unit(struct loop_nest *n, int part, struct loop_sval first)
{
    struct vcode *c = n->code;
    struct isa_operand lane;

    if (n->column_place[part] >= 0)
        return n->column_place[part];
    first.add += part * ROWS_PER_TILE;
    lane = loop_sval_vector(n, lane_of(n, first));
    return n->column_place[part] = emit_vcmp_eq_s32(c, R(loop_diagonal(n)), lane);
}

void loop_store_row_of_sum(struct loop_nest *n, int reduce)
{
    struct loop_sval first = first_element(n);
    struct fused_value sum;

    loop_sum_lanes(n, reduce, &sum);
    for (int i = 0; i < loop_parts(n->p, n->mask); i++) {
        int here = diagonal_of_unit(n, i, first);
        struct loop_sval row = row_of_sum(n, reduce, first);

        emit_vst_msk(n->code, isa_rows_apart(operand_base(row.sreg), row.add, 0), here,
                     sum.part[i].value, LOOP_REGION_SUM + reduce);
    }
}

/* ----- a phase */

int loop_leaf_by_rows(struct fused *f, int node, struct fused_value *out, void *user,
                      struct err *e)
{
    struct loop_nest *n = user;
    const struct loop_plan *p = n->p;
    const struct graph_node *x = &p->body.node[node];
    struct loop_sval at;

    if (x->op == HLO_REDUCE) {
        at = row_of_sum(n, node, first_element(n));
        *out = (struct fused_value){
            .part = {R(loop_nest_load(n, at, 0, LOOP_REGION_SUM + node))}};
        return 0;
    }
    if (x->op != HLO_PARAMETER || p->mask[node] != n->mask)
        return loop_leaf(f, node, out, user, e);
    *out = (struct fused_value){.is_mask = x->shape.dtype == DTYPE_PRED,
                                .part = {R(loop_load_row(n, node, &at))}};
    if (out->is_mask)
        out->part[0] = R(emit_vnez(n->code, out->part[0].value));
    return 0;
}

/* ----- columns that are spread over the lanes */

/* sums over axes outside the rows would leave their registers before rows are complete */
static bool reduces_between(const struct loop_plan *p, int node)
{
    uint32_t reduced = loop_reduced_axes(p, node) & ~LANES_MASK;

    return reduced && !(reduced >> AXIS_ROWS & 1);
}

bool loop_spreads_late(const struct loop_plan *p)
{
    bool has_columns = false;

    if (!loop_goes_by_rows(p, column_mask(p))
        || loop_unit_ops(p) * loop_chunk_units(p) > LATE_OPS_MAX)
        return false;
    for (int i = 0; i < p->body.node_count; i++) {
        if (reduces_between(p, i) || (p->mask[i] == p->full_mask && p->level[i] > 0))
            return false;
        has_columns |= p->mask[i] == column_mask(p)
                       && (p->is_kept[i] || p->body.node[i].op == HLO_REDUCE);
    }
    return has_columns;
}

bool loop_is_kept_in_row(const struct loop_nest *n, int node)
{
    return n->spreads_late && n->mask == n->p->full_mask
           && n->p->mask[node] == column_mask(n->p);
}

/* the row in scratch of what is kept */
static struct loop_sval kept_row(struct loop_nest *n, int node)
{
    struct loop_sval row = chunk_of(n, first_element(n));

    row.add += loop_scratch_row(n->p) + n->p->kept_row[node];
    return row;
}

void loop_spread_kept(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_plan *p = n->p;
    int64_t first = n->unit[AXIS_ROWS] * p->axis[AXIS_ROWS].unit_elements;
    int row = loop_find_chunk(n, NEST_CHUNK_KEPT + node, first / ARRAY_LANES);

    if (row < 0) {
        row = loop_nest_load(n, kept_row(n, node), 0, LOOP_REGION_KEPT + node);
        loop_note_chunk(n, NEST_CHUNK_KEPT + node, first / ARRAY_LANES, row);
    }
    out->is_mask = p->body.node[node].shape.dtype == DTYPE_PRED;
    for (int i = 0; i < p->parts; i++) {
        int lane = (int)(first % ARRAY_LANES) + i * ROWS_PER_TILE;
        int v = emit_vbcast_lane(n->code, loop_nest_xlu(n), row, SUBLANES_APART + lane);

        out->part[i] = R(out->is_mask ? emit_vnez(n->code, v) : v);
    }
}

/* what is kept is for phases of all axes: a row that they spread, or columns again */
void loop_keep_row(struct loop_nest *n, int node, int value)
{
    const struct loop_plan *p = n->p;
    int64_t stride[LOOP_AXIS_MAX], first = n->unit[AXIS_ROWS], chunk = loop_chunk_units(p);

    if (n->spreads_late) {
        loop_nest_store(n, kept_row(n, node), 1, LOOP_REGION_KEPT + node, value);
        return;
    }
    loop_kept_stride(p, node, stride);
    for (int64_t i = 0; i < chunk * p->parts; i++) {
        int v = emit_vbcast_lane(n->code, loop_nest_xlu(n), value,
                                 SUBLANES_APART + (int)i * ROWS_PER_TILE);
        struct loop_sval row;

        n->unit[AXIS_ROWS] = first + i / p->parts;
        row = loop_nest_row(n, -1, loop_scratch_row(p) + p->kept_row[node], stride, n->mask);
        row.add += i % p->parts * ROWS_PER_TILE;
        loop_nest_store(n, row, 0xff, LOOP_REGION_KEPT + node, v);
    }
    n->unit[AXIS_ROWS] = first;
}
