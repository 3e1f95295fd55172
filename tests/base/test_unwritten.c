/*
 * Reads of memory that nothing has written (--check-unwritten): what counts as
 * written, and since when.
 */
#include "base/units.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options checked = {.check_unwritten = true};

/* `part` NULL: nothing to find */
static void assert_unwritten(const char *text, const char *part)
{
    struct rig r;

    rig_open(&r, "v3", &checked);
    rig_load(&r, 0, text);
    if (!part && rig_run(&r) != 0)
        fail_msg("%s\n%s", text, r.err.msg);
    if (part && !strstr(rig_fault(&r, FAULT_UNWRITTEN), part))
        fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, part);
    rig_close(&r);
}

TEST(load_of_a_row_that_nothing_has_written_is_named)
{
    assert_unwritten("{ vst [vmem:8] v0 }\n{ v1 = vld [vmem:7] }\n{ shalt }",
                     "core 0 cycle 7 bundle 1 (line 2): vld reads vmem row 7 (granule 112), which "
                     "nothing has written in this launch");
    assert_unwritten("{ vst [vmem:8] v0 }\n{ v1 = vld [vmem:9] }\n{ shalt }",
                     "vld reads vmem row 16 (granule 256)");
    assert_unwritten("{ vst [vmem:8] v0 }\n{ v1 = vld [vmem:8] }\n{ shalt }", NULL);
}

TEST(sublanes_that_are_masked_out_are_not_read)
{
    assert_unwritten("{ vst [vmem:8] v0 }\n{ v1 = vld [vmem:9] sm:$0x7f }\n{ shalt }", NULL);
    assert_unwritten("{ vst [vmem:8] sm:$0xef v0 }\n{ v1 = vld [vmem:8] sm:$0xef }\n{ shalt }",
                     NULL);
    assert_unwritten("{ vst [vmem:8] sm:$0xef v0 }\n{ v1 = vld [vmem:8] }\n{ shalt }",
                     "vmem row 12 ");
    assert_unwritten("{ vst [vmem:8] ss:2 v0 }\n{ v1 = vld [vmem:8] ss:2 }\n{ shalt }", NULL);
    assert_unwritten("{ vst [vmem:8] ss:2 v0 }\n{ v1 = vld [vmem:8] ss:1 }\n{ shalt }",
                     "vmem row 9 ");
}

/* a masked store or a granule of a copy makes a whole row written */
TEST(any_part_of_a_row_counts_for_the_row)
{
    assert_unwritten("{ vst.msk [vmem:0] sm:$0x1 vm0, v0 }\n{ v1 = vld [vmem:0] sm:$0x1 }\n"
                     "{ shalt }", NULL);
    assert_unwritten("{ dma.hbm_to_vmem 0, 1, 31, [sflag:0] }\n{ dma.done.wait [sflag:0], 1 }\n"
                     "{ vsyncadd [sflag:0], -1 }\n{ v1 = vld [vmem:1] sm:$0x1 }\n"
                     "{ v1 = vld [vmem:1] sm:$0x3 }\n{ shalt }",
                     " bundle 4 (line 5): vld reads vmem row 2 ");
}

TEST(copies_out_of_vmem_are_reads)
{
    assert_unwritten("{ vst [vmem:0] v0 }\n{ dma.vmem_to_hbm 112, 17, 0, [sflag:0] }\n{ shalt }",
                     "dma.vmem_to_hbm reads vmem row 8 (granule 128)");
    assert_unwritten("{ vst [vmem:0] v0 }\n{ dma.vmem_to_hbm 0, 2, 0, [sflag:0], 200, 1, 1 }\n"
                     "{ shalt }", "dma.vmem_to_hbm reads vmem row 12 (granule 192)");
    assert_unwritten("{ dma.vmem_to_vmem.remote 0, 16, 16, [sflag:3], [sflag:4], 1 }\n{ shalt }",
                     "dma.vmem_to_vmem.remote reads vmem row 0 ");
    assert_unwritten("{ vst [vmem:0] v0 }\n{ dma.vmem_to_hbm 0, 128, 0, [sflag:0] }\n"
                     "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n{ shalt }",
                     NULL);
}

TEST(a_copy_that_has_not_been_waited_for_has_written_nothing)
{
    assert_unwritten("{ dma.hbm_to_vmem 0, 128, 0, [sflag:0] }\n{ vdelay 5000 }\n"
                     "{ v1 = vld [vmem:0] }\n{ shalt }", "vld reads vmem row 0 ");
}

TEST(index_registers_read_the_rows_they_name)
{
    assert_unwritten("{ vst [vmem:0] v0 }\n{ v2 = vld.iar0 [vmem:0] }\n{ shalt }", NULL);
    assert_unwritten("{ vst [vmem:0] v0 }\n{ v2 = vld.iar0 [vmem:8] }\n{ shalt }",
                     "vld.iar0 reads vmem row 8 ");
}

TEST(words_of_smem_are_checked_too)
{
    assert_unwritten("{ sst [smem:8], 5 }\n{ s1 = sld [smem:8] }\n{ s1 = sld [smem:12] }\n"
                     "{ shalt }", "sld reads smem address 12, which nothing has written");
    assert_unwritten("{ sst [smem:0], 5 }\n{ dma.general [smem:0] }\n{ shalt }",
                     "dma.general reads smem address 4, which nothing has written");
    /* words that only fill up a granule may be copied */
    assert_unwritten("{ sst [smem:0], 5 }\n{ dma.smem_to_hbm 0, 1, 0, [sflag:0] }\n"
                     "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n{ shalt }", NULL);
}

TEST(what_the_host_wrote_counts_for_one_launch)
{
    static const char text[] = "{ v1 = vld [vmem:0] ;; s1 = sld [smem:4] }\n{ shalt }";
    char tile[4096] = {0};
    struct rig r;

    rig_open(&r, "v3", &checked);
    assert_int_equal(machine_vmem_write(r.m, 0, 0, tile, sizeof(tile), &r.err), 0);
    assert_int_equal(machine_smem_write(r.m, 0, 4, tile, 4, &r.err), 0);
    rig_load(&r, 0, text);
    assert_int_equal(rig_run(&r), 0);
    assert_non_null(strstr(rig_fault(&r, FAULT_UNWRITTEN), "vld reads vmem row 0 "));
    assert_int_equal(machine_vmem_write(r.m, 0, 511, tile, 3586, &r.err), 0);
    assert_int_equal(rig_run(&r), 0);
    rig_close(&r);
}

/* stores of a launch that was never finished are forgotten as well */
TEST(a_launch_starts_with_nothing_written)
{
    struct rig r;

    rig_open(&r, "v3", &checked);
    rig_load(&r, 0, "{ vst [vmem:0] v0 }\n{ shalt }");
    machine_start(r.m);
    machine_advance(r.m, CYCLE_NEVER);
    rig_load(&r, 0, "{ v1 = vld [vmem:0] }\n{ shalt }");
    assert_non_null(strstr(rig_fault(&r, FAULT_UNWRITTEN), "vld reads vmem row 0 "));
    rig_close(&r);
}

TEST(another_core_writes_too)
{
    struct rig r;

    rig_open(&r, "v3", &checked);
    rig_load(&r, 0, "{ vst [vmem:0] v0 }\n"
                    "{ dma.vmem_to_vmem.remote 0, 16, 16, [sflag:3], [sflag:4], 1 }\n"
                    "{ dma.done.wait [sflag:4], 16 }\n{ vsyncadd [sflag:4], -16 }\n{ shalt }");
    rig_load(&r, 1, "{ dma.done.wait [sflag:3], 16 }\n{ vsyncadd [sflag:3], -16 }\n"
                    "{ v1 = vld [vmem:1] sm:$0x1 }\n{ shalt }");
    if (rig_run(&r) != 0)
        fail_msg("%s", r.err.msg);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_of_a_row_that_nothing_has_written_is_named),
        cmocka_unit_test(sublanes_that_are_masked_out_are_not_read),
        cmocka_unit_test(any_part_of_a_row_counts_for_the_row),
        cmocka_unit_test(copies_out_of_vmem_are_reads),
        cmocka_unit_test(a_copy_that_has_not_been_waited_for_has_written_nothing),
        cmocka_unit_test(index_registers_read_the_rows_they_name),
        cmocka_unit_test(words_of_smem_are_checked_too),
        cmocka_unit_test(what_the_host_wrote_counts_for_one_launch),
        cmocka_unit_test(a_launch_starts_with_nothing_written),
        cmocka_unit_test(another_core_writes_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
