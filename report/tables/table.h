/*
 * The tables of a run: which there are and what their columns mean stands in
 * report/tables/columns.def. Columns are numbered over all tables.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H
#include "base/table.h"

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

struct table_info {
    const char *name, *file, *title;    /* file: NULL where it is not one of the folder */
};
const struct table_info *table_info(enum table_id id);
const struct table_field *column_info(int column);
enum table_id column_table(int column);
/* -1 when the table has no such column */
int table_find_column(enum table_id id, const char *name);

void table_init(struct table *t, enum table_id id, struct arena *a);
#endif
