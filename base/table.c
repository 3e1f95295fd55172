/* Builds tables row by row, sorts (by merging) and cuts them, and reads and writes them as JSON. */
#include "base/table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void table_begin_count(struct table *t, const struct table_field *field, int count,
                       struct arena *a)
{
    *t = (struct table){.field = field, .column_count = count, .sorted_by = -1, .indent = "  ",
                        .empty = "", .digits = 9, .arena = a ? a : &t->own};
    arena_init(&t->own);
}

void table_end(struct table *t)
{
    arena_fini(&t->own);
}

void table_begin(struct table *t, const struct table_field *field, struct arena *a)
{
    int count = 0;

    while (field[count].name || field[count].heading)
        count++;
    table_begin_count(t, field, count, a);
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
    memset(&t->cell[t->row_count * (size_t)t->column_count], 0, row_bytes(t));
    t->row_count++;
}

static struct table_cell *cell_at(const struct table *t, size_t row, int c)
{
    assert(row < t->row_count && c >= t->first && c < t->first + t->column_count);
    return &t->cell[row * (size_t)t->column_count + (size_t)(c - t->first)];
}

static struct table_cell *put(struct table *t, int c, enum cell_kind kind)
{
    struct table_cell *cell = cell_at(t, t->row_count - 1, c);

    assert(t->field[c - t->first].kind == kind);
    cell->kind = kind;
    return cell;
}

void table_add_cells(struct table *t, const struct table_cell *cell, int count)
{
    assert(count <= t->column_count);
    table_add_row(t);
    for (int i = 0; i < count; i++)
        if (cell[i].kind != CELL_REAL || isfinite(cell[i].real))
            t->cell[(t->row_count - 1) * (size_t)t->column_count + (size_t)i] = cell[i];
}

void table_put_text(struct table *t, int c, const char *text)
{
    if (text)
        put(t, c, CELL_TEXT)->text = text;
}

void table_put_int(struct table *t, int c, int64_t value)
{
    put(t, c, CELL_INT)->integer = value;
}

void table_put_real(struct table *t, int c, double value)
{
    if (isfinite(value))
        put(t, c, CELL_REAL)->real = value;
}

const struct table_cell *table_cell(const struct table *t, size_t row, int c)
{
    return cell_at(t, row, c);
}

int64_t table_int(const struct table *t, size_t row, int c)
{
    const struct table_cell *cell = cell_at(t, row, c);

    return cell->kind == CELL_INT ? cell->integer : 0;
}

double table_real(const struct table *t, size_t row, int c)
{
    const struct table_cell *cell = cell_at(t, row, c);

    return cell->kind == CELL_REAL ? cell->real
                                   : cell->kind == CELL_INT ? (double)cell->integer : 0.0;
}

const char *table_text(const struct table *t, size_t row, int c)
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
                  size_t middle, size_t end, int c)
{
    size_t left = first, right = middle;

    for (size_t i = first; i < end; i++)
        if (left == middle
            || (right < end && goes_before(cell_at(t, from[right], c), cell_at(t, from[left], c))))
            to[i] = from[right++];
        else
            to[i] = from[left++];
}

void table_sort(struct table *t, int c)
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
    t->sorted_by = c;
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
    case CELL_BOOL: return json_boolean(cell->integer);
    default: return json_null();
    }
}

json_t *table_make_json(const struct table *t)
{
    json_t *list = json_array();

    for (size_t row = 0; row < t->row_count; row++) {
        json_t *o;

        if (table_cell(t, row, t->first)->kind == CELL_REMARK)
            continue;
        o = json_object();

        for (int i = 0; i < t->column_count; i++) {
            json_t *value;

            if (!t->field[i].name)
                continue;
            value = make_cell(cell_at(t, row, t->first + i));
            json_object_set_new(o, t->field[i].name, value ? value : json_null());
        }
        json_array_append_new(list, o);
    }
    return list;
}

/* -1 for a value of another kind than the column's */
static int read_cell(struct table *t, int c, const json_t *value)
{
    if (!value || json_is_null(value))
        return 0;
    if (t->field[c - t->first].kind == CELL_TEXT && json_is_string(value))
        table_put_text(t, c, arena_strdup(t->arena, json_string_value(value)));
    else if (t->field[c - t->first].kind == CELL_INT && json_is_integer(value))
        table_put_int(t, c, json_integer_value(value));
    else if (t->field[c - t->first].kind == CELL_REAL && json_is_number(value))
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
        return err_set(e, "tables.%s is not a list", t->name);
    json_array_foreach(list, row, o) {
        if (!json_is_object(o))
            return err_set(e, "tables.%s: row %zu is no object", t->name, row + 1);
        table_add_row(t);
        for (int i = 0; i < t->column_count; i++) {
            const char *key = t->field[i].name;

            if (read_cell(t, t->first + i, json_object_get(o, key)) != 0)
                return err_set(e, "tables.%s: row %zu has a \"%s\" of the wrong kind",
                               t->name, row + 1, key);
        }
    }
    return 0;
}
