/*
 * The fast model against the controller of tests/reference/plain_dram.c, which moves
 * cycle by cycle: the same accesses, as many in a cycle as the queues take.
 */
#include "tests/reference/plain_dram.h"
#include "tests/test.h"

#include <math.h>
#include "base/units.h"

enum { CLOCK_PS = 1000, PER_CYCLE = 8 };

/* the memory that reference/hbm describes: HBM2 at 1 GHz, rows of 2 KiB, 256 GB/s */
static struct hbm_config hbm2(void)
{
    struct hbm_config c = {
        .size_bytes = 8 * GIB, .channel_count = 8, .bank_count = 16, .bank_groups = 4,
        .row_bytes = 2048, .burst_bytes = 64, .front_ps = 2000, .burst_ps = 2000,
        .tccd_l_ps = 2000, .trcd_ps = 14000, .trp_ps = 14000, .tras_ps = 34000, .tcl_ps = 14000,
        .tcwl_ps = 4000, .trrd_ps = 4000, .trrd_l_ps = 6000, .tfaw_ps = 30000, .twtr_ps = 6000,
        .twtr_l_ps = 8000, .trtw_ps = 2000, .twr_ps = 16000, .trtp_ps = 5000,
        .trefi_ps = 3900000, .trfc_ps = 260000, .read_queue = 32, .write_queue = 32,
        .bank_queue = 8, .write_low = 16};
    struct err e;

    assert_int_equal(hbm_map_parse(&c.map, "column:32 channel:8 bank:4 group:4", &e), 0);
    return c;
}

/* ---- patterns ---- */

enum kind { SEQUENTIAL, STRIDE, RANDOM, COPY, TWO_STREAMS };

struct pattern {
    enum kind kind;
    int64_t stride;
    int write_percent;                  /* of random accesses, or of two sequential streams */
    uint64_t x;                         /* state of the generator */
    int64_t done[2];                    /* reads, writes of sequential streams */
};

static uint64_t draw(struct pattern *p)
{
    p->x ^= p->x << 13;
    p->x ^= p->x >> 7;
    p->x ^= p->x << 17;
    return p->x;
}

static struct plain_access next_access(void *context, int64_t i)
{
    const int64_t footprint = GIB, half = footprint / 2;
    struct pattern *p = context;
    bool is_write = p->write_percent > 0 && (int)((draw(p) >> 40) % 100) < p->write_percent;

    switch (p->kind) {
    case SEQUENTIAL:
        return (struct plain_access){(is_write ? half : 0) + 64 * p->done[is_write]++, is_write};
    case STRIDE:
        return (struct plain_access){i * p->stride % footprint +
                                     64 * (i * p->stride / footprint % (p->stride / 64)),
                                     is_write};
    case RANDOM:
        return (struct plain_access){64 * (int64_t)(draw(p) % (uint64_t)(footprint / 64)),
                                     is_write};
    case COPY:
        return (struct plain_access){i % 2 * half + 64 * (i / 2), i % 2 == 1};
    case TWO_STREAMS:
        return (struct plain_access){i % 2 * half + 64 * (i / 2), false};
    }
    return (struct plain_access){0, false};
}

/* a pattern whose accesses are asked for again until they are accepted */
struct repeated {
    struct pattern p;
    struct plain_access a;
    int64_t drawn;
};

static struct plain_access repeated_access(void *context, int64_t i)
{
    struct repeated *r = context;

    if (i == r->drawn) {
        r->a = next_access(&r->p, i);
        r->drawn++;
    }
    return r->a;
}

/* ---- runs ---- */

struct outcome {
    double cycles, latency_cycles, hit_rate;
};

static struct outcome run_plain(const struct hbm_config *c, struct pattern p, int64_t count)
{
    struct repeated r = {.p = p};
    struct plain_result result = plain_dram_run(c, CLOCK_PS, repeated_access, &r, count,
                                                PER_CYCLE);

    return (struct outcome){
        (double)result.cycles,
        result.reads > 0 ? (double)result.latency_cycles / (double)result.reads : 0.0,
        (double)result.row_hits / (double)(result.reads + result.writes)};
}

static struct outcome run_fast(const struct hbm_config *c, struct pattern p, int64_t count)
{
    struct hbm *h = hbm_create(c);
    const struct hbm_stats *s = hbm_get_stats(h);
    ps_t now = 0, last = 0, latency = 0;
    int64_t reads = 0, in_cycle = 0;
    struct outcome o;

    for (int64_t i = 0; i < count; i++, in_cycle++) {
        struct plain_access a = next_access(&p, i);
        ps_t room_at, end;

        if (in_cycle == PER_CYCLE) {
            now += CLOCK_PS;
            in_cycle = 0;
        }
        room_at = hbm_room_at(h, now, a.address, a.is_write);
        if (room_at > now) {
            now = div_up(room_at, CLOCK_PS) * CLOCK_PS;
            in_cycle = 0;
        }
        end = hbm_access(h, now, a.address, c->burst_bytes, a.is_write);
        last = later(last, end);
        latency += a.is_write ? 0 : end - now;
        reads += !a.is_write;
    }
    o = (struct outcome){(double)last / CLOCK_PS,
                         reads > 0 ? (double)latency / CLOCK_PS / (double)reads : 0.0,
                         (double)s->row_hits / (double)s->run_count};
    hbm_destroy(h);
    return o;
}

static double of_peak(const struct hbm_config *c, double cycles, int64_t count)
{
    return (double)(count * c->burst_bytes) * 1e12 / (cycles * CLOCK_PS) /
           hbm_peak_bytes_per_second(c);
}

/* ---- the controller itself against the reference ---- */

/* DRAMsim3's rows of reference/hbm/hbm2_patterns.csv */
static const struct {
    const char *name;
    struct pattern p;
    double fraction, latency_cycles, hit_rate;
} reference[] = {
    {"sequential", {SEQUENTIAL, 64, 0, 0, {0}}, 0.9242, 83.9, 0.9681},
    {"stride 512", {STRIDE, 512, 0, 0, {0}}, 0.9200, 262.0, 0.7490},
    {"stride 2048", {STRIDE, 2048, 0, 0, {0}}, 0.2446, 663.3, 0.0000},
    {"random", {RANDOM, 64, 0, 0, {0}}, 0.2399, 472.8, 0.0008},
    {"copy", {COPY, 64, 0, 0, {0}}, 0.6484, 227.1, 0.9521},
};

static const uint64_t seed = 88172645463325252u;        /* the reference's */

static void assert_within(const char *name, double is, double should, double percent)
{
    double off = 100.0 * (is / should - 1.0);

    if (off > percent || off < -percent)
        fail_msg("%s: %.4f instead of %.4f, %+.1f %%", name, is, should, off);
}

TEST(the_plain_controller_is_that_of_the_reference)
{
    const struct hbm_config c = hbm2();

    for (size_t i = 0; i < COUNT_OF(reference); i++) {
        struct pattern p = reference[i].p;
        struct outcome o;

        p.x = seed;
        o = run_plain(&c, p, 100000);
        assert_within(reference[i].name, of_peak(&c, o.cycles, 100000), reference[i].fraction,
                      1.5);
        assert_true(fabs(o.hit_rate - reference[i].hit_rate) < 0.002);
    }
}

TEST(the_fast_model_meets_the_reference)
{
    const struct hbm_config c = hbm2();

    for (size_t i = 0; i < COUNT_OF(reference); i++) {
        struct pattern p = reference[i].p;
        double fraction;

        p.x = seed;
        fraction = of_peak(&c, run_fast(&c, p, 200000).cycles, 200000);
        printf("%-12s %.4f of the peak, DRAMsim3 %.4f, %+.1f %%\n", reference[i].name, fraction,
               reference[i].fraction, 100.0 * (fraction / reference[i].fraction - 1.0));
        assert_within(reference[i].name, fraction, reference[i].fraction, 2.0);
    }
}

/* ---- the fast model against the controller ---- */

static void compare(const struct hbm_config *c, const char *name, struct pattern p, double percent)
{
    enum { COUNT = 30000 };
    struct outcome plain, fast;

    p.x = seed;
    plain = run_plain(c, p, COUNT);
    fast = run_fast(c, p, COUNT);
    printf("%-26s %.3f of the peak, cycle by cycle %.3f, %+.1f %%\n", name,
           of_peak(c, fast.cycles, COUNT), of_peak(c, plain.cycles, COUNT),
           100.0 * (plain.cycles / fast.cycles - 1.0));
    assert_within(name, of_peak(c, fast.cycles, COUNT), of_peak(c, plain.cycles, COUNT), percent);
}

TEST(strides_are_as_cycle_by_cycle)
{
    const struct hbm_config c = hbm2();

    for (int64_t stride = 64; stride <= MIB; stride *= 4) {
        char name[40];

        snprintf(name, sizeof(name), "stride %lld", (long long)stride);
        compare(&c, name, (struct pattern){.kind = STRIDE, .stride = stride}, 3.0);
    }
    compare(&c, "stride 192", (struct pattern){.kind = STRIDE, .stride = 192}, 3.0);
    compare(&c, "stride 4160", (struct pattern){.kind = STRIDE, .stride = 4160}, 3.0);
}

TEST(random_mixes_are_as_cycle_by_cycle)
{
    static const int percents[] = {10, 33, 50, 75, 90, 100};
    const struct hbm_config c = hbm2();

    for (size_t i = 0; i < COUNT_OF(percents); i++) {
        char name[40];

        snprintf(name, sizeof(name), "random, %d %% writes", percents[i]);
        compare(&c, name, (struct pattern){.kind = RANDOM, .write_percent = percents[i]}, 3.0);
    }
}

TEST(sequential_mixes_are_as_cycle_by_cycle)
{
    static const struct {
        int percent;
        double off;
    } rows[] = {{10, 5}, {25, 5}, {33, 5}, {50, 7}, {75, 7}, {100, 5}};
    const struct hbm_config c = hbm2();

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[40];

        snprintf(name, sizeof(name), "sequential, %d %% writes", rows[i].percent);
        compare(&c, name, (struct pattern){.kind = SEQUENTIAL, .write_percent = rows[i].percent},
                rows[i].off);
    }
    compare(&c, "copy", (struct pattern){.kind = COPY}, 3.0);
    compare(&c, "two streams, the same banks", (struct pattern){.kind = TWO_STREAMS}, 3.0);
}

/* pseudo-channels of 32-byte bursts, columns of a bank group twice as far apart, xored banks */
static struct hbm_config xored(void)
{
    struct hbm_config c = hbm2();
    struct err e;

    c.channel_count = 16;
    c.row_bytes = 1024;
    c.burst_bytes = 32;
    c.tccd_l_ps = 4000;
    c.tfaw_ps = 16000;
    assert_int_equal(hbm_map_parse(&c.map, "channel:8 column:2 channel:2^ group:4^ bank:4^ "
                                           "column:16", &e), 0);
    return c;
}

TEST(another_map_with_bank_groups_is_as_cycle_by_cycle)
{
    const struct hbm_config c = xored();

    compare(&c, "xored, sequential", (struct pattern){.kind = SEQUENTIAL}, 5.0);
    compare(&c, "xored, random", (struct pattern){.kind = RANDOM}, 8.0);
    compare(&c, "xored, random writes",
            (struct pattern){.kind = RANDOM, .write_percent = 100}, 8.0);
}

TEST(banks_refreshed_one_by_one_are_as_cycle_by_cycle)
{
    struct hbm_config c = hbm2();

    c.refreshes_single_banks = true;
    c.trfc_bank_ps = 160000;
    compare(&c, "by bank, sequential", (struct pattern){.kind = SEQUENTIAL}, 3.0);
    compare(&c, "by bank, stride 512", (struct pattern){.kind = STRIDE, .stride = 512}, 3.0);
    compare(&c, "by bank, stride 2048", (struct pattern){.kind = STRIDE, .stride = 2048}, 3.0);
    compare(&c, "by bank, copy", (struct pattern){.kind = COPY}, 3.0);
    compare(&c, "by bank, two streams", (struct pattern){.kind = TWO_STREAMS}, 3.0);
    compare(&c, "by bank, random", (struct pattern){.kind = RANDOM}, 3.0);
    compare(&c, "by bank, random writes",
            (struct pattern){.kind = RANDOM, .write_percent = 100}, 3.0);
}

/* nothing else is there: a row that is open, a bank that is closed, another row that is open */
TEST(idle_latencies_are_as_cycle_by_cycle)
{
    struct hbm_config c = hbm2();
    struct hbm *h = hbm_create(&c);

    assert_int_equal(hbm_access(h, 0, 0, 64, false), (2 + 14 + 14 + 2) * CLOCK_PS);
    assert_int_equal(hbm_access(h, 1000000, 64, 64, false), 1000000 + (2 + 14 + 2) * CLOCK_PS);
    assert_int_equal(hbm_access(h, 2000000, 1 << 18, 64, false),
                     2000000 + (2 + 14 + 14 + 14 + 2) * CLOCK_PS);
    hbm_destroy(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_controller_is_that_of_the_reference),
        cmocka_unit_test(the_fast_model_meets_the_reference),
        cmocka_unit_test(strides_are_as_cycle_by_cycle),
        cmocka_unit_test(random_mixes_are_as_cycle_by_cycle),
        cmocka_unit_test(sequential_mixes_are_as_cycle_by_cycle),
        cmocka_unit_test(another_map_with_bank_groups_is_as_cycle_by_cycle),
        cmocka_unit_test(banks_refreshed_one_by_one_are_as_cycle_by_cycle),
        cmocka_unit_test(idle_latencies_are_as_cycle_by_cycle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
