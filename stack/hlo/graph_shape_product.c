/* Infers the shapes of dots and convolutions. */
#include "stack/hlo/graph_shape_impl.h"

#include <inttypes.h>
#include <string.h>

/* types and precision; the type of the result is the one wanted, f32 where it is not said */
static int check_product(const struct graph_node *n, const struct shape *a, const struct shape *b,
                         struct shape *out, struct err *e)
{
    unsigned results = shape_has_type(a, FLOATS)  ? FLOATS
                       : shape_has_type(a, WORDS) ? TYPE(a->dtype)
                                                  : TYPE(DTYPE_S32);

    if (!shape_has_type(a, n->op == HLO_DOT ? NUMBERS : NUMBERS & ~WORDS))
        return shape_infer_bad_type(n, a, e);
    if (a->dtype != b->dtype)
        return shape_infer_bad_pair(n, a, b, e);
    if (n->precision > PRECISION_HIGHEST)
        return err_set(e, "%s: unknown precision %d", n->name, (int)n->precision);
    *out = shape_scalar(n->shape.dtype);
    if (!shape_has_type(out, results))
        out->dtype = shape_has_type(a, FLOATS)        ? DTYPE_F32
                     : shape_has_type(a, WORDS) ? a->dtype
                                                : DTYPE_S32;
    return 0;
}

static int check_dot_side(const struct graph_node *n, const char *side, const int *batch,
                          const int *contract, int rank, struct err *e)
{
    int all[2 * GRAPH_RANK_MAX], batch_count = n->dot.batch_count;

    if (batch_count < 0 || n->dot.contract_count < 0 ||
        batch_count + n->dot.contract_count > rank)
        return err_set(e, "%s: %d batch and %d contracted dimensions of the %s, which has %d",
                       n->name, batch_count, n->dot.contract_count, side, rank);
    memcpy(all, batch, (size_t)batch_count * sizeof(*all));
    memcpy(all + batch_count, contract, (size_t)n->dot.contract_count * sizeof(*all));
    return shape_infer_check_list(n, "batch and contracted dimensions", all,
                                  batch_count + n->dot.contract_count, rank, e);
}

/* appends the free dimensions of one side; -1 when the rank grows too large */
static int add_free(const struct graph_node *n, const struct shape *s, const int *batch,
                    const int *contract, struct shape *out, struct err *e)
{
    for (int i = 0; i < s->rank; i++) {
        if (graph_dims_have(batch, n->dot.batch_count, i) ||
            graph_dims_have(contract, n->dot.contract_count, i))
            continue;
        if (out->rank == GRAPH_RANK_MAX)
            return err_set(e, "%s: the result has more than %d dimensions", n->name,
                           GRAPH_RANK_MAX);
        out->dim[out->rank++] = s->dim[i];
    }
    return 0;
}

/* the result's dimensions in the order that the dot has chosen */
static int order_result(const struct graph_node *n, struct shape *out, struct err *e)
{
    struct shape usual = *out;

    if (!n->dot.has_order)
        return 0;
    if (shape_infer_check_list(n, "order of the result's dimensions", n->dot.order, out->rank,
                               out->rank, e) != 0)
        return -1;
    for (int i = 0; i < out->rank; i++)
        out->dim[i] = usual.dim[n->dot.order[i]];
    return 0;
}

int shape_infer_dot(const struct graph *g, const struct graph_node *n, struct shape *out,
                    struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0), *b = shape_of_operand(g, n, 1);
    const struct graph_dot *d = &n->dot;

    if (check_product(n, a, b, out, e) != 0 ||
        check_dot_side(n, "left side", d->lhs_batch, d->lhs_contract, a->rank, e) != 0 ||
        check_dot_side(n, "right side", d->rhs_batch, d->rhs_contract, b->rank, e) != 0)
        return -1;
    for (int i = 0; i < d->contract_count; i++)
        if (a->dim[d->lhs_contract[i]] != b->dim[d->rhs_contract[i]])
            return shape_infer_bad_pair(n, a, b, e);
    for (int i = 0; i < d->batch_count; i++) {
        if (a->dim[d->lhs_batch[i]] != b->dim[d->rhs_batch[i]])
            return shape_infer_bad_pair(n, a, b, e);
        out->dim[out->rank++] = a->dim[d->lhs_batch[i]];
    }
    if (add_free(n, a, d->lhs_batch, d->lhs_contract, out, e) != 0 ||
        add_free(n, b, d->rhs_batch, d->rhs_contract, out, e) != 0 || order_result(n, out, e) != 0)
        return -1;
    return shape_infer_check_dims(n, out, e);
}

/* each of the dimensions has one meaning */
static int check_labels(const struct graph_node *n, const char *of, int first, int second,
                        const int *spatial, const struct shape *s, struct err *e)
{
    int dims[2 + GRAPH_SPATIAL_MAX] = {first, second};
    int count = n->conv->spatial_count;
    char what[40];

    snprintf(what, sizeof(what), "labels of the %s", of);
    if (s && s->rank != count + 2)
        return err_set(e, "%s: %s are %d, but its rank is %d", n->name, what, count + 2,
                       s->rank);
    memcpy(dims + 2, spatial, (size_t)count * sizeof(*dims));
    return shape_infer_check_list(n, what, dims, count + 2, count + 2, e);
}

static int check_conv(const struct graph_node *n, const struct shape *a, const struct shape *b,
                      struct err *e)
{
    const struct graph_conv *c = n->conv;

    if (!c || c->spatial_count < 0 || c->spatial_count > GRAPH_SPATIAL_MAX)
        return err_set(e, "%s: a convolution has 0..%d spatial dimensions", n->name,
                       GRAPH_SPATIAL_MAX);
    if (c->spatial_count > 0 && !n->window)
        return err_set(e, "%s: has no window", n->name);
    if (c->feature_groups < 1 || c->batch_groups < 1)
        return err_set(e, "%s: numbers of groups start at 1", n->name);
    if (c->feature_groups > 1 && c->batch_groups > 1)
        return err_set(e, "%s: features and batch cannot both have groups", n->name);
    if (check_labels(n, "input", c->in_batch, c->in_feature, c->in_spatial, a, e) != 0 ||
        check_labels(n, "kernel", c->kernel_in, c->kernel_out, c->kernel_spatial, b, e) != 0)
        return -1;
    return check_labels(n, "result", c->out_batch, c->out_feature, c->out_spatial, NULL, e);
}

static int check_groups(const struct graph_node *n, const struct shape *a, const struct shape *b,
                        struct err *e)
{
    const struct graph_conv *c = n->conv;
    int64_t batch = a->dim[c->in_batch], features = a->dim[c->in_feature];
    int64_t in = b->dim[c->kernel_in], out = b->dim[c->kernel_out];

    if (features % c->feature_groups != 0 || features / c->feature_groups != in)
        return err_set(e, "%s: %" PRId64 " input features in %" PRId64 " groups, but the kernel "
                       "takes %" PRId64, n->name, features, c->feature_groups, in);
    if (out % c->feature_groups != 0 || out % c->batch_groups != 0)
        return err_set(e, "%s: %" PRId64 " output features do not divide into the groups",
                       n->name, out);
    if (batch % c->batch_groups != 0)
        return err_set(e, "%s: a batch of %" PRId64 " does not divide into %" PRId64 " groups",
                       n->name, batch, c->batch_groups);
    return 0;
}

int shape_infer_convolution(const struct graph *g, const struct graph_node *n, struct shape *out,
                            struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0), *b = shape_of_operand(g, n, 1);
    const struct graph_conv *c = n->conv;

    if (check_product(n, a, b, out, e) != 0 || check_conv(n, a, b, e) != 0 ||
        check_groups(n, a, b, e) != 0)
        return -1;
    out->rank = c->spatial_count + 2;
    out->dim[c->out_batch] = a->dim[c->in_batch] / c->batch_groups;
    out->dim[c->out_feature] = b->dim[c->kernel_out];
    for (int i = 0; i < c->spatial_count; i++) {
        int64_t size = b->dim[c->kernel_spatial[i]];

        if (n->window[i].size != size)
            return err_set(e, "%s: spatial dimension %d: the window has %" PRId64 " taps, the "
                           "kernel %" PRId64, n->name, i, n->window[i].size, size);
        if (shape_infer_window(n, i, a->dim[c->in_spatial[i]], &n->window[i],
                               &out->dim[c->out_spatial[i]], e) != 0)
            return -1;
    }
    return shape_infer_check_dims(n, out, e);
}
