/* `systole export` writes a .strace in the format of another viewer. */
#include "cli/commands/cli.h"

#include "base/arena.h"
#include "base/text.h"
#include "cli/common/trace_options.h"

#include <string.h>
#include <sys/stat.h>

struct arguments {
    const char *trace, *output, *format, *level;
    struct export_options options;
    struct arena arena;
};

enum { KEY_FORMAT = 256, KEY_CORE, KEY_LEVEL, KEY_WINDOW, KEY_LIMIT };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "what to write; its end says the format: .pftrace, .json, .json.gz, .xplane.pb, .kanata", 1},
    {"format", KEY_FORMAT, "NAME", 0,
     "instead: perfetto, json, json.gz, xspace or kanata, written beside the trace", 1},
    {"core", KEY_CORE, "N", 0,
     "this core with its chip's HBM and links (default: all; of kanata: the first that ran)", 2},
    {"window", KEY_WINDOW, "A:B", 0,
     "what overlaps cycles A to B - 1: 20k:50k, 1M:, :5000 (default: everything)", 2},
    {"level", KEY_LEVEL, "LEVEL", 0,
     "step, op, bundle or slot (default: bundle, or the trace's own if that is less)", 2},
    {"max-events", KEY_LIMIT, "N", 0,
     "end where N events are reached (default: 1000000; 0: no limit)", 2},
    {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    struct export_options *o = &args->options;
    int64_t core;
    int status = 0;
    struct err e;

    switch (key) {
    case 'o': args->output = arg; return 0;
    case KEY_FORMAT: args->format = arg; return 0;
    case KEY_LEVEL:
        args->level = arg;
        status = trace_level_parse(arg, &o->level, &e);
        break;
    case KEY_WINDOW: status = trace_parse_window("--window", arg, &o->first, &o->end, &e); break;
    case KEY_LIMIT: status = trace_parse_limit("--max-events", arg, &o->event_limit, &e); break;
    case KEY_CORE:
        if (text_parse_int(arg, 0, INT32_MAX, &core) != 0)
            argp_error(state, "--core is \"%s\", allowed are whole numbers from 0 on", arg);
        o->core = (int)core;
        return 0;
    case ARGP_KEY_ARG:
        if (args->trace)
            argp_error(state, "only one trace may be given, not %s and %s", args->trace, arg);
        args->trace = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->trace)
            argp_error(state, "which trace? (a .strace, or the folder of a run with one)");
        if (!args->output == !args->format)
            argp_error(state, "-o FILE or --format NAME is needed, one of them");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (status)
        argp_error(state, "%s", e.msg);
    return 0;
}

static const struct argp parser = {
    options, parse_option, "TRACE",
    "Write a recorded trace in the format of another viewer.\v"
    "TRACE is a .strace that --trace FILE.strace made, or the folder of a run that has one as "
    "trace.strace. docs/traces.md says what each format holds, and how it names things.\n\n"
    "Examples:\n"
    "  systole gemm 1024x1024x1024 --trace gemm.strace\n"
    "  systole export gemm.strace -o gemm.pftrace               for ui.perfetto.dev\n"
    "  systole export gemm.strace -o gemm.xplane.pb --level op  for XProf\n"
    "  systole export gemm.strace --format kanata --window 10k:12k",
    NULL, NULL, NULL};

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
    if (strace_has_suffix(trace))
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
        err_set(e, "the output is to be %s; its name must end in .pftrace, .json, .json.gz, "
                ".xplane.pb or .kanata", args->output);
    return f;
}

static int export(struct arguments *args, struct strace *t, const struct export_format *f,
                  const char *path, struct err *e)
{
    struct export_options *o = &args->options;
    struct export_result result;

    for (size_t i = 0; i < strace_note_count(t); i++)
        fprintf(stderr, "systole: %s: %s\n", args->trace, strace_note(t, i));
    if (!args->level && o->level > strace_info(t)->level)
        o->level = strace_info(t)->level;
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
    struct strace *t = NULL;
    const char *path;
    struct err e;
    int status;

    argp_parse(&parser, argc, argv, 0, NULL, &args);
    arena_init(&args.arena);
    path = find_trace(&args);
    f = find_format(&args, &e);
    t = f ? strace_open(path, &e) : NULL;
    status = t && export(&args, t, f, output_path(&args, path, f), &e) == 0 ? 0 : cli_fail(&e);
    strace_close(t);
    arena_fini(&args.arena);
    return status;
}
