/* What the files of structure_*.c share. */
#ifndef IMPORT_STRUCTURE_IMPL_H
#define IMPORT_STRUCTURE_IMPL_H
#include "import/structure/structure.h"

#define STRUCTURE_RANK_MAX 64

typedef int structure_visitor(struct hlo_rewrite *r, struct hlo_builder *b,
                              const struct hlo_instruction *from, const int *operand);

/* all instructions through `visit`; what nobody needs then goes */
int structure_visit(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    structure_visitor *visit, struct err *e);

/* an element of a tuple: of an instruction TUPLE its operand, without a get-tuple-element */
int structure_element(struct hlo_builder *b, int tuple, int index);

/* instruction `index` of the computation that is being written; valid until the next one is made */
const struct hlo_instruction *structure_at(const struct hlo_builder *b, int index);

/* a whole number or predicate that does not depend on anything */
bool structure_constant(const struct hlo_computation *c, int instruction, int64_t *value);

/* notes how often the loop runs, as structure_trips reads it */
void structure_set_trips(struct hlo_builder *b, int loop, int64_t trips);

/* s32 of a float of at most 32 bits, in whose order its total order is */
int structure_total_order(struct hlo_builder *b, int x);

/* operands that say where elements are, as s32 */
void structure_indices(struct hlo_builder *b, const struct hlo_instruction *from, int *operand);

/* of a gather or scatter; false: its indices have numbers, and nothing is changed */
bool structure_origin(struct hlo_builder *b, struct hlo_instruction *i, int *operand);
/* Those of scalars become ones of arrays of one element, and what these make scalars again. */
bool structure_of_scalar(struct hlo_builder *b, struct hlo_instruction *i, int *operand);
int structure_to_scalar(struct hlo_builder *b, const struct hlo_instruction *from, int made);

/* Each gives what stands for the instruction, or -1: it stays as it is. */
structure_visitor structure_reduce, structure_reduce_window, structure_select_and_scatter;
structure_visitor structure_scatter, structure_sort, structure_while, structure_map;
structure_visitor structure_compare, structure_topk, structure_dot, structure_custom_call;
structure_visitor structure_reduce_precision, structure_convolution, structure_bitcast;

/* a computation of two scalars by one operation; PARAMETER: it gives the second one */
int structure_one_operation(struct hlo_module *m, enum hlo_opcode op, enum hlo_element e);
#endif
