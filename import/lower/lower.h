/*
 * A program as it was read -> the graph that the compiler takes (stack/hlo/graph.h).
 *
 * The program is made simple first (import/expand), then each instruction becomes a node or a few.
 * Tuples are gone: parameters, results, loops and conditionals have flat lists of arrays. A node's
 * source is what the program's author called it, op_name with file and line, so that reports speak
 * the program's own names.
 *
 * A program for several devices has its collectives in it (import/shard cuts others before).
 */
#ifndef IMPORT_LOWER_H
#define IMPORT_LOWER_H
#include "import/exact/exact.h"
#include "import/expand/expand.h"
#include "import/structure/structure_queue.h"
#include "stack/hlo/graph.h"
#include "stack/hlo/kept.h"

enum { LOWER_QUEUE_ENTRIES = 64 };

/* A parameter, by leaf, of integers whose elements are known before the launch, as the graph has them
 * where its type is the same: tables that kernels of Pallas prefetch and that are computed of it are
 * worked out with it. */
struct lower_known {
    int parameter;
    enum graph_dtype dtype;
    const void *element;
    const struct lower_known *next;
};

struct lower_settings {
    const struct lower_known *known;    /* or NULL */
    int device_count;                   /* that run the graph in step; 0: 1 */
    enum exact_form exact;
    const struct kept_program *kept;    /* made by import/asis of the program, or NULL */
    int64_t queue_entries;              /* of queues whose uses are not known; 0: as below */
};

/*
 * An array of the graph's boundary that does not lie as the program has it: dimension i of it is
 * order[i] of the program's, which are dim[rank]. rank 0: it lies as the program has it.
 */
struct lowered_order {
    int rank, order[GRAPH_RANK_MAX];
    int64_t dim[GRAPH_RANK_MAX];
};

/*
 * One array of the program's boundary and the graph's arrays that stand for it: leaf.parts + leaf.
 * sizes of them, as leaf.form says (expand_split and expand_join convert), numbers of parameters or
 * of outputs; -1: the array has no elements, or is a token, and nothing stands for it.
 */
struct lowered_leaf {
    struct expand_leaf leaf;            /* first: in the expanded program */
    const char *name;                   /* of the parameter, or "result", with its place in it */
    int count;
    const int *graph;
    struct lowered_order order;         /* of its arrays */
    int alias;                          /* of a result: the parameter leaf whose place it takes; -1 */
};

struct lowered {
    struct graph graph;
    int parameter_count, result_count;  /* leaves, in the program's order, then those of queues */
    struct lowered_leaf *parameter, *result;
    struct structure_queues queues;     /* leaves of what goes in are the last parameters; the last */
                                        /* results are, by queue, a counter and what goes out */
};

/* Why an instruction cannot be carried out on the cores */
struct lower_refusal {
    const char *instruction, *opcode;
    const char *file;                   /* of the program */
    int line, col;
    const char *source;                 /* what its author called it; "": not known */
    const char *reason;
};
struct lower_refusals {
    struct lower_refusal *item;         /* in the arena */
    int count;
};

/*
 * `a` holds all of the result; `m` must be verified and live as long. -1 with the first instruction
 * that cannot be lowered, and how many others there are. graph_fini is the caller's on success.
 */
int lower_program(const struct hlo_module *m, const struct lower_settings *s, struct arena *a,
                  struct lowered *out, struct err *e);

/* All instructions that cannot be lowered, once for each place; -1: it cannot even be looked at */
int lower_unsupported(const struct hlo_module *m, const struct lower_settings *s, struct arena *a,
                      struct lower_refusals *out, struct err *e);
#endif
