/*
 * A walk over protobuf's bytes by the description of a message. protobuf-c unpacks what it is given,
 * message within message, each a call; here it is made sure that this ends well.
 */
#include "import/hlo_proto/wire.h"

#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 80                    /* types and literals nest up to 64 deep */
#define MEMORY_TIMES 24                 /* a field of two bytes may become a message */
#define MEMORY_LEAST ((uint64_t)64 << 20)
#define SINGLE_BYTES 400                /* what is kept of one that is unpacked alone */
#define BLOCK_BYTES 32                  /* what an allocation takes beside its content */

struct walk {
    const unsigned char *start;
    const char *file;
    struct err *err;
    uint64_t memory, memory_max;
    const ProtobufCMessageDescriptor *single;
};

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 70; shift += 7) {
        unsigned char byte = *(*at)++;

        if (shift < 64)
            *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

bool wire_next(const unsigned char **at, const unsigned char *end, struct wire_field *f)
{
    const unsigned char *p = *at;
    uint64_t tag, bytes;

    if (p == end || !take_varint(&p, end, &tag) || tag >> 3 == 0 || tag >> 32)
        return false;
    *f = (struct wire_field){.id = (uint32_t)(tag >> 3), .kind = tag & 7};
    if (f->kind == 0) {
        if (!take_varint(&p, end, &f->number))
            return false;
    } else {
        bytes = f->kind == 1 ? 8 : 4;
        if ((f->kind != 1 && f->kind != 2 && f->kind != 5) ||
            (f->kind == 2 && !take_varint(&p, end, &bytes)) || bytes > (size_t)(end - p))
            return false;
        f->data = p;
        f->bytes = (size_t)bytes;
        p += bytes;
    }
    *at = p;
    return true;
}

static int fail(struct walk *w, const unsigned char *at, const char *what)
{
    return err_at(w->err, w->file, 0, 0, "HLO protobuf, byte %zu: %s", (size_t)(at - w->start),
                  what);
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *kind,
                                                  uint32_t id)
{
    for (unsigned i = 0; i < kind->n_fields; i++) {
        if (kind->fields[i].id == id)
            return &kind->fields[i];
    }
    return NULL;
}

/* kinds on the wire, by type; a list of numbers may come as counted bytes, too */
static bool is_of_type(const struct wire_field *f, const ProtobufCFieldDescriptor *d)
{
    static const unsigned char kind_of[] = {
        [PROTOBUF_C_TYPE_INT32] = 0, [PROTOBUF_C_TYPE_INT64] = 0, [PROTOBUF_C_TYPE_UINT32] = 0,
        [PROTOBUF_C_TYPE_UINT64] = 0, [PROTOBUF_C_TYPE_BOOL] = 0, [PROTOBUF_C_TYPE_ENUM] = 0,
        [PROTOBUF_C_TYPE_FLOAT] = 5, [PROTOBUF_C_TYPE_DOUBLE] = 1, [PROTOBUF_C_TYPE_STRING] = 2,
        [PROTOBUF_C_TYPE_BYTES] = 2, [PROTOBUF_C_TYPE_MESSAGE] = 2
    };

    return f->kind == kind_of[d->type] || (f->kind == 2 && d->label == PROTOBUF_C_LABEL_REPEATED);
}

/* What a field takes once it is unpacked, but for messages in it; bytes that are not known are kept. */
static uint64_t memory_of(const struct wire_field *f, const ProtobufCFieldDescriptor *d)
{
    bool is_fixed = d && (d->type == PROTOBUF_C_TYPE_FLOAT || d->type == PROTOBUF_C_TYPE_DOUBLE);
    bool is_text = !d || d->type == PROTOBUF_C_TYPE_BYTES || d->type == PROTOBUF_C_TYPE_STRING;

    if (f->kind != 2 || (d && d->type == PROTOBUF_C_TYPE_MESSAGE))
        return d ? sizeof(uint64_t) : BLOCK_BYTES + sizeof(uint64_t);
    return BLOCK_BYTES + f->bytes * (is_text || is_fixed ? 1 : sizeof(uint64_t));
}

static int walk_message(struct walk *w, const ProtobufCMessageDescriptor *kind,
                        const unsigned char *at, const unsigned char *end, int depth)
{
    uint64_t before = w->memory;
    struct wire_field f;

    w->memory += kind->sizeof_message + BLOCK_BYTES;
    if (depth > DEPTH_MAX)
        return fail(w, at, "messages within messages, too deep");
    while (at < end) {
        const unsigned char *here = at;
        const ProtobufCFieldDescriptor *d;

        if (!wire_next(&at, end, &f))
            return fail(w, at, "a field that is cut or broken");
        d = find_field(kind, f.id);
        if (d && !is_of_type(&f, d))
            return fail(w, here, "a field of another type than it should have");
        w->memory += memory_of(&f, d);
        if (w->memory > w->memory_max)
            return fail(w, here, "so many small messages that they are no program");
        if (d && d->type == PROTOBUF_C_TYPE_MESSAGE &&
            walk_message(w, d->descriptor, f.data, f.data + f.bytes, depth + 1))
            return -1;
    }
    if (kind == w->single)
        w->memory = before + SINGLE_BYTES;
    return 0;
}

unsigned char *wire_without(const unsigned char *bytes, size_t count, uint32_t id, size_t *copied)
{
    unsigned char *made = mem_alloc_unset(count + 1);
    const unsigned char *at = bytes, *here = bytes, *end = bytes + count;
    struct wire_field f;

    *copied = 0;
    for (; wire_next(&at, end, &f); here = at) {
        if (f.id == id)
            continue;
        memcpy(made + *copied, here, (size_t)(at - here));
        *copied += (size_t)(at - here);
    }
    return made;
}

int wire_check(const ProtobufCMessageDescriptor *kind, const ProtobufCMessageDescriptor *single,
               const void *bytes, size_t count, const char *file_name, struct err *e)
{
    struct walk w = {.start = bytes, .file = file_name, .err = e, .single = single,
                     .memory_max = MEMORY_LEAST + MEMORY_TIMES * (uint64_t)count};

    return walk_message(&w, kind, bytes, (const unsigned char *)bytes + count, 0);
}
