/*
 * Driving a memory: who may go in when. The rules are checked on what a watcher of the memory
 * is told, against a memory of which each access is one run.
 */
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "hbm/hbm_drive.h"

/* Two channels of four banks, a burst an access, a row two bursts; channels alternate. */
static struct hbm_config small_memory(void)
{
    struct hbm_config c = {
        .size_bytes = 1 << 20, .channel_count = 2, .bank_count = 4, .bank_groups = 2,
        .row_bytes = 128, .burst_bytes = 64, .burst_ps = 2000, .tccd_l_ps = 2000,
        .trcd_ps = 14000, .trp_ps = 15000, .tras_ps = 33000, .tcl_ps = 13000, .tcwl_ps = 4000,
        .trrd_ps = 4000, .trrd_l_ps = 6000, .tfaw_ps = 30000, .twtr_ps = 6000,
        .twtr_l_ps = 8000, .trtw_ps = 1000, .twr_ps = 16000, .trtp_ps = 5000,
        .trefi_ps = 3900000, .trfc_ps = 260000, .read_queue = 8, .write_queue = 8,
        .bank_queue = 4, .write_low = 2};
    struct err e;

    if (hbm_map_parse(&c.map, "channel:2 column:2 bank:2 group:2", &e))
        fail_msg("%s", e.msg);
    return c;
}

enum { RUNS_MAX = 4096 };

struct told {
    ps_t asked_at[RUNS_MAX];
    int count;
};

static void take_run(void *context, const struct hbm_run *r)
{
    struct told *t = context;

    if (r->is_write)
        return;                         /* writes are told when they move, not when they come */
    assert_in_range(t->count, 0, RUNS_MAX - 1);
    t->asked_at[t->count++] = r->asked_at;
}

static struct hbm_pattern pattern_of(const char *text)
{
    struct hbm_pattern p;
    struct err e;

    if (hbm_pattern_parse(&p, text, &e))
        fail_msg("%s", e.msg);
    p.access_bytes = 64;
    p.footprint_bytes = 1 << 20;
    if (hbm_pattern_check(&p, &e))
        fail_msg("%s", e.msg);
    return p;
}

static const char *const patterns[] = {"seq", "seq_wr", "stride:512", "random", "copy", "mix:60",
                                       "random_mix:40"};

/*
 * Each edge of the clock at most per_cycle, none off an edge, none before another. Reads alone:
 * writes are told of when they move, later than they went in.
 */
static const char *const reading[] = {"seq", "stride:512", "random"};

TEST(accesses_go_in_at_edges_in_order_and_so_many_per_cycle)
{
    static struct told t;
    static struct hbm_driven d;

    for (int per_cycle = 1; per_cycle <= 8; per_cycle += 7) {
        for (size_t k = 0; k < COUNT_OF(reading); k++) {
            const struct hbm_injection how = {.cycle_ps = 1500, .per_cycle = per_cycle};
            struct hbm_config config = small_memory();
            struct hbm_pattern p = pattern_of(reading[k]);
            struct hbm *h = hbm_create(&config);
            int taken = 0;

            t.count = 0;
            hbm_watch(h, take_run, &t);
            hbm_drive(h, &p, &how, 1000, &d);
            assert_true(t.count >= d.read.count);
            for (int i = 0; i < t.count; i++) {
                assert_int_equal(t.asked_at[i] % 1500, 0);
                assert_true(i == 0 || t.asked_at[i] >= t.asked_at[i - 1]);
                taken = i > 0 && t.asked_at[i] == t.asked_at[i - 1] ? taken + 1 : 1;
                assert_in_range(taken, 1, per_cycle);
            }
            assert_int_equal(d.access_count, 1000);
            assert_int_equal(d.read_bytes + d.write_bytes, 64000);
            assert_int_equal(d.read.count + d.write.count, 1000);
            assert_int_equal(d.read.count * 64, d.read_bytes);
            hbm_destroy(h);
        }
    }
}

static bool has_room(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    return hbm_room_at(h, at, address, is_write) == at;
}

/* The rule as it is told, cycle by cycle: try, stop at the first that is refused. */
static ps_t drive_by_cycles(const struct hbm_config *config, const struct hbm_pattern *p,
                            const struct hbm_injection *how, int accesses, int64_t *latencies)
{
    struct hbm *h = hbm_create(config);
    struct hbm_walk w;
    bool is_write;
    int64_t address;
    ps_t end_at = 0, *done_at = calloc((size_t)accesses, sizeof(*done_at));
    int done = 0;

    *latencies = 0;
    hbm_walk_init(&w, p);
    address = hbm_walk_next(&w, &is_write);
    for (ps_t at = 0; done < accesses; at += how->cycle_ps) {
        for (int k = 0; k < how->per_cycle && done < accesses; k++) {
            int slot = done - how->in_flight;

            if (how->in_flight && slot >= 0 && done_at[slot] > at)
                break;
            if (!has_room(h, at, address, is_write))
                break;
            done_at[done] = hbm_access(h, at, address, p->access_bytes, is_write);
            *latencies += done_at[done] - at;
            end_at = later(end_at, done_at[done++]);
            address = hbm_walk_next(&w, &is_write);
        }
    }
    end_at = later(end_at, hbm_settle(h));
    free(done_at);
    hbm_destroy(h);
    return end_at;
}

TEST(driving_is_trying_at_every_cycle)
{
    static struct hbm_driven d;
    static const struct hbm_injection how[] = {
        {.cycle_ps = 1000, .per_cycle = 8}, {.cycle_ps = 1000, .per_cycle = 1},
        {.cycle_ps = 700, .per_cycle = 2, .in_flight = 5},
        {.cycle_ps = 1000, .per_cycle = 8, .in_flight = 1}};

    for (size_t k = 0; k < COUNT_OF(patterns); k++) {
        for (size_t i = 0; i < COUNT_OF(how); i++) {
            struct hbm_config config = small_memory();
            struct hbm_pattern p = pattern_of(patterns[k]);
            struct hbm *h = hbm_create(&config);
            int64_t latencies;
            ps_t end_at = drive_by_cycles(&config, &p, &how[i], 3000, &latencies);

            hbm_drive(h, &p, &how[i], 3000, &d);
            assert_int_equal(d.end_ps, end_at);
            assert_int_equal(d.read.sum + d.write.sum, latencies);
            hbm_destroy(h);
        }
    }
}

TEST(writes_count_until_they_have_moved)
{
    static struct hbm_driven d;
    const struct hbm_injection how = {.cycle_ps = 1000, .per_cycle = 8};
    struct hbm_config config = small_memory();
    struct hbm_pattern p = pattern_of("seq_wr");
    struct hbm *h = hbm_create(&config);

    hbm_drive(h, &p, &how, 6, &d);      /* three on each channel, in one row and another */
    assert_int_equal(d.stats.busy_ps, 6 * config.burst_ps);
    assert_in_range(d.end_ps, config.trcd_ps + config.tcwl_ps + 3 * config.burst_ps,
                    config.trrd_l_ps + config.trcd_ps + config.tcwl_ps + 12 * config.burst_ps);
    hbm_destroy(h);
}

/* one by one, by hbm_access alone; the watcher keeps the memory from serving many in one go */
static void ignore_run(void *context, const struct hbm_run *r)
{
    (void)context;
    (void)r;
}

/* The fields that bear on a stream of bursts in rows, at random around those of HBM2. */
static struct hbm_config random_memory(struct rng *r)
{
    struct hbm_config c = small_memory();
    struct err e;
    char map[64];
    int columns = 4 << rng_below(r, 4), channels = 1 << rng_below(r, 4);

    snprintf(map, sizeof(map), rng_below(r, 2) ? "column:%d channel:%d bank:2 group:2"
                                               : "column:%d channel:%d+ group:2 bank:2+",
             columns, channels);
    if (hbm_map_parse(&c.map, map, &e))
        fail_msg("%s", e.msg);
    c.channel_count = channels;
    c.row_bytes = 64 * columns;
    c.read_queue = 1 + (int)rng_below(r, 40);
    c.bank_queue = 1 + (int)rng_below(r, 12);
    c.front_ps = rng_below(r, 3) * 1000;
    c.burst_ps = c.tccd_l_ps = 500 + rng_below(r, 3000);
    c.tfaw_ps = 10000 + rng_below(r, 40000);
    c.tcl_ps = 5000 + rng_below(r, 15000);
    c.trtp_ps = rng_below(r, 8000);
    c.trefi_ps = rng_below(r, 4) ? 500000 + rng_below(r, 3000000) : 0;
    c.trfc_ps = rng_below(r, 260000);
    c.refreshes_single_banks = rng_below(r, 2);
    c.trfc_bank_ps = rng_below(r, 200000);
    return c;
}

/* a clock at random, or one with edges at equal parts of a burst: so a full queue is fed evenly */
static ps_t random_cycle(struct rng *r, const struct hbm_config *c)
{
    int64_t parts = 1 + rng_below(r, 4);

    return rng_below(r, 2) && c->burst_ps % parts == 0 ? c->burst_ps / parts
                                                       : 300 + rng_below(r, 2000);
}

TEST(a_stream_served_in_one_go_is_that_of_single_accesses)
{
    static struct hbm_driven one, many;
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < 200; i++) {
        struct hbm_config config = random_memory(&r);
        const struct hbm_injection how = {.cycle_ps = random_cycle(&r, &config),
                                          .per_cycle = 1 + (int)rng_below(&r, 9)};
        int64_t count = 1 + rng_below(&r, 20000);
        struct hbm_pattern p = pattern_of("seq");
        struct hbm *h = hbm_create(&config);

        hbm_drive(h, &p, &how, count, &many);
        hbm_watch(h, ignore_run, NULL);
        hbm_drive(h, &p, &how, count, &one);
        assert_int_equal(many.end_ps, one.end_ps);
        assert_memory_equal(&many.read, &one.read, sizeof(one.read));
        assert_memory_equal(&many.stats, &one.stats, sizeof(one.stats));
        hbm_destroy(h);
    }
}

TEST(one_at_a_time_takes_the_sum_of_all_latencies)
{
    static struct hbm_driven d;
    const struct hbm_injection one = {.cycle_ps = 1, .per_cycle = 1, .in_flight = 1};
    struct hbm_config config = small_memory();
    struct hbm_pattern p = pattern_of("random");
    struct hbm *h = hbm_create(&config);

    hbm_drive(h, &p, &one, 2000, &d);
    assert_int_equal(d.end_ps, d.read.sum);
    hbm_drive(h, &p, &one, 2000, &d);                   /* again, from the beginning */
    assert_int_equal(d.end_ps, d.read.sum);
    assert_int_equal(d.read.count, 2000);
    hbm_destroy(h);
}

/* one access of 64 bytes per cycle of 1 ns is 64 GB/s, if the memory is not in the way */
TEST(the_driver_may_be_the_limit)
{
    static struct hbm_driven d;
    const struct hbm_injection slow = {.cycle_ps = 4000, .per_cycle = 1};
    struct hbm_config config = small_memory();
    struct hbm_pattern p = pattern_of("seq");
    struct hbm *h;

    config.trefi_ps = 0;
    h = hbm_create(&config);
    hbm_drive(h, &p, &slow, 1000, &d);
    assert_in_range(d.end_ps, 999 * 4000, 999 * 4000 + 100000);
    hbm_destroy(h);
}

TEST(idle_latencies_are_sums_of_the_timings)
{
    struct hbm_config c = small_memory();
    struct hbm_idle idle;
    ps_t hit = c.tcl_ps + c.burst_ps;

    hbm_drive_idle(&c, 64, &idle);
    assert_int_equal(idle.hit_ps, hit);
    assert_int_equal(idle.closed_ps, hit + c.trcd_ps);
    assert_int_equal(idle.conflict_ps, hit + c.trcd_ps + c.trp_ps);
    assert_true(idle.random_ps > (double)idle.hit_ps);
    hbm_drive_idle(&c, 256, &idle);     /* two bursts on each channel */
    assert_int_equal(idle.hit_ps, hit + c.burst_ps);
}

TEST(a_memory_of_one_row_has_no_conflicts)
{
    struct hbm_config c = small_memory();
    struct hbm_idle idle;

    c.size_bytes = 64;
    hbm_drive_idle(&c, 64, &idle);
    assert_int_equal(idle.conflict_ps, -1);
    assert_true(idle.random_ps > 0);
    c.size_bytes = 32;
    hbm_drive_idle(&c, 32, &idle);
    assert_int_equal(idle.conflict_ps, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_go_in_at_edges_in_order_and_so_many_per_cycle),
        cmocka_unit_test(driving_is_trying_at_every_cycle),
        cmocka_unit_test(writes_count_until_they_have_moved),
        cmocka_unit_test(a_stream_served_in_one_go_is_that_of_single_accesses),
        cmocka_unit_test(one_at_a_time_takes_the_sum_of_all_latencies),
        cmocka_unit_test(the_driver_may_be_the_limit),
        cmocka_unit_test(idle_latencies_are_sums_of_the_timings),
        cmocka_unit_test(a_memory_of_one_row_has_no_conflicts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
