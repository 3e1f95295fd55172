/* Parts of arrays, copied row by row. */
#include "import/shard/slices.h"

#include <assert.h>
#include <string.h>

static int64_t place_of(const struct hlo_sharding *s, int64_t device)
{
    for (int i = 0; i < s->id.count; i++)
        if (s->id.item[i] == device)
            return i;
    return 0;
}

struct shard_slice shard_slice_of(const struct hlo_sharding *s, const struct hlo_type *whole,
                                  int64_t device)
{
    struct shard_slice slice = {.rank = whole->rank};
    int64_t place = s->kind == HLO_TILED ? place_of(s, device) : 0;

    assert(whole->rank <= SHARD_SLICE_RANK_MAX);
    for (int d = s->kind == HLO_TILED ? s->tile.count - 1 : whole->rank - 1; d >= 0; d--) {
        int64_t tiles = s->kind == HLO_TILED ? s->tile.item[d] : 1, index = place % tiles;

        place /= tiles;
        if (d >= whole->rank)
            continue;
        slice.part[d] = (whole->dim[d] + tiles - 1) / tiles;
        slice.start[d] = index * slice.part[d];
        slice.size[d] = whole->dim[d] - slice.start[d];
        if (slice.size[d] < 0)
            slice.size[d] = slice.start[d] = 0;
        if (slice.size[d] > slice.part[d])
            slice.size[d] = slice.part[d];
    }
    return slice;
}

/* offsets in bytes of row number `row` of the slice, in the whole array and in the part */
static void find_row(const struct shard_slice *s, const struct hlo_type *whole, int64_t row,
                     size_t *in_array, size_t *in_part)
{
    size_t bytes = hlo_element_bytes(whole->element), array_step, part_step;
    int last = s->rank - 1;

    *in_array = last < 0 ? 0 : (size_t)s->start[last] * bytes;
    *in_part = 0;
    array_step = last < 0 ? 0 : (size_t)whole->dim[last] * bytes;
    part_step = last < 0 ? 0 : (size_t)s->part[last] * bytes;
    for (int d = last - 1; d >= 0; d--) {
        int64_t index = row % s->size[d];

        row /= s->size[d];
        *in_array += (size_t)(s->start[d] + index) * array_step;
        *in_part += (size_t)index * part_step;
        array_step *= (size_t)whole->dim[d];
        part_step *= (size_t)s->part[d];
    }
}

static int64_t count_rows(const struct shard_slice *s)
{
    int64_t rows = 1;

    for (int d = 0; d < s->rank; d++)
        rows *= d < s->rank - 1 ? s->size[d] : s->size[d] > 0;
    return rows;
}

static size_t row_bytes(const struct shard_slice *s, const struct hlo_type *whole)
{
    return hlo_element_bytes(whole->element) * (s->rank ? (size_t)s->size[s->rank - 1] : 1);
}

void shard_slice_take(const struct shard_slice *slice, const struct hlo_type *whole,
                      const void *array, void *part)
{
    size_t bytes = hlo_element_bytes(whole->element), from, to;
    int64_t rows = count_rows(slice);

    for (int d = 0; d < slice->rank; d++)
        bytes *= (size_t)slice->part[d];
    memset(part, 0, bytes);
    for (int64_t row = 0; row < rows; row++) {
        find_row(slice, whole, row, &from, &to);
        memcpy((char *)part + to, (const char *)array + from, row_bytes(slice, whole));
    }
}

void shard_slice_put(const struct shard_slice *slice, const struct hlo_type *whole,
                     const void *part, void *array)
{
    int64_t rows = count_rows(slice);
    size_t from, to;

    for (int64_t row = 0; row < rows; row++) {
        find_row(slice, whole, row, &to, &from);
        memcpy((char *)array + to, (const char *)part + from, row_bytes(slice, whole));
    }
}
