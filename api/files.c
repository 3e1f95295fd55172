/* Reads and writes files of records and of arrays for the API. */
#include "api/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "data/example.h"
#include "data/files.h"
#include "data/npy.h"
#include "data/tfrecord.h"

/* ----- records */

struct sy_record_writer { struct tfrecord_writer *w; };

sy_status sy_record_writer_open(const char *path, sy_record_writer **out)
{
    struct tfrecord_writer *w;
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    w = tfrecord_begin(path, DATA_COMPRESSION_AUTO, &e);
    if (!w)
        return api_fail(&e);
    *out = mem_alloc(sizeof(**out));
    (*out)->w = w;
    return SY_OK;
}

sy_status sy_record_writer_write(sy_record_writer *w, const void *record, int64_t bytes)
{
    if (API_GIVEN(w) || (bytes && API_GIVEN(record)))
        return SY_ERROR;
    if (bytes < 0)
        return api_fail_text("a record of %lld bytes", (long long)bytes);
    tfrecord_write(w->w, record, bytes);
    return SY_OK;
}

sy_status sy_record_writer_write_example(sy_record_writer *w, const sy_example *x)
{
    struct bytes packed = {0};

    if (API_GIVEN(w, x))
        return SY_ERROR;
    example_pack((const struct example *)x, &packed);
    tfrecord_write(w->w, packed.data, (int64_t)packed.size);
    mem_free(packed.data);
    return SY_OK;
}

sy_status sy_record_writer_close(sy_record_writer *w)
{
    struct err e;
    int status;

    if (API_GIVEN(w))
        return SY_ERROR;
    status = tfrecord_commit(w->w, &e);
    mem_free(w);
    return status ? api_fail(&e) : SY_OK;
}

sy_example *sy_example_new(void) { return (sy_example *)example_new(); }
void sy_example_free(sy_example *x) { example_destroy((struct example *)x); }

static sy_status check_feature(const char *name, int64_t count)
{
    return name && *name && count >= 0
               ? SY_OK : api_fail_text("feature \"%s\" of %lld values", name ? name : "",
                                       (long long)count);
}

sy_status sy_example_add_floats(sy_example *x, const char *name, const float *v, int64_t count)
{
    if (API_GIVEN(x, name) || (count && API_GIVEN(v)))
        return SY_ERROR;
    if (check_feature(name, count))
        return SY_ERROR;
    example_add_floats((struct example *)x, name, v, count);
    return SY_OK;
}

sy_status sy_example_add_ints(sy_example *x, const char *name, const int64_t *v, int64_t count)
{
    if (API_GIVEN(x, name) || (count && API_GIVEN(v)))
        return SY_ERROR;
    if (check_feature(name, count))
        return SY_ERROR;
    example_add_ints((struct example *)x, name, v, count);
    return SY_OK;
}

sy_status sy_example_add_bytes(sy_example *x, const char *name, const void *byte, int64_t size)
{
    struct data_string s = {byte, size};

    if (API_GIVEN(x, name) || (size && API_GIVEN(byte)))
        return SY_ERROR;
    if (check_feature(name, size))
        return SY_ERROR;
    example_add_strings((struct example *)x, name, &s, 1);
    return SY_OK;
}

/* ----- arrays: a dataset's slices, put together again */

static bool is_npy(const char *path)
{
    size_t length = strlen(path);

    return (length > 4 && strcmp(path + length - 4, ".npy") == 0) ||
           (length > 7 && strcmp(path + length - 7, ".npy.gz") == 0);
}

static sy_array *join(const struct data_element *x)
{
    const struct data_tensor *t = &x->tensor[0];
    size_t bytes = (size_t)data_spec_elems(&t->spec) * data_dtype_bytes(t->spec.dtype);
    sy_array *a = mem_alloc(sizeof(*a));

    a->dtype = api_data_dtype(t->spec.dtype);
    a->shape = shape_make(t->spec.dtype == DATA_F32   ? DTYPE_F32
                          : t->spec.dtype == DATA_S32 ? DTYPE_S32 : DTYPE_U8,
                          t->spec.rank, t->spec.dim);
    a->data = mem_alloc(bytes);
    memcpy(a->data, t->data, bytes);
    return a;
}

sy_status sy_read_array(const char *path, sy_array **out)
{
    struct data_iterator *it = NULL;
    struct data_element *x = NULL;
    struct dataset *d;
    int status = -1;
    struct err e;

    if (API_GIVEN(path, out))
        return SY_ERROR;
    d = is_npy(path) ? dataset_from_npy(&path, 1, &e) : dataset_from_idx(&path, 1, &e);
    if (d)
        d = dataset_batch(d, dataset_cardinality(d) > 0 ? dataset_cardinality(d) : 1, false, &e);
    if (d)
        it = dataset_iterate(d, 0, &e);
    if (it)
        status = data_iterator_next(it, &x, &e);
    if (status == 0)
        status = err_set(&e, "%s holds an array without elements", path);
    if (status > 0)
        *out = join(x);
    if (x && status > 0)
        element_release(x);
    data_iterator_destroy(it);
    dataset_release(d);
    return status > 0 ? SY_OK : api_fail(&e);
}

sy_status sy_write_npy(const char *path, sy_dtype dtype, sy_shape shape, const void *data)
{
    struct npy_array a = {.elem_bytes = dtype == SY_U8 ? 1 : 4, .rank = shape.rank, .data = data};
    struct shape checked;
    struct err e;

    if (API_GIVEN(path, data))
        return SY_ERROR;
    if (api_shape(dtype, &shape, &checked, &e))
        return api_fail(&e);
    strcpy(a.type, dtype == SY_F32 || dtype == SY_BF16 ? "f4" : dtype == SY_U32 ? "u4"
                   : dtype == SY_U8 ? "u1" : "i4");
    memcpy(a.side, shape.dim, (size_t)shape.rank * sizeof(*shape.dim));
    return npy_write_array(path, &a, &e) ? api_fail(&e) : SY_OK;
}
