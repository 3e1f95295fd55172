/*
 * Timing mode's way through a program: the bundles as one stream of steps, in
 * the order in which the issue loop (sim/core/core_run.c) would do them. What a step
 * does is what the loop does; it is only that nothing has to be looked for.
 *
 * A bundle is a row of waits, the issue, what is taken, what is executed, and
 * the way to the next bundle. A bundle that needs more than that (flags, copies,
 * shalt, index address registers) is a STEP_LEAVE, and done by the issue loop.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H
#include "sim/core/program.h"

enum stream_step_kind {
    STEP_LEAVE,
    STEP_GUARDS,                        /* works out which operations are live */
    STEP_UNLESS,                        /* operation `bit` is not live: skip the next step */

    STEP_REGISTERS,                     /* wait for `count` registers */
    STEP_LOAD,                          /* wait of a load of eight rows, consecutive or one */
    STEP_POP, STEP_WAIT,                /* of a FIFO, of any operation */

    STEP_ISSUE,
    STEP_STORE, STEP_TAKE,              /* a store of eight rows, any operation */
    STEP_RESULTS,                       /* `count` registers written */

    STEP_BODY,                          /* `count` steps from here on execute the bundle */
    STEP_MOVE, STEP_ADD, STEP_SUBTRACT, STEP_AND, STEP_LESS, STEP_BRANCH,
    STEP_EXECUTE,                       /* any operation */

    STEP_GUARDED,                       /* results and counters of operations with a guard */
    STEP_NEXT
};

#define STEP_REGISTERS_MAX 24
#define STEP_RESULTS_MAX 6

struct stream_step {
    uint8_t kind, count, bit;
    uint8_t bank_extra;                 /* STEP_ISSUE */
    struct decoded_pop pop;
    union {
        struct {
            int32_t to, a, b;           /* indices of scalars; of a branch: its target */
            int32_t first_to_last;      /* rows of a load or store: 0 or 7 */
            const struct decoded_op *op;
        };
        uint8_t reg[STEP_REGISTERS_MAX];
        struct decoded_def result[STEP_RESULTS_MAX];
    };
};
_Static_assert(sizeof(struct stream_step) == 32, "two steps are one line of the host's cache");

/* sim/core/decode_stream.c: makes program->step of a program that is decoded otherwise */
void decode_stream(struct decoded_program *p);

struct core;
/* sim/core/run_stream.c: until a bundle is a STEP_LEAVE, or the core does not run any more */
void stream_run(struct core *c);
#endif
