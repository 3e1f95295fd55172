/*
 * Images changed at random in training, each in its own way: mirrored, moved, turned, sheared, made
 * larger, lighter or richer in contrast. Else they are what they were.
 */
#include "keras/layers/layer_window.h"

#include <inttypes.h>
#include <math.h>

#define TURN (2.0 * 3.14159265358979323846)

static int subtract(struct graph *g, int a, int b)
{
    return graph_binary(g, HLO_SUBTRACT, a, b);
}

/* one number for each image: [batch] */
static int draw(struct layer_call *c, double low, double high)
{
    struct shape s = {.dtype = DTYPE_F32, .rank = 1,
                      .dim = {c->t->graph.node[c->input[0]].shape.dim[0]}};

    return layer_uniform(c, s, low, high);
}

/* [batch] over all of x */
static int spread_images(struct graph *g, int number, int x)
{
    struct shape s = g->node[x].shape;

    s.dtype = g->node[number].shape.dtype;
    return graph_broadcast(g, number, s, (int[]){0});
}

/* a number n is -n to n, none is 0 */
static void bounds(const struct layer_reals *given, double *low, double *high)
{
    if (given->count == 0) {
        *low = *high = 0.0;
        return;
    }
    *low = given->count == 1 ? -fabs(given->value[0]) : fmin(given->value[0], given->value[1]);
    *high = given->count == 1 ? fabs(given->value[0]) : fmax(given->value[0], given->value[1]);
}

static int check_pair(const struct layer *l, const char *field, const struct layer_reals *given,
                      struct err *e)
{
    if (given->count <= 2)
        return 0;
    return layer_fail(l, e, "\"%s\" has %" PRId64 " numbers; it must be one, or a lowest and a "
                      "highest", field, given->count);
}

/* Keras takes factors from 0 on, and writes those of a number n as -n and n */
static int check_shear(const struct layer *l, struct err *e)
{
    const struct layer_reals *given[2] = {&l->c.scale, &l->c.offset};

    if (l->kind != LAYER_RANDOM_SHEAR)
        return 0;
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < given[i]->count; k++)
            if (!(fabs(given[i]->value[k]) <= 1.0))
                return layer_fail(l, e, "\"%c_factor\" is %g; it must be at most 1", "xy"[i],
                                  given[i]->value[k]);
    return 0;
}

static int shape_random(const struct layer *l, const struct shape *in, int count,
                        struct shape *out, struct err *e)
{
    (void)count;
    if (layer_functions(l->kind) == &layer_tone && l->c.offset.count == 1)
        return layer_fail(l, e, "\"value_range\" must be a lowest and a highest value");
    if (check_pair(l, "factor", &l->c.scale, e) != 0 ||
        check_pair(l, l->kind == LAYER_RANDOM_SHEAR ? "y_factor" : "width_factor", &l->c.offset,
                   e) != 0 || check_shear(l, e) != 0)
        return -1;
    out->dtype = DTYPE_F32;
    return layer_image_shape(l, in, out, e);
}

/* ---- mirrored ---- */

/* both ways at once, or not at all, as Keras does it */
static int call_flip(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x = c->input[0], dims[2] = {1, 2}, other, drawn;

    if (!layer_trains(c))
        return x;
    layer_source(c, "RandomFlip");
    drawn = spread_images(g, draw(c, 0.0, 1.0), x);
    other = graph_reverse(g, x, c->layer->c.choice == FLIP_HORIZONTAL ? dims + 1 : dims,
                          c->layer->c.choice == FLIP_BOTH ? 2 : 1);
    return graph_select(g, graph_compare(g, COMPARE_LE, drawn, graph_splat(g, drawn, 0.5)), other,
                        x);
}

const struct layer_functions layer_flip = {shape_random, NULL, call_flip};

/* ---- moved, turned, made larger ---- */

/* Where each pixel of the output comes from, along y (0) and x (1): f32 [batch, height, width]. */
struct source {
    struct layer_call *c;
    struct graph *g;
    struct shape place;                 /* [batch, height, width] */
    int64_t size[2];
    int from[2];
};

/* pixels counted from the middle along y or x */
static int from_middle(struct source *s, int axis)
{
    struct shape whole = s->place;
    int x;

    whole.dtype = DTYPE_S32;
    x = graph_convert(s->g, graph_iota(s->g, whole, 1 + axis), DTYPE_F32);
    return nn_shift(s->g, x, -0.5 * (double)(s->size[axis] - 1));
}

static int to_places(struct source *s, int number)
{
    return graph_broadcast(s->g, number, s->place, (int[]){0});
}

/* angles are shares of a turn, against the clock */
static void rotate(struct source *s)
{
    int y = from_middle(s, 0), x = from_middle(s, 1), angle, sine, cosine, of_y;
    double low, high;

    bounds(&s->c->layer->c.scale, &low, &high);
    angle = nn_scale(s->g, draw(s->c, low, high), TURN);
    sine = to_places(s, graph_unary(s->g, HLO_SINE, angle));
    cosine = to_places(s, graph_unary(s->g, HLO_COSINE, angle));
    of_y = nn_multiply(s->g, y, cosine);
    s->from[0] = nn_add(s->g, nn_multiply(s->g, x, sine), of_y);
    of_y = nn_multiply(s->g, y, sine);
    s->from[1] = subtract(s->g, nn_multiply(s->g, x, cosine), of_y);
}

/*
 * Each row moves by a share of its number, each column likewise, counted from the first; which way
 * is drawn for both at once.
 */
static void shear(struct source *s)
{
    const struct layer_reals *given[2] = {&s->c->layer->c.offset, &s->c->layer->c.scale};
    int number[2], drawn, way;

    for (int axis = 0; axis < 2; axis++)
        number[axis] = nn_shift(s->g, from_middle(s, axis), 0.5 * (double)(s->size[axis] - 1));
    drawn = draw(s->c, 0.0, 1.0);
    way = graph_compare(s->g, COMPARE_GT, drawn, graph_splat(s->g, drawn, 0.5));
    for (int axis = 0; axis < 2; axis++) {
        double low, high;
        int share, back;

        bounds(given[axis], &low, &high);
        share = draw(s->c, low, high);
        back = nn_scale(s->g, share, -1.0);
        share = to_places(s, graph_select(s->g, way, back, share));
        share = nn_multiply(s->g, number[1 - axis], share);
        s->from[axis] = nn_add(s->g, share, from_middle(s, axis));
    }
}

/* Factors are shares of the size: positive ones move down and right, and zoom out. */
static void move_or_zoom(struct source *s)
{
    const struct layer_config *l = &s->c->layer->c;
    bool zooms = s->c->layer->kind == LAYER_RANDOM_ZOOM;
    int factor = NODE_NONE;

    for (int axis = 0; axis < 2; axis++) {
        int at = from_middle(s, axis);
        double low, high;

        if (axis == 0 || l->offset.count > 0) {
            bounds(axis == 0 ? &l->scale : &l->offset, &low, &high);
            factor = draw(s->c, low, high);
        }
        if (zooms)
            s->from[axis] = nn_multiply(s->g, at, nn_shift(s->g, to_places(s, factor), 1.0));
        else
            s->from[axis] = subtract(s->g, at, to_places(s, nn_scale(s->g, factor,
                                                                     (double)s->size[axis])));
    }
}

/* x - period floor(x / period) */
static int wrapped(struct graph *g, int x, double period)
{
    int times = graph_unary(g, HLO_FLOOR, nn_scale(g, x, 1.0 / period));

    return subtract(g, x, nn_scale(g, times, period));
}

static int clamped(struct graph *g, int x, int64_t size)
{
    x = graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, 0.0));
    return graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, (double)(size - 1)));
}

/* a place that may lie outside, inside */
static int inside(struct source *s, int at, int axis)
{
    double size = (double)s->size[axis];
    int back;

    if (s->c->layer->c.fill == FILL_WRAP)
        at = wrapped(s->g, at, size);
    if (s->c->layer->c.fill == FILL_REFLECT) {
        at = wrapped(s->g, at, 2.0 * size);
        back = nn_shift(s->g, nn_scale(s->g, at, -1.0), 2.0 * size - 1.0);
        at = graph_binary(s->g, HLO_MINIMUM, at, back);
    }
    return clamped(s->g, at, s->size[axis]);
}

/* 1 where the place is inside, else 0 */
static int is_inside(struct source *s, int at, int axis)
{
    int same = graph_compare(s->g, COMPARE_EQ, at, clamped(s->g, at, s->size[axis]));

    return graph_convert(s->g, same, DTYPE_F32);
}

/* the pixels at these places: [batch height width, channels], and which of them there are */
static int pixels(struct source *s, int x, int y_at, int x_at, int weight)
{
    struct shape in = s->g->node[x].shape;
    struct shape whole = s->place, rows, flat;
    int y = inside(s, y_at, 0), id, column, image, image_pixels, value;

    whole.dtype = DTYPE_S32;
    column = inside(s, x_at, 1);
    id = nn_add(s->g, nn_scale(s->g, y, (double)s->size[1]), column);
    image_pixels = graph_constant(s->g, whole, (double)(s->size[0] * s->size[1]));
    image = graph_binary(s->g, HLO_MULTIPLY, graph_iota(s->g, whole, 0), image_pixels);
    id = nn_add(s->g, graph_convert(s->g, id, DTYPE_S32), image);
    flat = shape_make(DTYPE_S32, 1, (int64_t[]){shape_elems(&whole)});
    rows = shape_make(DTYPE_F32, 2, (int64_t[]){flat.dim[0], in.dim[3]});
    id = graph_reshape(s->g, id, flat);
    value = nn_embedding(s->g, graph_reshape(s->g, x, rows), id);
    value = graph_reshape(s->g, value, in);
    if (s->c->layer->c.fill == FILL_CONSTANT) {
        int in_row = is_inside(s, x_at, 1), there = nn_multiply(s->g, is_inside(s, y_at, 0), in_row);
        int outside;

        there = graph_broadcast(s->g, there, in, (int[]){0, 1, 2});
        outside = graph_splat(s->g, value, s->c->layer->c.mask_value);
        value = graph_select(s->g, graph_compare(s->g, COMPARE_GT, there, graph_splat(s->g, there, 0.5)),
                             value, outside);
    }
    if (weight == NODE_NONE)
        return value;
    return nn_multiply(s->g, value, graph_broadcast(s->g, weight, s->g->node[value].shape,
                                                    (int[]){0, 1, 2}));
}

/* the four pixels around each place, by their shares */
static int between(struct source *s, int x)
{
    int low[2], part[2], sum = NODE_NONE;

    for (int axis = 0; axis < 2; axis++) {
        low[axis] = graph_unary(s->g, HLO_FLOOR, s->from[axis]);
        part[axis] = subtract(s->g, s->from[axis], low[axis]);
    }
    for (int corner = 0; corner < 4; corner++) {
        int at[2], share[2], one;

        for (int axis = 0; axis < 2; axis++) {
            bool is_high = corner & (1 << axis);

            at[axis] = is_high ? nn_shift(s->g, low[axis], 1.0) : low[axis];
            share[axis] = is_high ? part[axis]
                                  : nn_shift(s->g, nn_scale(s->g, part[axis], -1.0), 1.0);
        }
        one = pixels(s, x, at[0], at[1], nn_multiply(s->g, share[0], share[1]));
        sum = sum == NODE_NONE ? one : nn_add(s->g, sum, one);
    }
    return sum;
}

static int call_warp(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape in = g->node[c->input[0]].shape;
    struct source s = {.c = c, .g = g, .place = shape_make(DTYPE_F32, 3, in.dim),
                       .size = {in.dim[1], in.dim[2]}};
    int x = c->input[0];

    if (!layer_trains(c))
        return x;
    layer_source(c, layer_class(c->layer->kind));
    x = graph_convert(g, x, DTYPE_F32);
    if (c->layer->kind == LAYER_RANDOM_ROTATION)
        rotate(&s);
    else if (c->layer->kind == LAYER_RANDOM_SHEAR)
        shear(&s);
    else
        move_or_zoom(&s);
    for (int axis = 0; axis < 2; axis++)
        s.from[axis] = graph_hold(g, nn_shift(g, s.from[axis], 0.5 * (double)(s.size[axis] - 1)));
    if (c->layer->c.choice == INTERPOLATION_BILINEAR)
        return graph_convert(g, between(&s, x), c->dtype);
    for (int axis = 0; axis < 2; axis++)
        s.from[axis] = graph_unary(g, HLO_FLOOR, nn_shift(g, s.from[axis], 0.5));
    return graph_convert(g, pixels(&s, x, s.from[0], s.from[1], NODE_NONE), c->dtype);
}

const struct layer_functions layer_warp = {shape_random, NULL, call_warp};

/* ---- brightness and contrast ---- */

static int call_tone(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    double least = l->offset.count == 2 ? fmin(l->offset.value[0], l->offset.value[1]) : 0.0;
    double most = l->offset.count == 2 ? fmax(l->offset.value[0], l->offset.value[1]) : 255.0;
    int x = graph_convert(g, c->input[0], DTYPE_F32), mean;
    double low, high;

    if (!layer_trains(c))
        return c->input[0];
    layer_source(c, layer_class(c->layer->kind));
    bounds(&l->scale, &low, &high);
    if (c->layer->kind == LAYER_RANDOM_BRIGHTNESS) {
        x = nn_add(g, x, spread_images(g, nn_scale(g, draw(c, low, high), most - least), x));
    } else {                            /* factors are below and above 1 */
        mean = nn_mean(g, x, 1u << 1 | 1u << 2);
        mean = graph_broadcast(g, mean, g->node[x].shape, (int[]){0, 3});
        if (l->scale.count == 2)
            low = -low;
        int factor = spread_images(g, draw(c, 1.0 + low, 1.0 + high), x);

        x = nn_multiply(g, subtract(g, x, mean), factor);
        x = nn_add(g, x, mean);
    }
    x = graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, least));
    x = graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, most));
    return graph_convert(g, x, c->dtype);
}

const struct layer_functions layer_tone = {shape_random, NULL, call_tone};
