/* Types in MLIR text. Those of tensors, which are written again and again, are kept by their text. */
#include "import/mlir/text.h"

#include <ctype.h>
#include <string.h>

#define RANK_MAX 64

/* one `2x` or `?x`; 0: there is none, 1: read, -1 */
static int read_dim(struct mlir_reader *r, int64_t *dim)
{
    mlir_skip(r);
    const char *p = r->at;
    bool is_dynamic = p < r->end && *p == '?';
    if (p >= r->end || (!is_dynamic && !isdigit((unsigned char)*p))) return 0;
    p++;
    while (!is_dynamic && p < r->end && isdigit((unsigned char)*p)) p++;
    struct mlir_span s = {r->at, (size_t)(p - r->at)};
    *dim = HLO_UNBOUNDED;
    if (!is_dynamic && (mlir_int_of_span(s, dim) || *dim < 0))
        return mlir_fail(r, "a dimension beyond 64 bits");
    if (p >= r->end || *p != 'x') return mlir_fail_at(r, p, "expected \"x\" behind a dimension");
    r->at = p + 1;
    return 1;
}

static int read_dims(struct mlir_reader *r, int64_t *dim, int *rank)
{
    for (*rank = 0;; (*rank)++) {
        int64_t d;
        int found = read_dim(r, &d);
        if (found <= 0) return found;
        if (*rank == RANK_MAX) return mlir_fail(r, "more than %d dimensions", RANK_MAX);
        dim[*rank] = d;
    }
}

/* behind `tensor<` */
static const struct mlir_type *read_tensor_body(struct mlir_reader *r)
{
    int64_t dim[RANK_MAX];
    int rank = 0;
    const struct mlir_attr *encoding = NULL;

    bool is_ranked = mlir_next_char(r) != '*';
    if (!is_ranked) {
        r->at++;
        if (r->at >= r->end || *r->at != 'x') return mlir_fail(r, "expected \"*x\""), NULL;
        r->at++;
    } else if (read_dims(r, dim, &rank)) {
        return NULL;
    }
    const struct mlir_type *item = mlir_read_type(r);
    if (!item) return NULL;
    if (mlir_accept(r, ",") && !(encoding = mlir_read_attr(r))) return NULL;
    if (mlir_expect(r, ">")) return NULL;
    struct mlir_type *t = arena_copy(r->arena,
                                     mlir_tensor_type(r->arena, item, rank, dim, encoding), 1,
                                     sizeof(*t));
    t->is_ranked = is_ranked;
    return t;
}

static void grow_slots(struct mlir_reader *r)
{
    size_t slots = r->type_slots ? r->type_slots * 2 : 256;
    mem_free(r->type_slot);
    r->type_slot = mem_alloc(slots * sizeof(int));
    r->type_slots = slots;
    for (size_t i = 0; i < r->types.count; i++) {
        struct mlir_span s = r->types.item[i].text;
        size_t slot = mlir_hash(s.data, s.bytes) & (slots - 1);
        while (r->type_slot[slot]) slot = (slot + 1) & (slots - 1);
        r->type_slot[slot] = (int)i + 1;
    }
}

/* where the type of this text is or would be */
static int *type_slot_of(struct mlir_reader *r, struct mlir_span s)
{
    if (r->types.count * 2 >= r->type_slots) grow_slots(r);
    size_t slot = mlir_hash(s.data, s.bytes) & (r->type_slots - 1);
    for (; r->type_slot[slot]; slot = (slot + 1) & (r->type_slots - 1)) {
        struct mlir_span t = r->types.item[r->type_slot[slot] - 1].text;
        if (t.bytes == s.bytes && !memcmp(t.data, s.data, s.bytes)) break;
    }
    return &r->type_slot[slot];
}

static const struct mlir_type *read_tensor(struct mlir_reader *r)
{
    const char *begin = r->at;
    const char *end = mlir_balanced_end(r, begin + strlen("tensor"));

    if (!end) return mlir_fail(r, "tensor<..> without its end"), NULL;
    struct mlir_span s = {begin, (size_t)(end - begin)};
    int found = *type_slot_of(r, s);
    if (found) {
        r->at = end;
        return r->types.item[found - 1].type;
    }
    r->at += strlen("tensor<");
    const struct mlir_type *t = read_tensor_body(r);
    if (!t) return NULL;
    int *slot = type_slot_of(r, s);     /* types within it may have been added */
    MLIR_PUSH(r->types, ((struct mlir_typed_span){s, t}));
    *slot = (int)r->types.count;
    return t;
}

static const struct mlir_type *read_tuple(struct mlir_reader *r)
{
    size_t mark = r->signature.count;
    const struct mlir_type *made = NULL;

    r->at += strlen("tuple<");
    while (!mlir_peek(r, ">")) {
        if (r->signature.count > mark && mlir_expect(r, ",")) break;
        const struct mlir_type *t = mlir_read_type(r);
        if (!t) break;
        MLIR_PUSH(r->signature, t);
    }
    if (r->at < r->end && *r->at == '>') {
        r->at++;
        made = mlir_tuple_type(r->arena, (int)(r->signature.count - mark),
                               r->signature.item + mark);
    } else if (r->at >= r->end) {
        mlir_expect(r, ">");
    }
    r->signature.count = mark;
    return made;
}

/* `(t, t) -> t` */
static const struct mlir_type *read_function(struct mlir_reader *r)
{
    size_t mark = r->signature.count;
    const struct mlir_type *made = NULL;

    if (!mlir_read_type_list(r)) {
        size_t results = r->signature.count;
        if (!mlir_expect(r, "->") && !mlir_read_type_list(r))
            made = mlir_function_type(r->arena, (int)(results - mark), r->signature.item + mark,
                                      (int)(r->signature.count - results),
                                      r->signature.item + results);
    }
    r->signature.count = mark;
    return made;
}

/* `!dialect.name<..>`, `!dialect<..>` or an alias */
static const struct mlir_type *read_dialect_type(struct mlir_reader *r)
{
    const char *begin = r->at++;
    struct mlir_span name;

    if (mlir_read_suffix(r, &name)) return NULL;
    struct mlir_span whole = {begin, (size_t)(r->at - begin)};
    if (mlir_alias_of(r, whole)) return mlir_alias_type(r, whole);
    if (r->at < r->end && *r->at == '<') {
        const char *end = mlir_balanced_end(r, r->at);
        if (!end) return mlir_fail(r, "%.*s<..> without its end", (int)name.bytes, name.data), NULL;
        r->at = end;
    } else if (!memchr(name.data, '.', name.bytes)) {
        return mlir_fail_at(r, begin, "no type is named !%.*s", (int)name.bytes, name.data), NULL;
    }
    whole.bytes = (size_t)(r->at - begin);
    bool is_token = mlir_span_is(whole, "!stablehlo.token") || mlir_span_is(whole, "!mhlo.token");
    bool is_quant = whole.bytes > 7 && !memcmp(begin, "!quant.", 7);
    return mlir_plain_type(r->arena, is_token ? MLIR_TOKEN : is_quant ? MLIR_QUANTIZED : MLIR_OPAQUE,
                           whole.data, whole.bytes);
}

static bool is_integer_name(struct mlir_span s)
{
    size_t i = s.data[0] == 'i' ? 1 : 2;
    if (s.data[0] != 'i' && (s.bytes < 3 || s.data[1] != 'i' || !strchr("us", s.data[0])))
        return false;
    if (i == s.bytes) return false;
    for (; i < s.bytes; i++)
        if (!isdigit((unsigned char)s.data[i])) return false;
    return true;
}

static bool is_scalar_name(struct mlir_span s)
{
    return hlo_element_find_mlir(s.data, s.bytes) != ELEMENT_COUNT || is_integer_name(s) ||
           mlir_span_is(s, "index") || mlir_span_is(s, "tf32") || mlir_span_is(s, "f80") ||
           mlir_span_is(s, "f128");
}

/* the word at the cursor, which stays */
static struct mlir_span word_ahead(struct mlir_reader *r)
{
    mlir_skip(r);
    const char *p = r->at;
    while (p < r->end && (isalnum((unsigned char)*p) || *p == '_')) p++;
    return (struct mlir_span){r->at, (size_t)(p - r->at)};
}

bool mlir_is_type(struct mlir_reader *r)
{
    static const char *const bracketed[] = {"tensor", "complex", "tuple", "vector", "memref",
                                            "none"};
    char c = mlir_next_char(r);

    if (c == '!' || c == '(') return true;
    struct mlir_span s = word_ahead(r);
    if (s.bytes == 0) return false;
    for (size_t i = 0; i < sizeof(bracketed) / sizeof(bracketed[0]); i++)
        if (mlir_span_is(s, bracketed[i])) return true;
    return is_scalar_name(s);
}

/* `complex<f32>` and what is only kept as text: `memref<..>`, `vector<..>` */
static const struct mlir_type *read_bracketed(struct mlir_reader *r, struct mlir_span name)
{
    const char *end = mlir_balanced_end(r, r->at + name.bytes);
    if (!end) return mlir_fail(r, "%.*s<..> without its end", (int)name.bytes, name.data), NULL;
    struct mlir_span whole = {r->at, (size_t)(end - r->at)};
    r->at = end;
    if (mlir_span_is(name, "complex")) return mlir_scalar_type(r->arena, whole.data, whole.bytes);
    return mlir_plain_type(r->arena, MLIR_OPAQUE, whole.data, whole.bytes);
}

static const struct mlir_type *read_plain(struct mlir_reader *r)
{
    struct mlir_span name = word_ahead(r);
    bool is_open = r->at + name.bytes < r->end && r->at[name.bytes] == '<';

    if (is_open && mlir_span_is(name, "tensor")) return read_tensor(r);
    if (is_open && mlir_span_is(name, "tuple")) return read_tuple(r);
    if (is_open && (mlir_span_is(name, "complex") || mlir_span_is(name, "vector") ||
                    mlir_span_is(name, "memref"))) return read_bracketed(r, name);
    if (mlir_span_is(name, "none")) {
        r->at += name.bytes;
        return mlir_plain_type(r->arena, MLIR_NONE, "none", 4);
    }
    if (name.bytes == 0 || !is_scalar_name(name))
        return mlir_fail(r, name.bytes ? "no type is named \"%.*s\"" : "expected a type",
                         (int)name.bytes, name.data), NULL;
    r->at += name.bytes;
    return mlir_scalar_type(r->arena, name.data, name.bytes);
}

const struct mlir_type *mlir_read_type(struct mlir_reader *r)
{
    const struct mlir_type *t;
    char c = mlir_next_char(r);

    if (mlir_enter(r)) return NULL;
    if (c == '!') t = read_dialect_type(r);
    else if (c == '(') t = read_function(r);
    else t = read_plain(r);
    r->depth--;
    return t;
}

int mlir_read_type_list(struct mlir_reader *r)
{
    bool has_brackets = mlir_accept(r, "(");

    if (has_brackets && mlir_accept(r, ")")) return 0;
    do {
        const struct mlir_type *t = mlir_read_type(r);
        if (!t) return -1;
        MLIR_PUSH(r->signature, t);
    } while (has_brackets && mlir_accept(r, ","));
    return has_brackets ? mlir_expect(r, ")") : 0;
}
