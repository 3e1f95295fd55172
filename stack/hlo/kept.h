/*
 * A scheduled program that is compiled as its own compiler left it (systole compile --as-is).
 *
 * A *unit* is one instruction of the schedule that does work: a fusion, a product by itself, a
 * copy. Units have numbers from 1 on, in the order in which they run; a node of the graph tells
 * its unit (graph_node.unit), and only nodes of one unit go into a kernel. An *edge* is an array
 * that a unit leaves to others: in the graph an add-dependency of the value with itself, through
 * which nothing is simplified.
 *
 * What cannot be kept is noted beside the unit, by whoever finds it out.
 */
#ifndef STACK_KEPT_H
#define STACK_KEPT_H
#include "stack/hlo/graph.h"

enum kept_kind {
    KEPT_KERNEL,
    KEPT_COPY,                          /* an asynchronous copy: nothing but the move */
    KEPT_DONE                           /* where one is waited for */
};

struct kept_unit {
    enum kept_kind kind;
    const char *name, *opcode;          /* "fusion.7", "fusion" */
    int line;
    int done;                           /* COPY: the unit that waits for it */
    int64_t estimated_cycles;           /* its compiler's own; -1: not printed */
    const char *windows;                /* likewise, "out 32x4 in 32x16"; NULL */
    const char *note;                   /* what is not as it was; NULL: all is */
};

struct kept_edge {
    int unit;
    bool in_vmem;                       /* S(1): it never goes through HBM */
    int rank;                           /* 0: it lies row-major */
    int order[GRAPH_RANK_MAX];          /* dimensions of the program, major first */
};

struct kept_program {
    struct arena *arena;                /* of notes */
    int unit_count, edge_count;         /* without number 0, which is none */
    struct kept_unit *unit;
    struct kept_edge *edge;
    int other_tiles;                    /* arrays in tiles of another size than ours */
    const char *first_other_tile;       /* "f32[..]{..}", as the program has it */
    int vmem_kept, vmem_lost;           /* arrays of S(1) that lie there, that do not */
    bool takes_elided;                  /* no values are asked for: then constants without */
    int elided;                         /* elements come in as parameters, so many, */
    const char *first_elided;           /* first this one */
    int layouts_kept, layouts_lost;     /* arrays that are not row-major, and are so here */
    int copies_kept, copies_lost;       /* asynchronous ones that kernels run beside, that are not */
};

/* Adds to what is noted of a unit; 0 is nobody, and dropped. */
void kept_note(struct kept_program *k, int unit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
