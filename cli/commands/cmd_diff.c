/* `systole diff` compares two runs. */
#include "base/text.h"
#include "cli/commands/cli.h"
#include "report/diff/diff.h"

#include <argp.h>

enum { KEY_JSON = 256, KEY_CSV, KEY_CORE, KEY_EXIT_CODE };

struct arguments {
    const char *path[2];
    int path_count, core;
    int format;                         /* 0, KEY_JSON or KEY_CSV */
    bool has_exit_code;
};

static const struct argp_option options[] = {
    {"core", KEY_CORE, "N", 0, "core whose cycles are told apart (default 0)", 0},
    {"json", KEY_JSON, NULL, 0, "print every row as JSON, equal ones too", 0},
    {"csv", KEY_CSV, NULL, 0, "print every row as CSV, equal ones too", 0},
    {"exit-code", KEY_EXIT_CODE, NULL, 0, "exit with 1 when the runs differ, as git diff does", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    int64_t core;

    switch (key) {
    case KEY_JSON: case KEY_CSV:
        if (args->format && args->format != key)
            argp_error(state, "--json and --csv do not go together");
        args->format = key;
        return 0;
    case KEY_CORE:
        if (text_parse_int(arg, 0, 65535, &core))
            argp_error(state, "--core is \"%s\", allowed are whole numbers in 0..65535", arg);
        args->core = (int)core;
        return 0;
    case KEY_EXIT_CODE:
        args->has_exit_code = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->path_count == 2)
            argp_error(state, "two runs are enough: %s, %s, %s", args->path[0], args->path[1],
                       arg);
        args->path[args->path_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->path_count < 2)
            argp_error(state, "which two runs? (folders that --out left)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "RUN_A RUN_B",
    "Shows in what two runs differ: options and chip parameters, the time of a step, and where "
    "the difference comes from, the largest part first.\v"
    "RUN_A and RUN_B are folders that --out left, a stats.json, or a .strace, which does not tell "
    "options. The cycles of the core add up to the step in both runs, so the differences add up "
    "to the difference of the steps. What a run writes, and host threads, are not compared: they "
    "change no number.\n\n"
    "Examples:\n"
    "  systole train examples/mnist_mlp.json --steps 2 --batch 256 --out small\n"
    "  systole train examples/mnist_mlp.json --steps 2 --batch 512 --out large\n"
    "  systole diff small large\n"
    "  systole diff small large --csv | grep ^cycles",
    NULL, NULL, NULL,
};

static int print(const struct arguments *args, const struct diff *d, struct err *e)
{
    if (args->format == KEY_JSON)
        return diff_print_json(d, stdout) ? err_set(e, "the answer cannot be written") : 0;
    if (args->format == KEY_CSV)
        diff_print_csv(d, stdout);
    else
        diff_print_text(d, stdout);
    return 0;
}

static int compare(const struct arguments *args, const struct run_folder *runs, struct arena *a)
{
    struct diff d;
    struct err e;
    int status;

    if (diff_make(&d, &runs[0], &runs[1], args->core, a, &e) || print(args, &d, &e))
        status = cli_fail(&e);
    else
        status = args->has_exit_code && !diff_is_equal(&d) ? EXIT_USER_ERROR : 0;
    diff_fini(&d);
    return status;
}

int cmd_diff(int argc, char **argv)
{
    struct arguments args = {0};
    struct run_folder runs[2] = {{0}};
    struct arena a;
    struct err e;
    int status = 0;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    for (int i = 0; i < 2 && status == 0; i++)
        if (run_folder_open(&runs[i], args.path[i], &a, &e))
            status = cli_fail(&e);
    if (status == 0)
        status = compare(&args, runs, &a);
    run_folder_close(&runs[0]);
    run_folder_close(&runs[1]);
    arena_fini(&a);
    return status;
}
