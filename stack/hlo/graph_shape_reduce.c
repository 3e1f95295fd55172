/* Infers the shapes of reductions and windows. */
#include "stack/hlo/graph_shape_impl.h"

#include <inttypes.h>

int shape_infer_check_reduction(const struct graph_node *n, const struct shape *a, struct err *e)
{
    bool is_logic = n->reduce_kind == REDUCE_AND || n->reduce_kind == REDUCE_OR;

    if (n->reduce_kind > REDUCE_REPLACE)
        return err_set(e, "%s: unknown reduction %d", n->name, (int)n->reduce_kind);
    if (n->reduce_kind == REDUCE_REPLACE && n->op != HLO_SCATTER)
        return err_set(e, "%s: only a scatter replaces", n->name);
    if (n->reduce_kind >= REDUCE_ARGMAX && n->reduce_kind <= REDUCE_ARGMIN &&
        n->op != HLO_REDUCE)
        return err_set(e, "%s: only a reduce finds where the extreme is", n->name);
    return shape_has_type(a, n->reduce_kind == REDUCE_REPLACE ? ANY : is_logic ? BITS : NUMBERS)
               ? 0 : shape_infer_bad_type(n, a, e);
}

int shape_infer_reduce(const struct graph *g, const struct graph_node *n, struct shape *out,
                       struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0);
    bool is_arg = n->reduce_kind == REDUCE_ARGMAX || n->reduce_kind == REDUCE_ARGMIN;

    if (shape_infer_check_reduction(n, a, e) != 0)
        return -1;
    if (n->reduce_mask >> a->rank)
        return err_set(e, "%s: reduces a dimension above %d", n->name, a->rank - 1);
    if (is_arg && (n->reduce_mask == 0 || (n->reduce_mask & (n->reduce_mask - 1))))
        return err_set(e, "%s: the place of an extreme is found along one dimension", n->name);
    *out = shape_scalar(is_arg ? DTYPE_S32 : a->dtype);
    for (int i = 0; i < a->rank; i++)
        if (!(n->reduce_mask & (1u << i)))
            out->dim[out->rank++] = a->dim[i];
    return 0;
}

static bool is_small(int64_t x)
{
    return x >= -SHAPE_ELEMS_MAX && x <= SHAPE_ELEMS_MAX;
}

int shape_infer_window(const struct graph_node *n, int dim, int64_t length,
                       const struct graph_window *w, int64_t *out, struct err *e)
{
    int64_t padded, reach;

    if (w->size < 1 || w->stride < 1 || w->base_dilation < 1 || w->window_dilation < 1)
        return err_set(e, "%s: window dimension %d: size, stride and dilations start at 1",
                       n->name, dim);
    if (!is_small(w->pad_low) || !is_small(w->pad_high) ||
        w->base_dilation > SHAPE_ELEMS_MAX / length ||
        w->window_dilation > SHAPE_ELEMS_MAX / w->size)
        return err_set(e, "%s: window dimension %d: padding or dilation is out of range",
                       n->name, dim);
    padded = (length - 1) * w->base_dilation + 1 + w->pad_low + w->pad_high;
    reach = (w->size - 1) * w->window_dilation + 1;
    if (padded < reach)
        return err_set(e, "%s: window dimension %d reaches over %" PRId64 " elements of %" PRId64,
                       n->name, dim, reach, padded);
    *out = (padded - reach) / w->stride + 1;
    return 0;
}

int shape_infer_windowed(const struct graph *g, const struct graph_node *n, struct shape *out,
                         struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0);

    *out = *a;
    if (!n->window)
        return err_set(e, "%s: has no window", n->name);
    for (int i = 0; i < a->rank; i++) {
        if (n->window[i].is_reversed)
            return err_set(e, "%s: window dimension %d: only kernels are reversed", n->name, i);
        if (shape_infer_window(n, i, a->dim[i], &n->window[i], &out->dim[i], e) != 0)
            return -1;
    }
    if (n->op == HLO_REDUCE_WINDOW)
        return shape_infer_check_reduction(n, a, e);
    if (!shape_has_type(a, NUMBERS))
        return shape_infer_bad_type(n, a, e);
    for (int i = 0; i < a->rank; i++)
        if (n->window[i].base_dilation != 1 || n->window[i].window_dilation != 1)
            return err_set(e, "%s: window dimension %d: select-and-scatter knows no dilation",
                           n->name, i);
    if (n->direction != COMPARE_GE && n->direction != COMPARE_LE)
        return err_set(e, "%s: selects by GE or LE", n->name);
    if (!shape_equal(out, shape_of_operand(g, n, 1)))
        return shape_infer_bad_pair(n, out, shape_of_operand(g, n, 1), e);
    *out = *a;
    return 0;
}
