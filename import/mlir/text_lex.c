/* The words of MLIR text: blanks, names, strings, numbers, brackets; and where a mistake stands. */
#include "import/mlir/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Lines are counted from the last place that was asked for: places mostly come in order. */
void mlir_line_col(struct mlir_reader *r, const char *at, int *line, int *col)
{
    if (!r->line_at || at < r->line_at) {
        r->line_at = r->begin;
        r->line = 1;
    }
    const char *p = r->line_at, *next;
    while (p < at && (next = memchr(p, '\n', (size_t)(at - p)))) {
        r->line++;
        p = next + 1;
    }
    while (p > r->begin && p[-1] != '\n') p--;
    r->line_at = p;
    *line = r->line;
    *col = (int)(at - p) + 1;
}

static int fail_args(struct mlir_reader *r, const char *at, const char *fmt, va_list args)
{
    char msg[512];
    int line, col;

    vsnprintf(msg, sizeof(msg), fmt, args);
    mlir_line_col(r, at, &line, &col);
    return err_at(r->err, r->tree->file, line, col, "%s", msg);
}

int mlir_fail(struct mlir_reader *r, const char *fmt, ...)
{
    va_list args;

    mlir_skip(r);
    va_start(args, fmt);
    fail_args(r, r->at, fmt, args);
    va_end(args);
    return -1;
}

int mlir_fail_at(struct mlir_reader *r, const char *at, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fail_args(r, at, fmt, args);
    va_end(args);
    return -1;
}

int mlir_enter(struct mlir_reader *r)
{
    if (r->depth >= HLO_NESTING_MAX)
        return mlir_fail(r, "more than %d things are nested in each other", HLO_NESTING_MAX);
    r->depth++;
    return 0;
}

void mlir_skip(struct mlir_reader *r)
{
    const char *p = r->at;
    while (p < r->end) {
        if (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') {
            p++;
        } else if (*p == '/' && p + 1 < r->end && p[1] == '/') {
            const char *line_end = memchr(p, '\n', (size_t)(r->end - p));
            p = line_end ? line_end : r->end;
        } else {
            break;
        }
    }
    r->at = p;
}

char mlir_next_char(struct mlir_reader *r)
{
    mlir_skip(r);
    return r->at < r->end ? *r->at : '\0';
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

bool mlir_peek(struct mlir_reader *r, const char *token)
{
    size_t n = strlen(token);

    mlir_skip(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, token, n)) return false;
    return !is_word_char(token[n - 1]) || r->at + n >= r->end || !is_word_char(r->at[n]);
}

bool mlir_accept(struct mlir_reader *r, const char *token)
{
    if (!mlir_peek(r, token)) return false;
    r->at += strlen(token);
    return true;
}

int mlir_expect(struct mlir_reader *r, const char *token)
{
    if (mlir_accept(r, token)) return 0;
    const char *p = r->at;
    size_t n = 0;
    while (p + n < r->end && n < 24 && !isspace((unsigned char)p[n]) && isprint((unsigned char)p[n]))
        n++;
    return mlir_fail(r, n ? "expected \"%s\" and not \"%.*s\"" : "expected \"%s\"", token, (int)n, p);
}

bool mlir_follows_on_line(struct mlir_reader *r)
{
    mlir_skip(r);
    const char *p = r->at;
    while (p > r->begin && (p[-1] == ' ' || p[-1] == '\t')) p--;
    return r->at < r->end && p > r->begin && p[-1] != '\n' && p[-1] != '\r';
}

int mlir_read_word(struct mlir_reader *r, struct mlir_span *word)
{
    mlir_skip(r);
    const char *p = r->at;
    if (p < r->end && (isalpha((unsigned char)*p) || *p == '_'))
        while (p < r->end && is_word_char(*p)) p++;
    *word = (struct mlir_span){r->at, (size_t)(p - r->at)};
    if (word->bytes == 0) return mlir_fail(r, "expected a name");
    r->at = p;
    return 0;
}

int mlir_read_suffix(struct mlir_reader *r, struct mlir_span *name)
{
    const char *p = r->at;
    while (p < r->end && (is_word_char(*p) || *p == '-')) p++;
    *name = (struct mlir_span){r->at, (size_t)(p - r->at)};
    if (name->bytes == 0) return mlir_fail_at(r, r->at, "expected a name");
    r->at = p;
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* what stands behind a backslash; the number of characters it takes, 0 if it is none */
static int escaped(const char *p, const char *end, char *to)
{
    if (p >= end) return 0;
    switch (*p) {
    case 'n': *to = '\n'; return 1;
    case 't': *to = '\t'; return 1;
    case '"':
    case '\\': *to = *p; return 1;
    default: break;
    }
    if (p + 1 >= end || hex_digit(p[0]) < 0 || hex_digit(p[1]) < 0) return 0;
    *to = (char)(hex_digit(p[0]) * 16 + hex_digit(p[1]));
    return 2;
}

/* the closing quote of the string whose first character is at p; NULL: it never ends */
static const char *string_end(const char *p, const char *end)
{
    while (p < end && *p != '"' && *p != '\n') p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end && *p == '"' ? p : NULL;
}

int mlir_read_string(struct mlir_reader *r, struct mlir_text *to)
{
    mlir_skip(r);
    const char *open = r->at;
    if (open >= r->end || *open != '"') return mlir_fail(r, "expected a string");
    const char *close = string_end(open + 1, r->end);
    if (!close) return mlir_fail(r, "a string without its closing quote");
    char *data = arena_alloc(r->arena, (size_t)(close - open));
    size_t n = 0;
    for (const char *p = open + 1; p < close;) {
        if (*p != '\\') {
            data[n++] = *p++;
            continue;
        }
        int taken = escaped(p + 1, close, &data[n++]);
        if (taken == 0) return mlir_fail_at(r, p, "no escape that strings have: \\%c", p[1]);
        p += 1 + taken;
    }
    data[n] = '\0';
    *to = (struct mlir_text){data, n};
    r->at = close + 1;
    return 0;
}

static int read_symbol_part(struct mlir_reader *r, struct mlir_text *to)
{
    struct mlir_span name;

    if (mlir_expect(r, "@")) return -1;
    if (r->at < r->end && *r->at == '"') return mlir_read_string(r, to);
    if (mlir_read_suffix(r, &name)) return -1;
    *to = mlir_text_copy(r->arena, name.data, name.bytes);
    return 0;
}

int mlir_read_symbol(struct mlir_reader *r, struct mlir_text *to)
{
    if (read_symbol_part(r, to)) return -1;
    while (r->end - r->at > 3 && !memcmp(r->at, "::@", 3)) {
        struct mlir_text inner;
        r->at += 2;
        if (read_symbol_part(r, &inner)) return -1;
        char *both = arena_printf(r->arena, "%s::%s", to->data, inner.data);
        *to = (struct mlir_text){both, strlen(both)};
    }
    return 0;
}

bool mlir_is_number(struct mlir_reader *r)
{
    char c = mlir_next_char(r);
    return isdigit((unsigned char)c) ||
           (c == '-' && r->at + 1 < r->end && isdigit((unsigned char)r->at[1]));
}

/* Numbers up to 2^64 - 1 are kept by their bits. */
int mlir_int_of_span(struct mlir_span s, int64_t *value)
{
    const char *p = s.data, *end = s.data + s.bytes;
    bool is_negative = p < end && *p == '-';
    uint64_t v = 0, base = 10;

    p += is_negative;
    if (end - p > 2 && p[0] == '0' && p[1] == 'x') {
        base = 16;
        p += 2;
    }
    if (p >= end) return -1;
    for (; p < end; p++) {
        int digit = hex_digit(*p);
        if (digit < 0 || (uint64_t)digit >= base) return -1;
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)digit, &v))
            return -1;
    }
    if (is_negative && v > (uint64_t)INT64_MAX + 1) return -1;
    *value = (int64_t)(is_negative ? 0 - v : v);
    return 0;
}

int mlir_read_int(struct mlir_reader *r, int64_t *value)
{
    mlir_skip(r);
    const char *p = r->at;
    if (p < r->end && *p == '-') p++;
    while (p < r->end && isalnum((unsigned char)*p)) {
        bool is_hex = p - r->at >= 1 && r->at[0] == '0' && (p == r->at + 1 || r->at[1] == 'x');
        if (!isdigit((unsigned char)*p) && !is_hex) break;
        p++;
    }
    struct mlir_span s = {r->at, (size_t)(p - r->at)};
    if (mlir_int_of_span(s, value)) return mlir_fail(r, "expected an integer of 64 bits");
    r->at = p;
    return 0;
}

/* Angle brackets count as brackets; those of arrows do not. */
const char *mlir_balanced_end(struct mlir_reader *r, const char *at)
{
    char open[HLO_NESTING_MAX * 4];
    size_t depth = 0;

    for (const char *p = at; p < r->end; p++) {
        if (*p == '"') {
            const char *end = string_end(p + 1, r->end);
            if (!end || memchr(p, '\0', (size_t)(end - p))) return NULL;
            p = end;
        } else if (!*p) {
            return NULL;                /* what is kept as text would end here */
        } else if (*p == '-' && p + 1 < r->end && p[1] == '>') {
            p++;
        } else if (strchr("<([{", *p)) {
            if (depth == sizeof(open)) return NULL;
            open[depth++] = *p;
        } else if (strchr(">)]}", *p)) {
            const char *pair = "<>()[]{}";
            if (depth == 0 || strchr(pair, open[depth - 1])[1] != *p) return NULL;
            if (--depth == 0) return p + 1;
        }
    }
    return NULL;
}

uint32_t mlir_hash(const char *data, size_t bytes)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < bytes; i++) h = (h ^ (unsigned char)data[i]) * 16777619u;
    return h ^ (h >> 15);
}

bool mlir_span_is(struct mlir_span s, const char *word)
{
    return s.bytes == strlen(word) && !memcmp(s.data, word, s.bytes);
}
