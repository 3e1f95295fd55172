/*
 * Texts that are broken in any way give a program or an error, nothing else: cut at every place,
 * changed here and there. The seed rolls, and is printed.
 */
#include "base/rng.h"
#include "import/hlo_text/hlo_text.h"
#include "tests/test.h"

#include <time.h>

static const char *const names[] = {"operations", "by_hand", "async", "literals", "several"};
enum { NAME_COUNT = sizeof(names) / sizeof(*names), TEXT_MAX = 1 << 15 };

static size_t load(const char *name, char *text)
{
    char path[200];
    size_t bytes;
    FILE *f;

    snprintf(path, sizeof(path), "tests/corpus/hlo_text/%s.hlo", name);
    f = fopen(path, "rb");
    assert_non_null(f);
    bytes = fread(text, 1, TEXT_MAX, f);
    fclose(f);
    return bytes;
}

/* Read, and where it is a program, held to the rules, in a block that ends where the text does. */
static void check(const char *text, size_t bytes)
{
    char *exact = mem_alloc(bytes);
    struct hlo_module *m;
    struct arena a;
    struct err e;

    memcpy(exact, text, bytes);
    arena_init(&a);
    m = hlo_text_read(exact, bytes, "broken", &a, &e);
    assert_true(m || e.msg[0]);
    for (const struct hlo_module *one = m; one; one = one->next) {
        e.msg[0] = 0;
        assert_true(hlo_verify(one, &e) == 0 || e.msg[0]);
    }
    hlo_text_fini(m);
    arena_fini(&a);
    mem_free(exact);
}

TEST(texts_cut_at_any_place_are_read_or_refused)
{
    static char text[TEXT_MAX];

    for (int n = 0; n < NAME_COUNT; n++) {
        size_t bytes = load(names[n], text);

        for (size_t cut = 0; cut <= bytes; cut++)
            check(text, cut);
    }
}

static size_t change(char *text, size_t bytes, struct rng *r)
{
    static const char *const pieces[] = {"{", "}", "(", ")", "[", "]", ",", "=", "\"", "0", "-1",
                                         "99999999999", "f32[2]", "%a", "ROOT ", "?", "#1",
                                         "tuple(", "{...}", "dimensions={0}", "/*", "pred[]"};
    const char *piece = pieces[rng_next(r) % (sizeof(pieces) / sizeof(*pieces))];
    size_t at = rng_next(r) % bytes, length = strlen(piece), away = rng_next(r) % 12;

    switch (rng_next(r) % 4) {
    case 0:
        text[at] = (char)rng_next(r);
        return bytes;
    case 1:
        away = away > bytes - at ? bytes - at : away;
        memmove(text + at, text + at + away, bytes - at - away);
        return bytes > away ? bytes - away : bytes;
    case 2:
        text[at] = (char)('0' + rng_next(r) % 10);
        return bytes;
    default:
        memmove(text + at + length, text + at, bytes - at);
        memcpy(text + at, piece, length);
        return bytes + length;
    }
}

TEST(changed_texts_are_read_or_refused)
{
    static char text[TEXT_MAX + 200];
    uint64_t seed = (uint64_t)time(NULL);
    struct rng r;

    printf("seed %llu\n", (unsigned long long)seed);
    rng_init(&r, seed);
    for (int round = 0; round < (test_is_long() ? 400000 : 4000); round++) {
        size_t bytes = load(names[rng_below(&r, NAME_COUNT)], text);

        for (uint32_t n = rng_below(&r, 5); n < 5; n++)
            bytes = change(text, bytes, &r);
        check(text, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_cut_at_any_place_are_read_or_refused),
        cmocka_unit_test(changed_texts_are_read_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
