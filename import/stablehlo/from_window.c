/* Windows of convolutions and of reductions, and which dimension of a convolution is what. */
#include "import/stablehlo/from.h"

#include <string.h>

/* one number for each dimension of the window, or none; else a mistake */
static int per_dim(struct from *f, const struct mlir_op *op, const char *name, int count,
                   struct hlo_ints *to)
{
    if (from_ints(f, op, name, mlir_op_attr(op, name), to))
        return -1;
    if (to->count && to->count != count)
        return from_fail(f, op, "%s has %d numbers for %d dimensions", name, to->count, count);
    return 0;
}

static int64_t or_else(struct hlo_ints l, int k, int64_t absent)
{
    return l.count ? l.item[k] : absent;
}

/* all but the sizes; `base`, `window`: what the dilations are called */
static int fill(struct from *f, const struct mlir_op *op, int count, struct hlo_window *w,
                const char *base, const char *window)
{
    struct hlo_ints stride, base_dilation, window_dilation, padding, reversal;

    if (per_dim(f, op, "window_strides", count, &stride) ||
        per_dim(f, op, base, count, &base_dilation) ||
        per_dim(f, op, window, count, &window_dilation) ||
        per_dim(f, op, "window_reversal", count, &reversal) ||
        from_ints(f, op, "padding", mlir_op_attr(op, "padding"), &padding))
        return -1;
    if (padding.count && padding.count != 2 * count)
        return from_fail(f, op, "padding has %d numbers for %d dimensions", padding.count, count);
    for (int k = 0; k < count; k++) {
        w[k].stride = or_else(stride, k, 1);
        w[k].base_dilation = or_else(base_dilation, k, 1);
        w[k].window_dilation = or_else(window_dilation, k, 1);
        w[k].pad_low = or_else(padding, 2 * k, 0);
        w[k].pad_high = or_else(padding, 2 * k + 1, 0);
        w[k].is_reversed = or_else(reversal, k, 0) != 0;
    }
    return 0;
}

/* of reduce_window and select_and_scatter, for each dimension of the operand */
static int reduction_window(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    struct hlo_ints size;

    if (from_ints(f, op, "window_dimensions", mlir_op_attr(op, "window_dimensions"), &size))
        return -1;
    /* a window of select_and_scatter may be left out: then it is one element */
    int rank = op->operand_count ? op->operand[0]->type->rank : 0;
    if (size.count && size.count != rank)
        return from_fail(f, op, "window_dimensions has %d numbers for rank %d", size.count, rank);
    struct hlo_window *w = arena_array(f->scratch, (size_t)rank + 1, sizeof(*w));
    for (int k = 0; k < rank; k++)
        w[k].size = or_else(size, k, 1);
    i->detail->window_count = rank;
    i->detail->window = w;
    return fill(f, op, rank, w, "base_dilations", "window_dilations");
}

static int convolution_window(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    struct hlo_ints spatial = hlo_detail(i)->conv->kernel_spatial;
    const struct mlir_type *kernel = op->operand_count > 1 ? op->operand[1]->type : NULL;
    struct hlo_window *w = arena_array(f->scratch, (size_t)spatial.count + 1, sizeof(*w));

    for (int k = 0; k < spatial.count; k++) {
        if (!kernel || spatial.item[k] < 0 || spatial.item[k] >= kernel->rank)
            return from_fail(f, op, "its kernel has no dimension %lld",
                             (long long)spatial.item[k]);
        w[k].size = kernel->dim[spatial.item[k]];
    }
    i->detail->window_count = spatial.count;
    i->detail->window = w;
    return fill(f, op, spatial.count, w, "lhs_dilation", "rhs_dilation");
}

int from_window(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    return i->op == OPCODE_CONVOLUTION ? convolution_window(f, op, i) : reduction_window(f, op, i);
}

static int number(struct from *f, const struct mlir_op *op, const char *name, int64_t *to)
{
    const struct mlir_attr *a = from_nested(op, "dimension_numbers", name);

    if (!a)
        return from_fail(f, op, "the attribute %s is missing", name);
    return from_int(f, op, name, a, 0, to);
}

static int numbers(struct from *f, const struct mlir_op *op, const char *name, struct hlo_ints *to)
{
    return from_ints(f, op, name, from_nested(op, "dimension_numbers", name), to);
}

int from_conv(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    struct hlo_conv *c = arena_alloc(f->scratch, sizeof(*c));

    if (number(f, op, "input_batch_dimension", &c->in_batch) ||
        number(f, op, "input_feature_dimension", &c->in_feature) ||
        number(f, op, "kernel_input_feature_dimension", &c->kernel_in) ||
        number(f, op, "kernel_output_feature_dimension", &c->kernel_out) ||
        number(f, op, "output_batch_dimension", &c->out_batch) ||
        number(f, op, "output_feature_dimension", &c->out_feature) ||
        numbers(f, op, "input_spatial_dimensions", &c->in_spatial) ||
        numbers(f, op, "kernel_spatial_dimensions", &c->kernel_spatial) ||
        numbers(f, op, "output_spatial_dimensions", &c->out_spatial) ||
        from_int(f, op, "feature_group_count", mlir_op_attr(op, "feature_group_count"), 1,
                 &c->feature_groups) ||
        from_int(f, op, "batch_group_count", mlir_op_attr(op, "batch_group_count"), 1,
                 &c->batch_groups))
        return -1;
    if (c->in_spatial.count != c->kernel_spatial.count ||
        c->in_spatial.count != c->out_spatial.count)
        return from_fail(f, op, "input, kernel and output have different spatial dimensions");
    i->detail->conv = c;
    return 0;
}
