/* Chrome traces of a real run: everything of it, once, where it belongs. */
#include "tests/test.h"

#include "tests/rigs/export_rig.h"
#include "tests/rigs/toy.h"

#include <math.h>

static json_t *load_json(const char *path)
{
    char *text = toy_read_text(path);
    json_error_t where;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);

    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    return root;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    assert_non_null(text);
    return text;
}

#define THREAD_MAX 4000

/* names and the last end of each (pid, tid) */
struct threads {
    struct thread {
        char name[80];
        double end_us;
        int64_t events;
    } thread[THREAD_MAX];
    char process[64][64];
};

static void read_names(struct threads *t, const json_t *root)
{
    const json_t *event;
    size_t i;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const json_t *args = json_object_get(event, "args");

        if (strcmp(text_of(event, "name"), "process_name") == 0)
            snprintf(t->process[toy_get_int(event, "pid")], 64, "%s", text_of(args, "name"));
        else if (strcmp(text_of(event, "name"), "thread_name") == 0)
            snprintf(t->thread[toy_get_int(event, "tid")].name, 80, "%s", text_of(args, "name"));
    }
}

/* every event in the order of its thread, none over another; their sums */
static int64_t read_events(struct threads *t, const json_t *root, const struct export_rig *x,
                           struct export_sums *s)
{
    const json_t *event;
    int64_t count = 0;
    size_t i;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const char *phase = text_of(event, "ph");
        struct thread *thread = &t->thread[toy_get_int(event, "tid")];
        double start_us, us = 0.0;
        const json_t *bytes;

        if (strcmp(phase, "X") != 0 && strcmp(phase, "i") != 0)
            continue;
        start_us = toy_get_real(event, "ts");
        if (*phase == 'X')
            us = toy_get_real(event, "dur");
        assert_true(start_us >= thread->end_us - 1e-9 || *phase == 'i');
        thread->end_us = start_us + us > thread->end_us ? start_us + us : thread->end_us;
        bytes = json_object_get(json_object_get(event, "args"), "bytes");
        export_sums_add(s, x, t->process[toy_get_int(event, "pid")], thread->name,
                        text_of(event, "name"), export_rig_cycles(x, us * 1e6),
                        json_integer_value(bytes));
        count++;
    }
    return count;
}

TEST(chrome_has_all_that_the_machine_counted_and_nothing_overlaps)
{
    static struct threads threads;
    struct export_sums seen = {.link_bytes = 0};
    struct export_result result;
    struct export_rig x;
    char path[300];
    json_t *root;

    memset(&threads, 0, sizeof(threads));
    export_rig_open(&x, TRACE_BUNDLE);
    root = load_json(export_rig_write(&x, "json", &export_everything, &result, path, 300));
    read_names(&threads, root);
    assert_int_equal(read_events(&threads, root, &x, &seen), result.event_count);
    export_sums_assert(&seen, &x.sums);
    assert_string_equal(text_of(root, "displayTimeUnit"), "ns");
    assert_int_equal(toy_get_int(json_object_get(root, "otherData"), "cycles"),
                     strace_info(x.t)->cycles);
    assert_int_equal(toy_get_int(json_object_get(root, "otherData"), "left_out_bundles"), 0);
    json_decref(root);
    export_rig_close(&x);
}

TEST(chrome_is_the_same_gzipped_and_the_suffix_tells)
{
    struct export_result result;
    struct export_rig x;
    unsigned char magic[2];
    char path[300];
    json_t *plain, *zipped;
    FILE *f;

    export_rig_open(&x, TRACE_BUNDLE);
    plain = load_json(export_rig_write(&x, "json", &export_everything, &result, path, 300));
    zipped = load_json(export_rig_write(&x, "json.gz", &export_everything, &result, path, 300));
    assert_true(json_equal(plain, zipped));
    f = fopen(path, "rb");
    assert_int_equal(fread(magic, 1, 2, f), 2);
    fclose(f);
    assert_int_equal(magic[0], 0x1f);
    assert_int_equal(magic[1], 0x8b);
    json_decref(plain);
    json_decref(zipped);
    export_rig_close(&x);
}

/* arrows: each number begins once on a copy and ends once inside a wait for it, later */
TEST(chrome_arrows_lead_from_a_copy_to_the_wait_that_it_ended)
{
    struct { double ts; int begins, ends; } flow[4000] = {{0}};
    struct export_result result;
    struct export_rig x;
    char path[300];
    const json_t *event;
    int found = 0;
    size_t i;
    json_t *root;

    export_rig_open(&x, TRACE_BUNDLE);
    root = load_json(export_rig_write(&x, "json", &export_everything, &result, path, 300));
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        bool is_end = strcmp(text_of(event, "ph"), "f") == 0;
        int64_t id;

        if (!is_end && strcmp(text_of(event, "ph"), "s") != 0)
            continue;
        id = toy_get_int(event, "id");
        assert_true(id > 0 && id < 4000);
        if (is_end) {
            flow[id].ends++;
            assert_string_equal(text_of(event, "bp"), "e");
        } else {
            flow[id].begins++;
        }
        flow[id].ts += (is_end ? 1 : -1) * toy_get_real(event, "ts");
    }
    for (i = 0; i < 4000; i++) {
        assert_int_equal(flow[i].begins, flow[i].ends);
        assert_true(flow[i].begins <= 1);
        found += flow[i].begins;
        assert_true(flow[i].begins == 0 || flow[i].ts > 0.0);
    }
    /* at least: each of 4 cores waits for its input, its neighbour and its result, twice */
    assert_true(found >= 4 * 3 * 2);
    json_decref(root);
    export_rig_close(&x);
}

static int64_t count_named(const json_t *root, const char *name)
{
    const json_t *event;
    int64_t count = 0;
    size_t i;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
        count += strcmp(text_of(event, "name"), name) == 0;
    return count;
}

TEST(chrome_names_launches_operations_and_their_places)
{
    struct export_result result;
    struct export_rig x;
    char path[300];
    const json_t *event;
    int found = 0;
    size_t i;
    json_t *root;

    export_rig_open(&x, TRACE_BUNDLE);
    root = load_json(export_rig_write(&x, "json", &export_everything, &result, path, 300));
    assert_int_equal(count_named(root, "first \"one\""), EXPORT_CORES);
    assert_int_equal(count_named(root, "second"), EXPORT_CORES);
    assert_int_equal(count_named(root, "marker 7"), EXPORT_LAUNCHES);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const json_t *args = json_object_get(event, "args");

        if (strcmp(text_of(event, "name"), "vadd.f32") == 0 && toy_get_int(event, "pid") == 8) {
            assert_string_equal(text_of(args, "source"), "test.tasm:4");
            assert_string_equal(text_of(args, "source_op"), "guarded");
            assert_int_equal(toy_get_int(args, "bundle"), 2);
            found++;
        }
    }
    /* on the track of the unit; that of bundles has the same name for a bundle of one */
    assert_int_equal(found, 2 * EXPORT_LAUNCHES);
    json_decref(root);
    export_rig_close(&x);
}

TEST(chrome_levels_have_less_and_less)
{
    struct export_options o = export_everything;
    struct export_result result;
    int64_t last = 0;
    struct export_rig x;
    char path[300];

    export_rig_open(&x, TRACE_SLOT);
    for (int level = TRACE_STEP; level <= TRACE_SLOT; level++) {
        o.level = (enum trace_level)level;
        json_decref(load_json(export_rig_write(&x, "json", &o, &result, path, 300)));
        assert_true(result.event_count > last);
        if (level == TRACE_STEP)        /* a step and a program per core and launch */
            assert_int_equal(result.event_count, 2 * EXPORT_CORES * EXPORT_LAUNCHES);
        last = result.event_count;
    }
    export_rig_close(&x);
}

struct span {
    char name[96];
    int64_t tid;
    double ts, us;
};

/* slices and markers in the order of the file */
static struct span *read_spans(const json_t *root, size_t *count)
{
    struct span *span = calloc(json_array_size(json_object_get(root, "traceEvents")) + 1,
                               sizeof(*span));
    const json_t *event;
    size_t i;

    *count = 0;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        struct span *s = &span[*count];

        if (strcmp(text_of(event, "ph"), "X") != 0 && strcmp(text_of(event, "ph"), "i") != 0)
            continue;
        snprintf(s->name, sizeof(s->name), "%s", text_of(event, "name"));
        s->ts = toy_get_real(event, "ts");
        s->us = *text_of(event, "ph") == 'X' ? toy_get_real(event, "dur") : 0.0;
        ++*count;
    }
    return span;
}

/* the last cycle that begins, in whole picoseconds, at or before a time in microseconds */
static int64_t cycle_at(double us, int64_t mhz)
{
    int64_t ps = llround(us * 1e6), cycle = ps * mhz / 1000000;

    return (cycle + 1) * 1000000 / mhz <= ps ? cycle + 1 : cycle;
}

/* what a file of cycles first..end - 1 must have of all events */
static size_t count_within(const struct export_rig *x, const struct span *span, size_t count,
                           int64_t first, int64_t end)
{
    int64_t mhz = x->rig.chip.chip_clock_mhz;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t start = cycle_at(span[i].ts, mhz);
        int64_t last = cycle_at(span[i].ts + span[i].us, mhz);

        found += start < end && (last > first || start >= first);
    }
    return found;
}

TEST(chrome_of_a_window_has_what_overlaps_it)
{
    static const int64_t windows[][2] = {{0, 1}, {300, 301}, {700, 1500}, {5000, 6000}};
    struct export_options o = export_everything;
    struct export_result result;
    struct export_rig x;
    struct span *span;
    size_t count;
    char path[300];
    json_t *root;

    export_rig_open(&x, TRACE_BUNDLE);
    root = load_json(export_rig_write(&x, "json", &o, &result, path, 300));
    span = read_spans(root, &count);
    json_decref(root);
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        o.first = windows[i][0];
        o.end = windows[i][1];
        export_rig_write(&x, "json", &o, &result, path, 300);
        assert_int_equal(result.event_count,
                         count_within(&x, span, count, o.first, o.end));
        assert_int_equal(result.first, o.first);
        assert_int_equal(result.end, o.end);
    }
    free(span);
    export_rig_close(&x);
}

/* ends at one cycle for all; what is gone is told, bundle by bundle */
TEST(chrome_with_a_limit_is_the_beginning_of_the_whole)
{
    static const int64_t limits[] = {1, 50, 1000, 3000, 7777, 1000000};
    struct export_options o = export_everything;
    struct export_result result;
    struct export_rig x;
    struct span *span, *part;
    size_t count, part_count;
    char path[300];
    json_t *root;

    export_rig_open(&x, TRACE_BUNDLE);
    root = load_json(export_rig_write(&x, "json", &o, &result, path, 300));
    span = read_spans(root, &count);
    json_decref(root);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        static struct threads threads;
        struct export_sums sums = {.link_bytes = 0};
        int64_t bundles = 0, wanted = 0;

        memset(&threads, 0, sizeof(threads));
        o.event_limit = limits[i];
        root = load_json(export_rig_write(&x, "json", &o, &result, path, 300));
        part = read_spans(root, &part_count);
        assert_int_equal(part_count, result.event_count);
        assert_true(result.event_count <= limits[i]);
        assert_int_equal(part_count, count_within(&x, span, count, 0, result.end));
        assert_int_equal(result.left_out_cycles, strace_info(x.t)->cycles - result.end);
        read_names(&threads, root);
        read_events(&threads, root, &x, &sums);
        for (int core = 0; core < EXPORT_CORES; core++) {
            bundles += sums.bundles[core];
            wanted += x.sums.bundles[core];
        }
        assert_int_equal(bundles + result.left_out_bundles, wanted);
        assert_int_equal(toy_get_int(json_object_get(root, "otherData"), "left_out_bundles"),
                         result.left_out_bundles);
        if (limits[i] < 10000)          /* no more than it must */
            assert_true(result.event_count > limits[i] / 2 || limits[i] <= 50);
        free(part);
        json_decref(root);
    }
    assert_int_equal(result.left_out_cycles, 0);
    free(span);
    export_rig_close(&x);
}

TEST(chrome_at_level_slot_has_every_operation)
{
    static struct threads threads;
    struct export_options o = export_everything;
    int64_t seen[MACHINE_UNIT_MAX] = {0};
    struct export_result result;
    struct export_rig x;
    const json_t *event;
    char path[300];
    json_t *root;
    size_t i;

    memset(&threads, 0, sizeof(threads));
    export_rig_open(&x, TRACE_SLOT);
    o.level = TRACE_SLOT;
    o.core = 5;
    root = load_json(export_rig_write(&x, "json", &o, &result, path, 300));
    read_names(&threads, root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const char *track = threads.thread[toy_get_int(event, "tid")].name;

        if (strcmp(text_of(event, "ph"), "X") != 0 && strcmp(text_of(event, "ph"), "i") != 0)
            continue;
        for (int unit = 0; unit < strace_info(x.t)->unit_count; unit++) {
            const char *name = strace_unit_name(x.t, unit);
            size_t length = strlen(name);

            seen[unit] += strncmp(track, name, length) == 0
                          && (track[length] == '\0' || track[length] == ' ');
        }
    }
    for (int unit = 0; unit < strace_info(x.t)->unit_count; unit++)
        if (unit != 6)                  /* dma: the track of copies */
            assert_int_equal(seen[unit], EXPORT_LAUNCHES
                             * machine_counters(x.rig.m, 5)->unit[unit].op_count);
    json_decref(root);
    export_rig_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chrome_has_all_that_the_machine_counted_and_nothing_overlaps),
        cmocka_unit_test(chrome_is_the_same_gzipped_and_the_suffix_tells),
        cmocka_unit_test(chrome_arrows_lead_from_a_copy_to_the_wait_that_it_ended),
        cmocka_unit_test(chrome_names_launches_operations_and_their_places),
        cmocka_unit_test(chrome_levels_have_less_and_less),
        cmocka_unit_test(chrome_of_a_window_has_what_overlaps_it),
        cmocka_unit_test(chrome_with_a_limit_is_the_beginning_of_the_whole),
        cmocka_unit_test(chrome_at_level_slot_has_every_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
