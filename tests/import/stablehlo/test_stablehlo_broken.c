/*
 * Texts that are broken in any way give a program or an error, nothing else: cut at every place,
 * changed here and there. What is still a program can be printed, or is refused with a message.
 * The seed rolls, and is printed.
 */
#include "base/rng.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/test.h"

#include <time.h>

static const char *const names[] = {"forms", "products", "devices", "bare", "parts", "groups",
                                    "messages"};
enum { NAME_COUNT = sizeof(names) / sizeof(*names), TEXT_MAX = 1 << 15 };

static size_t load(const char *name, char *text)
{
    char path[200];

    snprintf(path, sizeof(path), "tests/corpus/stablehlo_text/%s.mlir", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t bytes = fread(text, 1, TEXT_MAX, f);
    fclose(f);
    return bytes;
}

static void print(const struct hlo_module *m)
{
    const struct mlir_print_options o = {0};
    static FILE *nowhere;
    struct err e = {.msg = ""};

    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    assert_true(stablehlo_print(m, nowhere, &o, &e) == 0 || e.msg[0]);
}

/* in a block that ends where the text does */
static void check(const char *text, size_t bytes)
{
    char *exact = mem_alloc(bytes);
    struct arena a;
    struct err e = {.msg = ""};

    memcpy(exact, text, bytes);
    arena_init(&a);
    struct hlo_module *m = stablehlo_read_text(exact, bytes, "broken", &a, &e);
    assert_true(m || e.msg[0]);
    for (struct hlo_module *one = m; one; one = one->next) {
        e.msg[0] = 0;
        if (hlo_verify(one, &e))
            assert_true(e.msg[0]);
        else
            print(one);
    }
    for (; m; m = m->next)
        hlo_module_fini(m);
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

static size_t below(struct rng *r, size_t end)
{
    return rng_below(r, (uint32_t)end);
}

/* another character, one less, a piece from elsewhere, or a number out of the way */
static size_t change(struct rng *r, char *text, size_t bytes)
{
    static const char letters[] = "<>()[]{}%#@!\"'=,:;-x0123456789?*^~ \n\tabefimt\\";
    static const char *const pieces[] = {"9223372036854775807", "-1", "0x", "tensor<", "dense<",
                                         "2147483648", "loc(", "tuple<", "?", "^bb0", "\"0x12\""};
    size_t at = below(r, bytes), from = below(r, bytes);

    switch (rng_below(r, 4)) {
    case 0:
        text[at] = letters[below(r, sizeof(letters) - 1)];
        return bytes;
    case 1:
        memmove(text + at, text + at + 1, bytes - at - 1);
        return bytes - 1;
    case 2: {
        size_t length = below(r, 40), room = bytes - (at > from ? at : from);
        memmove(text + at, text + from, length < room ? length : room);
        return bytes;
    }
    default: {
        const char *piece = pieces[below(r, sizeof(pieces) / sizeof(*pieces))];
        size_t length = strlen(piece), room = bytes - at;
        memcpy(text + at, piece, length < room ? length : room);
        return bytes;
    }
    }
}

TEST(texts_that_are_changed_are_read_or_refused)
{
    static char text[TEXT_MAX], changed[TEXT_MAX];
    const char *given = getenv("SYSTOLE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) / 86400;
    int rounds = test_is_long() ? 20000 : 1000;
    struct rng r;

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)seed);
    rng_init(&r, seed);
    for (int n = 0; n < NAME_COUNT; n++) {
        size_t bytes = load(names[n], text);
        for (int k = 0; k < rounds; k++) {
            size_t left = bytes;
            memcpy(changed, text, bytes);
            for (uint64_t times = 1 + rng_below(&r, 3); times > 0; times--)
                left = change(&r, changed, left);
            check(changed, left);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_cut_at_any_place_are_read_or_refused),
        cmocka_unit_test(texts_that_are_changed_are_read_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
