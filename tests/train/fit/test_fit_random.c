/*
 * Random dense models: do a few training steps on a simulated slice follow the
 * host reference interpreter, with all replicas the same?
 *
 * test_fit_random [first seed [models]] runs more.
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/mlp.h"
#include "tests/test.h"

#include <math.h>

#define LAYERS_MAX 4
#define STEPS 4

static uint64_t first_seed = 1;
static int model_count = 12;

struct trial {
    uint64_t seed;
    struct rng rng;
    int64_t inputs, units[LAYERS_MAX], batch;
    bool use_bias[LAYERS_MAX], is_bf16, is_adam, has_momentum;
    enum activation_kind activation[LAYERS_MAX];
    int layer_count;
    const char *slice;
    double bound;                       /* on the relative difference of losses */
};

static int below(struct trial *t, int end)
{
    return (int)rng_below(&t->rng, (uint32_t)end);
}

static void choose_layers(struct trial *t)
{
    static const int64_t widths[] = {1, 2, 7, 8, 9, 10, 16, 100, 127, 128, 129, 200, 256, 300};
    static const enum activation_kind kinds[] = {ACTIVATION_LINEAR, ACTIVATION_RELU,
                                                 ACTIVATION_TANH, ACTIVATION_SIGMOID,
                                                 ACTIVATION_SILU};

    t->layer_count = 1 + below(t, LAYERS_MAX);
    t->inputs = widths[below(t, (int)COUNT_OF(widths))];
    for (int i = 0; i < t->layer_count; i++) {
        bool is_last = i == t->layer_count - 1;

        t->units[i] = is_last ? 2 + below(t, 12) : widths[below(t, (int)COUNT_OF(widths))];
        t->use_bias[i] = below(t, 4) != 0;
        t->activation[i] = is_last ? ACTIVATION_SOFTMAX : kinds[below(t, (int)COUNT_OF(kinds))];
    }
}

/*
 * f32 at highest precision differs from the host only in rounding; bf16
 * activations may round the other way, 2^-9 relative each.
 */
static void choose_training(struct trial *t)
{
    static const struct { const char *name; int replicas; } slices[] = {
        {"v3-1", 1}, {"v3", 2}, {"v3-8", 8}, {"v2-8", 8}, {"tiny-16", 16}, {"v4-8", 8}};
    int slice = below(t, (int)COUNT_OF(slices));

    t->is_bf16 = below(t, 3) == 0;
    t->slice = slices[slice].name;
    t->batch = (1 + below(t, 40)) * slices[slice].replicas;
    t->is_adam = below(t, 2);
    t->has_momentum = below(t, 2);
    t->bound = t->is_bf16 ? 0.01 : 1e-4;
}

static void open_mlp(struct trial *t, struct mlp *m, struct machine *machine)
{
    mlp_init(m, machine, t->inputs, t->batch);
    for (int i = 0; i < t->layer_count; i++) {
        struct layer *l = model_layer(&m->model, LAYER_DENSE, NULL);

        l->c.units = t->units[i];
        l->c.use_bias = t->use_bias[i];
        l->c.activation = activation_standard(t->activation[i]);
        if (model_add(&m->model, l, &m->err) < 0)
            fail_msg("seed %d: %s", (int)t->seed, m->err.msg);
    }
    m->model.policy = t->is_bf16 ? KERAS_MIXED_BFLOAT16 : KERAS_FLOAT32;
    m->model.precision = PRECISION_HIGHEST;
    m->options.strategy.seed = t->seed;
    optimizer_init(&m->optimizer, t->is_adam ? RULE_ADAM : RULE_SGD);
    if (!t->is_adam && t->has_momentum)
        optimizer_set(&m->optimizer, "momentum", 0.9, &m->err);
    if (mlp_start(m))
        fail_msg("seed %d on %s: %s", (int)t->seed, t->slice, m->err.msg);
}

static void must(struct trial *t, int status, const struct err *e)
{
    if (status)
        fail_msg("seed %d: %s", (int)t->seed, e->msg);
}

static void make_batch(struct trial *t, float *x, int32_t *labels)
{
    for (int64_t i = 0; i < t->batch; i++) {
        labels[i] = below(t, (int)t->units[t->layer_count - 1]);
        for (int64_t j = 0; j < t->inputs; j++)
            x[i * t->inputs + j] = rng_uniform(&t->rng, -1, 1);
    }
}

static void check_variables(struct trial *t, struct mlp *m)
{
    for (int v = 0; v < m->set.count; v++) {
        int64_t elems = shape_elems(&m->set.variable[v].shape);
        float *data = arena_array(&m->arena, (size_t)elems, sizeof(*data));

        if (m->set.variable[v].shape.dtype != DTYPE_F32)
            continue;
        must(t, strategy_read(fit_strategy(m->fit), v, data, &m->err), &m->err);
        for (int64_t j = 0; j < elems; j++)
            if (!isfinite(data[j]))
                fail_msg("seed %d: element %d of %s is %g", (int)t->seed, (int)j,
                         m->set.variable[v].name, (double)data[j]);
    }
}

static void train(struct trial *t, struct mlp *host, struct mlp *device)
{
    float *x = arena_array(&host->arena, (size_t)(t->batch * t->inputs), sizeof(*x));
    int32_t *labels = arena_array(&host->arena, (size_t)t->batch, sizeof(*labels));

    for (int step = 0; step < STEPS; step++) {
        double a, b;

        make_batch(t, x, labels);
        must(t, mlp_step(host, x, labels, &a, NULL), &host->err);
        must(t, mlp_step(device, x, labels, &b, NULL), &device->err);
        if (!(fabs(a - b) <= t->bound * fabs(a)))
            fail_msg("seed %d, step %d on %s: loss %.9g, on the host %.9g", (int)t->seed, step,
                     t->slice, b, a);
        must(t, strategy_check_replicas(fit_strategy(device->fit), &device->err), &device->err);
    }
    check_variables(t, device);
}

static struct machine *make_machine(struct trial *t, struct arena *a)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto"};
    struct machine *machine;
    struct slice slice;
    struct chip chip;
    struct err e;

    must(t, slice_parse(&slice, t->slice, &e), &e);
    must(t, chip_load_builtin(&chip, slice.chip_name, NULL, a, &e), &e);
    must(t, chip_set(&chip, "vmem.bytes=16777216", NULL, a, &e), &e);
    must(t, chip_set(&chip, "sync.flags=1024", NULL, a, &e), &e);
    must(t, chip_set(&chip, "hbm.gib=16", NULL, a, &e), &e);
    machine = machine_create(&slice, &chip, &options, &e);
    must(t, machine ? 0 : -1, &e);
    return machine;
}

static void check_model(uint64_t seed)
{
    struct trial t = {.seed = seed};
    struct mlp host, device;
    struct machine *machine;
    struct arena a;

    rng_init(&t.rng, seed);
    arena_init(&a);
    choose_layers(&t);
    choose_training(&t);
    machine = make_machine(&t, &a);
    open_mlp(&t, &host, NULL);
    open_mlp(&t, &device, machine);
    train(&t, &host, &device);
    mlp_fini(&device);
    mlp_fini(&host);
    machine_destroy(machine);
    arena_fini(&a);
}

TEST(random_models_train_as_on_the_host)
{
    for (int i = 0; i < model_count; i++)
        check_model(first_seed + (uint64_t)i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_models_train_as_on_the_host),
    };

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        model_count = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
