/* Contents of a memory: sparse pages. */
#include "tests/test.h"

#include "base/units.h"
#include "hbm/hbm.h"

TEST(a_store_reads_zero_until_written)
{
    struct hbm_store *s = hbm_store_create(32 * GIB);
    unsigned char bytes[100], zero[100] = {0};

    memset(bytes, 0xff, sizeof(bytes));
    hbm_store_read(s, 32 * GIB - 100, bytes, 100);
    assert_memory_equal(bytes, zero, 100);
    assert_int_equal(hbm_store_touched_bytes(s), 0);
    hbm_store_destroy(s);
}

TEST(a_store_keeps_what_is_written_across_pages)
{
    enum { BYTES = 200000 };
    struct hbm_store *s = hbm_store_create(GIB);
    unsigned char *in = malloc(BYTES), *out = malloc(BYTES);
    const int64_t address = 16 * MIB - 70001;   /* also across two tables of pages */

    assert_non_null(in);
    assert_non_null(out);
    for (int i = 0; i < BYTES; i++)
        in[i] = (unsigned char)(i * 7 + i / 251);
    hbm_store_write(s, address, in, BYTES);
    hbm_store_read(s, address, out, BYTES);
    assert_memory_equal(in, out, BYTES);
    assert_true(hbm_store_touched_bytes(s) <= BYTES + 2 * 65536);
    hbm_store_read(s, address - 10, out, 20);
    for (int i = 0; i < 10; i++)
        assert_int_equal(out[i], 0);
    assert_memory_equal(out + 10, in, 10);
    free(in);
    free(out);
    hbm_store_destroy(s);
}

TEST(the_last_byte_of_a_store_can_be_written)
{
    struct hbm_store *s = hbm_store_create(65537);
    const char in = 42;
    char out = 0;

    hbm_store_write(s, 65536, &in, 1);
    hbm_store_read(s, 65536, &out, 1);
    assert_int_equal(out, 42);
    hbm_store_destroy(s);
}

/* the same writes to a plain array, which is copied instead */
TEST(pages_are_put_back_or_let_go)
{
    enum { BYTES = 5 * 65536, ROUNDS = 12, WRITES = 40 };
    struct hbm_store *s = hbm_store_create(GIB);
    unsigned char *now = calloc(1, BYTES), *before = malloc(BYTES), *got = malloc(BYTES);
    unsigned char piece[3000];
    uint32_t seed = 1;

    assert_true(now && before && got);
    for (int round = 0; round < ROUNDS; round++) {
        bool keeps = round % 3 > 0, puts_back = round % 3 == 1;

        memcpy(before, now, BYTES);
        if (keeps)
            hbm_store_keep(s);
        for (int i = 0; i < WRITES; i++) {
            size_t at, bytes;

            seed = seed * 1664525u + 1013904223u;
            bytes = 1 + seed % sizeof(piece);
            at = (seed >> 8) % ((size_t)BYTES / 2 + (size_t)round * BYTES / 2 / ROUNDS - bytes);
            memset(piece, (int)(seed >> 24), bytes);
            hbm_store_write(s, (int64_t)at, piece, bytes);
            memcpy(now + at, piece, bytes);
        }
        if (puts_back)
            hbm_store_put_back(s);
        else if (keeps)
            hbm_store_let_go(s);
        if (puts_back)
            memcpy(now, before, BYTES);
        if (round == ROUNDS / 2)
            hbm_store_free_kept(s);
        hbm_store_read(s, 0, got, BYTES);
        assert_memory_equal(got, now, BYTES);
    }
    free(now);
    free(before);
    free(got);
    hbm_store_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_reads_zero_until_written),
        cmocka_unit_test(a_store_keeps_what_is_written_across_pages),
        cmocka_unit_test(the_last_byte_of_a_store_can_be_written),
        cmocka_unit_test(pages_are_put_back_or_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
