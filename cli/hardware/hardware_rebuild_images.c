/*
 * How the images of a profile's convolution lie. A network's convolutions have the layouts that
 * their kernels ask for, which need not be those of the profile: the same work is timed, not the
 * transposes that would lie between the two. Where features fill at most half a tile of lanes XLA
 * lays the batch along lanes, and a network compiled here has two pixels there
 * (stack/passes/pass_pixels.c); so a row of such images has them in pairs, too. So does what a first
 * layer makes, whose images lie with the batch along lanes and a line of pixels along rows, as those
 * of a program do that asks for no layout.
 */
#include "cli/hardware/hardware_rebuild.h"

#include "stack/hlo/array.h"
#include "stack/kernels/conv/conv.h"

#include <string.h>

enum { N, H, W, C, IMAGE_RANK };
enum { FEATURES_MIN = 17, IMAGES_MIN = 16 };    /* fewer have layouts of their own */
enum { CHANNELS_MAX = 4 };                      /* of a first layer */

/* minor first: features along lanes, images along rows, pixels outside */
static const int rows_order[IMAGE_RANK] = {C, N, W, H};

/* dimensions in another order of memory, minor first */
static void lay(struct profile_array *x, const int *order)
{
    struct shape old = x->whole;
    int place[GRAPH_RANK_MAX];

    for (int i = 0; i < old.rank; i++) {
        int from = order[old.rank - 1 - i];

        x->whole.dim[i] = old.dim[from];
        place[from] = i;
    }
    for (int i = 0; i < old.rank; i++)
        x->at[i] = place[x->at[i]];
    profile_drop_ones(x);
}

static void lay_as_text(struct profile_array *x)
{
    int order[GRAPH_RANK_MAX];

    for (int i = 0; i < x->whole.rank; i++)
        order[i] = x->at[x->whole.rank - 1 - i];
    lay(x, order);
}

static struct conv_layouts wish_of(const struct rebuild *r, const struct profile_conv *c)
{
    struct conv_layouts wish;
    struct shape a = r->op.operand[c->lhs].whole, b = r->op.operand[c->rhs].whole;
    struct graph g;
    int input;

    a.dtype = b.dtype = DTYPE_BF16;
    graph_init(&g, r->g->arena, "conv");
    input = graph_parameter(&g, a, "a");
    conv_layouts(&g, graph_convolution(&g, input, graph_parameter(&g, b, "b"), c->window,
                                       &c->labels, DTYPE_F32, PRECISION_DEFAULT), NULL, &wish);
    graph_fini(&g);
    return wish;
}

/* ----- pairs */

static bool has_halves(const struct shape *s)
{
    return s->rank == IMAGE_RANK && s->dim[C] >= FEATURES_MIN && 2 * s->dim[C] <= ARRAY_LANES &&
           s->dim[W] % 2 == 0;
}

/* an image in the order of the text, whose profile has full tiles all the same */
static bool is_paired(const struct profile_array *x)
{
    struct profile_array text = *x;

    lay_as_text(&text);
    return x->has_batch_in_lanes && has_halves(&text.whole) && text.whole.dim[N] >= IMAGES_MIN &&
           memcmp(&text.shape, &text.whole, sizeof(text.shape)) == 0;
}

static bool is_image(const struct rebuild *r, const struct shape *s)
{
    return r->images > 0 && s->rank == IMAGE_RANK && s->dim[N] == r->images && s->dim[H] > 1;
}

/* the images of a first layer with a stride of two, of three channels or so, or of its gradient */
static bool has_first_layer(const struct rebuild *r, const struct profile_conv *c)
{
    const struct shape *image = &r->op.operand[c->lhs].whole;
    int64_t channels = image->dim[c->labels.in_feature];
    bool is_forward = c->window[0].stride == 2 && c->window[1].stride == 2;
    bool is_gradient = c->window[0].window_dilation == 2 && c->window[1].window_dilation == 2;

    if (is_gradient)
        channels = image->dim[c->labels.in_batch];
    return (is_forward || is_gradient) && image->rank == IMAGE_RANK && channels <= CHANNELS_MAX;
}

static void lay_first(struct profile_array *x, const struct profile_conv *c)
{
    bool is_gradient = c->window[0].window_dilation == 2;
    int images = is_gradient ? c->labels.in_feature : c->labels.in_batch;
    int channels = is_gradient ? c->labels.in_batch : c->labels.in_feature;
    const int order[] = {images, c->labels.in_spatial[1], channels, c->labels.in_spatial[0]};

    lay(x, order);
}

/* steps of one along the width, and no first layer */
static bool reads_paired(const struct rebuild *r, const struct profile_conv *c)
{
    const struct graph_window *w = &c->window[1];
    const struct shape *lhs = &r->op.operand[c->lhs].shape, *rhs = &r->op.operand[c->rhs].shape;

    if (w->stride != 1 || w->base_dilation != 1 || w->window_dilation != 1 ||
        lhs->rank < 2 || rhs->rank < 2)
        return false;
    return is_paired(&r->op.operand[c->lhs]) || is_paired(&r->op.operand[c->rhs]) ||
           is_paired(&r->op.result[c->result]);
}

static struct shape in_pairs(struct shape s)
{
    if (has_halves(&s)) {
        s.dim[W] /= 2;
        s.dim[C] *= 2;
    }
    return s;
}

struct shape profile_image_lies(const struct rebuild *r, const struct shape *image)
{
    struct shape s = in_pairs(*image), lies = s;

    if (!is_image(r, image))
        return *image;
    for (int i = 0; i < IMAGE_RANK; i++)
        lies.dim[i] = s.dim[rows_order[IMAGE_RANK - 1 - i]];
    return lies;
}

int profile_image_read(const struct rebuild *r, int node, const struct shape *image)
{
    int back[IMAGE_RANK];

    if (!is_image(r, image))
        return node;
    for (int i = 0; i < IMAGE_RANK; i++)
        back[rows_order[IMAGE_RANK - 1 - i]] = i;
    node = graph_transpose(r->g, node, back);
    return has_halves(image) ? graph_reshape(r->g, node, *image) : node;
}

int profile_image_write(const struct rebuild *r, int node)
{
    struct shape s = r->g->node[node].shape;
    int order[IMAGE_RANK];

    if (!is_image(r, &s))
        return node;
    for (int i = 0; i < IMAGE_RANK; i++)
        order[i] = rows_order[IMAGE_RANK - 1 - i];
    if (has_halves(&s))
        node = graph_reshape(r->g, node, in_pairs(s));
    return graph_transpose(r->g, node, order);
}

/* ----- the arrays of a convolution */

void profile_lay_images(struct rebuild *r, const struct profile_conv *c)
{
    struct conv_layouts wish = wish_of(r, c);
    struct profile_array *rhs = &r->op.operand[c->rhs], *result = &r->op.result[c->result];

    if (has_first_layer(r, c) && (is_paired(rhs) || is_paired(result))) {
        lay_first(&r->op.operand[c->lhs], c);
        lay_as_text(rhs);
        lay_as_text(result);
        r->images = is_paired(rhs) ? rhs->whole.dim[N] : result->whole.dim[N];
        return;
    }
    if (reads_paired(r, c)) {
        lay_as_text(&r->op.operand[c->lhs]);
        lay_as_text(&r->op.operand[c->rhs]);
        lay_as_text(&r->op.result[c->result]);
        r->images = is_paired(&r->op.operand[c->lhs]) ? r->op.operand[c->lhs].whole.dim[N]
                  : is_paired(&r->op.operand[c->rhs]) ? r->op.operand[c->rhs].whole.dim[N]
                                                      : r->op.result[c->result].whole.dim[N];
        return;
    }
    lay(&r->op.operand[c->lhs], wish.lhs);
    lay(&r->op.operand[c->rhs], wish.rhs);
    lay(&r->op.result[c->result], wish.result);
}
