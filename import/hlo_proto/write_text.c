/* Texts and lists of numbers on their way into messages. */
#include "import/hlo_proto/write.h"

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

/* ---- tables of places, as HLO text has them: `1 "file.py"`, `1 {line=3 ..}` */

static int field_of(const char *at, const char *end, const char *name)
{
    size_t length = strlen(name);

    for (; at + length < end; at++) {
        if ((at[-1] == '{' || at[-1] == ' ') && strncmp(at, name, length) == 0 &&
            at[length] == '=')
            return atoi(at + length + 1);
    }
    return 0;
}

static void add_location(struct proto_writer *w, HloWire__StackFrames *f, const char *at,
                         const char *end)
{
    HloWire__FileLocation *l = PROTO_NEW(w, FileLocation, FILE_LOCATION);

    l->file_name_id = field_of(at, end, "file_name_id");
    l->function_name_id = field_of(at, end, "function_name_id");
    l->line = field_of(at, end, "line");
    l->column = field_of(at, end, "column");
    l->end_line = field_of(at, end, "end_line");
    l->end_column = field_of(at, end, "end_column");
    f->file_locations[f->n_file_locations++] = l;
}

static void add_frame(struct proto_writer *w, HloWire__StackFrames *f, const char *at,
                      const char *end)
{
    HloWire__StackFrame *s = PROTO_NEW(w, StackFrame, STACK_FRAME);

    s->file_location_id = field_of(at, end, "file_location_id");
    s->parent_frame_id = field_of(at, end, "parent_frame_id");
    f->stack_frames[f->n_stack_frames++] = s;
}

static size_t lines_of(const char *text)
{
    size_t lines = 1;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

HloWire__StackFrames *proto_write_frames(struct proto_writer *w, const char *tables)
{
    static const char *const titles[] = {"FileNames", "FunctionNames", "FileLocations",
                                         "StackFrames"};
    HloWire__StackFrames *f = PROTO_NEW(w, StackFrames, STACK_FRAMES);
    size_t lines = lines_of(tables), title = 0;

    f->file_names = arena_array(w->arena, lines, sizeof(*f->file_names));
    f->function_names = arena_array(w->arena, lines, sizeof(*f->function_names));
    f->file_locations = PROTO_LIST(w, FileLocation, lines);
    f->stack_frames = PROTO_LIST(w, StackFrame, lines);
    for (const char *at = tables; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *end = at + strcspn(at, "\n"), *value = memchr(at, ' ', (size_t)(end - at));

        for (size_t t = 0; t < 4; t++) {
            if (strncmp(at, titles[t], strlen(titles[t])) == 0)
                title = t;
        }
        if (!value)
            continue;
        value++;
        if (title == 2) {
            add_location(w, f, value + 1, end);
        } else if (title == 3) {
            add_frame(w, f, value + 1, end);
        } else {
            char *name = arena_printf(w->arena, "%.*s", (int)(end - value), value);

            if (title == 0)
                f->file_names[f->n_file_names++] = proto_unquoted(w, name);
            else
                f->function_names[f->n_function_names++] = proto_unquoted(w, name);
        }
    }
    return f;
}
