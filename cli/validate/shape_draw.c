/*
 * Drawn shapes: sizes on and beside the limits of tiles, windows smaller and larger than images,
 * few and many features.
 */
#include "cli/validate/shape_case.h"

#include "base/units.h"

#include <string.h>

#define ELEMENTS_MAX 20000000           /* of an array, */
#define FLOPS_MAX 2e10                  /* of an operation in timing mode, */
#define SMALL_ELEMENTS_MAX 100000       /* and with values */
#define SMALL_FLOPS_MAX 2e7
#define SCATTER_WORK 16                 /* a gradient of pooling takes as much as so many of it */
#define SORTED_MAX 2000000              /* elements of a sort, which takes long to simulate */
#define SORT_WORK 200                   /* so much of a sort's element */

struct limits { double elements, flops; };

static int64_t one_of(struct rng *r, const int64_t *list, size_t count)
{
    return list[rng_below(r, (uint32_t)count)];
}

#define ONE_OF(r, ...) \
    one_of(r, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)

static void draw_pair(struct rng *r, int64_t *to, int64_t a, int64_t b)
{
    to[0] = a;
    to[1] = rng_below(r, 4) ? a : b;
}

static void draw_features(struct conv_request *c, struct rng *r)
{
    int64_t in = ONE_OF(r, 1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 130, 192, 256, 384,
                        512);
    int64_t out = ONE_OF(r, 1, 2, 3, 8, 10, 16, 24, 32, 48, 64, 100, 128, 192, 256, 300, 512);
    int64_t groups = ONE_OF(r, 1, 1, 1, 1, 2, 3, 4, 8, 0, 0);

    if (groups == 0) {                  /* depthwise */
        c->groups = in;
        c->kernel[2] = 1;
        c->kernel[3] = in * ONE_OF(r, 1, 1, 1, 2);
    } else {
        c->groups = groups;
        c->kernel[2] = div_up(in, groups);
        c->kernel[3] = div_up(out, groups) * groups;
    }
    c->input[3] = c->kernel[2] * c->groups;
}

static void draw_conv(struct conv_request *c, struct rng *r)
{
    int64_t stride = ONE_OF(r, 1, 1, 1, 2, 2, 3, 4), dilation = ONE_OF(r, 1, 1, 1, 1, 2, 3);
    int64_t kernel = ONE_OF(r, 1, 1, 2, 3, 3, 3, 4, 5, 7, 11, 12);
    int64_t size = ONE_OF(r, 1, 2, 3, 4, 5, 7, 8, 9, 12, 14, 16, 20, 28, 32, 40, 56);

    memset(c, 0, sizeof(*c));
    c->input[0] = ONE_OF(r, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 33, 48, 64, 65, 100, 128, 129, 256,
                         257);
    draw_pair(r, &c->input[1], size, ONE_OF(r, 1, 5, 7, 14, 28));
    draw_pair(r, c->kernel, kernel, ONE_OF(r, 1, 2, 3));
    draw_pair(r, c->stride, stride, ONE_OF(r, 1, 2));
    draw_pair(r, c->dilation, dilation, ONE_OF(r, 1, 2));
    draw_features(c, r);
    c->is_same = rng_below(r, 2);
    if (!c->is_same && rng_below(r, 2))
        c->pad[0] = c->pad[1] = ONE_OF(r, 1, 1, 2, 3);
    c->way = (enum conv_way)ONE_OF(r, CONV_FORWARD, CONV_BY_INPUT, CONV_BY_KERNEL, CONV_BY_KERNEL,
                                   CONV_STEP, CONV_STEP);
    c->is_f32 = rng_below(r, 5) < 2;
    c->is_row_major = rng_below(r, 3) == 0;
}

static bool is_legal_conv(const struct conv_request *c, const struct limits *limits)
{
    double pixels = (double)c->input[1] * (double)c->input[2], taps = 1;
    double in = (double)c->input[0] * pixels * (double)c->input[3];
    double out = (double)c->input[0] * pixels * (double)c->kernel[3];

    for (int i = 0; i < 2; i++) {
        int64_t reach = (c->kernel[i] - 1) * c->dilation[i] + 1;

        if (!c->is_same && reach > c->input[1 + i] + 2 * c->pad[i])
            return false;
        taps *= (double)c->kernel[i];
    }
    return in <= limits->elements && out <= limits->elements &&
           2 * out * (double)c->kernel[2] * taps <= limits->flops;
}

static int64_t draw_size(struct rng *r)
{
    return ONE_OF(r, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 100, 127, 128, 129, 200,
                  256, 257, 384, 500, 512, 513, 1000, 1024, 1025, 2048, 3000, 4096, 5000, 10000,
                  30522);
}

static void set_shape(struct op_request *o, int at, int rank, const int64_t *dim)
{
    o->shape[at].rank = rank;
    memcpy(o->shape[at].dim, dim, (size_t)rank * sizeof(*dim));
    o->shape_count = at + 1;
}

static void draw_product(struct op_request *o, struct rng *r)
{
    int64_t m = draw_size(r), k = draw_size(r), n = draw_size(r), batch = draw_size(r);
    bool has_batch = rng_below(r, 2);

    o->name = "dot";
    set_shape(o, 0, 2 + has_batch, has_batch ? (const int64_t[]){batch, m, k}
                                             : (const int64_t[]){m, k, 0});
    set_shape(o, 1, 2 + has_batch, has_batch ? (const int64_t[]){batch, k, n}
                                             : (const int64_t[]){k, n, 0});
}

static void draw_pool(struct op_request *o, struct rng *r)
{
    static const char *const names[] = {"max-pool", "sum-pool", "max-pool-gradient",
                                        "sum-pool-gradient"};
    int64_t size = ONE_OF(r, 4, 7, 8, 12, 14, 28, 56, 112), image[4];

    o->name = names[rng_below(r, COUNT_OF(names))];
    image[0] = ONE_OF(r, 1, 2, 3, 8, 16, 24, 32, 100, 128, 129);
    draw_pair(r, &image[1], size, ONE_OF(r, 1, 5, 14));
    image[3] = ONE_OF(r, 1, 3, 8, 16, 32, 64, 100, 128, 129, 192, 256, 512);
    set_shape(o, 0, 4, image);
    o->window_count = o->stride_count = 2;
    draw_pair(r, o->window, ONE_OF(r, 1, 2, 2, 3, 3, 5, 7, 12), ONE_OF(r, 1, 2, 3));
    draw_pair(r, o->stride, ONE_OF(r, 1, 2, 2, 3), o->window[1]);
    o->is_same = rng_below(r, 2);
}

static void draw_reduction(struct op_request *o, struct rng *r)
{
    int rank = 1 + (int)rng_below(r, 4);
    int64_t dim[GRAPH_RANK_MAX];

    o->name = rng_below(r, 2) ? "reduce-add" : "reduce-max";
    for (int i = 0; i < rank; i++) {
        dim[i] = draw_size(r);
        if (rng_below(r, 2))
            o->dims[o->dim_count++] = i;
    }
    set_shape(o, 0, rank, dim);
}

static void draw_index(struct op_request *o, struct rng *r)
{
    o->name = rng_below(r, 2) ? "gather" : "scatter";
    set_shape(o, 0, 2, (const int64_t[]){draw_size(r), draw_size(r)});
    set_shape(o, 1, 1, (const int64_t[]){draw_size(r)});
}

/* the same elements as a matrix whose rows are of another length */
static void draw_reshape(struct op_request *o, struct rng *r)
{
    int64_t elements = shape_elems(&o->shape[0]), columns = 1 + rng_below(r, 600);

    while (elements % columns)
        columns--;
    set_shape(o, 1, 2, (const int64_t[]){elements / columns, columns});
}

static void draw_order(struct op_request *o, struct rng *r)
{
    o->dim_count = o->shape[0].rank;
    for (int i = 0; i < o->dim_count; i++) {
        int other = (int)rng_below(r, (uint32_t)i + 1);

        o->dims[i] = o->dims[other];
        o->dims[other] = i;
    }
}

static void draw_move(struct op_request *o, struct rng *r)
{
    static const char *const names[] = {"transpose", "reshape", "slice", "pad", "concatenate",
                                        "reverse"};
    int rank = 1 + (int)rng_below(r, 4), dim = (int)rng_below(r, (uint32_t)rank);
    int64_t from[GRAPH_RANK_MAX], to[GRAPH_RANK_MAX];

    o->name = names[rng_below(r, COUNT_OF(names))];
    for (int i = 0; i < rank; i++)
        to[i] = from[i] = draw_size(r);
    set_shape(o, 0, rank, from);
    if (strcmp(o->name, "transpose") == 0) {
        draw_order(o, r);
    } else if (strcmp(o->name, "reshape") == 0) {
        draw_reshape(o, r);
    } else if (strcmp(o->name, "reverse") == 0) {
        o->dims[o->dim_count++] = dim;
    } else if (strcmp(o->name, "concatenate") == 0) {
        o->dims[o->dim_count++] = dim;
        to[dim] = draw_size(r);
        set_shape(o, 1, rank, to);
    } else {
        bool is_slice = strcmp(o->name, "slice") == 0;

        for (int i = 0; i < rank; i++)
            to[i] = is_slice ? 1 + rng_below(r, (uint32_t)from[i]) : from[i] + rng_below(r, 10);
        set_shape(o, 1, rank, to);
    }
}

static bool is_legal_op(const struct op_request *o, const struct limits *limits)
{
    const struct shape *x = &o->shape[0], *y = &o->shape[1];
    bool is_pool = o->window_count > 0;
    double elements = 1, other = 1, work = 1;

    for (int i = 0; i < x->rank; i++)
        elements *= (double)x->dim[i];
    for (int i = 0; i < y->rank && o->shape_count > 1; i++)
        other *= (double)y->dim[i];
    if (is_pool && !o->is_same && (o->window[0] > x->dim[1] || o->window[1] > x->dim[2]))
        return false;
    if (strcmp(o->name, "dot") == 0)
        work = 2 * elements * (double)y->dim[y->rank - 1];
    else if (is_pool)
        work = elements * (double)(o->window[0] * o->window[1]) *
               (strstr(o->name, "gradient") ? SCATTER_WORK : 1);
    else if (strcmp(o->name, "sort") == 0 || strcmp(o->name, "topk") == 0)
        work = elements * SORT_WORK;
    else if (strcmp(o->name, "gather") == 0 || strcmp(o->name, "scatter") == 0)
        other *= (double)x->dim[x->rank - 1];
    return elements <= limits->elements && other <= limits->elements && work <= limits->flops &&
           work / (double)x->dim[x->rank - 1] / 2 <= limits->elements;
}

/* along the last dimension, which may be longer than vector memory */
static void draw_sort(struct op_request *o, struct rng *r)
{
    int64_t length = rng_below(r, 2) ? draw_size(r)
                                     : ONE_OF(r, 32768, 50257, 65536, 100000, 300000, 1000003);

    o->name = rng_below(r, 2) ? "sort" : "topk";
    if (length > SORTED_MAX / 128 || rng_below(r, 2))
        set_shape(o, 0, 1, &length);
    else
        set_shape(o, 0, 2, (const int64_t[]){ONE_OF(r, 1, 2, 5, 8, 17, 128), length});
    if (strcmp(o->name, "topk") == 0)
        o->k = 1 + rng_below(r, (uint32_t)(length < 1000 ? length : 1000));
}

static void draw_op(struct op_request *o, enum shape_kind kind, struct rng *r)
{
    *o = (struct op_request){.dtype = rng_below(r, 2) ? DTYPE_BF16 : DTYPE_F32};
    if (kind == SHAPE_PRODUCT)
        draw_product(o, r);
    else if (kind == SHAPE_INDEX)
        draw_index(o, r);
    else if (kind == SHAPE_MOVE)
        draw_move(o, r);
    else if (kind == SHAPE_SORT)
        draw_sort(o, r);
    else if (rng_below(r, 3))
        draw_pool(o, r);
    else
        draw_reduction(o, r);
}

void shape_case_draw(struct shape_case *c, enum shape_kind kind, const char *tpu, bool is_small,
                     struct rng *r)
{
    const struct limits limits = {is_small ? SMALL_ELEMENTS_MAX : ELEMENTS_MAX,
                                  is_small ? SMALL_FLOPS_MAX : FLOPS_MAX};

    *c = (struct shape_case){.kind = kind, .tpu = tpu};
    for (;;) {
        if (kind == SHAPE_CONV)
            draw_conv(&c->conv, r);
        else
            draw_op(&c->op, kind, r);
        if (kind == SHAPE_CONV ? is_legal_conv(&c->conv, &limits) : is_legal_op(&c->op, &limits))
            return;
    }
}
