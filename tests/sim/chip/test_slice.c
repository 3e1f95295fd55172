/* Slices: do names give the grids of Cloud, and rings where the chip says? */
#include "tests/test.h"

#include "base/units.h"
#include "sim/chip/chip.h"
#include "tests/rigs/chip_set.h"

TEST(slices_have_the_grids_of_cloud)
{
    static const struct {
        const char *name, *printed;
    } cases[] = {
        {"tiny", "tiny: 1 chip, 2 cores"},
        {"tiny-1", "tiny-1: 1 chip, 1 core"},
        {"tiny-2", "tiny-2: 1 chip, 2 cores"},
        {"tiny-4", "tiny-4: 1x2 chips, 4 cores, mesh"},
        {"tiny-8", "tiny-8: 2x2 chips, 8 cores, mesh"},
        {"tiny-16", "tiny-16: 2x4 chips, 16 cores, ring along y"},
        {"tiny-32", "tiny-32: 4x4 chips, 32 cores, torus"},
        {"v2-8", "v2-8: 2x2 chips, 8 cores, mesh"},
        {"v2-256", "v2-256: 8x16 chips, 256 cores, ring along y"},
        {"v2-512", "v2-512: 16x16 chips, 512 cores, torus"},
        {"v3", "v3: 1 chip, 2 cores"},
        {"v3-1", "v3-1: 1 chip, 1 core"},
        {"v3-8", "v3-8: 2x2 chips, 8 cores, mesh"},
        {"v3-32", "v3-32: 4x4 chips, 32 cores, mesh"},
        {"v3-64", "v3-64: 4x8 chips, 64 cores, mesh"},
        {"v3-1024", "v3-1024: 16x32 chips, 1024 cores, ring along y"},
        {"v3-2048", "v3-2048: 32x32 chips, 2048 cores, torus"},
        {"v4-8", "v4-8: 2x2x1 chips, 8 cores, mesh"},
        {"v4-16", "v4-16: 2x2x2 chips, 16 cores, mesh"},
        {"v4-64", "v4-64: 2x4x4 chips, 64 cores, mesh"},        /* no whole cube: no rings */
        {"v4-128", "v4-128: 4x4x4 chips, 128 cores, torus"},
        {"v4-256", "v4-256: 4x4x8 chips, 256 cores, torus"},
        {"v4-8192", "v4-8192: 16x16x16 chips, 8192 cores, torus"},
        {"v4-4x4x8", "v4-4x4x8: 4x4x8 chips, 256 cores, torus"},
        {"v4-4x4x16", "v4-4x4x16: 4x4x16 chips, 512 cores, torus"},
        {"v4-256_twisted", "v4-256_twisted: 4x4x8 chips, 256 cores, twisted torus"},
        {"v4-4x8x8_twisted", "v4-4x8x8_twisted: 4x8x8 chips, 512 cores, twisted torus"},
        {"v5p-12x12x24_twisted", "v5p-12x12x24_twisted: 12x12x24 chips, 6912 cores, twisted torus"},
        {"v3-8x8", "v3-8x8: 8x8 chips, 128 cores, mesh"},
        {"v5e", "v5e: 1 chip, 1 core"},
        {"v5e-1", "v5e-1: 1 chip, 1 core"},
        {"v5e-4", "v5e-4: 2x2 chips, 4 cores, mesh"},
        {"v5e-8", "v5e-8: 2x4 chips, 8 cores, mesh"},
        {"v5e-128", "v5e-128: 8x16 chips, 128 cores, ring along y"},
        {"v5e-256", "v5e-256: 16x16 chips, 256 cores, torus"},
        {"v5p", "v5p: 1 chip, 2 cores"},
        {"v5p-8", "v5p-8: 2x2x1 chips, 8 cores, mesh"},
        {"v5p-32", "v5p-32: 2x2x4 chips, 32 cores, mesh"},
        {"v5p-384", "v5p-384: 4x4x12 chips, 384 cores, torus"},
        {"v5p-12288", "v5p-12288: 16x16x24 chips, 12288 cores, torus"},
        {"v6e-64", "v6e-64: 8x8 chips, 64 cores, mesh"},
        {"v6e-256", "v6e-256: 16x16 chips, 256 cores, torus"},
        {"v7x", "v7x: 1 chip, 2 cores"},
        {"v7x-4", "v7x-4: 2x2x1 chips, 8 cores, mesh"},
        {"v7x-64", "v7x-64: 4x4x4 chips, 128 cores, torus"},
        {"v7x-9216", "v7x-9216: 16x24x24 chips, 18432 cores, torus"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice s;
        struct err e;

        assert_int_equal(slice_parse(&s, cases[i].name, &e), 0);
        assert_string_equal(slice_print(&s).text, cases[i].printed);
        assert_int_equal(s.dim[0] * s.dim[1] * s.dim[2], s.chip_count);
        assert_string_equal(s.name, cases[i].name);
    }
}

TEST(axes_say_how_they_close)
{
    static const struct {
        const char *name, *printed;
    } cases[] = {
        {"v3-8", "no axis closes"},
        {"v3-1024", "y closes to a ring"},
        {"v4-128", "x, y and z close to rings"},
        {"v4-256_twisted", "x and y close 4 chips further along z; z closes to a ring"},
        {"v4-512_twisted", "x closes 4 chips further along y and z; y and z close to rings"},
    };
    char buf[128];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice s;
        struct err e;

        assert_int_equal(slice_parse(&s, cases[i].name, &e), 0);
        assert_string_equal(slice_print_closing(&s, buf, sizeof(buf)), cases[i].printed);
    }
}

TEST(a_changed_chip_may_not_close_what_is_twisted)
{
    struct slice s;
    struct chip c;
    struct err e;

    assert_int_equal(slice_parse(&s, "v4-256_twisted", &e), 0);
    assert_true(!s.is_ring[0] && !s.is_ring[1] && s.is_ring[2]);
    assert_int_equal(chip_load_builtin(&c, "v4", NULL, NULL, &e), 0);
    assert_true(slice_can_twist(&s, &c));
    assert_int_equal(chip_set(&c, "ici.wrap_min=8", NULL, NULL, &e), 0);
    assert_int_equal(slice_fit(&s, &c, &e), -1);
    assert_string_equal(e.msg, "no slice \"v4-256_twisted\" (nearest: v4-2048_twisted): twisted "
                        "are grids of k x k x 2k and k x 2k x 2k chips all of whose axes close");
}

TEST(every_builtin_chip_alone_is_a_slice)
{
    size_t count;
    const char *const *names = chip_names(&count);

    for (size_t i = 0; i < count; i++) {
        struct slice s;
        struct err e;

        assert_int_equal(slice_parse(&s, names[i], &e), 0);
        assert_int_equal(s.chip_count, 1);
        assert_string_equal(s.chip_name, names[i]);
    }
}

/* more chips from one to the next, and each is found by its name */
TEST(the_slices_of_a_chip_are_listed)
{
    size_t count;
    const char *const *names = chip_names(&count);

    for (size_t i = 0; i < count; i++) {
        struct slice s, same;
        struct err e;
        int index = 0, cores = 0;

        for (; slice_of_chip(&s, names[i], index); index++) {
            assert_true(s.core_count > cores);
            cores = s.core_count;
            assert_int_equal(slice_parse(&same, s.name, &e), 0);
            assert_memory_equal(&same, &s, sizeof(s));
        }
        assert_true(index > 0);
    }
}

TEST(the_name_of_cloud_for_v5e_is_known)
{
    struct slice s;
    struct err e;

    assert_int_equal(slice_parse(&s, "v5litepod-16", &e), 0);
    assert_string_equal(s.chip_name, "v5e");
    assert_string_equal(slice_print(&s).text,
                        "v5litepod-16: 4x4 chips, 16 cores, mesh");
    assert_int_equal(slice_parse(&s, "v5litepod-17", &e), -1);
    assert_string_equal(e.msg, "no slice \"v5litepod-17\" (nearest: v5e-16); there are v5e, v5e-1, v5e-4, v5e-8, "
                        "v5e-16, v5e-32, v5e-64, v5e-128, v5e-256");
}

#define V4_GRIDS "1x1x1, 2x2x1, 2x2x2, 2x2x4, 2x4x4, and AxBxC of multiples of 4 up to 16, " \
                 "A <= B <= C, of at most 4096 chips"

/* `message` with the names of all chips for CHIPS at its end */
static const char *with_chips(const char *message, char *buf, size_t buf_bytes)
{
    size_t count, length = strlen(message), word = strlen("CHIPS");
    const char *const *names = chip_names(&count);

    if (length < word || strcmp(message + length - word, "CHIPS") != 0)
        return message;
    length -= word;
    snprintf(buf, buf_bytes, "%.*s", (int)length, message);
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(buf + length, buf_bytes - length, "%s%s", i ? ", " : "",
                                   names[i]);
    return buf;
}

TEST(a_slice_that_does_not_exist_lists_those_that_do)
{
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"v3-7", "no slice \"v3-7\" (nearest: v3-8); there are v3, v3-1, v3-2, v3-8, v3-32, v3-64, v3-128, "
                 "v3-256, v3-512, v3-1024, v3-2048"},
        {"v3-08", "no slice \"v3-08\" (nearest: v3-8); there are v3, v3-1, v3-2, v3-8, v3-32, v3-64, v3-128, "
                  "v3-256, v3-512, v3-1024, v3-2048"},
        {"v2-64", "no slice \"v2-64\" (nearest: v2-32); there are v2, v2-1, v2-2, v2-8, v2-32, v2-128, v2-256, "
                  "v2-512"},
        {"tiny-", "no slice \"tiny-\"; there are tiny, tiny-1, tiny-2, tiny-4, tiny-8, tiny-16, "
                  "tiny-32"},
        {"v6e-2", "no slice \"v6e-2\" (nearest: v6e-1); there are v6e, v6e-1, v6e-4, v6e-8, v6e-16, v6e-32, "
                  "v6e-64, v6e-128, v6e-256"},
        {"v4-4x4x5", "no slice \"v4-4x4x5\" (nearest: v4-4x4x4); v4 has " V4_GRIDS},
        {"v4-8x4x4", "no slice \"v4-8x4x4\" (nearest: v4-4x4x8); v4 has " V4_GRIDS},
        {"v4-1x2x5", "no slice \"v4-1x2x5\" (nearest: v4-2x2x4); v4 has " V4_GRIDS},
        {"v4-16x16x20", "no slice \"v4-16x16x20\" (nearest: v4-16x16x16); v4 has " V4_GRIDS},
        {"v3-7x7", "no slice \"v3-7x7\" (nearest: v3-8x8); v3 has 1x1, 2x2, 4x4, 4x8, 8x8, 8x16, "
                   "16x16, 16x32, 32x32"},
        {"v3-8x", "no slice \"v3-8x\"; a topology is written v3-4x4"},
        {"v4-04x4x4", "no slice \"v4-04x4x4\"; a topology is written v4-4x4x8"},
        {"v4-4x4x4x4", "no slice \"v4-4x4x4x4\"; a topology is written v4-4x4x8"},
        {"v4-384_twisted", "no slice \"v4-384_twisted\" (nearest: v4-256_twisted): twisted are "
                           "grids of k x k x 2k and k x 2k x 2k chips all of whose axes close"},
        {"v5e-8_twisted", "no slice \"v5e-8_twisted\": there are none of v5e, whose chips do not "
                          "make tori of three axes"},
        {"tinny-8", "unknown chip \"tinny\" (did you mean \"tiny\"?); there are CHIPS"},
        {"", "unknown chip \"\"; there are CHIPS"},
        {"a100", "unknown chip \"a100\"; there are CHIPS"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice s, before;
        struct err e;
        char buf[512];

        memset(&before, 0x5a, sizeof(before));
        s = before;
        assert_int_equal(slice_parse(&s, cases[i].name, &e), -1);
        assert_string_equal(e.msg, with_chips(cases[i].message, buf, sizeof(buf)));
        assert_memory_equal(&s, &before, sizeof(s));
    }
}

TEST(changed_chips_must_still_make_the_slice)
{
    static const struct {
        const char *slice, *set, *message;          /* NULL = fits */
    } cases[] = {
        {"v3-1", "chip.cores=2", NULL},
        {"v3-8", "chip.cores=1", "chip.cores = 1 contradicts slice v3-8, whose 4 chips have 8 "
                                 "cores together"},
        {"v3", "chip.cores=1", "chip.cores = 1 contradicts slice v3, whose 1 chip has 2 cores "
                               "together"},
        {"v3-32", "ici.max_axis=4", NULL},
        {"v3-32", "ici.max_axis=2", "ici.max_axis = 2 contradicts slice v3-32 of 4x4 chips"},
        {"v5p-32", "ici.max_axis=2", "ici.max_axis = 2 contradicts slice v5p-32 of 2x2x4 chips"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice s;
        struct chip c;
        struct err e;

        assert_int_equal(slice_parse(&s, cases[i].slice, &e), 0);
        assert_int_equal(chip_load_builtin(&c, s.chip_name, NULL, NULL, &e), 0);
        assert_int_equal(chip_set(&c, cases[i].set, NULL, NULL, &e), 0);
        assert_int_equal(slice_fit(&s, &c, &e), cases[i].message ? -1 : 0);
        if (cases[i].message)
            assert_string_equal(e.msg, cases[i].message);
    }
}

TEST(axes_close_to_rings_where_the_changed_chip_says)
{
    struct slice s;
    struct chip c;
    struct err e;

    assert_int_equal(slice_parse(&s, "v3-32", &e), 0);
    assert_false(s.is_ring[0] || s.is_ring[1]);
    assert_int_equal(chip_load_builtin(&c, s.chip_name, NULL, NULL, &e), 0);
    assert_int_equal(chip_set(&c, "ici.wrap_min=4", NULL, NULL, &e), 0);
    assert_int_equal(slice_fit(&s, &c, &e), 0);
    assert_true(s.is_ring[0] && s.is_ring[1] && !s.is_ring[2]);
}

TEST(a_grid_of_two_axes_holds_no_cube)
{
    static const char *const flat[] = {"ici.dims=2", "ici.links=4"};
    struct slice s;
    struct chip c;
    struct err e;

    assert_int_equal(slice_parse(&s, "v5p-32", &e), 0);
    assert_int_equal(chip_load_builtin(&c, s.chip_name, NULL, NULL, &e), 0);
    assert_int_equal(chip_set_all(&c, flat, 2, NULL, NULL, &e), 0);
    assert_int_equal(slice_fit(&s, &c, &e), -1);
    assert_string_equal(e.msg, "ici.dims = 2 contradicts slice v5p-32 of 2x2x4 chips");
}

/* as a part of a cube whose long axes would close */
TEST(some_axes_may_close_and_others_not)
{
    static const struct {
        int64_t wrap_min, wrap_multiple;
        const char *printed;
    } cases[] = {
        {4, 1, "v5p-64: 2x4x4 chips, 64 cores, rings along y and z"},
        {4, 2, "v5p-64: 2x4x4 chips, 64 cores, rings along y and z"},
        {4, 4, "v5p-64: 2x4x4 chips, 64 cores, mesh"},
        {5, 1, "v5p-64: 2x4x4 chips, 64 cores, mesh"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice s;
        struct chip c;
        struct err e;

        assert_int_equal(slice_parse(&s, "v5p-64", &e), 0);
        assert_int_equal(chip_load_builtin(&c, s.chip_name, NULL, NULL, &e), 0);
        c.ici_wrap_min = cases[i].wrap_min;
        c.ici_wrap_multiple = cases[i].wrap_multiple;
        assert_int_equal(slice_fit(&s, &c, &e), 0);
        assert_string_equal(slice_print(&s).text, cases[i].printed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_have_the_grids_of_cloud),
        cmocka_unit_test(axes_say_how_they_close),
        cmocka_unit_test(a_changed_chip_may_not_close_what_is_twisted),
        cmocka_unit_test(every_builtin_chip_alone_is_a_slice),
        cmocka_unit_test(the_slices_of_a_chip_are_listed),
        cmocka_unit_test(the_name_of_cloud_for_v5e_is_known),
        cmocka_unit_test(a_slice_that_does_not_exist_lists_those_that_do),
        cmocka_unit_test(changed_chips_must_still_make_the_slice),
        cmocka_unit_test(axes_close_to_rings_where_the_changed_chip_says),
        cmocka_unit_test(a_grid_of_two_axes_holds_no_cube),
        cmocka_unit_test(some_axes_may_close_and_others_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
