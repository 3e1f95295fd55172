/*
 * A convolution in one form: three spatial dimensions, the labels resolved, and
 * the outputs of each dimension in phases.
 *
 * Dilation of the input puts dilation - 1 zeros between its elements. Output o
 * and tap t meet an element where o * stride + t * tap_dilation - pad is a
 * multiple of the dilation; which taps do depends on o modulo
 * dilation / gcd(stride, dilation) alone. So the outputs fall into that many
 * phases, each a convolution without dilation over taps of its own: zeros are
 * never multiplied.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/conv/conv_impl.h"

#define SMALL_FEATURES 16               /* of a first layer */
#define MANY_IMAGES 16                  /* that run along lanes there: whole tiles of rows */
#define WHOLE_TILES 16                  /* images: of bf16, and of f32 */
#define LANES 128
#define PIXELS_MAX 256                  /* of a line that passes take as rows */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

/* the taps that phase `r` meets */
static struct conv_phase phase_of(const struct conv_dim *d, int64_t r)
{
    struct conv_phase p = {0, 0, 0};

    while (p.first < d->taps &&
           floor_mod(r * d->stride + p.first * d->tap_dilation - d->pad, d->dilation) != 0)
        p.first++;
    if (p.first < d->taps && p.first < d->tap_step) {
        p.count = (d->taps - 1 - p.first) / d->tap_step + 1;
        p.offset = (r * d->stride + p.first * d->tap_dilation - d->pad) / d->dilation;
    }
    return p;
}

static int split_phases(struct conv_dim *d, const struct graph_node *n, struct err *e)
{
    bool has_any = false;

    d->phases = d->dilation / gcd(d->stride, d->dilation);
    d->step = d->phases * d->stride / d->dilation;
    d->tap_step = d->dilation / gcd(d->tap_dilation, d->dilation);
    d->tap_stride = d->tap_step * d->tap_dilation / d->dilation;
    if (d->phases > CONV_PHASES_MAX)
        return err_set(e, "%s: a dilation of %lld has %lld phases (at most %d)", n->name,
                       (long long)d->dilation, (long long)d->phases, CONV_PHASES_MAX);
    for (int64_t r = 0; r < d->phases; r++) {
        d->phase[r] = phase_of(d, r);
        if (d->phase[r].count && (!has_any || d->phase[r].offset < d->lowest))
            d->lowest = d->phase[r].offset;
        has_any |= d->phase[r].count > 0;
    }
    return 0;
}

static int set_dim(struct conv_shape *s, int dim, int label, const struct shape *lhs,
                   const struct shape *rhs, struct err *e)
{
    const struct graph_node *n = s->node;
    const struct graph_window *w = &n->window[label];
    struct conv_dim *d = &s->dim[dim];

    s->spatial_dim[CONV_LHS][dim] = n->conv->in_spatial[label];
    s->spatial_dim[CONV_RHS][dim] = n->conv->kernel_spatial[label];
    s->spatial_dim[CONV_RESULT][dim] = n->conv->out_spatial[label];
    d->in = lhs->dim[n->conv->in_spatial[label]];
    d->taps = rhs->dim[n->conv->kernel_spatial[label]];
    d->out = n->shape.dim[n->conv->out_spatial[label]];
    d->stride = w->stride;
    d->pad = w->pad_low;
    d->dilation = w->base_dilation;
    d->tap_dilation = w->window_dilation;
    d->is_reversed = w->is_reversed;
    return split_phases(d, n, e);
}

static void set_missing(struct conv_shape *s, int dim)
{
    struct conv_dim *d = &s->dim[dim];

    for (int role = 0; role < CONV_ROLES; role++)
        s->spatial_dim[role][dim] = -1;
    *d = (struct conv_dim){.in = 1, .taps = 1, .out = 1, .stride = 1, .dilation = 1,
                           .tap_dilation = 1, .phases = 1, .step = 1, .tap_step = 1,
                           .tap_stride = 1, .phase = {{0, 1, 0}}};
}

static bool has_large_window(const struct conv_shape *s)
{
    int64_t taps = 1, out = 1;

    for (int i = 0; i < CONV_SPATIAL; i++) {
        taps *= s->dim[i].taps;
        out *= s->dim[i].out;
    }
    return taps > out;
}

/* the window is an image, too: of a gradient by kernel, whichever of the two was strided */
static bool has_image_as_window(const struct conv_shape *s)
{
    bool is_image = true;

    for (int i = 0; i < CONV_SPATIAL; i++)
        is_image &= s->dim[i].taps >= s->dim[i].in;
    return is_image && has_large_window(s);
}

/*
 * A window larger than the result is a gradient by kernel. A first layer, few
 * features and a large batch, also has its contracted dimension along rows,
 * where eight features, not 128, are the least that is read; the gradient by
 * its kernel reads the same layout, as rows.
 */
static enum conv_mode mode_of(const struct conv_shape *s)
{
    int64_t taps = 1;
    bool is_dilated = false;

    for (int i = 0; i < CONV_SPATIAL; i++) {
        taps *= s->dim[i].taps;
        is_dilated |= s->dim[i].dilation > 1;
    }
    if (s->batch_groups > 1)
        return CONV_TRANSPOSED;
    if (s->feature_groups > 1 || (is_dilated && !has_image_as_window(s)))
        return CONV_ROWS;
    if (has_large_window(s))
        return s->batch <= SMALL_FEATURES && s->features >= MANY_IMAGES ? CONV_ROWS
                                                                      : CONV_TRANSPOSED;
    return s->features <= SMALL_FEATURES && taps > 1 && s->batch >= MANY_IMAGES ? CONV_TRANSPOSED
                                                                              : CONV_ROWS;
}

static bool may_have_rows_of_pixels(const struct conv_shape *s)
{
    return s->mode == CONV_ROWS && !has_large_window(s) && s->feature_groups == 1 &&
           s->spatial_dim[CONV_LHS][0] < 0 && s->spatial_dim[CONV_LHS][2] >= 0 &&
           s->dim[2].dilation == 1 && s->dim[2].in <= PIXELS_MAX;
}

/* A small batch fills few of the rows that a tile has; pixels of a line may fill more. */
static bool wants_rows_of_pixels(const struct conv_shape *s, enum graph_dtype dtype)
{
    int64_t rows = dtype == DTYPE_BF16 ? 16 : 8, out = s->dim[2].out;

    return may_have_rows_of_pixels(s) && s->batch <= rows / 2 && out > 1 &&
           4 * round_up(out, rows) * s->batch <= 5 * out * rows;
}

/* the last dimension takes the place of the batch, and the batch that of the first */
static void exchange_batch(struct conv_shape *s)
{
    struct conv_dim *x = &s->dim[2];
    int64_t out = x->out;

    s->is_pixels = true;
    s->width = x->in;
    s->width_pad = x->pad;
    s->width_stride = x->stride;
    s->dim[0].in = s->dim[0].out = s->batch;
    s->batch = out;
    x->in = x->out = x->stride = x->step = 1;
    x->pad = x->lowest = x->phase[0].offset = 0;
    for (int role = 0; role < CONV_ROLES; role++) {
        if (role == CONV_RHS)
            continue;
        s->spatial_dim[role][0] = s->batch_dim[role];
        s->batch_dim[role] = s->spatial_dim[role][2];
        s->spatial_dim[role][2] = -1;
    }
}

int conv_shape_of(const struct graph_node *n, const struct shape *lhs, const struct shape *rhs,
                  struct conv_shape *s, struct err *e)
{
    const struct graph_conv *c = n->conv;
    int missing = CONV_SPATIAL - c->spatial_count;

    *s = (struct conv_shape){.node = n,
        .batch_dim = {c->in_batch, c->kernel_in, c->out_batch},
        .feature_dim = {c->in_feature, c->kernel_out, c->out_feature},
        .batch = lhs->dim[c->in_batch], .features = lhs->dim[c->in_feature],
        .out_features = rhs->dim[c->kernel_out],
        .feature_groups = c->feature_groups, .batch_groups = c->batch_groups};
    for (int i = 0; i < missing; i++)
        set_missing(s, i);
    for (int i = 0; i < c->spatial_count; i++)
        if (set_dim(s, missing + i, i, lhs, rhs, e))
            return -1;
    s->is_depthwise =
        (s->feature_groups > 1 && s->feature_groups == s->features &&
         s->out_features == s->features) ||
        (s->batch_groups > 1 && s->batch_groups == s->batch && s->out_features == s->batch);
    s->mode = mode_of(s);
    return 0;
}

void conv_shape_resolve(struct conv_shape *s, const struct array *lhs)
{
    if (may_have_rows_of_pixels(s) && lhs->row_dim == s->spatial_dim[CONV_LHS][2])
        exchange_batch(s);
}

/* From one row of a line to the next a pixel further is the same in the input and the result. */
bool conv_may_be_dense(const struct conv_shape *s)
{
    const struct conv_dim *x = &s->dim[2];

    return s->mode == CONV_ROWS && !s->is_pixels && s->feature_groups == 1 &&
           s->batch_groups == 1 && !s->is_depthwise && x->out > 1 && x->step == 1 &&
           x->phases == 1 && s->batch % WHOLE_TILES;
}

/* Gradients by kernel want the batch along rows or lanes, and so all activations lie alike. */
bool conv_has_gradients_by_kernel(const struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        struct conv_shape s;
        struct err e;

        if (n->op == HLO_CONVOLUTION &&
            conv_shape_of(n, &g->node[n->operand[0]].shape, &g->node[n->operand[1]].shape, &s,
                          &e) == 0 &&
            has_large_window(&s))
            return true;
    }
    return false;
}

/* `lane` and `row` innermost, then the others: spatial ones, the last first */
static void order_of(const struct conv_shape *s, enum conv_role role, int lane, int row,
                     int *order)
{
    int count = 0;

    order[count++] = lane;
    order[count++] = row;
    for (int i = CONV_SPATIAL - 1; i >= 0; i--)
        if (s->spatial_dim[role][i] >= 0)
            order[count++] = s->spatial_dim[role][i];
}

void conv_layouts(const struct graph *g, int node, const struct chip *chip,
                  struct conv_layouts *out)
{
    const struct graph_node *n = &g->node[node];
    struct conv_shape s;
    struct err e;
    bool is_rows;

    (void)chip;
    memset(out, 0, sizeof(*out));
    conv_shape_of(n, &g->node[n->operand[0]].shape, &g->node[n->operand[1]].shape, &s, &e);
    if (wants_rows_of_pixels(&s, g->node[n->operand[0]].shape.dtype) &&
        !conv_has_gradients_by_kernel(g))
        exchange_batch(&s);
    is_rows = s.mode == CONV_ROWS;
    order_of(&s, CONV_LHS, is_rows ? s.feature_dim[CONV_LHS] : s.batch_dim[CONV_LHS],
             is_rows ? s.batch_dim[CONV_LHS] : s.feature_dim[CONV_LHS], out->lhs);
    order_of(&s, CONV_RHS, s.feature_dim[CONV_RHS], s.batch_dim[CONV_RHS], out->rhs);
    order_of(&s, CONV_RESULT, s.feature_dim[CONV_RESULT], s.batch_dim[CONV_RESULT], out->result);
}
