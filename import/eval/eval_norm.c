/* Batch normalization, for training, inference and its gradient; sums in f64. */
#include "import/eval/handlers.h"

#include <math.h>

/* an array as [outer][feature][inner], its elements read as doubles */
struct features {
    int64_t outer, count, inner;
};

static struct features features_of(const struct call *c)
{
    const struct value *v = c->operand[0];
    int d = (int)c->i->index;

    return (struct features){ value_product(v->dim, 0, d), v->dim[d],
                              value_product(v->dim, d + 1, v->rank) };
}

static double *as_doubles(const struct value *v)
{
    int64_t n = value_count(v);
    double *x = mem_alloc_unset((size_t)n * sizeof(*x) + 1);

    lane_convert(ELEMENT_F64, x, v->element, v->data, n);
    return x;
}

static void give(struct value *to, double *from)
{
    if (to)
        lane_convert(to->element, to->data, ELEMENT_F64, from, value_count(to));
    mem_free(from);
}

/* for each feature the sum of x[i] * y[i]; y NULL: of x */
static void feature_sums(struct features f, const double *x, const double *y, double *sum)
{
    for (int64_t k = 0; k < f.count; k++)
        sum[k] = 0;
    for (int64_t o = 0; o < f.outer; o++)
        for (int64_t k = 0; k < f.count; k++)
            for (int64_t i = 0; i < f.inner; i++) {
                int64_t at = (o * f.count + k) * f.inner + i;

                sum[k] += y ? x[at] * y[at] : x[at];
            }
}

static void normalize(struct features f, double *x, const double *scale, const double *offset,
                      const double *mean, const double *variance, double epsilon)
{
    for (int64_t k = 0; k < f.count; k++) {
        double by = scale[k] / sqrt(variance[k] + epsilon);

        for (int64_t o = 0; o < f.outer; o++)
            for (int64_t i = 0; i < f.inner; i++) {
                double *at = &x[(o * f.count + k) * f.inner + i];

                *at = (*at - mean[k]) * by + offset[k];
            }
    }
}

/* mean and variance of each feature */
static void moments(struct features f, const double *x, double *mean, double *variance)
{
    double n = (double)(f.outer * f.inner);

    feature_sums(f, x, NULL, mean);
    for (int64_t k = 0; k < f.count; k++) {
        mean[k] /= n;
        variance[k] = 0;
    }
    for (int64_t o = 0; o < f.outer; o++)
        for (int64_t k = 0; k < f.count; k++)
            for (int64_t i = 0; i < f.inner; i++) {
                double d = x[(o * f.count + k) * f.inner + i] - mean[k];

                variance[k] += d * d;
            }
    for (int64_t k = 0; k < f.count; k++)
        variance[k] /= n;
}

int eval_batch_norm_training(struct call *c)
{
    struct features f = features_of(c);
    double *x = as_doubles(c->operand[0]), *scale = as_doubles(c->operand[1]);
    double *offset = as_doubles(c->operand[2]);
    double *mean = mem_alloc((size_t)f.count * sizeof(*mean) + 1);
    double *variance = mem_alloc((size_t)f.count * sizeof(*variance) + 1);
    struct value *part[3];

    call_result_tuple(c);
    for (int k = 0; k < 3; k++)
        part[k] = call_part(c, k);
    moments(f, x, mean, variance);
    normalize(f, x, scale, offset, mean, variance, hlo_detail(c->i)->epsilon);
    give(part[0], x);
    give(part[1], mean);
    give(part[2], variance);
    mem_free(scale);
    mem_free(offset);
    return part[0] && part[1] && part[2] ? 0 : -1;
}

int eval_batch_norm_inference(struct call *c)
{
    struct features f = features_of(c);
    double *x = as_doubles(c->operand[0]), *of_feature[4];

    for (int k = 0; k < 4; k++)
        of_feature[k] = as_doubles(c->operand[1 + k]);
    call_result(c);
    normalize(f, x, of_feature[0], of_feature[1], of_feature[2], of_feature[3],
              hlo_detail(c->i)->epsilon);
    give(c->result, x);
    for (int k = 0; k < 4; k++)
        mem_free(of_feature[k]);
    return c->result ? 0 : -1;
}

/* the operand's gradient, from its sums over a feature: with the normalized x, of itself */
static void operand_gradient(struct features f, double *grad, const double *normal,
                             const double *scale, const double *deviation,
                             const double *grad_scale, const double *grad_offset)
{
    double n = (double)(f.outer * f.inner);

    for (int64_t k = 0; k < f.count; k++)
        for (int64_t o = 0; o < f.outer; o++)
            for (int64_t i = 0; i < f.inner; i++) {
                int64_t at = (o * f.count + k) * f.inner + i;

                grad[at] = scale[k] / deviation[k] / n *
                           (n * grad[at] - grad_offset[k] - normal[at] * grad_scale[k]);
            }
}

int eval_batch_norm_grad(struct call *c)
{
    struct features f = features_of(c);
    double *x = as_doubles(c->operand[0]), *scale = as_doubles(c->operand[1]);
    double *mean = as_doubles(c->operand[2]), *variance = as_doubles(c->operand[3]);
    double *grad = as_doubles(c->operand[4]);
    double *grad_scale = mem_alloc((size_t)f.count * sizeof(*mean) + 1);
    double *grad_offset = mem_alloc((size_t)f.count * sizeof(*mean) + 1);
    double *one = mem_alloc((size_t)f.count * sizeof(*mean) + 1);
    double *zero = mem_alloc((size_t)f.count * sizeof(*mean) + 1);
    struct value *part[3];

    call_result_tuple(c);
    for (int k = 0; k < 3; k++)
        part[k] = call_part(c, k);
    for (int64_t k = 0; k < f.count; k++)
        one[k] = 1;
    normalize(f, x, one, zero, mean, variance, hlo_detail(c->i)->epsilon);
    feature_sums(f, x, grad, grad_scale);
    feature_sums(f, grad, NULL, grad_offset);
    for (int64_t k = 0; k < f.count; k++)
        variance[k] = sqrt(variance[k] + hlo_detail(c->i)->epsilon);
    operand_gradient(f, grad, x, scale, variance, grad_scale, grad_offset);
    give(part[0], grad);
    give(part[1], grad_scale);
    give(part[2], grad_offset);
    mem_free(x);
    mem_free(scale);
    mem_free(mean);
    mem_free(variance);
    mem_free(one);
    mem_free(zero);
    return part[0] && part[1] && part[2] ? 0 : -1;
}
