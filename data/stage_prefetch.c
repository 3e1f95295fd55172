/*
 * A thread that keeps elements ready. Beside each it leaves the input's position behind it: what
 * the iterator's own position is once the element has been given.
 */
#include "data/dataset_impl.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define READY_MAX 4096

struct prefetch {
    struct dataset dataset;
    int64_t count;
};

struct ready {
    struct data_element *x;
    int status;                         /* 0: the end; -1: err */
    struct err err;
    struct bytes after;
};

struct prefetch_iterator {
    struct data_iterator base;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t has_room, has_element;
    bool is_running, stop;
    struct ready *ready;                /* a ring */
    int size, oldest, used;
    struct bytes position;              /* of the input, as the one who pulls sees it */
};

/* False when it was the last one. */
static bool make_one(struct prefetch_iterator *p, struct ready *r)
{
    struct data_iterator *in = p->base.input[0];
    struct archive a = {.out = &r->after};

    r->status = data_iterator_next(in, &r->x, &r->err);
    r->after.size = 0;
    if (r->status >= 0)
        data_iterator_archive(in, &a);
    return r->status > 0;
}

static void *run(void *context)
{
    struct prefetch_iterator *p = context;
    bool goes_on = true;

    pthread_mutex_lock(&p->mutex);
    while (goes_on && !p->stop) {
        struct ready *r = &p->ready[(p->oldest + p->used) % p->size];

        if (p->used == p->size) {
            pthread_cond_wait(&p->has_room, &p->mutex);
            continue;
        }
        pthread_mutex_unlock(&p->mutex);
        goes_on = make_one(p, r);
        pthread_mutex_lock(&p->mutex);
        p->used++;
        pthread_cond_signal(&p->has_element);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static int start(struct prefetch_iterator *p, struct err *e)
{
    struct archive a = {.out = &p->position};

    if (p->is_running)
        return 0;
    data_iterator_archive(p->base.input[0], &a);
    p->size = (int)((const struct prefetch *)p->base.dataset)->count;
    p->ready = mem_alloc((size_t)p->size * sizeof(*p->ready));
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->has_room, NULL);
    pthread_cond_init(&p->has_element, NULL);
    p->is_running = pthread_create(&p->thread, NULL, run, p) == 0;
    if (p->is_running)
        return 0;
    mem_free(p->ready);
    return err_set(e, "prefetch: the host cannot start a thread");
}

static int prefetch_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    struct prefetch_iterator *p = (struct prefetch_iterator *)it;
    struct bytes given;
    struct ready *r;
    int status;

    if (start(p, e))
        return -1;
    pthread_mutex_lock(&p->mutex);
    while (p->used == 0)
        pthread_cond_wait(&p->has_element, &p->mutex);
    r = &p->ready[p->oldest];
    status = r->status;
    *x = r->x;
    r->x = NULL;
    if (status < 0)
        *e = r->err;
    given = r->after;
    r->after = p->position;             /* its memory is used again */
    p->position = given;
    p->oldest = (p->oldest + 1) % p->size;
    p->used--;
    pthread_cond_signal(&p->has_room);
    pthread_mutex_unlock(&p->mutex);
    return status;
}

static int64_t prefetch_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    struct prefetch_iterator *p = (struct prefetch_iterator *)it;

    if (!p->is_running)
        return data_iterator_skip(it->input[0], n, e);
    for (int64_t i = 0; i < n; i++) {
        struct data_element *x;
        int status = prefetch_next(it, &x, e);

        if (status <= 0)
            return status < 0 ? -1 : i;
        element_release(x);
    }
    return n;
}

static void prefetch_archive(struct data_iterator *it, struct archive *a)
{
    struct prefetch_iterator *p = (struct prefetch_iterator *)it;

    if (p->is_running)
        bytes_append(a->out, p->position.data, p->position.size);
    else
        data_iterator_archive(it->input[0], a);
}

static void prefetch_close(struct data_iterator *it)
{
    struct prefetch_iterator *p = (struct prefetch_iterator *)it;

    mem_free(p->position.data);
    if (!p->is_running)
        return;
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_signal(&p->has_room);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    for (int i = 0; i < p->size; i++) {
        element_release(p->ready[i].x);
        mem_free(p->ready[i].after.data);
    }
    mem_free(p->ready);
    pthread_cond_destroy(&p->has_room);
    pthread_cond_destroy(&p->has_element);
    pthread_mutex_destroy(&p->mutex);
}

static const struct dataset_kind prefetch_kind = {
    .iterator_bytes = sizeof(struct prefetch_iterator), .state = STATE_OWN,
    .next = prefetch_next, .skip = prefetch_skip, .archive = prefetch_archive,
    .close = prefetch_close,
};

struct dataset *dataset_prefetch(struct dataset *in, int64_t count, struct err *e)
{
    struct prefetch *p;

    if (!in)
        return NULL;
    if (count < 1 || count > READY_MAX)
        return dataset_refuse(in, e, "prefetch: %" PRId64 " elements, allowed are 1..%d", count,
                              READY_MAX);
    p = dataset_new(&prefetch_kind, sizeof(*p), &in, 1);
    p->count = count;
    dataset_set_description(&p->dataset, "prefetch(%" PRId64 ")", count);
    return &p->dataset;
}
