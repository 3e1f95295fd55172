/* Values of a run: scalars, vectors, memory; elements rounded to their types. */
#include "stack/mosaic/run_impl.h"
#include "stack/mosaic/watch_impl.h"

#include <math.h>
#include <string.h>

#include "base/fp8.h"

uint32_t *mosaic_out(struct mosaic_run *r, const struct mosaic_op *op)
{
    struct mosaic_datum *d = mosaic_datum(r, op->result[0]);
    int64_t count = mosaic_elements(&op->result[0]->type);

    if (!d->word || d->count != count) {
        mem_free(d->word);
        d->word = mem_alloc_unset((size_t)(count > 0 ? count : 1) * sizeof(*d->word));
        d->count = count;
    }
    return d->word;
}

void mosaic_set_int(struct mosaic_run *r, const struct mosaic_value *v, int64_t x)
{
    struct mosaic_datum *d = mosaic_datum(r, v);

    if (!d->word) {
        d->word = mem_alloc(sizeof(*d->word));
        d->count = 1;
    }
    d->integer = x;
    d->word[0] = (uint32_t)x;
}

const uint32_t *mosaic_words(struct mosaic_run *r, const struct mosaic_value *v)
{
    return mosaic_datum(r, v)->word;
}

void mosaic_copy_value(struct mosaic_run *r, const struct mosaic_value *to,
                       const struct mosaic_value *from)
{
    struct mosaic_datum *t = mosaic_datum(r, to), *f = mosaic_datum(r, from);

    if (t == f)
        return;
    t->integer = f->integer;
    t->view = f->view;
    if (!f->word)
        return;
    if (!t->word || t->count != f->count) {
        mem_free(t->word);
        t->word = mem_alloc_unset((size_t)(f->count > 0 ? f->count : 1) * sizeof(*t->word));
        t->count = f->count;
    }
    memcpy(t->word, f->word, (size_t)f->count * sizeof(*t->word));
}

uint32_t mosaic_unwritten(enum mosaic_element e)
{
    switch (mosaic_element_kind(e)) {
    case MOSAIC_KIND_FLOAT: return F32_NAN_BITS;
    case MOSAIC_KIND_SEMAPHORE: return 0;
    default: return (uint32_t)mosaic_wrap(e, (int64_t)(UINT64_C(1) << (mosaic_element_bits(e) - 1)));
    }
}

struct mosaic_view mosaic_whole(struct mosaic_buffer *b, const struct mosaic_type *t)
{
    struct mosaic_view v = {.buffer = b, .rank = t->rank};
    int64_t stride = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        v.dim[d] = t->dim[d];
        v.stride[d] = stride;
        stride *= t->dim[d];
    }
    return v;
}

void mosaic_allocate(struct mosaic_run *r, const struct mosaic_value *v)
{
    struct mosaic_datum *d = mosaic_datum(r, v);
    int64_t count = mosaic_elements(&v->type);

    if (!d->own) {
        d->own = mem_alloc(sizeof(*d->own));
        d->own->word = mem_alloc_unset((size_t)(count > 0 ? count : 1) * sizeof(uint32_t));
        d->own->count = count;
        d->own->id = v->id;
        d->own->marks = (struct mosaic_marks){.written = NULL};
    }
    watch_buffer(r, d->own, false);
    for (int64_t i = 0; i < count; i++)
        d->own->word[i] = mosaic_unwritten(v->type.element);
    d->view = mosaic_whole(d->own, &v->type);
}

/* f16 to nearest even */
static float round_f16(float x)
{
    float size = fabsf(x), step;
    int exponent;

    if (!(size < INFINITY) || size == 0)
        return x;
    frexpf(size, &exponent);
    step = ldexpf(1, exponent - 11 < -24 ? -24 : exponent - 11);
    size = nearbyintf(size / step) * step;
    return copysignf(size > 65504.0f ? INFINITY : size, x);
}

static const struct fp8 *fp8_of(enum mosaic_element e)
{
    switch (e) {
    case MOSAIC_F8E5M2: return &fp8_e5m2;
    case MOSAIC_F8E4M3FN: return &fp8_e4m3fn;
    case MOSAIC_F8E4M3B11FNUZ: return &fp8_e4m3b11fnuz;
    default: return NULL;
    }
}

uint32_t mosaic_word_of_code(enum mosaic_element e, uint32_t code)
{
    return fp8_of(e) ? fp8_to_f32_bits(*fp8_of(e), code & 0xff) : code;
}

uint32_t mosaic_code_of_word(enum mosaic_element e, uint32_t word)
{
    return fp8_of(e) ? fp8_from_f32_bits(*fp8_of(e), word) : word;
}

/* to the nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6, ties to the even code */
static float round_f4(float x)
{
    float size = fabsf(x), step = size < 2 ? 0.5f : size < 4 ? 1 : 2;

    if (isnan(x))
        return -0.0f;                   /* no code says so */
    if (size >= 6)
        return copysignf(6, x);
    size = nearbyintf(size / step) * step;
    return copysignf(size > 6 ? 6 : size, x);
}

float mosaic_round(enum mosaic_element e, float x)
{
    switch (e) {
    case MOSAIC_BF16: return f32_round_to_bf16(x);
    case MOSAIC_F16: return round_f16(x);
    case MOSAIC_F4E2M1FN: return round_f4(x);
    default: return f32_from_bits(mosaic_word_of_code(e, mosaic_code_of_word(e, f32_bits(x))));
    }
}

int64_t mosaic_wrap(enum mosaic_element e, int64_t x)
{
    int bits = e == MOSAIC_I1 ? 1 : e == MOSAIC_INDEX ? 64 : mosaic_element_bits(e);

    if (bits >= 64)
        return x;
    if (bits == 1)
        return x & 1;
    return (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
}

void mosaic_strides(const struct mosaic_type *t, int64_t *stride)
{
    int64_t s = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        stride[d] = s;
        s *= t->dim[d];
    }
}

int mosaic_check_dim(struct mosaic_run *r, const struct mosaic_op *op, int64_t dim, int rank)
{
    if (dim < 0 || dim >= rank)
        return mosaic_stop(r, op, "dimension %lld of %d", (long long)dim, rank);
    return 0;
}

bool mosaic_next(int64_t *index, const int64_t *dim, int rank)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < dim[d])
            return true;
        index[d] = 0;
    }
    return false;
}
