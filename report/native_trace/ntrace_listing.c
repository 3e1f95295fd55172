/* Writes a listing as JSON, and reads it again. */
#include "report/native_trace/ntrace_listing.h"

#include <jansson.h>
#include <limits.h>

char *ntrace_listing_print(const struct ntrace_listing *l)
{
    json_t *all = json_object(), *lines = json_array(), *ops = json_array();
    json_t *llo = json_array(), *buffers = json_array();
    char *text;

    for (int i = 0; i < l->line_count; i++)
        json_array_append_new(lines, json_pack("{ss si ss}", "file", l->line[i].file, "number",
                                               l->line[i].number, "text", l->line[i].text));
    for (size_t i = 0; i < l->op_count; i++)
        json_array_append_new(ops, json_integer(l->line_of_op[i]));
    for (size_t i = 0; i < l->llo_count; i++)
        json_array_append_new(llo, json_pack("[si]", l->llo[i].text, l->llo[i].line));
    for (int i = 0; i < l->buffer_count; i++)
        json_array_append_new(buffers, json_pack("{ss ss si sI sI}", "name", l->buffer[i].name,
            "kind", l->buffer[i].kind, "copies", l->buffer[i].copies, "address",
            (json_int_t)l->buffer[i].address, "bytes", (json_int_t)l->buffer[i].bytes));
    json_object_set_new(all, "lines", lines);
    json_object_set_new(all, "line_of_operation", ops);
    json_object_set_new(all, "llo", llo);
    json_object_set_new(all, "buffers", buffers);
    text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

static const char *text_of(const json_t *value, struct arena *a)
{
    const char *text = json_string_value(value);

    return arena_strdup(a, text ? text : "");
}

static int64_t within(const json_t *value, int64_t end)
{
    int64_t number = json_integer_value(value);

    return number >= 0 && number < end ? number : 0;
}

static void parse_lines(const json_t *list, struct arena *a, struct ntrace_listing *to)
{
    struct ntrace_source_line *line;

    to->line_count = (int)json_array_size(list);
    line = arena_array(a, (size_t)to->line_count + 1, sizeof(*line));
    for (int i = 0; i < to->line_count; i++) {
        const json_t *l = json_array_get(list, (size_t)i);

        line[i].file = text_of(json_object_get(l, "file"), a);
        line[i].number = (int)within(json_object_get(l, "number"), INT_MAX);
        line[i].text = text_of(json_object_get(l, "text"), a);
    }
    to->line = line;
}

static void parse_code(const json_t *ops, const json_t *llo, struct arena *a,
                       struct ntrace_listing *to)
{
    int *line_of_op;
    struct ntrace_llo_line *code;

    to->op_count = json_array_size(ops);
    to->line_of_op = line_of_op = arena_array(a, to->op_count + 1, sizeof(*line_of_op));
    for (size_t i = 0; i < to->op_count; i++)
        line_of_op[i] = (int)within(json_array_get(ops, i), to->line_count);
    to->llo_count = json_array_size(llo);
    to->llo = code = arena_array(a, to->llo_count + 1, sizeof(*code));
    for (size_t i = 0; i < to->llo_count; i++) {
        const json_t *l = json_array_get(llo, i);

        code[i].text = text_of(json_array_get(l, 0), a);
        code[i].line = (int)within(json_array_get(l, 1), to->line_count);
    }
}

static void parse_buffers(const json_t *list, struct arena *a, struct ntrace_listing *to)
{
    struct ntrace_buffer *buffer = arena_array(a, json_array_size(list) + 1, sizeof(*buffer));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *b = json_array_get(list, i);
        struct ntrace_buffer *n = &buffer[to->buffer_count];

        n->name = text_of(json_object_get(b, "name"), a);
        n->kind = text_of(json_object_get(b, "kind"), a);
        n->copies = (int)within(json_object_get(b, "copies"), INT_MAX);
        n->address = within(json_object_get(b, "address"), INT64_C(1) << 40);
        n->bytes = within(json_object_get(b, "bytes"), INT64_C(1) << 40);
        to->buffer_count += n->copies > 0 && n->bytes >= n->copies;
    }
    to->buffer = buffer;
}

int ntrace_listing_parse(const char *text, size_t bytes, struct arena *a, struct ntrace_listing *to)
{
    json_t *all = json_loadb(text, bytes, 0, NULL);

    *to = (struct ntrace_listing){0};
    if (!all)
        return -1;
    parse_lines(json_object_get(all, "lines"), a, to);
    parse_code(json_object_get(all, "line_of_operation"), json_object_get(all, "llo"), a, to);
    parse_buffers(json_object_get(all, "buffers"), a, to);
    json_decref(all);
    return to->line_count > 0 ? 0 : -1;
}
