/*
 * Evaluates sort and top-k, which are stable, with NaN above all numbers and zeros of both signs
 * equal.
 */
#include "stack/interp/interp_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct keyed {
    double key;
    int64_t place;                      /* along the sorted dimension */
};

static int compare_keys(double x, double y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int rising(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = compare_keys(x->key, y->key);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int falling(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = compare_keys(y->key, x->key);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* one line of elements: where the first is, how far apart they are */
static void sort_line(const struct interp_call *c, struct keyed *line, int64_t length,
                      int64_t first, int64_t step, bool is_falling)
{
    for (int64_t k = 0; k < length; k++)
        line[k] = (struct keyed){interp_get(call_data(c, 0), c->type, c->is_wide,
                                            first + k * step), k};
    qsort(line, (size_t)length, sizeof(*line), is_falling ? falling : rising);
}

static void copy_elem(void *to, int64_t at, const void *from, int64_t i, size_t bytes)
{
    memcpy((char *)to + (size_t)at * bytes, (const char *)from + (size_t)i * bytes, bytes);
}

static void sort(const struct interp_call *c)
{
    const struct shape *a = call_shape(c, 0);
    int64_t length = a->dim[c->n->dim], inner = 1, lines = shape_elems(a) / length;
    struct keyed *line = mem_alloc((size_t)length * sizeof(*line));

    for (int i = c->n->dim + 1; i < a->rank; i++)
        inner *= a->dim[i];
    for (int64_t l = 0; l < lines; l++) {
        int64_t first = l / inner * inner * length + l % inner;
        char *to = c->to;

        sort_line(c, line, length, first, inner, c->n->direction == COMPARE_GT);
        for (int o = 0; o < c->n->operand_count; o++) {
            const struct shape *s = call_shape(c, o);

            for (int64_t k = 0; k < length; k++)
                copy_elem(to, first + k * inner, call_data(c, o), first + line[k].place * inner,
                          interp_elem_bytes(c->is_wide, s->dtype));
            to += interp_part_bytes(c->is_wide, s);
        }
    }
    mem_free(line);
}

static void top_k(const struct interp_call *c)
{
    const struct shape *a = call_shape(c, 0);
    int64_t length = a->dim[a->rank - 1], lines = shape_elems(a) / length, k = c->n->count;
    struct keyed *line = mem_alloc((size_t)length * sizeof(*line));
    int32_t *places =
        (int32_t *)(void *)((char *)c->to + interp_part_bytes(c->is_wide, &c->n->shape));

    for (int64_t l = 0; l < lines; l++) {
        sort_line(c, line, length, l * length, 1, true);
        for (int64_t i = 0; i < k; i++) {
            copy_elem(c->to, l * k + i, call_data(c, 0), l * length + line[i].place,
                      interp_elem_bytes(c->is_wide, a->dtype));
            places[l * k + i] = (int32_t)line[i].place;
        }
    }
    mem_free(line);
}

void interp_sort(const struct interp_call *c)
{
    if (c->n->op == HLO_TOP_K)
        top_k(c);
    else
        sort(c);
}
