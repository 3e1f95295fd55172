/*
 * Encodes text as numbers of a vocabulary, and makes windows of it in order or at random places
 * (drawn by Threefry).
 */
#include "data/characters.h"

#include "base/threefry.h"
#include "data/dataset_impl.h"
#include "data/stream.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_BYTES_MAX ((int64_t)1 << 32)

void vocabulary_of(struct vocabulary *v, const void *text, int64_t bytes)
{
    bool occurs[256] = {false};

    for (int64_t i = 0; i < bytes; i++)
        occurs[((const unsigned char *)text)[i]] = true;
    v->count = 0;
    for (int b = 0; b < 256; b++) {
        v->number[b] = occurs[b] ? v->count : -1;
        if (occurs[b])
            v->byte[v->count++] = (unsigned char)b;
    }
}

int vocabulary_encode(const struct vocabulary *v, const void *text, int64_t bytes, int32_t *to,
                      struct err *e)
{
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char b = ((const unsigned char *)text)[i];

        if (v->number[b] < 0)
            return err_set(e, "byte 0x%02x at offset %" PRId64
                           " is none of the %d characters of the vocabulary", b, i, v->count);
        to[i] = v->number[b];
    }
    return 0;
}

void vocabulary_decode(const struct vocabulary *v, const int32_t *number, int64_t count, char *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = number[i] >= 0 && number[i] < v->count ? (char)v->byte[number[i]] : '?';
}

char *characters_load(const char *path, int64_t *bytes, struct err *e)
{
    struct stream *s = stream_open(path, DATA_COMPRESSION_AUTO, e);
    const unsigned char *at;
    char *text = NULL;

    if (!s)
        return NULL;
    *bytes = stream_peek(s, TEXT_BYTES_MAX, &at, e);
    if (*bytes == TEXT_BYTES_MAX) {
        err_at(e, path, 0, 0, "more than %" PRId64 " bytes", TEXT_BYTES_MAX - 1);
    } else if (*bytes >= 0) {
        text = mem_alloc((size_t)*bytes + 1);
        if (*bytes > 0)
            memcpy(text, at, (size_t)*bytes);
    }
    stream_close(s);
    return text;
}

/* ---- windows ---- */

struct windows {
    struct dataset dataset;
    int32_t *number;
    int64_t count, length;
    int64_t stride;                     /* 0: begun anywhere */
    uint64_t seed;
};

struct windows_iterator {
    struct data_iterator base;
    int64_t at;
};

/* a number below `end` that only seed, pass and window decide */
static int64_t draw(uint64_t seed, int64_t pass, int64_t window, int64_t end)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t of_pass[2] = {(uint32_t)pass, (uint32_t)((uint64_t)pass >> 32)};
    const uint32_t counter[2] = {(uint32_t)window, (uint32_t)((uint64_t)window >> 32)};
    uint32_t pass_key[2], out[2];

    threefry_2x32(key, of_pass, pass_key);
    threefry_2x32(pass_key, counter, out);
    return (int64_t)((out[0] | (uint64_t)out[1] << 32) % (uint64_t)end);
}

static int windows_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct windows *w = (const struct windows *)it->dataset;
    struct windows_iterator *at = (struct windows_iterator *)it;
    int64_t first;

    (void)e;
    if (at->at == w->dataset.cardinality)
        return 0;
    first = w->stride > 0 ? at->at * w->stride
                          : draw(w->seed, it->pass, at->at, w->count - w->length);
    at->at++;
    *x = element_new(2);
    for (int i = 0; i < 2; i++)
        memcpy(element_put(*x, i, &w->dataset.spec[i]), w->number + first + i,
               (size_t)w->length * sizeof(*w->number));
    return 1;
}

static int64_t windows_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    struct windows_iterator *at = (struct windows_iterator *)it;
    int64_t left = it->dataset->cardinality - at->at;

    (void)e;
    n = n < left ? n : left;
    at->at += n;
    return n;
}

static void windows_fini(struct dataset *d)
{
    mem_free(((struct windows *)d)->number);
}

static const struct dataset_kind windows_kind = {
    .iterator_bytes = sizeof(struct windows_iterator), .state = STATE_COUNT,
    .next = windows_next, .skip = windows_skip, .fini = windows_fini,
};

static struct windows *new_windows(const int32_t *number, int64_t count, int64_t length,
                                   struct err *e)
{
    struct data_spec spec[2];
    struct windows *w;

    if (length < 1 || length >= count) {
        err_set(e, "windows of %" PRId64 " over %" PRId64 " characters; allowed are 1..%" PRId64,
                length, count, count - 1);
        return NULL;
    }
    w = dataset_new(&windows_kind, sizeof(*w), NULL, 0);
    w->number = mem_alloc((size_t)count * sizeof(*number));
    memcpy(w->number, number, (size_t)count * sizeof(*number));
    w->count = count;
    w->length = length;
    spec[0] = spec[1] = data_spec_of(DATA_S32, 1, &length);
    dataset_set_specs(&w->dataset, spec, 2);
    return w;
}

struct dataset *dataset_windows(const int32_t *number, int64_t count, int64_t length,
                                int64_t stride, struct err *e)
{
    struct windows *w;

    if (stride < 1)
        return dataset_refuse(NULL, e, "windows: stride is %" PRId64 ", allowed are 1 and more",
                              stride);
    w = new_windows(number, count, length, e);
    if (!w)
        return NULL;
    w->stride = stride;
    w->dataset.cardinality = (count - 1 - length) / stride + 1;
    dataset_set_description(&w->dataset, "windows(%" PRId64 " of %" PRId64 " every %" PRId64 ")",
                            length, count, stride);
    return &w->dataset;
}

struct dataset *dataset_random_windows(const int32_t *number, int64_t count, int64_t length,
                                       int64_t windows, uint64_t seed, struct err *e)
{
    struct windows *w;

    if (windows < 0)
        return dataset_refuse(NULL, e, "%" PRId64 " windows in a pass", windows);
    w = new_windows(number, count, length, e);
    if (!w)
        return NULL;
    w->seed = seed;
    w->dataset.cardinality = windows;
    dataset_set_description(&w->dataset, "random windows(%" PRId64 " of %" PRId64 ", seed %"
                            PRIu64 ")", length, count, seed);
    return &w->dataset;
}
