/* Attributes in MLIR text. */
#include "import/mlir/text.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

int mlir_add_attr(struct mlir_reader *r, const char *name, const struct mlir_attr *a)
{
    if (!a) return -1;
    MLIR_PUSH(r->attrs, ((struct mlir_named){name, a}));
    return 0;
}

static int read_key(struct mlir_reader *r, const char **key)
{
    struct mlir_text quoted;
    struct mlir_span word;

    if (mlir_next_char(r) == '"') {
        if (mlir_read_string(r, &quoted)) return -1;
        *key = quoted.data;
        return 0;
    }
    if (mlir_read_word(r, &word)) return -1;
    *key = mlir_text_copy(r->arena, word.data, word.bytes).data;
    return 0;
}

int mlir_read_attr_dict(struct mlir_reader *r)
{
    size_t mark = r->attrs.count;

    if (mlir_expect(r, "{")) return -1;
    while (!mlir_accept(r, "}")) {
        const char *key;
        if (r->attrs.count > mark && mlir_expect(r, ",")) return -1;
        if (read_key(r, &key)) return -1;
        const struct mlir_attr *value = mlir_accept(r, "=") ? mlir_read_attr(r) : mlir_unit(r->arena);
        if (mlir_add_attr(r, key, value)) return -1;
    }
    return 0;
}

const struct mlir_attr *mlir_attr_dict(struct mlir_reader *r)
{
    size_t mark = r->attrs.count;
    const struct mlir_attr *made = NULL;

    if (!mlir_read_attr_dict(r))
        made = mlir_dictionary(r->arena, (int)(r->attrs.count - mark), r->attrs.item + mark);
    r->attrs.count = mark;
    return made;
}

static const struct mlir_attr *read_array(struct mlir_reader *r)
{
    size_t mark = r->items.count;
    const struct mlir_attr *made = NULL;
    bool is_good = true;

    r->at++;
    while (is_good && !mlir_peek(r, "]")) {
        is_good = r->items.count == mark || !mlir_expect(r, ",");
        const struct mlir_attr *item = is_good ? mlir_read_attr(r) : NULL;
        is_good = item != NULL;
        if (item) MLIR_PUSH(r->items, item);
    }
    if (is_good && !mlir_expect(r, "]"))
        made = mlir_array(r->arena, (int)(r->items.count - mark), r->items.item + mark);
    r->items.count = mark;
    return made;
}

static bool is_float_type(const struct mlir_type *t)
{
    if (t->kind != MLIR_SCALAR) return false;
    if (t->element != ELEMENT_COUNT) return hlo_element_is_float(t->element);
    return t->text.bytes && t->text.data[0] != 'i' && strchr("tf", t->text.data[0]);
}

/* integers given to a type of floats are its bits */
static const struct mlir_attr *bits_attr(struct mlir_reader *r, int64_t bits, bool is_hex,
                                         const struct mlir_type *t)
{
    if (!is_hex || t->element == ELEMENT_COUNT)
        return mlir_float(r->arena, (double)bits, t);
    return mlir_float(r->arena, hlo_element_load(t->element, &bits), t);
}

static bool is_float_text(struct mlir_reader *r)
{
    const char *p = r->at;
    if (p < r->end && *p == '-') p++;
    while (p < r->end && isdigit((unsigned char)*p)) p++;
    return p < r->end && *p == '.' && p > r->at;
}

static int read_double(struct mlir_reader *r, double *value)
{
    char copy[64];
    size_t n = 0;
    const char *p = r->at;

    while (p < r->end && n + 1 < sizeof(copy) &&
           (isalnum((unsigned char)*p) || *p == '.' || *p == '-' || *p == '+')) copy[n++] = *p++;
    copy[n] = '\0';
    char *end;
    *value = text_to_double(copy, &end);
    if (end == copy) return mlir_fail(r, "expected a number");
    r->at += end - copy;
    return 0;
}

static const struct mlir_attr *read_number(struct mlir_reader *r)
{
    double number = 0;
    int64_t integer = 0;
    bool is_float = is_float_text(r), is_hex = r->end - r->at > 2 && r->at[1] == 'x';
    const struct mlir_type *t = NULL;

    if (is_float ? read_double(r, &number) : mlir_read_int(r, &integer)) return NULL;
    if (mlir_accept(r, ":") && !(t = mlir_read_type(r))) return NULL;
    if (is_float) return mlir_float(r->arena, number, t);
    return t && is_float_type(t) ? bits_attr(r, integer, is_hex, t)
                                 : mlir_integer(r->arena, integer, t);
}

static const struct mlir_attr *read_string_attr(struct mlir_reader *r)
{
    struct mlir_text text;

    if (mlir_read_string(r, &text)) return NULL;
    if (mlir_accept(r, ":") && !mlir_read_type(r)) return NULL;
    return mlir_string(r->arena, text.data, text.bytes);
}

static int read_array_item(struct mlir_reader *r)
{
    int64_t value;

    if (mlir_accept(r, "true")) value = 1;
    else if (mlir_accept(r, "false")) value = 0;
    else if (mlir_read_int(r, &value)) return -1;
    MLIR_PUSH(r->ints, value);
    return 0;
}

/* `array<i64: 1, 2>`; of floats it is kept as text, for nobody has such a one */
static const struct mlir_attr *read_dense_array(struct mlir_reader *r)
{
    const char *begin = r->at;
    size_t mark = r->ints.count;
    const struct mlir_attr *made = NULL;

    r->at += strlen("array<");
    const struct mlir_type *t = mlir_read_type(r);
    if (!t) return NULL;
    if (is_float_type(t)) {
        const char *end = mlir_balanced_end(r, begin + strlen("array"));
        if (!end) return mlir_fail(r, "array<..> without its end"), NULL;
        r->at = end;
        return mlir_raw(r->arena, begin, (size_t)(end - begin));
    }
    bool is_good = true;
    if (mlir_accept(r, ":") && !mlir_peek(r, ">"))
        do is_good = !read_array_item(r);
        while (is_good && mlir_accept(r, ","));
    if (is_good && !mlir_expect(r, ">"))
        made = mlir_ints(r->arena, (int)(r->ints.count - mark), r->ints.item + mark, t);
    r->ints.count = mark;
    return made;
}

const struct mlir_attr *mlir_read_ints(struct mlir_reader *r)
{
    size_t mark = r->ints.count;
    const struct mlir_attr *made = NULL;
    bool is_good = !mlir_expect(r, "[");

    if (is_good && !mlir_peek(r, "]"))
        do is_good = !read_array_item(r);
        while (is_good && mlir_accept(r, ","));
    if (is_good && !mlir_expect(r, "]"))
        made = mlir_ints(r->arena, (int)(r->ints.count - mark), r->ints.item + mark,
                         mlir_scalar_type(r->arena, "i64", 3));
    r->ints.count = mark;
    return made;
}

static const struct mlir_attr *read_symbol_attr(struct mlir_reader *r)
{
    struct mlir_text name;
    return mlir_read_symbol(r, &name) ? NULL : mlir_symbol(r->arena, name.data, name.bytes);
}

/* what is kept as it is written, up to the end of its brackets: `affine_map<..>`, `sparse<..>` */
static const struct mlir_attr *read_raw(struct mlir_reader *r, const char *open)
{
    const char *begin = r->at, *end = mlir_balanced_end(r, open);
    if (!end) return mlir_fail(r, "a bracket without its end"), NULL;
    r->at = end;
    if (mlir_accept(r, ":") && !mlir_read_type(r)) return NULL;
    return mlir_raw(r->arena, begin, (size_t)(r->at - begin));
}

static const struct mlir_attr *read_worded(struct mlir_reader *r)
{
    if (mlir_accept(r, "true")) return mlir_bool(r->arena, true);
    if (mlir_accept(r, "false")) return mlir_bool(r->arena, false);
    if (mlir_accept(r, "unit")) return mlir_unit(r->arena);
    if (mlir_accept(r, "dense")) return mlir_read_dense(r);
    if (mlir_accept(r, "dense_resource")) return mlir_read_dense_resource(r);
    if (mlir_peek(r, "array")) return read_dense_array(r);
    if (mlir_accept(r, "loc")) {
        if (mlir_expect(r, "(")) return NULL;
        const struct mlir_attr *l = mlir_read_location_body(r);
        return l && !mlir_expect(r, ")") ? l : NULL;
    }
    if (mlir_is_type(r)) {
        const struct mlir_type *t = mlir_read_type(r);
        return t ? mlir_type_attr(r->arena, t) : NULL;
    }
    const char *p = r->at;
    while (p < r->end && (isalnum((unsigned char)*p) || *p == '_')) p++;
    if (p > r->at && p < r->end && *p == '<') return read_raw(r, p);
    if (p > r->at) mlir_fail(r, "no attribute begins with \"%.*s\"", (int)(p - r->at), r->at);
    else mlir_fail(r, "expected an attribute");
    return NULL;
}

const struct mlir_attr *mlir_read_attr(struct mlir_reader *r)
{
    const struct mlir_attr *a;
    char c = mlir_next_char(r);

    if (mlir_enter(r)) return NULL;
    if (c == '[') a = read_array(r);
    else if (c == '{') a = mlir_attr_dict(r);
    else if (c == '"') a = read_string_attr(r);
    else if (c == '@') a = read_symbol_attr(r);
    else if (c == '#') a = mlir_read_dialect_attr(r);
    else if (mlir_is_number(r)) a = read_number(r);
    else a = read_worded(r);
    r->depth--;
    return a;
}
