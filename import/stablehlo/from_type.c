/* Types and constants of a tree as those of a program. */
#include "import/program/shared.h"
#include "import/stablehlo/from.h"

#include <stdio.h>
#include <string.h>

static int element_of(struct from *f, const struct mlir_op *op, const struct mlir_type *item,
                      enum hlo_element *e)
{
    *e = item->kind == MLIR_SCALAR ? item->element : ELEMENT_COUNT;
    if (mlir_text_is(item->text, "index"))
        *e = ELEMENT_S64;
    if (item->kind == MLIR_QUANTIZED)
        return from_fail(f, op, "quantized types are not known: %.*s",
                         item->text.bytes < 80 ? (int)item->text.bytes : 80, item->text.data);
    if (*e == ELEMENT_COUNT)
        return from_fail(f, op, "no program has elements of type %.*s",
                         item->text.bytes < 80 ? (int)item->text.bytes : 80, item->text.data);
    return 0;
}

/* bounds of dynamic dimensions: `?` stands for none, or for a dimension that is not dynamic */
static const struct mlir_attr *bounds_of(const struct mlir_type *t)
{
    const struct mlir_attr *bounds = mlir_attr_find(t->encoding, "bounds");
    return bounds && bounds->count == t->rank ? bounds : NULL;
}

static int tensor_type(struct from *f, const struct mlir_op *op, const struct mlir_type *t,
                       struct hlo_type *to)
{
    const struct mlir_attr *bounds = bounds_of(t);
    bool *is_bounded = NULL;

    if (!t->is_ranked)
        return from_fail(f, op, "a tensor without a rank");
    if (element_of(f, op, t->item, &to->element))
        return -1;
    const int64_t *known = t->dim;      /* shared, unless bounds take the place of some */
    int64_t *dim = NULL;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] != HLO_UNBOUNDED)
            continue;
        if (!bounds || bounds->ints[d] == HLO_UNBOUNDED)
            return from_fail(f, op, "dimension %d of a tensor has no bound", d);
        if (!is_bounded) {
            is_bounded = arena_array(f->arena, (size_t)t->rank, sizeof(*is_bounded));
            known = dim = arena_copy(f->arena, t->dim, (size_t)t->rank, sizeof(*dim));
        }
        is_bounded[d] = true;
        dim[d] = bounds->ints[d];
    }
    int64_t elements = 1;
    for (int d = 0; d < t->rank; d++) {
        if (known[d] < 0 || (known[d] && __builtin_mul_overflow(elements, known[d], &elements)) ||
            elements > INT64_MAX / 16)
            return from_fail(f, op, "a tensor of more elements than can be counted");
    }
    to->rank = t->rank;
    to->dim = known;
    to->is_bounded = is_bounded;
    return 0;
}

int from_type(struct from *f, const struct mlir_op *op, const struct mlir_type *t,
              struct hlo_type *to)
{
    *to = (struct hlo_type){ .element = ELEMENT_TUPLE };
    switch (t->kind) {
    case MLIR_TENSOR:
        return tensor_type(f, op, t, to);
    case MLIR_TOKEN:
        to->element = ELEMENT_TOKEN;
        return 0;
    case MLIR_TUPLE: {
        struct hlo_type *part = arena_array(f->arena, (size_t)t->part_count + 1, sizeof(*part));
        for (int i = 0; i < t->part_count; i++) {
            if (from_type(f, op, t->part[i], &part[i]))
                return -1;
        }
        to->part = part;
        to->part_count = t->part_count;
        return 0;
    }
    case MLIR_QUANTIZED:
        return from_fail(f, op, "quantized types are not known");
    default:
        return from_fail(f, op, "values are tensors, tuples and tokens, and not %.*s",
                         t->text.bytes < 80 ? (int)t->text.bytes : 80,
                         t->text.data ? t->text.data : "");
    }
}

int from_result_type(struct from *f, const struct mlir_op *op, const struct hlo_type **to)
{
    struct hlo_type one, *part;

    if (op->result_count == 1) {
        if (from_type(f, op, op->result[0].type, &one))
            return -1;
        *to = hlo_keep_type(f->m, &one);
        return 0;
    }
    part = arena_array(f->scratch, (size_t)op->result_count + 1, sizeof(*part));
    for (int i = 0; i < op->result_count; i++) {
        if (from_type(f, op, op->result[i].type, &part[i]))
            return -1;
    }
    one = (struct hlo_type){
        .element = ELEMENT_TUPLE, .part_count = op->result_count, .part = part};
    *to = hlo_keep_type(f->m, &one);
    return 0;
}

int from_literal(struct from *f, const struct mlir_op *op, const struct mlir_attr *value,
                 const struct hlo_literal **l)
{
    struct hlo_literal made = {.data = NULL};

    if (!value || value->kind != MLIR_DENSE)
        return from_fail(f, op, "its value is not dense<..>");
    if (from_type(f, op, value->type, &made.type))
        return -1;
    /* the tree's elements are those of a literal, and live as long */
    made.data = value->data;
    made.is_splat = value->is_splat;
    *l = hlo_keep_literal(f->m, &made);
    return 0;
}

const struct mlir_attr *from_constant_of(const struct mlir_value *v)
{
    const struct mlir_attr *value = NULL;

    if (v->op && (!strcmp(v->op->name, "stablehlo.constant") ||
                  !strcmp(v->op->name, "mhlo.constant") || !strcmp(v->op->name, "arith.constant") ||
                  !strcmp(v->op->name, "chlo.constant")))
        value = mlir_op_attr(v->op, "value");
    return value && value->kind == MLIR_DENSE && value->data ? value : NULL;
}
