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
    assert_int_equal(net_send(n, 5000, 0, 1, 250, &sent_at), 5000 + 300000 + 280000);
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

    assert_int_equal(net_send(n, 0, 0, 1, 0, &sent_at), 300000 + 10000);
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
    net_send(n, 5000, 0, 3, 250, &sent_at);
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
    net_send(n, 6000, 0, 1, 0, &sent_at);
    assert_int_equal(t.use[2].start, 5000 + 280000);
    net_watch(n, NULL, NULL);
    net_send(n, 7000, 0, 1, 0, &sent_at);
    assert_int_equal(t.count, 3);
    net_destroy(n);
}

TEST(two_hops_cut_through_and_pay_for_the_bytes_once)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    assert_int_equal(net_hop_count(n, 0, 3), 2);
    assert_int_equal(net_send(n, 0, 0, 3, 1000, &sent_at), 2 * 300000 + 1100000);
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
    ps_t first = net_send(n, 0, 0, 1, 100, &first_sent);

    assert_int_equal(net_send(n, 0, 0, 1, 100, &second_sent), first + 110000);
    assert_int_equal(second_sent, first_sent + 110000);
    net_destroy(n);
}

TEST(a_message_asked_when_the_link_is_just_free_does_not_wait)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    net_send(n, 0, 0, 1, 100, &sent_at);
    assert_int_equal(net_send(n, 110000, 0, 1, 100, &sent_at), 110000 + 300000 + 110000);
    net_destroy(n);
}

TEST(opposite_directions_of_a_link_do_not_wait_for_each_other)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;
    ps_t there = net_send(n, 0, 0, 1, 100, &sent_at);

    assert_int_equal(net_send(n, 0, 1, 0, 100, &sent_at), there);
    net_destroy(n);
}

TEST(a_message_waits_for_a_busy_link_on_its_way)
{
    struct net *n = net_create(&mesh_2x2);
    ps_t sent_at = 0;

    net_send(n, 0, 1, 3, 1000, &sent_at);       /* holds 1 -> 3 until 1100000 */
    assert_int_equal(net_send(n, 0, 0, 3, 100, &sent_at), 1100000 + 300000 + 110000);
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
    assert_int_equal(net_hop_count(n, 0, 3), 1);
    assert_int_equal(net_hop_count(n, 0, 15), 2);
    assert_int_equal(net_send(n, 0, 0, 15, 0, &sent_at), 2 * 300000 + 10000);
    assert_int_equal(find_link(n, 0, 3)->wire_bytes, 10);       /* x first, backwards */
    assert_int_equal(find_link(n, 3, 15)->wire_bytes, 10);
    net_destroy(n);
}

TEST(a_tie_on_a_ring_goes_the_positive_way)
{
    struct net *n = net_create(&torus_4x4);
    ps_t sent_at = 0;

    net_send(n, 0, 0, 2, 100, &sent_at);
    assert_int_equal(payload(n, 0, 1), 100);
    assert_int_equal(payload(n, 1, 2), 100);
    net_send(n, 0, 2, 0, 100, &sent_at);
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
    assert_int_equal(net_hop_count(n, 0, 3), 3);
    assert_int_equal(net_hop_count(n, 0, 12), 1);
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
    assert_int_equal(net_hop_count(n, 0, 2 + 4 * 2 + 16 * 2), 6);
    assert_int_equal(net_send(n, 0, 0, 1 + 4 + 16, 100, &sent_at), 3 * 1000 + 50000);
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
    assert_int_equal(net_hop_count(n, 0, 12), 1);       /* z 0 to z 3: the short way round */
    assert_int_equal(net_hop_count(n, 0, 15), 3);
    assert_int_equal(net_send(n, 0, 0, 12, 100, &sent_at), 1000 + 100000);
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
    net_send(n, 0, 0, 1, 100, &sent_at);        /* 110 bytes at 333.33 ps */
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
        int hops = net_hop_count(n, from, to);
        ps_t arrived;

        at += rng_below(&r, 100000);
        arrived = net_send(n, at, from, to, bytes, &sent_at);
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
    ps_t first = net_send(n, 0, 0, 1, 100, &sent_at);

    net_reset(n);
    assert_int_equal(payload(n, 0, 1), 0);
    assert_int_equal(net_send(n, 0, 0, 1, 100, &sent_at), first);
    net_destroy(n);
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
            net_send(n, 0, 1, 1, 100, &sent_at);
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
        cmocka_unit_test(a_message_to_oneself_is_a_mistake_of_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
