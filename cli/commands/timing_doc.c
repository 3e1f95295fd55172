/*
 * Writes docs/timing.md: for each parameter of a chip file its value in every generation, and each
 * source once.
 */
#include "cli/commands/timing_doc.h"

#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "cli/commands/timing_intro.h"
#include "sim/chip/chip.h"
#include "sim/chip/chips.h"

#define GENERATIONS_MAX 16

/* The built-in chips that exist: all but the teaching chip. */
struct generation {
    const char *name, *text;
    struct chip chip;
    struct chip_origin *origins;
};
struct generations {
    struct generation of[GENERATIONS_MAX];
    int count;
};

static const struct {
    const char *ending, *unit;          /* of a key */
} units[] = {
    {"_cycles", "cycles"}, {"_ns", "ns"},           {"_ps", "ps"},     {"_us", "us"},
    {"_bytes", "bytes"},   {"_gbps", "GB/s"},       {"_mhz", "MHz"},   {"_percent", "%"},
    {"_tops", "TOP/s"},    {"_tflops", "TFLOP/s"},  {"_gib", "GiB"},   {"_bundles", "bundles"},
};

static const char *unit_of(const struct chip_param *p)
{
    size_t length = strlen(p->key);

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t ending = strlen(units[i].ending);

        if (length > ending && strcmp(p->key + length - ending, units[i].ending) == 0)
            return units[i].unit;
        if (strcmp(p->key, units[i].ending + 1) == 0)       /* hbm.gib, vmem.bytes */
            return units[i].unit;
    }
    return NULL;
}

static int load_generations(struct generations *g, struct arena *a, struct err *e)
{
    g->count = 0;
    for (const struct chip_file *f = chip_files; f->name; f++) {
        struct generation *next = &g->of[g->count];

        if (strcmp(f->name, "tiny") == 0)
            continue;
        if (g->count == GENERATIONS_MAX)
            return err_set(e, "more than %d chip files", GENERATIONS_MAX);
        next->name = f->name;
        next->text = f->text;
        next->origins = arena_array(a, chip_param_count, sizeof(*next->origins));
        if (chip_load_builtin(&next->chip, f->name, next->origins, a, e))
            return -1;
        g->count++;
    }
    return 0;
}

/* '|' would end the cell */
static void print_text(const char *s, FILE *to)
{
    for (; *s; s++)
        fputs(*s == '|' ? "\\|" : (char[]){*s, '\0'}, to);
}

static void print_row_head(const char *first, const char *second, const struct generations *g,
                           FILE *to)
{
    fprintf(to, "| %s |%s%s", first, second, *second ? " |" : "");
    for (int i = 0; i < g->count; i++)
        fprintf(to, " %s |", g->of[i].name);
    fprintf(to, "\n|---|%s", *second ? "---|" : "");
    for (int i = 0; i < g->count; i++)
        fputs("---|", to);
    fputc('\n', to);
}

static void print_peaks(const struct generations *g, FILE *to)
{
    struct chip_peak peaks[GENERATIONS_MAX][CHIP_PEAK_COUNT];

    print_row_head("per chip", "", g, to);
    for (int i = 0; i < g->count; i++)
        chip_check_peaks(&g->of[i].chip, peaks[i]);
    for (int k = 0; k < CHIP_PEAK_COUNT; k++) {
        fprintf(to, "| %s, %s |", peaks[0][k].name, peaks[0][k].unit);
        for (int i = 0; i < g->count; i++) {
            const struct chip_peak *p = &peaks[i][k];

            if (p->computed <= 0)
                fputs(" - |", to);
            else if (p->published <= 0)
                fprintf(to, " %.1f |", p->computed);
            else
                fprintf(to, " %.1f of %g (%+.2f %%) |", p->computed, p->published,
                        p->deviation_percent);
        }
        fputc('\n', to);
    }
}

/* How many of a generation's values rest on each kind of source. */
static void print_confidence(const struct generations *g, FILE *to)
{
    static const struct {
        char tag;
        const char *meaning;
    } tags[] = {
        {'P', "published by Google"}, {'D', "read from public compiler dumps"},
        {'M', "measured on the machine"}, {'C', "computed from other lines"},
        {'U', "our default"},
    };

    print_row_head("values", "", g, to);
    for (size_t k = 0; k < COUNT_OF(tags); k++) {
        fprintf(to, "| %c, %s |", tags[k].tag, tags[k].meaning);
        for (int i = 0; i < g->count; i++) {
            int count = 0;

            for (size_t j = 0; j < chip_param_count; j++)
                count += g->of[i].origins[j].note[0] == tags[k].tag;
            fprintf(to, " %d |", count);
        }
        fputc('\n', to);
    }
}

static void print_values(const struct generations *g, size_t index, FILE *to)
{
    const struct chip_param *p = &chip_params[index];
    const char *unit = unit_of(p);
    char value[CHIP_TEXT_BYTES];

    fprintf(to, "| `%s` | ", p->key);
    print_text(p->meaning, to);
    fprintf(to, "%s%s |", unit ? ", in " : "", unit ? unit : "");
    for (int i = 0; i < g->count; i++)
        fprintf(to, " %s %c |", chip_print_param(&g->of[i].chip, index, value, sizeof(value)),
                g->of[i].origins[index].note[0]);
    fputc('\n', to);
}

/* "- `vregs`: v2, v3: P ...; v4: P ...": each note once, with the generations that give it */
static void print_sources(const struct generations *g, size_t index, FILE *to)
{
    const char *separator = "";

    fprintf(to, "- `%s`: ", chip_params[index].key);
    for (int i = 0; i < g->count; i++) {
        const char *note = g->of[i].origins[index].note;
        bool is_first = true;

        for (int j = 0; j < i; j++)
            is_first = is_first && strcmp(g->of[j].origins[index].note, note) != 0;
        if (!is_first)
            continue;
        fprintf(to, "%s%s", separator, g->of[i].name);
        for (int j = i + 1; j < g->count; j++)
            if (strcmp(g->of[j].origins[index].note, note) == 0)
                fprintf(to, ", %s", g->of[j].name);
        fprintf(to, ": %s", note);
        separator = "; ";
    }
    fputc('\n', to);
}

static void print_section(const struct generations *g, size_t first, size_t end, FILE *to)
{
    fprintf(to, "\n## [%s]\n\n", chip_params[first].section);
    print_row_head("key", " meaning", g, to);
    for (size_t i = first; i < end; i++)
        print_values(g, i, to);
    fputc('\n', to);
    for (size_t i = first; i < end; i++)
        print_sources(g, i, to);
}

static void print_sections(const struct generations *g, FILE *to)
{
    for (size_t first = 0, end; first < chip_param_count; first = end) {
        for (end = first; end < chip_param_count &&
             strcmp(chip_params[end].section, chip_params[first].section) == 0; end++)
            continue;
        print_section(g, first, end, to);
    }
}

/* The comment at the head of a chip file, from "; Sources:" on. */
static void print_file_head(const struct generation *g, FILE *to)
{
    const char *line = strstr(g->text, "; Sources:");

    fprintf(to, "\n**%s**\n\n", g->name);
    for (; line && line[0] == ';'; line = strchr(line, '\n') + 1)
        fprintf(to, "> %.*s\n", (int)strcspn(line + 2, "\n"), line + 2);
}

int timing_doc_print(FILE *to, struct err *e)
{
    struct generations g;
    struct arena a;
    int status;

    arena_init(&a);
    status = load_generations(&g, &a, e);
    if (status == 0) {
        for (const char *const *paragraph = timing_introduction; *paragraph; paragraph++)
            fputs(*paragraph, to);
        fputs("\n## Peaks, computed of published\n\n", to);
        print_peaks(&g, to);
        fputs("\n## How sure the numbers are\n\n", to);
        print_confidence(&g, to);
        print_sections(&g, to);
        fputs("\n## Sources by generation\n", to);
        for (int i = 0; i < g.count; i++)
            print_file_head(&g.of[i], to);
    }
    arena_fini(&a);
    return status;
}
