/*
 * A table in memory: rows of typed cells, sorted by a column, printed as text, CSV, Markdown or
 * JSON.
 */
#include "report/tables/table.h"

#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct table_info tables[TABLE_COUNT] = {
#define TABLE(id, name, file, title) {name, file, title},
#include "report/tables/columns.def"
};

#define CELL_KIND_TEXT CELL_TEXT
#define CELL_KIND_INT CELL_INT
#define CELL_KIND_REAL CELL_REAL
static const struct column_info columns[COLUMN_COUNT] = {
#define COLUMN(table, id, name, kind, shown, meaning) \
    {TABLE_##table, name, meaning, CELL_KIND_##kind, shown},
#include "report/tables/columns.def"
};

const struct table_info *table_info(enum table_id id)
{
    assert(id < TABLE_COUNT);
    return &tables[id];
}

const struct column_info *column_info(enum table_column c)
{
    assert(c < COLUMN_COUNT);
    return &columns[c];
}

int table_find_column(enum table_id id, const char *name)
{
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (columns[c].table == id && strcmp(columns[c].name, name) == 0)
            return c;
    return -1;
}

void table_init(struct table *t, enum table_id id, struct arena *a)
{
    *t = (struct table){.id = id, .arena = a, .sorted_by = -1};
    while (columns[t->first_column].table != id)
        t->first_column++;
    while (t->first_column + t->column_count < COLUMN_COUNT
           && columns[t->first_column + t->column_count].table == id)
        t->column_count++;
}

static size_t row_bytes(const struct table *t)
{
    return (size_t)t->column_count * sizeof(*t->cell);
}

void table_add_row(struct table *t)
{
    if (t->row_count == t->row_capacity) {
        size_t capacity = t->row_capacity ? 2 * t->row_capacity : 16;
        struct table_cell *cell = arena_array(t->arena, capacity, row_bytes(t));

        if (t->row_count)
            memcpy(cell, t->cell, t->row_count * row_bytes(t));
        t->cell = cell;
        t->row_capacity = capacity;
    }
    t->row_count++;
}

static struct table_cell *cell_at(const struct table *t, size_t row, enum table_column c)
{
    assert(row < t->row_count && columns[c].table == t->id);
    return &t->cell[row * (size_t)t->column_count + (size_t)((int)c - t->first_column)];
}

static struct table_cell *put(struct table *t, enum table_column c, enum cell_kind kind)
{
    struct table_cell *cell = cell_at(t, t->row_count - 1, c);

    assert(columns[c].kind == kind);
    cell->kind = kind;
    return cell;
}

void table_put_text(struct table *t, enum table_column c, const char *text)
{
    if (text)
        put(t, c, CELL_TEXT)->text = text;
}

void table_put_int(struct table *t, enum table_column c, int64_t value)
{
    put(t, c, CELL_INT)->integer = value;
}

void table_put_real(struct table *t, enum table_column c, double value)
{
    if (isfinite(value))
        put(t, c, CELL_REAL)->real = value;
}

const struct table_cell *table_cell(const struct table *t, size_t row, enum table_column c)
{
    return cell_at(t, row, c);
}

int64_t table_int(const struct table *t, size_t row, enum table_column c)
{
    const struct table_cell *cell = cell_at(t, row, c);

    return cell->kind == CELL_INT ? cell->integer : 0;
}

double table_real(const struct table *t, size_t row, enum table_column c)
{
    const struct table_cell *cell = cell_at(t, row, c);

    return cell->kind == CELL_REAL ? cell->real
                                   : cell->kind == CELL_INT ? (double)cell->integer : 0.0;
}

const char *table_text(const struct table *t, size_t row, enum table_column c)
{
    const struct table_cell *cell = cell_at(t, row, c);

    return cell->kind == CELL_TEXT ? cell->text : "";
}

/* whether a stands before b */
static bool goes_before(const struct table_cell *a, const struct table_cell *b)
{
    if (a->kind != b->kind)
        return a->kind != CELL_EMPTY && b->kind == CELL_EMPTY;
    switch (a->kind) {
    case CELL_INT: return a->integer > b->integer;
    case CELL_REAL: return a->real > b->real;
    case CELL_TEXT: return strcmp(a->text, b->text) < 0;
    default: return false;
    }
}

/* rows [first, middle) and [middle, end) are in order: merge them into `to` */
static void merge(const struct table *t, const size_t *from, size_t *to, size_t first,
                  size_t middle, size_t end, enum table_column c)
{
    size_t left = first, right = middle;

    for (size_t i = first; i < end; i++)
        if (left == middle
            || (right < end && goes_before(cell_at(t, from[right], c), cell_at(t, from[left], c))))
            to[i] = from[right++];
        else
            to[i] = from[left++];
}

void table_sort(struct table *t, enum table_column c)
{
    size_t count = t->row_count;
    size_t *order = arena_array(t->arena, count + 1, sizeof(*order));
    size_t *other = arena_array(t->arena, count + 1, sizeof(*other)), *swap;
    struct table_cell *cell = arena_array(t->arena, count + 1, row_bytes(t));

    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width)
            merge(t, order, other, i, i + width < count ? i + width : count,
                  i + 2 * width < count ? i + 2 * width : count, c);
        swap = order;
        order = other;
        other = swap;
    }
    for (size_t i = 0; i < count; i++)
        memcpy((char *)cell + i * row_bytes(t), (char *)t->cell + order[i] * row_bytes(t),
               row_bytes(t));
    t->cell = cell;
    t->row_capacity = count;
    t->sorted_by = (int)c;
}

void table_truncate(struct table *t, size_t row_count)
{
    if (row_count < t->row_count)
        t->row_count = row_count;
}

/* ---- JSON ---- */

static json_t *make_cell(const struct table_cell *cell)
{
    switch (cell->kind) {
    case CELL_TEXT: return json_string(cell->text);
    case CELL_INT: return json_integer(cell->integer);
    case CELL_REAL: return json_real(cell->real);
    default: return json_null();
    }
}

json_t *table_make_json(const struct table *t)
{
    json_t *list = json_array();

    for (size_t row = 0; row < t->row_count; row++) {
        json_t *o = json_object();

        for (int i = 0; i < t->column_count; i++) {
            enum table_column c = (enum table_column)(t->first_column + i);
            json_t *value = make_cell(cell_at(t, row, c));

            json_object_set_new(o, columns[c].name, value ? value : json_null());
        }
        json_array_append_new(list, o);
    }
    return list;
}

/* -1 for a value of another kind than the column's */
static int read_cell(struct table *t, enum table_column c, const json_t *value)
{
    if (!value || json_is_null(value))
        return 0;
    if (columns[c].kind == CELL_TEXT && json_is_string(value))
        table_put_text(t, c, arena_strdup(t->arena, json_string_value(value)));
    else if (columns[c].kind == CELL_INT && json_is_integer(value))
        table_put_int(t, c, json_integer_value(value));
    else if (columns[c].kind == CELL_REAL && json_is_number(value))
        table_put_real(t, c, json_number_value(value));
    else
        return -1;
    return 0;
}

int table_read_json(struct table *t, const json_t *list, struct err *e)
{
    const json_t *o;
    size_t row;

    if (!json_is_array(list))
        return err_set(e, "tables.%s is not a list", tables[t->id].name);
    json_array_foreach(list, row, o) {
        if (!json_is_object(o))
            return err_set(e, "tables.%s: row %zu is no object", tables[t->id].name, row + 1);
        table_add_row(t);
        for (int i = 0; i < t->column_count; i++) {
            enum table_column c = (enum table_column)(t->first_column + i);

            if (read_cell(t, c, json_object_get(o, columns[c].name)) != 0)
                return err_set(e, "tables.%s: row %zu has a \"%s\" of the wrong kind",
                               tables[t->id].name, row + 1, columns[c].name);
        }
    }
    return 0;
}
