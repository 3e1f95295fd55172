/* Mask registers: do both planes hold what 32-bit and packed operations say? */
#include "tests/test.h"
#include "tests/rigs/vector_rig.h"

static struct rig rig;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, "v3", NULL);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* mask vm1 after `body`, as words of all ones or zeros, each half by its own plane */
static void mask_after(const char *body, const uint32_t *a, const uint32_t *b, uint32_t *out)
{
    char text[2048];

    snprintf(text, sizeof(text), "%s\n{ v2 = vsel vm1, -1, 0 }", body);
    vector_run(&rig, text, a, b, out);
}

static uint32_t ones(bool value) { return value ? 0xffffffffu : 0; }

static void check_bounds(uint32_t bounds, int first_row, int last_row, int first_lane,
                         int last_lane)
{
    uint32_t out[VECTOR_TILE];
    char body[80];

    snprintf(body, sizeof(body), "{ vm1 = vcmask %u }", bounds);
    mask_after(body, NULL, NULL, out);
    for (int i = 0; i < VECTOR_TILE; i++) {
        bool is_in = i / 128 >= first_row && i / 128 <= last_row && i % 128 >= first_lane &&
                     i % 128 <= last_lane;

        assert_int_equal(out[i], ones(is_in));
    }
}

TEST(vcmask_chooses_the_rectangle_that_its_bounds_pack)
{
    struct rng r;

    check_bounds(1040384, 0, 0, 0, 127);
    check_bounds(1046528, 0, 6, 0, 127);
    check_bounds(64512, 0, 7, 0, 7);
    check_bounds(1043456, 0, 3, 0, 127);
    check_bounds(3, 3, 0, 0, 0);        /* ends before it starts: nothing */
    rng_init(&r, 3);
    for (int turn = 0; turn < 20; turn++) {
        int first_row = (int)rng_below(&r, 8), last_row = (int)rng_below(&r, 8);
        int first_lane = (int)rng_below(&r, 128), last_lane = (int)rng_below(&r, 128);

        check_bounds((uint32_t)(last_lane << 13 | last_row << 10 | first_lane << 3 | first_row),
                     first_row, last_row, first_lane, last_lane);
    }
}

TEST(vmmov_copies_or_sets_all_elements)
{
    uint32_t out[VECTOR_TILE];

    mask_after("{ vm1 = vmmov 1 }", NULL, NULL, out);
    assert_int_equal(out[0] & out[1023], 0xffffffffu);
    mask_after("{ vm1 = vmmov 1 }\n{ vm1 = vmmov 0 }", NULL, NULL, out);
    assert_int_equal(out[0] | out[1023], 0);
    mask_after("{ vm2 = vcmask 64512 }\n{ vm1 = vmmov vm2 }", NULL, NULL, out);
    assert_int_equal(out[7], 0xffffffffu);
    assert_int_equal(out[8], 0);
}

TEST(vnez_and_unsigned_compares_follow_their_relation)
{
    static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE];
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < VECTOR_TILE; i++) {
        a[i] = (uint32_t)rng_next(&r) & (i % 3 ? 0xffffffffu : 0x80000001u);
        b[i] = i % 5 ? (uint32_t)rng_next(&r) : a[i] + (uint32_t)(i % 3) - 1;
    }
    mask_after("{ vm1 = vnez v0 }", a, NULL, out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal(out[i], ones(a[i] != 0));
    for (int op = 0; op < 6; op++) {
        char body[80];

        snprintf(body, sizeof(body), "{ vm1 = vcmp.%s.u32.totalorder v0, v1 }", names[op]);
        mask_after(body, a, b, out);
        for (int i = 0; i < VECTOR_TILE; i++) {
            const bool holds[] = {a[i] == b[i], a[i] != b[i], a[i] < b[i],
                                  a[i] <= b[i], a[i] > b[i], a[i] >= b[i]};

            assert_int_equal(out[i], ones(holds[op]));
        }
    }
}

/* vm2 from bits 0 of a and b as rows 0..7 and 8..15, vm3 from bits 1, vm4 from bits 2 of a */
#define PACKED_MASKS \
    "{ v3 = vand.u32 v0, 1 ;; v4 = vand.u32 v1, 1 }\n" \
    "{ vm5 = vnez v3 ;; vm6 = vnez v4 }\n{ vm2 = vmpackc.low vm6, vm5 }\n" \
    "{ v3 = vand.u32 v0, 2 ;; v4 = vand.u32 v1, 2 }\n" \
    "{ vm5 = vnez v3 ;; vm6 = vnez v4 }\n{ vm3 = vmpackc.low vm6, vm5 }\n" \
    "{ v3 = vand.u32 v0, 4 }\n{ vm4 = vnez v3 }\n"

struct bits {
    bool x, y, word;                    /* vm2, vm3, vm4 */
};

static struct bits bits_of(const uint32_t *a, const uint32_t *b, int row, int lane)
{
    uint32_t source = (row < 8 ? a : b)[row % 8 * 128 + lane];

    return (struct bits){source & 1, source & 2, a[row / 2 * 128 + lane] & 4};
}

TEST(packed_masks_keep_a_bit_for_each_of_16_rows_through_logic)
{
    static const char *const bodies[] = {
        "{ vm1 = vmmov vm2 }", "{ vm1 = vmneg vm2 }", "{ vm1 = vmand vm2, vm3 }",
        "{ vm1 = vmor vm2, vm3 }", "{ vm1 = vmxor vm2, vm3 }", "{ vm1 = vmand vm2, vm4 }",
        "{ vm1 = vmor vm4, vm2 }", "{ vm1 = vmneg vm4 }",
        "{ vm4 = vmxor vm4, vm2 }\n{ vm1 = vmmov vm4 }",
        "{ vm2 = vmmov vm3 ;; vm3 = vmmov vm2 }\n{ vm1 = vmmov vm2 }",
    };
    uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE];
    struct rng r;

    rng_init(&r, 7);
    vector_random(&r, a);
    vector_random(&r, b);
    for (size_t k = 0; k < sizeof(bodies) / sizeof(bodies[0]); k++) {
        char body[1024];

        snprintf(body, sizeof(body), PACKED_MASKS "%s", bodies[k]);
        mask_after(body, a, b, out);
        for (int i = 0; i < 16 * 128; i++) {
            struct bits m = bits_of(a, b, i / 128, i % 128);
            const bool expected[] = {m.x, !m.x, m.x && m.y, m.x || m.y, m.x != m.y,
                                     m.x && m.word, m.word || m.x, !m.word, m.word != m.x, m.y};

            if (vector_packed(out, 16, i / 128, i % 128) != (ones(expected[k]) & 0xffff))
                fail_msg("%s: row %d, lane %d", bodies[k], i / 128, i % 128);
        }
    }
}

TEST(compare_into_a_packed_mask_makes_both_planes_alike_again)
{
    uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE];
    struct rng r;

    rng_init(&r, 9);
    vector_random(&r, a);
    vector_random(&r, b);
    mask_after(PACKED_MASKS "{ vm1 = vmmov vm2 }\n{ vm1 = vcmp.lt.s32.totalorder v0, v1 }", a, b,
               out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal(out[i], ones((int32_t)a[i] < (int32_t)b[i]));
}

TEST(select_and_masked_store_take_halves_by_a_packed_mask)
{
    uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE], stored[VECTOR_TILE];
    struct rng r;

    rng_init(&r, 11);
    vector_random(&r, a);
    vector_random(&r, b);
    vector_run(&rig, PACKED_MASKS "{ v2 = vsel vm2, v0, v1 }", a, b, out);
    vector_run(&rig, PACKED_MASKS "{ vst [vmem:24] v1 }\n{ vst.msk [vmem:24] vm2, v0 }\n"
               "{ v2 = vld [vmem:24] }", a, b, stored);
    for (int row = 0; row < 16; row++) {
        for (int j = 0; j < 128; j++) {
            uint32_t chosen = vector_packed(bits_of(a, b, row, j).x ? a : b, 16, row, j);

            assert_int_equal(vector_packed(out, 16, row, j), chosen);
            assert_int_equal(vector_packed(stored, 16, row, j), chosen);
        }
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(vcmask_chooses_the_rectangle_that_its_bounds_pack),
        T(vmmov_copies_or_sets_all_elements),
        T(vnez_and_unsigned_compares_follow_their_relation),
        T(packed_masks_keep_a_bit_for_each_of_16_rows_through_logic),
        T(compare_into_a_packed_mask_makes_both_planes_alike_again),
        T(select_and_masked_store_take_halves_by_a_packed_mask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
