/* Reduces and concatenates arrays of all replicas on the host, in the order of replicas. */
#include "train/step/per_replica.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* all but the axis must be alike; -1 for AXIS_NONE, where all must be */
static int check(const struct per_replica *v, int axis, int *dim, struct err *e)
{
    const struct shape *first = &v->shape[0];
    char a[96], b[96];

    assert(v->count > 0);
    *dim = axis == AXIS_NONE ? -1 : axis < 0 ? axis + first->rank : axis;
    if (axis != AXIS_NONE && (*dim < 0 || *dim >= first->rank))
        return err_set(e, "%s has no axis %d", shape_print(first, a, sizeof(a)), axis);
    for (int r = 1; r < v->count; r++) {
        struct shape like = v->shape[r];

        if (*dim >= 0 && like.rank == first->rank)
            like.dim[*dim] = first->dim[*dim];
        if (!shape_equal(&like, first))
            return err_set(e, "replica 0 has %s and replica %d %s",
                           shape_print(first, a, sizeof(a)), r,
                           shape_print(&v->shape[r], b, sizeof(b)));
    }
    return 0;
}

/* elements along `dim` of all replicas */
static int64_t length(const struct per_replica *v, int dim)
{
    int64_t sum = 0;

    for (int r = 0; r < v->count; r++)
        sum += v->shape[r].dim[dim];
    return sum;
}

/* [outer, length, inner] around dimension `dim`; all of it as outer for -1 */
static void split(const struct shape *s, int dim, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (int d = 0; d < s->rank; d++)
        *(dim < 0 || d < dim ? outer : inner) *= d == dim ? 1 : s->dim[d];
}

int per_replica_reduce_shape(const struct per_replica *v, int axis, struct shape *shape,
                             struct err *e)
{
    int dim;

    if (check(v, axis, &dim, e))
        return -1;
    *shape = v->shape[0];
    if (dim < 0)
        return 0;
    if (length(v, dim) == 0)
        return err_set(e, "there are no elements along axis %d", axis);
    shape->rank--;
    for (int d = dim; d < shape->rank; d++)
        shape->dim[d] = shape->dim[d + 1];
    return 0;
}

/* what becomes one element: from each replica `length` elements, `stride` apart */
struct line {
    const struct per_replica *v;
    int dim;
    int64_t outer, inner;               /* its place */
    int64_t inner_count;
};

static const uint32_t *first_of(const struct line *l, int replica, int64_t *count)
{
    *count = l->dim < 0 ? 1 : l->v->shape[replica].dim[l->dim];
    return (const uint32_t *)l->v->data[replica] + l->outer * *count * l->inner_count + l->inner;
}

static float reduce_floats(const struct line *l, enum replica_reduction kind, int64_t all)
{
    float sum = 0, scale = kind == REPLICA_MEAN && l->dim < 0 ? 1.0f / (float)l->v->count : 1.0f;

    for (int r = 0; r < l->v->count; r++) {
        int64_t count;
        const float *x = (const float *)first_of(l, r, &count);

        for (int64_t i = 0; i < count; i++)
            sum += x[i * l->inner_count] * scale;
    }
    return kind == REPLICA_MEAN && l->dim >= 0 ? sum / (float)all : sum;
}

/* in two's complement, means towards zero */
static uint32_t reduce_integers(const struct line *l, enum replica_reduction kind, int64_t all,
                                bool is_signed)
{
    uint32_t sum = 0;

    for (int r = 0; r < l->v->count; r++) {
        int64_t count;
        const uint32_t *x = first_of(l, r, &count);

        for (int64_t i = 0; i < count; i++)
            sum += x[i * l->inner_count];
    }
    if (kind == REPLICA_SUM)
        return sum;
    return is_signed ? (uint32_t)((int32_t)sum / (int32_t)all) : sum / (uint32_t)all;
}

int per_replica_reduce(const struct per_replica *v, enum replica_reduction kind, int axis,
                       void *to, struct err *e)
{
    struct line l = {.v = v};
    struct shape shape;
    int64_t outer, all;

    if (per_replica_reduce_shape(v, axis, &shape, e) || check(v, axis, &l.dim, e))
        return -1;
    split(&v->shape[0], l.dim, &outer, &l.inner_count);
    all = l.dim < 0 ? v->count : length(v, l.dim);
    for (l.outer = 0; l.outer < outer; l.outer++)
        for (l.inner = 0; l.inner < l.inner_count; l.inner++) {
            int64_t at = l.outer * l.inner_count + l.inner;

            if (shape.dtype == DTYPE_F32)
                ((float *)to)[at] = reduce_floats(&l, kind, all);
            else
                ((uint32_t *)to)[at] = reduce_integers(&l, kind, all, shape.dtype == DTYPE_S32);
        }
    return 0;
}

int per_replica_gather_shape(const struct per_replica *v, int axis, struct shape *shape,
                             struct err *e)
{
    int dim;

    if (check(v, axis, &dim, e))
        return -1;
    *shape = v->shape[0];
    if (dim < 0)
        return err_set(e, "gathering needs an axis");
    shape->dim[dim] = length(v, dim);
    return 0;
}

int per_replica_gather(const struct per_replica *v, int axis, void *to, struct err *e)
{
    int64_t outer, inner;
    struct shape shape;
    char *at = to;
    int dim;

    if (per_replica_gather_shape(v, axis, &shape, e) || check(v, axis, &dim, e))
        return -1;
    split(&shape, dim, &outer, &inner);
    for (int64_t i = 0; i < outer; i++)
        for (int r = 0; r < v->count; r++) {
            size_t bytes = (size_t)(v->shape[r].dim[dim] * inner) * 4;

            memcpy(at, (const char *)v->data[r] + (size_t)i * bytes, bytes);
            at += bytes;
        }
    return 0;
}
