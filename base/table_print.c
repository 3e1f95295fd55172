/* Tables as CSV, Markdown and text. */
#include "base/table.h"

#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define TEXT_WIDTH_MAX 44
#define CELL_CHARS 64
#define COLUMNS_MAX 64

static const struct table_cell *cell_at(const struct table *t, size_t row, int i)
{
    return table_cell(t, row, t->first + i);
}

/* ---- CSV ---- */

static void print_csv_cell(const struct table *t, const struct table_cell *cell, FILE *to)
{
    switch (cell->kind) {
    case CELL_TEXT: text_print_csv(cell->text, to); break;
    case CELL_INT: case CELL_BOOL: fprintf(to, "%" PRId64, cell->integer); break;
    case CELL_REAL: fprintf(to, "%.*g", t->digits, cell->real); break;
    default: break;
    }
}

void table_print_csv_rows(const struct table *t, FILE *to)
{
    for (size_t row = 0; row < t->row_count; row++) {
        const char *comma = "";

        if (cell_at(t, row, 0)->kind == CELL_REMARK)
            continue;
        for (int i = 0; i < t->column_count; i++)
            if (t->field[i].name) {
                fputs(comma, to);
                print_csv_cell(t, cell_at(t, row, i), to);
                comma = ",";
            }
        fputc('\n', to);
    }
}

void table_print_csv(const struct table *t, FILE *to)
{
    const char *comma = "";

    for (int i = 0; i < t->column_count; i++)
        if (t->field[i].name) {
            fputs(comma, to);
            text_print_csv(t->field[i].name, to);
            comma = ",";
        }
    fputc('\n', to);
    table_print_csv_rows(t, to);
}

/* ---- for people ---- */

/* how many decimals people read of numbers in such a unit; -1: it depends on their size */
static int decimals_of(const char *column)
{
    static const struct {
        const char *end;
        int decimals;
    } units[] = {{"_pct", 1}, {" %", 1}, {"percent", 1}, {"_us", 3}, {"loss", 5},
                 {"per_slot_cycle", 4}, {"_per_s", 1}, {"gflops", 1}};
    size_t length = strlen(column);

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t end_length = strlen(units[i].end);

        if (length >= end_length && strcmp(column + length - end_length, units[i].end) == 0)
            return units[i].decimals;
    }
    return -1;
}

static void format_narrow(double x, char *buf, size_t buf_bytes)
{
    if (x == 0)
        snprintf(buf, buf_bytes, "0");
    else if (x < 0.001 || x >= 100000)
        snprintf(buf, buf_bytes, "%.2e", x);
    else
        snprintf(buf, buf_bytes, x < 10 ? "%.3f" : "%.1f", x);
}

/* with thousands where it is large, never with an exponent below 10^15 */
static void format_real(double x, int decimals, char *buf, size_t buf_bytes)
{
    double size = fabs(x);

    if (decimals < 0)
        decimals = size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 || size == 0 ? 2 : 4;
    if (size >= 1e15)
        snprintf(buf, buf_bytes, "%.3g", x);
    else if (size >= 1e5 || decimals == 0)
        snprintf(buf, buf_bytes, "%s", text_thousands((int64_t)llround(x)).text);
    else
        snprintf(buf, buf_bytes, "%.*f", decimals, x);
}

static const char *heading_of(const struct table_field *f)
{
    return f->heading ? f->heading : f->name;
}

static const char *format_cell(const struct table *t, size_t row, int i, char buf[CELL_CHARS])
{
    const struct table_cell *cell = cell_at(t, row, i);
    const struct table_field *f = &t->field[i];
    char *number = buf;

    if (cell->kind == CELL_TEXT || cell->kind == CELL_REMARK)
        return cell->text;
    if (cell->kind == CELL_EMPTY)
        return t->empty;
    if (f->is_signed && (cell->kind == CELL_INT ? cell->integer > 0 : cell->real >= 0))
        *number++ = '+';
    if (cell->kind == CELL_BOOL)
        return cell->integer ? "yes" : "no";
    if (cell->kind == CELL_INT)
        snprintf(number, CELL_CHARS / 2, "%s", text_thousands(cell->integer).text);
    else if (f->decimals == TABLE_NARROW)
        format_narrow(cell->real, number, CELL_CHARS / 2);
    else
        format_real(cell->real, f->decimals == TABLE_WHOLE ? 0 : f->decimals ? f->decimals
                                : decimals_of(f->name ? f->name : ""), number, CELL_CHARS / 2);
    if (f->suffix)
        snprintf(number + strlen(number), CELL_CHARS / 4, "%s", f->suffix);
    return buf;
}

static bool shows(const struct table *t, int i)
{
    return t->field[i].is_shown || t->first + i == t->sorted_by;
}

static void print_markdown_text(const char *text, FILE *to)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', to);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
    }
}

void table_print_markdown(const struct table *t, FILE *to)
{
    char buf[CELL_CHARS];

    fprintf(to, "**%s**\n\n", t->title);
    for (int i = 0; i < t->column_count; i++)
        if (shows(t, i))
            fprintf(to, "| %s ", heading_of(&t->field[i]));
    fprintf(to, "|\n");
    for (int i = 0; i < t->column_count; i++)
        if (shows(t, i))
            fprintf(to, t->field[i].kind == CELL_TEXT ? "|---" : "|---:");
    fprintf(to, "|\n");
    for (size_t row = 0; row < t->row_count; row++) {
        for (int i = 0; i < t->column_count; i++) {
            if (!shows(t, i))
                continue;
            fprintf(to, "| ");
            print_markdown_text(format_cell(t, row, i, buf), to);
            fputc(' ', to);
        }
        fprintf(to, "|\n");
    }
    fputc('\n', to);
}

/* ---- text: columns as wide as their longest cell ---- */

static int longer(int width, const char *text)
{
    int length = (int)strlen(text);

    return length > width ? length : width;
}

static int width_of(const struct table *t, int i)
{
    const struct table_field *f = &t->field[i];
    int width = longer(f->width, heading_of(f)), most = longer(TEXT_WIDTH_MAX, heading_of(f));
    char buf[CELL_CHARS];

    for (size_t row = 0; row < t->row_count; row++)
        if (cell_at(t, row, i)->kind != CELL_REMARK)
            width = longer(width, format_cell(t, row, i, buf));
    return width < most || f->is_whole_text ? width : most;
}

static void find_widths(const struct table *t, int width[COLUMNS_MAX])
{
    for (int i = 0; i < t->column_count; i++)
        width[i] = shows(t, i) ? width_of(t, i) : 0;
}

static bool is_left(const struct table_field *f)
{
    return f->kind == CELL_TEXT && !f->is_right;
}

/* before column i: rows begin with the indent */
static const char *gap(const struct table *t, int i)
{
    while (--i >= 0)
        if (shows(t, i))
            return "  ";
    return t->indent;
}

static bool is_last(const struct table *t, int i)
{
    for (i++; i < t->column_count; i++)
        if (shows(t, i))
            return false;
    return true;
}

static void print_word(const struct table *t, int i, const char *word, int width, FILE *to)
{
    const char *between = gap(t, i);

    if (is_left(&t->field[i]) && is_last(t, i))
        fprintf(to, "%s%s", *word ? between : "", word);
    else
        fprintf(to, is_left(&t->field[i]) ? "%s%-*.*s" : "%s%*.*s", between, width, width, word);
}

/* what stands over several columns, at the right end of them */
static void print_above(const struct table *t, const int *width, FILE *to)
{
    int last = -1;

    for (int i = 0; i < t->column_count; i++)
        if (shows(t, i) && t->field[i].above)
            last = i;
    for (int i = 0; i <= last; i++) {
        const char *above = t->field[i].above;
        int room = width[i];

        if (!shows(t, i))
            continue;
        fputs(gap(t, i), to);
        for (; above && i + 1 < t->column_count && t->field[i + 1].above
               && strcmp(t->field[i + 1].above, above) == 0; i++)
            room += shows(t, i + 1) ? width[i + 1] + 2 : 0;
        fprintf(to, "%*s", room, above ? above : "");
    }
    if (last >= 0)
        fputc('\n', to);
}

static void print_head(const struct table *t, const int *width, FILE *to)
{
    print_above(t, width, to);
    for (int i = 0; i < t->column_count; i++)
        if (shows(t, i))
            print_word(t, i, heading_of(&t->field[i]), width[i], to);
    fputc('\n', to);
}

static void print_row(const struct table *t, size_t row, const int *width, FILE *to)
{
    char buf[CELL_CHARS];

    for (int i = 0; i < t->column_count; i++) {
        if (!shows(t, i))
            continue;
        if (cell_at(t, row, i)->kind == CELL_REMARK) {
            fprintf(to, "%s%s", gap(t, i), cell_at(t, row, i)->text);
            break;
        }
        print_word(t, i, format_cell(t, row, i, buf), width[i], to);
    }
    fputc('\n', to);
}

void table_print_head(const struct table *t, FILE *to)
{
    int width[COLUMNS_MAX];

    find_widths(t, width);
    print_head(t, width, to);
}

void table_print_rows(struct table *t, FILE *to)
{
    int width[COLUMNS_MAX];

    find_widths(t, width);
    for (size_t row = 0; to && row < t->row_count; row++)
        print_row(t, row, width, to);
    if (to)
        fflush(to);
    t->row_count = 0;
}

void table_print_text(const struct table *t, FILE *to)
{
    int width[COLUMNS_MAX];

    if (t->title)
        fprintf(to, "%s\n", t->title);
    if (t->row_count == 0) {
        fprintf(to, "%s(none)\n", t->indent);
        return;
    }
    find_widths(t, width);
    print_head(t, width, to);
    for (size_t row = 0; row < t->row_count; row++)
        print_row(t, row, width, to);
}
