/*
 * Perfetto's own format: packets of tracks and of what happens on them, written
 * one by one. It counts nanoseconds, which are too long for a core cycle, so a
 * nanosecond of the file is a core cycle: times are exact and read as cycles.
 */
#include "base/outfile.h"
#include "report/export/export_names.h"
#include "report/export/export_pb.h"
#include "report/proto/perfetto.pb-c.h"

#include <errno.h>
#include <string.h>

#define TRACE_PACKET_FIELD 1
#define FLUSH_BYTES (256u * 1024u)
#define ABOUT_TRACK (1 << 30)           /* no other has this id */
#define LANE_MAX 1000                   /* room between the ranks of rows */
#define CHILDREN_BY_RANK 3
#define PROCESSES_BY_RANK 1

enum packet_type { SLICE_BEGIN = 1, SLICE_END, MARKER, COUNTER };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };
enum interned { EVENT_NAME = 1, VALUE = 2 };

struct perfetto {
    struct export_run *r;
    FILE *to;
    struct export_pb_bytes bytes;
    uint8_t *interned;                  /* by name: which of enum interned the file has */
    size_t capacity;
    bool has_keys[KEY_COUNT];
    bool is_begun;
};

/* texts that a packet brings along */
struct strings {
    InternedData data;
    InternedName name, key[EXPORT_ARG_MAX];
    InternedString value[EXPORT_ARG_MAX];
    InternedName *names[1], *keys[EXPORT_ARG_MAX];
    InternedString *values[EXPORT_ARG_MAX];
};

static void put_packet(struct perfetto *w, TracePacket *p)
{
    p->has_trusted_packet_sequence_id = true;
    p->trusted_packet_sequence_id = 1;
    p->has_sequence_flags = true;
    p->sequence_flags = w->is_begun ? STATE_NEEDED : STATE_NEEDED | STATE_CLEARED;
    w->is_begun = true;
    export_pb_append_field(&w->bytes, TRACE_PACKET_FIELD, &p->base);
    if (w->bytes.count > FLUSH_BYTES)
        export_pb_flush(&w->bytes, w->to);
}

static void put_descriptor(struct perfetto *w, TrackDescriptor *d)
{
    TracePacket p = TRACE_PACKET__INIT;

    d->has_uuid = true;
    p.track_descriptor = d;
    put_packet(w, &p);
}

static uint64_t process_uuid(const struct export_process *p)
{
    return (uint64_t)(p->id + 1) << 32;
}

static void begin_process(void *context, const struct export_process *p)
{
    TrackDescriptor d = TRACK_DESCRIPTOR__INIT;
    ProcessDescriptor process = PROCESS_DESCRIPTOR__INIT;

    process.has_pid = true;
    process.pid = p->id + 1;            /* 0 is the idle process of Linux */
    process.process_name = (char *)p->name;
    d.uuid = process_uuid(p);
    d.process = &process;
    d.has_child_ordering = d.has_sibling_order_rank = true;
    d.child_ordering = CHILDREN_BY_RANK;
    d.sibling_order_rank = p->id;
    put_descriptor(context, &d);
}

static void put_track(void *context, const struct export_track *t)
{
    TrackDescriptor d = TRACK_DESCRIPTOR__INIT;
    CounterDescriptor counter = COUNTER_DESCRIPTOR__INIT;

    d.uuid = (uint64_t)t->id;
    d.name = (char *)t->name;
    d.has_parent_uuid = true;
    d.parent_uuid = process_uuid(t->process);
    d.has_sibling_order_rank = true;
    d.sibling_order_rank = t->rank * LANE_MAX + t->lane;
    if (t->kind == EXPORT_COUNTER) {
        counter.unit_name = (char *)t->unit;
        d.counter = &counter;
    }
    put_descriptor(context, &d);
}

/* whether the file lacks this use of a text; from now on it has it */
static bool is_new(struct perfetto *w, uint32_t name, enum interned use)
{
    w->interned = mem_grow(w->interned, &w->capacity, (size_t)name + 1, 1);
    if (w->interned[name] & use)
        return false;
    w->interned[name] |= (uint8_t)use;
    return true;
}

static void intern_key(struct perfetto *w, struct strings *s, enum export_key key)
{
    InternedName *to = &s->key[s->data.n_debug_annotation_names];

    if (w->has_keys[key])
        return;
    w->has_keys[key] = true;
    interned_name__init(to);
    to->has_iid = true;
    to->iid = (uint64_t)key + 1;
    to->name = (char *)export_key_name(key);
    s->keys[s->data.n_debug_annotation_names++] = to;
}

static void intern_value(struct perfetto *w, struct strings *s, uint32_t text)
{
    InternedString *to = &s->value[s->data.n_debug_annotation_string_values];
    const char *value = export_text(w->r->names, text);

    if (!is_new(w, text, VALUE))
        return;
    interned_string__init(to);
    to->has_iid = to->has_str = true;
    to->iid = text;
    to->str.data = (uint8_t *)value;
    to->str.len = strlen(value);
    s->values[s->data.n_debug_annotation_string_values++] = to;
}

static void intern_name(struct perfetto *w, struct strings *s, uint32_t name)
{
    if (!is_new(w, name, EVENT_NAME))
        return;
    interned_name__init(&s->name);
    s->name.has_iid = true;
    s->name.iid = name;
    s->name.name = (char *)export_text(w->r->names, name);
    s->names[s->data.n_event_names++] = &s->name;
}

static bool has_strings(const struct strings *s)
{
    return s->data.n_event_names || s->data.n_debug_annotation_names
           || s->data.n_debug_annotation_string_values;
}

/* all that this slice's name and arguments need and the file does not have yet */
static void intern(struct perfetto *w, struct strings *s, const struct export_slice *slice)
{
    interned_data__init(&s->data);
    s->data.event_names = s->names;
    s->data.debug_annotation_names = s->keys;
    s->data.debug_annotation_string_values = s->values;
    intern_name(w, s, slice->name);
    for (int i = 0; i < slice->arg_count; i++) {
        intern_key(w, s, slice->arg[i].key);
        if (slice->arg[i].text)
            intern_value(w, s, slice->arg[i].text);
    }
}

struct annotations {
    DebugAnnotation item[EXPORT_ARG_MAX], *list[EXPORT_ARG_MAX];
};

static void annotate(TrackEvent *e, struct annotations *a, const struct export_slice *s)
{
    for (int i = 0; i < s->arg_count; i++) {
        DebugAnnotation *to = a->list[i] = &a->item[i];

        debug_annotation__init(to);
        to->has_name_iid = true;
        to->name_iid = (uint64_t)s->arg[i].key + 1;
        to->has_string_value_iid = s->arg[i].text != 0;
        to->string_value_iid = s->arg[i].text;
        to->has_int_value = s->arg[i].text == 0;
        to->int_value = s->arg[i].value;
    }
    e->n_debug_annotations = (size_t)s->arg_count;
    e->debug_annotations = a->list;
}

static void init_event(TracePacket *p, TrackEvent *e, const struct export_track *t, cycle_t at,
                       enum packet_type type)
{
    trace_packet__init(p);
    track_event__init(e);
    p->has_timestamp = true;
    p->timestamp = (uint64_t)at;
    p->track_event = e;
    e->has_type = e->has_track_uuid = true;
    e->type = type;
    e->track_uuid = (uint64_t)t->id;
}

static void put_slice(void *context, const struct export_track *t, const struct export_slice *s)
{
    struct perfetto *w = context;
    bool is_marker = s->end_ps <= s->start_ps;
    struct annotations annotations;
    struct strings strings;
    uint64_t flow = s->flow;
    TracePacket p;
    TrackEvent e;

    init_event(&p, &e, t, s->start, is_marker ? MARKER : SLICE_BEGIN);
    intern(w, &strings, s);
    if (has_strings(&strings))
        p.interned_data = &strings.data;
    e.has_name_iid = true;
    e.name_iid = s->name;
    annotate(&e, &annotations, s);
    e.n_flow_ids = flow != 0;
    e.flow_ids = &flow;
    put_packet(w, &p);
    if (!is_marker) {
        init_event(&p, &e, t, s->end, SLICE_END);
        put_packet(w, &p);
    }
    w->r->result.event_count++;
}

static void put_sample(void *context, const struct export_track *t, cycle_t at, double value)
{
    struct perfetto *w = context;
    TracePacket p;
    TrackEvent e;

    init_event(&p, &e, t, at, COUNTER);
    e.has_double_counter_value = true;
    e.double_counter_value = value;
    put_packet(w, &p);
    w->r->result.sample_count++;
}

/* processes stand in the order in which they come; a track that nobody writes to says so */
static void put_root(struct perfetto *w)
{
    TrackDescriptor d = TRACK_DESCRIPTOR__INIT;

    d.has_process_ordering = true;
    d.process_ordering = PROCESSES_BY_RANK;
    put_descriptor(w, &d);
}

/* what a reader must know, as the only marker of a process that stands first */
static void put_about(struct perfetto *w)
{
    const struct export_run *r = w->r;
    struct export_process p = {.id = 0, .name = "read me"};
    struct export_track t = {.process = &p, .id = ABOUT_TRACK, .name = "how to read this"};
    struct export_slice s = {.start = r->options.first, .end = r->options.first};
    char text[400];
    int length = snprintf(text, sizeof(text), "systole: 1 ns shown is 1 core cycle of %lld MHz; "
                          "level %s, cycles %lld to %lld of %lld",
                          (long long)r->info->chip->chip_clock_mhz,
                          trace_level_name(r->options.level), (long long)r->options.first,
                          (long long)r->end, (long long)r->info->cycles);

    if (r->result.left_out_cycles)
        snprintf(text + length, sizeof(text) - (size_t)length,
                 "; left out by the limit of events: %lld cycles, %lld bundles",
                 (long long)r->result.left_out_cycles, (long long)r->result.left_out_bundles);
    begin_process(w, &p);
    put_track(w, &t);
    s.name = export_name(r->names, text);
    put_slice(w, &t, &s);
    w->r->result.event_count--;         /* none of the trace */
}

int export_write_perfetto(struct export_run *r, FILE *to, struct err *e)
{
    struct perfetto w = {.r = r, .to = to};
    const struct export_sink sink = {
        .context = &w, .wants_flows = true, .begin = begin_process, .track = put_track,
        .slice = put_slice, .sample = put_sample};

    errno = 0;
    put_root(&w);
    put_about(&w);
    export_walk(r, &sink);
    export_pb_flush(&w.bytes, to);
    export_pb_free(&w.bytes);
    mem_free(w.interned);
    return ferror(to) ? err_set(e, "cannot write %s: %s", r->path, strerror(outfile_code(to)))
                      : 0;
}
