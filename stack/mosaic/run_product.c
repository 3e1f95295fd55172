/* Products of vectors on the host, by OpenBLAS. */
#include "stack/mosaic/run_impl.h"

#include <cblas.h>

#include "base/floats.h"

/* lhs [m, k] and rhs [k, n] of one batch, gathered from their places */
static float *matrix_of(const uint32_t *a, const struct mosaic_type *t, const int *batch,
                        const int64_t *batch_index, int batches, const int *free_dims,
                        int free_count, int contract, bool is_exact, int64_t *rows)
{
    int64_t stride[MOSAIC_RANK_MAX], index[MOSAIC_RANK_MAX] = {0}, dim[MOSAIC_RANK_MAX];
    int64_t base = 0, i = 0, k = t->dim[contract];
    float *m;

    mosaic_strides(t, stride);
    for (int b = 0; b < batches; b++)
        base += batch_index[b] * stride[batch[b]];
    *rows = 1;
    for (int f = 0; f < free_count; f++) {
        dim[f] = t->dim[free_dims[f]];
        *rows *= dim[f];
    }
    m = mem_alloc_unset((size_t)(*rows * k) * sizeof(*m) + 1);
    do {
        int64_t from = base;

        for (int f = 0; f < free_count; f++)
            from += index[f] * stride[free_dims[f]];
        for (int64_t c = 0; c < k; c++) {
            uint32_t w = a[from + c * stride[contract]];
            float x = mosaic_is_float(t) ? f32_from_bits(w) : (float)(int32_t)w;

            m[i++] = is_exact ? x : f32_round_to_bf16(x);
        }
    } while (mosaic_next(index, dim, free_count));
    return m;
}

static int product(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_dot *d)
{
    const struct mosaic_type *lt = &op->operand[0]->type, *rt = &op->operand[1]->type;
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t index[MOSAIC_RANK_MAX] = {0}, dim[MOSAIC_RANK_MAX], k = lt->dim[d->lhs_contract];
    uint32_t *to = mosaic_out(r, op);
    bool is_exact = d->is_exact || !mosaic_is_float(lt);
    int64_t batch = 0;

    if (rt->dim[d->rhs_contract] != k)
        return mosaic_stop(r, op, "%lld and %lld elements are contracted", (long long)k,
                           (long long)rt->dim[d->rhs_contract]);
    for (int b = 0; b < d->batch_count; b++)
        dim[b] = lt->dim[d->lhs_batch[b]];
    do {
        int64_t m, n;
        float *a = matrix_of(mosaic_words(r, op->operand[0]), lt, d->lhs_batch, index,
                             d->batch_count, d->lhs_free, d->lhs_free_count, d->lhs_contract,
                             is_exact, &m);
        float *b = matrix_of(mosaic_words(r, op->operand[1]), rt, d->rhs_batch, index,
                             d->batch_count, d->rhs_free, d->rhs_free_count, d->rhs_contract,
                             is_exact, &n);
        float *c = mem_alloc((size_t)(m * n) * sizeof(*c) + 1);

        if ((batch + 1) * m * n > mosaic_elements(t)) {
            mem_free(a);
            mem_free(b);
            mem_free(c);
            return mosaic_stop(r, op, "its result is smaller than the product");
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a, (int)k,
                    b, (int)k, 0, c, (int)n);
        for (int64_t i = 0; i < m * n; i++) {
            uint32_t *sum = &to[batch * m * n + i];

            *sum = mosaic_is_float(t) ? f32_bits(f32_from_bits(*sum) + c[i])
                                      : *sum + (uint32_t)(int64_t)c[i];
        }
        batch++;
        mem_free(a);
        mem_free(b);
        mem_free(c);
    } while (mosaic_next(index, dim, d->batch_count));
    return 0;
}

int mosaic_eval_matmul(struct mosaic_run *r, const struct mosaic_op *op)
{
    struct mosaic_dot d;

    if (mosaic_dot_of(op, &d, r->err))
        return mosaic_stop(r, op, "%s", r->err->msg);
    mosaic_copy_value(r, op->result[0], op->operand[2]);
    return product(r, op, &d);
}

int mosaic_eval_contract(struct mosaic_run *r, const struct mosaic_op *op)
{
    return mosaic_stop(r, op, "products of this form, of before tpu.matmul, are not made");
}
