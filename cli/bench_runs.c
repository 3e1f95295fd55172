/* systole bench: training runs on real MNIST, each by the program itself as a user starts it. */
#include "cli/bench.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL_EPOCHS 20                 /* the main run; its batch, and that of the short one */
#define MODEL_BATCH 512
#define SHORT_EPOCHS 3
#define SHORT_BATCH 1024

/* In the child: becomes `systole train ...`, silent but for its errors. */
static void exec_train(const struct bench *b, const struct bench_run *r, const char *out)
{
    char epochs[16], batch[16], seed[16];
    char *const arguments[] = {
        "systole", "train", (char *)b->model, "--data", (char *)b->data, "--tpu", "v3-8",
        "--epochs", epochs, "--batch", batch, "--seed", seed, "--optimizer", "adam", "--lr",
        "0.001", "--backend", r->is_on_host ? "host" : "sim", "--out", (char *)out, NULL
    };
    int null = open("/dev/null", O_WRONLY);

    snprintf(epochs, sizeof(epochs), "%d", r->epochs);
    snprintf(batch, sizeof(batch), "%d", r->batch);
    snprintf(seed, sizeof(seed), "%d", r->seed);
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    execv("/proc/self/exe", arguments);
    _exit(127);
}

static int wait_for_train(pid_t child, struct bench_run *r, struct err *e)
{
    struct rusage use;
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(e, "cannot wait for a training run: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, "the training run of %d epochs with seed %d failed", r->epochs, r->seed);
    getrusage(RUSAGE_CHILDREN, &use);
    r->peak_mib = (double)use.ru_maxrss / 1024.0;       /* Linux counts KiB */
    return 0;
}

static int read_stats(struct bench_run *r, const char *out, struct err *e)
{
    char path[300];
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
    } else {
        status = err_at(e, path, 0, 0, "no number test_accuracy or host_seconds in it");
    }
    json_decref(root);
    return status;
}

static void remove_out(const char *out)
{
    static const char *const names[] = {"config.ini", "report.txt", "steps.csv", "stats.json"};
    char path[300];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", out, names[i]);
        unlink(path);
    }
    rmdir(out);
}

static int run_train(struct bench *b, struct bench_run *r, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    char out[200];
    pid_t child;
    int status;

    snprintf(out, sizeof(out), "%s/systole_bench_XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(out))
        return err_set(e, "cannot make a folder %s: %s", out, strerror(errno));
    child = fork();
    if (child == 0)
        exec_train(b, r, out);
    if (child < 0)
        status = err_set(e, "cannot start a training run: %s", strerror(errno));
    else
        status = wait_for_train(child, r, e);
    if (status == 0)
        status = read_stats(r, out, e);
    remove_out(out);
    return status;
}

/* The run as asked for, from the earlier ones if it is there. */
static int get_run(struct bench *b, struct bench_run asked, const struct bench_run **found,
                   struct err *e)
{
    struct stat st;
    int status;

    for (int i = 0; i < b->run_count; i++) {
        const struct bench_run *r = &b->run[i];

        *found = r;
        if (r->epochs == asked.epochs && r->batch == asked.batch && r->seed == asked.seed &&
            r->is_on_host == asked.is_on_host)
            return 0;
    }
    if (!b->data) {
        err_set(e, "needs --data DIR with MNIST");
        return BENCH_LEFT_OUT;
    }
    if (stat(b->data, &st) != 0) {
        err_set(e, "no folder %s", b->data);
        return BENCH_LEFT_OUT;
    }
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

int bench_peak_memory(struct bench *b, int unused, double *value, struct err *e)
{
    const struct bench_run *r;
    int status = get_run(b, main_run(1), &r, e);

    (void)unused;
    if (status == 0)
        *value = r->peak_mib;
    return status;
}
