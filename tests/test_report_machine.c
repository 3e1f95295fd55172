/* Reports of a real launch: four cores of two teaching chips add vectors. */
#include "tests/test.h"

#include "isa/asm.h"
#include "report/report.h"
#include "tests/toy.h"

#include <jansson.h>
#include <math.h>

static const char source[] =
    ".note copy\n"
    "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] }\n"
    "{ dma.hbm_to_vmem 256, 256, 256, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 512 }\n"
    "{ vsyncadd [sflag:0], -512 }\n"
    ".note add\n"
    "{ v0 = vld [vmem:0] }\n"
    "{ v1 = vld [vmem:16] }\n"
    "{ v2 = vadd.f32 v0, v1 ;; s1 = smov 5 ;; s2 = smov 6 }\n"
    "{ vst [vmem:0] v2 }\n"
    "{ dma.vmem_to_hbm 0, 128, 512, [sflag:1] }\n"
    "{ dma.done.wait [sflag:1], 128 }\n"
    "{ vsyncadd [sflag:1], -128 }\n"
    "{ shalt }\n";

/* operations whose mnemonics make choices */
static const char choices[] =
    "{ v0 = vld [vmem:0] }\n"
    "{ vmatpush.xpose.msrb.mxu0 v0 ;; p1 = scmp.ge.u32.totalorder 2, 1 }\n"
    "{ vm1 = vcmp.gt.u32.totalorder v0, 1 }\n"
    "{ vmatpush.msra.mxu0 v0 }\n"
    "{ vrot.lane.b32.xlu0 v0, 1 }\n"
    "{ v1 = vpop.permute.xlu0 }\n"
    "{ shalt }\n";

struct launch {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct isa_program program;
    struct machine *machine;
    struct report_step step;
};

/* `text` on the first `count` of four cores */
static void start_text(struct launch *l, const char *text, int count, bool is_traced)
{
    struct machine_options options = {.thread_count = 1, .simd = "c", .trace = is_traced};
    struct isa_errors errors;
    struct err e;

    arena_init(&l->arena);
    if (isa_assemble(text, strlen(text), "add.tasm", &l->arena, &l->program, &errors) != 0)
        fail_msg("%d: %s", errors.err[0].line, errors.err[0].msg);
    assert_int_equal(slice_parse(&l->slice, "tiny-4", &e), 0);
    assert_int_equal(chip_load_builtin(&l->chip, "tiny", NULL, &l->arena, &e), 0);
    l->machine = machine_create(&l->slice, &l->chip, &options, &e);
    assert_non_null(l->machine);
    for (int i = 0; i < count; i++)
        if (machine_load(l->machine, i, &l->program, &e) != 0)
            fail_msg("%s", e.msg);
    if (machine_run(l->machine, &e) != 0)
        fail_msg("%s", e.msg);
    l->step = (struct report_step){.title = "add.tasm", .machine = l->machine,
                                   .program = &l->program};
}

static void start(struct launch *l, int count, bool is_traced)
{
    start_text(l, source, count, is_traced);
}

static void finish(struct launch *l)
{
    machine_destroy(l->machine);
    arena_fini(&l->arena);
}

static json_t *load(const char *path)
{
    json_error_t where;
    char *text = toy_read_text(path);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);

    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    return root;
}

static int64_t get_int(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

TEST(folder_of_a_launch_tells_its_counters)
{
    struct launch l;
    struct report_run run = {.host_seconds = 1.0};
    struct err e;
    char folder[200], path[300], *text;
    json_t *root, *core;
    size_t i;

    start(&l, 4, false);
    run.step = l.step;
    toy_make_folder(folder, sizeof(folder));
    assert_int_equal(report_write_folder(&run, folder, &e), 0);
    snprintf(path, sizeof(path), "%s/stats.json", folder);
    root = load(path);
    assert_int_equal(get_int(root, "step_cycles"), machine_cycles(l.machine));
    assert_int_equal(json_array_size(json_object_get(root, "cores")), 4);
    assert_int_equal(json_array_size(json_object_get(root, "hbm")), 2);
    assert_true(json_array_size(json_object_get(root, "links")) > 0);
    json_array_foreach(json_object_get(root, "cores"), i, core) {
        int64_t sum = get_int(core, "issue") + get_int(core, "idle");
        const char *reason;
        json_t *cycles;

        json_object_foreach(json_object_get(core, "stalls"), reason, cycles)
            sum += json_integer_value(cycles);
        assert_int_equal(sum, machine_cycles(l.machine));
        assert_int_equal(get_int(core, "issue"), 12);
        assert_int_equal(get_int(core, "hbm_read_bytes"), 2 * 8192);
        assert_int_equal(get_int(core, "hbm_write_bytes"), 4096);
        assert_int_equal(get_int(json_object_get(core, "ops"), "vadd.f32"), 1);
        assert_true(get_int(json_object_get(core, "stalls"), "hbm_wait") > 0);
    }
    json_decref(root);
    snprintf(path, sizeof(path), "%s/report.txt", folder);
    text = toy_read_text(path);
    assert_non_null(strstr(text, "add.tasm on tiny-4"));
    assert_non_null(strstr(text, "bound by "));
    assert_non_null(strstr(text, "cycles of core 0 by source operation\n"));
    free(text);
    assert_int_equal(toy_remove_folder(folder), 4);
    finish(&l);
}

TEST(means_are_over_the_cores_that_ran)
{
    struct launch l;
    FILE *f = tmpfile();
    char text[8192] = "", row[100];

    assert_non_null(f);
    start(&l, 1, false);
    report_print_step(&l.step, f);
    rewind(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(text, "; 1 of 4 cores ran\n"));
    assert_non_null(strstr(text, "         mean of 1 core\n"));
    assert_non_null(strstr(text, "\nMXU, cores that ran\n"));
    assert_non_null(strstr(text, "\nHBM, chips of these cores\n"));
    snprintf(row, sizeof(row), "%-26s%14d %6.1f %%%14d %6.1f %%\n", "  issue", 12,
             1200.0 / (double)machine_cycles(l.machine), 12,
             1200.0 / (double)machine_cycles(l.machine));
    assert_non_null(strstr(text, row));
    assert_non_null(strstr(text, "  idle                                 0    0.0 %"
                                 "             0    0.0 %\n"));
    finish(&l);
}

/* per thread: nothing overlaps; in all: nothing outlasts the launch */
static double check_spans(json_t *root, double launch_us, int pid, const char *stalls_only)
{
    struct { json_int_t tid; double end; } thread[128];
    size_t count = 0, i;
    double stall_us = 0.0;
    json_t *event;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        double ts, dur;
        size_t n = 0;

        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0)
            continue;
        ts = json_real_value(json_object_get(event, "ts"));
        dur = json_real_value(json_object_get(event, "dur"));
        while (n < count && thread[n].tid != get_int(event, "tid"))
            n++;
        if (n == count) {
            assert_true(count < 128);
            thread[count].end = 0.0;
            thread[count++].tid = get_int(event, "tid");
        }
        assert_true(ts >= thread[n].end - 1e-9);
        thread[n].end = ts + dur;
        assert_true(ts + dur <= launch_us + 1e-6);
        if (get_int(event, "pid") == pid &&
            strcmp(json_string_value(json_object_get(event, "name")), stalls_only) == 0)
            stall_us += dur;
    }
    assert_true(count > 4);
    return stall_us;
}

TEST(trace_of_a_launch_agrees_with_its_counters)
{
    struct launch l;
    struct err e;
    char folder[200], path[300];
    double launch_us, stall_us;
    size_t left_out;
    json_t *root;

    start(&l, 4, true);
    launch_us = (double)machine_cycles(l.machine) / (double)l.chip.chip_clock_mhz;
    snprintf(path, sizeof(path), "%s/t.json.gz", toy_make_folder(folder, sizeof(folder)));
    assert_int_equal(report_write_trace(&l.step, path, 0, &left_out, &e), 0);
    assert_int_equal(left_out, 0);
    root = load(path);
    stall_us = check_spans(root, launch_us, 1, "hbm_wait");
    assert_true(fabs(stall_us * (double)l.chip.chip_clock_mhz -
                     (double)machine_counters(l.machine, 0)->stall_cycles[STALL_HBM]) < 1e-3);
    assert_int_equal(get_int(json_object_get(root, "otherData"), "cycles"),
                     machine_cycles(l.machine));
    json_decref(root);
    assert_int_equal(toy_remove_folder(folder), 1);
    finish(&l);
}

static int count_events(const json_t *root, const char *name)
{
    const json_t *event;
    size_t i;
    int count = 0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
        count += strcmp(json_string_value(json_object_get(event, "name")), name) == 0;
    return count;
}

TEST(events_are_named_as_their_operations_are_written)
{
    static const char *const names[] = {
        "vld", "vmatpush.xpose.msrb.mxu0", "vmatpush.msra.mxu0", "scmp.ge.u32.totalorder",
        "vcmp.gt.u32.totalorder", "vrot.lane.b32.xlu0", "shalt"};
    struct launch l;
    struct err e;
    char folder[200], path[300];
    size_t left_out;
    json_t *root;

    start_text(&l, choices, 1, true);
    snprintf(path, sizeof(path), "%s/t.json", toy_make_folder(folder, sizeof(folder)));
    assert_int_equal(report_write_trace(&l.step, path, 0, &left_out, &e), 0);
    root = load(path);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(count_events(root, names[i]), 1);
    json_decref(root);
    assert_int_equal(toy_remove_folder(folder), 1);
    finish(&l);
}

/* one key for an operation with choices, which claims none of them */
TEST(counters_of_operations_show_their_choices)
{
    struct launch l;
    struct report_run run = {.host_seconds = 1.0};
    struct err e;
    char folder[200], path[300];
    json_t *root, *ops;

    start_text(&l, choices, 1, false);
    run.step = l.step;
    toy_make_folder(folder, sizeof(folder));
    assert_int_equal(report_write_folder(&run, folder, &e), 0);
    snprintf(path, sizeof(path), "%s/stats.json", folder);
    root = load(path);
    ops = json_object_get(json_array_get(json_object_get(root, "cores"), 0), "ops");
    assert_int_equal(json_object_size(ops), 7);
    assert_int_equal(get_int(ops, "vmatpush{|1|2|3}{|.bf16|.s8|.u8|.s4|.u4|.f8e5m2"
                                  "|.f8e4m3b11fnuz|.f8e4m3fn}{|.xpose}.{msra|msrb}"), 2);
    assert_int_equal(get_int(ops, "scmp.{eq|ne|lt|le|gt|ge}.u32.totalorder"), 1);
    assert_int_equal(get_int(ops, "vrot.lane.b32"), 1);
    json_decref(root);
    assert_int_equal(toy_remove_folder(folder), 4);
    finish(&l);
}

/* "  add      12   3.4 %": the sum of the lines is what the core has not been idle for */
static int64_t sum_of_notes(const char *text)
{
    const char *at = strstr(text, "cycles of core 0 by source operation\n");
    int64_t sum = 0;

    assert_non_null(at);
    for (at = strchr(at, '\n') + 1; at[0] == ' '; at = strchr(at, '\n') + 1) {
        char number[32], *to = number;

        assert_int_equal(sscanf(at + 50, "%31s", number), 1);
        for (const char *from = number; *from; from++)
            if (*from != ',')
                *to++ = *from;
        *to = '\0';
        sum += strtoll(number, NULL, 10);
    }
    return sum;
}

TEST(step_table_shares_the_cycles_among_source_operations)
{
    const struct core_counters *k;
    struct launch l;
    char *text;
    size_t bytes;
    FILE *to;

    start(&l, 4, false);
    k = machine_counters(l.machine, 0);
    to = open_memstream(&text, &bytes);
    report_print_step(&l.step, to);
    fclose(to);
    assert_non_null(strstr(text, "\n  copy "));
    assert_non_null(strstr(text, "\n  add "));
    assert_int_equal(sum_of_notes(text), k->cycles - k->idle_cycles);
    free(text);
    finish(&l);
}

TEST(trace_of_an_untraced_launch_is_an_error)
{
    struct launch l;
    struct err e;
    char folder[200], path[300];
    size_t left_out;

    start(&l, 4, false);
    snprintf(path, sizeof(path), "%s/t.json", toy_make_folder(folder, sizeof(folder)));
    assert_int_equal(report_write_trace(&l.step, path, 0, &left_out, &e), -1);
    assert_non_null(strstr(e.msg, path));
    assert_non_null(strstr(e.msg, "kept none"));
    assert_int_equal(toy_remove_folder(folder), 0);
    finish(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_of_a_launch_tells_its_counters),
        cmocka_unit_test(means_are_over_the_cores_that_ran),
        cmocka_unit_test(trace_of_a_launch_agrees_with_its_counters),
        cmocka_unit_test(events_are_named_as_their_operations_are_written),
        cmocka_unit_test(counters_of_operations_show_their_choices),
        cmocka_unit_test(step_table_shares_the_cycles_among_source_operations),
        cmocka_unit_test(trace_of_an_untraced_launch_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
