/*
 * A collective on the cores of a machine: one small program for all of them,
 * that reads its core's operations from a table and carries them out; the table
 * stands in HBM and comes through SMEM in pages.
 */
#ifndef STACK_COLLECTIVE_PROGRAM_H
#define STACK_COLLECTIVE_PROGRAM_H
#include "sim/machine.h"
#include "stack/collective.h"

struct collective_program;

/* Programs loaded and tables written for all cores; the machine is of the plan's slice and chip. */
struct collective_program *collective_program_create(const struct collective_plan *p,
                                                     struct machine *m, struct arena *a,
                                                     struct err *e);

/* One launch: machine_run; machine_cycles and counters are its. 0 or -1 with *e. */
int collective_program_run(struct collective_program *c, struct err *e);

/*
 * Cycles of the scalar program around each kind of operation, and the cycles
 * and tiles of its adding loop: what collective_steps.h counts in their place.
 */
struct collective_overheads {
    cycle_t op_cycles[COLLECTIVE_OP_KIND_COUNT];
    cycle_t add_start_cycles, add_tile_cycles;
};
void collective_program_overheads(const struct chip *chip, enum collective_type type,
                                  struct collective_overheads *out);
#endif
