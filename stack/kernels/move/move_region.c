/*
 * The regions of a move's result: one, as a rule. Where a size that no tile
 * divides is too large for a box, its whole chunks and the rest; where padding
 * lies beside the source along outer dimensions, the source and the padding; where
 * sources meet within tiles, each one's whole tiles and the seams (move_seam.h).
 */
#include "stack/kernels/move/move_box_impl.h"
#include "stack/kernels/move/move_seam.h"

#include <string.h>

/* of an index dimension that nothing divides, the whole ones first */
#define RAGGED_CHUNK_MIN 16
#define RAGGED_CHUNKS_MIN 16
#define TILE_ROWS_HELD 24               /* VMEM rows per tile: two buffers and some room */
#define FILL_TILES 256                  /* of a box of padding alone, about */

/* one type, or f32 and bf16 with images of f32, in which work is done, too */
static int check_types(struct move_box *b)
{
    enum graph_dtype to = b->job->result[0]->shape.dtype;

    for (int i = 0; i < b->map.source_count; i++) {
        bool has_work = b->map.source[i].work != NODE_NONE;

        b->has_floats |= move_side_array(b, i)->shape.dtype != to || has_work;
        if (!has_work && (move_side_array(b, i)->shape.dtype != to) != b->map.source[i].is_converted)
            return -1;
    }
    return b->map.source_count ? 0 : -1;
}

/*
 * No tile of the result has elements of the first `whole` of index dimension k and of those behind,
 * nor has a box of one some of the other, which it would overwrite.
 */
static bool parts_result(const struct move_box *b, int k, int64_t whole)
{
    const struct move_source *s = &b->map.source[0];
    const struct move_index_dim *x = &s->index_dim[k];

    for (int i = 0; i < s->index_dim_count; i++)
        if (s->index_dim[i].to_dim == x->to_dim && s->index_dim[i].to_scale > x->to_scale)
            return false;
    return (s->to_first[x->to_dim] + x->to_scale * whole) %
               move_tile_extent(move_side_array(b, -1), x->to_dim) == 0;
}

/* boxes may have `chunk` of the `whole` that are made of index dimension k */
static bool divides(const struct move_box *b, int k, int64_t chunk, int64_t whole)
{
    struct move_source main = b->map.source[0];

    if (!parts_result(b, k, whole))
        return false;
    main.index_dim[k].count = whole;
    return move_least_inner(&main, k, move_side_array(b, 0), false) <= chunk &&
           move_least_inner(&main, k, move_side_array(b, -1), true) <= chunk;
}

/*
 * What whole chunks have of index dimension k, which nothing divides; 0: no chunk will do. A chunk is
 * a power of two, of a large count of about a sixteenth, so that boxes may have any of those sizes,
 * however the count is made; of a small one the first that boxes can be cut by.
 */
static int64_t whole_chunks(const struct move_box *b, int k)
{
    int64_t count = b->map.source[0].index_dim[k].count, chunk = RAGGED_CHUNK_MIN;

    while (chunk * RAGGED_CHUNKS_MIN <= count)
        chunk *= 2;
    for (; chunk <= count; chunk *= 2) {
        int64_t whole = count / chunk * chunk;

        if (whole < count && divides(b, k, chunk, whole))
            return whole;
    }
    return 0;
}

/* the largest one that boxes must hold whole only because they do not divide it; -1: none */
static int ragged_index_dim(const struct move_box *b, int64_t *main_count)
{
    const struct move_source *s = &b->map.source[0];
    int found = -1;

    if (b->map.source_count > 1 || b->map.has_fill)
        return -1;
    for (int k = 0; k < s->index_dim_count; k++) {
        int64_t whole;

        if (b->inner[0][k] < s->index_dim[k].count ||
            (found >= 0 && s->index_dim[found].count > s->index_dim[k].count))
            continue;
        whole = whole_chunks(b, k);
        if (whole > 0) {
            found = k;
            *main_count = whole;
        }
    }
    return found;
}

/* the part of the map behind `count` of index dimension k; the map keeps what is before */
static struct move_map cut_map(struct move_map *map, int k, int64_t count)
{
    struct move_map rest = *map;
    struct move_source *s = &rest.source[0];

    map->source[0].index_dim[k].count = count;
    s->from_first[s->index_dim[k].from_dim] += s->index_dim[k].from_scale * count;
    s->to_first[s->index_dim[k].to_dim] += s->index_dim[k].to_scale * count;
    s->index_dim[k].count -= count;
    return rest;
}

/* ----- regions that hold padding alone */

static int plan_fill(struct move_box *b)
{
    const struct array *a = b->job->result[0];
    struct move_side *side = &b->to;
    struct pipeline *f = &b->pipeline;
    int64_t most = b->job->vmem_rows / (TILE_ROWS_HELD + a->tile_rows);

    most = most < FILL_TILES ? most : FILL_TILES;
    *f = (struct pipeline){.job = b->job};
    memset(side, 0, sizeof(*side));
    side->view = *a;
    side->tiles = a->tiles_down * a->tiles_across;
    move_add_box_dim(side, a->tiles_down, a->tiles_across);
    move_add_box_dim(side, a->tiles_across, 1);
    for (int i = a->outer_count - 1; i >= 0; i--) {
        int d = a->outer_dim[i];
        int64_t count = b->last[d] - b->first[d] + 1, stride = array_outer_stride(a, d);

        side->view.address += b->first[d] * stride * ARRAY_TILE_BYTES;
        if (side->tiles * count <= most && move_add_box_dim(side, count, stride) >= 0) {
            side->tiles *= count;
        } else if (count > 1) {
            if (f->dims == PIPELINE_DIM_MAX)
                return -1;
            f->count[f->dims] = count;
            side->grid_step[f->dims++] = stride;
        }
    }
    if (!f->dims)
        f->count[f->dims++] = 1;
    side->has_image = a->element_bytes < 4 || a->space == SPACE_VMEM;
    side->image_rows = side->has_image ? side->tiles * a->tile_rows : 0;
    move_add_window(b, side, true);
    b->cycles = move_box_fits(b) ? move_box_cost(b) : INT64_MAX;
    return b->cycles < INT64_MAX ? 0 : -1;
}

/* no gaps between the elements of the source along this dimension */
static bool is_solid(const struct move_source *s, int dim)
{
    int64_t last = 0, count = 1;

    for (int k = 0; k < s->index_dim_count; k++)
        if (s->index_dim[k].to_dim == dim) {
            last += s->index_dim[k].to_scale * (s->index_dim[k].count - 1);
            count *= s->index_dim[k].count;
        }
    return last == count - 1;
}

/*
 * Parts of the result that lie wholly beside the source along an outer
 * dimension become regions of padding, and b is what remains. Their number.
 */
static int cut_padding(struct move_box *b, struct move_box *padding, int max)
{
    const struct array *a = b->job->result[0];
    const struct move_source *s = &b->map.source[0];
    int count = 0;

    if (b->map.source_count != 1 || !b->map.has_fill)
        return 0;
    for (int i = 0; i < a->outer_count && count + 2 <= max; i++) {
        int d = a->outer_dim[i];
        int64_t first = s->to_first[d], last = first;

        for (int k = 0; k < s->index_dim_count; k++)
            if (s->index_dim[k].to_dim == d)
                last += s->index_dim[k].to_scale * (s->index_dim[k].count - 1);
        if (!is_solid(s, d) || (first == b->first[d] && last == b->last[d]))
            continue;
        for (int side = 0; side < 2; side++) {
            struct move_box *x = &padding[count];

            if (side ? last == b->last[d] : first == b->first[d])
                continue;
            *x = (struct move_box){.job = b->job, .has_floats = b->has_floats};
            x->map.has_fill = true;
            x->map.fill = b->map.fill;
            memcpy(x->first, b->first, sizeof(x->first));
            memcpy(x->last, b->last, sizeof(x->last));
            *(side ? &x->first[d] : &x->last[d]) = side ? last + 1 : first - 1;
            count++;
        }
        b->first[d] = first;
        b->last[d] = last;
    }
    return count;
}

/* ----- */

static int plan_region(struct move_box *b, struct move_box *list, int *count);

/* whole tiles of each operand, and those in which they meet, along the first dimension that can */
static int plan_seams(struct move_box *b, struct move_box *list, int *count)
{
    struct move_box *part = mem_alloc(MOVE_REGIONS_MAX * sizeof(*part));
    const struct array *a = b->job->result[0];
    int parts = 0, status = 0;

    for (int d = a->shape.rank - 1; d >= 0 && !parts; d--)
        parts = move_cut_seams(b, d, move_tile_extent(a, d), part, MOVE_REGIONS_MAX - *count);
    for (int i = 0; i < parts && !status; i++) {
        status = *count == MOVE_REGIONS_MAX ? -1 : 0;
        if (!status) {
            list[*count] = part[i];
            status = plan_region(&list[*count], list, count);
        }
    }
    mem_free(part);
    return parts ? status : -1;
}

/* b is the next box of the list; regions of padding follow it */
static int plan_padding(struct move_box *b, struct move_box *list, int *count)
{
    struct move_box *padding = mem_alloc(MOVE_REGIONS_MAX * sizeof(*padding));
    int rest = cut_padding(b, padding, MOVE_REGIONS_MAX), status;

    status = rest ? plan_region(b, list, count) : plan_seams(b, list, count);
    for (int i = 0; i < rest && !status; i++) {
        if (*count == MOVE_REGIONS_MAX) {
            status = -1;
            break;
        }
        list[*count] = padding[i];
        status = plan_fill(&list[(*count)++]);
    }
    mem_free(padding);
    return status;
}

static int plan_ragged(struct move_box *b, int k, int64_t main_count, struct move_box *list,
                       int *count)
{
    struct move_map rest = cut_map(&b->map, k, main_count);

    if (plan_region(b, list, count) || *count == MOVE_REGIONS_MAX)
        return -1;
    b = &list[*count];
    memset(b, 0, sizeof(*b));
    b->job = list[0].job;
    b->has_floats = list[0].has_floats;
    b->map = rest;
    return plan_region(b, list, count);
}

/* a region that no operand has a part of; -1: it ends within tiles, of which others have the rest */
static int plan_empty(struct move_box *b, int *count)
{
    const struct array *a = b->job->result[0];
    int inside[2] = {a->lane_dim, a->row_dim};

    if (*count == MOVE_REGIONS_MAX || a->is_linear)
        return -1;
    for (int i = 0; i < 2; i++)
        if (inside[i] >= 0 &&
            (b->first[inside[i]] != 0 || b->last[inside[i]] != a->shape.dim[inside[i]] - 1))
            return -1;
    ++*count;
    return plan_fill(b);
}

static int plan_region(struct move_box *b, struct move_box *list, int *count)
{
    int64_t main_count = 0;
    int k;

    if (b->map.source_count == 0)
        return plan_empty(b, count);
    memset(b->inner, 0, sizeof(b->inner));
    move_least_box(b);
    if (*count == MOVE_REGIONS_MAX)
        return -1;
    b->cycles = move_box_build(b) ? INT64_MAX : move_box_grow(b);
    if (b->cycles < INT64_MAX) {
        (*count)++;
        return 0;
    }
    k = ragged_index_dim(b, &main_count);
    return k < 0 ? plan_padding(b, list, count) : plan_ragged(b, k, main_count, list, count);
}

int move_box_plan(const struct kernel_job *job, struct move_words *words, struct move_box *list)
{
    const struct shape *to;
    int count = 0;

    memset(list, 0, sizeof(*list));
    list->job = job;
    if (move_map_make(job->body, &list->map) || check_types(list))
        return -1;
    if (move_words_make(words, job, &list->map))
        list->job = &words->job;
    to = &list->job->result[0]->shape;
    for (int d = 0; d < to->rank; d++)
        list->last[d] = to->dim[d] - 1;
    return plan_region(list, list, &count) ? -1 : count;
}
