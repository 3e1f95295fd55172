/*
 * Drives a compilation: passes, places, kernels, link; it begins anew where fusions had to be
 * taken apart.
 */
#include "stack/module/module.h"

#include "stack/module/module_impl.h"
#include "stack/passes/pass.h"
#include "stack/hlo/rewrite.h"

#include <string.h>
#include <time.h>

#define UNFUSE_ROUNDS_MAX 16            /* what is taken apart may be again, in smaller pieces */

struct pass_row {
    const char *name;
    int (*run)(struct graph *g, const struct pass_context *c, struct err *e);
    enum { ALL, CHOSEN } of;
};

static const struct pass_row passes[] = {
#define PASS(name, function, of, text) {#name, function, of},
#include "stack/passes/passes.def"
};

#define PASS_COUNT (sizeof(passes) / sizeof(passes[0]))

static const char *const stages[] = {
#define PASS(name, function, of, text) #name,
#include "stack/passes/passes.def"
    "memory", "all"
};

bool module_is_stage(const char *name, const char *const **names, size_t *count)
{
    *names = stages;
    *count = sizeof(stages) / sizeof(stages[0]);
    for (size_t i = 0; i < *count; i++)
        if (strcmp(name, stages[i]) == 0)
            return true;
    return false;
}

static double host_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin_stage(struct module *m, const struct module_settings *s, const char *name)
{
    if (s->on_stage)
        s->on_stage(s->user, name, 0, 0);
    for (m->stage_now = 0; m->stage_now < m->stage_count; m->stage_now++)
        if (strcmp(m->stage[m->stage_now].name, name) == 0)
            break;
    if (m->stage_now == m->stage_count)
        m->stage[m->stage_count++].name = name;
    m->stage[m->stage_now].seconds -= host_seconds();
}

static void end_stage(struct module *m)
{
    m->stage[m->stage_now].seconds += host_seconds();
}

static bool is_dumped(const struct module_settings *s, const char *name)
{
    return s->dump_after && s->dump_to &&
           (strcmp(s->dump_after, name) == 0 || strcmp(s->dump_after, "all") == 0);
}

struct pass_run {
    const struct pass_row *pass;
    const struct pass_context *context;
};

/* on what loops and conditionals call first, inner ones before those around them */
static int run_pass(struct graph *g, const void *user, struct err *e)
{
    const struct pass_run *run = user;
    struct err inner;

    if (rewrite_flow(g, run_pass, run, e) || run->pass->run(g, run->context, e))
        return -1;
    if (graph_verify(g, &inner))
        return err_set(e, "after pass %s: %.400s", run->pass->name, inner.msg);
    return 0;
}

static struct pass_context context_of(const struct module_settings *s)
{
    return (struct pass_context){
        .chip = s->chip,
        .codegen = s->codegen,
        .replica_count = s->replica_count,
        .bucket_bytes = module_plan_bucket_bytes(s),
        .sum_times = module_plan_may_choose_buckets(s) ? module_plan_sum_times : NULL,
        .settings = s,
        .kept = s->kept,
        .keeps_roundings = s->keeps_roundings,
        .vmem_rows = module_plan_scoped_bytes(s) / ARRAY_ROW_BYTES};
}

static int run_passes(struct module *m, const struct module_settings *s, struct err *e)
{
    struct pass_context c = context_of(s);

    for (size_t i = 0; i < PASS_COUNT; i++) {
        struct pass_run run = {&passes[i], &c};

        if (s->kept && passes[i].of == CHOSEN)
            continue;
        begin_stage(m, s, passes[i].name);
        if (run_pass(&m->graph, &run, e))
            return -1;
        end_stage(m);
        if (is_dumped(s, passes[i].name)) {
            fprintf(s->dump_to, "// after %s\n", passes[i].name);
            graph_dump(&m->graph, s->dump_to);
        }
    }
    return 0;
}

static const struct array **arrays_of(struct arena *a, struct module_value *const *value, int count)
{
    const struct array **list = arena_array(a, (size_t)count + 1, sizeof(*list));

    for (int i = 0; i < count; i++)
        list[i] = value[i] ? &value[i]->array : NULL;
    return list;
}

static void keep_results(struct module *m, const struct module_plan *p, struct arena *a)
{
    const struct graph *g = &m->graph;

    m->array = arrays_of(a, p->node, g->node_count);
    m->parameter = arrays_of(a, p->parameter, g->parameter_count);
    m->output = arrays_of(a, p->output, g->output_count);
    m->constant = arena_array(a, (size_t)p->constant_count + 1, sizeof(*m->constant));
    m->constant_count = p->constant_count;
    m->sum = p->sum;
    m->sum_count = p->sum_count;
    for (int i = 0; i < p->constant_count; i++)
        m->constant[i] = p->constant[i];
}

static int fit_memory(struct module *m, struct module_plan *p, struct err *e)
{
    int64_t too_much;

    m->hbm_limit = module_plan_hbm_bytes(p->settings);
    while ((too_much = module_plan_memory(p, m)) > 0) {
        if (module_plan_rematerialise(p)) {
            m->remat_count++;
            module_plan_lifetimes(p);
        } else if (!p->tries_orders) {
            p->tries_orders = true;
        } else {
            return module_plan_refuse(p, too_much, e);
        }
    }
    return 0;
}

static int place(struct module *m, struct module_plan *p, struct arena *a, struct err *e)
{
    const struct module_settings *s = p->settings;

    begin_stage(m, s, "memory");
    m->remat_count = 0;
    if (module_plan_steps(p, &m->graph, e))
        return -1;
    module_plan_lifetimes(p);
    module_plan_alias_outputs(p, &m->graph);
    module_plan_lifetimes(p);
    do
        if (fit_memory(m, p, e))
            return -1;
    while (module_plan_find_refusals(p) > 0);
    keep_results(m, p, a);
    end_stage(m);
    return 0;
}

/*
 * 1: fusions or nodes had to be taken apart, and all is to be done again; `e` says which kernel
 * was the last that was not made.
 */
static int place_and_emit(struct module *m, const struct module_settings *s, struct memo *memo,
                          struct arena *a, struct err *e)
{
    struct module_plan p = {.arena = a, .settings = s, .memo = memo,
                            .scoped_bytes = module_plan_scoped_bytes(s)};
    struct pass_context c = context_of(s);
    int status = place(m, &p, a, e);

    if (status == 0 && !s->is_plan) {
        begin_stage(m, s, "kernels");
        status = module_make_kernels(m, &p, a, e);
        end_stage(m);
    }
    if (status == 0)
        module_plan_tell_kept(&p);
    if (status && p.refused_count)
        status = module_unfuse(m, &p, &c, e) ? -1 : 1;
    module_plan_fini(&p);
    return status;
}

static int finish(struct module *m, const struct module_settings *s, struct arena *a,
                  struct err *e)
{
    if (is_dumped(s, "memory")) {
        fputs("// after memory\n", s->dump_to);
        module_dump_graph(m, s->dump_to);
    }
    begin_stage(m, s, "link");
    if (module_link(m, s, a, e))
        return -1;
    end_stage(m);
    return 0;
}

int module_set_devices(struct module *m, const struct module_settings *s, struct arena *a,
                       struct err *e)
{
    int cores = s->slice ? s->slice->core_count : 0;
    int32_t *device;

    if (!s->device_core || !s->slice)
        return 0;
    device = arena_array(a, (size_t)cores, sizeof(*device));
    for (int i = 0; i < cores; i++)
        device[i] = -1;
    for (int32_t i = 0; i < s->replica_count; i++) {
        int32_t core = s->device_core[i];

        if (core < 0 || core >= cores || device[core] >= 0)
            return err_set(e, "device %d on core %d: each of %d devices has a core of its own, of "
                           "0 to %d", i, core, s->replica_count, cores - 1);
        device[core] = i;
    }
    m->core_device = device;
    return 0;
}

int module_compile(const struct graph *g, const struct module_settings *s, struct arena *a,
                   struct module *out, struct err *e)
{
    struct memo memo;
    int status;

    memset(out, 0, sizeof(*out));
    if (graph_check_devices(g, s->replica_count > 1 ? s->replica_count : 1, e) ||
        module_set_devices(out, s, a, e))
        return -1;
    memo_init(&memo);
    graph_copy(g, a, &out->graph);
    status = run_passes(out, s, e);
    graph_freeze(&out->graph);
    if (status == 0)
        status = 1;
    for (int i = 0; status > 0 && i < UNFUSE_ROUNDS_MAX; i++)
        status = place_and_emit(out, s, &memo, a, e);
    memo_fini(&memo);
    return status ? -1 : s->is_plan ? 0 : finish(out, s, a, e);
}
