/* systole bench: training runs on real MNIST, each by the program itself as a user starts it. */
#include "cli/bench/bench.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/units.h"
#include "cli/common/scratch.h"

#define MODEL_EPOCHS 20                 /* the main run; its batch, and that of the short one */
#define MODEL_BATCH 512
#define SHORT_EPOCHS 3
#define SHORT_BATCH 1024
#define GAP_STEPS 50                    /* whose losses are compared one by one */
#define ARGUMENT_MAX 32

static void add_option(const char **list, int *count, const char *name, const char *value)
{
    assert(*count + 2 < ARGUMENT_MAX);
    list[(*count)++] = name;
    list[(*count)++] = value;
}

static int train(const struct bench *b, struct bench_run *r, const char *out, struct err *e)
{
    char epochs[16], batch[16], seed[16], steps[16];
    const char *list[ARGUMENT_MAX] = {"systole", "train", b->model, "--no-trace"};
    struct bench_cost cost = {0};
    int count = 4, status;

    snprintf(epochs, sizeof(epochs), "%d", r->epochs);
    snprintf(batch, sizeof(batch), "%d", r->batch);
    snprintf(seed, sizeof(seed), "%d", r->seed);
    snprintf(steps, sizeof(steps), "%d", r->steps);
    add_option(list, &count, "--data", b->data);
    add_option(list, &count, "--tpu", "v3-8");
    add_option(list, &count, "--epochs", epochs);
    add_option(list, &count, "--batch", batch);
    add_option(list, &count, "--seed", seed);
    add_option(list, &count, "--optimizer", "adam");
    add_option(list, &count, "--lr", "0.001");
    add_option(list, &count, "--backend", r->is_on_host ? "host" : "sim");
    add_option(list, &count, "--out", out);
    if (r->steps)
        add_option(list, &count, "--steps", steps);
    if (r->policy)
        add_option(list, &count, "--policy", r->policy);
    if (r->precision)
        add_option(list, &count, "--precision", r->precision);
    if (r->rounds_operands)
        add_option(list, &count, "--reference-dot", "bf16");
    status = bench_process("/proc/self/exe", list, "a training run", &cost, e);
    r->peak_bytes = cost.peak_bytes;
    return status;
}

/* the last epoch's mean loss; 0 where there is none */
static double last_epoch_loss(const json_t *root)
{
    const json_t *epochs = json_object_get(root, "epochs");
    size_t count = json_array_size(epochs);

    return count ? json_number_value(json_object_get(json_array_get(epochs, count - 1), "loss"))
                 : 0.0;
}

static int read_stats(struct bench_run *r, const char *out, struct err *e)
{
    char path[PATH_MAX];
    json_error_t where;
    json_t *root, *accuracy, *seconds;
    int status = 0;

    snprintf(path, sizeof(path), "%s/stats.json", out);
    root = json_load_file(path, 0, &where);
    if (!root)
        return err_at(e, path, where.line, where.column, "%s", where.text);
    accuracy = json_object_get(root, "test_accuracy");
    seconds = json_object_get(root, "host_seconds");
    if (json_is_number(accuracy) && json_is_number(seconds)) {
        r->test_accuracy = json_number_value(accuracy);
        r->host_seconds = json_number_value(seconds);
        r->epoch_loss = last_epoch_loss(root);
    } else {
        status = err_at(e, path, 0, 0, "it has no number test_accuracy or host_seconds");
    }
    json_decref(root);
    return status;
}

/* the losses of the first steps from steps.csv: step,epoch,loss,... */
static int read_losses(struct bench_run *r, const char *out, struct err *e)
{
    char path[PATH_MAX], line[200];
    FILE *f;

    snprintf(path, sizeof(path), "%s/steps.csv", out);
    f = fopen(path, "r");
    if (!f)
        return err_at(e, path, 0, 0, "%s", strerror(errno));
    r->loss_count = 0;
    while (r->loss_count < BENCH_LOSS_MAX && fgets(line, sizeof(line), f))
        if (sscanf(line, "%*d,%*d,%lf", &r->loss[r->loss_count]) == 1)
            r->loss_count++;
    fclose(f);
    return r->loss_count ? 0 : err_at(e, path, 0, 0, "it has no losses");
}

static int run_train(struct bench *b, struct bench_run *r, struct err *e)
{
    struct arena a;
    const char *out;
    int status = -1;

    arena_init(&a);
    out = scratch_make(&a, e);
    if (out) {
        status = train(b, r, out, e) || read_stats(r, out, e) || read_losses(r, out, e) ? -1 : 0;
        scratch_remove(out);
    }
    arena_fini(&a);
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_run(const struct bench_run *a, const struct bench_run *b)
{
    return a->epochs == b->epochs && a->batch == b->batch && a->seed == b->seed &&
           a->steps == b->steps && a->is_on_host == b->is_on_host &&
           a->rounds_operands == b->rounds_operands && same_text(a->policy, b->policy) &&
           same_text(a->precision, b->precision);
}

/* The run as asked for, from the earlier ones if it is there. */
static int get_run(struct bench *b, struct bench_run asked, const struct bench_run **found,
                   struct err *e)
{
    struct stat st;
    int status;

    for (int i = 0; i < b->run_count; i++) {
        *found = &b->run[i];
        if (same_run(*found, &asked))
            return 0;
    }
    if (!b->data) {
        err_set(e, "needs --data DIR with MNIST");
        return BENCH_LEFT_OUT;
    }
    if (stat(b->data, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_at(e, b->data, 0, 0, "not a folder");
    assert(b->run_count < BENCH_RUN_MAX);
    status = run_train(b, &asked, e);
    if (status == 0) {
        b->run[b->run_count] = asked;
        *found = &b->run[b->run_count++];
    }
    return status;
}

static struct bench_run short_run(bool is_on_host)
{
    return (struct bench_run){.epochs = SHORT_EPOCHS, .batch = SHORT_BATCH, .seed = 1,
                              .is_on_host = is_on_host};
}

static struct bench_run main_run(int seed)
{
    return (struct bench_run){.epochs = MODEL_EPOCHS, .batch = MODEL_BATCH, .seed = seed};
}

int bench_epochs_seconds(struct bench *b, int epochs, double *value, struct err *e)
{
    const struct bench_run *r;
    int status = get_run(b, epochs == SHORT_EPOCHS ? short_run(false) : main_run(1), &r, e);

    if (status == 0)
        *value = r->host_seconds;
    return status;
}

int bench_accuracy(struct bench *b, int seed, double *value, struct err *e)
{
    const struct bench_run *r;
    int status = get_run(b, main_run(seed), &r, e);

    if (status == 0)
        *value = r->test_accuracy;
    return status;
}

int bench_reference_gap(struct bench *b, int unused, double *value, struct err *e)
{
    const struct bench_run *simulated, *reference;
    int status = get_run(b, short_run(false), &simulated, e);

    (void)unused;
    if (status == 0)
        status = get_run(b, short_run(true), &reference, e);
    if (status == 0)
        *value = 100.0 * fabs(simulated->test_accuracy - reference->test_accuracy);
    return status;
}

static int get_pair(struct bench *b, struct bench_run asked, const struct bench_run **simulated,
                    const struct bench_run **reference, struct err *e)
{
    bool rounds = asked.rounds_operands;
    int status;

    asked.rounds_operands = false;
    status = get_run(b, asked, simulated, e);
    asked.is_on_host = true;
    asked.rounds_operands = rounds;
    return status ? status : get_run(b, asked, reference, e);
}

int bench_loss_gap(struct bench *b, int is_highest, double *value, struct err *e)
{
    const struct bench_run *simulated, *reference;
    struct bench_run asked = {.epochs = 1, .batch = MODEL_BATCH, .seed = 1, .steps = GAP_STEPS,
                              .precision = is_highest ? "highest" : NULL,
                              .rounds_operands = !is_highest};
    int status = get_pair(b, asked, &simulated, &reference, e);

    if (status)
        return status;
    if (simulated->loss_count != GAP_STEPS || reference->loss_count != GAP_STEPS)
        return err_set(e, "a run of %d steps left %d losses", GAP_STEPS, simulated->loss_count);
    *value = 0.0;
    for (int i = 0; i < GAP_STEPS; i++)
        *value = fmax(*value, fabs(simulated->loss[i] / reference->loss[i] - 1.0));
    return 0;
}

int bench_bf16_gap(struct bench *b, int unused, double *value, struct err *e)
{
    const struct bench_run *simulated, *reference;
    struct bench_run asked = {.epochs = 1, .batch = MODEL_BATCH, .seed = 1,
                              .policy = "mixed_bfloat16"};
    int status = get_pair(b, asked, &simulated, &reference, e);

    (void)unused;
    if (status == 0)
        *value = fabs(simulated->epoch_loss / reference->epoch_loss - 1.0);
    return status;
}

int bench_peak_memory(struct bench *b, int unused, double *value, struct err *e)
{
    const struct bench_run *r;
    int status = get_run(b, main_run(1), &r, e);

    (void)unused;
    *value = 0;
    for (int i = 0; i < b->run_count; i++)
        *value = fmax(*value, b->run[i].peak_bytes / (double)MIB);
    return status;
}
