/*
 * Computes a product on one core, as with tf.device('TPU:0').
 *
 *     build/examples/1_matmul_one_core [TPU]
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
    sy_strategy *core;
    sy_value *in[2], *c;

    must(sy_strategy_on_device(cluster, "TPU:0", &core));
    must(sy_value_copies(core, SY_F32, sy_dims(2, 3), a, &in[0]));
    must(sy_value_copies(core, SY_F32, sy_dims(3, 2), b, &in[1]));
    must(sy_strategy_run(core, "matmul", matmul, NULL, in, 2, &c, 1));
    for (int i = 0; i < 2; i++)
        printf("%6.1f %6.1f\n", ((float *)sy_value_data(c, 0))[2 * i],
               ((float *)sy_value_data(c, 0))[2 * i + 1]);
    printf("%lld cycles on one core\n", (long long)sy_strategy_cycles(core));
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    sy_value_free(c);
    sy_strategy_free(core);
    sy_cluster_free(cluster);
    return 0;
}
