#include "tests/trial.h"

#include "tests/train_rig.h"

#include <math.h>

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
