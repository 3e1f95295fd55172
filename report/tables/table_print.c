/* Prints tables as CSV, Markdown and text. */
#include "report/tables/table.h"

#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define TEXT_WIDTH_MAX 44

/* ---- CSV ---- */

static void print_csv_cell(const struct table_cell *cell, FILE *to)
{
    switch (cell->kind) {
    case CELL_TEXT: text_print_csv(cell->text, to); break;
    case CELL_INT: fprintf(to, "%" PRId64, cell->integer); break;
    case CELL_REAL: fprintf(to, "%.9g", cell->real); break;
    default: break;
    }
}

void table_print_csv(const struct table *t, FILE *to)
{
    int last = t->first_column + t->column_count - 1;

    for (int c = t->first_column; c <= last; c++) {
        text_print_csv(column_info((enum table_column)c)->name, to);
        fputc(c < last ? ',' : '\n', to);
    }
    for (size_t row = 0; row < t->row_count; row++)
        for (int c = t->first_column; c <= last; c++) {
            print_csv_cell(table_cell(t, row, (enum table_column)c), to);
            fputc(c < last ? ',' : '\n', to);
        }
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

/* with thousands where it is large, never with an exponent below 10^15 */
static void format_real(double x, int decimals, char *buf, size_t buf_bytes)
{
    double size = fabs(x);

    if (decimals < 0)
        decimals = size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 || size == 0 ? 2 : 4;
    if (size >= 1e15)
        snprintf(buf, buf_bytes, "%.3g", x);
    else if (size >= 1e5 || decimals == 0)
        text_thousands((int64_t)llround(x), buf, buf_bytes);
    else
        snprintf(buf, buf_bytes, "%.*f", decimals, x);
}

static const char *format_cell(const struct table *t, size_t row, int c, char *buf,
                               size_t buf_bytes)
{
    const struct table_cell *cell = table_cell(t, row, (enum table_column)c);

    switch (cell->kind) {
    case CELL_TEXT: return cell->text;
    case CELL_INT: return text_thousands(cell->integer, buf, buf_bytes);
    case CELL_REAL:
        format_real(cell->real, decimals_of(column_info((enum table_column)c)->name), buf,
                    buf_bytes);
        return buf;
    default: return "";
    }
}

static bool shows(const struct table *t, int c)
{
    return column_info((enum table_column)c)->is_shown || c == t->sorted_by;
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
    int end = t->first_column + t->column_count;
    char buf[40];

    fprintf(to, "**%s**\n\n", table_info(t->id)->title);
    for (int c = t->first_column; c < end; c++)
        if (shows(t, c))
            fprintf(to, "| %s ", column_info((enum table_column)c)->name);
    fprintf(to, "|\n");
    for (int c = t->first_column; c < end; c++)
        if (shows(t, c))
            fprintf(to, column_info((enum table_column)c)->kind == CELL_TEXT ? "|---" : "|---:");
    fprintf(to, "|\n");
    for (size_t row = 0; row < t->row_count; row++) {
        for (int c = t->first_column; c < end; c++) {
            if (!shows(t, c))
                continue;
            fprintf(to, "| ");
            print_markdown_text(format_cell(t, row, c, buf, sizeof(buf)), to);
            fputc(' ', to);
        }
        fprintf(to, "|\n");
    }
    fputc('\n', to);
}

static int width_of(const struct table *t, int c)
{
    size_t width = strlen(column_info((enum table_column)c)->name);
    char buf[40];

    for (size_t row = 0; row < t->row_count; row++) {
        size_t length = strlen(format_cell(t, row, c, buf, sizeof(buf)));

        width = length > width ? length : width;
    }
    return (int)(width < TEXT_WIDTH_MAX ? width : TEXT_WIDTH_MAX);
}

static void print_word(const struct table *t, int c, const char *word, int width, FILE *to)
{
    bool is_text = column_info((enum table_column)c)->kind == CELL_TEXT;
    bool is_last = true;

    for (int i = c + 1; i < t->first_column + t->column_count; i++)
        is_last = is_last && !shows(t, i);
    if (is_text && is_last)
        fprintf(to, "  %s", word);
    else
        fprintf(to, is_text ? "  %-*.*s" : "  %*.*s", width, width, word);
}

void table_print_text(const struct table *t, FILE *to)
{
    int end = t->first_column + t->column_count;
    int width[COLUMN_COUNT];
    char buf[40];

    fprintf(to, "%s\n", table_info(t->id)->title);
    if (t->row_count == 0) {
        fprintf(to, "  (none)\n");
        return;
    }
    for (int c = t->first_column; c < end; c++)
        if (shows(t, c)) {
            width[c] = width_of(t, c);
            print_word(t, c, column_info((enum table_column)c)->name, width[c], to);
        }
    fputc('\n', to);
    for (size_t row = 0; row < t->row_count; row++) {
        for (int c = t->first_column; c < end; c++)
            if (shows(t, c))
                print_word(t, c, format_cell(t, row, c, buf, sizeof(buf)), width[c], to);
        fputc('\n', to);
    }
}
