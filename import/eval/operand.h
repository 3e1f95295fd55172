/* Operands of products, brought into the order and the type that the product wants. */
#ifndef IMPORT_EVAL_OPERAND_H
#define IMPORT_EVAL_OPERAND_H
#include "import/eval/eval_impl.h"

/* operand k of that element type, with bf16's precision where the settings want it; the caller's
 * to drop; NULL with the error set */
struct value *operand_as(struct call *c, int k, enum hlo_element e);
/* v (dropped) with its dimensions in this order; v itself if it is so already */
struct value *operand_ordered(struct call *c, struct value *v, const int *order);
/* stores a product, of the type it was computed in, as the result; drops it */
int operand_store(struct call *c, struct value *product);
#endif
