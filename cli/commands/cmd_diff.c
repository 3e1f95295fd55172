/* systole diff: two runs side by side. */
#include "cli/commands/cli.h"
#include "cli/common/options.h"
#include "report/diff/diff.h"

struct arguments {
    const char *path[2];
    int path_count, core;
    bool is_json, is_csv, has_exit_code;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"core", 0, "N", "core whose cycles are told apart (default: %s)", 1, CLI_WHOLE, AT(core),
     .hi = 65535},
    {"json", 0, NULL, "every row as JSON, equal ones too", 1, CLI_FLAG, AT(is_json)},
    {"csv", 0, NULL, "every row as CSV, equal ones too", 1, CLI_FLAG, AT(is_csv)},
    {"exit-code", 0, NULL, "exit with 1 when the runs differ, as git diff does", 1, CLI_FLAG,
     AT(has_exit_code)},
    {0}};

static int take_run(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->path_count == 2)
        return err_set(e, "two runs are enough: %s, %s, %s", args->path[0], args->path[1], text);
    args->path[args->path_count++] = text;
    return 0;
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    if (args->is_json && args->is_csv)
        return err_set(e, "--json and --csv do not go together");
    return args->path_count == 2 ? 0 : err_set(e, "which two runs? (folders that --out left)");
}

static const struct cli_syntax syntax = {
    .own = {.row = options, .check = check}, .argument = take_run, .args_doc = "RUN_A RUN_B",
    .doc =
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
    "  systole diff small large --csv | grep ^cycles"};

static int print(const struct arguments *args, const struct diff *d, struct err *e)
{
    if (args->is_json)
        return diff_print_json(d, stdout) ? err_set(e, "the answer cannot be written") : 0;
    if (args->is_csv)
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

    cli_parse(&syntax, argc, argv, &args);
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
