/* Prints two runs side by side, for people, spreadsheets and programs. */
#include "report/diff/diff.h"

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 16                     /* of a ranked list for people; the rest is counted */

static const struct section {
    const char *key, *heading;
    bool is_ranked;                     /* only rows that differ, the largest first */
} sections[DIFF_SECTION_COUNT] = {
    [DIFF_STEP]    = {"step", "one step", false},
    [DIFF_CYCLES]  = {"cycles", "where the difference comes from", true},
    [DIFF_SOURCE]  = {"source", "source operations of one core, cycles", true},
    [DIFF_USE]     = {"use", "use of each resource, % of the step", false},
    [DIFF_WORK]    = {"work", "work, all cores and chips", false},
    [DIFF_UNITS]   = {"units", "units, busy cycles of all cores", true},
    [DIFF_OPS]     = {"operations", "operations executed, all cores", true},
    [DIFF_RESULTS] = {"results", "what was learnt", false},
};

static struct short_text number_text(double x, bool is_whole)
{
    struct short_text to;

    if (is_whole && fabs(x) < 9e15)
        return text_thousands((int64_t)x);
    snprintf(to.text, sizeof(to.text), "%.3f", x);
    return to;
}

static struct short_text difference_text(double x, bool is_whole)
{
    struct short_text to;

    snprintf(to.text, sizeof(to.text), "%s%.30s", x > 0.0 ? "+" : "",
             number_text(x, is_whole).text);
    return to;
}

/* "+12.3 %" of a, or which side has nothing */
static struct short_text relative_text(const struct diff_row *r)
{
    struct short_text to;

    if (!r->in_a || !r->in_b)
        snprintf(to.text, sizeof(to.text), "%s", r->in_b ? "only B" : "only A");
    else if (r->a == 0.0)
        snprintf(to.text, sizeof(to.text), "%s", r->b == 0.0 ? "" : "from 0");
    else
        snprintf(to.text, sizeof(to.text), "%+.1f %%", 100.0 * (r->b - r->a) / fabs(r->a));
    return to;
}

static void print_row(const struct diff_row *r, FILE *to)
{
    fprintf(to, "  %-34.34s %18s %18s %18s %10s", r->name,
            r->in_a ? number_text(r->a, r->is_whole).text : "-",
            r->in_b ? number_text(r->b, r->is_whole).text : "-",
            difference_text(r->b - r->a, r->is_whole).text, relative_text(r).text);
}

static void print_heading(const char *heading, const char *more, FILE *to)
{
    fprintf(to, "\n%-36s %18s %18s %18s %10s%s\n", heading, "A", "B", "B - A", "of A", more);
}

static size_t first_of(const struct diff *d, enum diff_section s)
{
    size_t i = 0;

    while (i < d->row_count && d->row[i].section != s)
        i++;
    return i;
}

/* ---- the answer in a sentence or two ---- */

static void print_largest(const struct diff *d, FILE *to)
{
    double all = diff_step_cycles(d);
    size_t first = first_of(d, DIFF_CYCLES);
    const char *comma = "";

    fprintf(to, "  most of it: ");
    for (size_t i = first; i < first + 3 && i < d->row_count; i++) {
        const struct diff_row *r = &d->row[i];

        if (r->section != DIFF_CYCLES || r->a == r->b)
            break;
        fprintf(to, "%s%s %s", comma, r->name, difference_text(r->b - r->a, true).text);
        if (all != 0.0)
            fprintf(to, " (%.1f %%)", 100.0 * (r->b - r->a) / all);
        comma = ", ";
    }
    fprintf(to, " cycles of core %d\n", d->core);
}

static void print_verdict(const struct diff *d, FILE *to)
{
    double a = run_real(d->run[0]->stats, "step_cycles");
    double b = run_real(d->run[1]->stats, "step_cycles");
    double a_us = a / d->mhz[0], b_us = b / d->mhz[1];

    if (a_us == b_us)
        fprintf(to, "both steps take the same time: ");
    else
        fprintf(to, "a step of B is %.2f times as %s: ", b_us > a_us ? b_us / a_us : a_us / b_us,
                b_us > a_us ? "long" : "fast");
    fprintf(to, "%s cycles -> %s cycles, %.3f us -> %.3f us (%+.1f %%)\n",
            number_text(a, true).text, number_text(b, true).text, a_us, b_us,
            100.0 * (b_us - a_us) / a_us);
    if (a != b)
        print_largest(d, to);
}

static void print_bounds(const struct diff *d, FILE *to)
{
    const char *a = run_text(json_object_get(d->run[0]->stats, "bound"), "by");
    const char *b = run_text(json_object_get(d->run[1]->stats, "bound"), "by");

    if (strcmp(a, b) == 0)
        fprintf(to, "  both are bound by %s\n", a);
    else
        fprintf(to, "  A is bound by %s, B by %s\n", a, b);
}

/* ---- settings ---- */

static void print_settings(const struct diff *d, FILE *to)
{
    for (int is_chip = 0; is_chip < 2; is_chip++) {
        bool has_heading = false;

        for (size_t i = 0; i < d->setting_count; i++) {
            const struct diff_setting *s = &d->setting[i];

            if (s->is_chip != is_chip)
                continue;
            if (!has_heading)
                fprintf(to, "\n%-36s %18s %18s\n",
                        is_chip ? "chip parameters that differ" : "options that differ", "A", "B");
            has_heading = true;
            fprintf(to, "  %-34.34s %18s %18s\n", s->name, s->a ? s->a : "-", s->b ? s->b : "-");
        }
    }
}

/* ---- where the difference comes from ---- */

static const char *meaning_of(const char *reason)
{
    static const struct { const char *name, *meaning; } reasons[] = {
        {"issue", "bundles issued"}, {"idle", "the core had halted and waited for the others"},
#define STALL(id, name, meaning) {name, meaning},
#include "sim/results/stalls.def"
    };

    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (strcmp(reasons[i].name, reason) == 0)
            return reasons[i].meaning;
    return "";
}

static void print_cycle_row(const struct diff *d, const struct diff_row *r, FILE *to)
{
    double all = diff_step_cycles(d);
    char share[40] = "";

    print_row(r, to);
    if (all != 0.0)
        snprintf(share, sizeof(share), "%.1f %%", 100.0 * (r->b - r->a) / all);
    fprintf(to, " %12.3f %10s  %s\n", (r->b - r->a) / d->mhz[1], share, meaning_of(r->name));
}

static void print_cycles(const struct diff *d, FILE *to)
{
    struct diff_row all = {.name = "all", .in_a = true, .in_b = true, .is_whole = true};
    char heading[64];

    snprintf(heading, sizeof(heading), "where it comes from: core %d, cycles", d->core);
    print_heading(heading, "     B - A, us  of B - A", to);
    for (size_t i = first_of(d, DIFF_CYCLES);
         i < d->row_count && d->row[i].section == DIFF_CYCLES; i++) {
        if (diff_row_differs(&d->row[i]))
            print_cycle_row(d, &d->row[i], to);
        all.a += d->row[i].a;
        all.b += d->row[i].b;
    }
    if (d->mhz[0] != d->mhz[1])
        fprintf(to, "  %-34s %18.0f %18.0f %18s %10s %12.3f %10s  %s\n", "clock, MHz", d->mhz[0],
                d->mhz[1], "", "", diff_clock_us(d), "", "the cycles of A at the clock of B");
    print_row(&all, to);
    fprintf(to, " %12.3f %10s\n", diff_step_us(d), diff_step_cycles(d) != 0.0 ? "100.0 %" : "");
}

/* ---- everything else ---- */

static void print_section(const struct diff *d, enum diff_section s, FILE *to)
{
    size_t shown = 0, equal = 0, more = 0;

    for (size_t i = first_of(d, s); i < d->row_count && d->row[i].section == s; i++) {
        const struct diff_row *r = &d->row[i];

        if (!diff_row_differs(r)) {
            equal++;
            continue;
        }
        if (sections[s].is_ranked && shown >= ROWS_MAX) {
            more++;
            continue;
        }
        if (shown++ == 0)
            print_heading(sections[s].heading, "", to);
        print_row(r, to);
        fprintf(to, "%s%s\n", *r->unit ? "  " : "", r->unit);
    }
    if (more)
        fprintf(to, "  and %zu smaller differences (--csv has all)\n", more);
    if (shown && equal)
        fprintf(to, "  %zu more are equal\n", equal);
}

void diff_print_text(const struct diff *d, FILE *to)
{
    char text[300];

    for (int i = 0; i < 2; i++)
        fprintf(to, "%c  %s: %s\n", "AB"[i], d->run[i]->path,
                run_folder_describe(d->run[i], text, sizeof(text)));
    fputc('\n', to);
    if (diff_is_equal(d)) {
        fprintf(to, "the runs are equal: the same options and chip, and all %zu values of "
                "stats.json but host times\n", d->number_count);
        return;
    }
    if (d->is_timed) {
        print_verdict(d, to);
        print_bounds(d, to);
    } else {
        fprintf(to, "no cycles to compare: a run on the host or in functional mode has none\n");
    }
    if (d->number_differs == 0)
        fprintf(to, "  and all %zu values of stats.json are equal\n", d->number_count);
    print_settings(d, to);
    if (d->is_timed && diff_row_differs(&d->row[0]))
        print_cycles(d, to);
    for (int s = DIFF_SOURCE; s < DIFF_SECTION_COUNT; s++)
        print_section(d, (enum diff_section)s, to);
    fprintf(to, "\n%zu of %zu values of stats.json differ\n", d->number_differs,
            d->number_count);
}

/* ---- files: rows, and in CSV the settings before them ---- */

static const struct table_field fields[] = {
    {TABLE_HIDDEN(TEXT, "section")}, {TABLE_HIDDEN(TEXT, "name")}, {TABLE_HIDDEN(TEXT, "unit")},
    {TABLE_HIDDEN(REAL, "a")}, {TABLE_HIDDEN(REAL, "b")}, {TABLE_HIDDEN(REAL, "difference")},
    {TABLE_HIDDEN(REAL, "difference_pct_of_a")}, {0}};

static struct table_cell number_cell(const struct diff_row *r, bool is_there, double x)
{
    if (!is_there)
        return cell_none();
    return r->is_whole && fabs(x) < 9e15 ? cell_int((int64_t)x) : cell_real(x);
}

static void fill_rows(const struct diff *d, struct table *t)
{
    for (size_t i = 0; i < d->row_count; i++) {
        const struct diff_row *r = &d->row[i];

        TABLE_ROW(t, cell_text(sections[r->section].key), cell_text(r->name), cell_text(r->unit),
                  number_cell(r, r->in_a, r->a), number_cell(r, r->in_b, r->b),
                  number_cell(r, true, r->b - r->a),
                  r->in_a && r->in_b && r->a != 0.0
                      ? cell_real(100.0 * (r->b - r->a) / fabs(r->a)) : cell_none());
    }
}

void diff_print_csv(const struct diff *d, FILE *to)
{
    struct table t;

    table_begin(&t, fields, NULL);
    t.digits = 15;
    for (size_t i = 0; i < d->setting_count; i++) {
        const struct diff_setting *s = &d->setting[i];

        TABLE_ROW(&t, cell_text(s->is_chip ? "chip" : "option"), cell_text(s->name), cell_none(),
                  cell_text(s->a), cell_text(s->b));
    }
    fill_rows(d, &t);
    table_print_csv(&t, to);
    table_end(&t);
}

static json_t *make_rows(const struct diff *d)
{
    struct table t;
    json_t *rows;

    table_begin(&t, fields, NULL);
    fill_rows(d, &t);
    rows = table_make_json(&t);
    table_end(&t);
    return rows;
}

static json_t *make_settings(const struct diff *d)
{
    json_t *settings = json_array();

    for (size_t i = 0; i < d->setting_count; i++) {
        const struct diff_setting *s = &d->setting[i];

        json_array_append_new(settings, json_pack(
            "{ss, sb, ss?, ss?}", "name", s->name, "is_chip", s->is_chip, "a", s->a, "b", s->b));
    }
    return settings;
}

int diff_print_json(const struct diff *d, FILE *to)
{
    json_t *root = json_pack(
        "{ss, si, ss, ss, sb, si, sI, sI, so, so}", "format", "systole-diff", "version", 1,
        "a", d->run[0]->path, "b", d->run[1]->path, "is_equal", diff_is_equal(d), "core", d->core,
        "values", (json_int_t)d->number_count, "values_that_differ",
        (json_int_t)d->number_differs, "settings", make_settings(d), "rows", make_rows(d));
    int status = json_dumpf(root, to, JSON_INDENT(1) | JSON_REAL_PRECISION(15));

    json_decref(root);
    fputc('\n', to);
    return status;
}
