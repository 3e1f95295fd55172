/* Makes values, shares them and gives their memory to the next ones. */
#include "import/lanes/stride.h"

#include "base/sanitized.h"

#include <string.h>

/* Under the address sanitizer each goes back to the heap, which finds who still uses it. */
static bool is_small(size_t bytes)
{
    return !SANITIZED_ADDRESS && bytes <= (size_t)VALUE_STEP * (VALUE_SIZES - 1);
}

static size_t size_of(size_t bytes) { return (bytes + VALUE_STEP - 1) / VALUE_STEP; }

/* contents are whatever was there */
static void *small_take(struct value_pool *p, size_t bytes)
{
    size_t size = size_of(bytes);
    struct value_small *s;

    if (!is_small(bytes) || !(s = p->small[size]))
        return mem_alloc_unset(size * VALUE_STEP);
    p->small[size] = s->next;
    return s;
}

static void small_give(struct value_pool *p, void *data, size_t bytes)
{
    struct value_small *s = data;

    if (!is_small(bytes)) {
        mem_free(data);
        return;
    }
    s->next = p->small[size_of(bytes)];
    p->small[size_of(bytes)] = s;
}

static size_t head_bytes(int rank, int parts)
{
    return sizeof(struct value) + (size_t)rank * sizeof(int64_t) + (size_t)parts * sizeof(void *);
}

static struct value *value_new(struct value_pool *p, enum hlo_element e, int rank,
                               const int64_t *dim, int parts)
{
    struct value *v = small_take(p, head_bytes(rank, parts));

    *v = (struct value){.holders = 1, .element = e, .rank = rank, .part_count = parts};
    v->dim = (int64_t *)(void *)(v + 1);
    v->part = (struct value **)(void *)(v->dim + rank);
    for (int d = 0; d < rank; d++)
        v->dim[d] = dim[d];
    for (int k = 0; k < parts; k++)
        v->part[k] = NULL;
    return v;
}

int64_t value_product(const int64_t *dim, int from, int to)
{
    int64_t n = 1;

    for (int d = from; d < to; d++)
        n *= dim[d];
    return n;
}

int64_t value_count(const struct value *v) { return value_product(v->dim, 0, v->rank); }
size_t value_element_bytes(const struct value *v) { return hlo_element_bytes(v->element); }

/* the smallest of the free blocks that is not much too large */
static void *block_take(struct value_pool *p, size_t bytes, size_t *got)
{
    int best = -1;
    void *data;

    if (is_small(bytes)) {
        *got = bytes;
        return small_take(p, bytes);
    }
    for (int k = 0; k < p->free_count; k++)
        if (p->free[k].bytes >= bytes && p->free[k].bytes <= bytes + bytes / 4 &&
            (best < 0 || p->free[k].bytes < p->free[best].bytes))
            best = k;
    if (best < 0) {
        *got = bytes;
        return mem_alloc_unset(bytes);
    }
    data = p->free[best].data;
    *got = p->free[best].bytes;
    p->free[best] = p->free[--p->free_count];
    return data;
}

static void block_give(struct value_pool *p, void *data, size_t bytes)
{
    enum { WORTH_KEEPING = 4096, KEPT = sizeof(p->free) / sizeof(p->free[0]) };

    if (bytes < WORTH_KEEPING) {
        small_give(p, data, bytes);
        return;
    }
    if (p->free_count == KEPT) {
        mem_free(p->free[0].data);
        memmove(p->free, p->free + 1, (KEPT - 1) * sizeof(p->free[0]));
        p->free_count--;
    }
    p->free[p->free_count++] = (struct value_block){ data, bytes };
}

void value_pool_free(struct value_pool *p)
{
    while (p->free_count)
        mem_free(p->free[--p->free_count].data);
    for (int k = 0; k < VALUE_SIZES; k++) {
        while (p->small[k]) {
            struct value_small *s = p->small[k];

            p->small[k] = s->next;
            mem_free(s);
        }
    }
}

/* bytes of an array, or SIZE_MAX where they are too many to count */
static size_t array_bytes(enum hlo_element e, int rank, const int64_t *dim)
{
    size_t bytes = hlo_element_bytes(e);

    for (int d = 0; d < rank; d++)
        if (dim[d] == 0)
            return 0;
    for (int d = 0; d < rank; d++)
        if (dim[d] < 0 || __builtin_mul_overflow(bytes, (size_t)dim[d], &bytes))
            return SIZE_MAX;
    return bytes;
}

struct value *value_array(struct value_pool *p, enum hlo_element e, int rank, const int64_t *dim)
{
    size_t bytes = array_bytes(e, rank, dim);
    struct value *v;

    if (bytes == SIZE_MAX || bytes > p->limit_bytes - p->used_bytes)
        return NULL;
    v = value_new(p, e, rank, dim, 0);
    if (bytes <= sizeof(v->small)) {
        v->data = v->small;
        return v;
    }
    v->data = block_take(p, bytes, &v->block_bytes);
    p->used_bytes += v->block_bytes;
    return v;
}

struct value *value_tuple(struct value_pool *p, int count, struct value *const *part)
{
    struct value *v = value_new(p, ELEMENT_TUPLE, 0, NULL, count);

    for (int k = 0; k < count; k++)
        v->part[k] = part ? part[k] : NULL;
    return v;
}

struct value *value_token(struct value_pool *p)
{
    return value_new(p, ELEMENT_TOKEN, 0, NULL, 0);
}

struct value *value_borrow(struct value_pool *p, enum hlo_element e, int rank, const int64_t *dim,
                           const void *data)
{
    struct value *v = value_new(p, e, rank, dim, 0);

    v->data = (void *)(uintptr_t)data;
    return v;
}

struct value *value_view(struct value_pool *p, struct value *v, enum hlo_element e, int rank,
                         const int64_t *dim)
{
    struct value *view = value_new(p, e, rank, dim, 0);

    view->base = value_hold(v);
    view->data = v->data;
    return view;
}

struct value *value_splat(struct value_pool *p, enum hlo_element e, int rank, const int64_t *dim,
                          const void *element)
{
    struct value *v = value_new(p, e, rank, dim, 0);

    memcpy(v->small, element, hlo_element_bytes(e));
    v->data = v->small;
    v->is_splat = true;
    return v;
}

bool value_spread(struct value_pool *p, struct value *v)
{
    size_t bytes;

    for (int k = 0; k < v->part_count; k++)
        if (v->part[k] && !value_spread(p, v->part[k]))
            return false;
    if (!v->is_splat)
        return true;
    bytes = array_bytes(v->element, v->rank, v->dim);
    if (bytes > p->limit_bytes - p->used_bytes)
        return false;
    v->is_splat = false;
    if (bytes > sizeof(v->small)) {
        v->data = block_take(p, bytes, &v->block_bytes);
        p->used_bytes += v->block_bytes;
    }
    stride_fill(v->data, v->small, hlo_element_bytes(v->element), value_count(v));
    return true;
}

struct value *value_hold(struct value *v)
{
    v->holders++;
    return v;
}

void value_drop(struct value_pool *p, struct value *v)
{
    if (!v || --v->holders)
        return;
    for (int k = 0; k < v->part_count; k++)
        value_drop(p, v->part[k]);
    if (v->block_bytes) {
        p->used_bytes -= v->block_bytes;
        block_give(p, v->data, v->block_bytes);
    }
    value_drop(p, v->base);
    small_give(p, v, head_bytes(v->rank, v->part_count));
}

bool value_is_writable(const struct value *v)
{
    if (v->holders != 1 || v->is_splat)
        return false;
    return v->base ? value_is_writable(v->base) : v->block_bytes || v->data == v->small;
}

void value_strides(const struct value *v, int64_t *stride)
{
    int64_t step = 1;

    for (int d = v->rank; d-- > 0; step *= v->dim[d])
        stride[d] = step;
}

int64_t value_int(const struct value *v, int64_t at)
{
    return hlo_element_load_int(v->element, (const char *)v->data +
                                                (size_t)at * value_element_bytes(v));
}
