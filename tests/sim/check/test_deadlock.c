/*
 * What a deadlock tells: who waits for what, who could end it, and the cycle.
 */
#include "base/units.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

/* the text below the message, released by free */
static char *graph_of(const struct machine *m)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    machine_print_deadlock(m, to);
    fclose(to);
    return text;
}

/* `second` NULL: core 0 alone */
static void assert_graph(const char *first, const char *second, const char *graph)
{
    struct rig r;
    char *text;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, first);
    if (second)
        rig_load(&r, 1, second);
    rig_fault(&r, FAULT_DEADLOCK);
    text = graph_of(r.m);
    assert_string_equal(text, graph);
    free(text);
    rig_close(&r);
}

TEST(two_cores_that_wait_for_each_other_are_a_cycle)
{
    assert_graph("{ vwait.ge [sflag:3], 1 }\n{ vsyncadd.remote [sflag:4], 1, 1 }\n{ shalt }",
                 "{ vdelay 8 }\n{ vwait.eq [sflag:4], 1 }\n{ vsyncadd.remote [sflag:3], 1, 0 }\n"
                 "{ shalt }",
                 "  core 0 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 3 >= 1, which is 0\n"
                 "    core 1 changes it with vsyncadd.remote (line 3), but waits itself\n"
                 "  core 1 cycle 9 bundle 1 (line 2): vwait.eq waits for flag 4 == 1, which is 0\n"
                 "    core 0 changes it with vsyncadd.remote (line 2), but waits itself\n"
                 "  a cycle: core 0 waits for core 1 waits for core 0\n");
}

TEST(copies_of_all_kinds_are_found)
{
    assert_graph("{ dma.done.wait [sflag:3], 16 }\n"
                 "{ dma.vmem_to_vmem.remote 0, 16, 0, [sflag:7], [sflag:8], 1 }\n{ shalt }",
                 "{ dma.done.wait [sflag:7], 16 }\n"
                 "{ dma.hbm_to_vmem.remote 0, 16, 0, [sflag:3], [sflag:8], 0 }\n{ shalt }",
                 "  core 0 cycle 0 bundle 0 (line 1): dma.done.wait waits for flag 3 >= 16, which "
                 "is 0\n"
                 "    core 1 changes it with dma.hbm_to_vmem.remote (line 2), but waits itself\n"
                 "  core 1 cycle 0 bundle 0 (line 1): dma.done.wait waits for flag 7 >= 16, which "
                 "is 0\n"
                 "    core 0 changes it with dma.vmem_to_vmem.remote (line 2), but waits itself\n"
                 "  a cycle: core 0 waits for core 1 waits for core 0\n");
    assert_graph("{ dma.done.wait [sflag:8], 16 }\n"
                 "{ dma.vmem_to_vmem.remote 0, 16, 0, [sflag:7], [sflag:8], 1 }\n{ shalt }", NULL,
                 "  core 0 cycle 0 bundle 0 (line 1): dma.done.wait waits for flag 8 >= 16, which "
                 "is 0\n"
                 "    core 0 changes it with dma.vmem_to_vmem.remote (line 2), behind this wait\n"
                 "  a cycle: core 0 waits for core 0\n");
    assert_graph("{ vwait.ge [sflag:8], 16 }\n{ dma.general [smem:0] }\n{ shalt }", NULL,
                 "  core 0 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 8 >= 16, which is 0\n"
                 "    core 0 may change it with dma.general (line 2), behind this wait\n"
                 "  a cycle: core 0 waits for core 0\n");
}

/* what stands before the wait, behind a halt, or takes away, helps nobody */
TEST(only_what_can_still_come_and_helps_is_told)
{
    assert_graph("{ dma.hbm_to_vmem 0, 16, 0, [sflag:2] }\n{ dma.done.wait [sflag:2], 32 }\n"
                 "{ vsyncadd [sflag:2], -32 }\n{ vsyncset [sflag:2], 16 }\n"
                 "{ vsyncpa [sflag:2], 1 }\n"
                 "{ vsyncadd [sflag:3], 32 }\n{ shalt }\n{ vsyncadd [sflag:2], 32 }\n{ shalt }",
                 NULL,
                 "  core 0 cycle 1 bundle 1 (line 2): dma.done.wait waits for flag 2 >= 32, which "
                 "is 16\n"
                 "    no copy is under way and no program changes it\n");
    assert_graph("again:\n{ vsyncadd [sflag:2], 3 }\n{ dma.done.wait [sflag:2], 32 }\n"
                 "{ sbr.rel (!p1) target = again }\n{}\n{ shalt }", NULL,
                 "  core 0 cycle 1 bundle 1 (line 3): dma.done.wait waits for flag 2 >= 32, which "
                 "is 3\n"
                 "    core 0 changes it with vsyncadd (line 2), behind this wait\n"
                 "  a cycle: core 0 waits for core 0\n");
}

TEST(waits_for_less_want_what_takes_away)
{
    static const struct { const char *wait, *graph; } cases[] = {
        {"vwait.lt [sflag:2], 5", "changes it with vsyncadd (line 5)"},
        {"vwait.le [sflag:2], 4", "changes it with vsyncadd (line 5)"},
        {"vwait.notdone [sflag:2], 5", "changes it with vsyncadd (line 5)"},
        {"vwait.eq [sflag:2], 4", "changes it with vsyncadd (line 5)"},
        {"vwait.eq [sflag:2], 6", "changes it with vsyncadd (line 4)"},
        {"vwait.gt [sflag:2], 5", "changes it with vsyncadd (line 4)"},
        {"vwait.ne [sflag:2], 5", "changes it with vsyncadd (line 4)"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        char text[300], *graph;

        snprintf(text, sizeof(text), "{ vsyncset [sflag:2], 5 }\n{ %s }\n"
                 "{ vsyncset [sflag:2], 5 }\n"
                 "{ vsyncadd [sflag:2], 1 }\n{ vsyncadd [sflag:2], -1 }\n{ shalt }", cases[i].wait);
        rig_open(&r, "v3", NULL);
        rig_load(&r, 0, text);
        rig_fault(&r, FAULT_DEADLOCK);
        graph = graph_of(r.m);
        if (!strstr(graph, cases[i].graph))
            fail_msg("%s: %s", cases[i].wait, graph);
        free(graph);
        rig_close(&r);
    }
}

TEST(cores_that_have_halted_are_told_with_what_they_issued)
{
    assert_graph("{ dma.done.wait [sflag:3], 3 }\n{ shalt }",
                 "{ vsyncadd.remote [sflag:3], 1, 0 }\n{ shalt }",
                 "  core 0 cycle 0 bundle 0 (line 1): dma.done.wait waits for flag 3 >= 3, which "
                 "is 1\n"
                 "    core 1 changes it with vsyncadd.remote (line 1), issued 1x, "
                 "but has halted\n");
}

/* a register that holds the number is as good as a constant; one that does not is a guess */
TEST(registers_go_by_what_they_hold)
{
    assert_graph("{ dma.done.wait [sflag:3], 1 }\n{ shalt }",
                 "{ s1 = smov 3 }\n{ vwait.ge [sflag:1], 1 }\n"
                 "{ vsyncadd.remote [sflag:s2], 1, 0 }\n{ vsyncadd.remote [sflag:s1], 1, 0 }\n"
                 "{ shalt }",
                 "  core 0 cycle 0 bundle 0 (line 1): dma.done.wait waits for flag 3 >= 1, which "
                 "is 0\n"
                 "    core 1 changes it with vsyncadd.remote (line 4), but waits itself\n"
                 "  core 1 cycle 1 bundle 1 (line 2): vwait.ge waits for flag 1 >= 1, which is 0\n"
                 "    no copy is under way and no program changes it\n");
    assert_graph("{ dma.done.wait [sflag:3], 1 }\n{ shalt }",
                 "{ vwait.ge [sflag:1], 1 }\n{ vsyncadd.remote [sflag:s2], 1, 0 }\n{ shalt }",
                 "  core 0 cycle 0 bundle 0 (line 1): dma.done.wait waits for flag 3 >= 1, which "
                 "is 0\n"
                 "    core 1 may change it with vsyncadd.remote (line 2), but waits itself\n"
                 "  core 1 cycle 0 bundle 0 (line 1): vwait.ge waits for flag 1 >= 1, which is 0\n"
                 "    no copy is under way and no program changes it\n");
}

TEST(full_queue_says_how_many_slots_it_has)
{
    static const struct rig_options small = {
        .set = {"slots.misc=2", "slots.dma=2", "dma.queue_depth=1"}};
    struct rig r;
    char *graph;

    rig_open(&r, "v3", &small);
    rig_load(&r, 0, "{ dma.hbm_to_vmem 0, 16, 0, [sflag:2] ;; "
                    "dma.hbm_to_vmem 16, 16, 16, [sflag:2] }\n{ shalt }");
    rig_fault(&r, FAULT_DEADLOCK);
    graph = graph_of(r.m);
    assert_string_equal(graph, "  core 0 cycle 0 bundle 0 (line 1): dma.hbm_to_vmem waits for its "
                        "dma queue: 2 slots, of 1\n"
                        "    no copy is under way that could make room\n");
    free(graph);
    rig_close(&r);
}

/* all of v3-32 in the order of the ring: 16 told, each with one who could help */
TEST(text_is_bounded_however_many_wait)
{
    struct rig r;
    char program[200], *graph;
    int lines = 0;

    rig_open(&r, "v3-32", NULL);
    for (int i = 0; i < 32; i++) {
        snprintf(program, sizeof(program), "{ vwait.ge [sflag:3], 1 }\n"
                 "{ vsyncadd.remote [sflag:3], 1, %d }\n{ shalt }", (i + 31) % 32);
        rig_load(&r, i, program);
    }
    rig_fault(&r, FAULT_DEADLOCK);
    graph = graph_of(r.m);
    for (const char *c = graph; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 2 * 16 + 2);
    assert_non_null(strstr(graph, "    core 8 changes it"));
    assert_non_null(strstr(graph, "  and 16 more cores wait\n  a cycle: core 0 waits for core 1 "));
    assert_non_null(strstr(graph, " waits for core 16 waits for 15 more, the last of which waits "
                           "for core 0\n"));
    free(graph);
    for (int i = 0; i < 32; i++)
        rig_load(&r, i, i ? "{ vwait.ge [sflag:3], 1 }\n{ vsyncadd.remote [sflag:3], 1, 0 }\n"
                            "{ shalt }"
                          : "{ vwait.ge [sflag:3], 1 }\n{ shalt }");
    rig_fault(&r, FAULT_DEADLOCK);
    graph = graph_of(r.m);
    assert_non_null(strstr(graph, "    core 4 changes it with vsyncadd.remote (line 2), but waits "
                           "itself\n    and 27 more cores\n  core 1 "));
    assert_null(strstr(graph, "a cycle"));
    free(graph);
    rig_close(&r);
}

TEST(nothing_is_told_after_another_end)
{
    struct rig r;
    char *graph;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ shalt.err }");
    rig_load(&r, 1, "{ vwait.ge [sflag:3], 1 }\n{ shalt }");
    rig_fault(&r, FAULT_HALT_ERR);
    graph = graph_of(r.m);
    assert_string_equal(graph, "");
    free(graph);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_cores_that_wait_for_each_other_are_a_cycle),
        cmocka_unit_test(copies_of_all_kinds_are_found),
        cmocka_unit_test(only_what_can_still_come_and_helps_is_told),
        cmocka_unit_test(waits_for_less_want_what_takes_away),
        cmocka_unit_test(cores_that_have_halted_are_told_with_what_they_issued),
        cmocka_unit_test(registers_go_by_what_they_hold),
        cmocka_unit_test(full_queue_says_how_many_slots_it_has),
        cmocka_unit_test(text_is_bounded_however_many_wait),
        cmocka_unit_test(nothing_is_told_after_another_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
