/* The tables of attributes and types, and what bodies of all dialects are made of. */
#include "import/bytecode/attr.h"

#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_BYTES 16u                 /* what reading a location costs beside its bytes */

static const struct bytecode_dialect bytecode_dialects[] = {
    {"builtin", bytecode_builtin_attr, bytecode_builtin_type, bytecode_builtin_is_light},
    {"vhlo", bytecode_vhlo_attr, bytecode_vhlo_type, bytecode_vhlo_is_light},
    {"sdy", bytecode_sdy_attr, NULL, NULL},
};

static const struct bytecode_dialect *find_dialect(const char *name)
{
    for (size_t i = 0; i < sizeof(bytecode_dialects) / sizeof(bytecode_dialects[0]); i++) {
        if (strcmp(bytecode_dialects[i].name, name) == 0)
            return &bytecode_dialects[i];
    }
    return NULL;
}

static const struct mlir_attr *any_attr(struct bytecode_reader *r)
{
    return mlir_unit(r->arena);
}

static const struct mlir_type *any_type(struct bytecode_reader *r)
{
    return mlir_plain_type(r->arena, MLIR_NONE, "none", 4);
}

/* What has no code of its own is a text that ends in NUL. */
static size_t text_size(struct bytecode_stream *s)
{
    size_t bytes = bytecode_left(s);

    if (bytes == 0 || s->end[-1] != 0) {
        bytecode_fail(s, "an attribute or type written as text, without its end");
        return 0;
    }
    return bytes - 1;
}

static const struct mlir_attr *read_text_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    struct mlir_text text = mlir_text_copy(r->arena, (const char *)s->at, text_size(s));

    s->at = s->end;
    return bytecode_shared_text(r, MLIR_RAW, text);
}

static const struct mlir_type *read_text_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    static const char token[] = "!stablehlo.token";
    const char *text = (const char *)s->at;
    size_t bytes = text_size(s);

    s->at = s->end;
    if (bytes == strlen(token) && memcmp(text, token, bytes) == 0)
        return mlir_plain_type(r->arena, MLIR_TOKEN, text, bytes);
    if (hlo_element_find_mlir(text, bytes) != ELEMENT_COUNT)
        return mlir_scalar_type(r->arena, text, bytes);
    return mlir_plain_type(r->arena, MLIR_OPAQUE, text, bytes);
}

/* Before an entry's body is read: it must not be within itself, nor too deep. */
static bool enter(struct bytecode_reader *r, struct bytecode_stream *s, size_t entry)
{
    unsigned char bit = (unsigned char)(1 << entry % 8);

    if (r->begun[entry / 8] & bit)
        bytecode_fail(s, "an attribute or type that is made of itself");
    else if (r->depth >= BYTECODE_DEPTH_MAX)
        bytecode_fail(s, "attributes within attributes, more than %d deep", BYTECODE_DEPTH_MAX);
    if (bytecode_is_failed(s))
        return false;
    r->begun[entry / 8] |= bit;
    r->depth++;
    return true;
}

static void leave(struct bytecode_reader *r, size_t entry)
{
    r->begun[entry / 8] &= (unsigned char)~(1 << entry % 8);
    r->depth--;
}

static const struct mlir_attr *read_attr(struct bytecode_reader *r,
                                         const struct bytecode_entry *entry)
{
    struct bytecode_stream s = bytecode_stream_over(&r->file, entry->body, entry->bytes);
    const struct bytecode_dialect *dialect = r->dialect[entry->dialect];
    const struct mlir_attr *made;

    if (!entry->is_custom)
        return read_text_attr(r, &s);
    if (!dialect) {
        bytecode_fail(&s, "an attribute of dialect \"%s\", of which none is known here",
                      r->file.dialect[entry->dialect]);
        return any_attr(r);
    }
    made = dialect->attr(r, &s);
    bytecode_end(&s, "an attribute");
    return made ? made : any_attr(r);
}

static const struct mlir_type *read_type(struct bytecode_reader *r,
                                         const struct bytecode_entry *entry)
{
    struct bytecode_stream s = bytecode_stream_over(&r->file, entry->body, entry->bytes);
    const struct bytecode_dialect *dialect = r->dialect[entry->dialect];
    const struct mlir_type *made;

    if (!entry->is_custom)
        return read_text_type(r, &s);
    if (!dialect || !dialect->type) {
        bytecode_fail(&s, "a type of dialect \"%s\", of which none is known here",
                      r->file.dialect[entry->dialect]);
        return any_type(r);
    }
    made = dialect->type(r, &s);
    bytecode_end(&s, "a type");
    return made ? made : any_type(r);
}

static bool is_light(struct bytecode_reader *r, const struct bytecode_entry *entry)
{
    struct bytecode_stream s = bytecode_stream_over(&r->file, entry->body, entry->bytes);
    const struct bytecode_dialect *dialect = r->dialect[entry->dialect];

    return entry->is_custom && entry->bytes > 0 && dialect && dialect->is_light &&
           dialect->is_light(bytecode_varint(&s));
}

/*
 * In the arena of the moment, and not kept. Many may name one long chain, so there is an end to
 * reading attributes again: from then on each is kept.
 */
static const struct mlir_attr *read_again(struct bytecode_reader *r, struct bytecode_stream *s,
                                          size_t i, const struct bytecode_entry *entry)
{
    size_t cost = entry->bytes + AGAIN_BYTES;
    bool stays = r->again_left < cost;
    struct arena *was = r->arena;
    const struct mlir_attr *made;

    if (r->kept && r->kept[i])
        return r->kept[i];
    if (!enter(r, s, i))
        return any_attr(r);
    if (stays && !r->kept)
        r->kept = arena_array(r->file.arena, r->file.attr.count, sizeof(*r->kept));
    r->arena = stays ? r->file.arena : r->arena;
    r->again_left -= stays ? 0 : cost;
    made = read_attr(r, entry);
    r->arena = was;
    if (stays)
        r->kept[i] = made;
    leave(r, i);
    return made;
}

static const struct mlir_attr *attr_at(struct bytecode_reader *r, struct bytecode_stream *s,
                                       uint64_t index)
{
    size_t i = bytecode_check_index(s, index, r->file.attr.count, "attribute");
    struct arena *was = r->arena;
    struct bytecode_entry entry;

    if (bytecode_is_failed(s))
        return any_attr(r);
    if (r->attr[i] && r->attr[i] % 2 == 0)
        return (const struct mlir_attr *)r->attr[i];
    entry = bytecode_entry_at(&r->file.attr, i);
    if (r->is_later && is_light(r, &entry))
        return read_again(r, s, i, &entry);
    if (!enter(r, s, i))
        return any_attr(r);
    r->arena = r->file.arena;
    r->attr[i] = (uintptr_t)read_attr(r, &entry);
    r->arena = was;
    leave(r, i);
    return (const struct mlir_attr *)r->attr[i];
}

const struct mlir_attr *bytecode_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    return attr_at(r, s, bytecode_varint(s));
}

/* Names of operations are few, and each place has one. */
static const char *keep_op_type(struct bytecode_reader *r, const char *name)
{
    for (int k = 0; k < BYTECODE_OP_TYPES && k < r->op_types; k++)
        if (strcmp(r->op_type[k], name) == 0)
            return r->op_type[k];
    name = arena_strdup(r->file.arena, name);
    r->op_type[r->op_types++ % BYTECODE_OP_TYPES] = name;
    return name;
}

static unsigned hash_place(const struct hlo_place *p)
{
    unsigned hash = (unsigned)p->line * 31 + (unsigned)p->col;

    for (const char *c = p->op_name; c && *c; c++)
        hash = hash * 31 + (unsigned char)*c;
    return hash ^ hash >> 16;
}

/* Locations that differ in what no place says are many: callers, above all. */
static const struct hlo_place *place_of(struct bytecode_reader *r,
                                        const struct mlir_attr *location)
{
    const struct hlo_place *kept, **met;
    struct hlo_place p;

    mlir_place_of(r->arena, location, &p);
    if (p.op_type)
        p.op_type = keep_op_type(r, p.op_type);
    met = &r->place[hash_place(&p) % BYTECODE_PLACES];
    kept = hlo_place_keep(r->file.arena, &p, *met);
    if (kept)
        *met = kept;
    return kept ? kept : &hlo_nowhere;
}

const struct hlo_place *bytecode_place(struct bytecode_reader *r, struct bytecode_stream *s)
{
    size_t i = bytecode_index(s, r->file.attr.count, "attribute");
    const struct mlir_attr *location;
    struct arena passing, *was = r->arena;

    if (bytecode_is_failed(s))
        return &hlo_nowhere;
    if (r->attr[i] % 2 == 0) {
        arena_init(&passing);
        arena_pack(&passing, true);
        r->arena = &passing;
        location = attr_at(r, s, i);
        if (location->kind != MLIR_LOCATION)
            bytecode_fail(s, "a location that is another attribute");
        if (!bytecode_is_failed(s))
            r->attr[i] = (uintptr_t)place_of(r, location) + 1;
        r->arena = was;
        arena_fini(&passing);
    }
    return r->attr[i] % 2 ? (const struct hlo_place *)(r->attr[i] - 1) : &hlo_nowhere;
}

const struct mlir_attr *bytecode_attr_or_null(struct bytecode_reader *r, struct bytecode_stream *s)
{
    bool is_there;
    uint64_t i = bytecode_flagged(s, &is_there);

    return is_there ? attr_at(r, s, i) : NULL;
}

static const struct mlir_type *type_at(struct bytecode_reader *r, struct bytecode_stream *s,
                                       uint64_t index)
{
    size_t i = bytecode_check_index(s, index, r->file.type.count, "type");
    struct arena *was = r->arena;
    struct bytecode_entry entry;

    if (bytecode_is_failed(s))
        return any_type(r);
    if (r->type[i])
        return r->type[i];
    if (!enter(r, s, r->file.attr.count + i))
        return any_type(r);
    entry = bytecode_entry_at(&r->file.type, i);
    r->arena = r->file.arena;
    r->type[i] = read_type(r, &entry);
    r->arena = was;
    leave(r, r->file.attr.count + i);
    return r->type[i];
}

const struct mlir_type *bytecode_type(struct bytecode_reader *r, struct bytecode_stream *s)
{
    return type_at(r, s, bytecode_varint(s));
}

#define SPEND_TIMES 64                  /* texts of shardings are longer than their codes */
#define SPEND_BYTES (1 << 20)

bool bytecode_spend(struct bytecode_reader *r, struct bytecode_stream *s, size_t bytes)
{
    if (bytes > r->bytes_left)
        bytecode_fail(s, "attributes that become more than %d times the file", SPEND_TIMES);
    if (bytecode_is_failed(s))
        return false;
    r->bytes_left -= bytes;
    return true;
}

struct mlir_attr *bytecode_shared_text(struct bytecode_reader *r, enum mlir_attr_kind kind,
                                       struct mlir_text text)
{
    struct mlir_attr *made = arena_alloc(r->arena, sizeof(*made));

    made->kind = kind;
    made->text = text;
    return made;
}

void bytecode_write(struct bytecode_writer *w)
{
    w->to = text_memory(&w->text, &w->bytes);
}

const char *bytecode_written(struct bytecode_reader *r, struct bytecode_stream *s,
                             struct bytecode_writer *w)
{
    const char *text = "";

    text_memory_end(w->to, &w->text);
    if (bytecode_spend(r, s, w->bytes))
        text = arena_copy(r->arena, w->text, w->bytes + 1, 1);
    free(w->text);
    return text;
}

const struct mlir_attr *bytecode_written_attr(struct bytecode_reader *r, struct bytecode_stream *s,
                                              struct bytecode_writer *w, const char *name)
{
    const char *text = bytecode_written(r, s, w);

    return mlir_dialect(r->arena, name, text, strlen(text), 0, NULL);
}

static void make_tables(struct bytecode_reader *r, const struct bytecode_file *f)
{
    r->attr = arena_array(r->arena, f->attr.count, sizeof(*r->attr));
    r->type = arena_array(r->arena, f->type.count, sizeof(*r->type));
    r->begun = arena_alloc(r->arena, (f->attr.count + f->type.count) / 8 + 1);
    r->dialect = arena_array(r->arena, f->dialect_count, sizeof(*r->dialect));
    for (size_t i = 0; i < f->dialect_count; i++)
        r->dialect[i] = find_dialect(f->dialect[i]);
    r->bytes_left = r->again_left = SPEND_BYTES + SPEND_TIMES * f->bytes;
}

int bytecode_read_tables(struct bytecode_reader *r, bool is_later)
{
    struct bytecode_file *f = &r->file;
    struct bytecode_stream s = bytecode_stream_over(f, f->start, 0);

    r->is_later = is_later;
    make_tables(r, f);
    for (size_t i = 0; i < f->type.count && !bytecode_is_failed(&s); i++)
        type_at(r, &s, i);
    for (size_t i = 0; i < f->attr.count && !bytecode_is_failed(&s); i++) {
        struct bytecode_entry entry = bytecode_entry_at(&f->attr, i);

        if (!is_later || !is_light(r, &entry))
            attr_at(r, &s, i);
    }
    return bytecode_is_failed(&s) ? -1 : 0;
}

/* Counts are never above the bytes of a file, and these are never above INT_MAX. */
static int count_of(struct bytecode_stream *s, const char *what)
{
    size_t count = bytecode_count(s, what);

    return count > INT_MAX ? INT_MAX : (int)count;
}

const struct mlir_attr *const *bytecode_attrs(struct bytecode_reader *r, struct bytecode_stream *s,
                                              int *count)
{
    const struct mlir_attr **item;

    *count = count_of(s, "attributes");
    item = arena_array(r->arena, (size_t)*count, sizeof(const struct mlir_attr *));
    for (int i = 0; i < *count; i++)
        item[i] = bytecode_attr(r, s);
    return item;
}

const struct mlir_type *const *bytecode_types(struct bytecode_reader *r, struct bytecode_stream *s,
                                              int *count)
{
    const struct mlir_type **item;

    *count = count_of(s, "types");
    item = arena_array(r->arena, (size_t)*count, sizeof(const struct mlir_type *));
    for (int i = 0; i < *count; i++)
        item[i] = bytecode_type(r, s);
    return item;
}

static const int64_t *read_numbers(struct bytecode_reader *r, struct bytecode_stream *s, int *count)
{
    int64_t *item;

    *count = count_of(s, "numbers");
    item = arena_array(r->arena, (size_t)*count, sizeof(*item));
    for (int i = 0; i < *count; i++)
        item[i] = bytecode_svarint(s);
    return item;
}

const struct mlir_attr *bytecode_ints(struct bytecode_reader *r, struct bytecode_stream *s)
{
    int count;
    const int64_t *item = read_numbers(r, s, &count);

    return mlir_ints(r->arena, count, item, bytecode_scalar(r, "i64"));
}

const struct mlir_type *bytecode_scalar(struct bytecode_reader *r, const char *name)
{
    return mlir_scalar_type(r->arena, name, strlen(name));
}

/* of si32, which attributes of the tpu dialect have; 0: no such type, or of more than 64 bits */
static int signed_bits(const struct mlir_text *text)
{
    long bits = text->bytes > 2 && text->bytes < 5 && !memcmp(text->data, "si", 2)
                    ? strtol(text->data + 2, NULL, 10) : 0;

    return bits > 0 && bits <= 64 ? (int)bits : 0;
}

/* Index is no element of a program but 64 bits here. */
static int scalar_bits(const struct mlir_type *t)
{
    if (t->kind != MLIR_SCALAR)
        return 0;
    if (t->element == ELEMENT_COUNT)
        return mlir_text_is(t->text, "index") ? 64 : signed_bits(&t->text);
    return hlo_element_bits(t->element);
}

const struct mlir_attr *bytecode_integer_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *t = bytecode_type(r, s);
    int bits = scalar_bits(t);
    bool is_index = t->element == ELEMENT_COUNT;

    if (bits == 0 || (!is_index && t->element != ELEMENT_PRED && !hlo_element_is_integer(t->element))) {
        bytecode_fail(s, "an integer of a type that is none of up to 64 bits");
        return any_attr(r);
    }
    if (t->element == ELEMENT_PRED)
        return mlir_bool(r->arena, bytecode_integer(s, 1, false) != 0);
    return mlir_integer(r->arena, bytecode_integer(s, bits, is_index ||
                            hlo_element_kind(t->element) == ELEMENT_KIND_SIGNED), t);
}

const struct mlir_attr *bytecode_float_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *t = bytecode_type(r, s);
    int64_t bits;

    if (t->kind != MLIR_SCALAR || t->element == ELEMENT_COUNT || !hlo_element_is_float(t->element)) {
        bytecode_fail(s, "a number of a type that is no floating-point type of up to 64 bits");
        return any_attr(r);
    }
    bits = bytecode_integer(s, hlo_element_bits(t->element), false);
    return mlir_float(r->arena, hlo_element_load(t->element, &bits), t);
}

const struct mlir_attr *bytecode_dense_of(struct bytecode_reader *r, struct bytecode_stream *s,
                                          const struct mlir_type *t, const void *data,
                                          size_t bytes)
{
    const char *wrong = "the elements do not fit their type";
    const struct mlir_attr *made = NULL;

    if (bytecode_is_failed(s))
        return any_attr(r);
    if (t->kind == MLIR_TENSOR || t->kind == MLIR_VECTOR)
        made = mlir_dense_of_bytes(r->arena, t, data, bytes, &wrong);
    if (!made)
        bytecode_fail(s, "%s", wrong);
    return made ? made : any_attr(r);
}

const struct mlir_attr *bytecode_dense_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *t = bytecode_type(r, s);
    uint64_t bytes = bytecode_varint(s);
    const unsigned char *data = bytecode_take(s, bytes, "elements");

    return bytecode_dense_of(r, s, t, data, (size_t)bytes);
}

static const struct mlir_type *read_item(struct bytecode_reader *r, struct bytecode_stream *s)
{
    const struct mlir_type *item = bytecode_type(r, s);

    if (item->kind != MLIR_SCALAR && item->kind != MLIR_QUANTIZED && item->kind != MLIR_OPAQUE)
        bytecode_fail(s, "a tensor whose elements are no scalars");
    return item;
}

const struct mlir_type *bytecode_unranked_type(struct bytecode_reader *r,
                                               struct bytecode_stream *s)
{
    struct mlir_type *t = arena_alloc(r->arena, sizeof(*t));

    t->kind = MLIR_TENSOR;
    t->item = read_item(r, s);
    return t;
}

const struct mlir_type *bytecode_tensor_type(struct bytecode_reader *r, struct bytecode_stream *s,
                                             const struct mlir_attr *encoding)
{
    int rank;
    const int64_t *dim = read_numbers(r, s, &rank);
    const struct mlir_type *item = read_item(r, s);

    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0 && dim[i] != HLO_UNBOUNDED)
            bytecode_fail(s, "a dimension of size %lld", (long long)dim[i]);
    }
    return bytecode_is_failed(s) ? any_type(r)
                                 : mlir_tensor_type(r->arena, item, rank, dim, encoding);
}

const struct mlir_type *bytecode_shaped_type(struct bytecode_reader *r, struct bytecode_stream *s,
                                             enum mlir_type_kind kind,
                                             const struct mlir_attr *encoding)
{
    const struct mlir_type *t = bytecode_tensor_type(r, s, encoding);
    struct mlir_type *made = arena_copy(r->arena, t, 1, sizeof(*t));

    if (t->kind == MLIR_TENSOR)
        made->kind = kind;
    return made;
}

struct mlir_text bytecode_text_of(struct bytecode_stream *s, const struct mlir_attr *a)
{
    if (a->kind != MLIR_STRING)
        bytecode_fail(s, "an attribute that must be a string is none");
    return a->kind == MLIR_STRING ? a->text : (struct mlir_text){"", 0};
}
