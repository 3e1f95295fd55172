/*
 * Takes HLO text apart. There is no token before somebody wants one, for what a character begins
 * depends on the place: `3x3` is a window, `0_1` a padding, `b01f_01io->b01f` labels.
 */
#include "import/hlo_text/scan.h"

#include "base/text.h"
#include "import/program/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hlo_scan_init(struct hlo_scan *s, const char *text, size_t bytes, const char *file,
                   struct err *e)
{
    if (bytes == 0)
        text = "";                      /* nobody's memory may be at NULL */
    *s = (struct hlo_scan){.at = text, .text = text, .end = text + bytes, .file = file, .err = e,
                           .counted = text, .line_start = text, .line = 1};
}

/* Places are asked for in the order of the text but by errors, for which all is counted again. */
void hlo_scan_place(struct hlo_scan *s, const char *at, int *line, int *col)
{
    const char *newline;

    if (at < s->counted) {
        s->counted = s->line_start = s->text;
        s->line = 1;
    }
    while ((newline = memchr(s->counted, '\n', (size_t)(at - s->counted)))) {
        s->line++;
        s->counted = s->line_start = newline + 1;
    }
    s->counted = at;
    *line = s->line;
    *col = at - s->line_start < INT32_MAX ? (int)(at - s->line_start) + 1 : INT32_MAX;
}

int hlo_scan_error(struct hlo_scan *s, const char *at, const char *fmt, ...)
{
    char msg[sizeof(s->err->msg)];
    va_list args;
    int line, col;

    hlo_scan_blank(s);
    s->is_at_end = s->at == s->end;
    va_start(args, fmt);
    text_print_args(msg, sizeof(msg), fmt, args);
    va_end(args);
    hlo_scan_place(s, at, &line, &col);
    return err_at(s->err, s->file, line, col, "%s", msg);
}

int hlo_scan_unexpected(struct hlo_scan *s, const char *wanted)
{
    struct hlo_span found;
    char shown[44];

    hlo_scan_blank(s);
    if (s->at == s->end)
        return hlo_scan_error(s, s->at, "expected %s, but the text ends here", wanted);
    found.at = s->at;
    for (found.length = 1; found.at + found.length < s->end && found.length < 40
                           && (unsigned char)found.at[found.length] > ' '
                           && !strchr(",(){}", found.at[found.length]);)
        found.length++;
    snprintf(shown, sizeof(shown), "%.*s", (int)found.length, found.at);
    return hlo_scan_error(s, s->at, "expected %s, but found \"%s\"", wanted, shown);
}

int hlo_scan_enter(struct hlo_scan *s)
{
    if (s->depth == HLO_NESTING_MAX)
        return hlo_scan_error(s, s->at, "more than %d levels are nested here", HLO_NESTING_MAX);
    s->depth++;
    return 0;
}

void hlo_scan_leave(struct hlo_scan *s) { s->depth--; }

/* behind a comment that begins at `p`; `p` itself where none does */
static const char *skip_comment(const char *p, const char *end)
{
    const char *close;

    if (end - p < 2 || p[0] != '/')
        return p;
    if (p[1] == '/') {
        close = memchr(p, '\n', (size_t)(end - p));
        return close ? close + 1 : end;
    }
    if (p[1] != '*')
        return p;
    for (close = p + 2; (close = memchr(close, '*', (size_t)(end - close))); close++) {
        if (close + 1 < end && close[1] == '/')
            return close + 2;
    }
    return end;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void hlo_scan_blank(struct hlo_scan *s)
{
    const char *p = s->at, *behind;

    for (;; p = behind) {
        while (p < s->end && is_blank(*p))
            p++;
        behind = p < s->end && *p == '/' ? skip_comment(p, s->end) : p;
        if (behind == p)
            break;
    }
    s->at = p;
}

bool hlo_scan_is_end(struct hlo_scan *s)
{
    hlo_scan_blank(s);
    return s->at == s->end;
}

bool hlo_scan_see(struct hlo_scan *s, char c)
{
    hlo_scan_blank(s);
    return s->at < s->end && *s->at == c;
}

bool hlo_scan_see_text(struct hlo_scan *s, const char *text)
{
    size_t length = strlen(text);

    hlo_scan_blank(s);
    return (size_t)(s->end - s->at) >= length && memcmp(s->at, text, length) == 0;
}

bool hlo_scan_take(struct hlo_scan *s, char c)
{
    if (!hlo_scan_see(s, c))
        return false;
    s->at++;
    return true;
}

bool hlo_scan_take_close(struct hlo_scan *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

bool hlo_scan_take_text(struct hlo_scan *s, const char *text)
{
    if (!hlo_scan_see_text(s, text))
        return false;
    s->at += strlen(text);
    return true;
}

int hlo_scan_want(struct hlo_scan *s, char c)
{
    const char wanted[] = {'\'', c, '\'', 0};

    return hlo_scan_take(s, c) ? 0 : hlo_scan_unexpected(s, wanted);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-'; }

/* An arrow begins no part of a name: `a->b`. */
static size_t name_length(const char *p, const char *end)
{
    const char *start = p;

    while (p < end && is_name(*p) && !(*p == '-' && p + 1 < end && p[1] == '>'))
        p++;
    return (size_t)(p - start);
}

bool hlo_scan_see_ident(struct hlo_scan *s, struct hlo_span *ident)
{
    hlo_scan_blank(s);
    if (s->at == s->end || !is_letter(*s->at))
        return false;
    *ident = (struct hlo_span){s->at, name_length(s->at, s->end)};
    return true;
}

bool hlo_scan_take_ident(struct hlo_scan *s, struct hlo_span *ident)
{
    if (!hlo_scan_see_ident(s, ident))
        return false;
    s->at += ident->length;
    return true;
}

bool hlo_scan_take_word(struct hlo_scan *s, const char *word)
{
    struct hlo_span ident;

    if (!hlo_scan_see_ident(s, &ident) || !hlo_span_is(ident, word))
        return false;
    s->at += ident.length;
    return true;
}

int hlo_scan_name(struct hlo_scan *s, struct hlo_span *name, const char *what)
{
    if (!hlo_scan_see(s, '%'))
        return hlo_scan_take_ident(s, name) ? 0 : hlo_scan_unexpected(s, what);
    *name = (struct hlo_span){s->at + 1, name_length(s->at + 1, s->end)};
    if (name->length == 0)
        return hlo_scan_unexpected(s, what);
    s->at += 1 + name->length;
    return 0;
}

bool hlo_scan_see_int(struct hlo_scan *s)
{
    hlo_scan_blank(s);
    return s->at < s->end
           && (is_digit(*s->at) || (*s->at == '-' && s->at + 1 < s->end && is_digit(s->at[1])));
}

int hlo_scan_int(struct hlo_scan *s, int64_t low, int64_t high, int64_t *value)
{
    const char *start, *p;
    bool is_negative, is_large = false;
    int64_t v = 0;                      /* negative: the range reaches further there */

    if (!hlo_scan_see_int(s))
        return hlo_scan_unexpected(s, "an integer");
    start = s->at;
    is_negative = *start == '-';
    for (p = start + is_negative; p < s->end && is_digit(*p); p++) {
        int digit = *p - '0';

        is_large |= v < (INT64_MIN + digit) / 10;
        v = is_large ? v : v * 10 - digit;
    }
    is_large |= !is_negative && v == INT64_MIN;
    s->at = p;
    *value = is_large || is_negative ? v : -v;
    if (is_large || *value < low || *value > high)
        return hlo_scan_error(s, start, "%.*s is not in %" PRId64 "..%" PRId64,
                              p - start < 40 ? (int)(p - start) : 40, start, low, high);
    return 0;
}

int hlo_scan_bool(struct hlo_scan *s, bool *value)
{
    if (hlo_scan_take_word(s, "true") || hlo_scan_take_word(s, "false")) {
        *value = s->at[-2] == 'u';      /* tr-u-e, fal-s-e */
        return 0;
    }
    return hlo_scan_unexpected(s, "true or false");
}

int hlo_scan_double(struct hlo_scan *s, double *value)
{
    char digits[64], *end;
    const char *p;
    size_t length;

    hlo_scan_blank(s);
    for (p = s->at; p < s->end && (is_name(*p) || *p == '+'); p++)
        ;
    length = (size_t)(p - s->at);
    if (length == 0 || length >= sizeof(digits))
        return hlo_scan_unexpected(s, "a number");
    memcpy(digits, s->at, length);
    digits[length] = 0;
    *value = text_to_double(digits, &end);
    if (*end)
        return hlo_scan_unexpected(s, "a number");
    s->at = p;
    return 0;
}

/* behind the string that begins at `p`; NULL: it does not end */
static const char *skip_string(const char *p, const char *end)
{
    char quote = *p++;

    for (; p < end && *p != quote; p++) {
        if (*p == '\\')
            p++;
    }
    return p < end ? p + 1 : NULL;
}

int hlo_scan_string(struct hlo_scan *s, struct hlo_span *raw)
{
    const char *behind;

    if (!hlo_scan_see(s, '"') && !hlo_scan_see(s, '\''))
        return hlo_scan_unexpected(s, "a string");
    behind = skip_string(s->at, s->end);
    if (!behind) {
        const char *start = s->at;

        s->at = s->end;
        return hlo_scan_error(s, start, "this string does not end");
    }
    *raw = (struct hlo_span){s->at, (size_t)(behind - s->at)};
    s->at = behind;
    return 0;
}

/* The closing bracket of one that opens, 0 of any other character. */
static char closing(char c) { return c == '{' ? '}' : c == '[' ? ']' : c == '(' ? ')' : 0; }

int hlo_scan_brackets(struct hlo_scan *s, struct hlo_span *value)
{
    char wanted[HLO_NESTING_MAX];
    const char *p, *start;
    int depth = 0;

    hlo_scan_blank(s);
    start = p = s->at;
    do {
        const char *behind = p < s->end && *p == '/' ? skip_comment(p, s->end) : p;

        if (behind != p) {
            p = behind;
        } else if (p < s->end && (*p == '"' || *p == '\'')) {
            p = skip_string(p, s->end);
        } else if (p < s->end) {
            if (closing(*p) && depth == HLO_NESTING_MAX)
                return hlo_scan_error(s, p, "more than %d levels are nested here", HLO_NESTING_MAX);
            if (closing(*p))
                wanted[depth++] = closing(*p);
            else if (depth > 0 && *p == wanted[depth - 1])
                depth--;
            else if (strchr(")]}", *p))
                return hlo_scan_error(s, p, "'%c' closes nothing that is open", *p);
            p++;
        }
        if (!p || (p >= s->end && depth > 0)) {
            s->at = s->end;
            return hlo_scan_error(s, start, "what begins here does not end");
        }
    } while (depth > 0);
    *value = (struct hlo_span){start, (size_t)(p - start)};
    s->at = p;
    return 0;
}

/* A piece of brackets, a string, or characters that are none of both, as long as they touch. */
int hlo_scan_value(struct hlo_scan *s, struct hlo_span *value)
{
    struct hlo_span piece;
    const char *start;

    hlo_scan_blank(s);
    start = s->at;
    while (s->at < s->end && !is_blank(*s->at) && !strchr(",)}]", *s->at)) {
        if (closing(*s->at) ? hlo_scan_brackets(s, &piece)
            : *s->at == '"' || *s->at == '\'' ? hlo_scan_string(s, &piece)
                                              : (s->at++, 0))
            return -1;
    }
    *value = (struct hlo_span){start, (size_t)(s->at - start)};
    return value->length ? 0 : hlo_scan_unexpected(s, "a value");
}

bool hlo_span_is(struct hlo_span span, const char *text)
{
    return strncmp(span.at, text, span.length) == 0 && text[span.length] == 0;
}
