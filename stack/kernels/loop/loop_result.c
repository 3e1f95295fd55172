/* Loop fusions: where values go. Results, and what other phases need. */
#include "stack/kernels/loop/loop_nest.h"

#include <assert.h>
#include <string.h>

#define ROWS_PER_TILE 8

static int part_of(struct loop_nest *n, int node, int part)
{
    const struct fused_value *v = &n->fused.value[node];

    if (v->is_mask)
        return emit_vsel(n->code, v->part[part].value, I(1), I(0));
    return vcode_in_register(n->code, v->part[part]);
}

void loop_keep(struct loop_nest *n, int node)
{
    const struct loop_plan *p = n->p;
    bool has_rows = n->mask >> AXIS_ROWS & 1;
    int64_t stride[LOOP_AXIS_MAX];
    struct loop_sval row;

    if (n->is_by_rows) {
        loop_keep_row(n, node, part_of(n, node, 0));
        return;
    }
    loop_kept_stride(p, node, stride);
    row = loop_nest_row(n, -1, loop_scratch_row(p) + p->kept_row[node], stride, n->mask);
    for (int i = 0; i < loop_parts(p, n->mask); i++)
        loop_nest_store(n, (struct loop_sval){row.sreg, row.add + i * ROWS_PER_TILE},
                        has_rows ? 0xff : 1, LOOP_REGION_KEPT + node, part_of(n, node, i));
}

/* ----- tiles */

static void store_tiles(struct loop_nest *n, int array, int node)
{
    const struct loop_plan *p = n->p;
    const struct loop_array *a = &p->array[array];
    int ratio = p->group_rows / a->array->tile_rows, per_tile = p->parts / ratio;
    int64_t missing = loop_nest_is_last(n, AXIS_ROWS) ? a->missing : 0;
    struct loop_sval row = loop_nest_row(n, loop_base(p, a), loop_row(p, a), a->unit_rows, a->mask);

    for (int t = 0; t < ratio - missing; t++) {
        struct fused_value v = {.is_mask = n->fused.value[node].is_mask};
        int tile;

        for (int i = 0; i < per_tile; i++)
            v.part[i] = n->fused.value[node].part[t * per_tile + i];
        tile = fused_pack(n->code, p->job->chip, a->array->shape.dtype, &v);
        if (p->sink && n->part_count)
            p->sink->take(p->sink->user, n, tile);
        else
            loop_nest_store(n, (struct loop_sval){row.sreg, row.add + t * a->part_rows}, 0xff,
                            loop_region(p, array), tile);
    }
}

/* ----- rows, columns, elements: into the array itself, or its image of 32-bit values */

/* elements that lie at lane `lane`, or, with span > 1, at that and the next */
static int lanes_from(struct loop_nest *n, struct loop_sval lane, int span)
{
    int at = loop_nest_lane_index(n);

    if (span == 1)
        return emit_vcmp_eq_s32(n->code, R(at), loop_sval_vector(n, lane));
    at = emit_vsub_s32(n->code, R(at), loop_sval_vector(n, lane));
    return emit_vcmp_u32(n->code, R(at), I(span), VCMP_U32_LT);
}

int loop_diagonal(struct loop_nest *n)
{
    if (n->diagonal < 0) {
        int row = loop_nest_row_index(n);

        n->diagonal = emit_vsub_s32(n->code, R(loop_nest_lane_index(n)), R(row));
    }
    return n->diagonal;
}

/* element 8 i + s of the column in parts at lane + 8 i + s of sublane s; `v`: what else is there */
static int place_column(struct loop_nest *n, const int *part, struct loop_sval lane, int v)
{
    struct vcode *c = n->code;
    int away = loop_diagonal(n);

    if (lane.sreg >= 0)
        away = emit_vsub_s32(c, R(away), loop_sval_vector(n, lane));
    for (int i = 0; i < n->p->parts; i++) {
        int is_here = emit_vcmp_eq_s32(c, R(away), I((lane.sreg < 0 ? lane.add : 0) + 8 * i));

        v = emit_vsel(c, is_here, R(part[i]), v < 0 ? I(0) : R(v));
    }
    return v;
}

/* what the sublanes have, each in lanes of its own, in all of them */
static int join_sublanes(struct loop_nest *n, int v)
{
    struct vcode *c = n->code;

    for (int by = 4; by > 0; by /= 2)
        v = emit_vor_u32(c, R(v), R(emit_vrot_slane(c, v, I(by))));
    return v;
}

static void merge_row(struct loop_nest *n, struct loop_sval row, int region, int mask, int value,
                      int sublanes)
{
    int old = emit_vld(
        n->code, isa_rows_apart(operand_base(row.sreg), row.add, sublanes == 1 ? 0 : 1), region);

    loop_nest_store(n, row, sublanes, region, emit_vsel(n->code, mask, R(value), R(old)));
}

/* of the unit in hand, in the array or its image; `lane` in it, and `sub` as loop_gather_row */
static struct loop_sval result_row(struct loop_nest *n, int array, struct loop_sval *lane,
                                   int *region)
{
    const struct loop_plan *p = n->p;
    const struct loop_array *a = &p->array[array];
    bool is_image = a->image_row >= 0;
    struct loop_sval sub, row = loop_gather_row(n, a, is_image, &sub, lane);

    row.add += is_image ? loop_scratch_row(p) + a->image_row : loop_row(p, a);
    if (!is_image && !a->is_own)
        row.add -= pipeline_skipped_rows(&p->pipeline, a->window);
    *region = is_image ? LOOP_REGION_IMAGE + array : loop_region(p, array);
    return row;
}

static void flush_column(struct loop_nest *n, struct loop_nest_column *x)
{
    int64_t lanes = x->end_lane - x->first_lane, unit[LOOP_AXIS_MAX];
    int v = join_sublanes(n, x->value), region;
    struct loop_sval lane, row;

    memcpy(unit, n->unit, sizeof(unit));
    memcpy(n->unit, x->unit, sizeof(unit));
    row = result_row(n, x->array, &lane, &region);
    memcpy(n->unit, unit, sizeof(unit));
    if (lanes == ARRAY_LANES)
        loop_nest_store(n, row, 1, region, v);
    else
        merge_row(n, row, region, lanes_from(n, lane, (int)lanes), v, 1);
    *x = n->column[--n->column_count];
}

void loop_flush_columns(struct loop_nest *n)
{
    while (n->column_count > 0)
        flush_column(n, &n->column[0]);
}

/* the one that goes on with the unit in hand; one that goes on elsewhere is done */
static struct loop_nest_column *open_column(struct loop_nest *n, int array, int64_t lane)
{
    for (int i = 0; i < n->column_count; i++) {
        struct loop_nest_column *x = &n->column[i];
        bool goes_on = x->end_lane == lane;

        if (x->array != array)
            continue;
        for (int k = 0; k < n->p->axis_count; k++)
            goes_on &= k == AXIS_ROWS || x->unit[k] == n->unit[k];
        if (goes_on)
            return x;
        flush_column(n, x);
        break;
    }
    return NULL;
}

/* units of a block that follow each other along known lanes go into their row at once */
static void scatter_column(struct loop_nest *n, int array, int node, int64_t lane)
{
    struct loop_nest_column *x = open_column(n, array, lane);
    int part[FUSED_PARTS_MAX];

    for (int i = 0; i < n->p->parts; i++)
        part[i] = part_of(n, node, i);
    if (!x) {
        if (n->column_count == NEST_COLUMN_MAX)
            flush_column(n, &n->column[0]);
        x = &n->column[n->column_count++];
        *x = (struct loop_nest_column){.array = array, .value = -1, .first_lane = lane,
                                       .end_lane = lane};
        memcpy(x->unit, n->unit, sizeof(x->unit));
    }
    x->value = place_column(n, part, (struct loop_sval){-1, lane}, x->value);
    x->end_lane += n->p->group_rows;
}

static void scatter(struct loop_nest *n, int array, int node)
{
    const struct loop_plan *p = n->p;
    const struct loop_array *a = &p->array[array];
    struct loop_sval lane, row;
    int part[FUSED_PARTS_MAX], region;

    row = result_row(n, array, &lane, &region);
    if (n->is_by_rows) {
        loop_nest_store(n, row, 1, region, part_of(n, node, 0));
        return;
    }
    if (a->row_axis != AXIS_ROWS && a->lane_axis == AXIS_ROWS && lane.sreg < 0) {
        scatter_column(n, array, node, lane.add);
        return;
    }
    for (int i = 0; i < loop_parts(p, n->mask); i++)
        part[i] = part_of(n, node, i);
    if (a->row_axis == AXIS_ROWS) {
        int64_t missing = loop_nest_is_last(n, AXIS_ROWS) && a->image_row < 0 ? a->missing : 0;
        int here = lanes_from(n, lane, 1);

        for (int i = 0; i < p->parts - missing; i++)
            merge_row(n, (struct loop_sval){row.sreg,
                                            row.add + i * ROWS_PER_TILE * a->array->tiles_across},
                      region, here, part[i], 0xff);
    } else if (a->lane_axis == AXIS_LANES) {
        loop_nest_store(n, row, 1, region, part[0]);
    } else if (a->lane_axis == AXIS_ROWS) {
        int mask = lanes_from(n, lane, p->group_rows);

        merge_row(n, row, region, mask, join_sublanes(n, place_column(n, part, lane, -1)), 1);
    } else if (a->lane_axis >= 0) {
        merge_row(n, row, region, lanes_from(n, lane, 1), part[0], 1);
    } else {
        loop_nest_store(n, row, 1, region, part[0]);
    }
}

void loop_store_result(struct loop_nest *n, int result, int node)
{
    int array = n->p->operand_count + result;

    if (n->p->array[array].is_tiled)
        store_tiles(n, array, node);
    else
        scatter(n, array, node);
}

/* ----- behind the last step: images become packed tiles */

enum { S_FROM = 1, S_TO };

static void pack_column(struct loop_plan *p, struct vcode *c, int array, int64_t column)
{
    const struct loop_array *a = &p->array[array];
    const struct array *m = a->array;
    int64_t across = m->is_linear ? 1 : m->tiles_across, rows = ROWS_PER_TILE * across;
    int pack = 4 / m->element_bytes;
    int64_t image = loop_scratch_row(p) + a->image_row + column * ROWS_PER_TILE;
    struct fused_value v = {.is_mask = false};
    enum graph_dtype t = m->shape.dtype == DTYPE_PRED ? DTYPE_U8 : m->shape.dtype;

    emit_smov(c, S_FROM, I(image));
    emit_smov(c, S_TO, I(loop_row(p, a) + column * ROWS_PER_TILE));
    vcode_loop_begin(c, 0, m->tile_count / across);
    for (int i = 0; i < pack; i++)
        v.part[i] = R(emit_vld(c, isa_rows_at(R(S_FROM), i * rows), LOOP_REGION_IMAGE + array));
    emit_vst(c, isa_rows_at(R(S_TO), 0), fused_pack(c, p->job->chip, t, &v), loop_region(p, array));
    vcode_loop_step(c, S_FROM, pack * rows);
    vcode_loop_step(c, S_TO, rows);
    vcode_loop_end(c, 0);
}

void loop_emit_last(struct loop_plan *p, struct vcode *c)
{
    for (int i = p->operand_count; i < p->array_count; i++) {
        const struct array *m = p->array[i].array;

        if (p->array[i].image_row < 0)
            continue;
        for (int64_t k = 0; k < (m->is_linear ? 1 : m->tiles_across); k++)
            pack_column(p, c, i, k);
    }
}
