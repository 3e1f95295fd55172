/*
 * `systole chips`: lists the chips with their computed and published peaks, or prints one chip's
 * parameters or a slice's grid.
 */
#include "cli/commands/cli.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/common/options.h"
#include "cli/commands/timing_doc.h"
#include "sim/chip/chip.h"

struct arguments {
    const char *chip;                   /* NULL = list all */
    const char *slice;
    struct cli_list set;
    bool print_doc;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"slice", 's', "SLICE", "Print the chip grid of a slice, e.g. v3-32", 1, CLI_TEXT, AT(slice)},
    CLI_ROW_SET(struct arguments, set, 1),
    {"timing-doc", 0, NULL, "Print every number of every generation as Markdown instead", 1,
     CLI_FLAG, AT(print_doc)},
    {0}};

static int check(void *values, struct err *e)
{
    const struct arguments *a = values;

    if (a->set.count && !a->chip)
        return err_set(e, "--set needs a chip");
    if (a->print_doc && (a->chip || a->slice))
        return err_set(e, "--timing-doc stands alone");
    return 0;
}

static const struct cli_syntax syntax = {
    .own = {.row = options, .check = check}, .noun = "chip",
    .noun_at = offsetof(struct arguments, chip), .args_doc = "[CHIP | FILE.ini]",
    .doc =
    "List the built-in chips and check their peaks against the published figures, or print every "
    "parameter of one chip with its meaning and provenance.\v"
    "Provenance: P published, D from public compiler dumps, M measured, C computed, "
    "U our default with the reason.\n\n"
    "Example:\n  systole chips v3 --set mxu.count=8"};

#define CHIP_ROW "%-4s %-18s %4s %5s  %-9s %6s %6s"
#define PEAK_CELLS "  %-14s  %-14s  %-14s  %-14s  %s\n"

static void print_heading(void)
{
    printf(CHIP_ROW, "", "", "", "", "MXUs per", "VMEM", "HBM");
    printf(PEAK_CELLS, "bf16", "int8", "int4", "fp8", "HBM");
    printf(CHIP_ROW, "chip", "name", "MHz", "cores", "core", "MiB", "GiB");
    printf(PEAK_CELLS, "TFLOP/s", "TOP/s", "TOP/s", "TFLOP/s", "GB/s");
}

/* "917.50 (918)": computed and, where there is one, published */
static char *print_peak(const struct chip_peak *p, char *buf, size_t buf_bytes)
{
    if (p->computed <= 0)
        snprintf(buf, buf_bytes, "%7s", "-");
    else if (p->published <= 0)
        snprintf(buf, buf_bytes, "%7.2f", p->computed);
    else
        snprintf(buf, buf_bytes, "%7.2f (%g)", p->computed, p->published);
    return buf;
}

static void print_row(const char *name, const struct chip *c, const struct chip_peak *peaks)
{
    char mhz[24], cores[24], mxus[48], vmem[24], hbm[24], cell[CHIP_PEAK_COUNT][40];

    snprintf(mhz, sizeof(mhz), "%lld", (long long)c->chip_clock_mhz);
    snprintf(cores, sizeof(cores), "%lld", (long long)c->chip_cores);
    snprintf(mxus, sizeof(mxus), "%lld x %lld^2", (long long)c->mxu_count,
             (long long)c->mxu_size);
    snprintf(vmem, sizeof(vmem), "%g", (double)c->vmem_bytes / MIB);
    snprintf(hbm, sizeof(hbm), "%g", c->hbm_gib);
    printf(CHIP_ROW, name, c->chip_name, mhz, cores, mxus, vmem, hbm);
    for (int i = 0; i < CHIP_PEAK_COUNT; i++)
        print_peak(&peaks[i], cell[i], sizeof(cell[i]));
    printf(PEAK_CELLS, cell[0], cell[1], cell[2], cell[3], cell[4]);
}

static const char *note_of(const struct chip_origin *origins, const char *section,
                           const char *key)
{
    for (size_t i = 0; i < chip_param_count; i++)
        if (strcmp(chip_params[i].section, section) == 0 && strcmp(chip_params[i].key, key) == 0)
            return origins[i].note;
    return "";
}

/* The peaks beyond the tolerance; returns how many of them no line of the file accounts for. */
static int print_deviations(const char *name, const struct chip_peak *peaks,
                            const struct chip_origin *origins)
{
    int unlisted = 0;

    for (int i = 0; i < CHIP_PEAK_COUNT; i++) {
        const struct chip_peak *p = &peaks[i];

        if (p->agrees && p->deviation_percent >= -1 && p->deviation_percent <= 1)
            continue;
        printf("%s: %s %.2f %s computed, %g published (%+.2f %%), %s: %s\n", name, p->name,
               p->computed, p->unit, p->published, p->deviation_percent,
               p->agrees ? "listed" : "not listed",
               p->agrees ? note_of(origins, "chip", "peak_deviation_percent")
                         : "neither within 1 % nor as chip.peak_deviation_percent says");
        unlisted += !p->agrees;
    }
    return unlisted;
}

static int list_chips(struct arena *a, struct err *e)
{
    struct chip_origin *origins = arena_array(a, chip_param_count, sizeof(*origins));
    struct chip_peak peaks[CHIP_PEAK_COUNT];
    const char *const *names;
    struct chip c;
    size_t count;
    int unlisted = 0;

    names = chip_names(&count);
    print_heading();
    for (size_t i = 0; i < count; i++) {
        if (chip_load_builtin(&c, names[i], NULL, NULL, e))
            return -1;
        chip_check_peaks(&c, peaks);
        print_row(names[i], &c, peaks);
    }
    printf("computed from the chip file; in parentheses as published\n");
    for (size_t i = 0; i < count; i++) {
        if (chip_load_builtin(&c, names[i], origins, a, e))
            return -1;
        chip_check_peaks(&c, peaks);
        unlisted += print_deviations(names[i], peaks, origins);
    }
    if (unlisted)
        return err_set(e, "%d peaks deviate more than 1 %% from the published ones", unlisted);
    printf("all computed peaks within 1 %% of the published ones or of a listed deviation\n");
    return 0;
}

static void print_peaks(const struct chip *c)
{
    struct chip_peak peaks[CHIP_PEAK_COUNT];

    chip_check_peaks(c, peaks);
    printf("\npeaks of one chip\n");
    for (int i = 0; i < CHIP_PEAK_COUNT; i++) {
        const struct chip_peak *p = &peaks[i];

        if (p->computed <= 0)
            continue;
        printf("  %-4s %10.2f %-8s computed", p->name, p->computed, p->unit);
        if (p->published > 0)
            printf(", %g published (%+.2f %%)", p->published, p->deviation_percent);
        printf("\n");
    }
}

static void print_params(const struct chip *c, const struct chip_origin *origins)
{
    const char *section = "";

    for (size_t i = 0; i < chip_param_count; i++) {
        const struct chip_param *p = &chip_params[i];
        const char *from = strcmp(origins[i].origin, "--set") == 0 ? "--set" : origins[i].note;
        char value[CHIP_TEXT_BYTES];

        if (strcmp(p->section, section) != 0)
            printf("\n[%s]\n", p->section);
        section = p->section;
        printf("  %-25s %-18s %-68s %s\n", p->key, chip_print_param(c, i, value, sizeof(value)),
               p->meaning, from);
    }
    print_peaks(c);
}

static void print_slices(const char *chip_name, const struct chip *c)
{
    struct slice s;

    printf("\nslices\n");
    for (int i = 0; slice_of_chip(&s, chip_name, i); i++) {
        printf("  %s", slice_print(&s).text);
        printf(slice_can_twist(&s, c) ? "; twisted too: %s_twisted\n" : "\n", s.name);
    }
    if (c->ici_wrap_multiple > 1)
        printf("  and grids of whole cubes by their topology, like %s-4x4x16\n", chip_name);
}

static int print_chip(const struct arguments *args, struct arena *a, struct err *e)
{
    struct chip_origin *origins = arena_array(a, chip_param_count, sizeof(*origins));
    bool is_file = strchr(args->chip, '/') || strstr(args->chip, ".ini");
    struct chip c;

    if (is_file ? chip_load_file(&c, args->chip, origins, a, e)
                : chip_load_builtin(&c, args->chip, origins, a, e))
        return -1;
    if (cli_set_params(&args->set, &c, origins, a, e))
        return -1;
    printf("%s (%s); sources are spelt out at the head of the chip file\n", c.chip_name,
           args->chip);
    print_params(&c, origins);
    if (!is_file)
        print_slices(args->chip, &c);
    return 0;
}

/* Chip numbers in their grid, y downwards; with the cores each one holds. */
static int print_slice(const char *name, struct err *e)
{
    struct slice s;
    char text[96];
    int cores;

    if (slice_parse(&s, name, e))
        return -1;
    cores = s.core_count / s.chip_count;
    printf("%s\n", slice_print(&s).text);
    if (s.chip_count > 1)
        printf("%s\n", slice_print_closing(&s, text, sizeof(text)));
    for (int z = 0; z < s.dim[2]; z++) {
        for (int y = 0; y < s.dim[1]; y++) {
            for (int x = 0; x < s.dim[0]; x++)
                printf("%6d", x + s.dim[0] * (y + s.dim[1] * z));
            printf("\n");
        }
    }
    if (cores == 1)
        printf("chip numbers; core n is on chip n\n");
    else
        printf("chip numbers; chip n holds cores %d n to %d n + %d\n", cores, cores, cores - 1);
    return 0;
}

int cmd_chips(int argc, char **argv)
{
    struct arguments args = {0};
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = 0;
    if (args.slice)
        status = print_slice(args.slice, &e);
    if (status == 0 && args.chip)
        status = print_chip(&args, &a, &e);
    if (args.print_doc)
        status = timing_doc_print(stdout, &e);
    else if (status == 0 && !args.chip && !args.slice)
        status = list_chips(&a, &e);
    arena_fini(&a);
    return status ? cli_fail(&e) : 0;
}
