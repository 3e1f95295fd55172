/*
 * Arrays of more dimensions than the compiler's, of parameters and results, too.
 *
 * Such an array loses its dimensions of size one: gradients of enlarged pictures reshape to ten and
 * more dimensions, most of them empty words. One that still has too many, as the state of a quantum
 * circuit has, which is of two elements along each of its qubits, is kept flat. An operation on it
 * sees it as an array of as many dimensions as it tells apart: those that it treats alike and that
 * lie beside each other are one.
 */
#ifndef EXPAND_RANKS_H
#define EXPAND_RANKS_H
#include "import/program/program.h"
#include "stack/hlo/graph.h"

#define RANKS_MAX GRAPH_RANK_MAX        /* dimensions that the compiler has */
#define RANKS_READ_MAX 64               /* dimensions that NumPy's arrays may have */

int ranks_rewrite(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                  struct err *e);
#endif
