/*
 * Elements of the input's pass 0, kept by the stage once an iterator has seen them all. What
 * fills it stays with its iterator until then, so that iterators do not wait for each other.
 */
#include "data/dataset_impl.h"

#include <pthread.h>

struct list {
    struct data_element **x;
    size_t count, capacity;
};

struct cache {
    struct dataset dataset;
    pthread_mutex_t mutex;
    bool is_whole;                      /* never changes back: `all` is then for everybody */
    struct list all;
};

struct cache_iterator {
    struct data_iterator base;
    bool from_all;
    size_t at;
    struct list own;                    /* what this one has seen so far */
};

static void list_fini(struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        element_release(l->x[i]);
    mem_free(l->x);
}

static bool is_whole(struct cache *c)
{
    bool yes;

    pthread_mutex_lock(&c->mutex);
    yes = c->is_whole;
    pthread_mutex_unlock(&c->mutex);
    return yes;
}

static int cache_open(struct data_iterator *it, struct err *e)
{
    struct cache_iterator *at = (struct cache_iterator *)it;

    at->from_all = is_whole((struct cache *)it->dataset);
    return at->from_all ? 0 : data_iterator_open_input(it, 0, 0, e);
}

static void publish(struct cache *c, struct list *own)
{
    pthread_mutex_lock(&c->mutex);
    if (!c->is_whole) {
        c->all = *own;
        *own = (struct list){.count = 0};
        c->is_whole = true;
    }
    pthread_mutex_unlock(&c->mutex);
}

static int cache_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    struct cache_iterator *at = (struct cache_iterator *)it;
    struct cache *c = (struct cache *)it->dataset;
    int status;

    if (at->from_all) {
        if (at->at == c->all.count)
            return 0;
        *x = element_retain(c->all.x[at->at++]);
        return 1;
    }
    status = data_iterator_next(it->input[0], x, e);
    if (status == 0)
        publish(c, &at->own);
    if (status <= 0)
        return status;
    MEM_ADD(at->own.x, at->own.count, at->own.capacity) = element_retain(*x);
    return 1;
}

static int64_t cache_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    struct cache_iterator *at = (struct cache_iterator *)it;

    if (at->from_all) {
        int64_t left = (int64_t)(((struct cache *)it->dataset)->all.count - at->at);

        n = n < left ? n : left;
        at->at += (size_t)n;
        return n;
    }
    for (int64_t i = 0; i < n; i++) {
        struct data_element *x;
        int status = cache_next(it, &x, e);

        if (status <= 0)
            return status < 0 ? -1 : i;
        element_release(x);
    }
    return n;
}

static void cache_close(struct data_iterator *it)
{
    list_fini(&((struct cache_iterator *)it)->own);
}

static void cache_fini(struct dataset *d)
{
    struct cache *c = (struct cache *)d;

    list_fini(&c->all);
    pthread_mutex_destroy(&c->mutex);
}

static const struct dataset_kind cache_kind = {
    .iterator_bytes = sizeof(struct cache_iterator), .state = STATE_COUNT, .open = cache_open,
    .next = cache_next, .skip = cache_skip, .close = cache_close, .fini = cache_fini,
};

struct dataset *dataset_cache(struct dataset *in, struct err *e)
{
    struct cache *c;

    if (!in)
        return NULL;
    if (in->cardinality == DATA_INFINITE)
        return dataset_refuse(in, e, "cache: the input never ends; repeat belongs behind it");
    c = dataset_new(&cache_kind, sizeof(*c), &in, 1);
    pthread_mutex_init(&c->mutex, NULL);
    dataset_set_description(&c->dataset, "cache");
    return &c->dataset;
}
