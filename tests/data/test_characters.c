/* Text for language models: are characters numbered, and windows cut, as said? */
#include "tests/test.h"

#include "base/arena.h"
#include "data/characters.h"
#include "tests/rigs/pipeline_rig.h"

#include <unistd.h>

static struct err e;

TEST(characters_are_numbered_in_their_order)
{
    struct vocabulary v;
    int32_t number[5];
    char text[5];

    vocabulary_of(&v, "hello", 5);
    assert_int_equal(v.count, 4);
    assert_memory_equal(v.byte, "ehlo", 4);
    assert_int_equal(vocabulary_encode(&v, "hello", 5, number, &e), 0);
    assert_int_equal(number[0], 1);
    assert_int_equal(number[4], 3);
    vocabulary_decode(&v, number, 5, text);
    assert_memory_equal(text, "hello", 5);
    number[0] = 4;
    vocabulary_decode(&v, number, 5, text);
    assert_memory_equal(text, "?ello", 5);
    assert_int_equal(vocabulary_encode(&v, "help", 4, number, &e), -1);
    assert_string_equal(e.msg, "byte 0x70 at offset 3 is none of the 4 characters of the "
                               "vocabulary");
}

TEST(windows_have_what_follows_beside_them)
{
    const int32_t number[] = {0, 1, 2, 3, 4, 5, 6};
    struct dataset *d = dataset_windows(number, 7, 3, 2, &e);

    assert_int_equal(dataset_cardinality(d), 2);
    assert_resumes(dataset_retain(d), 0, 5);
    assert_gives(d, "[0 1 2],[1 2 3] [2 3 4],[3 4 5]");
    assert_gives(dataset_windows(number, 7, 6, 1, &e), "[0 1 2 3 4 5],[1 2 3 4 5 6]");
    assert_refused(dataset_windows(number, 7, 7, 1, &e), &e,
                   "windows of 7 over 7 characters; allowed are 1..6");
    assert_refused(dataset_windows(number, 7, 3, 0, &e), &e,
                   "windows: stride is 0, allowed are 1 and more");
}

TEST(random_windows_begin_anywhere_evenly)
{
    enum { COUNT = 13, LENGTH = 3, WINDOWS = 10000 };
    int32_t number[COUNT];
    int begun[COUNT] = {0};
    struct dataset *d;
    struct data_iterator *it;
    struct data_element *x;
    char *first, *second;

    for (int i = 0; i < COUNT; i++)
        number[i] = i;
    d = dataset_random_windows(number, COUNT, LENGTH, WINDOWS, 4, &e);
    assert_resumes(dataset_take(dataset_retain(d), 20, &e), 1, 20);
    first = pipeline_text(d, 0, 20);
    second = pipeline_text(d, 1, 20);
    assert_string_not_equal(first, second);
    mem_free(first);
    mem_free(second);
    it = dataset_iterate(d, 0, &e);
    while (iterator_next(it, &x, &e) > 0) {
        const int32_t *in = x->tensor[0].data, *target = x->tensor[1].data;

        begun[in[0]]++;
        for (int i = 0; i < LENGTH; i++)
            assert_true(in[i] == in[0] + i && target[i] == in[i] + 1);
        element_release(x);
    }
    for (int i = 0; i < COUNT - LENGTH; i++)        /* 1000 expected, sigma 30 */
        assert_true(begun[i] > 850 && begun[i] < 1150);
    assert_int_equal(begun[COUNT - LENGTH], 0);
    iterator_destroy(it);
    dataset_release(d);
}

TEST(tinyshakespeare_has_65_characters)
{
    const char *shared = getenv("SYSTOLE_SHARED");
    struct vocabulary v;
    int64_t bytes;
    char path[512], *text;

    snprintf(path, sizeof(path), "%s/data/tinyshakespeare/input.txt",
             shared ? shared : "../shared");
    if (access(path, R_OK) != 0)
        SKIP("no text in %s", path);
    text = characters_load(path, &bytes, &e);
    assert_non_null(text);
    assert_int_equal(bytes, 1115394);
    vocabulary_of(&v, text, bytes);
    assert_int_equal(v.count, 65);
    assert_int_equal(v.number['\n'], 0);
    assert_int_equal(v.number['z'], 64);
    mem_free(text);
    assert_null(characters_load("build/nowhere", &bytes, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_numbered_in_their_order),
        cmocka_unit_test(windows_have_what_follows_beside_them),
        cmocka_unit_test(random_windows_begin_anywhere_evenly),
        cmocka_unit_test(tinyshakespeare_has_65_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
