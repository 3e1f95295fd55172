/*
 * Plans a loop fusion: finds its iteration space, gives every value its axes, and orders values
 * into phases between reductions.
 */
#include "stack/kernels/loop/loop_plan.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

/* ----- which operations */

static bool is_loop_op(const struct graph *g, const struct graph_node *n)
{
    if (n->op == HLO_SLICE)
        return g->node[n->operand[0]].op == HLO_PARAMETER
               && loop_can_fuse_slice(&g->node[n->operand[0]].shape, n);
    return fused_is_elementwise(n) || n->op == HLO_PARAMETER || n->op == HLO_IOTA
           || n->op == HLO_BROADCAST || n->op == HLO_REDUCE;
}

int loop_plan_check_supported(const struct graph *body, struct err *e)
{
    for (int i = 0; i < body->node_count; i++)
        if (!is_loop_op(body, &body->node[i]))
            return err_set(e, "a loop cannot make %s%s", graph_op_name(body->node[i].op),
                           body->node[i].op == HLO_CONSTANT ? " with many values"
                           : body->node[i].op == HLO_SLICE  ? " of part of a tile" : "");
    if (body->parameter_count + body->output_count > LOOP_ARRAY_MAX)
        return err_set(e, "%d operands and results; a loop has room for %d",
                       body->parameter_count + body->output_count, LOOP_ARRAY_MAX);
    return 0;
}

bool loop_reads_slices(const struct graph *body)
{
    int work = 0, slices = 0;
    struct err e;

    for (int i = 0; i < body->node_count; i++) {
        enum graph_op op = body->node[i].op;

        slices += op == HLO_SLICE;
        work += op != HLO_SLICE && op != HLO_PARAMETER && op != HLO_CONSTANT;
    }
    return slices > 0 && work > 0 && loop_plan_check_supported(body, &e) == 0;
}

/* ----- the space */

/* the node whose shape is the space: of the largest the first; slices count, not what is cut */
static int find_space(const struct loop_plan *p)
{
    const struct graph *g = p->job->body;
    int found = -1;

    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op == HLO_PARAMETER && p->view_of[i] < 0)
            continue;
        else if (found < 0 || shape_elems(&g->node[i].shape) > shape_elems(&g->node[found].shape)
            || (shape_elems(&g->node[i].shape) == shape_elems(&g->node[found].shape)
                && g->node[i].shape.rank > g->node[found].shape.rank))
            found = i;
    return found;
}

/* ----- axes */

static const int *space_order(const struct loop_plan *p, const struct shape *space)
{
    for (int i = 0; i < p->array_count; i++)
        if (shape_same_dims(&p->array[i].shape, space))
            return p->array[i].array->order;
    return NULL;
}

static void set_axis(struct loop_plan *p, int a, int64_t elements, int64_t unit)
{
    p->axis[a] = (struct loop_axis){.units = div_up(elements, unit), .elements = elements,
                                    .unit_elements = unit, .box = 1, .count = 1,
                                    .grid_dim = -1};
}

static void make_axes(struct loop_plan *p, const struct shape *space)
{
    const int *order = space_order(p, space);

    p->is_linear = space->rank < 2;
    if (p->is_linear) {
        int64_t n = shape_elems(space);

        p->axis_count = 2;
        p->is_scalar = space->rank == 0;
        p->linear_elements = n;
        set_axis(p, AXIS_LANES, ARRAY_LANES, ARRAY_LANES);
        set_axis(p, AXIS_ROWS, div_up(n, ARRAY_LANES), p->group_rows);
    } else {
        p->axis_count = space->rank;
        for (int i = 0; i < space->rank; i++) {
            int d = order ? order[i] : space->rank - 1 - i;

            p->axis_of_dim[d] = i;
            set_axis(p, i, space->dim[d],
                     i == AXIS_LANES ? ARRAY_LANES : i == AXIS_ROWS ? p->group_rows : 1);
        }
    }
    p->full_mask = loop_low_bits(p->axis_count);
}

/* dimensions of the space to axes */
static uint32_t axes_of(const struct loop_plan *p, uint32_t dims)
{
    uint32_t out = 0;

    if (p->is_linear)
        return dims || p->is_scalar ? p->full_mask : 0;
    for (int d = 0; d < p->axis_count; d++)
        if (dims >> d & 1)
            out |= 1u << p->axis_of_dim[d];
    return out;
}

int64_t loop_edge(const struct loop_plan *p, int a)
{
    const struct loop_axis *x = &p->axis[a];

    return x->elements % x->unit_elements;
}

int64_t loop_chunk_units(const struct loop_plan *p)
{
    for (int i = 0; i < p->array_count && !p->is_linear; i++)
        if (!p->array[i].is_tiled && p->array[i].lane_axis == AXIS_ROWS)
            return ARRAY_LANES / p->axis[AXIS_ROWS].unit_elements;
    return 1;
}

bool loop_has_chunks(const struct loop_plan *p)
{
    const struct loop_axis *x = &p->axis[AXIS_ROWS];
    int64_t chunk = loop_chunk_units(p);

    return x->first % chunk == 0
           && (x->grid_dim < 0 || (x->box % chunk == 0 && (x->units - x->box) % chunk == 0));
}

uint32_t loop_reduced_axes(const struct loop_plan *p, int node)
{
    const struct graph_node *n = &p->body.node[node];

    return n->op == HLO_REDUCE ? p->mask[n->operand[0]] & ~p->mask[node] : 0;
}

/* ----- levels: how many reductions stand before a value */

static bool is_constant(const struct graph *g, int node)
{
    if (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONSTANT;
}

/*
 * Operand k of node i is on other axes without a broadcast between: one of them is lifted, the
 * other is not. It is kept, and what is of fewer axes waits for what is of all.
 */
static int level_of_operand(struct loop_plan *p, int i, int k)
{
    if (p->body.node[i].op == HLO_BROADCAST || p->is_lifted[i] == p->is_lifted[k]
        || p->mask[i] == p->mask[k] || p->mask[k] == 0 || is_constant(&p->body, k))
        return p->level[k];
    p->is_kept[k] = true;
    return p->level[k] + p->is_lifted[k];
}

/* the same however often it meets an element */
static bool is_extreme(enum graph_reduce kind)
{
    return kind == REDUCE_MAX || kind == REDUCE_MIN || kind == REDUCE_AND || kind == REDUCE_OR;
}

static void find_levels(struct loop_plan *p)
{
    for (int i = 0; i < p->body.node_count; i++) {
        const struct graph_node *n = &p->body.node[i];
        uint32_t reduced = loop_reduced_axes(p, i);

        p->level[i] = 0;
        for (int k = 0; k < n->operand_count; k++) {
            int level = level_of_operand(p, i, n->operand[k]);

            p->level[i] = level > p->level[i] ? level : p->level[i];
        }
        if (n->op == HLO_BROADCAST && p->mask[n->operand[0]] != p->mask[i]
            && p->body.node[n->operand[0]].op != HLO_CONSTANT)
            p->is_kept[n->operand[0]] = true;
        if (n->op != HLO_REDUCE || p->is_lifted[i])
            continue;
        p->level[i]++;
        p->reduced_mask |= reduced;
        if (!is_extreme(n->reduce_kind))
            p->once_mask |= reduced;
    }
    for (int i = 0; i < p->body.node_count; i++) {
        if (p->level[i] + 1 > p->level_count)
            p->level_count = p->level[i] + 1;
        /* a value that meets a reduction again needs all that is reduced in the same step */
        for (int r = 0; r < p->body.node_count && p->level[i] > 0; r++)
            if (loop_reduced_axes(p, r) & p->mask[i] && p->level[r] <= p->level[i])
                p->whole_mask |= loop_reduced_axes(p, r);
    }
}

static void need(int *needed, int node, int level)
{
    if (needed[node] < level)
        needed[node] = level;
}

/* of the whole space: what a later phase needs again and is dear is kept, not made twice */
static void keep_dear(struct loop_plan *p)
{
    int *needed = arena_array(p->arena, (size_t)p->body.node_count + 1, sizeof(*needed));

    for (int i = p->body.node_count - 1; i >= 0; i--) {
        const struct graph_node *n = &p->body.node[i];
        int level = p->level[i] > needed[i] ? p->level[i] : needed[i];

        if (level > p->level[i] && p->mask[i] == p->full_mask
            && ((graph_op_traits(n->op) & TRAIT_EXPENSIVE) || (p->is_lifted[i] && n->op == HLO_REDUCE))) {
            p->is_kept[i] = true;
            level = p->level[i];
        }
        for (int k = 0; k < n->operand_count; k++)
            if (p->mask[n->operand[k]] == p->mask[i] && n->op != HLO_REDUCE)
                need(needed, n->operand[k], level);
    }
}

/* ----- arrays */

static int axis_of_own(const struct loop_plan *p, const struct loop_array *a, int own)
{
    int seen = 0;

    if (own < 0)
        return -1;
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        if (a->mask >> d & 1 && seen++ == own)
            return p->axis_of_dim[d];
    return -1;
}

/* from an index along an outer dimension to the next that is read */
static int64_t outer_step(const struct loop_plan *p, const struct loop_array *a, int dim)
{
    return a->slice < 0 ? 1 : p->job->body->node[a->slice].stride[dim];
}

/* a->mask holds dimensions of the space here, and axes at the end */
static void find_roles(struct loop_plan *p, struct loop_array *a)
{
    const struct array *m = a->array;

    a->lane_axis = a->row_axis = -1;
    a->image_row = -1;
    if (p->is_linear) {
        a->mask = axes_of(p, a->mask);
        a->is_tiled = a->mask != 0;
        a->unit_rows[AXIS_ROWS] = p->group_rows / m->tile_rows * 8;
        a->part_rows = 8;
        if (a->is_tiled)
            a->missing = p->axis[AXIS_ROWS].units * (p->group_rows / m->tile_rows)
                         - div_up(p->linear_elements, (int64_t)m->tile_rows * ARRAY_LANES);
        return;
    }
    a->lane_axis = axis_of_own(p, a, m->is_linear ? (m->shape.rank ? 0 : -1) : m->lane_dim);
    a->row_axis = axis_of_own(p, a, m->is_linear ? -1 : m->row_dim);
    a->is_tiled = a->lane_axis == AXIS_LANES && a->row_axis == AXIS_ROWS;
    for (int d = 0; d < m->shape.rank; d++)
        a->axis_of_dim[d] = axis_of_own(p, a, d);
    for (int i = 0; i < m->outer_count && !m->is_linear; i++)
        a->outer_rows[axis_of_own(p, a, m->outer_dim[i])] =
            array_outer_stride(m, m->outer_dim[i]) * 8 * outer_step(p, a, m->outer_dim[i]);
    if (a->row_axis == AXIS_ROWS)
        a->missing = p->axis[AXIS_ROWS].units * (p->group_rows / m->tile_rows)
                     - div_up(a->shape.dim[m->row_dim], m->tile_rows);
    a->mask = axes_of(p, a->mask);
}

static int bind_arrays(struct loop_plan *p, struct err *e)
{
    for (int i = 0; i < p->body.node_count; i++) {
        struct loop_array *a;

        if (p->array_of[i] < 0)
            continue;
        a = &p->array[p->array_of[i]];
        if (a->lane_axis == -2) {
            a->mask = p->mask[i];
            find_roles(p, a);
            if (loop_place_slice(p, a, e))
                return -1;
        } else if (a->mask != axes_of(p, p->mask[i])) {
            return err_set(e, "operand %s is used on different axes", a->array->name);
        }
    }
    for (int i = 0; i < p->body.output_count; i++) {
        struct loop_array *a = &p->array[p->operand_count + i];

        a->mask = p->mask[p->body.output[i].node];
        find_roles(p, a);
    }
    for (int i = 0; i < p->array_count; i++) {
        const struct loop_array *a = &p->array[i];

        bool is_turned = a->row_axis == AXIS_LANES || a->outer_rows[AXIS_LANES]
                         || a->outer_rows[AXIS_ROWS];

        if (a->lane_axis != -2 && !a->is_tiled && (is_turned || a->mask == p->full_mask))
            return err_set(e, "%s has its dimensions in another order", a->array->name);
        if (a->lane_axis != -2 && a->missing > 0)
            p->may_part = true;
    }
    return 0;
}

/*
 * Parts need results that each of them makes for itself: tiles of its own rows. Otherwise rows
 * with missing tiles are not cut at all.
 */
static void check_parts(struct loop_plan *p)
{
    bool has_missing = p->may_part;

    p->part_count = 1;
    p->all_row_units = p->axis[AXIS_ROWS].units;
    p->all_rows = p->axis[AXIS_ROWS].elements;
    p->all_linear = p->linear_elements;
    p->may_part &= p->all_row_units > 1 && !((p->whole_mask | p->reduced_mask) >> AXIS_ROWS & 1);
    for (int i = 0; i < p->array_count; i++) {
        struct loop_array *a = &p->array[i];

        a->missing_at_end = a->missing;
        if (a->is_result && !a->is_tiled)
            p->may_part = false;
    }
    if (has_missing && !p->may_part)
        p->whole_mask |= 1u << AXIS_ROWS;
}

static int list_arrays(struct loop_plan *p, struct err *e)
{
    const struct kernel_job *j = p->job;

    if (loop_list_operands(p, e))
        return -1;
    if (p->operand_count + j->result_count > LOOP_ARRAY_MAX)
        return err_set(e, "more than %d operands, slices and results", LOOP_ARRAY_MAX);
    for (int i = 0; i < j->result_count; i++)
        p->array[p->array_count++] = (struct loop_array){
            .array = j->result[i], .shape = j->result[i]->shape, .slice = -1, .is_result = true};
    p->group_rows = 8;
    for (int i = 0; i < p->array_count; i++) {
        struct loop_array *a = &p->array[i];

        a->lane_axis = -2;              /* not bound yet */
        a->smem = -1;
        a->window = -1;
        if (a->array->tile_rows > p->group_rows)
            p->group_rows = a->array->tile_rows;
    }
    p->parts = p->group_rows / 8;
    return 0;
}

int loop_plan_init(struct loop_plan *p, const struct kernel_job *job, struct arena *a,
                   struct err *e)
{
    size_t count = (size_t)job->body->node_count * 4 + 64;
    struct shape space;

    memset(p, 0, sizeof(*p));
    p->job = job;
    p->arena = a;
    if (list_arrays(p, e))
        return -1;
    space = job->body->node[find_space(p)].shape;
    make_axes(p, &space);
    if (loop_copy_body(p, &space, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        if ((int)i >= p->body.node_count || p->body.node[i].op != HLO_PARAMETER)
            p->array_of[i] = -1;
    if (bind_arrays(p, e))
        return -1;
    for (int i = 0; i < p->body.node_count; i++)
        p->mask[i] = axes_of(p, p->mask[i]);
    loop_lift(p);
    find_levels(p);
    keep_dear(p);
    /* the lanes of a last tile are masked where it is known to be last */
    if (p->reduced_mask >> AXIS_LANES & 1 && loop_edge(p, AXIS_LANES))
        p->whole_mask |= 1u << AXIS_LANES;
    check_parts(p);
    return 0;
}

void loop_plan_fini(struct loop_plan *p)
{
    graph_fini(&p->body);
}
