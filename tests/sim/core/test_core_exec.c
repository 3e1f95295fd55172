/*
 * What operations leave behind, beside arithmetic (which the SIMD paths' tests
 * cover): order inside a bundle, guards, memory, FIFOs, the matrix and
 * cross-lane units against plain C.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

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

static void put(int row, const void *from, int rows)
{
    struct err e;

    assert_int_equal(machine_vmem_write(rig.m, 0, row * 512, from, rows * 512, &e), 0);
}

static void get(int row, void *to, int rows)
{
    struct err e;

    assert_int_equal(machine_vmem_read(rig.m, 0, row * 512, to, rows * 512, &e), 0);
}

/* s1 at the end of `body`, brought out through VMEM row 1000 */
static int32_t scalar_after(const char *body)
{
    char text[4096];
    uint32_t row[128];

    snprintf(text, sizeof(text), "%s\n{ v31 = vstv s1 }\n{ vst [vmem:1000] v31 }\n{ shalt }\n",
             body);
    rig_cycles(&rig, text);
    get(1000, row, 1);
    return (int32_t)row[0];
}

TEST(scalar_operations_compute_their_effect)
{
    static const struct { const char *body; int32_t expected; } cases[] = {
        {"{ s0 = smov 7 }\n{ s1 = sadd.s32 s0, -9 }", -2},
        {"{ s0 = smov 0x7fffffff }\n{ s1 = sadd.s32 s0, 1 }", INT32_MIN},
        {"{ s0 = smov 7 }\n{ s1 = ssub.s32 s0, 9 }", -2},
        {"{ s0 = smov 0x10001 }\n{ s1 = smul.u32 s0, 0x10001 }", 0x20001},
        {"{ s0 = smov 12 }\n{ s1 = sand.u32 s0, 10 }", 8},
        {"{ s0 = smov 12 }\n{ s1 = sor.u32 s0, 10 }", 14},
        {"{ s0 = smov 12 }\n{ s1 = sxor.u32 s0, 10 }", 6},
        {"{ s0 = smov 3 }\n{ s1 = sshll.u32 s0, 31 }", INT32_MIN},
        {"{ s0 = smov 3 }\n{ s1 = sshll.u32 s0, 32 }", 0},
        {"{ s0 = smov -8 }\n{ s1 = sshrl.u32 s0, 28 }", 15},
        {"{ s0 = smov -8 }\n{ s1 = sshra.s32 s0, 2 }", -2},
        {"{ s0 = smov -8 }\n{ s1 = sshra.s32 s0, 99 }", -1},
        {"{ s0 = smov 40 ;; s2 = smov 11 }\n{ sst [smem:s0 + 8], s2 }\n{ s1 = sld [smem:48] }", 11},
        {"{ s0 = smov 5 }\n{ p2 = scmp.lt.s32.totalorder s0, 6 }\n"
         "{ s1 = scalar_select p2, 1, 2 }", 1},
        {"{ s0 = smov 5 }\n{ p2 = scmp.lt.s32.totalorder s0, 6 }\n"
         "{ s1 = scalar_select !p2, 1, 2 }", 2},
        {"{ s0 = smov 5 }\n{ p2 = scmp.ge.s32.totalorder s0, 6 }\n{ p3 = pneg p2 }\n"
         "{ p4 = pnand p2, p3 }\n{ p5 = pand p3, p4 }\n{ s1 = scalar_select p5, 1, 2 }", 1},
        {"{ p3 = por p1, !p2 }\n{ s1 = scalar_select p3, 1, 2 }", 1},
    };
    size_t i;

    for (i = 0; i < COUNT_OF(cases); i++)
        if (scalar_after(cases[i].body) != cases[i].expected)
            fail_msg("%s: expected %d", cases[i].body, cases[i].expected);
}

TEST(registers_of_a_bundle_are_read_before_any_is_written)
{
    assert_int_equal(scalar_after("{ s1 = smov 1 ;; s2 = smov 2 }\n"
                                  "{ s1 = smov s2 ;; s2 = smov s1 }\n"
                                  "{ s1 = sshll.u32 s1, 8 }\n{ s1 = sor.u32 s1, s2 }"), 0x201);
    assert_int_equal(scalar_after("{ s1 = smov 1 }\n{ s1 = sadd.s32 s1, 1 ;; s2 = smov s1 }\n"
                                  "{ s1 = sshll.u32 s1, 8 }\n{ s1 = sor.u32 s1, s2 }"), 0x201);
}

/* one of s0..s7 from two others or an immediate, as text and as a value */
static int random_scalar_op(struct rng *r, int target, const int32_t *s, char *text, size_t room,
                            int32_t *value)
{
    static const char *const name[] = {"sadd.s32", "ssub.s32", "sxor.u32", "smul.u32"};
    uint32_t kind = rng_below(r, 4), a = rng_below(r, 8), b = rng_below(r, 8);
    uint32_t x = (uint32_t)s[a], y = (uint32_t)s[b];

    *value = (int32_t)(kind == 0 ? x + y : kind == 1 ? x - y : kind == 2 ? x ^ y : x * y);
    return snprintf(text, room, "s%d = %s s%u, s%u", target, name[kind], a, b);
}

TEST(bundles_of_any_dependence_match_a_snapshot_of_the_registers)
{
    static char text[65536];
    const struct rig_options wide = {.set = {"slots.scalar=4"}};
    int32_t s[8] = {1, 2, 3, 5, 7, 11, 13, 17}, next[8];
    uint32_t row[128];
    struct rng r;
    int i, j, length = 0;

    rig_close(&rig);
    rig_open(&rig, "v3", &wide);
    for (i = 0; i < 8; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "{ s%d = smov %d }\n", i,
                           s[i]);
    rng_init(&r, 11);
    for (i = 0; i < 400; i++) {
        int first = (int)rng_below(&r, 8), count = 1 + (int)rng_below(&r, 4);

        memcpy(next, s, sizeof(next));
        for (j = 0; j < count; j++) {
            int target = (first + 3 * j) % 8;

            length += snprintf(text + length, sizeof(text) - (size_t)length, j ? " ;; " : "{ ");
            length += random_scalar_op(&r, target, s, text + length,
                                       sizeof(text) - (size_t)length, &next[target]);
        }
        length += snprintf(text + length, sizeof(text) - (size_t)length, " }\n");
        memcpy(s, next, sizeof(s));
    }
    for (i = 0; i < 8; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length,
                           "{ v0 = vstv s%d }\n{ vst [vmem:%d] v0 }\n", i, 8 * i);
    snprintf(text + length, sizeof(text) - (size_t)length, "{ shalt }\n");
    rig_cycles(&rig, text);
    for (i = 0; i < 8; i++) {
        get(8 * i, row, 1);
        assert_int_equal((int32_t)row[0], s[i]);
    }
}

TEST(predicates_and_masks_can_be_exchanged_in_a_bundle)
{
    uint32_t tile[1024];

    assert_int_equal(scalar_after("{ p1 = scmp.eq.s32.totalorder s0, 0 }\n"
                                  "{ p1 = pmov p2 ;; p2 = pmov p1 }\n"
                                  "{ s1 = smov 1 }\n{ s1 = smov (p1) 2 }\n"
                                  "{ s1 = sadd.s32 (p2) s1, 4 }"), 5);
    rig_cycles(&rig, "{ v0 = vlaneseq }\n{ vm1 = vcmp.lt.s32.totalorder v0, 10 }\n"
                     "{ vm2 = vcmp.ge.s32.totalorder v0, 1020 }\n"
                     "{ vm1 = vmand vm2, vm2 ;; vm2 = vmor vm1, vm1 }\n"
                     "{ v1 = vsel vm1, 1, 0 }\n{ v2 = vsel vm2, 2, v1 }\n"
                     "{ vst [vmem:0x0] v2 }\n{ shalt }");
    get(0, tile, 8);
    assert_int_equal(tile[0], 2);
    assert_int_equal(tile[10], 0);
    assert_int_equal(tile[1023], 1);
}

TEST(load_and_store_of_a_bundle_exchange_memory_and_register)
{
    uint32_t tile[1024];

    memset(tile, 0, sizeof(tile));
    tile[5] = 77;
    put(0, tile, 8);
    rig_cycles(&rig, "{ v1 = vmov 33 }\n{ v1 = vld [vmem:0x0] ;; vst [vmem:0x0] v1 }\n"
                     "{ vst [vmem:0x8] v1 }\n{ shalt }");
    get(0, tile, 8);
    assert_int_equal(tile[5], 33);
    get(8, tile, 8);
    assert_int_equal(tile[5], 77);
}

TEST(pop_and_push_of_a_bundle_chain_a_register)
{
    uint32_t tile[1024];

    rig_cycles(&rig, "{ v1 = vmov 1.0 }\n{ vrcp.f32 v1 ;; v2 = vmov 0.5 }\n"
                     "{ v1 = vpop.eup ;; vadd.xlane.f32.xlu0 v2 ;; v2 = vmov v1 }\n"
                     "{ vrcp.f32 v2 ;; v3 = vpop.xlane.xlu0 }\n{ v2 = vpop.eup }\n"
                     "{ vst [vmem:0x0] v2 }\n{ vst [vmem:0x8] v3 }\n{ shalt }");
    get(0, tile, 8);
    assert_int_equal(tile[0], f32_bits(1.0f));
    get(8, tile, 8);
    assert_int_equal(tile[0], f32_bits(64.0f));
}

TEST(guard_that_fails_leaves_everything_as_it_is)
{
    assert_int_equal(scalar_after("{ s1 = smov 1 ;; p1 = scmp.ne.s32.totalorder s0, 0 }\n"
                                  "{ s1 = smov (p1) 2 }\n{ sst (p1) [smem:0], s1 }\n"
                                  "{ vrcp.f32 (p1) v0 }\n{ v1 = vpop.eup (p1) }\n"
                                  "{ vwait.ge (p1) [sflag:3], 1 }\n{ vsyncadd (p1) [sflag:3], 1 }\n"
                                  "{ shalt.err (p1) }\n{ s1 = sadd.s32 (!p1) s1, 8 }"), 9);
}

TEST(loop_runs_its_delay_bundle_each_round)
{
    assert_int_equal(scalar_after("{ s0 = smov 0 ;; s1 = smov 0 }\nagain:\n"
                                  "{ s0 = sadd.s32 s0, 1 }\n"
                                  "{ p1 = scmp.lt.s32.totalorder s0, 5 }\n"
                                  "{ sbr.rel (p1) target = again }\n"
                                  "{ s1 = sadd.s32 s1, 10 }"), 50);
}

TEST(loads_and_stores_pick_sublanes_and_strides)
{
    uint32_t memory[64 * 128], tile[1024];
    int i;

    for (i = 0; i < 64 * 128; i++)
        memory[i] = (uint32_t)i;
    put(0, memory, 64);
    rig_cycles(&rig, "{ s0 = smov 2 }\n{ v1 = vld [vmem:s0 + 1] ss:$3 sm:$0x7f }\n"
                     "{ vst [vmem:100] v1 }\n{ v2 = vld [vmem:9] ss:$0 }\n{ vst [vmem:108] v2 }\n"
                     "{ vst [vmem:40] ss:$2 sm:$0xaa v1 }\n{ shalt }");
    get(100, tile, 8);
    for (i = 0; i < 8; i++)
        assert_int_equal(tile[i * 128 + 5], i < 7 ? (3 + 3 * i) * 128 + 5 : 0);
    get(108, tile, 8);
    for (i = 0; i < 8; i++)
        assert_int_equal(tile[i * 128 + 5], 9 * 128 + 5);
    get(40, memory, 16);
    for (i = 0; i < 16; i++)
        assert_int_equal(memory[i * 128 + 5],
                         i == 2 || i == 6 || i == 10 ? (3 + 3 * (i / 2)) * 128 + 5
                         : i == 14 ? 0 : (40 + i) * 128 + 5);
}

TEST(masked_store_writes_where_the_mask_holds)
{
    uint32_t tile[1024];
    int i;

    memset(tile, 0, sizeof(tile));
    put(0, tile, 8);
    rig_cycles(&rig, "{ v0 = vlaneseq }\n{ vm3 = vcmp.ge.s32.totalorder v0, 700 }\n"
                     "{ vst.msk [vmem:0x0] sm:$0x7f vm3, v0 }\n{ shalt }");
    get(0, tile, 8);
    for (i = 0; i < 1024; i++)
        assert_int_equal(tile[i], i >= 700 && i < 896 ? i : 0);
}

TEST(lanes_and_sublanes_rotate_and_spread)
{
    uint32_t tile[1024];
    int i, j;

    rig_cycles(&rig, "{ v0 = vlaneseq }\n{ v1 = vrot.slane v0, 3 }\n{ vst [vmem:0x0] v1 }\n"
                     "{ vrot.lane.b32.xlu0 v0, 5 }\n{ v1 = vpop.permute.xlu0 }\n"
                     "{ vst [vmem:0x8] v1 }\n{ vbcast.lane.b32.xlu0 v0, 9 }\n"
                     "{ vbcast.lane.b32.xlu0 v0, 265 }\n{ v1 = vpop.permute.xlu0 }\n"
                     "{ v2 = vpop.permute.xlu0 ;; vst [vmem:0x10] v1 }\n{ vst [vmem:0x18] v2 }\n"
                     "{ shalt }");
    get(0, tile, 8);
    for (i = 0; i < 1024; i++)
        assert_int_equal(tile[i], (i / 128 + 3) % 8 * 128 + i % 128);
    get(8, tile, 8);
    for (i = 0; i < 1024; i++)
        assert_int_equal(tile[i], i / 128 * 128 + (i + 123) % 128);
    get(16, tile, 8);
    for (i = 0; i < 8; i++)
        for (j = 0; j < 128; j++)
            assert_int_equal(tile[128 * i + j], 128 * i + 9);
    get(24, tile, 8);
    for (i = 0; i < 8; i++)
        for (j = 0; j < 128; j++)
            assert_int_equal(tile[128 * i + j], 128 * i + 9 + i);
}

TEST(transpose_turns_rows_into_columns)
{
    uint32_t in[16 * 128], tile[1024];
    int i, j;

    for (i = 0; i < 16 * 128; i++)
        in[i] = (uint32_t)i * 7;
    put(0, in, 16);
    rig_cycles(&rig, "{ v0 = vld [vmem:0x0] }\n{ v1 = vld [vmem:0x8] }\n"
                     "{ vxpose.xlu0.b32.start v0, 16 }\n{ vxpose.xlu0.b32.end v1, 16 }\n"
                     "{ v2 = vpop.trf.xlu0 }\n{ v3 = vpop.trf.xlu0 }\n"
                     "{ vst [vmem:100] v2 }\n{ vst [vmem:108] v3 }\n{ shalt }");
    for (i = 0; i < 16; i++) {
        if (i % 8 == 0)
            get(100 + i, tile, 8);
        for (j = 0; j < 128; j++)
            assert_int_equal(tile[i % 8 * 128 + j], j < 16 ? in[j * 128 + i] : 0);
    }
}

TEST(vector_to_scalar_words_keep_their_order)
{
    assert_int_equal(scalar_after("{ v0 = vmov 3 }\n{ v1 = vmov 4 }\n{ vpush v0 }\n{ vpush v1 }\n"
                                  "{ s2 = spop }\n{ s3 = spop }\n{ s1 = sshll.u32 s2, 4 }\n"
                                  "{ s1 = sor.u32 s1, s3 }"), 0x34);
}

TEST(pops_of_a_bundle_take_in_the_order_they_are_written)
{
    /* a reader of s2 puts the first spop behind it, which must not let the second go first */
    assert_int_equal(scalar_after("{ v0 = vmov 3 }\n{ v1 = vmov 4 }\n{ vpush v0 }\n{ vpush v1 }\n"
                                  "{ s2 = spop ;; s3 = spop ;; v2 = vstv s2 }\n"
                                  "{ s1 = sshll.u32 s2, 4 }\n{ s1 = sor.u32 s1, s3 }"), 0x34);
    assert_int_equal(scalar_after("{ v0 = vmov 3 }\n{ v1 = vmov 4 }\n{ vpush v0 }\n{ vpush v1 }\n"
                                  "{ s3 = spop ;; s2 = spop ;; v2 = vstv s3 }\n"
                                  "{ s1 = sshll.u32 s2, 4 }\n{ s1 = sor.u32 s1, s3 }"), 0x43);
}

/* what the documents say a push does, on plain arrays */
struct plain_mxu {
    float weight[128][128];
};

static void push_rows(struct plain_mxu *m, const float *tile)
{
    memmove(m->weight[8], m->weight[0], 120 * sizeof(m->weight[0]));
    memcpy(m->weight[0], tile, 8 * sizeof(m->weight[0]));
}

static void push_columns(struct plain_mxu *m, const float *tile)
{
    int i, j;

    for (i = 0; i < 128; i++) {
        memmove(&m->weight[i][8], &m->weight[i][0], 120 * sizeof(float));
        for (j = 0; j < 8; j++)
            m->weight[i][j] = tile[j * 128 + i];
    }
}

/* random small integers are exact in bf16 and their sums in f32, so the order does not matter */
static void random_tile(struct rng *r, float *tile)
{
    int i;

    for (i = 0; i < 1024; i++)
        tile[i] = (float)((int)rng_below(r, 17) - 8);
}

static void check_product(const struct plain_mxu *m, const float *lhs, const float *out)
{
    int i, j, k;

    for (i = 0; i < 8; i++)
        for (j = 0; j < 128; j++) {
            float sum = 0;

            for (k = 0; k < 128; k++)
                sum += lhs[i * 128 + k] * m->weight[k][j];
            assert_true(out[i * 128 + j] == sum);
        }
}

TEST(weights_shift_through_the_staging_register_by_rows_and_columns)
{
    static struct plain_mxu plain;
    float tile[1024], lhs[1024], out[1024];
    char text[8192];
    struct rng r;
    int push, length = 0;

    memset(&plain, 0, sizeof(plain));
    rng_init(&r, 5);
    for (push = 0; push < 25; push++) {
        bool by_columns = push % 7 > 3;

        random_tile(&r, tile);
        put(8 * push, tile, 8);
        if (by_columns)
            push_columns(&plain, tile);
        else
            push_rows(&plain, tile);
        length += snprintf(text + length, sizeof(text) - (size_t)length,
                           "{ v0 = vld [vmem:%d] }\n{ vmatpush%s.msrb.mxu1 v0 }\n", 8 * push,
                           by_columns ? ".xpose" : "");
    }
    random_tile(&r, lhs);
    put(400, lhs, 8);
    snprintf(text + length, sizeof(text) - (size_t)length,
             "{ v1 = vld [vmem:400] }\n{ vmatmul.f32.vlgmr.msrb.gmra.mxu1 v1 }\n"
             "{ vmatpush.msrb.mxu1 v1 }\n{ vmatmul.f32.gmra.mxu1 v1 }\n"
             "{ v2 = vpop.f32.mrf.mxu1 }\n{ vst [vmem:408] v2 }\n"
             "{ v2 = vpop.f32.mrf.mxu1 }\n{ vst [vmem:416] v2 }\n{ shalt }\n");
    rig_cycles(&rig, text);
    get(408, out, 8);
    check_product(&plain, lhs, out);
    get(416, out, 8);                   /* a push after the latch changes nothing in the array */
    check_product(&plain, lhs, out);
}

TEST(immediate_operands_fill_every_lane)
{
    float tile[1024];
    int i;

    rig_cycles(&rig, "{ v0 = vmov 1.5 }\n{ v1 = vadd.f32 v0, 2.25 }\n{ vst [vmem:0x0] v1 }\n"
                     "{ shalt }");
    get(0, tile, 8);
    for (i = 0; i < 1024; i++)
        assert_true(tile[i] == 3.75f);
}

TEST(registers_and_units_start_empty_at_every_launch)
{
    const char *text = "{ s1 = sadd.s32 s1, 1 ;; vm1 = vmor vm1, vm1 }\n"
                       "{ v0 = vsel vm1, 1, 0 ;; s2 = smov s1 }\n{ v1 = vstv s2 }\n"
                       "{ v1 = vadd.s32 v1, v0 }\n{ vst [vmem:0x0] v1 }\n"
                       "{ vm1 = vcmp.eq.s32.totalorder v9, 0 }\n"
                       "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ shalt }";
    uint32_t tile[1024];
    cycle_t cycles;

    cycles = rig_cycles(&rig, text);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(machine_cycles(rig.m), cycles);
    get(0, tile, 8);
    assert_int_equal(tile[0], 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(scalar_operations_compute_their_effect),
        T(registers_of_a_bundle_are_read_before_any_is_written),
        T(bundles_of_any_dependence_match_a_snapshot_of_the_registers),
        T(predicates_and_masks_can_be_exchanged_in_a_bundle),
        T(load_and_store_of_a_bundle_exchange_memory_and_register),
        T(pop_and_push_of_a_bundle_chain_a_register),
        T(guard_that_fails_leaves_everything_as_it_is),
        T(loop_runs_its_delay_bundle_each_round),
        T(loads_and_stores_pick_sublanes_and_strides),
        T(masked_store_writes_where_the_mask_holds),
        T(lanes_and_sublanes_rotate_and_spread),
        T(transpose_turns_rows_into_columns),
        T(vector_to_scalar_words_keep_their_order),
        T(pops_of_a_bundle_take_in_the_order_they_are_written),
        T(weights_shift_through_the_staging_register_by_rows_and_columns),
        T(immediate_operands_fill_every_lane),
        T(registers_and_units_start_empty_at_every_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
