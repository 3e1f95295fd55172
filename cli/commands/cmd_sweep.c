/* systole sweep: one command over a grid of values. */
#include "base/text.h"
#include "cli/commands/cli.h"
#include "cli/commands/swept.h"
#include "cli/common/options.h"

#include <string.h>

enum { KEY_OUT = 256, KEY_BEST };

static const struct argp_option options[] = {
    {"vary", 'v', "KEY=VALUES", 0,
     "values of an option of the command (batch) or, with a dot, of a chip parameter "
     "(mxu.count); may be repeated: every value of one with every value of the others", 0},
    {"jobs", 'j', "N", 0, "runs at once (default 1)", 0},
    {"out", KEY_OUT, "DIR", 0, "folder for sweep.csv and a run folder per point; a sweep that was "
     "stopped goes on where it was", 0},
    {"best", KEY_BEST, "COLUMN", 0, "column of sweep.csv that speed-up and best point go by "
     "(default: samples_per_second, else model_tflops, else step_us)", 0},
    {0},
};

struct arguments {
    struct sweep sweep;
    struct cli_list vary;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    struct sweep *s = &args->sweep;
    int64_t jobs;

    switch (key) {
    case 'v':
        cli_list_add(&args->vary, arg, state);
        return 0;
    case 'j':
        if (text_parse_int(arg, 1, SWEEP_JOBS_MAX, &jobs))
            argp_error(state, "-j is \"%s\", allowed are whole numbers in 1..%d", arg,
                       SWEEP_JOBS_MAX);
        s->jobs = (int)jobs;
        return 0;
    case KEY_OUT:
        s->out = arg;
        return 0;
    case KEY_BEST:
        s->best = arg;
        return 0;
    case ARGP_KEY_ARG:                  /* the command; everything behind it is the command's */
        s->command = state->argv + state->next - 1;
        s->command_count = state->argc - state->next + 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        if (!s->command)
            argp_error(state, "which command? (-- train MODEL.json --steps 2)");
        if (!args->vary.count)
            argp_error(state, "what is to vary? (--vary mxu.count=1,2,4)");
        if (!s->out || !*s->out)
            argp_error(state, "where to? (--out DIR)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "-- COMMAND ARGUMENT...",
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
    "      -- train examples/mnist_mlp.json --steps 1",
    NULL, NULL, NULL,
};

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
    if (sweep_write_csv(s, e))
        return cli_fail(e);
    sweep_print_table(s, stdout);
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

    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &args);
    arena_init(&args.sweep.arena);
    status = sweep(&args, &e);
    sweep_close(&args.sweep);
    arena_fini(&args.sweep.arena);
    return status;
}
