/* Sorting, as operations and custom calls need it. Private to import/eval. */
#ifndef IMPORT_EVAL_SORT_H
#define IMPORT_EVAL_SORT_H
#include "import/eval/handlers.h"

/* the first `count` operands along a dimension by the call's computation, into arrays as large */
int sort_operands(struct call *c, int count, int along, struct value *const *result);
int sort_topk(struct call *c, bool is_largest);
#endif
