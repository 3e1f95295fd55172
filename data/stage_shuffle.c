/*
 * Each element is drawn from a buffer, whose place is then taken by the buffer's last one.
 *
 * A position is a count: which elements the buffer held then follows from the seed alone. The
 * draws are done once more with numbers in the place of elements, and the input is asked only for
 * those that are still in the buffer.
 */
#include "data/dataset_impl.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdlib.h>

#define BUFFER_MAX ((int64_t)1 << 31)

struct shuffle {
    struct dataset dataset;
    int64_t buffer_size;
    uint64_t seed;
    bool reshuffle;
};

struct shuffle_iterator {
    struct data_iterator base;
    struct rng rng;
    struct data_element **buffer;
    size_t count, capacity;
    int64_t drawn;
};

static void begin_draws(struct shuffle_iterator *s)
{
    const struct shuffle *d = (const struct shuffle *)s->base.dataset;
    uint64_t base;

    rng_init(&s->rng, d->seed);         /* so that neighbouring seeds share no pass */
    base = rng_next(&s->rng);
    rng_init(&s->rng, base + (d->reshuffle ? (uint64_t)s->base.pass : 0));
}

static int shuffle_open(struct data_iterator *it, struct err *e)
{
    begin_draws((struct shuffle_iterator *)it);
    return data_iterator_open_input(it, 0, it->pass, e);
}

static int fill(struct shuffle_iterator *s, struct err *e)
{
    const struct shuffle *d = (const struct shuffle *)s->base.dataset;

    while ((int64_t)s->count < d->buffer_size) {
        struct data_element *x;
        int status = data_iterator_next(s->base.input[0], &x, e);

        if (status <= 0)
            return status;
        MEM_ADD(s->buffer, s->count, s->capacity) = x;
    }
    return 0;
}

static int shuffle_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    struct shuffle_iterator *s = (struct shuffle_iterator *)it;
    uint32_t at;

    if (fill(s, e))
        return -1;
    if (s->count == 0)
        return 0;
    at = rng_below(&s->rng, (uint32_t)s->count);
    *x = s->buffer[at];
    s->buffer[at] = s->buffer[--s->count];
    s->drawn++;
    return 1;
}

/* ---- going back to a position ---- */

struct place {
    int64_t number;                     /* of the input's element */
    size_t slot;
};

static int by_number(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* how many elements had been put into the buffer when `drawn` had been drawn; -1: failed */
static int64_t count_taken(struct shuffle_iterator *s, int64_t drawn, struct err *e)
{
    const struct shuffle *d = (const struct shuffle *)s->base.dataset;
    int64_t most = drawn > 0 ? drawn - 1 + d->buffer_size : 0;
    int64_t length = s->base.dataset->input[0]->cardinality;

    if (length >= 0)
        return most < length ? most : length;
    if (length == DATA_INFINITE)
        return most;
    length = data_iterator_skip(s->base.input[0], most, e);
    return length < 0 || data_iterator_open_input(&s->base, 0, s->base.pass, e) ? -1 : length;
}

/* the numbers in the buffer after `drawn` draws from 0 .. taken-1; their count is *count */
static struct place *draw_numbers(struct shuffle_iterator *s, int64_t drawn, int64_t taken,
                                  size_t *count)
{
    const struct shuffle *d = (const struct shuffle *)s->base.dataset;
    size_t capacity = 0, have = 0;
    struct place *place = NULL;
    int64_t next = 0;

    for (int64_t i = 0; i < drawn; i++) {
        uint32_t at;

        while ((int64_t)have < d->buffer_size && next < taken) {
            place = mem_grow(place, &capacity, have + 1, sizeof(*place));
            place[have++].number = next++;
        }
        at = rng_below(&s->rng, (uint32_t)have);
        place[at] = place[--have];
    }
    for (size_t i = 0; i < have; i++)
        place[i].slot = i;
    *count = have;
    return place;
}

static int fetch(struct shuffle_iterator *s, const struct place *place, size_t count,
                 int64_t taken, struct err *e)
{
    struct data_iterator *in = s->base.input[0];

    s->buffer = mem_grow(s->buffer, &s->capacity, count + 1, sizeof(struct data_element *));
    s->count = count;                   /* where no element is yet, NULL is released as well */
    for (size_t i = 0; i < count; i++) {
        if (data_iterator_skip(in, place[i].number - in->count, e) < 0)
            return -1;
        if (data_iterator_next(in, &s->buffer[place[i].slot], e) != 1)
            return in->is_failed ? -1 : err_set(e, "the input of a shuffle has become shorter");
    }
    return data_iterator_skip(in, taken - in->count, e) < 0 ? -1 : 0;
}

static int draw_again(struct shuffle_iterator *s, struct err *e)
{
    int64_t taken = count_taken(s, s->drawn, e);
    struct place *place;
    size_t count;
    int status;

    if (taken < 0)
        return -1;
    if (taken < s->drawn)
        return err_set(e, "%" PRId64 " elements were shuffled, now there are only %" PRId64,
                       s->drawn, taken);
    place = draw_numbers(s, s->drawn, taken, &count);
    if (count > 0)
        qsort(place, count, sizeof(*place), by_number);
    status = fetch(s, place, count, taken, e);
    mem_free(place);
    return status;
}

static void shuffle_archive(struct data_iterator *it, struct archive *a)
{
    struct shuffle_iterator *s = (struct shuffle_iterator *)it;

    data_iterator_archive_count(a, &s->drawn, "a count of draws");
    if (archive_is_loading(a) && !a->is_failed && s->drawn > 0)
        a->is_failed = draw_again(s, a->e) != 0;
}

static void shuffle_close(struct data_iterator *it)
{
    struct shuffle_iterator *s = (struct shuffle_iterator *)it;

    for (size_t i = 0; i < s->count; i++)
        element_release(s->buffer[i]);
    mem_free(s->buffer);
}

static const struct dataset_kind shuffle_kind = {
    .iterator_bytes = sizeof(struct shuffle_iterator), .state = STATE_OWN,
    .open = shuffle_open, .next = shuffle_next, .archive = shuffle_archive,
    .close = shuffle_close,
};

struct dataset *dataset_shuffle(struct dataset *in, int64_t buffer_size, uint64_t seed,
                                bool reshuffle, struct err *e)
{
    struct shuffle *s;

    if (!in)
        return NULL;
    if (buffer_size < 1 || buffer_size > BUFFER_MAX)
        return dataset_refuse(in, e, "shuffle: a buffer of %" PRId64
                              " elements, allowed are 1..%" PRId64, buffer_size, BUFFER_MAX);
    s = dataset_new(&shuffle_kind, sizeof(*s), &in, 1);
    s->buffer_size = buffer_size;
    s->seed = seed;
    s->reshuffle = reshuffle;
    dataset_set_description(&s->dataset, "shuffle(%" PRId64 ", seed %" PRIu64 "%s)", buffer_size,
                            seed, reshuffle ? "" : ", same order every pass");
    return &s->dataset;
}
