/* Stacks of matrices of any float or complex type, taken out one by one as columns of f64 or c128
 * and put back. */
#ifndef IMPORT_LINALG_MATRIX_H
#define IMPORT_LINALG_MATRIX_H
#include "import/lanes/lane.h"
#include "import/lanes/value.h"

struct linalg_matrix {
    enum lane lane;                     /* LANE_F64 or LANE_C128 */
    int rows, columns;
    void *data;                         /* column-major; freed by linalg_matrix_fini */
};

/* room for `rows` x `columns`, in the wide lane of that type */
void linalg_matrix_init(struct linalg_matrix *m, enum hlo_element e, int64_t rows, int64_t columns);
void linalg_matrix_fini(struct linalg_matrix *m);
/* matrix number `at` of a stack, whose last two sizes are the matrix's */
void linalg_matrix_take(struct linalg_matrix *m, const struct value *from, int64_t at);
void linalg_matrix_give(const struct linalg_matrix *m, struct value *to, int64_t at);
/* n numbers of a row of a stack of vectors, from and to the matrix's data */
void linalg_matrix_take_vector(struct linalg_matrix *m, const struct value *from, int64_t at);
void linalg_matrix_give_vector(const struct linalg_matrix *m, struct value *to, int64_t at);
int64_t linalg_stack(const struct value *v);    /* how many matrices it has */
int64_t linalg_rows(const struct value *v);
int64_t linalg_columns(const struct value *v);
#endif
