/*
 * A kernel on the bench: a body graph becomes a segment, runs alone on a simulated core with
 * data, and its results are compared with the interpreter's.
 *
 *     struct kernel_rig r = {.chip = "v5e"};
 *     kernel_rig_open(&r, &body);              // compiles; fails the test if it is refused
 *     kernel_rig_check(&r, seed);              // random data, against interp_run
 *     printf("%lld\n", (long long)r.cycles);
 *     kernel_rig_close(&r);
 *
 * Set what differs from: arrays row-major in HBM, the cheapest tiling, --codegen xla, values that
 * make sums and products exact (small whole numbers), results equal bit for bit (any NaN equals
 * any NaN). For large shapes kernel_rig_time runs without data and returns the cycles.
 */
#ifndef TESTS_KERNEL_RIG_H
#define TESTS_KERNEL_RIG_H
#include "sim/machine/machine.h"
#include "stack/kernels/pipeline/kernel.h"
#include "stack/module/link.h"

#define KERNEL_RIG_ARRAYS 24

enum rig_values { RIG_WHOLE, RIG_UNIFORM, RIG_HARD };   /* -8..8; -1..1; any bits */

struct kernel_rig {
    const char *chip;                   /* "v3", "v6e"; the smallest slice of it */
    const char *set;                    /* "section.key=value", several with spaces, or NULL */
    enum codegen codegen;
    const struct tiling *tiling;        /* NULL: the cheapest */
    uint32_t operands_in_vmem, results_in_vmem;         /* bit i: array i, if it fits */
    const int *operand_order[KERNEL_RIG_ARRAYS], *result_order[KERNEL_RIG_ARRAYS];
    int64_t vmem_rows;                  /* given to the kernel; 0: what the arrays leave */
    int alias[KERNEL_RIG_ARRAYS];       /* result i lies where operand alias[i] - 1 lies; 0: no */
    enum rig_values values;
    const void *input[KERNEL_RIG_ARRAYS];       /* dense data of operand i, NULL: random */
    int64_t index_end;                  /* random integers in 0..index_end - 1; 0: as `values` */
    double ulp;                         /* allowed, of f32 or bf16 results; and behind it */
    double absolute;                    /* allowed besides */
    bool spoils_padding;                /* of operands: NaN instead of zeros */
    bool checks_accesses;               /* races with copies, reads of what nobody has written */
    bool any_zero;                      /* of either sign, as maxima may have it */
    bool may_refuse;                    /* then `refusal` tells, and nothing runs */

    /* filled in */
    char refusal[512];
    cycle_t cycles;                     /* of the last run, launch and all */
    double worst_ulp;                   /* of the last check */
    const void *result[KERNEL_RIG_ARRAYS];      /* dense, of the last run */
    struct arena arena;
    struct chip machine_chip;
    struct slice slice;
    const struct graph *body;
    struct array operand[KERNEL_RIG_ARRAYS], result_array[KERNEL_RIG_ARRAYS];
    struct kernel_job job;
    struct segment segment;
    struct link_result linked;
};

void kernel_rig_open(struct kernel_rig *r, const struct graph *body);
void kernel_rig_close(struct kernel_rig *r);
void kernel_rig_check(struct kernel_rig *r, uint64_t seed);     /* sets cycles */
void kernel_rig_run(struct kernel_rig *r, uint64_t seed);       /* the same, results unseen */
cycle_t kernel_rig_time(struct kernel_rig *r);
/* dense elements of 4 bytes as interp.h has them */
void *kernel_rig_random(struct arena *a, const struct shape *s, enum rig_values values,
                        uint64_t seed);
#endif
