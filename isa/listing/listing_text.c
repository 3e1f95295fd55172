/* Prepares the text of a listing for reading: comments become blanks. */
#include "isa/listing/listing_internal.h"

#include <ctype.h>
#include <string.h>

#define NESTED_DEPTH_MAX 16
#define NESTED_CHARS_MAX 16384

const char *listing_find(const char *from, const char *end, const char *what)
{
    size_t length = strlen(what);

    for (; (size_t)(end - from) >= length && from < end; from++)
        if (memcmp(from, what, length) == 0)
            return from;
    return NULL;
}

static bool is_at(const char *text, size_t bytes, size_t at, const char *pair)
{
    return at + 1 < bytes && text[at] == pair[0] && text[at + 1] == pair[1];
}

static size_t skip_spaces(const char *text, size_t bytes, size_t at)
{
    while (at < bytes && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return at;
}

bool listing_is_bundle_line(const char *text, size_t bytes, size_t at)
{
    at = skip_spaces(text, bytes, at);
    if (at == bytes || !isdigit((unsigned char)text[at]))
        return false;
    while (at < bytes && isalnum((unsigned char)text[at]))
        at++;
    while (at < bytes && (isupper((unsigned char)text[at]) || text[at] == ' ' ||
                          text[at] == ',' || text[at] == '\t'))
        at++;
    if (at == bytes || text[at++] != ':')
        return false;
    while (at < bytes && (text[at] == '>' || text[at] == ' ' || text[at] == '\t'))
        at++;
    return at < bytes && text[at] == '{';
}

/*
 * Behind the comment at `at` when comments nest, as bounds checks quote a copy
 * with its own comments; 0 when that swallows a bundle or never ends.
 */
static size_t nested_end(const char *text, size_t bytes, size_t at)
{
    size_t end = bytes - at > NESTED_CHARS_MAX ? at + NESTED_CHARS_MAX : bytes;
    int depth = 0;

    for (; at < end; at++) {
        if (is_at(text, end, at, "/*")) {
            if (++depth > NESTED_DEPTH_MAX)
                return 0;
            at++;
        } else if (is_at(text, end, at, "*/")) {
            at++;
            if (--depth == 0)
                return at + 1;
        } else if (text[at] == '\n' && listing_is_bundle_line(text, bytes, at + 1)) {
            return 0;
        }
    }
    return 0;
}

static size_t plain_end(const char *text, size_t bytes, size_t at)
{
    const char *end = listing_find(text + at + 2, text + bytes, "*/");

    return end ? (size_t)(end - text) + 2 : 0;
}

bool listing_blank_comments(char *text, size_t bytes, size_t *open)
{
    for (size_t at = 0; at + 1 < bytes; at++) {
        size_t end;

        if (!is_at(text, bytes, at, "/*"))
            continue;
        end = nested_end(text, bytes, at);
        if (!end)
            end = plain_end(text, bytes, at);
        if (!end) {
            *open = at;
            return false;
        }
        for (; at < end; at++)
            if (text[at] != '\n')
                text[at] = ' ';
        at--;
    }
    return true;
}
