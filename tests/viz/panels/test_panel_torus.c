/*
 * The torus: places, shares and messages against the network's own numbers and
 * every message in memory; and how it is drawn.
 */
#include "viz/models/model_torus.h"

#include <math.h>

#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

static struct panel_rig r;
static struct torus_model m;

/* core 0 sends to core 6 of a v3-8, two hops away */
static const char sends[] =
    "{ s0 = smov 6 }\n"
    "{ dma.vmem_to_vmem.remote 0, 2048, 0x100, [sflag:3], [sflag:4], s0 }\n"
    "{ dma.done.wait [sflag:4], 2048 }\n{ vsyncadd [sflag:4], -2048 }\n{ shalt }\n";
static const char gets[] =
    "{ dma.done.wait [sflag:3], 2048 }\n{ vsyncadd [sflag:3], -2048 }\n{ shalt }\n";

static void open(enum trace_level level)
{
    struct rig_options options = {.mode = MODE_TIMING};
    struct ntrace_options so = {.level = level, .title = ""};

    rig_open(&r.rig, "v3-8", &options);
    rig_load(&r.rig, 0, sends);
    rig_load(&r.rig, 6, gets);
    tee_open(&r.tee, r.rig.m, &so);
    if (rig_run(&r.rig))
        fail_msg("%s", r.rig.err.msg);
    r.run = tee_read(&r.tee);
    torus_model_init(&m);
}

static void close_all(void)
{
    torus_model_fini(&m);
    panel_rig_close(&r);
}

TEST(links_carry_what_the_network_counted)
{
    const double ps = 1e6 / 940;
    const cycle_t cycles = (open(TRACE_BUNDLE), ntrace_info(r.run)->cycles);
    int busy = 0;

    torus_model_load(&m, r.run, 0, cycles);
    assert_int_equal(m.count, net_link_count(machine_net(r.rig.m)));
    for (size_t i = 0; i < m.count; i++) {
        const struct net_link_stats *s = net_link(machine_net(r.rig.m), (int)i);

        assert_int_equal(m.link[i].from, s->from);
        assert_int_equal(m.link[i].to, s->to);
        assert_int_equal(m.link[i].payload_bytes, s->payload_bytes);
        assert_int_equal(m.link[i].wire_bytes, s->wire_bytes);
        assert_true(fabs(m.link[i].share - (double)s->busy_ps / ((double)cycles * ps)) < 1e-3);
        assert_false(m.link[i].is_wrap);
        busy += s->busy_ps > 0;
    }
    assert_true(busy >= 2);
    assert_true(m.busiest >= 0);
    close_all();
}

TEST(messages_of_an_instant_are_those_that_take_a_link_then)
{
    static struct torus_message message[TORUS_MESSAGE_MOST];
    double cycle;

    open(TRACE_BUNDLE);
    torus_model_load(&m, r.run, 0, ntrace_info(r.run)->cycles);
    for (cycle = 0; cycle < (double)ntrace_info(r.run)->cycles; cycle += 17) {
        const double ps = cycle * 1e6 / 940;
        int expected = 0, count = torus_model_messages(&m, r.run, cycle, message);

        for (size_t i = 0; i < r.tee.log.link_count; i++)
            expected += (double)r.tee.log.link[i].l.start <= ps &&
                        ps < (double)r.tee.log.link[i].l.end;
        assert_int_equal(count, expected);
        while (count-- > 0)
            assert_true(message[count].progress >= 0 && message[count].progress < 1);
    }
    close_all();
}

TEST(chips_have_places_of_their_own)
{
    static const int dims[][3] = {{4, 4, 1}, {2, 2, 1}, {4, 4, 4}, {2, 2, 2}, {8, 1, 1}};

    for (size_t i = 0; i < COUNT_OF(dims); i++) {
        struct torus_model t = {.dim = {dims[i][0], dims[i][1], dims[i][2]}};
        double most_x, most_y;
        int a, b;

        t.chip_count = t.dim[0] * t.dim[1] * t.dim[2];
        torus_model_extent(&t, &most_x, &most_y);
        for (a = 0; a < t.chip_count; a++) {
            double x, y, other_x, other_y;

            torus_model_place(&t, a, &x, &y);
            assert_true(x >= 0 && y >= 0 && x <= most_x + 1e-9 && y <= most_y + 1e-9);
            for (b = 0; b < a; b++) {
                torus_model_place(&t, b, &other_x, &other_y);
                assert_true(hypot(x - other_x, y - other_y) > 0.15);
            }
        }
    }
}

TEST(rings_close_with_arcs)
{
    int wraps = 0;

    panel_rig_open(&r, "v4-128", "{ shalt }\n", 1, TRACE_BUNDLE);
    torus_model_init(&m);
    torus_model_load(&m, r.run, 0, ntrace_info(r.run)->cycles);
    for (size_t i = 0; i < m.count; i++)
        wraps += m.link[i].is_wrap;
    assert_int_equal(m.dim[2], 4);
    assert_int_equal(wraps, 2 * 3 * 16);                /* both ways, three axes, 16 rings each */
    assert_int_equal(m.busiest, -1);
    close_all();
}

TEST(a_click_chooses_a_chip)
{
    const struct rect area = {0, 0, 1200, 700};
    void *panel = panel_create(PANEL_TORUS);
    struct draw_list d;
    struct view v;

    open(TRACE_BUNDLE);
    view_init(&v, r.run);
    draw_init(&d, 100);
    panel_draw(PANEL_TORUS, panel, &v, &d, area);
    for (int y = 0; y < 700 && v.core == 0; y += 10)    /* the one at the lower right is the last */
        for (int x = 1190; x > 600 && v.core == 0; x -= 10)
            panel_input(PANEL_TORUS, panel, &v,
                        &(struct input){.kind = INPUT_PRESS, .button = 1, .x = x,
                                                         .y = 690 - y}, area);
    assert_int_equal(v.core, 6);
    draw_fini(&d);
    panel_destroy(PANEL_TORUS, panel);
    close_all();
}

TEST(texts_never_overlap)
{
    static const char *const slices[] = {"v3", "v3-32", "v4-128"};
    struct view v;

    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        panel_rig_open(&r, slices[i], "{ vdelay 50 }\n{ shalt }\n", 1, TRACE_BUNDLE);
        view_init(&v, r.run);
        v.cursor = 10;
        panel_check_drawing(PANEL_TORUS, &v);
        panel_rig_close(&r);
    }
    open(TRACE_BUNDLE);
    view_init(&v, r.run);
    v.cursor = (double)ntrace_info(r.run)->cycles / 2;
    panel_check_drawing(PANEL_TORUS, &v);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_carry_what_the_network_counted),
        cmocka_unit_test(messages_of_an_instant_are_those_that_take_a_link_then),
        cmocka_unit_test(chips_have_places_of_their_own),
        cmocka_unit_test(rings_close_with_arcs),
        cmocka_unit_test(a_click_chooses_a_chip),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
