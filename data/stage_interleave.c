/*
 * A circle of open datasets, each made from one element of the input. They take turns of
 * `block_length` elements; one that ends leaves its place empty, and the next element of the
 * input fills it when its turn comes.
 */
#include "data/dataset_impl.h"

#include <inttypes.h>

#define CYCLE_MAX 4096

struct interleave {
    struct dataset dataset;
    struct data_interleave how;
};

struct part {
    struct data_element *from;          /* NULL: the place is empty */
    struct data_iterator *it;
};

struct interleave_iterator {
    struct data_iterator base;
    struct part *part;
    int64_t turn, given;                /* whose turn it is, how much of it is over */
    int64_t open_count;
};

static int interleave_open(struct data_iterator *it, struct err *e)
{
    const struct interleave *d = (const struct interleave *)it->dataset;

    ((struct interleave_iterator *)it)->part = mem_alloc((size_t)d->how.cycle_length *
                                                         sizeof(struct part));
    return data_iterator_open_input(it, 0, it->pass, e);
}

static int check_specs(const struct interleave *d, const struct dataset *part, struct err *e)
{
    char is[200], as[200];
    bool fits = part->tensor_count == d->dataset.tensor_count;

    for (int i = 0; fits && i < part->tensor_count; i++)
        fits = data_spec_fits(&part->spec[i], &d->dataset.spec[i]);
    if (fits)
        return 0;
    return err_set(e, "interleave: a dataset of %s, declared is %s",
                   data_specs_print(part->spec, part->tensor_count, is, sizeof(is)),
                   data_specs_print(d->dataset.spec, d->dataset.tensor_count, as, sizeof(as)));
}

/* takes over `from`, also when it fails */
static int open_part(struct interleave_iterator *it, struct part *p, struct data_element *from,
                     struct err *e)
{
    const struct interleave *d = (const struct interleave *)it->base.dataset;
    struct dataset *part = d->how.open(d->how.context, from, e);

    if (part && check_specs(d, part, e) == 0)
        p->it = data_iterator_open(part, it->base.pass, e);
    dataset_release(part);
    if (!p->it) {
        element_release(from);
        return -1;
    }
    p->from = from;
    it->open_count++;
    return 0;
}

static void close_part(struct interleave_iterator *it, struct part *p)
{
    if (!p->from)
        return;
    data_iterator_destroy(p->it);
    element_release(p->from);
    *p = (struct part){.from = NULL};
    it->open_count--;
}

static void next_turn(struct interleave_iterator *it)
{
    const struct interleave *d = (const struct interleave *)it->base.dataset;

    it->turn = (it->turn + 1) % d->how.cycle_length;
    it->given = 0;
}

/* The part whose turn it is gives an element; 0: it has none, the next one may. */
static int take_turn(struct interleave_iterator *it, struct data_element **x, struct err *e)
{
    const struct interleave *d = (const struct interleave *)it->base.dataset;
    struct part *p = &it->part[it->turn];
    struct data_element *from;
    int status;

    if (!p->from) {
        status = data_iterator_next(it->base.input[0], &from, e);
        if (status < 0 || (status > 0 && open_part(it, p, from, e)))
            return -1;
        if (status == 0) {
            next_turn(it);
            return 0;
        }
    }
    status = data_iterator_next(p->it, x, e);
    if (status == 0)
        close_part(it, p);
    if (status == 0 || ++it->given == d->how.block_length)
        next_turn(it);
    return status;
}

static int interleave_next(struct data_iterator *base, struct data_element **x, struct err *e)
{
    struct interleave_iterator *it = (struct interleave_iterator *)base;

    while (it->open_count > 0 || !base->input[0]->is_done) {
        int status = take_turn(it, x, e);

        if (status)
            return status;
    }
    return 0;
}

/* An open place is the element it was made from and the position in what was made. */
static void archive_part(struct interleave_iterator *it, struct part *p, struct archive *a)
{
    uint8_t is_open = p->from != NULL;
    struct data_element *from = p->from;

    archive_bytes(a, &is_open, 1);
    archive_check(a, is_open <= 1, "a mark of an open part is %d", is_open);
    if (a->is_failed || !is_open)
        return;
    element_archive(a, &from);
    if (a->is_failed)
        return;
    if (archive_is_loading(a) && open_part(it, p, from, a->e)) {
        a->is_failed = true;
        return;
    }
    data_iterator_archive(p->it, a);
}

static void interleave_archive(struct data_iterator *base, struct archive *a)
{
    const struct interleave *d = (const struct interleave *)base->dataset;
    struct interleave_iterator *it = (struct interleave_iterator *)base;

    data_iterator_archive_count(a, &it->turn, "the number of a part");
    data_iterator_archive_count(a, &it->given, "a count of elements");
    archive_check(a, it->turn < d->how.cycle_length && it->given < d->how.block_length,
                  "a turn %" PRId64 " of %" PRId64, it->turn, d->how.cycle_length);
    if (a->is_failed)
        return;
    data_iterator_archive(base->input[0], a);
    for (int64_t i = 0; i < d->how.cycle_length && !a->is_failed; i++)
        archive_part(it, &it->part[i], a);
}

static void interleave_close(struct data_iterator *base)
{
    const struct interleave *d = (const struct interleave *)base->dataset;
    struct interleave_iterator *it = (struct interleave_iterator *)base;

    for (int64_t i = 0; i < d->how.cycle_length; i++)
        close_part(it, &it->part[i]);
    mem_free(it->part);
}

static const struct dataset_kind interleave_kind = {
    .iterator_bytes = sizeof(struct interleave_iterator), .state = STATE_OWN,
    .open = interleave_open, .next = interleave_next, .archive = interleave_archive,
    .close = interleave_close,
};

struct dataset *dataset_interleave(struct dataset *in, const struct data_interleave *how,
                                   struct err *e)
{
    struct interleave *d;

    if (!in)
        return NULL;
    if (how->cycle_length < 1 || how->cycle_length > CYCLE_MAX || how->block_length < 1)
        return dataset_refuse(in, e, "interleave: %" PRId64 " at once in blocks of %" PRId64
                              ", allowed are 1..%d in blocks of 1 and more", how->cycle_length,
                              how->block_length, CYCLE_MAX);
    if (how->output_count < 1 || how->output_count > DATA_TUPLE_MAX)
        return dataset_refuse(in, e, "interleave: %d tensors of output, allowed are 1..%d",
                              how->output_count, DATA_TUPLE_MAX);
    d = dataset_new(&interleave_kind, sizeof(*d), &in, 1);
    dataset_set_specs(&d->dataset, how->output, how->output_count);
    d->how = *how;
    d->how.output = d->dataset.spec;
    if (in->cardinality != 0)
        d->dataset.cardinality = DATA_UNKNOWN;
    dataset_set_description(&d->dataset, "interleave(%" PRId64 " at once, blocks of %" PRId64 ")",
                            how->cycle_length, how->block_length);
    return &d->dataset;
}
