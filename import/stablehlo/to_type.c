/* Types, numbers, literals and places as attributes of MLIR. */
#include "import/stablehlo/to.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int to_fail(struct to *t, const struct hlo_instruction *i, const char *fmt, ...)
{
    char msg[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg, sizeof(msg), fmt, args);
    va_end(args);
    return err_at(t->err, t->m->file ? t->m->file : "", i->line, i->col, "%s", msg);
}

static const struct mlir_attr *bounds_of(struct to *t, const struct hlo_type *from)
{
    int64_t *bound = arena_array(t->arena, (size_t)from->rank + 1, sizeof(*bound));
    const struct mlir_type *i64 = mlir_scalar_type(t->arena, "i64", 3);

    for (int d = 0; d < from->rank; d++)
        bound[d] = from->is_bounded[d] ? from->dim[d] : HLO_UNBOUNDED;
    const struct mlir_named bounds = { "bounds", mlir_ints(t->arena, from->rank, bound, i64) };
    return mlir_dialect(t->arena, "stablehlo.bounds", "", 0, 1, &bounds);
}

static const struct mlir_type *tensor_of(struct to *t, const struct hlo_type *from)
{
    const char *name = hlo_element_mlir_name(from->element);
    const struct mlir_type *item = mlir_scalar_type(t->arena, name, strlen(name));
    int64_t *dim = arena_copy(t->arena, from->dim, (size_t)from->rank, sizeof(*dim));
    bool is_bounded = false;

    for (int d = 0; from->is_bounded && d < from->rank; d++) {
        if (from->is_bounded[d])
            dim[d] = HLO_UNBOUNDED;
        is_bounded = is_bounded || from->is_bounded[d];
    }
    return mlir_tensor_type(t->arena, item, from->rank, dim, is_bounded ? bounds_of(t, from) : NULL);
}

const struct mlir_type *to_type(struct to *t, const struct hlo_type *from)
{
    if (from->element == ELEMENT_TOKEN)
        return mlir_plain_type(t->arena, MLIR_TOKEN, "!stablehlo.token", 16);
    if (hlo_element_mlir_name(from->element))
        return tensor_of(t, from);
    const struct mlir_type **part = arena_array(t->arena, (size_t)from->part_count + 1, sizeof(*part));
    for (int k = 0; k < from->part_count; k++)
        part[k] = to_type(t, &from->part[k]);
    return mlir_tuple_type(t->arena, from->part_count, part);
}

const struct mlir_attr *to_i64(struct to *t, int64_t v)
{
    return mlir_integer(t->arena, v, mlir_scalar_type(t->arena, "i64", 3));
}

const struct mlir_attr *to_ints(struct to *t, struct hlo_ints l)
{
    return mlir_ints(t->arena, l.count, l.item, mlir_scalar_type(t->arena, "i64", 3));
}

const struct mlir_attr *to_literal(struct to *t, const struct hlo_literal *l)
{
    return mlir_dense(t->arena, to_type(t, &l->type), l->data, l->is_splat);
}

/* "type:"("path"("file":1:2 to 1:9)), each where it is known */
const struct mlir_attr *to_place(struct to *t, const struct hlo_place *p)
{
    const struct mlir_attr *l = NULL;

    if (p->file)
        l = mlir_file_location(t->arena, p->file, strlen(p->file), p->line, p->col, p->end_line,
                               p->end_col);
    if (p->op_name)
        l = mlir_location(t->arena, MLIR_LOCATION_NAME, p->op_name, strlen(p->op_name), l != NULL, &l);
    if (p->op_type) {
        const char *name = arena_printf(t->arena, "%s:", p->op_type);
        l = mlir_location(t->arena, MLIR_LOCATION_NAME, name, strlen(name), l != NULL, &l);
    }
    return l;
}
