/*
 * Tables with typed columns, and the ways to print them: CSV, JSON, Markdown
 * and text. Which tables there are and what their columns mean stands in
 * report/tables/columns.def.
 *
 * A cell may be empty: not known, or without meaning. Numbers that are not
 * finite become empty cells.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H
#include "base/arena.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum table_id {
#define TABLE(id, name, file, title) TABLE_##id,
#include "report/tables/columns.def"
    TABLE_COUNT
};

enum table_column {
#define COLUMN(table, id, name, kind, shown, meaning) COL_##table##_##id,
#include "report/tables/columns.def"
    COLUMN_COUNT
};

enum cell_kind { CELL_EMPTY, CELL_TEXT, CELL_INT, CELL_REAL };
struct table_cell {
    enum cell_kind kind;
    int64_t integer;
    double real;
    const char *text;                   /* the arena's, or a constant */
};

struct table {
    enum table_id id;
    int first_column, column_count;
    int sorted_by;                      /* column of the last table_sort, -1: none; text has it */
    struct arena *arena;
    struct table_cell *cell;            /* row_count x column_count */
    size_t row_count, row_capacity;
};

struct table_info {
    const char *name, *file, *title;    /* file: NULL where it is not one of the folder */
};
struct column_info {
    enum table_id table;
    const char *name, *meaning;
    enum cell_kind kind;
    bool is_shown;                      /* in text tables */
};
const struct table_info *table_info(enum table_id id);
const struct column_info *column_info(enum table_column c);
/* -1 when the table has no such column */
int table_find_column(enum table_id id, const char *name);

/* all memory is the arena's */
void table_init(struct table *t, enum table_id id, struct arena *a);
void table_add_row(struct table *t);    /* of empty cells; the calls below fill the last row */
void table_put_text(struct table *t, enum table_column c, const char *text);
void table_put_int(struct table *t, enum table_column c, int64_t value);
void table_put_real(struct table *t, enum table_column c, double value);

const struct table_cell *table_cell(const struct table *t, size_t row, enum table_column c);
int64_t table_int(const struct table *t, size_t row, enum table_column c);      /* empty: 0 */
double table_real(const struct table *t, size_t row, enum table_column c);      /* or an integer */
const char *table_text(const struct table *t, size_t row, enum table_column c); /* empty: "" */

/* numbers largest first, texts in their order, empty cells last; equal rows keep their order */
void table_sort(struct table *t, enum table_column c);
void table_truncate(struct table *t, size_t row_count);         /* keeps the first rows */

void table_print_csv(const struct table *t, FILE *to);          /* header, no trailing commas */
void table_print_markdown(const struct table *t, FILE *to);
void table_print_text(const struct table *t, FILE *to);         /* title, columns that are shown */

/* a list of objects, keys as the columns, empty cells null; NULL when memory ran out */
json_t *table_make_json(const struct table *t);
/* The other way; unknown keys are left out, missing ones empty. -1: not such a list. */
int table_read_json(struct table *t, const json_t *list, struct err *e);
#endif
