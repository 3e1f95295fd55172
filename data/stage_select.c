/* The stages that choose or renumber elements: take, skip, shard, filter, enumerate. */
#include "data/dataset_impl.h"

#include <inttypes.h>

struct select {
    struct dataset dataset;
    int64_t count, index;
    data_filter *keep;
    void *context;
};

struct select_iterator {
    struct data_iterator base;
    uint8_t is_started;                 /* what comes before the first element is passed over */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct select *new_select(const struct dataset_kind *kind, struct dataset *in,
                                 int64_t count, int64_t index)
{
    struct select *s = dataset_new(kind, sizeof(*s), &in, 1);

    s->count = count;
    s->index = index;
    return s;
}

static void archive_started(struct data_iterator *it, struct archive *a)
{
    struct select_iterator *s = (struct select_iterator *)it;

    archive_bytes(a, &s->is_started, 1);
    archive_check(a, s->is_started <= 1, "a mark of a beginning is %d", s->is_started);
}

/* ---- take */

static int take_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct select *s = (const struct select *)it->dataset;

    return it->input[0]->count >= s->count ? 0 : data_iterator_next(it->input[0], x, e);
}

static int64_t take_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    const struct select *s = (const struct select *)it->dataset;

    return data_iterator_skip(it->input[0], least(n, s->count - it->input[0]->count), e);
}

static const struct dataset_kind take_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS,
    .next = take_next, .skip = take_skip,
};

struct dataset *dataset_take(struct dataset *in, int64_t count, struct err *e)
{
    struct select *s;

    if (!in)
        return NULL;
    if (count < 0)
        return dataset_refuse(in, e, "take: count is %" PRId64 ", allowed are 0 and more", count);
    s = new_select(&take_kind, in, count, 0);
    if (in->cardinality == DATA_INFINITE || in->cardinality > count || count == 0)
        s->dataset.cardinality = count;
    dataset_set_description(&s->dataset, "take(%" PRId64 ")", count);
    return &s->dataset;
}

/* ---- skip and shard: so many before the first, so many between */

static int64_t pass_over(struct data_iterator *it, int64_t between, struct err *e)
{
    const struct select *s = (const struct select *)it->dataset;
    struct select_iterator *at = (struct select_iterator *)it;
    int64_t wanted = at->is_started ? between : s->index;
    int64_t done = wanted ? data_iterator_skip(it->input[0], wanted, e) : 0;

    at->is_started = 1;
    return done < 0 ? -1 : done == wanted;
}

static int step_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    int64_t status = pass_over(it, ((const struct select *)it->dataset)->count - 1, e);

    return status <= 0 ? (int)status : data_iterator_next(it->input[0], x, e);
}

static int64_t step_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    const struct select *s = (const struct select *)it->dataset;
    int64_t status = pass_over(it, s->count - 1, e), done;

    if (status <= 0)
        return status;
    if (n - 1 > INT64_MAX / s->count - 1)
        n = INT64_MAX / s->count - 1;
    done = data_iterator_skip(it->input[0], (n - 1) * s->count + 1, e);
    return done < 0 ? -1 : (done + s->count - 1) / s->count;
}

static const struct dataset_kind step_kind = {
    .iterator_bytes = sizeof(struct select_iterator), .state = STATE_INPUTS,
    .next = step_next, .skip = step_skip, .archive = archive_started,
};

struct dataset *dataset_skip(struct dataset *in, int64_t count, struct err *e)
{
    struct select *s;

    if (!in)
        return NULL;
    if (count < 0)
        return dataset_refuse(in, e, "skip: count is %" PRId64 ", allowed are 0 and more", count);
    s = new_select(&step_kind, in, 1, count);
    if (in->cardinality >= 0)
        s->dataset.cardinality = in->cardinality - least(count, in->cardinality);
    dataset_set_description(&s->dataset, "skip(%" PRId64 ")", count);
    return &s->dataset;
}

struct dataset *dataset_shard(struct dataset *in, int64_t count, int64_t index, struct err *e)
{
    struct select *s;

    if (!in)
        return NULL;
    if (count < 1 || index < 0 || index >= count)
        return dataset_refuse(in, e, "shard: part %" PRId64 " of %" PRId64
                              "; parts are numbered from 0", index, count);
    s = new_select(&step_kind, in, count, index);
    if (in->cardinality >= 0)
        s->dataset.cardinality = in->cardinality / count + (index < in->cardinality % count);
    dataset_set_description(&s->dataset, "shard(%" PRId64 ", %" PRId64 ")", count, index);
    return &s->dataset;
}

int dataset_split(struct dataset *in, double share, struct dataset *part[2], struct err *e)
{
    int64_t first;

    part[0] = part[1] = NULL;
    if (!in)
        return -1;
    if (in->cardinality < 0 || !(share >= 0 && share <= 1)) {
        dataset_refuse(in, e, "split at %g of %s elements; a share is 0..1 of a known number",
                       share, in->cardinality == DATA_INFINITE ? "endless"
                       : in->cardinality < 0 ? "an unknown number of" : "its");
        return -1;
    }
    first = (int64_t)((double)in->cardinality * share);
    part[0] = dataset_take(dataset_retain(in), first, e);
    part[1] = dataset_skip(in, first, e);
    return 0;
}

/* ---- filter */

static int filter_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct select *s = (const struct select *)it->dataset;

    for (;;) {
        int status = data_iterator_next(it->input[0], x, e), keep;

        if (status <= 0)
            return status;
        keep = s->keep(s->context, *x, e);
        if (keep > 0)
            return 1;
        element_release(*x);
        *x = NULL;
        if (keep < 0)
            return -1;
    }
}

static const struct dataset_kind filter_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS, .next = filter_next,
};

struct dataset *dataset_filter(struct dataset *in, data_filter *keep, void *context,
                               struct err *e)
{
    struct select *s;

    (void)e;
    if (!in)
        return NULL;
    s = new_select(&filter_kind, in, 0, 0);
    s->keep = keep;
    s->context = context;
    if (in->cardinality != 0)
        s->dataset.cardinality = DATA_UNKNOWN;
    dataset_set_description(&s->dataset, "filter");
    return &s->dataset;
}

/* ---- enumerate */

static int enumerate_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct select *s = (const struct select *)it->dataset;
    int64_t number = s->index + it->input[0]->count;
    struct data_element *in;
    int status = data_iterator_next(it->input[0], &in, e);

    if (status <= 0)
        return status;
    if (number > INT32_MAX) {
        element_release(in);
        return err_set(e, "enumerate: number %" PRId64 " does not fit s32", number);
    }
    *x = element_new(in->tensor_count + 1);
    *(int32_t *)element_put(*x, 0, it->dataset->spec) = (int32_t)number;
    for (int i = 0; i < in->tensor_count; i++)
        element_put_tensor(*x, i + 1, &in->tensor[i]);
    element_release(in);
    return 1;
}

static const struct dataset_kind enumerate_kind = {
    .iterator_bytes = sizeof(struct data_iterator), .state = STATE_INPUTS,
    .next = enumerate_next, .skip = iterator_skip_input,
};

struct dataset *dataset_enumerate(struct dataset *in, int64_t first, struct err *e)
{
    struct data_spec spec[DATA_TUPLE_MAX] = {{.dtype = DATA_S32}};
    struct select *s;

    if (!in)
        return NULL;
    if (in->tensor_count == DATA_TUPLE_MAX)
        return dataset_refuse(in, e, "enumerate: an element has at most %d tensors",
                              DATA_TUPLE_MAX);
    if (first < INT32_MIN || first > INT32_MAX)
        return dataset_refuse(in, e, "enumerate: the first number %" PRId64 " does not fit s32",
                              first);
    for (int i = 0; i < in->tensor_count; i++)
        spec[i + 1] = in->spec[i];
    s = new_select(&enumerate_kind, in, 0, first);
    dataset_set_specs(&s->dataset, spec, in->tensor_count + 1);
    dataset_set_description(&s->dataset, "enumerate(%" PRId64 ")", first);
    return &s->dataset;
}
