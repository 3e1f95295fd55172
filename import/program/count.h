/*
 * What a program costs, counted from its types: arithmetic and bytes, no time.
 *
 *   flops            additions, multiplications, comparisons of floats and integers; a
 *                    multiply-add is two; convolutions count their padding
 *   transcendentals  exponentials, logarithms, roots, divisions are not among them
 *   bytes            that operations read and write, each by itself: what a fusion keeps inside is
 *                    not counted, elements narrower than a byte are packed
 *   collective_bytes that collectives are given, on one device
 *
 * What is called counts each time; a loop as often as known_trip_count in its backend_config says,
 * once where it does not; of a conditional the dearest branch.
 */
#ifndef IMPORT_PROGRAM_COUNT_H
#define IMPORT_PROGRAM_COUNT_H
#include "import/program/program.h"

struct hlo_cost {
    double flops, transcendentals, bytes, collective_bytes;
    double operations;                  /* that are carried out, fused ones each */
    double unknown_loops;               /* loops that were counted once */
};

/* Costs of all computations, in the arena; a module whose calls go in circles costs nothing. */
const struct hlo_cost *hlo_count_computations(const struct hlo_module *m, struct arena *a);
/* of one instruction; `computation`: what hlo_count_computations has given */
struct hlo_cost hlo_count_instruction(const struct hlo_module *m, const struct hlo_computation *c,
                                      const struct hlo_instruction *i,
                                      const struct hlo_cost *computation);
/* How often a while runs, as far as its backend_config tells; -1: it does not. */
int64_t hlo_trip_count(const struct hlo_instruction *i);
#endif
