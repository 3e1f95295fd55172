/* Do programs longer than the instruction memory run, and what do their fetches cost? */
#include "tests/test.h"

#include <math.h>

#include "base/units.h"
#include "isa/overlay.h"
#include "tests/rigs/rig.h"

#define IMEM 128                        /* halves of 64 */
#define HALF (IMEM / 2)

static const struct rig_options small = {.set = {"core.imem_bundles=128"}};

/* `count` empty bundles */
static char *put_empty(char *to, int count)
{
    for (int i = 0; i < count; i++)
        to += sprintf(to, "{ }\n");
    return to;
}

/* cycles of a fetch from HBM: the fixed time of a copy, and its bytes */
static cycle_t fetch_cycles(const struct chip *c, int bundles)
{
    double ns = (double)c->dma_read_ns + bundles * (double)c->core_bundle_bytes / c->dma_core_gbps;

    return (cycle_t)ceil(ns * (double)c->chip_clock_mhz / 1000);
}

static void overlays_of(struct rig *r, const char *text, struct isa_overlays *o)
{
    isa_overlays(rig_assemble(r, text), IMEM, (int)r->chip.core_branch_delay_bundles, &r->arena,
                 o);
}

TEST(programs_that_fit_are_one_piece)
{
    static char text[4 * IMEM + 64];
    struct isa_overlays o;
    struct rig r;

    rig_open(&r, "v3", &small);
    sprintf(put_empty(text, IMEM - 1), "{ shalt }\n");
    overlays_of(&r, text, &o);
    assert_int_equal(o.count, 1);
    assert_int_equal(rig_cycles(&r, text), IMEM);
    sprintf(put_empty(text, IMEM), "{ shalt }\n");
    overlays_of(&r, text, &o);
    assert_int_equal(o.count, 3);
    assert_int_equal(o.first[1], HALF);
    rig_close(&r);
}

/* Overlay k issues when it is there, and at the same time overlay k + 1 is asked for. */
TEST(straight_code_waits_for_each_part)
{
    static char text[4 * 5 * HALF + 64];
    cycle_t at = 0, ready, stalls = 0;
    struct rig r;

    rig_open(&r, "v3", &small);
    sprintf(put_empty(text, 4 * HALF + 9), "{ shalt }\n");
    ready = fetch_cycles(&r.chip, HALF);        /* asked for at cycle 0 */
    for (int k = 0; k < 5; k++) {
        if (k > 0) {
            stalls += ready > at ? ready - at : 0;
            at = later(at, ready);
            ready = at + fetch_cycles(&r.chip, k + 1 < 4 ? HALF : 10);
        }
        at += k < 4 ? HALF : 10;
    }
    assert_int_equal(rig_cycles(&r, text), at);
    assert_int_equal(rig_stall(&r, 0, STALL_FETCH), stalls);
    rig_close(&r);
}

/* a part that takes longer than the fetch of the next one hides it */
TEST(a_fetch_is_hidden_behind_a_long_part)
{
    static char text[4 * 3 * HALF + 200];
    struct rig r;
    char *to;

    rig_open(&r, "v3", &small);
    to = text + sprintf(text, "{ vdelay 2000 }\n");
    to = put_empty(to, 2 * HALF);
    sprintf(to, "{ shalt }\n");
    rig_cycles(&r, text);
    /* the first fetch is hidden; the second one is asked for when the second part begins */
    assert_int_equal(rig_stall(&r, 0, STALL_FETCH), fetch_cycles(&r.chip, 2) - HALF);
    rig_close(&r);
}

TEST(cuts_stand_outside_of_loops)
{
    static char text[8 * 4 * HALF];
    struct isa_overlays o;
    struct rig r;
    char *to;

    rig_open(&r, "v3", &small);
    to = text + sprintf(text, "{ s1 = smov 3 }\n");
    to = put_empty(to, 39);                     /* 40 bundles before the loop, */
    to += sprintf(to, "again: { s1 = sadd.s32 s1, -1 }\n { p1 = scmp.gt.s32.totalorder s1, 0 }\n");
    to = put_empty(to, 37);                     /* 40 in it, up to the branch */
    to += sprintf(to, "{ sbr.rel (p1) target = again }\n");
    to = put_empty(to, 80);
    sprintf(to, "{ shalt }\n");
    overlays_of(&r, text, &o);
    assert_int_equal(o.first[1], 39);       /* in front of the loop's head, which then is none */
    for (uint32_t k = 0; k < o.count; k++)
        assert_in_range(o.first[k + 1] - o.first[k], 1, HALF);
    assert_false(o.is_entry[40]);
    rig_cycles(&r, text);
    assert_int_equal(r.err.line, 0);
    rig_close(&r);
}

/*
 * A loop over three parts: each round fetches all three, one behind the other, for only two fit.
 * The last one is followed by the first, as foreseen, but when the loop ends.
 */
TEST(a_loop_over_several_parts_fetches_them_in_each_round)
{
    static char text[8 * 4 * HALF];
    struct isa_overlays o;
    cycle_t cycles[2];
    struct rig r;

    rig_open(&r, "v3", &small);
    for (int i = 0; i < 2; i++) {
        char *to = text + sprintf(text, "{ s1 = smov %d }\nagain: { s1 = sadd.s32 s1, -1 }\n",
                                  i ? 30 : 10);

        to = put_empty(to, 3 * HALF - 6);
        to += sprintf(to, "{ p1 = scmp.gt.s32.totalorder s1, 0 }\n { }\n"
                          "{ sbr.rel (p1) target = again }\n{ }\n{ shalt }\n");
        cycles[i] = rig_cycles(&r, text);
    }
    overlays_of(&r, text, &o);
    assert_int_equal(o.count, 4);
    assert_int_equal(o.next[2], 0);
    assert_int_equal((cycles[1] - cycles[0]) / 20, 3 * fetch_cycles(&r.chip, HALF));
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_fit_are_one_piece),
        cmocka_unit_test(straight_code_waits_for_each_part),
        cmocka_unit_test(a_fetch_is_hidden_behind_a_long_part),
        cmocka_unit_test(cuts_stand_outside_of_loops),
        cmocka_unit_test(a_loop_over_several_parts_fetches_them_in_each_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
