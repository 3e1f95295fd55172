/*
 * Long windows that slide over one dimension by single steps, as cumulative sums are written: lines
 * are cut into blocks as long as the window; a window is the end of one block and the beginning of
 * the next, so running results forwards and backwards within blocks are all that is needed, three
 * operations for each element however long the window is. Sums are kept in f64.
 */
#include "import/eval/window.h"

#include <string.h>

int window_slides_along(const struct call *c)
{
    enum { LONG = 12 };
    int along = -1;

    for (int d = 0; d < hlo_detail(c->i)->window_count; d++) {
        const struct hlo_window *w = &hlo_detail(c->i)->window[d];

        if (w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
            w->base_dilation == 1)
            continue;
        if (along >= 0 || w->stride != 1 || w->base_dilation != 1 || w->window_dilation != 1 ||
            w->size < LONG || w->pad_low < 0 || w->pad_high < 0)
            return -1;
        along = d;
    }
    return along;
}

/* `count` arrays of rows [n][width] */
struct lines {
    struct call *c;
    struct region *r;
    kernel k;                           /* of one known operation, on arrays of `wide`; NULL: none */
    enum hlo_element wide;
    int count;
    int64_t n, width;
    struct value **row;
    const void **in;
    void **out;
};

static void *row_at(struct value *v, int64_t row, int64_t width)
{
    return (char *)v->data + (size_t)(row * width) * value_element_bytes(v);
}

/* to[t] = computation(a[x], b[y]) */
static int join(const struct lines *l, struct value *const *to, int64_t t, struct value *const *a,
                int64_t x, struct value *const *b, int64_t y)
{
    for (int k = 0; k < l->count; k++) {
        l->in[k] = row_at(a[k], x, l->width);
        l->in[l->count + k] = row_at(b[k], y, l->width);
        l->out[k] = row_at(to[k], t, l->width);
    }
    if (!l->k)
        return region_run(l->c, l->r, l->width, l->in, l->out);
    l->k(l->out[0], l->in[0], l->in[1], NULL, l->width);
    return 0;
}

/* the same numbers as elements of another type; drops v */
static struct value *converted(struct call *c, struct value *v, enum hlo_element e)
{
    struct value *made;

    if (!v || v->element == e)
        return v;
    made = call_array(c, e, v->rank, v->dim);
    if (made)
        lane_convert(e, made->data, v->element, v->data, value_count(v));
    value_drop(&c->ev->pool, v);
    return made;
}

/* one known operation goes over numbers of f64 (c128), or of the type itself where it has a lane */
static void find_kernel(struct lines *l)
{
    enum hlo_opcode op = region_operation(l->r);
    enum hlo_element e = l->c->operand[0]->element;
    bool is_float = hlo_element_is_float(e);

    l->wide = e;
    if (l->count != 1 || op == OPCODE_COUNT || (lane_is_narrow(e) && !is_float))
        return;
    if (op == OPCODE_ADD && (is_float || hlo_element_is_complex(e)))
        l->wide = is_float ? ELEMENT_F64 : ELEMENT_C128;
    else if (lane_is_narrow(e))
        l->wide = ELEMENT_F32;
    l->k = kernel_of(op, lane_of(l->wide));
}

/* the operand with padding, the dimension in front; the caller's */
static struct value *padded(struct call *c, int k, int along, int64_t n, const void *init)
{
    struct value *from = c->operand[k], *made;
    struct stride_copy s = { .rank = from->rank };
    int64_t step[EVAL_RANK_MAX], dim[EVAL_RANK_MAX], width = 1;
    int next = 1;

    value_strides(from, step);
    s.from_step[0] = step[along];
    dim[0] = from->dim[along];
    for (int d = 0; d < from->rank; d++)
        if (d != along) {
            s.from_step[next] = step[d];
            width *= dim[next++] = from->dim[d];
        }
    memcpy(s.dim, dim, (size_t)s.rank * sizeof(*dim));
    dim[0] = n;
    made = call_array(c, from->element, from->rank, dim);
    if (!made)
        return NULL;
    stride_fill(made->data, init, value_element_bytes(from), n * width);
    value_strides(made, s.to_step);
    stride_copy(s, value_element_bytes(from),
                row_at(made, hlo_detail(c->i)->window[along].pad_low, width), from->data);
    return made;
}

/* running results from each block's end backwards, in `row` itself, and forwards in `ahead` */
static int run_blocks(const struct lines *l, struct value *const *ahead, int64_t block)
{
    for (int k = 0; k < l->count; k++)
        memcpy(ahead[k]->data, l->row[k]->data,
               (size_t)(l->n * l->width) * value_element_bytes(l->row[k]));
    for (int64_t i = 1; i < l->n; i++)
        if (i % block && join(l, ahead, i, ahead, i - 1, ahead, i))
            return -1;
    for (int64_t i = l->n - 1; i-- > 0;)
        if ((i + 1) % block && join(l, l->row, i, l->row, i, l->row, i + 1))
            return -1;
    return 0;
}

/* rows of the result, whose dimension goes back to its place, after the initial value */
static int give_rows(const struct lines *l, struct value *const *ahead, int along, int64_t block,
                     struct value *const *result, struct value *const *init)
{
    for (int64_t i = 0; i + block <= l->n; i++) {
        if (i % block == 0 ? join(l, l->row, i, init, 0, ahead, i + block - 1)
                           : join(l, l->row, i, l->row, i, ahead, i + block - 1) ||
                                 join(l, l->row, i, init, 0, l->row, i))
            return -1;
    }
    for (int k = 0; k < l->count; k++) {
        struct stride_copy s = { .rank = result[k]->rank };
        int64_t step[EVAL_RANK_MAX], from = 1;

        l->row[k] = converted(l->c, l->row[k], result[k]->element);
        if (!l->row[k])
            return -1;
        value_strides(result[k], step);
        for (int d = s.rank; d-- > 0;) {
            s.dim[d] = result[k]->dim[d];
            s.to_step[d] = step[d];
            s.from_step[d] = d == along ? l->width : from;
            from *= d == along ? 1 : s.dim[d];
        }
        stride_copy(s, value_element_bytes(result[k]), result[k]->data, l->row[k]->data);
    }
    return 0;
}

static struct value *filled(struct call *c, enum hlo_element e, int64_t n, const void *element)
{
    struct value *v = call_array(c, e, 1, &n);

    if (v)
        stride_fill(v->data, element, value_element_bytes(v), n);
    return v;
}

int window_slide(struct call *c, struct region *r, int along, int count,
                 struct value *const *result)
{
    const struct hlo_window *w = &hlo_detail(c->i)->window[along];
    size_t many = (size_t)count;
    struct lines l = { .c = c, .r = r, .count = count };
    struct value **ahead, **init;
    int status = 0;

    l.n = c->operand[0]->dim[along] + w->pad_low + w->pad_high;
    l.width = value_count(result[0]) / result[0]->dim[along];
    find_kernel(&l);
    l.row = mem_alloc(6 * many * sizeof(void *));
    ahead = l.row + count;
    init = ahead + count;
    l.in = (const void **)(void *)(init + count);
    l.out = mem_alloc(many * sizeof(void *));
    for (int k = 0; k < count && !status; k++) {
        const void *first = c->operand[count + k]->data;

        l.row[k] = converted(c, padded(c, k, along, l.n, first),
                             l.k ? l.wide : c->operand[k]->element);
        ahead[k] = l.row[k] ? call_array(c, l.row[k]->element, l.row[k]->rank, l.row[k]->dim)
                            : NULL;
        init[k] = converted(c, filled(c, c->operand[k]->element, l.width, first),
                            l.k ? l.wide : c->operand[k]->element);
        status = l.row[k] && ahead[k] && init[k] ? 0 : -1;
    }
    if (!status)
        status = run_blocks(&l, ahead, w->size);
    if (!status)
        status = give_rows(&l, ahead, along, w->size, result, init);
    for (int k = 0; k < count; k++) {
        value_drop(&c->ev->pool, l.row[k]);
        value_drop(&c->ev->pool, ahead[k]);
        value_drop(&c->ev->pool, init[k]);
    }
    mem_free(l.row);
    mem_free(l.out);
    return status;
}
