/* Perfetto traces of a real run, unpacked as their .proto says. */
#include "tests/test.h"

#include "report/proto/perfetto.pb-c.h"
#include "tests/rigs/export_rig.h"
#include "tests/rigs/toy.h"

#define TRACK_MAX 4000
#define DEPTH_MAX 4
#define NAME_MAX_COUNT 8000

struct track {
    uint64_t uuid, parent;
    const char *name, *process, *unit;
    uint64_t last_at, open_at[DEPTH_MAX];
    const char *open_name[DEPTH_MAX];
    int64_t open_bytes;
    int depth;
    int64_t samples;
};

struct reading {
    const struct export_rig *x;
    struct export_sums sums;
    struct track track[TRACK_MAX];
    int track_count;
    const char *name[NAME_MAX_COUNT], *key[64];
    int64_t events, samples;
    int flows[4000];
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
}

static int64_t find_bytes(const struct reading *r, const TrackEvent *e)
{
    for (size_t i = 0; i < e->n_debug_annotations; i++) {
        const DebugAnnotation *a = e->debug_annotations[i];

        assert_non_null(r->key[a->name_iid]);
        if (strcmp(r->key[a->name_iid], "bytes") == 0)
            return a->int_value;
    }
    return 0;
}

static void read_event(struct reading *r, const TrackEvent *e, uint64_t at)
{
    struct track *t = find_track(r, e->track_uuid);

    assert_true(at >= t->last_at);      /* in the order of time */
    t->last_at = at;
    for (size_t i = 0; i < e->n_flow_ids; i++)
        r->flows[e->flow_ids[i]]++;
    switch (e->type) {
    case 1:
        assert_int_equal(t->depth, 0);  /* lanes: nothing lies over another */
        assert_non_null(r->name[e->name_iid]);
        t->open_at[t->depth] = at;
        t->open_bytes = find_bytes(r, e);
        t->open_name[t->depth++] = r->name[e->name_iid];
        break;
    case 2:
        assert_int_equal(t->depth--, 1);
        export_sums_add(&r->sums, r->x, t->process, t->name, t->open_name[0],
                        (int64_t)(at - t->open_at[0]), t->open_bytes);
        r->events++;
        break;
    case 3:
        if (strcmp(t->process, "read me") == 0) {
            assert_non_null(strstr(r->name[e->name_iid], "1 ns shown is 1 core cycle of 940 MHz"));
            break;
        }
        export_sums_add(&r->sums, r->x, t->process, t->name, r->name[e->name_iid], 0, 0);
        r->events++;
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

TEST(perfetto_has_all_that_the_machine_counted_in_order)
{
    static struct reading r;
    struct export_result result;
    struct export_rig x;
    char path[300];
    int arrows = 0;
    Trace *trace;

    export_rig_open(&x, TRACE_BUNDLE);
    r.x = &x;
    trace = unpack(export_rig_write(&x, "perfetto", &export_everything, &result, path, 300));
    for (size_t i = 0; i < trace->n_packet; i++) {
        const TracePacket *p = trace->packet[i];

        assert_int_equal(p->sequence_flags, i ? 2 : 3);
        if (p->track_descriptor)
            read_descriptor(&r, p->track_descriptor);
        if (p->interned_data)
            read_strings(&r, p->interned_data);
        if (p->track_event)
            read_event(&r, p->track_event, p->timestamp);
    }
    for (int i = 0; i < r.track_count; i++)
        assert_int_equal(r.track[i].depth, 0);
    assert_int_equal(r.events, result.event_count);
    assert_int_equal(r.samples, result.sample_count);
    for (int i = 0; i < 4000; i++) {
        assert_true(r.flows[i] == 0 || r.flows[i] == 2);
        arrows += r.flows[i] == 2;
    }
    assert_true(arrows >= 4 * 3 * EXPORT_LAUNCHES);
    export_sums_assert(&r.sums, &x.sums);
    trace__free_unpacked(trace, NULL);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
