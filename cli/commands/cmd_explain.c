/* `systole explain` says why a step takes the time it takes. */
#include "cli/commands/cli.h"

#include <argp.h>

#include "base/text.h"
#include "cli/explain/explain.h"

#define TOP_STANDARD 5

enum { KEY_JSON = 256, KEY_TOP, KEY_VERIFY };

struct arguments {
    const char *path;
    int64_t top;
    bool is_json, is_verified;
};

static const struct argp_option options[] = {
    {"top", KEY_TOP, "N", 0, "tell the N largest causes in detail (default 5)", 0},
    {"verify", KEY_VERIFY, NULL, 0,
     "simulate the run again with each change for these causes, and show what it gains", 0},
    {"json", KEY_JSON, NULL, 0, "print everything as JSON (docs/explain.md)", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;

    switch (key) {
    case KEY_JSON: args->is_json = true; return 0;
    case KEY_VERIFY: args->is_verified = true; return 0;
    case KEY_TOP:
        if (text_parse_int(arg, 0, CAUSE_COUNT, &args->top))
            argp_error(state, "--top is \"%s\", allowed are whole numbers in 0..%d", arg,
                       CAUSE_COUNT);
        return 0;
    case ARGP_KEY_ARG:
        if (args->path)
            argp_error(state, "one run is enough: %s, %s", args->path, arg);
        args->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->path)
            argp_error(state, "which run? (a folder that --out left, or a .strace)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "RUN",
    "Tells why a step takes the time it takes: the causes with their cycles, largest first, what "
    "to change, and what that would gain.\v"
    "RUN is a folder that --out left, or a .strace. The cycles of the causes and of useful work "
    "add up to the step. Predicted gains are those of a simple model (docs/explain.md); --verify "
    "checks them by simulating again, which takes as long as the run did, once per change.\n\n"
    "Examples:\n"
    "  systole train examples/mnist_mlp.json --steps 1 --out out\n"
    "  systole explain out\n"
    "  systole explain out --verify --top 3",
    NULL, NULL, NULL,
};

static int explain(const struct arguments *args, const struct explain_source *s, struct err *e)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct explain_verified verified[EXPLAIN_CHANGE_MAX];
    struct explain x;
    char machine[200];
    struct explain_text t = {.x = &x, .change = change,
                             .top = (size_t)args->top, .is_verified = args->is_verified,
                             .verified = verified};

    run_folder_describe(&s->folder, machine, sizeof(machine));
    t.title = run_folder_setting(&s->folder, "model.name") || !*run_text(s->folder.stats, "title")
                  ? machine : arena_printf(s->arena, "%s on %s",
                                           run_text(s->folder.stats, "title"), machine);
    t.command = s->has_command ? command_text(&s->command, s->arena) : NULL;
    explain_make(&s->input, s->arena, &x);
    t.change_count = explain_changes(&x, s->arena, change);
    if (args->is_verified) {
        int count = explain_verify(s, &x, change, t.change_count, t.top, verified, e);

        if (count < 0)
            return -1;
        t.verified_count = (size_t)count;
    }
    if (!args->is_json) {
        explain_print_text(&t, stdout);
        return 0;
    }
    return explain_print_json(&t, stdout) ? err_set(e, "the answer cannot be written") : 0;
}

int cmd_explain(int argc, char **argv)
{
    struct arguments args = {.top = TOP_STANDARD};
    struct explain_source s;
    struct arena a;
    struct err e;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&a);
    if (explain_source_open(&s, args.path, &a, &e)) {
        status = cli_fail(&e);
    } else {
        status = explain(&args, &s, &e) ? cli_fail(&e) : 0;
        explain_source_close(&s);
    }
    arena_fini(&a);
    return status;
}
