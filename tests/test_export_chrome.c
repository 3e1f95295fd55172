/* Chrome traces of a real run: everything of it, once, where it belongs. */
#include "tests/test.h"

#include "tests/export_rig.h"
#include "tests/toy.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chrome_has_all_that_the_machine_counted_and_nothing_overlaps),
        cmocka_unit_test(chrome_is_the_same_gzipped_and_the_suffix_tells),
        cmocka_unit_test(chrome_arrows_lead_from_a_copy_to_the_wait_that_it_ended),
        cmocka_unit_test(chrome_names_launches_operations_and_their_places),
        cmocka_unit_test(chrome_levels_have_less_and_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
