/* What forms.def has no words for, of operations without regions. */
#include "import/mlir/print.h"

#include <string.h>

static const struct mlir_attr *attr_kind(const struct mlir_op *op, const char *name,
                                         enum mlir_attr_kind kind)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    return a && a->kind == kind ? a : NULL;
}

/* the pretty form has no types but that of its value */
bool mlir_can_constant(const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_op_attr(op, "value");
    return a && a->type && op->operand_count == 0 && op->result_count == 1 &&
           mlir_type_equal(a->type, op->result[0].type);
}

void mlir_print_constant(struct mlir_printer *p, const struct mlir_op *op)
{
    mlir_print_rest(p, op, "value", "");
    fputc(' ', p->to);
    mlir_print_attr(p->to, mlir_op_attr(op, "value"));
}

bool mlir_can_value(const struct mlir_op *op)
{
    return attr_kind(op, "value", MLIR_DENSE) && op->operand_count == 1;
}

void mlir_print_value(struct mlir_printer *p, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_op_attr(op, "value");

    fputc(' ', p->to);
    mlir_print_elements(p->to, a->type, a->data, a->is_splat);
    mlir_print_rest(p, op, "value", "");
    fputs(" : ", p->to);
    mlir_print_type(p->to, a->type);
}

bool mlir_can_slice(const struct mlir_op *op)
{
    const struct mlir_attr *start = attr_kind(op, "start_indices", MLIR_INTS);
    const struct mlir_attr *limit = attr_kind(op, "limit_indices", MLIR_INTS);
    const struct mlir_attr *stride = attr_kind(op, "strides", MLIR_INTS);
    return start && limit && stride && start->count == limit->count &&
           start->count == stride->count;
}

void mlir_print_slice(struct mlir_printer *p, const struct mlir_op *op)
{
    const struct mlir_attr *start = mlir_op_attr(op, "start_indices");
    const struct mlir_attr *limit = mlir_op_attr(op, "limit_indices");
    const struct mlir_attr *stride = mlir_op_attr(op, "strides");

    fputs(" [", p->to);
    for (int i = 0; i < start->count; i++) {
        fprintf(p->to, "%s%lld:%lld", i ? ", " : "", (long long)start->ints[i],
                (long long)limit->ints[i]);
        if (stride->ints[i] != 1) fprintf(p->to, ":%lld", (long long)stride->ints[i]);
    }
    fputc(']', p->to);
}

static const char *const dot_pairs[][3] = {
    {"batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions"},
    {"contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions"}};

bool mlir_can_dot_dims(const struct mlir_op *op)
{
    return attr_kind(op, "dot_dimension_numbers", MLIR_DIALECT) != NULL;
}

void mlir_print_dot_dims(struct mlir_printer *p, const struct mlir_op *op)
{
    static const struct mlir_attr none;
    const struct mlir_attr *dims = mlir_op_attr(op, "dot_dimension_numbers");

    for (int i = 0; i < 2; i++) {
        const struct mlir_attr *lhs = mlir_attr_find(dims, dot_pairs[i][1]);
        const struct mlir_attr *rhs = mlir_attr_find(dims, dot_pairs[i][2]);
        if (!lhs && !rhs && i == 0) continue;
        fprintf(p->to, ", %s = ", dot_pairs[i][0]);
        mlir_print_int_list(p->to, lhs ? lhs : &none);
        fputs(" x ", p->to);
        mlir_print_int_list(p->to, rhs ? rhs : &none);
    }
}

bool mlir_can_format(const struct mlir_op *op)
{
    return attr_kind(op, "exponent_bits", MLIR_INTEGER) &&
           attr_kind(op, "mantissa_bits", MLIR_INTEGER);
}

void mlir_print_format(struct mlir_printer *p, const struct mlir_op *op)
{
    fprintf(p->to, " e%lldm%lld", (long long)mlir_op_attr(op, "exponent_bits")->integer,
            (long long)mlir_op_attr(op, "mantissa_bits")->integer);
}

static const char *const window_fields[][2] = {
    {"stride", "window_strides"}, {"pad", "padding"}, {"lhs_dilate", "lhs_dilation"},
    {"rhs_dilate", "rhs_dilation"}, {"reverse", "window_reversal"}};

bool mlir_can_convolution(const struct mlir_op *op)
{
    const struct mlir_attr *dims = attr_kind(op, "dimension_numbers", MLIR_DIALECT);
    if (!dims || dims->count == 0) return false;
    for (int i = 0; i < 5; i++) {
        const struct mlir_attr *a = mlir_op_attr(op, window_fields[i][1]);
        bool is_padding = i == 1;
        if (a && a->kind != (is_padding ? MLIR_DENSE : MLIR_INTS)) return false;
        if (a && is_padding && (!a->data || a->type->rank != 2 ||
                                a->type->item->element != ELEMENT_S64)) return false;
    }
    return true;
}

static void print_padding(FILE *to, const struct mlir_attr *a)
{
    fputc('[', to);
    for (int64_t i = 0; i < a->type->dim[0]; i++) {
        const int64_t *pair = (const int64_t *)a->data + (a->is_splat ? 0 : 2 * i);
        fprintf(to, "%s[%lld, %lld]", i ? ", " : "", (long long)pair[0],
                (long long)pair[a->is_splat ? 0 : 1]);
    }
    fputc(']', to);
}

static void print_flags(FILE *to, const struct mlir_attr *a)
{
    fputc('[', to);
    for (int i = 0; i < a->count; i++)
        fprintf(to, "%s%s", i ? ", " : "", a->ints[i] ? "true" : "false");
    fputc(']', to);
}

void mlir_print_convolution(struct mlir_printer *p, const struct mlir_op *op)
{
    int count = 0;

    fputc('(', p->to);
    mlir_print_uses(p, op->operand_count, op->operand);
    fputs(") dim_numbers = ", p->to);
    mlir_print_conv_dims(p->to, mlir_op_attr(op, "dimension_numbers"));
    fputs(", window = {", p->to);
    for (int i = 0; i < 5; i++) {
        const struct mlir_attr *a = mlir_op_attr(op, window_fields[i][1]);
        if (!a) continue;
        fprintf(p->to, "%s%s = ", count++ ? ", " : "", window_fields[i][0]);
        if (i == 1) print_padding(p->to, a);
        else if (i == 4) print_flags(p->to, a);
        else mlir_print_int_list(p->to, a);
    }
    fputc('}', p->to);
}

bool mlir_can_mesh(const struct mlir_op *op)
{
    return attr_kind(op, "sym_name", MLIR_STRING) && attr_kind(op, "mesh", MLIR_DIALECT);
}

void mlir_print_mesh(struct mlir_printer *p, const struct mlir_op *op)
{
    const struct mlir_attr symbol = {.kind = MLIR_SYMBOL, .text = mlir_op_attr(op, "sym_name")->text};

    fputc(' ', p->to);
    mlir_print_attr(p->to, &symbol);
    fprintf(p->to, " = <%s>", mlir_op_attr(op, "mesh")->text.data);
}

bool mlir_can_sharding(const struct mlir_op *op)
{
    return attr_kind(op, "sharding", MLIR_DIALECT) != NULL;
}

void mlir_print_sharding(struct mlir_printer *p, const struct mlir_op *op)
{
    fprintf(p->to, " <%s>", mlir_op_attr(op, "sharding")->text.data);
}
