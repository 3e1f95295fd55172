/* Evaluates sources, and operations that move data by a fixed rule. */
#include "stack/interp/interp_ops.h"

#include "base/threefry.h"
#include "base/units.h"

#include <string.h>

void interp_next_index(const int64_t *dim, int rank, int64_t *index)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < dim[i])
            return;
        index[i] = 0;
    }
}

void interp_rows_init(struct interp_rows *r, const struct shape *s, const int64_t *stride)
{
    *r = (struct interp_rows){.rank = s->rank, .length = s->rank ? s->dim[s->rank - 1] : 1};
    r->count = shape_elems(s) / r->length;
    r->step = s->rank ? stride[s->rank - 1] : 0;
    for (int i = 0; i < s->rank; i++) {
        r->dim[i] = s->dim[i];
        r->stride[i] = stride[i];
    }
}

void interp_rows_next(struct interp_rows *r)
{
    for (int i = r->rank - 2; i >= 0; i--) {
        r->offset += r->stride[i];
        if (++r->index[i] < r->dim[i])
            return;
        r->offset -= r->stride[i] * r->dim[i];
        r->index[i] = 0;
    }
}

void interp_dense_strides(const struct shape *s, int64_t *stride)
{
    int64_t elems = 1;

    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = elems;
        elems *= s->dim[i];
    }
}

#define COPY_ROW(type) \
    for (int64_t i = 0; i < in.length; i++) \
        ((type *)to)[c->out + out.offset + i * out.step] = \
            ((const type *)from)[c->in + in.offset + i * in.step];

void interp_copy(const struct interp_copy *c, const void *from, void *to)
{
    struct shape s = shape_make(DTYPE_F32, c->rank, c->dim);
    struct interp_rows in, out;

    if (shape_elems(&s) == 0)
        return;
    interp_rows_init(&in, &s, c->in_stride);
    interp_rows_init(&out, &s, c->out_stride);
    for (int64_t row = 0; row < in.count; row++) {
        if (c->elem_bytes == 8)
            COPY_ROW(uint64_t)
        else
            COPY_ROW(uint32_t)
        interp_rows_next(&in);
        interp_rows_next(&out);
    }
}

static struct interp_copy copy_of(const struct interp_call *c, const struct shape *s)
{
    struct interp_copy copy = {.rank = s->rank,
                               .elem_bytes = interp_elem_bytes(c->is_wide, s->dtype)};

    memcpy(copy.dim, s->dim, sizeof(copy.dim));
    return copy;
}

/* every element of the result comes from one place of the operand */
static void move_in(const struct interp_call *c)
{
    const struct graph_node *n = c->n;
    const struct shape *a = call_shape(c, 0);
    struct interp_copy copy = copy_of(c, &n->shape);
    int64_t dense[GRAPH_RANK_MAX];

    interp_dense_strides(&n->shape, copy.out_stride);
    interp_dense_strides(a, dense);
    for (int i = 0; i < a->rank; i++) {
        if (n->op == HLO_TRANSPOSE)
            copy.in_stride[i] = dense[n->dims[i]];
        else if (n->op == HLO_BROADCAST)
            copy.in_stride[n->dims[i]] = dense[i];
        else                            /* HLO_SLICE, HLO_REVERSE */
            copy.in_stride[i] = dense[i] * (n->op == HLO_SLICE ? n->stride[i] : 1);
        if (n->op == HLO_SLICE)
            copy.in += n->start[i] * dense[i];
    }
    for (int i = 0; n->op == HLO_REVERSE && i < n->dim; i++) {
        copy.in += (a->dim[n->dims[i]] - 1) * dense[n->dims[i]];
        copy.in_stride[n->dims[i]] = -dense[n->dims[i]];
    }
    interp_copy(&copy, call_data(c, 0), c->to);
}

static void concatenate(const struct interp_call *c)
{
    int64_t at = 0;

    for (int i = 0; i < c->n->operand_count; i++) {
        const struct shape *a = call_shape(c, i);
        struct interp_copy copy = copy_of(c, a);

        interp_dense_strides(a, copy.in_stride);
        interp_dense_strides(&c->n->shape, copy.out_stride);
        copy.out = at * copy.out_stride[c->n->dim];
        interp_copy(&copy, call_data(c, i), c->to);
        at += a->dim[c->n->dim];
    }
}

/* those elements of the operand that the padding, where it is negative, leaves */
static void pad(const struct interp_call *c)
{
    const struct graph_node *n = c->n;
    const struct shape *a = call_shape(c, 0);
    struct interp_copy fill = copy_of(c, &n->shape), copy = copy_of(c, a);

    interp_dense_strides(&n->shape, fill.out_stride);
    interp_copy(&fill, call_data(c, 1), c->to);
    interp_dense_strides(a, copy.in_stride);
    for (int i = 0; i < a->rank; i++) {
        int64_t step = n->interior[i] + 1;
        int64_t first = n->low[i] < 0 ? div_up(-n->low[i], step) : 0;
        int64_t room = n->shape.dim[i] - 1 - n->low[i];
        int64_t last = room < 0 ? -1 : room / step;

        if (last > a->dim[i] - 1)
            last = a->dim[i] - 1;
        copy.dim[i] = last < first ? 0 : last - first + 1;
        copy.in += first * copy.in_stride[i];
        copy.out += (n->low[i] + first * step) * fill.out_stride[i];
        copy.out_stride[i] = step * fill.out_stride[i];
    }
    interp_copy(&copy, call_data(c, 0), c->to);
}

void interp_move(const struct interp_call *c)
{
    size_t bytes = (size_t)shape_elems(&c->n->shape) *
                   interp_elem_bytes(c->is_wide, c->n->shape.dtype);

    if (c->n->op == HLO_RESHAPE)
        memcpy(c->to, call_data(c, 0), bytes);
    else if (c->n->op == HLO_CONCATENATE)
        concatenate(c);
    else if (c->n->op == HLO_PAD)
        pad(c);
    else
        move_in(c);
}

static void constant(const struct interp_call *c)
{
    const struct graph_node *n = c->n;
    int64_t elems = shape_elems(&n->shape);

    for (int64_t i = 0; i < elems; i++)
        interp_put(c->to, n->shape.dtype, c->is_wide, i,
                   n->literal ? interp_get(n->literal, n->shape.dtype, false, i) : n->value);
}

void interp_source(const struct interp_call *c)
{
    const struct graph_node *n = c->n;
    int64_t elems = shape_elems(&n->shape), inner = 1;

    if (n->op == HLO_CONSTANT) {
        constant(c);
        return;
    }
    if (n->op == HLO_RNG_BITS) {
        interp_random(c);
        return;
    }
    if (n->op == HLO_PARTITION_ID || n->op == HLO_REPLICA_ID) {
        *(uint32_t *)c->to = n->literal ? ((const uint32_t *)n->literal)[c->device]
                                        : (uint32_t)c->device;
        return;
    }
    for (int i = n->dim + 1; i < n->shape.rank; i++)
        inner *= n->shape.dim[i];
    for (int64_t i = 0; i < elems; i++)
        interp_put(c->to, n->shape.dtype, c->is_wide, i,
                   (double)(i / inner % n->shape.dim[n->dim]));
}

/* ---- random bits: graph.h says which ---- */

enum { TILE_ROWS_OF_RNG = 8, TILE_LANES_OF_RNG = 128, BLOCKS = 512 };

void interp_random(const struct interp_call *c)
{
    const struct shape *s = &c->n->shape;
    int64_t elems = shape_elems(s);
    bool is_linear = s->rank < 2;
    int64_t rows = is_linear ? div_up(elems, TILE_LANES_OF_RNG) : s->dim[s->rank - 2];
    int64_t lanes = is_linear ? TILE_LANES_OF_RNG : s->dim[s->rank - 1];
    int64_t down = div_up(rows, TILE_ROWS_OF_RNG), across = div_up(lanes, TILE_LANES_OF_RNG);
    uint32_t seed = *(const uint32_t *)call_data(c, 0);

    for (int64_t i = 0; i < elems; i++) {
        int64_t row = i / lanes, lane = i % lanes;
        int64_t tile = (row / rows * down + row % rows / TILE_ROWS_OF_RNG) * across +
                       lane / TILE_LANES_OF_RNG;
        uint32_t word = (uint32_t)(row % rows % TILE_ROWS_OF_RNG * TILE_LANES_OF_RNG +
                                   lane % TILE_LANES_OF_RNG);
        uint32_t key[2] = {graph_rng_key(seed, c->n->count, tile), 0}, bits[2];

        threefry_2x32(key, (uint32_t[]){word % BLOCKS, 0}, bits);
        ((uint32_t *)c->to)[i] = bits[word / BLOCKS];
    }
}
