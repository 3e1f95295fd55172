/*
 * A training step of ResNet-50, built layer by layer, and what it costs on a slice of TPU v3.
 *
 *     build/examples/resnet50 [TPU] [IMAGES_A_CORE] [--summary|--costs]
 *
 * v3-8 and 128 images on each core are what MLPerf's submissions trained with (on v3-32). The step
 * runs in mode timing: cycles as with values, without working them out. It is data parallel: each
 * core takes its images, in bf16 as such trainings feed them, forward and back, then all sum the
 * gradients and update their variables.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/systole.h"

static void must(sy_status status)
{
    if (status == SY_ERROR) {
        fprintf(stderr, "resnet50: %s\n", sy_message());
        exit(1);
    }
}

static sy_call layer(sy_model *m, const char *text, sy_call x)
{
    sy_call out;

    must(sy_model_call(m, text, &x, 1, &out));
    return out;
}

/* a convolution without bias, normalised */
static sy_call convolution(sy_model *m, sy_call x, int features, int size, int stride)
{
    char text[128];

    snprintf(text, sizeof(text), "Conv2D(%d, %d, strides=%d, padding='same', use_bias=False)",
             features, size, stride);
    return layer(m, "BatchNormalization(momentum=0.9, epsilon=1e-5)", layer(m, text, x));
}

static sy_call relu(sy_model *m, sy_call x) { return layer(m, "ReLU()", x); }

/* 1x1, 3x3, 1x1; v1.5: the 3x3 one has the stride */
static sy_call bottleneck(sy_model *m, sy_call x, int width, int stride, int is_first)
{
    sy_call shortcut = is_first ? convolution(m, x, 4 * width, 1, stride) : x, both[2], sum;

    x = relu(m, convolution(m, x, width, 1, 1));
    x = relu(m, convolution(m, x, width, 3, stride));
    both[0] = convolution(m, x, 4 * width, 1, 1);
    both[1] = shortcut;
    must(sy_model_call(m, "Add()", both, 2, &sum));
    return relu(m, sum);
}

static void build(sy_model *m)
{
    static const int blocks[] = {3, 4, 6, 3};
    sy_call x;

    must(sy_model_input(m, "images", SY_BF16, sy_dims(224, 224, 3), &x));
    x = relu(m, convolution(m, x, 64, 7, 2));
    x = layer(m, "MaxPooling2D(3, strides=2, padding='same')", x);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++)
            x = bottleneck(m, x, 64 << stage, i == 0 && stage > 0 ? 2 : 1, i == 0);
    x = layer(m, "GlobalAveragePooling2D()", x);
    must(sy_model_output(m, layer(m, "Dense(1000)", x)));
}

static void print_costs(const sy_cluster *cluster, const sy_costs *c, int64_t images)
{
    int mesh[4];
    double chips;

    sy_cluster_mesh(cluster, mesh);
    chips = (double)c->cores / mesh[3];
    printf("a step of %" PRId64 " images: %" PRId64 " cycles = %.1f ms, of which communication "
           "that nothing hides %.2f %%\n", images, c->cycles, c->us * 1e-3,
           100.0 * (double)c->exposed_communication_cycles / (double)c->cycles);
    printf("%.0f TFLOP/s of the model's, %.2f GiB of HBM for variables and %.2f GiB for the step "
           "on each core\n", (double)c->flops / c->us * 1e-6,
           (double)c->variable_bytes * 0x1p-30, (double)c->launch_bytes * 0x1p-30);
    printf("%.0f images/s per chip\n", (double)images / (c->us * 1e-6) / chips);
    if (strncmp(sy_cluster_describe(cluster), "v3", 2) == 0 && images / c->cores == 128)
        printf("measured, v3-32, 128 images a core: 1,952 (MLPerf v0.6) and 2,036 (v0.7)\n");
}

int main(int argc, char **argv)
{
    const char *tpu = argc > 1 ? argv[1] : "v3-8";
    int each = argc > 2 ? atoi(argv[2]) : 128;
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;
    sy_costs costs;
    int64_t images;

    must(sy_cluster_resolve(tpu, &(sy_cluster_options){.mode = "timing", .one_chip = true},
                            &cluster));
    must(sy_cluster_initialize(cluster));
    must(sy_strategy_create(cluster, NULL, NULL, &strategy));
    must(sy_model_create(strategy, "resnet50", &model));
    build(model);
    images = (int64_t)each * sy_strategy_replicas(strategy);
    must(sy_model_compile(model, &(sy_compile){
        .optimizer = "SGD(0.1, momentum=0.9)", .batch = images, .policy = "mixed_bfloat16",
        .loss = "SparseCategoricalCrossentropy(from_logits=True)"}));
    printf("%s; %" PRId64 " parameters, %d images a core\n", sy_cluster_describe(cluster),
           sy_model_parameters(model, true), each);
    fflush(stdout);
    if (argc > 3 && strcmp(argv[3], "--summary") == 0)
        must(sy_model_summary(model, stdout));
    must(sy_model_time_step(model, &costs));
    print_costs(cluster, &costs, images);
    if (argc > 3 && strcmp(argv[3], "--costs") == 0)
        must(sy_strategy_print_costs(strategy, stdout));
    sy_model_free(model);
    sy_strategy_free(strategy);
    sy_cluster_free(cluster);
    return 0;
}
