/*
 * systole bench: training steps of models larger than MNIST's MLP, each run a process of its own.
 * A step's time is what one more takes: the difference between a run and a longer one, so that
 * compilation and the first launches, which are simulated, fall out.
 */
#include "cli/bench/bench.h"

#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/common/host_memory.h"

#define FEW_STEPS 3                     /* in which nothing new remains to be simulated */
#define MORE_STEPS 23                   /* the first launches take seconds more or less each time */
#define SHAKESPEARE "build/examples/shakespeare"

/* what the CNN takes, and a bit: a host that lacks it would only swap */
static const double room_bytes[] = {[BENCH_CNN_REPLICATED] = 6.5e9, [BENCH_CNN_IN_PARTS] = 3.5e9};

/* by the clock, which a busy host stretches; what it took of the processors stands before it */
static double step_seconds(const struct bench_cost *few, const struct bench_cost *more)
{
    const double steps = MORE_STEPS - FEW_STEPS;

    printf("%-32s %12.4g s of processor time a step\n", "",
           (more->processor_seconds - few->processor_seconds) / steps);
    return (more->seconds - few->seconds) / steps;
}

static int train_cnn(const struct bench *b, int kind, int steps, struct bench_cost *cost,
                     struct err *e)
{
    char text[16];
    const char *const list[] = {
        "systole", "train", b->cnn, "--data", b->data, "--tpu", "v2-8", "--batch", "200",
        "--policy", "mixed_bfloat16", "--optimizer", "adam", "--threads", "2", "--epochs", "1",
        "--validation-steps", "1", "--steps", text,
        kind == BENCH_CNN_IN_PARTS ? "--shard-state" : NULL, NULL};

    snprintf(text, sizeof(text), "%d", steps);
    return bench_process("/proc/self/exe", list, "a training run of the CNN", cost, e);
}

/* both runs, once for all figures */
static int measure_cnn(struct bench *b, int kind, struct err *e)
{
    struct bench_training *t = &b->cnn_run[kind];
    struct bench_cost few, more;

    if (t->is_measured)
        return 0;
    if (!b->data) {
        err_set(e, "needs --data DIR with MNIST");
        return BENCH_LEFT_OUT;
    }
    if (host_memory_free() < room_bytes[kind]) {
        err_set(e, "needs %.1f GB of memory", room_bytes[kind] / 1e9);
        return BENCH_LEFT_OUT;
    }
    if (train_cnn(b, kind, FEW_STEPS, &few, e) || train_cnn(b, kind, MORE_STEPS, &more, e))
        return -1;
    t->is_measured = true;
    t->step_seconds = step_seconds(&few, &more);
    t->peak_bytes = few.peak_bytes > more.peak_bytes ? few.peak_bytes : more.peak_bytes;
    return 0;
}

int bench_cnn_seconds(struct bench *b, int kind, double *value, struct err *e)
{
    int status = measure_cnn(b, kind, e);

    *value = b->cnn_run[kind].step_seconds;
    return status;
}

int bench_cnn_memory(struct bench *b, int kind, double *value, struct err *e)
{
    int status = measure_cnn(b, kind, e);

    *value = b->cnn_run[kind].peak_bytes / 1e9;
    return status;
}

static int train_transformer(const struct bench *b, int steps, struct bench_cost *cost,
                             struct err *e)
{
    char text[16];
    const char *const list[] = {"shakespeare", b->text, "--tpu", "v3-8", "--threads", "2",
                                "--steps", text, NULL};

    snprintf(text, sizeof(text), "%d", steps);
    return bench_process(SHAKESPEARE, list, "a training run of the transformer", cost, e);
}

int bench_transformer_seconds(struct bench *b, int unused, double *value, struct err *e)
{
    struct bench_cost few, more;

    (void)unused;
    if (!b->text) {
        err_set(e, "needs --text FILE to learn");
        return BENCH_LEFT_OUT;
    }
    if (access(SHAKESPEARE, X_OK) != 0) {
        err_set(e, "%s is not built: make examples", SHAKESPEARE);
        return BENCH_LEFT_OUT;
    }
    if (train_transformer(b, FEW_STEPS, &few, e) || train_transformer(b, MORE_STEPS, &more, e))
        return -1;
    *value = step_seconds(&few, &more);
    return 0;
}

int bench_resnet_seconds(struct bench *b, int images, double *value, struct err *e)
{
    char model[64];
    const char *const list[] = {"systole", "compile", model, "--tpu", "v3-8", "--run", NULL};
    struct bench_cost cost = {0};
    int status;

    (void)b;
    snprintf(model, sizeof(model), "resnet50:train,batch=%d", images);
    status = bench_process("/proc/self/exe", list, "a step of ResNet-50", &cost, e);
    *value = cost.seconds;
    return status;
}
