/*
 * A training loop of one's own: a step written with tensors, one launch for each batch.
 *
 *     build/examples/5_custom_loop MNIST_FOLDER [TPU]
 *
 * 6_steps_per_call.c is the same step, ten times in a launch.
 */
#include "examples/tpu_guide/linear.h"

#define BATCH 200

int main(int argc, char **argv)
{
    struct linear l;
    sy_cluster *cluster;
    sy_strategy *strategy;
    struct mnist train;

    if (argc < 2) {
        fprintf(stderr, "usage: %s MNIST_FOLDER [TPU]\n", argv[0]);
        return 1;
    }
    read_mnist(&train, argv[1], "train", 6000);
    cluster = open_tpu(argc - 1, argv + 1);
    must(sy_strategy_create(cluster, NULL, NULL, &strategy));
    make_linear(&l, strategy);
    for (int64_t first = 0; first + BATCH <= train.count; first += BATCH) {
        sy_value *in[2], *out;
        sy_array *loss;

        must(sy_value_split(strategy, SY_F32, sy_dims(BATCH, 784), train.image + first * 784,
                            &in[0]));
        must(sy_value_split(strategy, SY_S32, sy_dims(BATCH), train.label + first, &in[1]));
        must(sy_strategy_run(strategy, "train", linear_step, &l, in, 2, &out, 1));
        must(sy_strategy_reduce(strategy, SY_MEAN, out, SY_NO_AXIS, &loss));
        if (first / BATCH % 5 == 0)
            printf("step %3lld  loss %.4f  %lld cycles\n", (long long)(first / BATCH),
                   (double)*(float *)sy_array_data(loss),
                   (long long)sy_strategy_cycles(strategy));
        sy_array_free(loss);
        sy_value_free(out);
        sy_value_free(in[0]);
        sy_value_free(in[1]);
    }
    print_accuracy(&l);
    sy_strategy_free(strategy);
    sy_cluster_free(cluster);
    free_mnist(&train);
    return 0;
}
