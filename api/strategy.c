/* Makes the API's strategies and their variables. */
#include "api/api.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "keras/call/call.h"

/* until a model is compiled nothing is of one stage */
static int of_all(const void *user, const char *name)
{
    (void)user;
    (void)name;
    return -1;
}

static int start(sy_strategy *s, const int *core, const sy_strategy_options *o, struct err *e)
{
    struct cluster *c = &s->cluster->cluster;
    struct strategy_stages stages = {s->stages, of_all, NULL};
    struct strategy_options options = {
        .machine = c->machine, .list = &c->strategies, 
        .mesh = s->stages && s->mesh.axis_count == 1 ? NULL : &s->mesh,
        .stages = s->stages ? &stages : NULL, .core = core, .set = &s->set,
        .replica_count = s->mesh.axis[0].size,
        .seed = o && o->seed ? o->seed : 1, .checks_replicas = o && o->check_replicas};

    if (!c->is_host && !c->machine)
        return err_set(e, "%s is not initialised: call sy_cluster_initialize first",
                       c->slice.name);
    s->strategy = strategy_create(&options, e);
    if (!s->strategy)
        return -1;
    c->user_count++;
    return 0;
}

static sy_strategy *new_strategy(sy_cluster *c)
{
    sy_strategy *s = mem_alloc(sizeof(*s));

    s->cluster = c;
    arena_init(&s->arena);
    variable_set_init(&s->set, &s->arena);
    return s;
}

static void free_strategy(sy_strategy *s)
{
    if (s->strategy)
        s->cluster->cluster.user_count--;
    strategy_destroy(s->strategy);
    outfile_unlock(&s->lock);
    for (size_t i = 0; i < s->variable_capacity; i++)
        mem_free(s->variable[i]);
    mem_free(s->variable);
    variable_set_fini(&s->set);
    arena_fini(&s->arena);
    mem_free(s);
}

static sy_status finish(sy_strategy *s, int status, const struct err *e, sy_strategy **out)
{
    if (status) {
        free_strategy(s);
        return api_fail(e);
    }
    api_handle_add(s, API_STRATEGY);
    *out = s;
    return SY_OK;
}

static int add_axis(sy_strategy *s, const sy_axis *axis, struct err *e)
{
    struct mesh *m = &s->mesh;

    if (!axis->name || !*axis->name || axis->size < 1)
        return err_set(e, "axis %d of the mesh, \"%s\", has size %d; a name and at least 1 are "
                       "needed", m->axis_count - 1, axis->name ? axis->name : "", axis->size);
    for (int i = 0; i < m->axis_count; i++)
        if (strcmp(m->axis[i].name, axis->name) == 0)
            return err_set(e, "two axes of the mesh have the name \"%s\"%s", axis->name,
                           i ? "" : ", which is that of the replicas");
    m->axis[m->axis_count].name = arena_strdup(&s->arena, axis->name);
    m->axis[m->axis_count++].size = axis->size;
    return 0;
}

static int add_axes(sy_strategy *s, const sy_axis *axis, int count, struct err *e)
{
    if (count < 0 || count > MESH_AXES_MAX - 1 || (count && !axis))
        return err_set(e, "a mesh of %d axes beside the replicas; allowed are 1..%d", count,
                       MESH_AXES_MAX - 1);
    for (int i = 0; i < count; i++)
        if (add_axis(s, &axis[i], e))
            return -1;
    return 0;
}

/* the axes that are asked for, over `devices` in all, of which a replica has `each` (0: as many
   as the axes have) */
static int make_mesh(sy_strategy *s, int devices, int each, const sy_strategy_options *o,
                     struct err *e)
{
    sy_axis standard = {"model", each};
    const sy_axis *axis = o && o->axis_count ? o->axis : &standard;
    int count = o && o->axis_count ? o->axis_count : each > 1, stride;

    s->mesh = (struct mesh){1, {{"replicas", 1}}};
    if (add_axes(s, axis, count, e))
        return -1;
    stride = mesh_stride(&s->mesh, 0);
    if (each ? stride != each : devices % stride)
        return err_set(e, "the mesh's axes have %d devices; %s %d", stride,
                       each ? "a replica of the assignment has" : "they must divide the cores,",
                       each ? each : devices);
    s->mesh.axis[0].size = devices / stride;
    return 0;
}

/* so many devices, or meshes of them, are a replica; on the host its only one */
static int make_stages(sy_strategy *s, int devices, int each, const sy_strategy_options *o,
                       struct err *e)
{
    int stages = o->pipeline_stages, wide;

    s->stages = stages;
    s->mesh = (struct mesh){1, {{"replicas", devices}}};
    if (add_axes(s, o->axis, o->axis_count, e))
        return -1;
    wide = mesh_stride(&s->mesh, 0);
    if (each && each != stages * wide)
        return err_set(e, "%d stages of %d devices, but a replica of the assignment has %d",
                       stages, wide, each);
    if (s->cluster->cluster.is_host)
        return 0;
    if (stages < 1 || devices % (stages * wide))
        return err_set(e, "%d stages%s on %d cores; each replica needs as many cores as there are "
                       "stages, and the slice a whole number of replicas", stages,
                       wide > 1 ? " of several devices" : "", devices);
    s->mesh.axis[0].size = devices / (stages * wide);
    return 0;
}

sy_status sy_strategy_create(sy_cluster *c, const sy_assignment *a,
                             const sy_strategy_options *o, sy_strategy **out)
{
    int devices, each = 0, status;
    sy_strategy *s;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    devices = sy_cluster_core_count(c);
    if (a && a->cluster != c)
        return api_fail_text("the device assignment is of another cluster, %s",
                             a->cluster->text);
    if (a) {
        each = a->d.device_count;
        devices = a->d.replica_count * each;
    }
    s = new_strategy(c);
    status = (o && o->pipeline_stages ? make_stages(s, devices, each, o, &e)
                                      : make_mesh(s, devices, each, o, &e)) ||
             start(s, a ? a->d.core : NULL, o, &e);
    return finish(s, status, &e, out);
}

sy_status sy_strategy_on_device(sy_cluster *c, const char *device, sy_strategy **out)
{
    sy_strategy *s;
    struct err e;
    int core = 0;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    if (!device)
        return api_fail_text("the device is NULL");
    if (!c->cluster.is_host && topology_find(&c->cluster.topology, device, &core, &e))
        return api_fail(&e);
    s = new_strategy(c);
    s->mesh = (struct mesh){1, {{"replicas", 1}}};
    return finish(s, start(s, &core, NULL, &e), &e, out);
}

void sy_strategy_free(sy_strategy *s)
{
    if (s && api_handle_remove(s, API_STRATEGY))
        free_strategy(s);
}

int sy_strategy_replicas(const sy_strategy *s)
{
    return API_GIVEN(s) ? 0 : s->mesh.axis[0].size;
}

int sy_strategy_devices(const sy_strategy *s)
{
    return API_GIVEN(s) ? 0 : mesh_stride(&s->mesh, 0);
}

int sy_strategy_axis_size(const sy_strategy *s, const char *name)
{
    if (API_GIVEN(s, name))
        return 0;
    for (int i = 0; i < s->mesh.axis_count; i++)
        if (strcmp(s->mesh.axis[i].name, name) == 0)
            return s->mesh.axis[i].size;
    return 0;
}

static int find_axis(const struct mesh *m, const char *name, const char *what, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, &m->axis[0].name, sizeof(*m->axis), (size_t)m->axis_count, near);

    if (i < 0)
        return err_set(e, "%s: the mesh has no axis \"%s\"%s", what, name, near);
    return i > 0 ? i : err_set(e, "%s: axis \"%s\" is that of the replicas, each of which has all "
                               "of it", what, name);
}

int api_layout(const sy_strategy *s, const char *const *axis, const struct shape *shape,
               const char *what, struct sharding *out, struct err *e)
{
    *out = (struct sharding){{0}};
    for (int d = 0; d < shape->rank; d++) {
        int found = axis[d] && *axis[d] ? find_axis(&s->mesh, axis[d], what, e) : 0;

        if (found < 0)
            return -1;
        out->axis[d] = (int8_t)found;
    }
    return sharding_check(&s->mesh, shape, out, what, e);
}

int64_t sy_strategy_cycles(const sy_strategy *s) { return API_GIVEN(s) ? 0 : s->cycles; }

/* ----- variables */

sy_variable *api_variable(sy_strategy *s, int number)
{
    s->variable = mem_grow(s->variable, &s->variable_capacity, (size_t)s->set.count,
                           sizeof(*s->variable));
    if (!s->variable[number]) {
        s->variable[number] = mem_alloc(sizeof(**s->variable));
        *s->variable[number] = (sy_variable){s, number};
    }
    return s->variable[number];
}

int api_initializer(const char *text, struct initializer *i, struct err *e)
{
    json_t *call, *args;
    enum initializer_kind kind;
    int status = -1;

    if (call_parse(text, &call, e))
        return -1;
    args = json_object_get(call, "args");
    if (initializer_find(json_string_value(json_object_get(call, "class_name")), &kind, e) == 0) {
        *i = initializer_standard(kind);
        status = 0;
        if (json_array_size(args) > 2 || json_object_size(json_object_get(call, "config")))
            status = err_set(e, "initializer %s: give its numbers without names, at most two",
                             text);
        if (json_is_number(json_array_get(args, 0)))
            i->a = json_number_value(json_array_get(args, 0));
        if (json_is_number(json_array_get(args, 1)))
            i->b = json_number_value(json_array_get(args, 1));
    }
    json_decref(call);
    return status;
}

static int describe(sy_strategy *s, const char *name, sy_dtype dtype, const sy_shape *shape,
                    const sy_variable_options *o, struct variable *v, struct err *e)
{
    *v = (struct variable){.name = name, .is_trainable = !o || !o->is_state, .of = -1,
                           .shard_dim = -1,
                           .initializer = initializer_standard(INITIALIZER_ZEROS)};
    if (api_shape(dtype, shape, &v->shape, e))
        return -1;
    if (dtype != SY_F32 && dtype != SY_S32 && dtype != SY_U32)
        return err_set(e, "variable %s: variables are SY_F32, SY_S32 or SY_U32", name);
    if (!*name || variable_find(&s->set, name) >= 0)
        return err_set(e, "variable \"%s\": the name is %s", name, *name ? "taken" : "empty");
    if (!o)
        return 0;
    v->sync = o->sync == SY_ON_READ ? SYNC_ON_READ : SYNC_ON_WRITE;
    v->aggregation = (enum variable_aggregation)o->aggregation;
    if (o->initializer && api_initializer(o->initializer, &v->initializer, e))
        return -1;
    if (o->split && o->layout)
        return err_set(e, "variable %s has both a split and a layout; give one of them", name);
    if (o->layout)
        return api_layout(s, o->layout, &v->shape, name, &v->sharding, e);
    return o->split ? sharding_from_parts(&s->mesh, o->split, shape->rank, name, &v->sharding, e)
                    : 0;
}

sy_status sy_variable_create(sy_strategy *s, const char *name, sy_dtype dtype, sy_shape shape,
                             const sy_variable_options *o, sy_variable **out)
{
    struct variable v;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!name)
        return api_fail_text("the name of a variable is NULL");
    if (describe(s, name, dtype, &shape, o, &v, &e) ||
        sharding_check(&s->mesh, &v.shape, &v.sharding, name, &e))
        return api_fail(&e);
    *out = api_variable(s, variable_add(&s->set, &v));
    return SY_OK;
}

sy_variable *sy_variable_find(sy_strategy *s, const char *name)
{
    int number;

    if (api_handle_check(s, API_STRATEGY) || !name)
        return NULL;
    number = variable_find(&s->set, name);
    return number < 0 ? NULL : api_variable(s, number);
}

static const struct variable *variable_of(const sy_variable *v)
{
    return &v->strategy->set.variable[v->number];
}

const char *sy_variable_name(const sy_variable *v)
{
    return API_GIVEN(v) ? NULL : variable_of(v)->name;
}

sy_shape sy_variable_shape(const sy_variable *v)
{
    return API_GIVEN(v) ? sy_scalar() : api_dims(&variable_of(v)->shape);
}

static int check_bytes(const sy_variable *v, size_t bytes, struct err *e)
{
    size_t has = (size_t)shape_elems(&variable_of(v)->shape) * 4;
    char shape[96];

    if (bytes == has)
        return 0;
    return err_set(e, "variable %s %s has %zu bytes on the host, not %zu", variable_of(v)->name,
                   shape_print(&variable_of(v)->shape, shape, sizeof(shape)), has, bytes);
}

static int check_values(const sy_variable *v, struct err *e)
{
    const struct machine *m = v->strategy->cluster->cluster.machine;

    if (!m || machine_mode(m) != MODE_TIMING)
        return 0;
    return err_set(e, "variable %s: mode timing works out no values", variable_of(v)->name);
}

sy_status sy_variable_places(const sy_variable *v, sy_place *out, int most, int *count)
{
    struct strategy *s;
    int devices, each;

    if (API_GIVEN(v, count) || api_handle_check(v->strategy, API_STRATEGY))
        return SY_ERROR;
    s = v->strategy->strategy;
    devices = strategy_device_count(s);
    each = devices / strategy_replica_count(s);
    *count = 0;
    for (int d = 0; d < devices; d++) {
        struct strategy_where w;
        struct err e;
        int has = strategy_where(s, v->number, d, &w, &e);

        if (has < 0)
            return api_fail(&e);
        if (has && out && *count < most)
            out[*count] = (sy_place){d / each, d % each, api_device_of(v->strategy, d),
                                     api_dims(&w.shape), w.address, w.bytes};
        *count += has;
    }
    return SY_OK;
}

sy_status sy_variable_read(const sy_variable *v, void *to, size_t bytes)
{
    struct err e;

    if (!v || !to)
        return api_fail_text("the %s is NULL", v ? "place to read to" : "variable");
    if (check_values(v, &e) || check_bytes(v, bytes, &e) ||
        strategy_read(v->strategy->strategy, v->number, to, &e))
        return api_fail(&e);
    return SY_OK;
}

sy_status sy_variable_write(sy_variable *v, const void *from, size_t bytes)
{
    struct err e;

    if (!v || !from)
        return api_fail_text("the %s is NULL", v ? "array to write from" : "variable");
    if (check_bytes(v, bytes, &e) || strategy_write(v->strategy->strategy, v->number, from, &e))
        return api_fail(&e);
    return SY_OK;
}
