#include "tests/test.h"

#include "base/text.h"

static int64_t bytes_of(const char *text)
{
    int64_t bytes = -1;

    return text_parse_bytes(text, 0, INT64_MAX, &bytes) ? -1 : bytes;
}

TEST(bytes_are_read_with_units_of_1024)
{
    assert_int_equal(bytes_of("0"), 0);
    assert_int_equal(bytes_of("4096"), 4096);
    assert_int_equal(bytes_of("0x1000"), 4096);
    assert_int_equal(bytes_of("512B"), 512);
    assert_int_equal(bytes_of("4K"), 4096);
    assert_int_equal(bytes_of("4k"), 4096);
    assert_int_equal(bytes_of("2t"), 2LL << 40);
    assert_int_equal(bytes_of("4KB"), 4096);
    assert_int_equal(bytes_of("4 KiB"), 4096);
    assert_int_equal(bytes_of("256M"), 256LL << 20);
    assert_int_equal(bytes_of("32GiB"), 32LL << 30);
    assert_int_equal(bytes_of("8191T"), 8191LL << 40);
}

TEST(what_text_bytes_prints_is_read_again)
{
    static const int64_t sizes[] = {1, 1023, 1024, 3LL << 20, 5LL << 30, 7LL << 40};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_int_equal(bytes_of(text_bytes(sizes[i]).text), sizes[i]);
}

TEST(what_is_no_number_of_bytes_is_refused)
{
    static const char *const wrong[] = {
        "", " 4K", "K", "4 ", "4X", "4KX", "4Ki", "4KiBs", "1.5M", "-1", "4  K", "4K ",
        "0x10K", "99999999999999999999", "8388608T", "9999999T",
        "00000000000000000000000000000000000000000001"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (bytes_of(wrong[i]) != -1)
            fail_msg("\"%s\" was read as %lld", wrong[i], (long long)bytes_of(wrong[i]));
}

TEST(bytes_keep_to_their_range)
{
    int64_t bytes = 7;

    assert_int_equal(text_parse_bytes("64", 64, 128, &bytes), 0);
    assert_int_equal(text_parse_bytes("128", 64, 128, &bytes), 0);
    assert_int_equal(bytes, 128);
    assert_int_equal(text_parse_bytes("63", 64, 128, &bytes), -1);
    assert_int_equal(text_parse_bytes("1K", 64, 128, &bytes), -1);
    assert_int_equal(bytes, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_with_units_of_1024),
        cmocka_unit_test(what_text_bytes_prints_is_read_again),
        cmocka_unit_test(what_is_no_number_of_bytes_is_refused),
        cmocka_unit_test(bytes_keep_to_their_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
