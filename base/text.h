/*
 * Text for messages and tables, numbers out of text.
 *
 * Numbers are written and read as in the C locale, whatever LC_NUMERIC the process has set: the
 * library is part of other programs, and a file must not depend on who has written it.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* snprintf, vsnprintf, fprintf, strtod and strtof with the C locale's numbers */
int text_print(char *buf, size_t buf_bytes, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int text_print_args(char *buf, size_t buf_bytes, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));
int text_print_file(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A stream whose text is in *text, for free(), once text_memory_end has closed it: all of it, for
 * where there is no memory the process ends (mem_exhausted). */
FILE *text_memory(char **text, size_t *bytes);
void text_memory_end(FILE *to, char *const *text);
double text_to_double(const char *s, char **end);
float text_to_float(const char *s, char **end);

/*
 * " (did you mean \"x\"?)", x being the candidate with the least edit distance to `name`; "" when
 * none is near (above 1 + a third of the name's length).
 */
#define TEXT_NEAR_BYTES 160
struct near_text { char text[TEXT_NEAR_BYTES]; };
struct near_text text_did_you_mean(const char *name, const char *const *candidates, size_t count);

/*
 * Where `name` is among the names of a table's rows, `first` and so on, each `stride` bytes behind
 * the one before it. -1: it is none of them, and `near` says which it may be, as above.
 */
int text_find(const char *name, const char *const *first, size_t stride, size_t count,
              char near[TEXT_NEAR_BYTES]);

/* a number in words, by value: text_thousands(n).text lasts as long as the call that it is in */
struct short_text { char text[32]; };

struct short_text text_thousands(int64_t value);        /* 1234567 -> "1,234,567" */
struct short_text text_bytes(int64_t bytes);            /* "16 MiB", "392 KiB", "12 B" */

/* a field of CSV, quoted where it must be (RFC 4180) */
void text_print_csv(const char *text, FILE *to);

/*
 * Whole-string number readers: 0, or -1 if `s` is not exactly one number in
 * lo..hi. text_parse_int takes decimal and 0x hexadecimal.
 */
int text_parse_int(const char *s, int64_t lo, int64_t hi, int64_t *value);
/* the same with a unit of 1024, 1024^2, ...: "512", "4K", "256M", "1GiB", "4 KiB" */
int text_parse_bytes(const char *s, int64_t lo, int64_t hi, int64_t *bytes);
int text_parse_double(const char *s, double lo, double hi, double *value);
#endif
