/* What 9_custom_training is made of besides its loop: arguments, batches, a launch, a line. */
#ifndef EXAMPLES_CUSTOM_H
#define EXAMPLES_CUSTOM_H
#include "examples/tpu_guide/common.h"

struct custom {
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_distributed *train, *test;
    sy_checkpoint at;                   /* steps and epochs done, and where they are kept */
    int64_t epochs, batch;
};

/* [batch, 28, 28], 0..1, and labels [batch] */
static inline sy_distributed *batches(const struct custom *g, const char *folder, const char *which,
                                      int64_t images)
{
    char path[2][512];
    const char *const both[2] = {path[0], path[1]};
    sy_distributed *d;
    sy_dataset *x;

    snprintf(path[0], sizeof(path[0]), "%s/%s-images-idx3-ubyte.gz", folder, which);
    snprintf(path[1], sizeof(path[1]), "%s/%s-labels-idx1-ubyte.gz", folder, which);
    must(sy_dataset_from_idx(both, 2, &x));
    must(sy_dataset_take(x, images));
    if (which[1] == 'r')                /* "train" */
        must(sy_dataset_shuffle(x, images, 1, true));
    must(sy_dataset_to_f32(x, 0, 255));
    must(sy_dataset_to_s32(x, 1));
    must(sy_dataset_batch(x, g->batch, true));
    must(sy_strategy_distribute(g->strategy, x, &d));
    sy_dataset_free(x);
    return d;
}

static inline void open_custom(struct custom *g, int argc, char **argv)
{
    int64_t images = argc > 5 ? atoll(argv[5]) : 60000;

    if (argc < 3) {
        fprintf(stderr, "usage: %s MNIST_FOLDER CHECKPOINTS [TPU [EPOCHS [IMAGES]]]\n", argv[0]);
        exit(1);
    }
    *g = (struct custom){.at = {.folder = argv[2], .keep = 3},
                         .epochs = argc > 4 ? atoll(argv[4]) : 5};
    g->cluster = open_tpu(argc - 2, argv + 2);
    must(sy_strategy_create(g->cluster, NULL, NULL, &g->strategy));
    g->batch = 64 * sy_strategy_replicas(g->strategy);
    g->train = g->at.data = batches(g, argv[1], "train", images);
    g->test = batches(g, argv[1], "t10k", images);
}

static inline sy_model *make_model(sy_strategy *s, const char *const *layer)
{
    sy_model *m;

    must(sy_model_create(s, "cnn", &m));
    while (*layer)
        must(sy_model_add(m, *layer++));
    must(sy_model_build(m, NULL, NULL));
    return m;
}

static inline sy_optimizer *make_optimizer(sy_strategy *s, const char *text, const sy_model *m)
{
    sy_variable *weight[16];
    sy_optimizer *o;

    must(sy_optimizer_create(s, text, NULL, weight, sy_model_variables(m, true, weight, 16), &o));
    return o;
}

/* false: the pass over the data is done */
static inline bool run_batch(struct custom *g, sy_distributed *data, sy_step step)
{
    sy_value *in[2], *out;
    sy_status status = sy_distributed_next(data, in, 2);

    must(status);
    if (status == SY_END)
        return false;
    must(sy_strategy_run(g->strategy, "step", step, &g->batch, in, 2, &out, 1));
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    sy_value_free(out);
    return true;
}

/* since the last line */
static inline double result(sy_metric *m)
{
    double value;

    must(sy_metric_result(m, &value));
    must(sy_metric_reset(m));
    return value;
}

static inline void print_epoch(const struct custom *g, sy_metric *const *loss,
                               sy_metric *const *right)
{
    double train_loss = result(loss[1]), train_right = result(right[1]);
    double test_loss = result(loss[0]), test_right = result(right[0]);

    printf("epoch %lld  loss %.4f  accuracy %.4f  test loss %.4f  accuracy %.4f\n",
           (long long)g->at.epoch + 1, train_loss, train_right, test_loss, test_right);
    fflush(stdout);
}

static inline void next_epoch(struct custom *g)
{
    must(sy_distributed_start(g->train, ++g->at.epoch));
    must(sy_distributed_start(g->test, 0));
}

static inline int close_custom(struct custom *g)
{
    sy_distributed_free(g->train);
    sy_distributed_free(g->test);
    sy_strategy_free(g->strategy);
    sy_cluster_free(g->cluster);
    return 0;
}
#endif
