/*
 * Inside the kernel of products: the axes of a fused loop cut into the steps of the grid.
 *
 * Each axis belongs to one of the grid's dimensions: lanes and rows of its block to rows, columns
 * or contraction, those outside to what follows the rows without a gap, or to an outer dimension.
 * Several axes of one dimension are a chain, innermost first. A step takes all of the inner ones
 * and a part of the next; or, where no array tells them apart, they are cut as if they were one.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_grid.h"

#define TILE 128

struct cutter {
    struct dot_grid *g;
    struct dot_block *b;
    struct loop_plan *plan;
    const struct dot_matrix *m;
    int dim_of_axis[LOOP_AXIS_MAX];     /* ours: DIM_M.. */
    struct err *e;
};

static int refuse(const struct cutter *c, const char *why)
{
    return err_set(c->e, "what is computed with a product: %s", why);
}

/* ----- which dimension */

static int outer_dim_of(const struct cutter *c, int64_t stride)
{
    const struct dot_problem *p = c->g->p;

    for (int i = 0; i < p->outer_count; i++)
        if (c->m->outer[i] && stride >= c->m->outer[i]
            && stride < c->m->outer[i] * p->outer[i].count)
            return DIM_OUTER + i;
    return -1;
}

static int find_dims(struct cutter *c, enum dot_dim along, enum dot_dim down)
{
    const struct array *a = c->m->array;
    const struct loop_array *own = &c->plan->array[c->b->fused->own];

    for (int d = 0; d < a->shape.rank; d++) {
        int axis = own->axis_of_dim[d];
        int64_t stride;

        if (d == a->lane_dim || d == a->row_dim) {
            c->dim_of_axis[axis] = (int)(d == a->lane_dim ? along : down);
            continue;
        }
        stride = array_outer_stride(a, d);
        c->dim_of_axis[axis] = stride < c->m->row_tiles * c->m->lane_tiles
                                   ? (int)down : outer_dim_of(c, stride);
        if (a->shape.dim[d] > 1 && c->dim_of_axis[axis] < 0)
            return refuse(c, "its dimensions lie in another order");
    }
    return 0;
}

/* elements of a step along one of our dimensions, and of all of it as steps count them */
static int64_t step_elements(const struct dot_grid *g, int dim, int64_t *all)
{
    const struct dot_problem *p = g->p;

    switch (dim) {
    case DIM_M:
        *all = round_up(p->m, p->is_lhs_transposed ? TILE : p->group_rows);
        return g->groups * p->group_rows;
    case DIM_N:
        *all = round_up(p->n, TILE);
        return g->tiles * TILE;
    case DIM_K:
        *all = round_up(p->k, TILE);
        return g->depth * TILE;
    default:
        *all = p->outer[dim - DIM_OUTER].count;
        return dim - DIM_OUTER == dot_batch_dim(p) ? g->batches : 1;
    }
}

/* ----- chains */

struct chain { int axis[LOOP_AXIS_MAX], count; uint32_t mask; };

static struct chain chain_of(const struct cutter *c, int dim)
{
    struct chain k = {.count = 0};

    for (int a = 0; a < c->plan->axis_count; a++)
        if (c->dim_of_axis[a] == dim && (c->plan->axis[a].elements > 1 || a <= AXIS_ROWS)) {
            k.axis[k.count++] = a;
            k.mask |= 1u << a;
        }
    return k;
}

/* all values have all of these axes, or none */
static bool are_one(const struct cutter *c, const struct chain *k)
{
    const struct loop_plan *p = c->plan;

    for (int i = 0; i < p->body.node_count; i++)
        if (p->mask[i] & k->mask && (p->mask[i] & k->mask) != k->mask)
            return false;
    if (p->has_lifted && k->count > 1 && k->mask >> AXIS_LANES & 1)
        return false;
    for (int i = 0; i < p->array_count; i++)
        if (p->array[i].lane_axis != -2 && p->array[i].mask & k->mask && !p->array[i].is_tiled)
            return false;
    for (int i = 1; i < k->count; i++)
        if (p->axis[k->axis[i - 1]].elements % p->axis[k->axis[i - 1]].unit_elements)
            return false;
    return !c->b->fused->has_iota;
}

/* one axis in the place of all: the innermost */
static void join(const struct cutter *c, struct chain *k)
{
    struct loop_axis *x = &c->plan->axis[k->axis[0]];

    for (int i = 1; i < k->count; i++) {
        struct loop_axis *y = &c->plan->axis[k->axis[i]];

        x->elements *= y->elements;
        x->units *= y->units;
        y->units = y->elements = y->box = 1;
    }
    k->count = 1;
}

/* the axis of a chain that a step takes a part of; -1: none is */
static int partial_axis(const struct cutter *c, const struct chain *k, int64_t elements,
                        int64_t *part)
{
    for (int i = 0; i < k->count; i++) {
        const struct loop_axis *x = &c->plan->axis[k->axis[i]];

        if (i == k->count - 1) {
            *part = elements / x->unit_elements;
            return elements % x->unit_elements ? -1 : k->axis[i];
        }
        if (elements % x->elements)
            return -1;
        elements /= x->elements;
    }
    return -1;
}

static int cut_chain(const struct cutter *c, int dim)
{
    int64_t count = c->g->dim[dim] < 0 ? 1 : c->g->pipeline.count[c->g->dim[dim]];
    struct chain k = chain_of(c, dim);
    int64_t all, elements = step_elements(c->g, dim, &all), part = 0;
    struct loop_axis *x;
    int axis;

    if (k.count == 0 || count == 1)
        return 0;
    axis = partial_axis(c, &k, elements, &part);
    if (axis < 0 && k.count > 1 && are_one(c, &k)) {
        join(c, &k);
        axis = partial_axis(c, &k, elements, &part);
    }
    if (axis < 0)
        return refuse(c, "blocks do not cut its arrays");
    x = &c->plan->axis[axis];
    x->box = part;
    x->count = div_up(x->units, part);
    x->grid_dim = c->g->dim[dim];
    if (x->count != count
        || (k.count == 1 && x->units * x->unit_elements != all)
        || (k.count > 1 && x->units % part)
        || (x->units % part && dim == DIM_K))
        return refuse(c, "blocks do not cut its arrays alike");
    /* the last block may overlap the one before: an extreme minds it not, a sum does */
    if (c->plan->whole_mask >> axis & 1 || (x->units % part && c->plan->once_mask >> axis & 1))
        return refuse(c, "it needs all of a dimension at once");
    for (int i = 0; i < c->plan->array_count && axis == AXIS_ROWS; i++)
        if (c->plan->array[i].missing > 0)
            return refuse(c, "rows that end inside a tile must be in one block");
    return 0;
}

/* what is summed over steps must be complete before another block's sums begin */
static int check_sums(const struct cutter *c)
{
    const struct pipeline *f = &c->g->pipeline;
    uint32_t reduced = 0, others = 0;

    for (int a = 0; a < c->plan->axis_count; a++)
        if (c->plan->axis[a].grid_dim >= 0 && c->plan->reduced_mask >> a & 1)
            reduced |= 1u << c->plan->axis[a].grid_dim;
    for (int d = 0; d < f->dims; d++)
        if (reduced & ((1u << d) - 1) && !(reduced >> d & 1) && f->count[d] > 1
            && !(c->g->contraction >> d & 1))
            others |= 1u << d;
    return others ? refuse(c, "sums over blocks that do not follow each other") : 0;
}

/* ----- the whole */

static int add_windows(const struct cutter *c)
{
    struct pipeline *f = &c->g->pipeline;
    struct loop_plan *p = c->plan;

    memset(&p->pipeline, 0, sizeof(p->pipeline));
    p->pipeline.dims = f->dims;
    memcpy(p->pipeline.count, f->count, sizeof(f->count));
    if (!loop_plan_place(p)
        || f->window_count + p->pipeline.window_count > PIPELINE_WINDOW_MAX)
        return refuse(c, "too many windows");
    c->b->first_window = f->window_count;
    memcpy(&f->window[f->window_count], p->pipeline.window,
           (size_t)p->pipeline.window_count * sizeof(f->window[0]));
    f->window_count += p->pipeline.window_count;
    return 0;
}

/* the axes of `dim`: `rows` of VMEM from element to element */
static void place_chain(const struct cutter *c, struct loop_array *a, int dim, int64_t rows)
{
    struct chain k = chain_of(c, dim);

    for (int i = 0; i < k.count; i++) {
        const struct loop_axis *x = &c->plan->axis[k.axis[i]];

        a->unit_rows[k.axis[i]] = rows * x->unit_elements;
        rows *= x->elements;
    }
}

/*
 * Sums stand in columns of 128, a row of the product in each row of VMEM, batches one behind the
 * other in each column: so a loop over rows goes on from batch to batch. There is room for whole
 * groups of rows.
 */
static void place_sums(const struct cutter *c, int down)
{
    struct loop_array *a = &c->plan->array[c->b->fused->own];
    const struct dot_grid *g = c->g;
    int64_t column = g->groups * g->p->group_rows;

    memset(a->unit_rows, 0, sizeof(a->unit_rows));
    a->part_rows = 8;
    a->missing = a->missing_at_end = 0;
    a->unit_rows[AXIS_LANES] = column * g->batches;
    place_chain(c, a, down, 1);
    if (g->batches > 1)
        place_chain(c, a, DIM_OUTER + dot_batch_dim(g->p), column);
}

/*
 * Whole rows of sums stand in as many rows of VMEM as rounds of the product fill, so the last
 * group of a loop over them misses no tile: it need not be a block by itself.
 */
static void fill_up_sums(const struct cutter *c)
{
    struct loop_plan *p = c->plan;
    struct loop_array *a = &p->array[c->b->fused->own];
    bool is_full = p->axis[AXIS_ROWS].units * p->group_rows <= c->g->groups * c->g->p->group_rows;

    a->missing = is_full ? 0 : a->missing_at_end;
}

int dot_cut_fused(struct dot_grid *g, struct dot_block *b, const struct dot_matrix *m,
                  enum dot_dim along, enum dot_dim down, struct err *e)
{
    struct cutter c = {.g = g, .b = b, .plan = &b->fused->plan, .m = m, .e = e};

    memcpy(c.plan->axis, b->fused->axis, sizeof(c.plan->axis));
    for (int i = 0; i < c.plan->axis_count; i++) {      /* whole, if the product has it not */
        c.plan->axis[i].box = c.plan->axis[i].units;
        c.plan->axis[i].count = 1;
        c.plan->axis[i].grid_dim = -1;
        c.dim_of_axis[i] = -1;
    }
    if (find_dims(&c, along, down))
        return -1;
    if (b == &g->result_block)
        fill_up_sums(&c);
    for (int dim = 0; dim < DOT_DIMS; dim++)
        if ((dim >= DIM_M || dim < g->p->outer_count) && cut_chain(&c, dim))
            return -1;
    if (check_sums(&c) || add_windows(&c))
        return -1;
    b->moves = 0;
    if (b == &g->result_block)
        place_sums(&c, (int)down);
    for (int i = 0; i < c.plan->axis_count; i++)
        if (c.plan->axis[i].grid_dim >= 0)
            b->moves |= 1u << c.plan->axis[i].grid_dim;
    return 0;
}
