/*
 * One graph for all logical devices from the graph of a whole replica: what GSPMD does in XLA.
 *
 * Some arrays are said to be cut (notes); how others lie follows from them, through whatever
 * computes each index of a dimension by itself. Where a contraction runs along a cut dimension,
 * devices have parts of a sum, which a collective adds up; where an operand lies otherwise than
 * its use wants it, it is gathered or cut again. The result is the program of every device: places
 * come from its number (partition-id). docs/parallel.md tells the rules.
 */
#ifndef STACK_PARTITION_H
#define STACK_PARTITION_H
#include "stack/hlo/mesh.h"

struct sharding_note {
    int node;
    struct sharding sharding;
    const struct graph *body;           /* of a loop, whose node it is; NULL: the graph itself */
};

/*
 * `out` has been initialised and is empty. Parameters and outputs stay as they are, in number and
 * order, each device's part of them: parameters as noted, else whole (a loop's as its operands); the output in a parameter's
 * place like that parameter, others as noted, else whole. Collectives of `g` are between replicas
 * and must have no groups (all-reduce), or one of all replicas. -1: a note that does not divide.
 * The attributes of g's nodes are shared.
 */
int graph_partition(const struct graph *g, const struct mesh *mesh,
                    const struct sharding_note *note, int note_count, struct graph *out,
                    struct err *e);
#endif
