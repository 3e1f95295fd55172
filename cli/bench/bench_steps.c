/*
 * systole bench: ratios of the same launches on eight cores, training steps or
 * products of matrices. Each
 * measurement is a process of its own; all kinds take turns, several rounds,
 * and the best time of each kind counts, so that what else the host does falls
 * out of the ratios.
 */
#include "cli/bench/bench.h"

#include "base/units.h"
#include "base/progress.h"
#include "data/images.h"
#include "sim/machine/machine.h"
#include "stack/module/op_bench.h"
#include "train/fit/fit.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 512
#define CORES 8                         /* of v3-8 */
#define WARM_STEPS 3
#define STEPS 30
#define ROUNDS 4
#define PROCESS_MAX 2

#define PRODUCT_ROWS 512                /* of a core; 1024 columns, and as deep */
#define PRODUCT_SIDE 1024
#define PRODUCTS 10

struct job {
    int thread_count, process_count;
    bool trace, is_product;             /* else training steps */
    bool no_memo;                       /* each launch is simulated, not repeated */
};

struct stepper {
    struct arena arena;
    struct chip chip;
    struct slice slice;
    struct model model;
    struct machine *machine;
    struct variable_set variables;
    struct optimizer optimizer;
    struct fit *fit;                    /* NULL: products */
    struct strategy_program *step;
    struct isa_program product;
    float *x;
    int32_t *labels;
};

static void make_batch(struct stepper *s)
{
    struct image_set train, test;
    uint32_t *order = arena_array(&s->arena, BATCH, sizeof(*order));

    data_make_digits(&train, &test, BATCH, 1, 1, &s->arena);
    for (uint32_t i = 0; i < BATCH; i++)
        order[i] = i;
    s->x = arena_array(&s->arena, (size_t)(BATCH * train.elems), sizeof(*s->x));
    s->labels = arena_array(&s->arena, BATCH, sizeof(*s->labels));
    data_batch(&train, order, 0, BATCH, s->x, s->labels);
}

/* a product of each core's own */
static int load_products(struct stepper *s, struct err *e)
{
    if (op_bench_program(PRODUCT_ROWS, PRODUCT_SIDE, PRODUCT_SIDE, &s->chip, &s->arena,
                         &s->product, NULL, e))
        return -1;
    for (int i = 0; i < machine_core_count(s->machine); i++)
        if (machine_load(s->machine, i, &s->product, e) != 0)
            return -1;
    return 0;
}

static int make_step(struct stepper *s, struct err *e)
{
    struct fit_options o = {
        .model = &s->model, .loss = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY),
        .optimizer = &s->optimizer, .batch = BATCH,
        .strategy = {.machine = s->machine, .set = &s->variables, .seed = 1}};

    variable_set_init(&s->variables, &s->arena);
    optimizer_init(&s->optimizer, RULE_ADAM);
    s->fit = fit_create(&o, e);
    s->step = s->fit ? fit_program(s->fit, 1, e) : NULL;
    return s->step ? 0 : -1;
}

/* the batch's rows to the cores in order, and their losses back */
static int run_step(struct stepper *s, struct err *e)
{
    const void *input[2 * CORES];
    void *result[CORES];
    float loss[CORES];
    int64_t rows = BATCH / CORES, elems = shape_elems(&s->model.node[0].shape);

    for (int r = 0; r < CORES; r++) {
        input[2 * r] = s->x + r * rows * elems;
        input[2 * r + 1] = s->labels + r * rows;
        result[r] = &loss[r];
    }
    return strategy_run(fit_strategy(s->fit), s->step, input, result, NULL, e);
}

static int make_stepper(struct stepper *s, const struct bench *b, const struct job *j,
                        struct err *e)
{
    const struct machine_options mo = {.thread_count = j->thread_count, .simd = "auto",
                                       .no_memo = j->no_memo};
    arena_init(&s->arena);
    if (model_from_json(&s->model, &s->arena, b->model, e) != 0 ||
        slice_parse(&s->slice, "v3-8", e) != 0 ||
        chip_load_builtin(&s->chip, s->slice.chip_name, NULL, &s->arena, e) != 0)
        return -1;
    s->machine = machine_create(&s->slice, &s->chip, &mo, e);
    if (!s->machine)
        return -1;
    if (j->trace && !bench_trace_open(s->machine, e))
        return -1;                      /* the process ends before the file is needed */
    if (j->is_product)
        return load_products(s, e);
    make_batch(s);
    return make_step(s, e);
}

/* of a single thread what it has worked, not what has gone by */
static double seconds_of(const struct job *j)
{
    struct timespec t;

    if (j->thread_count > 1 || j->process_count > 1)
        return progress_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_steps(struct stepper *s, const struct job *j, int count, double *seconds,
                     struct err *e)
{
    double began = seconds_of(j);

    for (int i = 0; i < count; i++)
        if (s->fit ? run_step(s, e) : machine_run(s->machine, e))
            return -1;
    *seconds = seconds_of(j) - began;
    return 0;
}

/* The child: get ready, tell so by a byte, wait for the start, tell the seconds. */
static int child_main(const struct bench *b, const struct job *j, int tell, int start)
{
    struct stepper s = {.machine = NULL};
    struct err e;
    double seconds;
    char byte = 1, text[800];

    err_set(&e, "a measurement was broken off");        /* unless a call below knows better */
    if (make_stepper(&s, b, j, &e) != 0 || run_steps(&s, j, WARM_STEPS, &seconds, &e) != 0 ||
        write(tell, &byte, 1) != 1 || read(start, &byte, 1) != 1 ||
        run_steps(&s, j, j->is_product ? PRODUCTS : STEPS, &seconds, &e) != 0) {
        fprintf(stderr, "systole: %s\n", err_format(&e, text, sizeof(text)));
        return 1;
    }
    return write(tell, &seconds, sizeof(seconds)) == (ssize_t)sizeof(seconds) ? 0 : 1;
}

/* `heard`: the reading end of what the child tells */
static int start_child(const struct bench *b, const struct job *j, const int start[2],
                       int *heard, pid_t *child, struct err *e)
{
    int tell[2];

    if (pipe(tell) != 0)
        return err_set(e, "cannot make a pipe: %s", strerror(errno));
    *child = fork();
    if (*child == 0) {
        close(start[1]);
        close(tell[0]);
        _exit(child_main(b, j, tell[1], start[0]));
    }
    close(tell[1]);
    *heard = tell[0];
    if (*child < 0)
        return err_set(e, "cannot start a measuring process: %s", strerror(errno));
    return 0;
}

/* Lets the children that are ready go at once; the slower one's seconds count. */
static int hear_children(const int *heard, int count, int start, double *seconds, struct err *e)
{
    char bytes[PROCESS_MAX] = {0};

    for (int i = 0; i < count; i++)
        if (read(heard[i], &bytes[i], 1) != 1)
            return err_set(e, "a measuring process failed");
    for (int i = 0; i < count; i++)
        if (write(start, &bytes[i], 1) != 1)
            return err_set(e, "cannot start the measurement: %s", strerror(errno));
    *seconds = 0.0;
    for (int i = 0; i < count; i++) {
        double one;

        if (read(heard[i], &one, sizeof(one)) != (ssize_t)sizeof(one))
            return err_set(e, "a measuring process failed");
        if (one > *seconds)
            *seconds = one;
    }
    return 0;
}

static int measure_job(const struct bench *b, const struct job *j, double *seconds, struct err *e)
{
    int start[2], heard[PROCESS_MAX], count = 0, status = 0;
    pid_t child[PROCESS_MAX];

    if (pipe(start) != 0)
        return err_set(e, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);                     /* or the children print it again */
    while (count < j->process_count && status == 0) {
        status = start_child(b, j, start, &heard[count], &child[count], e);
        count++;
    }
    if (status == 0)
        status = hear_children(heard, count, start[1], seconds, e);
    close(start[0]);
    close(start[1]);                    /* who still waits reads the end, and stops */
    for (int i = 0; i < count; i++) {
        close(heard[i]);
        if (child[i] > 0)
            waitpid(child[i], NULL, 0);
    }
    return status;
}

/* a kind of measurement and where its best time goes */
struct kind {
    struct job job;
    double *best;
};

static int measure_kinds(const struct bench *b, const struct kind *kind, size_t count,
                         struct err *e)
{
    for (int round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < count; k++) {
            double seconds = 0.0;

            if (measure_job(b, &kind[k].job, &seconds, e) != 0)
                return -1;
            if (round == 0 || seconds < *kind[k].best)
                *kind[k].best = seconds;
        }
    return 0;
}

static int get_steps(struct bench *b, struct err *e)
{
    struct bench_steps *s = &b->steps;
    const struct kind kinds[] = {
        {{1, 1, false, false, true}, &s->one_thread},
        {{1, 1, true, false, true}, &s->traced},
        {{2, 1, false, false, true}, &s->two_threads[BENCH_SIMULATED]},
        {{1, 2, false, false, true}, &s->two_processes[BENCH_SIMULATED]},
        {{2, 1, false, false, false}, &s->two_threads[BENCH_REPEATED]},
        {{1, 2, false, false, false}, &s->two_processes[BENCH_REPEATED]},
    };

    if (s->is_measured)
        return 0;
    if (measure_kinds(b, kinds, COUNT_OF(kinds), e) != 0)
        return -1;
    s->is_measured = true;
    return 0;
}

static bool has_two_processors(struct err *e)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) >= 2)
        return true;
    err_set(e, "needs two processors");
    return false;
}

/*
 * Two processes do twice the work of one: the host's own scaling is
 * 2 x one_thread / two_processes, and the threads' one_thread / two_threads.
 */
int bench_thread_scaling(struct bench *b, int which, double *value, struct err *e)
{
    double two_threads = 0.0, two_processes = 0.0;
    const struct kind kinds[] = {
        {{2, 1, false, true, true}, &two_threads},
        {{1, 2, false, true, true}, &two_processes},
    };

    if (!has_two_processors(e))
        return BENCH_LEFT_OUT;
    if (which == BENCH_PRODUCTS ? measure_kinds(b, kinds, COUNT_OF(kinds), e) : get_steps(b, e))
        return -1;
    if (which != BENCH_PRODUCTS) {
        two_threads = b->steps.two_threads[which];
        two_processes = b->steps.two_processes[which];
    }
    *value = two_processes / (2.0 * two_threads);
    return 0;
}

int bench_trace_ratio(struct bench *b, int unused, double *value, struct err *e)
{
    (void)unused;
    if (get_steps(b, e) != 0)
        return -1;
    *value = b->steps.traced / b->steps.one_thread;
    return 0;
}
