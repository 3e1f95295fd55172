/* One kernel compiled and run, and what its bundles waited for. */
#include "cli/kernel/kernel.h"

#include <string.h>

#include "sim/observe/trace.h"
#include "stack/module/module_run.h"
#include "stack/mosaic/extent.h"

struct session {
    const struct kernel_found *found;
    struct arena *arena;
    int (*told)(void *user, const struct kernel_timed *t, struct err *e);
    void *user;
    struct trace_sink sink;
    struct kernel_waits waits;          /* as the trace tells of them */
    const struct op_options *options;
    struct kernel_source source;
    bool needs_values;                  /* timing mode does not work out what it asks for */
};

/* somebody else is told of the launch */
static bool is_traced(const struct session *s)
{
    return s->options->trace.path != NULL;
}

/*
 * Rounds of loops that are alike are not told of one by one. Their bundles wait for what they waited
 * for in the rounds that were: shares of the whole wait, which the machine knows.
 */
static void on_core(void *context, int core, const struct trace_record *r, size_t count)
{
    struct session *s = context;

    if (core != 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (r[i].kind == TRACE_STALL && r[i].bundle < s->waits.bundle_count)
            s->waits.waited[r[i].bundle][r[i].reason] += (double)r[i].value;
}

/* a range of operands that holds what it holds: zeros, known in timing mode, too */
static int begin(void *user, struct loaded *l, struct err *e)
{
    struct session *s = user;
    const struct isa_program *p = &l->module.linked[0].program;

    (void)e;
    for (int i = 0; i < l->module.core_count; i++)
        kernel_tell_source(s->found->kernel, &l->module.linked[i].program, s->arena);
    s->waits.bundle_count = p->bundle_count;
    s->waits.waited = arena_array(s->arena, (size_t)p->bundle_count + 1, sizeof(*s->waits.waited));
    s->sink = (struct trace_sink){.context = s, .core = on_core};
    if (!is_traced(s))
        machine_set_trace(l->machine, &s->sink);
    return 0;
}

/* waits by reason, so that those of a bundle come to what the machine has counted */
static void scale(struct kernel_waits *w, const struct report_view *v)
{
    for (uint32_t b = 0; b < w->bundle_count; b++) {
        double seen = 0, all = (double)v->bundle[b].stall_cycles;

        for (int r = 0; r < STALL_COUNT; r++)
            seen += w->waited[b][r];
        for (int r = 0; r < STALL_COUNT && seen > 0; r++)
            w->waited[b][r] *= all / seen;
        if (seen == 0)
            w->waited[b][STALL_OPERAND] = all;
    }
}

int64_t kernel_bound(const struct mosaic_kernel *k, int dim)
{
    int operand = 0;

    if (k->grid[dim] != MOSAIC_DYNAMIC)
        return k->grid[dim];
    for (int i = 0; i < dim; i++)
        operand += k->grid[i] == MOSAIC_DYNAMIC;
    return k->known && k->known[operand] ? k->known[operand][0] : 0;
}

static const struct module_kernel *kernel_in(const struct module *m)
{
    for (int i = 0; i < m->kernel_count; i++)
        if (m->kernel[i].segment->buffer_count || m->kernel[i].segment->buffer)
            return &m->kernel[i];
    return m->kernel_count ? &m->kernel[0] : NULL;
}

/* ----- a launch that has failed, by the lines of the kernel */

static int origin_in(const struct isa_program *p, uint32_t bundle)
{
    const struct isa_bundle *b = &p->bundle[bundle];

    for (uint32_t i = 0; i < b->op_count; i++)
        if (p->op[b->first_op + i].origin)
            return p->op[b->first_op + i].origin;
    return 0;
}

/* the operation that starts a copy, or raises a flag, which is not 0 at the end */
static int origin_of_flag(const struct machine *m, const struct isa_program *p, int *flag)
{
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct isa_op *op = &p->op[i];
        const struct isa_info *info = isa_info((enum isa_opcode)op->code);

        for (int k = 0; op->origin && k < op->operand_count; k++)
            if (info->role[k] == 'F' && op->operand[k].kind == OPERAND_IMM &&
                machine_flag(m, 0, op->operand[k].value)) {
                *flag = op->operand[k].value;
                return op->origin;
            }
    }
    return 0;
}

static void failed(void *user, const struct loaded *l, struct err *e)
{
    struct session *s = user;
    const struct fault *f = machine_fault(l->machine);
    const struct isa_program *p = &l->module.linked[0].program;
    const struct mosaic_op *op = NULL;
    struct err before = *e;
    int flag = 0;

    s->needs_values = f->kind == FAULT_UNKNOWN;
    if (f->kind == FAULT_FLAG)
        op = mosaic_op_of(s->found->kernel, origin_of_flag(l->machine, p, &flag));
    else if (f->kind != FAULT_NONE && f->bundle < p->bundle_count)
        op = mosaic_op_of(s->found->kernel, origin_in(p, f->bundle));
    if (!op)
        return;
    if (f->kind == FAULT_FLAG)
        mosaic_refuse(s->found->kernel, op, e, "%s: its semaphore has %d left at the end",
                      op->code == MOSAIC_ENQUEUE_DMA ? "a copy that is never waited for"
                                                     : "nobody waits for all of it",
                      (int)machine_flag(l->machine, 0, flag));
    else
        mosaic_refuse(s->found->kernel, op, e, "%.300s", before.msg);
}

static int end(void *user, const struct loaded *l, const struct report_step *step, double seconds,
               struct err *e)
{
    struct session *s = user;
    const struct module_kernel *kernel = kernel_in(&l->module);
    struct kernel_timed t = {.found = s->found, .chip = machine_chip(l->machine),
                             .module = &l->module, .waits = s->waits};

    (void)seconds;
    if (is_traced(s)) {                 /* the same once more, for what its bundles wait for */
        machine_set_trace(l->machine, &s->sink);
        if (machine_run(l->machine, e))
            return -1;
    }
    machine_set_trace(l->machine, NULL);
    if (!kernel)
        return err_set(e, "kernel %s has no code: its grid has no steps", s->found->name);
    t.segment = kernel->segment;
    view_of_step(step, s->arena, &t.view);
    t.steps = 1;
    for (int i = 0; i < s->found->kernel->grid_rank; i++)
        t.steps *= kernel_bound(s->found->kernel, i);
    if (t.view.bundle) {
        scale(&t.waits, &t.view);
        kernel_source_of(t.view.ops_program, s->found->kernel, s->arena, &s->source);
        kernel_lines(&t.view, &t.waits, &s->source, s->arena, &t.lines);
    }
    return s->told(s->user, &t, e);
}

static int list(void *user, const struct loaded *l, struct ntrace_listing *to, struct err *e)
{
    struct session *s = user;

    return s->source.count ? kernel_list(&s->source, &l->module, s->arena, to, e) : 0;
}

int kernel_time(struct op_options *o, const struct kernel_found *k, struct arena *a,
                int (*told)(void *user, const struct kernel_timed *t, struct err *e), void *user,
                struct err *e)
{
    struct session s = {.found = k, .arena = a, .told = told, .user = user,
                        .options = o};
    const struct op_teller teller = {&s, begin, end, failed, list};
    int status;

    if (mosaic_check_blocks(k->kernel, e))
        return -1;
    if (k->unknown && o->engine.mode == MODE_TIMING)
        return err_set(e, "kernel %s: which blocks it works on follows from values of %s", k->name,
                       k->unknown);
    if (k->devices > 1)
        o->replicas = k->devices;
    o->teller = &teller;
    o->is_quiet = true;
    o->tells_lines = true;
    status = op_run(o, k->graph, k->name, e);
    if (status && s.needs_values && o->engine.mode == MODE_TIMING) {
        o->engine.mode = MODE_BOTH;     /* elements of vectors become scalars: the same cycles */
        status = op_run(o, k->graph, k->name, e);
    }
    return status;
}
