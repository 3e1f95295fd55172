/*
 * Programs that others have printed as HLO text, where they are: each is read whole and holds
 * the rules; what is printed of it, in every form, is read again and printed the same.
 */
#include "base/text.h"
#include "import/hlo_text/hlo_text.h"
#include "tests/test.h"

#include <dirent.h>
#include <zlib.h>

struct sample_text {
    char *text;
    size_t bytes;
};

/* also of a file that is compressed */
static struct sample_text read_whole(const char *path)
{
    struct sample_text t = {NULL, 0};
    gzFile f = gzopen(path, "rb");
    size_t capacity = 0;
    int got;

    assert_non_null(f);
    do {
        t.text = mem_grow(t.text, &capacity, t.bytes + (1 << 20), 1);
        got = gzread(f, t.text + t.bytes, 1 << 20);
        assert_true(got >= 0);
        t.bytes += (size_t)got;
    } while (got > 0);
    gzclose(f);
    return t;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), ending = strlen(end);

    return length >= ending && strcmp(name + length - ending, end) == 0;
}

static char *print_all(const struct hlo_module *m, const struct hlo_text_options *o, size_t *bytes)
{
    char *text;
    FILE *to = text_memory(&text, bytes);

    for (; m; m = m->next)
        hlo_text_print(m, to, o);
    text_memory_end(to, &text);
    return text;
}

static void check_printed(const struct hlo_module *m, const struct hlo_text_options *o,
                          const char *path, bool is_cut)
{
    size_t first_bytes, second_bytes;
    char *first = print_all(m, o, &first_bytes), *second, message[900];
    struct hlo_module *again;
    struct arena a;
    struct err e;

    arena_init(&a);
    again = hlo_text_read(first, first_bytes, "printed", &a, &e);
    if (!again || (!is_cut && e.msg[0]))
        fail_msg("%s: %s", path, err_format(&e, message, sizeof(message)));
    second = print_all(again, o, &second_bytes);
    if (second_bytes != first_bytes || memcmp(first, second, first_bytes) != 0)
        fail_msg("%s: printed again it is another text", path);
    hlo_text_fini(again);
    arena_fini(&a);
    free(first);
    free(second);
}

static void check_file(const char *path, bool is_cut)
{
    struct sample_text t = read_whole(path);
    struct hlo_module *m;
    struct arena a;
    struct err e;
    char message[900];

    arena_init(&a);
    m = hlo_text_read(t.text, t.bytes, path, &a, &e);
    if (!m || (e.msg[0] != 0) != is_cut)
        fail_msg("%s", m && is_cut ? "no word of the cut" : err_format(&e, message, sizeof(message)));
    if (is_cut) {
        assert_non_null(strstr(e.msg, "ends in the middle"));
        assert_int_equal(m->entry, -1);
        assert_true(m->computation_count > 100);
    } else {
        assert_true(m->entry >= 0);
    }
    for (const struct hlo_module *one = m; one; one = one->next) {
        if (hlo_verify(one, &e))
            fail_msg("%s", err_format(&e, message, sizeof(message)));
    }
    for (int form = 0; form < 8; form++)
        check_printed(m, &(struct hlo_text_options){form & 1, form & 2, form & 4}, path, is_cut);
    hlo_text_fini(m);
    arena_fini(&a);
    mem_free(t.text);
}

/* files of a folder and of those in it; how many */
static int check_folder(const char *folder, const char *ending, int depth)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);
    char path[700];
    int count = 0;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || strstr(entry->d_name, ".unopt."))     /* StableHLO */
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (depth > 0) {
            count += check_folder(path, ending, depth - 1);
        } else if (ends_with(entry->d_name, ending)) {
            check_file(path, ends_with(entry->d_name, ".head.txt"));
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
    int count;

    snprintf(path, sizeof(path), "%s/samples/%s", shared ? shared : "../shared", folder);
    count = check_folder(path, ending, depth);
    if (count == 0)
        SKIP("no files in %s", path);
    printf("%d files of %s\n", count, folder);
}

TEST(every_module_of_the_samples_is_read_and_printed) { check_samples("hlo", ".hlo", 0); }
TEST(every_module_that_xla_optimized_is_read_and_printed)
{
    check_samples("hlo_tpu_optimized", ".txt", 0);
}

TEST(every_whole_program_is_read_and_printed) { check_samples("programs", ".hlo.txt.gz", 2); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_module_of_the_samples_is_read_and_printed),
        cmocka_unit_test(every_module_that_xla_optimized_is_read_and_printed),
        cmocka_unit_test(every_whole_program_is_read_and_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
