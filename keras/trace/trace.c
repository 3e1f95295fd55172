/*
 * Builds the graph of a step while the model's functions run: parameters on first use, assignments
 * as outputs.
 */
#include "keras/trace/trace.h"

#include <assert.h>
#include <string.h>

#include "stack/spmd/stages.h"

void trace_init(struct trace *t, struct arena *a, const char *name, struct variable_set *set,
                int replica_count, bool is_training)
{
    assert(replica_count > 0);
    memset(t, 0, sizeof(*t));
    t->arena = a;
    t->set = set;
    t->replica_count = replica_count;
    t->is_training = is_training;
    graph_init(&t->graph, a, name);
}

void trace_fini(struct trace *t)
{
    if (t->round)
        trace_fini(t->round);
    graph_fini(&t->graph);
    mem_free(t->parameter);
    mem_free(t->variable);
    mem_free(t->note);
    mem_free(t->place);
    mem_free(t->phase);
    memset(t, 0, sizeof(*t));
}

/* Variables may be added to the set while the step is traced. */
static struct trace_variable *find(struct trace *t, int variable)
{
    assert(variable >= 0 && variable < t->set->count);
    t->variable = mem_grow(t->variable, &t->variable_capacity, (size_t)t->set->count,
                           sizeof(*t->variable));
    for (; t->known_count < t->set->count; t->known_count++)
        t->variable[t->known_count] = (struct trace_variable){
            .value = NODE_NONE, .whole = NODE_NONE, .parameter = -1};
    return &t->variable[variable];
}

static int add_parameter(struct trace *t, enum trace_source_kind kind, int index, const char *name,
                         const struct shape *shape)
{
    int number = t->graph.parameter_count;

    assert(!t->is_finished);
    t->parameter = mem_grow(t->parameter, &t->parameter_capacity, (size_t)number + 1,
                            sizeof(*t->parameter));
    t->parameter[number] = (struct trace_parameter){kind, index};
    return graph_parameter(&t->graph, *shape, arena_printf(t->arena, "%s", name));
}

void trace_note(struct trace *t, const struct sharding_note *note)
{
    t->note = mem_grow(t->note, &t->note_capacity, (size_t)t->note_count + 1, sizeof(*t->note));
    t->note[t->note_count++] = *note;
}

int trace_read(struct trace *t, int variable)
{
    struct trace_variable *v = find(t, variable);
    const struct variable *what = &t->set->variable[variable];

    if (v->value == NODE_NONE) {
        struct shape local = variable_local_shape(what, t->replica_count);
        struct shape lies = variable_memory_shape(what, t->replica_count);

        v->parameter = t->graph.parameter_count;
        v->value = add_parameter(t, TRACE_VARIABLE, variable, what->name, &lies);
        v->value = graph_reshape(&t->graph, v->value, local);
        if (!sharding_is_whole(&what->sharding))
            trace_note(t, &(struct sharding_note){v->value, what->sharding, NULL});
    }
    return v->value;
}

int trace_read_whole(struct trace *t, int variable)
{
    const struct variable *what = &t->set->variable[variable];
    const struct graph_groups all = {.count = 1, .size = t->replica_count};
    const char *source = t->graph.source;
    int value = trace_read(t, variable);
    struct trace_variable *v = find(t, variable);

    if (what->shard_dim < 0 || t->replica_count == 1)
        return value;
    if (v->whole == NODE_NONE) {
        trace_source(t, "all-gather", what->name);
        v->whole = graph_all_gather(&t->graph, &value, 1, what->shard_dim, &all);
        t->graph.source = source;
    }
    return v->whole;
}

void trace_assign(struct trace *t, int variable, int node)
{
    int old = trace_read(t, variable);

    assert(shape_equal(&t->graph.node[old].shape, &t->graph.node[node].shape));
    t->variable[variable].value = node;
    t->variable[variable].whole = NODE_NONE;
    t->variable[variable].is_assigned = true;
}

int trace_input(struct trace *t, const char *name, const struct shape *shape)
{
    return add_parameter(t, TRACE_INPUT, t->input_count++, name, shape);
}

int trace_result(struct trace *t, const char *name, int node)
{
    assert(!t->is_finished);
    graph_output(&t->graph, node, arena_printf(t->arena, "%s", name), -1);
    return t->result_count++;
}

int trace_shard(struct trace *t, int node, const struct sharding *s, const char *what,
                struct err *e)
{
    if (!t->mesh)
        return 0;
    if (sharding_check(t->mesh, &t->graph.node[node].shape, s, what, e))
        return -1;
    trace_note(t, &(struct sharding_note){node, *s, NULL});
    return 0;
}

/* the device that was said; -1: none */
static int place_of(const struct trace *t, int node)
{
    for (int i = 0; i < t->place_count; i++)
        if (t->place[i].node == node)
            return t->place[i].device;
    return -1;
}

/* what a node is that cannot be on one device, or is on another one, has a copy there */
static int node_to_place(struct trace *t, int node, int device)
{
    enum graph_op op = t->graph.node[node].op;
    int has = place_of(t, node);

    if (op != HLO_PARAMETER && op != HLO_GET_TUPLE_ELEMENT && (has < 0 || has == device))
        return node;
    return graph_add(&t->graph, &(struct graph_node){.op = HLO_COPY}, &node, 1);
}

int trace_place(struct trace *t, int node, int device, int *placed, struct err *e)
{
    int devices = t->mesh ? mesh_stride(t->mesh, 0) : 1;

    if (device < 0 || device >= devices)
        return err_set(e, "assign to logical device %d: a replica has %d, allowed are 0..%d",
                       device, devices, devices - 1);
    *placed = devices > 1 ? node_to_place(t, node, device) : node;
    if (devices == 1 || place_of(t, *placed) == device)
        return 0;
    t->place = mem_grow(t->place, &t->place_capacity, (size_t)t->place_count + 1,
                        sizeof(*t->place));
    t->place[t->place_count++] = (struct trace_place){*placed, device};
    return 0;
}

int *trace_devices(const struct trace *t, struct arena *a)
{
    int *device = arena_array(a, (size_t)t->graph.node_count + 1, sizeof(*device));

    for (int i = 0; i < t->graph.node_count; i++)
        device[i] = -1;
    for (int i = 0; i < t->place_count; i++)
        device[t->place[i].node] = t->place[i].device;
    return device;
}

void trace_source(struct trace *t, const char *scope, const char *what)
{
    t->graph.source = scope ? arena_printf(t->arena, "%s/%s", scope, what)
                            : arena_printf(t->arena, "%s", what);
}

void trace_begin_phase(struct trace *t, int phase)
{
    t->phase = mem_grow(t->phase, &t->phase_capacity, (size_t)t->phase_count + 1,
                        sizeof(*t->phase));
    t->phase[t->phase_count++] = (struct trace_phase){t->graph.node_count, phase};
}

int trace_phases(const struct trace *t, struct arena *a, int **phase)
{
    int now = phase_forward(0), next = 0, micro = 0;
    int *list = arena_array(a, (size_t)t->graph.node_count + 1, sizeof(*list));

    for (int i = 0; i < t->graph.node_count; i++) {
        while (next < t->phase_count && t->phase[next].first_node <= i)
            now = t->phase[next++].phase;
        list[i] = now;
        micro = now / 2 > micro ? now / 2 : micro;
    }
    *phase = list;
    return micro + 1;
}

void trace_finish(struct trace *t)
{
    assert(!t->is_finished);
    for (int i = 0; i < t->known_count; i++) {
        const struct trace_variable *v = &t->variable[i];
        struct shape lies;

        if (!v->is_assigned)
            continue;
        lies = variable_memory_shape(&t->set->variable[i], t->replica_count);
        graph_output(&t->graph, graph_reshape(&t->graph, v->value, lies),
                     t->set->variable[i].name, v->parameter);
    }
    t->is_finished = true;
}
