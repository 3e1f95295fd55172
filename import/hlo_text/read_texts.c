/* Values of attributes that are texts: strings, what is kept as it stands, metadata, shardings. */
#include "import/hlo_text/reader.h"

#include "import/program/sharding.h"

#include <limits.h>
#include <string.h>

static bool is_octal(char c) { return c >= '0' && c <= '7'; }

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character behind a backslash, as in C; behind what was taken. */
static const char *unescape(const char *p, const char *end, char *c)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    const char *known = memchr(from, *p, sizeof(from) - 1);
    int code = 0, digits = 0;

    if (is_octal(*p)) {
        for (; digits < 3 && p < end && is_octal(*p); digits++)
            code = code * 8 + (*p++ - '0');
    } else if (*p == 'x' && p + 1 < end && hex_digit(p[1]) >= 0) {
        for (p++; digits < 2 && p < end && hex_digit(*p) >= 0; digits++)
            code = code * 16 + hex_digit(*p++);
    } else {
        code = known ? to[known - from] : *p;
        p++;
    }
    *c = (char)code;
    return p;
}

int hlo_read_string(struct hlo_reader *r, const char **text, size_t *bytes)
{
    struct hlo_span raw;
    const char *p, *end;
    size_t used = 0;

    if (hlo_scan_string(&r->scan, &raw))
        return -1;
    r->bytes = mem_grow(r->bytes, &r->bytes_capacity, raw.length, 1);
    for (p = raw.at + 1, end = raw.at + raw.length - 1; p < end; used++) {
        if (*p == '\\' && p + 1 < end)
            p = unescape(p + 1, end, &r->bytes[used]);
        else
            r->bytes[used] = *p++;
    }
    *text = hlo_read_keep(r, (struct hlo_span){r->bytes, used});
    if (bytes)
        *bytes = used;
    return 0;
}

int hlo_read_verbatim(struct hlo_reader *r, const char **text)
{
    struct hlo_span value;

    if (hlo_scan_value(&r->scan, &value))
        return -1;
    *text = hlo_read_keep(r, value);
    return 0;
}

int hlo_read_kind_target(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    return hlo_read_string(r, field, &g->f.d.target_bytes);
}

int hlo_read_kind_config(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_read_verbatim(r, field);
}

int hlo_read_pairs(struct hlo_reader *r, struct hlo_pairs *pairs)
{
    struct hlo_scan *s = &r->scan;
    size_t count = 0;

    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        struct hlo_pair pair;
        struct hlo_span key;

        if (count > 0 && hlo_scan_want(s, ','))
            return -1;
        if (!hlo_scan_take_ident(s, &key))
            return hlo_scan_unexpected(s, "a name");
        pair.key = hlo_read_keep(r, key);
        if (hlo_scan_want(s, '=') || hlo_read_verbatim(r, &pair.value))
            return -1;
        MEM_ADD(r->pair, count, r->pair_capacity) = pair;
    }
    pairs->count = (int)count;
    pairs->item = hlo_pool_copy(&r->pool, r->pair, count, sizeof(*r->pair));
    return 0;
}

int hlo_read_kind_pairs(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    (void)g;
    return hlo_read_pairs(r, field);
}

/* Reads a sharding by what its text says; its own errors have no place. */
int hlo_read_kind_sharding(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_span text;
    struct err e = {.line = 0};

    (void)field;
    if (!hlo_scan_see(&r->scan, '{'))
        return hlo_scan_unexpected(&r->scan, "a sharding in braces");
    if (hlo_scan_brackets(&r->scan, &text))
        return -1;
    if (hlo_sharding_parse(r->module, text.at, text.length, &g->f.d.sharding_count,
                           &g->f.d.sharding, &e))
        return hlo_scan_error(&r->scan, text.at, "%s", e.msg);
    return 0;
}

struct metadata {
    struct hlo_place place;
    struct hlo_place_more more;
};

/* fields of metadata that have a place of their own */
static const struct {
    const char *name;
    size_t offset;
    bool is_text;
} metadata_fields[] = {
    {"op_type", offsetof(struct metadata, place.op_type), true},
    {"op_name", offsetof(struct metadata, place.op_name), true},
    {"source_file", offsetof(struct metadata, place.file), true},
    {"source_line", offsetof(struct metadata, place.line), false},
    {"source_end_line", offsetof(struct metadata, place.end_line), false},
    {"source_column", offsetof(struct metadata, place.col), false},
    {"source_end_column", offsetof(struct metadata, place.end_col), false},
    {"stack_frame_id", offsetof(struct metadata, more.frame), false},
};

static int read_metadata_field(struct hlo_reader *r, struct metadata *m, struct hlo_span name,
                               bool *is_known)
{
    for (size_t k = 0; k < sizeof(metadata_fields) / sizeof(*metadata_fields); k++) {
        char *field = (char *)m + metadata_fields[k].offset;
        int64_t number;

        if (!hlo_span_is(name, metadata_fields[k].name))
            continue;
        *is_known = true;
        if (metadata_fields[k].is_text)
            return hlo_read_string(r, (const char **)(void *)field, NULL);
        if (hlo_scan_int(&r->scan, INT_MIN, INT_MAX, &number))
            return -1;
        *(int *)(void *)field = (int)number;
        return 0;
    }
    *is_known = false;
    return 0;
}

/* Other fields are kept as they stand, with a blank between them. */
int hlo_read_kind_metadata(struct hlo_reader *r, struct hlo_reading *g, void *field)
{
    struct hlo_scan *s = &r->scan;
    struct metadata m = {.more = {.rest = NULL}};

    (void)g;
    if (hlo_scan_want(s, '{'))
        return -1;
    while (!hlo_scan_take(s, '}')) {
        struct hlo_span name, value;
        bool is_known;

        hlo_scan_take(s, ',');
        if (!hlo_scan_take_ident(s, &name))
            return hlo_scan_unexpected(s, "a field of the metadata");
        if (hlo_scan_want(s, '=') || read_metadata_field(r, &m, name, &is_known))
            return -1;
        if (is_known)
            continue;
        if (hlo_scan_value(s, &value))
            return -1;
        m.more.rest = arena_printf(r->pool.arena, "%s%s%.*s=%.*s", m.more.rest ? m.more.rest : "",
                              m.more.rest ? " " : "", (int)name.length, name.at,
                              (int)value.length, value.at);
    }
    hlo_frames_resolve(&r->frames, &m.place, &m.more);
    m.place.more = &m.more;
    r->place = hlo_place_keep(r->pool.arena, &m.place, r->place);
    *(const struct hlo_place **)field = r->place;
    return 0;
}
