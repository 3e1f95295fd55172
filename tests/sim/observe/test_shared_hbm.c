/* Do the cores of a chip see one HBM, the same way for any host threads, mode, and pause? */
#include "tests/test.h"

#include "base/archive.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/rig.h"

enum { WORDS = 512, ROUNDS = 3 };       /* of a piece: 64 granules */

/*
 * Each core takes its piece (granule s8) to s9 by VMEM, meets the other one, and takes what that
 * one has left at s10 to s11 by an HBM-HBM copy, the first words of it through SMEM as well, to
 * s12. The other one's piece is the next round's.
 */
static const char exchange[] =
    "{ s20 = smov 0 }\n"
    "again: { dma.hbm_to_vmem s8, 64, 0, [sflag:1] }\n"
    "{ dma.done.wait [sflag:1], 64 }\n{ vsyncadd [sflag:1], -64 }\n"
    "{ dma.vmem_to_hbm 0, 64, s9, [sflag:2] }\n"
    "{ dma.done.wait [sflag:2], 64 }\n{ vsyncadd [sflag:2], -64 }\n"
    "{ vsyncadd.remote [sflag:6], 1, s2 }\n{ vwait.ge [sflag:6], 1 }\n{ vsyncadd [sflag:6], -1 }\n"
    "{ dma.hbm_to_hbm s10, 64, s11, [sflag:3] }\n"
    "{ dma.hbm_to_smem s13, 2, 32, [sflag:4] }\n"
    "{ dma.done.wait [sflag:4], 2 }\n{ vsyncadd [sflag:4], -2 }\n"
    "{ dma.smem_to_hbm 32, 2, s12, [sflag:5] }\n"
    "{ dma.done.wait [sflag:3], 64 }\n{ vsyncadd [sflag:3], -64 }\n"
    "{ dma.done.wait [sflag:5], 2 }\n{ vsyncadd [sflag:5], -2 }\n"
    "{ vsyncadd.remote [sflag:6], 1, s2 }\n{ vwait.ge [sflag:6], 1 }\n{ vsyncadd [sflag:6], -1 }\n"
    "{ s21 = smov s8 }\n{ s8 = smov s11 }\n{ s11 = smov s21 }\n"
    "{ s20 = sadd.s32 s20, 1 }\n{ p0 = scmp.lt.s32.totalorder s20, 3 }\n"
    "{ sbr.rel (p0) target = again }\n{ }\n{ }\n{ }\n{ }\n{ shalt }\n";

static int32_t granule(int core, int piece) { return (16 * core + 3 * piece) * 64; }

static uint32_t word_of(int core, int i) { return (uint32_t)(core << 20 | i << 2 | 1); }

static void prepare(struct rig *r, const struct rig_options *o)
{
    struct err e;

    rig_open(r, "v4-2", o);
    for (int core = 0; core < 2; core++) {
        const int32_t value[][2] = {{2, !core}, {8, granule(core, 0)}, {9, granule(core, 1)},
                                    {10, granule(!core, 1)}, {11, granule(core, 2)},
                                    {12, granule(core, 3)}, {13, granule(!core, 4)}};
        uint32_t words[WORDS];

        for (int i = 0; i < WORDS; i++)
            words[i] = word_of(core, i);
        rig_load(r, core, exchange);
        for (size_t i = 0; i < COUNT_OF(value); i++)
            assert_int_equal(machine_set_scalar(r->m, core, value[i][0], value[i][1], &e), 0);
        assert_int_equal(machine_hbm_write(r->m, core, granule(core, 0) * 32, words,
                                           sizeof(words), &e), 0);
        assert_int_equal(machine_hbm_write(r->m, core, granule(core, 4) * 32, words, 64, &e), 0);
    }
}

/* an odd number of rounds: every core holds what was the other's; both look at all of it */
static void check(struct rig *r)
{
    uint32_t words[WORDS];
    struct err e;

    for (int core = 0; core < 4; core++) {
        int owner = core / 2, reader = core % 2;

        assert_int_equal(machine_hbm_read(r->m, reader, granule(owner, 2) * 32, words,
                                          sizeof(words), &e), 0);
        for (int i = 0; i < WORDS; i++)
            assert_int_equal(words[i], word_of(!owner, i));
        assert_int_equal(machine_hbm_read(r->m, reader, granule(owner, 3) * 32, words, 64, &e),
                         0);
        for (int i = 0; i < 16; i++)
            assert_int_equal(words[i], word_of(!owner, i));
    }
}

TEST(both_cores_see_the_whole_hbm_of_their_chip)
{
    struct rig_options shared = {.shared_hbm = true};
    struct rig r;

    rig_open(&r, "v4-2", NULL);
    assert_int_equal(machine_hbm_share_bytes(r.m), 16 * GIB);
    rig_close(&r);
    rig_open(&r, "v4-2", &shared);
    assert_true(machine_shares_hbm(r.m));
    assert_int_equal(machine_hbm_share_bytes(r.m), 32 * GIB);
    rig_close(&r);
}

TEST(what_one_core_writes_the_other_reads_behind_a_barrier)
{
    struct rig_options o = {.shared_hbm = true, .check_races = true};
    cycle_t cycles = 0;
    struct rig r;

    for (int threads = 1; threads <= 3; threads++) {
        o.thread_count = threads;
        prepare(&r, &o);
        assert_int_equal(rig_run(&r), 0);
        check(&r);
        assert_true(cycles == 0 || machine_cycles(r.m) == cycles);
        cycles = machine_cycles(r.m);
        rig_close(&r);
    }
    o.mode = MODE_FUNCTIONAL;
    o.check_races = false;
    prepare(&r, &o);
    assert_int_equal(rig_run(&r), 0);
    check(&r);
    rig_close(&r);
}

/* the words that go by SMEM are never in a vector: timing mode has to know them */
TEST(timing_mode_has_the_same_cycles_and_knows_what_goes_by_smem)
{
    struct rig_options o = {.shared_hbm = true};
    uint32_t words[16];
    struct rig r[2];
    struct err e;

    prepare(&r[0], &o);
    o.mode = MODE_TIMING;
    prepare(&r[1], &o);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rig_run(&r[i]), 0);
    assert_equal_counters(r[0].m, r[1].m);
    assert_int_equal(machine_hbm_read(r[1].m, 0, granule(1, 3) * 32, words, 64, &e), 0);
    for (int i = 0; i < 16; i++)
        assert_int_equal(words[i], word_of(0, i));
    assert_int_equal(machine_hbm_read(r[1].m, 0, granule(1, 1) * 32, words, 64, &e), -1);
    assert_non_null(strstr(e.msg, "timing mode does not work out hbm bytes"));
    for (int i = 0; i < 2; i++)
        rig_close(&r[i]);
}

TEST(a_launch_goes_on_from_a_snapshot)
{
    struct rig_options o = {.shared_hbm = true};
    struct rig whole, part, other;
    struct err e;

    for (int mode = MODE_BOTH; mode <= MODE_TIMING; mode++) {
        o.mode = (enum run_mode)mode;
        prepare(&whole, &o);
        assert_int_equal(rig_run(&whole), 0);
        for (cycle_t at = 50; at < machine_cycles(whole.m); at += 731) {
            struct bytes saved = {0};

            prepare(&part, &o);
            machine_start(part.m);
            assert_int_equal(machine_advance(part.m, at), MACHINE_PAUSED);
            machine_save(part.m, &saved);
            prepare(&other, &o);
            assert_int_equal(machine_restore(other.m, saved.data, saved.size, &e), 0);
            assert_int_equal(machine_advance(other.m, CYCLE_NEVER), MACHINE_HALTED);
            machine_finish(other.m);
            assert_equal_counters(whole.m, other.m);
            if (mode == MODE_BOTH)
                check(&other);
            mem_free(saved.data);
            rig_close(&part);
            rig_close(&other);
        }
        rig_close(&whole);
    }
}

TEST(a_snapshot_of_shared_memory_is_refused_by_cores_apart)
{
    struct rig_options o = {.shared_hbm = true};
    struct bytes saved = {0};
    struct rig shared, apart;
    struct err e;

    prepare(&shared, &o);
    machine_start(shared.m);
    assert_int_equal(machine_advance(shared.m, 100), MACHINE_PAUSED);
    machine_save(shared.m, &saved);
    prepare(&apart, NULL);
    assert_int_equal(machine_restore(apart.m, saved.data, saved.size, &e), -1);
    assert_string_equal(e.msg, "the snapshot was taken with shared_hbm 1; this machine has 0");
    mem_free(saved.data);
    rig_close(&shared);
    rig_close(&apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_cores_see_the_whole_hbm_of_their_chip),
        cmocka_unit_test(what_one_core_writes_the_other_reads_behind_a_barrier),
        cmocka_unit_test(timing_mode_has_the_same_cycles_and_knows_what_goes_by_smem),
        cmocka_unit_test(a_launch_goes_on_from_a_snapshot),
        cmocka_unit_test(a_snapshot_of_shared_memory_is_refused_by_cores_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
