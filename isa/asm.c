/* Assembles a text's statements, bundles, labels and directives, and prints its errors. */
#include "isa/asm.h"

#include "base/text.h"
#include "base/units.h"
#include "isa/asm_internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COUNT_MAX 4096             /* .equ names; each use searches them in turn */
#define BUNDLE_COUNT_MAX (1 << 24)
#define SHOWN_CHARS 160                 /* of a line with an error */

struct scan_token asm_word(struct assembler *as)
{
    struct scan_token w = scan_word(&as->scan);

    as->last = as->scan;
    return w;
}

struct scan_token asm_peek(struct assembler *as)
{
    struct scan at;

    scan_blank(&as->scan);
    at = as->scan;
    return scan_word(&at);
}

bool asm_take(struct assembler *as, char c)
{
    if (!scan_take(&as->scan, c))
        return false;
    as->last = as->scan;
    return true;
}

int asm_char(struct assembler *as)
{
    scan_blank(&as->scan);
    return scan_char(&as->scan);
}

int asm_error(struct assembler *as, int line, int col, const char *fmt, ...)
{
    char msg[400];
    va_list ap;

    if (as->errors->count == ISA_ERROR_MAX)
        return -1;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    return err_at(&as->errors->err[as->errors->count++], as->file, line, col, "%s", msg);
}

int asm_expected(struct assembler *as, const char *what)
{
    struct scan_token w = asm_peek(as);
    int c = scan_char(&as->scan);

    if (c < 0 || as->scan.line != as->last.line) {
        as->scan = as->last;            /* so that recovery stays on this line */
        return asm_error_at(as, &as->last, "expected %s, found the end of the %s", what,
                            c < 0 ? "text" : "line");
    }
    if (w.length)
        return asm_error_at(as, &as->scan, "expected %s, found \"%.*s\"", what,
                            (int)(w.length < 80 ? w.length : 80), w.start);
    if (c < 128 && isprint(c))
        return asm_error_at(as, &as->scan, "expected %s, found \"%c\"", what, c);
    return asm_error_at(as, &as->scan, "expected %s, found the byte 0x%02x", what, (unsigned)c);
}

static bool take_separator(struct assembler *as)
{
    struct scan at;

    scan_blank(&as->scan);
    at = as->scan;
    if (!scan_take(&at, ';') || scan_char(&at) != ';')
        return false;
    at.pos++;
    as->scan = as->last = at;
    return true;
}

/* the start of another statement: a brace or a label */
static bool at_statement(const struct assembler *as)
{
    struct scan at = as->scan;

    if (scan_char(&at) == '{')
        return true;
    return scan_word(&at).length > 0 && scan_take(&at, ':');
}

/* After an error inside a bundle: true if the bundle goes on with another operation. */
static bool recover_in_bundle(struct assembler *as)
{
    scan_recover(&as->scan);
    as->last = as->scan;
    if (take_separator(as))
        return true;
    if (asm_take(as, '}'))
        return false;
    return asm_char(as) >= 0 && !at_statement(as) && as->errors->count < ISA_ERROR_MAX;
}

/* The operations behind '{'. */
static void bundle_operations(struct assembler *as, const struct scan *opened, size_t first_op)
{
    bool was_too_many = false;

    if (asm_take(as, '}'))
        return;
    for (;;) {
        struct scan at;
        int status;

        if (asm_char(as) < 0) {
            asm_error_at(as, opened, "the bundle opened here is not closed");
            return;
        }
        at = as->scan;
        status = asm_operation(as);
        if (status == 0 && as->op_count - first_op > ISA_BUNDLE_OP_MAX && !was_too_many) {
            was_too_many = true;
            asm_error_at(as, &at, "more than %d operations in a bundle", ISA_BUNDLE_OP_MAX);
        }
        if (status == 0 && take_separator(as))
            continue;
        if (status == 0 && asm_take(as, '}'))
            return;
        if (status == 0 && asm_char(as) >= 0)
            asm_expected(as, "\";;\" or \"}\"");
        else if (status == 0)
            continue;                   /* told at the top */
        if (!recover_in_bundle(as))
            return;
    }
}

static void bundle(struct assembler *as)
{
    struct isa_bundle *b;
    struct scan opened = as->scan;
    size_t first_op = as->op_count;

    asm_take(as, '{');
    if (as->bundle_count == BUNDLE_COUNT_MAX) {
        asm_error_at(as, &opened, "more than %d bundles", BUNDLE_COUNT_MAX);
        as->scan.pos = as->scan.end;
        return;
    }
    as->bundle = mem_grow(as->bundle, &as->bundle_room, as->bundle_count + 1, sizeof(*as->bundle));
    bundle_operations(as, &opened, first_op);
    b = &as->bundle[as->bundle_count++];
    b->first_op = (uint32_t)first_op;
    b->op_count = (uint16_t)(as->op_count - first_op);
    b->line = (uint32_t)opened.line;
    b->note = as->current_note;
}

static int label(struct assembler *as, struct scan_token w)
{
    struct asm_label *l;
    int64_t number;

    if (w.start[0] == '%' || isdigit((unsigned char)w.start[0]))
        return asm_expected(as, "a label");
    if (asm_register_class(w, &number))
        return asm_error_at(as, &as->scan, "%.*s is a register, not a label", (int)w.length,
                            w.start);
    l = &MEM_ADD(as->label, as->label_count, as->label_room);
    l->name = arena_printf(as->arena, "%.*s", (int)w.length, w.start);
    l->index = (uint32_t)as->bundle_count;
    l->line = as->scan.line;
    l->col = scan_col(&as->scan);
    asm_word(as);
    asm_take(as, ':');
    return 0;
}

static int equ(struct assembler *as)
{
    struct scan_token w = asm_peek(as);
    struct scan at = as->scan;
    int64_t number;
    int32_t value;

    if (w.length == 0 || w.start[0] == '%' || w.start[0] == '.' ||
        isdigit((unsigned char)w.start[0]))
        return asm_expected(as, "a name");
    if (asm_register_class(w, &number) || scan_word_is(w, "inf") || scan_word_is(w, "nan"))
        return asm_error_at(as, &at, "%.*s cannot be a name, it is a %s", (int)w.length, w.start,
                            asm_register_class(w, &number) ? "register" : "number");
    for (size_t i = 0; i < as->name_count; i++) {
        if (scan_word_is(w, as->name[i].name))
            return asm_error_at(as, &at, "%.80s is already defined in line %d", as->name[i].name,
                                as->name[i].line);
    }
    if (as->name_count == NAME_COUNT_MAX)
        return asm_error_at(as, &at, "more than %d names", NAME_COUNT_MAX);
    asm_word(as);
    if (!asm_take(as, ','))
        return asm_expected(as, "\",\"");
    if (asm_immediate(as, &value))
        return -1;
    MEM_ADD(as->name, as->name_count, as->name_room) = (struct asm_name){
        arena_printf(as->arena, "%.*s", (int)w.length, w.start), value, at.line
    };
    return 0;
}

/* the rest of the line, blanks cut off both ends; nothing there ends the note before */
static int note(struct assembler *as)
{
    const char *start = as->scan.text + as->scan.pos, *end;
    struct asm_note *n;

    scan_line_end(&as->scan);
    as->last = as->scan;
    end = as->scan.text + as->scan.pos;
    if (memchr(start, '\0', (size_t)(end - start)))
        end = start + strlen(start);    /* what is behind a NUL could not be kept */
    while (start < end && isspace((unsigned char)*start))
        start++;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    as->current_note = 0;
    if (start == end)
        return 0;
    HASH_FIND(hh, as->note_of_text, start, (size_t)(end - start), n);
    if (!n) {
        n = arena_alloc(as->arena, sizeof(*n));
        n->text = arena_printf(as->arena, "%.*s", (int)(end - start), start);
        MEM_ADD(as->note, as->note_count, as->note_room) = n->text;
        n->number = (uint32_t)as->note_count;
        HASH_ADD_KEYPTR(hh, as->note_of_text, n->text, (size_t)(end - start), n);
    }
    as->current_note = n->number;
    return 0;
}

static int directive(struct assembler *as, struct scan_token w)
{
    if (scan_word_is(w, ".equ")) {
        asm_word(as);
        return equ(as);
    }
    if (scan_word_is(w, ".note")) {
        asm_word(as);
        return note(as);
    }
    return asm_error_at(as, &as->scan, "unknown directive \"%.*s\" (.equ, .note)",
                        (int)(w.length < 80 ? w.length : 80), w.start);
}

/* "0x12 :", "0x12 LB: >>" before a bundle: numbers and marks of listings */
static bool skip_bundle_number(struct assembler *as)
{
    struct scan at = as->scan;

    if (scan_number(&at).kind != NUMBER_INT)
        return false;
    if (!scan_take(&at, ':')) {
        if (scan_word(&at).length != 2 || !scan_take(&at, ':'))
            return false;
    }
    while (scan_take(&at, '>'))
        ;
    as->scan = as->last = at;
    return true;
}

/* Listings begin with a key to their marks, between two lines that begin with '='. */
static bool skip_listing_key(struct assembler *as)
{
    static const char start[] = "= control target key start", end[] = "= control target key end";
    struct scan at = as->scan;
    size_t length = sizeof(start) - 1;

    if (at.end - at.pos < length || memcmp(at.text + at.pos, start, length) != 0)
        return false;
    length = sizeof(end) - 1;
    do {
        scan_line_end(&at);
        scan_blank(&at);
        if (scan_char(&at) < 0)
            return false;
    } while (at.end - at.pos < length || memcmp(at.text + at.pos, end, length) != 0);
    scan_line_end(&at);
    as->scan = as->last = at;
    return true;
}

static int statement(struct assembler *as)
{
    struct scan_token w = asm_peek(as);
    struct scan behind = as->scan;

    as->last = as->scan;
    if (scan_char(&as->scan) == '{') {
        bundle(as);
        return 0;
    }
    if (skip_listing_key(as))
        return 0;
    if (w.length == 0)
        return asm_expected(as, "a bundle \"{\", label or directive");
    scan_word(&behind);
    if (w.start[0] == '.' && scan_char(&behind) != ':')
        return directive(as, w);        /* ".note : text" is one, ".note:" a label */
    if (skip_bundle_number(as))
        return asm_char(as) == '{' ? 0 : asm_expected(as, "\"{\"");
    if (!scan_take(&behind, ':'))
        return asm_expected(as, "a bundle \"{\", label or directive");
    return label(as, w);
}

static int compare_labels(const void *a, const void *b)
{
    const struct asm_label *const *x = a, *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);

    if (order)
        return order;
    return (*x > *y) - (*x < *y);
}

static void undefined_label(struct assembler *as, const struct asm_label *use)
{
    char hint[TEXT_NEAR_BYTES];

    text_find(use->name, as->label_count ? &as->label->name : NULL, sizeof(*as->label),
              as->label_count, hint);
    asm_error(as, use->line, use->col, "undefined label \"%.80s\"%s", use->name, hint);
}

/* Gives the branches their targets; the labels are sorted by name for that. */
static void resolve_labels(struct assembler *as)
{
    const struct asm_label **sorted = NULL;
    size_t room = 0;

    sorted = mem_grow(sorted, &room, as->label_count + 1, sizeof(*sorted));
    for (size_t i = 0; i < as->label_count; i++) {
        const struct asm_label *l = &as->label[i];

        sorted[i] = l;
        if (l->index == as->bundle_count)
            asm_error(as, l->line, l->col, "no bundle follows the label \"%.80s\"", l->name);
    }
    qsort(sorted, as->label_count, sizeof(*sorted), compare_labels);
    for (size_t i = 1; i < as->label_count; i++) {
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
            asm_error(as, sorted[i]->line, sorted[i]->col,
                      "label \"%.80s\" is already defined in line %d", sorted[i]->name,
                      sorted[i - 1]->line);
    }
    for (size_t i = 0; i < as->use_count && as->errors->count < ISA_ERROR_MAX; i++) {
        const struct asm_label *use = &as->use[i];
        size_t first = 0, end = as->label_count;

        while (first < end) {
            size_t middle = (first + end) / 2;

            if (strcmp(sorted[middle]->name, use->name) < 0)
                first = middle + 1;
            else
                end = middle;
        }
        if (first == as->label_count || strcmp(sorted[first]->name, use->name) != 0)
            undefined_label(as, use);
        else if (as->errors->count == 0)        /* else the operation may not be there */
            as->op[use->index].operand[0].value = (int32_t)sorted[first]->index;
    }
    mem_free(sorted);
}

static void hand_over(struct assembler *as, struct isa_program *out)
{
    struct arena *a = as->arena;

    memset(out, 0, sizeof(*out));
    out->name = arena_strdup(a, as->file);
    out->op = arena_copy(a, as->op, as->op_count, sizeof(*as->op));
    out->op_count = (uint32_t)as->op_count;
    out->bundle = arena_copy(a, as->bundle, as->bundle_count, sizeof(*as->bundle));
    out->bundle_count = (uint32_t)as->bundle_count;
    out->note = arena_copy(a, as->note, as->note_count, sizeof(*as->note));
    out->note_count = (uint32_t)as->note_count;
    out->symbol = arena_array(a, as->label_count, sizeof(*out->symbol));
    out->symbol_count = (uint32_t)as->label_count;
    for (size_t i = 0; i < as->label_count; i++)
        out->symbol[i] = (struct isa_symbol){ as->label[i].name, as->label[i].index };
}

static int compare_errors(const void *a, const void *b)
{
    const struct err *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->col > y->col) - (x->col < y->col);
}

int isa_assemble(const char *text, size_t bytes, const char *file, struct arena *a,
                 struct isa_program *out, struct isa_errors *errors)
{
    struct assembler as = { .file = file, .arena = a, .errors = errors };

    errors->count = 0;
    scan_init(&as.scan, text, bytes);
    as.last = as.scan;
    while (errors->count < ISA_ERROR_MAX && asm_char(&as) >= 0) {
        if (statement(&as)) {
            scan_line_end(&as.scan);
            as.last = as.scan;
        }
    }
    if (as.scan.open_line)
        asm_error(&as, as.scan.open_line, as.scan.open_col,
                  "the comment that begins here is not closed");
    resolve_labels(&as);
    if (errors->count == 0 && as.bundle_count == 0)
        asm_error(&as, 1, 1, "no bundles in the text");
    qsort(errors->err, (size_t)errors->count, sizeof(errors->err[0]), compare_errors);
    if (errors->count == 0)
        hand_over(&as, out);
    mem_free(as.op);
    mem_free(as.bundle);
    mem_free(as.label);
    mem_free(as.use);
    mem_free(as.name);
    mem_free(as.note);
    HASH_CLEAR(hh, as.note_of_text);
    return errors->count ? -1 : 0;
}

/*
 * The line itself, tabs kept, and a caret under its column. The text may be
 * anything: what a terminal would obey is shown as "?", a long line from near
 * its error on.
 */
static void print_line(const struct err *e, const char *text, size_t bytes, FILE *to)
{
    size_t start = 0, column = (size_t)e->col, end;

    for (int line = 1; line < e->line && start < bytes; start++)
        line += text[start] == '\n';
    if (column > SHOWN_CHARS) {
        start += column - SHOWN_CHARS / 2;
        column = SHOWN_CHARS / 2;
    }
    end = start;
    fputs("    ", to);
    for (; end < bytes && text[end] != '\n' && end < start + SHOWN_CHARS; end++)
        fputc(iscntrl((unsigned char)text[end]) && text[end] != '\t' ? '?' : text[end], to);
    fputs("\n    ", to);
    for (size_t i = start; i + 1 < start + column; i++)
        fputc(i < end && text[i] == '\t' ? '\t' : ' ', to);
    fprintf(to, "^\n");
}

void isa_errors_print(const struct isa_errors *errors, const char *text, size_t bytes, FILE *to)
{
    for (int i = 0; i < errors->count; i++) {
        const struct err *e = &errors->err[i];

        fprintf(to, "%s:%d:%d: error: %s\n", e->file, e->line, e->col, e->msg);
        print_line(e, text, bytes, to);
    }
}
