/*
 * systole bench: how fast the issue loop is. A dense layer's inner loop on v6e,
 * C = relu(A B + bias) with bf16 operands: every 8 bundles two tiles of A into
 * each matrix unit, eight tiles of C out of them, a bias added, the maximum
 * with 0, stored. Timing mode, every iteration simulated.
 */
#include "cli/bench/bench.h"

#include "base/arena.h"
#include "isa/asm.h"
#include "sim/machine/machine.h"

#include <string.h>
#include <time.h>

#define LOOPS "4000000"                 /* of 8 bundles */
#define OPERATIONS_MIN 4.0              /* per bundle: what the promise is about */
#define ROUNDS 3

/* s0 row of A, s1 row of C, s3 row of C within its ring, s2 of s4 tiles done */
static const char program[] =
    "{ s0 = smov 0 ;; s2 = smov 0 }\n"
    "{ s4 = smov " LOOPS " ;; s3 = smov 0 }\n"
    "{ s1 = smov 0x4000 }\n"
    "{ vmatprep.mubr.bf16.mxu0 v0 ;; vmatprep.mubr.bf16.mxu1 v0 }\n"
    "{ vmatmul.mubr.bf16.vlgmr.msra.gmra.mxu0 v1 ;; "
    "vmatmul.mubr.bf16.vlgmr.msra.gmra.mxu1 v1 }\n"
    "fill:\n"                           /* 24 tiles are on their way before the first result */
    "{ vmatprep.mubr.bf16.mxu0 v0 ;; vmatprep.mubr.bf16.mxu1 v0 ;; s2 = sadd.s32 s2, 1 }\n"
    "{ vmatmul.mubr.bf16.gmra.mxu0 v1 ;; vmatmul.mubr.bf16.gmra.mxu1 v1 ;; "
    "p0 = scmp.lt.s32.totalorder s2, 24 }\n"
    "{ }\n"
    "{ sbr.rel (p0) target = fill }\n"
    "{ }\n"
    "{ }\n"
    "{ }\n"
    "{ }\n"
    "loop:\n"
    "{ v0 = vld [vmem:s0 + 0x1000] ;; v1 = vld [vmem:s0] ;; v10 = vpop.f32.mrf.mxu0 ;; "
    "vst [vmem:s1 + 0x5ff0] v33 ;; v35 = vmax.f32 v25, 0.0 ;; v27 = vadd.f32 v17, v5 }\n"
    "{ vmatprep.mubr.bf16.mxu0 v0 ;; vmatprep.mubr.bf16.mxu1 v0 ;; "
    "v20 = vadd.f32 v10, v2 ;; v11 = vpop.f32.mrf.mxu1 ;; vst [vmem:s1 + -8] v34 ;; "
    "v36 = vmax.f32 v26, 0.0 ;; p0 = scmp.lt.s32.totalorder s2, s4 }\n"
    "{ vmatmul.mubr.bf16.gmra.mxu0 v1 ;; vmatmul.mubr.bf16.gmra.mxu1 v1 ;; "
    "v21 = vadd.f32 v11, v4 ;; v12 = vpop.f32.mrf.mxu0 ;; vst [vmem:s1 + 0x3ff8] v35 ;; "
    "v37 = vmax.f32 v27, 0.0 ;; s2 = sadd.s32 s2, 1 }\n"
    "{ v30 = vmax.f32 v20, 0.0 ;; v22 = vadd.f32 v12, v3 ;; v13 = vpop.f32.mrf.mxu1 ;; "
    "vst [vmem:s1 + 0x1ff8] v36 ;; sbr.rel (p0) target = loop ;; s0 = sadd.s32 s0, 8 }\n"
    "{ v31 = vmax.f32 v21, 0.0 ;; v23 = vadd.f32 v13, v5 ;; v14 = vpop.f32.mrf.mxu0 ;; "
    "vst [vmem:s1 + 0x5ff8] v37 ;; s0 = sand.u32 s0, 0xff8 ;; s3 = sadd.s32 s3, 16 }\n"
    "{ vst [vmem:s1 + 0x0] v30 ;; v32 = vmax.f32 v22, 0.0 ;; v24 = vadd.f32 v14, v2 ;; "
    "v15 = vpop.f32.mrf.mxu1 ;; s3 = sand.u32 s3, 0x1ff0 }\n"
    "{ vst [vmem:s1 + 0x4000] v31 ;; v33 = vmax.f32 v23, 0.0 ;; v25 = vadd.f32 v15, v4 ;; "
    "v16 = vpop.f32.mrf.mxu0 }\n"
    "{ vst [vmem:s1 + 0x2000] v32 ;; v34 = vmax.f32 v24, 0.0 ;; v26 = vadd.f32 v16, v3 ;; "
    "v17 = vpop.f32.mrf.mxu1 ;; s1 = sadd.s32 s3, 0x4000 }\n"
    "{ shalt }\n";

static double thread_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double operations_per_bundle(const struct core_counters *k)
{
    int64_t operations = 0;

    for (int i = 0; i < OP_COUNT; i++)
        operations += k->op_count[i];
    return (double)operations / (double)k->issue_cycles;
}

/* raises *best to the million bundles per second of the thread's own time */
static int run_round(struct machine *m, double *best, struct err *e)
{
    double began = thread_seconds(), rate;

    if (machine_run(m, e) != 0)
        return -1;
    rate = (double)machine_counters(m, 0)->issue_cycles / (thread_seconds() - began) * 1e-6;
    if (rate > *best)
        *best = rate;
    return 0;
}

/* the best round */
static int measure(struct machine *m, double *value, struct err *e)
{
    const struct core_counters *k = machine_counters(m, 0);

    *value = 0.0;
    for (int round = 0; round < ROUNDS; round++)
        if (run_round(m, value, e) != 0)
            return -1;
    if (operations_per_bundle(k) < OPERATIONS_MIN)
        return err_set(e, "the program has only %.2f operations per bundle",
                       operations_per_bundle(k));
    printf("%-32s %12.2f operations per bundle\n", "", operations_per_bundle(k));
    return 0;
}

static int load(struct arena *a, struct machine **m, struct err *e)
{
    const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1,
                                            .no_memo = true};
    struct isa_program *p = arena_alloc(a, sizeof(*p));
    struct isa_errors errors;
    struct slice slice;
    struct chip chip;

    if (isa_assemble(program, strlen(program), "bench", a, p, &errors) != 0)
        return err_set(e, "the program of the measurement does not assemble");
    if (slice_parse(&slice, "v6e", e) != 0
        || chip_load_builtin(&chip, slice.chip_name, NULL, a, e) != 0)
        return -1;
    *m = machine_create(&slice, &chip, &options, e);
    return *m ? machine_load(*m, 0, p, e) : -1;
}

/* both machines take turns; the best of each */
int bench_timing_trace(struct bench *b, int unused, double *value, struct err *e)
{
    struct machine *m[2] = {NULL, NULL};
    struct ntrace_writer *w = NULL;
    double rate[2] = {0.0, 0.0};
    struct arena a;
    int status = 0;

    (void)b;
    (void)unused;
    arena_init(&a);
    for (int i = 0; i < 2 && status == 0; i++)
        status = load(&a, &m[i], e);
    if (status == 0 && !(w = bench_trace_open(m[1], e)))
        status = -1;
    for (int i = 0; i < 2 * ROUNDS && status == 0; i++)
        status = run_round(m[i % 2], &rate[i % 2], e);
    if (bench_trace_close(w, e) != 0)
        status = -1;
    *value = status == 0 ? rate[0] / rate[1] : 0.0;
    machine_destroy(m[0]);
    machine_destroy(m[1]);
    arena_fini(&a);
    return status;
}

int bench_timing_bundles(struct bench *b, int unused, double *value, struct err *e)
{
    struct machine *m = NULL;
    struct arena a;
    int status;

    (void)b;
    (void)unused;
    arena_init(&a);
    status = load(&a, &m, e);
    if (status == 0)
        status = measure(m, value, e);
    machine_destroy(m);
    arena_fini(&a);
    return status;
}
