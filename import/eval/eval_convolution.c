/*
 * Convolutions of any number of spatial dimensions: the elements that a kernel meets at an output
 * are laid side by side as a row, and rows times the kernel are one matrix product for each group.
 * Where each group has one feature, products go over all groups at once instead.
 */
#include "import/lanes/gemm.h"
#include "import/eval/handlers.h"
#include "import/eval/operand.h"

#include <string.h>

enum { ROWS_BYTES = 16 << 20 };         /* of rows at once */

struct convolution {
    struct call *c;
    const struct hlo_conv *at;
    enum hlo_element e;
    size_t bytes;
    struct value *in, *kernel, *out;    /* [batch][spatial..][feature], [spatial..][in][out], ... */
    int spatial;
    int64_t groups, batch_groups, in_features, out_features;    /* of a group */
    int64_t taps, places, depth;        /* kernel elements, outputs of an image, a row's elements */
    int64_t in_size[EVAL_RANK_MAX], kernel_size[EVAL_RANK_MAX], out_size[EVAL_RANK_MAX];
    int64_t *met[EVAL_RANK_MAX];        /* by dimension: [output][tap], input_at */
    bool has_runs;                      /* taps of the last dimension meet elements in a row */
};

/* where kernel tap t of output o stands in the input; -1: in padding or between its elements */
static int64_t input_at(const struct hlo_window *w, int64_t o, int64_t t, int64_t size)
{
    int64_t tap = w->is_reversed ? w->size - 1 - t : t;
    int64_t at = o * w->stride + tap * w->window_dilation - w->pad_low;

    if (at < 0 || at % w->base_dilation)
        return -1;
    at /= w->base_dilation;
    return at < size ? at : -1;
}

static void make_tables(struct convolution *v)
{
    int last = v->spatial - 1;

    for (int d = 0; d < v->spatial; d++) {
        v->met[d] = mem_alloc((size_t)(v->out_size[d] * v->kernel_size[d] + 1) * sizeof(int64_t));
        for (int64_t o = 0; o < v->out_size[d]; o++)
            for (int64_t t = 0; t < v->kernel_size[d]; t++)
                v->met[d][o * v->kernel_size[d] + t] =
                    input_at(&hlo_detail(v->c->i)->window[d], o, t, v->in_size[d]);
    }
    v->has_runs = v->groups == 1 && last >= 0 && !hlo_detail(v->c->i)->window[last].is_reversed &&
                  hlo_detail(v->c->i)->window[last].base_dilation == 1 &&
                  hlo_detail(v->c->i)->window[last].window_dilation == 1;
}

static void free_tables(const struct convolution *v)
{
    for (int d = 0; d < v->spatial; d++)
        mem_free(v->met[d]);
}

/* which output of an image this is, by dimension */
static void find_output(const struct convolution *v, int64_t place, int64_t *out)
{
    for (int d = v->spatial; d-- > 0; place /= v->out_size[d])
        out[d] = place % v->out_size[d];
}

/* the first input element of a line that taps of all dimensions but the last meet; -1: padding */
static int64_t line_of(const struct convolution *v, const int64_t *out, const int64_t *tap)
{
    int64_t at = 0;

    for (int d = 0; d < v->spatial - 1; d++) {
        int64_t x = v->met[d][out[d] * v->kernel_size[d] + tap[d]];

        if (x < 0)
            return -1;
        at = at * v->in_size[d] + x;
    }
    return v->spatial ? at * v->in_size[v->spatial - 1] : 0;
}

/* one line of taps: what they meet of a group's features, side by side */
static void fill_line(const struct convolution *v, char *row, const char *image, int64_t line,
                      const int64_t *met, int64_t first_feature)
{
    int64_t features = v->in->dim[v->in->rank - 1];
    int64_t n = v->spatial ? v->kernel_size[v->spatial - 1] : 1;
    size_t run = (size_t)v->in_features * v->bytes;

    if (line < 0) {
        memset(row, 0, run * (size_t)n);
    } else if (v->has_runs && met[0] >= 0 && met[n - 1] >= 0) {
        memcpy(row, image + (size_t)((line + met[0]) * features) * v->bytes, run * (size_t)n);
    } else {
        for (int64_t t = 0; t < n; t++, row += run) {
            int64_t x = v->spatial ? met[t] : 0;

            if (x < 0)
                memset(row, 0, run);
            else
                memcpy(row, image + (size_t)((line + x) * features + first_feature) * v->bytes,
                       run);
        }
    }
}

/* one row: for each tap the group's features at one output of one image */
static void fill_row(const struct convolution *v, char *row, const char *image, int64_t place,
                     int64_t first_feature)
{
    int64_t out[EVAL_RANK_MAX], tap[EVAL_RANK_MAX] = { 0 };
    int last = v->spatial - 1;
    int64_t n = last >= 0 ? v->kernel_size[last] : 1;
    const int64_t *met = NULL;

    find_output(v, place, out);
    if (last >= 0)
        met = v->met[last] + out[last] * n;
    do {
        fill_line(v, row, image, line_of(v, out, tap), met, first_feature);
        row += (size_t)(n * v->in_features) * v->bytes;
    } while (stride_next(last < 0 ? 0 : last, v->kernel_size, tap));
}

#define EACH_FEATURE(name, T) \
    static void name(T *to, const T *from, const T *kernel, int64_t features, int64_t each) \
    { \
        if (each == 1) { \
            for (int64_t f = 0; f < features; f++) \
                to[f] += from[f] * kernel[f]; \
            return; \
        } \
        for (int64_t f = 0; f < features; f++) \
            for (int64_t k = 0; k < each; k++) \
                to[f * each + k] += from[f] * kernel[f * each + k]; \
    }

EACH_FEATURE(each_f32, float)
EACH_FEATURE(each_f64, double)

/* groups of one feature: all features of an output at once, tap by tap */
static void run_features(const struct convolution *v)
{
    int64_t features = v->in->dim[v->in->rank - 1], all_out = v->out->dim[v->out->rank - 1];
    int64_t image = value_product(v->in->dim, 1, v->in->rank), n = v->out->dim[0] * v->places;
    int64_t out[EVAL_RANK_MAX], tap[EVAL_RANK_MAX] = { 0 };
    int last = v->spatial - 1;

    memset(v->out->data, 0, (size_t)(n * all_out) * v->bytes);
    for (int64_t place = 0; place < n; place++) {
        char *to = (char *)v->out->data + (size_t)(place * all_out) * v->bytes;
        const char *kernel = v->kernel->data;

        find_output(v, place % v->places, out);
        do {
            int64_t x = last < 0 ? 0 : v->met[last][out[last] * v->kernel_size[last] + tap[last]];
            int64_t line = line_of(v, out, tap);
            const char *from = (const char *)v->in->data +
                               (size_t)(place / v->places * image + (line + x) * features) *
                                   v->bytes;

            if (line >= 0 && x >= 0 && v->e == ELEMENT_F32)
                each_f32((void *)to, (const void *)from, (const void *)kernel, features,
                         v->out_features);
            else if (line >= 0 && x >= 0)
                each_f64((void *)to, (const void *)from, (const void *)kernel, features,
                         v->out_features);
            kernel += (size_t)all_out * v->bytes;
        } while (stride_next(v->spatial, v->kernel_size, tap));
    }
}

/* kernel of one group as a matrix of depth x out_features */
static void group_kernel(const struct convolution *v, char *to, int64_t group)
{
    int64_t all = v->kernel->dim[v->kernel->rank - 1];

    for (int64_t k = 0; k < v->depth; k++)
        memcpy(to + (size_t)(k * v->out_features) * v->bytes,
               (char *)v->kernel->data +
                   (size_t)(k * all + group * v->out_features) * v->bytes,
               (size_t)v->out_features * v->bytes);
}

/* Images of the input that make image b of the output for a group of kernels */
static int64_t image_of(const struct convolution *v, int64_t b, int64_t group)
{
    return v->batch_groups == 1 ? b : group * (v->in->dim[0] / v->batch_groups) + b;
}

static void run_group(const struct convolution *v, int64_t group, char *rows, int64_t rows_max,
                      char *kernel, char *product)
{
    int64_t images = v->out->dim[0], all_out = v->out->dim[v->out->rank - 1], block;
    int64_t image_bytes = value_product(v->in->dim, 1, v->in->rank) * (int64_t)v->bytes;
    int64_t feature = v->groups == 1 ? 0 : group * v->in_features;

    group_kernel(v, kernel, group);
    for (int64_t first = 0; first < images * v->places; first += block) {
        block = images * v->places - first < rows_max ? images * v->places - first : rows_max;
        for (int64_t k = 0; k < block; k++) {
            int64_t b = image_of(v, (first + k) / v->places, group);

            fill_row(v, rows + (size_t)(k * v->depth) * v->bytes,
                     (char *)v->in->data + b * image_bytes, (first + k) % v->places, feature);
        }
        gemm(lane_of(v->e), block, v->out_features, v->depth, rows, kernel, product);
        for (int64_t k = 0; k < block; k++)
            memcpy((char *)v->out->data +
                       (size_t)((first + k) * all_out + group * v->out_features) * v->bytes,
                   product + (size_t)(k * v->out_features) * v->bytes,
                   (size_t)v->out_features * v->bytes);
    }
}

static void run_groups(const struct convolution *v)
{
    int64_t row_bytes = v->depth * (int64_t)v->bytes, rows = ROWS_BYTES / (row_bytes + 1) + 1;
    int64_t count = v->groups > 1 ? v->groups : v->batch_groups;
    char *room, *kernel, *product;

    if (rows > v->out->dim[0] * v->places)
        rows = v->out->dim[0] * v->places;
    room = mem_alloc_unset((size_t)(rows * row_bytes) + 1);
    kernel = mem_alloc_unset((size_t)(row_bytes * v->out_features) + 1);
    product = mem_alloc_unset((size_t)(rows * v->out_features) * v->bytes + 1);
    for (int64_t g = 0; g < count; g++)
        run_group(v, g, room, rows, kernel, product);
    mem_free(room);
    mem_free(kernel);
    mem_free(product);
}

static void in_order(const struct hlo_conv *at, int *order)
{
    order[0] = (int)at->in_batch;
    for (int d = 0; d < at->in_spatial.count; d++)
        order[1 + d] = (int)at->in_spatial.item[d];
    order[1 + at->in_spatial.count] = (int)at->in_feature;
}

static void kernel_order(const struct hlo_conv *at, int *order)
{
    int n = at->kernel_spatial.count;

    for (int d = 0; d < n; d++)
        order[d] = (int)at->kernel_spatial.item[d];
    order[n] = (int)at->kernel_in;
    order[n + 1] = (int)at->kernel_out;
}

/* an array of [batch][spatial..][feature] for the product */
static struct value *make_out(struct convolution *v, const int64_t *result)
{
    int64_t dim[EVAL_RANK_MAX];

    dim[0] = result[v->at->out_batch];
    for (int d = 0; d < v->spatial; d++)
        dim[1 + d] = v->out_size[d] = result[v->at->out_spatial.item[d]];
    dim[1 + v->spatial] = result[v->at->out_feature];
    return call_array(v->c, v->e, v->spatial + 2, dim);
}

/* the dimension of `out` that dimension d of the result is */
static void result_order(const struct hlo_conv *at, int *order)
{
    order[at->out_batch] = 0;
    for (int d = 0; d < at->out_spatial.count; d++)
        order[at->out_spatial.item[d]] = 1 + d;
    order[at->out_feature] = 1 + at->out_spatial.count;
}

static int set_sizes(struct convolution *v)
{
    int64_t count;

    v->groups = v->at->feature_groups > 0 ? v->at->feature_groups : 1;
    v->batch_groups = v->at->batch_groups > 0 ? v->at->batch_groups : 1;
    count = v->groups > 1 ? v->groups : v->batch_groups;
    v->taps = 1;
    v->places = 1;
    for (int d = 0; d < v->spatial; d++) {
        v->in_size[d] = v->in->dim[1 + d];
        v->kernel_size[d] = v->kernel->dim[d];
        v->taps *= v->kernel_size[d];
        v->places *= v->out_size[d];
    }
    v->in_features = v->kernel->dim[v->spatial];
    v->out_features = v->kernel->dim[v->spatial + 1] / count;
    v->depth = v->taps * v->in_features;
    if (v->in_features * v->groups != v->in->dim[1 + v->spatial])
        return call_fail(v->c, "%lld groups of %lld features are not the input's %lld",
                         (long long)v->groups, (long long)v->in_features,
                         (long long)v->in->dim[1 + v->spatial]);
    return 0;
}

int eval_convolution(struct call *c)
{
    struct convolution v = {
        .c = c, .at = hlo_detail(c->i)->conv, .spatial = hlo_detail(c->i)->conv->in_spatial.count};
    int order[EVAL_RANK_MAX], status = -1;
    int64_t dim[EVAL_RANK_MAX];

    v.e = gemm_element(c->i->type->element, c->operand[0]->element, c->operand[1]->element);
    v.bytes = hlo_element_bytes(v.e);
    call_dims(c, c->i->type, dim);
    in_order(v.at, order);
    v.in = operand_ordered(c, operand_as(c, 0, v.e), order);
    kernel_order(v.at, order);
    v.kernel = operand_ordered(c, operand_as(c, 1, v.e), order);
    v.out = v.in && v.kernel ? make_out(&v, dim) : NULL;
    if (v.out && !set_sizes(&v) && value_count(v.out) > 0) {
        make_tables(&v);
        if (v.depth == 0)
            memset(v.out->data, 0, (size_t)value_count(v.out) * v.bytes);
        else if (v.groups > 1 && v.in_features == 1 && (v.e == ELEMENT_F32 || v.e == ELEMENT_F64))
            run_features(&v);
        else
            run_groups(&v);
        free_tables(&v);
        status = 0;
    }
    if (v.out && value_count(v.out) == 0)
        status = 0;
    value_drop(&c->ev->pool, v.in);
    value_drop(&c->ev->pool, v.kernel);
    if (status) {
        value_drop(&c->ev->pool, v.out);
        return -1;
    }
    result_order(v.at, order);
    return operand_store(c, operand_ordered(c, v.out, order));
}
