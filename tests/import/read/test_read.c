/* Programs are told apart by what is in them, whatever they are called, packed or not. */
#include "import/read/read.h"

#include "cli/hlo/hlo.h"
#include "import/bytecode/bytecode.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/rigs/program_files.h"
#include "tests/test.h"

#include <ctype.h>
#include <unistd.h>
#include <zlib.h>

static const char *const forms[] = {
    [PROGRAM_HLO_TEXT] = "train_step.hlo.txt", [PROGRAM_HLO_PROTO] = "train_step.hlo.pb",
    [PROGRAM_MLIR_TEXT] = "train_step.mlir", [PROGRAM_MLIR_BYTECODE] = "train_step.mlirbc",
    [PROGRAM_JAX_EXPORT] = "exported.bin"
};

static struct hlo_module *read_form(int form, struct arena *a)
{
    struct err e = {.msg = ""};
    char path[200], buf[1000];
    struct hlo_module *m;

    snprintf(path, sizeof(path), "tests/import/data/%s", forms[form]);
    m = program_read(path, a, &e);
    if (!m || hlo_verify(m, &e))
        fail_msg("%s", err_format(&e, buf, sizeof(buf)));
    return m;
}

TEST(all_forms_are_known_by_their_content)
{
    for (int f = 0; f < PROGRAM_UNKNOWN; f++) {
        char path[200];
        size_t bytes;
        char *data;

        snprintf(path, sizeof(path), "tests/import/data/%s", forms[f]);
        data = program_file_read(path, &bytes);
        assert_non_null(data);
        assert_int_equal(program_format_of(data, bytes), f);
        free(data);
    }
}

/* The artifact, its text and what jax.export saved are one program; HLO's two forms another. */
TEST(a_program_is_the_same_in_all_its_forms)
{
    struct hlo_module *m[PROGRAM_UNKNOWN];
    struct arena a;

    arena_init(&a);
    for (int f = 0; f < PROGRAM_UNKNOWN; f++)
        m[f] = read_form(f, &a);
    assert_int_equal(hlo_print_diff(m[PROGRAM_HLO_TEXT], m[PROGRAM_HLO_PROTO]), 0);
    assert_int_equal(hlo_print_diff(m[PROGRAM_MLIR_TEXT], m[PROGRAM_MLIR_BYTECODE]), 0);
    assert_int_equal(hlo_print_diff(m[PROGRAM_MLIR_BYTECODE], m[PROGRAM_JAX_EXPORT]), 0);
    for (int f = 0; f < PROGRAM_UNKNOWN; f++)
        program_free(m[f]);
    arena_fini(&a);
}

/* Numbers behind names of functions go on with what has been read before them. */
static char *said_of(const struct mlir_tree *t, struct arena *a)
{
    const struct mlir_print_options options = {.is_general = false};
    struct err e = {.msg = ""};
    char *text, *to;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    struct hlo_module *m = stablehlo_to_program(t, a, &e);

    assert_non_null(m);
    assert_int_equal(stablehlo_print(m, f, &options, &e), 0);
    fclose(f);
    program_free(m);
    to = text;
    for (const char *at = text; *at; at++) {
        if (*at == '.' && at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            while (isdigit((unsigned char)at[1]))
                at++;
        *to++ = *at;
    }
    *to = 0;
    return text;
}

/* jax.jit(lambda a, b, c: (b * 2, a + c), donate_argnums=(0, 1)) */
TEST(arguments_of_an_artifact_that_are_given_away_are_told)
{
    struct err e = {.msg = ""};
    struct hlo_module *m;
    struct arena a;

    arena_init(&a);
    m = program_read("tests/import/data/arguments/donated.mlirbc", &a, &e);
    assert_non_null(m);
    assert_int_equal(m->alias_count, 2);
    for (int64_t k = 0; k < 2; k++) {           /* each takes the place of the other's result */
        assert_int_equal(m->alias[k].parameter, k);
        assert_int_equal(m->alias[k].output.count, 1);
        assert_int_equal(m->alias[k].output.item[0], 1 - k);
    }
    program_free(m);
    arena_fini(&a);
}

/* An operation at a time is as good as all of them: places, attributes of arguments and results. */
static void expect_the_same_later(const char *path)
{
    struct mlir_tree whole, later;
    struct err e = {.msg = ""};
    struct arena a;
    size_t bytes;
    char *data = program_file_read(path, &bytes), *said[2];

    arena_init(&a);
    mlir_tree_init(&whole, &a, path);
    mlir_tree_init(&later, &a, path);
    assert_int_equal(mlir_read_bytecode(&whole, data, bytes, &e), 0);
    assert_int_equal(mlir_open_bytecode(&later, data, bytes, &e), 0);
    said[0] = said_of(&whole, &a);
    said[1] = said_of(&later, &a);
    if (strcmp(said[0], said[1]) != 0)
        fail_msg("%s is read later as another program", path);
    free(said[0]);
    free(said[1]);
    free(data);
    arena_fini(&a);
}

TEST(functions_that_are_read_later_say_what_the_whole_tree_says)
{
    struct program_files f;

    program_files_own(&f, "programs/*.mlirbc");
    assert_true(f.count > 20);
    for (size_t i = 0; i < f.count; i++)
        expect_the_same_later(f.path[i]);
    program_files_end(&f);
}

/* Large and small, within each other, isolated, with values and constants from around them: by
 * tests/jax/make_regions.py. */
TEST(regions_that_are_read_later_say_what_the_whole_tree_says)
{
    expect_the_same_later("tests/import/data/regions/nested.mlirbc");
}

TEST(samples_that_are_read_later_say_what_the_whole_tree_says)
{
    struct program_files f;

    program_files_samples(&f, "programs/*/*/program.mlirbc");
    for (size_t i = 0; i < f.count; i++)
        expect_the_same_later(f.path[i]);
    program_files_end(&f);
}

TEST(packed_programs_are_unpacked)
{
    char path[] = "/tmp/test_read_XXXXXX";
    struct err e = {.msg = ""};
    struct hlo_module *m, *plain;
    struct arena a;
    size_t bytes;
    char *data = program_file_read("tests/import/data/train_step.mlirbc", &bytes);
    int fd = mkstemp(path);
    gzFile f = gzdopen(fd, "wb");

    assert_non_null(data);
    assert_int_equal(gzwrite(f, data, (unsigned)bytes), (int)bytes);
    gzclose(f);
    arena_init(&a);
    m = program_read(path, &a, &e);
    assert_non_null(m);
    plain = read_form(PROGRAM_MLIR_BYTECODE, &a);
    assert_int_equal(hlo_print_diff(m, plain), 0);
    program_free(m);
    program_free(plain);
    arena_fini(&a);
    assert_int_equal(truncate(path, 500), 0);
    arena_init(&a);
    assert_null(program_read(path, &a, &e));
    assert_string_not_equal(e.msg, "");
    arena_fini(&a);
    unlink(path);
    free(data);
}

static void expect_unknown(const char *bytes, size_t count)
{
    struct err e = {.msg = ""};
    struct arena a;

    arena_init(&a);
    assert_null(program_read_bytes(bytes, count, "input", &a, &e));
    assert_non_null(strstr(e.msg, "HLO text"));
    assert_non_null(strstr(e.msg, "jax.export"));
    arena_fini(&a);
}

TEST(what_is_no_program_is_told_what_would_be_one)
{
    static const char picture[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    size_t bytes;
    char *assembly = program_file_read("examples/01_vector_add.tasm", &bytes);

    assert_non_null(assembly);
    expect_unknown(assembly, bytes);
    expect_unknown(picture, sizeof(picture));
    expect_unknown("", 0);
    expect_unknown("{\"class_name\": \"Sequential\"}", 28);
    free(assembly);
}

/* The smallest lines there are: what a tree and a program of them take, but instructions. */
TEST(names_and_lists_of_a_long_text_take_less_than_ten_times_its_size)
{
    enum { LINES = 20000 };
    char *text = malloc(LINES * 60 + 200);
    struct err e = {.msg = ""};
    struct hlo_module *m;
    struct arena a;
    size_t n = 0;

    assert_non_null(text);
    n += (size_t)sprintf(text, "func.func @main(%%a: tensor<f32>) -> tensor<f32> {\n"
                               "  %%0 = stablehlo.sine %%a : tensor<f32>\n");
    for (int i = 1; i < LINES; i++)
        n += (size_t)sprintf(text + n, "  %%%d = stablehlo.sine %%%d : tensor<f32>\n", i, i - 1);
    n += (size_t)sprintf(text + n, "  return %%%d : tensor<f32>\n}\n", LINES - 1);
    arena_init(&a);
    m = program_read_bytes(text, n, "long", &a, &e);
    assert_string_equal(e.msg, "");
    assert_non_null(m);
    assert_true(a.used_bytes < 10 * n);
    assert_false(a.is_packed);
    program_free(m);
    arena_fini(&a);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_are_known_by_their_content),
        cmocka_unit_test(a_program_is_the_same_in_all_its_forms),
        cmocka_unit_test(arguments_of_an_artifact_that_are_given_away_are_told),
        cmocka_unit_test(functions_that_are_read_later_say_what_the_whole_tree_says),
        cmocka_unit_test(regions_that_are_read_later_say_what_the_whole_tree_says),
        cmocka_unit_test(samples_that_are_read_later_say_what_the_whole_tree_says),
        cmocka_unit_test(packed_programs_are_unpacked),
        cmocka_unit_test(what_is_no_program_is_told_what_would_be_one),
        cmocka_unit_test(names_and_lists_of_a_long_text_take_less_than_ten_times_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
