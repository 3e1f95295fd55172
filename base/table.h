/*
 * Tables with typed columns, and the ways to print them: text with aligned columns, Markdown, CSV
 * and JSON, all from the same cells.
 *
 * A cell may be empty: not known, or without meaning. Numbers that are not finite become empty
 * cells. In text a row may end early, with a remark in place of its last cells; a row that is only
 * a remark stands below the one before it.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H
#include "base/arena.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cell_kind { CELL_EMPTY, CELL_TEXT, CELL_INT, CELL_REAL, CELL_BOOL, CELL_REMARK };
struct table_cell {
    enum cell_kind kind;
    int64_t integer;
    double real;
    const char *text;                   /* the arena's, or a constant */
};

enum { TABLE_WHOLE = -1, TABLE_NARROW = -2 };   /* decimals: none; 0.500, 12.3, 1.30e+09 */

struct table_field {
    const char *name;                   /* in CSV and JSON; NULL: not there */
    enum cell_kind kind;
    bool is_shown;                      /* in text and Markdown */
    const char *meaning;
    /* of text, all of them optional: */
    const char *heading;                /* instead of the name */
    const char *above;                  /* over it and neighbours that have the same */
    int decimals;                       /* 0: by the name's unit, or by the number's size */
    const char *suffix;                 /* " %" */
    bool is_signed;                     /* "+12" */
    bool is_right;                      /* a text that ends at the right, as numbers do */
    int width;                          /* at least; of rows that are printed one by one, all */
    bool is_whole_text;                 /* texts of any length are not cut */
};

/* for tables of fields: {TABLE_SHOWN(REAL, "gbps", "GB/s"), .decimals = 1}; no heading: NULL */
#define TABLE_SHOWN(kind_, name_, heading_) \
    .name = name_, .kind = CELL_##kind_, .is_shown = true, .heading = heading_
#define TABLE_HIDDEN(kind_, name_) .name = name_, .kind = CELL_##kind_

struct table {
    const char *name;                   /* in messages */
    const char *title;                  /* NULL: none is printed */
    const struct table_field *field;
    int first, column_count;            /* callers may number columns from `first` on */
    int sorted_by;                      /* column of the last table_sort, -1: none; text has it */
    const char *indent, *empty;         /* of text: before rows ("  "), for empty cells ("") */
    int digits;                         /* of reals in CSV, 9 */
    struct arena *arena, own;
    struct table_cell *cell;            /* row_count x column_count */
    size_t row_count, row_capacity;
};

/*
 * All memory is the arena's; `a` NULL: of one that table_end frees. Fields up to one without name
 * and heading, or `count` of them.
 */
void table_begin(struct table *t, const struct table_field *field, struct arena *a);
void table_begin_count(struct table *t, const struct table_field *field, int count,
                       struct arena *a);
void table_end(struct table *t);

void table_add_row(struct table *t);    /* of empty cells; the calls below fill the last row */
void table_put_text(struct table *t, int column, const char *text);
void table_put_int(struct table *t, int column, int64_t value);
void table_put_real(struct table *t, int column, double value);

static inline struct table_cell cell_none(void)
{
    return (struct table_cell){.kind = CELL_EMPTY};
}
static inline struct table_cell cell_text(const char *text)
{
    return (struct table_cell){.kind = text ? CELL_TEXT : CELL_EMPTY, .text = text};
}
static inline struct table_cell cell_int(int64_t value)
{
    return (struct table_cell){.kind = CELL_INT, .integer = value};
}
static inline struct table_cell cell_real(double value)
{
    return (struct table_cell){.kind = CELL_REAL, .real = value};
}
static inline struct table_cell cell_bool(bool value)
{
    return (struct table_cell){.kind = CELL_BOOL, .integer = value};
}
/* the rest of the row; only text has it, and a row that begins with it */
static inline struct table_cell cell_remark(const char *text)
{
    return (struct table_cell){.kind = CELL_REMARK, .text = text};
}
/* a row at once, cells in the order of the columns; what is not given is empty */
#define TABLE_ROW(t, ...) \
    table_add_cells(t, (const struct table_cell[]){__VA_ARGS__}, \
                    (int)(sizeof((const struct table_cell[]){__VA_ARGS__}) \
                          / sizeof(struct table_cell)))
void table_add_cells(struct table *t, const struct table_cell *cell, int count);

const struct table_cell *table_cell(const struct table *t, size_t row, int column);
int64_t table_int(const struct table *t, size_t row, int column);       /* empty: 0 */
double table_real(const struct table *t, size_t row, int column);       /* or an integer */
const char *table_text(const struct table *t, size_t row, int column);  /* empty: "" */

/* numbers largest first, texts in their order, empty cells last; equal rows keep their order */
void table_sort(struct table *t, int column);
void table_truncate(struct table *t, size_t row_count);         /* keeps the first rows */

void table_print_csv(const struct table *t, FILE *to);          /* header, no trailing commas */
void table_print_csv_rows(const struct table *t, FILE *to);     /* without the header */
void table_print_markdown(const struct table *t, FILE *to);
void table_print_text(const struct table *t, FILE *to);         /* title, columns that are shown */
/* the same by and by: headings, then each time the rows added since, which are dropped then; to
   NULL: only dropped */
void table_print_head(const struct table *t, FILE *to);
void table_print_rows(struct table *t, FILE *to);

/* a list of objects, keys as the columns, empty cells null; NULL when memory ran out */
json_t *table_make_json(const struct table *t);
/* The other way; unknown keys are left out, missing ones empty. -1: not such a list. */
int table_read_json(struct table *t, const json_t *list, struct err *e);
#endif
