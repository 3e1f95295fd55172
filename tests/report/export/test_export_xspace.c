/* Profiles for XProf of a real run: the rules that its readers rely on, and the sums. */
#include "tests/test.h"

#include "report/proto/xplane.pb-c.h"
#include "tests/rigs/export_rig.h"
#include "tests/rigs/toy.h"

static XSpace *unpack(const char *path)
{
    size_t capacity = 64u << 20, bytes;
    uint8_t *data = malloc(capacity);
    FILE *f = fopen(path, "rb");
    XSpace *space;

    assert_non_null(f);
    bytes = fread(data, 1, capacity, f);
    assert_true(bytes > 0 && bytes < capacity);
    fclose(f);
    space = xspace__unpack(NULL, bytes, data);
    assert_non_null(space);
    free(data);
    return space;
}

static const XEventMetadata *metadata_of(const XPlane *p, int64_t id)
{
    for (size_t i = 0; i < p->n_event_metadata; i++)
        if (p->event_metadata[i]->key == id)
            return p->event_metadata[i]->value;
    fail_msg("an event without metadata in %s", p->name);
    return NULL;
}

static const char *stat_name(const XPlane *p, int64_t id)
{
    for (size_t i = 0; i < p->n_stat_metadata; i++)
        if (p->stat_metadata[i]->key == id)
            return p->stat_metadata[i]->value->name;
    fail_msg("a stat without metadata in %s", p->name);
    return NULL;
}

static const XStat *find_stat(const XPlane *p, XStat **list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(stat_name(p, list[i]->metadata_id), name) == 0)
            return list[i];
    return NULL;
}

static int64_t stat_int(const XPlane *p, XStat **list, size_t count, const char *name)
{
    const XStat *s = find_stat(p, list, count, name);

    if (!s)
        fail_msg("no stat %s in %s", name, p->name);
    assert_int_equal(s->value_case, XSTAT__VALUE_INT64_VALUE);
    return s->int64_value;
}

/* our own names of what XProf's lines are */
static const char *const own_names[][2] = {
    {"Steps", "steps"}, {"XLA Modules", "programs"}, {"XLA Ops", "source operations"},
    {"Async XLA Ops", "copies"}, {"LLO Instructions", "bundles"}, {"Stalls", "stalls"},
    {"Tensor Core Sync Flag", "sync flag"}, {"XLA TraceMe", "markers"},
    {"SALU Instructions", "scalar"}, {"VALU Instructions", "valu"},
    {"EUP Instructions", "eup"}, {"XLU Instructions", "xlu0"}, {"VLD Instructions", "load"},
    {"VST Instructions", "store"}, {"Misc Instructions", "misc"},
    {"MXU0 Instructions", "mxu0"}, {"MXU0 Push Instructions", "mxu0.push"},
    {"_counters_", "counters"},
};

static void own_name(const char *line, char *name, size_t name_bytes)
{
    const char *lane = strstr(line, " #");
    size_t length = lane ? (size_t)(lane - line) : strlen(line);

    for (size_t i = 0; i < COUNT_OF(own_names); i++)
        if (strlen(own_names[i][0]) == length && strncmp(line, own_names[i][0], length) == 0) {
            snprintf(name, name_bytes, "%s%s", own_names[i][1], lane ? lane : "");
            return;
        }
    snprintf(name, name_bytes, "%s", line);
}

/* events in the order of time; two of one line overlap only where one holds the other */
static void check_line(const XLine *l)
{
    int64_t start = 0, end = 0;

    for (size_t i = 0; i < l->n_events; i++) {
        const XEvent *e = l->events[i];
        int64_t e_end = e->offset_ps + e->duration_ps;

        assert_true(e->duration_ps >= 0 && e->offset_ps >= start);
        assert_true(e->offset_ps >= end || e_end <= end);
        if (e_end > end || e->offset_ps >= end) {
            start = e->offset_ps;
            end = e_end;
        }
        assert_true(e_end <= l->duration_ps);
    }
}

static void add_line(struct export_sums *s, const struct export_rig *x, const XPlane *p,
                     const XLine *l)
{
    char process[64], track[64];
    int core;

    check_line(l);
    assert_int_equal(l->timestamp_ns, 0);
    assert_true(l->n_events > 0);
    if (sscanf(p->name, "/device:TPU:%d", &core) == 1)
        snprintf(process, sizeof(process), "core %d", core);
    else
        snprintf(process, sizeof(process), "%s", p->name + strlen("/device:CUSTOM:"));
    own_name(l->name, track, sizeof(track));
    for (size_t i = 0; i < l->n_events; i++) {
        const XEvent *e = l->events[i];
        const XStat *bytes = find_stat(p, e->stats, e->n_stats, "bytes_accessed");

        export_sums_add(s, x, process, track, metadata_of(p, e->metadata_id)->name,
                        export_rig_cycles(x, (double)e->duration_ps),
                        bytes ? bytes->int64_value : 0);
    }
}

TEST(xspace_has_all_that_the_machine_counted_and_lines_nest)
{
    struct export_sums seen = {.link_bytes = 0};
    struct export_result result;
    struct export_rig x;
    char path[300];
    XSpace *space;

    export_rig_open(&x, TRACE_BUNDLE);
    space = unpack(export_rig_write(&x, "xspace", &export_everything, &result, path, 300));
    for (size_t i = 0; i < space->n_planes; i++)
        for (size_t k = 0; k < space->planes[i]->n_lines; k++)
            add_line(&seen, &x, space->planes[i], space->planes[i]->lines[k]);
    export_sums_assert(&seen, &x.sums);
    xspace__free_unpacked(space, NULL);
    export_rig_close(&x);
}

static const XLine *find_line(const XPlane *p, const char *name)
{
    const XLine *found = NULL;

    for (size_t i = 0; i < p->n_lines; i++) {
        if (strcmp(p->lines[i]->name, name) != 0)
            continue;
        assert_null(found);             /* one of each */
        found = p->lines[i];
    }
    return found;
}

static const XPlane *find_plane(const XSpace *space, const char *name)
{
    for (size_t i = 0; i < space->n_planes; i++)
        if (strcmp(space->planes[i]->name, name) == 0)
            return space->planes[i];
    return NULL;
}

/* steps, programs and operations belong to a group, and operations to their step's */
static void check_groups(const XPlane *p)
{
    static const char *const lines[] = {"Steps", "XLA Modules", "XLA Ops", "Async XLA Ops"};
    const XLine *steps = find_line(p, "Steps");

    assert_int_equal(steps->n_events, EXPORT_LAUNCHES);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const XLine *l = find_line(p, lines[i]);

        for (size_t k = 0; l && k < l->n_events; k++) {
            const XEvent *e = l->events[k];
            int64_t group = stat_int(p, e->stats, e->n_stats, "group_id");
            const XEvent *step = steps->events[group - 1];

            assert_true(e->offset_ps >= step->offset_ps);
            assert_true(e->offset_ps + e->duration_ps <= step->offset_ps + step->duration_ps);
        }
    }
}

TEST(xspace_follows_the_rules_that_xprof_derives_steps_by)
{
    struct export_result result;
    struct export_rig x;
    char path[300], name[40];
    const XPlane *p;
    XSpace *space;

    export_rig_open(&x, TRACE_BUNDLE);
    space = unpack(export_rig_write(&x, "xspace", &export_everything, &result, path, 300));
    assert_int_equal(space->n_hostnames, 1);
    assert_int_equal(space->n_warnings, 0);
    for (int core = 0; core < EXPORT_CORES; core++) {
        snprintf(name, sizeof(name), "/device:TPU:%d", core);
        p = find_plane(space, name);
        assert_non_null(p);
        assert_null(find_line(p, "Framework Ops"));
        assert_non_null(find_line(p, "_counters_"));
        check_groups(p);
        assert_int_equal(stat_int(p, p->stats, p->n_stats, "device_id"), core);
        assert_non_null(find_stat(p, p->stats, p->n_stats, "peak_teraflops_per_second"));
        assert_non_null(find_stat(p, p->stats, p->n_stats, "peak_hbm_bw_gigabytes_per_second"));
        assert_true((double)find_stat(p, p->stats, p->n_stats, "memory_size")->uint64_value
                    == ntrace_info(x.t)->chip->hbm_gib * (1 << 30)
                           / (double)ntrace_info(x.t)->chip->chip_cores);
        for (size_t i = 0; i < p->n_lines; i++)
            for (size_t k = 0; k < i; k++)
                assert_true(p->lines[i]->id != p->lines[k]->id);
    }
    p = find_plane(space, "Task Environment");
    assert_non_null(p);
    assert_int_equal(p->n_lines, 0);
    assert_int_equal(find_stat(p, p->stats, p->n_stats, "profile_start_time")->uint64_value, 0);
    assert_int_equal(find_stat(p, p->stats, p->n_stats, "profile_stop_time")->uint64_value,
                     ntrace_info(x.t)->cycles * 1000 / ntrace_info(x.t)->chip->chip_clock_mhz);
    assert_non_null(find_plane(space, "/device:CUSTOM:HBM of chip 3"));
    assert_non_null(find_plane(space, "/device:CUSTOM:links between chips"));
    xspace__free_unpacked(space, NULL);
    export_rig_close(&x);
}

/* what each operation costs, times how often it ran, is what its core counted */
TEST(xspace_operations_add_up_to_the_flops_and_bytes_of_the_core)
{
    struct export_result result;
    struct export_rig x;
    char path[300];
    XSpace *space;

    export_rig_open(&x, TRACE_BUNDLE);
    space = unpack(export_rig_write(&x, "xspace", &export_everything, &result, path, 300));
    for (int core = 4; core < 7; core++) {
        const struct core_counters *k = machine_counters(x.rig.m, core);
        int64_t flops = 0, bytes = 0, products = 0;
        char name[40];
        const XPlane *p;
        const XLine *l;

        snprintf(name, sizeof(name), "/device:TPU:%d", core);
        p = find_plane(space, name);
        l = find_line(p, "XLA Ops");
        for (size_t i = 0; i < l->n_events; i++) {
            const XEventMetadata *m = metadata_of(p, l->events[i]->metadata_id);
            const XStat *category = find_stat(p, m->stats, m->n_stats, "hlo_category");

            flops += stat_int(p, m->stats, m->n_stats, "flops");
            bytes += stat_int(p, m->stats, m->n_stats, "bytes_accessed");
            assert_true(stat_int(p, m->stats, m->n_stats, "symbol_id") > 0);
            assert_true(stat_int(p, m->stats, m->n_stats, "program_id") > 0);
            products += strcmp(category->str_value, "convolution fusion") == 0;
        }
        assert_int_equal(flops, EXPORT_LAUNCHES * k->matmul_flops);
        assert_int_equal(bytes, EXPORT_LAUNCHES * (k->hbm_read_bytes + k->hbm_write_bytes));
        assert_true(products > 0 && flops > 0);
    }
    xspace__free_unpacked(space, NULL);
    export_rig_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xspace_has_all_that_the_machine_counted_and_lines_nest),
        cmocka_unit_test(xspace_follows_the_rules_that_xprof_derives_steps_by),
        cmocka_unit_test(xspace_operations_add_up_to_the_flops_and_bytes_of_the_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
