/*
 * A table in memory: rows of typed cells, sorted by a column, printed as text, CSV, Markdown or
 * JSON.
 */
#include "report/tables/table.h"

#include <assert.h>
#include <string.h>

static const struct table_info tables[TABLE_COUNT] = {
#define TABLE(id, name, file, title) {name, file, title},
#include "report/tables/columns.def"
};

#define CELL_KIND_TEXT CELL_TEXT
#define CELL_KIND_INT CELL_INT
#define CELL_KIND_REAL CELL_REAL
static const struct table_field columns[COLUMN_COUNT] = {
#define COLUMN(table, id, name_, kind_, shown, meaning_) \
    {.name = name_, .kind = CELL_KIND_##kind_, .is_shown = shown, .meaning = meaning_},
#include "report/tables/columns.def"
};

static const enum table_id table_of[COLUMN_COUNT] = {
#define COLUMN(table, id, name, kind, shown, meaning) TABLE_##table,
#include "report/tables/columns.def"
};

const struct table_info *table_info(enum table_id id)
{
    assert(id < TABLE_COUNT);
    return &tables[id];
}

const struct table_field *column_info(int column)
{
    assert(column >= 0 && column < COLUMN_COUNT);
    return &columns[column];
}

enum table_id column_table(int column)
{
    assert(column >= 0 && column < COLUMN_COUNT);
    return table_of[column];
}

int table_find_column(enum table_id id, const char *name)
{
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (table_of[c] == id && strcmp(columns[c].name, name) == 0)
            return c;
    return -1;
}

void table_init(struct table *t, enum table_id id, struct arena *a)
{
    int first = 0, count = 0;

    while (table_of[first] != id)
        first++;
    while (first + count < COLUMN_COUNT && table_of[first + count] == id)
        count++;
    table_begin_count(t, &columns[first], count, a);
    t->name = tables[id].name;
    t->title = tables[id].title;
    t->first = first;
}
