/*
 * The loop of TensorFlow's guide "Custom training with tf.distribute.Strategy": a CNN on MNIST.
 * build/examples/tpu_guide/9_custom_training MNIST_FOLDER CHECKPOINTS [TPU [EPOCHS [IMAGES]]]
 */
#include "examples/tpu_guide/custom.h"

static const char *const cnn[] = {
    "Reshape((28, 28, 1), input_shape=(28, 28))", "Conv2D(32, 3, activation='relu')",
    "MaxPooling2D()", "Conv2D(64, 3, activation='relu')", "MaxPooling2D()", "Flatten()",
    "Dense(64, activation='relu')", "Dense(10)", NULL};
static sy_model *model;
static sy_optimizer *adam;
static sy_metric *loss[2], *right[2];           /* of the test, of training */

static sy_tensor losses(sy_context *c, const sy_tensor *in, bool training)
{
    sy_tensor guess = sy_model_forward(c, model, in[0], training), each;

    each = sy_loss(c, "SparseCategoricalCrossentropy(from_logits=True)", in[1], guess);
    sy_metric_update(c, loss[training], NULL, each, NULL);
    sy_metric_update(c, right[training], &in[1], guess, NULL);
    return each;
}

static sy_status train(sy_context *c, const sy_tensor *in, int n, sy_tensor *out, int m, void *u)
{
    out[0] = sy_average_loss(c, losses(c, in, true), *(int64_t *)u);    /* of the global batch */
    return n == 2 && m == 1 ? sy_optimizer_minimize(c, adam, out[0]) : SY_ERROR;
}

static sy_status test(sy_context *c, const sy_tensor *in, int n, sy_tensor *out, int m, void *u)
{
    out[0] = sy_average_loss(c, losses(c, in, false), *(int64_t *)u);
    return n == 2 && m == 1 ? sy_context_status(c) : SY_ERROR;
}

int main(int argc, char **argv)
{
    struct custom g;                    /* strategy, batches, checkpoints, as the arguments say */

    open_custom(&g, argc, argv);
    model = make_model(g.strategy, cnn);
    adam = make_optimizer(g.strategy, "adam", model);
    must(sy_metric_create(g.strategy, "Mean(name='test_loss')", &loss[0]));
    must(sy_metric_create(g.strategy, "Mean(name='train_loss')", &loss[1]));
    must(sy_metric_create(g.strategy, "SparseCategoricalAccuracy(name='test')", &right[0]));
    must(sy_metric_create(g.strategy, "SparseCategoricalAccuracy(name='train')", &right[1]));
    must(sy_checkpoint_restore(g.strategy, &g.at));
    for (; g.at.epoch < g.epochs; next_epoch(&g)) {
        while (run_batch(&g, g.train, train))
            if (++g.at.step % 5 == 0)
                must(sy_checkpoint_save(g.strategy, &g.at));
        while (run_batch(&g, g.test, test))
            ;
        print_epoch(&g, loss, right);
    }
    sy_model_free(model);
    return close_custom(&g);
}
