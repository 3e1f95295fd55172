/* Takes matrices out of arrays, widened and by columns. */
#include "import/lanes/linalg_matrix.h"

#include <string.h>

int64_t linalg_stack(const struct value *v) { return value_product(v->dim, 0, v->rank - 2); }
int64_t linalg_rows(const struct value *v) { return v->dim[v->rank - 2]; }
int64_t linalg_columns(const struct value *v) { return v->dim[v->rank - 1]; }

static enum hlo_element wide_of(const struct linalg_matrix *m)
{
    return m->lane == LANE_C128 ? ELEMENT_C128 : ELEMENT_F64;
}

void linalg_matrix_init(struct linalg_matrix *m, enum hlo_element e, int64_t rows, int64_t columns)
{
    m->lane = hlo_element_is_complex(e) ? LANE_C128 : LANE_F64;
    m->rows = (int)rows;
    m->columns = (int)columns;
    m->data = mem_alloc((size_t)(rows * columns) * lane_bytes(m->lane) + 16);
}

void linalg_matrix_fini(struct linalg_matrix *m) { mem_free(m->data); }

static char *element_of(const struct value *v, int64_t at)
{
    return (char *)v->data + (size_t)at * value_element_bytes(v);
}

/* rows to columns, or the reverse */
static void turn(enum lane l, void *to, const void *from, int64_t rows, int64_t columns)
{
    const double *x = from;
    double *z = to;
    const lane_c128 *cx = from;
    lane_c128 *cz = to;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            if (l == LANE_F64)
                z[j * rows + i] = x[i * columns + j];
            else
                cz[j * rows + i] = cx[i * columns + j];
}

void linalg_matrix_take(struct linalg_matrix *m, const struct value *from, int64_t at)
{
    int64_t n = (int64_t)m->rows * m->columns;
    void *rows = mem_alloc((size_t)n * lane_bytes(m->lane) + 1);

    lane_convert(wide_of(m), rows, from->element, element_of(from, at * n), n);
    turn(m->lane, m->data, rows, m->rows, m->columns);
    mem_free(rows);
}

void linalg_matrix_give(const struct linalg_matrix *m, struct value *to, int64_t at)
{
    int64_t n = (int64_t)m->rows * m->columns;
    void *rows = mem_alloc((size_t)n * lane_bytes(m->lane) + 1);

    turn(m->lane, rows, m->data, m->columns, m->rows);
    lane_convert(to->element, element_of(to, at * n), wide_of(m), rows, n);
    mem_free(rows);
}

void linalg_matrix_take_vector(struct linalg_matrix *m, const struct value *from, int64_t at)
{
    int64_t n = (int64_t)m->rows * m->columns;

    lane_convert(wide_of(m), m->data, from->element, element_of(from, at * n), n);
}

void linalg_matrix_give_vector(const struct linalg_matrix *m, struct value *to, int64_t at)
{
    int64_t n = (int64_t)m->rows * m->columns;

    lane_convert(to->element, element_of(to, at * n), wide_of(m), m->data, n);
}
