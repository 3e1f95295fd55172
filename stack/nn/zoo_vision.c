/* Writes the zoo's models of images. */
#include "stack/nn/zoo_impl.h"

static int images(struct zoo *z, int64_t side, int64_t channels)
{
    return graph_parameter(z->g, shape_make(z->o->dtype, ZOO_DIMS(z->o->batch, side, side,
                                                                  channels)), "images");
}

/* logits are the output, or with labels the loss */
static void classify(struct zoo *z, int logits)
{
    int labels;

    if (!z->o->is_training) {
        graph_output(z->g, logits, "logits", -1);
        return;
    }
    labels = graph_parameter(z->g, shape_make(DTYPE_S32, ZOO_DIMS(z->o->batch)), "labels");
    zoo_enter(z, "loss");
    z->loss = nn_cross_entropy(z->g, logits, labels);
    graph_output(z->g, nn_accuracy(z->g, logits, labels), "accuracy", -1);
    zoo_leave(z);
}

/* [batch, ...] -> [batch, features] */
static int flatten(struct zoo *z, int x)
{
    struct shape s = z->g->node[x].shape;

    s.dim[1] = shape_elems(&s) / s.dim[0];
    s.rank = 2;
    return graph_reshape(z->g, x, s);
}

static int max_pool(struct zoo *z, int x, int64_t size, int64_t stride, enum nn_padding padding)
{
    struct nn_window w = {.size = {size, size}, .stride = {stride, stride}, .padding = padding};

    return nn_max_pool(z->g, x, &w);
}

void zoo_mlp(struct zoo *z)
{
    int x = graph_parameter(z->g, shape_make(z->o->dtype, ZOO_DIMS(z->o->batch, 784)), "images");

    x = nn_relu(z->g, zoo_dense(z, "dense_1", x, 512));
    x = nn_relu(z->g, zoo_dense(z, "dense_2", x, 512));
    classify(z, zoo_dense(z, "dense_3", x, 10));
}

void zoo_lenet(struct zoo *z)
{
    static const struct nn_window halves = {.size = {2, 2}, .stride = {2, 2}};
    int x = images(z, 28, 1);

    x = graph_unary(z->g, HLO_TANH, zoo_conv(z, "conv_1", x, 6, 5, 1, true, NN_SAME));
    x = nn_average_pool(z->g, x, &halves);
    x = graph_unary(z->g, HLO_TANH, zoo_conv(z, "conv_2", x, 16, 5, 1, true, NN_VALID));
    x = flatten(z, nn_average_pool(z->g, x, &halves));
    x = graph_unary(z->g, HLO_TANH, zoo_dense(z, "dense_1", x, 120));
    x = graph_unary(z->g, HLO_TANH, zoo_dense(z, "dense_2", x, 84));
    classify(z, zoo_dense(z, "dense_3", x, 10));
}

void zoo_cnn(struct zoo *z)
{
    int x = images(z, 28, 1);

    x = nn_relu(z->g, zoo_conv(z, "conv_1", x, 32, 3, 1, true, NN_VALID));
    x = nn_relu(z->g, zoo_conv(z, "conv_2", x, 64, 3, 1, true, NN_VALID));
    x = flatten(z, max_pool(z, x, 2, 2, NN_VALID));
    x = nn_relu(z->g, zoo_dense(z, "dense_1", x, 128));
    classify(z, zoo_dense(z, "dense_2", x, 10));
}

/* ---- ResNets; of ResNet-50 v1.5, the stride in the 3x3 convolution ---- */

struct resnet {
    int blocks[4];                      /* by stage */
    int (*block)(struct zoo *z, int x, int64_t width, int64_t stride, bool is_first);
};

static int normed(struct zoo *z, const char *name, int x, int64_t width, int64_t size,
                  int64_t stride)
{
    zoo_enter(z, name);
    x = zoo_conv(z, "conv", x, width, size, stride, false, NN_SAME);
    x = zoo_batch_norm(z, "norm", x);
    zoo_leave(z);
    return x;
}

static int basic_block(struct zoo *z, int x, int64_t width, int64_t stride, bool is_first)
{
    int shortcut = is_first && stride > 1 ? normed(z, "shortcut", x, width, 1, stride) : x;

    x = nn_relu(z->g, normed(z, "first", x, width, 3, stride));
    x = normed(z, "second", x, width, 3, 1);
    return nn_relu(z->g, nn_add(z->g, x, shortcut));
}

static int bottleneck(struct zoo *z, int x, int64_t width, int64_t stride, bool is_first)
{
    int shortcut = is_first ? normed(z, "shortcut", x, 4 * width, 1, stride) : x;

    x = nn_relu(z->g, normed(z, "reduce", x, width, 1, 1));
    x = nn_relu(z->g, normed(z, "middle", x, width, 3, stride));
    x = normed(z, "expand", x, 4 * width, 1, 1);
    return nn_relu(z->g, nn_add(z->g, x, shortcut));
}

static int stage(struct zoo *z, int x, int number, const struct resnet *r)
{
    char name[32];

    snprintf(name, sizeof(name), "stage_%d", number + 1);
    zoo_enter(z, name);
    for (int i = 0; i < r->blocks[number]; i++) {
        snprintf(name, sizeof(name), "block_%d", i + 1);
        zoo_enter(z, name);
        x = r->block(z, x, 64 << number, i == 0 && number > 0 ? 2 : 1, i == 0);
        zoo_leave(z);
    }
    zoo_leave(z);
    return x;
}

static void resnet(struct zoo *z, const struct resnet *r)
{
    enum graph_dtype dtype = z->o->dtype;
    int x = images(z, 224, 3);

    zoo_enter(z, "stem");
    x = zoo_conv(z, "conv", x, 64, 7, 2, false, NN_EXPLICIT);
    x = nn_relu(z->g, zoo_batch_norm(z, "norm", x));
    x = max_pool(z, x, 3, 2, NN_SAME);
    zoo_leave(z);
    for (int i = 0; i < 4; i++)
        x = stage(z, x, i, r);
    x = graph_convert(z->g, nn_mean(z->g, x, 6), dtype);
    classify(z, zoo_dense(z, "classes", x, 1000));
}

void zoo_resnet18(struct zoo *z)
{
    resnet(z, &(struct resnet){.blocks = {2, 2, 2, 2}, .block = basic_block});
}

void zoo_resnet50(struct zoo *z)
{
    resnet(z, &(struct resnet){.blocks = {3, 4, 6, 3}, .block = bottleneck});
}
