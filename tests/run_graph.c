#include "tests/run_graph.h"

#include "base/rng.h"
#include "tests/test.h"

static void must(int status, const struct err *e)
{
    char text[800];

    if (status)
        fail_msg("%s", err_format(e, text, sizeof(text)));
}

static void write_inputs(struct machine *m, const struct compiled *c, int core,
                         const void *const *input, struct arena *a)
{
    struct err e;

    for (int i = 0; i < c->parameter_count; i++) {
        const struct compiled_buffer *b = &c->parameter[i];
        void *tiles = arena_alloc(a, (size_t)b->layout.bytes);

        layout_pack(&b->layout, input[i], tiles);
        must(machine_hbm_write(m, core, b->hbm_address, tiles, b->layout.bytes, &e), &e);
    }
}

static void read_outputs(struct machine *m, const struct compiled *c, int core, void **output,
                         struct arena *a)
{
    struct err e;

    for (int i = 0; i < c->output_count; i++) {
        const struct compiled_buffer *b = &c->output[i];
        void *tiles = arena_alloc(a, (size_t)b->layout.bytes);

        must(machine_hbm_read(m, core, b->hbm_address, tiles, b->layout.bytes, &e), &e);
        output[i] = arena_alloc(a, (size_t)(b->layout.rows * b->layout.columns * 4));
        layout_unpack(&b->layout, tiles, output[i]);
    }
}

static void apply_settings(struct chip *chip, const char *set, struct arena *a)
{
    char *copy = arena_strdup(a, set ? set : ""), *rest = NULL;
    struct err e;

    for (char *s = strtok_r(copy, " ", &rest); s; s = strtok_r(NULL, " ", &rest))
        must(chip_set(chip, s, NULL, a, &e), &e);
}

static void launch(struct machine *m, const struct compiled *c, int replicas)
{
    struct err e;

    for (int core = 0; core < replicas; core++) {
        uint32_t words[4] = {(uint32_t)core, (uint32_t)replicas,
                             (uint32_t)((core + 1) % replicas),
                             (uint32_t)((core + replicas - 1) % replicas)};

        must(machine_load(m, core, &c->program, &e), &e);
        must(machine_smem_write(m, core, 0, words, sizeof(words), &e), &e);
    }
    if (machine_run(m, &e))
        fail_msg("%s: %s", c->program.name, e.msg);
}

static void run_replicas(struct machine *m, const struct graph_run *run, const struct compiled *c,
                         int replicas, const void *const *input, void **output, struct arena *a)
{
    for (int core = 0; core < replicas; core++)
        write_inputs(m, c, core, input + core * c->parameter_count, a);
    for (int i = 0; i == 0 || i < run->launch_count; i++)
        launch(m, c, replicas);
    for (int core = 0; core < replicas; core++)
        read_outputs(m, c, core, output + core * c->output_count, a);
}

void run_graph(struct graph_run *run, const struct graph *g, const void *const *input,
               void **output, struct arena *a)
{
    struct machine_options options = {.thread_count = run->thread_count ? run->thread_count : 1,
                                      .simd = run->simd ? run->simd : "auto"};
    struct compile_options compile = {0};
    struct compiled compiled;
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
    compile.chip = machine_chip(m);
    compile.replica_count = slice.core_count;
    status = compile_graph(g, &compile, a, &compiled, &e);
    if (!run->may_refuse)
        must(status, &e);
    run->refusal[0] = '\0';
    run->vmem_peak_bytes = compiled.vmem_peak_bytes;
    if (status)
        snprintf(run->refusal, sizeof(run->refusal), "%s", e.msg);
    else
        run_replicas(m, run, &compiled, slice.core_count, input, output, a);
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
