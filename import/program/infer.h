/*
 * Types of results, worked out from operands and attributes; the rules that these must hold.
 *
 * Some operations leave part of the type open: convert its element, broadcast, iota and reshape
 * their sizes, a custom call everything. They take it from the instruction's own type, which then
 * must be there. Dimensions agree when they are equal or one is unbounded: a bound is its size.
 */
#ifndef IMPORT_PROGRAM_INFER_H
#define IMPORT_PROGRAM_INFER_H
#include "import/program/program.h"

/*
 * The type that `i`, an instruction of computation `c` or the next of it, has: its operands are in
 * c, computations that it calls in m. i->type.element is ELEMENT_COUNT where its type is not known.
 * What t points to is the arena's, the operands' or the instruction's. -1: a rule is broken, or the
 * type is needed; the error has file, line and column of `i`, its name, operation and the rule.
 */
int hlo_infer_type(const struct hlo_module *m, const struct hlo_computation *c,
                   const struct hlo_instruction *i, struct arena *a, struct hlo_type *t,
                   struct err *e);

/*
 * Equal but for layouts, for what is bounded, and for sizes that are not known. In a module that is
 * scheduled floats of different widths agree: XLA's optimizations leave operations that round, as a
 * copy of f32 that is bf16.
 */
bool hlo_types_agree(const struct hlo_module *m, const struct hlo_type *a,
                     const struct hlo_type *b);
#endif
