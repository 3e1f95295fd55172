/* Reports of a real launch: four cores of two teaching chips add vectors. */
#include "tests/test.h"

#include "isa/asm.h"
#include "report/folder/report.h"
#include "tests/rigs/toy.h"

#include <jansson.h>
#include <math.h>

#define FILE_COUNT 13                   /* of a folder */

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
static void start_text(struct launch *l, const char *text, int count)
{
    struct machine_options options = {.thread_count = 1, .simd = "c"};
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

static void start(struct launch *l, int count)
{
    start_text(l, source, count);
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

    start(&l, 4);
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
    assert_non_null(strstr(text, "\nsource operations of one core\n"));
    free(text);
    assert_int_equal(toy_remove_folder(folder), FILE_COUNT);
    finish(&l);
}

TEST(means_are_over_the_cores_that_ran)
{
    struct launch l;
    FILE *f = tmpfile();
    char text[8192] = "", row[100];

    assert_non_null(f);
    start(&l, 1);
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

/* one key for an operation with choices, which claims none of them */
TEST(counters_of_operations_show_their_choices)
{
    struct launch l;
    struct report_run run = {.host_seconds = 1.0};
    struct err e;
    char folder[200], path[300];
    json_t *root, *ops;

    start_text(&l, choices, 1);
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
    assert_int_equal(toy_remove_folder(folder), FILE_COUNT);
    finish(&l);
}

TEST(step_table_names_source_operations)
{
    struct launch l;
    char *text;
    size_t bytes;
    FILE *to;

    start(&l, 4);
    to = open_memstream(&text, &bytes);
    report_print_step(&l.step, to);
    fclose(to);
    assert_non_null(strstr(text, "source operations of one core\n"));
    assert_non_null(strstr(text, "\n  copy         copy "));
    assert_non_null(strstr(text, "\n  loop fusion  add "));
    free(text);
    finish(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_of_a_launch_tells_its_counters),
        cmocka_unit_test(means_are_over_the_cores_that_ran),
        cmocka_unit_test(counters_of_operations_show_their_choices),
        cmocka_unit_test(step_table_names_source_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
