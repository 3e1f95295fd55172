/* Vector operations that move and pack rows: does each element come from its place? */
#include "base/floats.h"
#include "base/units.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"
#include "tests/rigs/vector_rig.h"

static struct rig rig;
static uint32_t a[VECTOR_TILE], b[VECTOR_TILE], out[VECTOR_TILE];

static int open_rig(void **state)
{
    struct rng r;

    (void)state;
    rig_open(&rig, "v3", NULL);
    rng_init(&r, 13);
    vector_random(&r, a);
    vector_random(&r, b);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

/* row of the two operands of a pack taken together: the second one is the lower half */
static uint32_t pack_source(int bits, int row, int lane)
{
    int rows = 8 * 32 / bits;

    return vector_packed(row < rows ? b : a, bits, row % rows, lane);
}

TEST(compressed_packs_put_consecutive_rows_into_a_word)
{
    vector_run(&rig, "{ v2 = vpack.c.b16 v0, v1 }", a, b, out);
    for (int i = 0; i < 16 * 128; i++)
        assert_int_equal(vector_packed(out, 16, i / 128, i % 128),
                         pack_source(32, i / 128, i % 128) & 0xffff);
    vector_run(&rig, "{ v2 = vpack.c.b8 v0, v1 }", a, b, out);
    for (int i = 0; i < 32 * 128; i++)
        assert_int_equal(vector_packed(out, 8, i / 128, i % 128),
                         pack_source(16, i / 128, i % 128) & 0xff);
}

static int clamp(int x, int least, int most) { return x < least ? least : x > most ? most : x; }

TEST(packs_to_8_bits_saturate_signed_halves)
{
    for (int i = 0; i < VECTOR_TILE; i += 3)
        a[i] = (uint32_t)(i % 300) << 16 | (uint32_t)(-i % 300 & 0xffff);
    vector_run(&rig, "{ v2 = vpack.c.s8 v0, v1 }", a, b, out);
    for (int i = 0; i < 32 * 128; i++) {
        int x = (int16_t)pack_source(16, i / 128, i % 128);

        assert_int_equal((int8_t)vector_packed(out, 8, i / 128, i % 128), clamp(x, -128, 127));
    }
    vector_run(&rig, "{ v2 = vpack.c.u8 v0, v1 }", a, b, out);
    for (int i = 0; i < 32 * 128; i++) {
        int x = (int16_t)pack_source(16, i / 128, i % 128);

        assert_int_equal(vector_packed(out, 8, i / 128, i % 128), clamp(x, 0, 255));
    }
}

TEST(interleaved_packs_join_words_of_the_same_place)
{
    vector_run(&rig, "{ v2 = vpack.i.b16 v0, v1 }", a, b, out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal(out[i], a[i] << 16 | (b[i] & 0xffff));
    vector_run(&rig, "{ v2 = vpack.i.bf16 v0, v1 }", a, b, out);
    for (int i = 0; i < VECTOR_TILE; i++)
        assert_int_equal(out[i], (uint32_t)reference_bf16(a[i]) << 16 | reference_bf16(b[i]));
}

/* what each form of vunpack gives for element i */
static void check_unpack(const char *mnemonic, uint32_t (*expected)(int row, int lane))
{
    char body[80];

    snprintf(body, sizeof(body), "{ v2 = %s v0 }", mnemonic);
    vector_run(&rig, body, a, NULL, out);
    for (int i = 0; i < VECTOR_TILE; i++) {
        if (out[i] != expected(i / 128, i % 128))
            fail_msg("%s: word %d is %08x, not %08x", mnemonic, i, out[i],
                     expected(i / 128, i % 128));
    }
}

static uint32_t c_l_b16(int i, int j) { return vector_packed(a, 16, i, j); }
static uint32_t c_h_b16(int i, int j) { return vector_packed(a, 16, 8 + i, j); }
static uint32_t i_l_b16(int i, int j) { return a[128 * i + j] & 0xffff; }
static uint32_t i_h_b16(int i, int j) { return a[128 * i + j] >> 16; }
static uint32_t i_l_bf16(int i, int j) { return a[128 * i + j] << 16; }
static uint32_t i_h_bf16(int i, int j) { return a[128 * i + j] & 0xffff0000u; }
static uint32_t c_0_u8(int i, int j) { return vector_packed(a, 8, i, j); }
static uint32_t c_2_u8(int i, int j) { return vector_packed(a, 8, 16 + i, j); }
static uint32_t c_1_s8(int i, int j) { return (uint32_t)(int8_t)vector_packed(a, 8, 8 + i, j); }
static uint32_t c_3_s8(int i, int j) { return (uint32_t)(int8_t)vector_packed(a, 8, 24 + i, j); }

/* the byte that the 4-bit row `row` becomes, at its place in the word */
static uint32_t nibble(int row, int lane, bool is_signed)
{
    uint32_t x = vector_packed(a, 4, row, lane);

    return (is_signed && x >= 8 ? x | 0xf0 : x) << row % 4 * 8;
}

static uint32_t four_nibbles(int row, int lane, bool is_signed)
{
    return nibble(row, lane, is_signed) | nibble(row + 1, lane, is_signed) |
           nibble(row + 2, lane, is_signed) | nibble(row + 3, lane, is_signed);
}

static uint32_t c_l_s4(int i, int j) { return four_nibbles(4 * i, j, true); }
static uint32_t c_h_s4(int i, int j) { return four_nibbles(32 + 4 * i, j, true); }
static uint32_t c_l_u4(int i, int j) { return four_nibbles(4 * i, j, false); }
static uint32_t c_h_u4(int i, int j) { return four_nibbles(32 + 4 * i, j, false); }

TEST(unpacks_take_the_rows_they_name)
{
    check_unpack("vunpack.c.l.b16", c_l_b16);
    check_unpack("vunpack.c.h.b16", c_h_b16);
    check_unpack("vunpack.i.l.b16", i_l_b16);
    check_unpack("vunpack.i.h.b16", i_h_b16);
    check_unpack("vunpack.i.l.bf16", i_l_bf16);
    check_unpack("vunpack.i.h.bf16", i_h_bf16);
    check_unpack("vunpack.c.0.u8", c_0_u8);
    check_unpack("vunpack.c.2.u8", c_2_u8);
    check_unpack("vunpack.c.1.s8", c_1_s8);
    check_unpack("vunpack.c.3.s8", c_3_s8);
    check_unpack("vunpack.c.l.s4", c_l_s4);
    check_unpack("vunpack.c.h.s4", c_h_s4);
    check_unpack("vunpack.c.l.u4", c_l_u4);
    check_unpack("vunpack.c.h.u4", c_h_u4);
}

TEST(combines_take_four_rows_of_each_operand)
{
    for (int high = 0; high < 2; high++) {
        vector_run(&rig, high ? "{ v2 = vcombine.high v0, v1 }" : "{ v2 = vcombine.low v0, v1 }", a,
                   b, out);
        assert_memory_equal(out, a + 512 * high, 2048);
        assert_memory_equal(out + 512, b + 512 * high, 2048);
    }
    vector_run(&rig, "{ v1 = vcombine.high v0, v1 }\n{ v2 = vmov v1 }", a, b, out);
    assert_memory_equal(out + 512, b + 512, 2048);
}

static void check_rows(const int source[8])
{
    for (int i = 0; i < 8; i++)
        assert_memory_equal(out + 128 * i, a + 128 * source[i], 512);
}

TEST(sublanes_move_by_a_pattern_in_registers_loads_and_stores)
{
    static const int mixed[8] = {3, 1, 1, 0, 7, 6, 2, 5};

    vector_run(&rig, "{ v2 = vperm.slane v0, 0x52670113 }", a, b, out);
    check_rows(mixed);
    vector_run(&rig, "{ s3 = smov 0x52670113 }\n{ v0 = vperm.slane v0, s3 }\n{ v2 = vmov v0 }", a,
               b, out);
    check_rows(mixed);
    vector_run(&rig, "{ v2 = vld.sshfl [vmem:[0] sm:$0xff pattern:$0x52670113] }", a, b, out);
    check_rows(mixed);
    vector_run(&rig, "{ vst.sshfl [vmem:24] pattern:$0x52670113 v0 }\n{ v2 = vld [vmem:24] }", a, b,
               out);
    check_rows(mixed);
    vector_run(&rig, "{ v2 = vld.sshfl [vmem:0] }", a, b, out);
    assert_memory_equal(out, a, 4096);
}

TEST(shuffled_accesses_keep_stride_and_sublane_mask)
{
    static const uint32_t zeros[128];

    vector_run(&rig, "{ v2 = vld.sshfl [vmem:[0] ss:$2 sm:$0x0d pattern:$0x00003210] }", a, b, out);
    assert_memory_equal(out, a, 512);
    assert_memory_equal(out + 128, zeros, 512);
    assert_memory_equal(out + 2 * 128, a + 4 * 128, 512);
    assert_memory_equal(out + 3 * 128, a + 6 * 128, 512);
    assert_memory_equal(out + 7 * 128, a, 512);
    vector_run(&rig, "{ vst [vmem:24] v1 }\n"
               "{ vst.sshfl [vmem:[24] ss:$0 sm:$0x0f pattern:$0x00005000] v0 }\n"
               "{ v2 = vld [vmem:24] }", a, b, out);
    assert_memory_equal(out, a + 5 * 128, 512);         /* the highest sublane remains */
    assert_memory_equal(out + 128, b + 128, 7 * 512);
}

/* "start", "cont", … for tile `i` of `count` */
static const char *part(int i, int count)
{
    return count == 1 ? "start.end" : i == 0 ? "start" : i == count - 1 ? "end" : "cont";
}

/* `height` rows of `bits` bits at VMEM row 100, transposed to `width` rows at row 300 */
static void transpose(int bits, int height, int width)
{
    int rows = 8 * 32 / bits, pushes = height / rows, length = 0;
    char text[8192];

    for (int i = 0; i < pushes; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length,
                           "{ v0 = vld [vmem:%d] }\n{ vxpose.xlu0.b%d.%s v0, %d }\n", 100 + 8 * i,
                           bits, part(i, pushes), width);
    for (int i = 0; i < width / rows; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length,
                           "{ v0 = vpop.trf.xlu0 }\n{ vst [vmem:%d] v0 }\n", 300 + 8 * i);
    snprintf(text + length, sizeof(text) - (size_t)length, "{ shalt }\n");
    rig_cycles(&rig, text);
}

TEST(transposes_of_every_size_and_type_turn_rows_into_columns)
{
    static uint32_t in[128 * 128], turned[128 * 128];
    struct err e;
    struct rng r;

    rng_init(&r, 17);
    for (int i = 0; i < 128 * 128; i++)
        in[i] = (uint32_t)rng_next(&r);
    assert_int_equal(machine_vmem_write(rig.m, 0, 100 * 512, in, 128 * 512, &e), 0);
    for (int bits = 8; bits <= 32; bits *= 2) {
        int rows = 8 * 32 / bits;

        for (int k = 0; k < (128 / rows) * (128 / rows); k++) {
            int height = rows * (1 + k % (128 / rows)), width = rows * (1 + k / (128 / rows));

            transpose(bits, height, width);
            assert_int_equal(machine_vmem_read(rig.m, 0, 300 * 512, turned, 128 * 512, &e), 0);
            for (int i = 0; i < width * 128; i++) {
                int row = i / 128, lane = i % 128;
                uint32_t expected = lane < height ? vector_packed(in, bits, lane, row) : 0;

                if (vector_packed(turned, bits, row, lane) != expected)
                    fail_msg("b%d %dx%d: row %d, lane %d", bits, height, width, row, lane);
            }
        }
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(compressed_packs_put_consecutive_rows_into_a_word),
        T(packs_to_8_bits_saturate_signed_halves),
        T(interleaved_packs_join_words_of_the_same_place),
        T(unpacks_take_the_rows_they_name),
        T(combines_take_four_rows_of_each_operand),
        T(sublanes_move_by_a_pattern_in_registers_loads_and_stores),
        T(transposes_of_every_size_and_type_turn_rows_into_columns),
        T(shuffled_accesses_keep_stride_and_sublane_mask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
