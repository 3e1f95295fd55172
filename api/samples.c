/* What a model is trained on: arrays of the caller's or a dataset, held against the model. */
#include <inttypes.h>
#include <string.h>

#include "api/dataset.h"
#include "api/model.h"

/* what batches hold: the inputs, the label, the weights */
struct wanted {
    int count, label;                   /* tensors; which of them is the label */
    struct shape shape[DATA_TUPLE_MAX]; /* of a sample */
    const char *name[DATA_TUPLE_MAX];
};

static void want(const sy_model *m, bool has_weights, struct wanted *w)
{
    const struct model *model = &m->model;

    w->label = model->input_count;
    for (int i = 0; i < model->input_count; i++) {
        w->shape[i] = model->node[model->input[i]].shape;
        w->name[i] = model->layer[model->node[model->input[i]].layer]->name;
    }
    w->shape[w->label] = loss_label_shape(&m->loss, &model->node[model->output[0]].shape);
    w->name[w->label] = "label";
    w->count = w->label + 1;
    if (!has_weights)
        return;
    w->shape[w->count] = (struct shape){.dtype = DTYPE_F32};
    w->name[w->count++] = "weight";
}

static int open_arrays(const sy_model *m, const sy_samples *s, const struct wanted *w,
                       const struct api_epoch *o, struct batches *b, struct arena *a,
                       struct err *e)
{
    const void *tensor[DATA_TUPLE_MAX] = {NULL};
    int64_t elems[DATA_TUPLE_MAX];
    char shape[96];

    if (s->count < 1)
        return err_set(e, "%" PRId64 " samples; there must be at least 1", s->count);
    for (int i = 0; i < w->count; i++) {
        tensor[i] = i > w->label ? s->weight : i == w->label ? s->label
                    : s->input ? s->input[i] : NULL;
        elems[i] = shape_elems(&w->shape[i]);
        if (!tensor[i])
            return err_set(e, "samples: the array of %s \"%s\" is NULL; model %s takes %s for "
                           "each sample", i < w->label ? "input" : "the", w->name[i],
                           m->model.name, shape_print(&w->shape[i], shape, sizeof(shape)));
    }
    batches_of_arrays(b, tensor, elems, w->count, s->count, w->count > w->label + 1,
                      o->is_shuffled, o->seed, a);
    return 0;
}

/* "f32[?,28,28]", as a dataset has it, for a model's f32[28,28,1] */
static bool fits(const struct data_spec *is, const struct shape *sample)
{
    enum data_dtype dtype = sample->dtype == DTYPE_S32 ? DATA_S32 : DATA_F32;
    int64_t elems = 1;

    for (int d = 1; d < is->rank; d++) {
        if (is->dim[d] == DATA_ANY_SIZE)
            return is->dtype == dtype;  /* each element tells */
        elems *= is->dim[d];
    }
    return is->rank > 0 && is->dtype == dtype && elems == shape_elems(sample);
}

static int check_specs(const sy_model *m, const struct dataset *d, const struct wanted *w,
                       int count, struct err *e)
{
    const struct data_spec *spec = dataset_spec(d);
    char has[96], wants[96];

    if (dataset_tensor_count(d) != count)
        return err_set(e, "%.160s gives tuples of %d tensors; model %s takes %d: inputs, label%s",
                       dataset_describe(d), dataset_tensor_count(d), m->model.name, count,
                       w->count > w->label + 1 ? ", weight" : "");
    for (int i = 0; i < count; i++)
        if (!fits(&spec[i], &w->shape[i]))
            return err_set(e, "tensor %d of %.160s is %s; \"%s\" of model %s takes batches of %s"
                           "%s", i, dataset_describe(d),
                           data_spec_print(&spec[i], has, sizeof(has)), w->name[i],
                           m->model.name, shape_print(&w->shape[i], wants, sizeof(wants)),
                           spec[i].dtype == DATA_U8 ? " (sy_dataset_to_f32 and sy_dataset_to_s32 "
                           "make them of bytes)" : "");
    return 0;
}

static int open_dataset(const sy_model *m, const sy_samples *s, const struct wanted *w, int count,
                        const struct api_epoch *o, struct batches *b, struct arena *a,
                        struct err *e)
{
    struct dataset *d = s->dataset->d;
    bool is_endless = dataset_cardinality(d) == DATA_INFINITE;
    int64_t batch = fit_options(m->fit)->batch, steps = o->steps < (1 << 30) ? o->steps : 1 << 30;
    struct batches_dataset how = {.has_weights = o->is_training && m->has_weights,
                                  .most = s->count, .goes_on = is_endless && o->is_training};

    if (check_specs(m, d, w, count, e))
        return -1;
    if (s->count < 0)
        return err_set(e, "%" PRId64 " samples of a dataset; there must be at least 1, or 0: all",
                       s->count);
    if (steps && (!how.most || steps * batch < how.most))
        how.most = steps * batch;
    if (is_endless && !how.most)
        return err_set(e, "%.160s never ends: say %s, or a count of samples",
                       dataset_describe(d), o->steps_name);
    return batches_of_dataset(b, d, &how, a, e);
}

static bool has_arrays(const sy_samples *s) { return s->input || s->label || s->weight; }

int api_open_samples(const sy_model *m, const sy_samples *s, const struct api_epoch *o,
                     struct batches *b, struct arena *a, struct err *e)
{
    struct wanted w;

    if (!s)
        return err_set(e, "samples are NULL");
    want(m, m->has_weights && (o->is_training || s->weight), &w);
    if (!s->dataset)
        return open_arrays(m, s, &w, o, b, a, e);
    if (has_arrays(s))
        return err_set(e, "samples are arrays or a dataset, not both");
    if (api_handle_check(s->dataset, API_DATASET))
        return err_set(e, "%s", sy_message());
    return open_dataset(m, s, &w, w.count, o, b, a, e);
}

/* ----- predictions */

static struct shape prediction_shape(const sy_model *m, int64_t samples)
{
    struct shape s = m->model.node[m->model.output[0]].shape;

    memmove(s.dim + 1, s.dim, (size_t)s.rank * sizeof(*s.dim));
    s.dim[0] = samples;
    s.rank++;
    s.dtype = DTYPE_F32;
    return s;
}

static int predict_arrays(const sy_model *m, const sy_samples *s, sy_array **out, struct err *e)
{
    struct shape shape;
    float *to;

    if (s->count < 1)
        return err_set(e, "%" PRId64 " samples; there must be at least 1", s->count);
    for (int i = 0; i < m->model.input_count; i++)
        if (!s->input || !s->input[i])
            return err_set(e, "samples: the array of input %d is NULL", i);
    shape = prediction_shape(m, s->count);
    *out = api_array(&shape);
    to = (*out)->data;
    if (fit_predict(m->fit, s->input, s->count, &to, NULL, e) == 0)
        return 0;
    sy_array_free(*out);
    *out = NULL;
    return -1;
}

/* what has been predicted of a dataset so far */
struct rows {
    char *data;
    size_t bytes, capacity, row_bytes;
};

static int predict_batches(const sy_model *m, const struct batches *b, void *const *tensor,
                           const int64_t *elems, struct rows *r, struct err *e)
{
    const void *input[DATA_TUPLE_MAX];
    int64_t batch = fit_options(m->fit)->batch, got;
    float *to;

    for (int i = 0; i < m->model.input_count; i++)
        input[i] = tensor[i];
    if (b->begin(b->context, 0, e))
        return -1;
    while ((got = b->next(b->context, batch, tensor, elems, e)) > 0) {
        size_t more = (size_t)got * r->row_bytes;

        r->data = mem_grow(r->data, &r->capacity, r->bytes + more, 1);
        to = (float *)(void *)(r->data + r->bytes);
        if (fit_predict(m->fit, input, got, &to, NULL, e))
            return -1;
        r->bytes += more;
    }
    return got < 0 ? -1 : r->bytes ? 0 : err_set(e, "there are no samples to predict");
}

static int predict_dataset(const sy_model *m, const sy_samples *s, sy_array **out,
                           struct arena *a, struct err *e)
{
    struct wanted w;
    void *tensor[DATA_TUPLE_MAX];
    int64_t elems[DATA_TUPLE_MAX], batch = fit_options(m->fit)->batch;
    struct shape shape = prediction_shape(m, 1);
    struct rows r = {.row_bytes = (size_t)shape_elems(&shape) * 4};
    struct batches b;
    int count, status;

    want(m, false, &w);
    count = dataset_tensor_count(s->dataset->d) == w.label ? w.label : w.count;
    if (open_dataset(m, s, &w, count, &(struct api_epoch){.steps_name = "a count"}, &b, a, e))
        return -1;
    for (int i = 0; i < count; i++) {
        elems[i] = shape_elems(&w.shape[i]);
        tensor[i] = arena_array(a, (size_t)(batch * elems[i]), 4);
    }
    status = predict_batches(m, &b, tensor, elems, &r, e);
    batches_close(&b);
    if (!status) {
        shape = prediction_shape(m, (int64_t)(r.bytes / r.row_bytes));
        *out = api_array(&shape);
        memcpy((*out)->data, r.data, r.bytes);
    }
    mem_free(r.data);
    return status;
}

int api_predict(const sy_model *m, const sy_samples *s, sy_array **out, struct err *e)
{
    struct arena a;
    int status;

    if (!s)
        return err_set(e, "samples are NULL");
    if (m->model.output_count > 1)
        return err_set(e, "predictions of a model of %d outputs are not supported",
                       m->model.output_count);
    if (!s->dataset)
        return predict_arrays(m, s, out, e);
    if (has_arrays(s))
        return err_set(e, "samples are arrays or a dataset, not both");
    if (api_handle_check(s->dataset, API_DATASET))
        return err_set(e, "%s", sy_message());
    arena_init(&a);
    status = predict_dataset(m, s, out, &a, e);
    arena_fini(&a);
    return status;
}
