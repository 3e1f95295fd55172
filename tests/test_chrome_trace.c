/* The Chrome trace of a hand-made launch (tests/toy.c). */
#include "tests/test.h"

#include "report/files.h"
#include "tests/toy.h"

#include <math.h>

static json_t *write_trace(const struct report_view *v, const char *suffix, size_t limit,
                           size_t *left_out, unsigned char magic[2])
{
    char folder[200], path[300], *text;
    json_error_t where;
    struct err e;
    json_t *root;
    FILE *f;

    snprintf(path, sizeof(path), "%s/t.json%s", toy_make_folder(folder, sizeof(folder)), suffix);
    assert_int_equal(chrome_write(v, path, *suffix, limit, left_out, &e), 0);
    f = fopen(path, "rb");
    assert_int_equal(fread(magic, 1, 2, f), 2);
    fclose(f);
    text = toy_read_text(path);
    root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    toy_remove_folder(folder);
    return root;
}

TEST(trace_is_the_same_gzipped_or_not)
{
    struct toy t;
    size_t left_out;
    unsigned char magic[2];
    json_t *plain, *zipped;

    toy_trace(&t);
    plain = write_trace(&t.view, "", 0, &left_out, magic);
    assert_int_equal(magic[0], '{');
    zipped = write_trace(&t.view, ".gz", 0, &left_out, magic);
    assert_int_equal(magic[0], 0x1f);
    assert_int_equal(magic[1], 0x8b);
    assert_true(json_equal(plain, zipped));
    assert_string_equal(json_string_value(json_object_get(plain, "displayTimeUnit")), "ns");
    json_decref(plain);
    json_decref(zipped);
}

TEST(trace_event_tells_time_operation_and_source)
{
    struct toy t;
    size_t left_out, i;
    unsigned char magic[2];
    json_t *root, *event, *args;
    int found = 0;

    toy_trace(&t);
    root = write_trace(&t.view, "", 0, &left_out, magic);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const char *name = json_string_value(json_object_get(event, "name"));

        args = json_object_get(event, "args");
        if (strcmp(name, "vadd.f32") == 0 && toy_get_int(event, "pid") == 2) {
            assert_true(fabs(toy_get_real(event, "ts") - 1.0) < 1e-12);
            assert_true(fabs(toy_get_real(event, "dur") - 0.001) < 1e-12);
            assert_int_equal(toy_get_int(args, "bundle"), 2);
            assert_int_equal(toy_get_int(args, "line"), 12);
            assert_string_equal(json_string_value(json_object_get(args, "note")), "add \"two\"");
            found++;
        } else if (strcmp(name, "vtrace") == 0) {
            assert_int_equal(toy_get_int(args, "marker"), 0);
            found++;
        } else if (strcmp(name, "hbm_wait") == 0) {
            found++;
        } else if (strcmp(name, "process_name") == 0 && toy_get_int(event, "pid") == 2) {
            assert_string_equal(json_string_value(json_object_get(args, "name")),
                                "core 1 (chip 1)");
            found++;
        } else if (strcmp(name, "dma.hbm_to_vmem") == 0 && toy_get_int(args, "bundle") == 1) {
            assert_true(toy_get_int(args, "bytes") >= 512);
            found++;
        }
    }
    assert_int_equal(found, 1 + 4 + 1 + 4);
    assert_int_equal(left_out, 0);
    json_decref(root);
}

TEST(trace_events_of_one_thread_never_overlap)
{
    struct toy t;
    size_t left_out, i, thread_count = 0;
    unsigned char magic[2];
    json_t *root, *event;
    struct { json_int_t tid; double end; } thread[32];

    toy_trace(&t);
    t.chip.chip_clock_mhz = 940;        /* a cycle is no whole number of picoseconds */
    root = write_trace(&t.view, "", 0, &left_out, magic);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        size_t n = 0;

        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0)
            continue;
        while (n < thread_count && thread[n].tid != toy_get_int(event, "tid"))
            n++;
        if (n == thread_count) {
            thread[n].tid = toy_get_int(event, "tid");
            thread[n].end = 0.0;
            thread_count++;
        }
        assert_true(toy_get_real(event, "ts") >= thread[n].end - 1e-9);
        thread[n].end = toy_get_real(event, "ts") + toy_get_real(event, "dur");
    }
    /* per core: two scalar slots, one valu, one mxu, two of three DMAs at a time, stalls */
    assert_int_equal(thread_count, 2 * (2 + 1 + 1 + 2 + 1));
    json_decref(root);
}

TEST(trace_beyond_the_limit_is_left_out_and_counted)
{
    struct toy t;
    size_t left_out, i, events_written = 0;
    unsigned char magic[2];
    json_t *root, *event;

    toy_trace(&t);
    root = write_trace(&t.view, ".gz", TOY_EVENT_COUNT + 2, &left_out, magic);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
        if (strcmp(json_string_value(json_object_get(event, "ph")), "M") != 0)
            events_written++;
    assert_int_equal(events_written, TOY_EVENT_COUNT + 2);
    assert_int_equal(left_out, TOY_EVENT_COUNT - 2);
    assert_int_equal(toy_get_int(json_object_get(root, "otherData"), "left_out_events"),
                     TOY_EVENT_COUNT - 2);
    json_decref(root);
}

TEST(trace_path_that_cannot_be_written_is_an_error_with_its_path)
{
    struct toy t;
    struct err e;
    size_t left_out;

    toy_trace(&t);
    assert_int_equal(chrome_write(&t.view, "/dev/null/t.json.gz", true, 0, &left_out, &e), -1);
    assert_non_null(strstr(e.msg, "/dev/null/t.json.gz"));
    assert_non_null(strstr(e.msg, "Not a directory"));
    assert_int_equal(chrome_write(&t.view, "/dev/full", true, 0, &left_out, &e), -1);
    assert_string_equal(e.msg, "cannot write /dev/full: No space left on device");
    assert_int_equal(chrome_write(&t.view, "/dev/full", false, 0, &left_out, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_is_the_same_gzipped_or_not),
        cmocka_unit_test(trace_event_tells_time_operation_and_source),
        cmocka_unit_test(trace_events_of_one_thread_never_overlap),
        cmocka_unit_test(trace_beyond_the_limit_is_left_out_and_counted),
        cmocka_unit_test(trace_path_that_cannot_be_written_is_an_error_with_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
