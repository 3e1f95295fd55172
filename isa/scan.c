/*
 * The scanner below the assembler and the readers of listings: blanks, comments, words and
 * numbers, with their columns.
 */
#include "isa/scan.h"

#include "base/floats.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_CHARS 64

void scan_init(struct scan *s, const char *text, size_t bytes)
{
    *s = (struct scan){ .text = text, .end = bytes, .line = 1 };
}

int scan_col(const struct scan *s)
{
    return (int)(s->pos - s->line_start) + 1;
}

int scan_char(const struct scan *s)
{
    return s->pos < s->end ? (unsigned char)s->text[s->pos] : -1;
}

static bool at_pair(const struct scan *s, char first, char second)
{
    return s->pos + 1 < s->end && s->text[s->pos] == first && s->text[s->pos + 1] == second;
}

static void step(struct scan *s)
{
    if (s->text[s->pos++] == '\n') {
        s->line++;
        s->line_start = s->pos;
    }
}

void scan_line_end(struct scan *s)
{
    while (s->pos < s->end && s->text[s->pos] != '\n')
        s->pos++;
}

static void skip_c_comment(struct scan *s)
{
    int line = s->line, col = scan_col(s);

    s->pos += 2;
    while (s->pos < s->end && !at_pair(s, '*', '/'))
        step(s);
    if (s->pos < s->end) {
        s->pos += 2;
    } else {
        s->open_line = line;
        s->open_col = col;
    }
}

/* "#name" directly behind '[' is an allocation's name, not a comment */
static bool at_line_comment(const struct scan *s)
{
    if (at_pair(s, '/', '/'))
        return true;
    return scan_char(s) == '#' && !(s->pos > 0 && s->text[s->pos - 1] == '[');
}

void scan_blank(struct scan *s)
{
    while (s->pos < s->end) {
        if (at_pair(s, '/', '*'))
            skip_c_comment(s);
        else if (at_line_comment(s))
            scan_line_end(s);
        else if (isspace(scan_char(s)))
            step(s);
        else
            return;
    }
}

bool scan_take(struct scan *s, char c)
{
    scan_blank(s);
    if (scan_char(s) != c)
        return false;
    s->pos++;
    return true;
}

static bool is_word_char(int c)
{
    return c >= 0 && c < 128 && (isalnum(c) || c == '_' || c == '.' || c == '%');
}

struct scan_token scan_word(struct scan *s)
{
    struct scan_token w;

    scan_blank(s);
    w.start = s->text + s->pos;
    while (is_word_char(scan_char(s)))
        s->pos++;
    w.length = (size_t)(s->text + s->pos - w.start);
    return w;
}

bool scan_word_is(struct scan_token w, const char *s)
{
    return w.length == strlen(s) && memcmp(w.start, s, w.length) == 0;
}

static bool is_digits(const char *s, int (*is_digit)(int))
{
    if (*s == '\0')
        return false;
    while (*s && is_digit((unsigned char)*s))
        s++;
    return *s == '\0';
}

/* `s` without sign, '$' and anything behind the number */
static struct scan_value read_number(const char *s, bool is_negative)
{
    struct scan_value n = { NUMBER_BAD, 0 };
    bool is_hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    char *end;
    float f;

    if (is_hex ? is_digits(s + 2, isxdigit) : is_digits(s, isdigit)) {
        unsigned long long value = strtoull(s, NULL, is_hex ? 16 : 10);

        if (value > UINT32_MAX || (is_negative && value > (1ULL << 31)))
            return (struct scan_value){ NUMBER_RANGE, 0 };
        return (struct scan_value){ NUMBER_INT, is_negative ? -(int64_t)value : (int64_t)value };
    }
    if (is_hex)
        return n;
    f = text_to_float(s, &end);
    if (end == s || !(*end == '\0' || strcmp(end, "f") == 0))
        return n;
    if (isinf(f) && isdigit((unsigned char)s[0]))
        return (struct scan_value){ NUMBER_RANGE, 0 };
    n.kind = NUMBER_FLOAT;
    n.value = isnan(f) ? F32_NAN_BITS : f32_bits(f);
    if (is_negative)
        n.value ^= 0x80000000;
    return n;
}

/* the extent of a number: letters, digits, '.', and a sign behind a decimal exponent */
static size_t number_length(const struct scan *s)
{
    size_t at = s->pos;
    bool is_hex = at + 1 < s->end && s->text[at] == '0' && (s->text[at + 1] | 0x20) == 'x';

    while (at < s->end) {
        char c = s->text[at];
        bool is_exponent_sign = (c == '-' || c == '+') && !is_hex && at > s->pos &&
                                (s->text[at - 1] | 0x20) == 'e';

        if (!is_exponent_sign && !is_word_char((unsigned char)c))
            break;
        at++;
    }
    return at - s->pos;
}

static bool starts_number(const struct scan *s)
{
    struct scan rest = *s;
    int c = scan_char(s);
    struct scan_token w;

    if (c >= 0 && c < 128 && isdigit(c))
        return true;
    if (c == '.')
        return s->pos + 1 < s->end && isdigit((unsigned char)s->text[s->pos + 1]);
    w = scan_word(&rest);
    return scan_word_is(w, "inf") || scan_word_is(w, "nan");
}

struct scan_value scan_number(struct scan *s)
{
    struct scan at = *s;
    struct scan_value n = { NUMBER_NONE, 0 };
    char digits[NUMBER_CHARS];
    bool is_negative;
    size_t length;

    scan_blank(&at);
    is_negative = scan_char(&at) == '-';
    if (is_negative)
        at.pos++;
    if (scan_char(&at) == '$')
        at.pos++;
    if (!starts_number(&at))
        return n;
    length = number_length(&at);
    n.kind = NUMBER_BAD;
    if (length < sizeof(digits)) {
        snprintf(digits, sizeof(digits), "%.*s", (int)length, at.text + at.pos);
        n = read_number(digits, is_negative);
    }
    if (n.kind == NUMBER_INT || n.kind == NUMBER_FLOAT) {
        at.pos += length;
        *s = at;
    }
    return n;
}

void scan_recover(struct scan *s)
{
    int depth = 0;                      /* of braces that were opened on the way */

    while (s->pos < s->end && s->text[s->pos] != '\n') {
        if (depth == 0 && (s->text[s->pos] == '}' || at_pair(s, ';', ';')))
            return;
        if (at_pair(s, '/', '*')) {
            skip_c_comment(s);
            continue;
        }
        if (at_line_comment(s)) {
            scan_line_end(s);
            continue;
        }
        depth += (s->text[s->pos] == '{') - (s->text[s->pos] == '}');
        s->pos++;
    }
}
