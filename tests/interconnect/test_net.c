#include "tests/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "interconnect/net.h"

/* 1 byte per ns and link, packets of 100 + 10 bytes, 300 ns per hop */
static const struct net_config mesh_2x2 = {
    .dim = {2, 2, 1}, .link_gbps = 1.0, .packet_bytes = 100, .packet_overhead_bytes = 10,
    .hop_ps = 300000,
};
static const struct net_config torus_4x4 = {
    .dim = {4, 4, 1}, .is_ring = {true, true, false}, .link_gbps = 1.0, .packet_bytes = 100,
    .packet_overhead_bytes = 10, .hop_ps = 300000,
};

/* all hops at once, as if nobody else were on the way: when the last byte is there */
static ps_t send_alone(struct net *n, ps_t at, int from, int to, int64_t bytes, ps_t *sent_at)
{
    struct net_route route = net_route(n, from, to);
    struct net_hop hop = net_take(n, at, from, &route, bytes);

    *sent_at = hop.free_at;
    while (!net_is_there(route))
        hop = net_take(n, hop.head_at, hop.next, &route, bytes);
    assert_int_equal(hop.next, to);
    return hop.there_at;
}

static const struct net_link_stats *find_link(const struct net *n, int from, int to)
{
    for (int i = 0; i < net_link_count(n); i++)
        if (net_link(n, i)->from == from && net_link(n, i)->to == to)
            return net_link(n, i);
    return NULL;
}

static int64_t payload(const struct net *n, int from, int to)
{
    const struct net_link_stats *s = find_link(n, from, to);

    assert_non_null(s);
    return s->payload_bytes;
}

TEST(a_message_to_a_neighbour_takes_one_hop_and_its_wire_bytes)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    /* 250 bytes: 3 packets, 280 bytes on the wire */
    assert_int_equal(send_alone(n, 5000, 0, 1, 250, &sent_at), 5000 + 300000 + 280000);
    assert_int_equal(sent_at, 5000 + 280000);
    assert_int_equal(find_link(n, 0, 1)->payload_bytes, 250);
    assert_int_equal(find_link(n, 0, 1)->wire_bytes, 280);
    assert_int_equal(find_link(n, 0, 1)->busy_ps, 280000);
    net_destroy(n);
}

TEST(a_message_without_payload_takes_one_header)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    assert_int_equal(send_alone(n, 0, 0, 1, 0, &sent_at), 300000 + 10000);
    net_destroy(n);
}

struct told {
    struct net_use use[4];
    int count;
};

static void take_use(void *context, const struct net_use *u)
{
    struct told *t = context;

    assert_in_range(t->count, 0, 3);
    t->use[t->count++] = *u;
}

/* from chip 0 over chip 1 to chip 3; then somebody waits for the first link */
TEST(a_watcher_is_told_of_every_use_of_a_link)
{
    struct net *n = net_create(&mesh_2x2);
    struct told t = {.count = 0};
    ps_t sent_at = 0;

    net_watch(n, take_use, &t);
    send_alone(n, 5000, 0, 3, 250, &sent_at);
    assert_int_equal(t.count, 2);
    for (int i = 0; i < 2; i++) {
        const struct net_link_stats *s = net_link(n, t.use[i].link);

        assert_int_equal(s->from, i);
        assert_int_equal(s->to, i ? 3 : 1);
        assert_int_equal(t.use[i].start, 5000 + i * 300000);
        assert_int_equal(t.use[i].end, t.use[i].start + 280000);
        assert_int_equal(t.use[i].payload_bytes, 250);
        assert_int_equal(t.use[i].wire_bytes, 280);
    }
    send_alone(n, 6000, 0, 1, 0, &sent_at);
    assert_int_equal(t.use[2].start, 5000 + 280000);
    net_watch(n, NULL, NULL);
    send_alone(n, 7000, 0, 1, 0, &sent_at);
    assert_int_equal(t.count, 3);
    net_destroy(n);
}

TEST(two_hops_cut_through_and_pay_for_the_bytes_once)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    assert_int_equal(net_steps(net_route(n, 0, 3)), 2);
    assert_int_equal(send_alone(n, 0, 0, 3, 1000, &sent_at), 2 * 300000 + 1100000);
    assert_int_equal(sent_at, 1100000);
    assert_int_equal(payload(n, 0, 1), 1000);
    assert_int_equal(payload(n, 1, 3), 1000);
    assert_int_equal(payload(n, 0, 2), 0);
    net_destroy(n);
}

TEST(two_messages_on_one_link_follow_each_other)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t first_sent = 0, second_sent = 0;
    ps_t first = send_alone(n, 0, 0, 1, 100, &first_sent);

    assert_int_equal(send_alone(n, 0, 0, 1, 100, &second_sent), first + 110000);
    assert_int_equal(second_sent, first_sent + 110000);
    net_destroy(n);
}

TEST(a_message_asked_when_the_link_is_just_free_does_not_wait)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    send_alone(n, 0, 0, 1, 100, &sent_at);
    assert_int_equal(send_alone(n, 110000, 0, 1, 100, &sent_at), 110000 + 300000 + 110000);
    net_destroy(n);
}

TEST(opposite_directions_of_a_link_do_not_wait_for_each_other)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;
    ps_t there = send_alone(n, 0, 0, 1, 100, &sent_at);

    assert_int_equal(send_alone(n, 0, 1, 0, 100, &sent_at), there);
    net_destroy(n);
}

TEST(a_message_waits_for_a_busy_link_on_its_way)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    send_alone(n, 0, 1, 3, 1000, &sent_at);       /* holds 1 -> 3 until 1100000 */
    assert_int_equal(send_alone(n, 0, 0, 3, 100, &sent_at), 1100000 + 300000 + 110000);
    assert_int_equal(sent_at, 110000);
    net_destroy(n);
}

TEST(a_2x2_mesh_has_eight_directed_links)
{
    struct net *n = net_create(&mesh_2x2);

    assert_int_equal(net_link_count(n), 8);
    assert_null(find_link(n, 0, 3));
    net_destroy(n);
}

TEST(an_axis_of_two_chips_does_not_close_to_a_ring)
{
    struct net_config config = mesh_2x2;
    struct net *n;

    config.is_ring[0] = config.is_ring[1] = config.is_ring[2] = true;
    n = net_create(&config);
    assert_int_equal(net_link_count(n), 8);
    net_destroy(n);
}

TEST(a_torus_goes_the_shorter_way_round)
{
    struct net *n = net_create(&torus_4x4);
    ps_t sent_at = 0;

    assert_int_equal(net_link_count(n), 64);
    assert_int_equal(net_steps(net_route(n, 0, 3)), 1);
    assert_int_equal(net_steps(net_route(n, 0, 15)), 2);
    assert_int_equal(send_alone(n, 0, 0, 15, 0, &sent_at), 2 * 300000 + 10000);
    assert_int_equal(find_link(n, 0, 3)->wire_bytes, 10);       /* x first, backwards */
    assert_int_equal(find_link(n, 3, 15)->wire_bytes, 10);
    net_destroy(n);
}

TEST(a_tie_on_a_ring_goes_the_positive_way)
{
    struct net *n = net_create(&torus_4x4);
    ps_t sent_at = 0;

    send_alone(n, 0, 0, 2, 100, &sent_at);
    assert_int_equal(payload(n, 0, 1), 100);
    assert_int_equal(payload(n, 1, 2), 100);
    send_alone(n, 0, 2, 0, 100, &sent_at);
    assert_int_equal(payload(n, 2, 3), 100);
    assert_int_equal(payload(n, 3, 0), 100);
    net_destroy(n);
}

TEST(a_mesh_never_wraps)
{
    struct net_config config = torus_4x4;
    struct net *n;

    config.is_ring[0] = false;
    n = net_create(&config);
    assert_int_equal(net_link_count(n), 4 * 2 * 3 + 4 * 2 * 4);
    assert_int_equal(net_steps(net_route(n, 0, 3)), 3);
    assert_int_equal(net_steps(net_route(n, 0, 12)), 1);
    assert_null(find_link(n, 0, 3));
    net_destroy(n);
}

TEST(a_third_dimension_is_routed_last)
{
    const struct net_config cube = {
        .dim = {4, 4, 4}, .is_ring = {true, true, true}, .link_gbps = 2.0, .packet_bytes = 100,
        .packet_overhead_bytes = 0, .hop_ps = 1000,
    };
    struct net *n = net_create(&cube);
    ps_t sent_at = 0;

    assert_int_equal(net_link_count(n), 64 * 6);
    assert_int_equal(net_steps(net_route(n, 0, 2 + 4 * 2 + 16 * 2)), 6);
    assert_int_equal(send_alone(n, 0, 0, 1 + 4 + 16, 100, &sent_at), 3 * 1000 + 50000);
    assert_int_equal(payload(n, 0, 1), 100);
    assert_int_equal(payload(n, 1, 5), 100);
    assert_int_equal(payload(n, 5, 21), 100);
    net_destroy(n);
}

TEST(the_third_dimension_closes_to_a_ring_of_its_own)
{
    const struct net_config tower = {
        .dim = {2, 2, 4}, .is_ring = {false, false, true}, .link_gbps = 1.0, .packet_bytes = 100,
        .packet_overhead_bytes = 0, .hop_ps = 1000,
    };
    struct net *n = net_create(&tower);
    ps_t sent_at = 0;

    assert_int_equal(net_link_count(n), 16 * 4);        /* x 1, y 1, z 2 per chip */
    assert_int_equal(net_steps(net_route(n, 0, 12)), 1);  /* z 0 to z 3: the short way round */
    assert_int_equal(net_steps(net_route(n, 0, 15)), 3);
    assert_int_equal(send_alone(n, 0, 0, 12, 100, &sent_at), 1000 + 100000);
    assert_int_equal(payload(n, 0, 12), 100);
    net_destroy(n);
}

TEST(a_duration_is_rounded_up_to_the_picosecond)
{
    struct net_config config = mesh_2x2;
    struct net *n;
    ps_t sent_at = 0;

    config.link_gbps = 3.0;
    n = net_create(&config);
    send_alone(n, 0, 0, 1, 100, &sent_at);        /* 110 bytes at 333.33 ps */
    assert_int_equal(sent_at, 36667);
    net_destroy(n);
}

TEST(bytes_on_links_are_payload_times_hops)
{
    struct net *n = net_create(&torus_4x4);
    struct rng r;
    int64_t expected = 0, found = 0;
    ps_t at = 0, sent_at = 0;

    rng_init(&r, 3);
    for (int i = 0; i < 5000; i++) {
        int from = (int)rng_below(&r, 16), to = (from + 1 + (int)rng_below(&r, 15)) % 16;
        int64_t bytes = rng_below(&r, 10000);
        int hops = net_steps(net_route(n, from, to));
        ps_t arrived;

        at += rng_below(&r, 100000);
        arrived = send_alone(n, at, from, to, bytes, &sent_at);
        assert_true(arrived >= at + hops * 300000 + bytes * 1000);
        assert_true(sent_at <= arrived - 300000);
        expected += bytes * hops;
    }
    for (int i = 0; i < net_link_count(n); i++) {
        const struct net_link_stats *s = net_link(n, i);

        found += s->payload_bytes;
        assert_int_equal(s->busy_ps, s->wire_bytes * 1000);
        assert_true(s->from != s->to);
    }
    assert_int_equal(found, expected);
    net_destroy(n);
}

TEST(reset_frees_links_and_clears_counters)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;
    ps_t first = send_alone(n, 0, 0, 1, 100, &sent_at);

    net_reset(n);
    assert_int_equal(payload(n, 0, 1), 0);
    assert_int_equal(send_alone(n, 0, 0, 1, 100, &sent_at), first);
    net_destroy(n);
}

/* 0 -> 1 -> 3 is held back on its first link; 1 -> 3 finds the second one free meanwhile */
TEST(a_link_is_taken_when_the_head_is_there_and_not_before)
{
    struct net *n = net_create(&mesh_2x2);
    struct net_route first = net_route(n, 0, 1), far = net_route(n, 0, 3), near = net_route(n, 1,
                                                                                            3);
    struct net_hop hop;

    net_take(n, 0, 0, &first, 1000);            /* holds 0 -> 1 until 1100000 */
    hop = net_take(n, 10, 0, &far, 100);
    assert_int_equal(hop.start, 1100000);
    assert_int_equal(hop.head_at, 1400000);
    assert_int_equal(hop.free_at, 1210000);
    assert_int_equal(hop.there_at, 1510000);
    assert_int_equal(hop.next, 1);
    assert_false(net_is_there(far));
    assert_int_equal(net_take(n, 500000, 1, &near, 1000).start, 500000);
    hop = net_take(n, 1400000, 1, &far, 100);   /* now that link is busy until 1600000 */
    assert_int_equal(hop.start, 1600000);
    assert_true(net_is_there(far));
    net_destroy(n);
}

/* y before x: 0 -> 2 -> 3 */
TEST(the_order_of_axes_is_chosen)
{
    struct net_config config = mesh_2x2;
    struct net *n;
    ps_t sent_at;

    config.routing = NET_ZYX;
    n = net_create(&config);
    send_alone(n, 0, 0, 3, 100, &sent_at);
    assert_int_equal(payload(n, 0, 2), 100);
    assert_int_equal(payload(n, 2, 3), 100);
    assert_int_equal(payload(n, 0, 1), 0);
    net_destroy(n);
}

TEST(adaptive_routing_takes_the_link_that_is_free_first)
{
    struct net_config config = torus_4x4;
    struct net *n;
    ps_t sent_at;

    config.routing = NET_ADAPTIVE;
    n = net_create(&config);
    send_alone(n, 0, 0, 5, 1000, &sent_at);     /* 0 -> 1 -> 5 */
    send_alone(n, 10, 0, 5, 100, &sent_at);     /* 0 -> 4 -> 5 */
    assert_int_equal(payload(n, 1, 5), 1000);
    assert_int_equal(payload(n, 4, 5), 100);
    send_alone(n, 20, 0, 2, 70, &sent_at);      /* halfway: the other way round */
    assert_int_equal(payload(n, 0, 3), 70);
    assert_int_equal(payload(n, 3, 2), 70);
    net_destroy(n);
}

TEST(ways_lead_where_they_should)
{
    struct net *n = net_create(&torus_4x4), *mesh = net_create(&mesh_2x2);
    struct net_route w;

    for (int from = 0; from < 16; from++)
        for (int to = 0; to < 16; to++) {
            w = net_route(n, from, to);
            assert_true(net_route_leads(n, w, from, to));
            assert_false(net_route_leads(n, w, from, (to + 1) % 16));
        }
    w = (struct net_route){{4, 0, 0}};          /* once round is not a way */
    assert_false(net_route_leads(n, w, 0, 0));
    w = (struct net_route){{1, 0, 0}};
    assert_true(net_route_leads(mesh, w, 0, 1));
    assert_false(net_route_leads(mesh, w, 1, 0));
    assert_false(net_route_leads(mesh, w, -1, 0));
    assert_false(net_route_leads(mesh, w, 4, 0));
    net_destroy(n);
    net_destroy(mesh);
}

/* a ring of 4: 0, 1, 2, 1 steps: 16 sources x 4 along the other axis x 2 ways, 4 of each */
TEST(traffic_between_all_pairs_loads_all_links_of_a_torus_alike)
{
    struct net *n = net_create(&torus_4x4);
    ps_t sent_at;

    for (int from = 0; from < 16; from++)
        for (int to = 0; to < 16; to++)
            if (from != to)
                send_alone(n, 0, from, to, 1, &sent_at);
    for (int i = 0; i < net_link_count(n); i++)
        assert_int_equal(net_link(n, i)->payload_bytes, 16 * 4 * 4 / (4 * 4 * 2));
    net_destroy(n);
}

enum { HEADS = 1 << 14 };
static struct head {
    ps_t at;
    int chip, source, number;
    struct net_route route;
} head[HEADS];

/* who has come farthest first, then by message, then by source: the same for every chip */
static bool comes_before(const struct head *a, const struct head *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (net_steps(a->route) != net_steps(b->route))
        return net_steps(a->route) < net_steps(b->route);
    if (a->number != b->number)
        return a->number < b->number;
    return a->source < b->source;
}

/* all chips of the grid, or chip 0 alone, send to all others at once; when the last is there */
static ps_t exchange_all(struct net *n, int chips, int sources, const int *to, int64_t bytes)
{
    int count = 0;
    ps_t end = 0;

    for (int s = 0; s < sources; s++)
        for (int i = 1; i < chips; i++)
            head[count++] = (struct head){0, s, s, i, net_route(n, s, to[s * chips + i])};
    while (count > 0) {
        int first = 0;
        struct net_hop hop;

        for (int i = 1; i < count; i++)
            if (comes_before(&head[i], &head[first]))
                first = i;
        hop = net_take(n, head[first].at, head[first].chip, &head[first].route, bytes);
        head[first].at = hop.head_at;
        head[first].chip = hop.next;
        end = later(end, hop.there_at);
        if (net_is_there(head[first].route))
            head[first] = head[--count];
    }
    return end;
}

/* the chip that is reached from `from` by the way from chip 0 to `by`, link by link */
static int moved(struct net *n, int from, int by)
{
    struct net_route w = net_route(n, 0, by);
    int chip = from;

    while (!net_is_there(w))
        chip = net_take(n, 0, chip, &w, 0).next;
    return chip;
}

static void fold(int x, int y, int z, bool is_twisted)
{
    struct net_config config = {.dim = {x, y, z}, .is_ring = {true, true, true},
                                .is_twisted = is_twisted,
                                .link_gbps = 3.0, .packet_bytes = 128,
                                .packet_overhead_bytes = 14, .hop_ps = 12345};
    struct net *whole = net_create(&config), *one;
    int chips = x * y * z, to[64 * 64];

    for (int s = 0; s < chips; s++)
        for (int i = 0; i < chips; i++)
            to[s * chips + i] = is_twisted ? moved(whole, s, i)
                                           : (s % x + i % x) % x
                                             + x * ((s / x % y + i / x % y) % y)
                                             + x * y * ((s / x / y + i / x / y) % z);
    net_reset(whole);
    config.is_folded = true;
    one = net_create(&config);
    assert_int_equal(exchange_all(one, chips, 1, to, 1000),
                     exchange_all(whole, chips, chips, to, 1000));
    assert_int_equal(net_link_count(one) * chips, net_link_count(whole));
    for (int i = 0; i < net_link_count(whole); i++) {
        int per_chip = net_link_count(one);

        assert_int_equal(net_link(whole, i)->busy_ps, net_link(one, i % per_chip)->busy_ps);
    }
    net_destroy(whole);
    net_destroy(one);
}

TEST(one_chip_stands_for_all_of_a_torus)
{
    fold(5, 1, 1, false);
    fold(4, 4, 1, false);
    fold(4, 2, 1, false);
    fold(4, 3, 2, false);
    fold(3, 3, 6, true);
}

/* 0 2 4 .. 5 3 1: every link of a line carries one message each way, at the ends of one hop */
TEST(one_chip_stands_for_all_of_a_ring_that_is_folded_on_a_line)
{
    struct net_config config = {.dim = {6, 1, 1}, .link_gbps = 3.0, .packet_bytes = 128,
                                .packet_overhead_bytes = 14, .hop_ps = 12345};
    static const int ring[] = {0, 2, 4, 5, 3, 1};
    struct net *whole = net_create(&config), *one;
    ps_t last[2] = {0, 0};

    for (int i = 0; i < 6; i++) {
        struct net_route w = net_route(whole, ring[i], ring[(i + 1) % 6]);
        struct net_hop hop = net_take(whole, 0, ring[i], &w, 1000);

        if (!net_is_there(w))
            hop = net_take(whole, hop.head_at, hop.next, &w, 1000);
        last[0] = hop.there_at > last[0] ? hop.there_at : last[0];
    }
    config.is_folded = true;
    one = net_create(&config);
    struct net_route w = net_route(one, 0, 2);
    last[1] = net_take(one, 0, 0, &w, 1000).head_at;
    last[1] = net_take(one, last[1], 0, &w, 1000).there_at;
    assert_int_equal(last[0], last[1]);
    assert_int_equal(net_link_count(one), 2);
    for (int i = 0; i < net_link_count(whole); i++)
        assert_int_equal(net_link(whole, i)->busy_ps, net_link(one, i % 2)->busy_ps);
    net_destroy(whole);
    net_destroy(one);
}

static const struct net_config twisted_4x4x8 = {
    .dim = {4, 4, 8}, .is_twisted = true, .link_gbps = 1.0, .packet_bytes = 100,
    .packet_overhead_bytes = 10, .hop_ps = 300000,
};

TEST(short_axes_of_a_twisted_torus_come_out_halfway_along_the_long_ones)
{
    struct net_config config = twisted_4x4x8;
    struct net *n = net_create(&config);

    assert_int_equal(net_link_count(n), 128 * 6);
    assert_non_null(find_link(n, 3, 0 + 16 * 4));               /* x of (3, 0, 0): (0, 0, 4) */
    assert_non_null(find_link(n, 0 + 16 * 5, 3 + 16 * 1));      /* -x of (0, 0, 5): (3, 0, 1) */
    assert_non_null(find_link(n, 12, 0 + 16 * 4));              /* y of (0, 3, 0) */
    assert_non_null(find_link(n, 16 * 7, 0));                   /* z of (0, 0, 7) */
    net_destroy(n);
    config.dim[1] = 8;
    n = net_create(&config);
    assert_non_null(find_link(n, 3, 0 + 4 * 4 + 32 * 4));       /* x of (3, 0, 0): (0, 4, 4) */
    assert_non_null(find_link(n, 4 * 7, 0));                    /* y of (0, 7, 0) */
    net_destroy(n);
}

/* fewest links from chip 0 to every chip, found over the links themselves */
static void find_distances(const struct net *n, int chips, int *distance)
{
    bool changes = true;

    for (int i = 0; i < chips; i++)
        distance[i] = i == 0 ? 0 : chips;
    while (changes) {
        changes = false;
        for (int i = 0; i < net_link_count(n); i++) {
            const struct net_link_stats *l = net_link(n, i);

            if (distance[l->from] + 1 < distance[l->to]) {
                distance[l->to] = distance[l->from] + 1;
                changes = true;
            }
        }
    }
}

/* every pair by a shortest way; all pairs together load all links within `spread` alike */
static void check_routes(int x, int y, int z, int spread)
{
    struct net_config config = twisted_4x4x8;
    int chips = x * y * z, distance[512], least = INT32_MAX, most = 0;
    struct net *n;
    ps_t sent_at;

    config.dim[0] = x;
    config.dim[1] = y;
    config.dim[2] = z;
    n = net_create(&config);
    find_distances(n, chips, distance);
    for (int from = 0; from < chips; from++)
        for (int to = 0; to < chips; to++) {
            struct net_route w = net_route(n, from, to);

            assert_true(net_route_leads(n, w, from, to));
            if (from == 0)
                assert_int_equal(net_steps(w), distance[to]);
            if (from != to)
                send_alone(n, 0, from, to, 1, &sent_at);
        }
    for (int i = 0; i < net_link_count(n); i++) {
        int load = (int)net_link(n, i)->payload_bytes;

        least = load < least ? load : least;
        most = load > most ? load : most;
    }
    assert_true(most - least <= spread);
    net_destroy(n);
}

TEST(ways_in_a_twisted_torus_are_shortest_and_load_it_evenly)
{
    check_routes(3, 3, 6, 3);
    check_routes(4, 4, 8, 1);
    check_routes(4, 8, 8, 2);
}

/* 130 bytes in packets of 100 in flits of 50: 150 + 2 x 10; nothing at all: a header */
TEST(a_payload_takes_whole_flits)
{
    struct net_config config = mesh_2x2;
    struct net *n;

    config.flit_bytes = 50;
    n = net_create(&config);
    assert_int_equal(net_wire_bytes(n, 130), 170);
    assert_int_equal(net_busy_ps(n, 130), 170000);
    assert_int_equal(net_wire_bytes(n, 0), 10);
    net_destroy(n);
    n = net_create(&mesh_2x2);
    assert_int_equal(net_wire_bytes(n, 130), 150);
    net_destroy(n);
}

TEST(routings_have_names)
{
    for (int r = 0; r < NET_ROUTING_COUNT; r++)
        assert_int_equal(net_find_routing(net_routing_name((enum net_routing)r)), r);
    assert_int_equal(net_find_routing("xzy"), NET_ROUTING_COUNT);
}

TEST(a_message_to_oneself_is_a_mistake_of_the_caller)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr))
            send_alone(n, 0, 1, 1, 100, &sent_at);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    net_destroy(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_to_a_neighbour_takes_one_hop_and_its_wire_bytes),
        cmocka_unit_test(a_message_without_payload_takes_one_header),
        cmocka_unit_test(a_watcher_is_told_of_every_use_of_a_link),
        cmocka_unit_test(two_hops_cut_through_and_pay_for_the_bytes_once),
        cmocka_unit_test(two_messages_on_one_link_follow_each_other),
        cmocka_unit_test(a_message_asked_when_the_link_is_just_free_does_not_wait),
        cmocka_unit_test(opposite_directions_of_a_link_do_not_wait_for_each_other),
        cmocka_unit_test(a_message_waits_for_a_busy_link_on_its_way),
        cmocka_unit_test(a_2x2_mesh_has_eight_directed_links),
        cmocka_unit_test(an_axis_of_two_chips_does_not_close_to_a_ring),
        cmocka_unit_test(a_torus_goes_the_shorter_way_round),
        cmocka_unit_test(a_tie_on_a_ring_goes_the_positive_way),
        cmocka_unit_test(a_mesh_never_wraps),
        cmocka_unit_test(a_third_dimension_is_routed_last),
        cmocka_unit_test(the_third_dimension_closes_to_a_ring_of_its_own),
        cmocka_unit_test(a_duration_is_rounded_up_to_the_picosecond),
        cmocka_unit_test(bytes_on_links_are_payload_times_hops),
        cmocka_unit_test(reset_frees_links_and_clears_counters),
        cmocka_unit_test(a_link_is_taken_when_the_head_is_there_and_not_before),
        cmocka_unit_test(the_order_of_axes_is_chosen),
        cmocka_unit_test(adaptive_routing_takes_the_link_that_is_free_first),
        cmocka_unit_test(ways_lead_where_they_should),
        cmocka_unit_test(traffic_between_all_pairs_loads_all_links_of_a_torus_alike),
        cmocka_unit_test(one_chip_stands_for_all_of_a_torus),
        cmocka_unit_test(one_chip_stands_for_all_of_a_ring_that_is_folded_on_a_line),
        cmocka_unit_test(short_axes_of_a_twisted_torus_come_out_halfway_along_the_long_ones),
        cmocka_unit_test(ways_in_a_twisted_torus_are_shortest_and_load_it_evenly),
        cmocka_unit_test(a_payload_takes_whole_flits),
        cmocka_unit_test(routings_have_names),
        cmocka_unit_test(a_message_to_oneself_is_a_mistake_of_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
