#include "tests/rigs/trial.h"

#include "tests/rigs/train_rig.h"

#include <math.h>

#include "base/rng.h"

static struct machine *machine_of(const char *slice_name, bool checks_races, struct arena *a)
{
    struct machine_options o = {.thread_count = 1, .simd = "auto", .mode = MODE_BOTH,
                                .check_races = checks_races};
    struct slice slice;
    struct machine *m;
    struct chip chip;
    struct err e;

    if (strcmp(slice_name, "host") == 0)
        return NULL;
    assert_int_equal(slice_parse(&slice, slice_name, &e), 0);
    assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, a, &e), 0);
    m = machine_create(&slice, &chip, &o, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

void trial_init(struct trial *t, const char *slice, bool checks_races)
{
    memset(t, 0, sizeof(*t));
    arena_init(&t->arena);
    t->machine = machine_of(slice, checks_races, &t->arena);
    mlp_init(&t->m, t->machine, MLP_INPUTS, TRIAL_BATCH);
    t->m.model.precision = PRECISION_HIGHEST;
    t->m.options.strategy.checks_replicas = true;
}

void trial_fini(struct trial *t)
{
    mlp_fini(&t->m);
    if (t->machine)
        machine_destroy(t->machine);
    arena_fini(&t->arena);
}

void trial_run(struct trial *t, const float *x, const int32_t *label)
{
    struct strategy_run run;

    if (mlp_start(&t->m))
        fail_msg("%s", t->m.err.msg);
    for (int i = 0; i < TRIAL_STEPS; i++) {
        if (mlp_step(&t->m, x, label, &t->loss[i], &run))
            fail_msg("%s", t->m.err.msg);
        assert_true(t->cycles == 0 || t->cycles == run.cycles);
        t->cycles = run.cycles;
    }
    if (strategy_check_replicas(fit_strategy(t->m.fit), &t->m.err))
        fail_msg("%s", t->m.err.msg);
}

void trial_batch(float x[TRIAL_BATCH * MLP_INPUTS], int32_t label[TRIAL_BATCH])
{
    struct rng r;

    rng_init(&r, 11);
    for (int i = 0; i < TRIAL_BATCH; i++) {
        label[i] = (int32_t)rng_below(&r, 10);
        for (int j = 0; j < MLP_INPUTS; j++)
            x[i * MLP_INPUTS + j] = rng_uniform(&r, -1.0f, 1.0f) + (j == label[i] ? 1.0f : 0.0f);
    }
}

/* ----- several steps per execution */

#define REPLICAS_MAX 8

struct launch {
    struct strategy_program *program;
    int rounds, replicas, rows;         /* samples of a replica in each step */
    float *x[REPLICAS_MAX], loss[REPLICAS_MAX][TRIAL_STEPS];
    int32_t *label[REPLICAS_MAX];
};

static void prepare(struct trial *t, struct launch *l)
{
    t->m.options.batch = TRIAL_ROUNDS_BATCH;
    if (mlp_start(&t->m) || !(l->program = fit_program(t->m.fit, l->rounds, &t->m.err)))
        fail_msg("%s", t->m.err.msg);
    l->replicas = strategy_replica_count(fit_strategy(t->m.fit));
    assert_in_range(l->replicas, 1, REPLICAS_MAX);
    l->rows = TRIAL_ROUNDS_BATCH / l->replicas;
    for (int r = 0; r < l->replicas; r++) {
        l->x[r] = arena_array(&t->arena, (size_t)(l->rounds * l->rows * MLP_INPUTS), 4);
        l->label[r] = arena_array(&t->arena, (size_t)(l->rounds * l->rows), 4);
    }
}

/* the samples of batch `batch` as those of a launch's step; each batch has other ones */
static void fill(struct launch *l, int step, int batch)
{
    float x[TRIAL_BATCH * MLP_INPUTS];
    int32_t label[TRIAL_BATCH];
    int elems = l->rows * MLP_INPUTS;

    trial_batch(x, label);
    for (int k = 0; k < TRIAL_BATCH * MLP_INPUTS; k++)
        x[k] *= 1.0f - 0.25f * (float)batch;
    for (int r = 0; r < l->replicas; r++) {
        memcpy(l->x[r] + step * elems, x + r * elems, (size_t)elems * 4);
        memcpy(l->label[r] + step * l->rows, label + r * l->rows, (size_t)l->rows * 4);
    }
}

static void run_launch(struct trial *t, struct launch *l, float *loss)
{
    const void *input[2 * REPLICAS_MAX];
    void *result[REPLICAS_MAX];
    struct strategy_run run;

    for (int r = 0; r < l->replicas; r++) {
        input[2 * r] = l->x[r];
        input[2 * r + 1] = l->label[r];
        result[r] = l->loss[r];
    }
    if (strategy_run(fit_strategy(t->m.fit), l->program, input, result, &run, &t->m.err))
        fail_msg("%s", t->m.err.msg);
    assert_true(t->cycles == 0 || t->cycles == run.cycles);
    t->cycles = run.cycles;
    for (int k = 0; k < l->rounds; k++) {
        loss[k] = 0;
        for (int r = 0; r < l->replicas; r++)
            loss[k] += l->loss[r][k];
    }
}

void trial_rounds(struct trial *t, int rounds, float loss[2 * TRIAL_STEPS])
{
    struct launch l = {.rounds = rounds};

    prepare(t, &l);
    for (int i = 0; i < 2 * TRIAL_STEPS; i += rounds) {
        for (int k = 0; k < rounds; k++)
            fill(&l, k, (i + k) % TRIAL_STEPS);
        run_launch(t, &l, loss + i);
    }
}

double trial_distance(struct trial *a, struct trial *b)
{
    double most = 0;

    assert_int_equal(a->m.set.count, b->m.set.count);
    for (int v = 0; v < a->m.set.count; v++) {
        size_t count = (size_t)shape_elems(&a->m.set.variable[v].shape);
        float *x = mem_alloc(count * 4), *y = mem_alloc(count * 4);
        double scale = 0, off = 0;

        assert_int_equal(strategy_read(fit_strategy(a->m.fit), v, x, &a->m.err), 0);
        assert_int_equal(strategy_read(fit_strategy(b->m.fit), v, y, &b->m.err), 0);
        if (a->m.set.variable[v].shape.dtype != DTYPE_F32) {
            assert_memory_equal(x, y, count * 4);
            count = 0;
        }
        for (size_t i = 0; i < count; i++) {
            scale = fmax(scale, fabs((double)y[i]));
            off = fmax(off, fabs((double)x[i] - (double)y[i]));
        }
        most = fmax(most, scale > 0 ? off / scale : off);
        mem_free(x);
        mem_free(y);
    }
    return most;
}
