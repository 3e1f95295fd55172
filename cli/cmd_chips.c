#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/options.h"
#include "sim/chip.h"

#define DEVIATION_MAX 0.01

struct arguments {
    const char *chip;                   /* NULL = list all */
    const char *slice;
    struct cli_list set;
};

static const struct argp_option options[] = {
    {"slice", 's', "SLICE", 0, "Print the chip grid of a slice, e.g. v3-32", 0},
    {"set", 'S', "SECTION.KEY=VALUE", 0, "Change one parameter of CHIP; may be repeated", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case 's':
        a->slice = arg;
        return 0;
    case 'S':
        cli_list_add(&a->set, arg, state);
        return 0;
    case ARGP_KEY_ARG:
        if (a->chip)
            argp_error(state, "one chip at a time");
        a->chip = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->set.count && !a->chip)
            argp_error(state, "--set needs a chip");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options, parse_option, "[CHIP | FILE.ini]",
    "List the built-in chips and check their peaks against the published figures, or print every "
    "parameter of one chip with its meaning and provenance.\v"
    "Provenance: P published, D from public compiler dumps, M measured, C computed, "
    "U our default with the reason.\n\n"
    "Example:\n  systole chips v3 --set mxu.count=8",
    NULL, NULL, NULL,
};

static double deviation(double computed, double published)
{
    return published > 0 ? computed / published - 1 : 0;
}

static double hbm_gbps(const struct chip *c)
{
    return chip_hbm_peak_bytes_per_second(c) / 1e9;
}

static int list_chips(struct err *e)
{
    size_t count;
    const char *const *names = chip_names(&count);
    int off_count = 0;

    printf("%-6s %-20s %6s %6s %10s   %-28s   %-8s %s\n", "chip", "name", "MHz", "cores",
           "MXUs/core", "bf16 TFLOP/s (published)", "HBM GiB", "HBM GB/s (published)");
    for (size_t i = 0; i < count; i++) {
        struct chip c;
        double flops_off, hbm_off;

        if (chip_load_builtin(&c, names[i], NULL, NULL, e))
            return -1;
        flops_off = deviation(chip_peak_bf16_tflops(&c), c.chip_peak_bf16_tflops);
        hbm_off = deviation(hbm_gbps(&c), c.hbm_peak_gbps);
        printf("%-6s %-20s %6lld %6lld %10lld   %8.2f (%7.2f, %+5.2f %%)   %-8g %7.1f (%6.1f, "
               "%+5.2f %%)\n", names[i], c.chip_name, (long long)c.chip_clock_mhz,
               (long long)c.chip_cores, (long long)c.mxu_count, chip_peak_bf16_tflops(&c),
               c.chip_peak_bf16_tflops, 100 * flops_off, c.hbm_gib, hbm_gbps(&c),
               c.hbm_peak_gbps, 100 * hbm_off);
        off_count += fabs(flops_off) > DEVIATION_MAX || fabs(hbm_off) > DEVIATION_MAX;
    }
    if (off_count)
        return err_set(e, "%d chips deviate more than %.0f %% from their published peaks",
                       off_count, 100 * DEVIATION_MAX);
    printf("all computed peaks within %.0f %% of the published ones\n", 100 * DEVIATION_MAX);
    return 0;
}

static void print_params(const struct chip *c, const struct chip_origin *origins)
{
    const char *section = "";

    for (size_t i = 0; i < chip_param_count; i++) {
        const struct chip_param *p = &chip_params[i];
        const char *from = strcmp(origins[i].origin, "--set") == 0 ? "--set" : origins[i].note;
        char value[64];

        if (strcmp(p->section, section) != 0)
            printf("\n[%s]\n", p->section);
        section = p->section;
        printf("  %-22s %-18s %-68s %s\n", p->key, chip_print_param(c, i, value, sizeof(value)),
               p->meaning, from);
    }
    printf("\npeak: %.2f bf16 TFLOP/s computed, %.2f published (%+.2f %%); HBM %.1f GB/s computed, "
           "%.1f published (%+.2f %%)\n", chip_peak_bf16_tflops(c), c->chip_peak_bf16_tflops,
           100 * deviation(chip_peak_bf16_tflops(c), c->chip_peak_bf16_tflops), hbm_gbps(c),
           c->hbm_peak_gbps, 100 * deviation(hbm_gbps(c), c->hbm_peak_gbps));
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
    printf("%s\n", slice_print(&s, text, sizeof(text)));
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

    argp_parse(&argp, argc, argv, 0, NULL, &args);
    arena_init(&a);
    status = 0;
    if (args.slice)
        status = print_slice(args.slice, &e);
    if (status == 0 && args.chip)
        status = print_chip(&args, &a, &e);
    if (status == 0 && !args.chip && !args.slice)
        status = list_chips(&e);
    arena_fini(&a);
    return status ? cli_fail(&e) : 0;
}
