/*
 * Sections of MLIR bytecode and the tables in them. Strings come last in the file although all
 * else names them, so sections are found first and decoded in an order of their own.
 */
#include "import/bytecode/file.h"

#include <string.h>

#define NAME_BYTES_MAX 256

enum section_id {
    SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE, SECTION_ATTR_TYPE_OFFSET, SECTION_IR,
    SECTION_RESOURCE, SECTION_RESOURCE_OFFSET, SECTION_DIALECT_VERSIONS, SECTION_PROPERTIES,
    SECTION_COUNT
};
static const char *const section_name[SECTION_COUNT] = {
    "strings", "dialects", "attributes and types", "sizes of attributes and types", "operations",
    "resources", "sizes of resources", "versions of dialects", "properties"
};
static const unsigned char magic[4] = {'M', 'L', 0xEF, 'R'};

struct sections {
    struct bytecode_stream part[SECTION_COUNT];
    bool is_there[SECTION_COUNT];
};

struct bytecode_stream bytecode_stream_over(struct bytecode_file *f, const unsigned char *data,
                                            size_t bytes)
{
    return (struct bytecode_stream){.start = f->start, .at = data, .end = data + bytes,
                                    .fault = &f->fault};
}

struct bytecode_string bytecode_read_string(struct bytecode_file *f, struct bytecode_stream *s)
{
    size_t i = bytecode_index(s, f->string_count, "string");

    return bytecode_is_failed(s) ? (struct bytecode_string){"", 0} : bytecode_string_at(f, i);
}

static const char *read_cstring(struct bytecode_stream *s)
{
    const unsigned char *from = s->at;
    const unsigned char *nul = memchr(from, 0, bytecode_left(s));

    if (bytecode_is_failed(s) || !nul) {
        bytecode_fail(s, "a text without an end");
        return "";
    }
    s->at = nul + 1;
    return (const char *)from;
}

static void find_section(struct bytecode_stream *s, struct sections *found)
{
    uint8_t id = bytecode_byte(s);
    uint64_t bytes = bytecode_varint(s);

    if (id & 0x80) {
        id &= 0x7f;
        bytecode_align(s, bytecode_varint(s));
    }
    if (bytecode_is_failed(s))
        return;
    if (id >= SECTION_COUNT || id == SECTION_DIALECT_VERSIONS) {
        bytecode_fail(s, "section %d, which MLIR bytecode does not have", id);
        return;
    }
    if (found->is_there[id])
        bytecode_fail(s, "a second section of %s", section_name[id]);
    found->is_there[id] = true;
    found->part[id] = bytecode_part(s, bytes, section_name[id]);
}

static void find_sections(struct bytecode_stream *s, int version, struct sections *found)
{
    static const enum section_id needed[] = {SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE,
                                             SECTION_ATTR_TYPE_OFFSET, SECTION_IR};

    while (!bytecode_is_failed(s) && bytecode_left(s))
        find_section(s, found);
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (!found->is_there[needed[i]])
            bytecode_fail(s, "no section of %s: the file is cut", section_name[needed[i]]);
    }
    if (version >= 5 && !found->is_there[SECTION_PROPERTIES])
        bytecode_fail(s, "no section of properties: the file is cut");
    if (found->is_there[SECTION_RESOURCE] != found->is_there[SECTION_RESOURCE_OFFSET])
        bytecode_fail(s, "resources without their sizes, or sizes without resources");
}

struct bytecode_string bytecode_string_at(const struct bytecode_file *f, size_t i)
{
    return (struct bytecode_string){f->strings + f->string_at[i],
                                    f->string_at[i + 1] - f->string_at[i] - 1};
}

/* Sizes of the strings, the last one's first, then their bytes, the first one's first. */
static void read_strings(struct bytecode_file *f, struct bytecode_stream *s)
{
    size_t count = bytecode_count(s, "strings");
    uint32_t *at = arena_array(f->arena, count + 1, sizeof(*at));
    uint64_t end = 0;

    if (bytecode_left(s) > UINT32_MAX)
        bytecode_fail(s, "strings of more than 4 GB");
    for (size_t i = count; i-- > 0 && !bytecode_is_failed(s);) {
        uint64_t bytes = bytecode_varint(s);

        at[i + 1] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    }
    f->strings = arena_copy(f->arena, s->at, bytecode_left(s), 1);
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        const unsigned char *text = bytecode_take(s, at[i + 1], "a string");

        if (text && (at[i + 1] == 0 || text[at[i + 1] - 1] != 0))
            bytecode_fail(s, "string %zu does not end in NUL", i);
        end += at[i + 1];
        at[i + 1] = (uint32_t)end;
    }
    bytecode_end(s, "the section of strings");
    f->string_at = at;
    f->string_count = bytecode_is_failed(s) ? 0 : count;
}

/* Of a dialect or an operation: names are written together, so they must be short, too. */
static const char *name_at(struct bytecode_file *f, struct bytecode_stream *s, uint64_t index)
{
    size_t i = bytecode_check_index(s, index, f->string_count, "string");
    struct bytecode_string name;

    if (bytecode_is_failed(s))
        return "";
    name = bytecode_string_at(f, i);
    if (name.bytes > NAME_BYTES_MAX || memchr(name.text, 0, name.bytes))
        bytecode_fail(s, "a name of an operation or dialect that is none");
    return name.text;
}

/* What a dialect says of its version is only for that dialect's eyes; none here needs it. */
static void skip_dialect_version(struct bytecode_stream *s)
{
    uint8_t id = bytecode_byte(s);
    uint64_t bytes = bytecode_varint(s);

    if (id & 0x80)
        bytecode_align(s, bytecode_varint(s));
    if ((id & 0x7f) != SECTION_DIALECT_VERSIONS)
        bytecode_fail(s, "section %d where a dialect's version must be", id & 0x7f);
    bytecode_take(s, bytes, "a dialect's version");
}

static void read_dialect(struct bytecode_file *f, struct bytecode_stream *s, const char **name)
{
    bool has_version = false;
    uint64_t i = f->version >= 1 ? bytecode_flagged(s, &has_version) : bytecode_varint(s);

    *name = name_at(f, s, i);
    if (has_version)
        skip_dialect_version(s);
}

static void read_op_name(struct bytecode_file *f, struct bytecode_stream *s, const char *dialect,
                         struct bytecode_op_name *op)
{
    bool is_registered = true;
    uint64_t i = f->version >= 5 ? bytecode_flagged(s, &is_registered) : bytecode_varint(s);

    op->name = arena_printf(f->arena, "%s.%s", dialect, name_at(f, s, i));
    op->is_registered = is_registered;
}

static void read_dialects(struct bytecode_file *f, struct bytecode_stream *s)
{
    size_t capacity = 0;

    f->dialect_count = bytecode_count(s, "dialects");
    f->dialect = arena_array(f->arena, f->dialect_count, sizeof(*f->dialect));
    for (size_t i = 0; i < f->dialect_count && !bytecode_is_failed(s); i++)
        read_dialect(f, s, &f->dialect[i]);
    if (f->version >= 4)
        bytecode_count(s, "names of operations");       /* all of them, told in advance */
    while (!bytecode_is_failed(s) && bytecode_left(s)) {
        size_t dialect = bytecode_index(s, f->dialect_count, "dialect");
        size_t count = bytecode_count(s, "names of operations");

        for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
            struct bytecode_op_name op = {.name = ""};

            read_op_name(f, s, f->dialect[dialect], &op);
            MEM_ADD(f->op, f->op_count, capacity) = op;
        }
    }
    f->op = arena_take(f->arena, f->op, f->op_count, sizeof(*f->op));
}

/* the last mark that is not behind the entry */
static const struct bytecode_mark *mark_of(const struct bytecode_entries *e, size_t entry)
{
    size_t low = 0, high = e->mark_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (e->mark[middle].entry <= entry)
            low = middle;
        else
            high = middle;
    }
    return &e->mark[low];
}

struct bytecode_entry bytecode_entry_at(const struct bytecode_entries *e, size_t i)
{
    const struct bytecode_mark *mark = mark_of(e, i);
    struct bytecode_entry entry = {.body = e->bodies + mark->body, .dialect = mark->dialect};
    struct bytecode_stream sizes = e->sizes;

    sizes.at += mark->size;
    for (size_t k = mark->entry; k <= i; k++) {
        entry.body += entry.bytes;
        entry.bytes = (uint32_t)bytecode_flagged(&sizes, &entry.is_custom);
    }
    return entry;
}

/* One after the other of a dialect; bodies follow theirs. */
static void read_group(struct bytecode_stream *s, struct bytecode_stream *bodies,
                       struct bytecode_entries *e, struct bytecode_mark next, size_t count,
                       size_t *capacity)
{
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++, next.entry++) {
        bool is_custom;

        next.body = (uint32_t)(bodies->at - e->bodies);
        next.size = (uint32_t)(s->at - e->sizes.at);
        if (i % BYTECODE_MARKED == 0)
            MEM_ADD(e->mark, e->mark_count, *capacity) = next;
        bytecode_take(bodies, bytecode_flagged(s, &is_custom), "an attribute or type");
    }
}

/* Groups of sizes, each of a dialect, until all entries of a table are told. */
static void read_entries(struct bytecode_file *f, struct bytecode_stream *s,
                         struct bytecode_stream *bodies, struct bytecode_entries *e)
{
    size_t capacity = 0;

    e->bodies = bodies->at;
    e->sizes = *s;
    for (size_t done = 0; done < e->count && !bytecode_is_failed(s);) {
        struct bytecode_mark next = {.entry = (uint32_t)done};
        size_t dialect = bytecode_index(s, f->dialect_count, "dialect");
        size_t group = bytecode_count(s, "attributes or types");

        if (group > e->count - done)
            bytecode_fail(s, "%zu attributes or types where %zu are left", group, e->count - done);
        next.dialect = (uint32_t)dialect;
        read_group(s, bodies, e, next, group, &capacity);
        done += group;
    }
    e->mark = arena_take(f->arena, e->mark, e->mark_count, sizeof(*e->mark));
}

static void read_attributes_and_types(struct bytecode_file *f, struct bytecode_stream *sizes,
                                      struct bytecode_stream *bodies)
{
    f->attr.count = bytecode_count(sizes, "attributes");
    f->type.count = bytecode_count(sizes, "types");
    if (bytecode_left(bodies) > UINT32_MAX || bytecode_left(sizes) > UINT32_MAX)
        bytecode_fail(bodies, "attributes and types of more than 4 GB");
    read_entries(f, sizes, bodies, &f->attr);
    read_entries(f, sizes, bodies, &f->type);
    bytecode_end(sizes, section_name[SECTION_ATTR_TYPE_OFFSET]);
    bytecode_end(bodies, section_name[SECTION_ATTR_TYPE]);
}

static void read_properties(struct bytecode_file *f, struct bytecode_stream *s)
{
    f->property_count = bytecode_count(s, "properties");
    f->property = arena_array(f->arena, f->property_count, sizeof(*f->property));
    for (size_t i = 0; i < f->property_count && !bytecode_is_failed(s); i++) {
        f->property[i].bytes = (size_t)bytecode_varint(s);
        f->property[i].data = bytecode_take(s, f->property[i].bytes, "properties");
    }
    bytecode_end(s, section_name[SECTION_PROPERTIES]);
}

/* A blob says where it wants to lie and how long it is, as the whole body; others are kept. */
static struct bytecode_blob read_resource_body(struct bytecode_stream body, uint8_t kind)
{
    struct bytecode_blob blob = {body.at, bytecode_left(&body)};

    if (kind == 0 && !bytecode_is_failed(&body)) {
        uint64_t alignment = bytecode_varint(&body), bytes = bytecode_varint(&body);

        bytecode_align(&body, alignment);
        blob.data = bytecode_take(&body, bytes, "a resource");
        blob.bytes = (size_t)bytes;
        bytecode_end(&body, "a resource");
    }
    return blob;
}

static void read_resource_group(struct bytecode_file *f, struct bytecode_stream *s,
                                struct bytecode_stream *bodies, bool is_kept)
{
    size_t count = bytecode_count(s, "resources");

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        struct bytecode_resource r = {.key = bytecode_read_string(f, s).text};
        uint64_t bytes = bytecode_varint(s);
        struct bytecode_stream body = bytecode_part(bodies, bytes, "a resource");

        r.kind = bytecode_byte(s);
        r.blob = read_resource_body(body, r.kind);
        if (is_kept)
            MEM_ADD(f->resource, f->resource_count, f->resource_capacity) = r;
    }
}

/* External groups have a key of their own and no attribute names them. */
static void read_resources(struct bytecode_file *f, struct bytecode_stream *s,
                           struct bytecode_stream *bodies)
{
    size_t external = bytecode_count(s, "groups of resources");

    for (size_t i = 0; i < external && !bytecode_is_failed(s); i++) {
        bytecode_read_string(f, s);
        read_resource_group(f, s, bodies, false);
    }
    while (!bytecode_is_failed(s) && bytecode_left(s)) {
        bytecode_index(s, f->dialect_count, "dialect");
        read_resource_group(f, s, bodies, true);
    }
    bytecode_end(bodies, section_name[SECTION_RESOURCE]);
    f->resource = arena_take(f->arena, f->resource, f->resource_count, sizeof(*f->resource));
}

static void read_head(struct bytecode_file *f, struct bytecode_stream *s)
{
    uint64_t version;

    if (bytecode_left(s) < sizeof(magic) || memcmp(s->at, magic, sizeof(magic)) != 0) {
        bytecode_fail(s, "the file does not begin with \"ML\\xEFR\"");
        return;
    }
    bytecode_take(s, sizeof(magic), "magic");
    version = bytecode_varint(s);
    if (version > BYTECODE_VERSION_MAX)
        bytecode_fail(s, "bytecode version %llu, newer than %d, the newest known",
                      (unsigned long long)version, BYTECODE_VERSION_MAX);
    f->version = (int)version;
    f->producer = read_cstring(s);
}

int bytecode_file_read(struct bytecode_file *f, const void *data, size_t bytes, const char *name,
                       struct arena *a, struct err *e)
{
    struct sections found = {.is_there = {false}};
    struct bytecode_stream s;

    *f = (struct bytecode_file){.arena = a, .start = data, .bytes = bytes,
                                .fault = {.file = name ? name : "", .err = e}};
    s = bytecode_stream_over(f, data, bytes);
    read_head(f, &s);
    find_sections(&s, f->version, &found);
    if (bytecode_is_failed(&s))
        return -1;
    read_strings(f, &found.part[SECTION_STRING]);
    read_dialects(f, &found.part[SECTION_DIALECT]);
    read_attributes_and_types(f, &found.part[SECTION_ATTR_TYPE_OFFSET],
                              &found.part[SECTION_ATTR_TYPE]);
    if (found.is_there[SECTION_RESOURCE])
        read_resources(f, &found.part[SECTION_RESOURCE_OFFSET], &found.part[SECTION_RESOURCE]);
    if (found.is_there[SECTION_PROPERTIES])
        read_properties(f, &found.part[SECTION_PROPERTIES]);
    f->ir = found.part[SECTION_IR];
    return bytecode_is_failed(&s) ? -1 : 0;
}
