/*
 * Several steps per call: a launch takes ten batches and loops on the device.
 *
 *     build/examples/6_steps_per_call MNIST_FOLDER [TPU]
 */
#include "examples/tpu_guide/linear.h"

#define BATCH 200
#define STEPS 10

/* [steps, samples of a replica, ...] for each replica from [steps, batch, ...] */
static sy_value *split_steps(sy_strategy *s, sy_dtype dtype, sy_shape shape, const void *from)
{
    int replicas = sy_strategy_replicas(s);
    size_t elems = 1, bytes;
    sy_value *v;

    shape.dim[1] /= replicas;
    for (int d = 1; d < shape.rank; d++)
        elems *= (size_t)shape.dim[d];
    bytes = elems * 4;
    must(sy_value_create(s, dtype, shape, &v));
    for (int64_t step = 0; step < shape.dim[0]; step++)
        for (int r = 0; r < replicas; r++)
            memcpy((char *)sy_value_data(v, r) + (size_t)step * bytes,
                   (const char *)from + ((size_t)step * (size_t)replicas + (size_t)r) * bytes,
                   bytes);
    return v;
}

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
    for (int64_t first = 0; first + STEPS * BATCH <= train.count; first += STEPS * BATCH) {
        sy_value *in[2], *out;

        in[0] = split_steps(strategy, SY_F32, sy_dims(STEPS, BATCH, 784),
                            train.image + first * 784);
        in[1] = split_steps(strategy, SY_S32, sy_dims(STEPS, BATCH), train.label + first);
        must(sy_strategy_run_steps(strategy, "train", linear_step, &l, STEPS, in, 2, &out, 1));
        printf("steps %3lld..%lld  losses of replica 0: %.4f .. %.4f  %lld cycles a step\n",
               (long long)(first / BATCH), (long long)(first / BATCH) + STEPS - 1,
               (double)((float *)sy_value_data(out, 0))[0],
               (double)((float *)sy_value_data(out, 0))[STEPS - 1],
               (long long)sy_strategy_cycles(strategy) / STEPS);
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
