/* The stages of several inputs, zip and concatenate. */
#include "data/dataset_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void describe_all(struct dataset *d, const char *name)
{
    const char *text = "";

    for (int i = 0; i < d->input_count; i++)
        text = arena_printf(&d->arena, "%s%s%s", text, i ? "; " : "", d->input[i]->description);
    d->description = arena_printf(&d->arena, "%s(%s)", name, text);
}

/* ---- zip */

static int zip_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    int at = 0;

    *x = element_new(it->dataset->tensor_count);
    for (int i = 0; i < it->dataset->input_count; i++) {
        struct data_element *in;
        int status = data_iterator_next(it->input[i], &in, e);

        if (status <= 0) {
            element_release(*x);
            *x = NULL;
            return status;
        }
        for (int k = 0; k < in->tensor_count; k++)
            element_put_tensor(*x, at++, &in->tensor[k]);
        element_release(in);
    }
    return 1;
}

static int64_t zip_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    for (int i = 0; i < it->dataset->input_count; i++) {
        int64_t done = data_iterator_skip(it->input[i], n, e);

        if (done < 0)
            return -1;
        n = done < n ? done : n;
    }
    return n;
}

static const struct dataset_kind zip_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS,
    .next = zip_next, .skip = zip_skip,
};

/* of the shortest: what is known bounds what is endless, and what is unknown may be shorter */
static int64_t zip_cardinality(struct dataset *const *in, int count)
{
    int64_t least = DATA_INFINITE;

    for (int i = 0; i < count; i++) {
        int64_t c = in[i]->cardinality;

        if (c == 0)
            return 0;
        if (c == DATA_UNKNOWN || least == DATA_UNKNOWN)
            least = DATA_UNKNOWN;
        else if (c != DATA_INFINITE && (least == DATA_INFINITE || c < least))
            least = c;
    }
    return least;
}

static struct dataset *release_all(struct dataset *const *in, int count)
{
    for (int i = 0; i < count; i++)
        dataset_release(in[i]);
    return NULL;
}

struct dataset *dataset_zip(struct dataset *const *in, int count, struct err *e)
{
    struct data_spec spec[DATA_TUPLE_MAX];
    int tensor_count = 0;
    struct dataset *d;

    for (int i = 0; i < count; i++)
        if (!in[i])
            return release_all(in, count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < in[i]->tensor_count; k++, tensor_count++)
            if (tensor_count < DATA_TUPLE_MAX)
                spec[tensor_count] = in[i]->spec[k];
    if (count < 1 || tensor_count > DATA_TUPLE_MAX) {
        err_set(e, "zip: %d datasets with %d tensors; at least one, with at most %d", count,
                tensor_count, DATA_TUPLE_MAX);
        return release_all(in, count);
    }
    d = dataset_new(&zip_kind, sizeof(*d), in, count);
    dataset_set_specs(d, spec, tensor_count);
    d->cardinality = zip_cardinality(in, count);
    describe_all(d, "zip");
    return d;
}

/* ---- concatenate */

static int concatenate_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    int status = data_iterator_next(it->input[0], x, e);

    return status ? status : data_iterator_next(it->input[1], x, e);
}

static int64_t concatenate_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    int64_t first = data_iterator_skip(it->input[0], n, e), second;

    if (first < 0 || first == n)
        return first;
    second = data_iterator_skip(it->input[1], n - first, e);
    return second < 0 ? -1 : first + second;
}

static const struct dataset_kind concatenate_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS,
    .next = concatenate_next, .skip = concatenate_skip,
};

/* What describes the elements of both; -1 where nothing does. */
static int merge_specs(const struct dataset *a, const struct dataset *b, struct data_spec *spec)
{
    if (a->tensor_count != b->tensor_count)
        return -1;
    for (int i = 0; i < a->tensor_count; i++) {
        const struct data_spec *other = &b->spec[i];

        spec[i] = a->spec[i];
        if (spec[i].dtype != other->dtype || spec[i].rank != other->rank)
            return -1;
        for (int k = 0; k < other->rank; k++)
            if (spec[i].dim[k] != other->dim[k])
                spec[i].dim[k] = DATA_ANY_SIZE;
    }
    return 0;
}

static int64_t sum_cardinality(int64_t a, int64_t b)
{
    if (a == DATA_INFINITE || b == DATA_INFINITE)
        return DATA_INFINITE;
    return a == DATA_UNKNOWN || b == DATA_UNKNOWN ? DATA_UNKNOWN : a + b;
}

struct dataset *dataset_concatenate(struct dataset *a, struct dataset *b, struct err *e)
{
    struct dataset *const in[2] = {a, b};
    struct data_spec spec[DATA_TUPLE_MAX];
    char one[200], other[200];
    struct dataset *d;

    if (!a || !b)
        return release_all(in, 2);
    if (merge_specs(a, b, spec)) {
        err_set(e, "concatenate: elements of the first are %s, of the second %s",
                data_specs_print(a->spec, a->tensor_count, one, sizeof(one)),
                data_specs_print(b->spec, b->tensor_count, other, sizeof(other)));
        return release_all(in, 2);
    }
    d = dataset_new(&concatenate_kind, sizeof(*d), in, 2);
    dataset_set_specs(d, spec, a->tensor_count);
    d->cardinality = sum_cardinality(a->cardinality, b->cardinality);
    describe_all(d, "concatenate");
    return d;
}
