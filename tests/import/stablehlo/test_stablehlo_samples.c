/*
 * Programs that others have written as StableHLO, where they are: each is read and holds the rules;
 * what is printed of it, pretty and in the general form, is read again and printed the same.
 */
#include "base/text.h"
#include "import/read/read.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/test.h"

#include <dirent.h>

static char *print_all(const struct hlo_module *m, bool is_general, size_t *bytes, struct err *e)
{
    const struct mlir_print_options o = {.is_general = is_general};
    char *text;
    FILE *to = text_memory(&text, bytes);
    int status = 0;

    for (const struct hlo_module *one = m; one && !status; one = one->next) {
        if (one != m)
            fputs("\n// -----\n\n", to);
        status = stablehlo_print(one, to, &o, e);
    }
    text_memory_end(to, &text);
    if (!status)
        return text;
    free(text);
    return NULL;
}

/* printed in one form, read, printed in both: each the same as of the program that was read first */
static void check_printed(const struct hlo_module *m, const char *path)
{
    size_t bytes[2], again_bytes;
    char *text[2], message[900];
    struct err e;

    for (int form = 0; form < 2; form++) {
        if (!(text[form] = print_all(m, form, &bytes[form], &e)))
            fail_msg("%s: %s", path, e.msg);
    }
    for (int form = 0; form < 2; form++) {
        struct arena a;
        arena_init(&a);
        struct hlo_module *again = stablehlo_read_text(text[form], bytes[form], "printed", &a, &e);
        if (!again)
            fail_msg("%s: %s", path, err_format(&e, message, sizeof(message)));
        for (int other = 0; other < 2; other++) {
            char *printed = print_all(again, other, &again_bytes, &e);
            if (!printed || again_bytes != bytes[other] || strcmp(printed, text[other]))
                fail_msg("%s: printed again it is another text", path);
            free(printed);
        }
        program_free(again);
        arena_fini(&a);
    }
    free(text[0]);
    free(text[1]);
}

static void check_file(const char *path)
{
    struct err e = {.msg = ""};
    char message[900];
    struct arena a;

    arena_init(&a);
    struct hlo_module *m = program_read(path, &a, &e);
    if (!m)
        fail_msg("%s", err_format(&e, message, sizeof(message)));
    for (const struct hlo_module *one = m; one; one = one->next) {
        assert_true(one->entry >= 0);
        if (hlo_verify(one, &e))
            fail_msg("%s", err_format(&e, message, sizeof(message)));
    }
    check_printed(m, path);
    program_free(m);
    arena_fini(&a);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), ending = strlen(end);
    return length >= ending && !strcmp(name + length - ending, end);
}

/* files of a folder, or of those in it; how many */
static int check_folder(const char *folder, const char *ending, int depth)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);
    char path[700];
    int count = 0;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (depth > 0) {
            count += check_folder(path, ending, depth - 1);
        } else if (ends_with(entry->d_name, ending)) {
            check_file(path);
            count++;
        }
    }
    if (dir)
        closedir(dir);
    return count;
}

static void check_samples(const char *folder, const char *ending, int depth)
{
    const char *shared = getenv("SYSTOLE_SHARED");
    char path[500];

    snprintf(path, sizeof(path), "%s/samples/%s", shared ? shared : "../shared", folder);
    int count = check_folder(path, ending, depth);
    if (count == 0)
        SKIP("no files in %s", path);
    printf("%d files of %s\n", count, folder);
}

TEST(programs_and_tests_of_the_interpreter_are_read) { check_samples("stablehlo", ".mlir", 0); }
TEST(test_data_is_read) { check_samples("stablehlo_testdata", ".mlir", 0); }
TEST(whole_programs_are_read) { check_samples("programs", ".mlir.gz", 2); }
TEST(hlo_programs_are_written_as_stablehlo) { check_samples("programs", ".hlo.txt.gz", 2); }
TEST(our_own_texts_are_read) { assert_int_equal(check_folder("tests/corpus/stablehlo_text", ".mlir", 0), 7); }
TEST(programs_of_our_frameworks_are_read) { assert_true(check_folder("tests/import/data", ".mlir", 0) > 5); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_texts_are_read),
        cmocka_unit_test(programs_of_our_frameworks_are_read),
        cmocka_unit_test(programs_and_tests_of_the_interpreter_are_read),
        cmocka_unit_test(test_data_is_read),
        cmocka_unit_test(whole_programs_are_read),
        cmocka_unit_test(hlo_programs_are_written_as_stablehlo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
