/* Texts and lists of numbers on their way into messages. */
#include "import/hlo_proto/write.h"

#include "import/program/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t *proto_copy_ints(struct proto_writer *w, struct hlo_ints list)
{
    return list.count ? arena_copy(w->arena, list.item, (size_t)list.count, sizeof(int64_t))
                      : NULL;
}

char *proto_copy_text(struct proto_writer *w, const char *text)
{
    return arena_strdup(w->arena, text ? text : "");
}

ProtobufCBinaryData proto_bytes(const char *text)
{
    union { const char *from; uint8_t *to; } t = {text};

    return (ProtobufCBinaryData){text ? strlen(text) : 0, t.to};
}

/* One character behind a backslash, as C has them; how many were taken. */
static size_t unescape(const char *at, uint8_t *to)
{
    static const char from[] = "abfnrtv", as[] = "\a\b\f\n\r\t\v";
    const char *known = *at ? strchr(from, *at) : NULL;
    unsigned code = 0;
    size_t n = 0;

    if (*at == 'x') {
        char digits[3] = {at[1], at[1] ? at[2] : 0, 0}, *end;

        *to = (uint8_t)strtoul(digits, &end, 16);
        return 1 + (size_t)(end - digits);
    }
    for (; n < 3 && at[n] >= '0' && at[n] <= '7'; n++)
        code = code * 8 + (unsigned)(at[n] - '0');
    *to = n ? (uint8_t)code : (uint8_t)(known ? as[known - from] : *at);
    return n ? n : 1;
}

ProtobufCBinaryData proto_unquoted(struct proto_writer *w, const char *text)
{
    size_t length = text ? strlen(text) : 0, used = 0;
    uint8_t *to;

    if (length < 2 || (text[0] != '"' && text[0] != '\'') || text[length - 1] != text[0])
        return proto_bytes(text);
    to = arena_alloc(w->arena, length);
    for (size_t i = 1; i < length - 1; used++) {
        if (text[i] == '\\' && i + 2 < length)
            i += 1 + unescape(text + i + 1, &to[used]);
        else
            to[used] = (uint8_t)text[i++];
    }
    return (ProtobufCBinaryData){used, to};
}

HloWire__Pairs *proto_write_pairs(struct proto_writer *w, const struct hlo_pairs *pairs)
{
    HloWire__Pairs *made;

    if (!pairs->count)
        return NULL;
    made = PROTO_NEW(w, Pairs, PAIRS);
    made->n_map = (size_t)pairs->count;
    made->map = PROTO_LIST(w, Pair, pairs->count);
    for (int i = 0; i < pairs->count; i++) {
        made->map[i] = PROTO_NEW(w, Pair, PAIR);
        made->map[i]->key = proto_bytes(pairs->item[i].key);
        made->map[i]->value = proto_unquoted(w, pairs->item[i].value);
    }
    return made;
}

/* ---- tables of places */

static HloWire__FileLocation *write_location(struct proto_writer *w,
                                             const struct hlo_file_location *from)
{
    HloWire__FileLocation *l = PROTO_NEW(w, FileLocation, FILE_LOCATION);

    l->file_name_id = from->file;
    l->function_name_id = from->function;
    l->line = from->line;
    l->column = from->col;
    l->end_line = from->end_line;
    l->end_column = from->end_col;
    return l;
}

static ProtobufCBinaryData *write_names(struct proto_writer *w, const char *const *name,
                                        int count)
{
    ProtobufCBinaryData *made = arena_array(w->arena, (size_t)count, sizeof(*made));

    for (int i = 0; i < count; i++)
        made[i] = proto_unquoted(w, name[i]);
    return made;
}

HloWire__StackFrames *proto_write_frames(struct proto_writer *w, const char *tables)
{
    HloWire__StackFrames *f = PROTO_NEW(w, StackFrames, STACK_FRAMES);
    struct hlo_frames from;

    hlo_frames_read(&from, w->arena, tables);
    f->n_file_names = (size_t)from.file_count;
    f->file_names = write_names(w, from.file, from.file_count);
    f->n_function_names = (size_t)from.function_count;
    f->function_names = write_names(w, from.function, from.function_count);
    f->n_file_locations = (size_t)from.location_count;
    f->file_locations = PROTO_LIST(w, FileLocation, from.location_count);
    for (int i = 0; i < from.location_count; i++)
        f->file_locations[i] = write_location(w, &from.location[i]);
    f->n_stack_frames = (size_t)from.frame_count;
    f->stack_frames = PROTO_LIST(w, StackFrame, from.frame_count);
    for (int i = 0; i < from.frame_count; i++) {
        f->stack_frames[i] = PROTO_NEW(w, StackFrame, STACK_FRAME);
        f->stack_frames[i]->file_location_id = from.frame[i].location;
        f->stack_frames[i]->parent_frame_id = from.frame[i].parent;
    }
    return f;
}
