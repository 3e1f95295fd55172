/*
 * Chrome's JSON trace format, streamed: no tree in memory.
 *
 * Viewers reject events of one thread that overlap, but a unit may work on
 * several operations at once (two scalar slots, DMAs in flight). So a unit has
 * as many threads ("lanes") as it needs, and an event takes the first free one.
 */
#include "report/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define STALL_TRACK 0                   /* row 0 of a process; unit i is row i + 1 */
#define TRACK_COUNT (MACHINE_UNIT_MAX + 1)
#define LANE_MAX 10000                  /* room in the thread numbers; far above any queue depth */
#define BUFFER_BYTES (256u * 1024u)
#define EVENT_BYTES 512u                /* of an event without its note */

struct lanes {
    cycle_t *free_at;
    size_t count, capacity;
};

struct writer {
    const struct report_view *v;
    gzFile to;
    char *buffer;
    size_t used_bytes;
    bool has_failed, has_event;
    const char **note;                  /* escaped, by note index */
    const char **op_name;               /* as written, by operation of the program */
    size_t note_max_bytes;
    struct lanes lanes[TRACK_COUNT];    /* of the core being written */
};

static void flush(struct writer *w)
{
    if (w->used_bytes && gzwrite(w->to, w->buffer, (unsigned)w->used_bytes) <= 0)
        w->has_failed = true;
    w->used_bytes = 0;
}

static void put_text(struct writer *w, const char *s, size_t bytes)
{
    memcpy(w->buffer + w->used_bytes, s, bytes);
    w->used_bytes += bytes;
}

static void put_string(struct writer *w, const char *s)
{
    put_text(w, s, strlen(s));
}

static void put_int(struct writer *w, int64_t value)
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

/* picoseconds as microseconds with all six decimals, so that neighbours never overlap */
static void put_us(struct writer *w, int64_t ps)
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

/* room for one event, and the comma before it */
static void begin_event(struct writer *w)
{
    if (w->used_bytes + EVENT_BYTES + w->note_max_bytes > BUFFER_BYTES)
        flush(w);
    put_string(w, w->has_event ? ",\n" : "\n");
    w->has_event = true;
}

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

static void escape_notes(struct writer *w, struct arena *a)
{
    const struct isa_program *p = w->v->program;
    uint32_t count = p ? p->note_count : 0;

    w->note = arena_array(a, count, sizeof(*w->note));
    for (uint32_t i = 0; i < count; i++) {
        w->note[i] = escape(p->note[i], a);
        if (strlen(w->note[i]) > w->note_max_bytes)
            w->note_max_bytes = strlen(w->note[i]);
    }
}

static void spell_ops(struct writer *w, struct arena *a)
{
    const struct isa_program *p = w->v->program;
    uint32_t count = p ? p->op_count : 0;
    char name[ISA_NAME_MAX];

    w->op_name = arena_array(a, count, sizeof(*w->op_name));
    for (uint32_t i = 0; i < count; i++)
        w->op_name[i] = arena_printf(a, "%s", isa_print_op_mnemonic(&p->op[i], name, sizeof(name)));
}

static const char *event_name(const struct writer *w, const struct trace_event *e)
{
    if (e->track < 0)
        return stall_name((enum stall_reason)e->stall);
    if (e->op && w->v->program)
        return w->op_name[e->op - 1];
    return isa_info((enum isa_opcode)e->code)->mnemonic;
}

static int64_t process_id(int core)
{
    return core + 1;                    /* viewers take process 0 for the idle process */
}

static int64_t thread_id(int core, int track, size_t lane)
{
    return ((int64_t)(core + 1) * TRACK_COUNT + track) * LANE_MAX + (int64_t)lane;
}

static void put_name(struct writer *w, const char *kind, int64_t pid, int64_t tid)
{
    begin_event(w);
    put_string(w, "{\"ph\":\"M\",\"name\":\"");
    put_string(w, kind);
    put_string(w, "\",\"pid\":");
    put_int(w, pid);
    put_string(w, ",\"tid\":");
    put_int(w, tid);
    put_string(w, ",\"args\":{");
}

static void put_thread(struct writer *w, int core, int track, size_t lane)
{
    const char *name = track == STALL_TRACK ? "stalls" : w->v->core[core]->unit[track - 1].name;
    int64_t pid = process_id(core), tid = thread_id(core, track, lane);

    put_name(w, "thread_name", pid, tid);
    put_string(w, "\"name\":\"");
    put_string(w, name);
    if (w->lanes[track].count > 1) {
        put_string(w, " #");
        put_int(w, (int64_t)lane);
    }
    put_string(w, "\"}}");
    put_name(w, "thread_sort_index", pid, tid);
    put_string(w, "\"sort_index\":");
    put_int(w, (int64_t)track * LANE_MAX + (int64_t)lane);
    put_string(w, "}}");
}

static void put_process(struct writer *w, int core)
{
    int64_t pid = process_id(core);

    put_name(w, "process_name", pid, 0);
    put_string(w, "\"name\":\"core ");
    put_int(w, core);
    put_string(w, " (chip ");
    put_int(w, core / w->v->chip->chip_cores);
    put_string(w, ")\"}}");
    put_name(w, "process_sort_index", pid, 0);
    put_string(w, "\"sort_index\":");
    put_int(w, core);
    put_string(w, "}}");
    for (int track = 0; track <= w->v->core[core]->unit_count; track++)
        for (size_t lane = 0; lane < w->lanes[track].count; lane++)
            put_thread(w, core, track, lane);
}

/* the first lane that is free at `e`'s start; markers (no duration) overlap nothing */
static size_t take_lane(struct lanes *l, const struct trace_event *e)
{
    size_t lane = 0;

    while (lane < l->count && l->free_at[lane] > e->start && e->end > e->start)
        lane++;
    if (lane >= LANE_MAX)
        lane = LANE_MAX - 1;
    if (lane >= l->count) {
        l->free_at = mem_grow(l->free_at, &l->capacity, lane + 1, sizeof(*l->free_at));
        l->free_at[lane] = 0;           /* what an earlier core left */
        l->count = lane + 1;
    }
    if (l->free_at[lane] < e->end)
        l->free_at[lane] = e->end;
    return lane;
}

static void put_args(struct writer *w, const struct trace_event *e)
{
    const struct isa_program *p = w->v->program;
    const struct isa_bundle *b = p && e->bundle < p->bundle_count ? &p->bundle[e->bundle] : NULL;

    put_string(w, ",\"args\":{\"bundle\":");
    put_int(w, e->bundle);
    if (b && b->line) {
        put_string(w, ",\"line\":");
        put_int(w, b->line);
    }
    if (b && b->note) {
        put_string(w, ",\"note\":\"");
        put_string(w, w->note[b->note - 1]);
        put_string(w, "\"");
    }
    if (e->bytes || e->code == OP_VTRACE) {
        put_string(w, e->code == OP_VTRACE ? ",\"marker\":" : ",\"bytes\":");
        put_int(w, e->bytes);
    }
    put_string(w, "}}");
}

static void put_event(struct writer *w, int core, const struct trace_event *e)
{
    const struct chip *chip = w->v->chip;
    int track = e->track < 0 ? STALL_TRACK : e->track + 1;
    int64_t start_ps = view_ps(chip, e->start);
    size_t lane = take_lane(&w->lanes[track], e);

    begin_event(w);
    put_string(w, "{\"ph\":\"");
    put_string(w, e->end > e->start ? "X" : "i\",\"s\":\"t");
    put_string(w, "\",\"name\":\"");
    put_string(w, event_name(w, e));
    put_string(w, "\",\"pid\":");
    put_int(w, process_id(core));
    put_string(w, ",\"tid\":");
    put_int(w, thread_id(core, track, lane));
    put_string(w, ",\"ts\":");
    put_us(w, start_ps);
    if (e->end > e->start) {
        put_string(w, ",\"dur\":");
        put_us(w, view_ps(chip, e->end) - start_ps);
    }
    put_args(w, e);
}

static int compare_events(const void *x, const void *y)
{
    const struct trace_event *const *a = x, *const *b = y;

    if ((*a)->start != (*b)->start)
        return (*a)->start < (*b)->start ? -1 : 1;
    return *a < *b ? -1 : *a > *b;      /* as recorded: both point into one array */
}

/* lanes are handed out in the order of time, whatever order the core recorded in */
static const struct trace_event **order_events(const struct view_trace *t)
{
    const struct trace_event **order = mem_alloc(t->count * sizeof(*order));

    for (size_t i = 0; i < t->count; i++)
        order[i] = &t->event[i];
    qsort(order, t->count, sizeof(*order), compare_events);
    return order;
}

/* the first `limit` events of a core; returns how many those are */
static size_t put_core(struct writer *w, int core, size_t limit)
{
    const struct view_trace *t = &w->v->trace[core];
    const struct trace_event **order = order_events(t);
    size_t count = t->count < limit ? t->count : limit;

    for (int track = 0; track < TRACK_COUNT; track++)
        w->lanes[track].count = 0;
    for (size_t i = 0; i < count; i++)
        put_event(w, core, order[i]);
    put_process(w, core);
    mem_free(order);
    return count;
}

static void put_tail(struct writer *w, size_t left_out)
{
    flush(w);                           /* for room */
    put_string(w, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"format\":\"systole-trace\","
                  "\"version\":1,\"clock_mhz\":");
    put_int(w, w->v->chip->chip_clock_mhz);
    put_string(w, ",\"cycles\":");
    put_int(w, w->v->cycles);
    put_string(w, ",\"left_out_events\":");
    put_int(w, (int64_t)left_out);
    put_string(w, "}}\n");
    flush(w);
}

static size_t put_all(struct writer *w, size_t event_limit)
{
    size_t room = event_limit ? event_limit : SIZE_MAX, left_out = 0;

    put_string(w, "{\"traceEvents\":[");
    for (int core = 0; core < w->v->core_count; core++) {
        size_t written = put_core(w, core, room);

        room -= written;
        left_out += w->v->trace[core].count - written;
    }
    put_tail(w, left_out);
    return left_out;
}

int chrome_write(const struct report_view *v, const char *path, bool is_gzipped,
                 size_t event_limit, size_t *left_out, struct err *e)
{
    struct writer w = {.v = v};
    struct arena a;

    /* T: as it is, without compression; 1: a third of level 6's time for a fifth more bytes */
    errno = 0;
    w.to = gzopen(path, is_gzipped ? "wb1" : "wbT");
    if (!w.to)
        return err_set(e, "cannot write %s: %s", path, strerror(errno));
    arena_init(&a);
    escape_notes(&w, &a);
    spell_ops(&w, &a);
    w.buffer = arena_alloc(&a, BUFFER_BYTES + EVENT_BYTES + w.note_max_bytes);
    *left_out = put_all(&w, event_limit);
    for (int track = 0; track < TRACK_COUNT; track++)
        mem_free(w.lanes[track].free_at);
    arena_fini(&a);
    if (gzclose(w.to) != Z_OK || w.has_failed)
        return err_set(e, "cannot write %s: %s", path, strerror(errno ? errno : EIO));
    return 0;
}
