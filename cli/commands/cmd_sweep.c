/* systole sweep: one command over a grid of values. */
#include "cli/commands/cli.h"
#include "cli/commands/swept.h"
#include "cli/common/options.h"

struct arguments {
    struct sweep sweep;
    struct cli_list vary;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"vary", 'v', "KEY=VALUES",
     "values of an option of the command (batch) or, with a dot, of a chip parameter "
     "(mxu.count); may be repeated: every value of one with every value of the others", 1, CLI_LIST,
     AT(vary)},
    {"jobs", 'j', "N", "runs at once (default: %s)", 1, CLI_WHOLE, AT(sweep.jobs), .lo = 1,
     .hi = SWEEP_JOBS_MAX},
    {"out", 0, "DIR", "folder for sweep.csv and a run folder per point; a sweep that was "
     "stopped goes on where it was", 1, CLI_TEXT, AT(sweep.out)},
    {"best", 0, "COLUMN", "column of sweep.csv that speed-up and best point go by "
     "(default: samples_per_second, else model_tflops, else step_us)", 1, CLI_TEXT, AT(sweep.best)},
    {0}};

/* the command; everything behind it is the command's */
static void take_command(void *values, char **argv, int count)
{
    struct arguments *args = values;

    args->sweep.command = argv;
    args->sweep.command_count = count;
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    if (!args->sweep.command)
        return err_set(e, "which command? (-- train MODEL.json --steps 2)");
    if (!args->vary.count)
        return err_set(e, "what is to vary? (--vary mxu.count=1,2,4)");
    return args->sweep.out ? 0 : err_set(e, "where to? (--out DIR)");
}

static const struct cli_syntax syntax = {
    .own = {.row = options, .check = check}, .rest = take_command,
    .args_doc = "-- COMMAND ARGUMENT...",
    .doc =
    "Runs COMMAND (train, gemm or run) with every combination of the values given, each in a "
    "process and a folder of its own, and compares the steps.\v"
    "VALUES is a list of values and ranges: 1,2,4 or 0..100+25 or 64..1024x2. Keys and numbers "
    "are checked before anything runs; a point that fails keeps its message, and the others go "
    "on. Interrupt it at any time: the same command goes on with the points that are missing. "
    "The exit status is 1 when a point failed or was not run.\n\n"
    "Examples:\n"
    "  systole sweep --vary mxu.count=1,2,4 --vary batch=64..1024x2 -j2 \\\n"
    "      --out sweep -- train examples/mnist_mlp.json --tpu v3-8 --steps 1\n"
    "  systole sweep --vary hbm.burst_ps=1000..4000+1000 --out memory \\\n"
    "      -- train examples/mnist_mlp.json --steps 1"};

static int prepare(struct arguments *args, struct err *e)
{
    struct sweep *s = &args->sweep;

    for (int i = 0; i < args->vary.count; i++)
        if (sweep_parse_vary(s, args->vary.item[i], e))
            return -1;
    return sweep_check_best(s, e) || sweep_check_keys(s, e) || sweep_make_points(s, e) ||
           sweep_open(s, e) ? -1 : 0;
}

static bool is_complete(const struct sweep *s)
{
    for (size_t i = 0; i < s->point_count; i++)
        if (s->point[i].state != SWEEP_DONE)
            return false;
    return true;
}

static int sweep(struct arguments *args, struct err *e)
{
    struct sweep *s = &args->sweep;
    int status;

    if (prepare(args, e))
        return cli_fail(e);
    status = sweep_run(s, e);
    if (status < 0)
        return cli_fail(e);
    if (sweep_print_results(s, stdout, e))
        return cli_fail(e);
    printf("results in %s/sweep.csv\n", s->out);
    if (status > 0)
        printf("interrupted; the same command goes on with the points that are missing\n");
    return is_complete(s) ? 0 : EXIT_USER_ERROR;
}

int cmd_sweep(int argc, char **argv)
{
    struct arguments args = {.sweep = {.jobs = 1, .known = swept_commands,
                                        .known_count = swept_count}};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&args.sweep.arena);
    status = sweep(&args, &e);
    sweep_close(&args.sweep);
    arena_fini(&args.sweep.arena);
    return status;
}
