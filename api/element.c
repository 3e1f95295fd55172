/* The API's elements of datasets, stages with the user's functions, and batches for replicas. */
#include "api/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "data/distribute.h"
#include "data/example.h"

void sy_element_free(sy_element *x) { element_release(api_element(x)); }
int sy_element_count(const sy_element *x)
{
    return API_GIVEN(x) ? 0 : api_element_const(x)->tensor_count;
}

static const struct data_tensor *tensor_of(const sy_element *x, int i)
{
    static const struct data_tensor none;

    return i < 0 || i >= sy_element_count(x) ? &none : &api_element_const(x)->tensor[i];
}

sy_dtype sy_element_dtype(const sy_element *x, int i)
{
    return api_data_dtype(tensor_of(x, i)->spec.dtype);
}

sy_shape sy_element_shape(const sy_element *x, int i)
{
    const struct data_spec *s = &tensor_of(x, i)->spec;
    sy_shape out = {.rank = s->rank};

    memcpy(out.dim, s->dim, (size_t)s->rank * sizeof(*s->dim));
    return out;
}

const void *sy_element_data(const sy_element *x, int i) { return tensor_of(x, i)->data; }

void *sy_element_put(sy_element *x, int i, sy_dtype dtype, sy_shape shape)
{
    struct data_spec spec;
    struct err e;
    int status = api_spec(dtype, &shape, false, &spec, &e);

    if (API_GIVEN(x))
        return NULL;
    if (!status && (i < 0 || i >= sy_element_count(x)))
        status = err_set(&e, "tensor %d of an element of %d", i, sy_element_count(x));
    if (!status && tensor_of(x, i)->data)
        status = err_set(&e, "tensor %d of an element is there already", i);
    if (status) {
        api_fail(&e);
        return NULL;
    }
    return element_put(api_element(x), i, &spec);
}

sy_status sy_element_put_string(sy_element *x, int i, int64_t index, const void *byte,
                                int64_t size)
{
    const struct data_tensor *t = tensor_of(x, i);

    if (API_GIVEN(x) || (size > 0 && API_GIVEN(byte)))
        return SY_ERROR;
    if (!t->data || t->spec.dtype != DATA_STRING || index < 0 ||
        index >= data_spec_elems(&t->spec) || size < 0)
        return api_fail_text("string %" PRId64 " of tensor %d: there is no such place", index, i);
    element_put_string(api_element(x), i, index, byte, size);
    return SY_OK;
}

/* ----- the user's functions */

static int say(sy_status status, const char *what, struct err *e)
{
    if (status != SY_ERROR)
        return 0;
    return err_set(e, "%s", *sy_message() ? sy_message() : what);
}

static int apply(void *context, const struct data_element *in, struct data_element *out,
                 struct err *e)
{
    const struct api_callback *c = context;

    return say(c->function.map(c->user, (const sy_element *)in, (sy_element *)out),
               "a map returned an error", e);
}

static int keep(void *context, const struct data_element *x, struct err *e)
{
    const struct api_callback *c = context;
    sy_status status = c->function.filter(c->user, (const sy_element *)x);

    return say(status, "a filter returned an error", e) ? -1 : status == SY_OK;
}

/* the dataset's handle goes; the functions that its stages name stay with `owner` */
static struct dataset *take_dataset(struct api_callback *owner, sy_dataset *d)
{
    struct dataset *made = d->d;

    api_callbacks_join(&owner->opened, d->callbacks);
    api_handle_remove(d, API_DATASET);
    mem_free(d);
    return made;
}

static struct dataset *open_one(void *context, const struct data_element *x, struct err *e)
{
    struct api_callback *c = context;
    sy_dataset *d = NULL;

    if (say(c->function.open(c->user, (const sy_element *)x, &d), "an interleave's function "
            "returned an error", e) || !d)
        return NULL;
    return take_dataset(c, d);
}

static int read_columns(const sy_column *column, int count, struct data_spec *spec, struct err *e)
{
    if (count < 1 || count > DATA_TUPLE_MAX)
        return err_set(e, "elements of %d tensors; allowed are 1..%d", count, DATA_TUPLE_MAX);
    for (int i = 0; i < count; i++)
        if (api_spec(column[i].dtype, &column[i].shape, true, &spec[i], e))
            return -1;
    return 0;
}

sy_status sy_dataset_map(sy_dataset *d, sy_map map, void *user, const sy_column *output, int count,
                         int threads)
{
    struct data_spec spec[DATA_TUPLE_MAX];
    struct api_callback *c;
    struct err e;

    if (API_GIVEN(output))
        return SY_ERROR;
    if (!map)
        return api_fail_text("sy_dataset_map: map is NULL");
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    if (read_columns(output, count, spec, &e))
        return api_fail(&e);
    c = api_callback_add(d, user);
    c->function.map = map;
    return api_dataset_replace(d, dataset_map(dataset_retain(d->d), &(struct data_map){
        .apply = apply, .context = c, .output_count = count, .output = spec,
        .thread_count = threads}, &e), &e);
}

sy_status sy_dataset_filter(sy_dataset *d, sy_filter filter, void *user)
{
    struct api_callback *c;
    struct err e;

    if (!filter)
        return api_fail_text("sy_dataset_filter: filter is NULL");
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    c = api_callback_add(d, user);
    c->function.filter = filter;
    return api_dataset_replace(d, dataset_filter(dataset_retain(d->d), keep, c, &e), &e);
}

sy_status sy_dataset_interleave(sy_dataset *d, sy_open open, void *user, const sy_column *output,
                                int count, int64_t cycle, int64_t block)
{
    struct data_spec spec[DATA_TUPLE_MAX];
    struct data_interleave how;
    struct api_callback *c;
    struct err e;

    if (API_GIVEN(output))
        return SY_ERROR;
    if (!open)
        return api_fail_text("sy_dataset_interleave: open is NULL");
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    if (read_columns(output, count, spec, &e))
        return api_fail(&e);
    c = api_callback_add(d, user);
    c->function.open = open;
    how = (struct data_interleave){.open = open_one, .context = c, .output_count = count,
                                   .output = spec, .cycle_length = cycle, .block_length = block};
    return api_dataset_replace(d, dataset_interleave(dataset_retain(d->d), &how, &e), &e);
}

sy_status sy_dataset_parse_examples(sy_dataset *d, const sy_feature *feature, int count,
                                    int threads)
{
    struct example_feature own[DATA_TUPLE_MAX];
    struct err e;

    if (API_GIVEN(feature))
        return SY_ERROR;
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    if (count < 1 || count > DATA_TUPLE_MAX)
        return api_fail_text("%d features; allowed are 1..%d", count, DATA_TUPLE_MAX);
    for (int i = 0; i < count; i++) {
        own[i] = (struct example_feature){.name = feature[i].name};
        if (api_spec(feature[i].dtype, &feature[i].shape, true, &own[i].spec, &e))
            return api_fail(&e);
    }
    return api_dataset_replace(d, dataset_parse_examples(dataset_retain(d->d), own, count,
                                                         threads, &e), &e);
}

/* ----- for replicas */

struct sy_distributed {
    sy_strategy *strategy;
    struct distributed *d;
    struct distributed_iterator *it;
    struct api_callbacks *callbacks;    /* of the datasets, or NULL */
};

/* takes over a hold on the callbacks, which may be NULL */
static sy_status new_distributed(sy_strategy *s, struct distributed *made,
                                 struct api_callbacks *callbacks, const struct err *e,
                                 sy_distributed **out)
{
    sy_distributed *d;

    if (!made) {
        api_callbacks_release(callbacks);
        return api_fail(e);
    }
    d = mem_alloc(sizeof(*d));
    *d = (sy_distributed){s, made, NULL, callbacks};
    *out = d;
    return SY_OK;
}

sy_status sy_strategy_distribute(sy_strategy *s, const sy_dataset *d, sy_distributed **out)
{
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(s, API_STRATEGY) || api_handle_check(d, API_DATASET))
        return SY_ERROR;
    return new_distributed(s, distribute_dataset(dataset_retain(d->d), sy_strategy_replicas(s),
                                                 &e), api_callbacks_hold(d->callbacks), &e, out);
}

static struct dataset *make_one(void *context, const struct input_context *c, struct err *e)
{
    struct api_callback *callback = context;
    sy_input_context own = {c->input_pipeline_count, c->input_pipeline_id, c->replica_count};
    sy_dataset *d = NULL;

    if (say(callback->function.make(callback->user, &own, &d), "the function returned an error",
            e) || !d)
        return NULL;
    return take_dataset(callback, d);
}

sy_status sy_strategy_distribute_from_function(sy_strategy *s, sy_make_dataset make, void *user,
                                               sy_distributed **out)
{
    struct api_callback c = {.function.make = make, .user = user};
    struct distributed *made;
    int replicas, hosts;
    struct err e;

    if (api_handle_check(s, API_STRATEGY) || API_GIVEN(out))
        return SY_ERROR;
    if (!make)
        return api_fail_text("sy_strategy_distribute_from_function: make is NULL");
    replicas = sy_strategy_replicas(s);
    hosts = sy_cluster_host_count(s->cluster);
    made = distribute_from_function(make_one, &c, replicas % hosts ? 1 : hosts, replicas, &e);
    return new_distributed(s, made, c.opened, &e, out);
}

void sy_distributed_free(sy_distributed *d)
{
    if (!d)
        return;
    distributed_iterator_destroy(d->it);
    distributed_destroy(d->d);
    api_callbacks_release(d->callbacks);
    mem_free(d);
}

sy_status sy_distributed_start(sy_distributed *d, int64_t pass)
{
    struct err e;

    if (API_GIVEN(d))
        return SY_ERROR;
    if (pass < 0)
        return api_fail_text("pass %" PRId64 " of a dataset; the first is 0", pass);
    distributed_iterator_destroy(d->it);
    d->it = distributed_iterate(d->d, pass, &e);
    return d->it ? SY_OK : api_fail(&e);
}

static int check_tensors(struct data_element *const *x, int replicas, int count, struct err *e)
{
    if (x[0]->tensor_count != count)
        return err_set(e, "elements have %d tensors, %d are asked for", x[0]->tensor_count, count);
    for (int i = 0; i < count; i++) {
        const struct data_spec *s = &x[0]->tensor[i].spec;
        char text[96];

        if (s->dtype != DATA_F32 && s->dtype != DATA_S32)
            return err_set(e, "tensor %d is %s; steps take f32 and s32: convert it "
                           "(sy_dataset_to_f32, sy_dataset_to_s32)", i,
                           data_spec_print(s, text, sizeof(text)));
        for (int r = 1; r < replicas; r++)
            if (!data_spec_is_equal(&x[r]->tensor[i].spec, s))
                return err_set(e, "tensor %d differs between replicas 0 and %d", i, r);
    }
    return 0;
}

static sy_value *value_of(const sy_strategy *strategy, struct data_element *const *x, int i)
{
    const struct data_spec *s = &x[0]->tensor[i].spec;
    struct shape shape = shape_make(s->dtype == DATA_F32 ? DTYPE_F32 : DTYPE_S32, s->rank, s->dim);
    sy_value *v = api_value(strategy, &shape);

    for (int r = 0; r < v->replicas; r++)
        memcpy(v->data[r], x[r]->tensor[i].data, (size_t)shape_elems(&shape) * 4);
    return v;
}

sy_status sy_distributed_next(sy_distributed *d, sy_value **out, int count)
{
    struct data_element **x;
    int replicas, status;
    struct err e;

    if (API_GIVEN(d, out))
        return SY_ERROR;
    replicas = sy_strategy_replicas(d->strategy);
    if (!d->it && sy_distributed_start(d, 0))
        return SY_ERROR;
    x = mem_alloc((size_t)replicas * sizeof(*x));
    status = distributed_next(d->it, x, &e);
    if (status > 0) {
        status = check_tensors(x, replicas, count, &e) ? -1 : 1;
        for (int i = 0; i < count && status > 0; i++)
            out[i] = value_of(d->strategy, x, i);
        for (int r = 0; r < replicas; r++)
            element_release(x[r]);
    }
    mem_free(x);
    return status < 0 ? api_fail(&e) : status ? SY_OK : SY_END;
}

/* ----- several batches in one value */

static void free_values(sy_value **v, int count)
{
    for (int i = 0; i < count; i++) {
        sy_value_free(v[i]);
        v[i] = NULL;
    }
}

/* the batches of tensor i, which are batch[0], batch[count], .., one behind the other */
static sy_value *stack(const sy_strategy *s, sy_value *const *batch, int count, int steps)
{
    struct shape shape = batch[0]->shape;
    size_t bytes = (size_t)shape_elems(&shape) * 4;
    sy_value *v;

    memmove(shape.dim + 1, shape.dim, (size_t)shape.rank++ * sizeof(*shape.dim));
    shape.dim[0] = steps;
    v = api_value(s, &shape);
    for (int r = 0; r < v->replicas; r++)
        for (int k = 0; k < steps; k++)
            memcpy((char *)v->data[r] + (size_t)k * bytes, batch[k * count]->data[r], bytes);
    return v;
}

static int check_alike(sy_value *const *batch, int count, int got, struct err *e)
{
    char a[96], b[96];

    for (int i = count; i < got * count; i++)
        if (!shape_equal(&batch[i]->shape, &batch[i % count]->shape))
            return err_set(e, "batch %d of %d gives each replica %s, the first %s: they cannot be "
                           "one value; batch with drop_remainder", i / count, got,
                           shape_print(&batch[i]->shape, a, sizeof(a)),
                           shape_print(&batch[i % count]->shape, b, sizeof(b)));
    return 0;
}

sy_status sy_distributed_next_steps(sy_distributed *d, int steps, sy_value **out, int count,
                                    int *got)
{
    sy_value **batch;
    sy_status status = SY_OK;
    struct err e;
    int n = 0;

    if (API_GIVEN(d, out))
        return SY_ERROR;
    if (steps < 1 || steps > 1000000 || count < 1 || count > DATA_TUPLE_MAX)
        return api_fail_text("%d batches of %d tensors; both must be at least 1", steps, count);
    batch = mem_alloc((size_t)steps * (size_t)count * sizeof(*batch));
    while (n < steps && status == SY_OK) {
        status = sy_distributed_next(d, batch + n * count, count);
        n += status == SY_OK;
    }
    if (status != SY_ERROR)
        status = n == 0 ? SY_END : check_alike(batch, count, n, &e) ? api_fail(&e) : SY_OK;
    for (int i = 0; i < count && status == SY_OK; i++)
        out[i] = stack(d->strategy, batch + i, count, n);
    free_values(batch, n * count);
    mem_free(batch);
    if (got)
        *got = status == SY_OK ? n : 0;
    return status;
}

/* ----- positions, for checkpoints */

const sy_strategy *api_distributed_strategy(const sy_distributed *d) { return d->strategy; }

int api_distributed_save(sy_distributed *d, struct bytes *to, struct err *e)
{
    return d->it ? distributed_save(d->it, to, e) : 0;
}

int api_distributed_resume(sy_distributed *d, const void *state, size_t bytes, struct err *e)
{
    struct distributed_iterator *it = distributed_resume(d->d, state, bytes, e);

    if (!it)
        return -1;
    distributed_iterator_destroy(d->it);
    d->it = it;
    return 0;
}
