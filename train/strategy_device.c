/* The strategy on a machine: variables at the end of every core's HBM, programs from its start. */
#include "train/strategy_impl.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "stack/module_run.h"

/* ----- places */

int strategy_device_place(struct strategy *s, int variable, struct err *e)
{
    const struct variable *v = strategy_variable(s, variable);
    struct array *a = &s->place[variable]->array;
    char needs[32], has[32];

    if (s->lowest - a->bytes < s->highest)
        return err_set(e, "variable %s takes %s of HBM, %s are free beside other variables and "
                       "programs", v->name, text_bytes(a->bytes, needs, sizeof(needs)),
                       text_bytes(s->lowest - s->highest, has, sizeof(has)));
    s->lowest -= a->bytes;
    a->address = s->lowest;
    return 0;
}

/* ----- programs */

int strategy_device_compile(struct strategy *s, struct strategy_program *p, struct err *e)
{
    const struct graph *g = &p->graph;
    int64_t *place = arena_array(&s->arena, (size_t)g->parameter_count + 1, sizeof(*place));
    struct module_settings settings = {
        .chip = machine_chip(s->options.machine), .codegen = CODEGEN_XLA,
        .replica_count = s->device_count, .notes_are_sources = true,
        .slice = s->device_count > 1 ? machine_slice(s->options.machine) : NULL,
        .device_core = s->core,
        .hbm_bytes = s->lowest, .place = place, .on_stage = s->options.on_stage,
        .user = s->options.user};
    struct err inner;

    for (int i = 0; i < g->parameter_count; i++)
        place[i] = p->parameter[i].kind == TRACE_VARIABLE
                       ? s->place[p->parameter[i].index]->array.address : -1;
    if (module_compile(g, &settings, &s->arena, &p->module, &inner))
        return err_set(e, "program %s: %.400s", p->name, inner.msg);
    s->highest = later(s->highest, p->module.hbm_bytes);
    return 0;
}

/* ----- running */

struct part {
    strategy_part part;
    void *context;
    struct part_result {
        int status;
        struct err e;
    } *result;                          /* per device */
};

static void run_part(void *context, int device)
{
    const struct part *p = context;

    p->result[device].status = p->part(p->context, device, &p->result[device].e);
}

int strategy_each_device(struct strategy *s, strategy_part part, void *context, struct err *e)
{
    struct part p = {part, context, mem_alloc((size_t)s->device_count * sizeof(*p.result))};
    int status = 0;

    machine_parallel(s->options.machine, s->device_count, run_part, &p);
    for (int d = 0; d < s->device_count && status == 0; d++) {
        status = p.result[d].status;
        if (status)
            *e = p.result[d].e;
    }
    mem_free(p.result);
    return status;
}

/* What goes to HBM before a launch and comes back after it. */
struct transfer {
    struct strategy *strategy;
    const struct strategy_program *program;
    const void *const *input;
    void *const *result;
};

static int upload(void *context, int device, struct err *e)
{
    const struct transfer *t = context;
    const struct strategy_program *p = t->program;
    struct strategy *s = t->strategy;
    int status = 0;

    for (int i = 0; i < p->input_count && status == 0; i++) {
        const void *whole = t->input[strategy_replica_of(s, device) * p->input_count + i];
        const void *part = strategy_take(s, &p->input[i], device, whole);

        status = module_write(&p->module, s->options.machine, s->core[device],
                              p->input_parameter[i], part, e);
        strategy_free_taken(part, whole);
    }
    return status;
}

/* A result that is not cut comes from a replica's first device; parts go to places of their own. */
static int download_result(const struct transfer *t, int device, int i, void *to, struct err *e)
{
    const struct strategy_program *p = t->program;
    const struct program_end *end = &p->result[i];
    struct strategy *s = t->strategy;
    struct shape local = sharding_local(&s->mesh, &end->shape, &end->sharding);
    bool is_whole = sharding_is_whole(&end->sharding);
    void *part;
    int status;

    if (is_whole && device % s->logical_count)
        return 0;
    if (is_whole)
        return module_read(&p->module, s->options.machine, s->core[device], i, to, e);
    part = mem_alloc((size_t)shape_elems(&local) * 4);
    status = module_read(&p->module, s->options.machine, s->core[device], i, part, e);
    if (status == 0)
        sharding_put(&s->mesh, &end->shape, &end->sharding, device, part, to);
    mem_free(part);
    return status;
}

static int download(void *context, int device, struct err *e)
{
    const struct transfer *t = context;
    const struct strategy_program *p = t->program;

    for (int i = 0; i < p->result_count; i++) {
        void *to = t->result[strategy_replica_of(t->strategy, device) * p->result_count + i];

        if (to && download_result(t, device, i, to, e))
            return -1;
    }
    return 0;
}

static int load(struct strategy *s, const struct strategy_program *p, struct err *e)
{
    if (s->loaded == p)
        return 0;
    s->loaded = NULL;                   /* a part of them if it fails */
    for (int d = 0; d < s->device_count; d++)
        if (module_load(&p->module, s->options.machine, s->core[d], e))
            return -1;
    s->loaded = p;
    return 0;
}

/* Rows that values name may lie in open rows of HBM or not: such programs differ in cycles. */
static bool reads_by_index(const struct graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        if (graph_op_kind(g->node[i].op) == KIND_INDEX)
            return true;
        for (int k = 0; k < 2; k++)
            if (g->node[i].called[k] && reads_by_index(g->node[i].called[k]))
                return true;
    }
    return false;
}

int strategy_device_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                        void *const *result, struct strategy_run *run, struct err *e)
{
    struct machine *machine = s->options.machine;
    struct transfer t = {s, p, input, result};
    bool has_values = machine_mode(machine) != MODE_TIMING;

    if (load(s, p, e) ||
        (has_values && p->input_count && strategy_each_device(s, upload, &t, e)) ||
        machine_run(machine, e))
        return -1;
    if (machine_mode(machine) != MODE_FUNCTIONAL) {
        run->cycles = machine_cycles(machine);
        assert(p->cycles == 0 || p->cycles == run->cycles || reads_by_index(&p->graph));
        p->cycles = run->cycles;
    }
    return has_values && result ? strategy_each_device(s, download, &t, e) : 0;
}

/* ----- once more */

/* all variables that the program assigns, packed, from a device's HBM to `kept` or back */
struct keeping {
    struct strategy *strategy;
    const struct strategy_program *program;
    char **kept;                        /* by device */
    bool is_restore;
};

static int64_t kept_bytes(const struct strategy_program *p)
{
    int64_t bytes = 0;

    for (int i = p->result_count; i < p->graph.output_count; i++)
        bytes += p->module.parameter[p->graph.output[i].alias_parameter]->bytes;
    return bytes;
}

static int keep(void *context, int device, struct err *e)
{
    const struct keeping *k = context;
    const struct strategy_program *p = k->program;
    struct machine *machine = k->strategy->options.machine;
    int core = k->strategy->core[device];
    char *at;

    if (!k->is_restore)
        k->kept[device] = mem_alloc((size_t)kept_bytes(p));
    at = k->kept[device];
    for (int i = p->result_count; i < p->graph.output_count; i++) {
        const struct array *x = p->module.parameter[p->graph.output[i].alias_parameter];

        if (k->is_restore ? machine_hbm_write(machine, core, x->address, at, x->bytes, e)
                          : machine_hbm_read(machine, core, x->address, at, x->bytes, e))
            return -1;
        at += x->bytes;
    }
    return 0;
}

int strategy_replay(struct strategy *s, struct strategy_program *p, const void *const *input,
                    void *const *result, bool keeps_variables, struct strategy_run *run,
                    struct err *e)
{
    struct keeping k = {.strategy = s, .program = p};
    int status;

    assert(s->options.machine);
    k.kept = mem_alloc((size_t)s->device_count * sizeof(*k.kept));
    keeps_variables &= machine_mode(s->options.machine) != MODE_TIMING;
    status = keeps_variables ? strategy_each_device(s, keep, &k, e) : 0;
    if (!status)
        status = strategy_run(s, p, input, result, run, e);
    k.is_restore = true;
    if (!status && keeps_variables)
        status = strategy_each_device(s, keep, &k, e);
    for (int d = 0; d < s->device_count; d++)
        mem_free(k.kept[d]);
    mem_free(k.kept);
    return status;
}
