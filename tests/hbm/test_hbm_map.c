#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "hbm/hbm.h"

static struct hbm_map map_of(const char *text)
{
    struct hbm_map m;
    struct err e = {.line = 0};

    if (hbm_map_parse(&m, text, &e) != 0)
        fail_msg("%s: %s", text, e.msg);
    return m;
}

static int64_t bits(int64_t address, int first, int count)
{
    return (address >> first) & (((int64_t)1 << count) - 1);
}

/* column [6:10], channel [11:13], bank [14:15], group [16:17], row from 18 on */
TEST(fields_take_their_bits_from_low_to_high)
{
    struct hbm_map m = map_of("column:32 channel:8 bank:4 group:4");
    struct rng r;

    rng_init(&r, 1);
    for (int i = 0; i < 1000; i++) {
        int64_t address = (int64_t)(rng_next(&r) >> 30);
        struct hbm_place p = hbm_map_place(&m, 4, address >> 6);

        assert_int_equal(p.column, bits(address, 6, 5));
        assert_int_equal(p.channel, bits(address, 11, 3));
        assert_int_equal(p.bank, bits(address, 16, 2) + 4 * bits(address, 14, 2));
        assert_int_equal(p.row, address >> 18);
    }
}

/* channel low, column split in two, everything between xored with the row from its low end on */
TEST(a_field_may_be_split_and_xored_with_the_row)
{
    struct hbm_map m = map_of("channel:8/column:4/channel:2^/group:4^/bank:4^/column:16");
    struct rng r;

    rng_init(&r, 2);
    for (int i = 0; i < 1000; i++) {
        int64_t address = (int64_t)(rng_next(&r) >> 30), row = address >> 19;
        struct hbm_place p = hbm_map_place(&m, 4, address >> 5);

        assert_int_equal(p.row, row);
        assert_int_equal(p.column, bits(address, 8, 2) + 4 * bits(address, 15, 4));
        assert_int_equal(p.channel, bits(address, 5, 3) + 8 * (bits(address, 10, 1) ^ (row & 1)));
        assert_int_equal(p.bank, (bits(address, 11, 2) ^ bits(row, 1, 2)) +
                                     4 * (bits(address, 13, 2) ^ bits(row, 3, 2)));
    }
}

/* every place exactly once, whatever the spread: no two bursts share one */
TEST(a_map_reaches_every_place_once)
{
    static const char *const texts[] = {
        "column:4 channel:3+ column:2 bank:8+", "channel:4 column:8 group:4^ bank:2^",
        "column:2/channel:2^/group:4^/bank:2^/column:4", "column:8 channel:1 bank:8+",
        "bank:8 column:8 channel:4+"};

    for (size_t k = 0; k < COUNT_OF(texts); k++) {
        struct hbm_map m = map_of(texts[k]);
        int64_t channels = hbm_map_count(&m, HBM_CHANNEL), columns = 8, banks = 8, rows = 16;
        int64_t count = channels * banks * columns * rows;
        bool *is_taken = calloc((size_t)count, sizeof(*is_taken));

        assert_non_null(is_taken);
        for (int64_t i = 0; i < count; i++) {
            struct hbm_place p = hbm_map_place(&m, 4, i);
            int64_t place = ((p.row * channels + p.channel) * banks + p.bank) * columns + p.column;

            assert_in_range(place, 0, count - 1);
            assert_false(is_taken[place]);
            is_taken[place] = true;
        }
        free(is_taken);
    }
}

/* blocks any power of two apart start on different channels; see docs/memory.md */
TEST(the_map_of_the_chips_rotates_channels_and_banks)
{
    struct hbm_map m = hbm_map_interleaved(64, 16, 16, 32);
    struct hbm_map same;
    struct err e;

    assert_int_equal(hbm_map_parse(&same, "column:16 channel:64+ column:2 bank:16+", &e), 0);
    assert_memory_equal(&m, &same, sizeof(m));
    assert_int_equal(hbm_map_piece_bursts(&m), 16);
    for (int64_t stride = 1024; stride <= 1 << 24; stride *= 2) {
        bool seen[64] = {false};
        int count = 0;

        for (int64_t i = 0; i < 64; i++) {
            int channel = hbm_map_place(&m, 4, i * stride).channel;

            count += !seen[channel];
            seen[channel] = true;
        }
        assert_true(count >= 16);
    }
}

TEST(what_cannot_be_parsed_is_said)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"column:4 plane:2", "\"plane:2\" in an address map: the fields are column, channel, "
                             "group and bank (offset and row are what is left below and above)"},
        {"column", "\"column\" in an address map: a field is followed by a colon and how many "
                   "there are, such as channel:8"},
        {"column:0", "\"column:0\" in an address map: a field is followed by a colon and how many "
                     "there are, such as channel:8"},
        {"bank:4x", "\"bank:4x\" in an address map: only + (rotated) or ^ (xored) may follow the "
                    "number"},
        {"channel:3^", "\"channel:3^\" in an address map: only a power of two can be xored"},
        {"bank:2 bank:2 bank:2 bank:2 bank:2 bank:2 bank:2 bank:2 bank:2 bank:2 bank:2",
         "an address map has at most 10 fields"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hbm_map m;
        struct err e = {.line = 0};

        assert_int_equal(hbm_map_parse(&m, rows[i].text, &e), -1);
        assert_string_equal(e.msg, rows[i].message);
    }
}

static struct hbm_config good(void)
{
    return (struct hbm_config){
        .size_bytes = 1 << 20, .channel_count = 4, .bank_count = 8, .bank_groups = 4,
        .row_bytes = 1024, .burst_bytes = 32, .map = hbm_map_interleaved(4, 8, 16, 32),
        .burst_ps = 1000, .trcd_ps = 14000, .trp_ps = 14000, .tras_ps = 33000, .tcl_ps = 14000,
        .tcwl_ps = 4000, .trrd_ps = 4000, .trrd_l_ps = 6000, .twtr_ps = 6000, .twtr_l_ps = 8000,
        .trefi_ps = 3900000, .trfc_ps = 260000, .read_queue = 32, .write_queue = 32,
        .bank_queue = 8, .write_low = 16};
}

#define FAULT(change, name) \
    do { \
        struct hbm_config c = good(); \
        const char *key = NULL; \
        change; \
        assert_non_null(hbm_config_fault(&c, &key)); \
        assert_string_equal(key, name); \
    } while (0)

TEST(a_memory_without_refresh_is_one_too)
{
    struct hbm_config c = good();
    const char *key;

    assert_null(hbm_config_fault(&c, &key));
    c.trefi_ps = 0;
    assert_null(hbm_config_fault(&c, &key));
}

TEST(a_memory_that_cannot_be_is_refused)
{
    FAULT(c.row_bytes = 1000, "row_bytes");
    FAULT(c.burst_bytes = 33, "burst_bytes");
    FAULT(c.burst_bytes = 2048, "burst_bytes");
    FAULT(c.burst_ps = 0, "burst_ps");
    FAULT(c.channel_count = 8, "map");
    FAULT(c.channel_count = 0, "channels");
    FAULT(c.bank_count = 0, "banks");
    FAULT(c.bank_count = 16, "map");
    FAULT(c.bank_groups = 3, "bank_groups");
    FAULT(c.row_bytes = 2048, "map");
    FAULT(c.read_queue = 0, "read_queue");
    FAULT(c.write_queue = 0, "write_queue");
    FAULT(c.bank_queue = 0, "bank_queue");
    FAULT(c.write_low = 33, "write_low");
    FAULT(c.write_low = 0, "write_low");
    FAULT(c.trrd_l_ps = 3000, "trrd_l_ps");
    FAULT(c.twtr_l_ps = 5000, "twtr_l_ps");
    FAULT(c.trefi_ps = 300000, "trefi_ps");
    FAULT((c.refreshes_single_banks = true, c.trfc_bank_ps = 3900000), "trefi_ps");
    FAULT(c.map.step[1].field = HBM_GROUP, "map");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_take_their_bits_from_low_to_high),
        cmocka_unit_test(a_field_may_be_split_and_xored_with_the_row),
        cmocka_unit_test(a_map_reaches_every_place_once),
        cmocka_unit_test(the_map_of_the_chips_rotates_channels_and_banks),
        cmocka_unit_test(what_cannot_be_parsed_is_said),
        cmocka_unit_test(a_memory_without_refresh_is_one_too),
        cmocka_unit_test(a_memory_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
