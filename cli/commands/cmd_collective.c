/* systole collective: what a collective takes on a slice, beside what it can take at least. */
#include "cli/commands/cli.h"
#include "cli/collective/collective.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

struct arguments {
    struct collective_options options;
    struct cli_list sweep;
    const char *csv, *json;
};

static const char default_tpu[] = "v4-128";

enum {
    KEY_SET = 256, KEY_ALGO, KEY_TYPE, KEY_CHUNK, KEY_OVER, KEY_AXES, KEY_ROOT, KEY_SHIFT,
    KEY_ENGINE, KEY_NO_SYMMETRY, KEY_SWEEP, KEY_CSV, KEY_JSON, KEY_THREADS, KEY_COSTS, KEY_CHECK
};

static const struct argp_option options[] = {
    {"tpu", 't', "NAME", 0, "slice to run on (default: v4-128, 64 chips)", 1},
    {"bytes", 'b', "SIZE", 0, "array of a device: with K, M, G for powers of 1024 (256M)", 1},
    {"type", KEY_TYPE, "TYPE", 0, "f32 (default) or bf16", 1},
    {"over", KEY_OVER, "WHAT", 0, "devices: chips, each core with its part of the chip's array "
     "(default on v4 and v5p, whose cores form one device), or cores", 1},
    {"axes", KEY_AXES, "AXES", 0, "axes of the grid that form a group, as in xy (default: all)", 1},
    {"root", KEY_ROOT, "RANK", 0, "rank at which broadcast and tree begin (default: 0)", 1},
    {"shift", KEY_SHIFT, "K", 0, "permute: rank r sends to rank r + K (default: 1)", 1},
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "change one chip parameter; may be repeated", 1},
    {"algo", KEY_ALGO, "NAME", 0, "auto (default: the least time predicted), ring, biring, torus, "
     "tree, exchange, direct", 2},
    {"chunk", KEY_CHUNK, "SIZE", 0, "piece of a step that travels by itself (default: chosen)", 2},
    {"engine", KEY_ENGINE, "NAME", 0, "cores: programs on the simulated cores; steps: operation by "
     "operation, for large slices; auto (default): cores where that takes seconds", 2},
    {"check", KEY_CHECK, NULL, 0, "cores: with data; sums held against double precision, the rest "
     "bit for bit", 2},
    {"no-symmetry", KEY_NO_SYMMETRY, NULL, 0, "steps: simulate every chip, though all do the same; "
     "never changes a time", 2},
    {"costs", KEY_COSTS, "FILE", 0, "a formula's costs of a step in place of the chip's: "
     "examples/collectives/astra.ini", 2},
    {"threads", KEY_THREADS, "N", 0, "cores: host threads (default: 1); never changes a time", 2},
    {"sweep", KEY_SWEEP, "KEY=VALUES", 0, "a line for each value of an option: bytes=4K:1G:x4, "
     "algo=all, tpu=v4-128,v4-1024; may be repeated: every value with every other", 3},
    {"csv", KEY_CSV, "FILE", 0, "write the numbers as CSV (-: to standard output)", 3},
    {"json", KEY_JSON, "FILE", 0, "write the numbers as JSON", 3},
    {0}};

static void set(struct arguments *args, const char *key, const char *text,
                struct argp_state *state)
{
    struct err e;

    if (collective_set_option(&args->options, key, text, &e))
        argp_error(state, "%s", e.msg);
}

static void check_together(const struct arguments *args, struct argp_state *state)
{
    const struct collective_options *o = &args->options;
    bool sweeps_bytes = false, sweeps_kind = false;

    for (int i = 0; i < args->sweep.count; i++) {
        sweeps_bytes |= strncmp(args->sweep.item[i], "bytes=", 6) == 0;
        sweeps_kind |= strncmp(args->sweep.item[i], "kind=", 5) == 0;
    }
    if (!o->has_kind && !sweeps_kind)
        argp_error(state, "which collective? all-reduce, reduce-scatter, all-gather, all-to-all, "
                   "broadcast, permute, barrier");
    if (!o->has_bytes && !sweeps_bytes && (!o->has_kind || o->kind != COLLECTIVE_BARRIER))
        argp_error(state, "how many bytes has each device? (--bytes 256M)");
    if (args->json && args->sweep.count)
        argp_error(state, "--json is for one collective; a sweep writes --csv");
    if (o->checks && (o->engine == ENGINE_STEPS || o->costs_path))
        argp_error(state, "--check is about data, which only the programs of --engine cores have");
    if (o->costs_path && o->engine == ENGINE_CORES)
        argp_error(state, "--costs replaces the chip; the programs of --engine cores run on it");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case 't': set(args, "tpu", arg, state); return 0;
    case 'b': set(args, "bytes", arg, state); return 0;
    case KEY_TYPE: set(args, "type", arg, state); return 0;
    case KEY_ALGO: set(args, "algo", arg, state); return 0;
    case KEY_CHUNK: set(args, "chunk", arg, state); return 0;
    case KEY_OVER: set(args, "over", arg, state); return 0;
    case KEY_AXES: set(args, "axes", arg, state); return 0;
    case KEY_ROOT: set(args, "root", arg, state); return 0;
    case KEY_SHIFT: set(args, "shift", arg, state); return 0;
    case KEY_ENGINE: set(args, "engine", arg, state); return 0;
    case KEY_CHECK: args->options.checks = true; return 0;
    case KEY_NO_SYMMETRY: args->options.no_symmetry = true; return 0;
    case KEY_SET: cli_list_add(&args->options.set, arg, state); return 0;
    case KEY_SWEEP: cli_list_add(&args->sweep, arg, state); return 0;
    case KEY_CSV: args->csv = arg; return 0;
    case KEY_JSON: args->json = arg; return 0;
    case KEY_COSTS: args->options.costs_path = arg; return 0;
    case KEY_THREADS:
        if (text_parse_int(arg, 1, 256, &args->options.thread_count) != 0)
            argp_error(state, "--threads is \"%s\", allowed are whole numbers in 1..256", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (args->options.has_kind)
            argp_error(state, "only one collective may be given, not %s and %s",
                       collective_kind_name(args->options.kind), arg);
        set(args, "kind", arg, state);
        return 0;
    case ARGP_KEY_END: check_together(args, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "KIND",
    "Simulates a collective on a slice and shows its time beside the closed-form bound. KIND is "
    "all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, permute or barrier.\v"
    "Bytes are those of the larger side of one device: what a device has of an all-reduce, "
    "broadcast, permute or all-to-all, what goes into a reduce-scatter, what comes out of an "
    "all-gather. Bandwidths count 10^9 bytes per second; bus bandwidth is that of nccl-tests. "
    "docs/collectives.md tells algorithms, engines and bounds.\n\n"
    "Examples:\n"
    "  systole collective all-reduce --bytes 256M --tpu v4-8192\n"
    "  systole collective all-gather --bytes 64M --tpu v5e-256 --type bf16\n"
    "  systole collective reduce-scatter --bytes 64K --tpu v4-128 --algo biring --check\n"
    "  systole collective all-reduce --bytes 1M --tpu v5e-64 --sweep algo=all\n"
    "  systole collective all-reduce --tpu v4-8192 --sweep bytes=4K:1G:x4 --csv sizes.csv\n"
    "  systole collective all-reduce --bytes 16M --tpu v5e-16 --algo ring \\\n"
    "      --costs examples/collectives/astra.ini",
    NULL, NULL, NULL,
};

static int write_csv(const struct collective_answer *answer, const char *path, struct err *e)
{
    struct outfile f;

    if (strcmp(path, "-") == 0) {
        collective_print_csv_head(stdout);
        collective_print_csv(answer, stdout);
        return 0;
    }
    if (outfile_begin(&f, path, e))
        return -1;
    collective_print_csv_head(f.to);
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
    struct arguments args = {.options = {.tpu = default_tpu, .shift = 1, .thread_count = 1}};
    struct arena a;
    struct err e;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    status = run(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
