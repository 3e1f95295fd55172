/* Contents of a memory: sparse pages. */
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "hbm/hbm_page.h"

/* of pages that are there, in the first size_bytes of a store */
static int64_t touched_bytes(const struct hbm_store *s, int64_t size_bytes)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < (size_t)(size_bytes >> PAGE_SHIFT); i++)
        bytes += hbm_store_page(s, i) ? HBM_STORE_PAGE_BYTES : 0;
    return bytes;
}

TEST(a_store_reads_zero_until_written)
{
    struct hbm_store *s = hbm_store_create(32 * GIB);
    unsigned char bytes[100], zero[100] = {0};

    memset(bytes, 0xff, sizeof(bytes));
    hbm_store_read(s, 32 * GIB - 100, bytes, 100);
    assert_memory_equal(bytes, zero, 100);
    assert_int_equal(touched_bytes(s, 32 * GIB), 0);
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
    assert_true(touched_bytes(s, GIB) <= BYTES + 2 * 65536);
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

/* whoever had it before, and whether stores have come and gone meanwhile */
TEST(a_page_that_was_in_use_is_zero_again)
{
    enum { BYTES = 4 * HBM_STORE_PAGE_BYTES };
    unsigned char *bytes = malloc(BYTES);

    assert_non_null(bytes);
    for (int round = 0; round < 3; round++) {
        struct hbm_store *a = hbm_store_create(MIB), *b = hbm_store_create(MIB);
        struct hbm_hold *nothing = hbm_store_hold(b, 0, BYTES), *all;

        memset(bytes, 0xff, BYTES);
        hbm_store_write(a, 0, bytes, BYTES);
        assert_int_equal(touched_bytes(a, MIB), BYTES);
        hbm_store_put(a, 0, nothing);
        assert_int_equal(touched_bytes(a, MIB), 0);
        hbm_store_write(b, 3 * HBM_STORE_PAGE_BYTES + 7, bytes, 1);
        hbm_store_read(b, 0, bytes, BYTES);
        for (int i = 0; i < BYTES; i++)
            assert_int_equal(bytes[i], i == 3 * HBM_STORE_PAGE_BYTES + 7 ? 0xff : 0);
        all = hbm_store_hold(b, 0, BYTES);
        hbm_hold_free(nothing);
        hbm_store_destroy(a);
        hbm_store_destroy(b);
        hbm_hold_read(all, 0, bytes, BYTES);    /* after the last store, too */
        assert_int_equal(bytes[3 * HBM_STORE_PAGE_BYTES + 7], 0xff);
        hbm_hold_free(all);
    }
    free(bytes);
}

TEST(a_page_of_zeros_takes_no_room)
{
    enum { PAGE = HBM_STORE_PAGE_BYTES, BYTES = 3 * PAGE };
    struct hbm_store *s = hbm_store_create(MIB);
    unsigned char *bytes = calloc(1, BYTES), *out = malloc(BYTES);

    assert_non_null(bytes);
    assert_non_null(out);
    bytes[PAGE - 1] = bytes[2 * PAGE] = 1;
    hbm_store_write(s, PAGE, bytes, BYTES);
    assert_int_equal(touched_bytes(s, MIB), 2 * PAGE);
    memset(out, 0xff, BYTES);
    hbm_store_write(s, PAGE, out, BYTES);
    assert_int_equal(touched_bytes(s, MIB), BYTES);
    hbm_store_keep(s);
    hbm_store_write(s, PAGE, bytes, BYTES);     /* the one in the middle goes */
    assert_int_equal(touched_bytes(s, MIB), 2 * PAGE);
    hbm_store_read(s, PAGE, out, BYTES);
    assert_memory_equal(out, bytes, BYTES);
    hbm_store_put_back(s);
    hbm_store_read(s, PAGE, out, BYTES);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(out[i], 0xff);
    free(bytes);
    free(out);
    hbm_store_destroy(s);
}

enum { HELD_BYTES = 4 * HBM_STORE_PAGE_BYTES, HELD_STORES = 3 };

struct held_pair {                      /* a store and what it should hold */
    struct hbm_store *store;
    unsigned char *want;
};

static void write_both(struct held_pair *p, struct rng *r)
{
    uint32_t at = rng_below(r, HELD_BYTES);
    uint32_t most = rng_below(r, 3) ? 300 : 2 * HBM_STORE_PAGE_BYTES;
    uint32_t bytes = 1 + rng_below(r, most);

    bytes = bytes < HELD_BYTES - at ? bytes : HELD_BYTES - at;
    memset(p->want + at, (int)rng_below(r, 256), bytes);
    hbm_store_write(p->store, (int64_t)at, p->want + at, bytes);
}

/* what one holds now gets to another later, when both have been written to */
static void move_held(struct held_pair *from, struct held_pair *to, struct rng *r)
{
    uint32_t bytes = 1 + rng_below(r, HELD_BYTES), at, first, count;
    uint32_t away = rng_below(r, 1 + (HELD_BYTES - bytes) / HBM_STORE_PAGE_BYTES);
    unsigned char *then = malloc(bytes), *got = malloc(bytes);
    struct hbm_hold *h;

    assert_true(then && got);
    away *= HBM_STORE_PAGE_BYTES;
    at = rng_below(r, HELD_BYTES - bytes - away + 1);
    h = hbm_store_hold(from->store, (int64_t)at, bytes);
    memcpy(then, from->want + at, bytes);
    for (int i = 0; i < 3; i++) {
        write_both(from, r);
        write_both(to, r);
    }
    hbm_hold_read(h, 0, got, bytes);
    assert_memory_equal(got, then, bytes);
    first = rng_below(r, bytes);
    count = rng_below(r, bytes - first + 1);
    hbm_hold_read(h, first, got, count);
    assert_memory_equal(got, then + first, count);
    hbm_store_put(to->store, (int64_t)(at + away), h);
    memcpy(to->want + at + away, then, bytes);
    hbm_hold_free(h);
    free(then);
    free(got);
}

static void check_held(const struct held_pair *p)
{
    unsigned char *got = malloc(HELD_BYTES);

    assert_non_null(got);
    hbm_store_read(p->store, 0, got, HELD_BYTES);
    assert_memory_equal(got, p->want, HELD_BYTES);
    free(got);
}

TEST(what_is_held_moves_as_it_was_whoever_writes_after_that)
{
    struct held_pair pair[HELD_STORES];
    unsigned char *before = malloc(HELD_BYTES);
    struct rng r;

    assert_non_null(before);
    rng_init(&r, 5);
    for (int i = 0; i < HELD_STORES; i++)
        pair[i] = (struct held_pair){hbm_store_create(GIB), calloc(1, HELD_BYTES)};
    for (int round = 0; round < 400; round++) {
        struct held_pair *to = &pair[rng_below(&r, HELD_STORES)];
        bool keeps = rng_below(&r, 3) == 0;

        memcpy(before, to->want, HELD_BYTES);
        if (keeps)
            hbm_store_keep(to->store);
        move_held(&pair[rng_below(&r, HELD_STORES)], to, &r);
        write_both(to, &r);
        if (keeps && rng_below(&r, 2)) {
            hbm_store_put_back(to->store);
            memcpy(to->want, before, HELD_BYTES);
        } else if (keeps) {
            hbm_store_let_go(to->store);
        }
        for (int i = 0; i < HELD_STORES; i++)
            check_held(&pair[i]);
    }
    for (int i = 0; i < HELD_STORES; i++) {
        hbm_store_destroy(pair[i].store);
        free(pair[i].want);
    }
    free(before);
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

TEST(pages_that_match_are_shared_until_they_are_written_to)
{
    enum { PAGES = 3, BYTES = PAGES * HBM_STORE_PAGE_BYTES };
    struct hbm_store *a = hbm_store_create(MIB), *b = hbm_store_create(MIB);
    unsigned char *bytes = malloc(BYTES), word[2] = {1, 2};
    struct hbm_hold *was;

    assert_non_null(bytes);
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i < HBM_STORE_PAGE_BYTES ? 0 : i * 5 + i / 77);
    hbm_store_write(a, HBM_STORE_PAGE_BYTES, bytes, BYTES);
    hbm_store_write(b, HBM_STORE_PAGE_BYTES, bytes, BYTES);
    hbm_store_write(b, HBM_STORE_PAGE_BYTES + 9, bytes, 1);     /* a page of zeros that exists */
    was = hbm_store_hold(a, HBM_STORE_PAGE_BYTES, BYTES);
    assert_true(hbm_store_match(b, HBM_STORE_PAGE_BYTES, was));
    hbm_store_write(a, HBM_STORE_PAGE_BYTES + BYTES - 2, word, 2);
    assert_true(hbm_store_match(b, HBM_STORE_PAGE_BYTES, was));
    assert_false(hbm_store_match(a, HBM_STORE_PAGE_BYTES, was));
    hbm_store_write(b, HBM_STORE_PAGE_BYTES, word, 2);          /* of a's nothing changes */
    assert_false(hbm_store_match(b, HBM_STORE_PAGE_BYTES, was));
    hbm_hold_free(was);
    hbm_store_read(a, HBM_STORE_PAGE_BYTES, word, 2);
    assert_int_equal(word[0] + word[1], 0);
    hbm_store_read(b, HBM_STORE_PAGE_BYTES + BYTES - 2, word, 2);
    assert_memory_equal(word, bytes + BYTES - 2, 2);
    free(bytes);
    hbm_store_destroy(a);
    hbm_store_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_reads_zero_until_written),
        cmocka_unit_test(a_store_keeps_what_is_written_across_pages),
        cmocka_unit_test(the_last_byte_of_a_store_can_be_written),
        cmocka_unit_test(a_page_of_zeros_takes_no_room),
        cmocka_unit_test(a_page_that_was_in_use_is_zero_again),
        cmocka_unit_test(what_is_held_moves_as_it_was_whoever_writes_after_that),
        cmocka_unit_test(pages_are_put_back_or_let_go),
        cmocka_unit_test(pages_that_match_are_shared_until_they_are_written_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
