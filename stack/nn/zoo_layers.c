/* Writes layers with variables for the models of the zoo. */
#include "stack/nn/zoo_impl.h"

#include <assert.h>

#define EPSILON 1e-5
#define MOVING 0.9                      /* share that moving averages keep */

static int64_t last_size(const struct zoo *z, int x)
{
    const struct shape *s = &z->g->node[x].shape;

    return s->dim[s->rank - 1];
}

int zoo_dense(struct zoo *z, const char *name, int x, int64_t width)
{
    zoo_enter(z, name);
    x = nn_dense(z->g, x, zoo_weight(z, "kernel", ZOO_DIMS(last_size(z, x), width)), 1);
    x = nn_bias(z->g, x, zoo_weight(z, "bias", ZOO_DIMS(width)));
    zoo_leave(z);
    return x;
}

int zoo_conv(struct zoo *z, const char *name, int x, int64_t width, int64_t size,
             int64_t stride, bool has_bias, enum nn_padding padding)
{
    struct nn_window w = {.stride = {stride, stride}, .padding = padding,
                          .pad = {size / 2, size / 2}};

    zoo_enter(z, name);
    x = nn_conv2d(z->g, x, zoo_weight(z, "kernel", ZOO_DIMS(size, size, last_size(z, x), width)),
                  &w);
    if (has_bias)
        x = nn_bias(z->g, x, zoo_weight(z, "bias", ZOO_DIMS(width)));
    zoo_leave(z);
    return x;
}

int zoo_batch_norm(struct zoo *z, const char *name, int x)
{
    int64_t width = last_size(z, x);
    int scale, offset, mean, variance;
    struct nn_batch_norm n;

    zoo_enter(z, name);
    scale = zoo_variable(z, "scale", ZOO_DIMS(width));
    offset = zoo_variable(z, "offset", ZOO_DIMS(width));
    mean = zoo_state(z, "moving_mean", ZOO_DIMS(width));
    variance = zoo_state(z, "moving_variance", ZOO_DIMS(width));
    if (z->o->is_training) {
        n = nn_batch_norm_training(z->g, x, scale, offset, EPSILON, false, 1);
        zoo_set_state(z, mean, nn_moving_average(z->g, mean, n.mean, MOVING));
        zoo_set_state(z, variance, nn_moving_average(z->g, variance, n.variance, MOVING));
        x = n.y;
    } else {
        x = nn_batch_norm_inference(z->g, x, scale, offset, mean, variance, EPSILON);
    }
    zoo_leave(z);
    return x;
}

int zoo_layer_norm(struct zoo *z, const char *name, int x)
{
    int64_t width = last_size(z, x);
    int scale;

    zoo_enter(z, name);
    scale = zoo_variable(z, "scale", ZOO_DIMS(width));
    x = nn_layer_norm(z->g, x, scale, zoo_variable(z, "offset", ZOO_DIMS(width)), EPSILON);
    zoo_leave(z);
    return x;
}

int zoo_dropout(struct zoo *z, int x)
{
    if (!z->o->is_training || z->o->dropout <= 0.0)
        return x;
    if (z->seed == NODE_NONE)
        z->seed = graph_parameter(z->g, shape_scalar(DTYPE_S32), "seed");
    return nn_dropout(z->g, x, z->o->dropout, z->seed, z->stream++);
}

/* ---- transformer ---- */

/* [batch, positions, width] -> [batch, positions, heads, width of a head] */
static int project(struct zoo *z, const char *name, int x, int64_t width)
{
    int64_t head = width / z->heads;

    zoo_enter(z, name);
    x = nn_dense(z->g, x, zoo_weight(z, "kernel", ZOO_DIMS(width, z->heads, head)), 1);
    x = nn_bias(z->g, x, zoo_weight(z, "bias", ZOO_DIMS(z->heads, head)));
    zoo_leave(z);
    return x;
}

/* a third of the last dimension, as heads */
static int third(struct zoo *z, int x, int number, int64_t width)
{
    struct shape s = z->g->node[x].shape;
    int64_t start[3] = {0, 0, number * width}, limit[3] = {s.dim[0], s.dim[1],
                                                           (number + 1) * width};

    x = graph_slice(z->g, x, start, limit, NULL);
    s.rank = 4;
    s.dim[2] = z->heads;
    s.dim[3] = width / z->heads;
    return graph_reshape(z->g, x, s);
}

/* GPT-2 projects all three at once */
static int attend(struct zoo *z, int x, bool is_gpt)
{
    int64_t width = last_size(z, x), head = width / z->heads;
    int q, k, v;

    zoo_enter(z, "attention");
    if (is_gpt) {
        int all = zoo_dense(z, "qkv", x, 3 * width);

        q = third(z, all, 0, width);
        k = third(z, all, 1, width);
        v = third(z, all, 2, width);
    } else {
        q = project(z, "query", x, width);
        k = project(z, "key", x, width);
        v = project(z, "value", x, width);
    }
    x = z->rounds_scores ? nn_attention_rounded(z->g, q, k, v, is_gpt)
                         : nn_attention(z->g, q, k, v, is_gpt);
    zoo_enter(z, "out");
    x = nn_dense(z->g, x, zoo_weight(z, "kernel", ZOO_DIMS(z->heads, head, width)), 2);
    x = nn_bias(z->g, x, zoo_weight(z, "bias", ZOO_DIMS(width)));
    zoo_leave(z);
    zoo_leave(z);
    return zoo_dropout(z, x);
}

static int feed_forward(struct zoo *z, int x, bool is_gpt)
{
    int64_t width = last_size(z, x);

    zoo_enter(z, "mlp");
    x = zoo_dense(z, "in", x, 4 * width);
    x = nn_gelu(z->g, x, is_gpt);
    x = zoo_dense(z, "out", x, width);
    zoo_leave(z);
    return zoo_dropout(z, x);
}

int zoo_transformer(struct zoo *z, const char *name, int x, bool is_gpt)
{
    zoo_enter(z, name);
    if (is_gpt) {
        x = nn_add(z->g, x, attend(z, zoo_layer_norm(z, "norm_1", x), true));
        x = nn_add(z->g, x, feed_forward(z, zoo_layer_norm(z, "norm_2", x), true));
    } else {
        x = zoo_layer_norm(z, "norm_1", nn_add(z->g, x, attend(z, x, false)));
        x = zoo_layer_norm(z, "norm_2", nn_add(z->g, x, feed_forward(z, x, false)));
    }
    zoo_leave(z);
    return x;
}
