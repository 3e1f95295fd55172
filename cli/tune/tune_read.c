/* A folder of variants: which parameters they have, and where they lie. */
#include "cli/tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "isa/file.h"

static bool is_number(const char *text, double *number)
{
    char *end;

    *number = strtod(text, &end);
    return end > text && !*end;
}

static int find_value(const struct tune_axis *a, const char *text)
{
    for (int i = 0; i < a->count; i++)
        if (!strcmp(a->value[i], text))
            return i;
    return -1;
}

/* numbers stand in their order, other words as they come */
static int add_value(struct tune_axis *a, const char *text, struct err *e)
{
    double new, old;
    int at = a->count;

    if (find_value(a, text) >= 0)
        return 0;
    if (a->count == TUNE_VALUES_MAX)
        return err_set(e, "%s has more than %d values", a->name, TUNE_VALUES_MAX);
    while (at && is_number(text, &new) && is_number(a->value[at - 1], &old) && old > new) {
        a->value[at] = a->value[at - 1];
        at--;
    }
    a->value[at] = text;
    a->count++;
    return 0;
}

static bool is_axis(const char *column)
{
    return strcmp(column, "file") != 0 && strcmp(column, "error") != 0;
}

static int read_axes(struct tune *t, const struct csv *c, int column[TUNE_AXES_MAX], struct err *e)
{
    for (int i = 0; i < c->heading.field_count; i++) {
        struct tune_axis *a = &t->axis[t->axis_count];

        if (!is_axis(c->heading.field[i]))
            continue;
        if (t->axis_count == TUNE_AXES_MAX)
            return err_at(e, c->path, c->heading.line, 0, "more than %d parameters", TUNE_AXES_MAX);
        *a = (struct tune_axis){.name = c->heading.field[i]};
        column[t->axis_count++] = i;
        for (int r = 0; r < c->row_count; r++)
            if (add_value(a, csv_text(c, r, i), e))
                return -1;
    }
    if (!t->axis_count)
        return err_at(e, c->path, c->heading.line, 0, "no column but file and error: nothing varies");
    return 0;
}

int tune_read(struct tune *t, struct err *e)
{
    const char *path = arena_printf(&t->arena, "%s/variants.csv", t->folder);
    int column[TUNE_AXES_MAX], file, error;
    struct csv c;
    uint8_t *text;
    size_t size;

    if (isa_file_read(path, &t->arena, &text, &size, e) ||
        csv_parse(&c, path, (char *)text, NULL, &t->arena, e) ||
        (file = csv_column(&c, "file", e)) < 0 || read_axes(t, &c, column, e))
        return -1;
    error = csv_find(&c, "error");
    for (int r = 0; r < c.row_count; r++) {
        struct tune_variant v = {.file = NULL};
        const char *name = csv_text(&c, r, file), *why = csv_text(&c, r, error);

        for (int i = 0; i < t->axis_count; i++)
            v.value[i] = find_value(&t->axis[i], csv_text(&c, r, column[i]));
        if (*name && !*why)
            v.file = arena_printf(&t->arena, "%s/%s", t->folder, name);
        else
            text_print(v.result.message, sizeof(v.result.message), "not lowered: %s",
                       *why ? why : "no file is named");
        MEM_ADD(t->variant, t->count, t->capacity) = v;
    }
    return t->count ? 0 : err_at(e, path, 0, 0, "no variants in it");
}
