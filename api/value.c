/* The API's values, an array per replica, and what reduce and gather make of them. */
#include "api/api.h"

#include <inttypes.h>
#include <string.h>

#include "train/step/per_replica.h"

static size_t bytes_of(const struct shape *s) { return (size_t)shape_elems(s) * 4; }

int api_device_of(const sy_strategy *s, int device)
{
    const struct cluster *c = &s->cluster->cluster;
    int at[TOPOLOGY_RANK];

    if (c->is_host)
        return 0;
    topology_coordinate_of_core(&c->topology, strategy_core(s->strategy, device), at);
    return topology_device(&c->topology, at);
}

sy_value *api_value(const sy_strategy *s, const struct shape *shape)
{
    int replicas = sy_strategy_replicas(s);
    int each = strategy_device_count(s->strategy) / replicas;
    sy_value *v = mem_alloc(sizeof(*v));

    *v = (sy_value){.replicas = replicas, .dtype = api_dtype(shape->dtype), .shape = *shape,
                    .device = mem_alloc((size_t)replicas * sizeof(*v->device)),
                    .data = mem_alloc((size_t)replicas * sizeof(*v->data))};
    for (int r = 0; r < replicas; r++) {
        v->data[r] = mem_alloc(bytes_of(shape));
        v->device[r] = api_device_of(s, r * each);
    }
    return v;
}

sy_array *api_array(const struct shape *shape)
{
    sy_array *a = mem_alloc(sizeof(*a));

    *a = (sy_array){api_dtype(shape->dtype), *shape, mem_alloc(bytes_of(shape))};
    return a;
}

static int make(sy_strategy *s, sy_dtype dtype, const sy_shape *shape, sy_value **out,
                struct err *e)
{
    struct shape own;

    if (api_handle_check(s, API_STRATEGY))
        return err_set(e, "%s", sy_message());
    if (dtype == SY_U8)
        return err_set(e, "values of steps are SY_F32, SY_BF16, SY_S32, SY_PRED or SY_U32; cast "
                       "bytes first");
    if (api_shape(dtype, shape, &own, e))
        return -1;
    *out = api_value(s, &own);
    return 0;
}

sy_status sy_value_create(sy_strategy *s, sy_dtype dtype, sy_shape shape, sy_value **out)
{
    struct err e;

    if (API_GIVEN(s, out))
        return SY_ERROR;
    return make(s, dtype, &shape, out, &e) ? api_fail(&e) : SY_OK;
}

sy_status sy_value_split(sy_strategy *s, sy_dtype dtype, sy_shape shape, const void *data,
                         sy_value **out)
{
    int replicas;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!data)
        return api_fail_text("the array to split is NULL");
    replicas = sy_strategy_replicas(s);
    if (shape.rank < 1 || shape.rank > SY_RANK_MAX || shape.dim[0] < 1)
        return api_fail_text("a value that is to be split among %d replicas needs a first "
                             "dimension", replicas);
    if (strategy_check_batch(shape.dim[0], replicas, &e))
        return api_fail(&e);
    shape.dim[0] /= replicas;
    if (make(s, dtype, &shape, out, &e))
        return api_fail(&e);
    for (int r = 0; r < replicas; r++)
        memcpy((*out)->data[r], (const char *)data + (size_t)r * bytes_of(&(*out)->shape),
               bytes_of(&(*out)->shape));
    return SY_OK;
}

sy_status sy_value_copies(sy_strategy *s, sy_dtype dtype, sy_shape shape, const void *data,
                          sy_value **out)
{
    struct err e;

    if (API_GIVEN(s, out))
        return SY_ERROR;
    if (!data)
        return api_fail_text("the array to copy is NULL");
    if (make(s, dtype, &shape, out, &e))
        return api_fail(&e);
    for (int r = 0; r < (*out)->replicas; r++)
        memcpy((*out)->data[r], data, bytes_of(&(*out)->shape));
    return SY_OK;
}

void sy_value_free(sy_value *v)
{
    if (!v)
        return;
    for (int r = 0; r < v->replicas; r++)
        mem_free(v->data[r]);
    mem_free(v->data);
    mem_free(v->device);
    mem_free(v);
}

int sy_value_replicas(const sy_value *v) { return API_GIVEN(v) ? 0 : v->replicas; }
sy_dtype sy_value_dtype(const sy_value *v) { return API_GIVEN(v) ? SY_F32 : v->dtype; }

sy_shape sy_value_shape(const sy_value *v)
{
    return API_GIVEN(v) ? sy_scalar() : api_dims(&v->shape);
}

sy_status sy_value_device(const sy_value *v, int replica, int *device)
{
    if (API_GIVEN(v, device))
        return SY_ERROR;
    if (replica < 0 || replica >= v->replicas)
        return api_fail_text("replica %d of a value: allowed are 0..%d", replica,
                             v->replicas - 1);
    *device = v->device[replica];
    return SY_OK;
}

void *sy_value_data(const sy_value *v, int replica)
{
    if (API_GIVEN(v))
        return NULL;
    return replica < 0 || replica >= v->replicas ? NULL : v->data[replica];
}

void sy_array_free(sy_array *a)
{
    if (!a)
        return;
    mem_free(a->data);
    mem_free(a);
}

sy_dtype sy_array_dtype(const sy_array *a) { return API_GIVEN(a) ? SY_F32 : a->dtype; }

sy_shape sy_array_shape(const sy_array *a)
{
    return API_GIVEN(a) ? sy_scalar() : api_dims(&a->shape);
}

void *sy_array_data(const sy_array *a) { return API_GIVEN(a) ? NULL : a->data; }

/* ----- over the replicas */

/* a value as train/step/per_replica.h takes it: the same shape for each */
struct view {
    struct per_replica v;
    struct shape *shape;
};

static void open_view(struct view *w, const sy_value *v)
{
    w->shape = mem_alloc((size_t)v->replicas * sizeof(*w->shape));
    for (int r = 0; r < v->replicas; r++)
        w->shape[r] = v->shape;
    w->v = (struct per_replica){v->replicas, w->shape, (const void *const *)v->data};
}

static sy_status finish(struct view *w, int status, sy_array *a, const struct err *e,
                        sy_array **out)
{
    mem_free(w->shape);
    if (status) {
        sy_array_free(a);
        return api_fail(e);
    }
    *out = a;
    return SY_OK;
}

sy_status sy_strategy_reduce(sy_strategy *s, sy_aggregation how, const sy_value *v, int axis,
                             sy_array **out)
{
    enum replica_reduction kind = how == SY_MEAN ? REPLICA_MEAN : REPLICA_SUM;
    int along = axis == SY_NO_AXIS ? AXIS_NONE : axis, status;
    sy_array *a = NULL;
    struct shape shape;
    struct view w;
    struct err e;

    if (API_GIVEN(s, v, out))
        return SY_ERROR;
    (void)s;
    if (how != SY_SUM && how != SY_MEAN)
        return api_fail_text("reduce: SY_SUM and SY_MEAN are the reductions there are");
    open_view(&w, v);
    status = per_replica_reduce_shape(&w.v, along, &shape, &e);
    if (!status) {
        a = api_array(&shape);
        status = per_replica_reduce(&w.v, kind, along, a->data, &e);
    }
    return finish(&w, status, a, &e, out);
}

sy_status sy_strategy_gather(sy_strategy *s, const sy_value *v, int axis, sy_array **out)
{
    sy_array *a = NULL;
    struct shape shape;
    struct view w;
    struct err e;
    int status;

    if (API_GIVEN(s, v, out))
        return SY_ERROR;
    (void)s;
    open_view(&w, v);
    status = per_replica_gather_shape(&w.v, axis, &shape, &e);
    if (!status) {
        a = api_array(&shape);
        status = per_replica_gather(&w.v, axis, a->data, &e);
    }
    return finish(&w, status, a, &e, out);
}
