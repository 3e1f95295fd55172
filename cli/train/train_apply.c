/* Evaluates a model that is there, or has it predict, and tells what came of it. */
#include "cli/train/train.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "data/npy.h"

#define PREDICTED_AT_ONCE 8             /* batches, between lines that say how far it is */

static const char *weights_of(const struct train_run *t)
{
    const struct train_value *v = train_value(t, OPT_WEIGHTS);

    return v->is_given ? v->text : t->options->model_path;
}

static void print_header(const struct train_run *t, int64_t samples)
{
    const char *data = train_value(t, OPT_DATA)->text;
    int64_t last = samples % t->batch, replicas = train_replicas(t);

    printf("model      %s, weights of %s\n", t->model.name, weights_of(t));
    printf("machine    %s\n", t->machine ? slice_print(&t->slice).text
                                         : "reference interpreter on the host");
    printf("data       %s: %s %s of %s\n", *data ? data : "drawn digits",
           text_thousands(samples).text, t->data_noun, t->data_shape);
    printf("batch      %" PRId64 " = %" PRId64 " x %" PRId64 ", %" PRId64 " steps", t->batch,
           replicas, t->batch / replicas, div_up(samples, t->batch));
    if (last)
        printf(", the last of %" PRId64 "%s", last, last == 1 ? " sample" : " samples");
    printf("\n\n");
    fflush(stdout);
}

static void print_time(const struct train_run *t, const struct fit_log *log)
{
    double us = (double)log->cycles / (double)t->chip.chip_clock_mhz;

    if (train_is_timed(t))
        printf("step       %s cycles, %.2f us, %s samples/s\n",
               text_thousands(log->cycles).text, us,
               text_thousands((int64_t)((double)t->batch / us * 1e6 + 0.5)).text);
}

static json_t *describe(const struct train_run *t, const struct fit_log *log)
{
    json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "model", t->options->model_path,
                          "weights", weights_of(t), "data", train_value(t, OPT_DATA)->text,
                          "samples", (json_int_t)log->samples, "batch", (json_int_t)t->batch,
                          "steps", (json_int_t)log->steps);

    if (train_is_timed(t)) {
        json_object_set_new(o, "tpu", json_string(train_value(t, OPT_TPU)->text));
        json_object_set_new(o, "cycles", json_integer(log->launch_cycles));
        json_object_set_new(o, "step_cycles", json_integer(log->cycles));
    }
    return o;
}

/* --json, if it is asked for; the object is given up */
static int leave_json(const struct train_run *t, json_t *o, struct err *e)
{
    const char *path = t->options->json;
    struct outfile f;
    int status = path ? outfile_begin(&f, path, e) : 0;

    if (path && status == 0) {
        json_dumpf(o, f.to, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        fputc('\n', f.to);
        status = outfile_commit(&f, e);
    }
    json_decref(o);
    return status;
}

/* ----- evaluation */

/* batches as they are, with a line that says how many there were */
struct watched {
    const struct batches *from;
    struct train_run *t;
    int64_t done;
};

static int begin_watched(void *context, int64_t epoch, struct err *e)
{
    struct watched *w = context;

    return w->from->begin(w->from->context, epoch, e);
}

static int64_t next_watched(void *context, int64_t count, void *const *tensor,
                            const int64_t *elems, struct err *e)
{
    struct watched *w = context;
    int64_t got = w->from->next(w->from->context, count, tensor, elems, e);

    w->done += got > 0 ? got : 0;
    progress_fraction(&w->t->progress, "evaluate", (double)w->done / (double)w->from->samples);
    return got;
}

/* what tells outputs apart: their layers, in files' names, too; two of one layer by a number */
static const char *output_word(struct train_run *t, int k)
{
    char *word = arena_strdup(&t->arena, train_output_name(t, k));
    int before = 0;

    for (char *c = word; *c; c++)
        if (*c == '/')
            *c = '_';
    for (int i = 0; i < k; i++)
        before += strcmp(train_output_name(t, i), train_output_name(t, k)) == 0;
    return before ? arena_printf(&t->arena, "%s_%d", word, before) : word;
}

static int print_results(struct train_run *t, const struct fit_log *log, struct err *e)
{
    json_t *o = describe(t, log), *metrics = json_object();

    printf("%-10s %.9g\n", "loss", log->loss);
    json_object_set_new(o, "loss", json_real(log->loss));
    for (int k = 0; k < t->model.output_count && log->output_loss; k++) {
        const char *name = arena_printf(&t->arena, "%s_loss", output_word(t, k));

        printf("%-10s %.9g\n", name, log->output_loss[k]);
        json_object_set_new(o, name, json_real(log->output_loss[k]));
    }
    for (int i = 0; i < t->metric_count; i++) {
        printf("%-10s %.9g\n", t->metric[i].name, log->metric[i]);
        json_object_set_new(metrics, t->metric[i].name, json_real(log->metric[i]));
    }
    json_object_set_new(o, "metrics", metrics);
    print_time(t, log);
    return leave_json(t, o, e);
}

int train_evaluate(struct train_run *t, struct err *e)
{
    struct watched w = {&t->test_batches, t, 0};
    struct batches b = t->test_batches;
    struct fit_log log;
    int status;

    b.begin = begin_watched;
    b.next = next_watched;
    b.context = &w;
    print_header(t, b.samples);
    progress_begin(&t->progress, b.samples);
    progress_watch(&t->progress);
    status = fit_evaluate(t->fit, &b, 0, &log, e);
    progress_end(&t->progress);
    return status ? -1 : print_results(t, &log, e);
}

/* ----- prediction */

/* elements of a sample of output k */
static int64_t elems_of(const struct model *m, int k)
{
    return shape_elems(&m->node[m->output[k]].shape);
}

static int predict_all(struct train_run *t, float *const *y, struct fit_log *all, struct err *e)
{
    const struct model *m = &t->model;
    int64_t most = PREDICTED_AT_ONCE * t->batch, count;
    float *to[FIT_OUTPUTS_MAX];

    *all = (struct fit_log){.samples = t->sample_count};
    for (int64_t first = 0; first < t->sample_count; first += count) {
        const void *x[DATA_TUPLE_MAX];
        struct fit_log log;

        for (int i = 0; i < m->input_count; i++)
            x[i] = (const char *)t->sample[i] +
                   first * shape_elems(&m->node[m->input[i]].shape) * 4;
        for (int k = 0; k < m->output_count; k++)
            to[k] = y[k] + first * elems_of(m, k);
        count = t->sample_count - first < most ? t->sample_count - first : most;
        if (fit_predict(t->fit, x, count, to, &log, e))
            return -1;
        all->steps += log.steps;
        all->launch_cycles += log.launch_cycles;
        all->cycles = log.cycles;
        progress_fraction(&t->progress, "predict",
                          (double)(first + count) / (double)t->sample_count);
    }
    return 0;
}

/* --out; of several outputs its name with theirs, y_age.npy and y_kind.npy for y.npy */
static const char *place_of(struct train_run *t, int k)
{
    const char *path = t->options->out_npy, *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    int length = (int)(dot ? (size_t)(dot - path) : strlen(path));

    if (t->model.output_count == 1)
        return path;
    return arena_printf(&t->arena, "%.*s_%s%s", length, path, output_word(t, k), path + length);
}

static int leave_predictions(struct train_run *t, int k, const float *y, struct err *e)
{
    const struct shape *s = &t->model.node[t->model.output[k]].shape;
    struct npy_array array = {.type = "f4", .elem_bytes = 4, .rank = s->rank + 1,
                              .side = {t->sample_count}, .data = y};
    char text[96];
    struct shape all = {.dtype = DTYPE_F32, .rank = s->rank + 1, .dim = {t->sample_count}};

    for (int i = 0; i < s->rank; i++)
        array.side[i + 1] = all.dim[i + 1] = s->dim[i];
    if (npy_write_array(place_of(t, k), &array, e))
        return -1;
    printf("predicted  %s in %s\n", shape_print(&all, text, sizeof(text)), place_of(t, k));
    return 0;
}

int train_predict(struct train_run *t, struct err *e)
{
    float *y[FIT_OUTPUTS_MAX];
    struct fit_log log;
    int status;

    for (int k = 0; k < t->model.output_count; k++)
        y[k] = arena_array(&t->arena, (size_t)(t->sample_count * elems_of(&t->model, k)),
                           sizeof(*y[k]));
    print_header(t, t->sample_count);
    progress_begin(&t->progress, t->sample_count);
    progress_watch(&t->progress);
    status = predict_all(t, y, &log, e);
    progress_end(&t->progress);
    for (int k = 0; k < t->model.output_count && status == 0; k++)
        status = leave_predictions(t, k, y[k], e);
    if (status)
        return -1;
    print_time(t, &log);
    return leave_json(t, describe(t, &log), e);
}
