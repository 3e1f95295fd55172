/*
 * Rows are simulated in processes of their own, a worker for each processor, which take one row
 * after the other and leave its results in memory that all have. A worker that ends by itself, or
 * is not done with a row in time, is replaced: its row has an error, the others go on.
 */
#define _DEFAULT_SOURCE             /* MAP_ANONYMOUS, usleep */
#include "cli/hardware/hardware.h"

#include "base/progress.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 64, ROW_SECONDS_MAX = 300, STEP_SECONDS_MAX = 3600, ERROR_BYTES = 300, POLL_US = 20000 };

struct outcome {                        /* of a row; all of it is shared */
    double simulated_us[2], baseline_us, memory_bytes;
    int kernel_count;
    bool is_done;
    char error[ERROR_BYTES];            /* "": none */
};

struct shared {
    int next;                           /* the first row that nobody has taken */
    int taken[WORKERS_MAX];             /* by worker: its row, + 1; 0: none */
    int done;
    struct outcome outcome[];           /* by row */
};

struct crew {
    struct hardware_file *file;
    const bool *wanted;
    const struct hardware_target *target;
    bool with_best;
    struct shared *shared;
    pid_t worker[WORKERS_MAX];          /* 0: none */
    int count, total;
};

static void simulate(struct crew *c, int row, struct arena *a)
{
    struct hardware_row *r = &c->file->row[row];
    struct outcome *to = &c->shared->outcome[row];
    struct hardware_target best = *c->target;

    best.codegen = CODEGEN_BEST;
    hardware_simulate(r, c->target, a);
    if (c->with_best && !r->error)
        hardware_simulate(r, &best, a);
    memcpy(to->simulated_us, r->simulated_us, sizeof(to->simulated_us));
    to->baseline_us = r->baseline_us;
    to->memory_bytes = r->simulated_memory_bytes;
    to->kernel_count = r->kernel_count;
    if (r->error)
        snprintf(to->error, sizeof(to->error), "%s", r->error);
    to->is_done = true;
}

/* steps of whole models take minutes */
static unsigned seconds_of(const struct hardware_row *r)
{
    return r->work == WORK_STEP ? STEP_SECONDS_MAX : ROW_SECONDS_MAX;
}

static void work(struct crew *c, int number)
{
    const struct rlimit none = {0, 0};
    int row;

    setrlimit(RLIMIT_CORE, &none);
    while ((row = __atomic_fetch_add(&c->shared->next, 1, __ATOMIC_SEQ_CST)) < c->file->row_count) {
        struct arena a;

        if (!c->wanted[row])
            continue;
        c->shared->taken[number] = row + 1;
        alarm(seconds_of(&c->file->row[row]));
        arena_init(&a);
        simulate(c, row, &a);
        arena_fini(&a);
        alarm(0);
        c->shared->taken[number] = 0;
        __atomic_fetch_add(&c->shared->done, 1, __ATOMIC_SEQ_CST);
    }
}

static int start(struct crew *c, int number, struct err *e)
{
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child < 0)
        return err_set(e, "no process of its own: %s", strerror(errno));
    if (child == 0) {
        work(c, number);
        fflush(NULL);
        _exit(0);
    }
    c->worker[number] = child;
    return 0;
}

/* what a worker that did not end well was at, and another in its place */
static int replace(struct crew *c, int number, int status, struct err *e)
{
    int row = c->shared->taken[number] - 1;
    struct outcome *to = row >= 0 ? &c->shared->outcome[row] : NULL;

    c->shared->taken[number] = 0;
    if (to) {
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            snprintf(to->error, sizeof(to->error), "not done in %u s",
                     seconds_of(&c->file->row[row]));
        else
            snprintf(to->error, sizeof(to->error), "the simulator broke off: %s",
                     WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended");
        to->is_done = true;
        c->shared->done++;
    }
    return start(c, number, e);
}

static int wait_for_all(struct crew *c, struct err *e)
{
    struct progress p;
    int running = c->count, status = 0;

    progress_begin(&p, c->total);
    while (running) {
        bool is_idle = true;

        for (int i = 0; i < c->count; i++) {
            int how;

            if (!c->worker[i] || waitpid(c->worker[i], &how, WNOHANG) == 0)
                continue;
            is_idle = false;
            c->worker[i] = 0;
            if (status == 0 && !(WIFEXITED(how) && WEXITSTATUS(how) == 0))
                status = replace(c, i, how, e);
            running -= !c->worker[i];
        }
        progress_fraction(&p, c->file->name, c->total ? (double)c->shared->done / c->total : 1);
        if (is_idle)
            usleep(POLL_US);
    }
    progress_wipe(&p);
    return status;
}

static void take(struct crew *c, struct arena *a)
{
    for (int i = 0; i < c->file->row_count; i++) {
        const struct outcome *from = &c->shared->outcome[i];
        struct hardware_row *r = &c->file->row[i];

        if (!c->wanted[i])
            continue;
        if (!from->is_done || from->error[0]) {
            r->error = arena_strdup(a, from->error[0] ? from->error : "not reached");
            r->baseline_us = hardware_baseline_us(r, c->target->chip);
            continue;
        }
        memcpy(r->simulated_us, from->simulated_us, sizeof(from->simulated_us));
        r->baseline_us = from->baseline_us;
        r->simulated_memory_bytes = from->memory_bytes;
        r->kernel_count = from->kernel_count;
    }
}

int hardware_simulate_all(struct hardware_file *f, const bool *wanted,
                          const struct hardware_target *t, bool with_best, struct arena *a,
                          struct err *e)
{
    size_t bytes = sizeof(struct shared) + (size_t)f->row_count * sizeof(struct outcome);
    struct crew c = {.file = f, .wanted = wanted, .target = t, .with_best = with_best};
    long processors = t->prints_kernels ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
    int status = 0;

    for (int i = 0; i < f->row_count; i++)
        c.total += wanted[i];
    c.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c.shared == MAP_FAILED)
        return err_set(e, "no memory for results: %s", strerror(errno));
    c.count = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (int)processors;
    if (c.count > c.total)
        c.count = c.total;
    for (int i = 0; i < c.count && status == 0; i++)
        status = start(&c, i, e);
    if (wait_for_all(&c, e))
        status = -1;
    take(&c, a);
    munmap(c.shared, bytes);
    return status;
}
