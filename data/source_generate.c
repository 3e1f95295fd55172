/* A source whose elements a function of the user makes. */
#include "data/dataset_impl.h"

struct generate {
    struct dataset dataset;
    struct data_generator generator;
    const char *name;
};

struct generate_iterator {
    struct data_iterator base;
    void *state;
};

static int generate_open(struct data_iterator *it, struct err *e)
{
    const struct data_generator *g = &((const struct generate *)it->dataset)->generator;
    struct generate_iterator *at = (struct generate_iterator *)it;

    at->state = g->open ? g->open(g->context, e) : g->context;
    return g->open && !at->state ? -1 : 0;
}

static int generate_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct generate *d = (const struct generate *)it->dataset;
    int status = d->generator.next(((struct generate_iterator *)it)->state, x, e);

    if (status <= 0)
        return status;
    if (element_check(*x, d->dataset.spec, d->dataset.tensor_count, d->name, it->count, e) == 0)
        return 1;
    element_release(*x);
    *x = NULL;
    return -1;
}

static void generate_close(struct data_iterator *it)
{
    const struct data_generator *g = &((const struct generate *)it->dataset)->generator;
    struct generate_iterator *at = (struct generate_iterator *)it;

    if (g->open && g->close && at->state)
        g->close(at->state);
}

static const struct dataset_kind generate_kind = {
    .iterator_bytes = sizeof(struct generate_iterator), .state = STATE_COUNT,
    .open = generate_open, .next = generate_next, .close = generate_close,
};

struct dataset *dataset_generate(const struct data_generator *g, struct err *e)
{
    struct generate *d;

    if (g->tensor_count < 1 || g->tensor_count > DATA_TUPLE_MAX)
        return dataset_refuse(NULL, e, "generator: %d tensors, allowed are 1..%d",
                              g->tensor_count, DATA_TUPLE_MAX);
    d = dataset_new(&generate_kind, sizeof(*d), NULL, 0);
    dataset_set_specs(&d->dataset, g->spec, g->tensor_count);
    d->generator = *g;
    d->generator.spec = d->dataset.spec;
    d->name = arena_strdup(&d->dataset.arena, g->name ? g->name : "generator");
    d->dataset.cardinality = DATA_UNKNOWN;
    dataset_set_description(&d->dataset, "%s", d->name);
    return &d->dataset;
}
