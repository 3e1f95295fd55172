/*
 * Joins segments to the program of a core.
 *
 * Items stand in order of execution. Between two segments the core waits
 * launch.kernel_ns, for the drain, fence and overlay check that a real program
 * has there, and marks the new kernel (vtrace, its number). Copies between
 * HBM and VMEM may start before the segment that needs them and run beside
 * others: cross-kernel prefetch.
 *
 * A program larger than the instruction memory is cut into overlays at the
 * bounds of segments and of pieces of them; docs/backend.md tells how the
 * core fetches them.
 */
#ifndef STACK_LINK_H
#define STACK_LINK_H
#include "stack/kernel.h"

enum link_kind {
    LINK_SEGMENT,
    LINK_COPY_START,                    /* array to array of equal layout, all of it */
    LINK_COPY_DONE,                     /* wait for the copy started with the same flag */
    LINK_LOOP_BEGIN, LINK_LOOP_END,     /* items between `count` times; they nest */
    LINK_BARRIER                        /* of the cores of a chip: megacore */
};

struct link_item {
    enum link_kind kind;
    const struct segment *segment;
    const char *note;                   /* name of the node */
    const struct array *from, *to;      /* COPY_START */
    int flag;                           /* COPY_*: of this copy alone while it is under way */
    int64_t count;                      /* LOOP_BEGIN */
};

struct link_result {
    struct isa_program program;         /* ends with shalt */
    struct vcode_stats stats;           /* sums */
    int64_t overlay_count;
    uint32_t *first_bundle;             /* by item */
};

int link_program(const struct link_item *item, int count, const struct chip *chip,
                 const char *name, int core, struct arena *a, struct link_result *out,
                 struct err *e);
#endif
