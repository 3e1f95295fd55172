/* Operations of keras.ops that networks are made of: windows of images, attention. */
#include "keras/layers/layer_operation.h"

#include <math.h>
#include <string.h>

#include "keras/layers/layer_window.h"

#define PATCH_MAX 1024                  /* elements of a window, each a slice */

/* ---- windows: c.list has their sizes, c.strides and c.padding as of a layer ---- */

static int64_t size_of(const struct layer *l, int i)
{
    return (int64_t)l->c.list.value[l->c.list.count > 1 ? i : 0];
}

static int64_t stride_of(const struct layer *l, int i)
{
    return l->c.strides[i] ? l->c.strides[i] : size_of(l, i);
}

/* windows along one dimension, and the zeros that stand before it */
static int64_t windows_of(const struct layer *l, int i, int64_t length, int64_t *before)
{
    int64_t size = size_of(l, i), step = stride_of(l, i), count, missing;

    *before = 0;
    if (l->c.padding != NN_SAME)
        return length < size ? 0 : (length - size) / step + 1;
    count = (length + step - 1) / step;
    missing = (count - 1) * step + size - length;
    *before = missing > 0 ? missing / 2 : 0;
    return count;
}

static int check_windows(const struct layer *l, const struct shape *in, struct err *e)
{
    int dims = in->rank - 1;
    int64_t elements = 1, before;
    bool is_sound = dims >= 1 && dims <= 3 && (l->c.list.count == 1 || l->c.list.count == dims);

    for (int i = 0; i < dims && is_sound; i++) {
        is_sound = size_of(l, i) >= 1 && size_of(l, i) <= 65536 &&
                   windows_of(l, i, in->dim[i], &before) > 0;
        elements *= is_sound ? size_of(l, i) : 1;
        is_sound = is_sound && elements <= 0x7fffffff;
    }
    if (!is_sound)
        return layer_fail(l, e, "its windows do not go into samples of %d dimensions", in->rank);
    if (l->c.operation != OPERATION_EXTRACT_PATCHES || (dims == 2 && elements <= PATCH_MAX))
        return 0;
    return layer_fail(l, e, "patches must be of images, and have at most %d pixels", PATCH_MAX);
}

/* [batch, 1, steps, channels] for steps alone */
static int pool(struct layer_call *c, int x)
{
    const struct layer *l = c->layer;
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape, to;
    bool is_flat = s.rank == 3;
    struct nn_window w = {.padding = l->c.padding, .size = {1, 1, 1}, .stride = {1, 1, 1}};

    for (int i = 0; i < s.rank - 2; i++) {
        w.size[i + is_flat] = size_of(l, i);
        w.stride[i + is_flat] = stride_of(l, i);
    }
    if (is_flat)
        x = operation_reshape(g, x, 4, (int64_t[]){s.dim[0], 1, s.dim[1], s.dim[2]});
    x = l->c.operation == OPERATION_MAX_POOL ? nn_max_pool(g, x, &w) : nn_average_pool(g, x, &w);
    to = g->node[x].shape;
    return is_flat ? operation_reshape(g, x, 3, (int64_t[]){to.dim[0], to.dim[2], to.dim[3]}) : x;
}

/* each pixel of all windows is a slice; they lie one behind the other along the channels */
static int patches(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape;
    int64_t before[2], n[2], low[4] = {0}, high[4] = {0}, none[4] = {0};
    int piece[PATCH_MAX], count = 0, zero = graph_constant(g, shape_scalar(s.dtype), 0.0);

    for (int i = 0; i < 2; i++) {
        n[i] = windows_of(c->layer, i, s.dim[i + 1], &before[i]);
        low[i + 1] = before[i];
        high[i + 1] = (n[i] - 1) * stride_of(c->layer, i) + size_of(c->layer, i) - before[i] -
                      s.dim[i + 1];
    }
    x = graph_pad(g, x, zero, low, high, none);     /* less than nothing where windows leave some out */
    for (int64_t row = 0; row < size_of(c->layer, 0); row++)
        for (int64_t column = 0; column < size_of(c->layer, 1); column++) {
            int64_t start[4] = {0, row, column, 0}, stride[4] = {1, 1, 1, 1}, limit[4];

            limit[0] = s.dim[0];
            limit[3] = s.dim[3];
            for (int i = 0; i < 2; i++) {
                stride[i + 1] = stride_of(c->layer, i);
                limit[i + 1] = start[i + 1] + (n[i] - 1) * stride[i + 1] + 1;
            }
            piece[count++] = graph_slice(g, x, start, limit, stride);
        }
    return count == 1 ? piece[0] : graph_concatenate(g, piece, count, 3);
}

/* ---- colours ---- */

/* Keras's weights, of ITU-R BT.601 */
static int grey(struct graph *g, int x)
{
    static const double share[] = {0.2989, 0.587, 0.114};
    int last = g->node[x].shape.rank - 1, sum = NODE_NONE;

    for (int i = 0; i < 3; i++) {
        int one = nn_scale(g, operation_part(g, x, last, i, i + 1), share[i]);

        sum = sum == NODE_NONE ? one : nn_add(g, sum, one);
    }
    return sum;
}

/* ---- attention ---- */

static int check_heads(const struct layer *l, const struct shape *in, struct err *e)
{
    bool is_sound = true;

    for (int i = 0; i < 3; i++)
        is_sound = is_sound && !l->c.constant[i].value && in[i].rank == 3 &&
                   in[i].dim[1] == in[0].dim[1];
    is_sound = is_sound && in[0].dim[2] == in[1].dim[2] && in[1].dim[0] == in[2].dim[0];
    return is_sound ? 0 : layer_fail(l, e, "query, key and value must be [steps, heads, width], "
                                     "with as many heads each");
}

/* [batch, heads, query, key] */
static int scores_of(struct layer_call *c, const int *x)
{
    struct graph *g = &c->t->graph;
    struct graph_dot by_head = {.batch_count = 2, .contract_count = 1, .lhs_batch = {0, 2},
                                .rhs_batch = {0, 2}, .lhs_contract = {3}, .rhs_contract = {3}};
    int scores = graph_dot_general(g, x[0], x[1], &by_head, c->dtype, c->precision);

    return nn_scale(g, scores, 1.0 / sqrt((double)g->node[x[0]].shape.dim[3]));
}

static int attend(struct layer_call *c, const int *x)
{
    struct graph *g = &c->t->graph;
    struct graph_dot by_head = {.batch_count = 2, .contract_count = 1, .lhs_batch = {0, 1},
                                .rhs_batch = {0, 2}, .lhs_contract = {3}, .rhs_contract = {1}};
    int weights = nn_softmax(g, layer_mask_scores(c, scores_of(c, x))), y;

    y = graph_dot_general(g, weights, x[2], &by_head, c->dtype, c->precision);
    return graph_transpose(g, y, (int[]){0, 2, 1, 3});
}

static int check_network(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    (void)count;
    if (l->c.operation == OPERATION_DOT_PRODUCT_ATTENTION)
        return check_heads(l, in, e);
    if (l->c.operation != OPERATION_RGB_TO_GRAYSCALE)
        return check_windows(l, in, e);
    return in->rank == 3 && in->dim[2] == 3
               ? 0 : layer_fail(l, e, "its samples must be images of 3 channels");
}

static int call_network(struct layer_call *c, const int *operand, int count)
{
    (void)count;
    switch (c->layer->c.operation) {
    case OPERATION_DOT_PRODUCT_ATTENTION: return attend(c, operand);
    case OPERATION_RGB_TO_GRAYSCALE: return grey(&c->t->graph, operand[0]);
    case OPERATION_EXTRACT_PATCHES: return patches(c, operand[0]);
    default: return pool(c, operand[0]);
    }
}

const struct operation_form operation_network = {check_network, call_network};
