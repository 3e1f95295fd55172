/* Makes the API's handles of clusters and of device assignments. */
#include "api/api.h"

#include <string.h>

static int find_mode(const char *name, enum run_mode *mode, struct err *e)
{
    static const char *const names[] = {"both", "timing", "functional"};

    for (int i = 0; i < 3; i++)
        if (!name || strcmp(name, names[i]) == 0) {
            *mode = (enum run_mode)i;
            return 0;
        }
    return err_set(e, "mode \"%s\" is none of both, timing, functional", name);
}

static int resolve(sy_cluster *c, const char *tpu, const sy_cluster_options *o, struct err *e)
{
    struct cluster_options options = {.tpu = tpu};

    if (o && (o->threads < 0 || o->threads > 256))
        return err_set(e, "%d host threads; allowed are 1..256, or 0: as many as CPUs", o->threads);
    if (o && find_mode(o->mode, &options.machine.mode, e))
        return -1;
    while (o && o->set && o->set[options.set_count])
        options.set_count++;
    options.set = o ? o->set : NULL;
    options.machine.one_chip = o && o->one_chip;
    options.machine.thread_count = o ? o->threads : 0;
    return cluster_resolve(&c->cluster, &options, &c->arena, e);
}

static void free_cluster(sy_cluster *c)
{
    cluster_fini(&c->cluster);
    arena_fini(&c->arena);
    mem_free(c);
}

sy_status sy_cluster_resolve(const char *tpu, const sy_cluster_options *o, sy_cluster **out)
{
    struct err e;
    sy_cluster *c;

    if (API_GIVEN(out))
        return SY_ERROR;
    c = mem_alloc(sizeof(*c));
    arena_init(&c->arena);
    if (resolve(c, tpu, o, &e)) {
        free_cluster(c);
        return api_fail(&e);
    }
    cluster_print(&c->cluster, c->text, sizeof(c->text));
    api_handle_add(c, API_CLUSTER);
    *out = c;
    return SY_OK;
}

sy_status sy_cluster_initialize(sy_cluster *c)
{
    struct err e;

    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    return cluster_initialize(&c->cluster, &e) ? api_fail(&e) : SY_OK;
}

sy_status sy_cluster_shutdown(sy_cluster *c)
{
    struct err e;

    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    return cluster_shutdown(&c->cluster, &e) ? api_fail(&e) : SY_OK;
}

void sy_cluster_free(sy_cluster *c)
{
    if (!c || api_handle_check(c, API_CLUSTER))
        return;
    if (c->cluster.user_count) {        /* who still has it frees it before: never in their hands */
        api_fail_text("%d strateg%s still use%s %s, which stays: free %s first",
                      c->cluster.user_count, c->cluster.user_count > 1 ? "ies" : "y",
                      c->cluster.user_count > 1 ? "" : "s", c->cluster.slice.name,
                      c->cluster.user_count > 1 ? "them" : "it");
        return;
    }
    api_handle_remove(c, API_CLUSTER);
    free_cluster(c);
}

bool sy_cluster_is_host(const sy_cluster *c) { return API_GIVEN(c) ? false : c->cluster.is_host; }
const char *sy_cluster_describe(const sy_cluster *c) { return API_GIVEN(c) ? NULL : c->text; }

int sy_cluster_core_count(const sy_cluster *c)
{
    if (API_GIVEN(c))
        return 0;
    return c->cluster.is_host ? 1 : c->cluster.slice.core_count;
}

int sy_cluster_host_count(const sy_cluster *c)
{
    if (API_GIVEN(c))
        return 0;
    return c->cluster.is_host ? 1 : c->cluster.topology.task_count;
}

void sy_cluster_mesh(const sy_cluster *c, int mesh[4])
{
    if (API_GIVEN(c, mesh))
        return;
    for (int i = 0; i < TOPOLOGY_RANK; i++)
        mesh[i] = c->cluster.is_host ? 1 : c->cluster.topology.mesh[i];
}

const char *sy_cluster_device_name(sy_cluster *c, int device)
{
    int count, each;

    if (api_handle_check(c, API_CLUSTER))
        return NULL;
    count = sy_cluster_core_count(c);
    if (device < 0 || device >= count) {
        api_fail_text("device %d of %s: allowed are 0..%d", device, c->text, count - 1);
        return NULL;
    }
    if (c->cluster.is_host)
        return "/job:localhost/replica:0/task:0/device:CPU:0";
    each = c->cluster.topology.devices_per_task;
    if (!c->name)
        c->name = arena_array(&c->arena, (size_t)count, sizeof(*c->name));
    if (!c->name[device])
        c->name[device] = arena_printf(&c->arena, "/job:worker/replica:0/task:%d/device:TPU:%d",
                                       device / each, device % each);
    return c->name[device];
}

static sy_status no_tpu(const char *what)
{
    return api_fail_text("%s: the cluster is the host, which has no TPU cores; name a slice, such "
                         "as \"v3-8\"", what);
}

sy_status sy_cluster_coordinates(const sy_cluster *c, int device, int coordinates[4])
{
    int count = sy_cluster_core_count(c);

    if (API_GIVEN(coordinates))
        return SY_ERROR;
    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    if (c->cluster.is_host)
        return no_tpu("coordinates");
    if (device < 0 || device >= count)
        return api_fail_text("device %d of %s: allowed are 0..%d", device, c->cluster.slice.name,
                             count - 1);
    memcpy(coordinates, c->cluster.topology.coordinate[device], sizeof(int) * TOPOLOGY_RANK);
    return SY_OK;
}

sy_status sy_cluster_print_topology(const sy_cluster *c, FILE *to)
{
    if (API_GIVEN(to))
        return SY_ERROR;
    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    if (c->cluster.is_host)
        return no_tpu("topology");
    topology_print_devices(&c->cluster.topology, to);
    return SY_OK;
}

/* ----- assignments */

static sy_assignment *new_assignment(sy_cluster *c)
{
    sy_assignment *a = mem_alloc(sizeof(*a));

    a->cluster = c;
    arena_init(&a->arena);
    return a;
}

static sy_status finish(sy_assignment *a, int status, const struct err *e, sy_assignment **out)
{
    if (status) {
        sy_assignment_free(a);
        return api_fail(e);
    }
    *out = a;
    return SY_OK;
}

static int build(sy_assignment *a, const int shape[4], const int stride[4], int replicas,
                 const char *order, struct err *e)
{
    struct device_assignment_options o = {.replica_count = replicas};

    if (order && device_order_find(order, &o.order, e))
        return -1;
    if (shape)
        memcpy(o.shape, shape, sizeof(o.shape));
    if (stride)
        memcpy(o.stride, stride, sizeof(o.stride));
    return device_assignment_build(&a->d, &a->cluster->cluster.topology, &o, &a->arena, e);
}

sy_status sy_assignment_build(sy_cluster *c, const int shape[4], const int stride[4],
                              int replicas, const char *order, sy_assignment **out)
{
    sy_assignment *a;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    if (c->cluster.is_host)
        return no_tpu("device assignment");
    a = new_assignment(c);
    return finish(a, build(a, shape, stride, replicas, order, &e), &e, out);
}

sy_status sy_assignment_from(sy_cluster *c, const int (*coordinates)[4], int replicas,
                             int devices, sy_assignment **out)
{
    sy_assignment *a;
    struct err e;

    if (API_GIVEN(coordinates, out))
        return SY_ERROR;
    if (api_handle_check(c, API_CLUSTER))
        return SY_ERROR;
    if (c->cluster.is_host)
        return no_tpu("device assignment");
    if (replicas < 1 || devices < 1 || replicas > (1 << 20) / devices)
        return api_fail_text("device assignment: %d replicas of %d devices; both must be at "
                             "least 1", replicas, devices);
    a = new_assignment(c);
    return finish(a, device_assignment_from(&a->d, &c->cluster.topology, coordinates, replicas,
                                            devices, &a->arena, &e), &e, out);
}

void sy_assignment_free(sy_assignment *a)
{
    if (!a)
        return;
    arena_fini(&a->arena);
    mem_free(a);
}

int sy_assignment_replicas(const sy_assignment *a)
{
    return API_GIVEN(a) ? 0 : a->d.replica_count;
}

int sy_assignment_devices(const sy_assignment *a)
{
    return API_GIVEN(a) ? 0 : a->d.device_count;
}

sy_status sy_assignment_core(const sy_assignment *a, int replica, int device, int *core)
{
    if (API_GIVEN(a, core))
        return SY_ERROR;
    if (replica < 0 || replica >= a->d.replica_count)
        return api_fail_text("replica %d: allowed are 0..%d", replica, a->d.replica_count - 1);
    if (device < 0 || device >= a->d.device_count)
        return api_fail_text("logical device %d: allowed are 0..%d", device,
                             a->d.device_count - 1);
    *core = device_assignment_core(&a->d, replica, device);
    return SY_OK;
}

sy_status sy_assignment_print(const sy_assignment *a, FILE *to)
{
    if (API_GIVEN(a, to))
        return SY_ERROR;
    device_assignment_print(&a->d, to);
    return SY_OK;
}
