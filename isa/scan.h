/*
 * The characters of an assembly text: blanks and comments skipped, words,
 * numbers, places. A scan is a plain value; copying it keeps a position.
 */
#ifndef ISA_SCAN_H
#define ISA_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
    const char *text;
    size_t pos, end;
    size_t line_start;                  /* where the current line begins */
    int line;                           /* 1-based */
    int open_line, open_col;            /* of a C comment that has no end; 0 if none */
};

struct scan_token {
    const char *start;
    size_t length;                      /* 0: no word here */
};

enum scan_number_kind { NUMBER_NONE, NUMBER_INT, NUMBER_FLOAT, NUMBER_BAD, NUMBER_RANGE };

struct scan_value {
    enum scan_number_kind kind;
    int64_t value;                      /* of a float its f32 bits */
};

void scan_init(struct scan *s, const char *text, size_t bytes);
void scan_blank(struct scan *s);                        /* white space and comments */
int scan_col(const struct scan *s);                     /* 1-based */
int scan_char(const struct scan *s);                    /* the character here, -1 at the end */
bool scan_take(struct scan *s, char c);                 /* skips blanks before; false: not here */
struct scan_token scan_word(struct scan *s);            /* letters, digits, '_', '.', '%' */

/* A decimal, hexadecimal (0x…, $0x…, $8) or f32 number with an optional '-'. */
struct scan_value scan_number(struct scan *s);

/* On to the next ";;", "}" or end of line, comments skipped; nothing is taken. */
void scan_recover(struct scan *s);
void scan_line_end(struct scan *s);                     /* on to the end of this line */

bool scan_word_is(struct scan_token w, const char *s);
#endif
