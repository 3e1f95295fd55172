/* Writes a user's mistake down, and prints it as file:line:col: message. */
#include "base/err.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, const char *fmt, ...)
{
    va_list ap;

    memset(e, 0, sizeof(*e));
    va_start(ap, fmt);
    text_print_args(e->msg, sizeof(e->msg), fmt, ap);
    va_end(ap);
    return -1;
}

int err_at(struct err *e, const char *file, int line, int col, const char *fmt, ...)
{
    va_list ap;

    memset(e, 0, sizeof(*e));
    snprintf(e->file, sizeof(e->file), "%s", file ? file : "");
    e->line = line;
    e->col = col;
    va_start(ap, fmt);
    text_print_args(e->msg, sizeof(e->msg), fmt, ap);
    va_end(ap);
    return -1;
}

char *err_format(const struct err *e, char *buf, size_t buf_bytes)
{
    if (e->file[0] == '\0')
        snprintf(buf, buf_bytes, "%s", e->msg);
    else if (e->line == 0)
        snprintf(buf, buf_bytes, "%s: %s", e->file, e->msg);
    else if (e->col == 0)
        snprintf(buf, buf_bytes, "%s:%d: %s", e->file, e->line, e->msg);
    else
        snprintf(buf, buf_bytes, "%s:%d:%d: %s", e->file, e->line, e->col, e->msg);
    return buf;
}
