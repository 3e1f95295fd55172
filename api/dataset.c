/* Makes the API's handles of datasets, their stages without callbacks, and iterators. */
#include "api/dataset.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "data/files.h"

/* ----- handles */

struct api_callbacks *api_callbacks_hold(struct api_callbacks *c)
{
    c->holders++;
    return c;
}

void api_callbacks_release(struct api_callbacks *c)
{
    if (!c || --c->holders)
        return;
    while (c->first) {
        struct api_callback *next = c->first->next;

        api_callbacks_release(c->first->opened);
        mem_free(c->first);
        c->first = next;
    }
    api_callbacks_release(c->other[0]);
    api_callbacks_release(c->other[1]);
    mem_free(c);
}

static struct api_callbacks *new_callbacks(void)
{
    struct api_callbacks *c = mem_alloc(sizeof(*c));

    c->holders = 1;
    return c;
}

void api_callbacks_join(struct api_callbacks **to, struct api_callbacks *more)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct api_callbacks *both;

    if (!more->first && !more->other[0] && !more->other[1]) {
        api_callbacks_release(more);    /* nothing that stages could call */
        return;
    }
    both = new_callbacks();
    pthread_mutex_lock(&lock);
    both->other[0] = *to;
    both->other[1] = more;
    *to = both;
    pthread_mutex_unlock(&lock);
}

struct api_callback *api_callback_add(sy_dataset *d, void *user)
{
    struct api_callback *c = mem_alloc(sizeof(*c));

    c->user = user;
    c->next = d->callbacks->first;
    d->callbacks->first = c;
    return c;
}

sy_status api_dataset_new(struct dataset *made, const struct err *e, sy_dataset **out)
{
    sy_dataset *d;

    if (!made)
        return api_fail(e);
    d = mem_alloc(sizeof(*d));
    *d = (sy_dataset){made, new_callbacks()};
    api_handle_add(d, API_DATASET);
    *out = d;
    return SY_OK;
}

sy_status api_dataset_replace(sy_dataset *d, struct dataset *made, const struct err *e)
{
    if (!made)
        return api_fail(e);
    dataset_release(d->d);
    d->d = made;
    return SY_OK;
}

sy_status sy_dataset_copy(const sy_dataset *d, sy_dataset **out)
{
    sy_dataset *copy;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    copy = mem_alloc(sizeof(*copy));
    api_handle_add(copy, API_DATASET);
    *copy = (sy_dataset){dataset_retain(d->d), api_callbacks_hold(d->callbacks)};
    *out = copy;
    return SY_OK;
}

void sy_dataset_free(sy_dataset *d)
{
    if (!d || !api_handle_remove(d, API_DATASET))
        return;
    dataset_release(d->d);
    api_callbacks_release(d->callbacks);
    mem_free(d);
}

const char *sy_dataset_describe(const sy_dataset *d)
{
    return api_handle_check(d, API_DATASET) ? NULL : dataset_describe(d->d);
}

int64_t sy_dataset_cardinality(const sy_dataset *d)
{
    return api_handle_check(d, API_DATASET) ? -2 : dataset_cardinality(d->d);
}

/* ----- types */

static const struct { sy_dtype api; enum data_dtype data; } types[] = {
    {SY_F32, DATA_F32}, {SY_S32, DATA_S32}, {SY_U8, DATA_U8}, {SY_STRING, DATA_STRING},
};

sy_dtype api_data_dtype(enum data_dtype t)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].data == t)
            return types[i].api;
    return SY_STRING;
}

int api_spec(sy_dtype dtype, const sy_shape *shape, bool may_be_any, struct data_spec *out,
             struct err *e)
{
    enum data_dtype type = DATA_DTYPE_COUNT;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        type = types[i].api == dtype ? types[i].data : type;
    if (type == DATA_DTYPE_COUNT)
        return err_set(e, "element type %d: datasets have SY_F32, SY_S32, SY_U8 and SY_STRING",
                       (int)dtype);
    if (shape->rank < 0 || shape->rank > SY_RANK_MAX)
        return err_set(e, "a shape of rank %d; allowed are 0..%d", shape->rank, SY_RANK_MAX);
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < 0 && !(may_be_any && shape->dim[i] == SY_ANY_SIZE))
            return err_set(e, "dimension %d of a shape is %" PRId64, i, shape->dim[i]);
    *out = data_spec_of(type, shape->rank, shape->dim);
    return 0;
}

/* ----- sources */

sy_status sy_dataset_from_arrays(const sy_column *array, int count, sy_dataset **out)
{
    struct data_tensor tensor[DATA_TUPLE_MAX];
    struct err e;

    if (API_GIVEN(array, out))
        return SY_ERROR;
    if (count < 1 || count > DATA_TUPLE_MAX)
        return api_fail_text("%d arrays; allowed are 1..%d", count, DATA_TUPLE_MAX);
    for (int i = 0; i < count; i++) {
        if (api_spec(array[i].dtype, &array[i].shape, false, &tensor[i].spec, &e))
            return api_fail(&e);
        tensor[i].data = (void *)array[i].data;
    }
    return api_dataset_new(dataset_from_memory(tensor, count, &e), &e, out);
}

sy_status sy_dataset_range(int64_t first, int64_t end, int64_t step, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    return api_dataset_new(dataset_range(first, end, step, &e), &e, out);
}

sy_status sy_dataset_from_idx(const char *const *path, int count, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    return api_dataset_new(dataset_from_idx(path, count, &e), &e, out);
}

sy_status sy_dataset_from_npy(const char *const *path, int count, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    return api_dataset_new(dataset_from_npy(path, count, &e), &e, out);
}

sy_status sy_dataset_from_tfrecords(const char *const *path, int count, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    return api_dataset_new(dataset_tfrecords(path, count, DATA_COMPRESSION_AUTO, &e), &e, out);
}

sy_status sy_dataset_from_lines(const char *const *path, int count, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    return api_dataset_new(dataset_text_lines(path, count, DATA_COMPRESSION_AUTO, &e), &e, out);
}

sy_status sy_dataset_from_fixed_records(const char *const *path, int count, int64_t header_bytes,
                                        int64_t record_bytes, int64_t footer_bytes,
                                        sy_dataset **out)
{
    struct data_fixed f = {header_bytes, record_bytes, footer_bytes};
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    return api_dataset_new(dataset_fixed_records(path, count, &f, DATA_COMPRESSION_AUTO, &e), &e,
                           out);
}

sy_status sy_dataset_list_files(const char *pattern, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(pattern, out))
        return SY_ERROR;
    return api_dataset_new(dataset_list_files(pattern, &e), &e, out);
}

sy_status sy_dataset_from_strings(const char *const *string, int64_t count, sy_dataset **out)
{
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    for (int64_t i = 0; i < count; i++)
        if (!string || !string[i])
            return api_fail_text("string %" PRId64 " of a dataset is NULL", i);
    return api_dataset_new(dataset_from_strings(string, count, &e), &e, out);
}

sy_status sy_dataset_from_csv(const char *path, const sy_csv_column *column, int count,
                              sy_dataset **out)
{
    struct data_column own[DATA_TUPLE_MAX];
    const sy_shape scalar = sy_scalar();
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (!path || !column || count < 1 || count > DATA_TUPLE_MAX)
        return api_fail_text("%d columns of %s; allowed are 1..%d", count, path ? path : "NULL",
                             DATA_TUPLE_MAX);
    for (int i = 0; i < count; i++) {
        struct data_spec spec;

        if (!column[i].name)
            return api_fail_text("%s: the name of column %d is NULL", path, i);
        if (api_spec(column[i].dtype, &scalar, false, &spec, &e))
            return api_fail(&e);
        own[i] = (struct data_column){column[i].name, spec.dtype};
    }
    return api_dataset_new(dataset_from_csv(path, own, count, &e), &e, out);
}

/* ----- stages: each takes over a hold on what it works on */

#define STAGE(call)                                                                             \
    struct dataset *in;                                                                         \
    struct err e;                                                                               \
    if (api_handle_check(d, API_DATASET))                                                       \
        return SY_ERROR;                                                                        \
    in = dataset_retain(d->d);                                                                  \
    return api_dataset_replace(d, call, &e)

sy_status sy_dataset_shuffle(sy_dataset *d, int64_t buffer, uint64_t seed, bool reshuffle)
{
    STAGE(dataset_shuffle(in, buffer, seed, reshuffle, &e));
}
sy_status sy_dataset_repeat(sy_dataset *d, int64_t count) { STAGE(dataset_repeat(in, count, &e)); }
sy_status sy_dataset_batch(sy_dataset *d, int64_t size, bool drop_remainder)
{
    STAGE(dataset_batch(in, size, drop_remainder, &e));
}
sy_status sy_dataset_padded_batch(sy_dataset *d, int64_t size, bool drop_remainder)
{
    STAGE(dataset_padded_batch(in, size, drop_remainder, &e));
}
sy_status sy_dataset_unbatch(sy_dataset *d) { STAGE(dataset_unbatch(in, &e)); }
sy_status sy_dataset_take(sy_dataset *d, int64_t count) { STAGE(dataset_take(in, count, &e)); }
sy_status sy_dataset_skip(sy_dataset *d, int64_t count) { STAGE(dataset_skip(in, count, &e)); }
sy_status sy_dataset_shard(sy_dataset *d, int64_t count, int64_t index)
{
    STAGE(dataset_shard(in, count, index, &e));
}
sy_status sy_dataset_enumerate(sy_dataset *d, int64_t first)
{
    STAGE(dataset_enumerate(in, first, &e));
}
sy_status sy_dataset_cache(sy_dataset *d) { STAGE(dataset_cache(in, &e)); }
sy_status sy_dataset_cache_file(sy_dataset *d, const char *path)
{
    if (!path)
        return api_fail_text("the path of a cache is NULL");
    STAGE(dataset_cache_file(in, path, &e));
}

sy_status sy_dataset_split(sy_dataset *d, double share, sy_dataset **rest)
{
    struct dataset *part[2];
    struct err e;

    if (API_GIVEN(rest))
        return SY_ERROR;
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    if (dataset_split(dataset_retain(d->d), share, part, &e))
        return api_fail(&e);
    if (sy_dataset_copy(d, rest)) {
        dataset_release(part[0]);
        dataset_release(part[1]);
        return SY_ERROR;
    }
    api_dataset_replace(*rest, part[1], &e);
    return api_dataset_replace(d, part[0], &e);
}

sy_status sy_dataset_prefetch(sy_dataset *d, int64_t count)
{
    STAGE(dataset_prefetch(in, count, &e));
}
sy_status sy_dataset_to_f32(sy_dataset *d, int i, float divisor)
{
    STAGE(dataset_to_f32(in, i, divisor, &e));
}
sy_status sy_dataset_to_s32(sy_dataset *d, int i) { STAGE(dataset_to_s32(in, i, &e)); }

/* the other's callbacks live on with these */
static sy_status join(sy_dataset *d, const sy_dataset *other, struct dataset *made,
                      const struct err *e)
{
    struct api_callbacks *both;

    if (api_dataset_replace(d, made, e))
        return SY_ERROR;
    both = new_callbacks();
    both->other[0] = d->callbacks;
    both->other[1] = api_callbacks_hold(other->callbacks);
    d->callbacks = both;
    return SY_OK;
}

sy_status sy_dataset_zip(sy_dataset *d, const sy_dataset *other)
{
    struct dataset *in[2];
    struct err e;

    if (api_handle_check(d, API_DATASET) || api_handle_check(other, API_DATASET))
        return SY_ERROR;
    in[0] = dataset_retain(d->d);
    in[1] = dataset_retain(other->d);
    return join(d, other, dataset_zip(in, 2, &e), &e);
}

sy_status sy_dataset_concatenate(sy_dataset *d, const sy_dataset *other)
{
    struct err e;

    if (api_handle_check(d, API_DATASET) || api_handle_check(other, API_DATASET))
        return SY_ERROR;
    return join(d, other, dataset_concatenate(dataset_retain(d->d), dataset_retain(other->d), &e),
                &e);
}

/* ----- iterators */

sy_status sy_dataset_iterate(sy_dataset *d, int64_t pass, sy_iterator **out)
{
    sy_iterator *it;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(d, API_DATASET))
        return SY_ERROR;
    if (pass < 0)
        return api_fail_text("pass %" PRId64 " of a dataset; the first is 0", pass);
    it = mem_alloc(sizeof(*it));
    it->it = dataset_iterate(d->d, pass, &e);
    if (!it->it) {
        mem_free(it);
        return api_fail(&e);
    }
    it->callbacks = api_callbacks_hold(d->callbacks);
    *out = it;
    return SY_OK;
}

sy_status sy_iterator_next(sy_iterator *it, sy_element **out)
{
    struct data_element *x;
    struct err e;
    int status;

    if (API_GIVEN(it, out))
        return SY_ERROR;
    status = data_iterator_next(it->it, &x, &e);
    if (status < 0)
        return api_fail(&e);
    *out = status ? (sy_element *)x : NULL;
    return status ? SY_OK : SY_END;
}

void sy_iterator_free(sy_iterator *it)
{
    if (!it)
        return;
    data_iterator_destroy(it->it);
    api_callbacks_release(it->callbacks);
    mem_free(it);
}
