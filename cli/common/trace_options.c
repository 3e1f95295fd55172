/*
 * Parses --trace, its level, window and limits, and decides where the trace of a run folder goes.
 */
#include "cli/common/trace_options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static int parse_level(const struct cli_option *o, const char *text, void *values, struct err *e);
static int parse_window(const struct cli_option *o, const char *text, void *values, struct err *e);
static int parse_limit(const struct cli_option *o, const char *text, void *values, struct err *e);

static const struct cli_option rows[] = {
    {.kind = CLI_HEADING, .doc = "Trace:", .group = 9},
    {"trace", 0, "FILE",
     "record the run; by the name's end: .strace (systole-view, explain, export), .pftrace "
     "(ui.perfetto.dev), .xplane.pb (XProf), .kanata (Konata); see docs/traces.md", 9, CLI_TEXT,
     CLI_AT(struct trace_options, path)},
    {"no-trace", 0, NULL, "leave no trace.strace in the folder of --out", 9, CLI_FLAG,
     CLI_AT(struct trace_options, is_unwanted)},
    {"trace-level", 0, "LEVEL",
     "step; op: and copies, source operations; bundle (default): and every bundle, wait, unit, "
     "access of HBM, use of a link; slot: and every operation", 9, CLI_OTHER, .parse = parse_level},
    {"trace-window", 0, "A:B", "only what begins in cycles A to B - 1: 20k:50k, 1M:, :5000", 9,
     CLI_OTHER, .parse = parse_window},
    {"trace-max-events", 0, "N",
     "end the trace where N events are reached, 0: never (default: 1000000; 0 for .strace, whose "
     "streams of cores, HBM and links share N records equally)", 9, CLI_OTHER,
     .parse = parse_limit},
    {0}};

/* "12", "20k", "1M", "2G" */
static int parse_cycle(const char *text, size_t length, cycle_t *cycle)
{
    static const char units[] = "kMG";
    char digits[24];
    int64_t scale = 1;
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;

    if (unit && *unit) {
        length--;
        for (const char *u = units; u <= unit; u++)
            scale *= 1000;
    }
    if (length == 0 || length >= sizeof(digits))
        return -1;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (text_parse_int(digits, 0, INT64_MAX / 8 / scale, cycle))
        return -1;
    *cycle *= scale;
    return 0;
}

int trace_parse_window(const char *option, const char *text, cycle_t *first, cycle_t *end,
                       struct err *e)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;

    *first = *end = 0;
    if (!colon || (length && parse_cycle(text, length, first))
        || (colon[1] && (parse_cycle(colon + 1, strlen(colon + 1), end) || *end == 0)))
        return err_set(e, "%s is \"%s\"; cycles A:B are needed, such as 5000:12000, 20k:50k, 1M: "
                       "or :5000", option, text);
    if (*end && *first >= *end)
        return err_set(e, "%s is \"%s\": its first cycle, %lld, is not before its end, %lld",
                       option, text, (long long)*first, (long long)*end);
    return 0;
}

int trace_parse_limit(const char *option, const char *text, int64_t *limit, struct err *e)
{
    if (text_parse_int(text, 0, INT64_MAX / 8, limit))
        return err_set(e, "%s is \"%s\", allowed are whole numbers from 0 (no limit) on", option,
                       text);
    return 0;
}

static int parse_level(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct trace_options *t = values;

    (void)o;
    t->has_more = true;
    return trace_level_parse(text, &t->level, e);
}

static int parse_window(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct trace_options *t = values;

    (void)o;
    t->has_more = true;
    return trace_parse_window("--trace-window", text, &t->first, &t->end, e);
}

static int parse_limit(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct trace_options *t = values;

    (void)o;
    t->has_more = true;
    return trace_parse_limit("--trace-max-events", text, &t->event_limit, e);
}

static int check(void *values, struct err *e)
{
    const struct trace_options *o = values;

    return o->is_unwanted && o->path ? err_set(e, "--trace and --no-trace do not go together") : 0;
}

const struct cli_options cli_trace_options = {.row = rows, .check = check};

int trace_options_for_folder(struct trace_options *o, const char *folder, enum run_mode mode,
                             struct err *e)
{
    size_t room = sizeof(o->folder_path), length = folder ? strlen(folder) : 0;
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";

    if (!o->path && !o->is_unwanted && folder && mode != MODE_FUNCTIONAL) {
        if (snprintf(o->folder_path, room, "%s%strace.strace", folder, slash) >= (int)room)
            return err_set(e, "the path of the folder is too long: %s", folder);
        o->path = o->folder_path;
        if (o->event_limit < 0)
            o->event_limit = TRACE_FOLDER_RECORDS;
    }
    if (o->has_more && !o->path)
        return err_set(e, "--trace-level, --trace-window and --trace-max-events go with --trace "
                       "FILE or --out DIR");
    return 0;
}

int trace_options_check_mode(const struct trace_options *o, enum run_mode mode, struct err *e)
{
    if (o->path && mode == MODE_FUNCTIONAL)
        return err_set(e, "--trace shows cycles, which --mode functional does not work out");
    return 0;
}
