/* Sources of batches over images and arrays, shuffled anew for each epoch by its number. */
#include "train/fit/batches.h"

#include <inttypes.h>
#include <string.h>

void batches_close(struct batches *b)
{
    if (b->close)
        b->close(b->context);
    memset(b, 0, sizeof(*b));
}

/* An order of samples, and how far it has been given out. */
struct order {
    uint32_t *index;
    int64_t count, next;
    bool is_shuffled;
    uint64_t seed;
};

static void order_init(struct order *o, int64_t count, bool is_shuffled, uint64_t seed,
                       struct arena *a)
{
    *o = (struct order){.index = arena_array(a, (size_t)count + 1, sizeof(*o->index)),
                        .count = count, .is_shuffled = is_shuffled, .seed = seed};
}

static void order_begin(struct order *o, int64_t epoch)
{
    o->next = 0;
    if (o->is_shuffled)
        data_shuffle(o->index, o->count, o->seed, (int)epoch);
    for (int64_t i = 0; i < o->count && !o->is_shuffled; i++)
        o->index[i] = (uint32_t)i;
}

/* the first of the next `count`, and how many there are */
static int64_t order_take(struct order *o, int64_t count, int64_t *first)
{
    int64_t left = o->count - o->next;

    *first = o->next;
    count = count < left ? count : left;
    o->next += count;
    return count;
}

/* ----- images */

struct images {
    const struct image_set *set;
    struct order order;
};

static int begin_images(void *context, int64_t epoch, struct err *e)
{
    (void)e;
    order_begin(&((struct images *)context)->order, epoch);
    return 0;
}

static int64_t next_images(void *context, int64_t count, void *const *tensor, const int64_t *elems,
                           struct err *e)
{
    struct images *m = context;
    int64_t first;

    if (elems[0] != m->set->elems || elems[1] != 1)
        return err_set(e, "images are %dx%d = %" PRId64 " pixels with one label; %" PRId64
                       " inputs and %" PRId64 " labels are wanted", m->set->rows,
                       m->set->columns, m->set->elems, elems[0], elems[1]);
    count = order_take(&m->order, count, &first);
    data_batch(m->set, m->order.index, first, count, tensor[0], tensor[1]);
    return count;
}

void batches_of_images(struct batches *b, const struct image_set *set, bool is_shuffled,
                       uint64_t seed, struct arena *a)
{
    struct images *m = arena_alloc(a, sizeof(*m));

    m->set = set;
    order_init(&m->order, set->count, is_shuffled, seed, a);
    *b = (struct batches){.tensor_count = 2, .samples = set->count, .begin = begin_images,
                          .next = next_images, .context = m};
}

/* ----- arrays */

struct arrays {
    const void **tensor;
    int64_t *elems;
    int tensor_count;
    struct order order;
};

static int begin_arrays(void *context, int64_t epoch, struct err *e)
{
    (void)e;
    order_begin(&((struct arrays *)context)->order, epoch);
    return 0;
}

static int64_t next_arrays(void *context, int64_t count, void *const *tensor, const int64_t *elems,
                           struct err *e)
{
    struct arrays *s = context;
    int64_t first;

    for (int i = 0; i < s->tensor_count; i++)
        if (elems[i] != s->elems[i])
            return err_set(e, "array %d has %" PRId64 " elements per sample, %" PRId64
                           " are wanted", i, s->elems[i], elems[i]);
    count = order_take(&s->order, count, &first);
    for (int i = 0; i < s->tensor_count; i++)
        for (int64_t k = 0; k < count; k++)
            memcpy((char *)tensor[i] + k * elems[i] * 4,
                   (const char *)s->tensor[i] + s->order.index[first + k] * elems[i] * 4,
                   (size_t)elems[i] * 4);
    return count;
}

void batches_of_arrays(struct batches *b, const void *const *tensor, const int64_t *elems,
                       int tensor_count, int64_t samples, bool has_weights, bool is_shuffled,
                       uint64_t seed, struct arena *a)
{
    struct arrays *s = arena_alloc(a, sizeof(*s));

    s->tensor = arena_array(a, (size_t)tensor_count + 1, sizeof(*s->tensor));
    s->elems = arena_array(a, (size_t)tensor_count + 1, sizeof(*s->elems));
    s->tensor_count = tensor_count;
    for (int i = 0; i < tensor_count; i++) {
        s->tensor[i] = tensor[i];
        s->elems[i] = elems[i];
    }
    order_init(&s->order, samples, is_shuffled, seed, a);
    *b = (struct batches){.tensor_count = tensor_count, .samples = samples,
                          .has_weights = has_weights, .begin = begin_arrays, .next = next_arrays,
                          .context = s};
}

/* ----- datasets */

struct pipeline {
    struct dataset *dataset;
    struct batches_dataset options;
    struct data_iterator *iterator;
    struct data_element *element;       /* of which `used` samples are given out */
    int64_t used;
    int64_t epoch_next;                 /* that the iterator stands in front of, if it goes on */
    int64_t left;                       /* samples of this epoch */
};

static void stop(void *context)
{
    struct pipeline *p = context;

    element_release(p->element);
    p->element = NULL;
    p->used = 0;
    data_iterator_destroy(p->iterator);
    p->iterator = NULL;
}

static int64_t samples_of(const struct data_element *x)
{
    return x->tensor[0].spec.rank ? x->tensor[0].spec.dim[0] : 0;
}

/* 1: there are samples left in p->element; 0: the end */
static int fetch(struct pipeline *p, struct err *e)
{
    if (p->element && p->used < samples_of(p->element))
        return 1;
    element_release(p->element);
    p->element = NULL;
    p->used = 0;
    return data_iterator_next(p->iterator, &p->element, e);
}

static int pass_over(struct pipeline *p, int64_t samples, struct err *e)
{
    int64_t size = dataset_spec(p->dataset)[0].dim[0];

    if (size > 0) {
        int64_t skipped = data_iterator_skip(p->iterator, samples / size, e);

        if (skipped < 0)
            return -1;
        samples -= skipped * size;
    }
    while (samples > 0) {
        int status = fetch(p, e);
        int64_t take;

        if (status <= 0)
            return status;
        take = samples_of(p->element) - p->used;
        take = take < samples ? take : samples;
        p->used += take;
        samples -= take;
    }
    return 0;
}

static int begin_dataset(void *context, int64_t epoch, struct err *e)
{
    struct pipeline *p = context;
    bool goes_on = p->options.goes_on;

    p->left = p->options.most ? p->options.most : INT64_MAX;
    if (goes_on && p->iterator && epoch == p->epoch_next) {
        p->epoch_next++;
        return 0;
    }
    stop(p);
    p->epoch_next = epoch + 1;
    p->iterator = dataset_iterate(p->dataset, goes_on ? 0 : epoch, e);
    if (!p->iterator)
        return -1;
    return goes_on ? pass_over(p, epoch * p->options.most, e) : 0;
}

/* the same number of samples in all tensors, each of the wanted size */
static int check_element(const struct data_element *x, const int64_t *elems, struct err *e)
{
    char text[128];

    for (int i = 0; i < x->tensor_count; i++) {
        const struct data_spec *s = &x->tensor[i].spec;
        int64_t samples = s->rank ? s->dim[0] : 0;

        if (samples < 1 || samples != samples_of(x) || data_spec_elems(s) != samples * elems[i])
            return err_set(e, "tensor %d of an element is %s; %" PRId64 " samples of %" PRId64
                           " elements are wanted", i, data_spec_print(s, text, sizeof(text)),
                           samples_of(x), elems[i]);
    }
    return 0;
}

static int64_t next_elements(void *context, int64_t count, void *const *tensor,
                             const int64_t *elems, struct err *e)
{
    struct pipeline *p = context;
    int64_t done = 0;

    count = count < p->left ? count : p->left;
    while (done < count) {
        int status = fetch(p, e);
        int64_t take;

        if (status < 0 || (status && check_element(p->element, elems, e)))
            return -1;
        if (status == 0)
            break;
        take = samples_of(p->element) - p->used;
        take = take < count - done ? take : count - done;
        for (int i = 0; i < p->element->tensor_count; i++)
            memcpy((char *)tensor[i] + done * elems[i] * 4,
                   (const char *)p->element->tensor[i].data + p->used * elems[i] * 4,
                   (size_t)(take * elems[i]) * 4);
        p->used += take;
        done += take;
    }
    p->left -= done;
    return done;
}

int batches_of_dataset(struct batches *b, struct dataset *d, const struct batches_dataset *o,
                       struct arena *a, struct err *e)
{
    struct pipeline *p = arena_alloc(a, sizeof(*p));
    const struct data_spec *spec = dataset_spec(d);
    char text[128];

    for (int i = 0; i < dataset_tensor_count(d); i++)
        if ((spec[i].dtype != DATA_F32 && spec[i].dtype != DATA_S32) || spec[i].rank < 1)
            return err_set(e, "tensor %d of %s is %s; training takes f32 and s32 with the batch as "
                           "first dimension", i, dataset_describe(d),
                           data_spec_print(&spec[i], text, sizeof(text)));
    p->dataset = d;
    p->options = *o;
    *b = (struct batches){.tensor_count = dataset_tensor_count(d), .samples = -1,
                          .has_weights = o->has_weights, .begin = begin_dataset,
                          .next = next_elements, .close = stop, .context = p};
    return 0;
}
