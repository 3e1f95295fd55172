/*
 * Synthetic traffic: does the network take what theory says, lose nothing, treat
 * all alike, and move each message as a model does that counts every byte?
 */
#include "tests/test.h"

#include <math.h>

#include "base/arena.h"
#include "base/rng.h"
#include "interconnect/traffic.h"

/* a byte per nanosecond, messages of 1000 bytes, 300 ns per hop */
static struct traffic_request grid(int x, int y, int z, bool is_ring)
{
    return (struct traffic_request){
        .net = {.dim = {x, y, z}, .is_ring = {is_ring, is_ring, is_ring}, .link_gbps = 1.0,
                .packet_bytes = 1000, .hop_ps = 300000},
        .bytes = 1000, .load = 0.1, .messages = 200, .hot_percent = 20, .seed = 7};
}

static void near(double got, double expected, double part)
{
    if (fabs(got - expected) > part * fabs(expected))
        fail_msg("%g is not within %g %% of %g", got, 100 * part, expected);
}

/* averages over all pairs: a ring of 8 is 2 long, a line of 8 (64 - 1) / 24; 63 of 64 go away */
static const struct {
    enum traffic_pattern pattern;
    bool is_ring;
    double hops, busiest;
} cases_8x8[] = {
    {TRAFFIC_UNIFORM, true, 2 * 2.0 * 64 / 63, 1.0 * 64 / 63},
    {TRAFFIC_UNIFORM, false, 2 * 2.625 * 64 / 63, 2.0 * 64 / 63},       /* 4 x 4 / 8 across */
    {TRAFFIC_NEIGHBOUR, true, 2, 1},
    {TRAFFIC_NEIGHBOUR, false, 3.5, 1},         /* 7 of 8 one step, 1 of 8 seven */
    {TRAFFIC_TORNADO, true, 6, 3},
    {TRAFFIC_TORNADO, false, 7.5, 3},           /* 5 of 8 three steps, 3 of 8 five */
    {TRAFFIC_TRANSPOSE, false, 6, 7},           /* 336 steps of 56 chips; a row turns at one link */
    {TRAFFIC_BIT_COMPLEMENT, true, 4, 2},
    {TRAFFIC_BIT_COMPLEMENT, false, 8, 4},
};

TEST(theory_is_the_closed_form)
{
    for (size_t i = 0; i < COUNT_OF(cases_8x8); i++) {
        struct traffic_request r = grid(8, 8, 1, cases_8x8[i].is_ring);
        struct traffic_theory t;

        r.pattern = cases_8x8[i].pattern;
        traffic_find_theory(&r, &t);
        near(t.hops, cases_8x8[i].hops, 1e-9);
        near(t.busiest, cases_8x8[i].busiest, 1e-9);
        near(t.saturation, 1 / cases_8x8[i].busiest, 1e-9);
        near(t.idle_ps, cases_8x8[i].hops * 300000 + 1000000, 1e-9);
        assert_int_equal(t.senders, r.pattern == TRAFFIC_TRANSPOSE ? 56 : 64);
    }
}

TEST(theory_counts_a_hot_spot)
{
    struct traffic_request r = grid(3, 1, 1, false);
    struct traffic_theory t;

    r.pattern = TRAFFIC_HOTSPOT;
    r.hot_percent = 10;                         /* to chip 1; the rest of 0 and 2 evenly */
    traffic_find_theory(&r, &t);
    near(t.busiest, 0.1 + 0.9, 1e-9);           /* 0 -> 1: all that 0 sends */
    near(t.hops, (2 * (0.55 + 2 * 0.45) + 1) / 3, 1e-9);
}

/* so little that messages hardly meet */
TEST(an_idle_network_takes_hops_and_bytes)
{
    for (size_t i = 0; i < COUNT_OF(cases_8x8); i++) {
        struct traffic_request r = grid(8, 8, 1, cases_8x8[i].is_ring);
        struct traffic_result out;

        r.pattern = cases_8x8[i].pattern;
        r.load = 0.01 / cases_8x8[i].busiest;
        r.messages = 60;
        traffic_run(&r, &out);
        near((double)out.mean_ps, cases_8x8[i].hops * 300000 + 1000000, 0.02);  /* chance */
        assert_true(out.most_ps >= out.p99_ps && out.p99_ps >= 1300000);
    }
}

TEST(a_network_takes_what_its_busiest_link_can_carry)
{
    for (size_t i = 0; i < COUNT_OF(cases_8x8); i++) {
        struct traffic_request r = grid(8, 8, 1, cases_8x8[i].is_ring);
        double bound = 1 / cases_8x8[i].busiest;
        struct traffic_result out;

        r.pattern = cases_8x8[i].pattern;
        r.messages = 500;
        r.load = 0.9 * bound;
        traffic_run(&r, &out);
        near(out.offered, 0.9 * bound, 0.03);
        near(out.accepted, out.offered, 0.02);
        near(out.use_max, 0.9, 0.12);            /* the most of 256 links of chance */
        assert_true(out.use_max <= 1.0 + 1e-9);
    }
}

/*
 * Tornado beyond saturation, on the rings of x: a link serves three flows in the
 * order of arrival, so each gets the share s of what arrives, which is what is
 * offered for those that begin, and what the link before let through for the
 * others: s x offered x (1 + s + s^2) = 1, and s^3 x offered comes out.
 */
static double tornado_accepted(double offered)
{
    double s = 1;

    for (int i = 0; i < 200; i++)
        s = (s + 1 / (offered * (1 + s + s * s))) / 2;
    return s * s * s * offered;
}

TEST(beyond_saturation_first_come_is_first_served)
{
    const struct {
        enum traffic_pattern pattern;
        double load, accepted, part;
    } cases[] = {
        {TRAFFIC_NEIGHBOUR, 1.3, 1, 0.02},              /* no link has two flows */
        {TRAFFIC_UNIFORM, 1.3, 63 / 64.0, 0.05},
        {TRAFFIC_TORNADO, 0.433, tornado_accepted(0.433), 0.02},
        {TRAFFIC_TORNADO, 0.8, tornado_accepted(0.8), 0.03},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct traffic_request r = grid(8, 8, 1, true);
        struct traffic_result out;

        r.pattern = cases[i].pattern;
        r.messages = 800;
        r.load = cases[i].load;
        traffic_run(&r, &out);
        near(out.accepted, cases[i].accepted, cases[i].part);
        assert_true(out.use_max <= 1.0 + 1e-9 && out.use_max > 0.99);
    }
}

TEST(all_senders_get_their_share)
{
    const enum traffic_pattern alike[] = {TRAFFIC_UNIFORM, TRAFFIC_NEIGHBOUR, TRAFFIC_TORNADO};

    for (size_t i = 0; i < COUNT_OF(alike); i++) {
        struct traffic_request r = grid(8, 8, 1, true);
        struct traffic_theory t;
        struct traffic_result out;

        r.pattern = alike[i];
        r.messages = 1000;
        traffic_find_theory(&r, &t);
        r.load = 0.7 * t.saturation;
        traffic_run(&r, &out);
        assert_true(out.jain > 0.997 && out.jain <= 1.0 + 1e-12);
        assert_true(out.least_share > 0.95);
        assert_true(out.source_min <= out.accepted && out.accepted <= out.source_max);
        r.load = 1.5 * t.saturation;            /* first come, first served: far ones too */
        traffic_run(&r, &out);
        assert_true(out.jain > 0.98);
    }
}

/* any grid, pattern, routing and load: what goes in comes out */
TEST(everything_arrives_under_random_load)
{
    struct rng rng;

    rng_init(&rng, 11);
    for (int seed = 0; seed < 150; seed++) {
        bool is_twisted = rng_below(&rng, 6) == 0;
        int k = 3 + (int)rng_below(&rng, 2);
        struct traffic_request r =
            is_twisted ? grid(k, rng_below(&rng, 2) ? k : 2 * k, 2 * k, true)
                       : grid(1 + (int)rng_below(&rng, 6), 2 + (int)rng_below(&rng, 5),
                              1 + (int)rng_below(&rng, 3), rng_below(&rng, 2));
        struct traffic_result out;
        struct err e;

        r.net.is_twisted = is_twisted;
        r.net.routing = (enum net_routing)rng_below(&rng, NET_ROUTING_COUNT);
        r.net.packet_overhead_bytes = (int)rng_below(&rng, 20);
        r.pattern = (enum traffic_pattern)rng_below(&rng, TRAFFIC_PATTERN_COUNT);
        r.bytes = 1 + rng_below(&rng, 5000);
        r.load = 0.05 + 0.01 * rng_below(&rng, 300);
        r.messages = 20;
        r.seed = (uint64_t)seed;
        if (traffic_check(&r, &e))
            continue;                           /* transpose of a rectangle */
        traffic_run(&r, &out);
        assert_int_equal(out.sent, out.delivered);
        assert_int_equal(out.delivered_bytes, out.delivered * r.bytes);
        assert_true(out.sent > 0 || r.pattern >= TRAFFIC_TRANSPOSE
                    || r.pattern == TRAFFIC_TORNADO);
    }
}

TEST(a_seed_tells_all)
{
    struct traffic_request r = grid(4, 4, 2, true);
    struct traffic_result a, b;

    traffic_run(&r, &a);
    traffic_run(&r, &b);
    assert_memory_equal(&a, &b, sizeof(a));
    r.seed++;
    traffic_run(&r, &b);
    assert_true(a.mean_ps != b.mean_ps);
}

TEST(all_to_all_takes_what_its_busiest_link_takes)
{
    struct traffic_request r = grid(4, 4, 8, true);
    struct traffic_exchange plain, twisted;

    traffic_exchange(&r.net, 10000, &plain);
    /* along z: 128 destinations, 2 steps each, half of them either way: 128 messages per link */
    assert_int_equal(plain.bound_ps, 300000 + 128LL * 10000 * 1000);
    assert_true(plain.time_ps >= plain.bound_ps);
    near((double)plain.time_ps, (double)plain.bound_ps, 0.05);
    near(plain.use_max, 1, 0.05);
    r.net.is_twisted = true;
    traffic_exchange(&r.net, 10000, &twisted);
    assert_int_equal(twisted.bound_ps, 300000 + 74LL * 10000 * 1000);
    assert_true(twisted.time_ps >= twisted.bound_ps);
    assert_true(twisted.time_ps * 3 < plain.time_ps * 2);
    assert_true(twisted.use_max - twisted.use_min < 0.02);
}

TEST(impossible_traffic_is_refused)
{
    struct traffic_request r = grid(4, 8, 1, true);
    struct err e;

    r.pattern = TRAFFIC_TRANSPOSE;
    assert_int_equal(traffic_check(&r, &e), -1);
    assert_string_equal(e.msg, "transpose needs axes of equal length, not 4x8x1; the nearest grid "
                        "is 8x8x1");
    r = grid(4, 4, 2, true);
    r.pattern = TRAFFIC_TRANSPOSE;
    assert_int_equal(traffic_check(&r, &e), -1);
    assert_string_equal(e.msg, "transpose needs axes of equal length, not 4x4x2; the nearest grid "
                        "is 4x4x4");
    r = grid(1, 1, 1, true);
    assert_int_equal(traffic_check(&r, &e), -1);
    r = grid(16, 16, 1, true);
    r.messages = 100000;
    assert_int_equal(traffic_check(&r, &e), -1);
    assert_string_equal(e.msg, "100000 messages from each of 256 chips are too many; at most "
                        "65536");
    for (int p = 0; p < TRAFFIC_PATTERN_COUNT; p++)
        assert_int_equal(traffic_find(traffic_name((enum traffic_pattern)p)), p);
    assert_int_equal(traffic_find("tornados"), TRAFFIC_PATTERN_COUNT);
}

/* ---- a model that moves one byte per nanosecond and link, and knows nothing of net.c ---- */

enum { MESSAGES = 80, HOP_NS = 7, LINKS = 512, NS = 200000 };

struct parcel {
    int from, to, bytes, start_ns;
    int at, head_ns;                    /* chip where the head is from head_ns on; -1: on a link */
    int there_ns;
};

struct wire {
    int queue[MESSAGES], first, count, left;
};

struct world {
    int dim[3];
    bool is_ring;
    struct parcel parcel[MESSAGES];
    struct wire wire[LINKS];            /* chip * 6 + axis * 2 + is_positive */
};

/* the first axis, in order x, y, z, along which the places differ, and the shorter way: odd rings
 * and lines have no ties */
static int next_wire(const struct world *w, const struct parcel *p, int *next)
{
    int stride = 1;

    for (int axis = 0; axis < 3; axis++) {
        int n = w->dim[axis], a = p->at / stride % n, b = p->to / stride % n, step;

        if (a != b) {
            step = b > a ? 1 : -1;
            if (w->is_ring && n > 2 && (b - a) * step > n / 2)
                step = -step;
            *next = p->at + ((a + step + n) % n - a) * stride;
            return p->at * 6 + axis * 2 + (step > 0);
        }
        stride *= n;
    }
    fail_msg("nowhere to go");
    return -1;
}

/* heads that are at a chip now line up there, in the order of their numbers */
static void line_up(struct world *w, int now)
{
    for (int i = 0; i < MESSAGES; i++) {
        struct parcel *p = &w->parcel[i];
        int next;

        if (p->at >= 0 && p->head_ns == now && p->at != p->to) {
            struct wire *l = &w->wire[next_wire(w, p, &next)];

            l->queue[l->count++] = i;
        }
    }
}

static void send_byte(struct world *w, struct wire *l, int now)
{
    struct parcel *p = &w->parcel[l->queue[l->first]];
    int next;

    if (l->left == 0) {
        l->left = p->bytes;
        next_wire(w, p, &next);
        p->at = next;
        p->head_ns = now + HOP_NS;
        if (next == p->to)
            p->there_ns = now + HOP_NS + p->bytes;
    }
    if (--l->left == 0)
        l->first++;
}

static void run_world(struct world *w)
{
    for (int now = 0; now < NS; now++) {
        line_up(w, now);
        for (int i = 0; i < LINKS; i++)
            if (w->wire[i].first < w->wire[i].count)
                send_byte(w, &w->wire[i], now);
    }
}

static void make_parcels(struct world *w, uint64_t seed)
{
    int chips = w->dim[0] * w->dim[1] * w->dim[2];
    struct rng rng;

    rng_init(&rng, seed);
    for (int i = 0; i < MESSAGES; i++) {
        struct parcel *p = &w->parcel[i];

        p->from = p->at = (int)rng_below(&rng, (uint32_t)chips);
        p->to = (p->from + 1 + (int)rng_below(&rng, (uint32_t)chips - 1)) % chips;
        p->bytes = 1 + (int)rng_below(&rng, 300);
        p->start_ns = p->head_ns = (int)rng_below(&rng, 1500);
    }
}

struct order {
    ps_t free_at[LINKS];
};

/* each link serves one after the other */
static void check_order(void *context, const struct net_use *u)
{
    struct order *o = context;

    assert_true(u->start >= o->free_at[u->link]);
    o->free_at[u->link] = u->end;
}

static void compare_with_world(int x, int y, int z, bool is_ring, uint64_t seed)
{
    struct world *w = mem_alloc(sizeof(*w));
    struct traffic_request r = grid(x, y, z, is_ring);
    struct net_route route[MESSAGES];
    int chip[MESSAGES];
    ps_t at[MESSAGES];
    struct order order = {{0}};
    struct net *n;

    *w = (struct world){.dim = {x, y, z}, .is_ring = is_ring};
    r.net.hop_ps = HOP_NS * PS_PER_NS;
    n = net_create(&r.net);
    net_watch(n, check_order, &order);
    make_parcels(w, seed);
    for (int i = 0; i < MESSAGES; i++) {
        route[i] = net_route(n, w->parcel[i].from, w->parcel[i].to);
        chip[i] = w->parcel[i].from;
        at[i] = (ps_t)w->parcel[i].start_ns * PS_PER_NS;
    }
    run_world(w);
    for (;;) {
        int first = -1;
        struct net_hop hop;

        for (int i = 0; i < MESSAGES; i++)
            if (!net_is_there(route[i]) && (first < 0 || at[i] < at[first]))
                first = i;
        if (first < 0)
            break;
        hop = net_take(n, at[first], chip[first], &route[first], w->parcel[first].bytes);
        chip[first] = hop.next;
        at[first] = hop.head_at;
        if (net_is_there(route[first]))
            assert_int_equal(hop.there_at, (ps_t)w->parcel[first].there_ns * PS_PER_NS);
    }
    net_destroy(n);
    mem_free(w);
}

TEST(messages_move_as_in_a_model_that_counts_every_byte)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        compare_with_world(3, 3, 1, true, seed);
        compare_with_world(5, 3, 1, true, seed);
        compare_with_world(4, 4, 1, false, seed);
        compare_with_world(3, 2, 3, true, seed);
        compare_with_world(4, 2, 3, false, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_is_the_closed_form),
        cmocka_unit_test(theory_counts_a_hot_spot),
        cmocka_unit_test(an_idle_network_takes_hops_and_bytes),
        cmocka_unit_test(a_network_takes_what_its_busiest_link_can_carry),
        cmocka_unit_test(beyond_saturation_first_come_is_first_served),
        cmocka_unit_test(all_senders_get_their_share),
        cmocka_unit_test(everything_arrives_under_random_load),
        cmocka_unit_test(a_seed_tells_all),
        cmocka_unit_test(all_to_all_takes_what_its_busiest_link_takes),
        cmocka_unit_test(impossible_traffic_is_refused),
        cmocka_unit_test(messages_move_as_in_a_model_that_counts_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
