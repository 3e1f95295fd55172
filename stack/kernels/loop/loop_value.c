/* Loop fusions: where values come from. Operands, iotas, values kept by other phases. */
#include "stack/kernels/loop/loop_nest.h"

#include <assert.h>
#include <string.h>

#define ROWS_PER_TILE 8
#define LANE_MASK 127

static int log2_of(int64_t x)
{
    int n = 0;

    while (x >> (n + 1))
        n++;
    return n;
}

static const struct loop_array *array_of(const struct loop_plan *p, int node)
{
    return &p->array[p->array_of[node]];
}

int loop_region(const struct loop_plan *p, int array)
{
    for (int i = 0; i < array; i++) {   /* arrays that share memory share a region */
        const struct array *a = p->array[i].array, *b = p->array[array].array;

        if (a->space == SPACE_VMEM && b->space == SPACE_VMEM
            && a->address < b->address + b->bytes && b->address < a->address + a->bytes)
            return i;
    }
    return array;
}

/* a row of values along the lanes, spread over sublanes by the load itself */
bool loop_is_direct(const struct loop_plan *p, int node)
{
    const struct loop_array *a;

    if (p->body.node[node].op != HLO_PARAMETER || p->is_linear)
        return false;
    a = array_of(p, node);
    return a->array->is_linear && a->lane_axis == AXIS_LANES && a->array->element_bytes == 4
           && p->axis[AXIS_LANES].grid_dim < 0;
}

/* ----- tiled operands */

static void load_tiles(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_plan *p = n->p;
    const struct loop_array *a = array_of(p, node);
    int ratio = p->group_rows / a->array->tile_rows, per_tile = p->parts / ratio;
    int64_t missing = loop_nest_is_last(n, AXIS_ROWS) ? a->missing : 0;
    struct loop_sval row = loop_nest_row(n, loop_base(p, a), loop_row(p, a), a->unit_rows, a->mask);

    for (int t = 0; t < ratio; t++) {
        struct fused_value v;

        if (t >= ratio - missing) {     /* not there: whatever, such as the one before */
            for (int i = 0; i < per_tile; i++)
                out->part[t * per_tile + i] = out->part[i];
            continue;
        }
        fused_unpack(n->code, p->job->chip, a->array->shape.dtype,
                     loop_nest_load(n, (struct loop_sval){row.sreg, row.add + t * a->part_rows}, 1,
                                    loop_region(p, p->array_of[node])), &v);
        for (int i = 0; i < per_tile; i++)
            out->part[t * per_tile + i] = v.part[i];
    }
}

/* ----- others: rows, columns and single elements */

bool loop_knows_lane(const struct loop_nest *n, const struct loop_array *a)
{
    bool is_peeled = (n->loop_mask & n->peel_mask) >> AXIS_ROWS & 1
                     && loop_nest_has_edge(n->p, AXIS_ROWS);

    return a->lane_axis == AXIS_ROWS && n->is_chunked && !is_peeled;
}

struct loop_sval loop_gather_row(struct loop_nest *n, const struct loop_array *a, bool is_image,
                                 struct loop_sval *sub, struct loop_sval *lane)
{
    const struct array *m = a->array;
    int pack = is_image ? 1 : 4 / m->element_bytes, tile_rows = 8 * pack;
    int64_t outer_scale = is_image ? 4 / m->element_bytes : 1;
    struct loop_sval across =
        a->lane_axis < 0 ? (struct loop_sval){-1, 0} : loop_nest_element(n, a->lane_axis);
    struct loop_sval down = {-1, 0}, row;

    across.add += a->first_element;
    *lane = across;
    if (loop_knows_lane(n, a)) {
        *lane = (struct loop_sval){-1, across.add};
        across.add -= across.add & LANE_MASK;
    }
    if (m->is_linear) {
        down = loop_sval_shifted(n, across, 7);
        *sub = loop_sval_masked(n, down, pack - 1);
        row = loop_sval_shifted(n, down, log2_of(pack));
        *lane = loop_sval_masked(n, *lane, LANE_MASK);
        return row;
    }
    if (a->row_axis >= 0)
        down = loop_nest_element(n, a->row_axis);
    row = loop_sval_scaled(n, loop_sval_shifted(n, down, log2_of(tile_rows)), m->tiles_across);
    row =
        loop_sval_scaled(n, loop_sval_sum(n, row, loop_sval_shifted(n, across, 7)), ROWS_PER_TILE);
    row = loop_sval_sum(
        n, row, loop_sval_shifted(n, loop_sval_masked(n, down, tile_rows - 1), log2_of(pack)));
    for (int x = 0; x < n->p->axis_count; x++)
        if (a->outer_rows[x])
            row = loop_sval_sum(n, row, loop_sval_scaled(n, loop_nest_element(n, x),
                                                         a->outer_rows[x] * outer_scale));
    /* last: scalars of a unit are few, and take turns */
    *sub = loop_sval_masked(n, down, pack - 1);
    *lane = loop_sval_masked(n, *lane, LANE_MASK);
    return row;
}

/* word rows of packed values: those of row `sub` as 32 bits */
static int unpack_row(struct loop_nest *n, enum graph_dtype t, int word, struct loop_sval sub)
{
    struct vcode *c = n->code;
    int bits = 8 * array_element_bytes(t);
    struct isa_operand v = R(word);

    if (bits == 32)
        return word;
    v = R(emit_vshrl_u32(c, v, loop_sval_vector(n, loop_sval_scaled(n, sub, bits))));
    v = R(emit_vshll_u32(c, v, I(32 - bits)));
    if (t == DTYPE_BF16)
        return v.value;
    return emit_d_vv(c, t == DTYPE_S8 ? OP_VSHRA_S32 : OP_VSHRL_U32, v, I(32 - bits));
}

/* lane `lane` to every lane; sublane i of part p that of lane + 8p + i where `is_column` */
static int spread_lane(struct loop_nest *n, int v, struct loop_sval lane, bool is_column, int part)
{
    int64_t at = is_column ? 256 + 8 * part : 0;

    if (lane.sreg < 0)
        return emit_vbcast_lane(n->code, loop_nest_xlu(n), v, (int)(at + lane.add));
    lane = loop_sval_masked(n, loop_sval_scaled(n, lane, -1), LANE_MASK);
    v = emit_vrot_lane(n->code, loop_nest_xlu(n), v, loop_sval_operand(n, lane));
    return emit_vbcast_lane(n->code, loop_nest_xlu(n), v, (int)at);
}

/* rows of the space run along its rows, and one of its lanes is meant */
static void load_column_tile(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_array *a = array_of(n->p, node);
    struct loop_sval sub, lane, row = loop_gather_row(n, a, false, &sub, &lane);
    int ratio = n->p->group_rows / a->array->tile_rows, per_tile = n->p->parts / ratio;
    int64_t missing = loop_nest_is_last(n, AXIS_ROWS) ? a->missing : 0;

    row.add += loop_row(n->p, a);
    for (int t = 0; t < ratio; t++) {
        int64_t next = t * ROWS_PER_TILE * a->array->tiles_across;
        struct fused_value v;
        int tile;

        if (t >= ratio - missing) {
            for (int i = 0; i < per_tile; i++)
                out->part[t * per_tile + i] = out->part[i];
            continue;
        }
        tile = loop_nest_load(n, (struct loop_sval){row.sreg, row.add + next}, 1,
                              loop_region(n->p, n->p->array_of[node]));

        if (a->array->shape.dtype == DTYPE_PRED)
            fused_unpack(n->code, n->p->job->chip, DTYPE_U8, tile, &v);
        else
            fused_unpack(n->code, n->p->job->chip, a->array->shape.dtype, tile, &v);
        for (int i = 0; i < per_tile; i++)
            out->part[t * per_tile + i] = R(spread_lane(n, v.part[i].value, lane, false, 0));
    }
}

int loop_find_chunk(const struct loop_nest *n, int array, int64_t element)
{
    for (int i = 0; i < n->chunk_count; i++) {
        bool is_same = n->chunk[i].array == array && n->chunk[i].element == element;

        for (int x = 0; x < n->p->axis_count; x++)
            is_same &= x == AXIS_ROWS || n->chunk[i].unit[x] == n->unit[x];
        if (is_same)
            return n->chunk[i].value;
    }
    return -1;
}

void loop_note_chunk(struct loop_nest *n, int array, int64_t element, int value)
{
    int i = n->chunk_count++ % NEST_CHUNK_MAX;

    n->chunk_count = n->chunk_count < NEST_CHUNK_MAX ? n->chunk_count : NEST_CHUNK_MAX;
    n->chunk[i].array = array;
    n->chunk[i].element = element;
    memcpy(n->chunk[i].unit, n->unit, sizeof(n->unit));
    n->chunk[i].value = value;
}

int loop_load_row(struct loop_nest *n, int node, struct loop_sval *lane)
{
    const struct loop_array *a = array_of(n->p, node);
    int array = n->p->array_of[node], made;
    int64_t element = n->unit[AXIS_ROWS] * n->p->axis[AXIS_ROWS].unit_elements;
    bool is_known = loop_knows_lane(n, a);
    struct loop_sval sub, row;

    *lane = (struct loop_sval){-1, element % ARRAY_LANES};
    if (a->smem >= 0)
        return unpack_row(n, a->array->shape.dtype, loop_load_scalar(n, a),
                          (struct loop_sval){-1, 0});
    made = is_known ? loop_find_chunk(n, array, element / ARRAY_LANES) : -1;
    if (made >= 0)
        return made;
    row = loop_gather_row(n, a, false, &sub, lane);
    row.add += loop_row(n->p, a);
    made = unpack_row(n, a->array->shape.dtype,
                      loop_nest_load(n, row, 0, loop_region(n->p, array)), sub);
    if (is_known)
        loop_note_chunk(n, array, element / ARRAY_LANES, made);
    return made;
}

static void gather(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_array *a = array_of(n->p, node);
    enum graph_dtype t = a->array->shape.dtype;
    int parts = loop_parts(n->p, n->mask);
    struct loop_sval lane;

    if (a->row_axis == AXIS_ROWS) {
        load_column_tile(n, node, out);
    } else {
        int v = loop_load_row(n, node, &lane);

        for (int p = 0; p < parts; p++) {
            if (a->lane_axis == AXIS_LANES || a->smem >= 0)
                out->part[p] = R(v);
            else if (a->lane_axis == AXIS_ROWS && !n->p->is_linear)
                out->part[p] = R(spread_lane(n, v, lane, true, p));
            else
                out->part[p] = p ? out->part[0] : R(spread_lane(n, v, lane, false, 0));
        }
    }
    out->is_mask = t == DTYPE_PRED;
    for (int p = 0; p < parts && out->is_mask; p++)
        out->part[p] = R(emit_vnez(n->code, out->part[p].value));
}

static void load_operand(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_array *a = array_of(n->p, node);

    out->is_mask = a->array->shape.dtype == DTYPE_PRED;
    if (a->is_tiled)
        load_tiles(n, node, out);
    else
        gather(n, node, out);
}

/* ----- iota */

static void make_iota(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_plan *p = n->p;
    const struct graph_node *x = &p->body.node[node];
    int seen = 0, axis = -1, parts = loop_parts(p, n->mask);

    for (int d = 0; d < GRAPH_RANK_MAX && !p->is_linear; d++)
        if (p->mask[node] >> p->axis_of_dim[d] & 1 && d < p->axis_count && seen++ == x->dim)
            axis = p->axis_of_dim[d];
    for (int i = 0; i < parts; i++) {
        struct isa_operand v = I(0);
        struct loop_sval first = loop_nest_element(n, p->is_linear ? AXIS_ROWS : axis);

        if (p->is_linear) {
            v = R(loop_nest_sequence(n));
            first = loop_sval_scaled(n, first, ARRAY_LANES);
            first.add += i * 1024;
        } else if (axis <= AXIS_ROWS) {
            v = R(axis == AXIS_LANES ? loop_nest_lane_index(n) : loop_nest_row_index(n));
            first.add += axis == AXIS_ROWS ? 8 * i : 0;
        }
        if (v.kind == OPERAND_IMM)
            v = R(vcode_in_register(n->code, loop_sval_vector(n, first)));
        else if (first.sreg >= 0 || first.add != 0)
            v = R(emit_vadd_s32(n->code, v, loop_sval_vector(n, first)));
        if (x->shape.dtype == DTYPE_F32 || x->shape.dtype == DTYPE_BF16)
            v = R(emit_vcvt_f32_s32(n->code, v));
        out->part[i] = v;
    }
    out->is_mask = false;
}

/* ----- values of other phases */

/* stride[axis] in rows per unit; returns rows of all */
int64_t loop_kept_stride(const struct loop_plan *p, int node, int64_t *stride)
{
    int64_t next = loop_kept_rows(p, p->mask[node]);

    for (int a = 0; a < p->axis_count; a++) {
        stride[a] = p->mask[node] >> a & 1 ? next : 0;
        next *= p->mask[node] >> a & 1 ? p->axis[a].box : 1;
    }
    return next;
}

static void load_kept(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_plan *p = n->p;
    int64_t stride[LOOP_AXIS_MAX];
    bool has_rows = p->mask[node] >> AXIS_ROWS & 1;
    struct loop_sval row;
    int region;

    if (loop_is_kept_in_row(n, node)) {
        loop_spread_kept(n, node, out);
        return;
    }
    loop_kept_stride(p, node, stride);
    row = loop_nest_row(n, -1, loop_scratch_row(p)
                        + (p->is_finished[node] ? p->sum_row[node] : p->kept_row[node]), stride,
                        p->mask[node]);
    region = p->is_finished[node] ? LOOP_REGION_SUM + node : LOOP_REGION_KEPT + node;
    out->is_mask = p->body.node[node].shape.dtype == DTYPE_PRED;
    for (int i = 0; i < loop_parts(p, n->mask); i++) {
        struct loop_sval at = {row.sreg, row.add + (has_rows ? i * ROWS_PER_TILE : 0)};
        int v = loop_nest_load(n, at, has_rows, region);

        out->part[i] = R(out->is_mask ? emit_vnez(n->code, v) : v);
    }
}

static void load_direct(struct loop_nest *n, int node, struct fused_value *out)
{
    const struct loop_plan *p = n->p;
    const struct loop_array *a = array_of(p, node);
    int64_t stride[LOOP_AXIS_MAX] = {1};
    struct loop_sval row = loop_nest_row(n, loop_base(p, a),
                                         loop_row(p, a) + a->first_element / ARRAY_LANES, stride,
                                         1u << AXIS_LANES);
    int v = loop_nest_load(n, row, 0, loop_region(p, p->array_of[node]));

    out->is_mask = false;
    for (int i = 0; i < loop_parts(p, n->mask); i++)
        out->part[i] = R(v);
}

/* another phase has made it: earlier, or on other axes (loop_lift.c) */
static bool is_elsewhere(const struct loop_nest *n, int node)
{
    const struct loop_plan *p = n->p;

    if (p->body.node[node].op == HLO_REDUCE)
        return p->mask[node] != n->mask || (p->is_lifted[node] && p->level[node] < n->level);
    return p->is_kept[node] && p->mask[node] != n->mask;
}

int loop_leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    struct loop_nest *n = user;
    const struct graph_node *x = &n->p->body.node[node];

    if (is_elsewhere(n, node)) {
        load_kept(n, node, out);
        return 0;
    }
    switch (x->op) {
    case HLO_PARAMETER:
        load_operand(n, node, out);
        return 0;
    case HLO_IOTA:
        make_iota(n, node, out);
        return 0;
    case HLO_REDUCE:
        if (!n->p->is_lifted[node]) {
            loop_finish_sum(n, node, out);
            return 0;
        }
        if (fused_emit(f, x->operand[0], e))
            return -1;
        loop_sum_lanes(n, node, out);
        return 0;
    case HLO_BROADCAST:
        break;
    default:                            /* made by an earlier phase */
        load_kept(n, node, out);
        return 0;
    }
    if (n->p->mask[x->operand[0]] == n->p->mask[node]) {
        if (fused_emit(f, x->operand[0], e))
            return -1;
        *out = f->value[x->operand[0]];
    } else if (loop_is_direct(n->p, x->operand[0])) {
        load_direct(n, x->operand[0], out);
    } else {
        load_kept(n, x->operand[0], out);
    }
    return 0;
}
