/*
 * Does each operation of the vector ALU, the EUP and the XLU reach the kernel
 * that it names? (What kernels compute: test_simd*.c, test_fp8.c.)
 */
#include "base/units.h"
#include "tests/test.h"
#include "tests/rigs/vector_rig.h"

static struct rig rig;

static int open_rig(void **state)
{
    static const struct rig_options options = {.set = {"valu.bf16=1"}};

    (void)state;
    rig_open(&rig, "v3", &options);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* v2 after `body` where v0 is x and v1 is y everywhere */
static uint32_t word_after(const char *body, uint32_t x, uint32_t y)
{
    uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE];

    for (int i = 0; i < VECTOR_TILE; i++) {
        a[i] = x;
        b[i] = y;
    }
    vector_run(&rig, body, a, b, out);
    assert_int_equal(out[0], out[VECTOR_TILE - 1]);
    return out[0];
}

struct example {
    const char *operation;              /* what stands behind "v2 = " */
    uint32_t x, y, expected;
};

static void check_examples(const struct example *e, size_t count, const char *form)
{
    for (size_t i = 0; i < count; i++) {
        char body[256];
        uint32_t got;

        snprintf(body, sizeof(body), form, e[i].operation);
        got = word_after(body, e[i].x, e[i].y);
        if (got != e[i].expected)
            fail_msg("%s: %08x, not %08x", e[i].operation, got, e[i].expected);
    }
}

TEST(word_operations_compute_their_effect)
{
    static const struct example examples[] = {
        {"vmax.s32 v0, v1", 0xffffffff, 1, 1}, {"vmin.s32 v0, v1", 0xffffffff, 1, 0xffffffff},
        {"vmax.u32 v0, v1", 0xffffffff, 1, 0xffffffff}, {"vmin.u32 v0, v1", 0xffffffff, 1, 1},
        {"vmul.u32.u64.low v0, v1", 0x10001, 0x10003, 0x40003},
        {"vmul.u32.u64.high v0, v1, /*low=*/v1", 0x80000000, 6, 3},
        {"vand.u32.u16 v0, 0x00f0", 0x12345678, 0, 0x00300070},
        {"vand.u32.u8 v0, 0x0f", 0x12345678, 0, 0x02040608},
        {"vor.u32.u8 v0, 0x180", 0x12345678, 0, 0x92b4d6f8},
        {"vxor.u32.u16 v0, 0x1ffff", 0x12345678, 0, 0xedcba987},
        {"vxor.u32.u8 v0, v1", 0x12345678, 0xff, 0x12345687},
        {"vclz v0", 0x00010000, 0, 15}, {"vpcnt v0", 0xf0f00001, 0, 9},
        {"vcvt.sr.f32.bf16 v0, v1", 0x3f804000, 0xbfff, 0x3f80},
        {"vcvt.sr.f32.bf16 v0, v1", 0x3f804000, 0xc000, 0x3f81},
    };

    check_examples(examples, COUNT_OF(examples), "{ v2 = %s }");
}

TEST(float_operations_compute_their_effect)
{
    static const struct example examples[] = {
        {"vround.rtne.f32 v0", 0x40200000, 0, 0x40000000},      /* 2.5 */
        {"vround.rtna.f32 v0", 0x40200000, 0, 0x40400000},
        {"vceil.f32 v0", 0xbfc00000, 0, 0xbf800000},            /* -1.5 */
        {"vfloor.f32 v0", 0xbfc00000, 0, 0xc0000000},
        {"vtrunc.f32 v0", 0xbf400000, 0, 0x80000000},
        {"vclamps-f32 v0, 2.0", 0xc0a00000, 0, 0xc0000000},
        {"vclamps-f32 v0, 2.0", 0x40a00000, 0, 0x40000000},
        {"vadd.low.f32.bf16 v0, v1", 0x3f800000, 0xdead4000, 0x40400000},
        {"vadd.bf16 v0, v1", 0x3f804000, 0x3f804000, 0x40004080},
        {"vsub.bf16 v0, v1", 0x40004040, 0x3f804000, 0x3f803f80},
        {"vmul.bf16 v0, 0x40003f80", 0x40404040, 0, 0x40c04040},
        {"vmax.bf16 v0, v1", 0x40404000, 0xbf804080, 0x40404080},
        {"vmin.bf16 v0, v1", 0x40404000, 0xbf804080, 0xbf804000},
        {"vcvt.f8e5m2.f32 v0", 0x3c, 0, 0x3f800000},
        {"vcvt.f8e4m3b11fnuz.f32 v0", 0x58, 0, 0x3f800000},
        {"vcvt.f8e4m3fn.f32 v0", 0x38, 0, 0x3f800000},
        {"vcvt.f32.f8e5m2 v0", 0x3f800000, 0, 0x3c},
        {"vcvt.f32.f8e4m3b11fnuz v0", 0x3f800000, 0, 0x58},
        {"vcvt.f32.f8e4m3fn v0", 0x3f800000, 0, 0x38},
    };

    check_examples(examples, COUNT_OF(examples), "{ v2 = %s }");
}

TEST(quarters_of_fp8_tiles_become_f32)
{
    static const struct { const char *name; uint32_t one, two; } types[] = {
        {"f8e5m2", 0x3c, 0x40}, {"f8e4m3b11fnuz", 0x58, 0x60}, {"f8e4m3fn", 0x38, 0x40},
    };
    uint32_t a[VECTOR_TILE], out[VECTOR_TILE];

    for (size_t k = 0; k < COUNT_OF(types); k++) {
        for (int quarter = 0; quarter < 4; quarter++) {
            char body[80];

            for (int i = 0; i < VECTOR_TILE; i++)       /* 1 in the first rows of a word, then 2 */
                a[i] = i / 256 == quarter ? types[k].one * 0x0101 + types[k].two * 0x01010000u : 0;
            snprintf(body, sizeof(body), "{ v2 = vunpack.c.%d.%s v0 }", quarter, types[k].name);
            vector_run(&rig, body, a, NULL, out);
            for (int i = 0; i < VECTOR_TILE; i++)
                assert_int_equal(out[i], i / 128 % 4 < 2 ? 0x3f800000 : 0x40000000);
        }
    }
}

TEST(mask_results_follow_their_condition)
{
    static const struct example examples[] = {
        {"vweird.f32 v0", 0x7f800000, 0, 0xffffffff}, {"vweird.f32 v0", 0xffc00000, 0, 0xffffffff},
        {"vweird.f32 v0", 0x7f7fffff, 0, 0}, {"vweird.f32 v0", 0, 0, 0},
        {"vc.u32 v0, v1", 0xffffffff, 1, 0xffffffff}, {"vc.u32 v0, v1", 0xffffffff, 0, 0},
        {"vc.u32 v0, v1", 0x80000000, 0x80000000, 0xffffffff},
        {"vc.u32 v0, 5", 0xfffffffa, 0, 0}, {"vc.u32 v0, 5", 0xfffffffb, 0, 0xffffffff},
        {"vcmp.lt.bf16.partialorder v0, v1", 0x3f804000, 0x40003f80, 0xffff0000},
        {"vcmp.ne.bf16.partialorder v0, v1", 0x7fc04000, 0x7fc04000, 0xffff0000},
        {"vcmp.ge.bf16.partialorder v0, v1", 0x3f804000, 0x3f804000, 0xffffffff},
        {"vcmp.eq.bf16.partialorder v0, v1", 0x80008000, 0x00003f80, 0xffff0000},
        {"vcmp.gt.bf16.partialorder v0, v1", 0x3f804000, 0x3f804080, 0},
        {"vcmp.le.bf16.partialorder v0, v1", 0x3f804000, 0x3f803f80, 0xffff0000},
    };

    check_examples(examples, COUNT_OF(examples), "{ vm1 = %s }\n{ v2 = vsel vm1, -1, 0 }");
}

TEST(transcendental_unit_has_sines_and_packed_functions)
{
    static const struct example examples[] = {
        {"vsinq.f32 v0", 0x3f800000, 0, 0x3f800000}, {"vcosq.f32 v0", 0x40000000, 0, 0xbf800000},
        {"vpow2.bf16 v0", 0x40403f80, 0, 0x41004000}, {"vlog2.bf16 v0", 0x41004000, 0, 0x40403f80},
        {"vrcp.bf16 v0", 0x40004080, 0, 0x3f003e80}, {"vrsqrt.bf16 v0", 0x40803f80, 0, 0x3f003f80},
        {"vtanh.bf16 v0", 0x42000000, 0, 0x3f800000},
        {"vsinq.bf16 v0", 0x3f804040, 0, 0x3f80bf80}, {"vcosq.bf16 v0", 0x40000000, 0, 0xbf803f80},
    };

    check_examples(examples, COUNT_OF(examples), "{ %s }\n{ v2 = vpop.eup }");
}

TEST(packed_reductions_round_once_at_the_end)
{
    static const struct example sums[] = {      /* 128 x 1.0078125 and 128 x 3 */
        {"vadd.xlane.bf16.xlu0 v0", 0x3f814040, 0, 0x430143c0},
        {"vmax.xlane.bf16.xlu0 v0", 0x3f81c040, 0, 0x3f81c040},
    };
    uint32_t a[VECTOR_TILE], out[VECTOR_TILE];
    struct rng r;

    check_examples(sums, COUNT_OF(sums), "{ %s }\n{ v2 = vpop.xlane.xlu0 }");
    rng_init(&r, 3);
    for (int i = 0; i < VECTOR_TILE; i++)
        a[i] = (0x3f80 + rng_below(&r, 512)) << 16 | (0xbf80 + rng_below(&r, 512));
    vector_run(&rig, "{ vmin.xlane.bf16.xlu0 v0 }\n{ v2 = vpop.xlane.xlu0 }", a, NULL, out);
    for (int row = 0; row < 8; row++) {
        uint32_t high = 0xffff, low = 0;        /* the low halves are negative */

        for (int j = 0; j < 128; j++) {
            uint32_t word = a[128 * row + j];

            high = word >> 16 < high ? word >> 16 : high;
            low = (word & 0xffff) > low ? word & 0xffff : low;
        }
        assert_int_equal(out[128 * row + 77], high << 16 | low);
    }
}

TEST(lanes_are_found_and_permuted)
{
    uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE];
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < VECTOR_TILE; i++) {
        a[i] = 0x3f800000u + ((uint32_t)i * 37 + 11) % 128 * 4096;
        b[i] = (uint32_t)rng_next(&r);
    }
    vector_run(&rig, "{ vperm.xlu0 v0, v1 }\n{ v2 = vpop.permute.xlu0 }", a, b, out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal(out[i], a[i / 128 * 128 + (int)(b[i] % 128)]);
    vector_run(&rig, "{ vmax.index.xlane.f32.xlu0 v0 }\n{ v2 = vpop.xlane.xlu0 }", a, b, out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal((out[i] * 37 + 11) % 128, 127);
    vector_run(&rig, "{ vmin.index.xlane.f32.xlu0 v0 }\n{ v2 = vpop.xlane.xlu0 }", a, b, out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal((out[i] * 37 + 11) % 128, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(word_operations_compute_their_effect),
        T(float_operations_compute_their_effect),
        T(quarters_of_fp8_tiles_become_f32),
        T(mask_results_follow_their_condition),
        T(transcendental_unit_has_sines_and_packed_functions),
        T(packed_reductions_round_once_at_the_end),
        T(lanes_are_found_and_permuted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
