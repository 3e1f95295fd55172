/*
 * Parts of the text of a module; private to graph_dump*.c.
 *
 * HLO wants more instructions than the IR has nodes: reductions take their
 * start as an operand, a while loop one tuple with a counter in it where its
 * trips are known, a conditional a tuple for each branch, combining is done by a
 * computation of two scalars. Such an extra instruction is called
 * as its node with a suffix.
 */
#ifndef STACK_GRAPH_DUMP_H
#define STACK_GRAPH_DUMP_H
#include "stack/hlo/graph_shape.h"

#define DUMP_PATH_CHARS 512

/* a computation being printed */
struct graph_dump {
    const struct graph *g;
    FILE *to;
    const char *path;                   /* "" for the entry, else this computation's name and '.' */
    bool takes_tuple;                   /* parameters are elements of %state, one tuple, */
    bool has_counter;                   /* behind which it has the number of the trip */
};

void graph_dump_name(const char *name, FILE *to); /* with %, without slashes */
void graph_dump_dims(const char *label, const int *dims, int count, FILE *to);
void graph_dump_value(enum graph_dtype dtype, double value, FILE *to);
void graph_dump_attributes(const struct graph_dump *d, const struct graph_node *n);
void graph_dump_literal(const struct graph_node *n, FILE *to);

/* of what HLO has no instruction for: the target of a custom call; NULL: it has */
const char *graph_dump_target(const struct graph_node *n);

/* "add", "maximum" ... as parts of the names of the computations that graph_dump_helpers prints */
const char *graph_dump_reduction(enum graph_reduce kind);
const char *graph_dump_direction(enum graph_compare direction); /* "EQ" */

/* the computations of scalars that g and what it calls need */
void graph_dump_helpers(const struct graph *g, FILE *to);
void graph_dump_comparator(const struct graph_dump *d, const struct graph_node *n);
#endif
