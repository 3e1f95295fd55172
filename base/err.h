/*
 * A user's mistake: one message, with a place where there is one.
 *
 * Functions that can meet such a mistake return 0 or -1 and take a struct err *
 * as last parameter, never NULL. Only main() prints it and exits with 1.
 * Messages are lower case, without a full stop, and name the thing and the
 * allowed range.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H
#include <stddef.h>

struct err {
    char file[256];                     /* "" = no file */
    int line, col;                      /* 1-based; 0 = unknown */
    char msg[512];
};

int err_set(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int err_at(struct err *e, const char *file, int line, int col, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));          /* both return -1 */

/* "file:line:col: msg", leaving out what is unknown; returns buf */
char *err_format(const struct err *e, char *buf, size_t buf_bytes);
#endif
