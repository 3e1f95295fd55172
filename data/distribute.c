/* Cuts each global batch into one part per replica, from one pipeline or from one for each host. */
#include "data/distribute.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

#define PIPELINE_MAX 1024
#define REPLICA_MAX 65536

struct distributed {
    struct dataset **pipeline;
    int pipeline_count, replica_count;
    bool is_global;                     /* one pipeline of global batches */
    struct data_spec spec[DATA_TUPLE_MAX];
    int tensor_count;
};

struct distributed_iterator {
    const struct distributed *d;
    struct data_iterator **it;          /* one per pipeline */
};

int distribute_check_batch(int64_t global_batch, int replica_count, struct err *e)
{
    int64_t below = global_batch / replica_count * replica_count;

    if (global_batch < 1)
        return err_set(e, "batch %" PRId64 ", allowed are 1 and more", global_batch);
    if (global_batch == below)
        return 0;
    if (below == 0)
        return err_set(e, "batch %" PRId64 " cannot be split over %d replicas; the least that can "
                       "is %d", global_batch, replica_count, replica_count);
    return err_set(e, "batch %" PRId64 " cannot be split over %d replicas; the nearest that can "
                   "are %" PRId64 " and %" PRId64, global_batch, replica_count, below,
                   below + replica_count);
}

static int check_element(const struct data_element *global, int replica_count, struct err *e)
{
    for (int i = 0; i < global->tensor_count; i++) {
        const struct data_spec *s = &global->tensor[i].spec;

        if (s->rank == 0)
            return err_set(e, "tensor %d of a global batch is a scalar, which cannot be split", i);
        if (s->dim[0] != global->tensor[0].spec.dim[0])
            return err_set(e, "tensor %d of a global batch has %" PRId64 " rows, tensor 0 has %"
                           PRId64, i, s->dim[0], global->tensor[0].spec.dim[0]);
    }
    return global->tensor_count == 0
           ? 0 : distribute_check_batch(global->tensor[0].spec.dim[0], replica_count, e);
}

int distribute_element(const struct data_element *global, int replica_count,
                       struct data_element **replica, struct err *e)
{
    if (check_element(global, replica_count, e))
        return -1;
    for (int r = 0; r < replica_count; r++) {
        replica[r] = element_new(global->tensor_count);
        for (int i = 0; i < global->tensor_count; i++) {
            struct data_spec s = global->tensor[i].spec;
            int64_t elems;

            s.dim[0] /= replica_count;
            elems = data_spec_elems(&s);
            element_put(replica[r], i, &s);
            element_copy_part(replica[r], i, 0, &global->tensor[i], r * elems, elems);
        }
    }
    return 0;
}

/* ---- datasets */

static struct distributed *new_distributed(int pipeline_count, int replica_count)
{
    struct distributed *d = mem_alloc(sizeof(*d));

    d->pipeline = mem_alloc((size_t)pipeline_count * sizeof(struct dataset *));
    d->pipeline_count = pipeline_count;
    d->replica_count = replica_count;
    return d;
}

void distributed_destroy(struct distributed *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->pipeline_count; i++)
        dataset_release(d->pipeline[i]);
    mem_free(d->pipeline);
    mem_free(d);
}

static int check_replicas(int replica_count, struct err *e)
{
    if (replica_count >= 1 && replica_count <= REPLICA_MAX)
        return 0;
    return err_set(e, "%d replicas, allowed are 1..%d", replica_count, REPLICA_MAX);
}

static int check_global(const struct dataset *d, int replica_count, struct err *e)
{
    const struct data_spec *s = dataset_spec(d);

    for (int i = 0; i < dataset_tensor_count(d); i++) {
        if (s[i].rank == 0)
            return err_set(e, "tensor %d of the dataset is a scalar: a dataset to distribute is "
                           "batched with the global batch size", i);
        if (s[i].dim[0] != DATA_ANY_SIZE && distribute_check_batch(s[i].dim[0], replica_count, e))
            return -1;
    }
    return 0;
}

struct distributed *distribute_dataset(struct dataset *in, int replica_count, struct err *e)
{
    struct distributed *d;

    if (!in)
        return NULL;
    if (check_replicas(replica_count, e) || check_global(in, replica_count, e)) {
        dataset_release(in);
        return NULL;
    }
    d = new_distributed(1, replica_count);
    d->pipeline[0] = in;
    d->is_global = true;
    d->tensor_count = dataset_tensor_count(in);
    for (int i = 0; i < d->tensor_count; i++) {
        d->spec[i] = dataset_spec(in)[i];
        if (d->spec[i].dim[0] != DATA_ANY_SIZE)
            d->spec[i].dim[0] /= replica_count;
    }
    return d;
}

/* Pipelines of different sizes where those of dtype and rank agree have sizes that differ. */
static int merge_specs(struct distributed *d, int p, struct err *e)
{
    const struct dataset *one = d->pipeline[p];
    const struct data_spec *s = dataset_spec(one);
    bool fits = p == 0 || d->tensor_count == dataset_tensor_count(one);
    char first[200], other[200];

    if (p == 0) {
        d->tensor_count = dataset_tensor_count(one);
        memcpy(d->spec, s, (size_t)d->tensor_count * sizeof(*s));
    }
    for (int i = 0; fits && i < d->tensor_count; i++) {
        fits = s[i].dtype == d->spec[i].dtype && s[i].rank == d->spec[i].rank;
        for (int k = 0; fits && k < s[i].rank; k++)
            if (s[i].dim[k] != d->spec[i].dim[k])
                d->spec[i].dim[k] = DATA_ANY_SIZE;
    }
    if (fits)
        return 0;
    return err_set(e, "input pipeline %d gives %s, pipeline 0 %s", p,
                   data_specs_print(s, dataset_tensor_count(one), other, sizeof(other)),
                   data_specs_print(d->spec, d->tensor_count, first, sizeof(first)));
}

struct distributed *distribute_from_function(
    struct dataset *(*make)(void *context, const struct input_context *c, struct err *e),
    void *context, int input_pipeline_count, int replica_count, struct err *e)
{
    struct distributed *d;

    if (check_replicas(replica_count, e))
        return NULL;
    if (input_pipeline_count < 1 || input_pipeline_count > PIPELINE_MAX ||
        replica_count % input_pipeline_count != 0) {
        err_set(e, "%d input pipelines cannot feed %d replicas in equal parts",
                input_pipeline_count, replica_count);
        return NULL;
    }
    d = new_distributed(input_pipeline_count, replica_count);
    for (int p = 0; p < input_pipeline_count; p++) {
        const struct input_context c = {input_pipeline_count, p, replica_count};

        d->pipeline[p] = make(context, &c, e);
        if (!d->pipeline[p] || merge_specs(d, p, e)) {
            distributed_destroy(d);
            return NULL;
        }
    }
    return d;
}

/* ---- iterators */

static struct distributed_iterator *new_iterator(const struct distributed *d)
{
    struct distributed_iterator *it = mem_alloc(sizeof(*it));

    it->d = d;
    it->it = mem_alloc((size_t)d->pipeline_count * sizeof(struct data_iterator *));
    return it;
}

void distributed_iterator_destroy(struct distributed_iterator *it)
{
    if (!it)
        return;
    for (int p = 0; p < it->d->pipeline_count; p++)
        data_iterator_destroy(it->it[p]);
    mem_free(it->it);
    mem_free(it);
}

struct distributed_iterator *distributed_iterate(const struct distributed *d, int64_t pass,
                                                 struct err *e)
{
    struct distributed_iterator *it = new_iterator(d);

    for (int p = 0; p < d->pipeline_count; p++) {
        it->it[p] = dataset_iterate(d->pipeline[p], pass, e);
        if (!it->it[p]) {
            distributed_iterator_destroy(it);
            return NULL;
        }
    }
    return it;
}

static int next_global(struct distributed_iterator *it, struct data_element **replica,
                       struct err *e)
{
    struct data_element *global;
    int status = data_iterator_next(it->it[0], &global, e);

    if (status <= 0)
        return status;
    status = distribute_element(global, it->d->replica_count, replica, e) ? -1 : 1;
    element_release(global);
    return status;
}

int distributed_next(struct distributed_iterator *it, struct data_element **replica,
                     struct err *e)
{
    int each = it->d->replica_count / it->d->pipeline_count;

    if (it->d->is_global)
        return next_global(it, replica, e);
    for (int r = 0; r < it->d->replica_count; r++) {
        int status = data_iterator_next(it->it[r / each], &replica[r], e);

        if (status > 0)
            continue;
        while (r-- > 0)
            element_release(replica[r]);
        return status;
    }
    return 1;
}

/* one position behind the other, each with its size in front */
int distributed_save(struct distributed_iterator *it, struct bytes *to, struct err *e)
{
    struct archive a = {.out = to};

    for (int p = 0; p < it->d->pipeline_count; p++) {
        struct bytes one = {0};
        const void *data;
        int status = data_iterator_save(it->it[p], &one, e);

        data = one.data;
        if (status == 0)
            archive_blob(&a, &data, &one.size);
        mem_free(one.data);
        if (status)
            return -1;
    }
    return 0;
}

struct distributed_iterator *distributed_resume(const struct distributed *d, const void *state,
                                                size_t bytes, struct err *e)
{
    struct archive a = {.at = state, .end = (const unsigned char *)state + bytes, .e = e};
    struct distributed_iterator *it = new_iterator(d);
    bool is_refused = false;            /* by a pipeline, with its own message */

    for (int p = 0; p < d->pipeline_count && !a.is_failed; p++) {
        const void *one = NULL;
        size_t size = 0;

        archive_blob(&a, &one, &size);
        if (!a.is_failed)
            it->it[p] = dataset_resume(d->pipeline[p], one, size, e);
        is_refused = !a.is_failed && !it->it[p];
        a.is_failed = !it->it[p];
    }
    if (!a.is_failed && a.at == a.end)
        return it;
    if (!is_refused)
        err_set(e, "%zu bytes hold no positions of %d input pipelines", bytes, d->pipeline_count);
    distributed_iterator_destroy(it);
    return NULL;
}
