/*
 * What reading takes of host memory at its peak, in multiples of the file, for each form. It is
 * counted as it is asked for, so that it is the same on every run: this program has the calls of
 * the C library's allocator. `build/tests/import/read/test_read_memory` prints the table, of files that
 * it is given too.
 *
 * Programs are of short lines, an add each, which is the worst a text can do: what an instruction
 * takes does not depend on how long its line is.
 */
#include "import/read/read.h"

#include "base/sanitized.h"
#include "import/hlo_proto/hlo_proto.h"
#include "import/hlo_text/hlo_text.h"
#include "import/mlir/print.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/rigs/program_files.h"
#include "tests/test.h"

#include <errno.h>
#include <malloc.h>

enum { INSTRUCTIONS = 60000, ALWAYS_BYTES = 192 * 1024 };

struct bytes {
    char *data;
    size_t count;
};

static size_t held, most_held;          /* bytes that this process has of the allocator */

#if !SANITIZED_ADDRESS && !SANITIZED_THREAD
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *p);

static void *counted(void *p)
{
    held += malloc_usable_size(p);
    most_held = held > most_held ? held : most_held;
    return p;
}

void *malloc(size_t bytes) { return counted(__libc_malloc(bytes)); }
void *calloc(size_t count, size_t bytes) { return counted(__libc_calloc(count, bytes)); }

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return counted(__libc_memalign(alignment, bytes));
}

int posix_memalign(void **p, size_t alignment, size_t bytes)
{
    *p = counted(__libc_memalign(alignment, bytes));
    return *p ? 0 : ENOMEM;
}

/* Large blocks move without a second copy (base/arena.c), so they are not counted twice. */
void *realloc(void *p, size_t bytes)
{
    held -= malloc_usable_size(p);
    return counted(__libc_realloc(p, bytes));
}

void free(void *p)
{
    held -= malloc_usable_size(p);
    __libc_free(p);
}
#define IS_COUNTED true
#else
#define IS_COUNTED false
#endif

static struct bytes chain_of_adds(void)
{
    struct bytes text;
    FILE *to = open_memstream(&text.data, &text.count);

    fputs("HloModule m\n\nENTRY e {\n  a = f32[4]{0} parameter(0)\n", to);
    fputs("  b0 = f32[4]{0} add(a, a)\n", to);
    for (int i = 1; i < INSTRUCTIONS; i++)
        fprintf(to, "  b%d = f32[4]{0} add(b%d, a)\n", i, i - 1);
    fprintf(to, "  ROOT r = f32[4]{0} add(b%d, a)\n}\n", INSTRUCTIONS - 1);
    fclose(to);
    return text;
}

/* bytes that reading takes beside the file itself */
static size_t grown_by(const struct bytes *file)
{
    struct hlo_module *m;
    struct arena a;
    struct err e;
    char buf[1000];
    size_t before = most_held = held;

    arena_init(&a);
    m = program_read_bytes(file->data, file->count, "program", &a, &e);
    if (!m)
        fail_msg("%s", err_format(&e, buf, sizeof(buf)));
    program_free(m);
    arena_fini(&a);
    return most_held - before;
}

/* `always`: bytes that small programs take, too */
static void check(const char *form, struct bytes file, size_t always)
{
    size_t grown = grown_by(&file);

    printf("  %-26s %9zu bytes, %5.1f times that\n", form, file.count,
           (double)grown / (double)file.count);
    if (grown > 10 * file.count + always)
        fail_msg("reading %s of %zu bytes takes %zu, and should at most ten times that", form,
                 file.count, grown);
}

static struct bytes printed(const struct hlo_module *m, bool is_general)
{
    struct mlir_print_options options = {.is_general = is_general};
    struct bytes text;
    FILE *to = open_memstream(&text.data, &text.count);
    struct err e;

    assert_int_equal(stablehlo_print(m, to, &options, &e), 0);
    fclose(to);
    return text;
}

/* The program is made and printed in this process, read in others that have not yet read anything
 * of that size. */
static void check_forms(void)
{
    struct bytes text = chain_of_adds(), pretty, generic, proto;
    struct hlo_module *m;
    unsigned char *message;
    struct arena a;
    struct err e;

    arena_init(&a);
    m = program_read_bytes(text.data, text.count, "program", &a, &e);
    assert_non_null(m);
    pretty = printed(m, false);
    generic = printed(m, true);
    assert_int_equal(hlo_proto_write(m, &message, &proto.count, &e), 0);
    proto.data = (char *)message;
    program_free(m);
    arena_fini(&a);
    check("HLO text, short lines", text, 0);
    check("StableHLO text", pretty, 0);
    check("StableHLO, generic form", generic, 0);
    check("HloModuleProto", proto, 0);
    free(text.data);
    free(pretty.data);
    free(generic.data);
    mem_free(proto.data);
}

TEST(reading_a_text_or_a_message_takes_at_most_ten_times_its_bytes)
{
    if (!IS_COUNTED)
        SKIP("the sanitizer has the allocator");
    check_forms();
}

/* An artifact says an instruction in ten to twenty bytes, so that what is kept of each counts. */
static void check_artifacts(struct program_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct bytes file = {program_file_read(f->path[i], &file.count), file.count};

        check(strstr(f->path[i], "programs/"), file, ALWAYS_BYTES);
        free(file.data);
    }
}

TEST(reading_an_artifact_takes_at_most_ten_times_its_bytes)
{
    struct program_files f;

    if (!IS_COUNTED)
        SKIP("the sanitizer has the allocator");
    program_files_own(&f, "programs/*.mlirbc");
    assert_true(f.count > 20);
    check_artifacts(&f);
    program_files_end(&f);
    program_files_samples(&f, "programs/*/*/program.mlirbc");
    check_artifacts(&f);
    program_files_end(&f);
}

/* files of anybody: the figures of docs/performance.md */
static int print_of(int count, char **path)
{
    for (int i = 0; i < count; i++) {
        struct bytes file = {program_file_read(path[i], &file.count), file.count};

        if (!file.data)
            return 1;
        printf("%s: %zu bytes, %.1f times that\n", path[i], file.count,
               (double)grown_by(&file) / (double)file.count);
        free(file.data);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_a_text_or_a_message_takes_at_most_ten_times_its_bytes),
        cmocka_unit_test(reading_an_artifact_takes_at_most_ten_times_its_bytes),
    };

    if (argc > 1)
        return print_of(argc - 1, argv + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
