/* Sizes, strides and copies of arrays in the caller's memory. */
#include "pjrt/buffer/array.h"

#include "import/expand/expand.h"

#include <string.h>

enum hlo_element element_of(enum PJRT_Buffer_Type type)
{
    switch (type) {
#define ELEMENT(name) case PJRT_Buffer_Type_##name: return ELEMENT_##name;
#include "pjrt/buffer/element.def"
    default: return ELEMENT_COUNT;
    }
}

enum PJRT_Buffer_Type element_type(enum hlo_element e)
{
    switch (e) {
#define ELEMENT(name) case ELEMENT_##name: return PJRT_Buffer_Type_##name;
#include "pjrt/buffer/element.def"
    default: return PJRT_Buffer_Type_INVALID;
    }
}

int64_t array_type_elements(const struct array_type *t)
{
    int64_t count = 1;

    for (int d = 0; d < t->rank; d++)
        count *= t->dim[d];
    return count;
}

int64_t array_type_bytes(const struct array_type *t)
{
    int64_t bytes = (int64_t)hlo_element_bytes(t->element);

    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] == 0)
            return 0;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] < 0 || bytes > INT64_MAX / 2 / t->dim[d])
            return -1;
        bytes *= t->dim[d];
    }
    return bytes;
}

static int64_t round_up(int64_t count, int64_t to)
{
    return (count + to - 1) / to;
}

/* tiles of the array with dimensions `lane` along lanes and `row` along rows */
static int64_t tiles_of(const struct array_type *t, int lane, int row, int64_t lanes,
                        int64_t tile_rows)
{
    int64_t tiles = 1;

    for (int d = 0; d < t->rank; d++)
        tiles *= d == lane ? round_up(t->dim[d], lanes)
               : d == row ? round_up(t->dim[d], tile_rows) : t->dim[d];
    return tiles;
}

/* in the order of dimensions that pads least: kernels of 3x3 are no dimensions of tiles */
int64_t array_type_device_bytes(const struct array_type *t)
{
    enum { TILE_BYTES = 4096, LANES = 128 };
    enum hlo_element part;
    int64_t tiles, tile_rows;
    int parts, bytes;

    if (array_type_elements(t) == 0 || t->element == ELEMENT_TOKEN)
        return 0;
    expand_form_of(t->element, &part, &parts);
    bytes = (int)hlo_element_bytes(part);
    tile_rows = TILE_BYTES / LANES / (bytes > 4 ? 4 : bytes);
    if (t->rank < 2)
        return parts * TILE_BYTES * round_up(array_type_elements(t), LANES * tile_rows);
    tiles = tiles_of(t, t->rank - 1, t->rank - 2, LANES, tile_rows);
    for (int lane = 0; lane < t->rank; lane++)
        for (int row = 0; row < t->rank; row++) {
            int64_t other = row == lane ? tiles : tiles_of(t, lane, row, LANES, tile_rows);

            tiles = other < tiles ? other : tiles;
        }
    return parts * TILE_BYTES * tiles;
}

void array_dense_strides(const struct array_type *t, const int64_t *minor_to_major,
                         int64_t *byte_stride)
{
    int64_t stride = (int64_t)hlo_element_bytes(t->element);

    for (int i = 0; i < t->rank; i++) {
        int64_t d = minor_to_major ? minor_to_major[i] : t->rank - 1 - i;

        byte_stride[d] = stride;
        stride *= t->dim[d];
    }
}

static bool is_order(const int64_t *minor_to_major, int rank)
{
    bool seen[PJRT_RANK_MAX] = {false};

    for (int i = 0; i < rank; i++) {
        if (minor_to_major[i] < 0 || minor_to_major[i] >= rank || seen[minor_to_major[i]])
            return false;
        seen[minor_to_major[i]] = true;
    }
    return true;
}

const char *array_layout_strides(const struct array_type *t,
                                 const struct PJRT_Buffer_MemoryLayout *layout,
                                 int64_t *byte_stride)
{
    if (!layout) {
        array_dense_strides(t, NULL, byte_stride);
        return NULL;
    }
    if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
        if (layout->strides.num_byte_strides != (size_t)t->rank)
            return "its strides are not as many as its dimensions";
        memcpy(byte_stride, layout->strides.byte_strides, (size_t)t->rank * sizeof(*byte_stride));
        return NULL;
    }
    if (layout->tiled.num_tiles != 0)
        return "host memory has no tiles";
    if (layout->tiled.minor_to_major_size != (size_t)t->rank)
        return "its layout has another number of dimensions";
    if (!is_order(layout->tiled.minor_to_major, t->rank))
        return "its layout is no order of its dimensions";
    array_dense_strides(t, layout->tiled.minor_to_major, byte_stride);
    return NULL;
}

/* a dimension of one element may have any stride */
bool array_is_dense(const struct array_type *t, const int64_t *byte_stride)
{
    int64_t dense[PJRT_RANK_MAX];

    array_dense_strides(t, NULL, dense);
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] != 1 && byte_stride[d] != dense[d])
            return false;
    return true;
}

static void copy_row(size_t bytes, int64_t count, const char *from, int64_t from_stride, char *to,
                     int64_t to_stride)
{
    if (from_stride == (int64_t)bytes && to_stride == (int64_t)bytes) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++, from += from_stride, to += to_stride)
        memcpy(to, from, bytes);
}

void array_copy(const struct array_type *t, const void *from, const int64_t *from_stride, void *to,
                const int64_t *to_stride)
{
    size_t bytes = hlo_element_bytes(t->element);
    int64_t index[PJRT_RANK_MAX] = {0};
    const char *at = from;
    char *into = to;
    int minor = t->rank - 1, d;

    if (array_type_elements(t) == 0 || bytes == 0)
        return;
    if (t->rank == 0 || (array_is_dense(t, from_stride) && array_is_dense(t, to_stride))) {
        memcpy(to, from, (size_t)array_type_elements(t) * bytes);
        return;
    }
    for (;;) {
        copy_row(bytes, t->dim[minor], at, from_stride[minor], into, to_stride[minor]);
        for (d = minor - 1; d >= 0; d--) {
            at += from_stride[d];
            into += to_stride[d];
            if (++index[d] < t->dim[d])
                break;
            at -= from_stride[d] * index[d];
            into -= to_stride[d] * index[d];
            index[d] = 0;
        }
        if (d < 0)
            return;
    }
}
