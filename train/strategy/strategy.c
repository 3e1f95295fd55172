/*
 * Makes a strategy: replicas, mesh and stages on the cores there are, and a place in HBM for every
 * variable.
 */
#include "train/strategy/strategy.h"

#include <assert.h>
#include <string.h>

#include "data/distribute.h"
#include "stack/hlo/rewrite.h"
#include "train/strategy/strategy_impl.h"

int strategy_check_batch(int64_t batch, int replica_count, struct err *e)
{
    assert(batch > 0 && replica_count > 0);
    return distribute_check_batch(batch, replica_count, e);
}

/* ----- making one */

static int check_cores(const struct strategy *s, int core_count, struct err *e)
{
    const char *what = s->logical_count > 1 ? "device" : "replica";

    for (int d = 0; d < s->device_count; d++) {
        if (s->core[d] < 0 || s->core[d] >= core_count)
            return err_set(e, "%s %d is to run on core %d, allowed are 0..%d", what, d, s->core[d],
                           core_count - 1);
        for (int other = 0; other < d; other++)
            if (s->core[other] == s->core[d])
                return err_set(e, "%ss %d and %d are both to run on core %d", what, other, d,
                               s->core[d]);
    }
    return 0;
}

static int choose_mesh(struct strategy *s, struct err *e)
{
    const struct mesh *m = s->options.mesh;

    s->mesh = m ? *m : (struct mesh){1, {{"replicas", s->replica_count}}};
    if (s->mesh.axis[0].size != s->replica_count)
        return err_set(e, "the mesh has %d replicas, the strategy %d", s->mesh.axis[0].size,
                       s->replica_count);
    s->device_count = mesh_device_count(&s->mesh) * s->stages.count;
    s->logical_count = s->device_count / s->replica_count;
    return 0;
}

/* on a machine they have cores; on the host a replica is one graph */
static int choose_stages(struct strategy *s, int cores, struct err *e)
{
    const struct strategy_options *o = &s->options;

    s->stages = (struct strategy_stages){.count = 1};
    if (!o->stages || !o->machine)
        return 0;
    s->stages = *o->stages;
    if (s->stages.count < 1 || s->stages.count > cores ||
        (!o->replica_count && cores % s->stages.count))
        return err_set(e, "%d stages on %d cores; each replica needs as many cores as there are "
                       "stages, and the slice a whole number of replicas", s->stages.count, cores);
    return 0;
}

static int choose_replicas(struct strategy *s, struct err *e)
{
    const struct strategy_options *o = &s->options;
    int cores = o->machine ? machine_slice(o->machine)->core_count : 1;

    if (choose_stages(s, cores, e))
        return -1;
    s->replica_count = o->replica_count ? o->replica_count : o->mesh ? o->mesh->axis[0].size
                                                                     : cores / s->stages.count;
    if (s->replica_count < 1)
        return err_set(e, "%d replicas; there must be at least 1", s->replica_count);
    if (choose_mesh(s, e))
        return -1;
    s->core = arena_array(&s->arena, (size_t)s->device_count, sizeof(*s->core));
    for (int d = 0; d < s->device_count; d++)
        s->core[d] = o->core ? o->core[d] : d;
    if (!o->machine)
        return 0;
    if (s->device_count > cores) {
        char each[64] = "";

        if (s->stages.count > 1 && s->mesh.axis_count > 1)
            snprintf(each, sizeof(each), " of %d stages of %d logical devices", s->stages.count,
                     strategy_stage_devices(s));
        else if (s->stages.count > 1)
            snprintf(each, sizeof(each), " of %d stages", s->stages.count);
        else if (s->logical_count > 1)
            snprintf(each, sizeof(each), " of %d logical devices", s->logical_count);
        return err_set(e, "%d replicas%s on %d cores; each needs a core of its own",
                       s->replica_count, each, cores);
    }
    return check_cores(s, cores, e);
}

/* all chips are the first one's likeness: what runs on them must be, too */
static int check_one_chip(const struct strategy *s, struct err *e)
{
    if (!s->options.machine || !machine_is_one_chip(s->options.machine))
        return 0;
    if (s->device_count > 1 &&
        s->device_count != machine_slice(s->options.machine)->core_count)
        return err_set(e, "one chip is to stand for all: every core must be a replica, and %d of "
                       "the %d are", s->device_count,
                       machine_slice(s->options.machine)->core_count);
    for (int d = 0; d < s->device_count; d++)
        if (s->core[d] != d || s->logical_count > 1)
            return err_set(e, "one chip is to stand for all: every core must be a replica, in the "
                           "order of the cores");
    return 0;
}

/*
 * Kernels copy whole windows also where an array ends within one, and read what lies behind it.
 * Behind the last variable there must be memory as well: no window is larger than VMEM.
 */
static int64_t end_of_hbm(const struct machine *m)
{
    int64_t all = machine_hbm_share_bytes(m), window = machine_chip(m)->vmem_bytes;

    return (all - (window < all / 16 ? window : all / 16)) / ARRAY_TILE_BYTES * ARRAY_TILE_BYTES;
}

struct strategy *strategy_create(const struct strategy_options *o, struct err *e)
{
    struct strategy *s = mem_alloc(sizeof(*s));

    s->options = *o;
    s->set = o->set;
    arena_init(&s->arena);
    if (choose_replicas(s, e) || check_one_chip(s, e)) {
        strategy_destroy(s);
        return NULL;
    }
    s->end = o->machine ? end_of_hbm(o->machine) : 0;
    s->lowest = arena_array(&s->arena, (size_t)s->stages.count, sizeof(*s->lowest));
    s->highest = arena_array(&s->arena, (size_t)s->stages.count, sizeof(*s->highest));
    for (int i = 0; i < s->stages.count; i++)
        s->lowest[i] = s->end;
    if (o->list) {
        s->next = *o->list;
        *o->list = s;
    }
    if (strategy_place_variables(s, e)) {
        strategy_destroy(s);
        return NULL;
    }
    return s;
}

/* one that could not be made is not in it */
static void leave_list(const struct strategy *s)
{
    struct strategy **at = s->options.list;

    while (at && *at && *at != s)
        at = &(*at)->next;
    if (at && *at)
        *at = s->next;
}

void strategy_destroy(struct strategy *s)
{
    if (!s)
        return;
    leave_list(s);
    if (s->options.machine)
        strategy_device_unload(s);
    for (struct strategy_program *p = s->program; p; p = p->next) {
        graph_fini(&p->graph);
        for (int i = 0; i < p->part_count; i++)
            graph_fini(&p->part[i].graph);
    }
    for (int v = 0; v < s->placed_count; v++)
        for (int d = 0; s->place[v]->value && d < s->device_count; d++)
            mem_free(s->place[v]->value[d]);
    mem_free(s->place);
    arena_fini(&s->arena);
    mem_free(s);
}

int strategy_replica_count(const struct strategy *s) { return s->replica_count; }
int strategy_device_count(const struct strategy *s) { return s->device_count; }
const struct mesh *strategy_mesh(const struct strategy *s) { return &s->mesh; }
void strategy_set_stages(struct strategy *s, const struct strategy_stages *stages)
{
    if (!s->options.machine)
        return;
    assert(stages->count == s->stages.count);
    s->stages = *stages;
}

int strategy_core(const struct strategy *s, int device)
{
    return s->options.machine ? s->core[device] : 0;
}

int strategy_where(struct strategy *s, int variable, int device, struct strategy_where *out,
                   struct err *e)
{
    const struct array *a;

    if (strategy_place_variables(s, e))
        return -1;
    a = &s->place[variable]->array;
    *out = (struct strategy_where){a->shape, s->options.machine ? a->address : 0,
                                   s->options.machine ? a->bytes : shape_elems(&a->shape) * 4};
    return strategy_holds(s, device, variable);
}

int strategy_stage_count(const struct strategy *s) { return s->stages.count; }
struct machine *strategy_machine(const struct strategy *s) { return s->options.machine; }
struct variable_set *strategy_variables(const struct strategy *s) { return s->set; }

int64_t strategy_variable_bytes(const struct strategy *s)
{
    int64_t bytes = 0;

    for (int i = 0; i < s->stages.count; i++)
        bytes = s->end - s->lowest[i] > bytes ? s->end - s->lowest[i] : bytes;
    return bytes;
}

/* ----- programs */

/* how it lies on the devices: as a note says, else whole */
static struct program_end end_of(const struct trace *t, int node)
{
    struct program_end end = {.shape = t->graph.node[node].shape};

    for (int i = 0; i < t->note_count; i++)
        if (t->note[i].node == node)
            end.sharding = t->note[i].sharding;
    return end;
}

static void keep_ends(struct strategy *s, struct strategy_program *p, const struct trace *t)
{
    p->input = arena_array(&s->arena, (size_t)t->input_count + 1, sizeof(*p->input));
    p->result = arena_array(&s->arena, (size_t)t->result_count + 1, sizeof(*p->result));
    for (int i = 0; i < t->result_count; i++)
        p->result[i] = end_of(t, t->graph.output[i].node);
    p->input_count = t->input_count;
    p->result_count = t->result_count;
    p->parameter = arena_array(&s->arena, (size_t)p->graph.parameter_count + 1,
                               sizeof(*p->parameter));
    for (int i = 0; i < p->graph.parameter_count; i++) {
        p->parameter[i] = t->parameter[i];
        if (t->parameter[i].kind == TRACE_INPUT)
            p->input[t->parameter[i].index] = end_of(t, t->graph.parameter[i]);
    }
}

/* of what a variable or input is, its name */
static const char *name_of(const struct trace *t, int node)
{
    const struct graph_node *n = &t->graph.node[node];

    while (n->op == HLO_RESHAPE || n->op == HLO_COPY)
        n = &t->graph.node[n->operand[0]];
    return n->name;
}

/* a step says who makes its arrays, or how they lie over all devices */
static int check_places(const struct trace *whole, struct err *e)
{
    const struct trace *t = strategy_step_of(whole);

    if (!t->place_count || !t->note_count)
        return 0;
    return err_set(e, "%s is split or replicated over the logical devices, and %s assigned to "
                   "device %d; a step does one or the other", name_of(t, t->note[0].node),
                   name_of(t, t->place[0].node), t->place[0].device);
}

/* the graph that each device runs */
static int make_graph(struct strategy *s, struct strategy_program *p, const struct trace *t,
                      struct err *e)
{
    if (s->logical_count == 1 || s->stages.count > 1) {
        graph_copy(&t->graph, &s->arena, &p->graph);
        return 0;
    }
    graph_init(&p->graph, &s->arena, p->name);
    return graph_partition(&t->graph, &s->mesh, t->note, t->note_count, &p->graph, e);
}

/*
 * Which sums over replicas run in parts beside kernels depends on what there is beside them, and
 * decides in which order they add up. A step in a loop has more beside it than one that is launched
 * by itself; that its bits are the same, it takes the other one's choice.
 */
static int compile_round(struct strategy *s, struct strategy_program *p, const struct trace *t,
                         struct err *e)
{
    if (!t->round || !s->options.machine || s->device_count == 1 || p->part_count > 1)
        return 0;
    p->round = strategy_compile(s, t->round, e);
    return p->round ? 0 : -1;
}

struct strategy_program *strategy_compile(struct strategy *s, const struct trace *t,
                                          struct err *e)
{
    struct strategy_program *p = arena_alloc(&s->arena, sizeof(*p));
    struct err inner;

    assert(t->is_finished && t->set == s->set && t->replica_count == s->replica_count);
    p->name = arena_strdup(&s->arena, t->graph.name);
    p->next = s->program;
    s->program = p;
    if (check_places(t, &inner) || make_graph(s, p, t, &inner)) {
        err_set(e, "%s: %.400s", p->name, inner.msg);
        return NULL;
    }
    keep_ends(s, p, t);
    graph_eliminate_common(&p->graph);
    if (graph_verify(&p->graph, &inner) || strategy_cut(s, p, t, &inner)) {
        err_set(e, "%s: %.400s", p->name, inner.msg);
        return NULL;
    }
    if (compile_round(s, p, t, e) || strategy_place_variables(s, e) ||
        (s->options.machine && strategy_device_compile(s, p, e)))
        return NULL;
    return p;
}

static bool is_of(const struct strategy_cached *c, strategy_step step, const void *context,
                  bool is_training, const struct shape *shape, int count)
{
    if (c->step != step || c->context != context || c->is_training != is_training ||
        c->count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (!shape_equal(&c->shape[i], &shape[i]))
            return false;
    return true;
}

static int trace_step(struct trace *t, struct strategy_cached *c, struct err *e)
{
    int *input = arena_array(t->arena, (size_t)c->count + 1, sizeof(*input));

    for (int i = 0; i < c->count; i++)
        input[i] = trace_input(t, arena_printf(t->arena, "input.%d", i), &c->shape[i]);
    if (c->step(t, input, c->count, c->context, e))
        return -1;
    trace_finish(t);
    return 0;
}

struct strategy_program *strategy_function(struct strategy *s, const char *name,
                                           strategy_step step, void *context, bool is_training,
                                           const struct shape *shape, int count, struct err *e)
{
    struct strategy_cached *c;
    struct trace t;

    for (c = s->cached; c; c = c->next)
        if (is_of(c, step, context, is_training, shape, count))
            return c->program;
    c = arena_alloc(&s->arena, sizeof(*c));
    *c = (struct strategy_cached){.step = step, .context = context, .is_training = is_training,
                                  .count = count, .next = s->cached};
    c->shape = arena_array(&s->arena, (size_t)count + 1, sizeof(*c->shape));
    for (int i = 0; i < count; i++)
        c->shape[i] = shape[i];
    trace_init(&t, &s->arena, name, s->set, s->replica_count, is_training);
    t.mesh = s->logical_count > 1 && s->stages.count == 1 ? &s->mesh : NULL;
    if (trace_step(&t, c, e) == 0)
        c->program = strategy_compile(s, &t, e);
    trace_fini(&t);
    if (!c->program)
        return NULL;
    s->cached = c;
    return c->program;
}

int strategy_program_input_count(const struct strategy_program *p) { return p->input_count; }
int strategy_program_result_count(const struct strategy_program *p) { return p->result_count; }

const struct shape *strategy_program_input_shape(const struct strategy_program *p, int input)
{
    assert(input >= 0 && input < p->input_count);
    return &p->input[input].shape;
}

int64_t strategy_program_input_bytes(const struct strategy_program *p)
{
    int64_t bytes = 0;

    for (int k = 0; k < p->part_count; k++)
        for (int i = 0; i < p->input_count; i++)
            if (p->part[k].input_parameter[i] >= 0)
                bytes += p->part[k].module.parameter[p->part[k].input_parameter[i]]->bytes;
    return p->part_count ? bytes / p->part_count : 0;
}

const struct shape *strategy_program_result_shape(const struct strategy_program *p, int result)
{
    assert(result >= 0 && result < p->result_count);
    return &p->result[result].shape;
}

const struct graph *strategy_program_graph(const struct strategy_program *p) { return &p->graph; }

int64_t strategy_program_flops(const struct strategy *s, const struct strategy_program *p)
{
    return graph_flops(&p->graph) / (p->part_count > 1 ? s->logical_count : 1);
}

const struct module *strategy_program_module(const struct strategy_program *p)
{
    return p->part_count ? &p->part[0].module : NULL;
}

struct strategy_part strategy_program_part(const struct strategy *s,
                                           const struct strategy_program *p, int stage)
{
    const struct program_part *part = &p->part[stage];
    int64_t bytes = 0;

    assert(stage >= 0 && stage < p->part_count);
    for (int v = 0; v < s->placed_count; v++)
        if (strategy_holds(s, stage * strategy_part_devices(s, p), v))
            bytes += s->place[v]->array.bytes;
    return (struct strategy_part){&part->module, bytes, part->kept_most, part->sent_bytes};
}

int strategy_program_part_count(const struct strategy_program *p) { return p->part_count; }

static void count_bytes(const struct strategy *s, const struct strategy_program *p,
                        void *const *result, struct strategy_run *run)
{
    for (int i = 0; i < p->input_count; i++)
        run->input_bytes += shape_elems(strategy_program_input_shape(p, i)) * 4;
    run->input_bytes *= s->replica_count;
    for (int r = 0; r < s->replica_count; r++)
        for (int i = 0; result && i < p->result_count; i++)
            if (result[r * p->result_count + i])
                run->result_bytes += shape_elems(strategy_program_result_shape(p, i)) * 4;
}

static bool must_check_replicas(const struct strategy *s)
{
#ifdef SYSTOLE_DEBUG
    return s->device_count > 1;
#else
    return s->options.checks_replicas && s->device_count > 1;
#endif
}

const void *strategy_take(const struct strategy *s, const struct program_end *end, int device,
                          const void *whole)
{
    struct shape local = sharding_local(&s->mesh, &end->shape, &end->sharding);
    void *part;

    if (sharding_is_whole(&end->sharding))
        return whole;
    part = mem_alloc((size_t)shape_elems(&local) * 4);
    sharding_take(&s->mesh, &end->shape, &end->sharding, device, whole, part);
    return part;
}

void strategy_free_taken(const void *taken, const void *whole)
{
    if (taken != whole)
        mem_free((void *)taken);
}

int strategy_run(struct strategy *s, struct strategy_program *p, const void *const *input,
                 void *const *result, struct strategy_run *run, struct err *e)
{
    struct strategy_run own;
    bool has_values = !s->options.machine || machine_mode(s->options.machine) != MODE_TIMING;

    run = run ? run : &own;
    *run = (struct strategy_run){0};
    count_bytes(s, p, result, run);
    if (s->options.machine ? strategy_device_run(s, p, input, result, run, e)
                           : strategy_host_run(s, p, input, result, e))
        return -1;
    return has_values && must_check_replicas(s) ? strategy_check_replicas(s, e) : 0;
}

const struct strategy_program *strategy_last_program(const struct strategy *s)
{
    return s->last;
}
