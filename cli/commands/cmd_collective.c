/* systole collective: what a collective takes on a slice, beside what it can take at least. */
#include "cli/commands/cli.h"
#include "cli/collective/collective.h"

#include "base/outfile.h"

#include <string.h>

struct arguments {
    struct collective_options options;
    struct cli_list sweep;
    const char *csv, *json;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    CLI_ROW_SET(struct arguments, options.target.set, 1),
    {"check", 0, NULL, "cores: with data; sums held against double precision, the rest "
     "bit for bit", 2, CLI_FLAG, AT(options.checks)},
    {"no-symmetry", 0, NULL, "steps: simulate every chip, though all do the same; "
     "never changes a time", 2, CLI_FLAG, AT(options.no_symmetry)},
    {"costs", 0, "FILE", "a formula's costs of a step in place of the chip's: "
     "examples/collectives/astra.ini", 2, CLI_TEXT, AT(options.costs_path)},
    CLI_ROW_THREADS(struct arguments, options.thread_count, 2),
    {"sweep", 0, "KEY=VALUES", "a line for each value of an option: bytes=4K:1G:x4, "
     "algo=all, tpu=v4-128,v4-1024; may be repeated: every value with every other", 3, CLI_LIST,
     AT(sweep)},
    CLI_ROW_CSV(struct arguments, csv, 3),
    CLI_ROW_JSON(struct arguments, json, 3),
    {0}};

static int take_kind(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->options.has_kind)
        return err_set(e, "only one collective may be given, not %s and %s",
                       collective_kind_name(args->options.kind), text);
    return collective_set_option(&args->options, "kind", text, e);
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;
    const struct collective_options *o = &args->options;
    bool sweeps_bytes = false, sweeps_kind = false;

    for (int i = 0; i < args->sweep.count; i++) {
        sweeps_bytes |= strncmp(args->sweep.item[i], "bytes=", 6) == 0;
        sweeps_kind |= strncmp(args->sweep.item[i], "kind=", 5) == 0;
    }
    if (!o->has_kind && !sweeps_kind)
        return err_set(e, "which collective? all-reduce, reduce-scatter, all-gather, all-to-all, "
                       "broadcast, permute, barrier");
    if (!o->bytes && !sweeps_bytes && (!o->has_kind || o->kind != COLLECTIVE_BARRIER))
        return err_set(e, "how many bytes has each device? (--bytes 256M)");
    if (args->json && args->sweep.count)
        return err_set(e, "--json is for one collective; a sweep writes --csv");
    if (o->checks && (o->engine == ENGINE_STEPS || o->costs_path))
        return err_set(e, "--check is about data, which only the programs of --engine cores have");
    if (o->costs_path && o->engine == ENGINE_CORES)
        return err_set(e, "--costs replaces the chip; the programs of --engine cores run on it");
    return 0;
}

static const struct cli_part parts[] = {
    {&collective_point_options, offsetof(struct arguments, options)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .argument = take_kind, .args_doc = "KIND",
    .doc =
    "Simulates a collective on a slice and shows its time beside the closed-form bound. KIND is "
    "all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, permute or barrier.\v"
    "Bytes are those of the larger side of one device: what a device has of an all-reduce, "
    "broadcast, permute or all-to-all, what goes into a reduce-scatter, what comes out of an "
    "all-gather. Bandwidths count 10^9 bytes per second; bus bandwidth is that of nccl-tests. "
    "docs/collectives.md tells algorithms, engines and bounds. --csv - writes the numbers to "
    "standard output instead of the text.\n\n"
    "Examples:\n"
    "  systole collective all-reduce --bytes 256M --tpu v4-8192\n"
    "  systole collective all-gather --bytes 64M --tpu v5e-256 --type bf16\n"
    "  systole collective reduce-scatter --bytes 64K --tpu v4-128 --algo biring --check\n"
    "  systole collective all-reduce --bytes 1M --tpu v5e-64 --sweep algo=all\n"
    "  systole collective all-reduce --tpu v4-8192 --sweep bytes=4K:1G:x4 --csv sizes.csv\n"
    "  systole collective all-reduce --bytes 16M --tpu v5e-16 --algo ring \\\n"
    "      --costs examples/collectives/astra.ini"};

static int write_csv(const struct collective_answer *answer, const char *path, struct err *e)
{
    struct outfile f;

    if (strcmp(path, "-") == 0) {
        collective_print_csv(answer, stdout);
        return 0;
    }
    if (outfile_begin(&f, path, e))
        return -1;
    collective_print_csv(answer, f.to);
    return outfile_commit(&f, e);
}

static int run_one(const struct arguments *args, struct arena *a, struct err *e)
{
    struct collective_answer answer;
    bool is_csv = args->csv && strcmp(args->csv, "-") == 0;

    if (collective_answer(&args->options, a, &answer, e))
        return -1;
    if (!is_csv)
        collective_print(&answer, stdout);
    if (args->csv && write_csv(&answer, args->csv, e))
        return -1;
    if (args->json && collective_write_json(&answer, args->json, e))
        return -1;
    return answer.verdict.wrong > 0 ? err_set(e, "the values are wrong") : 0;
}

static int run(struct arguments *args, struct arena *a, struct err *e)
{
    struct collective_costs costs;

    if ((args->csv && strcmp(args->csv, "-") && outfile_check(args->csv, e)) ||
        (args->json && outfile_check(args->json, e)))
        return -1;
    if (args->options.costs_path) {
        if (collective_costs_read(args->options.costs_path, &costs, e))
            return -1;
        args->options.costs = &costs;
    }
    if (args->sweep.count)
        return collective_sweep(&args->options, &args->sweep, args->csv, a, e);
    return run_one(args, a, e);
}

int cmd_collective(int argc, char **argv)
{
    struct arguments args = {.options = {.target.tpu = "v4-128", .over = OVER_DEFAULT, .shift = 1,
                                         .thread_count = 1}};
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = run(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
