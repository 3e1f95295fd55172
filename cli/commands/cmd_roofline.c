/* `systole roofline` draws what one core could do, and what it did. */
#include "base/outfile.h"
#include "base/units.h"
#include "cli/commands/cli.h"
#include "cli/live/viewer.h"
#include "report/roofline/roofline.h"

#include <argp.h>
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLOT_COLUMNS 78
#define PATH_CHARS 4096

extern char **environ;

enum { KEY_SVG = 256, KEY_PNG, KEY_CSV };

struct arguments {
    const char *path[ROOF_RUN_MAX];
    size_t count;
    const char *svg, *png;
    bool is_csv;
};

static const struct argp_option options[] = {
    {"svg", KEY_SVG, "FILE", 0, "draw the plot as SVG", 0},
    {"png", KEY_PNG, "FILE", 0, "let systole-view draw it", 0},
    {"csv", KEY_CSV, NULL, 0, "print the points as CSV, instead of tables and plot", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case KEY_SVG: args->svg = arg; return 0;
    case KEY_PNG: args->png = arg; return 0;
    case KEY_CSV: args->is_csv = true; return 0;
    case ARGP_KEY_ARG:
        if (args->count == ROOF_RUN_MAX)
            argp_error(state, "one plot shows at most %d runs", ROOF_RUN_MAX);
        args->path[args->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->count)
            argp_error(state, "which run? (a folder that --out left, or a .strace)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "RUN...",
    "Shows what one core could do at most (peak of each type, HBM, VMEM, ICI) and what its "
    "source operations and its whole step did, as tables and as a plot.\v"
    "RUN is a folder that --out left, or a .strace. An operation lies under the roof of the "
    "memory that it uses most; it is bound by the resource with the highest use, or, below 30 %, "
    "by latency. Several runs share one plot.\n\n"
    "Examples:\n"
    "  systole train examples/mnist_mlp.json --steps 1 --out out\n"
    "  systole roofline out --svg roofline.svg",
    NULL, NULL, NULL,
};

static int write_svg(const struct roofline *r, size_t count, const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    roofline_print_svg(r, count, f.to);
    return outfile_commit(&f, e);
}

static int find_viewer(char *path, size_t path_bytes, struct err *e)
{
    if (viewer_path(path, path_bytes) != 0)
        return err_set(e, "cannot find the folder of this program");
    if (access(path, X_OK) != 0)
        return err_set(e, "systole-view, which draws PNGs, is not built beside this program; "
                       "--svg FILE draws the same without it");
    return 0;
}

static int write_png(const struct arguments *args, struct err *e)
{
    char viewer[PATH_CHARS];
    char *argv[16];
    const char *rest[] = {"--panel", "roofline", "--launch", "last", "--png", args->png, "--size",
                          "1600x1000"};
    size_t count = 0;
    pid_t pid;
    int status, failed;

    if (args->count > 1)
        return err_set(e, "--png draws one run; --svg FILE draws several in one plot");
    if (find_viewer(viewer, sizeof(viewer), e))
        return -1;
    argv[count++] = viewer;
    argv[count++] = (char *)args->path[0];
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        argv[count++] = (char *)rest[i];
    argv[count] = NULL;
    failed = posix_spawn(&pid, viewer, NULL, NULL, argv, environ);
    if (failed)
        return err_set(e, "cannot start %s: %s", viewer, strerror(failed));
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, "systole-view could not draw %s; --svg FILE draws the same without it",
                       args->png);
    return 0;
}

static int columns_of_terminal(void)
{
    struct winsize w;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 60)
        return PLOT_COLUMNS;
    return w.ws_col - 24;
}

static int show(const struct arguments *args, const struct roofline *r, struct err *e)
{
    if (args->svg && write_svg(r, args->count, args->svg, e))
        return -1;
    if (args->png && write_png(args, e))
        return -1;
    if (args->is_csv) {
        roofline_print_csv(r, args->count, stdout);
        return 0;
    }
    roofline_print_text(r, args->count, stdout);
    roofline_print_plot(r, args->count, columns_of_terminal(), stdout);
    if (args->svg)
        printf("\nplot in %s\n", args->svg);
    return 0;
}

int cmd_roofline(int argc, char **argv)
{
    struct arguments args = {0};
    struct run_folder runs[ROOF_RUN_MAX] = {{0}};
    struct roofline r[ROOF_RUN_MAX];
    struct arena a;
    struct err e;
    int status = 0;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    for (size_t i = 0; i < args.count && !status; i++)
        status = run_folder_open(&runs[i], args.path[i], &a, &e) ||
                 roofline_make(&r[i], &runs[i], &a, &e);
    if (!status)
        status = show(&args, r, &e);
    for (size_t i = 0; i < args.count; i++)
        run_folder_close(&runs[i]);
    arena_fini(&a);
    return status ? cli_fail(&e) : 0;
}
