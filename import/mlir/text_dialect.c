/* Attributes of dialects, `#stablehlo.dot<..>`, and of those that have names the parameters. */
#include "import/mlir/text.h"

#include <string.h>

/* a list of integers is a dense array, whatever brackets it stands in */
static const struct mlir_attr *as_ints(struct mlir_reader *r, const struct mlir_attr *a)
{
    size_t mark = r->ints.count;

    if (a->kind != MLIR_ARRAY) return a;
    for (int i = 0; i < a->count; i++)
        if (a->item[i]->kind != MLIR_INTEGER) return a;
    for (int i = 0; i < a->count; i++) MLIR_PUSH(r->ints, a->item[i]->integer);
    a = mlir_ints(r->arena, a->count, r->ints.item + mark, mlir_scalar_type(r->arena, "i64", 3));
    r->ints.count = mark;
    return a;
}

const struct mlir_attr *mlir_read_params(struct mlir_reader *r, const char *name,
                                         const char *close)
{
    size_t mark = r->attrs.count;
    const char *begin = r->at;
    const struct mlir_attr *made = NULL;
    bool is_good = true;

    while (is_good && !mlir_peek(r, close)) {
        struct mlir_span key;
        is_good = !mlir_read_word(r, &key) && !mlir_expect(r, "=");
        const struct mlir_attr *value = is_good ? mlir_read_attr(r) : NULL;
        is_good = value &&
                  !mlir_add_attr(r, mlir_text_copy(r->arena, key.data, key.bytes).data,
                                 as_ints(r, value)) &&
                  (mlir_accept(r, ",") || mlir_peek(r, close) || !mlir_expect(r, close));
    }
    if (is_good)
        made = mlir_dialect(r->arena, name, begin, (size_t)(r->at - begin),
                            (int)(r->attrs.count - mark), r->attrs.item + mark);
    r->attrs.count = mark;
    return is_good && !mlir_expect(r, close) ? made : NULL;
}

/* one of the three lists of conv's dimension numbers: where each letter stands, and each digit */
struct conv_list {
    int64_t first, second;              /* b or o or i.. -1: not there */
    int64_t spatial[HLO_NESTING_MAX];
    int count;
};

static int read_conv_list(struct mlir_reader *r, const char *first, const char *second,
                          struct conv_list *l)
{
    int64_t place = 0, at;

    *l = (struct conv_list){.first = -1, .second = -1};
    for (int i = 0; i < HLO_NESTING_MAX; i++) l->spatial[i] = -1;
    if (mlir_expect(r, "[")) return -1;
    do {
        if (mlir_accept(r, first)) {
            l->first = place++;
        } else if (mlir_accept(r, second)) {
            l->second = place++;
        } else if (mlir_accept(r, "?")) {
            place++;
        } else {
            if (mlir_read_int(r, &at)) return -1;
            if (at < 0 || at >= HLO_NESTING_MAX || l->spatial[at] >= 0)
                return mlir_fail(r, "no spatial dimension is, or two are, number %lld",
                                 (long long)at);
            l->spatial[at] = place++;
            l->count++;
        }
    } while (mlir_accept(r, ","));
    for (int i = 0; i < l->count; i++)
        if (l->spatial[i] < 0) return mlir_fail(r, "spatial dimension %d is missing", i);
    if (l->first < 0 || l->second < 0)
        return mlir_fail(r, "\"%s\" or \"%s\" is missing of the dimensions", first, second);
    return mlir_expect(r, "]");
}

static void add_conv_list(struct mlir_reader *r, const struct conv_list *l, const char *first,
                          const char *second, const char *spatial)
{
    const struct mlir_type *i64 = mlir_scalar_type(r->arena, "i64", 3);
    mlir_add_attr(r, first, mlir_integer(r->arena, l->first, i64));
    mlir_add_attr(r, second, mlir_integer(r->arena, l->second, i64));
    mlir_add_attr(r, spatial, mlir_ints(r->arena, l->count, l->spatial, i64));
}

const struct mlir_attr *mlir_read_conv_dims(struct mlir_reader *r)
{
    struct conv_list in, kernel, out;
    size_t mark = r->attrs.count;

    mlir_skip(r);
    const char *begin = r->at;
    if (mlir_enter(r)) return NULL;
    if (read_conv_list(r, "b", "f", &in)) return NULL;
    if (mlir_next_char(r) != 'x') return mlir_expect(r, "x"), NULL;
    r->at++;
    if (read_conv_list(r, "i", "o", &kernel)) return NULL;
    if (mlir_expect(r, "->") || read_conv_list(r, "b", "f", &out)) return NULL;
    add_conv_list(r, &in, "input_batch_dimension", "input_feature_dimension",
                  "input_spatial_dimensions");
    add_conv_list(r, &kernel, "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                  "kernel_spatial_dimensions");
    add_conv_list(r, &out, "output_batch_dimension", "output_feature_dimension",
                  "output_spatial_dimensions");
    const struct mlir_attr *made =
        mlir_dialect(r->arena, "stablehlo.conv", begin, (size_t)(r->at - begin),
                     (int)(r->attrs.count - mark), r->attrs.item + mark);
    r->attrs.count = mark;
    r->depth--;
    return made;
}

/* `?, 12` */
static int read_bounds(struct mlir_reader *r, const char *close)
{
    while (!mlir_peek(r, close)) {
        int64_t bound = HLO_UNBOUNDED;
        if (!mlir_accept(r, "?") && mlir_read_int(r, &bound)) return -1;
        MLIR_PUSH(r->ints, bound);
        if (!mlir_accept(r, ",") && !mlir_peek(r, close)) return mlir_expect(r, close);
    }
    return mlir_expect(r, close);
}

static const struct mlir_attr *read_bounds_attr(struct mlir_reader *r, const char *name)
{
    size_t mark = r->ints.count;
    const struct mlir_attr *made = NULL;
    const char *begin = r->at;
    bool has_key = mlir_accept(r, "bounds");
    bool is_good = !has_key || (!mlir_expect(r, "=") && !mlir_expect(r, "["));

    if (is_good && !read_bounds(r, has_key ? "]" : ">") && (!has_key || !mlir_expect(r, ">"))) {
        const struct mlir_named bounds = {
            "bounds", mlir_ints(r->arena, (int)(r->ints.count - mark), r->ints.item + mark,
                                mlir_scalar_type(r->arena, "i64", 3))};
        made = mlir_dialect(r->arena, name, begin, (size_t)(r->at - 1 - begin), 1, &bounds);
    }
    r->ints.count = mark;
    return made;
}

static bool has_params(const char *name)
{
    static const char *const named[] = {"dot", "gather", "scatter", "channel_handle",
                                        "output_operand_alias", "dot_algorithm", "result_accuracy"};
    const char *dot = strchr(name, '.');
    bool is_ours = !strncmp(name, "stablehlo.", 10) || !strncmp(name, "mhlo.", 5);
    if (!strcmp(name, "chlo.ragged_dot")) return true;
    for (size_t i = 0; is_ours && i < sizeof(named) / sizeof(named[0]); i++)
        if (!strcmp(dot + 1, named[i])) return true;
    return false;
}

/* the cursor is behind `<` */
static const struct mlir_attr *read_body(struct mlir_reader *r, const char *name, const char *end)
{
    const char *dot = strchr(name, '.');
    bool is_ours = !strncmp(name, "stablehlo.", 10) || !strncmp(name, "mhlo.", 5);

    if (has_params(name)) return mlir_read_params(r, name, ">");
    if (is_ours && (!strcmp(dot + 1, "bounds") || !strcmp(dot + 1, "type_extensions")))
        return read_bounds_attr(r, name);
    if (is_ours && !strcmp(dot + 1, "conv")) {
        const struct mlir_attr *a = mlir_read_conv_dims(r);
        return a && !mlir_expect(r, ">") ? a : NULL;
    }
    const char *begin = r->at;
    r->at = end;
    return mlir_dialect(r->arena, name, begin, (size_t)(end - 1 - begin), 0, NULL);
}

/* `#stablehlo<precision HIGH>` or `#stablehlo<dot<..>>`; the cursor is behind `#stablehlo<` */
static const struct mlir_attr *read_wrapped(struct mlir_reader *r, struct mlir_span dialect)
{
    struct mlir_span word, value;

    if (mlir_read_word(r, &word)) return NULL;
    const char *name = arena_printf(r->arena, "%.*s.%.*s", (int)dialect.bytes, dialect.data,
                                    (int)word.bytes, word.data);
    const struct mlir_attr *a;
    if (mlir_accept(r, "<")) {
        const char *end = mlir_balanced_end(r, r->at - 1);
        if (!end) return mlir_fail(r, "%s<..> without its end", name), NULL;
        a = read_body(r, name, end);
    } else if (mlir_read_word(r, &value)) {
        return NULL;
    } else {
        a = mlir_enum(r->arena, name, mlir_text_copy(r->arena, value.data, value.bytes).data);
    }
    return a && !mlir_expect(r, ">") ? a : NULL;
}

/* `#stablehlo.precision<HIGH>` is an enumeration's value too */
static bool is_one_word(const char *from, const char *to)
{
    if (from == to) return false;
    for (const char *p = from; p < to; p++)
        if (!(*p >= 'A' && *p <= 'Z') && *p != '_' && !(p > from && *p >= '0' && *p <= '9'))
            return false;
    return true;
}

const struct mlir_attr *mlir_read_dialect_attr(struct mlir_reader *r)
{
    const char *begin = r->at++;
    struct mlir_span name;

    if (mlir_read_suffix(r, &name)) return NULL;
    struct mlir_span whole = {begin, (size_t)(r->at - begin)};
    if (mlir_alias_of(r, whole)) return mlir_alias_attr(r, whole);
    bool is_open = r->at < r->end && *r->at == '<';
    const char *dot = memchr(name.data, '.', name.bytes);
    const char *copy = mlir_text_copy(r->arena, name.data, name.bytes).data;
    if (!dot && !is_open)
        return mlir_fail_at(r, begin, "no attribute is defined as #%s", copy), NULL;
    if (!is_open) return mlir_dialect(r->arena, copy, "", 0, 0, NULL);
    const char *end = mlir_balanced_end(r, r->at);
    if (!end) return mlir_fail(r, "#%s<..> without its end", copy), NULL;
    r->at++;
    if (!dot) return read_wrapped(r, name);
    bool is_ours = !strncmp(copy, "stablehlo.", 10) || !strncmp(copy, "mhlo.", 5);
    if (!is_ours || !is_one_word(r->at, end - 1)) return read_body(r, copy, end);
    const char *value = mlir_text_copy(r->arena, r->at, (size_t)(end - 1 - r->at)).data;
    r->at = end;
    return mlir_enum(r->arena, copy, value);
}
