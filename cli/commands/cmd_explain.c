/* `systole explain` says why a step takes the time it takes. */
#include "cli/commands/cli.h"

#include "cli/common/out_folder.h"
#include "cli/common/options.h"
#include "cli/explain/explain.h"

#define TOP_STANDARD 5

struct arguments {
    const char *path;
    int64_t top;
    bool is_json, is_verified;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"top", 0, "N", "tell the N largest causes in detail (default: %s)", 1, CLI_WHOLE, AT(top),
     .hi = CAUSE_COUNT},
    {"verify", 0, NULL,
     "simulate the run again with each change for these causes, and show what it gains", 1,
     CLI_FLAG, AT(is_verified)},
    {"json", 0, NULL, "everything as JSON (docs/explain.md)", 1, CLI_FLAG, AT(is_json)},
    {0}};

static const struct cli_syntax syntax = {
    .own.row = options, .noun = "run", .noun_at = offsetof(struct arguments, path),
    .noun_hint = CLI_RUN_HINT, .args_doc = "RUN",
    .doc =
    "Tells why a step takes the time it takes: the causes with their cycles, largest first, what "
    "to change, and what that would gain.\v"
    "RUN is a folder that --out left, or a .strace. The cycles of the causes and of useful work "
    "add up to the step. Predicted gains are those of a simple model (docs/explain.md); --verify "
    "checks them by simulating again, which takes as long as the run did, once per change.\n\n"
    "Examples:\n"
    "  systole train examples/mnist_mlp.json --steps 1 --out out\n"
    "  systole explain out\n"
    "  systole explain out --verify --top 3"};

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

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    if (explain_source_open(&s, out_folder_run(args.path, &a), &a, &e)) {
        status = cli_fail(&e);
    } else {
        status = explain(&args, &s, &e) ? cli_fail(&e) : 0;
        explain_source_close(&s);
    }
    arena_fini(&a);
    return status;
}
