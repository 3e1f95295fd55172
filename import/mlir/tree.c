/* Makers of the tree's types and attributes, and looking into them. */
#include "import/mlir/mlir.h"

#include <string.h>

void mlir_tree_init(struct mlir_tree *t, struct arena *a, const char *file)
{
    *t = (struct mlir_tree){.arena = a, .file = arena_strdup(a, file)};
}

const struct mlir_attr *mlir_op_attr(const struct mlir_op *op, const char *name)
{
    for (int i = 0; i < op->attr_count; i++)
        if (!strcmp(op->attr[i].name, name)) return op->attr[i].attr;
    return NULL;
}

const struct mlir_attr *mlir_attr_find(const struct mlir_attr *a, const char *name)
{
    if (!a || (a->kind != MLIR_DICTIONARY && a->kind != MLIR_DIALECT)) return NULL;
    for (int i = 0; i < a->count; i++)
        if (!strcmp(a->named[i].name, name)) return a->named[i].attr;
    return NULL;
}

bool mlir_text_is(struct mlir_text t, const char *s)
{
    return t.data && t.bytes == strlen(s) && !memcmp(t.data, s, t.bytes);
}

struct mlir_text mlir_text_copy(struct arena *a, const char *data, size_t bytes)
{
    char *copy = arena_alloc(a, bytes + 1);
    if (bytes) memcpy(copy, data, bytes);
    return (struct mlir_text){copy, bytes};
}

static struct mlir_type *new_type(struct arena *a, enum mlir_type_kind kind)
{
    struct mlir_type *t = arena_alloc(a, sizeof(*t));
    t->kind = kind;
    t->element = ELEMENT_COUNT;
    return t;
}

const struct mlir_type *mlir_scalar_type(struct arena *a, const char *name, size_t length)
{
    struct mlir_type *t = new_type(a, MLIR_SCALAR);
    t->element = hlo_element_find_mlir(name, length);
    t->text = mlir_text_copy(a, name, length);
    return t;
}

const struct mlir_type *mlir_tensor_type(struct arena *a, const struct mlir_type *item, int rank,
                                         const int64_t *dim, const struct mlir_attr *encoding)
{
    struct mlir_type *t = new_type(a, MLIR_TENSOR);
    t->is_ranked = true;
    t->rank = rank;
    t->dim = rank ? arena_copy(a, dim, (size_t)rank, sizeof(*dim)) : NULL;
    t->item = item;
    t->encoding = encoding;
    return t;
}

const struct mlir_type *mlir_tuple_type(struct arena *a, int count,
                                        const struct mlir_type *const *part)
{
    struct mlir_type *t = new_type(a, MLIR_TUPLE);
    t->part_count = count;
    t->part = count ? arena_copy(a, part, (size_t)count, sizeof(*part)) : NULL;
    return t;
}

const struct mlir_type *mlir_function_type(struct arena *a, int count,
                                           const struct mlir_type *const *input, int result_count,
                                           const struct mlir_type *const *result)
{
    struct mlir_type *t = new_type(a, MLIR_FUNCTION);
    t->part_count = count;
    t->part = count ? arena_copy(a, input, (size_t)count, sizeof(*input)) : NULL;
    t->result_count = result_count;
    t->result = result_count ? arena_copy(a, result, (size_t)result_count, sizeof(*result)) : NULL;
    return t;
}

const struct mlir_type *mlir_plain_type(struct arena *a, enum mlir_type_kind kind,
                                        const char *text, size_t bytes)
{
    struct mlir_type *t = new_type(a, kind);
    t->text = mlir_text_copy(a, text, bytes);
    return t;
}

bool mlir_type_equal(const struct mlir_type *a, const struct mlir_type *b)
{
    if (a == b) return true;
    if (a->kind != b->kind || a->element != b->element || a->is_ranked != b->is_ranked ||
        a->rank != b->rank || a->part_count != b->part_count ||
        a->result_count != b->result_count || a->text.bytes != b->text.bytes) return false;
    if (a->text.bytes && memcmp(a->text.data, b->text.data, a->text.bytes)) return false;
    if (a->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(*a->dim))) return false;
    if (a->item && !mlir_type_equal(a->item, b->item)) return false;
    for (int i = 0; i < a->part_count; i++)
        if (!mlir_type_equal(a->part[i], b->part[i])) return false;
    for (int i = 0; i < a->result_count; i++)
        if (!mlir_type_equal(a->result[i], b->result[i])) return false;
    return true;
}

int64_t mlir_type_elements(const struct mlir_type *t)
{
    int64_t n = 1;
    if ((t->kind != MLIR_TENSOR && t->kind != MLIR_VECTOR) || !t->is_ranked) return -1;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || __builtin_mul_overflow(n, t->dim[i], &n)) return -1;
    return n;
}

static struct mlir_attr *new_attr(struct arena *a, enum mlir_attr_kind kind)
{
    struct mlir_attr *made = arena_alloc(a, sizeof(*made));
    made->kind = kind;
    return made;
}

static const struct mlir_attr *text_attr(struct arena *a, enum mlir_attr_kind kind,
                                         const char *data, size_t bytes)
{
    struct mlir_attr *made = new_attr(a, kind);
    made->text = mlir_text_copy(a, data, bytes);
    return made;
}

const struct mlir_attr *mlir_unit(struct arena *a)
{
    return new_attr(a, MLIR_UNIT);
}

const struct mlir_attr *mlir_bool(struct arena *a, bool value)
{
    struct mlir_attr *made = new_attr(a, MLIR_BOOL);
    made->integer = value;
    return made;
}

const struct mlir_attr *mlir_integer(struct arena *a, int64_t value, const struct mlir_type *t)
{
    struct mlir_attr *made = new_attr(a, MLIR_INTEGER);
    made->integer = value;
    made->type = t;
    return made;
}

const struct mlir_attr *mlir_float(struct arena *a, double value, const struct mlir_type *t)
{
    struct mlir_attr *made = new_attr(a, MLIR_FLOAT);
    made->number = value;
    made->type = t;
    return made;
}

const struct mlir_attr *mlir_string(struct arena *a, const char *data, size_t bytes)
{
    return text_attr(a, MLIR_STRING, data, bytes);
}

const struct mlir_attr *mlir_symbol(struct arena *a, const char *data, size_t bytes)
{
    return text_attr(a, MLIR_SYMBOL, data, bytes);
}

const struct mlir_attr *mlir_raw(struct arena *a, const char *data, size_t bytes)
{
    return text_attr(a, MLIR_RAW, data, bytes);
}

const struct mlir_attr *mlir_array(struct arena *a, int count,
                                   const struct mlir_attr *const *item)
{
    struct mlir_attr *made = new_attr(a, MLIR_ARRAY);
    made->count = count;
    made->item = count ? arena_copy(a, item, (size_t)count, sizeof(*item)) : NULL;
    return made;
}

static void set_named(struct arena *a, struct mlir_attr *to, int count,
                      const struct mlir_named *named)
{
    struct mlir_named *copy = arena_array(a, (size_t)count + 1, sizeof(*copy));
    for (int i = 0; i < count; i++)
        copy[i] = (struct mlir_named){arena_strdup(a, named[i].name), named[i].attr};
    to->count = count;
    to->named = copy;
}

const struct mlir_attr *mlir_dictionary(struct arena *a, int count,
                                        const struct mlir_named *named)
{
    struct mlir_attr *made = new_attr(a, MLIR_DICTIONARY);
    set_named(a, made, count, named);
    return made;
}

const struct mlir_attr *mlir_type_attr(struct arena *a, const struct mlir_type *t)
{
    struct mlir_attr *made = new_attr(a, MLIR_TYPE);
    made->type = t;
    return made;
}

const struct mlir_attr *mlir_dense(struct arena *a, const struct mlir_type *t, const void *data,
                                   bool is_splat)
{
    struct mlir_attr *made = new_attr(a, MLIR_DENSE);
    made->type = t;
    made->data = data;
    made->is_splat = is_splat;
    return made;
}

const struct mlir_attr *mlir_ints(struct arena *a, int count, const int64_t *ints,
                                  const struct mlir_type *element)
{
    struct mlir_attr *made = new_attr(a, MLIR_INTS);
    made->count = count;
    made->ints = count ? arena_copy(a, ints, (size_t)count, sizeof(*ints)) : NULL;
    made->type = element;
    return made;
}

const struct mlir_attr *mlir_enum(struct arena *a, const char *name, const char *value)
{
    struct mlir_attr *made = new_attr(a, MLIR_ENUM);
    made->name = arena_strdup(a, name);
    made->text = mlir_text_copy(a, value, strlen(value));
    return made;
}

const struct mlir_attr *mlir_dialect(struct arena *a, const char *name, const char *text,
                                     size_t bytes, int count, const struct mlir_named *named)
{
    struct mlir_attr *made = new_attr(a, MLIR_DIALECT);
    made->name = arena_strdup(a, name);
    made->text = mlir_text_copy(a, text, bytes);
    set_named(a, made, count, named);
    return made;
}

const struct mlir_attr *mlir_location(struct arena *a, enum mlir_location_kind kind,
                                      const char *text, size_t bytes, int count,
                                      const struct mlir_attr *const *item)
{
    struct mlir_attr *made = new_attr(a, MLIR_LOCATION);
    made->location = kind;
    made->text = mlir_text_copy(a, text, bytes);
    made->count = count;
    made->item = count ? arena_copy(a, item, (size_t)count, sizeof(*item)) : NULL;
    return made;
}

const struct mlir_attr *mlir_file_location(struct arena *a, const char *file, size_t bytes,
                                           int line, int col, int end_line, int end_col)
{
    struct mlir_attr *made = new_attr(a, MLIR_LOCATION);
    made->location = MLIR_LOCATION_FILE;
    made->text = mlir_text_copy(a, file, bytes);
    made->line = line;
    made->col = col;
    made->end_line = end_line;
    made->end_col = end_col;
    return made;
}
