/* Prints numbers for messages and tables, and reads numbers out of text. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * " (did you mean \"x\"?)" into buf, x being the candidate with the least edit
 * distance to `name`; "" when none is near (above 1 + a third of the name's
 * length). Returns buf.
 */
char *text_did_you_mean(const char *name, const char *const *candidates, size_t count,
                        char *buf, size_t buf_bytes);

/* 1234567 -> "1,234,567"; buf of at least 28 bytes; returns buf */
char *text_thousands(int64_t value, char *buf, size_t buf_bytes);

/* a field of CSV, quoted where it must be (RFC 4180) */
void text_print_csv(const char *text, FILE *to);

/* bytes as "16 MiB", "392 KiB", "12 B"; returns buf */
char *text_bytes(int64_t bytes, char *buf, size_t buf_bytes);

/*
 * Whole-string number readers: 0, or -1 if `s` is not exactly one number in
 * lo..hi. text_parse_int takes decimal and 0x hexadecimal.
 */
int text_parse_int(const char *s, int64_t lo, int64_t hi, int64_t *value);
/* the same with a unit of 1024, 1024^2, ...: "512", "4K", "256M", "1GiB", "4 KiB" */
int text_parse_bytes(const char *s, int64_t lo, int64_t hi, int64_t *bytes);
int text_parse_double(const char *s, double lo, double hi, double *value);
#endif
