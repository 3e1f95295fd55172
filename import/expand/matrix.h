/*
 * Batches of matrices [batch, rows, columns] for linear algebra in loops: columns [batch, rows, 1],
 * rows [batch, 1, columns] and numbers [batch, 1, 1] at places that are computed (s32 scalars).
 *
 * Many small ones lie across: [rows, columns, batch / 128, 128], so that a vector has an element of
 * each of 1024 matrices in place of all elements of one. What pads the batch is zero at first.
 */
#ifndef EXPAND_MATRIX_H
#define EXPAND_MATRIX_H
#include "import/expand/loop.h"
#include "import/expand/site.h"

/* all dimensions before the last two as one; narrow floats and f64 as f32 */
int matrix_open(struct expand_site *s, int operand);
int matrix_open_vector(struct expand_site *s, int operand);    /* [.., n] to [batch, n, 1] */
int matrix_open_apart(struct expand_site *s, int operand);     /* never across */
/* back to a type of the instruction, converted to its element */
int matrix_close(struct hlo_builder *b, int x, const struct hlo_type *t);

int64_t matrix_rows(struct hlo_builder *b, int x);
int64_t matrix_columns(struct hlo_builder *b, int x);
int matrix_zero(struct hlo_builder *b, int like, int64_t rows, int64_t columns);
int matrix_row_number(struct hlo_builder *b, int like);        /* s32, of the same dimensions */
int matrix_column_number(struct hlo_builder *b, int like);
/* preds of the same dimensions: number of the row (column) compared with an s32 scalar */
int matrix_row_is(struct hlo_builder *b, int like, enum hlo_direction d, int at);
int matrix_column_is(struct hlo_builder *b, int like, enum hlo_direction d, int at);

int matrix_column(struct hlo_builder *b, int x, int at);
int matrix_row(struct hlo_builder *b, int x, int at);
int matrix_element(struct hlo_builder *b, int x, int row, int column);
int matrix_set_column(struct hlo_builder *b, int x, int column, int at);
int matrix_set_row(struct hlo_builder *b, int x, int row, int at);
/* a column, row or number repeated to the dimensions of `like` */
int matrix_spread(struct hlo_builder *b, int x, int like);
int matrix_transpose(struct hlo_builder *b, int x);
bool matrix_is_complex(struct hlo_builder *b, int x);
int matrix_real(struct hlo_builder *b, int x);                 /* real ones: x */
int matrix_number_of(struct hlo_builder *b, int x, int like);  /* a real x, complex as `like` is */
int matrix_squares(struct hlo_builder *b, int x);              /* of magnitudes; real */
int matrix_conjugate(struct hlo_builder *b, int x);            /* real ones: x */
int matrix_sum_rows(struct hlo_builder *b, int x);             /* [batch, 1, columns] */
int matrix_sum_columns(struct hlo_builder *b, int x);          /* [batch, rows, 1] */
int matrix_reduce_rows(struct hlo_builder *b, int x, enum hlo_opcode op, int init);
#endif
