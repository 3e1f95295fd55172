/* Perfetto traces of a real run, unpacked as their .proto says; levels, windows and limits. */
#include "tests/test.h"

#include "report/proto/perfetto.pb-c.h"
#include "tests/rigs/export_rig.h"
#include "tests/rigs/toy.h"

#define TRACK_MAX 4000
#define NAME_MAX_COUNT 8000
#define SPAN_MAX 100000

/* a slice or a marker, as the file has it */
struct span {
    const struct track *track;
    const char *name;
    const TrackEvent *event;
    int64_t start, end;
};

struct track {
    uint64_t uuid, parent;
    const char *name, *process, *unit;
    uint64_t last_at;
    int64_t open_bytes;
    size_t open_span;
    int depth;
    int64_t samples;
};

struct reading {
    const struct export_rig *x;
    struct export_sums sums;
    struct track track[TRACK_MAX];
    int track_count;
    const char *name[NAME_MAX_COUNT], *key[64];
    ProtobufCBinaryData value[NAME_MAX_COUNT];
    const char *about;                  /* what the marker of "read me" says */
    struct span span[SPAN_MAX];
    size_t span_count;
    int64_t samples;
    struct {
        int begins, ends;
        uint64_t began_at, ended_at;
    } flow[4000];
    Trace *trace;
};

static struct track *find_track(struct reading *r, uint64_t uuid)
{
    for (int i = 0; i < r->track_count; i++)
        if (r->track[i].uuid == uuid)
            return &r->track[i];
    fail_msg("an event of an unknown track");
    return NULL;
}

static void read_descriptor(struct reading *r, const TrackDescriptor *d)
{
    struct track *t = &r->track[r->track_count++];

    assert_true(r->track_count < TRACK_MAX);
    *t = (struct track){.uuid = d->uuid, .name = d->name, .parent = d->parent_uuid};
    if (d->uuid == 0) {                 /* the root: only says how processes are ordered */
        assert_int_equal(d->process_ordering, 1);
        return;
    }
    t->process = d->process ? d->process->process_name : find_track(r, t->parent)->process;
    t->unit = d->counter ? d->counter->unit_name : NULL;
    for (int i = 0; i + 1 < r->track_count; i++)
        assert_true(r->track[i].uuid != t->uuid);
}

static void read_strings(struct reading *r, const InternedData *d)
{
    for (size_t i = 0; i < d->n_event_names; i++) {
        assert_true(d->event_names[i]->iid < NAME_MAX_COUNT);
        assert_null(r->name[d->event_names[i]->iid]);
        r->name[d->event_names[i]->iid] = d->event_names[i]->name;
    }
    for (size_t i = 0; i < d->n_debug_annotation_names; i++)
        r->key[d->debug_annotation_names[i]->iid] = d->debug_annotation_names[i]->name;
    for (size_t i = 0; i < d->n_debug_annotation_string_values; i++)
        r->value[d->debug_annotation_string_values[i]->iid]
            = d->debug_annotation_string_values[i]->str;
}

static const DebugAnnotation *find_argument(const struct reading *r, const TrackEvent *e,
                                             const char *key)
{
    for (size_t i = 0; i < e->n_debug_annotations; i++) {
        const DebugAnnotation *a = e->debug_annotations[i];

        assert_non_null(r->key[a->name_iid]);
        if (strcmp(r->key[a->name_iid], key) == 0)
            return a;
    }
    return NULL;
}

static void add_span(struct reading *r, struct track *t, const TrackEvent *e, uint64_t at)
{
    assert_non_null(r->name[e->name_iid]);
    assert_true(r->span_count < SPAN_MAX);
    t->open_span = r->span_count;
    r->span[r->span_count++] = (struct span){t, r->name[e->name_iid], e, (int64_t)at, (int64_t)at};
}

/* a wait ends in the last cycle of its slice, the copy's slice begins where it is issued */
static void read_flows(struct reading *r, const struct track *t, const TrackEvent *e, uint64_t at)
{
    for (size_t i = 0; i < e->n_flow_ids; i++) {
        uint64_t id = e->flow_ids[i];

        assert_true(id > 0 && id < 4000);
        if (strncmp(t->name, "stalls", 6) == 0) {
            r->flow[id].ends++;
            r->flow[id].ended_at = at;
        } else {
            r->flow[id].begins++;
            r->flow[id].began_at = at;
        }
    }
}

static void read_event(struct reading *r, const TrackEvent *e, uint64_t at)
{
    struct track *t = find_track(r, e->track_uuid);
    const DebugAnnotation *bytes;
    struct span *span;

    assert_true(at >= t->last_at);      /* in the order of time */
    t->last_at = at;
    read_flows(r, t, e, at);
    switch (e->type) {
    case 1:
        assert_int_equal(t->depth++, 0);        /* lanes: nothing lies over another */
        add_span(r, t, e, at);
        bytes = find_argument(r, e, "bytes");
        t->open_bytes = bytes ? bytes->int_value : 0;
        break;
    case 2:
        assert_int_equal(t->depth--, 1);
        span = &r->span[t->open_span];
        span->end = (int64_t)at;
        export_sums_add(&r->sums, r->x, t->process, t->name, span->name, span->end - span->start,
                        t->open_bytes);
        break;
    case 3:
        if (strcmp(t->process, "read me") == 0) {
            r->about = r->name[e->name_iid];
            break;
        }
        add_span(r, t, e, at);
        export_sums_add(&r->sums, r->x, t->process, t->name, r->name[e->name_iid], 0, 0);
        break;
    default:
        assert_int_equal(e->type, 4);
        assert_non_null(t->unit);
        assert_true(e->double_counter_value >= 0.0);
        t->samples++;
        r->samples++;
    }
}

static Trace *unpack(const char *path)
{
    size_t capacity = 64u << 20, bytes;
    uint8_t *data = malloc(capacity);
    FILE *f = fopen(path, "rb");
    Trace *trace;

    assert_non_null(f);
    bytes = fread(data, 1, capacity, f);
    assert_true(bytes > 0 && bytes < capacity);
    fclose(f);
    trace = trace__unpack(NULL, bytes, data);
    assert_non_null(trace);
    free(data);
    return trace;
}

/* exports and reads the whole file; reading_free goes with it */
static struct reading *reading_of(struct export_rig *x, const struct export_options *o,
                                  struct export_result *result)
{
    struct reading *r = calloc(1, sizeof(*r));
    char path[300];

    r->x = x;
    r->trace = unpack(export_rig_write(x, "perfetto", o, result, path, sizeof(path)));
    for (size_t i = 0; i < r->trace->n_packet; i++) {
        const TracePacket *p = r->trace->packet[i];

        assert_int_equal(p->sequence_flags, i ? 2 : 3);
        if (p->track_descriptor)
            read_descriptor(r, p->track_descriptor);
        if (p->interned_data)
            read_strings(r, p->interned_data);
        if (p->track_event)
            read_event(r, p->track_event, p->timestamp);
    }
    for (int i = 0; i < r->track_count; i++)
        assert_int_equal(r->track[i].depth, 0);
    assert_int_equal(r->span_count, result->event_count);
    assert_int_equal(r->samples, result->sample_count);
    return r;
}

static void reading_free(struct reading *r)
{
    trace__free_unpacked(r->trace, NULL);
    free(r);
}

TEST(perfetto_has_all_that_the_machine_counted_in_order)
{
    struct export_result result;
    struct export_rig x;
    struct reading *r;

    export_rig_open(&x, TRACE_BUNDLE);
    r = reading_of(&x, &export_everything, &result);
    export_sums_assert(&r->sums, &x.sums);
    assert_non_null(strstr(r->about, "1 ns shown is 1 core cycle of 940 MHz"));
    assert_null(strstr(r->about, "left out"));
    reading_free(r);
    export_rig_close(&x);
}

/* each number begins once on a copy and ends once in a wait for it, which is over later */
TEST(perfetto_arrows_lead_from_a_copy_to_the_wait_that_it_ended)
{
    struct export_result result;
    struct export_rig x;
    struct reading *r;
    int arrows = 0;

    export_rig_open(&x, TRACE_BUNDLE);
    r = reading_of(&x, &export_everything, &result);
    for (size_t i = 0; i < r->span_count; i++) {
        const TrackEvent *e = r->span[i].event;

        if (e->n_flow_ids && strncmp(r->span[i].track->name, "stalls", 6) == 0)
            assert_true(r->span[i].end > (int64_t)r->flow[e->flow_ids[0]].began_at);
    }
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(r->flow[i].begins, r->flow[i].ends);
        assert_true(r->flow[i].begins <= 1);
        arrows += r->flow[i].begins;
    }
    /* at least: each of 4 cores waits for its input, its neighbour and its result, twice */
    assert_true(arrows >= 4 * 3 * EXPORT_LAUNCHES);
    reading_free(r);
    export_rig_close(&x);
}

static void assert_text_argument(const struct reading *r, const struct span *s, const char *key,
                                 const char *wanted)
{
    const DebugAnnotation *a = find_argument(r, s->event, key);
    const ProtobufCBinaryData *value;

    assert_non_null(a);
    value = &r->value[a->string_value_iid];
    assert_int_equal(value->len, strlen(wanted));
    assert_memory_equal(value->data, wanted, value->len);
}

static int count_named(const struct reading *r, const char *name)
{
    int count = 0;

    for (size_t i = 0; i < r->span_count; i++)
        count += strcmp(r->span[i].name, name) == 0;
    return count;
}

TEST(perfetto_names_launches_operations_and_their_places)
{
    struct export_result result;
    struct export_rig x;
    struct reading *r;
    int found = 0;

    export_rig_open(&x, TRACE_BUNDLE);
    r = reading_of(&x, &export_everything, &result);
    assert_int_equal(count_named(r, "first \"one\""), EXPORT_CORES);
    assert_int_equal(count_named(r, "second"), EXPORT_CORES);
    assert_int_equal(count_named(r, "marker 7"), EXPORT_LAUNCHES);
    for (size_t i = 0; i < r->span_count; i++) {
        const struct span *s = &r->span[i];

        if (strcmp(s->name, "vadd.f32") != 0 || strcmp(s->track->process, "core 7 (chip 3)") != 0)
            continue;
        assert_text_argument(r, s, "source", "test.tasm:4");
        assert_text_argument(r, s, "source_op", "guarded");
        assert_int_equal(find_argument(r, s->event, "bundle")->int_value, 2);
        found++;
    }
    /* on the track of the unit; that of bundles has the same name for a bundle of one */
    assert_int_equal(found, 2 * EXPORT_LAUNCHES);
    reading_free(r);
    export_rig_close(&x);
}

TEST(export_levels_have_less_and_less)
{
    struct export_options o = export_everything;
    struct export_result result;
    int64_t last = 0;
    struct export_rig x;

    export_rig_open(&x, TRACE_SLOT);
    for (int level = TRACE_STEP; level <= TRACE_SLOT; level++) {
        o.level = (enum trace_level)level;
        reading_free(reading_of(&x, &o, &result));
        assert_true(result.event_count > last);
        if (level == TRACE_STEP)        /* a step and a program per core and launch */
            assert_int_equal(result.event_count, 2 * EXPORT_CORES * EXPORT_LAUNCHES);
        last = result.event_count;
    }
    export_rig_close(&x);
}

/* what a file of cycles first..end - 1 must have of all events */
static size_t count_within(const struct reading *r, int64_t first, int64_t end)
{
    size_t found = 0;

    for (size_t i = 0; i < r->span_count; i++)
        found += r->span[i].start < end && (r->span[i].end > first || r->span[i].start >= first);
    return found;
}

TEST(export_of_a_window_has_what_overlaps_it)
{
    static const int64_t windows[][2] = {{0, 1}, {300, 301}, {700, 1500}, {5000, 6000}};
    struct export_options o = export_everything;
    struct export_result result;
    struct export_rig x;
    struct reading *whole;

    export_rig_open(&x, TRACE_BUNDLE);
    whole = reading_of(&x, &o, &result);
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        o.first = windows[i][0];
        o.end = windows[i][1];
        reading_free(reading_of(&x, &o, &result));
        assert_int_equal(result.event_count, count_within(whole, o.first, o.end));
        assert_int_equal(result.first, o.first);
        assert_int_equal(result.end, o.end);
    }
    reading_free(whole);
    export_rig_close(&x);
}

/* ends at one cycle for all; what is gone is told, bundle by bundle */
TEST(export_with_a_limit_is_the_beginning_of_the_whole)
{
    static const int64_t limits[] = {1, 50, 1000, 3000, 7777, 1000000};
    struct export_options o = export_everything;
    struct export_result result;
    struct export_rig x;
    struct reading *whole, *part;
    char told[80];

    export_rig_open(&x, TRACE_BUNDLE);
    whole = reading_of(&x, &o, &result);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        int64_t bundles = 0, wanted = 0;

        o.event_limit = limits[i];
        part = reading_of(&x, &o, &result);
        assert_true(result.event_count <= limits[i]);
        assert_int_equal(part->span_count, count_within(whole, 0, result.end));
        assert_int_equal(result.left_out_cycles, ntrace_info(x.t)->cycles - result.end);
        for (int core = 0; core < EXPORT_CORES; core++) {
            bundles += part->sums.bundles[core];
            wanted += x.sums.bundles[core];
        }
        assert_int_equal(bundles + result.left_out_bundles, wanted);
        snprintf(told, sizeof(told), "%lld cycles, %lld bundles",
                 (long long)result.left_out_cycles, (long long)result.left_out_bundles);
        assert_true(!strstr(part->about, told) == (result.left_out_cycles == 0));
        if (limits[i] < 10000)          /* no more than it must */
            assert_true(result.event_count > limits[i] / 2 || limits[i] <= 50);
        reading_free(part);
    }
    assert_int_equal(result.left_out_cycles, 0);
    reading_free(whole);
    export_rig_close(&x);
}

TEST(export_at_level_slot_has_every_operation)
{
    struct export_options o = export_everything;
    int64_t seen[MACHINE_UNIT_MAX] = {0};
    struct export_result result;
    struct export_rig x;
    struct reading *r;

    export_rig_open(&x, TRACE_SLOT);
    o.level = TRACE_SLOT;
    o.core = 5;
    r = reading_of(&x, &o, &result);
    for (size_t i = 0; i < r->span_count; i++)
        for (int unit = 0; unit < ntrace_info(x.t)->unit_count; unit++) {
            const char *name = ntrace_unit_name(x.t, unit), *track = r->span[i].track->name;
            size_t length = strlen(name);

            seen[unit] += strncmp(track, name, length) == 0
                          && (track[length] == '\0' || track[length] == ' ');
        }
    for (int unit = 0; unit < ntrace_info(x.t)->unit_count; unit++)
        if (unit != 6)                  /* dma: the track of copies */
            assert_int_equal(seen[unit], EXPORT_LAUNCHES
                             * machine_counters(x.rig.m, 5)->unit[unit].op_count);
    reading_free(r);
    export_rig_close(&x);
}

/* each sample holds until the next: their integral is what was read and written */
TEST(perfetto_counters_integrate_to_the_bytes_of_hbm)
{
    static struct reading r;
    struct { double value, integral; uint64_t at; } c[TRACK_MAX] = {{0}};
    double bytes[EXPORT_CHIPS] = {0};
    struct export_result result;
    struct export_rig x;
    char path[300];
    Trace *trace;

    export_rig_open(&x, TRACE_BUNDLE);
    trace = unpack(export_rig_write(&x, "perfetto", &export_everything, &result, path, 300));
    for (size_t i = 0; i < trace->n_packet; i++) {
        const TracePacket *p = trace->packet[i];
        long track;

        if (p->track_descriptor)
            read_descriptor(&r, p->track_descriptor);
        if (!p->track_event || p->track_event->type != 4)
            continue;
        track = find_track(&r, p->track_event->track_uuid) - r.track;
        c[track].integral += c[track].value * (double)(p->timestamp - c[track].at);
        c[track].value = p->track_event->double_counter_value;
        c[track].at = p->timestamp;
    }
    for (int i = 0; i < r.track_count; i++) {
        int chip;

        if (r.track[i].unit && sscanf(r.track[i].process, "HBM of chip %d", &chip) == 1)
            bytes[chip] += c[i].integral / (double)x.rig.chip.chip_clock_mhz * 1e3;
    }
    for (int chip = 0; chip < EXPORT_CHIPS; chip++) {
        double wanted = (double)x.sums.hbm_bytes[chip];

        assert_true(bytes[chip] > wanted * 0.999 - 1 && bytes[chip] < wanted * 1.001 + 1);
    }
    trace__free_unpacked(trace, NULL);
    export_rig_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfetto_has_all_that_the_machine_counted_in_order),
        cmocka_unit_test(perfetto_counters_integrate_to_the_bytes_of_hbm),
        cmocka_unit_test(perfetto_arrows_lead_from_a_copy_to_the_wait_that_it_ended),
        cmocka_unit_test(perfetto_names_launches_operations_and_their_places),
        cmocka_unit_test(export_levels_have_less_and_less),
        cmocka_unit_test(export_of_a_window_has_what_overlaps_it),
        cmocka_unit_test(export_with_a_limit_is_the_beginning_of_the_whole),
        cmocka_unit_test(export_at_level_slot_has_every_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
