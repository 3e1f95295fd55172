/*
 * Cuts the region of a result along a dimension: where several operands follow each other, or
 * padding stands beside one, the whole tiles of each operand are a region of their own, which
 * streams, and the tiles in which they meet, where the dimension is one of the tiles', are small.
 */
#include "stack/kernels/move/move_seam.h"

#include <string.h>

#include "base/units.h"

/* whole tiles of one operand, or what lies between two of those */
struct range { int64_t low, end; };

#define TILES_MIN 4                     /* of an operand's own region: fewer are part of a seam; */
                                        /* outside of tiles there are none */

/* the places along the dimension that a source gives, which follow each other; false: they do not */
static bool places_of(const struct move_source *s, int dim, struct range *r)
{
    int found = 0;

    *r = (struct range){s->to_first[dim], s->to_first[dim] + 1};
    for (int k = 0; k < s->index_dim_count; k++)
        if (s->index_dim[k].to_dim == dim) {
            r->end = r->low + s->index_dim[k].count;
            if (s->index_dim[k].to_scale != 1 || found++)
                return false;
        }
    return true;
}

/*
 * Whole tiles within the range; where the region ends, so may a tile. Beside padding one more tile
 * is left to the seam, which no operand would have a part of.
 */
static struct range whole_tiles(const struct range *r, const struct range *region, int64_t extent,
                                bool has_fill)
{
    struct range w = {round_up(r->low, extent), r->end / extent * extent};

    if (r->low == region->low)
        w.low = r->low;
    else if (has_fill && w.low == r->low)
        w.low += extent;
    if (r->end == region->end)
        w.end = r->end;
    else if (has_fill && w.end == r->end)
        w.end -= extent;
    return w;
}

/* what the source gives of a range; false: nothing */
static bool restrict_source(struct move_source *s, int dim, const struct range *part)
{
    struct range r;
    int64_t low, end;

    places_of(s, dim, &r);
    low = r.low > part->low ? r.low : part->low;
    end = r.end < part->end ? r.end : part->end;
    s->to_first[dim] = low;
    for (int k = 0; k < s->index_dim_count; k++)
        if (s->index_dim[k].to_dim == dim) {
            s->from_first[s->index_dim[k].from_dim] += s->index_dim[k].from_scale * (low - r.low);
            s->index_dim[k].count = end - low;
        }
    return low < end;
}

static int64_t elements_of(const struct move_source *s)
{
    int64_t elements = 1;

    for (int k = 0; k < s->index_dim_count; k++)
        elements *= s->index_dim[k].count;
    return elements;
}

static void make_part(const struct move_box *b, int dim, const struct range *part,
                      struct move_box *out)
{
    int64_t elements = 1, given = 0;

    *out = (struct move_box){.job = b->job, .map = b->map, .has_floats = b->has_floats};
    memcpy(out->first, b->first, sizeof(out->first));
    memcpy(out->last, b->last, sizeof(out->last));
    out->first[dim] = part->low;
    out->last[dim] = part->end - 1;
    for (int d = 0; d < b->job->result[0]->shape.rank; d++)
        elements *= out->last[d] - out->first[d] + 1;
    out->map.source_count = 0;
    for (int i = 0; i < b->map.source_count; i++) {
        struct move_source s = b->map.source[i];

        if (!restrict_source(&s, dim, part))
            continue;
        given += elements_of(&s);
        out->map.source[out->map.source_count++] = s;
    }
    out->map.has_fill = given < elements;
}

/* ranges of whole tiles, in the order of the sources, which is that of their places */
static int find_whole(const struct move_box *b, int dim, int64_t extent, struct range *list)
{
    struct range region = {b->first[dim], b->last[dim] + 1};
    int count = 0;

    for (int i = 0; i < b->map.source_count; i++) {
        struct range r, w;

        if (!places_of(&b->map.source[i], dim, &r) || r.end - r.low == region.end - region.low)
            return 0;
        w = whole_tiles(&r, &region, extent, b->map.has_fill);
        if (w.end - w.low < (extent > 1 ? TILES_MIN * extent : 1))
            continue;
        if (count && w.low < list[count - 1].end)
            return 0;
        list[count++] = w;
    }
    return count;
}

int move_cut_seams(const struct move_box *b, int dim, int64_t extent, struct move_box *part, int max)
{
    struct range whole[MOVE_SOURCES_MAX], region = {b->first[dim], b->last[dim] + 1}, seam;
    int wholes = find_whole(b, dim, extent, whole), count = 0;

    seam.low = region.low;
    for (int i = 0; i <= wholes && wholes; i++) {
        seam.end = i < wholes ? whole[i].low : region.end;
        if (count + 2 > max)
            return 0;
        if (seam.low < seam.end)
            make_part(b, dim, &seam, &part[count++]);
        if (i == wholes)
            break;
        make_part(b, dim, &whole[i], &part[count++]);
        seam.low = whole[i].end;
    }
    return count;
}
