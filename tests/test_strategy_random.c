/*
 * Random dense models: do a few training steps on a simulated slice follow the
 * host reference interpreter, with all replicas the same?
 *
 * test_strategy_random [first seed [models]] runs more.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/dense.h"
#include "tests/test.h"

#include <math.h>

#define LAYERS_MAX 4
#define STEPS 4

static uint64_t first_seed = 1;
static int model_count = 12;

struct trial {
    uint64_t seed;
    struct rng rng;
    struct arena arena;
    struct model model;
    struct model_layer layer[LAYERS_MAX];
    struct dense_options options;
    const char *slice;
    double bound;                       /* on the relative difference of losses */
};

static int below(struct trial *t, int end)
{
    return (int)rng_below(&t->rng, (uint32_t)end);
}

static void make_model(struct trial *t)
{
    static const int64_t widths[] = {1, 2, 7, 8, 9, 10, 16, 100, 127, 128, 129, 200, 256, 300};
    static const char *const names[] = {"a", "b", "c", "d"};
    struct model *m = &t->model;

    m->name = "random";
    m->layer = t->layer;
    m->layer_count = 1 + below(t, LAYERS_MAX);
    m->input_elems = widths[below(t, (int)COUNT_OF(widths))];
    for (int i = 0; i < m->layer_count; i++) {
        struct model_layer *l = &t->layer[i];
        bool is_last = i == m->layer_count - 1;

        l->name = names[i];
        l->inputs = i ? l[-1].units : m->input_elems;
        l->units = is_last ? 2 + below(t, 12) : widths[below(t, (int)COUNT_OF(widths))];
        l->use_bias = below(t, 4) != 0;
        l->activation = is_last ? ACTIVATION_SOFTMAX
                                : (enum model_activation)below(t, ACTIVATION_SOFTMAX);
        m->parameter_elems += l->units * (l->inputs + l->use_bias);
    }
}

/*
 * f32 at highest precision differs from the host only in rounding; bf16
 * activations may round the other way, 2^-9 relative each.
 */
static void make_options(struct trial *t)
{
    static const struct { const char *name; int replicas; } slices[] = {
        {"v3-1", 1}, {"v3", 2}, {"v3-8", 8}, {"v2-8", 8}, {"tiny-16", 16}};
    struct model_options *o = &t->options.model_options;
    int slice = below(t, (int)COUNT_OF(slices));
    bool is_bf16 = below(t, 3) == 0;

    t->slice = slices[slice].name;
    t->options.model = &t->model;
    t->options.seed = t->seed;
    t->options.global_batch = (1 + below(t, 40)) * slices[slice].replicas;
    *o = (struct model_options){.policy = is_bf16 ? POLICY_MIXED_BFLOAT16 : POLICY_FLOAT32,
                                .precision = PRECISION_HIGHEST,
                                .optimizer = below(t, 2) ? OPTIMIZER_ADAM : OPTIMIZER_SGD,
                                .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7};
    o->learning_rate = o->optimizer == OPTIMIZER_ADAM ? 0.001 : 0.01;
    o->momentum = below(t, 2) ? 0.9 : 0;
    t->bound = is_bf16 ? 0.01 : 1e-4;
}

static void must(struct trial *t, int status, const struct err *e)
{
    if (status)
        fail_msg("seed %d: %s", (int)t->seed, e->msg);
}

static void make_batch(struct trial *t, float *x, int32_t *labels)
{
    int classes = (int)t->layer[t->model.layer_count - 1].units;

    for (int64_t i = 0; i < t->options.global_batch; i++) {
        labels[i] = below(t, classes);
        for (int64_t j = 0; j < t->model.input_elems; j++)
            x[i * t->model.input_elems + j] = rng_uniform(&t->rng, -1, 1);
    }
}

static void check_variables(struct trial *t, struct dense_strategy *s)
{
    const struct model_graph *mg = dense_train_graph(s);
    struct err e;

    for (int i = 0; i < mg->graph.parameter_count; i++) {
        int64_t elems = shape_elems(&mg->graph.node[mg->graph.parameter[i]].shape);
        float *data = arena_array(&t->arena, (size_t)elems, sizeof(*data));

        if (mg->parameter[i].role > ROLE_BETA_POWER)
            continue;
        must(t, dense_read_parameter(s, 0, i, data, &e), &e);
        for (int64_t j = 0; j < elems; j++)
            if (!isfinite(data[j]))
                fail_msg("seed %d: element %d of %s is %g", (int)t->seed, (int)j,
                         mg->parameter[i].name, (double)data[j]);
    }
}

static void train(struct trial *t, struct dense_strategy *host, struct dense_strategy *device)
{
    float *x = arena_array(&t->arena,
                           (size_t)(t->options.global_batch * t->model.input_elems), sizeof(*x));
    int32_t *labels = arena_array(&t->arena, (size_t)t->options.global_batch, sizeof(*labels));
    struct err e;

    for (int step = 0; step < STEPS; step++) {
        struct dense_result a, b;

        make_batch(t, x, labels);
        must(t, dense_train_step(host, x, labels, &a, &e), &e);
        must(t, dense_train_step(device, x, labels, &b, &e), &e);
        if (!(fabs(a.loss_sum - b.loss_sum) <= t->bound * fabs(a.loss_sum)))
            fail_msg("seed %d, step %d on %s: loss %.9g, on the host %.9g", (int)t->seed, step,
                     t->slice, b.loss_sum, a.loss_sum);
        must(t, dense_check_replicas(device, &e), &e);
    }
    check_variables(t, device);
}

static void check_model(uint64_t seed)
{
    struct machine_options machine_options = {.thread_count = 1, .simd = "auto"};
    struct trial t = {.seed = seed};
    struct dense_strategy *host, *device;
    struct machine *machine;
    struct slice slice;
    struct chip chip;
    struct err e;

    rng_init(&t.rng, seed);
    arena_init(&t.arena);
    make_model(&t);
    make_options(&t);
    must(&t, slice_parse(&slice, t.slice, &e), &e);
    must(&t, chip_load_builtin(&chip, slice.chip_name, NULL, &t.arena, &e), &e);
    must(&t, chip_set(&chip, "vmem.bytes=16777216", NULL, &t.arena, &e), &e);
    must(&t, chip_set(&chip, "sync.flags=1024", NULL, &t.arena, &e), &e);
    must(&t, chip_set(&chip, "hbm.gib=16", NULL, &t.arena, &e), &e);
    machine = machine_create(&slice, &chip, &machine_options, &e);
    must(&t, machine ? 0 : -1, &e);
    host = dense_create(&t.options, &t.arena, &e);
    must(&t, host ? 0 : -1, &e);
    t.options.machine = machine;
    device = dense_create(&t.options, &t.arena, &e);
    must(&t, device ? 0 : -1, &e);
    train(&t, host, device);
    dense_destroy(device);
    dense_destroy(host);
    machine_destroy(machine);
    arena_fini(&t.arena);
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
