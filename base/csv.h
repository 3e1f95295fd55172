/*
 * Comma-separated values (RFC 4180): a heading and rows under it, fields quoted
 * where they hold commas, quotes or line ends.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H
#include "base/arena.h"
#include "base/err.h"

struct csv_row {
    int line;                           /* of the file, from 1, where the row begins */
    int field_count;
    const char **field;                 /* without quotes; never NULL */
};

struct csv {
    const char *path;                   /* for messages */
    struct csv_row heading;
    struct csv_row *row;
    int row_count;
};

/*
 * The table in `text`, which is changed and must live as long as the table; `a`
 * holds the rest. `heading` is the first field of the heading: lines before it
 * are skipped (files of profilers begin with remarks), NULL takes the first
 * line. Empty lines are skipped. -1: no heading, a quote that is not closed.
 */
int csv_parse(struct csv *c, const char *path, char *text, const char *heading, struct arena *a,
              struct err *e);

/* Column of that name, or -1. */
int csv_find(const struct csv *c, const char *name);
/* The same for a column that must be there: -1 with a message that names the nearest. */
int csv_column(const struct csv *c, const char *name, struct err *e);

/* Field of a row; "" where the row is shorter or the column is -1. */
const char *csv_text(const struct csv *c, int row, int column);

/* A number in lo..hi; *value is NAN for an empty field. */
int csv_number(const struct csv *c, int row, int column, double lo, double hi, double *value,
               struct err *e);
#endif
