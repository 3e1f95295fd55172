/*
 * Attributes and types of MLIR's builtin dialect in bytecode: what modules, names, locations and
 * operations of other dialects are written with.
 */
#include "import/bytecode/attr.h"

#include <limits.h>
#include <string.h>

typedef const struct mlir_attr *attr_reader(struct bytecode_reader *r, struct bytecode_stream *s);

static attr_reader read_typed_string, read_symbol, read_nested_symbol, read_unit, read_call,
    read_file, read_fused, read_fused_with, read_named, read_unknown, read_resource,
    read_dense_array, read_strings, read_file_range, read_affine_map;

/* by code; NULL: not known here (sparse elements, newer ones) */
static attr_reader *const attr_readers[] = {
    bytecode_array_attr, bytecode_dictionary_attr, bytecode_string_attr, read_typed_string,
    read_symbol, read_nested_symbol, bytecode_type_attr, read_unit, bytecode_integer_attr,
    bytecode_float_attr, read_call, read_file, read_fused, read_fused_with, read_named,
    read_unknown, read_resource, read_dense_array, bytecode_dense_attr, read_strings, NULL,
    bytecode_attr /* distinct: itself */, read_file_range, read_affine_map
};

bool bytecode_builtin_is_light(uint64_t code)
{
    static attr_reader *const light[] = {
        read_call, read_file, read_fused, read_fused_with, read_named, read_unknown,
        read_file_range, bytecode_array_attr, bytecode_dictionary_attr, bytecode_string_attr,
        read_typed_string, read_symbol, bytecode_type_attr, read_unit, bytecode_integer_attr,
        bytecode_float_attr};

    for (size_t i = 0; i < sizeof(light) / sizeof(light[0]); i++)
        if (code < sizeof(attr_readers) / sizeof(attr_readers[0]) && attr_readers[code] == light[i])
            return true;
    return false;
}

const struct mlir_attr *bytecode_builtin_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    uint64_t code = bytecode_varint(s);

    if (code >= sizeof(attr_readers) / sizeof(attr_readers[0]) || !attr_readers[code]) {
        bytecode_fail(s, "attribute code %llu of the builtin dialect is not known",
                      (unsigned long long)code);
        return NULL;
    }
    return attr_readers[code](r, s);
}

static const struct mlir_attr *read_typed_string(struct bytecode_reader *r,
                                                 struct bytecode_stream *s)
{
    const struct mlir_attr *string = bytecode_string_attr(r, s);

    bytecode_type(r, s);
    return string;
}

static const struct mlir_attr *read_symbol(struct bytecode_reader *r, struct bytecode_stream *s)
{
    return bytecode_shared_text(r, MLIR_SYMBOL, bytecode_text_of(s, bytecode_attr(r, s)));
}

static const struct mlir_attr *read_nested_symbol(struct bytecode_reader *r,
                                                  struct bytecode_stream *s)
{
    const char *path = bytecode_text_of(s, bytecode_attr(r, s)).data;
    int count;
    const struct mlir_attr *const *inner = bytecode_attrs(r, s, &count);

    for (int i = 0; i < count; i++) {
        if (inner[i]->kind != MLIR_SYMBOL) {
            bytecode_fail(s, "a symbol within a symbol is none");
            return NULL;
        }
        if (!bytecode_spend(r, s, strlen(path) + inner[i]->text.bytes + 2))
            return NULL;
        path = arena_printf(r->arena, "%s::%s", path, inner[i]->text.data);
    }
    return mlir_symbol(r->arena, path, strlen(path));
}

static const struct mlir_attr *read_unit(struct bytecode_reader *r, struct bytecode_stream *s)
{
    (void)s;
    return mlir_unit(r->arena);
}

/* Lines and columns beyond what an int holds are not known. */
static int line_of(uint64_t number)
{
    return number > INT_MAX ? 0 : (int)number;
}

static struct mlir_attr *location(struct bytecode_reader *r, enum mlir_location_kind kind,
                                  struct mlir_text text)
{
    struct mlir_attr *made = bytecode_shared_text(r, MLIR_LOCATION, text);

    made->location = kind;
    return made;
}

static const struct mlir_attr *read_file(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_text file = bytecode_text_of(s, bytecode_attr(r, s));
    struct mlir_attr *place = location(r, MLIR_LOCATION_FILE, file);

    place->line = line_of(bytecode_varint(s));
    place->col = line_of(bytecode_varint(s));
    return place;
}

/* none, line, line and column, the columns of one line, both ends */
static const struct mlir_attr *read_file_range(struct bytecode_reader *r,
                                               struct bytecode_stream *s)
{
    struct mlir_text file = bytecode_text_of(s, bytecode_attr(r, s));
    struct mlir_attr *place = location(r, MLIR_LOCATION_FILE, file);
    uint64_t count = bytecode_varint(s);
    int n[4] = {0};

    if (count > 4)
        bytecode_fail(s, "%llu numbers in a range of a file", (unsigned long long)count);
    for (uint64_t i = 0; i < count && i < 4; i++)
        n[i] = line_of(bytecode_varint(s));
    place->line = n[0];
    place->col = n[1];
    place->end_line = count == 4 ? n[2] : count == 3 ? n[0] : 0;
    place->end_col = count == 4 ? n[3] : n[2];
    return place;
}

static const struct mlir_attr *read_call(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_attr **both = arena_array(r->arena, 2, sizeof(*both));
    struct mlir_attr *place = location(r, MLIR_LOCATION_CALL, (struct mlir_text){"", 0});

    both[0] = bytecode_attr(r, s);
    both[1] = bytecode_attr(r, s);
    if (both[0]->kind != MLIR_LOCATION || both[1]->kind != MLIR_LOCATION) {
        bytecode_fail(s, "a call site's location is made of other attributes");
        return NULL;
    }
    place->count = 2;
    place->item = both;
    return place;
}

static const struct mlir_attr *read_fused(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_attr *place = location(r, MLIR_LOCATION_FUSED, (struct mlir_text){"", 0});
    int count;
    const struct mlir_attr *const *item = bytecode_attrs(r, s, &count);

    for (int i = 0; i < count; i++) {
        if (item[i]->kind != MLIR_LOCATION) {
            bytecode_fail(s, "a fused location is made of other attributes");
            return NULL;
        }
    }
    place->count = count;
    place->item = item;
    return place;
}

static const struct mlir_attr *read_fused_with(struct bytecode_reader *r,
                                               struct bytecode_stream *s)
{
    const struct mlir_attr *fused = read_fused(r, s);

    bytecode_attr(r, s);
    return fused;
}

static const struct mlir_attr *read_named(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_text name = bytecode_text_of(s, bytecode_attr(r, s));
    struct mlir_attr *place = location(r, MLIR_LOCATION_NAME, name);
    const struct mlir_attr *child = bytecode_attr(r, s);

    if (child->kind != MLIR_LOCATION) {
        bytecode_fail(s, "a named location's place is another attribute");
        return NULL;
    }
    place->count = child->location != MLIR_LOCATION_UNKNOWN;
    place->item = arena_copy(r->arena, &child, 1, sizeof(child));
    return place;
}

static const struct mlir_attr *read_unknown(struct bytecode_reader *r, struct bytecode_stream *s)
{
    (void)s;
    return location(r, MLIR_LOCATION_UNKNOWN, (struct mlir_text){"", 0});
}

/* Elements that stand in a section of their own; a resource that is no blob has none. */
static const struct mlir_attr *read_resource(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *t = bytecode_type(r, s);
    size_t i = bytecode_index(s, r->file.resource_count, "resource");

    if (bytecode_is_failed(s))
        return NULL;
    if (r->file.resource[i].kind != 0)
        return mlir_dense(r->arena, t, NULL, false);
    if (!bytecode_spend(r, s, r->file.resource[i].blob.bytes))
        return NULL;
    return bytecode_dense_of(r, s, t, r->file.resource[i].blob.data,
                             r->file.resource[i].blob.bytes);
}

/* A list of numbers of one type: a dense attribute's elements in one row. */
static const struct mlir_attr *read_dense_array(struct bytecode_reader *r,
                                                struct bytecode_stream *s)
{
    const struct mlir_type *t = bytecode_type(r, s);
    uint64_t count = bytecode_varint(s), bytes = bytecode_varint(s);
    const unsigned char *data = bytecode_take(s, bytes, "elements");
    size_t each;
    int64_t *ints;

    if (t->kind != MLIR_SCALAR || t->element == ELEMENT_COUNT ||
        !(hlo_element_is_integer(t->element) || t->element == ELEMENT_PRED)) {
        bytecode_fail(s, "a list of numbers that are no integers");
        return NULL;
    }
    each = hlo_element_bytes(t->element);
    if (bytecode_is_failed(s) || bytes / each != count || bytes % each || count > INT_MAX) {
        bytecode_fail(s, "a list of %llu numbers in %llu bytes", (unsigned long long)count,
                      (unsigned long long)bytes);
        return NULL;
    }
    ints = arena_array(r->arena, (size_t)count, sizeof(*ints));
    for (size_t i = 0; i < count; i++)
        ints[i] = hlo_element_load_int(t->element, data + i * each);
    return mlir_ints(r->arena, (int)count, ints, t);
}

static const struct mlir_attr *read_strings(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *t = bytecode_type(r, s);
    bool is_splat = bytecode_varint(s) != 0;
    int64_t count = is_splat ? 1 : t->kind == MLIR_TENSOR ? mlir_type_elements(t) : -1;
    const struct mlir_attr **item;

    if (count < 0 || (uint64_t)count > bytecode_left(s)) {
        bytecode_fail(s, "strings that are not there");
        return NULL;
    }
    item = arena_array(r->arena, (size_t)count, sizeof(const struct mlir_attr *));
    for (int64_t i = 0; i < count; i++)
        item[i] = bytecode_string_attr(r, s);
    return mlir_array(r->arena, (int)count, item);
}

/*
 * Maps of indices, which only layouts of kernels' memory have. Identities are written as text;
 * others are left unread, as a map that nobody knows.
 */
static const struct mlir_attr *read_affine_map(struct bytecode_reader *r,
                                               struct bytecode_stream *s)
{
    uint64_t head = bytecode_varint(s), dims = head >> 2;
    struct bytecode_writer w;
    const char *text;

    if (dims > 64) {
        bytecode_fail(s, "a map of %llu dimensions", (unsigned long long)dims);
        return NULL;
    }
    if ((head & 3) != 0) {
        s->at = s->end;
        return mlir_raw(r->arena, "affine_map<?>", strlen("affine_map<?>"));
    }
    bytecode_write(&w);
    for (int part = 0; part < 2; part++) {
        fputs(part ? ") -> (" : "affine_map<(", w.to);
        for (uint64_t d = 0; d < dims; d++)
            fprintf(w.to, "%sd%llu", d ? ", " : "", (unsigned long long)d);
    }
    fputs(")>", w.to);
    text = bytecode_written(r, s, &w);
    return mlir_raw(r->arena, text, strlen(text));
}

static const struct mlir_type *integer_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    static const char *const prefix[] = {"i", "si", "ui"};
    uint64_t u = bytecode_varint(s);

    if ((u & 3) > 2 || u >> 2 == 0 || u >> 2 > 1 << 24) {
        bytecode_fail(s, "an integer type of %llu bits", (unsigned long long)(u >> 2));
        return NULL;
    }
    return bytecode_scalar(r, arena_printf(r->arena, "%s%llu", prefix[u & 3],
                                           (unsigned long long)(u >> 2)));
}

/* The layout, which kernels have as the identity until their compiler decides, is not kept. */
static const struct mlir_type *memref_type(struct bytecode_reader *r, struct bytecode_stream *s,
                                           bool has_space)
{
    const struct mlir_attr *space = has_space ? bytecode_attr(r, s) : NULL;
    const struct mlir_type *t = bytecode_shaped_type(r, s, MLIR_MEMREF, space);

    bytecode_attr(r, s);
    return t;
}

const struct mlir_type *bytecode_builtin_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    static const char *const plain[] = {[1] = "index", [3] = "bf16", [4] = "f16", [5] = "f32",
                                        [6] = "f64", [7] = "f80", [8] = "f128", [21] = "tf32",
                                        [22] = "f8E5M2", [23] = "f8E4M3", [24] = "f8E4M3FN",
                                        [25] = "f8E5M2FNUZ", [26] = "f8E4M3FNUZ",
                                        [27] = "f8E4M3B11FNUZ", [28] = "f8E3M4",
                                        [29] = "f4E2M1FN", [30] = "f6E2M3FN",
                                        [31] = "f6E3M2FN", [32] = "f8E8M0FNU"};
    uint64_t code = bytecode_varint(s);
    const struct mlir_attr *encoding = NULL;

    if (code < sizeof(plain) / sizeof(plain[0]) && plain[code])
        return bytecode_scalar(r, plain[code]);
    switch (code) {
    case 0: return integer_type(r, s);
    case 10: return memref_type(r, s, false);
    case 11: return memref_type(r, s, true);
    case 19: return bytecode_shaped_type(r, s, MLIR_VECTOR, NULL);
    case 2: return bytecode_function_type(r, s);
    case 9: return bytecode_complex_type(r, s);
    case 12: return mlir_plain_type(r->arena, MLIR_NONE, "none", 4);
    case 14:
        encoding = bytecode_attr(r, s);
        return bytecode_tensor_type(r, s, encoding);
    case 13: return bytecode_tensor_type(r, s, NULL);
    case 15: return bytecode_tuple_type(r, s);
    case 18: return bytecode_unranked_type(r, s);
    default:
        bytecode_fail(s, "type code %llu of the builtin dialect is not known",
                      (unsigned long long)code);
        return NULL;
    }
}
