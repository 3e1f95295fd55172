/* Chip files: do the built-in ones keep their word, are wrong ones refused by line? */
#include "tests/test.h"

#include <ctype.h>
#include <math.h>
#include <unistd.h>

#include "base/units.h"
#include "sim/chip/chip.h"
#include "sim/chip/chips.h"
#include "tests/rigs/chip_set.h"

static const char *builtin_text(const char *name)
{
    const struct chip_file *f = chip_files;

    while (f->name && strcmp(f->name, name) != 0)
        f++;
    assert_non_null(f->name);
    return f->text;
}

/* The built-in v3 file with the first line that starts with `find` replaced by `by`. */
static char *edit_v3(struct arena *a, const char *find, const char *by)
{
    const char *text = builtin_text("v3"), *at = text;
    size_t length = strlen(find);

    while (strncmp(at, find, length) != 0) {
        at = strchr(at, '\n');
        assert_non_null(at);
        at++;
    }
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, by, strchr(at, '\n'));
}

static int line_of(const char *text, const char *start)
{
    int line = 1;

    for (; strncmp(text, start, strlen(start)) != 0; line++)
        text = strchr(text, '\n') + 1;
    return line;
}

/* Loads `text` from a file; the file's name in messages becomes "FILE". */
static int load(const char *text, struct chip *c, char *message, size_t message_bytes)
{
    char path[] = "/tmp/systole_chip_XXXXXX", full[780], *at;
    int fd = mkstemp(path), status;
    struct err e;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    status = chip_load_file(c, path, NULL, NULL, &e);
    unlink(path);
    message[0] = '\0';
    if (status == 0)
        return 0;
    err_format(&e, full, sizeof(full));
    at = strstr(full, path);
    snprintf(message, message_bytes, "%s%s", at ? "FILE" : "", at ? at + strlen(path) : full);
    return status;
}

static void expect_error(const char *text, const char *expected)
{
    char message[800];
    struct chip c, before;

    memset(&before, 0x5a, sizeof(before));
    c = before;
    assert_int_equal(load(text, &c, message, sizeof(message)), -1);
    assert_string_equal(message, expected);
    assert_memory_equal(&c, &before, sizeof(c));
}

/* 10^12 operations per second of rows x size x size multiply-adds in `cycles`, on every MXU */
static double peak(const struct chip *c, int rows, int64_t cycles)
{
    return 2e-6 * (double)(c->chip_cores * c->mxu_count * c->mxu_size * c->mxu_size * rows) /
           (double)cycles * (double)c->chip_clock_mhz;
}

/* `published` 0: nothing to meet */
static void assert_peak(double computed, double published, double deviation_percent)
{
    if (published > 0)
        assert_true(fabs(computed / published - 1 - deviation_percent / 100) < 0.01);
}

TEST(every_builtin_chip_loads_and_meets_its_published_peaks)
{
    size_t count;
    const char *const *names = chip_names(&count);

    assert_true(count >= 8);
    for (size_t i = 0; i < count; i++) {
        struct chip c;
        struct err e;
        double off;

        assert_int_equal(chip_load_builtin(&c, names[i], NULL, NULL, &e), 0);
        off = c.chip_peak_deviation_percent;
        assert_peak(peak(&c, 8, c.mxu_matmul_f32_cycles), c.chip_peak_bf16_tflops, off);
        if (c.mxu_matmul_bf16_cycles)
            assert_peak(peak(&c, 16, c.mxu_matmul_bf16_cycles), c.chip_peak_bf16_tflops, off);
        assert_peak(peak(&c, 32, c.mxu_matmul_int8_cycles), c.chip_peak_int8_tops, off);
        assert_peak(peak(&c, 64, c.mxu_matmul_int4_cycles), c.chip_peak_int4_tops, off);
        assert_peak(peak(&c, 32, c.mxu_matmul_fp8_cycles), c.chip_peak_fp8_tflops, off);
        assert_peak((double)(c.hbm_channels * c.hbm_burst_bytes) * 1e3 / (double)c.hbm_burst_ps,
                    c.hbm_peak_gbps, 0);
    }
}

/* what Google publishes of each generation, beside the files' own fields for it */
TEST(the_generations_have_their_published_shape)
{
    static const struct {
        const char *name;
        int64_t cores, mxus, size, vmem_mib, vregs, valu;
        double bf16, int8, fp8, hbm_gbps, hbm_gib;
    } published[] = {
        {"v2", 2, 1, 128, 16, 32, 2, 46, 0, 0, 700, 16},
        {"v3", 2, 2, 128, 16, 32, 2, 123, 0, 0, 900, 32},
        {"v4", 2, 4, 128, 16, 32, 2, 275, 275, 0, 1200, 32},
        {"v5e", 1, 4, 128, 128, 64, 4, 197, 393, 0, 819, 16},
        {"v5p", 2, 4, 128, 64, 64, 4, 459, 918, 459, 2765, 95},
        {"v6e", 1, 2, 256, 128, 64, 4, 918, 1836, 918, 1638, 32},
        {"v7x", 2, 2, 256, 64, 64, 4, 2307, 0, 4614, 7380, 192},
    };

    for (size_t i = 0; i < COUNT_OF(published); i++) {
        struct chip c;
        struct err e;

        assert_int_equal(chip_load_builtin(&c, published[i].name, NULL, NULL, &e), 0);
        assert_int_equal(c.chip_cores, published[i].cores);
        assert_true(fabs(c.chip_peak_deviation_percent) < 1e-9);
        assert_int_equal(c.mxu_count, published[i].mxus);
        assert_int_equal(c.mxu_size, published[i].size);
        assert_int_equal(c.vmem_bytes, published[i].vmem_mib * MIB);
        assert_int_equal(c.core_vregs, published[i].vregs);
        assert_int_equal(c.slots_valu, published[i].valu);
        assert_true(c.chip_peak_bf16_tflops == published[i].bf16);
        assert_true(c.chip_peak_int8_tops == published[i].int8);
        assert_true(c.chip_peak_fp8_tflops == published[i].fp8);
        assert_true(c.hbm_peak_gbps == published[i].hbm_gbps);
        assert_true(c.hbm_gib == published[i].hbm_gib);
    }
}

TEST(a_peak_that_deviates_is_told_from_one_that_is_listed)
{
    struct chip_peak peaks[CHIP_PEAK_COUNT];
    struct chip c;
    struct err e;

    assert_int_equal(chip_load_builtin(&c, "v7x", NULL, NULL, &e), 0);
    c.chip_clock_mhz = 1900;            /* as XProf has it, with the deviation that it is listed by */
    c.chip_peak_deviation_percent = -13.6;
    chip_check_peaks(&c, peaks);
    assert_string_equal(peaks[0].name, "bf16");
    assert_true(peaks[0].agrees && fabs(peaks[0].deviation_percent + 13.64) < 0.01);
    assert_true(peaks[1].computed <= 0 && peaks[1].published <= 0 && peaks[1].agrees);
    c.chip_peak_deviation_percent = 0;
    chip_check_peaks(&c, peaks);
    assert_false(peaks[0].agrees);
    assert_true(peaks[4].agrees);
    c.hbm_burst_ps = 1200;
    chip_check_peaks(&c, peaks);
    assert_string_equal(peaks[4].name, "HBM");
    assert_false(peaks[4].agrees);
}

TEST(the_v3_file_says_what_is_published)
{
    struct chip c;
    struct err e;

    assert_int_equal(chip_load_builtin(&c, "v3", NULL, NULL, &e), 0);
    assert_string_equal(c.chip_name, "TPU v3");
    assert_int_equal(c.chip_clock_mhz, 940);
    assert_int_equal(c.chip_cores, 2);
    assert_int_equal(c.mxu_count, 2);
    assert_int_equal(c.vmem_bytes, 16 * MIB);
    assert_int_equal(c.smem_bytes, 16 * KIB);
    assert_int_equal(c.core_vregs, 32);
    assert_true(c.hbm_gib == 32.0);
    assert_true(c.ici_link_gbps == 82.0);
}

TEST(every_line_of_every_builtin_file_carries_a_provenance_tag)
{
    struct arena a;
    size_t count;
    const char *const *names = chip_names(&count);

    arena_init(&a);
    for (size_t i = 0; i < count; i++) {
        struct chip_origin *origins = arena_array(&a, chip_param_count, sizeof(*origins));
        struct chip c;
        struct err e;

        assert_int_equal(chip_load_builtin(&c, names[i], origins, &a, &e), 0);
        for (size_t k = 0; k < chip_param_count; k++) {
            const char *note = origins[k].note;

            assert_true(note[0] && strchr("PDMCU", note[0]) && note[1] == ' ' &&
                        isgraph((unsigned char)note[2]));
            assert_string_equal(origins[k].origin,
                                arena_printf(&a, "chip file %s", names[i]));
        }
    }
    arena_fini(&a);
}

TEST(a_value_and_its_comment_are_told_apart)
{
    struct arena a;
    struct chip_origin *origins;
    struct chip c;
    struct err e;
    char value[CHIP_TEXT_BYTES];

    arena_init(&a);
    origins = arena_array(&a, chip_param_count, sizeof(*origins));
    assert_int_equal(chip_load_builtin(&c, "v2", origins, &a, &e), 0);
    for (size_t i = 0; i < chip_param_count; i++) {
        const struct chip_param *p = &chip_params[i];

        chip_print_param(&c, i, value, sizeof(value));
        if (strcmp(p->section, "ici") == 0 && strcmp(p->key, "link_gbps") == 0) {
            assert_string_equal(value, "62");
            assert_string_equal(origins[i].note, "P CACM20: 496 Gbit/s");
        }
        if (strcmp(p->section, "chip") == 0 && strcmp(p->key, "name") == 0)
            assert_string_equal(value, "TPU v2");
    }
    arena_fini(&a);
}

TEST(an_unknown_chip_lists_those_that_exist)
{
    struct chip c;
    struct err e;
    char text[600], expected[600] = "unknown chip \"v33\" (did you mean \"v3\"?); there are ";
    size_t count, length = strlen(expected);
    const char *const *names = chip_names(&count);

    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(expected + length, sizeof(expected) - length, "%s%s",
                                   i ? ", " : "", names[i]);
    assert_int_equal(chip_load_builtin(&c, "v33", NULL, NULL, &e), -1);
    assert_string_equal(err_format(&e, text, sizeof(text)), expected);
}

TEST(an_unknown_key_is_reported_with_its_line_and_the_nearest_key)
{
    struct arena a;
    char *expected;

    arena_init(&a);
    expected = arena_printf(&a, "FILE:%d: unknown key \"vmem.bankes\" (did you mean "
                            "\"vmem.banks\"?)", line_of(builtin_text("v3"), "banks = 8"));
    expect_error(edit_v3(&a, "banks = 8", "bankes = 8"), expected);
    expected = arena_printf(&a, "FILE:%d: unknown key \"vmme.bytes\" (did you mean "
                            "\"vmem.bytes\"?)", line_of(builtin_text("v3"), "[vmem]") + 1);
    expect_error(edit_v3(&a, "[vmem]", "[vmme]"), expected);
    expect_error("x = 1\n", "FILE:1: unknown key \"x\"; systole chips NAME lists them");
    arena_fini(&a);
}

TEST(a_missing_key_is_reported_with_the_line_of_its_section)
{
    struct arena a;
    char *expected;

    arena_init(&a);
    expected = arena_printf(&a, "FILE:%d: missing key \"core.vregs\" (vector registers of "
                            "8x128x32 bit)", line_of(builtin_text("v3"), "[core]"));
    expect_error(edit_v3(&a, "vregs", "; vregs"), expected);
    expect_error("[chip]\n", "FILE:1: missing key \"chip.name\" (product name, e.g. \"TPU v3\")");
    expect_error("", "FILE: missing section [chip]");
    arena_fini(&a);
}

TEST(a_missing_section_is_named)
{
    struct arena a;
    char *text, *cut;
    int lines = 0;

    arena_init(&a);
    text = arena_strdup(&a, builtin_text("v3"));
    cut = strstr(text, "[host]");
    assert_non_null(cut);
    *cut = '\0';
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    expect_error(text, arena_printf(&a, "FILE:%d: missing section [host]", lines));
    arena_fini(&a);
}

TEST(a_key_that_stands_twice_is_reported_with_both_lines)
{
    struct arena a;
    int line = line_of(builtin_text("v3"), "vregs");

    arena_init(&a);
    expect_error(edit_v3(&a, "vregs", "vregs = 32\nvregs = 32"),
                 arena_printf(&a, "FILE:%d: \"core.vregs\" stands twice; first in line %d",
                              line + 1, line));
    arena_fini(&a);
}

TEST(a_value_out_of_range_is_reported_with_the_range)
{
    struct arena a;
    int line = line_of(builtin_text("v3"), "vregs");

    arena_init(&a);
    expect_error(edit_v3(&a, "vregs", "vregs = 65 ; U"),
                 arena_printf(&a, "FILE:%d: core.vregs: expected an integer in 8..64, found "
                              "\"65\"", line));
    line = line_of(builtin_text("v3"), "core_gbps");
    expect_error(edit_v3(&a, "core_gbps", "core_gbps = 0.5"),
                 arena_printf(&a, "FILE:%d: dma.core_gbps: expected a number in 1..100000, "
                              "found \"0.5\"", line));
    arena_fini(&a);
}

TEST(grids_that_make_no_slices_are_reported)
{
    static const struct {
        const char *grids, *message;
    } cases[] = {
        {"1x1 2y2", "expected grids of chips like 4x4 or 4x4x8, found \"2y2\""},
        {"1x1 4", "expected grids of chips like 4x4 or 4x4x8, found \"4\""},
        {"1x1 0x2 4x4", "expected grids of chips like 4x4 or 4x4x8, found \"0x2\""},
        {"1x1 4x4x4x4", "expected grids of chips like 4x4 or 4x4x8, found \"4x4x4x4\""},
        {"1x1, 2x2", "expected grids of chips like 4x4 or 4x4x8, found \"1x1,\""},
        {"2x2 4x4", "expected one chip first, 1x1, found \"2x2\""},
        {"1x1 4x4 2x8", "expected more chips than before, found \"2x8\""},
        {"1x1 16384x16384", "expected fewer chips, found \"16384x16384\""},
        {"1x1 2x2x2", "2x2x2 has chips along three axes, ici.dims is 2"},
        {"1x1 2x64", "2x64x1 has more chips along an axis than ici.max_axis"},
    };
    struct arena a;
    int line = line_of(builtin_text("v3"), "grids");

    arena_init(&a);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_error(edit_v3(&a, "grids", arena_printf(&a, "grids = %s ; U", cases[i].grids)),
                     arena_printf(&a, "FILE:%d: slice.grids: %s", line, cases[i].message));
    arena_fini(&a);
}

TEST(a_text_that_is_too_long_is_reported)
{
    struct arena a;
    char text[CHIP_TEXT_BYTES + 1];
    int line = line_of(builtin_text("v3"), "measured");

    memset(text, 'w', CHIP_TEXT_BYTES);
    text[CHIP_TEXT_BYTES] = '\0';
    arena_init(&a);
    expect_error(edit_v3(&a, "measured", arena_printf(&a, "measured = %s ; P", text)),
                 arena_printf(&a, "FILE:%d: energy.measured: expected 1..%d characters, found "
                              "\"%s\"", line, CHIP_TEXT_BYTES - 1, text));
    line = line_of(builtin_text("v3"), "node_nm");
    expect_error(edit_v3(&a, "node_nm", "node_nm = 5 ; P"),
                 arena_printf(&a, "FILE:%d: energy.node_nm: expected a number in 7..45, found "
                              "\"5\"", line));
    arena_fini(&a);
}

TEST(a_value_that_is_no_number_is_reported)
{
    struct arena a;
    int line = line_of(builtin_text("v3"), "vregs");
    static const char *const values[] = {"many", "32x", "3.5", "", "nan"};

    arena_init(&a);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        expect_error(edit_v3(&a, "vregs", arena_printf(&a, "vregs = %s", values[i])),
                     arena_printf(&a, "FILE:%d: core.vregs: expected an integer in 8..64, found "
                                  "\"%s\"", line, values[i]));
    line = line_of(builtin_text("v3"), "peak_gbps");
    expect_error(edit_v3(&a, "peak_gbps", "peak_gbps = nan"),
                 arena_printf(&a, "FILE:%d: hbm.peak_gbps: expected a number in 1..100000, found "
                              "\"nan\"", line));
    arena_fini(&a);
}

TEST(a_value_that_is_not_in_the_list_of_choices_is_reported_with_the_nearest)
{
    struct arena a;
    int line = line_of(builtin_text("v3"), "size");

    arena_init(&a);
    expect_error(edit_v3(&a, "size", "size = 200"),
                 arena_printf(&a, "FILE:%d: mxu.size: expected 128 or 256, found \"200\" "
                              "(nearest: 256)", line));
    expect_error(edit_v3(&a, "size", "size = 129"),
                 arena_printf(&a, "FILE:%d: mxu.size: expected 128 or 256, found \"129\" "
                              "(nearest: 128)", line));
    expect_error(edit_v3(&a, "size", "size = wide"),
                 arena_printf(&a, "FILE:%d: mxu.size: expected 128 or 256, found \"wide\"", line));
    expect_error(edit_v3(&a, "sum", "sum = quad"),
                 arena_printf(&a, "FILE:%d: mxu.sum: expected chain or quad4, found \"quad\" (did "
                              "you mean \"quad4\"?)", line_of(builtin_text("v3"), "sum")));
    expect_error(edit_v3(&a, "fp8_e4m3", "fp8_e4m3 = b11"),
                 arena_printf(&a, "FILE:%d: mxu.fp8_e4m3: expected -, b11fnuz or fn, found \"b11\"",
                              line_of(builtin_text("v3"), "fp8_e4m3")));
    arena_fini(&a);
}

TEST(values_that_contradict_each_other_are_reported)
{
    struct arena a;

    arena_init(&a);
    expect_error(edit_v3(&a, "row_bytes", "row_bytes = 1000"),
                 arena_printf(&a, "FILE:%d: hbm.row_bytes must be a power of two",
                              line_of(builtin_text("v3"), "row_bytes")));
    expect_error(edit_v3(&a, "dma_scalar", "dma_scalar = 3"),
                 arena_printf(&a, "FILE:%d: slots.dma_scalar must not exceed slots.scalar",
                              line_of(builtin_text("v3"), "dma_scalar")));
    expect_error(edit_v3(&a, "dma_misc", "dma_misc = 2"),
                 arena_printf(&a, "FILE:%d: slots.dma_misc must not exceed slots.misc",
                              line_of(builtin_text("v3"), "dma_misc")));
    expect_error(edit_v3(&a, "cmem_load", "cmem_load = 1"),
                 arena_printf(&a, "FILE:%d: slots.cmem_load must be 0 with cmem.bytes 0",
                              line_of(builtin_text("v3"), "cmem_load")));
    expect_error(edit_v3(&a, "trefi_ps", "trefi_ps = 260000"),
                 arena_printf(&a, "FILE:%d: hbm.trefi_ps leaves no time for a burst between two "
                              "refreshes", line_of(builtin_text("v3"), "trefi_ps")));
    expect_error(edit_v3(&a, "matmul_int8_cycles", "matmul_int8_cycles = 16"),
                 arena_printf(&a, "FILE:%d: mxu.push_int8_cycles must be 0 where "
                              "mxu.matmul_int8_cycles is, and only there",
                              line_of(builtin_text("v3"), "push_int8_cycles")));
    expect_error(edit_v3(&a, "push_bf16_cycles", "push_bf16_cycles = 4"),
                 arena_printf(&a, "FILE:%d: mxu.push_bf16_cycles must be 0 where "
                              "mxu.matmul_bf16_cycles is, and only there",
                              line_of(builtin_text("v3"), "push_bf16_cycles")));
    expect_error(edit_v3(&a, "fp8_e4m3", "fp8_e4m3 = fn"),
                 arena_printf(&a, "FILE:%d: mxu.fp8_e4m3 must be - where mxu.matmul_fp8_cycles is "
                              "0, and only there", line_of(builtin_text("v3"), "fp8_e4m3")));
    expect_error(edit_v3(&a, "links", "links = 6"),
                 arena_printf(&a, "FILE:%d: ici.links must be even and at most two per axis of "
                              "ici.dims", line_of(builtin_text("v3"), "links")));
    arena_fini(&a);
}

TEST(a_line_that_is_neither_section_nor_key_is_reported)
{
    struct arena a;
    int line = line_of(builtin_text("v3"), "vregs");

    arena_init(&a);
    expect_error(edit_v3(&a, "vregs", "vregs"),
                 arena_printf(&a, "FILE:%d: expected [section], key = value or a comment", line));
    expect_error("[chip\n", "FILE:1: expected [section], key = value or a comment");
    arena_fini(&a);
}

TEST(an_overlong_line_is_reported_and_not_cut)
{
    struct arena a;
    char filler[300];
    int line = line_of(builtin_text("v3"), "vregs");

    arena_init(&a);
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    expect_error(edit_v3(&a, "vregs", arena_printf(&a, "vregs = 32 ; U %s", filler)),
                 arena_printf(&a, "FILE:%d: line of 314 bytes; at most 198 are allowed", line));
    arena_fini(&a);
}

TEST(a_file_that_cannot_be_read_is_reported)
{
    struct chip c;
    struct err e;

    assert_int_equal(chip_load_file(&c, "/nonexistent/v3.ini", NULL, NULL, &e), -1);
    assert_string_equal(e.msg, "cannot read: No such file or directory");
    assert_int_equal(chip_load_file(&c, "/", NULL, NULL, &e), -1);
    assert_string_equal(e.msg, "cannot read: Is a directory");
}

static void expect_set_error(const char *assignment, const char *expected)
{
    struct chip c, before;
    struct err e;
    char text[800];

    assert_int_equal(chip_load_builtin(&c, "v3", NULL, NULL, &e), 0);
    before = c;
    assert_int_equal(chip_set(&c, assignment, NULL, NULL, &e), -1);
    assert_string_equal(err_format(&e, text, sizeof(text)), expected);
    assert_memory_equal(&c, &before, sizeof(c));
}

TEST(common_memory_needs_its_rates_and_its_fifo)
{
    static const struct { const char *assignment, *msg; } cases[] = {
        {"cmem.read_gbps=0", "cmem.read_gbps must not be 0 with cmem.bytes above 0"},
        {"cmem.write_gbps=0", "cmem.write_gbps must not be 0 with cmem.bytes above 0"},
        {"cmem.fifo_depth=0", "cmem.fifo_depth must not be 0 with slots.cmem_load above 0"},
        {"cmem.bytes=0", "slots.cmem_load must be 0 with cmem.bytes 0"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chip c;
        struct err e;

        assert_int_equal(chip_load_builtin(&c, "v4", NULL, NULL, &e), 0);
        assert_int_equal(chip_set(&c, cases[i].assignment, NULL, NULL, &e), -1);
        assert_non_null(strstr(e.msg, cases[i].msg));
    }
}

TEST(set_changes_one_parameter_and_its_origin)
{
    struct arena a;
    struct chip_origin *origins;
    struct chip c;
    struct err e;
    size_t changed = 0;

    arena_init(&a);
    origins = arena_array(&a, chip_param_count, sizeof(*origins));
    assert_int_equal(chip_load_builtin(&c, "v3", origins, &a, &e), 0);
    assert_int_equal(chip_set(&c, "mxu.count=8", origins, &a, &e), 0);
    assert_int_equal(c.mxu_count, 8);
    assert_true(fabs(chip_peak_bf16_tflops(&c) - 4 * 123.2) < 0.1);
    c.mxu_matmul_bf16_cycles = 32;      /* twice as long as two pushes of f32 */
    assert_true(fabs(chip_peak_bf16_tflops(&c) - 2 * 123.2) < 0.1);
    c.mxu_matmul_bf16_cycles = 0;
    assert_int_equal(chip_set(&c, "dma.core_gbps=123.5", origins, &a, &e), 0);
    assert_true(c.dma_core_gbps == 123.5);
    for (size_t i = 0; i < chip_param_count; i++)
        changed += strcmp(origins[i].origin, "--set") == 0;
    assert_int_equal(changed, 2);
    arena_fini(&a);
}

TEST(set_refuses_what_a_chip_file_could_not_say)
{
    expect_set_error("mxu.count", "--set \"mxu.count\": expected section.key=value");
    expect_set_error("=8", "--set \"=8\": expected section.key=value");
    expect_set_error("mxu.cuont=8", "--set: unknown key \"mxu.cuont\" (did you mean "
                     "\"mxu.count\"?)");
    expect_set_error("mxu.count=9", "--set: mxu.count: expected an integer in 1..8, found \"9\"");
    expect_set_error("mxu.count=", "--set: mxu.count: expected an integer in 1..8, found \"\"");
    expect_set_error("foo.bar=1", "--set: unknown key \"foo.bar\"; systole chips NAME lists them");
    expect_set_error("chip.name=a ;b", "--set: chip.name: expected printable ASCII without \";\"");
    expect_set_error("chip.name=a\nb", "--set: chip.name: expected printable ASCII without \";\"");
    expect_set_error("chip.name=", "--set: chip.name: expected 1..31 characters, found \"\"");
    expect_set_error("vmem.bytes=65537", "--set: vmem.bytes=65537: vmem.bytes must be a multiple "
                     "of 4096, a vector tile");
    expect_set_error("dma.staging_bytes=2048", "--set: dma.staging_bytes=2048: dma.staging_bytes "
                     "must hold a chunk, dma.chunk_bytes");
    expect_set_error("dma.peer_gbps=0", "--set: dma.peer_gbps=0: dma.peer_gbps must not be 0 with "
                     "chip.cores 2");
    expect_set_error("dma.vector_bytes=500", "--set: dma.vector_bytes=500: dma.vector_bytes must "
                     "be a multiple of dma.granule_bytes");
    expect_set_error("dma.vector_bytes=3072", "--set: dma.vector_bytes=3072: dma.chunk_bytes must "
                     "be a multiple of dma.vector_bytes");
}

TEST(values_set_together_need_not_agree_one_by_one)
{
    static const char *const both[] = {"mxu.matmul_bf16_cycles=16", "mxu.push_bf16_cycles=4"};
    struct chip c;
    struct err e;

    assert_int_equal(chip_load_builtin(&c, "v3", NULL, NULL, &e), 0);
    assert_int_equal(chip_set_all(&c, both, 2, NULL, NULL, &e), 0);
    assert_int_equal(c.mxu_matmul_bf16_cycles, 16);
    assert_int_equal(c.mxu_push_bf16_cycles, 4);
    expect_set_error(both[1], "--set: mxu.push_bf16_cycles=4: mxu.push_bf16_cycles must be 0 where "
                     "mxu.matmul_bf16_cycles is, and only there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_builtin_chip_loads_and_meets_its_published_peaks),
        cmocka_unit_test(the_generations_have_their_published_shape),
        cmocka_unit_test(a_peak_that_deviates_is_told_from_one_that_is_listed),
        cmocka_unit_test(the_v3_file_says_what_is_published),
        cmocka_unit_test(every_line_of_every_builtin_file_carries_a_provenance_tag),
        cmocka_unit_test(a_value_and_its_comment_are_told_apart),
        cmocka_unit_test(an_unknown_chip_lists_those_that_exist),
        cmocka_unit_test(an_unknown_key_is_reported_with_its_line_and_the_nearest_key),
        cmocka_unit_test(a_missing_key_is_reported_with_the_line_of_its_section),
        cmocka_unit_test(a_missing_section_is_named),
        cmocka_unit_test(a_key_that_stands_twice_is_reported_with_both_lines),
        cmocka_unit_test(a_value_out_of_range_is_reported_with_the_range),
        cmocka_unit_test(grids_that_make_no_slices_are_reported),
        cmocka_unit_test(a_text_that_is_too_long_is_reported),
        cmocka_unit_test(a_value_that_is_no_number_is_reported),
        cmocka_unit_test(a_value_that_is_not_in_the_list_of_choices_is_reported_with_the_nearest),
        cmocka_unit_test(values_that_contradict_each_other_are_reported),
        cmocka_unit_test(a_line_that_is_neither_section_nor_key_is_reported),
        cmocka_unit_test(an_overlong_line_is_reported_and_not_cut),
        cmocka_unit_test(a_file_that_cannot_be_read_is_reported),
        cmocka_unit_test(common_memory_needs_its_rates_and_its_fifo),
        cmocka_unit_test(set_changes_one_parameter_and_its_origin),
        cmocka_unit_test(set_refuses_what_a_chip_file_could_not_say),
        cmocka_unit_test(values_set_together_need_not_agree_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
