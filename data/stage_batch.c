/*
 * Puts several elements side by side along a new dimension (batch, padded_batch), and takes them
 * apart (unbatch).
 */
#include "data/dataset_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BATCH_MAX ((int64_t)1 << 31)

struct batch {
    struct dataset dataset;
    int64_t size;
    bool drop_remainder, is_padded;
};

/* ---- what both kinds of batch share */

static void release_all(struct data_element **part, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        element_release(part[i]);
    mem_free(part);
}

/* up to `size` elements; *count of them, for release_all. -1: failed, nothing to release */
static struct data_element **gather(struct data_iterator *it, int64_t size, int64_t *count,
                                    struct err *e)
{
    struct data_element **part = NULL, *x;
    size_t capacity = 0;
    int status = 1;

    for (*count = 0; *count < size; ++*count) {
        status = data_iterator_next(it->input[0], &x, e);
        if (status <= 0)
            break;
        part = mem_grow(part, &capacity, (size_t)*count + 1, sizeof(struct data_element *));
        part[*count] = x;
    }
    if (status >= 0)
        return part;
    release_all(part, *count);
    *count = -1;
    return NULL;
}

static struct data_spec stacked(const struct data_spec *s, int64_t count)
{
    struct data_spec to = {.dtype = s->dtype, .rank = s->rank + 1};

    to.dim[0] = count;
    for (int i = 0; i < s->rank; i++)
        to.dim[i + 1] = s->dim[i];
    return to;
}

static int64_t batch_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    const struct batch *b = (const struct batch *)it->dataset;
    int64_t most = INT64_MAX / b->size, done;

    done = data_iterator_skip(it->input[0], (n < most ? n : most) * b->size, e);
    if (done < 0)
        return -1;
    return b->drop_remainder ? done / b->size : (done + b->size - 1) / b->size;
}

/* ---- batch */

static int stack_plain(struct data_element *x, int i, struct data_element *const *part,
                       int64_t count, int64_t first, struct err *e)
{
    const struct data_spec *s = &part[0]->tensor[i].spec;
    struct data_spec whole = stacked(s, count);
    int64_t elems = data_spec_elems(s);

    element_put(x, i, &whole);
    for (int64_t k = 0; k < count; k++) {
        const struct data_tensor *t = &part[k]->tensor[i];
        char is[96], as[96];

        if (!data_spec_is_equal(&t->spec, s))
            return err_set(e, "batch: tensor %d of element %" PRId64 " is %s, that of element %"
                           PRId64 " %s; padded_batch takes sizes that differ", i, first + k,
                           data_spec_print(&t->spec, is, sizeof(is)), first,
                           data_spec_print(s, as, sizeof(as)));
        element_copy_part(x, i, k * elems, t, 0, elems);
    }
    return 0;
}

/* ---- padded_batch */

/* that of the largest in each dimension */
static struct data_spec padded_shape(const struct data_spec *spec, int i,
                                     struct data_element *const *part, int64_t count)
{
    struct data_spec s = *spec;

    for (int64_t k = 0; k < count; k++)
        for (int d = 0; d < s.rank; d++) {
            int64_t size = part[k]->tensor[i].spec.dim[d];

            if (s.dim[d] < size)
                s.dim[d] = size;
        }
    return s;
}

/* Copies *t, row by row of its last dimension, into the corner of a part of shape *s at `to`. */
static void copy_corner(struct data_element *x, int i, int64_t to, const struct data_spec *s,
                        const struct data_tensor *t)
{
    int rank = s->rank;
    int64_t row = rank ? t->spec.dim[rank - 1] : 1;
    int64_t rows = row ? data_spec_elems(&t->spec) / row : 0;

    for (int64_t r = 0; r < rows; r++) {
        int64_t at = 0, left = r, stride = rank ? s->dim[rank - 1] : 1;

        for (int d = rank - 2; d >= 0; d--) {
            at += left % t->spec.dim[d] * stride;
            left /= t->spec.dim[d];
            stride *= s->dim[d];
        }
        element_copy_part(x, i, to + at, t, r * row, row);
    }
}

static void stack_padded(const struct batch *b, struct data_element *x, int i,
                         struct data_element *const *part, int64_t count)
{
    struct data_spec s = padded_shape(&b->dataset.input[0]->spec[i], i, part, count);
    struct data_spec whole = stacked(&s, count);

    element_put(x, i, &whole);
    for (int64_t k = 0; k < count; k++)
        copy_corner(x, i, k * data_spec_elems(&s), &s, &part[k]->tensor[i]);
}

static int batch_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct batch *b = (const struct batch *)it->dataset;
    int64_t count, first = it->input[0]->count;
    struct data_element **part = gather(it, b->size, &count, e);
    int status = 0;

    if (count < 0)
        return -1;
    if (count == 0 || (b->drop_remainder && count < b->size)) {
        release_all(part, count);
        return 0;
    }
    *x = element_new(b->dataset.tensor_count);
    for (int i = 0; i < b->dataset.tensor_count && status == 0; i++)
        if (b->is_padded)
            stack_padded(b, *x, i, part, count);
        else
            status = stack_plain(*x, i, part, count, first, e);
    release_all(part, count);
    if (status == 0)
        return 1;
    element_release(*x);
    *x = NULL;
    return -1;
}

static const struct dataset_kind batch_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS,
    .next = batch_next, .skip = batch_skip,
};

static struct dataset *new_batch(struct dataset *in, int64_t size, bool drop_remainder,
                                 bool is_padded, struct err *e)
{
    const char *name = is_padded ? "padded_batch" : "batch";
    struct batch *b;
    bool is_whole;

    if (!in)
        return NULL;
    if (size < 1 || size > BATCH_MAX)
        return dataset_refuse(in, e, "%s: size is %" PRId64 ", allowed are 1..%" PRId64, name,
                              size, BATCH_MAX);
    for (int i = 0; i < in->tensor_count; i++)
        if (in->spec[i].rank == DATA_RANK_MAX)
            return dataset_refuse(in, e, "%s: tensor %d has %d dimensions already, the most there "
                                  "are", name, i, DATA_RANK_MAX);
    b = dataset_new(&batch_kind, sizeof(*b), &in, 1);
    b->size = size;
    b->drop_remainder = drop_remainder;
    b->is_padded = is_padded;
    is_whole = drop_remainder || in->cardinality == DATA_INFINITE ||
               (in->cardinality > 0 && in->cardinality % size == 0);
    for (int i = 0; i < in->tensor_count; i++)
        b->dataset.spec[i] = stacked(&in->spec[i], is_whole ? size : DATA_ANY_SIZE);
    if (in->cardinality >= 0)
        b->dataset.cardinality = in->cardinality / size +
                                 (!drop_remainder && in->cardinality % size != 0);
    dataset_set_description(&b->dataset, "%s(%" PRId64 "%s)", name, size,
                            drop_remainder ? ", drop remainder" : "");
    return &b->dataset;
}

struct dataset *dataset_batch(struct dataset *in, int64_t size, bool drop_remainder,
                              struct err *e)
{
    return new_batch(in, size, drop_remainder, false, e);
}

struct dataset *dataset_padded_batch(struct dataset *in, int64_t size, bool drop_remainder,
                                     struct err *e)
{
    return new_batch(in, size, drop_remainder, true, e);
}

/* ---- unbatch */

struct unbatch_iterator {
    struct data_iterator base;
    struct data_element *whole;         /* NULL: none under way */
    int64_t at, count;                  /* slices given, slices of it */
    struct bytes before;                /* the input's position in front of it */
};

static int take_whole(struct unbatch_iterator *u, struct err *e)
{
    struct data_iterator *in = u->base.input[0];
    struct archive a = {.out = &u->before};
    int status;

    element_release(u->whole);
    u->whole = NULL;
    u->at = u->count = 0;
    u->before.size = 0;
    data_iterator_archive(in, &a);
    status = data_iterator_next(in, &u->whole, e);
    if (status <= 0)
        return status;
    u->count = u->whole->tensor[0].spec.dim[0];
    for (int i = 1; i < u->whole->tensor_count; i++)
        if (u->whole->tensor[i].spec.dim[0] != u->count)
            return err_set(e, "unbatch: tensor %d of element %" PRId64 " has %" PRId64
                           " slices, tensor 0 has %" PRId64, i, in->count - 1,
                           u->whole->tensor[i].spec.dim[0], u->count);
    return 1;
}

static int unbatch_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    struct unbatch_iterator *u = (struct unbatch_iterator *)it;

    while (u->at == u->count) {
        int status = take_whole(u, e);

        if (status <= 0)
            return status;
    }
    *x = element_new(u->whole->tensor_count);
    for (int i = 0; i < u->whole->tensor_count; i++) {
        const struct data_tensor *t = &u->whole->tensor[i];
        struct data_spec s = data_spec_of(t->spec.dtype, t->spec.rank - 1, t->spec.dim + 1);
        int64_t elems = data_spec_elems(&s);

        element_put(*x, i, &s);
        element_copy_part(*x, i, 0, t, u->at * elems, elems);
    }
    u->at++;
    return 1;
}

/* in front of the element under way, and how much of it was given */
static void unbatch_archive(struct data_iterator *it, struct archive *a)
{
    struct unbatch_iterator *u = (struct unbatch_iterator *)it;
    int64_t at = u->at;

    if (!archive_is_loading(a) && u->at == u->count) {
        at = 0;
        data_iterator_archive_count(a, &at, "a count of slices");
        data_iterator_archive(it->input[0], a);
        return;
    }
    data_iterator_archive_count(a, &at, "a count of slices");
    if (!archive_is_loading(a)) {
        bytes_append(a->out, u->before.data, u->before.size);
        return;
    }
    data_iterator_archive(it->input[0], a);
    if (at == 0 || a->is_failed)
        return;
    a->is_failed = take_whole(u, a->e) < 0;
    archive_check(a, at <= u->count, "a slice %" PRId64 " of %" PRId64, at, u->count);
    u->at = a->is_failed ? u->count : at;
}

static void unbatch_close(struct data_iterator *it)
{
    struct unbatch_iterator *u = (struct unbatch_iterator *)it;

    element_release(u->whole);
    mem_free(u->before.data);
}

static const struct dataset_kind unbatch_kind = {
    .iterator_bytes = sizeof(struct unbatch_iterator), .state = STATE_OWN,
    .next = unbatch_next, .archive = unbatch_archive, .close = unbatch_close,
};

struct dataset *dataset_unbatch(struct dataset *in, struct err *e)
{
    struct dataset *d;

    if (!in)
        return NULL;
    for (int i = 0; i < in->tensor_count; i++)
        if (in->spec[i].rank == 0)
            return dataset_refuse(in, e, "unbatch: tensor %d is a scalar, which has no slices", i);
    if (in->tensor_count == 0)
        return dataset_refuse(in, e, "unbatch: an element of no tensors has no slices");
    d = dataset_new(&unbatch_kind, sizeof(*d), &in, 1);
    d->cardinality = in->cardinality;
    for (int i = 0; i < in->tensor_count; i++)
        d->spec[i] = data_spec_of(in->spec[i].dtype, in->spec[i].rank - 1, in->spec[i].dim + 1);
    if (in->cardinality > 0)
        d->cardinality = in->spec[0].dim[0] == DATA_ANY_SIZE ||
                         in->spec[0].dim[0] > INT64_MAX / in->cardinality
                         ? DATA_UNKNOWN : in->cardinality * in->spec[0].dim[0];
    else if (in->cardinality == DATA_INFINITE)
        d->cardinality = in->spec[0].dim[0] == DATA_ANY_SIZE || in->spec[0].dim[0] == 0
                         ? DATA_UNKNOWN : DATA_INFINITE;
    dataset_set_description(d, "unbatch");
    return d;
}
