/* Wall time of training loops, by hand. */
#include "tests/test.h"

#include <math.h>

#include "train/fit/host_loop.h"

/* prepares 1 byte in 1 us, sends 1000 bytes in 1 us */
static struct host_loop_options plain(void)
{
    return (struct host_loop_options){.prepare_gbps = 0.001, .pcie_gbps = 1, .chip_count = 1,
                                      .dispatch_us = 10, .loop_us = 5, .buffers = 2};
}

static void near(double is, double expected)
{
    if (fabs(is - expected) > 1e-9 * (1 + fabs(expected)))
        fail_msg("%.9g, not %.9g", is, expected);
}

static void run(struct host_loop *h, const struct host_loop_options *o, int executions, int steps,
                double step_us, int64_t bytes)
{
    host_loop_init(h, o);
    for (int i = 0; i < executions; i++)
        host_loop_execute(h, steps, steps * step_us, bytes);
    /* the device works, waits for batches, waits for the loop; the loop's last part is behind */
    near(h->device_us + h->infeed_us + h->dispatch_us + o->loop_us, h->wall_us);
}

TEST(loop_that_waits_pays_for_every_execution)
{
    struct host_loop_options o = plain();
    struct host_loop h;

    run(&h, &o, 10, 1, 100, 0);
    near(h.wall_us, 10 * (10 + 100 + 5));
    near(h.infeed_us, 0);
    run(&h, &o, 10, 20, 100, 0);
    near(host_loop_step_us(&h), 100 + 15 / 20.0);
}

/* 1000 bytes: 1000 us to make, 1 to send */
TEST(slow_pipelines_starve_the_device)
{
    struct host_loop_options o = plain();
    struct host_loop h;

    run(&h, &o, 5, 1, 100, 1000);
    near(h.wall_us, 5 * 1000 + 1 + 100 + 5);
    near(h.prepare_us, 5000);
    near(h.infeed_us, 1001 + 4 * 900);
    near(h.dispatch_us, 0);
    o.prepare_gbps = 0.05;              /* 20 us: fast enough but for the first batch */
    run(&h, &o, 5, 1, 100, 1000);
    near(h.infeed_us, 21);
    near(h.wall_us, 21 + 5 * 100 + 4 * 15 + 5);
}

/* the link is free only when a buffer is: nothing is sent more than two executions ahead */
TEST(buffers_bound_how_far_the_link_runs_ahead)
{
    struct host_loop_options o = plain();
    struct host_loop h;

    o.dispatch_us = o.loop_us = 0;
    o.buffers = 1;
    o.prepare_gbps = INFINITY;
    run(&h, &o, 4, 1, 100, 50000);      /* 50 us each, and no time to make */
    near(h.wall_us, 4 * 150);           /* one after the other */
    near(h.infeed_us, 4 * 50);
    o.buffers = 2;
    run(&h, &o, 4, 1, 100, 50000);
    near(h.wall_us, 50 + 4 * 100);
    o.chip_count = 2;
    run(&h, &o, 4, 1, 100, 50000);
    near(h.wall_us, 25 + 4 * 100);
}

/* 24 and 10 ms a step: docs/accuracy.md */
TEST(guide_times_follow_from_one_step_time)
{
    struct host_loop h;
    struct arena a;
    struct chip c;
    struct err e;
    double by_one, by_fifty;
    struct host_loop_options o;

    arena_init(&a);
    assert_int_equal(chip_load_builtin(&c, "v2", NULL, &a, &e), 0);
    o = host_loop_standard(&c, 4);
    run(&h, &o, 300, 1, 9714, 200 * 785 * 4);
    by_one = host_loop_step_us(&h);
    run(&h, &o, 6, 50, 9714, 200 * 785 * 4 * 50);
    by_fifty = host_loop_step_us(&h);
    print_message("%.2f ms a step, %.2f by 50\n", by_one * 1e-3, by_fifty * 1e-3);
    assert_true(fabs(by_one - 24000) < 500 && fabs(by_fifty - 10000) < 500);
    assert_true(h.infeed_us < 0.02 * h.wall_us);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop_that_waits_pays_for_every_execution),
        cmocka_unit_test(slow_pipelines_starve_the_device),
        cmocka_unit_test(buffers_bound_how_far_the_link_runs_ahead),
        cmocka_unit_test(guide_times_follow_from_one_step_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
