/*
 * Joins segments to the program of a core.
 *
 * Items stand in order of execution. Between two segments the core waits
 * launch.kernel_ns, for the drain, fence and overlay check that a real program
 * has there, and marks the new kernel (vtrace, its number). Copies between
 * HBM and VMEM may start before the segment that needs them and run beside
 * others: cross-kernel prefetch.
 *
 * Registers hold nothing across items: the counters of loops live in the SMEM
 * words from LINK_SMEM on. A predicate comes to the SMEM that kernels have, who
 * keep nothing there either; where its value is assumed, the copy goes to the
 * start of VMEM instead, which timing mode need not know. Where an item has a note, its bundles carry it and
 * no other (the segment may serve several nodes); symbols of the k-th kernel
 * become "kK_NAME", and "kK" is its first bundle.
 *
 * A program larger than the instruction memory runs in overlays, which the core
 * cuts by itself (isa/overlay.h) and fetches while others run (sim/core/overlay.h).
 */
#ifndef STACK_LINK_H
#define STACK_LINK_H
#include "stack/backend/abi.h"
#include "stack/kernels/pipeline/kernel.h"

enum link_kind {
    LINK_SEGMENT,
    LINK_COPY_START,                    /* array to array of equal layout, all of it */
    LINK_COPY_DONE,                     /* wait for the copy started with the same flag */
    LINK_LOOP_BEGIN, LINK_LOOP_END,     /* items between `count` times; they nest. 0: until */
    LINK_LOOP_EXIT,                     /* the innermost loop is left, unless `from` is true */
    LINK_BRANCH, LINK_ELSE, LINK_JOIN,  /* items before ELSE if `from` is true, else those behind */
    LINK_BARRIER                        /* of the two cores of a chip: megacore */
};
#define LINK_BARRIER_NOTE "barrier of both cores"   /* of its bundles */

struct link_item {
    enum link_kind kind;
    const struct segment *segment;
    const char *note;                   /* name of the node */
    const struct array *from, *to;      /* COPY_START, COPY_DONE; LOOP_EXIT, BRANCH: from alone, */
                                        /* a scalar predicate */
    int flag;                           /* COPY_*: of this copy alone while it is under way; */
                                        /* BARRIER: of barriers alone; LOOP_EXIT, BRANCH: any free */
    bool is_beside;                     /* COPY_START: inside the segment that comes next, behind */
                                        /* the copies that it waits for first */
    int64_t count;                      /* LOOP_BEGIN; BRANCH, if assumed: 1 for true */
    bool is_assumed;                    /* `from` does not count: LOOP_EXIT leaves after the count */
                                        /* of LOOP_BEGIN, of which the same holds */
};

struct link_result {
    struct isa_program program;         /* ends with shalt */
    struct vcode_stats stats;           /* sums */
    int64_t overlay_count;              /* 1: it fits the instruction memory */
    uint32_t *first_bundle;             /* by item, and behind the last */
};

/*
 * `a` holds all of the result. -1: a copy between arrays of different layout, a
 * flag that the chip does not have, loops or branches that do not nest or too deeply.
 */
int link_program(const struct link_item *item, int count, const struct chip *chip,
                 const char *name, struct arena *a, struct link_result *out, struct err *e);
#endif
