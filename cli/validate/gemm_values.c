/* The operands and the result of systole gemm. */
#include "cli/validate/gemm_values.h"

#include "base/floats.h"
#include "base/outfile.h"
#include "base/rng.h"
#include "data/npy.h"
#include "isa/file.h"
#include "stack/module/module_run.h"

#include <string.h>

#define ELEMENTS_MAX (1 << 27)          /* of a matrix with values */

static int read_operand(const char *path, int64_t rows, int64_t columns, struct arena *a,
                        const float **out, struct err *e)
{
    struct npy array;
    uint8_t *bytes;
    size_t size;

    if (!path)
        return 0;
    if (isa_file_read(path, a, &bytes, &size, e) || npy_parse(bytes, size, path, a, &array, e))
        return -1;
    if (array.rank != 2 || array.rows != rows || array.columns != columns)
        return err_at(e, path, 0, 0, "a matrix of %lldx%lld is needed, this is one of %lldx%lld",
                      (long long)rows, (long long)columns, (long long)array.rows,
                      (long long)array.columns);
    if (!array.is_f32)
        return err_at(e, path, 0, 0, "a matrix of floats is needed, this is one of integers");
    *out = array.data;
    return 0;
}

/* what the host's memory may be asked for */
static int check_size(int64_t rows, int64_t columns, struct err *e)
{
    if (rows <= ELEMENTS_MAX / columns)
        return 0;
    return err_set(e, "a matrix of %lldx%lld elements; %d are the most, except with --mode timing",
                   (long long)rows, (long long)columns, ELEMENTS_MAX);
}

/* as the matrix units take it */
static float *make_operand(const float *from, int64_t count, struct rng *r, struct arena *a)
{
    float *to = arena_array(a, (size_t)count, sizeof(*to));

    for (int64_t i = 0; i < count; i++)
        to[i] = f32_round_to_bf16(from ? from[i] : rng_uniform(r, -1, 1));
    return to;
}

int gemm_values_make(struct gemm_values *v, struct arena *a, struct err *e)
{
    const float *from_a = NULL, *from_b = NULL;
    struct gemm_operands *x = &v->x;
    struct rng r;

    if (check_size(x->m, x->k, e) || check_size(x->k, x->n, e) || check_size(x->m, x->n, e) ||
        (v->c && outfile_check(v->c, e)) || read_operand(v->a, x->m, x->k, a, &from_a, e) ||
        read_operand(v->b, x->k, x->n, a, &from_b, e))
        return -1;
    rng_init(&r, (uint64_t)v->seed);
    x->a = make_operand(from_a, x->m * x->k, &r, a);
    x->b = make_operand(from_b, x->k * x->n, &r, a);
    x->c = arena_array(a, (size_t)(x->m * x->n), sizeof(float));
    v->rows = arena_array(a, (size_t)(v->share * (x->k > x->n ? x->k : x->n)), sizeof(float));
    return 0;
}

/* rows of the whole that a device has; *first is the first of them */
static int64_t rows_of(const struct gemm_values *v, int device, int64_t *first)
{
    int64_t left;

    *first = device * v->share;
    left = v->x.m - *first;
    return left < 0 ? 0 : left < v->share ? left : v->share;
}

/* the last device may have fewer rows than its program: zeros stand for the others */
int gemm_values_write(void *user, const struct loaded_device *d, struct err *e)
{
    struct gemm_values *v = user;
    int64_t first, rows = rows_of(v, d->number, &first), k = v->x.k;

    memset(v->rows, 0, (size_t)(v->share * k) * sizeof(float));
    if (rows > 0)
        memcpy(v->rows, v->x.a + first * k, (size_t)(rows * k) * sizeof(float));
    return module_write(d->module, d->machine, d->core, 0, v->rows, e) ||
                   module_write(d->module, d->machine, d->core, 1, v->x.b, e) ? -1 : 0;
}

int gemm_values_read(void *user, const struct loaded_device *d, struct err *e)
{
    struct gemm_values *v = user;
    int64_t first, rows = rows_of(v, d->number, &first), n = v->x.n;

    if (module_read(d->module, d->machine, d->core, 0, v->rows, e))
        return -1;
    if (rows > 0)
        memcpy(v->x.c + first * n, v->rows, (size_t)(rows * n) * sizeof(float));
    return 0;
}

int gemm_values_check(struct gemm_values *v, const struct chip *chip, struct arena *a,
                      struct err *e)
{
    const struct gemm_operands *x = &v->x;

    if (v->c && npy_write(v->c, x->c, x->m, x->n, e))
        return -1;
    return gemm_check(x, chip->mxu_size, v->is_result_bf16, a, e);
}
