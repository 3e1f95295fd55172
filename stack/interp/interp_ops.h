/*
 * Single operations of the reference interpreter; private to interp*.c. Values are as in
 * interp.h; no result overlaps an operand.
 */
#ifndef STACK_INTERP_OPS_H
#define STACK_INTERP_OPS_H
#include "stack/hlo/graph_shape.h"

/* room that is used again: fresh memory is slow to touch the first time */
struct interp_room {
    void *data;
    size_t bytes;
};
void *interp_room_of(struct interp_room *r, size_t bytes);      /* holds anything */

/* a loop that is being carried out: how often it has run before, and the one around it */
struct interp_trip {
    int64_t done;
    const struct interp_trip *outer;
};

/* one node to evaluate */
struct interp_call {
    const struct graph *g;
    const struct graph_node *n;
    void *const *value;                 /* by node */
    void *to;                           /* the result; of tuples the first of them */
    enum graph_dtype type;              /* of operand 0 (of the values where that is a predicate) */
    struct interp_room *room;           /* two of them, for this node alone */
    bool is_wide;                       /* INTERP_WIDE */
    bool rounds_dots;                   /* INTERP_DOT_BF16 */
    int device;                         /* its number */
    const struct interp_trip *trip;     /* the innermost loop around it, or NULL */
};

/* one node to evaluate on all devices at once */
struct interp_devices {
    const struct graph *g;
    const struct graph_node *n;
    int node, device_count;
    void *const *const *value;          /* by device, by node; value[device][node]: the result */
    bool is_wide;
};

static inline const struct shape *call_shape(const struct interp_call *c, int operand)
{
    return &c->g->node[c->n->operand[operand]].shape;
}

static inline const void *call_data(const struct interp_call *c, int operand)
{
    return c->value[c->n->operand[operand]];
}

static inline size_t interp_elem_bytes(bool is_wide, enum graph_dtype dtype)
{
    return is_wide && graph_dtype_is_float(dtype) ? 8 : 4;
}

/* from one part of a tuple's value to the next, which begin on cache lines */
static inline size_t interp_part_bytes(bool is_wide, const struct shape *s)
{
    return ((size_t)shape_elems(s) * interp_elem_bytes(is_wide, s->dtype) + 63) / 64 * 64;
}

/* a part of a tuple's value, or of one array itself */
void *interp_part(bool is_wide, const struct graph_node *tuple, void *value, int part);

/* any element as a number, and a number to an element, rounded or wrapped to its type */
double interp_get(const void *data, enum graph_dtype dtype, bool is_wide, int64_t i);
void interp_put(void *data, enum graph_dtype dtype, bool is_wide, int64_t i, double x);
int64_t interp_wrap(enum graph_dtype dtype, int64_t x);

/* f32 values to bf16 values, in place; not in wide mode */
void interp_round_bf16(float *x, int64_t count);
void interp_round_result(const struct interp_call *c);

void interp_dense_strides(const struct shape *s, int64_t *stride);

/* element of `shape` at index i goes from from[in + i * in_stride] to to[out + i * out_stride] */
struct interp_copy {
    int rank;
    int64_t dim[GRAPH_RANK_MAX];
    int64_t in, out, in_stride[GRAPH_RANK_MAX], out_stride[GRAPH_RANK_MAX];
    size_t elem_bytes;
};
void interp_copy(const struct interp_copy *c, const void *from, void *to);

/*
 * Walks an array in row-major order a row (last dimension) at a time and knows
 * where the row's first element lies in another array with other strides.
 */
struct interp_rows {
    int rank;
    int64_t count, length;              /* rows; elements per row */
    int64_t dim[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX], index[GRAPH_RANK_MAX];
    int64_t offset;                     /* of the row's first element in the other array */
    int64_t step;                       /* from one element of the row to the next */
};
void interp_rows_init(struct interp_rows *r, const struct shape *s, const int64_t *stride);
void interp_rows_next(struct interp_rows *r);

/* index to the next in row-major order within dim[] */
void interp_next_index(const int64_t *dim, int rank, int64_t *index);

void interp_source(const struct interp_call *c);
void interp_random(const struct interp_call *c);
void interp_elementwise(const struct interp_call *c);   /* UNARY, BINARY, OTHER */
void interp_float(const struct interp_call *c);         /* of these, arithmetic on floats */
void interp_integer(const struct interp_call *c);       /* and on integers and predicates */
void interp_move(const struct interp_call *c);          /* SHAPE */
int interp_dot(const struct interp_call *c, struct err *e);
int interp_convolution(const struct interp_call *c, struct err *e);
void interp_reduce(const struct interp_call *c);
void interp_window(const struct interp_call *c);
void interp_index(const struct interp_call *c);
void interp_sort(const struct interp_call *c);
void interp_collective(const struct interp_devices *all);

/* one step of a reduction of this type, exact for floats */
double interp_fold(enum graph_reduce kind, enum graph_dtype dtype, double sum, double x);
/* a kernel of Pallas; input and output by device */
int interp_mosaic(const struct graph_node *n, bool is_wide, int device_count,
                  void *const *const *input, void *const *const *output, struct err *e);
#endif
