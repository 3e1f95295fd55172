#include "tests/test.h"

#include "base/rng.h"
#include "tests/rigs/hbm_rig.h"

/*
 * One channel of eight banks with round numbers, refresh far away. A row is two
 * pieces; row r of bank b begins where row_address says.
 */
static struct hbm_config one_channel = {
    .size_bytes = 1 << 20, .channel_count = 1, .bank_count = 8, .bank_groups = 4,
    .row_bytes = 1024, .burst_bytes = 32, .burst_ps = 2000, .tccd_l_ps = 2000, .trcd_ps = 14000,
    .trp_ps = 15000, .tras_ps = 33000, .tcl_ps = 13000, .tcwl_ps = 4000, .trrd_ps = 4500,
    .trrd_l_ps = 4500, .tfaw_ps = 30000, .twtr_ps = 8000, .twtr_l_ps = 8000, .trtw_ps = 3000,
    .twr_ps = 16000, .trtp_ps = 5000, .trefi_ps = 3900000, .trfc_ps = 260000,
    .read_queue = 32, .write_queue = 32, .bank_queue = 8, .write_low = 1,
};

static struct hbm_config whole_chip;    /* of a v3 */

/* One channel: rows follow each other over the banks, bank + row rotated (docs/memory.md). */
static int64_t row_address(int row, int bank)
{
    return ((int64_t)row * 8 + (bank + 8 - row % 8) % 8) * 1024;
}

static ps_t read_burst(struct hbm *h, ps_t at, int row, int bank)
{
    return hbm_access(h, at, row_address(row, bank), 32, false);
}

static ps_t write_burst(struct hbm *h, ps_t at, int row, int bank)
{
    return hbm_access(h, at, row_address(row, bank), 32, true);
}

/* what became of the accesses that are watched */
struct told {
    struct hbm_run run[8];
    int count;
};

static void take_run(void *context, const struct hbm_run *r)
{
    struct told *t = context;

    assert_in_range(t->count, 0, 7);
    t->run[t->count++] = *r;
}

/* a burst is written when nothing else is to do; returns when its data begin */
static ps_t written_at(struct hbm *h, ps_t at, int row, int bank)
{
    struct told t = {.count = 0};

    hbm_watch(h, take_run, &t);
    assert_int_equal(write_burst(h, at, row, bank), at);
    hbm_watch(h, NULL, NULL);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.run[0].end_at, t.run[0].data_at + 2000);
    return t.run[0].data_at;
}

TEST(closed_bank_read_waits_for_trcd_and_tcl)
{
    struct hbm *h = hbm_create(&one_channel);

    assert_int_equal(read_burst(h, 1000, 0, 0), 1000 + 14000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_closed, 1);
    hbm_destroy(h);
}

TEST(closed_bank_write_waits_for_trcd_and_tcwl)
{
    struct hbm *h = hbm_create(&one_channel);

    assert_int_equal(written_at(h, 1000, 0, 0), 1000 + 14000 + 4000);
    hbm_destroy(h);
}

TEST(row_hit_waits_for_tcl_only)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);
    assert_int_equal(hbm_access(h, 100000, 992, 32, false), 100000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_hits, 1);
    hbm_destroy(h);
}

TEST(hits_asked_together_follow_back_to_back)
{
    struct hbm *h = hbm_create(&one_channel);
    ps_t first = read_burst(h, 0, 0, 0);

    assert_int_equal(hbm_access(h, 0, 32, 64, false), first + 2 * 2000);
    hbm_destroy(h);
}

TEST(row_conflict_long_after_waits_for_trp_trcd_tcl)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);
    assert_int_equal(read_burst(h, 100000, 1, 0), 100000 + 15000 + 14000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_conflicts, 1);
    hbm_destroy(h);
}

TEST(row_conflict_at_once_waits_for_tras_of_the_open_row)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);             /* activate at 0, may close at 33000 */
    assert_int_equal(read_burst(h, 0, 1, 0), 33000 + 15000 + 14000 + 13000 + 2000);
    hbm_destroy(h);
}

TEST(a_precharge_waits_for_trtp_after_the_last_read_command)
{
    struct hbm *h = hbm_create(&one_channel);
    ps_t end = hbm_access(h, 0, 0, 1024, false), last_command = end - 2000 - 13000;

    assert_int_equal(end, 14000 + 13000 + 32 * 2000);
    assert_int_equal(read_burst(h, 0, 1, 0), last_command + 5000 + 15000 + 14000 + 13000 + 2000);
    hbm_destroy(h);
}

TEST(a_precharge_waits_for_twr_after_write_data)
{
    struct hbm *h = hbm_create(&one_channel);
    ps_t end = written_at(h, 0, 0, 0) + 2000;

    assert_int_equal(written_at(h, 0, 1, 0), end + 16000 + 15000 + 14000 + 4000);
    hbm_destroy(h);
}

TEST(activates_of_two_banks_are_trrd_apart)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);
    assert_int_equal(read_burst(h, 0, 0, 1), 4500 + 14000 + 13000 + 2000);
    hbm_destroy(h);
}

TEST(the_fifth_activate_waits_for_tfaw)
{
    struct hbm *h = hbm_create(&one_channel);

    for (int bank = 0; bank < 4; bank++)
        assert_int_equal(read_burst(h, 0, 0, bank), bank * 4500 + 14000 + 13000 + 2000);
    assert_int_equal(read_burst(h, 0, 0, 4), 30000 + 14000 + 13000 + 2000);
    assert_int_equal(read_burst(h, 0, 0, 5), 34500 + 14000 + 13000 + 2000);
    hbm_destroy(h);
}

TEST(a_read_after_a_write_waits_for_twtr_and_tcl)
{
    struct hbm *h = hbm_create(&one_channel);
    ps_t written = written_at(h, 0, 0, 0) + 2000;

    assert_int_equal(read_burst(h, 0, 0, 0), written + 8000 + 13000 + 2000);
    hbm_destroy(h);
}

TEST(a_write_after_a_read_waits_for_trtw)
{
    struct hbm *h = hbm_create(&one_channel);
    ps_t read_at = read_burst(h, 0, 0, 0);

    assert_int_equal(written_at(h, 0, 0, 0), read_at + 3000);
    hbm_destroy(h);
}

/* At its time all banks are precharged, tRP, and refreshed, tRFC. */
enum { REFRESH_PS = 15000 + 260000 };

TEST(a_run_asked_during_a_refresh_waits_and_finds_the_row_closed)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);
    assert_int_equal(read_burst(h, 3900000, 0, 0), 3900000 + REFRESH_PS + 14000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_closed, 2);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 1);
    assert_int_equal(read_burst(h, 4260000, 0, 0), 4260000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 1);
    hbm_destroy(h);
}

/* tRAS after the activate the bank may be closed, and that is when the refresh comes */
TEST(a_bank_that_can_be_closed_just_in_time_is_not_held)
{
    struct hbm *h = hbm_create(&one_channel);
    const ps_t latency = 14000 + 13000 + 2000;

    assert_int_equal(read_burst(h, 3900000 - 33000, 0, 0), 3900000 - 33000 + latency);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 0);
    hbm_reset(h);
    assert_int_equal(read_burst(h, 3900000 - 33000 + 1, 0, 0), 3900000 + REFRESH_PS + latency);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 1);
    hbm_destroy(h);
}

TEST(a_run_is_split_at_a_refresh)
{
    struct hbm *h = hbm_create(&one_channel);
    const ps_t latency = 14000 + 13000;

    /*
     * Data from 6000 before it, so read commands from 19000 before it, 2000 apart, the last one
     * tRTP before it: 8 of 16 bursts.
     */
    assert_int_equal(hbm_access(h, 3900000 - 33000, 0, 512, false),
                     3900000 + REFRESH_PS + latency + 8 * 2000);
    assert_int_equal(hbm_get_stats(h)->run_count, 2);
    assert_int_equal(hbm_get_stats(h)->busy_ps, 16 * 2000);
    hbm_destroy(h);
}

/* refreshes that nobody waits for leave banks closed, also those of which nobody asked since */
TEST(every_bank_is_closed_by_a_refresh)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);
    read_burst(h, 0, 0, 1);
    read_burst(h, 5000000, 0, 0);
    assert_int_equal(read_burst(h, 5000000, 0, 1), 5000000 + 4500 + 14000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_closed, 4);
    hbm_destroy(h);
}

TEST(without_refresh_nothing_is_held_up)
{
    struct hbm_config config = one_channel;
    struct hbm *h;

    config.trefi_ps = 0;
    h = hbm_create(&config);
    read_burst(h, 0, 0, 0);
    assert_int_equal(read_burst(h, 3900000, 0, 0), 3900000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_hits, 1);
    hbm_destroy(h);
}

/* eight banks: of bank b due 3900000 - b * 487500 after the launch, tRP + 160000 */
static struct hbm *create_with_bank_refresh(void)
{
    struct hbm_config config = one_channel;

    config.refreshes_single_banks = true;
    config.trfc_bank_ps = 160000;
    return hbm_create(&config);
}

enum { BANK_7_DUE = 3900000 - 7 * 487500, BANK_REFRESH_PS = 15000 + 160000 };

TEST(a_bank_refreshed_alone_holds_up_no_other)
{
    const ps_t latency = 14000 + 13000 + 2000;
    struct hbm *h = create_with_bank_refresh();

    for (int bank = 7; bank >= 0; bank--) {
        ps_t due = 3900000 - bank * 487500;

        /* closed by its refresh, which began when it was due; the bank above is long done */
        assert_int_equal(read_burst(h, due + 1000, 0, bank), due + BANK_REFRESH_PS + latency);
        assert_int_equal(hbm_get_stats(h)->refresh_waits, 8 - bank);
        if (bank > 0)
            assert_int_equal(read_burst(h, due + 2000, 1, bank - 1), due + 2000 + latency);
        if (bank < 7)
            assert_int_equal(read_burst(h, due + 100000, 0, bank + 1), due + 100000 + 15000);
        assert_int_equal(hbm_get_stats(h)->refresh_waits, 8 - bank);
    }
    hbm_destroy(h);
}

TEST(a_bank_that_is_busy_is_refreshed_when_it_is_done)
{
    struct hbm *h = create_with_bank_refresh();
    const ps_t activate_at = BANK_7_DUE - 10000;

    /* asked for just before: a row that is open until tRAS after its activate */
    assert_int_equal(read_burst(h, activate_at, 0, 7), activate_at + 29000);
    assert_int_equal(hbm_access(h, activate_at + 20000, row_address(0, 7) + 32, 32, false),
                     activate_at + 20000 + 15000);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 0);
    /* tRAS is over, nobody asks: the refresh begins, and who comes then waits for its end */
    assert_int_equal(read_burst(h, activate_at + 33001, 0, 7),
                     activate_at + 33000 + BANK_REFRESH_PS + 29000);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 1);
    assert_int_equal(hbm_get_stats(h)->row_closed, 2);
    /* the next one is due tREFI after the first was */
    assert_int_equal(read_burst(h, BANK_7_DUE + 3900000, 0, 7),
                     BANK_7_DUE + 3900000 + 15000);
    assert_int_equal(read_burst(h, BANK_7_DUE + 3900000 + 8001, 0, 7),
                     BANK_7_DUE + 3900000 + 5000 + 0 + BANK_REFRESH_PS + 29000);
    hbm_destroy(h);
}

/* a read every 4000, tRTP being 5000: the bank is never idle, and gives in after eight tREFI */
TEST(a_refresh_is_postponed_eight_times_at_most)
{
    const ps_t end = BANK_7_DUE + 8 * 3900000LL;
    struct hbm *h = create_with_bank_refresh();
    ps_t at = BANK_7_DUE - 20000;

    read_burst(h, at, 0, 7);
    for (; at + 13000 + 2000 + 5000 < end && hbm_get_stats(h)->refresh_waits == 0; at += 4000)
        read_burst(h, at, 0, 7);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 0);
    while (hbm_get_stats(h)->refresh_waits == 0) {
        ps_t end_at = read_burst(h, at, 0, 7);

        if (hbm_get_stats(h)->refresh_waits == 1)
            assert_int_equal(end_at, end + BANK_REFRESH_PS + 29000);
        assert_true(at < end + 4000);
        at += 4000;
    }
    hbm_destroy(h);
}

TEST(refreshes_of_a_bank_that_nobody_asked_since_cost_at_most_one)
{
    struct hbm *h = create_with_bank_refresh();
    const ps_t due = BANK_7_DUE + 20 * 3900000LL;

    read_burst(h, 0, 0, 7);
    assert_int_equal(read_burst(h, due, 0, 7), due + 29000);
    hbm_reset(h);
    read_burst(h, 0, 0, 7);
    assert_int_equal(read_burst(h, due + 1, 0, 7), due + BANK_REFRESH_PS + 29000);
    hbm_destroy(h);
}

TEST(an_access_that_waits_for_its_bank_blocks_no_other)
{
    struct hbm *h = hbm_create(&one_channel);

    read_burst(h, 0, 0, 0);
    read_burst(h, 0, 1, 0);             /* another row: data from 75000 on */
    assert_int_equal(read_burst(h, 0, 0, 1), 4500 + 14000 + 13000 + 2000);
    hbm_destroy(h);
}

TEST(hits_of_a_row_go_before_its_precharge)
{
    struct hbm *h = hbm_create(&one_channel);
    ps_t first = read_burst(h, 0, 0, 0);

    read_burst(h, 0, 1, 0);             /* precharges at 33000 */
    assert_int_equal(hbm_access(h, 0, 32, 32, false), first + 2000);
    assert_int_equal(hbm_get_stats(h)->row_hits, 1);
    hbm_destroy(h);
}

TEST(activates_and_columns_of_one_bank_group_are_further_apart)
{
    struct hbm_config config = one_channel;
    struct hbm *h;
    ps_t first;

    config.trrd_l_ps = 9000;
    config.tccd_l_ps = 5000;
    config.twtr_l_ps = 11000;
    h = hbm_create(&config);            /* banks 0 and 4 are of group 0 */
    first = read_burst(h, 0, 0, 0);
    assert_int_equal(read_burst(h, 0, 0, 4), 9000 + 14000 + 13000 + 2000);
    assert_int_equal(hbm_access(h, 100000, 0, 96, false), 100000 + 13000 + 2 * 5000 + 2000);
    assert_int_equal(first, 29000);
    hbm_reset(h);
    first = written_at(h, 0, 0, 0) + 2000;
    assert_int_equal(read_burst(h, 0, 0, 4), first + 11000 + 13000 + 2000);
    hbm_reset(h);
    first = written_at(h, 0, 0, 0) + 2000;
    assert_int_equal(read_burst(h, 0, 0, 1), first + 8000 + 13000 + 2000);
    hbm_destroy(h);
}

/* ---- writes held back ---- */

static struct hbm_config lazy_writes(void)
{
    struct hbm_config config = one_channel;

    config.write_queue = 4;
    config.write_low = 2;
    return config;
}

TEST(writes_wait_until_enough_have_come)
{
    struct hbm_config config = lazy_writes();
    struct hbm *h = hbm_create(&config);

    assert_int_equal(write_burst(h, 0, 0, 0), 0);
    assert_int_equal(hbm_get_stats(h)->run_count, 0);
    assert_int_equal(read_burst(h, 0, 0, 1), 14000 + 13000 + 2000);
    assert_int_equal(write_burst(h, 100000, 0, 0), 100000);
    assert_int_equal(hbm_get_stats(h)->run_count, 3);
    assert_int_equal(hbm_get_stats(h)->row_hits, 1);
    hbm_destroy(h);
}

TEST(a_read_of_what_is_held_back_needs_no_bank)
{
    struct hbm_config config = lazy_writes();
    struct hbm *h = hbm_create(&config);

    write_burst(h, 0, 0, 0);
    assert_int_equal(hbm_access(h, 1000, 8, 16, false), 1000);
    assert_int_equal(hbm_get_stats(h)->row_hits, 1);
    assert_int_equal(hbm_get_stats(h)->busy_ps, 0);
    /* more than that is read after it is written: ACT, WR at 14000, tWTR, tCL */
    assert_int_equal(hbm_access(h, 1000, 0, 64, false),
                     1000 + 14000 + 4000 + 2000 + 8000 + 13000 + 2 * 2000);
    hbm_destroy(h);
}

TEST(what_is_held_back_at_the_end_is_written_and_counted)
{
    struct hbm_config config = lazy_writes();
    struct hbm *h = hbm_create(&config);

    write_burst(h, 0, 0, 0);
    hbm_settle(h);
    assert_int_equal(hbm_get_stats(h)->run_count, 1);
    assert_int_equal(hbm_get_stats(h)->busy_ps, 2000);
    hbm_settle(h);
    assert_int_equal(hbm_get_stats(h)->run_count, 1);
    hbm_destroy(h);
}

static bool has_room(struct hbm *h, ps_t at, int64_t address, bool is_write)
{
    return hbm_room_at(h, at, address, is_write) == at;
}

/* four rows of one bank: the first leaves at once, as far as the bank's queue has room */
TEST(a_full_buffer_takes_the_next_write_when_the_first_has_left)
{
    struct hbm_config config = lazy_writes();
    struct hbm *h;

    config.bank_queue = 1;
    config.write_low = 4;
    h = hbm_create(&config);
    for (int row = 0; row < 4; row++) {
        assert_true(has_room(h, 0, row_address(row, 0), true));
        assert_int_equal(write_burst(h, 0, row, 0), 0);
    }
    /*
     * Row 0 is on its way at once, row 1 when the write of row 0 is issued, 14000, rows 2 and 3
     * each a row cycle later: 14000 + 4000 + 2000 + 16000 + 15000. Three are left.
     */
    assert_int_equal(hbm_room_at(h, 0, row_address(4, 0), true), 0);
    assert_int_equal(write_burst(h, 0, 4, 0), 0);
    assert_int_equal(hbm_room_at(h, 0, row_address(5, 0), true), 14000);
    assert_false(has_room(h, 0, row_address(5, 0), true));
    assert_int_equal(write_burst(h, 0, 5, 0), 14000);
    hbm_destroy(h);
}

TEST(a_queue_of_reads_has_room_when_the_first_has_gone_to_its_bank)
{
    struct hbm_config config = one_channel;
    struct hbm *h;

    config.read_queue = 2;
    config.bank_queue = 1;
    h = hbm_create(&config);
    for (int row = 0; row < 3; row++) {
        assert_true(has_room(h, 0, row_address(row, 0), false));
        read_burst(h, 0, row, 0);
    }
    /* row 0 went at once, row 1 goes when row 0 is read, 14000, row 2 a row cycle later */
    assert_int_equal(hbm_room_at(h, 0, row_address(3, 0), false), 14000);
    assert_int_equal(hbm_room_at(h, 20000, row_address(3, 0), false), 20000);
    assert_true(has_room(h, 0, row_address(3, 0), true));
    hbm_destroy(h);
}

/* ---- who watches ---- */

static void assert_run(const struct hbm_run *r, enum hbm_row row, bool is_write, ps_t data_at,
                       ps_t end_at, int64_t bytes)
{
    assert_int_equal(r->row, row);
    assert_int_equal(r->is_write, is_write);
    assert_int_equal(r->data_at, data_at);
    assert_int_equal(r->end_at, end_at);
    assert_int_equal(r->bytes, bytes);
    assert_int_equal(r->channel, 0);
}

TEST(a_watcher_is_told_of_every_run)
{
    struct hbm *h = hbm_create(&one_channel);
    struct told t = {.count = 0};
    const struct hbm_run *r = t.run;

    hbm_watch(h, take_run, &t);
    read_burst(h, 1000, 0, 3);
    hbm_access(h, 100000, row_address(0, 3) + 40, 50, true);    /* of two bursts, the second cut */
    read_burst(h, 300000, 1, 3);
    assert_int_equal(t.count, 3);
    assert_run(&r[0], HBM_ROW_CLOSED, false, 28000, 30000, 32);
    assert_run(&r[1], HBM_ROW_HIT, true, 104000, 108000, 50);
    assert_run(&r[2], HBM_ROW_CONFLICT, false, 300000 + 15000 + 14000 + 13000,
               300000 + 44000, 32);
    assert_int_equal(r[1].asked_at, 100000);
    assert_int_equal(r[1].bank, 3);
    assert_false(r[1].has_met_refresh);
    hbm_watch(h, NULL, NULL);
    read_burst(h, 400000, 1, 3);
    assert_int_equal(t.count, 3);
    hbm_destroy(h);
}

/* 10 bytes into a burst: the first part has all but those, the second what is left */
TEST(a_watcher_is_told_of_both_parts_of_a_run_that_a_refresh_cuts)
{
    struct hbm *h = hbm_create(&one_channel);
    const ps_t due = one_channel.trefi_ps;
    struct told t = {.count = 0};

    hbm_watch(h, take_run, &t);
    read_burst(h, due - 200000, 0, 0);
    /* 7 bursts, read from 8000 before it on: two commands are tRTP before it */
    hbm_access(h, due - 8000, 10, 200, false);
    assert_int_equal(t.count, 3);
    assert_run(&t.run[1], HBM_ROW_HIT, false, due + 5000, due + 9000, 2 * 32 - 10);
    assert_int_equal(t.run[2].row, HBM_ROW_CLOSED);
    assert_int_equal(t.run[2].bytes, 200 - (2 * 32 - 10));
    assert_false(t.run[1].has_met_refresh);
    assert_true(t.run[2].has_met_refresh);
    assert_int_equal(hbm_get_stats(h)->refresh_waits, 1);
    hbm_destroy(h);
}

TEST(refreshes_that_nobody_saw_cost_nothing)
{
    struct hbm *h = hbm_create(&one_channel);
    const ps_t late = 10 * 3900000LL + 1000000;

    read_burst(h, 0, 0, 0);
    assert_int_equal(read_burst(h, late, 1, 0), late + 14000 + 13000 + 2000);
    assert_int_equal(hbm_get_stats(h)->row_conflicts, 0);
    hbm_destroy(h);
}

TEST(bytes_of_part_of_a_burst_occupy_a_whole_one)
{
    struct hbm *h = hbm_create(&one_channel);

    assert_int_equal(hbm_access(h, 0, 30, 4, false), 14000 + 13000 + 2 * 2000);
    assert_int_equal(hbm_get_stats(h)->read_bytes, 4);
    assert_int_equal(hbm_access(h, 200000, 5, 0, false), 200000);
    hbm_destroy(h);
}

static ps_t play_random(struct hbm *h, uint64_t seed, int64_t *read_bytes, int64_t *write_bytes)
{
    struct rng r;
    ps_t at = 0, sum = 0;

    rng_init(&r, seed);
    for (int i = 0; i < 20000; i++) {
        int64_t bytes = 1 + rng_below(&r, 5000);
        int64_t address = (int64_t)(rng_next(&r) % (uint64_t)(32 * GIB - 5000));
        bool is_write = rng_below(&r, 3) == 0;
        ps_t done;

        at += rng_below(&r, 20000);
        done = hbm_access(h, at, address, bytes, is_write);
        assert_true(is_write ? done >= at : done > at);
        *(is_write ? write_bytes : read_bytes) += bytes;
        sum = sum * 31 + done;
        sum &= 0xffffffffffff;
    }
    return sum;
}

static void forget_run(void *context, const struct hbm_run *r)
{
    struct told *t = context;

    t->run[0] = *r;
}

/* every instant that the memory tells, with a watcher and without */
TEST(a_watcher_changes_no_instant)
{
    struct told t = {.count = 0};

    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct hbm *watched = hbm_create(&whole_chip), *h = hbm_create(&whole_chip);
        struct rng r;
        ps_t at = 0;

        rng_init(&r, seed);
        hbm_watch(watched, forget_run, &t);
        for (int i = 0; i < 20000; i++) {
            int64_t bytes = 1 + rng_below(&r, 1 << rng_below(&r, 14));
            int64_t address = (int64_t)(rng_next(&r) % (uint64_t)(16 * MIB));
            bool is_write = rng_below(&r, 4) == 0;

            at += rng_below(&r, 8000);
            assert_int_equal(hbm_access(h, at, address, bytes, is_write),
                             hbm_access(watched, at, address, bytes, is_write));
            assert_int_equal(hbm_room_at(h, at, address, is_write),
                             hbm_room_at(watched, at, address, is_write));
        }
        assert_int_equal(hbm_settle(h), hbm_settle(watched));
        assert_memory_equal(hbm_get_stats(h), hbm_get_stats(watched),
                            sizeof(struct hbm_stats));
        hbm_destroy(h);
        hbm_destroy(watched);
    }
}

TEST(reset_makes_a_run_repeat_itself_exactly)
{
    struct hbm *h = hbm_create(&whole_chip);
    int64_t read_bytes = 0, write_bytes = 0;
    ps_t first = play_random(h, 7, &read_bytes, &write_bytes);
    struct hbm_stats before = *hbm_get_stats(h);

    hbm_reset(h);
    assert_int_equal(hbm_get_stats(h)->run_count, 0);
    assert_int_equal(play_random(h, 7, &read_bytes, &write_bytes), first);
    assert_memory_equal(&before, hbm_get_stats(h), sizeof(before));
    hbm_destroy(h);
}

TEST(statistics_add_up)
{
    struct hbm *h = hbm_create(&whole_chip);
    const struct hbm_stats *s = hbm_get_stats(h);
    int64_t read_bytes = 0, write_bytes = 0;

    play_random(h, 1, &read_bytes, &write_bytes);
    hbm_settle(h);
    assert_int_equal(s->read_bytes, read_bytes);
    assert_int_equal(s->write_bytes, write_bytes);
    assert_int_equal(s->row_hits + s->row_closed + s->row_conflicts, s->run_count);
    assert_true(s->busy_ps * 32 >= (read_bytes + write_bytes) * 2276);
    assert_true(s->refresh_waits > 0);
    hbm_destroy(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_bank_read_waits_for_trcd_and_tcl),
        cmocka_unit_test(closed_bank_write_waits_for_trcd_and_tcwl),
        cmocka_unit_test(row_hit_waits_for_tcl_only),
        cmocka_unit_test(hits_asked_together_follow_back_to_back),
        cmocka_unit_test(row_conflict_long_after_waits_for_trp_trcd_tcl),
        cmocka_unit_test(row_conflict_at_once_waits_for_tras_of_the_open_row),
        cmocka_unit_test(a_precharge_waits_for_trtp_after_the_last_read_command),
        cmocka_unit_test(a_precharge_waits_for_twr_after_write_data),
        cmocka_unit_test(activates_of_two_banks_are_trrd_apart),
        cmocka_unit_test(the_fifth_activate_waits_for_tfaw),
        cmocka_unit_test(a_read_after_a_write_waits_for_twtr_and_tcl),
        cmocka_unit_test(a_write_after_a_read_waits_for_trtw),
        cmocka_unit_test(a_run_asked_during_a_refresh_waits_and_finds_the_row_closed),
        cmocka_unit_test(a_bank_that_can_be_closed_just_in_time_is_not_held),
        cmocka_unit_test(a_run_is_split_at_a_refresh),
        cmocka_unit_test(every_bank_is_closed_by_a_refresh),
        cmocka_unit_test(without_refresh_nothing_is_held_up),
        cmocka_unit_test(a_bank_refreshed_alone_holds_up_no_other),
        cmocka_unit_test(a_bank_that_is_busy_is_refreshed_when_it_is_done),
        cmocka_unit_test(a_refresh_is_postponed_eight_times_at_most),
        cmocka_unit_test(refreshes_of_a_bank_that_nobody_asked_since_cost_at_most_one),
        cmocka_unit_test(an_access_that_waits_for_its_bank_blocks_no_other),
        cmocka_unit_test(hits_of_a_row_go_before_its_precharge),
        cmocka_unit_test(activates_and_columns_of_one_bank_group_are_further_apart),
        cmocka_unit_test(writes_wait_until_enough_have_come),
        cmocka_unit_test(a_read_of_what_is_held_back_needs_no_bank),
        cmocka_unit_test(what_is_held_back_at_the_end_is_written_and_counted),
        cmocka_unit_test(a_full_buffer_takes_the_next_write_when_the_first_has_left),
        cmocka_unit_test(a_queue_of_reads_has_room_when_the_first_has_gone_to_its_bank),
        cmocka_unit_test(a_watcher_is_told_of_every_run),
        cmocka_unit_test(a_watcher_is_told_of_both_parts_of_a_run_that_a_refresh_cuts),
        cmocka_unit_test(refreshes_that_nobody_saw_cost_nothing),
        cmocka_unit_test(bytes_of_part_of_a_burst_occupy_a_whole_one),
        cmocka_unit_test(a_watcher_changes_no_instant),
        cmocka_unit_test(reset_makes_a_run_repeat_itself_exactly),
        cmocka_unit_test(statistics_add_up),
    };

    interleave(&one_channel);
    whole_chip = hbm_of_v3;
    interleave(&whole_chip);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
