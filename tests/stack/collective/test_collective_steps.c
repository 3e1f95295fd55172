/* The steps engine with lists made by hand: times from first principles, and one chip for all. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/rng.h"
#include "stack/collective/collective_steps_impl.h"
#include "stack/collective/collective_steps_queue.h"

#define OPS_MAX 512

/* All cores with the same number on their chips have one list; peers are distances. */
struct hand {
    int dim[3], cores_per_chip;
    int count[2];
    struct collective_op op[2][OPS_MAX];
    int step[2][OPS_MAX][3], peer_core[2][OPS_MAX];     /* to the peer, and its core there */
};

static int op_count(const void *context, int core)
{
    const struct hand *h = context;

    return h->count[core % h->cores_per_chip];
}

static int moved(const struct hand *h, int chip, const int step[3])
{
    int to = 0, stride = 1;

    for (int i = 0; i < 3; i++) {
        int at = chip % h->dim[i];

        chip /= h->dim[i];
        to += (at + step[i] + h->dim[i]) % h->dim[i] * stride;
        stride *= h->dim[i];
    }
    return to;
}

static void get_op(const void *context, int core, int index, struct collective_op *out)
{
    const struct hand *h = context;
    int c = core % h->cores_per_chip;

    *out = h->op[c][index];
    out->peer = moved(h, core / h->cores_per_chip, h->step[c][index]) * h->cores_per_chip
                + h->peer_core[c][index];
}

static void add_op(struct hand *h, int core, struct collective_op op, int x, int y, int z,
                   int peer_core)
{
    int i = h->count[core]++;

    assert_true(i < OPS_MAX);
    op.run_bytes = op.bytes;
    for (int level = 0; level < COLLECTIVE_LEVELS; level++)
        op.level[level].count = 1;
    h->op[core][i] = op;
    memcpy(h->step[core][i], (int[3]){x, y, z}, sizeof(int[3]));
    h->peer_core[core][i] = peer_core;
}

/* 1 byte per ns and link, packets of 100 + 10 bytes, 300 ns per hop; all else round numbers */
static const struct net_config links = {.dim = {1, 1, 1}, .link_gbps = 1.0, .packet_bytes = 100,
                                        .packet_overhead_bytes = 10, .hop_ps = 300000};
static const struct collective_costs costs = {
    .program = {.op_cycles = {1, 2, 3, 4, 5}, .page_ops = 1000, .add_round_bytes = 1024,
                .add_round_cycles = 6, .add_rest_cycles = 2, .add_only_rest_cycles = 9},
    .clock_mhz = 1000, .resume_cycles = 7, .core_gbps = 100, .local_gbps = 50, .peer_gbps = 50,
    .hbm_gbps = 200, .hbm_mixed_gbps = 150, .read_ps = 400000, .write_ps = 380000,
    .local_ps = 100000, .vector_bytes = 512,
    .chunk_bytes = 4096, .queue_depth = 64,
};

static void run_with(const struct hand *h, const struct collective_costs *k, bool whole,
                     struct collective_result *out)
{
    struct collective_steps_lists l = {.context = h,
                                       .op_count = op_count,
                                       .op = get_op,
                                       .flag_count = 8,
                                       .cores_per_chip = h->cores_per_chip,
                                       .is_symmetric = !whole};
    struct net_config net = links;
    struct collective_steps_options o = {.costs = k};
    struct err e;

    l.core_count = h->cores_per_chip;
    for (int i = 0; i < 3; i++) {
        net.dim[i] = h->dim[i];
        net.is_ring[i] = true;
        l.core_count *= h->dim[i];
    }
    if (collective_steps_engine_run(&l, &net, k, &o, out, &e))
        fail_msg("%s", e.msg);
}

static ps_t time_of(const struct hand *h)
{
    struct collective_result r;

    run_with(h, &costs, true, &r);
    return r.time_ps;
}

static struct collective_op copy_op(uint8_t kind, enum collective_space from,
                                    enum collective_space to, int64_t bytes)
{
    return (struct collective_op){.kind = kind, .from_space = (uint8_t)from,
                                  .to_space = (uint8_t)to, .bytes = bytes, .flag = 0,
                                  .source_flag = kind == COLLECTIVE_SEND ? 1 : -1};
}

static struct collective_op wait_op(int flag, int value)
{
    return (struct collective_op){.kind = COLLECTIVE_WAIT, .flag = flag, .value = value};
}

/* what a plain list has as its first: by instant, order, and when it was put in */
struct plain {
    ps_t at;
    uint64_t order;
    int number;
};

static int first_of(const struct plain *p, int count)
{
    int least = 0;

    for (int i = 1; i < count; i++)
        if (p[i].at < p[least].at ||
            (p[i].at == p[least].at &&
             (p[i].order < p[least].order ||
              (p[i].order == p[least].order && p[i].number < p[least].number))))
            least = i;
    return least;
}

TEST(events_come_by_instant_and_order_as_a_plain_list_has_them)
{
    struct collective_steps_queue *q = collective_steps_queue_create();
    static struct plain pending[3000];
    struct collective_steps_event e;
    int count = 0, number = 0;
    ps_t now = 0, at;
    struct rng r;

    rng_init(&r, 1);
    while (number < 30000 || count > 0) {
        bool puts = number < 30000 && (count < 10 || (count < 3000 && rng_below(&r, 2)));

        if (puts) {             /* near, in the same span, beyond the ring; many keys are shared */
            ps_t ahead = 1 + (ps_t)rng_below(&r, 1u << (rng_below(&r, 30) + 1));
            int copies = 1 + (int)rng_below(&r, 40);

            for (int i = 0; i < copies && count < 3000; i++) {
                struct plain p = {now + ahead, rng_below(&r, 3), number++};

                pending[count++] = p;
                collective_steps_queue_push(q, (struct collective_steps_key){p.at, p.order},
                                            &(struct collective_steps_event){.value = p.number});
            }
        } else {
            int first = first_of(pending, count);

            assert_true(collective_steps_queue_pop(q, &at, &e));
            assert_int_equal(at, pending[first].at);
            assert_int_equal(e.value, pending[first].number);
            now = at;
            memmove(&pending[first], &pending[first + 1],
                    (size_t)(--count - first) * sizeof(*pending));
        }
    }
    assert_false(collective_steps_queue_pop(q, &at, &e));
    collective_steps_queue_destroy(q);
}

TEST(events_put_in_at_the_instant_under_way_come_after_the_ones_there)
{
    struct collective_steps_queue *q = collective_steps_queue_create();
    const int wanted[] = {3, 5, 8, 1, 2};
    struct collective_steps_event e;
    ps_t at;

    for (int i = 8; i >= 3; i -= i == 8 ? 3 : 2)
        collective_steps_queue_push(q, (struct collective_steps_key){90000, (uint64_t)i},
                                    &(struct collective_steps_event){.value = i});
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_true(collective_steps_queue_pop(q, &at, &e));
        assert_int_equal(e.value, wanted[i]);
        for (int late = 2; i == 0 && late > 0; late--)
            collective_steps_queue_push(q, (struct collective_steps_key){90000, (uint64_t)late},
                                        &(struct collective_steps_event){.value = late});
    }
    assert_false(collective_steps_queue_pop(q, &at, &e));
    collective_steps_queue_destroy(q);
}

TEST(a_copy_takes_port_and_fixed_parts)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};

    /* 1 + 6656/100 (13 vectors) + 400 read; then 7 to resume and 3 of the wait */
    add_op(&h, 0, copy_op(COLLECTIVE_COPY, COLLECTIVE_HBM, COLLECTIVE_VMEM, 6400), 0, 0, 0, 0);
    add_op(&h, 0, wait_op(0, 200), 0, 0, 0, 0);
    /* flags are seen at the next edge of the clock: 467.56 ns at 468 */
    assert_int_equal(time_of(&h), 468000 + 7000 + 3000);
}

TEST(the_hbm_stands_still_for_a_refresh_and_has_a_latency)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};
    struct collective_costs k = costs;
    struct collective_result r;

    k.hbm_read_ps = 31000;
    k.refresh_period_ps = 20000;
    k.refresh_ps = 5000;
    k.hbm_gbps = 32;
    /* 6400 B are 200 ns of the HBM; asked at 1, in the refresh of 0: begins at 5, and 15 of every
       20 ns are left: 13 periods of 15 and 5 more: the last begins at 265 and ends at 270 */
    add_op(&h, 0, copy_op(COLLECTIVE_COPY, COLLECTIVE_HBM, COLLECTIVE_VMEM, 6400), 0, 0, 0, 0);
    add_op(&h, 0, wait_op(0, 200), 0, 0, 0, 0);
    run_with(&h, &k, true, &r);
    assert_int_equal(r.time_ps, 270000 + 31000 + 400000 + 7000 + 3000);
}

TEST(a_long_message_leaves_room_for_another_core_s)
{
    struct hand h = {.dim = {4, 1, 1}, .cores_per_chip = 2};
    const int granules[] = {65536 / 32, 4096 / 32};

    /* core 1's 4 KiB (41 packets) wait for the piece of 4 KiB under way, not for all 64 KiB */
    for (int core = 0; core < 2; core++) {
        add_op(&h, core, copy_op(COLLECTIVE_SEND, COLLECTIVE_VMEM, COLLECTIVE_VMEM,
                                 granules[core] * 32), 1, 0, 0, core);
        add_op(&h, core, wait_op(0, granules[core]), 0, 0, 0, 0);
    }
    h.count[0]--;                       /* core 0 does not wait: core 1 is the last to end */
    assert_int_equal(time_of(&h), 2000 + 100000 + 300000 + 2 * (4096000 + 410000) + 100000 + 10000);
}

TEST(short_runs_take_whole_vectors_of_the_engine)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};

    /* ten runs of 640 bytes take 1024 each: 102.4 ns of the port instead of 64 */
    add_op(&h, 0, copy_op(COLLECTIVE_COPY, COLLECTIVE_HBM, COLLECTIVE_VMEM, 6400), 0, 0, 0, 0);
    h.op[0][0].run_bytes = 640;
    add_op(&h, 0, wait_op(0, 200), 0, 0, 0, 0);
    assert_int_equal(time_of(&h), 504000 + 7000 + 3000);        /* 503.4 ns */
}

TEST(copies_from_and_to_hbm_share_the_rate_of_the_chip)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 2};

    /* each core 6400 B in and out: the first read at 200 B/ns, 32 ns; reads and writes together
       get 150: 3 x 42.667 ns. That is 1 + 160.001 + 780 ns, seen at the next edge, 942. */
    for (int core = 0; core < 2; core++) {
        add_op(&h, core, copy_op(COLLECTIVE_COPY, COLLECTIVE_HBM, COLLECTIVE_HBM, 6400),
               0, 0, 0, 0);
        add_op(&h, core, wait_op(0, 200), 0, 0, 0, 0);
    }
    assert_int_equal(time_of(&h), 942000 + 7000 + 3000);
}

/* to the next chip of a ring of four: 2 start, 100 local, 300 hop, 1000 + 100 wire, 100 local */
#define SEND_PS (2000 + 100000 + 300000 + 1100000 + 100000)

TEST(what_a_core_reads_and_writes_of_hbm_shares_its_way)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};

    /* 12800 B in and 12800 B out, 25 vectors each, at 100 B/ns, whatever the chip could:
       1 + 128 + 128 ns, and 380 */
    add_op(&h, 0, copy_op(COLLECTIVE_COPY, COLLECTIVE_HBM, COLLECTIVE_VMEM, 12800), 0, 0, 0, 0);
    add_op(&h, 0, copy_op(COLLECTIVE_COPY, COLLECTIVE_VMEM, COLLECTIVE_HBM, 12800), 0, 0, 0, 0);
    add_op(&h, 0, wait_op(0, 800), 0, 0, 0, 0);
    assert_int_equal(time_of(&h), 637000 + 7000 + 3000);
}

TEST(a_copy_to_the_next_chip_takes_hop_wire_and_fixed_parts)
{
    struct hand h = {.dim = {4, 1, 1}, .cores_per_chip = 1};

    add_op(&h, 0, copy_op(COLLECTIVE_SEND, COLLECTIVE_VMEM, COLLECTIVE_VMEM, 1000 - 1000 % 32),
           1, 0, 0, 0);
    add_op(&h, 0, wait_op(0, 31), 0, 0, 0, 0);
    /* 992 bytes in 10 packets; the source was free at 2 + 100 + 1092, long before */
    assert_int_equal(time_of(&h), SEND_PS - 8000 + 7000 + 3000);
    add_op(&h, 0, wait_op(1, 31), 0, 0, 0, 0);
    assert_int_equal(time_of(&h), SEND_PS - 8000 + 7000 + 3000 + 3000);
}

TEST(two_hops_cost_one_hop_more_and_no_bytes)
{
    struct hand near = {.dim = {5, 1, 1}, .cores_per_chip = 1}, far = near;
    struct collective_op send = copy_op(COLLECTIVE_SEND, COLLECTIVE_VMEM, COLLECTIVE_VMEM, 3200);

    add_op(&near, 0, send, 1, 0, 0, 0);
    add_op(&near, 0, wait_op(0, 100), 0, 0, 0, 0);
    add_op(&far, 0, send, 2, 0, 0, 0);
    add_op(&far, 0, wait_op(0, 100), 0, 0, 0, 0);
    /* every link carries two messages: the second hop waits for the first message's 3520 bytes */
    assert_int_equal(time_of(&far) - time_of(&near), 3520000);
}

TEST(a_copy_to_hbm_waits_for_its_write)
{
    struct hand h = {.dim = {4, 1, 1}, .cores_per_chip = 1};

    add_op(&h, 0, copy_op(COLLECTIVE_SEND, COLLECTIVE_HBM, COLLECTIVE_HBM, 3200), 1, 0, 0, 0);
    add_op(&h, 0, wait_op(0, 100), 0, 0, 0, 0);
    /* the link is slower than both memories */
    assert_int_equal(time_of(&h), 2000 + 100000 + 300000 + 3520000 + 100000 + 380000 + 10000);
}

TEST(a_signal_is_a_message_of_one_granule)
{
    struct hand h = {.dim = {4, 1, 1}, .cores_per_chip = 1};

    add_op(&h, 0, (struct collective_op){.kind = COLLECTIVE_SIGNAL, .flag = 2, .value = 5},
           -1, 0, 0, 0);
    add_op(&h, 0, wait_op(2, 5), 0, 0, 0, 0);
    assert_int_equal(time_of(&h), 5000 + 300000 + 42000 + 100000 + 7000 + 3000);
}

TEST(an_addition_takes_its_rounds_and_a_rest)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};

    add_op(&h, 0, (struct collective_op){.kind = COLLECTIVE_ADD, .bytes = 4128}, 0, 0, 0, 0);
    assert_int_equal(time_of(&h), 4000 + 4 * 6000 + 2000);
}

TEST(the_program_pays_for_its_start_and_for_pages)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};
    struct collective_costs k = costs;
    struct collective_result r;

    k.program.start_cycles = 50;
    k.program.page_ops = 2;
    k.program.page_cycles = 20;
    for (int i = 0; i < 5; i++)
        add_op(&h, 0, (struct collective_op){.kind = COLLECTIVE_ADD, .bytes = 32}, 0, 0, 0, 0);
    run_with(&h, &k, true, &r);
    assert_int_equal(r.time_ps, 50000 + 5 * 9000 + 2 * 20000);
}

TEST(both_cores_of_a_chip_share_its_links)
{
    struct hand h = {.dim = {4, 1, 1}, .cores_per_chip = 2};

    for (int core = 0; core < 2; core++) {
        add_op(&h, core, copy_op(COLLECTIVE_SEND, COLLECTIVE_VMEM, COLLECTIVE_VMEM, 3200),
               1, 0, 0, core);
        add_op(&h, core, wait_op(0, 100), 0, 0, 0, 0);
    }
    assert_int_equal(time_of(&h), 2000 + 100000 + 300000 + 2 * 3520000 + 100000 + 10000);
}

TEST(a_full_queue_of_descriptors_holds_the_core_up)
{
    struct hand h = {.dim = {1, 1, 1}, .cores_per_chip = 1};
    struct collective_costs k = costs;
    struct collective_result r;

    k.queue_depth = 1;
    for (int i = 0; i < 2; i++)
        add_op(&h, 0, copy_op(COLLECTIVE_COPY, COLLECTIVE_HBM, COLLECTIVE_VMEM, 6400), 0, 0, 0, 0);
    add_op(&h, 0, wait_op(0, 400), 0, 0, 0, 0);
    run_with(&h, &k, true, &r);
    /* 1 + 66.56 + 400 ns, goes on at 468; 469 + 466.56 ns, seen at 936 */
    assert_int_equal(r.time_ps, 936000 + 7000 + 3000);
}

TEST(a_wait_for_what_never_comes_is_told_with_its_place)
{
    struct hand h = {.dim = {4, 1, 1}, .cores_per_chip = 1};
    struct collective_steps_lists l = {.context = &h,
                                       .op_count = op_count,
                                       .op = get_op,
                                       .flag_count = 8,
                                       .cores_per_chip = 1,
                                       .core_count = 4};
    struct net_config net = links;
    struct collective_steps_options o = {.costs = &costs};
    struct collective_result r;
    struct err e;

    net.dim[0] = 4;
    add_op(&h, 0, wait_op(3, 9), 0, 0, 0, 0);
    assert_int_equal(collective_steps_engine_run(&l, &net, &costs, &o, &r, &e), -1);
    assert_string_equal(e.msg, "core 0 waits for ever in operation 0 of 1, for 9 of flag 3");
}

/* ----- one chip for all */

/* Copies, sends and signals at random, then waits for what the same list sends here. */
static void make_random(struct hand *h, struct rng *r)
{
    int rounds = 2 + (int)rng_below(r, 6);

    h->cores_per_chip = 1 + (int)rng_below(r, 2);
    for (int i = 0; i < 3; i++)
        h->dim[i] = 1 + (int)rng_below(r, 5);
    for (int round = 0; round < rounds; round++) {
        int awaited[2][8] = {{0}};

        for (int i = 0; i < 6 * h->cores_per_chip; i++) {
            int core = (int)rng_below(r, (uint32_t)h->cores_per_chip), step[3];
            int flag = (int)rng_below(r, 8), to = (int)rng_below(r, (uint32_t)h->cores_per_chip);
            struct collective_op op = copy_op(
                (uint8_t)rng_below(r, COLLECTIVE_OP_KIND_COUNT),
                (enum collective_space)rng_below(r, 2), (enum collective_space)rng_below(r, 2),
                32 * (1 + rng_below(r, 1u << rng_below(r, 12))));

            for (int axis = 0; axis < 3; axis++)
                step[axis] = (int)rng_below(r, (uint32_t)h->dim[axis]);
            if (op.kind == COLLECTIVE_WAIT)
                continue;
            if (op.kind == COLLECTIVE_SIGNAL)
                op.value = 1 + (int)rng_below(r, 9);
            op.flag = flag;
            op.source_flag = op.kind == COLLECTIVE_SEND && rng_below(r, 2) ? 7 : -1;
            add_op(h, core, op, step[0], step[1], step[2], to);
            if (op.source_flag >= 0)
                awaited[core][7] += (int)(op.bytes / 32);
            if (op.kind == COLLECTIVE_COPY)
                awaited[core][flag] += (int)(op.bytes / 32);
            else if (op.kind != COLLECTIVE_ADD)
                awaited[to][flag] += op.kind == COLLECTIVE_SEND ? (int)(op.bytes / 32) : op.value;
        }
        for (int core = 0; core < h->cores_per_chip; core++)
            for (int flag = 0; flag < 8; flag++)
                if (awaited[core][flag])
                    add_op(h, core, wait_op(flag, awaited[core][flag]), 0, 0, 0, 0);
    }
}

TEST(one_chip_for_all_gives_the_picoseconds_of_the_whole_torus)
{
    static struct hand h;
    struct collective_result one, all;
    struct rng r;

    for (uint64_t seed = 0; seed < 400; seed++) {
        struct collective_costs k = costs;

        memset(&h, 0, sizeof(h));
        rng_init(&r, seed);
        make_random(&h, &r);
        k.queue_depth = 1 + (int)rng_below(&r, 12);
        k.refresh_period_ps = 3900000;
        k.refresh_ps = rng_below(&r, 2) ? 260000 : 0;
        k.hbm_read_ps = 31000;
        k.hbm_write_ps = 7000;
        run_with(&h, &k, false, &one);
        run_with(&h, &k, true, &all);
        if (one.time_ps != all.time_ps)
            fail_msg("seed %d: %lld ps with one chip, %lld with all", (int)seed,
                     (long long)one.time_ps, (long long)all.time_ps);
        assert_true(one.used_symmetry && !all.used_symmetry);
        assert_int_equal(one.message_count, all.message_count);
        assert_int_equal(one.sent_bytes, all.sent_bytes);
        assert_int_equal(one.op_count, all.op_count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_by_instant_and_order_as_a_plain_list_has_them),
        cmocka_unit_test(events_put_in_at_the_instant_under_way_come_after_the_ones_there),
        cmocka_unit_test(a_copy_takes_port_and_fixed_parts),
        cmocka_unit_test(the_hbm_stands_still_for_a_refresh_and_has_a_latency),
        cmocka_unit_test(a_long_message_leaves_room_for_another_core_s),
        cmocka_unit_test(short_runs_take_whole_vectors_of_the_engine),
        cmocka_unit_test(copies_from_and_to_hbm_share_the_rate_of_the_chip),
        cmocka_unit_test(what_a_core_reads_and_writes_of_hbm_shares_its_way),
        cmocka_unit_test(a_copy_to_the_next_chip_takes_hop_wire_and_fixed_parts),
        cmocka_unit_test(two_hops_cost_one_hop_more_and_no_bytes),
        cmocka_unit_test(a_copy_to_hbm_waits_for_its_write),
        cmocka_unit_test(a_signal_is_a_message_of_one_granule),
        cmocka_unit_test(an_addition_takes_its_rounds_and_a_rest),
        cmocka_unit_test(the_program_pays_for_its_start_and_for_pages),
        cmocka_unit_test(both_cores_of_a_chip_share_its_links),
        cmocka_unit_test(a_full_queue_of_descriptors_holds_the_core_up),
        cmocka_unit_test(a_wait_for_what_never_comes_is_told_with_its_place),
        cmocka_unit_test(one_chip_for_all_gives_the_picoseconds_of_the_whole_torus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
