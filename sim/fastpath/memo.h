/*
 * Memoised loops: iterations that can be told beforehand are not simulated but
 * added, all at once. docs/engine.md, "Memoised time", states the rules.
 *
 * A visit is a moment at which a taken backward branch has set pc to a loop
 * head. Where the core's times at two visits agree relative to the clock, and
 * the affine walk (sim/fastpath/memo_walk.c) proves that the path between them repeats
 * n more times with every scalar register advancing by a constant, the core
 * goes to the state that simulating them would have left, cycle by cycle,
 * counter by counter.
 *
 * Only for timing mode without checks: contents of vector registers and VMEM
 * stay behind. A trace is told of the iterations as a repeat.
 */
#ifndef SIM_MEMO_H
#define SIM_MEMO_H
#include "sim/core/core.h"
#include "sim/machine/machine.h"

#define MEMO_PATH_MAX 4096              /* bundles of a path */
#define MEMO_PERIOD_MAX 8               /* visits after which the times may repeat */

struct memo;

struct memo *memo_create(void);
void memo_destroy(struct memo *m);
void memo_reset(struct memo *m);        /* before a launch */
/* forget what was seen: somebody may have changed the core */
void memo_forget(struct memo *m);
/* a branch in front of bundle `end` has led back to where pc is; afterwards the core may be
 * iterations further on */
void memo_visit(struct core *c, uint32_t end);
const struct machine_memo_stats *memo_stats(const struct memo *m);

/* ---- inside sim/fastpath/memo*.c ---- */

/* What a core was like at a visit. */
struct memo_anchor {
    cycle_t now;
    uint32_t sequence;                  /* of its posts: no flag operation since means the same */
    cycle_t last_sst_at;
    int32_t s[ISA_SREG_COUNT];
    cycle_t stall_cycles[STALL_COUNT];
    cycle_t waiting_cycles[MACHINE_UNIT_MAX];
    cycle_t busy_cycles[MACHINE_UNIT_MAX];
    int64_t cmem_read_bytes;
    int64_t store_first[STORE_RING];    /* first rows of recent stores, the newest first */
    int store_count;
    uint32_t first, last;               /* bundles of the loop, */
    cycle_t *bundle_stall;              /* and how long each has waited so far */
    size_t bundle_capacity;
    int64_t *word;                      /* everything else that times depend on */
    size_t word_count, word_capacity;
};

/* sim/fastpath/memo_state.c; the loop has bundles first..last */
void memo_take_anchor(struct memo_anchor *a, struct core *c, uint32_t first, uint32_t last);
void memo_free_anchor(struct memo_anchor *a);
/* of predicates, and of how full the FIFOs are: costs little, and differs most often */
uint64_t memo_occupancy(const struct core *c);
/* stores that a load could still meet */
const struct store_record *memo_recent_store(const struct core *c, int i);   /* 0: the newest */
/* all times that still matter, by `cycles` */
void memo_shift_times(struct core *c, cycle_t cycles);

/* The path from a visit to the same head, `period` visits later. */
struct memo_walk {
    struct core *shadow;                /* runs the scalar operations of the path */
    const struct decoded_program *program;      /* whose constants the shadow has */
    uint8_t rule[OP_COUNT], scalars[OP_COUNT];  /* by opcode, private to the walk */
    int32_t step[S_CONST];              /* of its scalar registers, per iteration */
    int64_t iterations;                 /* that are known to follow the path */
    uint32_t length;
    uint32_t pc[MEMO_PATH_MAX], live[MEMO_PATH_MAX];
    uint32_t store_count;
    struct moving_rows {
        struct access_rows rows;
        int64_t step, at;               /* bundles after the visit, before it negative */
    } store[STORE_RING];
};

struct memo_walk *memo_walk_create(void);
void memo_walk_destroy(struct memo_walk *w);
/*
 * How often the path of the last iteration, from `before` to where the core is
 * at `now`, will be followed from here on: 0 where that cannot be told.
 */
int64_t memo_walk(struct memo_walk *w, const struct core *c, const struct memo_anchor *before,
                  const struct memo_anchor *now, uint32_t period);
#endif
