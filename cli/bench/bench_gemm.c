/*
 * systole bench: a bf16 product beside OpenBLAS's sgemm, both on one host
 * thread. sgemm runs in processes of their own, since OpenBLAS chooses its
 * kernels once, from the environment; all kinds take turns, several rounds,
 * and the least processor time of each counts.
 */
#include "cli/bench/bench.h"

#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/machine/machine.h"
#include "sim/lanes/simd.h"
#include "stack/module/op_bench.h"

#define SIDE 2048
#define ROUNDS 5

static double processor_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ----- OpenBLAS */

/* the better of two runs, the first of which also meets fresh memory */
int bench_time_sgemm(int64_t side)
{
    size_t count = (size_t)(side * side);
    float *a = mem_alloc(count * sizeof(*a)), *b = mem_alloc(count * sizeof(*b));
    float *c = mem_alloc(count * sizeof(*c));
    double best = 0, began;
    struct rng r;

    rng_init(&r, 1);
    for (size_t i = 0; i < count; i++) {
        a[i] = rng_uniform(&r, -1, 1);
        b[i] = rng_uniform(&r, -1, 1);
    }
    for (int i = 0; i < 2; i++) {
        began = processor_seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)side, (int)side, (int)side, 1,
                    a, (int)side, b, (int)side, 0, c, (int)side);
        began = processor_seconds() - began;
        best = i == 0 || began < best ? began : best;
    }
    printf("%.6f\n", best);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    return 0;
}

static void exec_sgemm(const char *core_type, int out)
{
    char side[16];

    snprintf(side, sizeof(side), "%d", SIDE);
    dup2(out, STDOUT_FILENO);
    setenv("OPENBLAS_CORETYPE", core_type, 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execl("/proc/self/exe", "systole", "bench", "--sgemm", side, (char *)NULL);
    _exit(1);
}

static int run_sgemm(const char *core_type, double *seconds, struct err *e)
{
    int ends[2], status, got = 0;
    FILE *from;
    pid_t child;

    if (pipe(ends) != 0)
        return err_set(e, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    child = fork();
    if (child == 0)
        exec_sgemm(core_type, ends[1]);
    close(ends[1]);
    from = fdopen(ends[0], "r");
    if (child > 0 && from)
        got = fscanf(from, "%lf", seconds);
    if (from)
        fclose(from);
    else
        close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || got != 1)
        return err_set(e, "sgemm with OPENBLAS_CORETYPE=%s failed", core_type);
    return 0;
}

/* ----- the simulated core */

struct product {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct machine *m;
    int64_t operand_bytes;
    struct isa_program program;
};

/* random bf16 of ordinary size, packed as it happens to lie */
static int fill(const struct product *p, struct err *e)
{
    int64_t count = p->operand_bytes / 2;
    uint16_t *values = mem_alloc((size_t)count * sizeof(*values));
    struct rng r;
    int status;

    rng_init(&r, 1);
    for (int64_t i = 0; i < count; i++)
        values[i] = (uint16_t)(0x3f80 | (rng_next(&r) & 0x807f));
    status = machine_hbm_write(p->m, 0, 0, values, 2 * count, e);
    mem_free(values);
    return status;
}

static int open_product(struct product *p, const char *chip, int64_t side,
                        const struct machine_options *mo, struct err *e)
{
    *p = (struct product){.m = NULL};
    arena_init(&p->arena);
    if (slice_parse(&p->slice, chip, e) ||
        chip_load_builtin(&p->chip, p->slice.chip_name, NULL, &p->arena, e))
        return -1;
    p->m = machine_create(&p->slice, &p->chip, mo, e);
    if (!p->m || op_bench_program(side, side, side, &p->chip, &p->arena, &p->program,
                                  &p->operand_bytes, e) ||
        machine_load(p->m, 0, &p->program, e))
        return -1;
    return mo->mode == MODE_TIMING ? 0 : fill(p, e);
}

static void close_product(struct product *p)
{
    machine_destroy(p->m);
    arena_fini(&p->arena);
}

/* from the first bundle to the halt */
static int run_product(struct product *p, double *best, struct err *e)
{
    double began = processor_seconds();

    if (machine_run(p->m, e))
        return -1;
    began = processor_seconds() - began;
    if (*best <= 0 || began < *best)
        *best = began;
    return 0;
}

/* ----- the figures */

/* the first run meets fresh memory and is not counted */
static int measure(struct product *p, const char *const *core_type, size_t count, double *product,
                   double *sgemm, struct err *e)
{
    double seconds = 0;

    if (run_product(p, &seconds, e))
        return -1;
    for (int round = 0; round < ROUNDS; round++) {
        if (run_product(p, product, e))
            return -1;
        for (size_t i = 0; i < count; i++) {
            if (run_sgemm(core_type[i], &seconds, e))
                return -1;
            if (*sgemm <= 0 || seconds < *sgemm)
                *sgemm = seconds;
        }
    }
    return 0;
}

int bench_gemm_ratio(struct bench *b, int is_avx2, double *value, struct err *e)
{
    static const char *const core_type[] = {"Haswell", "SkylakeX", "Cooperlake", "Zen"};
    const struct machine_options mo = {.thread_count = 1, .no_memo = true,
                                       .simd = is_avx2 ? "avx2" : "auto"};
    double product = 0, sgemm = 0;
    struct product p;
    int status;

    (void)b;
    if (!simd_select(is_avx2 ? "avx2" : "avx512", e))
        return BENCH_LEFT_OUT;
    status = open_product(&p, "v3", SIDE, &mo, e);
    if (status == 0)
        status = measure(&p, core_type, is_avx2 ? 1 : COUNT_OF(core_type), &product, &sgemm, e);
    close_product(&p);
    *value = status == 0 ? product / sgemm : 0;
    return status;
}

int bench_gemm_timing(struct bench *b, int side, double *value, struct err *e)
{
    const struct machine_options mo = {.thread_count = 1, .mode = MODE_TIMING};
    struct product p;
    int status = 0;

    (void)b;
    *value = 0;
    for (int i = 0; i < ROUNDS && status == 0; i++) {
        status = open_product(&p, "v5e", side, &mo, e); /* anew: launches are memoised too */
        if (status == 0)
            status = run_product(&p, value, e);
        close_product(&p);
    }
    return status;
}

int bench_gemm_trace(struct bench *b, int unused, double *value, struct err *e)
{
    const struct machine_options mo = {.thread_count = 1, .no_memo = true};
    struct ntrace_writer *w = NULL;
    double seconds[2] = {0, 0};
    struct product p[2];
    int status = 0;

    (void)b;
    (void)unused;
    for (int i = 0; i < 2; i++) {
        if (open_product(&p[i], "v3", SIDE / 2, &mo, e))
            status = -1;
    }
    if (status == 0 && !(w = bench_trace_open(p[1].m, e)))
        status = -1;
    for (int i = 0; i < 2 * ROUNDS && status == 0; i++)
        status = run_product(&p[i % 2], &seconds[i % 2], e);
    if (bench_trace_close(w, e) != 0)
        status = -1;
    close_product(&p[0]);
    close_product(&p[1]);
    *value = status == 0 ? seconds[1] / seconds[0] : 0;
    return status;
}
