/* A compiled module in timing mode: cycles by kernel and by bundle, from the trace's records. */
#include "cli/compile.h"

#include "sim/trace.h"
#include "stack/index_assume.h"
#include "stack/module_run.h"

struct timer {
    struct compile_times *times;
    int kernel, kernel_count;           /* running; -1: none yet */
    cycle_t since;
};

static void close_kernel(struct timer *t, cycle_t at)
{
    if (t->kernel >= 0 && t->kernel < t->kernel_count)
        t->times->kernel_cycles[t->kernel] += at - t->since;
    t->since = at;
}

static void on_record(struct timer *t, const struct trace_record *r)
{
    switch (r->kind) {
    case TRACE_MARK:
        close_kernel(t, r->at);
        t->kernel = (int)r->value;
        break;
    case TRACE_HALT:
        close_kernel(t, r->at);
        t->kernel = -1;
        break;
    default:
        break;
    }
}

static void on_core(void *context, int core, const struct trace_record *r, size_t count)
{
    struct timer *t = context;

    if (core != 0)
        return;
    if (t->times->counts.issued)
        annotate_count(&t->times->counts, r, count);
    for (size_t i = 0; i < count; i++)
        on_record(t, &r[i]);
}

static void prepare(struct compile_times *t, const struct module *m, bool per_bundle,
                    struct arena *a)
{
    *t = (struct compile_times){
        .kernel_cycles = arena_array(a, (size_t)m->kernel_count + 1, sizeof(int64_t))};
    if (per_bundle)
        annotate_counts_init(&t->counts, m->linked[0].program.bundle_count, a);
}

int compile_run(const struct module *m, const struct compile_launch *l, struct arena *a,
                struct compile_times *out, struct err *e)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct timer t = {.times = out, .kernel = -1, .kernel_count = m->kernel_count};
    struct trace_sink sink = {.context = &t, .core = on_core, .wants_access = l->per_bundle};
    struct machine *machine = machine_create(l->slice, l->chip, &options, e);
    int status = 0;

    if (!machine)
        return -1;
    prepare(out, m, l->per_bundle, a);
    for (int core = 0; core < l->cores && status == 0; core++)
        status = module_load(m, machine, core, e) ||
                 index_assume_write(l->graph, m, machine, core, &l->indices, e);
    machine_set_trace(machine, &sink);
    if (status == 0)
        status = machine_run(machine, e);
    out->total_cycles = machine_cycles(machine);
    machine_destroy(machine);
    return status ? -1 : 0;
}

int64_t compile_time_kernel(const struct kernel_job *job, const struct tiling *t,
                            const struct slice *slice)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct kernel_job one = *job;
    struct link_result linked;
    struct segment segment;
    struct link_item item = {.kind = LINK_SEGMENT, .segment = &segment, .note = job->name};
    struct machine *machine = NULL;
    int64_t cycles = -1;
    struct arena a;
    struct err e;

    one.tiling = t;
    arena_init(&a);
    if (kernel_compile(&one, &a, &segment, &e) == 0 &&
        link_program(&item, 1, job->chip, job->name, &a, &linked, &e) == 0)
        machine = machine_create(slice, job->chip, &options, &e);
    if (machine && machine_load(machine, 0, &linked.program, &e) == 0 &&
        machine_run(machine, &e) == 0)
        cycles = machine_cycles(machine);
    machine_destroy(machine);
    arena_fini(&a);
    return cycles;
}
