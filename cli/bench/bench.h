/*
 * systole bench: what its files share. cmd_bench.c holds the table of promised
 * figures, bench_runs.c measures whole training runs of MNIST's MLP and bench_training.c large
 * models, in processes of their own (bench_process.c), bench_steps.c the ratios of single steps,
 * bench_engine.c the issue loop, bench_gemm.c products beside OpenBLAS, bench_collective.c pods,
 * bench_memory.c a memory alone; bench_trace.c writes the traces, bench_ntrace.c opens a large
 * one, bench_view.c looks at one in the viewer, bench_make.c builds and checks.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H
#include "base/err.h"
#include "report/native_trace/ntrace_writer.h"

#include <stdbool.h>
#include <stdint.h>

#define BENCH_LEFT_OUT 1                /* cannot be measured here; the message says why */
#define BENCH_RUN_MAX 16
#define BENCH_LOSS_MAX 256

/* One training run on real MNIST; what was run once is not run again. */
struct bench_run {
    int epochs, batch, seed;
    int steps;                          /* stop after this many, 0 = do not */
    const char *policy, *precision;     /* NULL = default */
    bool is_on_host;                    /* by the reference interpreter */
    bool rounds_operands;               /* the interpreter rounds a dot's operands to bf16 */
    double test_accuracy, host_seconds;
    double peak_bytes;                  /* resident */
    double loss[BENCH_LOSS_MAX];        /* of the first steps */
    int loss_count;
    double epoch_loss;                  /* mean of the last epoch */
};

/* What two threads run: training steps, or products, which are always simulated. */
enum { BENCH_REPEATED, BENCH_SIMULATED, BENCH_PRODUCTS };

/* Seconds of the same steps, each the best of interleaved rounds. */
struct bench_steps {
    bool is_measured;
    double one_thread, traced;          /* each step simulated */
    double two_threads[BENCH_PRODUCTS];
    double two_processes[BENCH_PRODUCTS];       /* one thread each, at the same time */
};

/* A trace file of a gigabyte, written and opened once. */
struct bench_ntrace {
    bool is_measured;
    int64_t file_bytes, bundles, cycles;
    double open_seconds, scan_seconds, write_ns;
};
enum { BENCH_NTRACE_OPEN, BENCH_NTRACE_SCAN, BENCH_NTRACE_BYTES, BENCH_NTRACE_WRITE };

/* Processor time of frames in systole-view --bench, and of the clock on the wall. */
struct bench_frames {
    double open_ms, median_ms, p99_ms, worst_ms, worst_wall_ms;
};
struct bench_view {
    bool is_measured;
    int64_t events;
    struct bench_frames timeline;
    double others_worst_ms;             /* of all other panels */
};
/* make check, and a clean build into a folder of its own. */
enum { BENCH_CHECK_ALL, BENCH_CHECK_PROGRAMS, BENCH_CHECK_SCRIPTS, BENCH_CHECK_PARTS };
struct bench_make {
    bool is_checked, is_built;
    double check_seconds[BENCH_CHECK_PARTS];
    double build_seconds, build_bytes;
};
enum { BENCH_BUILD_SECONDS, BENCH_BUILD_SIZE };

/* The CNN's training step, replicated and with its optimizer's state in parts. */
struct bench_training {
    bool is_measured;
    double step_seconds, peak_bytes;
};
enum { BENCH_CNN_REPLICATED, BENCH_CNN_IN_PARTS, BENCH_CNN_KINDS };

enum { BENCH_COLLECTIVE_SECONDS, BENCH_COLLECTIVE_MEMORY, BENCH_COLLECTIVE_GROWTH_64,
       BENCH_COLLECTIVE_GROWTH_512 };
enum { BENCH_VIEW_OPEN, BENCH_VIEW_MEDIAN, BENCH_VIEW_P99, BENCH_VIEW_WORST, BENCH_VIEW_OTHERS };

struct bench {
    const char *data;                   /* folder of MNIST; NULL = not given */
    const char *model;                  /* Keras JSON, of the figures mnist_* */
    const char *cnn;                    /* likewise, of training_cnn_* */
    const char *text;                   /* what the transformer learns; NULL = not given */
    struct bench_run run[BENCH_RUN_MAX];
    int run_count;
    struct bench_steps steps;
    struct bench_ntrace ntrace;
    struct bench_view view;
    struct bench_make make;
    struct bench_training cnn_run[BENCH_CNN_KINDS];
};

/* Each measures one figure: 0, BENCH_LEFT_OUT or -1. `argument` stands in the table. */
typedef int bench_fn(struct bench *b, int argument, double *value, struct err *e);

bench_fn bench_epochs_seconds;          /* host seconds of 3 or 20 epochs */
bench_fn bench_accuracy;                /* of 20 epochs with seed `argument` */
bench_fn bench_reference_gap;           /* points between simulator and reference, 3 epochs */
bench_fn bench_loss_gap;                /* largest relative difference of a step's loss from the
                                           reference; argument: 1 precision highest, 0 default */
bench_fn bench_bf16_gap;                /* relative difference of the epoch's mean loss */
bench_fn bench_peak_memory;             /* MiB */
bench_fn bench_check;                   /* seconds of make check, built before; argument: its part */
bench_fn bench_build;                   /* a clean build: seconds, MiB of the folder */
bench_fn bench_thread_scaling;          /* two threads' speed-up / two processes'; argument: 1
                                           of products, 0 of training steps */
bench_fn bench_trace_ratio;             /* a step with trace / without */
bench_fn bench_timing_bundles;          /* million bundles per second and thread, timing mode */
bench_fn bench_timing_trace;            /* the same, with trace / without */
bench_fn bench_gemm_ratio;              /* a product's host time / sgemm's; argument: 1 on AVX2
                                           beside Haswell's kernels, 0 beside the fastest */
bench_fn bench_gemm_timing;             /* host seconds of a product of that side, cycles alone */
bench_fn bench_gemm_trace;              /* a product with trace / without */

bench_fn bench_cnn_seconds;             /* host seconds of a step; argument: a kind of CNN */
bench_fn bench_cnn_memory;              /* GB, likewise */
bench_fn bench_transformer_seconds;     /* host seconds of a step */
bench_fn bench_resnet_seconds;          /* to compile and time a step of so many images a core */

bench_fn bench_collective;              /* an all-reduce on 4096 chips: one of the enum */
bench_fn bench_memory;                  /* GB of reads in sequence simulated per second, argument:
                                           bytes of each */

bench_fn bench_ntrace;                  /* argument: seconds to open it, the same without its
                                           index, bytes or nanoseconds of writing per bundle */

bench_fn bench_view;                    /* a trace of 100 million events in systole-view; argument:
                                           seconds to open, milliseconds per frame */

struct bench_cost {
    double seconds, processor_seconds;  /* by the clock; of all threads */
    double peak_bytes;                  /* resident */
};

/*
 * Runs a program by its path, silent but for its errors, to its end; arguments[0] is its name and
 * NULL the last. `what` is for the message when it fails.
 */
int bench_process(const char *program, const char *const *arguments, const char *what,
                  struct bench_cost *cost, struct err *e);

/* launches of `m` are written at level bundle from now on; NULL with *e set on failure */
struct ntrace_writer *bench_trace_open(struct machine *m, struct err *e);
int bench_trace_close(struct ntrace_writer *w, struct err *e);  /* NULL is closed already */

/* prints the processor seconds of sgemm, side x side x side, by one thread; the exit status */
int bench_time_sgemm(int64_t side);
#endif
