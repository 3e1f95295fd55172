/*
 * A collective on the cores of a machine: one small program for all of them,
 * that reads its core's operations from a table and carries them out in order.
 * The table stands in HBM behind the arrays and comes through SMEM in pages,
 * two at a time; the host puts the first two there, so that nothing waits for
 * them.
 *
 * Addresses in VMEM of operations are multiples of 512 (rows) where additions
 * use them; an addition of a size that is none adds the rest of its last row too.
 */
#ifndef STACK_COLLECTIVE_PROGRAM_H
#define STACK_COLLECTIVE_PROGRAM_H
#include "sim/machine/machine.h"
#include "stack/collective/collective.h"

struct collective_program;

/* Lists of operations, from a plan or made by hand; `op` fills all of *out. */
struct collective_lists {
    enum collective_type type;
    int flag_count;                     /* flags 0..count - 1; the program takes one more */
    int64_t table_address;              /* in every core's HBM share, from here on free */
    bool is_symmetric;                  /* as collective_is_symmetric: one chip can stand for all */
    bool is_uniform;                    /* as collective_is_uniform: on lines, too, on average */
    int (*count)(const void *context, int core);
    void (*op)(const void *context, int core, int index, struct collective_op *out);
    const void *context;
};

/*
 * Programs loaded and tables written for all cores; the machine is of the
 * plan's slice and chip. NULL with *e set when tables, flags or the parts of an
 * operation do not fit. What is returned is `a`'s.
 */
struct collective_program *collective_program_create(const struct collective_plan *p,
                                                     struct machine *m, struct arena *a,
                                                     struct err *e);
struct collective_program *collective_program_of_lists(const struct collective_lists *l,
                                                       struct machine *m, struct arena *a,
                                                       struct err *e);

/*
 * One launch: machine_run; machine_cycles and counters are its. 0 or -1 with
 * *e: a fault, with the operation of the table at which its core was.
 */
int collective_program_run(struct collective_program *c, struct err *e);

/*
 * What the scalar program costs, in cycles from where one operation may start
 * to where the next may. A wait that has to wait takes sync.resume_cycles more.
 */
struct collective_overheads {
    cycle_t start_cycles;               /* before the first operation */
    cycle_t op_cycles[COLLECTIVE_OP_KIND_COUNT];    /* of an addition: all but its rounds */
    cycle_t page_cycles;                /* after every page_ops operations */
    int page_ops;
    int64_t add_round_bytes;
    cycle_t add_round_cycles;
    cycle_t add_rest_cycles;            /* for what is less than a round, if there is any */
    cycle_t add_only_rest_cycles;       /* of an addition without rounds, altogether */
};
void collective_program_overheads(const struct chip *chip, enum collective_type type,
                                  struct collective_overheads *out);
cycle_t collective_add_cycles(const struct collective_overheads *o, int64_t bytes);
#endif
