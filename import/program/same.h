/* Do two instructions do the same, whatever they are called? */
#ifndef IMPORT_SAME_H
#define IMPORT_SAME_H
#include "import/program/program.h"

/*
 * Operation, type but for layouts, and all attributes that its meaning depends on are the same;
 * operands and called computations are the caller's to compare. The first thing that is not, in
 * words ("type", "dimensions", "window"); NULL: they are the same.
 */
const char *hlo_instruction_differs(const struct hlo_instruction *a,
                                    const struct hlo_instruction *b);
#endif
