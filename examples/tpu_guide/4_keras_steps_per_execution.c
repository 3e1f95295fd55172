/*
 * The same with steps_per_execution: a launch runs ten steps, a loop on the device.
 *
 *     build/examples/4_keras_steps_per_execution MNIST_FOLDER [TPU]
 */
#include "examples/tpu_guide/common.h"

int main(int argc, char **argv)
{
    static const char *const metrics[] = {"sparse_categorical_accuracy", NULL};
    struct mnist train, test;
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;

    if (argc < 2) {
        fprintf(stderr, "usage: %s MNIST_FOLDER [TPU]\n", argv[0]);
        return 1;
    }
    read_mnist(&train, argv[1], "train", 4000);
    read_mnist(&test, argv[1], "t10k", 1000);
    cluster = open_tpu(argc - 1, argv + 1);
    must(sy_strategy_create(cluster, NULL, NULL, &strategy));
    must(sy_model_create(strategy, "mnist", &model));
    must(sy_model_add(model, "Conv2D(16, 3, activation='relu', input_shape=(28, 28, 1))"));
    must(sy_model_add(model, "Conv2D(16, 3, activation='relu')"));
    must(sy_model_add(model, "Flatten()"));
    must(sy_model_add(model, "Dense(64, activation='relu')"));
    must(sy_model_add(model, "Dense(10)"));
    must(sy_model_compile(model, &(sy_compile){
        .optimizer = "adam", .loss = "SparseCategoricalCrossentropy(from_logits=True)",
        .metrics = metrics, .batch = 200,
        .steps_per_execution = 10}));
    printf("%lld parameters\n", (long long)sy_model_parameters(model, true));
    must(sy_model_fit(model, &train.samples, &(sy_fit){.epochs = 2,
                                                       .validation = &test.samples}));
    sy_model_free(model);
    sy_strategy_free(strategy);
    sy_cluster_free(cluster);
    free_mnist(&train);
    free_mnist(&test);
    return 0;
}
