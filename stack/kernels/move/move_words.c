/* Sees packed arrays as arrays of words with fewer rows, and a move's map with them. */
#include "stack/kernels/move/move_words.h"

#include <math.h>

#include "base/units.h"

#define SUBLANES 8

/* of one end of an index dimension: whether its steps along rows are whole words */
static bool is_whole(int dim, int64_t scale, int row_dim, int64_t parts)
{
    return dim != row_dim || scale % parts == 0;
}

/* counts the rows of words on both sides, and words before the next: what becomes fewer */
static bool counts_rows(const struct move_index_dim *d, int from_row, int to_row)
{
    return d->from_dim == from_row && d->to_dim == to_row && d->from_scale == 1 && d->to_scale == 1;
}

static bool has_words(const struct move_source *s, int from_row, int to_row, int64_t parts)
{
    bool has_rows = false;

    if (s->is_converted || s->work != NODE_NONE || s->from_first[from_row] % parts ||
        s->to_first[to_row] % parts)
        return false;
    for (int k = 0; k < s->index_dim_count; k++) {
        const struct move_index_dim *d = &s->index_dim[k];

        if (counts_rows(d, from_row, to_row)) {
            if (d->count % parts)
                return false;
            has_rows = true;
        } else if (!is_whole(d->from_dim, d->from_scale, from_row, parts) ||
                   !is_whole(d->to_dim, d->to_scale, to_row, parts)) {
            return false;
        }
    }
    return has_rows;
}

static void count_words(struct move_source *s, int from_row, int to_row, int64_t parts)
{
    for (int k = 0; k < s->index_dim_count; k++) {
        struct move_index_dim *d = &s->index_dim[k];

        if (counts_rows(d, from_row, to_row)) {
            d->count /= parts;
            continue;
        }
        d->from_scale /= d->from_dim == from_row ? parts : 1;
        d->to_scale /= d->to_dim == to_row ? parts : 1;
    }
    s->from_first[from_row] /= parts;
    s->to_first[to_row] /= parts;
}

/* the same tiles */
static void as_words(struct array *to, const struct array *from)
{
    struct shape s = from->shape;

    s.dim[from->row_dim] = div_up(s.dim[from->row_dim], from->tile_rows / SUBLANES);
    s.dtype = DTYPE_U32;
    array_init(to, from->name, &s, from->order);
    to->space = from->space;
    to->address = from->address;
    to->is_fixed = from->is_fixed;
}

bool move_words_make(struct move_words *w, const struct kernel_job *job, struct move_map *map)
{
    const struct array *to = job->result[0];
    int64_t parts = to->tile_rows / SUBLANES;

    if (to->element_bytes == 4 || to->is_linear || to->shape.dim[to->row_dim] % parts ||
        (map->has_fill && (map->fill != 0 || signbit(map->fill))) ||
        job->operand_count > MOVE_SOURCES_MAX)
        return false;
    for (int i = 0; i < job->operand_count; i++)
        if (job->operand[i]->is_linear || job->operand[i]->tile_rows != to->tile_rows)
            return false;
    for (int i = 0; i < map->source_count; i++)
        if (!has_words(&map->source[i], job->operand[map->source[i].parameter]->row_dim,
                       to->row_dim, parts))
            return false;
    for (int i = 0; i < map->source_count; i++)
        count_words(&map->source[i], job->operand[map->source[i].parameter]->row_dim, to->row_dim,
                    parts);
    w->job = *job;
    for (int i = 0; i < job->operand_count; i++) {
        as_words(&w->array[i], job->operand[i]);
        w->operand[i] = &w->array[i];
    }
    as_words(&w->array[MOVE_SOURCES_MAX], to);
    w->result = &w->array[MOVE_SOURCES_MAX];
    w->job.operand = w->operand;
    w->job.result = &w->result;
    return true;
}
