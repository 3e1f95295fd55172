#include "tests/rigs/run_graph.h"

#include "base/rng.h"
#include "stack/module/module_run.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/restored.h"
#include "tests/test.h"

static void must(int status, const struct err *e)
{
    char text[800];

    if (status)
        fail_msg("%s", err_format(e, text, sizeof(text)));
}

static void apply_settings(struct chip *chip, const char *set, struct arena *a)
{
    char *copy = arena_strdup(a, set ? set : ""), *rest = NULL;
    struct err e;

    for (char *s = strtok_r(copy, " ", &rest); s; s = strtok_r(NULL, " ", &rest))
        must(chip_set(chip, s, NULL, a, &e), &e);
}

static void *dense(const struct array *b, struct arena *a)
{
    return arena_alloc(a, (size_t)shape_elems(&b->shape) * 4);
}

static void launch(struct machine *m, const struct module *c)
{
    struct err e;

    if (machine_run(m, &e))
        fail_msg("%s: %s", c->graph.name, e.msg);
}

static void run_replicas(struct machine *m, const struct graph_run *run, const struct module *c,
                         int replicas, const void *const *input, void **output, struct arena *a)
{
    int inputs = c->graph.parameter_count, outputs = c->graph.output_count;
    struct err e;

    for (int device = 0; device < replicas; device++) {
        int core = run->device_core ? run->device_core[device] : device;

        must(module_load(c, m, core, &e), &e);
        for (int i = 0; i < inputs; i++)
            must(module_write(c, m, core, i, input[device * inputs + i], &e), &e);
    }
    for (int i = 0; i == 0 || i < run->launch_count; i++)
        launch(m, c);
    for (int device = 0; device < replicas; device++)
        for (int i = 0; i < outputs; i++) {
            int core = run->device_core ? run->device_core[device] : device;

            output[device * outputs + i] = dense(c->output[i], a);
            must(module_read(c, m, core, i, output[device * outputs + i], &e), &e);
        }
}

void run_graph(struct graph_run *run, const struct graph *g, const void *const *input,
               void **output, struct arena *a)
{
    struct machine_options options = {.thread_count = run->thread_count ? run->thread_count : 1,
                                      .simd = run->simd ? run->simd : "auto"};
    struct module_settings settings = {.codegen = run->codegen, .hbm_bytes = run->hbm_bytes,
                                       .bucket_bytes = run->bucket_bytes,
                                       .stage_bytes = run->stage_bytes,
                                       .sums_wait = run->sums_wait};
    struct module compiled;
    struct slice slice;
    struct chip chip;
    struct machine *m;
    struct err e;
    int status;

    must(slice_parse(&slice, run->slice, &e), &e);
    must(chip_load_builtin(&chip, slice.chip_name, NULL, a, &e), &e);
    apply_settings(&chip, run->set, a);
    m = machine_create(&slice, &chip, &options, &e);
    must(m ? 0 : -1, &e);
    settings.chip = machine_chip(m);
    settings.replica_count = run->device_count ? run->device_count : slice.core_count;
    settings.device_core = run->device_core;
    settings.slice = &slice;
    status = module_compile(g, &settings, a, &compiled, &e);
    if (!run->may_refuse)
        must(status, &e);
    if (status == 0 && run->is_restored)
        restore_module(&compiled, &settings, a);
    run->refusal[0] = '\0';
    run->kernel_count = compiled.kernel_count;
    run->hbm_used_bytes = status ? 0 : compiled.hbm_bytes;
    if (status)
        snprintf(run->refusal, sizeof(run->refusal), "%s", e.msg);
    else
        run_replicas(m, run, &compiled, settings.replica_count, input, output, a);
    run->cycles = machine_cycles(m);
    machine_destroy(m);
}

float *random_floats(struct arena *a, int64_t count, float lo, float hi, uint64_t seed)
{
    float *x = arena_array(a, (size_t)count, sizeof(*x));
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++)
        x[i] = rng_uniform(&r, lo, hi);
    return x;
}
