/* The repeat stage: opens its input again for each pass, a given number of times or without end. */
#include "data/dataset_impl.h"

#include <inttypes.h>

struct repeat {
    struct dataset dataset;
    int64_t count;                      /* or DATA_INFINITE */
};

struct repeat_iterator {
    struct data_iterator base;
    int64_t done;                       /* passes behind us */
};

/* a number of its own for every pass of every pass */
static int64_t input_pass(const struct data_iterator *it)
{
    const struct repeat *r = (const struct repeat *)it->dataset;
    uint64_t per_pass = r->count == DATA_INFINITE ? (uint64_t)1 << 32 : (uint64_t)r->count;

    return (int64_t)(((uint64_t)it->pass * per_pass +
                      (uint64_t)((const struct repeat_iterator *)it)->done) & INT64_MAX);
}

static bool is_over(const struct data_iterator *it)
{
    const struct repeat *r = (const struct repeat *)it->dataset;

    return r->count != DATA_INFINITE && ((const struct repeat_iterator *)it)->done >= r->count;
}

static int repeat_open(struct data_iterator *it, struct err *e)
{
    return is_over(it) ? 0 : data_iterator_open_input(it, 0, input_pass(it), e);
}

/* after a whole pass; 0: there is no other. Without end means without end only if there is any. */
static int begin_next_pass(struct data_iterator *it, int64_t passes, struct err *e)
{
    struct repeat_iterator *r = (struct repeat_iterator *)it;
    bool is_empty = it->input[0]->count == 0;

    r->done += passes;
    if (is_over(it) || (is_empty && ((const struct repeat *)it->dataset)->count == DATA_INFINITE))
        return 0;
    return data_iterator_open_input(it, 0, input_pass(it), e) ? -1 : 1;
}

static int repeat_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    while (it->input[0] && !is_over(it)) {
        int status = data_iterator_next(it->input[0], x, e);

        if (status == 0)
            status = begin_next_pass(it, 1, e);
        else
            return status;
        if (status <= 0)
            return status;
    }
    return 0;
}

/* Whole passes of known length are only counted. */
static int64_t repeat_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    const struct repeat *r = (const struct repeat *)it->dataset;
    int64_t length = it->dataset->input[0]->cardinality, left = n;

    while (it->input[0] && !is_over(it)) {
        int64_t done = data_iterator_skip(it->input[0], left, e), whole, most;
        int status;

        if (done < 0)
            return -1;
        left -= done;
        if (left == 0)
            break;
        most = r->count == DATA_INFINITE
               ? INT64_MAX : r->count - ((struct repeat_iterator *)it)->done - 1;
        whole = length > 0 ? left / length : 0;
        whole = whole < most ? whole : most;
        left -= length > 0 ? whole * length : 0;
        status = begin_next_pass(it, 1 + whole, e);
        if (status < 0)
            return -1;
        if (status == 0 || left == 0)
            break;
    }
    return n - left;
}

static void repeat_archive(struct data_iterator *it, struct archive *a)
{
    struct repeat_iterator *r = (struct repeat_iterator *)it;

    data_iterator_archive_count(a, &r->done, "a number of passes");
    if (a->is_failed)
        return;
    if (archive_is_loading(a) && !is_over(it) &&
        data_iterator_open_input(it, 0, input_pass(it), a->e)) {
        a->is_failed = true;
        return;
    }
    if (is_over(it))
        data_iterator_close_input(it, 0);
    else
        data_iterator_archive(it->input[0], a);
}

static const struct dataset_kind repeat_kind = {
    .iterator_bytes = sizeof(struct repeat_iterator), .state = STATE_OWN,
    .open = repeat_open, .next = repeat_next, .skip = repeat_skip, .archive = repeat_archive,
};

static int64_t times(int64_t cardinality, int64_t count)
{
    if (cardinality == 0 || count == 0)
        return 0;
    if (cardinality == DATA_INFINITE || count == DATA_INFINITE)
        return DATA_INFINITE;
    if (cardinality == DATA_UNKNOWN)
        return DATA_UNKNOWN;
    return cardinality > INT64_MAX / count ? INT64_MAX : cardinality * count;
}

struct dataset *dataset_repeat(struct dataset *in, int64_t count, struct err *e)
{
    struct repeat *r;

    if (!in)
        return NULL;
    if (count < 0 && count != DATA_INFINITE)
        return dataset_refuse(in, e, "repeat: count is %" PRId64
                              ", allowed are 0 and more, or %d for no end", count, DATA_INFINITE);
    r = dataset_new(&repeat_kind, sizeof(*r), &in, 1);
    r->count = count;
    r->dataset.cardinality = times(in->cardinality, count);
    if (count == DATA_INFINITE)
        dataset_set_description(&r->dataset, "repeat");
    else
        dataset_set_description(&r->dataset, "repeat(%" PRId64 ")", count);
    return &r->dataset;
}
