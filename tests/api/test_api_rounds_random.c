/*
 * Random models, optimizers, chips and ways: do several steps per execution leave the same bits as
 * single ones, in every variable of a checkpoint?
 *
 * test_api_rounds_random [first seed [models]] runs more.
 */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/api_rig.h"

#define SAMPLES 160
#define SIDE 12
#define CLASSES 10
#define EPOCH_STEPS 5

static uint64_t first_seed = 1;
static int model_count = 4;

static float images[SAMPLES][SIDE * SIDE];
static int32_t labels[SAMPLES];

static bool one_in(struct rng *r, uint32_t count) { return rng_below(r, count) == 0; }

#define PICK(rng, list) list[rng_below(rng, COUNT_OF(list))]

static void make_samples(void)
{
    struct rng r;

    rng_init(&r, 9);
    for (int i = 0; i < SAMPLES; i++) {
        labels[i] = (int32_t)rng_below(&r, CLASSES);
        for (int k = 0; k < SIDE * SIDE; k++)
            images[i][k] = rng_uniform(&r, -1, 1) + (k % CLASSES == labels[i] ? 1 : 0);
    }
}

struct trial {
    struct rng r;
    sy_compile compile;
    const char *tpu;
    int stages, devices;
    char text[200];                     /* of the way, for messages */
};

static void add_layers(struct trial *t, sy_model *m)
{
    static const char *const images_of[] = {
        "Conv2D(8, 3, activation='relu')", "BatchNormalization()",
        "MaxPooling2D(2, padding='same')",
        "SpatialDropout2D(0.2)", "Conv2D(16, 3, padding='same', use_bias=False)",
        "Activation('gelu')"};
    static const char *const wide[] = {"Dense(256, activation='relu')",
                                       "Dense(640, activation='tanh', kernel_regularizer='l2')",
                                       "Dense(96)", "Dense(1024, use_bias=False)"};

    api_must(sy_model_add(m, "Reshape((12, 12, 1), input_shape=(144,))"));
    for (uint32_t i = rng_below(&t->r, 4); i > 0; i--)
        api_must(sy_model_add(m, PICK(&t->r, images_of)));
    api_must(sy_model_add(m, "Flatten()"));
    for (uint32_t i = rng_below(&t->r, 3); i > 0; i--) {
        api_must(sy_model_add(m, PICK(&t->r, wide)));
        if (one_in(&t->r, 2))
            api_must(sy_model_add(m, "Dropout(0.25)"));
    }
    api_must(sy_model_add(m, "Dense(64, activation='relu', name='hidden')"));
    api_must(sy_model_add(m, "Dense(10, name='logits')"));
}

static void draw_way(struct trial *t)
{
    static const char *const slices[] = {"v2-8", "v2-8", "v3-8", "v3-8", "v4-8", "v5e-8", "v6e-4"};
    static const char *const optimizers[] = {"Adam(0.01)", "SGD(0.1)", "SGD(0.05, momentum=0.9)",
                                             "RMSprop(1e-3)", "AdamW(1e-3, clipnorm=1.0)",
                                             "SGD(0.1, global_clipnorm=0.5)", "LAMB(1e-3)",
                                             "Adagrad(CosineDecay(0.01, 6))"};
    static const char *const metrics[] = {"accuracy", NULL};
    sy_compile *o = &t->compile;

    *o = (sy_compile){.metrics = metrics, .batch = SAMPLES / EPOCH_STEPS,
                      .loss = "SparseCategoricalCrossentropy(from_logits=True)"};
    t->tpu = PICK(&t->r, slices);
    o->optimizer = PICK(&t->r, optimizers);
    o->policy = one_in(&t->r, 3) ? "mixed_bfloat16" : NULL;
    o->precision = one_in(&t->r, 4) ? "highest" : NULL;
    o->micro_batches = one_in(&t->r, 4) ? 2 : 0;
    t->devices = one_in(&t->r, 6) ? 2 : 1;
    t->stages = t->devices == 1 && one_in(&t->r, 8) ? 2 : 0;
    if (t->devices > 1)
        o->layouts = "hidden/kernel=-,model; hidden/bias=model; logits/kernel=model";
    o->shard_optimizer_state = t->devices == 1 && !t->stages && one_in(&t->r, 3);
    snprintf(t->text, sizeof(t->text), "%s, %s, %s%s, %d micro batches, %d stages, %d devices%s",
             t->tpu, o->optimizer, o->policy ? o->policy : "float32",
             o->precision ? ", highest" : "", o->micro_batches, t->stages, t->devices,
             o->shard_optimizer_state ? ", state in parts" : "");
}

/* the whole checkpoint of a training with so many steps per execution; for the caller to free */
static char *train(uint64_t seed, int steps, size_t *bytes, char *text, size_t text_bytes)
{
    char folder[] = "/tmp/systole_rounds_XXXXXX", path[96];
    const void *input[] = {images};
    sy_samples all = {.count = SAMPLES, .input = input, .label = labels};
    sy_strategy_options options = {0};
    struct trial t = {.devices = 1};
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;
    char *all_bytes;
    FILE *f;

    rng_init(&t.r, seed);
    draw_way(&t);
    t.compile.steps_per_execution = steps;
    snprintf(text, text_bytes, "%s", t.text);
    options = (sy_strategy_options){.pipeline_stages = t.stages, .check_replicas = true,
                                    .axis = &(sy_axis){"model", t.devices},
                                    .axis_count = t.devices > 1};
    api_must(sy_cluster_resolve(t.tpu, &(sy_cluster_options){.mode = "functional"}, &cluster));
    api_must(sy_cluster_initialize(cluster));
    api_must(sy_strategy_create(cluster, NULL, &options, &strategy));
    api_must(sy_model_create(strategy, "drawn", &model));
    add_layers(&t, model);
    if (sy_model_compile(model, &t.compile) != SY_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, t.text, sy_message());
    if (sy_model_fit(model, &all, &(sy_fit){.epochs = 2, .quiet = true}) != SY_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, t.text, sy_message());
    assert_non_null(mkdtemp(folder));
    api_must(sy_model_save(model, folder, 2, 0));
    snprintf(path, sizeof(path), "%s/ckpt-%08d.safetensors", folder, 2 * EPOCH_STEPS);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(f);
    rewind(f);
    all_bytes = malloc(*bytes);
    assert_int_equal(fread(all_bytes, 1, *bytes, f), *bytes);
    fclose(f);
    unlink(path);
    rmdir(folder);
    sy_model_free(model);
    sy_strategy_free(strategy);
    sy_cluster_free(cluster);
    return all_bytes;
}

TEST(rounds_of_a_launch_have_the_bits_of_single_steps)
{
    make_samples();
    for (int i = 0; i < model_count; i++) {
        uint64_t seed = first_seed + (uint64_t)i;
        int steps = 2 + (int)(seed % 4);
        size_t bytes[2], differ = 0;
        char text[200], *one = train(seed, 1, &bytes[0], text, sizeof(text));
        char *more = train(seed, steps, &bytes[1], text, sizeof(text));

        assert_int_equal(bytes[0], bytes[1]);
        for (size_t k = 0; k < bytes[0]; k++)
            differ += one[k] != more[k];
        if (differ)
            fail_msg("seed %llu, %d steps, %s: %zu of %zu bytes differ", (unsigned long long)seed,
                     steps, text, differ, bytes[0]);
        free(one);
        free(more);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_of_a_launch_have_the_bits_of_single_steps),
    };

    if (getenv("SYSTOLE_LONG"))
        model_count = 200;
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        model_count = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
