/* Evaluates dots and convolutions. */
#include "stack/interp/interp_ops.h"

#include "base/floats.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

static bool is_rounded(const struct interp_call *c)
{
    return c->rounds_dots && c->n->precision == PRECISION_DEFAULT && c->type == DTYPE_F32;
}

static double product_operand(const struct interp_call *c, int operand, int64_t i)
{
    double x = interp_get(call_data(c, operand), c->type, c->is_wide, i);

    return is_rounded(c) ? (double)f32_round_to_bf16((float)x) : x;
}

static int check_sizes(const struct interp_call *c, int64_t m, int64_t n, int64_t k,
                       struct err *e)
{
    if (m <= INT_MAX && n <= INT_MAX && k <= INT_MAX)
        return 0;
    return err_set(e, "%s: the reference interpreter multiplies matrices of up to %d rows "
                   "and columns", c->n->name, INT_MAX);
}

/* ---- two matrices of f32: as they lie ---- */

static bool is_plain(const struct interp_call *c)
{
    const struct graph_node *n = c->n;

    return !c->is_wide && graph_dtype_is_float(c->type) && n->shape.dtype == DTYPE_F32 &&
           n->dot.batch_count == 0 && n->dot.contract_count == 1 && !n->dot.has_order &&
           call_shape(c, 0)->rank == 2 && call_shape(c, 1)->rank == 2;
}

/* the operand itself, or a rounded copy */
static const float *plain_operand(const struct interp_call *c, int operand)
{
    int64_t elems = shape_elems(call_shape(c, operand));
    float *copy;

    if (!is_rounded(c))
        return call_data(c, operand);
    copy = interp_room_of(&c->room[operand], (size_t)elems * sizeof(*copy));
    memcpy(copy, call_data(c, operand), (size_t)elems * sizeof(*copy));
    interp_round_bf16(copy, elems);
    return copy;
}

static int plain_dot(const struct interp_call *c, struct err *e)
{
    const struct graph_node *n = c->n;
    const struct shape *a = call_shape(c, 0), *b = call_shape(c, 1);
    int lhs_contract = n->dot.lhs_contract[0], rhs_contract = n->dot.rhs_contract[0];
    const float *lhs, *rhs;

    if (check_sizes(c, n->shape.dim[0], n->shape.dim[1], a->dim[lhs_contract], e) != 0)
        return -1;
    lhs = plain_operand(c, 0);
    rhs = plain_operand(c, 1);
    cblas_sgemm(CblasRowMajor, lhs_contract == 1 ? CblasNoTrans : CblasTrans,
                rhs_contract == 0 ? CblasNoTrans : CblasTrans, (int)n->shape.dim[0],
                (int)n->shape.dim[1], (int)a->dim[lhs_contract], 1.0f, lhs, (int)a->dim[1],
                rhs, (int)b->dim[1], 0.0f, c->to, (int)n->shape.dim[1]);
    return 0;
}

/* ---- the general dot: both sides in doubles, dimensions in the order that dgemm wants ---- */

struct side {
    int order[GRAPH_RANK_MAX];          /* batch, free, contracted; or batch, contracted, free */
    int64_t batch, free, contract;      /* elements */
};

static struct side order_side(const struct shape *s, const struct graph_dot *d, const int *batch,
                              const int *contract, bool contract_last)
{
    struct side side = {.batch = 1, .free = 1, .contract = 1};
    int free_dims[GRAPH_RANK_MAX], free_count = 0, at = 0;

    for (int i = 0; i < s->rank; i++) {
        bool is_free = true;

        for (int k = 0; k < d->batch_count; k++)
            is_free = is_free && batch[k] != i;
        for (int k = 0; k < d->contract_count; k++)
            is_free = is_free && contract[k] != i;
        if (is_free) {
            free_dims[free_count++] = i;
            side.free *= s->dim[i];
        }
    }
    for (int k = 0; k < d->batch_count; k++) {
        side.order[at++] = batch[k];
        side.batch *= s->dim[batch[k]];
    }
    for (int k = 0; k < free_count && contract_last; k++)
        side.order[at++] = free_dims[k];
    for (int k = 0; k < d->contract_count; k++) {
        side.order[at++] = contract[k];
        side.contract *= s->dim[contract[k]];
    }
    for (int k = 0; k < free_count && !contract_last; k++)
        side.order[at++] = free_dims[k];
    return side;
}

/* the operand with its dimensions in that order; the caller frees it */
static double *ordered(const struct interp_call *c, int operand, const int *order)
{
    const struct shape *s = call_shape(c, operand);
    double *to = mem_alloc((size_t)shape_elems(s) * sizeof(*to)), *next = to;
    int64_t dense[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];
    struct shape view = *s;
    struct interp_rows r;

    interp_dense_strides(s, dense);
    for (int i = 0; i < s->rank; i++) {
        view.dim[i] = s->dim[order[i]];
        stride[i] = dense[order[i]];
    }
    interp_rows_init(&r, &view, stride);
    for (int64_t row = 0; row < r.count; row++) {
        for (int64_t i = 0; i < r.length; i++)
            *next++ = product_operand(c, operand, r.offset + i * r.step);
        interp_rows_next(&r);
    }
    return to;
}

/* where the results stand, counted in the usual order of dimensions */
static void result_rows(const struct interp_call *c, struct interp_rows *r)
{
    int64_t dense[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];
    struct shape usual = c->n->shape;

    interp_dense_strides(&c->n->shape, dense);
    for (int i = 0; i < usual.rank; i++) {
        int from = c->n->dot.has_order ? c->n->dot.order[i] : i;

        usual.dim[from] = c->n->shape.dim[i];
        stride[from] = dense[i];
    }
    interp_rows_init(r, &usual, stride);
}

static void put_results(const struct interp_call *c, struct interp_rows *r, int64_t *at,
                        const double *product, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        interp_put(c->to, c->n->shape.dtype, c->is_wide, r->offset + *at * r->step, product[i]);
        if (++*at < r->length)
            continue;
        *at = 0;
        interp_rows_next(r);
    }
}

/* of words, whose products no double holds: modulo 2^32 */
static void multiply_words(const struct side *a, const struct side *b, const double *lhs,
                           const double *rhs, enum graph_dtype dtype, double *product)
{
    for (int64_t i = 0; i < a->free; i++)
        for (int64_t k = 0; k < b->free; k++) {
            uint32_t sum = 0;

            for (int64_t t = 0; t < a->contract; t++)
                sum += (uint32_t)(int64_t)lhs[i * a->contract + t] *
                       (uint32_t)(int64_t)rhs[t * b->free + k];
            product[i * b->free + k] = dtype == DTYPE_U32 ? (double)sum : (double)(int32_t)sum;
        }
}

static int general_dot(const struct interp_call *c, struct err *e)
{
    const struct graph_dot *d = &c->n->dot;
    struct side a = order_side(call_shape(c, 0), d, d->lhs_batch, d->lhs_contract, true);
    struct side b = order_side(call_shape(c, 1), d, d->rhs_batch, d->rhs_contract, false);
    int64_t each = a.free * b.free, at = 0;
    double *lhs, *rhs, *product;
    struct interp_rows rows;

    if (check_sizes(c, a.free, b.free, a.contract, e) != 0)
        return -1;
    lhs = ordered(c, 0, a.order);
    rhs = ordered(c, 1, b.order);
    product = mem_alloc((size_t)each * sizeof(*product));
    result_rows(c, &rows);
    for (int64_t batch = 0; batch < a.batch; batch++) {
        const double *x = lhs + batch * a.free * a.contract;
        const double *y = rhs + batch * b.free * b.contract;

        if (c->type == DTYPE_S32 || c->type == DTYPE_U32)
            multiply_words(&a, &b, x, y, c->type, product);
        else
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)a.free, (int)b.free,
                        (int)a.contract, 1.0, x, (int)a.contract, y, (int)b.free, 0.0, product,
                        (int)b.free);
        put_results(c, &rows, &at, product, each);
    }
    mem_free(lhs);
    mem_free(rhs);
    mem_free(product);
    return 0;
}

int interp_dot(const struct interp_call *c, struct err *e)
{
    return is_plain(c) ? plain_dot(c, e) : general_dot(c, e);
}

/* ---- convolution: for each image and group, patches times kernel ---- */

struct conv {
    const struct interp_call *c;
    const struct graph_conv *d;
    int64_t places, taps;               /* of one image; of the kernel */
    int64_t place_dim[GRAPH_SPATIAL_MAX], tap_dim[GRAPH_SPATIAL_MAX];
    int64_t in, out, groups;            /* features of one group */
    int64_t a_stride[GRAPH_RANK_MAX], k_stride[GRAPH_RANK_MAX], to_stride[GRAPH_RANK_MAX];
    double *patch, *kernel, *product;
};

static void conv_init(struct conv *v, const struct interp_call *c)
{
    const struct graph_conv *d = c->n->conv;

    *v = (struct conv){.c = c, .d = d, .places = 1, .taps = 1};
    v->groups = d->feature_groups > 1 ? d->feature_groups : d->batch_groups;
    v->in = call_shape(c, 1)->dim[d->kernel_in];
    v->out = c->n->shape.dim[d->out_feature] / v->groups;
    for (int i = 0; i < d->spatial_count; i++) {
        v->place_dim[i] = c->n->shape.dim[d->out_spatial[i]];
        v->tap_dim[i] = c->n->window[i].size;
        v->places *= v->place_dim[i];
        v->taps *= v->tap_dim[i];
    }
    interp_dense_strides(call_shape(c, 0), v->a_stride);
    interp_dense_strides(call_shape(c, 1), v->k_stride);
    interp_dense_strides(&c->n->shape, v->to_stride);
    v->patch = mem_alloc((size_t)(v->places * v->taps * v->in) * sizeof(double));
    v->kernel = mem_alloc((size_t)(v->taps * v->in * v->out) * sizeof(double));
    v->product = mem_alloc((size_t)(v->places * v->out) * sizeof(double));
}

static void conv_fini(struct conv *v)
{
    mem_free(v->patch);
    mem_free(v->kernel);
    mem_free(v->product);
}

/* offset of the element under a tap at a place, -1: none */
static int64_t element_under(const struct conv *v, const int64_t *place, const int64_t *tap)
{
    int64_t offset = 0;

    for (int i = 0; i < v->d->spatial_count; i++) {
        const struct graph_window *w = &v->c->n->window[i];
        int64_t at = place[i] * w->stride + tap[i] * w->window_dilation - w->pad_low;

        if (at < 0 || at % w->base_dilation != 0 ||
            at / w->base_dilation >= call_shape(v->c, 0)->dim[v->d->in_spatial[i]])
            return -1;
        offset += at / w->base_dilation * v->a_stride[v->d->in_spatial[i]];
    }
    return offset;
}

static void fill_patches(struct conv *v, int64_t base)
{
    int64_t place[GRAPH_SPATIAL_MAX] = {0}, stride = v->a_stride[v->d->in_feature];
    double *to = v->patch;

    for (int64_t p = 0; p < v->places; p++) {
        int64_t tap[GRAPH_SPATIAL_MAX] = {0};

        for (int64_t t = 0; t < v->taps; t++) {
            int64_t at = element_under(v, place, tap);

            for (int64_t f = 0; f < v->in; f++)
                *to++ = at < 0 ? 0.0 : product_operand(v->c, 0, base + at + f * stride);
            interp_next_index(v->tap_dim, v->d->spatial_count, tap);
        }
        interp_next_index(v->place_dim, v->d->spatial_count, place);
    }
}

static void fill_kernel(struct conv *v, int64_t group)
{
    int64_t tap[GRAPH_SPATIAL_MAX] = {0};
    double *to = v->kernel;

    for (int64_t t = 0; t < v->taps; t++) {
        int64_t at = group * v->out * v->k_stride[v->d->kernel_out];

        for (int i = 0; i < v->d->spatial_count; i++)
            at += (v->c->n->window[i].is_reversed ? v->tap_dim[i] - 1 - tap[i] : tap[i]) *
                  v->k_stride[v->d->kernel_spatial[i]];
        for (int64_t f = 0; f < v->in; f++)
            for (int64_t o = 0; o < v->out; o++)
                *to++ = product_operand(v->c, 1, at + f * v->k_stride[v->d->kernel_in] +
                                                     o * v->k_stride[v->d->kernel_out]);
        interp_next_index(v->tap_dim, v->d->spatial_count, tap);
    }
}

static void store_product(const struct conv *v, int64_t base)
{
    int64_t place[GRAPH_SPATIAL_MAX] = {0};

    for (int64_t p = 0; p < v->places; p++) {
        int64_t at = base;

        for (int i = 0; i < v->d->spatial_count; i++)
            at += place[i] * v->to_stride[v->d->out_spatial[i]];
        for (int64_t o = 0; o < v->out; o++)
            interp_put(v->c->to, v->c->n->shape.dtype, v->c->is_wide,
                       at + o * v->to_stride[v->d->out_feature], v->product[p * v->out + o]);
        interp_next_index(v->place_dim, v->d->spatial_count, place);
    }
}

static void convolve_group(struct conv *v, int64_t group)
{
    int64_t images = v->c->n->shape.dim[v->d->out_batch];
    int64_t length = v->taps * v->in;
    int64_t first_image = v->d->batch_groups > 1 ? group * images : 0;
    int64_t first_feature = v->d->feature_groups > 1 ? group * v->in : 0;

    fill_kernel(v, group);
    for (int64_t image = 0; image < images; image++) {
        fill_patches(v, (first_image + image) * v->a_stride[v->d->in_batch] +
                            first_feature * v->a_stride[v->d->in_feature]);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)v->places, (int)v->out,
                    (int)length, 1.0, v->patch, (int)length, v->kernel, (int)v->out, 0.0,
                    v->product, (int)v->out);
        store_product(v, image * v->to_stride[v->d->out_batch] +
                             group * v->out * v->to_stride[v->d->out_feature]);
    }
}

int interp_convolution(const struct interp_call *c, struct err *e)
{
    struct conv v;

    conv_init(&v, c);
    if (check_sizes(c, v.places, v.out, v.taps * v.in, e) != 0) {
        conv_fini(&v);
        return -1;
    }
    for (int64_t group = 0; group < v.groups; group++)
        convolve_group(&v, group);
    conv_fini(&v);
    return 0;
}
