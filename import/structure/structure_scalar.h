/*
 * Values of computations of scalars, at points that tell one computation from another: whether a
 * body is a maximum, a place of an extreme, an order is asked by trying it, not by how it is
 * written.
 */
#ifndef IMPORT_STRUCTURE_SCALAR_H
#define IMPORT_STRUCTURE_SCALAR_H
#include "import/program/program.h"

struct scalar {                         /* a float, or an integer or predicate */
    bool is_float;
    double number;
    int64_t integer;
};

struct scalar scalar_float(double number);
struct scalar scalar_integer(int64_t integer);

/*
 * The `count` results of a computation for these parameters: one, or the parts of its tuple. False
 * where it does what is not known here, or is no computation of scalars.
 */
bool scalar_evaluate(const struct hlo_module *m, int computation, const struct scalar *parameter,
                     struct scalar *result, int count);

/* by parameter: whether result `result` can depend on it; used[parameter_count] */
void scalar_used(const struct hlo_module *m, int computation, int result, bool *used);

/* the instruction that is result `result` of the computation */
const struct hlo_instruction *scalar_result(const struct hlo_module *m, int computation,
                                            int result);
#endif
