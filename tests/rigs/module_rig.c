#include "tests/rigs/module_rig.h"

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/machine/machine.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "stack/module/module_run.h"
#include "tests/generate/random_hlo.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/restored.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct bench {
    struct module_rig *r;
    const struct graph *g;
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct module module;
    struct interp_value *in, *want;
};

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void *random_values(struct bench *b, const struct shape *s, uint64_t seed)
{
    int64_t elems = shape_elems(s);
    float *x = arena_array(&b->arena, (size_t)elems, sizeof(*x));
    struct rng rng;

    rng_init(&rng, seed);
    for (int64_t i = 0; i < elems; i++) {
        int whole = (int)rng_below(&rng, 7) - 3;

        if (graph_dtype_is_float(s->dtype))
            x[i] = b->r->uses_fractions ? rng_uniform(&rng, -1, 1) : (float)whole;
        else
            ((int32_t *)x)[i] = s->dtype == DTYPE_PRED ? whole & 1
                                : s->dtype == DTYPE_U32 || s->dtype == DTYPE_U8 ? whole + 3 : whole;
        if (s->dtype == DTYPE_BF16)
            x[i] = f32_round_to_bf16(x[i]);
    }
    return x;
}

static void open_chip(struct bench *b)
{
    char *copy = arena_strdup(&b->arena, b->r->set ? b->r->set : ""), *rest = NULL;
    struct err e;

    must(slice_parse(&b->slice, b->r->slice ? b->r->slice : "v5e", &e), &e);
    must(chip_load_builtin(&b->chip, b->slice.chip_name, NULL, &b->arena, &e), &e);
    for (char *s = strtok_r(copy, " ", &rest); s; s = strtok_r(NULL, " ", &rest))
        must(chip_set(&b->chip, s, NULL, &b->arena, &e), &e);
}

static void interpret(struct bench *b, uint64_t seed)
{
    const struct graph *g = b->g;
    struct err e;

    b->in = arena_array(&b->arena, (size_t)g->parameter_count + 1, sizeof(*b->in));
    b->want = arena_array(&b->arena, (size_t)g->output_count + 1, sizeof(*b->want));
    for (int i = 0; i < g->parameter_count; i++)
        b->in[i].data = b->r->uses_hlo_inputs
                            ? random_hlo_input(g, i, seed, &b->arena)
                            : random_values(b, &g->node[g->parameter[i]].shape,
                                            seed * 64 + (uint64_t)i);
    for (int l = 0; l == 0 || l < b->r->launches; l++) {
        struct interp_value *in = arena_array(&b->arena, (size_t)g->parameter_count + 1,
                                              sizeof(*in));

        for (int i = 0; i < g->parameter_count; i++)
            in[i] = b->in[i];
        for (int i = 0; l > 0 && i < g->output_count; i++)
            if (g->output[i].alias_parameter >= 0)
                in[g->output[i].alias_parameter] = b->want[i];
        must(interp_run(g, INTERP_DOT_BF16, in, b->want, &b->arena, &e), &e);
    }
}

/* how much of what is allowed the difference takes; above 1: too much */
static double excess(const struct module_rig *r, const struct shape *s, const void *got,
                     const void *want, int64_t i)
{
    float x = ((const float *)got)[i], y = ((const float *)want)[i];
    double allowed = r->absolute + r->relative * fabs((double)y);
    double difference = fabs((double)x - (double)y);

    if (!graph_dtype_is_float(s->dtype))
        return ((const int32_t *)got)[i] == ((const int32_t *)want)[i] ? 0 : 2;
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    return difference <= allowed ? difference / allowed : 2;
}

static void compare(struct bench *b, int output, const void *got)
{
    const struct graph_node *n = &b->g->node[b->g->output[output].node];

    for (int64_t i = 0; i < shape_elems(&n->shape); i++) {
        double share = excess(b->r, &n->shape, got, b->want[output].data, i);
        char text[96];

        if (share > 1)
            fail_msg("%s on %s: output %s (%s), element %d: %.9g (0x%x), expected %.9g (0x%x)",
                     b->g->name, b->slice.name, b->g->output[output].name,
                     shape_print(&n->shape, text, sizeof(text)), (int)i,
                     (double)((const float *)got)[i], ((const unsigned *)got)[i],
                     (double)((const float *)b->want[output].data)[i],
                     ((const unsigned *)b->want[output].data)[i]);
        if (share > b->r->worst)
            b->r->worst = share;
    }
}

/* NaNs where kernels work, and where they may read on behind that: each bit is set */
static void spoil_vmem(struct bench *b, struct machine *m)
{
    int64_t behind = b->module.vmem_peak_bytes + 64 * KIB;
    int64_t bytes = behind < b->chip.vmem_bytes ? behind : b->chip.vmem_bytes;
    char *ones = mem_alloc((size_t)bytes);
    struct err e;

    memset(ones, 0xff, (size_t)bytes);
    for (int core = 0; core <= b->r->megacore; core++)
        must(machine_vmem_write(m, core, 0, ones, bytes, &e), &e);
    mem_free(ones);
}

static void run(struct bench *b)
{
    struct machine_options options = {.thread_count = b->r->threads ? b->r->threads : 1,
                                      .shared_hbm = b->r->megacore,
                                      .check_races = b->r->check_races};
    const struct graph *g = b->g;
    struct machine *m;
    struct err e;

    m = machine_create(&b->slice, &b->chip, &options, &e);
    must(!m, &e);
    if (b->r->spoils_vmem)
        spoil_vmem(b, m);
    for (int i = 0; i < g->parameter_count; i++)
        must(module_write(&b->module, m, 0, i, b->in[i].data, &e), &e);
    must(module_load(&b->module, m, 0, &e), &e);
    for (int l = 0; l == 0 || l < b->r->launches; l++)
        if (machine_run(m, &e))
            fail_msg("%s on %s: %s", g->name, b->slice.name, e.msg);
    b->r->cycles = machine_cycles(m);
    for (int i = 0; i < g->output_count; i++) {
        const struct shape *s = &g->node[g->output[i].node].shape;
        void *got = arena_alloc(&b->arena, (size_t)shape_elems(s) * 4);

        must(module_read(&b->module, m, 0, i, got, &e), &e);
        b->r->outputs_crc = (uint32_t)crc32(b->r->outputs_crc, got,
                                            (unsigned)(4 * shape_elems(s)));
        compare(b, i, got);
    }
    machine_destroy(m);
}

void module_rig_check(struct module_rig *r, const struct graph *g, uint64_t seed)
{
    struct bench b = {.r = r, .g = g};
    struct module_settings s = {.chip = &b.chip, .codegen = r->codegen, .replica_count = 1,
                                .hbm_bytes = r->hbm_bytes, .megacore = r->megacore,
                                .dump_to = stdout,
                                .dump_after = getenv("SYSTOLE_DUMP_AFTER")};
    struct err e;

    arena_init(&b.arena);
    r->refusal[0] = '\0';
    r->outputs_crc = 0;
    r->worst = 0;
    must(graph_verify(g, &e), &e);
    open_chip(&b);
    if (module_compile(g, &s, &b.arena, &b.module, &e)) {
        snprintf(r->refusal, sizeof(r->refusal), "%s", e.msg);
        if (!r->may_refuse)
            fail_msg("%s on %s: %s", g->name, b.slice.name, e.msg);
    } else {
        if (r->is_restored)
            restore_module(&b.module, &s, &b.arena);
        r->kernel_count = b.module.kernel_count;
        r->barrier_count = b.module.barrier_count;
        r->hbm_used_bytes = b.module.hbm_bytes;
        r->prefetch_count = b.module.prefetch_count;
        r->resident_count = b.module.resident_count;
        r->cmem_count = b.module.cmem_count;
        r->remat_count = b.module.remat_count;
        interpret(&b, seed);
        run(&b);
    }
    arena_fini(&b.arena);
}
