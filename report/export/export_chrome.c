/*
 * Chrome's JSON trace format, streamed: no tree in memory. Times are
 * microseconds with all six decimals, which are picoseconds, so that neighbours
 * never overlap.
 */
#include "report/export/export_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES (256u * 1024u)
#define LANE_MAX 10000                  /* room between the sort indices of rows */

struct chrome {
    struct export_run *r;
    gzFile to;
    char *buffer;
    size_t used_bytes;
    bool has_failed, has_event;
    const char **escaped;               /* by name; NULL: not yet */
    size_t capacity;
    struct arena arena;
};

static void flush(struct chrome *w)
{
    if (w->used_bytes && gzwrite(w->to, w->buffer, (unsigned)w->used_bytes) <= 0)
        w->has_failed = true;
    w->used_bytes = 0;
}

static void put_text(struct chrome *w, const char *s, size_t bytes)
{
    while (bytes) {
        size_t room = BUFFER_BYTES - w->used_bytes, part = bytes < room ? bytes : room;

        memcpy(w->buffer + w->used_bytes, s, part);
        w->used_bytes += part;
        s += part;
        bytes -= part;
        if (w->used_bytes == BUFFER_BYTES)
            flush(w);
    }
}

static void put_string(struct chrome *w, const char *s)
{
    put_text(w, s, strlen(s));
}

static void put_int(struct chrome *w, int64_t value)
{
    char digits[24];
    size_t first = sizeof(digits);
    uint64_t rest = value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--first] = '-';
    put_text(w, digits + first, sizeof(digits) - first);
}

static void put_us(struct chrome *w, ps_t ps)
{
    char decimals[7] = ".000000";
    int64_t rest = ps % 1000000;

    put_int(w, ps / 1000000);
    for (int i = 6; i > 0; i--) {
        decimals[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    put_text(w, decimals, sizeof(decimals));
}

/* ----- texts */

static const char *escape(const char *s, struct arena *a)
{
    char *escaped = arena_alloc(a, strlen(s) * 6 + 1), *end = escaped;

    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            *end++ = '\\';
        if ((unsigned char)*s < ' ')
            end += snprintf(end, 7, "\\u%04x", (unsigned)*s);
        else
            *end++ = *s;
    }
    return escaped;
}

static void put_name(struct chrome *w, uint32_t name)
{
    w->escaped = mem_grow(w->escaped, &w->capacity, (size_t)name + 1, sizeof(*w->escaped));
    if (!w->escaped[name])
        w->escaped[name] = escape(export_text(w->r->names, name), &w->arena);
    put_string(w, "\"");
    put_string(w, w->escaped[name]);
    put_string(w, "\"");
}

/* ----- events */

static void begin_event(struct chrome *w, const char *phase, int pid, int tid)
{
    put_string(w, w->has_event ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    w->has_event = true;
    put_string(w, phase);
    put_string(w, "\",\"pid\":");
    put_int(w, pid);
    put_string(w, ",\"tid\":");
    put_int(w, tid);
}

static void put_metadata(struct chrome *w, int pid, int tid, const char *what, const char *name,
                         int sort_index)
{
    char text[48];

    snprintf(text, sizeof(text), ",\"name\":\"%s_name\",\"args\":{\"name\":\"", what);
    begin_event(w, "M", pid, tid);
    put_string(w, text);
    put_string(w, name);                /* ours: nothing to escape */
    put_string(w, "\"}}");
    snprintf(text, sizeof(text), ",\"name\":\"%s_sort_index\",\"args\":{", what);
    begin_event(w, "M", pid, tid);
    put_string(w, text);
    put_string(w, "\"sort_index\":");
    put_int(w, sort_index);
    put_string(w, "}}");
}

static void begin_process(void *context, const struct export_process *p)
{
    put_metadata(context, p->id, 0, "process", p->name, p->id);
}

static void put_track(void *context, const struct export_track *t)
{
    if (t->kind != EXPORT_COUNTER)
        put_metadata(context, t->process->id, t->id, "thread", t->name,
                     t->rank * LANE_MAX + t->lane);
}

static void put_args(struct chrome *w, const struct export_slice *s)
{
    bool is_first = true;

    put_string(w, ",\"args\":{");
    for (int i = 0; i < s->arg_count; i++) {
        const struct export_arg *arg = &s->arg[i];

        if (arg->key == KEY_TEXT)       /* half of the file, and the name tells most of it */
            continue;
        put_string(w, is_first ? "\"" : ",\"");
        put_string(w, export_key_name(arg->key));
        put_string(w, "\":");
        if (arg->text)
            put_name(w, arg->text);
        else
            put_int(w, arg->value);
        is_first = false;
    }
    put_string(w, "}}");
}

/* an arrow begins where the copy is issued, ends in the last cycle of the wait */
static void put_flow(struct chrome *w, const struct export_track *t, const struct export_slice *s)
{
    begin_event(w, s->ends_flow ? "f\",\"bp\":\"e" : "s", t->process->id, t->id);
    put_string(w, ",\"cat\":\"copy\",\"name\":\"copy\",\"id\":");
    put_int(w, (int64_t)s->flow);
    put_string(w, ",\"ts\":");
    put_us(w, s->ends_flow ? export_ps(w->r, s->end - 1) : s->start_ps);
    put_string(w, "}");
}

static void put_slice(void *context, const struct export_track *t, const struct export_slice *s)
{
    struct chrome *w = context;
    bool is_marker = s->end_ps <= s->start_ps;

    begin_event(w, is_marker ? "i\",\"s\":\"t" : "X", t->process->id, t->id);
    put_string(w, ",\"name\":");
    put_name(w, s->name);
    put_string(w, ",\"ts\":");
    put_us(w, s->start_ps);
    if (!is_marker) {
        put_string(w, ",\"dur\":");
        put_us(w, s->end_ps - s->start_ps);
    }
    put_args(w, s);
    if (s->flow)
        put_flow(w, t, s);
    w->r->result.event_count++;
}

static void put_sample(void *context, const struct export_track *t, cycle_t at, double value)
{
    struct chrome *w = context;
    char text[40];

    begin_event(w, "C", t->process->id, 0);
    put_string(w, ",\"name\":\"");
    put_string(w, t->name);
    put_string(w, " (");
    put_string(w, t->unit);
    put_string(w, ")\",\"ts\":");
    put_us(w, export_ps(w->r, at));
    snprintf(text, sizeof(text), ",\"args\":{\"value\":%.6g}}", value);
    put_string(w, text);
    w->r->result.sample_count++;
}

static void put_number(struct chrome *w, const char *key, int64_t value)
{
    put_string(w, ",\"");
    put_string(w, key);
    put_string(w, "\":");
    put_int(w, value);
}

static void put_tail(struct chrome *w)
{
    const struct export_run *r = w->r;

    put_string(w, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"format\":\"systole-trace\","
                  "\"version\":2,\"level\":\"");
    put_string(w, trace_level_name(r->options.level));
    put_string(w, "\"");
    put_number(w, "clock_mhz", r->info->chip->chip_clock_mhz);
    put_number(w, "cycles", r->info->cycles);
    put_number(w, "first_cycle", r->options.first);
    put_number(w, "end_cycle", r->end);
    put_number(w, "left_out_cycles", r->result.left_out_cycles);
    put_number(w, "left_out_bundles", r->result.left_out_bundles);
    put_number(w, "left_out_records", r->info->left_out_count);
    put_string(w, "}}\n");
    flush(w);
}

static int write_json(struct export_run *r, FILE *to, const char *mode, struct err *e)
{
    struct chrome w = {.r = r};
    const struct export_sink sink = {
        .context = &w, .wants_flows = true, .begin = begin_process, .track = put_track,
        .slice = put_slice, .sample = put_sample};
    int file = dup(fileno(to));

    errno = 0;
    w.to = file < 0 ? NULL : gzdopen(file, mode);
    if (!w.to)
        return err_set(e, "cannot write %s: %s", r->path, strerror(errno ? errno : ENOMEM));
    arena_init(&w.arena);
    w.buffer = arena_alloc(&w.arena, BUFFER_BYTES);
    put_string(&w, "{\"traceEvents\":[");
    export_walk(r, &sink);
    put_tail(&w);
    arena_fini(&w.arena);
    mem_free(w.escaped);
    if (gzclose(w.to) != Z_OK || w.has_failed)
        return err_set(e, "cannot write %s: %s", r->path, strerror(errno ? errno : EIO));
    return 0;
}

int export_write_chrome(struct export_run *r, FILE *to, struct err *e)
{
    return write_json(r, to, "wbT", e);         /* T: as it is, without compression */
}

/* level 1: a third of level 6's time for a fifth more bytes */
int export_write_chrome_gz(struct export_run *r, FILE *to, struct err *e)
{
    return write_json(r, to, "wb1", e);
}
