/* A compiled module in timing mode: cycles by kernel and by bundle, from the trace's records. */
#include "cli/compile/compile.h"

#include "cli/common/run_progress.h"
#include "sim/observe/trace.h"
#include "stack/module/index_assume.h"
#include "stack/module/module_run.h"
#include "stack/kernels/registry.h"

#include <string.h>

struct timer {
    struct compile_times *times;
    int kernel_count;
    struct timed_core {
        int kernel;                     /* running; -1: none yet */
        cycle_t since, waited;          /* for the other core */
        const bool *is_barrier;         /* by bundle */
    } core[2];
};

static void close_kernel(struct timer *t, int core, cycle_t at)
{
    struct timed_core *c = &t->core[core];

    if (c->kernel >= 0 && c->kernel < t->kernel_count)
        t->times->kernel_cycles[core][c->kernel] += at - c->since - c->waited;
    t->times->barrier_cycles[core] += c->waited;
    c->since = at;
    c->waited = 0;
}

static void on_record(struct timer *t, int core, const struct trace_record *r)
{
    struct timed_core *c = &t->core[core];

    switch (r->kind) {
    case TRACE_STALL:
        c->waited += c->is_barrier[r->bundle] ? r->value : 0;
        break;
    case TRACE_MARK:
        close_kernel(t, core, r->at);
        c->kernel = (int)r->value;
        break;
    case TRACE_HALT:
        close_kernel(t, core, r->at);
        c->kernel = -1;
        break;
    default:
        break;
    }
}

static void on_core(void *context, int core, const struct trace_record *r, size_t count)
{
    struct timer *t = context;

    if (core > 1 || !t->core[core].is_barrier)
        return;
    if (core == 0 && t->times->counts.issued)
        annotate_count(&t->times->counts, r, count);
    for (size_t i = 0; i < count; i++)
        on_record(t, core, &r[i]);
}

static const bool *barriers_of(const struct isa_program *p, struct arena *a)
{
    bool *is_barrier = arena_array(a, (size_t)p->bundle_count + 1, sizeof(*is_barrier));

    for (uint32_t i = 0; i < p->bundle_count; i++)
        is_barrier[i] = p->bundle[i].note
                        && strcmp(p->note[p->bundle[i].note - 1], LINK_BARRIER_NOTE) == 0;
    return is_barrier;
}

static void prepare(struct timer *t, const struct module *m, bool per_bundle, struct arena *a)
{
    *t->times = (struct compile_times){.total_cycles = 0};
    for (int i = 0; i < m->core_count; i++) {
        t->times->kernel_cycles[i] = arena_array(a, (size_t)m->kernel_count + 1, sizeof(int64_t));
        t->core[i] = (struct timed_core){.kernel = -1,
                                         .is_barrier = barriers_of(&m->linked[i].program, a)};
    }
    if (per_bundle)
        annotate_counts_init(&t->times->counts, m->linked[0].program.bundle_count, a);
}

int compile_run(const struct module *m, const struct compile_launch *l, struct arena *a,
                struct compile_times *out, struct err *e)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1,
                                      .shared_hbm = m->core_count > 1,
                                      .one_chip = l->one_chip};
    struct timer t = {.times = out, .kernel_count = m->kernel_count};
    struct trace_sink sink = {.context = &t, .core = on_core, .wants_access = l->per_bundle};
    struct machine *machine = machine_create(l->slice, l->chip, &options, e);
    struct run_progress shown = {.machine = machine};
    int status = 0;

    if (!machine)
        return -1;
    prepare(&t, m, l->per_bundle, a);
    for (int core = 0; core < (m->core_count > 1 ? 1 : l->cores) && status == 0; core++)
        status = module_load(m, machine, core, e) ||
                 index_assume_write(l->graph, m, machine, core, &l->indices, e);
    machine_set_trace(machine, &sink);
    if (status == 0 && l->shows_progress)
        run_progress_begin(&shown, machine, "run", run_progress_expected(m));
    if (status == 0)
        status = machine_run(machine, e);
    if (l->shows_progress)
        run_progress_end(&shown);
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
