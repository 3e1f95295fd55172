/* Reads the structure of a listing: bundles, operations, declarations. */
#include "isa/listing/listing_internal.h"

#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE_COUNT_MAX (1 << 22)
#define NUMBER_MAX (1LL << 31)

struct reader {
    struct listing *out;
    struct isa_errors *errors;
    const char *text;                   /* blanked, NUL behind its end */
    size_t pos, end, line_start;
    int line;
};

static int col(const struct reader *r)
{
    return (int)(r->pos - r->line_start) + 1;
}

static int error_here(struct reader *r, const char *what)
{
    int c = r->pos < r->end ? (unsigned char)r->text[r->pos] : '\n';

    if (c == '\n' || c == '\r')
        return listing_error(r->errors, r->out->file, r->line, col(r),
                             "expected %s, found the end of the line", what);
    return listing_error(r->errors, r->out->file, r->line, col(r),
                         c < 127 && isprint(c) ? "expected %s, found \"%c\""
                                               : "expected %s, found the byte 0x%02x", what, c);
}

static void step(struct reader *r)
{
    if (r->text[r->pos++] == '\n') {
        r->line++;
        r->line_start = r->pos;
    }
}

static void skip_blank(struct reader *r)
{
    while (r->pos < r->end && isspace((unsigned char)r->text[r->pos]))
        step(r);
}

static void skip_in_line(struct reader *r)
{
    while (r->pos < r->end && r->text[r->pos] != '\n' && isspace((unsigned char)r->text[r->pos]))
        r->pos++;
}

static void skip_line(struct reader *r)
{
    while (r->pos < r->end && r->text[r->pos] != '\n')
        r->pos++;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '%' || c == '-';
}

/* the word at *at as a string of its own; *at moves behind it */
static const char *take_word(struct reader *r, size_t *at, size_t end)
{
    size_t start = *at;

    while (*at < end && is_name_char(r->text[*at]))
        (*at)++;
    return arena_printf(r->out->arena, "%.*s", (int)(*at - start), r->text + start);
}

static size_t blanks_end(const struct reader *r, size_t at, size_t end)
{
    while (at < end && isspace((unsigned char)r->text[at]))
        at++;
    return at;
}

/* one blank where the listing has several, or a line break */
static const char *plain_text(struct reader *r, size_t at, size_t end)
{
    char *text = arena_alloc(r->out->arena, end - at + 1);
    size_t length = 0;

    for (; at < end; at++) {
        bool is_blank = isspace((unsigned char)r->text[at]);

        if (is_blank && (length == 0 || text[length - 1] == ' '))
            continue;
        text[length++] = is_blank ? ' ' : isprint((unsigned char)r->text[at]) ? r->text[at] : '?';
    }
    return text;
}

/* "result = mnemonic …" in the text from op->at to op->end */
static int read_op(struct reader *r, struct listing_op *op)
{
    size_t at = op->at, behind;

    op->result = take_word(r, &at, op->end);
    behind = blanks_end(r, at, op->end);
    if (op->result[0] && behind < op->end && r->text[behind] == '=') {
        at = blanks_end(r, behind + 1, op->end);
    } else {
        op->result = "";
        at = op->at;
    }
    if (at == op->end || !isalpha((unsigned char)r->text[at])) {
        int shift = (int)(at - op->at);

        return listing_error(r->errors, r->out->file, op->line, op->col + shift,
                             "expected an operation");
    }
    op->mnemonic = take_word(r, &at, op->end);
    op->text = plain_text(r, op->at, op->end);
    listing_classify(op);
    if (strncmp(op->mnemonic, "inlined_call_operand", 20) == 0)
        listing_declare_operand(r->out, op);
    return 0;
}

static bool at_separator(const struct reader *r)
{
    return r->pos + 1 < r->end && r->text[r->pos] == ';' && r->text[r->pos + 1] == ';';
}

/*
 * Up to ";;" or the brace that closes the bundle; false at the end of the text
 * or where another bundle begins.
 */
static bool find_op_end(struct reader *r)
{
    int depth = 0;

    for (; r->pos < r->end; step(r)) {
        char c = r->text[r->pos];

        if (at_separator(r) || (c == '}' && depth == 0))
            return true;
        depth += (c == '{') - (c == '}');
        if (c == '\n' && listing_is_bundle_line(r->text, r->end, r->pos + 1))
            return false;
    }
    return false;
}

static size_t trimmed(const struct reader *r, size_t start, size_t end)
{
    while (end > start && isspace((unsigned char)r->text[end - 1]))
        end--;
    return end;
}

/* the operations behind '{' */
static void read_ops(struct reader *r, int line, int column)
{
    struct listing *l = r->out;
    bool is_first = true;

    for (;;) {
        struct listing_op *op = &l->op[l->op_count];
        bool is_last;

        skip_blank(r);
        *op = (struct listing_op){ .bundle = l->bundle_count, .line = r->line, .col = col(r),
                                   .at = r->pos, .result = "", .mnemonic = "", .text = "" };
        if (!find_op_end(r)) {
            listing_error(r->errors, l->file, line, column,
                          "the bundle opened here is not closed");
            return;
        }
        op->end = trimmed(r, op->at, r->pos);
        is_last = !at_separator(r);
        r->pos += is_last ? 1 : 2;
        if (op->end == op->at && is_last && is_first)
            return;
        is_first = false;
        if (read_op(r, op) == 0)
            l->op_count++;
        if (is_last)
            return;
    }
}

/* "0x1d LB: >" before '{'; -1 where there is an error */
static int read_number(struct reader *r, int64_t *number)
{
    struct listing *l = r->out;
    char *behind;
    size_t at;
    int depth = 0;

    *number = strtoll(r->text + r->pos, &behind, 0);
    at = (size_t)(behind - r->text);
    if (at == r->pos || *number < 0 || *number > NUMBER_MAX || isalnum((unsigned char)*behind))
        return error_here(r, "a bundle's number such as 31 or 0x1f");
    r->pos = at;
    skip_in_line(r);
    l->bundle_is_exit[l->bundle_count] = false;
    while (r->pos < r->end && (isupper((unsigned char)r->text[r->pos]) ||
                               r->text[r->pos] == ' ' || r->text[r->pos] == ',')) {
        if (strncmp(r->text + r->pos, "LE", 2) == 0)
            l->bundle_is_exit[l->bundle_count] = true;
        r->pos++;
    }
    if (r->pos == r->end || r->text[r->pos] != ':')
        return error_here(r, "\":\" behind the bundle's number");
    r->pos++;
    while (r->pos < r->end && (r->text[r->pos] == '>' || r->text[r->pos] == ' ' ||
                               r->text[r->pos] == '\t'))
        depth += r->text[r->pos++] == '>';
    l->bundle_depth[l->bundle_count] = (uint8_t)(depth < UINT8_MAX ? depth : UINT8_MAX);
    if (r->pos == r->end || r->text[r->pos] != '{')
        return error_here(r, "\"{\"");
    return 0;
}

static void read_bundle(struct reader *r)
{
    struct listing *l = r->out;
    int64_t number = l->bundle_count ? l->bundle_number[l->bundle_count - 1] + 1 : 0;
    int64_t previous = number - 1;
    int column = col(r), line = r->line;

    if (isdigit((unsigned char)r->text[r->pos]) && read_number(r, &number) != 0) {
        skip_line(r);
        return;
    }
    if (number <= previous) {
        listing_error(r->errors, l->file, line, column, "bundle 0x%llx behind bundle 0x%llx; "
                      "one program with ascending numbers is needed", (long long)number,
                      (long long)previous);
        r->pos = r->end;
        return;
    }
    column = col(r);
    r->pos++;
    l->bundle_number[l->bundle_count] = number;
    l->bundle_line[l->bundle_count] = line;
    read_ops(r, line, column);
    l->bundle_count++;
}

static bool line_has(const struct reader *r, const char *what)
{
    const char *start = r->text + r->pos, *end = memchr(start, '\n', r->end - r->pos);

    return listing_find(start, end ? end : r->text + r->end, what) != NULL;
}

static void read_declaration(struct reader *r)
{
    size_t start = r->pos;

    skip_line(r);
    if (listing_declare_allocation(r->out, r->text + start, r->text + r->pos, r->line, r->errors))
        return;
}

/* a key to the marks, headings, regions: text that is no part of the program */
static void read_other(struct reader *r)
{
    if (r->text[r->pos] == '}' || line_has(r, ";;"))
        error_here(r, "a bundle's number such as 31 or 0x1f");
    skip_line(r);
}

static void read_statements(struct reader *r)
{
    for (skip_blank(r); r->pos < r->end && r->errors->count < ISA_ERROR_MAX; skip_blank(r)) {
        char c = r->text[r->pos];

        if (c == '{' || isdigit((unsigned char)c))
            read_bundle(r);
        else if (c == '#' && line_has(r, "space"))
            read_declaration(r);
        else
            read_other(r);
    }
}

static size_t count_of(const char *text, size_t bytes, char c)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += text[i] == c;
    return count;
}

/* what the comment on the entry bundle says */
static const char *entry_of(const char *text, size_t bytes, struct arena *a)
{
    static const char key[] = "/* entry bundle: ";
    const char *at = listing_find(text, text + bytes, key), *end;

    if (!at)
        return "";
    at += sizeof(key) - 1;
    end = listing_find(at, text + bytes, "*/");
    end = end ? end : text + bytes;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return arena_printf(a, "%.*s", (int)(end - at < 400 ? end - at : 400), at);
}

static int make_room(struct listing *l, const char *text, size_t bytes)
{
    struct arena *a = l->arena;
    size_t bundles = count_of(text, bytes, '{') + 1;
    size_t ops = bundles + count_of(text, bytes, ';') / 2 + 1, operands = 0;
    const char *at = text;

    while ((at = listing_find(at, text + bytes, "inlined_call_operand")) != NULL)
        operands++, at++;
    if (bundles > BUNDLE_COUNT_MAX || ops > 16u * BUNDLE_COUNT_MAX)
        return -1;
    l->op = arena_array(a, ops, sizeof(*l->op));
    l->operand = arena_array(a, operands + 1, sizeof(*l->operand));
    l->allocation = arena_array(a, count_of(text, bytes, '#') + 1, sizeof(*l->allocation));
    l->bundle_number = arena_array(a, bundles, sizeof(*l->bundle_number));
    l->bundle_line = arena_array(a, bundles, sizeof(*l->bundle_line));
    l->bundle_depth = arena_array(a, bundles, sizeof(*l->bundle_depth));
    l->bundle_is_exit = arena_array(a, bundles, sizeof(*l->bundle_is_exit));
    return 0;
}

static int open_comment(const struct listing *l, size_t at, struct isa_errors *errors)
{
    int line = 1;
    size_t line_start = 0;

    for (size_t i = 0; i < at; i++)
        if (l->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    return listing_error(errors, l->file, line, (int)(at - line_start) + 1,
                         "the comment that begins here is not closed");
}

int listing_scan(const char *text, size_t bytes, const char *file, struct arena *a,
                 struct listing *out, struct isa_errors *errors)
{
    char *blanked = arena_alloc(a, bytes + 1);
    struct reader r = { .out = out, .errors = errors, .text = blanked, .end = bytes, .line = 1 };
    size_t open;

    memset(out, 0, sizeof(*out));
    errors->count = 0;
    memcpy(blanked, text, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (!blanked[i])
            blanked[i] = '?';           /* so that the text ends at its end */
    out->file = file;
    out->text = blanked;
    out->bytes = bytes;
    out->arena = a;
    out->entry = entry_of(text, bytes, a);
    if (!listing_blank_comments(blanked, bytes, &open))
        return open_comment(out, open, errors);
    if (make_room(out, blanked, bytes))
        return listing_error(errors, file, 1, 1, "more than %d bundles", BUNDLE_COUNT_MAX);
    read_statements(&r);
    if (out->bundle_count == 0) {
        errors->count = 0;              /* what else could be said of such a text is noise */
        listing_error(errors, file, 1, 1, "no bundles in the text: not a listing");
    }
    if (errors->count)
        return -1;
    listing_find_uses(out);
    return 0;
}
