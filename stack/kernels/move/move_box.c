/*
 * Finds the boxes that one step of a move works on, so that they fit VMEM and the step's cost is
 * least.
 */
#include "stack/kernels/move/move_box_impl.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "stack/kernels/move/move_loops.h"
#include "stack/kernels/move/move_step.h"

#define TILE_ROWS 8
#define SPILL_ROWS 160
#define STEP_CYCLES 50                  /* of the pipeline's own code */

enum kind { KIND_LANE, KIND_ROW, KIND_OUTER };

static enum kind kind_of(const struct array *a, int dim)
{
    if (a->is_linear || dim == a->lane_dim)
        return KIND_LANE;
    return dim == a->row_dim ? KIND_ROW : KIND_OUTER;
}

int64_t move_tile_extent(const struct array *a, int dim)
{
    switch (kind_of(a, dim)) {
    case KIND_LANE: return a->is_linear ? (int64_t)a->tile_rows * ARRAY_LANES : ARRAY_LANES;
    case KIND_ROW:  return a->tile_rows;
    default:        return 1;
    }
}

const struct array *move_side_array(const struct move_box *b, int source)
{
    return source < 0 ? b->job->result[0] : b->job->operand[b->map.source[source].parameter];
}

/* one index dimension as one of its ends sees it */
struct end { int dim; int64_t scale; };

static struct end end_of(const struct move_index_dim *d, bool is_result)
{
    return is_result ? (struct end){d->to_dim, d->to_scale}
                     : (struct end){d->from_dim, d->from_scale};
}

int64_t move_least_inner(const struct move_source *s, int k, const struct array *a,
                           bool is_result)
{
    struct end me = end_of(&s->index_dim[k], is_result);
    int64_t extent = move_tile_extent(a, me.dim), count = s->index_dim[k].count;
    int64_t first = (is_result ? s->to_first : s->from_first)[me.dim], below = 1;
    bool is_apart = is_result;          /* boxes of an operand may have tiles in common */

    if (extent == 1)
        return 1;
    if (me.scale < 0)
        return count;
    if (me.scale % extent == 0)
        return is_apart && first % extent ? count : 1;
    for (int i = 0; i < s->index_dim_count; i++) {
        struct end other = end_of(&s->index_dim[i], is_result);

        if (other.dim == me.dim && other.scale < 0)
            return count;
        if (other.dim == me.dim && other.scale < me.scale)
            below += other.scale * (s->index_dim[i].count - 1);
    }
    if (below > me.scale || (is_apart && first % extent))
        return count;
    for (int64_t inner = 1; inner < count; inner++)
        if (count % inner == 0 && me.scale * inner % extent == 0)
            return inner;
    return count;
}

bool move_covers(const struct move_box *b, const struct move_source *s, int dim)
{
    int64_t last = s->to_first[dim];

    if (last != b->first[dim])
        return false;
    for (int k = 0; k < s->index_dim_count; k++)
        if (s->index_dim[k].to_dim == dim)
            last += s->index_dim[k].to_scale * (s->index_dim[k].count - 1);
    return last == b->last[dim];
}

/* the index dimension of another source that counts the same indices of the result, or -1 */
static int same_index_dim(const struct move_source *s, const struct move_index_dim *d)
{
    for (int k = 0; k < s->index_dim_count; k++)
        if (s->index_dim[k].to_dim == d->to_dim && s->index_dim[k].to_scale == d->to_scale &&
            s->index_dim[k].count == d->count)
            return k;
    return -1;
}

/*
 * A box of the result is all tiles from its first to its last along rows and along lanes. It must
 * not hold those of another box, so what counts smaller steps than an index dimension of which
 * it has several is whole.
 */
static void keep_results_apart(struct move_box *b)
{
    const struct move_source *s = &b->map.source[0];
    const struct array *to = move_side_array(b, -1);

    for (int k = 0; k < s->index_dim_count; k++)
        for (int i = 0; i < s->index_dim_count && b->inner[0][k] > 1; i++)
            if (s->index_dim[i].to_dim == s->index_dim[k].to_dim &&
                kind_of(to, s->index_dim[k].to_dim) != KIND_OUTER &&
                s->index_dim[i].to_scale < s->index_dim[k].to_scale)
                b->inner[0][i] = s->index_dim[i].count;
}

void move_least_box(struct move_box *b)
{
    const struct move_map *map = &b->map;
    bool is_partial = map->source_count > 1 || map->has_fill;

    for (int i = 0; i < map->source_count; i++)
        for (int k = 0; k < map->source[i].index_dim_count; k++) {
            int64_t x = move_least_inner(&map->source[i], k, move_side_array(b, i), false);
            int64_t y = move_least_inner(&map->source[i], k, move_side_array(b, -1), true);
            int64_t count = map->source[i].index_dim[k].count;
            int64_t most = x > y ? x : y;

            b->inner[i][k] = most % (x < y ? x : y) ? count : most;
            if (is_partial && !move_covers(b, &map->source[i], map->source[i].index_dim[k].to_dim))
                b->inner[i][k] = count;
        }
    for (int i = 1; i < map->source_count; i++)         /* what all agree on */
        for (int k = 0; k < map->source[0].index_dim_count; k++) {
            int other = same_index_dim(&map->source[i], &map->source[0].index_dim[k]);
            int64_t *mine = &b->inner[0][k];

            if (other < 0)
                *mine = map->source[0].index_dim[k].count;
            else if (b->inner[i][other] > *mine)
                *mine = b->inner[i][other] % *mine ? map->source[0].index_dim[k].count
                                                   : b->inner[i][other];
        }
    keep_results_apart(b);
}

/* the other sources do as source 0 does */
static void follow_first(struct move_box *b)
{
    const struct move_map *map = &b->map;

    for (int i = 1; i < map->source_count; i++)
        for (int k = 0; k < map->source[i].index_dim_count; k++) {
            int first = same_index_dim(&map->source[0], &map->source[i].index_dim[k]);

            b->inner[i][k] = first < 0 ? map->source[i].index_dim[k].count : b->inner[0][first];
        }
}

static int number_grid(struct move_box *b)
{
    const struct move_source *s = &b->map.source[0];
    struct pipeline *f = &b->pipeline;
    int order[MOVE_INDEX_DIMS_MAX], count = 0;

    f->dims = 0;
    for (int k = 0; k < s->index_dim_count; k++) {
        b->grid[0][k] = -1;
        if (b->inner[0][k] < s->index_dim[k].count)
            order[count++] = k;
    }
    if (count > PIPELINE_DIM_MAX)
        return -1;
    for (int d = 0; d < count; d++)
        for (int e = d + 1; e < count; e++) {   /* the result's major index dimensions outside */
            const struct array *to = move_side_array(b, -1);
            const struct move_index_dim *x = &s->index_dim[order[d]], *y = &s->index_dim[order[e]];
            int64_t xs = move_tile_extent(to, x->to_dim) > 1 ? x->to_scale
                         : array_outer_stride(to, x->to_dim) * x->to_scale * ARRAY_LANES * 64;
            int64_t ys = move_tile_extent(to, y->to_dim) > 1 ? y->to_scale
                         : array_outer_stride(to, y->to_dim) * y->to_scale * ARRAY_LANES * 64;

            if (ys > xs) {
                int kept = order[d];

                order[d] = order[e];
                order[e] = kept;
            }
        }
    for (int d = 0; d < count; d++) {
        b->grid[0][order[d]] = d;
        f->count[d] = s->index_dim[order[d]].count / b->inner[0][order[d]];
    }
    f->dims = count;
    if (!count) {                       /* a grid of one step */
        f->dims = 1;
        f->count[0] = 1;
    }
    for (int i = 1; i < b->map.source_count; i++)
        for (int k = 0; k < b->map.source[i].index_dim_count; k++) {
            int first = same_index_dim(s, &b->map.source[i].index_dim[k]);

            b->grid[i][k] = first < 0 ? -1 : b->grid[0][first];
        }
    return 0;
}

int move_add_box_dim(struct move_side *side, int64_t count, int64_t stride)
{
    if (side->box_dims == PIPELINE_BOX_MAX)
        return -2;
    side->box_count[side->box_dims] = count;
    side->box_stride[side->box_dims] = stride;
    return side->box_dims++;
}

static int64_t tile_stride(const struct array *a, int dim)
{
    switch (kind_of(a, dim)) {
    case KIND_LANE: return 1;
    case KIND_ROW:  return a->tiles_across;
    default:        return array_outer_stride(a, dim);
    }
}

/* which indices of dimension `dim` a box holds: low .. high, all where no grid runs along it */
static bool extent_of(const struct move_box *b, int source, int dim, int64_t *low, int64_t *high)
{
    bool is_result = source < 0, has_grid = false;
    const struct move_source *s = &b->map.source[is_result ? 0 : source];
    const int *grid = b->grid[is_result ? 0 : source];
    const int64_t *inner = b->inner[is_result ? 0 : source];

    *low = *high = (is_result ? s->to_first : s->from_first)[dim];
    for (int k = 0; k < s->index_dim_count; k++) {
        struct end e = end_of(&s->index_dim[k], is_result);

        if (e.dim != dim)
            continue;
        has_grid |= grid[k] >= 0;
        *(e.scale < 0 ? low : high) += e.scale * (inner[k] - 1);
    }
    if (is_result && !has_grid && (b->map.source_count > 1 || b->map.has_fill)) {
        *low = b->first[dim];
        *high = b->last[dim];
    }
    return has_grid;
}

/* box dimensions before it: tiles along rows and lanes */
static int first_outer_of(const struct move_side *side) { return side->view.is_linear ? 1 : 2; }

/*
 * All of an outer dimension that follows on the one before it in memory is more of the same box
 * dimension, of which there are few.
 */
static int add_whole_dim(struct move_side *side, int dim, int64_t count, int64_t stride)
{
    int last = side->box_dims - 1, first_outer = first_outer_of(side);

    side->outer_step[dim] = 1;
    if (last < first_outer || stride % side->box_stride[last] != 0 ||
        stride / side->box_stride[last] != side->box_count[last])
        return move_add_box_dim(side, count, stride);
    side->outer_step[dim] = side->box_count[last];
    side->box_count[last] *= count;
    return last;
}

/* tiles along rows (lanes), then outer dimensions */
static int plan_outer(struct move_box *b, int source, struct move_side *side, int dim)
{
    const struct move_source *s = &b->map.source[source < 0 ? 0 : source];
    const struct array *a = move_side_array(b, source);
    int *own = b->index_dim_box[source < 0 ? MOVE_SOURCES_MAX : source];
    int64_t low, high, stride = array_outer_stride(a, dim);
    bool has_grid = extent_of(b, source, dim, &low, &high);

    side->low[dim] = low;
    side->view.address += low * stride * ARRAY_TILE_BYTES;
    side->outer_box[dim] = -1;
    if (!has_grid) {
        side->outer_box[dim] = high == low ? -1 : add_whole_dim(side, dim, high - low + 1, stride);
        return side->outer_box[dim] == -2 ? -1 : 0;
    }
    for (int k = 0; k < s->index_dim_count; k++) {
        struct end e = end_of(&s->index_dim[k], source < 0);
        int64_t inner = b->inner[source < 0 ? 0 : source][k];

        if (e.dim != dim || inner == 1)
            continue;
        if (e.scale < 0)
            return -1;
        own[k] = move_add_box_dim(side, inner, e.scale * stride);
        if (own[k] < 0)
            return -1;
    }
    return 0;
}

/*
 * Rows of an image between neighbours along the first of its outer dimensions, which have `dense`
 * rows each: one more than that, so that eight of them lie in eight banks of VMEM.
 */
static int64_t image_pitch(int64_t dense)
{
    return dense % 2 == 0 && move_fits_stride(dense + 1) ? dense + 1 : dense;
}

static int64_t image_rows(const struct move_side *side)
{
    int64_t rows = side->view.tile_rows;

    for (int i = 0; i < side->box_dims; i++)
        rows = (i == first_outer_of(side) ? image_pitch(rows) : rows) * side->box_count[i];
    return rows;
}

static int plan_side(struct move_box *b, int source, struct move_side *side)
{
    const struct array *a = move_side_array(b, source);
    const struct move_source *s = &b->map.source[source < 0 ? 0 : source];
    int inside[2] = {a->row_dim, a->is_linear ? 0 : a->lane_dim};

    memset(side, 0, sizeof(*side));
    side->view = *a;
    for (int k = 0; k < MOVE_INDEX_DIMS_MAX; k++)
        b->index_dim_box[source < 0 ? MOVE_SOURCES_MAX : source][k] = -1;
    for (int i = a->is_linear; i < 2; i++) {    /* box dimensions 0: rows, 1: lanes */
        int64_t low = 0, high = 0, extent = move_tile_extent(a, inside[i]), tiles;
        int64_t stride = tile_stride(a, inside[i]);

        if (a->shape.rank)
            extent_of(b, source, inside[i], &low, &high);
        side->low[inside[i]] = low / extent * extent;
        tiles = high / extent - low / extent + 1;
        side->view.address += low / extent * stride * ARRAY_TILE_BYTES;
        move_add_box_dim(side, tiles, stride);
    }
    for (int i = a->outer_count - 1; i >= 0; i--)
        if (plan_outer(b, source, side, a->outer_dim[i]))
            return -1;
    for (int k = 0; k < s->index_dim_count; k++) {
        struct end e = end_of(&s->index_dim[k], source < 0);
        int g = b->grid[source < 0 ? 0 : source][k];

        if (g >= 0)
            side->grid_step[g] = e.scale * b->inner[source < 0 ? 0 : source][k]
                                 / move_tile_extent(a, e.dim) * tile_stride(a, e.dim);
    }
    side->tiles = 1;
    for (int i = 0; i < side->box_dims; i++)
        side->tiles *= side->box_count[i];
    side->has_image = a->element_bytes < 4 || (source >= 0 && s->work != NODE_NONE) ||
                      (a->space == SPACE_VMEM && !a->is_linear && side->box_count[0] > 1 &&
                       a->tiles_across > 1);
    side->image_rows = side->has_image ? image_rows(side) : 0;
    return 0;
}

void move_add_window(struct move_box *b, struct move_side *side, bool is_result)
{
    struct pipeline_window *w = &b->pipeline.window[b->pipeline.window_count];

    *w = (struct pipeline_window){.array = &side->view, .is_result = is_result,
                                  .box_dims = side->box_dims};
    memcpy(w->box_count, side->box_count, sizeof(w->box_count));
    memcpy(w->box_stride, side->box_stride, sizeof(w->box_stride));
    memcpy(w->step, side->grid_step, sizeof(w->step));
    w->valid_sublanes = pipeline_valid_sublanes(&side->view);
    side->window = b->pipeline.window_count++;
    if (side->has_image) {
        side->image_row = b->pipeline.scratch_rows;
        b->pipeline.scratch_rows += side->image_rows;
    }
}

bool move_box_fits(const struct move_box *b)
{
    return pipeline_flag_count(&b->pipeline) <= b->job->flag_count &&
           pipeline_vmem_rows(&b->pipeline) + SPILL_ROWS <= b->job->vmem_rows;
}

int move_box_build(struct move_box *b)
{
    follow_first(b);
    b->pipeline = (struct pipeline){.job = b->job};
    if (number_grid(b))
        return -1;
    for (int i = 0; i < b->map.source_count; i++) {
        if (plan_side(b, i, &b->from[i]))
            return -1;
        move_add_window(b, &b->from[i], false);
    }
    if (plan_side(b, -1, &b->to))
        return -1;
    move_add_window(b, &b->to, true);
    pipeline_share(&b->pipeline, 0);
    return move_box_fits(b) ? 0 : -1;
}

/* all index dimensions below k on this side are whole, so that k may grow */
static bool may_grow(const struct move_box *b, int k, bool is_result)
{
    const struct move_source *s = &b->map.source[0];
    struct end me = end_of(&s->index_dim[k], is_result);

    if (kind_of(move_side_array(b, is_result ? -1 : 0), me.dim) == KIND_OUTER)
        return true;
    for (int i = 0; i < s->index_dim_count; i++) {
        struct end e = end_of(&s->index_dim[i], is_result);

        if (e.dim == me.dim && e.scale < me.scale && b->inner[0][i] < s->index_dim[i].count)
            return false;
    }
    return true;
}

/* the next larger part of the index dimension that divides it in whole boxes */
static int64_t next_inner(int64_t count, int64_t inner)
{
    for (int64_t n = 2 * inner; n <= count; n += inner)
        if (count % n == 0)
            return n;
    return count;
}

int64_t move_box_cost(struct move_box *b)
{
    int64_t step = move_step_cycles(b), exposed, copies;

    if (step < 0)
        return INT64_MAX;
    copies = pipeline_copy_cycles(&b->pipeline, &exposed);
    step = (step + STEP_CYCLES) * move_box_steps(b);
    return (step > copies ? step : copies) + exposed;
}

static int64_t built_cost(struct move_box *b)
{
    return move_box_build(b) ? INT64_MAX : move_box_cost(b);
}

int64_t move_box_grow(struct move_box *b)
{
    int64_t best = built_cost(b), inner[MOVE_INDEX_DIMS_MAX];
    const struct move_source *s = &b->map.source[0];
    bool is_grown = true;

    memcpy(inner, b->inner[0], sizeof(inner));
    while (is_grown) {
        is_grown = false;
        for (int k = 0; k < s->index_dim_count; k++) {
            int64_t kept = b->inner[0][k], cost;

            if (kept == s->index_dim[k].count || !may_grow(b, k, false) || !may_grow(b, k, true))
                continue;
            b->inner[0][k] = next_inner(s->index_dim[k].count, kept);
            if (move_box_build(b)) {
                b->inner[0][k] = kept;
                continue;
            }
            is_grown = true;
            cost = built_cost(b);
            if (cost < best) {
                best = cost;
                memcpy(inner, b->inner[0], sizeof(inner));
            }
        }
    }
    memcpy(b->inner[0], inner, sizeof(inner));
    move_box_build(b);
    return best;
}

int64_t move_box_steps(const struct move_box *b)
{
    return pipeline_total_steps(&b->pipeline);
}

/* ----- rows and lanes of a box */

static void resolve_side(const struct move_box *b, struct move_side *side)
{
    const struct array *a = &side->view;
    int64_t dense = a->tile_rows;
    int first_outer = first_outer_of(side);

    for (int i = 0; i < side->box_dims; i++) {
        dense = i == first_outer ? image_pitch(dense) : dense;
        side->box_step[i] =
            side->has_image ? dense : pipeline_stride(&b->pipeline, side->window, i);
        dense *= side->box_count[i];
    }
    side->lane_step = a->is_linear ? 1 : side->box_step[first_outer - 1];
}

void move_box_resolve(struct move_box *b)
{
    for (int i = 0; i < b->map.source_count; i++)
        resolve_side(b, &b->from[i]);
    resolve_side(b, &b->to);
}

/* rows or lanes that an index along `dim` stands for; `own`: an index dimension's box dimension */
static void steps_of(const struct move_side *side, int dim, int own, int64_t scale, int64_t *row,
                     int64_t *lane)
{
    const struct array *a = &side->view;

    *row = *lane = 0;
    switch (kind_of(a, dim)) {
    case KIND_LANE:
        *lane = scale;
        break;
    case KIND_ROW:
        *row = scale;
        break;
    default:
        if (own >= 0)
            *row = side->box_step[own];
        else if (side->outer_box[dim] >= 0)
            *row = scale * side->outer_step[dim] * side->box_step[side->outer_box[dim]];
    }
}

static void first_of(const struct move_side *side, const int64_t *first, int64_t *row,
                     int64_t *lane)
{
    *row = *lane = 0;
    for (int d = 0; d < side->view.shape.rank; d++) {
        int64_t r, l;

        steps_of(side, d, -1, first[d] - side->low[d], &r, &l);
        *row += r;
        *lane += l;
    }
}

int move_box_axes(const struct move_box *b, int source, struct move_axis *axis,
                  int64_t *from_row, int64_t *from_lane, int64_t *to_row, int64_t *to_lane)
{
    const struct move_source *s = &b->map.source[source];
    int count = 0;

    first_of(&b->from[source], s->from_first, from_row, from_lane);
    first_of(&b->to, s->to_first, to_row, to_lane);
    for (int k = 0; k < s->index_dim_count; k++) {
        struct move_axis *x = &axis[count];
        int same = same_index_dim(&b->map.source[0], &s->index_dim[k]);

        if (b->inner[source][k] == 1)
            continue;
        *x = (struct move_axis){.count = b->inner[source][k], .index_dim = k};
        steps_of(&b->from[source], s->index_dim[k].from_dim, b->index_dim_box[source][k],
                 s->index_dim[k].from_scale, &x->from_row, &x->from_lane);
        steps_of(&b->to, s->index_dim[k].to_dim,
                 same < 0 ? -1 : b->index_dim_box[MOVE_SOURCES_MAX][same],
                 s->index_dim[k].to_scale, &x->to_row, &x->to_lane);
        count++;
    }
    return count;
}
