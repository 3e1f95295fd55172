/*
 * Elements with reference counts, their tensors in one block of memory, and the specifications
 * that they must fit.
 */
#include "data/element.h"

#include "base/arena.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A block of an element's memory; what it holds begins ROOM_BYTES behind it. */
struct room {
    struct room *next;
};
#define ROOM_BYTES 64                   /* keeps what follows aligned as mem_alloc has it */

struct held {
    struct data_element element;        /* first: what users see */
    atomic_int holder_count;
    struct room *room;
    const char *path;                   /* of its origin; NULL: not known */
    int64_t record, offset;
    struct data_tensor tensor[];
};

static const struct {
    const char *name;
    size_t bytes;
} dtypes[DATA_DTYPE_COUNT] = {
    [DATA_F32] = {"f32", 4},
    [DATA_S32] = {"s32", 4},
    [DATA_U8] = {"u8", 1},
    [DATA_STRING] = {"string", sizeof(struct data_string)},
};

size_t data_dtype_bytes(enum data_dtype t)
{
    return dtypes[t].bytes;
}

const char *data_dtype_name(enum data_dtype t)
{
    return dtypes[t].name;
}

struct data_spec data_spec_of(enum data_dtype dtype, int rank, const int64_t *dim)
{
    struct data_spec s = {.dtype = dtype, .rank = rank};

    assert(rank >= 0 && rank <= DATA_RANK_MAX);
    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

bool data_spec_is_equal(const struct data_spec *a, const struct data_spec *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(a->dim[0])) == 0;
}

bool data_spec_fits(const struct data_spec *is, const struct data_spec *as)
{
    if (is->dtype != as->dtype || is->rank != as->rank)
        return false;
    for (int i = 0; i < is->rank; i++)
        if (as->dim[i] != DATA_ANY_SIZE && is->dim[i] != as->dim[i])
            return false;
    return true;
}

int64_t data_spec_elems(const struct data_spec *s)
{
    int64_t count = 1;

    for (int i = 0; i < s->rank; i++) {
        assert(s->dim[i] >= 0);
        count *= s->dim[i];
    }
    return count;
}

char *data_spec_print(const struct data_spec *s, char *buf, size_t buf_bytes)
{
    size_t used = (size_t)snprintf(buf, buf_bytes, "%s[", data_dtype_name(s->dtype));

    for (int i = 0; i < s->rank && used < buf_bytes; i++) {
        const char *comma = i ? "," : "";

        used += (size_t)(s->dim[i] == DATA_ANY_SIZE
                         ? snprintf(buf + used, buf_bytes - used, "%s?", comma)
                         : snprintf(buf + used, buf_bytes - used, "%s%" PRId64, comma,
                                    s->dim[i]));
    }
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "]");
    return buf;
}

char *data_specs_print(const struct data_spec *s, int count, char *buf, size_t buf_bytes)
{
    size_t used = (size_t)snprintf(buf, buf_bytes, "(");

    for (int i = 0; i < count && used + 3 < buf_bytes; i++) {
        if (i)
            used += (size_t)snprintf(buf + used, buf_bytes - used, ", ");
        data_spec_print(&s[i], buf + used, buf_bytes - used);
        used += strlen(buf + used);
    }
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, ")");
    return buf;
}

struct data_element *element_new(int tensor_count)
{
    struct held *h = mem_alloc(sizeof(*h) + (size_t)tensor_count * sizeof(h->tensor[0]));

    assert(tensor_count >= 0 && tensor_count <= DATA_TUPLE_MAX);
    h->element.tensor_count = tensor_count;
    h->element.tensor = h->tensor;
    atomic_init(&h->holder_count, 1);
    return &h->element;
}

struct data_element *element_retain(struct data_element *x)
{
    atomic_fetch_add(&((struct held *)x)->holder_count, 1);
    return x;
}

void element_release(struct data_element *x)
{
    struct held *h = (struct held *)x;
    struct room *room;

    if (!x || atomic_fetch_sub(&h->holder_count, 1) > 1)
        return;
    while ((room = h->room) != NULL) {
        h->room = room->next;
        mem_free(room);
    }
    mem_free(h);
}

static void *take_room(struct data_element *x, size_t bytes)
{
    struct held *h = (struct held *)x;
    struct room *room = mem_alloc(ROOM_BYTES + bytes);

    room->next = h->room;
    h->room = room;
    return (char *)room + ROOM_BYTES;
}

void *element_put(struct data_element *x, int i, const struct data_spec *s)
{
    struct data_tensor *t = &x->tensor[i];
    int64_t count = data_spec_elems(s);

    assert(i >= 0 && i < x->tensor_count && !t->data && count <= DATA_TENSOR_ELEMS_MAX);
    t->spec = *s;
    t->data = take_room(x, (size_t)count * data_dtype_bytes(s->dtype));
    if (s->dtype == DATA_STRING)
        for (int64_t k = 0; k < count; k++)
            ((struct data_string *)t->data)[k].byte = "";
    return t->data;
}

void element_put_string(struct data_element *x, int i, int64_t index, const void *byte,
                        int64_t size)
{
    struct data_string *s = x->tensor[i].data;
    char *copy;

    assert(x->tensor[i].spec.dtype == DATA_STRING);
    if (size == 0)
        return;
    copy = take_room(x, (size_t)size + 1);
    memcpy(copy, byte, (size_t)size);
    s[index] = (struct data_string){.byte = copy, .size = size};
}

void element_copy_part(struct data_element *x, int i, int64_t to, const struct data_tensor *from,
                       int64_t first, int64_t count)
{
    size_t bytes = data_dtype_bytes(from->spec.dtype);

    assert(x->tensor[i].spec.dtype == from->spec.dtype);
    if (from->spec.dtype != DATA_STRING) {
        if (count > 0)
            memcpy((char *)x->tensor[i].data + (size_t)to * bytes,
                   (const char *)from->data + (size_t)first * bytes, (size_t)count * bytes);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        const struct data_string *s = (const struct data_string *)from->data + first + k;

        element_put_string(x, i, to + k, s->byte, s->size);
    }
}

void element_put_tensor(struct data_element *x, int i, const struct data_tensor *t)
{
    element_put(x, i, &t->spec);
    element_copy_part(x, i, 0, t, 0, data_spec_elems(&t->spec));
}

void element_set_origin(struct data_element *x, const char *path, int64_t record, int64_t offset)
{
    struct held *h = (struct held *)x;
    char *copy = take_room(x, strlen(path) + 1);

    memcpy(copy, path, strlen(path));
    h->path = copy;
    h->record = record;
    h->offset = offset;
}

void element_copy_origin(struct data_element *x, const struct data_element *from)
{
    const struct held *h = (const struct held *)from;

    if (h->path)
        element_set_origin(x, h->path, h->record, h->offset);
}

int element_blame(const struct data_element *x, struct err *e)
{
    const struct held *h = (const struct held *)x;
    struct err why = *e;

    if (!h->path || why.file[0])
        return -1;
    return err_at(e, h->path, 0, 0, "record %" PRId64 " at byte %" PRId64 ": %s", h->record,
                  h->offset, why.msg);
}

/* ---- saving and loading ------------------------------------------------------- */

static void archive_strings(struct archive *a, struct data_element *x, int i, int64_t count)
{
    for (int64_t k = 0; k < count && !a->is_failed; k++) {
        struct data_string *s = (struct data_string *)x->tensor[i].data + k;
        const void *byte = s->byte;
        size_t size = (size_t)s->size;

        archive_blob(a, &byte, &size);
        if (archive_is_loading(a) && !a->is_failed)
            element_put_string(x, i, k, byte, (int64_t)size);
    }
}

/* Sizes are believed only as far as the bytes that are left could hold the elements. */
static bool is_possible(const struct archive *a, const struct data_spec *s)
{
    size_t elem_bytes = s->dtype == DATA_STRING ? sizeof(uint64_t) : data_dtype_bytes(s->dtype);
    int64_t most = (int64_t)((size_t)(a->end - a->at) / elem_bytes), count = 1;

    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] < 0)
            return false;
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] == 0)
            return true;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] > most / count)
            return false;
        count *= s->dim[i];
    }
    return true;
}

static void archive_tensor(struct archive *a, struct data_element *x, int i)
{
    struct data_spec s = x->tensor[i].spec;
    int32_t dtype = (int32_t)s.dtype, rank = s.rank;

    archive_bytes(a, &dtype, sizeof(dtype));
    archive_bytes(a, &rank, sizeof(rank));
    archive_check(a, dtype >= 0 && dtype < DATA_DTYPE_COUNT && rank >= 0 && rank <= DATA_RANK_MAX,
                  "tensor %d of an element is of type %d and rank %d", i, (int)dtype, (int)rank);
    if (a->is_failed)
        return;
    s.dtype = (enum data_dtype)dtype;
    s.rank = rank;
    archive_bytes(a, s.dim, (size_t)rank * sizeof(s.dim[0]));
    if (archive_is_loading(a)) {
        archive_check(a, is_possible(a, &s), "tensor %d of an element has impossible sizes", i);
        if (a->is_failed)
            return;
        element_put(x, i, &s);
    }
    if (s.dtype == DATA_STRING)
        archive_strings(a, x, i, data_spec_elems(&s));
    else
        archive_bytes(a, x->tensor[i].data,
                      (size_t)data_spec_elems(&s) * data_dtype_bytes(s.dtype));
}

void element_archive(struct archive *a, struct data_element **x)
{
    int32_t count = archive_is_loading(a) ? 0 : (*x)->tensor_count;

    archive_bytes(a, &count, sizeof(count));
    archive_check(a, count >= 0 && count <= DATA_TUPLE_MAX, "an element of %d tensors",
                  (int)count);
    if (archive_is_loading(a))
        *x = a->is_failed ? NULL : element_new(count);
    for (int i = 0; i < count && !a->is_failed; i++)
        archive_tensor(a, *x, i);
    if (a->is_failed && archive_is_loading(a)) {
        element_release(*x);
        *x = NULL;
    }
}
