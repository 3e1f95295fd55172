/*
 * A reader of comma-separated values after RFC 4180: one pass over the text, which it cuts into
 * fields in place.
 */
#include "base/csv.h"

#include "base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct csv *csv;
    char *at;
    int line;
    struct arena *a;
    const char **field;                 /* of the row at hand */
    size_t capacity;
};

/* Takes a quoted field at `r->at`, which is behind the opening quote; NULL: it has no end. */
static char *quoted_field(struct reading *r)
{
    char *begin = r->at, *to = r->at, *from = r->at;

    while (*from && (*from != '"' || from[1] == '"')) {
        if (*from == '"')
            from++;
        if (*from == '\n')
            r->line++;
        *to++ = *from++;
    }
    if (*from == '\0')
        return NULL;
    r->at = from + 1;
    *to = '\0';
    return begin;
}

static char *plain_field(struct reading *r)
{
    char *begin = r->at;

    r->at += strcspn(r->at, ",\r\n");
    return begin;
}

/* the separator behind a field; true if the row goes on */
static bool end_field(struct reading *r)
{
    char separator = *r->at;

    if (separator == '\0')
        return false;
    *r->at++ = '\0';
    if (separator == '\r' && *r->at == '\n')
        r->at++;
    if (separator != ',')
        r->line++;
    return separator == ',';
}

static int read_row(struct reading *r, struct csv_row *row, struct err *e)
{
    size_t count = 0;
    bool goes_on = true;

    row->line = r->line;
    while (goes_on) {
        char *field;

        if (*r->at == '"') {
            r->at++;
            field = quoted_field(r);
            if (!field)
                return err_at(e, r->csv->path, row->line, 0, "a quoted field is not closed");
            if (*r->at && !strchr(",\r\n", *r->at))
                return err_at(e, r->csv->path, r->line, 0,
                              "expected a comma or the end of the line behind a quoted field");
        } else {
            field = plain_field(r);
        }
        MEM_ADD(r->field, count, r->capacity) = field;
        goes_on = end_field(r);
    }
    row->field_count = (int)count;
    row->field = arena_copy(r->a, r->field, count, sizeof(*row->field));
    return 0;
}

static int read_table(struct reading *r, struct csv *c, const char *heading, struct err *e)
{
    struct csv_row *rows = NULL;
    size_t capacity = 0;
    bool has_heading = false;
    int status = 0;

    while (*r->at && status == 0) {
        struct csv_row row;

        status = read_row(r, &row, e);
        if (status != 0 || (row.field_count == 1 && row.field[0][0] == '\0'))
            continue;
        if (!has_heading) {
            has_heading = !heading || strcmp(row.field[0], heading) == 0;
            c->heading = row;
            continue;
        }
        MEM_ADD(rows, c->row_count, capacity) = row;
    }
    if (status == 0 && !has_heading)
        status = err_at(e, c->path, 0, 0, "no heading%s%s", heading ? " that begins with " : "",
                        heading ? heading : "");
    c->row = arena_take(r->a, rows, (size_t)c->row_count, sizeof(*rows));
    return status;
}

int csv_parse(struct csv *c, const char *path, char *text, const char *heading, struct arena *a,
              struct err *e)
{
    struct reading r = {.csv = c, .at = text, .line = 1, .a = a};
    int status;

    *c = (struct csv){.path = path};
    status = read_table(&r, c, heading, e);
    mem_free(r.field);
    return status;
}

int csv_find(const struct csv *c, const char *name)
{
    for (int i = 0; i < c->heading.field_count; i++)
        if (strcmp(c->heading.field[i], name) == 0)
            return i;
    return -1;
}

int csv_column(const struct csv *c, const char *name, struct err *e)
{
    int column = csv_find(c, name);

    if (column >= 0)
        return column;
    return err_at(e, c->path, c->heading.line, 0, "no column \"%s\" in the heading%s", name,
                  text_did_you_mean(name, c->heading.field, (size_t)c->heading.field_count).text);
}

const char *csv_text(const struct csv *c, int row, int column)
{
    const struct csv_row *r = &c->row[row];

    return column >= 0 && column < r->field_count ? r->field[column] : "";
}

int csv_number(const struct csv *c, int row, int column, double lo, double hi, double *value,
               struct err *e)
{
    const char *text = csv_text(c, row, column);

    *value = NAN;
    if (text[0] == '\0' || text_parse_double(text, lo, hi, value) == 0)
        return 0;
    return err_at(e, c->path, c->row[row].line, 0, "%s: expected a number in %g..%g, found \"%s\"",
                  column >= 0 ? c->heading.field[column] : "", lo, hi, text);
}
