/* Dense elements in MLIR text: lists, one for all, hexadecimal digits, resources at the file's end. */
#include "import/mlir/text.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* where elements go, in the order in which they are written */
struct sink {
    const struct mlir_type *type;
    enum hlo_element element;           /* ELEMENT_COUNT: of type index */
    size_t width;
    unsigned char *data;
    int64_t count, room;                /* elements written, of all */
};

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* the digits between p and end as bytes; -1: they are none, or an odd number of them */
static int hex_bytes(const char *p, const char *end, unsigned char *to)
{
    if ((end - p) % 2) return -1;
    for (; p < end; p += 2) {
        int high = digit_of(p[0]), low = digit_of(p[1]);
        if (high < 0 || low < 0) return -1;
        *to++ = (unsigned char)(high * 16 + low);
    }
    return 0;
}

/* the cursor is at the quote before 0x */
static const struct mlir_attr *read_hex(struct mlir_reader *r, const struct mlir_type *t)
{
    const char *begin = r->at + 1;
    const char *end = memchr(begin, '"', (size_t)(r->end - begin)), *wrong;

    if (!end || end - begin < 2 || begin[0] != '0' || begin[1] != 'x')
        return mlir_fail(r, "dense elements in quotes are not \"0x..\""), NULL;
    size_t count = (size_t)(end - begin - 2) / 2;
    unsigned char *bytes = mem_alloc(count + 1);
    const struct mlir_attr *made = NULL;
    if (hex_bytes(begin + 2, end, bytes))
        mlir_fail(r, "dense elements are not pairs of hexadecimal digits");
    else if (!(made = mlir_dense_of_bytes(r->arena, t, bytes, count, &wrong)))
        mlir_fail(r, "dense elements: %s", wrong);
    mem_free(bytes);
    r->at = end + 1;
    return made;
}

static int fits(struct mlir_reader *r, enum hlo_element e, int64_t v, bool is_negative)
{
    int bits = e == ELEMENT_COUNT ? 64 : hlo_element_bits(e);
    if (bits >= 64) return 0;
    int64_t low = -((int64_t)1 << (bits - 1)), high = (int64_t)1 << bits;
    if (is_negative ? v >= low && v < 0 : v >= 0 && v < high) return 0;
    return mlir_fail(r, "%lld does not fit into %s", (long long)v, hlo_element_mlir_name(e));
}

static void store_int(enum hlo_element e, int64_t v, void *to)
{
    if (e == ELEMENT_COUNT) memcpy(to, &v, sizeof(v));
    else if (e == ELEMENT_PRED) *(unsigned char *)to = v != 0;
    else hlo_element_store_int(e, v, to);
}

/* one real number: `1.5`, `3`, or bits `0x7FC00000` */
static int read_real(struct mlir_reader *r, enum hlo_element e, void *to)
{
    char c = mlir_next_char(r);
    bool is_negative = c == '-';
    const char *p = r->at + is_negative;
    char copy[400], *end;
    size_t n = 0;

    if (r->end - p > 2 && p[0] == '0' && p[1] == 'x') {
        int64_t bits;
        if (mlir_read_int(r, &bits)) return -1;
        memcpy(to, &bits, hlo_element_bytes(e));
        return 0;
    }
    for (p = r->at; p < r->end && n + 1 < sizeof(copy); p++) {
        if (!isdigit((unsigned char)*p) && *p != '.' && *p != 'e' && *p != 'E' && *p != '-' &&
            *p != '+') break;
        copy[n++] = *p;
    }
    copy[n] = '\0';
    double value = text_to_double(copy, &end);
    if (end == copy) return mlir_fail(r, "expected a number");
    r->at += end - copy;
    hlo_element_store(e, value, to);
    return 0;
}

static int read_complex(struct mlir_reader *r, enum hlo_element e, unsigned char *to)
{
    enum hlo_element part = e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;
    size_t width = hlo_element_bytes(part);

    if (!mlir_accept(r, "(")) {
        memset(to + width, 0, width);
        return read_real(r, part, to);
    }
    if (read_real(r, part, to) || mlir_expect(r, ",")) return -1;
    return read_real(r, part, to + width) ? -1 : mlir_expect(r, ")");
}

static int read_integer(struct mlir_reader *r, enum hlo_element e, void *to)
{
    int64_t v;
    bool is_negative = mlir_next_char(r) == '-';

    if (mlir_accept(r, "true")) v = 1;
    else if (mlir_accept(r, "false")) v = 0;
    else if (mlir_read_int(r, &v) || fits(r, e, v, is_negative)) return -1;
    store_int(e, v, to);
    return 0;
}

static int read_element(struct mlir_reader *r, struct sink *s)
{
    if (s->count >= s->room) return mlir_fail(r, "more elements than the type has");
    unsigned char *to = s->data + (size_t)s->count++ * s->width;
    if (s->element == ELEMENT_COUNT || hlo_element_kind(s->element) == ELEMENT_KIND_PREDICATE ||
        hlo_element_is_integer(s->element)) return read_integer(r, s->element, to);
    if (hlo_element_is_complex(s->element)) return read_complex(r, s->element, to);
    return read_real(r, s->element, to);
}

/* `[..]` of dimension `dim` */
static int read_list(struct mlir_reader *r, struct sink *s, int dim)
{
    int64_t found = 0;

    if (dim >= s->type->rank)
        return mlir_fail(r, "a list within dimensions of rank %d", s->type->rank);
    if (mlir_expect(r, "[")) return -1;
    bool is_last = dim == s->type->rank - 1;
    while (!mlir_peek(r, "]")) {
        if (found && mlir_expect(r, ",")) return -1;
        if (is_last ? read_element(r, s) : read_list(r, s, dim + 1)) return -1;
        found++;
    }
    if (found != s->type->dim[dim])
        return mlir_fail(r, "%lld elements in dimension %d, which has %lld", (long long)found, dim,
                         (long long)s->type->dim[dim]);
    return mlir_expect(r, "]");
}

/* `<..>` up to `end`, all of a type whose size is known */
static const struct mlir_attr *read_elements(struct mlir_reader *r, const struct mlir_type *t,
                                             const char *end)
{
    struct sink s = {.type = t, .element = t->item->element,
                     .width = mlir_type_element_bytes(t)};
    int64_t n = mlir_type_elements(t);

    if (n < 0) return mlir_fail(r, "dense elements of a type without a fixed size"), NULL;
    if (s.width == 0) {
        r->at = end;
        return mlir_dense(r->arena, t, NULL, false);
    }
    if (mlir_peek(r, ">")) {
        if (n) return mlir_fail(r, "no elements of a type that has some"), NULL;
        r->at = end;
        return mlir_dense(r->arena, t, arena_alloc(r->arena, s.width), true);
    }
    if (mlir_next_char(r) == '"') {
        const struct mlir_attr *a = read_hex(r, t);
        return a && !mlir_expect(r, ">") ? a : NULL;
    }
    bool is_list = mlir_next_char(r) == '[';
    /* no more elements than the text has characters for */
    if (is_list && n > end - r->at)
        return mlir_fail(r, "fewer elements than the %lld of the type", (long long)n), NULL;
    s.room = is_list ? n : 1;
    s.data = arena_alloc(r->arena, (size_t)s.room * s.width + 1);
    if (is_list ? read_list(r, &s, 0) : read_element(r, &s)) return NULL;
    return mlir_expect(r, ">") ? NULL : mlir_dense(r->arena, t, s.data, !is_list);
}

/* a tensor's type, of which elements are made; vectors of them have no use here */
static const struct mlir_type *read_shaped(struct mlir_reader *r)
{
    if (mlir_expect(r, ":")) return NULL;
    const char *at = (mlir_skip(r), r->at);
    const struct mlir_type *t = mlir_read_type(r);
    if (t && (t->kind != MLIR_TENSOR || !t->is_ranked))
        return mlir_fail_at(r, at, "dense elements are those of a tensor with dimensions"), NULL;
    return t;
}

/* Elements stand before their type: their place is kept, the type is read, then they are. */
static const struct mlir_attr *read_dense_before(struct mlir_reader *r, int (*between)(
                                                 struct mlir_reader *r))
{
    mlir_skip(r);
    const char *open = r->at, *end = mlir_balanced_end(r, open);
    if (!end || *open != '<') return mlir_fail(r, "dense<..> without its end"), NULL;
    r->at = end;
    if (between && between(r)) return NULL;
    const struct mlir_type *t = read_shaped(r);
    if (!t) return NULL;
    const char *behind = r->at;
    r->at = open + 1;
    const struct mlir_attr *made = read_elements(r, t, end);
    if (made && r->at != end) return mlir_fail(r, "dense elements go on behind their end"), NULL;
    r->at = behind;
    return made;
}

const struct mlir_attr *mlir_read_dense(struct mlir_reader *r)
{
    return read_dense_before(r, NULL);
}

static int read_dict_between(struct mlir_reader *r)
{
    return mlir_peek(r, "{") ? mlir_read_attr_dict(r) : 0;
}

static const struct mlir_attr *resource_bytes(struct mlir_reader *r, const struct mlir_resource *of,
                                              const struct mlir_type *t)
{
    const char *digits = of->body + strlen("\"0x");
    const char *end = memchr(digits, '"', (size_t)(r->end - digits)), *wrong = NULL;

    if (!end || end - digits < 8) return mlir_fail_at(r, of->body, "a resource without bytes"), NULL;
    /* four bytes in front say how the others are aligned */
    size_t count = (size_t)(end - digits) / 2 - 4;
    unsigned char *bytes = mem_alloc(count + 1);
    const struct mlir_attr *made = NULL;
    if (hex_bytes(digits + 8, end, bytes))
        mlir_fail_at(r, of->body, "a resource is not pairs of hexadecimal digits");
    else if (!(made = mlir_dense_of_bytes(r->arena, t, bytes, count, &wrong)))
        mlir_fail_at(r, of->body, "a resource: %s", wrong);
    mem_free(bytes);
    return made;
}

/* behind `dense_resource`; where the file has no such resource the elements are missing */
static const struct mlir_attr *read_resource(struct mlir_reader *r, int (*between)(
                                             struct mlir_reader *r))
{
    struct mlir_span key;
    struct mlir_text quoted;

    if (mlir_expect(r, "<")) return NULL;
    if (mlir_next_char(r) == '"') {
        if (mlir_read_string(r, &quoted)) return NULL;
        key = (struct mlir_span){quoted.data, quoted.bytes};
    } else if (mlir_read_suffix(r, &key)) {
        return NULL;
    }
    if (mlir_expect(r, ">") || (between && between(r))) return NULL;
    const struct mlir_type *t = read_shaped(r);
    for (size_t i = 0; t && i < r->resources.count; i++)
        if (r->resources.item[i].key.bytes == key.bytes &&
            !memcmp(r->resources.item[i].key.data, key.data, key.bytes))
            return resource_bytes(r, &r->resources.item[i], t);
    return t ? mlir_dense(r->arena, t, NULL, false) : NULL;
}

const struct mlir_attr *mlir_read_dense_resource(struct mlir_reader *r)
{
    return read_resource(r, NULL);
}

const struct mlir_attr *mlir_read_dense_attrs(struct mlir_reader *r)
{
    if (mlir_accept(r, "dense_resource")) return read_resource(r, read_dict_between);
    if (mlir_accept(r, "dense")) return read_dense_before(r, read_dict_between);
    mlir_fail(r, "expected dense<..>");
    return NULL;
}
