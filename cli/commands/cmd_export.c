/* `systole export` writes a .strace in the format of another viewer. */
#include "cli/commands/cli.h"

#include "base/arena.h"
#include "cli/common/trace_options.h"
#include "report/view/run_folder.h"

#include <string.h>
#include <sys/stat.h>

struct arguments {
    const char *trace, *output, *format;
    bool has_level;
    struct export_options options;
    struct arena arena;
};

#define AT(member) CLI_AT(struct arguments, member)

static int parse_level(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    (void)o;
    args->has_level = true;
    return trace_level_parse(text, &args->options.level, e);
}

static int parse_window(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    (void)o;
    return trace_parse_window("--window", text, &args->options.first, &args->options.end, e);
}

static int parse_limit(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    (void)o;
    return trace_parse_limit("--max-events", text, &args->options.event_limit, e);
}

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "what to write; its end says the format: .pftrace, .xplane.pb, .kanata",
     1, CLI_TEXT, AT(output)},
    {"format", 0, "NAME", "instead: perfetto, xspace or kanata, written beside the trace", 1,
     CLI_TEXT, AT(format)},
    {"core", 0, "N",
     "this core with its chip's HBM and links (default: all; of kanata: the first that ran)", 2,
     CLI_WHOLE, AT(options.core), .hi = INT32_MAX},
    {"window", 0, "A:B",
     "what overlaps cycles A to B - 1: 20k:50k, 1M:, :5000 (default: everything)", 2, CLI_OTHER,
     .parse = parse_window},
    {"level", 0, "LEVEL",
     "step, op, bundle or slot (default: bundle, or the trace's own if that is less)", 2, CLI_OTHER,
     .parse = parse_level},
    {"max-events", 0, "N", "end where N events are reached (default: 1000000; 0: no limit)", 2,
     CLI_OTHER, .parse = parse_limit},
    {0}};

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    return !args->output == !args->format
           ? err_set(e, "-o FILE or --format NAME is needed, one of them") : 0;
}

static const struct cli_syntax syntax = {
    .own = {.row = options, .check = check}, .noun = "trace",
    .noun_at = offsetof(struct arguments, trace),
    .noun_hint = "(a .strace, or the folder of a run with one)", .args_doc = "TRACE",
    .doc =
    "Write a recorded trace in the format of another viewer.\v"
    "TRACE is a .strace that --trace FILE.strace made, or the folder of a run that has one as "
    "trace.strace. docs/traces.md says what each format holds, and how it names things.\n\n"
    "Examples:\n"
    "  systole gemm 1024x1024x1024 --trace gemm.strace\n"
    "  systole export gemm.strace -o gemm.pftrace               for ui.perfetto.dev\n"
    "  systole export gemm.strace -o gemm.xplane.pb --level op  for XProf\n"
    "  systole export gemm.strace --format kanata --window 10k:12k"};

/* in a run's folder the trace has a fixed name */
static const char *find_trace(struct arguments *args)
{
    struct stat st;

    if (stat(args->trace, &st) == 0 && S_ISDIR(st.st_mode))
        return arena_printf(&args->arena, "%s/trace.strace", args->trace);
    return args->trace;
}

/* gemm.strace in format perfetto is gemm.pftrace */
static const char *output_path(struct arguments *args, const char *trace,
                               const struct export_format *f)
{
    size_t length = strlen(trace);

    if (args->output)
        return args->output;
    if (ntrace_has_suffix(trace))
        length -= strlen(".strace");
    return arena_printf(&args->arena, "%.*s%s", (int)length, trace, f->suffix);
}

static const struct export_format *find_format(const struct arguments *args, struct err *e)
{
    const struct export_format *f;

    if (args->format)
        return export_format_named(args->format, e);
    f = export_format_of_path(args->output);
    if (!f)
        export_refuse_path(args->output, "", e);
    return f;
}

static int export(struct arguments *args, struct ntrace *t, const struct export_format *f,
                  const char *path, struct err *e)
{
    struct export_options *o = &args->options;
    struct export_result result;

    for (size_t i = 0; i < ntrace_note_count(t); i++)
        fprintf(stderr, "systole: %s: %s\n", args->trace, ntrace_note(t, i));
    if (!args->has_level && o->level > ntrace_info(t)->level)
        o->level = ntrace_info(t)->level;
    if (export_write(t, f, o, path, &result, e))
        return -1;
    trace_print_export(path, f, o, &result, stdout);
    return 0;
}

int cmd_export(int argc, char **argv)
{
    struct arguments args = {.options = {.level = TRACE_BUNDLE, .core = -1,
                                         .event_limit = EXPORT_EVENT_LIMIT}};
    const struct export_format *f;
    struct ntrace *t = NULL;
    const char *path;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&args.arena);
    path = find_trace(&args);
    f = find_format(&args, &e);
    t = f ? ntrace_open(path, &e) : NULL;
    if (t && path != args.trace && run_folder_check_trace(args.trace, t, &e)) {
        ntrace_close(t);
        t = NULL;
    }
    status = t && export(&args, t, f, output_path(&args, path, f), &e) == 0 ? 0 : cli_fail(&e);
    ntrace_close(t);
    arena_fini(&args.arena);
    return status;
}
