/*
 * Random models of images and of sequences, trained in random ways over the cores of a slice: do
 * they learn, test and predict as on the CPU strategy, which has one replica and no machine?
 *
 * test_api_random [first seed [models]] runs more.
 */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "include/systole.h"
#include "tests/rigs/api_rig.h"

#define SAMPLES 64
#define SIDE 8                          /* of images, with CHANNELS */
#define CHANNELS 2
#define IMAGE (SIDE * SIDE * CHANNELS)
#define STEPS 12                        /* of sequences, of WORDS words */
#define WORDS 20
#define CLASSES 4
/* f32 sums of up to IMAGE * 4 terms in another order, 2^-24 each */
#define BOUND 3.1e-5

static uint64_t first_seed = 1;
static int model_count = 8;

struct trial {
    uint64_t seed;
    struct rng model, way;              /* the same model in another way */
    const char *tpu;                    /* "cpu": the whole model on one device */
    int stages, devices;
    bool is_image, is_sparse;
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *m;
    float loss, guess[SAMPLES * CLASSES];
};

static float images[SAMPLES][IMAGE], one_hot[SAMPLES][CLASSES];
static int32_t words[SAMPLES][STEPS], labels[SAMPLES];

static void make_samples(void)
{
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < IMAGE; k++)
            images[i][k] = rng_uniform(&r, -1, 1);
        for (int k = 0; k < STEPS; k++)
            words[i][k] = (int32_t)rng_below(&r, WORDS);
        labels[i] = words[i][0] % CLASSES;
        one_hot[i][labels[i]] = 1;
    }
}

static bool one_in(struct rng *r, uint32_t count) { return rng_below(r, count) == 0; }

#define PICK(rng, list) list[rng_below(rng, COUNT_OF(list))]

static void must(const struct trial *t, sy_status s)
{
    if (s != SY_OK)
        fail_msg("seed %llu on %s, %d stages, %d devices: %s", (unsigned long long)t->seed, t->tpu,
                 t->stages, t->devices, sy_message());
}

/* ----- the model */

static sy_call call(struct trial *t, const char *layer, sy_call a)
{
    sy_call out;

    must(t, sy_model_call(t->m, layer, &a, 1, &out));
    return out;
}

static sy_call join(struct trial *t, const char *layer, sy_call a, sy_call b)
{
    sy_call out;

    must(t, sy_model_call(t->m, layer, (sy_call[]){a, b}, 2, &out));
    return out;
}

static sy_call add_image_layers(struct trial *t, sy_call x)
{
    static const char *const layers[] = {
        "Conv2D(8, 3, activation='tanh', padding='same')", "DepthwiseConv2D(3, padding='same')",
        "AveragePooling2D(2, padding='same')", "MaxPooling2D(2, strides=1, padding='same')",
        "Conv2D(6, 3, padding='same', kernel_regularizer='l2')", "LayerNormalization()",
        "Activation('gelu')"};
    static const char *const ends[] = {"Flatten()", "GlobalAveragePooling2D()",
                                       "GlobalMaxPooling2D()"};

    for (uint32_t i = rng_below(&t->model, 4); i > 0; i--)
        x = call(t, PICK(&t->model, layers), x);
    if (one_in(&t->model, 3))
        x = join(t, one_in(&t->model, 2) ? "Add()" : "Concatenate()", call(t, "Dense(5)", x),
                 call(t, "Dense(5, use_bias=False)", x));
    return call(t, PICK(&t->model, ends), x);
}

static sy_call add_sequence_layers(struct trial *t, sy_call x)
{
    static const char *const attention[] = {"MultiHeadAttention(num_heads=2, key_dim=8)",
                                            "MultiHeadAttention(num_heads=4, key_dim=4)"};
    static const char *const ends[] = {"Flatten()", "GlobalAveragePooling1D()",
                                       "GlobalMaxPooling1D()"};

    x = call(t, "Embedding(20, 16, name='table')", x);
    for (uint32_t i = rng_below(&t->model, 3); i > 0; i--) {
        sy_call y = call(t, "LayerNormalization()", x);

        x = join(t, "Add()", x, join(t, PICK(&t->model, attention), y, y));
        x = join(t, "Add()", x, call(t, "Dense(16)", call(t, "Dense(32, activation='gelu')", x)));
    }
    return call(t, PICK(&t->model, ends), x);
}

static void build(struct trial *t)
{
    sy_call x;

    must(t, sy_model_create(t->strategy, "random", &t->m));
    t->is_image = one_in(&t->model, 2);
    must(t, sy_model_input(t->m, "x", t->is_image ? SY_F32 : SY_S32,
                           t->is_image ? sy_dims(SIDE, SIDE, CHANNELS) : sy_dims(STEPS), &x));
    x = t->is_image ? add_image_layers(t, x) : add_sequence_layers(t, x);
    x = call(t, "Dense(16, activation='tanh', name='hidden')", x);
    must(t, sy_model_output(t->m, call(t, "Dense(4, name='logits')", x)));
}

/* ----- how it is trained */

static void choose_training(struct trial *t, sy_compile *o)
{
    static const char *const optimizers[] = {
        "SGD(0.05, momentum=0.9, nesterov=True)", "SGD(PiecewiseConstantDecay([2, 5], "
        "[0.1, 0.05, 0.01]))", "Adam(CosineDecay(0.01, 6), epsilon=1e-4)",
        "AdamW(1e-3, epsilon=1e-4)", "LAMB(1e-3, epsilon=1e-4)", "Adagrad(0.01)",
        "SGD(0.1, clipnorm=1.0)", "SGD(0.2, global_clipnorm=0.5, momentum=0.5)", "SGD(0.05, use_ema=True, ema_overwrite_frequency=3)",
        "Nadam(ExponentialDecay(0.01, 3, 0.5), epsilon=1e-4)"};
    static const char *const losses[] = {
        "SparseCategoricalCrossentropy(from_logits=True)", "mse", "log_cosh",
        "CategoricalCrossentropy(from_logits=True)"};
    uint32_t loss = rng_below(&t->model, COUNT_OF(losses));

    t->is_sparse = loss == 0;
    *o = (sy_compile){.optimizer = PICK(&t->model, optimizers), .loss = losses[loss],
                      .precision = "highest", .batch = 16};
}

/* nothing of it changes what is computed */
static void choose_way(struct trial *t, sy_compile *o)
{
    static const char *const layouts[] = {"hidden/kernel=-,model; hidden/bias=model; "
                                          "logits/kernel=model",
                                          "logits/kernel=-,model; hidden/bias=model",
                                          "hidden/kernel=-,model; logits/kernel=-,model"};

    o->steps_per_execution = 1 + (int)rng_below(&t->way, 4);
    o->micro_batches = one_in(&t->way, 3) ? 2 : 0;
    o->shard_optimizer_state = one_in(&t->way, 3) && t->stages == 0;
    if (t->devices == 1)
        return;
    if (t->stages == 0 && one_in(&t->way, 2))
        o->layer_devices = "hidden=1,logits=0";
    else
        o->layouts = PICK(&t->way, layouts);
    o->shard_optimizer_state &= !o->layouts;
}

static void open_strategy(struct trial *t)
{
    sy_strategy_options o = {.check_replicas = true, .pipeline_stages = t->stages,
                             .axis = &(sy_axis){"model", t->devices},
                             .axis_count = t->devices > 1};

    must(t, sy_cluster_resolve(t->tpu, NULL, &t->cluster));
    must(t, sy_cluster_initialize(t->cluster));
    must(t, sy_strategy_create(t->cluster, NULL, &o, &t->strategy));
}

static void run(struct trial *t)
{
    const void *input[] = {NULL};
    sy_samples all = {.count = SAMPLES, .input = input}, odd = {.count = 37, .input = input};
    sy_result result;
    sy_array *guess;
    sy_compile o;

    open_strategy(t);
    build(t);
    choose_training(t, &o);
    if (strcmp(t->tpu, "cpu") != 0)
        choose_way(t, &o);
    must(t, sy_model_compile(t->m, &o));
    input[0] = t->is_image ? (const void *)images : (const void *)words;
    all.label = t->is_sparse ? (const void *)labels : (const void *)one_hot;
    must(t, sy_model_fit(t->m, &all, &(sy_fit){.epochs = 2, .quiet = true}));
    must(t, sy_model_evaluate(t->m, &all, &result));
    t->loss = (float)result.loss;
    must(t, sy_model_predict(t->m, &odd, &guess));
    memcpy(t->guess, sy_array_data(guess), 37 * CLASSES * sizeof(float));
    sy_array_free(guess);
    sy_model_free(t->m);
    sy_strategy_free(t->strategy);
    sy_cluster_free(t->cluster);
}

static void begin(struct trial *t, uint64_t seed, const char *tpu)
{
    *t = (struct trial){.seed = seed, .tpu = tpu, .devices = 1};
    rng_init(&t->model, seed);
    rng_init(&t->way, seed + 1000003);
}

static void check_model(uint64_t seed)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e-4", "v6e-4"};
    struct trial one, cut;
    double most = 1;

    begin(&one, seed, "cpu");
    run(&one);
    begin(&cut, seed, NULL);
    cut.tpu = PICK(&cut.way, slices);
    cut.stages = one_in(&cut.way, 3) ? 2 : 0;
    cut.devices = one_in(&cut.way, 3) ? 2 : 1;
    run(&cut);
    for (int i = 0; i < 37 * CLASSES; i++)
        most = fmax(most, fabs((double)one.guess[i]));
    if (!(fabs((double)one.loss - (double)cut.loss) <= BOUND * fmax(1, (double)one.loss)))
        fail_msg("seed %llu on %s, %d stages, %d devices: loss %.9g, on the CPU %.9g",
                 (unsigned long long)seed, cut.tpu, cut.stages, cut.devices, (double)cut.loss,
                 (double)one.loss);
    for (int i = 0; i < 37 * CLASSES; i++)
        if (!(fabs((double)one.guess[i] - (double)cut.guess[i]) <= 8 * BOUND * most))
            fail_msg("seed %llu on %s, %d stages, %d devices: guess %d is %.9g, on the CPU %.9g",
                     (unsigned long long)seed, cut.tpu, cut.stages, cut.devices, i,
                     (double)cut.guess[i], (double)one.guess[i]);
}

TEST(random_ways_over_cores_train_as_the_cpu)
{
    make_samples();
    for (int i = 0; i < model_count; i++)
        check_model(first_seed + (uint64_t)i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_ways_over_cores_train_as_the_cpu),
    };

    if (getenv("SYSTOLE_LONG"))
        model_count = 300;
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        model_count = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
