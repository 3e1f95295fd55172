/*
 * Types: "f32[8,<=128]{1,0:T(8,128)S(1)}", "(f32[], token[])", "b(f32[4])". The same type stands in
 * a file thousands of times: it is read once and found again by its text.
 */
#include "base/text.h"
#include "import/hlo_text/reader.h"

#include <string.h>

#define RANK_MAX 64
#define BYTES_MAX ((size_t)1 << 60)

bool hlo_read_sees_type(struct hlo_reader *r)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span ident;
    const char *behind;

    if (hlo_scan_see(s, '(') || hlo_scan_see_text(s, "b("))
        return true;
    if (!hlo_scan_see_ident(s, &ident))
        return false;
    behind = ident.at + ident.length;
    return behind < s->end && *behind == '[';
}

static int read_element(struct hlo_reader *r, enum hlo_element *e)
{
    static const char *const names[] = {
#define ELEMENT(id, name, mlir, kind, bits, bytes) name,
#include "import/program/elements.def"
    };
    struct hlo_scan *s = &r->scan;
    struct hlo_span ident;
    char name[40];

    if (!hlo_scan_take_ident(s, &ident))
        return hlo_scan_unexpected(s, "a type");
    *e = hlo_element_find(ident.at, ident.length);
    if (*e != ELEMENT_COUNT && *e != ELEMENT_TUPLE)
        return 0;
    text_print(name, sizeof(name), "%.*s", ident.length < 32 ? (int)ident.length : 32, ident.at);
    return hlo_scan_error(s, ident.at, "\"%s\" is no type of elements%s", name,
                          text_did_you_mean(name, names, ELEMENT_TUPLE).text);
}

static int read_dims(struct hlo_reader *r, struct hlo_type *t)
{
    struct hlo_scan *s = &r->scan;
    bool is_bounded[RANK_MAX] = {false}, is_any_bounded = false;
    int64_t dim[RANK_MAX];
    const char *start = s->at;

    if (hlo_scan_want(s, '['))
        return -1;
    while (!hlo_scan_see(s, ']')) {
        if (t->rank == RANK_MAX)
            return hlo_scan_error(s, s->at, "more than %d dimensions", RANK_MAX);
        if (t->rank > 0 && hlo_scan_want(s, ','))
            return -1;
        if (hlo_scan_take(s, '?')) {
            dim[t->rank] = HLO_UNBOUNDED;
        } else {
            is_any_bounded |= is_bounded[t->rank] = hlo_scan_take_text(s, "<=");
            if (hlo_scan_int(s, 0, INT64_MAX, &dim[t->rank]))
                return -1;
        }
        t->rank++;
    }
    s->at++;
    t->dim = hlo_read_keep_ints(r, dim, t->rank).item;
    if (is_any_bounded)
        t->is_bounded = hlo_pool_copy(&r->pool, is_bounded, (size_t)t->rank, sizeof(bool));
    if (hlo_type_bytes(t) > BYTES_MAX)
        return hlo_scan_error(s, start, "an array of this size is larger than any memory");
    return 0;
}

static int read_tiles(struct hlo_reader *r, struct hlo_layout *l)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_ints tile[HLO_NESTING_MAX];

    while (hlo_scan_see(s, '(')) {
        int count = 0;

        if (l->tile_count == HLO_NESTING_MAX)
            return hlo_scan_error(s, s->at, "more than %d tiles", HLO_NESTING_MAX);
        s->at++;
        do {
            int64_t size = -1;

            if (!hlo_scan_take(s, '*') && hlo_scan_int(s, 0, INT64_MAX, &size))
                return -1;
            *hlo_read_add_int(r, &count) = size;
        } while (hlo_scan_take(s, ','));
        if (hlo_scan_want(s, ')'))
            return -1;
        tile[l->tile_count++] = hlo_read_keep_ints(r, r->ints, count);
    }
    l->tile = hlo_pool_copy(&r->pool, tile, (size_t)l->tile_count, sizeof(*tile));
    return 0;
}

static int read_field_int(struct hlo_reader *r, int *value)
{
    struct hlo_scan *s = &r->scan;
    int64_t v;

    if (hlo_scan_want(s, '(') || hlo_scan_int(s, 0, INT32_MAX, &v) || hlo_scan_want(s, ')'))
        return -1;
    *value = (int)v;
    return 0;
}

/* Fields behind the colon: "T(8,128)(2,1)S(1)"; what a layout has no place for is only kept. */
static int read_fields(struct hlo_reader *r, struct hlo_layout *l)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_span value;
    char rest[256];
    size_t used = 0;

    while (!hlo_scan_see(s, '}')) {
        const char *start = s->at;

        if (hlo_scan_take_text(s, "T(")) {
            s->at--;
            if (read_tiles(r, l))
                return -1;
        } else if (hlo_scan_take_text(s, "E(")) {
            s->at--;
            if (read_field_int(r, &l->element_bits))
                return -1;
        } else if (hlo_scan_take_text(s, "S(")) {
            s->at--;
            if (read_field_int(r, &l->memory_space))
                return -1;
        } else {
            while (s->at < s->end && ((*s->at >= 'A' && *s->at <= 'Z') || *s->at == '#'
                                      || *s->at == '*'))
                s->at++;
            if (s->at == start || !hlo_scan_see(s, '('))
                return hlo_scan_unexpected(s, "a field of a layout, as T(8,128)");
            while (s->at < s->end && *s->at == '(') {
                if (hlo_scan_brackets(s, &value))
                    return -1;
            }
            if (used + (size_t)(s->at - start) >= sizeof(rest))
                return hlo_scan_error(s, start, "the layout has too many fields");
            memcpy(rest + used, start, (size_t)(s->at - start));
            used += (size_t)(s->at - start);
        }
    }
    if (used)
        l->rest = hlo_read_keep(r, (struct hlo_span){rest, used});
    return 0;
}

/* A brace opens a layout where a number or a colon follows; else it is a computation's. */
static bool sees_layout(struct hlo_scan *s)
{
    const char *p = s->at;

    if (p == s->end || *p != '{')
        return false;
    for (p++; p < s->end && (*p == ' ' || *p == '\n'); p++)
        ;
    return p < s->end && ((*p >= '0' && *p <= '9') || *p == ':' || (*p == '}' && p == s->at + 1));
}

static int read_layout(struct hlo_reader *r, struct hlo_type *t)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_layout l = {.tile_count = 0};
    const char *start = s->at;
    int count = 0;

    s->at++;
    while (hlo_scan_see_int(s) || (count > 0 && hlo_scan_see(s, ','))) {
        int64_t dim;

        if ((count > 0 && hlo_scan_want(s, ',')) || hlo_scan_int(s, 0, RANK_MAX, &dim))
            return -1;
        for (int i = 0; i < count; i++) {
            if (r->ints[i] == dim)
                return hlo_scan_error(s, start, "the layout names dimension %d twice", (int)dim);
        }
        if (count == t->rank || dim >= t->rank)
            return hlo_scan_error(s, start, "the layout is one of more than the type's %d "
                                  "dimensions", t->rank);
        *hlo_read_add_int(r, &count) = dim;
    }
    if (count != t->rank && count > 0)
        return hlo_scan_error(s, start, "the layout names %d of %d dimensions", count, t->rank);
    l.minor_to_major = hlo_read_keep_ints(r, r->ints, count);
    if (hlo_scan_take(s, ':') && read_fields(r, &l))
        return -1;
    t->layout = hlo_pool_copy(&r->pool, &l, 1, sizeof(l));
    return hlo_scan_want(s, '}');
}

static int read_array(struct hlo_reader *r, struct hlo_type *t)
{
    *t = (struct hlo_type){.rank = 0};
    if (read_element(r, &t->element) || read_dims(r, t))
        return -1;
    return sees_layout(&r->scan) ? read_layout(r, t) : 0;
}

/* The text of an array's type, where it is written as printers do; length 0 else. */
static struct hlo_span array_text(const struct hlo_scan *s)
{
    const char *p = s->at, *end = s->end - s->at > 400 ? s->at + 400 : s->end;

    while (p < end && *p != ']' && *p > ' ')
        p++;
    if (p + 1 >= end || *p != ']')
        return (struct hlo_span){s->at, 0};
    p++;
    if (*p == '{' && p + 1 < end && ((p[1] >= '0' && p[1] <= '9') || p[1] == ':')) {
        while (p < end && *p != '}' && *p > ' ')
            p++;
        if (p == end || *p != '}')
            return (struct hlo_span){s->at, 0};
        p++;
    }
    return (struct hlo_span){s->at, (size_t)(p - s->at)};
}

static int read_array_once(struct hlo_reader *r, struct hlo_type *t)
{
    struct hlo_span text = array_text(&r->scan);
    int known = text.length ? hlo_names_find(&r->type_names, text.at, text.length) : -1;

    if (known >= 0) {
        *t = r->type[known];
        r->scan.at += text.length;
        return 0;
    }
    if (read_array(r, t))
        return -1;
    if (text.length && text.at + text.length == r->scan.at) {
        hlo_names_add(&r->type_names, text.at, text.length, (int)r->type_count);
        MEM_ADD(r->type, r->type_count, r->type_capacity) = *t;
    }
    return 0;
}

static int read_tuple(struct hlo_reader *r, struct hlo_type *t)
{
    struct hlo_scan *s = &r->scan;
    struct hlo_type *part = NULL;
    size_t count = 0, capacity = 0;
    int status = 0;

    *t = (struct hlo_type){.element = ELEMENT_TUPLE};
    s->at++;
    while (status == 0 && !hlo_scan_see(s, ')')) {
        struct hlo_type one;

        status = count > 0 && hlo_scan_want(s, ',') ? -1 : hlo_read_type(r, &one);
        if (status == 0)
            MEM_ADD(part, count, capacity) = one;
    }
    if (status == 0) {
        s->at++;
        t->part_count = (int)count;
        t->part = hlo_pool_copy(&r->pool, part, count, sizeof(*part));
    }
    mem_free(part);
    return status;
}

int hlo_read_type(struct hlo_reader *r, struct hlo_type *t)
{
    struct hlo_scan *s = &r->scan;
    int status;

    if (hlo_scan_enter(s))
        return -1;
    if (hlo_scan_see(s, '(')) {
        status = read_tuple(r, t);
    } else if (hlo_scan_take_text(s, "b(")) {
        status = hlo_read_type(r, t) ? -1 : hlo_scan_want(s, ')');
        t->is_buffer = true;
    } else {
        status = read_array_once(r, t);
    }
    hlo_scan_leave(s);
    return status;
}
