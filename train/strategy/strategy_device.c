/* The strategy on a machine: variables at the end of every core's HBM, programs from its start. */
#include "train/strategy/strategy_impl.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/observe/inspect.h"
#include "stack/module/module_run.h"
#include "stack/spmd/stages.h"

/* ----- places */

static const struct strategy *first_of(const struct strategy *s)
{
    return s->options.list ? *s->options.list : NULL;
}

int64_t strategy_device_lowest(const struct strategy *s, int stage)
{
    int64_t lowest = s->lowest[stage];

    for (const struct strategy *other = first_of(s); other; other = other->next)
        for (int k = 0; other != s && k < other->stages.count; k++)
            lowest = earlier(lowest, other->lowest[k]);
    return lowest;
}

int64_t strategy_device_highest(const struct strategy *s, int stage)
{
    int64_t highest = s->highest[stage];

    for (const struct strategy *other = first_of(s); other; other = other->next)
        for (int k = 0; other != s && k < other->stages.count; k++)
            highest = later(highest, other->highest[k]);
    return highest;
}

/* of a stage, below its other variables; of all of them, below everybody's */
int strategy_device_place(struct strategy *s, int variable, struct err *e)
{
    const struct variable *v = strategy_variable(s, variable);
    struct array *a = &s->place[variable]->array;
    int stage = strategy_variable_stage(s, variable);
    int first = stage < 0 ? 0 : stage, last = stage < 0 ? s->stages.count - 1 : stage;
    int64_t below = strategy_device_lowest(s, first), above = strategy_device_highest(s, first);

    for (int k = first; k <= last; k++) {
        below = earlier(below, s->lowest[k]);
        above = later(above, s->highest[k]);
    }
    if (below - a->bytes < above)
        return err_set(e, "variable %s takes %s of HBM, %s are free beside other variables and "
                       "programs", v->name, text_bytes(a->bytes).text,
                       text_bytes(below - above).text);
    a->address = below - a->bytes;
    for (int k = first; k <= last; k++)
        s->lowest[k] = a->address;
    return 0;
}

/* ----- programs */

/* the cores of a part, replica by replica */
static int32_t *cores_of(struct strategy *s, const struct strategy_program *p, int part)
{
    int32_t *core = arena_array(&s->arena, (size_t)s->device_count, sizeof(*core));
    int count = 0;

    for (int d = 0; d < s->device_count; d++)
        if (strategy_part_of(s, p, d) == &p->part[part])
            core[count++] = s->core[d];
    return core;
}

static int compile_part(struct strategy *s, struct strategy_program *p, int k, struct err *e)
{
    struct program_part *part = &p->part[k];
    const struct graph *g = &part->graph;
    bool is_cut = p->part_count > 1;
    int stage = s->stages.count > 1 ? k : 0;
    int64_t *place = arena_array(&s->arena, (size_t)g->parameter_count + 1, sizeof(*place));
    struct module_settings settings = {
        .chip = machine_chip(s->options.machine), .codegen = CODEGEN_XLA,
        .replica_count = s->device_count / p->part_count,
        .notes_are_sources = true,
        .slice = s->device_count > 1 ? machine_slice(s->options.machine) : NULL,
        .device_core = cores_of(s, p, k), .sums_wait = is_cut,
        .sums_as = p->round ? &p->round->part[0].module : NULL,
        .message_flags = p->message_flags,
        .hbm_bytes = strategy_device_lowest(s, stage), .place = place,
        .on_stage = s->options.on_stage, .user = s->options.user};
    struct err inner;

    for (int i = 0; i < g->parameter_count; i++) {
        const struct trace_parameter *x = &p->parameter[part->parameter[i]];

        place[i] = x->kind == TRACE_VARIABLE ? s->place[x->index]->array.address : -1;
    }
    if (module_compile(g, &settings, &s->arena, &part->module, &inner))
        return err_set(e, "program %s: %.400s", p->name, inner.msg);
    s->highest[stage] = later(s->highest[stage], part->module.hbm_bytes);
    return 0;
}

int strategy_device_compile(struct strategy *s, struct strategy_program *p, struct err *e)
{
    for (int k = 0; k < p->part_count; k++)
        if (compile_part(s, p, k, e))
            return -1;
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
        const struct program_part *own = strategy_part_of(s, p, device);
        const void *part;

        if (own->input_parameter[i] < 0)
            continue;
        part = strategy_take(s, &p->input[i], device, whole);
        status = module_write(&own->module, s->options.machine, s->core[device],
                              own->input_parameter[i], part, e);
        strategy_free_taken(part, whole);
    }
    return status;
}

/*
 * A result that several devices of a replica make comes from the first of them; parts of one go to
 * places of their own.
 */
static int download_result(const struct transfer *t, int device, int i, void *to, struct err *e)
{
    const struct strategy_program *p = t->program;
    const struct program_end *end = &p->result[i];
    struct strategy *s = t->strategy;
    struct shape local = sharding_local(&s->mesh, &end->shape, &end->sharding);
    bool is_whole = sharding_is_whole(&end->sharding);
    const struct program_part *own = strategy_part_of(s, p, device);
    int output = own->result_output[i], status;
    void *part;

    if (output < 0 || (is_whole && device % strategy_part_devices(s, p)))
        return 0;
    if (is_whole)
        return module_read(&own->module, s->options.machine, s->core[device], output, to, e);
    part = mem_alloc((size_t)shape_elems(&local) * 4);
    status = module_read(&own->module, s->options.machine, s->core[device], output, part, e);
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

static bool is_loaded(const struct strategy *s, const struct strategy_program *p, int device)
{
    const struct link_result *own = p->part ? strategy_part_of(s, p, device)->module.linked : NULL;

    return own && machine_program(s->options.machine, s->core[device]) == &own->program;
}

/* what other strategies have left on cores that this one does not use must not run with it */
static void unload_others(struct strategy *s)
{
    struct machine *m = s->options.machine;
    int cores = machine_core_count(m);
    bool *is_used = mem_alloc((size_t)cores * sizeof(*is_used));

    for (int d = 0; d < s->device_count; d++)
        is_used[s->core[d]] = true;
    for (int i = 0; i < cores; i++)
        if (!is_used[i])
            machine_unload(m, i);
    mem_free(is_used);
}

/* where it is there already, so are its constants: no other program has run on the core since */
static int load_device(struct strategy *s, const struct strategy_program *p, int device,
                       struct err *e)
{
    if (is_loaded(s, p, device))
        return 0;
    return module_load(&strategy_part_of(s, p, device)->module, s->options.machine,
                       s->core[device], e);
}

void strategy_device_unload(struct strategy *s)
{
    struct machine *m = s->options.machine;

    for (const struct strategy_program *p = s->program; p; p = p->next)
        for (int d = 0; d < s->device_count; d++)
            if (is_loaded(s, p, d))
                machine_unload(m, s->core[d]);
}

static int load(struct strategy *s, const struct strategy_program *p, struct err *e)
{
    struct machine *m = s->options.machine;
    int64_t most = machine_is_one_chip(m) ? machine_chip(m)->chip_cores : INT64_MAX;

    unload_others(s);
    for (int d = 0; d < s->device_count && d < most; d++)
        if (load_device(s, p, d, e)) {
            machine_unload(m, s->core[d]);      /* its constants may not be there */
            return -1;
        }
    s->last = p;
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

/* that its output i overwrites; NULL: none, a result */
static const struct array *kept_array(const struct program_part *part, int i)
{
    int parameter = part->graph.output[i].alias_parameter;

    return parameter < 0 ? NULL : part->module.parameter[parameter];
}

static int64_t kept_bytes(const struct program_part *part)
{
    int64_t bytes = 0;

    for (int i = 0; i < part->graph.output_count; i++)
        bytes += kept_array(part, i) ? kept_array(part, i)->bytes : 0;
    return bytes;
}

static int keep(void *context, int device, struct err *e)
{
    const struct keeping *k = context;
    const struct program_part *part = strategy_part_of(k->strategy, k->program, device);
    struct machine *machine = k->strategy->options.machine;
    int core = k->strategy->core[device];
    char *at;

    if (!k->is_restore)
        k->kept[device] = mem_alloc((size_t)kept_bytes(part));
    at = k->kept[device];
    for (int i = 0; i < part->graph.output_count; i++) {
        const struct array *x = kept_array(part, i);

        if (!x)
            continue;
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
