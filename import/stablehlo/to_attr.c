/* Fields of instructions as attributes of StableHLO: the tables of the other way, read backwards. */
#include "import/stablehlo/to.h"

#include "import/program/sharding.h"
#include "import/stablehlo/fields.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void to_attr(struct to_op *o, const char *name, const struct mlir_attr *a)
{
    assert(o->attr_count < (int)(sizeof(o->attr) / sizeof(o->attr[0])));
    for (int k = 0; k < o->attr_count; k++) {
        if (!strcmp(o->attr[k].name, name))
            return;
    }
    o->attr[o->attr_count++] = (struct mlir_named){ name, a };
}

static const struct mlir_attr *enum_attr(struct to *t, enum field_kind kind, int value)
{
    const struct field_word *w = field_word_of(kind, value);
    return mlir_enum(t->arena, arena_printf(t->arena, "stablehlo.%s", w->name), w->word);
}

static const struct mlir_attr *i32_attr(struct to *t, int64_t v)
{
    return mlir_integer(t->arena, v, mlir_scalar_type(t->arena, "i32", 3));
}

/* NULL: it is what stands for a missing one */
static const struct mlir_attr *field_attr(struct to *t, const struct field *row, const void *at)
{
    bool has_absent = row->absent != FIELD_NEEDED;

    switch (row->kind) {
    case FIELD_INTS: return to_ints(t, *(const struct hlo_ints *)at);
    case FIELD_ONE: {
        const struct hlo_ints *l = at;
        return l->count == 1 ? to_i64(t, l->item[0]) : NULL;
    }
    case FIELD_INT: return to_i64(t, *(const int64_t *)at);
    case FIELD_INT32: return i32_attr(t, *(const int64_t *)at);
    case FIELD_BITS: return i32_attr(t, *(const int *)at);
    case FIELD_REAL:
        return mlir_float(t->arena, *(const double *)at, mlir_scalar_type(t->arena, "f32", 3));
    case FIELD_BOOL: {
        bool value = *(const bool *)at;
        return has_absent && value == (row->absent != 0) ? NULL : mlir_bool(t->arena, value);
    }
    default: {
        int value = *(const unsigned char *)at;
        return has_absent && value == row->absent ? NULL : enum_attr(t, row->kind, value);
    }
    }
}

void to_fields(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    int count;
    const struct field *row = field_rows(i->op, &count);

    for (; count > 0; count--, row++) {
        const char *home = row->is_detail ? (const char *)hlo_detail(i) : (const char *)i;
        const struct mlir_attr *a = field_attr(t, row, home + row->offset);
        if (a)
            to_attr(o, row->name, a);
    }
}

const struct mlir_attr *to_kept(struct to *t, const char *text)
{
    const struct mlir_attr *a = mlir_attr_of_text(t->arena, text);
    return a ? a : mlir_string(t->arena, text, strlen(text));
}

const char *to_pair(const struct hlo_pairs *l, const char *key)
{
    for (int k = 0; k < l->count; k++) {
        if (!strcmp(l->item[k].key, key))
            return l->item[k].value;
    }
    return NULL;
}

static void add_sharding(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    const char *text = "";

    for (int k = 0; k < hlo_detail(i)->sharding_count; k++) {
        const char *one = hlo_sharding_text(t->arena, &hlo_detail(i)->sharding[k]);
        text = k ? arena_printf(t->arena, "%s, %s", text, one) : one;
    }
    if (hlo_detail(i)->sharding_count > 1 ||
        (hlo_detail(i)->sharding_count == 1 && hlo_type_is_tuple(i->type)))
        text = arena_printf(t->arena, "{%s}", text);
    if (hlo_detail(i)->sharding_count)
        to_attr(o, "mhlo.sharding", mlir_string(t->arena, text, strlen(text)));
}

/* pairs that other attributes have been made of, or that belong to the function */
static bool is_told(const char *key)
{
    static const char *const keys[] = { "custom_call_has_side_effect", "api_version",
                                        "is_composite", "res_attrs", "composite.attributes",
                                        "composite.name", "composite.version", "programs" };
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (!strcmp(keys[k], key))
            return true;
    }
    return false;
}

void to_extra(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    struct mlir_named *pair =
        arena_array(t->arena, (size_t)hlo_detail(i)->frontend.count + 1, sizeof(*pair));
    int count = 0;

    for (int k = 0; k < hlo_detail(i)->frontend.count; k++) {
        const struct hlo_pair *f = &hlo_detail(i)->frontend.item[k];
        if (!is_told(f->key))
            pair[count++] = (struct mlir_named){ f->key, to_kept(t, f->value) };
    }
    if (count)
        to_attr(o, "mhlo.frontend_attributes", mlir_dictionary(t->arena, count, pair));
    add_sharding(t, i, o);
    for (int k = 0; k < hlo_detail(i)->other.count && o->attr_count < 40; k++) {
        const struct hlo_pair *other = &hlo_detail(i)->other.item[k];
        if (!is_told(other->key))
            to_attr(o, other->key, to_kept(t, other->value));
    }
}
