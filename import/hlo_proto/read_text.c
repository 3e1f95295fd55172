/* Texts as HLO text writes them: quoted, or as they are where they are objects of JSON. */
#include "import/hlo_proto/read.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_MAX 64

/* `{`, then balanced brackets outside of strings up to the end: what text may have without quotes */
static bool is_object(ProtobufCBinaryData t)
{
    char open[NESTING_MAX];
    int depth = 0;

    if (t.len < 2 || t.data[0] != '{')
        return false;
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = t.data[i];

        if (c == '"') {
            for (i++; i < t.len && t.data[i] != '"'; i++)
                i += t.data[i] == '\\';
            if (i >= t.len)
                return false;
        } else if (c == '{' || c == '[') {
            if (depth == NESTING_MAX)
                return false;
            open[depth++] = (char)c;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || open[--depth] != (c == '}' ? '{' : '['))
                return false;
            if (depth == 0 && i + 1 < t.len)
                return false;
        } else if (c < 32 && !isspace(c)) {
            return false;
        }
    }
    return depth == 0;
}

static void write_escaped(FILE *to, unsigned char c)
{
    static const char from[] = "\n\r\t\"'\\", as[] = "nrt\"'\\";
    const char *known = c ? memchr(from, c, sizeof(from) - 1) : NULL;

    if (known)
        text_print_file(to, "\\%c", as[known - from]);
    else if (c < 32 || c >= 127)
        text_print_file(to, "\\%03o", c);
    else
        fputc(c, to);
}

const char *proto_quoted(struct proto_reader *r, ProtobufCBinaryData t)
{
    char *text = NULL;
    const char *kept;
    size_t bytes;
    FILE *to;

    if (is_object(t))
        return proto_text(r, t);
    to = text_memory(&text, &bytes);
    fputc('"', to);
    for (size_t i = 0; i < t.len; i++)
        write_escaped(to, t.data[i]);
    fputc('"', to);
    text_memory_end(to, &text);
    kept = arena_strdup(r->arena, text);
    free(text);
    return kept;
}

const char *proto_text(struct proto_reader *r, ProtobufCBinaryData t)
{
    char *text;

    if (t.len == 0)
        return NULL;
    text = arena_alloc(r->arena, t.len + 1);
    memcpy(text, t.data, t.len);
    return text;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct hlo_pair *)a)->key, ((const struct hlo_pair *)b)->key);
}

/* Maps have no order on the wire; text has that of the keys. */
int proto_read_pairs(struct proto_reader *r, const HloWire__Pairs *from, struct hlo_pairs *made)
{
    struct hlo_pair *item = arena_array(r->arena, from->n_map, sizeof(*item));

    for (size_t i = 0; i < from->n_map; i++) {
        const char *key = proto_text(r, from->map[i]->key);

        if (!key)
            return proto_fail(r, "an attribute without a name");
        item[i] = (struct hlo_pair){key, proto_quoted(r, from->map[i]->value)};
    }
    if (from->n_map)
        qsort(item, from->n_map, sizeof(*item), compare_keys);
    *made = (struct hlo_pairs){(int)from->n_map, item};
    return 0;
}
