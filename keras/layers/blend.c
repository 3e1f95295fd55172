/* Makes the matrices by which dimensions become others, and multiplies by them. */
#include "keras/layers/blend.h"

#include <inttypes.h>
#include <math.h>

#define BLEND_ELEMENTS_MAX (1 << 26)
#define PI 3.14159265358979323846

/* how far a kernel reaches, in old pixels */
static double reach_of(int how)
{
    switch (how) {
    case INTERPOLATION_BICUBIC: return 2.0;
    case INTERPOLATION_LANCZOS3: return 3.0;
    case INTERPOLATION_LANCZOS5: return 5.0;
    default: return 1.0;
    }
}

/* Keys's cubic with a = -1/2 */
static double cubic(double x)
{
    if (x < 1.0)
        return (1.5 * x - 2.5) * x * x + 1.0;
    return ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0;
}

/* of a pixel x away, x at least 0 */
static double weight(int how, double x)
{
    double reach = reach_of(how);

    if (x >= reach)
        return 0.0;
    if (how == INTERPOLATION_BILINEAR)
        return 1.0 - x;
    if (how == INTERPOLATION_BICUBIC)
        return cubic(x);
    return x < 1e-3 ? 1.0 : reach * sin(PI * x) * sin(PI * x / reach) / (PI * PI * x * x);
}

/* one row: pixel i of `to`, which lies at `at`, of the old pixels near it */
static void blend_row(float *row, int how, double at, double wide, int64_t from)
{
    double sum = 0.0;

    for (int64_t j = 0; j < from; j++)
        sum += weight(how, fabs(at - (double)j) / wide);
    for (int64_t j = 0; j < from; j++)
        row[j] = (float)(weight(how, fabs(at - (double)j) / wide) / sum);
}

/* of the one or two pixels nearest to it */
static void near_row(float *row, int how, double at, int64_t from)
{
    int64_t low;
    double part;

    if (how == INTERPOLATION_NEAREST)
        at = floor(at + 0.5);
    at = fmin(fmax(at, 0.0), (double)(from - 1));
    low = (int64_t)at;
    part = at - (double)low;
    row[low] = (float)(1.0 - part);
    if (part > 0.0)
        row[low + 1] = (float)part;
}

static int matrix_of(struct graph *g, const float *w, int64_t to, int64_t from)
{
    return graph_literal(g, shape_make(DTYPE_F32, 2, (int64_t[]){to, from}), w);
}

int blend_pixels(struct graph *g, int how, bool antialiases, int64_t to, int64_t from)
{
    float *w = arena_array(g->arena, (size_t)(to * from), sizeof(*w));
    double wide = antialiases && from > to ? (double)from / (double)to : 1.0;

    for (int64_t i = 0; i < to; i++) {
        double at = ((double)i + 0.5) * (double)from / (double)to - 0.5;

        if (how == INTERPOLATION_NEAREST || (how == INTERPOLATION_BILINEAR && wide == 1.0))
            near_row(w + i * from, how, at, from);
        else
            blend_row(w + i * from, how, at, wide, from);
    }
    return matrix_of(g, w, to, from);
}

int blend_check(const struct layer *l, int64_t to, int64_t from, struct err *e)
{
    if ((double)to * (double)from <= BLEND_ELEMENTS_MAX)
        return 0;
    return layer_fail(l, e, "to make %" PRId64 " of %" PRId64 " elements takes a matrix of more than "
                      "%d", to, from, BLEND_ELEMENTS_MAX);
}

int64_t adaptive_start(int64_t which, int64_t to, int64_t from)
{
    return which * from / to;
}

int64_t adaptive_end(int64_t which, int64_t to, int64_t from)
{
    return ((which + 1) * from + to - 1) / to;
}

int blend_means(struct graph *g, int64_t to, int64_t from)
{
    float *w = arena_array(g->arena, (size_t)(to * from), sizeof(*w));

    for (int64_t i = 0; i < to; i++) {
        int64_t start = adaptive_start(i, to, from), end = adaptive_end(i, to, from);

        for (int64_t j = start; j < end; j++)
            w[i * from + j] = 1.0f / (float)(end - start);
    }
    return matrix_of(g, w, to, from);
}

int layer_blend(struct graph *g, int x, int dim, int matrix)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {dim}, .rhs_contract = {1}};
    int rank = g->node[x].shape.rank, dims[GRAPH_RANK_MAX];

    for (int d = 0; d < rank; d++)
        dims[d] = d < dim ? d : d == dim ? rank - 1 : d - 1;
    x = graph_convert(g, x, DTYPE_F32);
    x = graph_dot_general(g, x, matrix, &dot, DTYPE_F32, PRECISION_HIGHEST);
    return graph_transpose(g, x, dims);
}
