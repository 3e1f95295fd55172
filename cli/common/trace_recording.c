/* From launches to the trace that was asked for: a .strace first, then the export of it. */
#include "cli/common/trace_options.h"

#include "base/arena.h"
#include "base/outfile.h"
#include "base/text.h"
#include "report/folder/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* next to the file wanted; what is no regular file has no room beside it */
static char *recording_path(const char *path, struct err *e)
{
    const char *folder = getenv("TMPDIR");
    struct stat st;
    struct arena a;
    char *made;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return outfile_temporary(path, e);
    arena_init(&a);
    made = outfile_temporary(arena_printf(&a, "%s/systole.strace", folder ? folder : "/tmp"), e);
    arena_fini(&a);
    return made;
}

static int open_writer(struct trace_recording *t, const struct trace_options *o,
                       const char *title, const struct command *command, struct err *e)
{
    struct ntrace_options so = {.level = o->level, .window_first = o->first,
                                .window_end = o->end || !o->first ? o->end : INT64_MAX,
                                .title = title};
    struct arena a;

    t->format = export_format_of_path(o->path);
    t->path = recording_path(o->path, e);
    if (!t->path)
        return -1;
    arena_init(&a);
    so.command = command_text(command, &a);
    so.record_limit = !t->format && o->event_limit > 0 ? o->event_limit : 0;
    t->writer = ntrace_writer_open(t->path, &so, e);
    arena_fini(&a);
    if (t->writer)
        return 0;
    outfile_drop(t->path);
    t->path = NULL;
    return -1;
}

static void drop_folder(struct trace_recording *t)
{
    if (t->made_folder)
        rmdir(t->made_folder);          /* does nothing when results are in it */
    t->made_folder = NULL;
}

int trace_recording_begin(struct trace_recording *t, const struct trace_options *o,
                          const char *folder, struct machine *m, const char *title,
                          const struct command *command, struct err *e)
{
    *t = (struct trace_recording){.options = o, .folder = folder};
    if (!o->path)
        return 0;
    if (folder && access(folder, F_OK) != 0)
        t->made_folder = folder;
    if ((folder && report_make_folder(folder, e)) || open_writer(t, o, title, command, e)) {
        drop_folder(t);
        return -1;
    }
    t->machine = m;
    trace_recording_resume(t, NULL);
    return 0;
}

void trace_recording_pause(struct trace_recording *t)
{
    if (t->machine)
        machine_set_trace(t->machine, NULL);
}

void trace_recording_resume(struct trace_recording *t, const char *name)
{
    if (!t->machine)
        return;
    if (name)
        ntrace_writer_name_launch(t->writer, name);
    machine_set_trace(t->machine, ntrace_writer_sink(t->writer));
}

/* ----- what is said at the end */

static void print_left_out(const char *what, int64_t count, const char *why, FILE *to)
{
    if (count)
        fprintf(to, "  left out: %s %s (%s)\n", text_thousands(count).text, what, why);
}

void trace_print_export(const char *path, const struct export_format *f,
                        const struct export_options *o, const struct export_result *r, FILE *to)
{
    fprintf(to, "trace written to %s: %s%s%s events and %s counter samples, cycles %s to %s, level "
            "%s; for %s\n", path, r->bytes >= 0 ? text_bytes(r->bytes).text : "",
            r->bytes >= 0 ? ", " : "", text_thousands(r->event_count).text,
            text_thousands(r->sample_count).text, text_thousands(r->first).text,
            text_thousands(r->end).text, trace_level_name(o->level), f->viewer);
    if (r->left_out_cycles)
        fprintf(to, "  left out: the %s cycles from there on, with %s bundles (limit of %s "
                "events; a window shows them)\n", text_thousands(r->left_out_cycles).text,
                text_thousands(r->left_out_bundles).text, text_thousands(o->event_limit).text);
    if (f->has_one_core)
        fprintf(to, "  it has core %d; --core N of systole export chooses another\n", r->core);
}

static int print_ntrace(const struct trace_recording *t, struct ntrace *s, FILE *to)
{
    const struct ntrace_info *info = ntrace_info(s);
    bool has_limit = t->options->event_limit > 0, has_window = t->options->first || t->options->end;
    struct stat st;
    bool is_file = stat(t->options->path, &st) == 0 && S_ISREG(st.st_mode);

    fprintf(to, "trace written to %s: %s, %s records, %s cycles, level %s; systole export makes "
            "other formats of it\n", t->options->path,
            is_file ? text_bytes((int64_t)st.st_size).text : "a stream",
            text_thousands(info->record_count).text, text_thousands(info->cycles).text,
            trace_level_name(info->level));
    print_left_out("records", info->left_out_count,
                   !has_limit ? "--trace-window" : !has_window ? "--trace-max-events"
                              : "--trace-window, --trace-max-events", to);
    return 0;
}

static int finish(struct trace_recording *t, struct ntrace *s, FILE *to, struct err *e)
{
    const struct trace_options *o = t->options;
    const struct export_options eo = {
        .level = o->level, .core = -1, .first = o->first, .end = o->end,
        .event_limit = o->event_limit < 0 ? EXPORT_EVENT_LIMIT : o->event_limit};
    struct export_result result;

    if (!t->format)
        return print_ntrace(t, s, to);
    if (export_write(s, t->format, &eo, o->path, &result, e))
        return -1;
    trace_print_export(o->path, t->format, &eo, &result, to);
    return 0;
}

void trace_put_stats(struct ntrace_writer *w, const struct report_step *step)
{
    struct report_run run = {0};
    char *stats;

    if (!step)
        return;
    run.step = *step;
    stats = report_stats_json(&run);
    if (stats)
        ntrace_writer_put_stats(w, stats);
    free(stats);
}

static int close_recording(struct trace_recording *t, struct err *e)
{
    int status;

    trace_recording_pause(t);
    status = ntrace_writer_close(t->writer, e);
    t->writer = NULL;
    t->machine = NULL;
    return status;
}

int trace_recording_end(struct trace_recording *t, const struct report_step *step, FILE *to,
                        struct err *e)
{
    struct ntrace *s = NULL;
    int status;

    if (t->folder)
        report_clear_folder(t->folder);
    if (!t->writer)
        return 0;
    trace_put_stats(t->writer, step);
    status = close_recording(t, e);
    if (status == 0)
        s = ntrace_open(t->path, e);
    status = s && (t->format || outfile_publish(t->path, t->options->path, e) == 0)
                 ? finish(t, s, to, e) : -1;
    ntrace_close(s);
    outfile_drop(t->path);
    return status;
}

void trace_recording_abandon(struct trace_recording *t)
{
    struct err e;

    if (t->writer) {
        close_recording(t, &e);
        outfile_drop(t->path);
    }
    drop_folder(t);
}
