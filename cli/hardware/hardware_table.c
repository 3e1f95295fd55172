/* Prints the record of measured rows as the Markdown tables of docs/accuracy.md. */
#include "cli/hardware/hardware_record.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

static void print_figure(double value, int decimals, const char *suffix, FILE *to)
{
    if (isnan(value))
        fprintf(to, " |");
    else
        text_print_file(to, " %.*f%s |", decimals, value, suffix);
}

static int groups_of(const struct hardware_record *r, const char *file)
{
    int count = 0;

    for (int i = 0; i < r->group_count; i++)
        count += strcmp(r->group[i].file, file) == 0 && strcmp(r->group[i].set, "all") == 0;
    return count;
}

static void print_groups(const struct hardware_record *r, FILE *to)
{
    fprintf(to, "| file, group | rows | scored | mean | median | second mean | by time | ratio of "
            "sums | time covered |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < r->group_count; i++) {
        const struct hardware_record_group *g = &r->group[i];
        bool is_file = strcmp(g->group, "all rows") == 0;

        if (strcmp(g->set, "all") != 0 || (!is_file && groups_of(r, g->file) == 2) ||
            (!is_file && g->scored == 0))
            continue;
        fprintf(to, "| %s%s | %d | %d |", is_file ? "" : "— ", is_file ? g->file : g->group,
                g->rows, g->scored);
        print_figure(g->mean, 1, "", to);
        print_figure(g->median, 1, "", to);
        print_figure(g->second_mean, 1, "", to);
        print_figure(g->weighted, 1, "", to);
        print_figure(g->ratio, 2, "", to);
        print_figure(g->covered, 0, " %", to);
        fputc('\n', to);
    }
}

static void print_memory(const struct hardware_record *r, FILE *to)
{
    bool is_begun = false;

    for (int i = 0; i < r->group_count; i++) {
        const struct hardware_record_group *g = &r->group[i];

        if (strcmp(g->set, "all") != 0 || isnan(g->memory_mean))
            continue;
        if (!is_begun)
            fprintf(to, "\n| peak memory of | mean error | median |\n|---|---|---|\n");
        is_begun = true;
        fprintf(to, "| %s, %s |", g->file, g->group);
        print_figure(g->memory_mean, 1, " %", to);
        print_figure(g->memory_median, 1, " %", to);
        fputc('\n', to);
    }
}

struct mark {
    const char *what, *file, *group, *figure;
    size_t at;
    double high, low;
};

static const struct mark marks[] = {
#define MARK(what_, file_, group_, figure_, high_, low_) \
    {what_, file_, group_, #figure_, offsetof(struct hardware_record_group, figure_), high_, low_},
#include "cli/hardware/hardware_marks.def"
};

static const struct { const char *name, *heading; int decimals; const char *suffix; } figures[] = {
    {"second_mean", "second mean", 1, " %"}, {"mean", "mean", 1, " %"}, {"median", "median", 1, " %"},
    {"weighted", "weighted by time", 1, " %"}, {"ratio", "ratio of sums", 2, ""},
    {"covered", "time covered", 0, " %"}, {"memory_mean", "peak memory, mean", 1, " %"},
    {"memory_median", "peak memory, median", 1, " %"}};

static void print_mark(const struct mark *m, const struct hardware_record_group *g, FILE *to)
{
    double value = g ? *(const double *)((const char *)g + m->at) : NAN;
    size_t k = 0;

    while (strcmp(figures[k].name, m->figure) != 0)
        k++;
    fprintf(to, "| %s | %s |", m->what, figures[k].heading);
    if (m->low > 0 && strcmp(m->figure, "ratio") != 0)
        text_print_file(to, " at least %g%s |", m->low, figures[k].suffix);
    else if (m->low > 0)
        text_print_file(to, " %g to %g%s |", m->low, m->high, figures[k].suffix);
    else
        text_print_file(to, " at most %g%s |", m->high, figures[k].suffix);
    print_figure(value, figures[k].decimals, figures[k].suffix, to);
    fprintf(to, " %s |\n", isnan(value) ? "not measured"
                          : value <= m->high && value >= m->low ? "reached" : "missed");
}

static void print_marks(const struct hardware_record *r, FILE *to)
{
    fprintf(to, "\n| what | figure | asked | recorded | |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        const struct hardware_record_group *found = NULL;

        for (int k = 0; k < r->group_count; k++)
            if (strcmp(r->group[k].file, marks[i].file) == 0 &&
                strcmp(r->group[k].group, marks[i].group) == 0 &&
                strcmp(r->group[k].set, "all") == 0)
                found = &r->group[k];
        print_mark(&marks[i], found, to);
    }
}

void hardware_print_tables(const struct hardware_record *r, FILE *to)
{
    print_groups(r, to);
    print_memory(r, to);
    print_marks(r, to);
}
