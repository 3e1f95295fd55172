/*
 * The step breakdown: its parts against the machine's counters of each launch,
 * and how it is drawn.
 */
#include "viz/models/model_steps.h"

#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

static struct panel_rig r;

static const char longer[] = "{ vdelay 900 }\n{ shalt }\n";

TEST(parts_are_those_of_the_counters_launch_by_launch)
{
    static const char *const texts[] = {panel_program, longer, panel_program};
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = TRACE_BUNDLE, .title = ""};
    struct breakdown expected[3][2];
    struct core_counters counters[3][2];

    rig_open(&r.rig, "v3", &options);
    tee_open(&r.tee, r.rig.m, &so);
    for (int launch = 0; launch < 3; launch++) {
        rig_load(&r.rig, 0, texts[launch]);
        rig_load(&r.rig, 1, longer);
        assert_int_equal(rig_run(&r.rig), 0);
        for (int core = 0; core < 2; core++) {
            const struct core_counters *k = machine_counters(r.rig.m, core);

            counters[launch][core] = *k;
            breakdown_of_counts(k->cycles, k->idle_cycles, k->stall_cycles,
                                breakdown_mxu_busy_cycles(k), &expected[launch][core]);
        }
    }
    r.run = tee_read(&r.tee);
    assert_int_equal(ntrace_info(r.run)->launch_count, 3);
    for (size_t launch = 0; launch < 3; launch++)
        for (int core = 0; core < 2; core++) {
            const struct core_counters *k = &counters[launch][core];
            struct step_parts s;

            steps_model_launch(r.run, core, launch, &s);
            assert_int_equal(s.cycles, k->cycles);
            assert_int_equal(s.issue_cycles, k->issue_cycles);
            assert_memory_equal(s.stall_cycles, k->stall_cycles, sizeof(s.stall_cycles));
            assert_memory_equal(&s.parts, &expected[launch][core], sizeof(s.parts));
            assert_int_equal(breakdown_core_cycles(&s.parts), k->cycles);
        }
    panel_rig_close(&r);
}

TEST(a_cycle_lies_in_one_launch)
{
    const struct ntrace_launch launch[] = {{.start = 0, .cycles = 10}, {.start = 10, .cycles = 50},
                                           {.start = 60, .cycles = 5}};
    const struct ntrace_info info = {.launch = launch, .launch_count = 3};
    const struct ntrace_info none = {.launch_count = 0};

    assert_int_equal(steps_model_at(&info, 0), 0);
    assert_int_equal(steps_model_at(&info, 9), 0);
    assert_int_equal(steps_model_at(&info, 10), 1);
    assert_int_equal(steps_model_at(&info, 1000), 2);
    assert_int_equal(steps_model_at(&none, 5), 0);
    assert_int_equal(steps_model_longest(&info), 50);
    assert_int_equal(steps_model_longest(&none), 1);
}

TEST(reasons_come_most_first)
{
    struct step_parts s = {.stall_cycles = {[STALL_HBM] = 7, [STALL_MXU] = 30, [STALL_DELAY] = 9}};
    enum stall_reason reason[STALL_COUNT];

    assert_int_equal(steps_model_reasons(&s, reason), 3);
    assert_int_equal(reason[0], STALL_MXU);
    assert_int_equal(reason[1], STALL_DELAY);
    assert_int_equal(reason[2], STALL_HBM);
}

static void open_launches(int count)
{
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = TRACE_OP, .title = ""};

    rig_open(&r.rig, "v3", &options);
    tee_open(&r.tee, r.rig.m, &so);
    for (int launch = 0; launch < count; launch++) {
        rig_load(&r.rig, 0, launch % 3 ? panel_program : longer);
        ntrace_writer_name_launch(r.tee.writer, launch == 1 ? "epoch 1 step 1" : "");
        assert_int_equal(rig_run(&r.rig), 0);
    }
    r.run = tee_read(&r.tee);
}

TEST(a_click_on_a_bar_goes_to_its_launch)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_STEPS);
    const struct ntrace_launch *l;
    struct draw_list d;
    struct view v;

    open_launches(5);
    l = ntrace_info(r.run)->launch;
    view_init(&v, r.run);
    draw_init(&d, 100);
    panel_draw(PANEL_STEPS, panel, &v, &d, area);
    assert_true(panel_input(PANEL_STEPS, panel, &v,
                            &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                             .x = 600, .y = 90}, area));
    assert_true(v.from == (double)l[1].start || v.from == (double)l[2].start);
    assert_true(panel_input(PANEL_STEPS, panel, &v,
                            &(struct input){.kind = INPUT_KEY, .key = KEY_DOWN},
                                  area));
    assert_true(v.from == (double)l[2].start || v.from == (double)l[3].start);
    draw_fini(&d);
    panel_destroy(PANEL_STEPS, panel);
    panel_rig_close(&r);
}

TEST(texts_never_overlap)
{
    static const int counts[] = {1, 5, 40};
    struct view v;

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        open_launches(counts[i]);
        view_init(&v, r.run);
        panel_check_drawing(PANEL_STEPS, &v);
        panel_rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_those_of_the_counters_launch_by_launch),
        cmocka_unit_test(a_cycle_lies_in_one_launch),
        cmocka_unit_test(reasons_come_most_first),
        cmocka_unit_test(a_click_on_a_bar_goes_to_its_launch),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
