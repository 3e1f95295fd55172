/* Two parameters against each other in the terminal: cycles and VMEM, colours where it has some. */
#include "cli/tune/tune.h"

#include <string.h>

#include "base/text.h"

#define CELL 10                         /* characters */
#define REASONS_MAX 26                  /* letters */

/* background of the 256-colour palette: green, yellow, red */
static int colour_of(double heat)
{
    static const int colours[] = {28, 64, 100, 136, 130, 124};
    int steps = (int)(sizeof(colours) / sizeof(colours[0]));
    int at = (int)(heat * steps);

    return colours[at < steps ? at : steps - 1];
}

static void print_cell(const struct tune *t, const struct tune_variant *v, int line, bool has_colour)
{
    char text[CELL + 8] = "";

    if (v && v->result.is_done && line == 0)
        text_print(text, sizeof(text), "%s%s", text_thousands(v->result.cycles).text,
                   v == &t->variant[t->best] ? "*" : "");
    else if (v && v->result.is_done)
        text_print(text, sizeof(text), "%.1f MiB", (double)v->result.vmem_bytes / 1048576.0);
    else if (v && line == 0)
        text_print(text, sizeof(text), "(%c)", 'a' + tune_reason(t, v) % REASONS_MAX);
    if (has_colour && v)
        printf("\033[48;5;%dm\033[38;5;231m", v->result.is_done ? colour_of(tune_heat(t, v)) : 240);
    printf("%*.*s ", CELL, CELL, text);
    if (has_colour && v)
        printf("\033[0m");
}

static void print_row(const struct tune *t, int row, int label, bool has_colour)
{
    for (int line = 0; line < 2; line++) {
        printf("  %*s ", label, line || t->rows < 0 ? "" : t->axis[t->rows].value[row]);
        for (int c = 0; c < t->axis[t->columns].count; c++)
            print_cell(t, tune_at(t, row, c), line, has_colour);
        printf("\n");
    }
}

/* a letter for each reason that a cell of the map has */
static void print_reasons(const struct tune *t)
{
    int told = 0;

    for (int i = 0; i < t->count; i++) {
        const struct tune_variant *v = &t->variant[i];

        if (!v->result.is_done && tune_reason(t, v) == told && told < REASONS_MAX)
            printf("  (%c) %s\n", 'a' + told++, v->result.message);
    }
}

void tune_print_map(const struct tune *t, bool has_colour)
{
    const struct tune_axis *columns = &t->axis[t->columns];
    const struct tune_axis *rows = t->rows < 0 ? NULL : &t->axis[t->rows];
    int label = rows ? (int)strlen(rows->name) : 0, others = 0;

    for (int i = 0; i < t->axis_count; i++)
        others += i != t->rows && i != t->columns && t->axis[i].count > 1;
    for (int r = 0; rows && r < rows->count; r++)
        if ((int)strlen(rows->value[r]) > label)
            label = (int)strlen(rows->value[r]);
    printf("cycles and VMEM%s%s; * is the best%s\n", rows ? ", down " : "", rows ? rows->name : "",
           others ? "; of other parameters the best for each" : "");
    printf("  %*s %s\n  %*s ", label, "", columns->name, label, rows ? rows->name : "");
    for (int c = 0; c < columns->count; c++)
        printf("%*.*s ", CELL, CELL, columns->value[c]);
    printf("\n");
    for (int r = 0; r < (rows ? rows->count : 1); r++)
        print_row(t, r, label, has_colour);
    print_reasons(t);
    printf("\n");
}
