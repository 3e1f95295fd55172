/* Layers that make samples larger or smaller: cropping, up-sampling, resizing, repeating. */
#include "keras/layers/blend.h"
#include "keras/layers/layer_window.h"

#include <inttypes.h>

/* ---- cropping ---- */

static int shape_crop(const struct layer *l, const struct shape *in, int count, struct shape *out,
                      struct err *e)
{
    char text[160];

    (void)count;
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        out->dim[i] -= l->c.pads[2 * i] + l->c.pads[2 * i + 1];
        if (out->dim[i] < 1)
            return layer_fail(l, e, "\"cropping\" leaves nothing of samples %s",
                              layer_shape_text(in, text, sizeof(text)));
    }
    layer_sample_shape(l, out);
    return 0;
}

static int call_crop(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    const struct shape *s = &g->node[c->input[0]].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int d = 0; d < s->rank; d++)
        limit[d] = s->dim[d];
    for (int i = 0; i < layer_spatial_dims(c->layer->kind); i++) {
        start[1 + i] = c->layer->c.pads[2 * i];
        limit[1 + i] -= c->layer->c.pads[2 * i + 1];
    }
    layer_source(c, "Slice");
    return graph_slice(g, c->input[0], start, limit, NULL);
}

const struct layer_functions layer_crop = {shape_crop, NULL, call_crop};

/* ---- other sizes ---- */

/* up-sampling says how many times as large, Resizing how large */
static int64_t resized(const struct layer *l, int axis, int64_t length)
{
    return l->kind == LAYER_RESIZING ? l->c.size[axis] : length * l->c.size[axis];
}

/* it is no repetition of what is there */
static bool needs_blend(const struct layer *l, int64_t to, int64_t from)
{
    return l->c.choice != INTERPOLATION_NEAREST || to % from != 0;
}

/* how long one side is of an image that has the shape `to` and the other side of `is` */
static int64_t shaped_length(const int64_t *to, const int64_t *is, int axis)
{
    int64_t length = is[1 - axis] * to[axis] / to[1 - axis];

    return length < 1 ? 1 : length;
}

/* a side of an image, once a part of it is taken or edges are put around it */
static int64_t taken_length(const struct layer *l, const int64_t *is, int axis)
{
    int64_t shaped = l->c.crops_aspect || l->c.pads_aspect ? shaped_length(l->c.size, is, axis) : 0;

    if (l->c.crops_aspect)
        return shaped < is[axis] ? shaped : is[axis];
    if (l->c.pads_aspect && shaped > is[axis])          /* as much on either side, as Keras has it */
        return is[axis] + (shaped - is[axis]) / 2 * 2;
    return is[axis];
}

static int shape_resize(const struct layer *l, const struct shape *in, int count,
                        struct shape *out, struct err *e)
{
    struct shape image;
    double elems;

    (void)count;
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    if (l->c.crops_aspect && l->c.pads_aspect)
        return layer_fail(l, e, "\"crop_to_aspect_ratio\" and \"pad_to_aspect_ratio\" are both "
                          "true; one may be");
    image = *out;
    elems = (double)image.dim[image.rank - 1];
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        int64_t from = taken_length(l, image.dim, i);

        elems *= (double)from;
        out->dim[i] = resized(l, i, from);
        if (needs_blend(l, out->dim[i], from) && blend_check(l, out->dim[i], from, e) != 0)
            return -1;
    }
    if (l->c.pads_aspect && elems > 0x1p31)
        return layer_fail(l, e, "\"pad_to_aspect_ratio\" makes images of more than 2^31 elements");
    layer_sample_shape(l, out);
    return 0;
}

/* every element of dimension `dim` `times` times */
static int repeat_elements(struct graph *g, int x, int dim, int64_t times)
{
    struct shape s = g->node[x].shape, spread = s;
    int dims[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++)
        dims[d] = d <= dim ? d : d + 1;
    for (int d = s.rank; d > dim + 1; d--)
        spread.dim[d] = s.dim[d - 1];
    spread.dim[dim + 1] = times;
    spread.rank++;
    s.dim[dim] *= times;
    return graph_reshape(g, graph_broadcast(g, x, spread, dims), s);
}

/* the images' part of the new shape, or the images with edges that give them that shape */
static int call_aspect(struct layer_call *c, int x)
{
    const struct layer *l = c->layer;
    struct graph *g = &c->t->graph;
    const struct shape s = g->node[x].shape;
    int64_t low[4] = {0}, limit[4] = {s.dim[0], 0, 0, s.dim[3]}, none[4] = {0};
    int fill;

    for (int i = 0; i < 2; i++) {
        int64_t is = s.dim[1 + i], taken = taken_length(l, &s.dim[1], i);

        low[1 + i] = (taken < is ? is - taken : taken - is) / 2;
        limit[1 + i] = low[1 + i] + taken;
    }
    if (l->c.crops_aspect)
        return graph_slice(g, x, low, limit, NULL);
    fill = graph_convert(g, graph_constant(g, shape_scalar(DTYPE_F32), l->c.mask_value), s.dtype);
    return graph_pad(g, x, fill, low, low, none);
}

static int call_resize(struct layer_call *c)
{
    const struct layer *l = c->layer;
    struct graph *g = &c->t->graph;
    int x = layer_to_image(c, c->input[0]);

    layer_source(c, "Resize");
    if (l->c.crops_aspect || l->c.pads_aspect)
        x = call_aspect(c, x);
    for (int i = 0; i < layer_spatial_dims(l->kind); i++) {
        int64_t from = g->node[x].shape.dim[1 + i], to = resized(l, i, from);

        if (to == from)
            continue;
        if (l->c.choice == INTERPOLATION_NEAREST && to % from == 0)
            x = repeat_elements(g, x, 1 + i, to / from);
        else
            x = layer_blend(g, x, 1 + i,
                            blend_pixels(g, l->c.choice, l->c.antialiases, to, from));
    }
    return graph_convert(g, layer_from_image(c, x), c->dtype);
}

const struct layer_functions layer_resize = {shape_resize, NULL, call_resize};

/* ---- the middle ---- */

/* of a dimension so long: what is kept, before it is resized if that is another size */
static int64_t kept_length(const struct layer *l, const struct shape *in, int axis)
{
    const int64_t *to = l->c.size, *is = in->dim;
    int64_t as_shaped;

    if (l->kind == LAYER_CENTER_CROP && is[0] >= to[0] && is[1] >= to[1])
        return to[axis];
    as_shaped = shaped_length(to, is, axis);
    return as_shaped < is[axis] ? as_shaped : is[axis];
}

static int shape_center_crop(const struct layer *l, const struct shape *in, int count,
                             struct shape *out, struct err *e)
{
    (void)count;
    if (layer_image_shape(l, in, out, e) != 0)
        return -1;
    for (int i = 0; i < 2; i++)
        out->dim[i] = l->c.size[i];
    return 0;
}

static int call_center_crop(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    const struct shape *s = &g->node[c->input[0]].shape;
    struct shape in = {.dim = {s->dim[1], s->dim[2]}};
    int64_t start[4] = {0}, limit[4] = {s->dim[0], 0, 0, s->dim[3]};
    int x;

    layer_source(c, "Slice");
    for (int i = 0; i < 2; i++) {
        int64_t kept = kept_length(c->layer, &in, i);

        start[1 + i] = (in.dim[i] - kept) / 2;
        limit[1 + i] = start[1 + i] + kept;
    }
    x = graph_slice(g, c->input[0], start, limit, NULL);
    layer_source(c, "Resize");
    for (int i = 0; i < 2; i++) {
        int64_t from = g->node[x].shape.dim[1 + i], to = c->layer->c.size[i];

        if (to != from)
            x = layer_blend(g, x, 1 + i, blend_pixels(g, INTERPOLATION_BILINEAR, false, to, from));
    }
    return graph_convert(g, x, c->dtype);
}

const struct layer_functions layer_center_crop = {shape_center_crop, NULL, call_center_crop};

/* where one of all places begins that leave `kept` of so many */
static int drawn_start(struct layer_call *c, int64_t length, int64_t kept)
{
    int at = layer_uniform(c, shape_scalar(DTYPE_U32), 0.0, (double)(length - kept + 1));

    return graph_convert(&c->t->graph, at, DTYPE_S32);
}

/*
 * Keras leaves images as they are where it does not train, against its own documentation, whose
 * largest part of that shape is taken here.
 */
static int call_random_crop(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape;
    const int64_t *to = c->layer->c.size;
    int64_t kept[4] = {s.dim[0], to[0], to[1], s.dim[3]};
    int start[4];

    if (!layer_trains(c) || s.dim[1] <= to[0] || s.dim[2] <= to[1])
        return call_center_crop(c);
    layer_source(c, "DynamicSlice");
    start[0] = start[3] = graph_constant(g, shape_scalar(DTYPE_S32), 0);
    for (int i = 0; i < 2; i++)
        start[1 + i] = drawn_start(c, s.dim[1 + i], to[i]);
    return graph_convert(g, graph_dynamic_slice(g, c->input[0], start, kept), c->dtype);
}

const struct layer_functions layer_random_crop = {shape_center_crop, NULL, call_random_crop};

/* ---- repeating ---- */

static int shape_repeat(const struct layer *l, const struct shape *in, int count,
                        struct shape *out, struct err *e)
{
    (void)count;
    if (layer_expect_rank(l, in, 1, "vectors", e) != 0)
        return -1;
    *out = shape_make(in->dtype, 2, (int64_t[]){l->c.units, in->dim[0]});
    return 0;
}

static int call_repeat(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[c->input[0]].shape;

    layer_source(c, "Broadcast");
    return graph_broadcast(g, c->input[0],
                           shape_make(s.dtype, 3,
                                      (int64_t[]){s.dim[0], c->layer->c.units, s.dim[1]}),
                           (int[]){0, 2});
}

const struct layer_functions layer_repeat = {shape_repeat, NULL, call_repeat};
