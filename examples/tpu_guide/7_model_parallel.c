/*
 * Model parallel with two logical devices: each replica is the two cores of a chip, which share a
 * product whose matrix is cut by rows, so that each has a part of the sum.
 *
 *     build/examples/7_model_parallel [TPU]
 */
#include "examples/tpu_guide/common.h"

#define M 128
#define K 512
#define N 256

static sy_status product(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    bool cuts = *(bool *)user;
    sy_tensor a = cuts ? sy_split(c, in[0], (int[]){1, 2}) : in[0];
    sy_tensor b = cuts ? sy_split(c, in[1], (int[]){2, 1}) : in[1];

    (void)inputs, (void)outputs;
    out[0] = sy_matmul(c, a, b, NULL);
    return SY_OK;
}

int main(int argc, char **argv)
{
    sy_cluster *cluster = open_tpu(argc, argv);
    float *a = calloc(M * K, sizeof(*a)), *b = calloc(K * N, sizeof(*b));
    sy_assignment *assignment;
    sy_strategy *strategy;

    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5);
    must(sy_cluster_print_topology(cluster, stdout));
    must(sy_assignment_build(cluster, (int[]){1, 1, 1, 2}, NULL, 0, NULL, &assignment));
    must(sy_assignment_print(assignment, stdout));
    must(sy_strategy_create(cluster, assignment, NULL, &strategy));
    for (int i = 0; i < 2; i++) {
        static bool cuts[] = {false, true};
        sy_value *in[2], *c;

        must(sy_value_copies(strategy, SY_F32, sy_dims(M, K), a, &in[0]));
        must(sy_value_copies(strategy, SY_F32, sy_dims(K, N), b, &in[1]));
        must(sy_strategy_run(strategy, "product", product, &cuts[i], in, 2, &c, 1));
        printf("%s: element 0 is %.0f, %lld cycles\n",
               cuts[i] ? "each device half of the sum, added between them"
                       : "each device all of it",
               (double)*(float *)sy_value_data(c, 0), (long long)sy_strategy_cycles(strategy));
        sy_value_free(in[0]);
        sy_value_free(in[1]);
        sy_value_free(c);
    }
    free(a);
    free(b);
    sy_strategy_free(strategy);
    sy_assignment_free(assignment);
    sy_cluster_free(cluster);
    return 0;
}
