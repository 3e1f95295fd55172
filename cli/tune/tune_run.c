/*
 * Variants timed, several at once: workers take one after the other and leave what it took in memory
 * that all have; each variant runs in a process of its own, whose end is nobody else's.
 */
#define _DEFAULT_SOURCE                 /* MAP_ANONYMOUS, usleep */
#include "cli/tune/tune.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/validate/apart.h"
#include "report/view/utilization.h"

enum { POLL_US = 50000, JOBS_MAX = 64 };

struct shared {
    int next, done;
    struct tune_result result[];        /* by variant */
};

struct work { const struct tune *t; const struct tune_variant *v; };

static int take(void *user, const struct kernel_timed *k, struct err *e)
{
    struct tune_result *to = user;
    struct utilization u;

    (void)e;
    utilization_find(&k->view, &u);
    to->cycles = k->view.cycles;
    to->us = (double)k->view.cycles / (double)k->chip->chip_clock_mhz;
    to->vmem_bytes = k->segment->cost.vmem_rows * ARRAY_ROW_BYTES;
    to->mxu_percent = utilization_mxu_percent(&u);
    to->hbm_percent = utilization_hbm_percent(&u);
    to->is_done = true;
    return 0;
}

static void time_variant(void *user, void *result)
{
    const struct work *w = user;
    struct kernel_request r = w->t->kernel;
    struct tune_result *to = result;
    const struct kernel_found *found;
    struct kernel_file f;
    struct err e = {.msg = ""};
    struct arena a;

    arena_init(&a);
    r.exec.file = w->v->file;
    if (kernel_open(&r, &f, &e) || !(found = kernel_choose(&f, r.which, &e)) ||
        kernel_time(&r.exec.run, found, &a, take, to, &e)) {
        to->is_done = false;
        err_format(&e, to->message, sizeof(to->message));
    }
    kernel_close(&f);
    arena_fini(&a);
}

static void run_one(struct tune *t, int number, struct tune_result *to)
{
    struct work w = {t, &t->variant[number]};
    struct apart_end end;
    struct err e;

    if (!w.v->file) {
        *to = w.v->result;
        return;
    }
    if (apart_run(time_variant, &w, to, sizeof(*to), (int)t->seconds, &end, &e)) {
        err_format(&e, to->message, sizeof(to->message));
        return;
    }
    if (end.kind == APART_DONE)
        return;
    to->is_done = false;
    if (end.kind == APART_SLOW)
        text_print(to->message, sizeof(to->message), "not done in %lld s (--seconds)",
                   (long long)t->seconds);
    else
        text_print(to->message, sizeof(to->message), "%s", end.message);
}

static void work(struct tune *t, struct shared *s)
{
    int i;

    while ((i = __atomic_fetch_add(&s->next, 1, __ATOMIC_SEQ_CST)) < t->count) {
        run_one(t, i, &s->result[i]);
        __atomic_fetch_add(&s->done, 1, __ATOMIC_SEQ_CST);
    }
}

/* until every worker has ended; one that ended by itself leaves its variant without a message */
static void wait_for(struct tune *t, struct shared *s, pid_t *worker, int count)
{
    struct progress shown;
    int left = count, told = 0;

    progress_begin(&shown, t->count);
    while (left) {
        int done = __atomic_load_n(&s->done, __ATOMIC_SEQ_CST);

        if (done != told)
            progress_fraction(&shown, "variants", (double)done / t->count);
        told = done;
        for (int i = 0; i < count; i++)
            if (worker[i] > 0 && waitpid(worker[i], NULL, WNOHANG) != 0) {
                worker[i] = 0;
                left--;
            }
        usleep(POLL_US);
    }
    progress_end(&shown);
}

static void take_results(struct tune *t, const struct shared *s)
{
    t->best = -1;
    for (int i = 0; i < t->count; i++) {
        struct tune_result *r = &t->variant[i].result;

        *r = s->result[i];
        if (!r->is_done && !*r->message)
            text_print(r->message, sizeof(r->message), "its process ended");
        if (r->is_done && (t->best < 0 || r->cycles < t->variant[t->best].result.cycles))
            t->best = i;
    }
}

int tune_run(struct tune *t, struct err *e)
{
    size_t bytes = sizeof(struct shared) + (size_t)t->count * sizeof(struct tune_result);
    int jobs = (int)(t->jobs < t->count ? t->jobs : t->count);
    pid_t worker[JOBS_MAX] = {0};
    struct shared *s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (s == MAP_FAILED)
        return err_set(e, "no memory for the results of %d variants", t->count);
    fflush(NULL);
    for (int i = 0; i < jobs; i++) {
        worker[i] = fork();
        if (worker[i] == 0) {
            work(t, s);
            _exit(0);
        }
    }
    wait_for(t, s, worker, jobs);
    work(t, s);                         /* where no worker could be started */
    take_results(t, s);
    munmap(s, bytes);
    return 0;
}
