/* Sources over what is in memory: slices of arrays, numbers, strings. */
#include "data/dataset_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct memory {
    struct dataset dataset;
    struct data_element *array;
};

struct memory_iterator {
    struct data_iterator base;
    int64_t at;
};

static int memory_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct memory *m = (const struct memory *)it->dataset;
    struct memory_iterator *at = (struct memory_iterator *)it;

    (void)e;
    if (at->at == m->dataset.cardinality)
        return 0;
    *x = element_new(m->dataset.tensor_count);
    for (int i = 0; i < m->dataset.tensor_count; i++) {
        int64_t elems = data_spec_elems(&m->dataset.spec[i]);

        element_put(*x, i, &m->dataset.spec[i]);
        element_copy_part(*x, i, 0, &m->array->tensor[i], at->at * elems, elems);
    }
    at->at++;
    return 1;
}

static int64_t memory_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    struct memory_iterator *at = (struct memory_iterator *)it;
    int64_t left = it->dataset->cardinality - at->at;

    (void)e;
    n = n < left ? n : left;
    at->at += n;
    return n;
}

static void memory_fini(struct dataset *d)
{
    element_release(((struct memory *)d)->array);
}

static const struct dataset_kind memory_kind = {
    .iterator_bytes = sizeof(struct memory_iterator), .state = STATE_COUNT,
    .next = memory_next, .skip = memory_skip, .fini = memory_fini,
};

static int check_arrays(const struct data_tensor *array, int count, struct err *e)
{
    if (count < 1 || count > DATA_TUPLE_MAX)
        return err_set(e, "%d arrays, allowed are 1..%d", count, DATA_TUPLE_MAX);
    for (int i = 0; i < count; i++) {
        char text[96];

        data_spec_print(&array[i].spec, text, sizeof(text));
        if (array[i].spec.rank == 0)
            return err_set(e, "array %d is %s: a scalar has no slices", i, text);
        if (array[i].spec.dim[0] != array[0].spec.dim[0])
            return err_set(e, "array %d is %s: %" PRId64 " slices, but array 0 has %" PRId64, i,
                           text, array[i].spec.dim[0], array[0].spec.dim[0]);
    }
    return 0;
}

/* takes the arrays over */
static struct dataset *new_memory(struct data_element *array, const char *name)
{
    struct memory *m = dataset_new(&memory_kind, sizeof(*m), NULL, 0);
    struct data_spec spec[DATA_TUPLE_MAX];
    int count = array->tensor_count;
    char text[256];

    m->array = array;
    for (int i = 0; i < count; i++) {
        const struct data_spec *s = &array->tensor[i].spec;

        spec[i] = data_spec_of(s->dtype, s->rank - 1, s->dim + 1);
    }
    dataset_set_specs(&m->dataset, spec, count);
    m->dataset.cardinality = array->tensor[0].spec.dim[0];
    dataset_set_description(&m->dataset, "%s(%" PRId64 " of %s)", name, m->dataset.cardinality,
                            data_specs_print(spec, count, text, sizeof(text)));
    return &m->dataset;
}

struct dataset *dataset_from_memory(const struct data_tensor *array, int count, struct err *e)
{
    struct data_element *copy;

    if (check_arrays(array, count, e))
        return NULL;
    copy = element_new(count);
    for (int i = 0; i < count; i++)
        element_put_tensor(copy, i, &array[i]);
    return new_memory(copy, "memory");
}

struct dataset *dataset_of_arrays(struct data_element *array, const char *name, struct err *e)
{
    if (check_arrays(array->tensor, array->tensor_count, e)) {
        element_release(array);
        return NULL;
    }
    return new_memory(array, name);
}

/* ---- strings and paths ---------------------------------------------------------- */

static struct data_element *copy_strings(const char *const *string, int64_t count)
{
    struct data_spec spec = data_spec_of(DATA_STRING, 1, &count);
    struct data_element *x = element_new(1);

    element_put(x, 0, &spec);
    for (int64_t i = 0; i < count; i++)
        element_put_string(x, 0, i, string[i], (int64_t)strlen(string[i]));
    return x;
}

struct dataset *dataset_from_strings(const char *const *string, int64_t count, struct err *e)
{
    if (count < 0)
        return dataset_refuse(NULL, e, "%" PRId64 " strings", count);
    return dataset_of_arrays(copy_strings(string, count), "strings", e);
}

struct dataset *dataset_from_paths(const char *const *path, int64_t count, struct err *e)
{
    if (count < 1)
        return dataset_refuse(NULL, e, "no files");
    return dataset_of_arrays(copy_strings(path, count), "paths", e);
}

/* ---- range ------------------------------------------------------------------------ */

struct range {
    struct dataset dataset;
    int64_t first, step;
};

static int range_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct range *r = (const struct range *)it->dataset;
    struct memory_iterator *at = (struct memory_iterator *)it;

    (void)e;
    if (at->at == r->dataset.cardinality)
        return 0;
    *x = element_new(1);
    *(int32_t *)element_put(*x, 0, r->dataset.spec) = (int32_t)(r->first + at->at * r->step);
    at->at++;
    return 1;
}

static const struct dataset_kind range_kind = {
    .iterator_bytes = sizeof(struct memory_iterator), .state = STATE_COUNT,
    .next = range_next, .skip = memory_skip,
};

struct dataset *dataset_range(int64_t first, int64_t end, int64_t step, struct err *e)
{
    struct data_spec spec = data_spec_of(DATA_S32, 0, NULL);
    struct range *r;

    if (first < INT32_MIN || first > INT32_MAX || end < INT32_MIN || end - 1 > INT32_MAX)
        return dataset_refuse(NULL, e, "range from %" PRId64 " to %" PRId64
                              ": the numbers are s32, allowed are %d..%d", first, end, INT32_MIN,
                              INT32_MAX);
    if (step == 0 || step < -((int64_t)1 << 32) || step > (int64_t)1 << 32)
        return dataset_refuse(NULL, e, "range with step %" PRId64
                              ", allowed is any but 0 up to 2^32 either way", step);
    r = dataset_new(&range_kind, sizeof(*r), NULL, 0);
    r->first = first;
    r->step = step;
    if (step > 0 && end > first)
        r->dataset.cardinality = (end - first + step - 1) / step;
    else if (step < 0 && end < first)
        r->dataset.cardinality = (first - end - step - 1) / -step;
    dataset_set_specs(&r->dataset, &spec, 1);
    dataset_set_description(&r->dataset, "range(%" PRId64 ", %" PRId64 ", %" PRId64 ")", first,
                            end, step);
    return &r->dataset;
}
