/*
 * A cursor over HLO text: blanks and comments, names, numbers, strings, balanced values, and errors
 * with their line and column.
 *
 * Functions that return int give 0, or -1 with an error; those that return bool look, and take only
 * what they find. All skip blanks and comments first.
 */
#ifndef IMPORT_HLO_TEXT_SCAN_H
#define IMPORT_HLO_TEXT_SCAN_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hlo_span {                       /* a piece of the text */
    const char *at;
    size_t length;
};

struct hlo_scan {
    const char *at, *text, *end;
    const char *file;
    struct err *err;
    bool is_at_end;                     /* an error was met where the text ends */
    int depth;                          /* of what is nested: hlo_scan_enter */
    const char *counted, *line_start;   /* lines up to `counted` are in `line` */
    int line;
};

void hlo_scan_init(struct hlo_scan *s, const char *text, size_t bytes, const char *file,
                   struct err *e);
void hlo_scan_place(struct hlo_scan *s, const char *at, int *line, int *col);

/* An error at a place of the text, at the cursor; both return -1. */
int hlo_scan_error(struct hlo_scan *s, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int hlo_scan_unexpected(struct hlo_scan *s, const char *wanted);    /* "expected ... but found" */

/* Into something nested, which must be left again; an error when that is too deep. */
int hlo_scan_enter(struct hlo_scan *s);
void hlo_scan_leave(struct hlo_scan *s);

void hlo_scan_blank(struct hlo_scan *s);
bool hlo_scan_is_end(struct hlo_scan *s);
bool hlo_scan_see(struct hlo_scan *s, char c);
bool hlo_scan_see_text(struct hlo_scan *s, const char *text);   /* "->", "{...}" */
bool hlo_scan_take(struct hlo_scan *s, char c);
bool hlo_scan_take_close(struct hlo_scan *s, char c);       /* with no blank in between */
bool hlo_scan_take_text(struct hlo_scan *s, const char *text);
bool hlo_scan_take_word(struct hlo_scan *s, const char *word);  /* a whole identifier */
int hlo_scan_want(struct hlo_scan *s, char c);

/* [A-Za-z_][A-Za-z0-9_.-]*, looked at or taken */
bool hlo_scan_see_ident(struct hlo_scan *s, struct hlo_span *ident);
bool hlo_scan_take_ident(struct hlo_scan *s, struct hlo_span *ident);
int hlo_scan_name(struct hlo_scan *s, struct hlo_span *name, const char *what);  /* with % or not */
bool hlo_scan_see_int(struct hlo_scan *s);
int hlo_scan_int(struct hlo_scan *s, int64_t low, int64_t high, int64_t *value);
int hlo_scan_bool(struct hlo_scan *s, bool *value);
int hlo_scan_double(struct hlo_scan *s, double *value);
int hlo_scan_string(struct hlo_scan *s, struct hlo_span *raw);  /* with its quotes */

/*
 * Any value of an attribute as it stands: up to the comma, blank or bracket that ends it, outside
 * all brackets and strings.
 */
int hlo_scan_value(struct hlo_scan *s, struct hlo_span *value);
/* what stands in brackets, with them */
int hlo_scan_brackets(struct hlo_scan *s, struct hlo_span *value);
/* it is exactly this text */
bool hlo_span_is(struct hlo_span span, const char *text);
#endif
