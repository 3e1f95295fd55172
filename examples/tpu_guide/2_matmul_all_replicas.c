/*
 * Computes the same product on every replica, as strategy.run(matmul_fn, args=(a, b)) does.
 *
 *     build/examples/2_matmul_all_replicas [TPU]
 */
#include "examples/tpu_guide/common.h"

static sy_status matmul(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                        int outputs, void *user)
{
    (void)inputs, (void)outputs, (void)user;
    out[0] = sy_matmul(c, in[0], in[1], NULL);
    return SY_OK;
}

int main(int argc, char **argv)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 4, 5, 6};
    sy_cluster *cluster = open_tpu(argc, argv);
    sy_strategy *strategy;
    sy_value *in[2], *c;
    sy_array *sum;

    must(sy_strategy_create(cluster, NULL, NULL, &strategy));
    printf("%d replicas\n", sy_strategy_replicas(strategy));
    must(sy_value_copies(strategy, SY_F32, sy_dims(2, 3), a, &in[0]));
    must(sy_value_copies(strategy, SY_F32, sy_dims(3, 2), b, &in[1]));
    must(sy_strategy_run(strategy, "matmul", matmul, NULL, in, 2, &c, 1));
    for (int r = 0; r < sy_strategy_replicas(strategy); r++) {
        const float *x = sy_value_data(c, r);

        printf("replica %d: [[%.1f, %.1f], [%.1f, %.1f]]\n", r, (double)x[0], (double)x[1],
               (double)x[2], (double)x[3]);
    }
    must(sy_strategy_reduce(strategy, SY_SUM, c, SY_NO_AXIS, &sum));
    printf("sum of the first elements: %.1f\n", (double)*(float *)sy_array_data(sum));
    sy_array_free(sum);
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    sy_value_free(c);
    sy_strategy_free(strategy);
    sy_cluster_free(cluster);
    return 0;
}
