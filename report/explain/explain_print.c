/* Prints an explanation as three lines, a table and details, or as JSON. */
#include "report/explain/explain_print.h"

#include "base/text.h"
#include "report/explain/explain_rules.h"

#include <string.h>

#define LINE_CHARS 100
#define PLACES 3

static struct short_text thousands(double value)
{
    return text_thousands((int64_t)(value + 0.5));
}

/* `text` in lines of LINE_CHARS, `indent` spaces before each but the first, which is at *column */
static void print_wrapped(const char *text, int indent, int *column, FILE *to)
{
    while (*text) {
        const char *rest = text + strcspn(text, " ");
        int length = (int)(rest - text);

        if (*column > indent && *column + 1 + length > LINE_CHARS) {
            fprintf(to, "\n%*s", indent, "");
            *column = indent;
        } else if (*column > indent) {
            fputc(' ', to);
            (*column)++;
        }
        fprintf(to, "%.*s", length, text);
        *column += length;
        text = rest + strspn(rest, " ");
    }
}

static void print_paragraph(const char *label, const char *text, FILE *to)
{
    int column = fprintf(to, "   %-8s", label);

    print_wrapped(text, 11, &column, to);
    fputc('\n', to);
}

/* ----- the answer */

/* the family with most cycles, and its largest cause */
static enum cause worst_family(const struct explain *x, cycle_t *cycles)
{
    cycle_t sum[CAUSE_FAMILY_COUNT] = {0};
    enum cause_family worst = CAUSE_FAMILY_MATRIX;

    for (size_t i = 0; i < x->core_count; i++)
        sum[cause_info(x->ranked[i])->family] += x->row[x->ranked[i]].cycles;
    for (int f = 0; f < CAUSE_FAMILY_COUNT; f++)
        if (sum[f] > sum[worst])
            worst = (enum cause_family)f;
    *cycles = sum[worst];
    for (size_t i = 0; i < x->core_count; i++)
        if (cause_info(x->ranked[i])->family == worst)
            return x->ranked[i];
    return CAUSE_USEFUL;
}

static void print_line(const char *text, FILE *to)
{
    int column = 0;

    print_wrapped(text, 0, &column, to);
    fputc('\n', to);
}

static void print_first(const struct explain_text *t, struct arena *a, FILE *to)
{
    const struct explain *x = t->x;
    cycle_t cycles;
    enum cause c = worst_family(x, &cycles);
    size_t index[1], places = explain_top_places(x->input, c, false, index, 1);
    const char *where = places ? x->input->place[index[0]].note : "", *text, *longer;

    if (c == CAUSE_USEFUL) {
        print_line("The whole step is useful work.", to);
        return;
    }
    text = arena_printf(a, "%.0f %% of the step %s, mostly %s: %s cycles",
                        100.0 * (double)cycles / (double)x->step_cycles,
                        cause_family_text(cause_info(c)->family), cause_info(c)->name,
                        text_thousands(cycles).text);
    longer = arena_printf(a, "%s (%s).", text, where);
    print_line(*where && strlen(longer) <= LINE_CHARS ? longer : arena_printf(a, "%s.", text), to);
}

static void print_second(const struct explain_text *t, struct arena *a, FILE *to)
{
    const struct explain_change *c = t->change_count ? &t->change[0] : NULL;

    if (!c || c->is_hardware)
        print_line("No option of the command makes it shorter; below: what other hardware would "
                   "gain.", to);
    else
        print_line(arena_printf(a, "Try %s (%s): predicted gain %s cycles (%.0f %%) for the "
                                "same work.", explain_change_text(c, a), c->what,
                                thousands(c->gain_cycles).text,
                                100.0 * c->gain_cycles / (double)t->x->step_cycles), to);
}

static void print_third(const struct explain_text *t, struct arena *a, FILE *to)
{
    const struct explain *x = t->x;
    double mhz = (double)x->input->view->chip->chip_clock_mhz;
    const char *text = arena_printf(a, "Useful work is %.1f %%; the host adds %.1f us to the "
                                    "step's %.1f us.", 100.0 * explain_share(x, CAUSE_USEFUL),
                                    (double)x->host_cycles / mhz, (double)x->step_cycles / mhz);
    const char *longer = text;

    if (x->core_count > 1)
        longer = arena_printf(a, "%s Next: %s, %.0f %%.", text, cause_info(x->ranked[1])->name,
                              100.0 * explain_share(x, x->ranked[1]));
    print_line(strlen(longer) <= LINE_CHARS ? longer : text, to);
}

/* ----- the table */

static void print_row(const struct explain_text *t, enum cause c, FILE *to)
{
    const struct explain_row *row = &t->x->row[c];
    const struct explain_change *change = explain_change_for(t->change, t->change_count, c);
    bool is_host = cause_is_host(c), has_gain = row->gain_cycles >= 0.5;
    char share[16] = "", what[40] = "";

    if (!is_host)
        snprintf(share, sizeof(share), "%.1f %%", 100.0 * explain_share(t->x, c));
    if (change)
        snprintf(what, sizeof(what), "%s%s", change->is_hardware ? "chip: " : "", change->key);
    fprintf(to, "  %-35s %11s %8s %7.1f %% %12s  %s\n", cause_info(c)->name,
            thousands((double)row->cycles).text, share, 100.0 * explain_host_share(t->x, c),
            has_gain ? thousands(row->gain_cycles).text : "", what);
}

static void print_sum(const char *name, cycle_t cycles, double share, double host_share, FILE *to)
{
    char percent[16] = "";

    if (share > 0.0)
        snprintf(percent, sizeof(percent), "%.1f %%", 100.0 * share);
    fprintf(to, "  %-35s %11s %8s %7.1f %%\n", name,
            text_thousands(cycles).text, percent, 100.0 * host_share);
}

static void print_table(const struct explain_text *t, FILE *to)
{
    const struct explain *x = t->x;
    double all = (double)(x->step_cycles + x->host_cycles);
    char heading[40];

    snprintf(heading, sizeof(heading), "causes, mean of %d core%s", x->input->view->active_count,
             x->input->view->active_count == 1 ? "" : "s");
    fprintf(to, "\n%-37s %11s %8s %9s %12s  %s\n", heading, "cycles", "of step", "of host's",
            "most to gain", "change");
    for (size_t i = 0; i < x->core_count; i++)
        print_row(t, x->ranked[i], to);
    print_row(t, CAUSE_USEFUL, to);
    print_sum("= the step", x->step_cycles, 1.0, (double)x->step_cycles / all, to);
    for (size_t i = x->core_count; i < x->ranked_count; i++)
        print_row(t, x->ranked[i], to);
    print_sum("= the step as its host sees it", x->step_cycles + x->host_cycles, 0.0, 1.0, to);
}

/* ----- details */

static const char *places_text(const struct explain_text *t, enum cause c, bool bundles,
                               struct arena *a)
{
    const struct explain_input *in = t->x->input;
    size_t index[PLACES], count = explain_top_places(in, c, bundles, index, PLACES);
    const char *text = "";

    if (!bundles && count == 1 && !*in->place[index[0]].note)
        return "";                      /* a program without notes */
    for (size_t i = 0; i < count; i++) {
        const struct explain_place *p = &in->place[index[i]];
        const char *name = *p->note ? p->note : "(no source operation)";

        if (bundles)
            name = arena_printf(a, "bundle %u%s", p->bundle,
                                p->line ? arena_printf(a, " (line %u)", p->line) : "");
        text = arena_printf(a, "%s%s%s %s", text, i ? ", " : "", name,
                            thousands((double)explain_place_cycles(p, c)).text);
    }
    return text;
}

/* what places tell of a cause: waits for copies they do not divide, bundles neither */
static const char *what_counts(enum cause c)
{
    switch (cause_info(c)->family) {
    case CAUSE_FAMILY_MEMORY: return "all waits for memory";
    case CAUSE_FAMILY_NETWORK: return "all waits for other cores";
    default: return c == CAUSE_ISSUE || c == CAUSE_VECTOR ? "all bundles" : "cycles";
    }
}

static void print_places(const struct explain_text *t, enum cause c, struct arena *a, FILE *to)
{
    const char *operations = places_text(t, c, false, a);
    const char *bundles = places_text(t, c, true, a);

    if (*operations)
        print_paragraph("where", arena_printf(a, "%s (%s of core %d)", operations, what_counts(c),
                                              t->x->input->place_core), to);
    if (*bundles)
        print_paragraph("bundles", bundles, to);
}

static void print_gain(const struct explain_text *t, enum cause c, struct arena *a, FILE *to)
{
    const struct explain_row *row = &t->x->row[c];
    const struct explain_change *change = explain_change_for(t->change, t->change_count, c);

    if (row->limit != BOUND_LATENCY)
        print_paragraph("limit", arena_printf(a, "at most %s cycles to gain: then %s bounds the "
                                              "step", thousands(row->gain_cycles).text,
                                              bound_name(row->limit)), to);
    if (!change)
        return;
    print_paragraph(change->is_hardware ? "test" : "try",
                    arena_printf(a, "%s: %s; predicted to remove %s of these cycles%s",
                                 explain_change_text(change, a), change->what,
                                 thousands(change->removes[c] * (double)row->cycles).text,
                                 change->work > 1.0 ? ", for the same work" : ""), to);
}

static void print_detail(const struct explain_text *t, size_t rank, struct arena *a, FILE *to)
{
    enum cause c = t->x->ranked[rank];
    const struct cause_info *info = cause_info(c);

    fprintf(to, "\n%zu. %s: %s cycles, %.1f %% of the step\n", rank + 1, info->name,
            text_thousands(t->x->row[c].cycles).text, 100.0 * explain_share(t->x, c));
    print_paragraph("why", arena_printf(a, "%s: %s.", info->meaning, t->x->row[c].why), to);
    print_places(t, c, a, to);
    print_paragraph("change", arena_printf(a, "%s.", info->change), to);
    print_gain(t, c, a, to);
}

/* what comes before each launch, in a line each */
static void print_host(const struct explain_text *t, struct arena *a, FILE *to)
{
    if (t->x->core_count < t->x->ranked_count)
        fprintf(to, "\nbefore the step\n");
    for (size_t i = t->x->core_count; i < t->x->ranked_count; i++) {
        const struct cause_info *info = cause_info(t->x->ranked[i]);
        int column = fprintf(to, "   ");

        print_wrapped(arena_printf(a, "%s: %s: %s. To change: %s.", info->name, info->meaning,
                                   t->x->row[t->x->ranked[i]].why, info->change), 6, &column, to);
        fputc('\n', to);
    }
}

/* ----- the rest */

static void print_rules(const struct explain_text *t, FILE *to)
{
    struct explain_rule rule[EXPLAIN_RULE_COUNT];

    explain_rules(t->x, rule);
    fprintf(to, "\n%-48s %9s  %s\n", "what XProf would suggest, by its own rules", "value",
            "threshold");
    for (size_t i = 0; i < EXPLAIN_RULE_COUNT; i++)
        fprintf(to, "  %-46s %7.1f %%  %s %3.0f %%    %s\n", rule[i].name, rule[i].percent,
                rule[i].is_below ? "<" : ">", rule[i].threshold_percent,
                explain_rule_speaks(&rule[i]) ? rule[i].suggestion : "-");
}

/* prediction and measurement side by side: the table behind --verify */
static void print_verified(const struct explain_text *t, FILE *to)
{
    fprintf(to, "\nverified: simulated again with each change; cycles gained for the work of one "
                "step of this run\n%-46s %15s %15s %9s\n", "  change", "predicted", "measured",
            "ratio");
    for (size_t i = 0; i < t->verified_count; i++) {
        const struct explain_verified *v = &t->verified[i];

        fprintf(to, "  %-44.44s %15s ", v->change->what, thousands(v->change->gain_cycles).text);
        if (v->is_known)
            fprintf(to, "%15s %9.2f\n", text_thousands((int64_t)v->gain_cycles).text,
                    v->gain_cycles / v->change->gain_cycles);
        else
            fprintf(to, "  could not run: %s\n", v->message);
    }
}

static void print_title(const struct explain_text *t, struct arena *a, FILE *to)
{
    fputc('\n', to);
    print_line(arena_printf(a, "%s; %s cycles = %.3f us", t->title,
                            text_thousands(t->x->step_cycles).text,
                            view_seconds(t->x->input->view) * 1e6), to);
    if (t->command)
        fprintf(to, "%s\n", t->command);       /* in one line, to be copied */
}

void explain_print_text(const struct explain_text *t, FILE *to)
{
    struct arena a;

    arena_init(&a);
    print_first(t, &a, to);
    print_second(t, &a, to);
    print_third(t, &a, to);
    print_title(t, &a, to);
    print_table(t, to);
    for (size_t i = 0; i < t->x->core_count && i < t->top; i++)
        print_detail(t, i, &a, to);
    print_host(t, &a, to);
    if (t->is_verified)
        print_verified(t, to);
    print_rules(t, to);
    arena_fini(&a);
}
