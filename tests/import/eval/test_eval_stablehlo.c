/* The public StableHLO tests that lie beside the project: each holds its own expected values. */
#include "base/err.h"
#include "import/eval/eval.h"
#include "import/read/read.h"
#include "tests/test.h"

#include <dirent.h>

struct tally {
    int files, checks, failed;
};

static const char *shared(void)
{
    return getenv("SYSTOLE_SHARED") ? getenv("SYSTOLE_SHARED") : "../shared";
}

static void note(struct tally *t, const char *file, const struct err *e)
{
    char text[1024];

    t->failed++;
    printf("%s: %s\n", file, err_format(e, text, sizeof(text)));
}

/* modules of one file, each on as many devices as it names */
static void run_modules(struct tally *t, const char *path, const struct hlo_module *first)
{
    struct eval_settings s = { .step_limit = 10000000 };
    struct eval_array none[64], *output[64];
    struct eval_report r;
    struct arena a;
    struct err e = { .msg = "" };

    for (int k = 0; k < 64; k++)
        output[k] = none;
    arena_init(&a);
    for (const struct hlo_module *m = first; m; m = m->next) {
        if (eval_run(m, &s, NULL, output, &a, &r, &e))
            note(t, path, &e);
        else if (r.failures)
            note(t, path, &r.first_failure);
        t->checks += r.checks;
    }
    arena_fini(&a);
}

static void run_file(struct tally *t, const char *path)
{
    struct arena a;
    struct err e = { .msg = "" };
    struct hlo_module *m;

    arena_init(&a);
    m = program_read(path, &a, &e);
    if (m)
        run_modules(t, path, m);
    else
        note(t, path, &e);
    t->files++;
    program_free(m);
    arena_fini(&a);
}

static int run_folder(struct tally *t, const char *folder, const char *prefix)
{
    char path[4096];
    DIR *d;

    snprintf(path, sizeof(path), "%s/samples/%s", shared(), folder);
    d = opendir(path);
    if (!d)
        return -1;
    for (struct dirent *f; (f = readdir(d));) {
        snprintf(path, sizeof(path), "%s/samples/%s/%s", shared(), folder, f->d_name);
        if (!strncmp(f->d_name, prefix, strlen(prefix)) && strstr(f->d_name, ".mlir"))
            run_file(t, path);
    }
    closedir(d);
    return 0;
}

TEST(operations_of_the_test_data_have_their_expected_values)
{
    struct tally t = { 0 };

    if (run_folder(&t, "stablehlo_testdata", ""))
        SKIP("no samples");
    printf("%d files, %d checks, %d failed\n", t.files, t.checks, t.failed);
    assert_int_equal(t.failed, 0);
    assert_true(t.checks > 0);
}

TEST(tests_of_the_interpreter_hold)
{
    struct tally t = { 0 };

    if (run_folder(&t, "stablehlo", "interp_"))
        SKIP("no samples");
    printf("%d files, %d checks, %d failed\n", t.files, t.checks, t.failed);
    assert_int_equal(t.failed, 0);
    assert_true(t.checks > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_the_test_data_have_their_expected_values),
        cmocka_unit_test(tests_of_the_interpreter_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
