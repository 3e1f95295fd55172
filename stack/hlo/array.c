/*
 * Lays arrays out as XLA does, in tiles of rows and lanes, and converts values between that and
 * row-major order.
 */
#include "stack/hlo/array.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/floats.h"
#include "base/units.h"

#define DENSE_BYTES 4                   /* of an element outside tiles */

int array_element_bytes(enum graph_dtype dtype)
{
    static const int bytes[DTYPE_COUNT] = {
        [DTYPE_F32] = 4, [DTYPE_BF16] = 2, [DTYPE_S32] = 4, [DTYPE_PRED] = 1,
        [DTYPE_U32] = 4, [DTYPE_S8] = 1, [DTYPE_U8] = 1};

    return bytes[dtype];
}

static void set_linear(struct array *a)
{
    a->is_linear = true;
    a->row_dim = a->lane_dim = -1;
    a->rows = div_up(a->shape.rank ? a->shape.dim[0] : 1, ARRAY_LANES);
    a->lanes = ARRAY_LANES;
}

static void set_tiled(struct array *a)
{
    a->lane_dim = a->order[0];
    a->row_dim = a->order[1];
    a->lanes = a->shape.dim[a->lane_dim];
    a->rows = a->shape.dim[a->row_dim];
    for (int i = a->shape.rank - 1; i >= 2; i--)
        a->outer_dim[a->outer_count++] = a->order[i];
}

void array_init(struct array *a, const char *name, const struct shape *shape, const int *order)
{
    memset(a, 0, sizeof(*a));
    a->name = name;
    a->shape = *shape;
    for (int i = 0; i < shape->rank; i++)
        a->order[i] = order ? order[i] : shape->rank - 1 - i;
    a->element_bytes = array_element_bytes(shape->dtype);
    a->tile_rows = 8 * (4 / a->element_bytes);
    if (shape->rank < 2)
        set_linear(a);
    else
        set_tiled(a);
    a->tiles_down = div_up(a->rows, a->tile_rows);
    a->tiles_across = div_up(a->lanes, ARRAY_LANES);
    a->tile_count = a->tiles_down * a->tiles_across;
    for (int i = 0; i < a->outer_count; i++)
        a->tile_count *= shape->dim[a->outer_dim[i]];
    a->bytes = a->tile_count * ARRAY_TILE_BYTES;
}

int64_t array_payload_bytes(const struct array *a)
{
    return shape_elems(&a->shape) * a->element_bytes;
}

int64_t array_outer_stride(const struct array *a, int dim)
{
    int64_t tiles = a->tiles_down * a->tiles_across;
    int i = a->outer_count - 1;

    for (; i >= 0 && a->outer_dim[i] != dim; i--)
        tiles *= a->shape.dim[a->outer_dim[i]];
    assert(i >= 0);
    return tiles;
}

int64_t array_part_bytes(const struct array *a, int dim, int64_t parts)
{
    int64_t length = a->shape.dim[dim] / parts;
    int64_t row_elems = ARRAY_LANES * (4 / a->element_bytes);

    if (a->is_linear)
        return length % row_elems ? 0 : length * a->element_bytes;
    if (dim == a->lane_dim)
        return length % ARRAY_LANES ? 0 : length / ARRAY_LANES * ARRAY_TILE_BYTES;
    if (dim == a->row_dim)
        return length % a->tile_rows ? 0
                                     : length / a->tile_rows * a->tiles_across * ARRAY_TILE_BYTES;
    return length * array_outer_stride(a, dim) * ARRAY_TILE_BYTES;
}

int array_dim_of_parts(const struct shape *s, int64_t parts)
{
    struct array a;

    array_init(&a, "", s, NULL);
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] % parts == 0 && array_part_bytes(&a, i, parts) > 0)
            return i;
    return -1;
}

struct array_place array_place_of(const struct array *a, const int64_t *index)
{
    int pack = 4 / a->element_bytes;
    int64_t first = a->is_linear && a->shape.rank ? index[0] : 0;
    int64_t row = a->is_linear ? first / ARRAY_LANES : index[a->row_dim];
    int64_t lane = a->is_linear ? first % ARRAY_LANES : index[a->lane_dim];
    int64_t outer = 0;

    for (int i = 0; i < a->outer_count; i++)
        outer = outer * a->shape.dim[a->outer_dim[i]] + index[a->outer_dim[i]];
    return (struct array_place){
        .tile = (outer * a->tiles_down + row / a->tile_rows) * a->tiles_across
                + lane / ARRAY_LANES,
        .sublane = (int)(row % a->tile_rows) / pack, .part = (int)(row % pack),
        .lane = (int)(lane % ARRAY_LANES)};
}

/*
 * Where an element lies is a sum over its dimensions: by dimension and index,
 * the bytes that they add.
 */
struct offsets { int64_t *by_index[GRAPH_RANK_MAX]; };

static int64_t offset_of(const struct array *a, const int64_t *index)
{
    struct array_place p = array_place_of(a, index);

    return p.tile * ARRAY_TILE_BYTES + p.sublane * ARRAY_ROW_BYTES + p.lane * 4
           + p.part * a->element_bytes;
}

static void make_offsets(const struct array *a, struct offsets *o)
{
    for (int d = 0; d < a->shape.rank; d++) {
        int64_t index[GRAPH_RANK_MAX] = {0};

        o->by_index[d] = mem_alloc((size_t)(a->shape.dim[d] + 1) * sizeof(int64_t));
        for (; index[d] < a->shape.dim[d]; index[d]++)
            o->by_index[d][index[d]] = offset_of(a, index);
    }
}

static void free_offsets(const struct array *a, struct offsets *o)
{
    for (int d = 0; d < a->shape.rank; d++)
        mem_free(o->by_index[d]);
}

static void put_element(enum graph_dtype dtype, uint32_t bits, unsigned char *to)
{
    uint16_t half;

    switch (array_element_bytes(dtype)) {
    case 4:
        memcpy(to, &bits, sizeof(bits));
        break;
    case 2:
        half = bf16_from_f32_bits(bits);
        memcpy(to, &half, sizeof(half));
        break;
    default:
        *to = (unsigned char)bits;
    }
}

static uint32_t get_element(enum graph_dtype dtype, const unsigned char *from)
{
    uint32_t bits = 0;
    uint16_t half;

    switch (array_element_bytes(dtype)) {
    case 4:
        memcpy(&bits, from, sizeof(bits));
        return bits;
    case 2:
        memcpy(&half, from, sizeof(half));
        return (uint32_t)half << 16;
    default:
        return dtype == DTYPE_S8 ? (uint32_t)(int32_t)(int8_t)*from : *from;
    }
}

/* the next index in row-major order */
static void advance(const struct shape *s, int64_t *index)
{
    for (int d = s->rank - 1; d >= 0 && ++index[d] == s->dim[d]; d--)
        index[d] = 0;
}

/* the same of words whose last dimension runs along lanes, a row of a tile at a time */
static void move_rows(const struct array *a, unsigned char *dense, unsigned char *tiles,
                      bool is_pack)
{
    int last = a->shape.rank - 1;
    int64_t index[GRAPH_RANK_MAX] = {0}, count = a->shape.dim[last];
    int64_t rows = count ? shape_elems(&a->shape) / count : 0;
    struct offsets o;

    make_offsets(a, &o);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < count; i += ARRAY_LANES) {
            size_t bytes = (size_t)(count - i < ARRAY_LANES ? count - i : ARRAY_LANES) * 4;
            unsigned char *at = tiles + o.by_index[last][i];

            for (int d = 0; d < last; d++)
                at += o.by_index[d][index[d]];
            memcpy(is_pack ? at : dense, is_pack ? dense : at, bytes);
            dense += bytes;
        }
        index[last] = count - 1;
        advance(&a->shape, index);
    }
    free_offsets(a, &o);
}

/* one of `dense` and `tiles` is written, as `is_pack` says */
static void move(const struct array *a, unsigned char *dense, unsigned char *tiles, bool is_pack)
{
    int64_t index[GRAPH_RANK_MAX] = {0}, count = shape_elems(&a->shape);
    struct offsets o;

    if (a->element_bytes == 4 && a->shape.rank > 0 && a->order[0] == a->shape.rank - 1) {
        move_rows(a, dense, tiles, is_pack);
        return;
    }
    make_offsets(a, &o);
    for (int64_t i = 0; i < count; i++, dense += DENSE_BYTES) {
        unsigned char *at = tiles;
        uint32_t bits;

        for (int d = 0; d < a->shape.rank; d++)
            at += o.by_index[d][index[d]];
        if (is_pack) {
            memcpy(&bits, dense, sizeof(bits));
            put_element(a->shape.dtype, bits, at);
        } else {
            bits = get_element(a->shape.dtype, at);
            memcpy(dense, &bits, sizeof(bits));
        }
        advance(&a->shape, index);
    }
    free_offsets(a, &o);
}

void array_pack(const struct array *a, const void *dense, void *tiles)
{
    memset(tiles, 0, (size_t)a->bytes);
    move(a, (unsigned char *)(uintptr_t)dense, tiles, true);
}

void array_unpack(const struct array *a, const void *tiles, void *dense)
{
    move(a, dense, (unsigned char *)(uintptr_t)tiles, false);
}

static void append(char *buf, size_t buf_bytes, const char *text)
{
    size_t length = strlen(buf);

    snprintf(buf + length, buf_bytes - length, "%s", text);
}

static void append_order(const struct array *a, char *buf, size_t buf_bytes)
{
    char piece[16];

    for (int i = 0; i < a->shape.rank; i++) {
        snprintf(piece, sizeof(piece), i ? ",%d" : "%d", a->order[i]);
        append(buf, buf_bytes, piece);
    }
}

char *array_print(const struct array *a, char *buf, size_t buf_bytes)
{
    char piece[64];

    shape_print(&a->shape, buf, buf_bytes);
    append(buf, buf_bytes, "{");
    append_order(a, buf, buf_bytes);
    if (a->is_linear)
        snprintf(piece, sizeof(piece), ":T(%d)", a->tile_rows * ARRAY_LANES);
    else
        snprintf(piece, sizeof(piece), ":T(%d,%d)", a->tile_rows, ARRAY_LANES);
    append(buf, buf_bytes, piece);
    if (a->element_bytes < 4) {
        snprintf(piece, sizeof(piece), "(%d,1)", 4 / a->element_bytes);
        append(buf, buf_bytes, a->is_linear ? "(128)" : "");
        append(buf, buf_bytes, piece);
    }
    append(buf, buf_bytes, a->space == SPACE_VMEM ? "S(1)}" : a->space == SPACE_CMEM ? "S(3)}"
                                                                                     : "}");
    return buf;
}
