/*
 * systole bench: what its files share. cmd_bench.c holds the table of promised
 * figures, bench_runs.c measures whole training runs in processes of their
 * own, bench_steps.c the ratios of single steps.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

#define BENCH_LEFT_OUT 1                /* cannot be measured here; the message says why */
#define BENCH_RUN_MAX 8

/* One training run on real MNIST; what was run once is not run again. */
struct bench_run {
    int epochs, batch, seed;
    bool is_on_host;                    /* by the reference interpreter */
    double test_accuracy, host_seconds;
    double peak_mib;                    /* of all runs so far */
};

/* Seconds of the same steps, each the best of interleaved rounds. */
struct bench_steps {
    bool is_measured;
    double one_thread, two_threads, traced;
    double two_processes;               /* one thread each, at the same time */
};

struct bench {
    const char *data;                   /* folder of MNIST; NULL = not given */
    const char *model;                  /* Keras JSON */
    struct bench_run run[BENCH_RUN_MAX];
    int run_count;
    struct bench_steps steps;
};

/* Each measures one figure: 0, BENCH_LEFT_OUT or -1. `argument` stands in the table. */
typedef int bench_fn(struct bench *b, int argument, double *value, struct err *e);

bench_fn bench_epochs_seconds;          /* host seconds of 3 or 20 epochs */
bench_fn bench_accuracy;                /* of 20 epochs with seed `argument` */
bench_fn bench_reference_gap;           /* points between simulator and reference, 3 epochs */
bench_fn bench_peak_memory;             /* MiB */
bench_fn bench_thread_scaling;          /* two threads' speed-up / two processes' */
bench_fn bench_trace_ratio;             /* a step with trace / without */
#endif
