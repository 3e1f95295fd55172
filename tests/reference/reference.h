/*
 * A whole machine once more, slow and obvious: what the engine (sim/) must
 * agree with in every value and every cycle.
 *
 * It runs programs as the assembler made them, without decoding; a tile is an
 * array of 8 x 128 words and every operation a loop over them; time goes from
 * clock edge to clock edge, and at each of them every core asks each rule of
 * docs/engine.md and docs/mxu.md whether its bundle may issue now. It shares
 * with the engine the tables of isa/, one value's arithmetic (sim/lanes/f32_exact.h,
 * sim/lanes/simd_eup.inc), the chip's parameters, and hbm/ and interconnect/.
 *
 * A machine may be launched again and again; memories stay, as the engine's do.
 * Not modelled: listings, modes other than both, checks, traces, sums by quad4.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H
#include "sim/observe/inspect.h"

struct ref_machine;

struct ref_fault {
    enum fault_kind kind;               /* FAULT_NONE if none */
    int core;
    cycle_t cycle;
    uint32_t bundle;
    char msg[100];                      /* why, in a few words */
};

/* slice and chip are copied; memories are zeros */
struct ref_machine *ref_create(const struct slice *slice, const struct chip *chip);
void ref_destroy(struct ref_machine *m);

/* The program must be legal on the chip (machine_load checks it) and outlive its use */
void ref_load(struct ref_machine *m, int core, const struct isa_program *program);
void ref_set_scalar(struct ref_machine *m, int core, int number, int32_t value);

/* between launches, in bytes; ranges are asserted */
void ref_write(struct ref_machine *m, int core, enum memory memory, int64_t address,
               const void *from, int64_t bytes);
void ref_read(const struct ref_machine *m, int core, enum memory memory, int64_t address, void *to,
              int64_t bytes);

/*
 * One launch; cycle_limit 0 is none. 0, or -1 with *fault filled in.
 */
int ref_run(struct ref_machine *m, cycle_t cycle_limit, struct ref_fault *fault);

cycle_t ref_cycles(const struct ref_machine *m);
const struct core_counters *ref_counters(const struct ref_machine *m, int core);

/*
 * After a launch of both: whether everything agrees that programs and reports
 * can see. Where not, the first difference in words. After a fault that is the
 * fault alone: kind, core, cycle and bundle. Of HBM, what the reference wrote.
 * VMEM and CMEM are compared as a whole, so small ones are faster.
 */
bool reference_compare(struct machine *engine, struct ref_machine *reference, char *what,
                       size_t what_bytes);
#endif
