/*
 * Frames in a hurry: what a window shows for a moment is less, what it comes to is the picture.
 */
#include "tests/test.h"
#include "tests/rigs/draw_rig.h"
#include "tests/rigs/view_rig.h"

#include "viz/panels/panel.h"

static struct view_rig slice;           /* eight cores */

static int open_rig(void **state)
{
    (void)state;
    view_rig_open(&slice, "v3-8", "examples/03_double_buffered_matmul.tasm", NULL);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    view_rig_close(&slice);
    return 0;
}

static bool draw_panel(enum panel_id panel, void *state, const struct view *v, uint64_t *hash)
{
    struct draw_list d;
    bool is_partial;

    draw_init(&d, 100);
    panel_draw(panel, state, v, &d, (struct rect){0, 0, 1280, 700});
    *hash = draw_rig_hash(&d);
    is_partial = d.is_partial;
    draw_fini(&d);
    return is_partial;
}

static void *create_panel(enum panel_id panel)
{
    return panel_create(panel);
}

static void destroy_panel(enum panel_id panel, void *state)
{
    panel_destroy(panel, state);
}

/* however late every frame is, some come and then all of the picture is there */
TEST(panel_in_a_hurry_comes_to_the_same_picture)
{
    uint64_t hash, complete;
    int panel, frames, partial = 0;
    struct view v;

    view_init(&v, slice.run);
    view_show(&v, 0, (double)ntrace_info(slice.run)->cycles * 0.8);
    for (panel = 0; panel < PANEL_COUNT; panel++) {
        void *slow = create_panel((enum panel_id)panel),
             *quick = create_panel((enum panel_id)panel);

        v.is_hurried = false;
        v.late_ns = 0;
        assert_false(draw_panel((enum panel_id)panel, slow, &v, &complete));
        v.is_hurried = true;
        v.late_ns = 1;
        for (frames = 1; draw_panel((enum panel_id)panel, quick, &v, &hash); frames++)
            assert_true(frames < 500);
        assert_true(hash == complete);
        partial += frames > 1;
        destroy_panel((enum panel_id)panel, slow);
        destroy_panel((enum panel_id)panel, quick);
    }
    assert_true(partial >= 2);          /* the timeline, the cores */
}

TEST(frame_is_late_only_in_a_hurry_and_after_some_milliseconds)
{
    struct view v;

    view_init(&v, slice.run);
    view_begin_frame(&v);
    assert_false(view_is_late(v.late_ns));
    v.is_hurried = true;
    view_begin_frame(&v);
    assert_true(v.late_ns > 0);
    assert_true(view_is_late(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panel_in_a_hurry_comes_to_the_same_picture),
        cmocka_unit_test(frame_is_late_only_in_a_hurry_and_after_some_milliseconds),
    };

    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
