/* Compiles programs for launches that come later, and carries these out. */
#include "exec/executable_impl.h"

#include <string.h>

static const struct hlo_computation *entry_of(const struct executable *x)
{
    return &x->graph.device->computation[x->graph.device->entry];
}

/* arrays of a device: of a program that was cut its parts */
static void list_leaves(struct executable *x)
{
    const struct hlo_computation *entry = entry_of(x);
    const struct hlo_type *result = entry->instruction[entry->root].type;
    int n = 0;

    for (int i = 0; i < entry->parameter_count; i++)
        x->parameter_count += hlo_type_leaves(entry->instruction[entry->parameter[i]].type);
    x->result_count = hlo_type_leaves(result);
    x->parameter = arena_array(&x->arena, (size_t)x->parameter_count + 1, sizeof(*x->parameter));
    x->result = arena_array(&x->arena, (size_t)x->result_count + 1, sizeof(*x->result));
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct hlo_type *t = entry->instruction[entry->parameter[i]].type;

        for (int k = 0; k < hlo_type_leaves(t); k++)
            x->parameter[n++] = hlo_type_leaf(t, k);
    }
    for (int i = 0; i < x->result_count; i++)
        x->result[i] = hlo_type_leaf(result, i);
}

/*
 * Whether an operation goes between devices, or between one and its host, which must know which, or
 * asks which one it is on. Which groups it names says nothing: none are all devices.
 */
static bool exchanges(const struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_instruction *n = &m->computation[c].instruction[i];

            if ((hlo_opcode_attributes(n->op) & HLO_HAS_GROUPS) ||
                n->op == OPCODE_REPLICA_ID || n->op == OPCODE_PARTITION_ID)
                return true;
        }
    return false;
}

static int cut(struct executable *x, struct err *e)
{
    struct program_graph *g = &x->graph;

    x->is_alone = x->settings.replicas > 1 && x->settings.partitions <= 1 && !exchanges(g->module);
    if (x->settings.replicas)
        g->module->replica_count = x->is_alone ? 1 : x->settings.replicas;
    if (x->settings.partitions)
        g->module->partition_count = x->settings.partitions;
    return program_graph_cut(g, &x->arena, e);
}

/* groups of collectives, and shardings, may name devices that the caller has not given it */
static int check_devices(const struct executable *x, struct err *e)
{
    int64_t given = x->settings.replicas * x->settings.partitions;

    if (given == 0 || x->graph.devices <= given)
        return 0;
    return err_set(e, "the program names %d devices, and is compiled for %lld", x->graph.devices,
                   (long long)given);
}

struct module_settings executable_module_settings(const struct executable *x)
{
    return (struct module_settings){.codegen = x->settings.codegen, .chip = &x->chip,
                                    .replica_count = x->graph.devices,
                                    .megacore = x->settings.has_megacore,
                                    .assume_trips = x->settings.assume_trips,
                                    .assume_branch = x->settings.assume_branch,
                                    .keeps_roundings = x->settings.is_highest,
                                    .notes_are_sources = true};
}

static int compile(struct executable *x, struct err *e)
{
    struct module_settings s = executable_module_settings(x);

    x->loaded.cache = x->settings.cache;
    return loaded_compile(&x->graph.lowered.graph, &s, x->graph.devices, x->settings.core,
                          &x->slice, &x->arena, &x->loaded, e);
}

static int advance(struct executable *x, const void *bytes, size_t size, const char *name,
                   enum executable_stage *stage, struct err *e)
{
    *stage = EXECUTABLE_READ;
    if (program_graph_read_bytes(&x->graph, bytes, size, arena_strdup(&x->arena, name),
                                 x->settings.is_highest, &x->arena, e))
        return -1;
    *stage = EXECUTABLE_CUT;
    if (cut(x, e))
        return -1;
    if (check_devices(x, e)) {
        *stage = EXECUTABLE_READ;
        return -1;
    }
    list_leaves(x);
    structure_find_queues(x->graph.device, &x->arena, &x->queues);
    if (executable_check_queues(x, e))
        return -1;
    x->graph.queue_entries = x->settings.queue_entries;
    if (x->settings.is_host) {
        *stage = EXECUTABLE_DONE;
        return 0;
    }
    *stage = EXECUTABLE_LOWER;
    if (program_graph_lower(&x->graph, &x->arena, e))
        return -1;
    *stage = EXECUTABLE_COMPILE;
    if (compile(x, e)) {
        if (x->loaded.module.hbm_bytes > x->loaded.module.hbm_limit)
            *stage = EXECUTABLE_FIT;
        return -1;
    }
    *stage = EXECUTABLE_DONE;
    return 0;
}

int executable_make(struct executable *x, const struct executable_settings *s, const void *bytes,
                    size_t size, const char *name, enum executable_stage *stage, struct err *e)
{
    *x = (struct executable){.settings = *s, .slice = *s->slice, .chip = *s->chip};
    x->settings.slice = &x->slice;
    x->settings.chip = &x->chip;
    arena_init(&x->arena);
    return advance(x, bytes, size, name, stage, e);
}

void executable_abandon_machine(struct executable *x)
{
    x->loaded.machine = NULL;
    machines_end(x);
}

void executable_fini(struct executable *x)
{
    machines_forget(x);
    loaded_drop_machine(&x->loaded);
    program_graph_fini(&x->graph);
    arena_fini(&x->arena);
}

/* ----- launches */

bool executable_has_queues(const struct executable *x)
{
    return x->queues.count > 0;
}

/* what evaluates the program on the host */
int executable_evaluate(struct executable *x, const struct eval_settings *with,
                        struct value *const *const *argument, struct value *const *const *result,
                        struct arena *a, struct err *e)
{
    struct eval_settings settings = *with;
    size_t devices = (size_t)x->graph.devices;
    const struct eval_array **input = arena_array(a, devices, sizeof(*input));
    struct eval_array **output = arena_array(a, devices, sizeof(*output));
    struct eval_report report;

    settings.precision = x->settings.is_highest ? EVAL_EXACT : EVAL_BF16_DEFAULT;
    settings.replica_count = x->graph.module->replica_count;
    settings.partition_count = x->graph.module->partition_count;
    settings.threads = x->settings.engine.thread_count;
    for (size_t d = 0; d < devices; d++) {
        struct eval_array *in = arena_array(a, (size_t)x->parameter_count + 1, sizeof(*in));

        for (int i = 0; i < x->parameter_count; i++)
            in[i] = (struct eval_array){.type = *x->parameter[i], .data = (void *)(uintptr_t)value_data(argument[d][i])};
        input[d] = in;
        output[d] = arena_array(a, (size_t)x->result_count + 1, sizeof(**output));
    }
    if (eval_run(x->graph.device, &settings, input, output, a, &report, e))
        return -1;
    for (size_t d = 0; d < devices && result; d++)
        for (int i = 0; i < x->result_count; i++)
            if (x->result[i]->element != ELEMENT_TOKEN)
                memcpy(value_room(result[d][i]), output[d][i].data, hlo_type_bytes(x->result[i]));
    return 0;
}

int executable_begin(struct executable *x, struct err *e)
{
    if (x->loaded.machine)
        return 0;
    return loaded_make_machine(&x->loaded, &x->slice, &x->chip, &x->settings.engine, e) ||
           loaded_put(&x->loaded, e) ? -1 : 0;
}

int executable_write(struct executable *x, struct value *const *const *argument, struct arena *a,
                     struct err *e)
{
    for (int i = 0; i < x->loaded.devices; i++) {
        struct loaded_device d = loaded_device(&x->loaded, i);

        for (int k = 0; k < x->parameter_count; k++)
            if (x->parameter[k]->element != ELEMENT_TOKEN &&
                value_write(argument[i][k], &d, &x->graph.lowered.parameter[k], a, e))
                return -1;
    }
    return 0;
}

int executable_read(struct executable *x, struct value *const *const *result, struct arena *a,
                    struct err *e)
{
    for (int i = 0; i < x->loaded.devices; i++) {
        struct loaded_device d = loaded_device(&x->loaded, i);

        for (int k = 0; k < x->result_count; k++)
            if (x->result[k]->element != ELEMENT_TOKEN &&
                value_read(result[i][k], &d, &x->graph.lowered.result[k], a, e))
                return -1;
    }
    return 0;
}

int executable_run(struct executable *x, struct err *e)
{
    int status;

    if (x->watch)
        x->watch->begin(x->watcher, x);
    status = machine_run(x->loaded.machine, e);
    if (x->watch)
        x->watch->end(x->watcher, x, status == 0);
    if (status)
        return -1;
    x->cycles = machine_cycles(x->loaded.machine);
    return 0;
}

static int run_for_time(struct executable *x, struct value *const *const *result, struct err *e)
{
    for (int i = 0; i < x->loaded.devices; i++)
        for (int k = 0; k < x->result_count; k++)
            memset(value_room(result[i][k]), 0, hlo_type_bytes(x->result[k]));
    return executable_begin(x, e) || executable_run(x, e) ? -1 : 0;
}

static int launch(struct executable *x, const struct executable_host *host,
                  struct value *const *const *argument, struct value *const *const *result,
                  struct arena *a, struct err *e)
{
    const struct eval_settings settings = {0};

    if (!x->settings.is_host && x->settings.engine.mode == MODE_TIMING)
        return run_for_time(x, result, e);
    if (x->queues.count)
        return executable_converse(x, host, argument, result, a, e);
    if (x->settings.is_host)
        return executable_evaluate(x, &settings, argument, result, a, e);
    return executable_begin(x, e) || executable_write(x, argument, a, e) || executable_run(x, e) ||
           executable_read(x, result, a, e) ? -1 : 0;
}

int executable_launch(struct executable *x, const struct executable_host *host,
                      struct value *const *const *argument, struct value *const *const *result,
                      struct err *e)
{
    struct arena a;
    int status;

    arena_init(&a);
    machines_begin(x);
    status = launch(x, host, argument, result, &a, e);
    machines_end(x);
    arena_fini(&a);
    if (status == 0)
        x->launches++;
    return status;
}
