/*
 * Parses --trace, its level, window and limits, and decides where the trace of a run folder goes.
 */
#include "cli/common/trace_options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { KEY_TRACE = 2048, KEY_NO_TRACE, KEY_LEVEL, KEY_WINDOW, KEY_LIMIT };

static const struct argp_option list[] = {
    {"trace", KEY_TRACE, "FILE", 0,
     "record the run; by the name's end: .strace (systole-view, explain, export), .pftrace or "
     ".json[.gz] (ui.perfetto.dev), .xplane.pb (XProf), .kanata (Konata); see docs/traces.md", 0},
    {"no-trace", KEY_NO_TRACE, NULL, 0,
     "leave no trace.strace in the folder of --out", 0},
    {"trace-level", KEY_LEVEL, "LEVEL", 0,
     "step; op: and copies, source operations; bundle (default): and every bundle, wait, unit, "
     "access of HBM, use of a link; slot: and every operation", 0},
    {"trace-window", KEY_WINDOW, "A:B", 0,
     "only what begins in cycles A to B - 1: 20k:50k, 1M:, :5000", 0},
    {"trace-max-events", KEY_LIMIT, "N", 0,
     "end the trace where N events are reached, 0: never (default: 1000000; 0 for .strace, whose "
     "streams of cores, HBM and links share N records equally)", 0},
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

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct trace_options *o = state->input;
    int status = 0;
    struct err e;

    switch (key) {
    case KEY_TRACE: o->path = arg; return 0;
    case KEY_NO_TRACE: o->is_unwanted = true; return 0;
    case KEY_LEVEL: status = trace_level_parse(arg, &o->level, &e); break;
    case KEY_WINDOW:
        status = trace_parse_window("--trace-window", arg, &o->first, &o->end, &e);
        break;
    case KEY_LIMIT:
        status = trace_parse_limit("--trace-max-events", arg, &o->event_limit, &e);
        break;
    case ARGP_KEY_END:
        if (o->is_unwanted && o->path)
            argp_error(state, "--trace and --no-trace do not go together");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (status)
        argp_error(state, "%s", e.msg);
    o->has_more = true;
    return 0;
}

const struct argp cli_trace_argp = {.options = list, .parser = parse_option};

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
