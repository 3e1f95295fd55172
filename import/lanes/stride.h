/* Elements copied from places that lie apart to others: what broadcasts, transposes, slices, pads
 * and concatenations are. */
#ifndef IMPORT_EVAL_STRIDE_H
#define IMPORT_EVAL_STRIDE_H
#include "import/lanes/value.h"

/* element i of dimensions dim goes from from[i * from_step] to to[i * to_step]; steps in elements,
 * negative ones and 0 among them. The two do not overlap. */
struct stride_copy {
    int rank;
    int64_t dim[EVAL_RANK_MAX], to_step[EVAL_RANK_MAX], from_step[EVAL_RANK_MAX];
};

void stride_copy(struct stride_copy c, size_t element_bytes, void *to, const void *from);
/* n times the same element */
void stride_fill(void *to, const void *element, size_t element_bytes, int64_t n);

/* The next index in row-major order; false after the last one, when all are 0 again. */
bool stride_next(int rank, const int64_t *dim, int64_t *index);
int64_t stride_dot(int rank, const int64_t *index, const int64_t *step);
#endif
