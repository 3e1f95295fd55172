/* Attributes of operations as fields of instructions. */
#include "import/stablehlo/from.h"

#include "import/stablehlo/fields.h"

#include <string.h>

#define LIST_MAX (1 << 20)              /* no list of dimensions or devices is longer */

/* elements of dense integers, or of an array of them, as a list; rows behind each other */
static int dense_ints(struct from *f, const struct mlir_op *op, const char *name,
                      const struct mlir_attr *a, struct hlo_ints *to)
{
    int64_t count = mlir_type_elements(a->type);
    size_t width = mlir_type_element_bytes(a->type);
    enum hlo_element e = a->type->item->element;

    if (!a->data || width == 0 || count < 0 || count > LIST_MAX)
        return from_fail(f, op, "%s is not a list of integers", name);
    if (e != ELEMENT_COUNT && !hlo_element_is_integer(e) && e != ELEMENT_PRED)
        return from_fail(f, op, "%s is not a list of integers", name);
    int64_t *item = arena_array(f->scratch, (size_t)count + 1, sizeof(*item));
    for (int64_t i = 0; i < count; i++) {
        const char *at = (const char *)a->data + (a->is_splat ? 0 : (size_t)i * width);
        item[i] = hlo_element_load_int(e == ELEMENT_COUNT ? ELEMENT_S64 : e, at);
    }
    *to = (struct hlo_ints){ (int)count, item };
    return 0;
}

int from_ints(struct from *f, const struct mlir_op *op, const char *name,
              const struct mlir_attr *a, struct hlo_ints *to)
{
    *to = (struct hlo_ints){ 0 };
    if (!a)
        return 0;
    if (a->kind == MLIR_INTS) {
        *to = (struct hlo_ints){ a->count, a->ints };
        return 0;
    }
    if (a->kind == MLIR_DENSE && a->type->kind == MLIR_TENSOR)
        return dense_ints(f, op, name, a, to);
    if (a->kind != MLIR_ARRAY)
        return from_fail(f, op, "%s is not a list of integers", name);
    int64_t *item = arena_array(f->scratch, (size_t)a->count + 1, sizeof(*item));
    for (int i = 0; i < a->count; i++) {
        if (a->item[i]->kind != MLIR_INTEGER)
            return from_fail(f, op, "%s is not a list of integers", name);
        item[i] = a->item[i]->integer;
    }
    *to = (struct hlo_ints){ a->count, item };
    return 0;
}

int from_int(struct from *f, const struct mlir_op *op, const char *name,
             const struct mlir_attr *a, int64_t absent, int64_t *to)
{
    *to = absent;
    if (!a)
        return 0;
    if (a->kind != MLIR_INTEGER && a->kind != MLIR_BOOL)
        return from_fail(f, op, "%s is not an integer", name);
    *to = a->integer;
    return 0;
}

bool from_bool(const struct mlir_attr *a, bool absent)
{
    if (!a)
        return absent;
    return a->kind == MLIR_UNIT || a->integer != 0;
}

const struct mlir_attr *from_nested(const struct mlir_op *op, const char *outer, const char *name)
{
    const struct mlir_attr *a = mlir_attr_find(mlir_op_attr(op, outer), name);
    return a ? a : mlir_op_attr(op, name);
}

static int enum_field(struct from *f, const struct mlir_op *op, const struct field *row,
                      const struct mlir_attr *a, unsigned char *to)
{
    bool is_word = a->kind == MLIR_ENUM || a->kind == MLIR_STRING;
    const struct field_word *w = is_word ? field_word_find(row->kind, a->text.data) : NULL;

    if (!w)
        return from_fail(f, op, "%s is %.*s", row->name,
                         is_word && a->text.bytes < 40 ? (int)a->text.bytes : 13,
                         is_word ? a->text.data : "no such word");
    *to = (unsigned char)w->value;
    return 0;
}

static int one_field(struct from *f, const struct mlir_op *op, const struct field *row,
                     const struct mlir_attr *a, void *to)
{
    int64_t value;

    if (row->kind == FIELD_INTS)
        return from_ints(f, op, row->name, a, to);
    if (row->kind == FIELD_BOOL) {
        *(bool *)to = from_bool(a, row->absent != 0);
        return 0;
    }
    if (field_is_enum(row->kind)) {
        *(unsigned char *)to = (unsigned char)row->absent;
        return a ? enum_field(f, op, row, a, to) : 0;
    }
    if (row->kind == FIELD_REAL) {
        if (a->kind != MLIR_FLOAT)
            return from_fail(f, op, "%s is not a number", row->name);
        *(double *)to = a->number;
        return 0;
    }
    if (from_int(f, op, row->name, a, row->absent, &value))
        return -1;
    if (row->kind == FIELD_ONE)
        *(struct hlo_ints *)to = hlo_ints_copy(f->scratch, &value, 1);
    else if (row->kind == FIELD_BITS)
        *(int *)to = value < 0 || value > 64 ? -1 : (int)value;
    else
        *(int64_t *)to = value;
    return 0;
}

int from_fields(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    int count;
    const struct field *row = field_rows(i->op, &count);

    for (; count > 0; count--, row++) {
        const struct mlir_attr *a = mlir_op_attr(op, row->name);
        if (!a && row->absent == FIELD_NEEDED)
            return from_fail(f, op, "the attribute %s is missing", row->name);
        char *home = row->is_detail ? (char *)i->detail : (char *)i;
        if (one_field(f, op, row, a, home + row->offset))
            return -1;
    }
    return 0;
}

int from_attributes(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    static const struct {
        unsigned bit;
        int (*read)(struct from *f, const struct mlir_op *op, struct hlo_instruction *i);
    } groups[] = {
        { HLO_HAS_GATHER, from_gather }, { HLO_HAS_DOT, from_dot },
        { HLO_HAS_PRECISION, from_precision }, { HLO_HAS_CONV, from_conv },
        { HLO_HAS_WINDOW, from_window }, { HLO_HAS_GROUPS, from_devices },
    };
    unsigned has = hlo_opcode_attributes(i->op);

    if (from_fields(f, op, i))
        return -1;
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        if ((has & groups[g].bit) && groups[g].read(f, op, i))
            return -1;
    }
    return 0;
}
