/*
 * A cache in a file: records of elements behind one that describes the input. The first whole
 * pass writes it, later ones, of this process or another, read it instead of the input.
 */
#include "data/dataset_impl.h"
#include "data/record.h"
#include "data/tfrecord.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct file_cache {
    struct dataset dataset;
    const char *path;
    pthread_mutex_t mutex;
    bool is_filling;                    /* an iterator writes; others pass the input on */
};

struct file_cache_iterator {
    struct data_iterator base;
    struct record_place from;           /* reading, when there is a stream */
    struct tfrecord_writer *to;         /* writing, or NULL */
    struct bytes record;
};

static int fail(const struct file_cache *c, struct err *e, const char *why)
{
    return err_at(e, c->path, 0, 0, "%s; remove it to have it made again", why);
}

static int open_file(struct file_cache_iterator *it, struct err *e)
{
    const struct file_cache *c = (const struct file_cache *)it->base.dataset;
    const char *description = c->dataset.input[0]->description;
    const unsigned char *record;
    int64_t size;
    int status;

    it->from.stream = stream_open(c->path, DATA_COMPRESSION_NONE, e);
    if (!it->from.stream)
        return -1;
    status = tfrecord_format.next(&it->from, &record, &size, e);
    if (status < 0)
        return -1;
    if (status == 0 || (size_t)size != strlen(description) ||
        memcmp(record, description, (size_t)size) != 0)
        return fail(c, e, "is no cache of this pipeline");
    it->from.number++;
    it->from.offset = stream_offset(it->from.stream);
    return 0;
}

static bool begin_filling(struct file_cache *c)
{
    bool is_ours;

    pthread_mutex_lock(&c->mutex);
    is_ours = !c->is_filling;
    c->is_filling = true;
    pthread_mutex_unlock(&c->mutex);
    return is_ours;
}

static void end_filling(struct file_cache *c)
{
    pthread_mutex_lock(&c->mutex);
    c->is_filling = false;
    pthread_mutex_unlock(&c->mutex);
}

static int file_cache_open(struct data_iterator *base, struct err *e)
{
    struct file_cache_iterator *it = (struct file_cache_iterator *)base;
    struct file_cache *c = (struct file_cache *)base->dataset;
    const char *description = c->dataset.input[0]->description;

    if (access(c->path, F_OK) == 0)
        return open_file(it, e);
    if (data_iterator_open_input(base, 0, 0, e))
        return -1;
    if (!begin_filling(c))
        return 0;
    it->to = tfrecord_begin(c->path, DATA_COMPRESSION_NONE, e);
    if (!it->to) {
        end_filling(c);
        return -1;
    }
    tfrecord_write(it->to, description, (int64_t)strlen(description));
    return 0;
}

static int read_element(struct file_cache_iterator *it, struct data_element **x, struct err *e)
{
    const struct file_cache *c = (const struct file_cache *)it->base.dataset;
    struct archive a = {.e = e};
    const unsigned char *record;
    int64_t size;
    int status = tfrecord_format.next(&it->from, &record, &size, e);

    if (status <= 0)
        return status;
    a.at = record;
    a.end = record + size;
    element_archive(&a, x);
    if (a.is_failed)
        return fail(c, e, "holds something else than elements");
    it->from.number++;
    it->from.offset = stream_offset(it->from.stream);
    status = data_element_check(*x, c->dataset.spec, c->dataset.tensor_count, c->path,
                                it->base.count, e);
    if (status == 0)
        return 1;
    element_release(*x);
    *x = NULL;
    return -1;
}

static int file_cache_next(struct data_iterator *base, struct data_element **x, struct err *e)
{
    struct file_cache_iterator *it = (struct file_cache_iterator *)base;
    struct archive a = {.out = &it->record};
    int status;

    if (it->from.stream)
        return read_element(it, x, e);
    status = data_iterator_next(base->input[0], x, e);
    if (!it->to || status < 0)
        return status;
    if (status == 0) {
        status = tfrecord_commit(it->to, e);
        it->to = NULL;
        end_filling((struct file_cache *)base->dataset);
        return status;
    }
    it->record.size = 0;
    element_archive(&a, x);
    tfrecord_write(it->to, it->record.data, (int64_t)it->record.size);
    return 1;
}

static int64_t file_cache_skip(struct data_iterator *base, int64_t n, struct err *e)
{
    struct file_cache_iterator *it = (struct file_cache_iterator *)base;

    for (int64_t i = 0; i < n; i++) {
        struct data_element *x = NULL;
        int64_t size;
        int status = it->from.stream ? tfrecord_format.next(&it->from, NULL, &size, e)
                                     : file_cache_next(base, &x, e);

        if (status <= 0)
            return status < 0 ? -1 : i;
        element_release(x);
        if (it->from.stream) {
            it->from.number++;
            it->from.offset = stream_offset(it->from.stream);
        }
    }
    return n;
}

static void file_cache_close(struct data_iterator *base)
{
    struct file_cache_iterator *it = (struct file_cache_iterator *)base;

    stream_close(it->from.stream);
    if (it->to) {
        tfrecord_abandon(it->to);
        end_filling((struct file_cache *)base->dataset);
    }
    mem_free(it->record.data);
}

static void file_cache_fini(struct dataset *d)
{
    pthread_mutex_destroy(&((struct file_cache *)d)->mutex);
}

static const struct dataset_kind file_cache_kind = {
    .iterator_bytes = sizeof(struct file_cache_iterator), .state = STATE_COUNT,
    .open = file_cache_open, .next = file_cache_next, .skip = file_cache_skip,
    .close = file_cache_close, .fini = file_cache_fini,
};

struct dataset *dataset_cache_file(struct dataset *in, const char *path, struct err *e)
{
    struct file_cache *c;

    if (!in)
        return NULL;
    if (in->cardinality == DATA_INFINITE)
        return dataset_refuse(in, e, "cache: the input never ends; repeat belongs behind it");
    c = dataset_new(&file_cache_kind, sizeof(*c), &in, 1);
    pthread_mutex_init(&c->mutex, NULL);
    c->path = arena_strdup(&c->dataset.arena, path);
    dataset_set_description(&c->dataset, "cache(%s)", path);
    return &c->dataset;
}
