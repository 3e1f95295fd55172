/* Copies of elements that lie apart, with the longest run in the inner loop. */
#include "import/lanes/stride.h"

#include <string.h>

struct element16 { uint64_t half[2]; };

#define COPY_ROW(name, T) \
    static void name(T *to, int64_t to_step, const T *from, int64_t from_step, int64_t n) \
    { \
        if (to_step == 1 && from_step == 0) { \
            T x = *from; \
            for (int64_t i = 0; i < n; i++) \
                to[i] = x; \
        } else if (to_step == 1) { \
            for (int64_t i = 0; i < n; i++) \
                to[i] = from[i * from_step]; \
        } else { \
            for (int64_t i = 0; i < n; i++) \
                to[i * to_step] = from[i * from_step]; \
        } \
    }

COPY_ROW(copy1, uint8_t)
COPY_ROW(copy2, uint16_t)
COPY_ROW(copy4, uint32_t)
COPY_ROW(copy8, uint64_t)
COPY_ROW(copy16, struct element16)

static void copy_row(size_t bytes, void *to, int64_t to_step, const void *from, int64_t from_step,
                     int64_t n)
{
    if (to_step == 1 && from_step == 1)
        memcpy(to, from, (size_t)n * bytes);
    else if (bytes == 1)
        copy1(to, to_step, from, from_step, n);
    else if (bytes == 2)
        copy2(to, to_step, from, from_step, n);
    else if (bytes == 4)
        copy4(to, to_step, from, from_step, n);
    else if (bytes == 8)
        copy8(to, to_step, from, from_step, n);
    else
        copy16(to, to_step, from, from_step, n);
}

/* leaves out dimensions of one element and joins those that follow each other on both sides */
static void merge(struct stride_copy *c)
{
    int n = 0;

    for (int d = 0; d < c->rank; d++) {
        if (c->dim[d] == 1)
            continue;
        if (n && c->to_step[n - 1] == c->to_step[d] * c->dim[d] &&
            c->from_step[n - 1] == c->from_step[d] * c->dim[d]) {
            c->dim[n - 1] *= c->dim[d];
        } else {
            c->dim[n++] = c->dim[d];
        }
        c->to_step[n - 1] = c->to_step[d];
        c->from_step[n - 1] = c->from_step[d];
    }
    c->rank = n;
}

/* A plane of rows that one side has as columns, in squares that stay in the cache. */
static void copy_plane(const struct stride_copy *c, int outer, size_t bytes, char *to,
                       const char *from)
{
    enum { SIDE = 32 };
    int inner = c->rank - 1;
    int64_t ts = c->to_step[outer], fs = c->from_step[outer], b = (int64_t)bytes;

    for (int64_t i = 0; i < c->dim[outer]; i += SIDE)
        for (int64_t j = 0; j < c->dim[inner]; j += SIDE) {
            int64_t rows = c->dim[outer] - i < SIDE ? c->dim[outer] - i : SIDE;
            int64_t columns = c->dim[inner] - j < SIDE ? c->dim[inner] - j : SIDE;

            for (int64_t k = i; k < i + rows; k++)
                copy_row(bytes, to + (k * ts + j * c->to_step[inner]) * b, c->to_step[inner],
                         from + (k * fs + j * c->from_step[inner]) * b, c->from_step[inner],
                         columns);
        }
}

static void copy_dims(const struct stride_copy *c, int d, int plane, size_t bytes, char *to,
                      const char *from)
{
    int64_t b = (int64_t)bytes;

    if (d == c->rank - 1) {
        if (plane >= 0)
            copy_plane(c, plane, bytes, to, from);
        else
            copy_row(bytes, to, c->to_step[d], from, c->from_step[d], c->dim[d]);
        return;
    }
    if (d == plane) {
        copy_dims(c, d + 1, plane, bytes, to, from);
        return;
    }
    for (int64_t i = 0; i < c->dim[d]; i++)
        copy_dims(c, d + 1, plane, bytes, to + i * c->to_step[d] * b,
                  from + i * c->from_step[d] * b);
}

/* the dimension that `from` has closest together, where that is not the last one; -1: none */
static int plane_of(const struct stride_copy *c)
{
    int last = c->rank - 1;

    if (c->from_step[last] >= -4 && c->from_step[last] <= 4)
        return -1;
    for (int d = 0; d < last; d++)
        if (c->from_step[d] == 1 && c->dim[d] > 4)
            return d;
    return -1;
}

void stride_copy(struct stride_copy c, size_t element_bytes, void *to, const void *from)
{
    for (int d = 0; d < c.rank; d++)
        if (c.dim[d] == 0)
            return;
    merge(&c);
    if (c.rank == 0)
        memcpy(to, from, element_bytes);
    else
        copy_dims(&c, 0, plane_of(&c), element_bytes, to, from);
}

void stride_fill(void *to, const void *element, size_t element_bytes, int64_t n)
{
    _Alignas(16) char copy[16];

    memcpy(copy, element, element_bytes);
    copy_row(element_bytes, to, 1, copy, 0, n);
}

bool stride_next(int rank, const int64_t *dim, int64_t *index)
{
    for (int d = rank; d-- > 0;) {
        if (++index[d] < dim[d])
            return true;
        index[d] = 0;
    }
    return false;
}

int64_t stride_dot(int rank, const int64_t *index, const int64_t *step)
{
    int64_t sum = 0;

    for (int d = 0; d < rank; d++)
        sum += index[d] * step[d];
    return sum;
}
