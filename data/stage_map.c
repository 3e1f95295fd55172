/*
 * map: a callback makes another element of each.
 *
 * With threads, elements wait in a ring in the order of the input: whoever pulls fills it from
 * the input and takes its oldest, threads work on what is in between. The position of the
 * iterator is that of the input in front of the oldest element that has not been given.
 */
#include "data/dataset_impl.h"

#include <inttypes.h>
#include <pthread.h>

#define THREAD_MAX 64

struct map {
    struct dataset dataset;
    struct data_map map;
    const char *name;
};

enum slot_state { SLOT_EMPTY, SLOT_WAITING, SLOT_AT_WORK, SLOT_READY };

struct slot {
    enum slot_state state;
    struct data_element *in, *out;
    int64_t number;
    int status;                         /* of the result; 0: the input has ended */
    struct err err;
    struct bytes before;                /* the input's position */
};

struct map_iterator {
    struct data_iterator base;
    pthread_mutex_t mutex;
    pthread_cond_t has_work, has_result;
    pthread_t thread[THREAD_MAX];
    int thread_count;                   /* 0 until the first element is asked for */
    bool stop;
    struct slot *slot;                  /* a ring */
    int slot_count, oldest, used;
};

static int apply(const struct map *m, const struct data_element *in, int64_t number,
                 struct data_element **out, struct err *e)
{
    *out = element_new(m->map.output_count);
    *e = (struct err){.line = 0};
    if (m->map.apply(m->map.context, in, *out, e) == 0 &&
        data_element_check(*out, m->map.output, m->map.output_count, m->name, number, e) == 0) {
        element_copy_origin(*out, in);
        return 1;
    }
    element_release(*out);
    *out = NULL;
    return element_blame(in, e);
}

static int next_here(struct data_iterator *it, struct data_element **x, struct err *e)
{
    struct data_element *in;
    int status = data_iterator_next(it->input[0], &in, e);

    if (status <= 0)
        return status;
    status = apply((const struct map *)it->dataset, in, it->input[0]->count - 1, x, e);
    element_release(in);
    return status;
}

/* ---- with threads */

static struct slot *find_work(struct map_iterator *m)
{
    for (int i = 0; i < m->used; i++) {
        struct slot *s = &m->slot[(m->oldest + i) % m->slot_count];

        if (s->state == SLOT_WAITING)
            return s;
    }
    return NULL;
}

static void *work(void *p)
{
    struct map_iterator *m = p;

    pthread_mutex_lock(&m->mutex);
    while (!m->stop) {
        struct slot *s = find_work(m);

        if (!s) {
            pthread_cond_wait(&m->has_work, &m->mutex);
            continue;
        }
        s->state = SLOT_AT_WORK;
        pthread_mutex_unlock(&m->mutex);
        s->status = apply((const struct map *)m->base.dataset, s->in, s->number, &s->out, &s->err);
        pthread_mutex_lock(&m->mutex);
        s->state = SLOT_READY;
        pthread_cond_broadcast(&m->has_result);
    }
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

static int start(struct map_iterator *m, struct err *e)
{
    int wanted = ((const struct map *)m->base.dataset)->map.thread_count;

    if (m->thread_count > 0)
        return 0;
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->has_work, NULL);
    pthread_cond_init(&m->has_result, NULL);
    m->slot_count = 2 * wanted;
    m->slot = mem_alloc((size_t)m->slot_count * sizeof(*m->slot));
    while (m->thread_count < wanted &&
           pthread_create(&m->thread[m->thread_count], NULL, work, m) == 0)
        m->thread_count++;
    if (m->thread_count > 0)
        return 0;
    mem_free(m->slot);
    return err_set(e, "map: the host cannot start a thread");
}

/* One more element into the ring; what ends the input stands in it as well. */
static void pull(struct map_iterator *m)
{
    struct data_iterator *in = m->base.input[0];
    struct slot *s = &m->slot[(m->oldest + m->used) % m->slot_count];
    struct archive a = {.out = &s->before};

    s->before.size = 0;
    if (!in->is_failed)
        data_iterator_archive(in, &a);
    s->status = data_iterator_next(in, &s->in, &s->err);
    s->number = in->count - 1;
    pthread_mutex_lock(&m->mutex);
    s->state = s->status > 0 ? SLOT_WAITING : SLOT_READY;
    m->used++;
    pthread_cond_signal(&m->has_work);
    pthread_mutex_unlock(&m->mutex);
}

static int take_oldest(struct map_iterator *m, struct data_element **x, struct err *e)
{
    struct slot *s = &m->slot[m->oldest];
    int status;

    pthread_mutex_lock(&m->mutex);
    while (s->state != SLOT_READY)
        pthread_cond_wait(&m->has_result, &m->mutex);
    status = s->status;
    *x = s->out;
    if (status < 0)
        *e = s->err;
    element_release(s->in);
    s->in = s->out = NULL;
    s->state = SLOT_EMPTY;
    m->oldest = (m->oldest + 1) % m->slot_count;
    m->used--;
    pthread_mutex_unlock(&m->mutex);
    return status;
}

static int next_by_threads(struct map_iterator *m, struct data_element **x, struct err *e)
{
    struct data_iterator *in = m->base.input[0];

    if (start(m, e))
        return -1;
    while (m->used < m->slot_count && !in->is_done && !in->is_failed)
        pull(m);
    return m->used > 0 ? take_oldest(m, x, e) : 0;
}

static int map_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    const struct map *m = (const struct map *)it->dataset;

    return m->map.thread_count == 0 ? next_here(it, x, e)
                                    : next_by_threads((struct map_iterator *)it, x, e);
}

/* What is in the ring is taken from it; the rest of the input is not even made. */
static int64_t map_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    struct map_iterator *m = (struct map_iterator *)it;
    int64_t taken = 0, done;

    for (; taken < n && m->used > 0; taken++) {
        struct data_element *x;
        int status = take_oldest(m, &x, e);

        if (status <= 0)
            return status < 0 ? -1 : taken;
        element_release(x);
    }
    done = data_iterator_skip(it->input[0], n - taken, e);
    return done < 0 ? -1 : taken + done;
}

static void map_archive(struct data_iterator *it, struct archive *a)
{
    struct map_iterator *m = (struct map_iterator *)it;

    if (m->used > 0)
        bytes_append(a->out, m->slot[m->oldest].before.data, m->slot[m->oldest].before.size);
    else
        data_iterator_archive(it->input[0], a);
}

static void map_close(struct data_iterator *it)
{
    struct map_iterator *m = (struct map_iterator *)it;

    if (m->thread_count == 0)
        return;
    pthread_mutex_lock(&m->mutex);
    m->stop = true;
    pthread_cond_broadcast(&m->has_work);
    pthread_mutex_unlock(&m->mutex);
    for (int i = 0; i < m->thread_count; i++)
        pthread_join(m->thread[i], NULL);
    for (int i = 0; i < m->slot_count; i++) {
        element_release(m->slot[i].in);
        element_release(m->slot[i].out);
        mem_free(m->slot[i].before.data);
    }
    mem_free(m->slot);
    pthread_cond_destroy(&m->has_work);
    pthread_cond_destroy(&m->has_result);
    pthread_mutex_destroy(&m->mutex);
}

static void map_fini(struct dataset *d)
{
    const struct data_map *map = &((struct map *)d)->map;

    if (map->destroy)
        map->destroy(map->context);
}

static const struct dataset_kind map_kind = {
    .iterator_bytes = sizeof(struct map_iterator), .state = STATE_OWN, .next = map_next,
    .skip = map_skip, .archive = map_archive, .close = map_close,
    .fini = map_fini,
};

static struct dataset *refuse(struct dataset *in, const struct data_map *map)
{
    dataset_release(in);
    if (map->destroy)
        map->destroy(map->context);
    return NULL;
}

struct dataset *dataset_map(struct dataset *in, const struct data_map *map, struct err *e)
{
    struct map *m;

    if (!in)
        return refuse(NULL, map);
    if (map->thread_count < 0 || map->thread_count > THREAD_MAX) {
        err_set(e, "map: %d threads, allowed are 0..%d", map->thread_count, THREAD_MAX);
        return refuse(in, map);
    }
    if (map->output_count < 1 || map->output_count > DATA_TUPLE_MAX) {
        err_set(e, "map: %d tensors of output, allowed are 1..%d", map->output_count,
                DATA_TUPLE_MAX);
        return refuse(in, map);
    }
    m = dataset_new(&map_kind, sizeof(*m), &in, 1);
    dataset_set_specs(&m->dataset, map->output, map->output_count);
    m->map = *map;
    m->map.output = m->dataset.spec;
    m->name = arena_strdup(&m->dataset.arena, map->name ? map->name : "map");
    dataset_set_description(&m->dataset, "%s", m->name);
    return &m->dataset;
}
