/*
 * What has regions, in forms that import/lower makes nodes of: the structure of a program, as
 * import/expand/expand.h is its arithmetic and types.
 *
 * structure_inline takes calls, fusions, composites (by their decomposition), asynchronous pairs
 * and operations that only say where a value lies out of the program. structure_simplify leaves
 * these forms of what has regions, of any element type:
 *   reduce              one array by one operation of two scalars; or (values, s32 iota) by a body
 *                       that structure_extreme knows: the place of the first extreme
 *   reduce-window       one array by one operation, whose padding is its identity
 *   select-and-scatter  select GE or LE, scatter add, from zeros
 *   scatter             one array by one operation, or by its second operand (replace)
 *   sort                by the first operand, LT or GT, floats in the order of the graph's sort
 *   while               with its number of trips in known_trips, where that can be known
 * Indices of what moves data by computed places are s32. Arrays without elements are gone from
 * operands, but for results of the entry. A form that nothing here knows stays as it is.
 *
 * It runs before types are changed and again behind that, for what has come up then.
 */
#ifndef IMPORT_STRUCTURE_H
#define IMPORT_STRUCTURE_H
#include "import/program/build.h"

/* `made` is uninitialised, `old` is left as it is; both live as long as `a` */
int structure_inline(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                     struct err *e);
int structure_simplify(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                       struct err *e);

/*
 * The operation that result `result` of a computation of two groups of scalars is: ADD, MAXIMUM ..
 * of the parameters number `result` of both groups; PARAMETER: the second group's, as it is;
 * OPCODE_COUNT: anything else.
 */
enum hlo_opcode structure_combines(const struct hlo_module *m, int computation, int result);

/* whether a reduction's body finds the first greatest (HLO_GT) or least (HLO_LT) of pairs */
bool structure_extreme(const struct hlo_module *m, int computation, enum hlo_direction *direction);

/* whether a sort's comparison is the graph's own order of the first operand, LT or GT */
bool structure_sorts(const struct hlo_module *m, int computation, enum hlo_direction *direction);

/* whether a select-and-scatter's choice is of the greatest (HLO_GE) or the least (HLO_LE) */
bool structure_selects(const struct hlo_module *m, int computation, enum hlo_direction *direction);

/* how often a while runs; -1: nobody has found out */
int64_t structure_trips(const struct hlo_instruction *i);
/* the same, found out now: of a loop of this computation, whose operands stand in it; -1: not known */
int64_t structure_find_trips(const struct hlo_module *m, int computation,
                             const struct hlo_instruction *loop);
/*
 * The computation's `count` results, each element by element, for arrays of equal dimensions in the
 * place of its parameters. Only where structure_can_lift: no loops, no arrays in it. Computations
 * are those of the module that is being written.
 */
bool structure_can_lift(const struct hlo_module *m, int computation);
void structure_lift(struct hlo_builder *b, int computation, const int *argument, int *result,
                    int count);
#endif
