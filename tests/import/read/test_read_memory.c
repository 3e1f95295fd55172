/*
 * What reading takes of host memory, in multiples of the file, for each form, by the process's own
 * account of its largest resident size. `build/tests/import/read/test_read_memory` prints the table.
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

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INSTRUCTIONS = 60000 };

struct bytes {
    char *data;
    size_t count;
};

static long status_kib(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[200];
    long value = -1;

    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, name, strlen(name)) == 0)
            value = atol(line + strlen(name));
    }
    if (f)
        fclose(f);
    return value;
}

/* from here on the largest size is counted anew; false: the system does not do it */
static bool forget_largest(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    bool is_done = f && fputs("5", f) >= 0;

    return f && fclose(f) == 0 && is_done;
}

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

/* code and tables that every reader touches once, however small the program is */
static void warm_up(void)
{
    static const char *const paths[] = {"tests/import/data/images.hlo.txt",
                                        "tests/import/data/images.hlo.pb",
                                        "tests/import/data/images.mlir",
                                        "tests/import/data/images.mlirbc"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        struct arena a;
        struct err e;

        arena_init(&a);
        program_free(program_read(paths[i], &a, &e));
        arena_fini(&a);
    }
}

/* bytes that reading takes beside the file itself; -1: not known here */
static long grown_by(const struct bytes *file)
{
    long grown = -1;
    int result[2];
    pid_t child;

    assert_int_equal(pipe(result), 0);
    child = fork();
    if (child == 0) {
        struct arena a;
        struct err e;
        long before;

        warm_up();
        arena_init(&a);
        malloc_trim(0);                 /* what the parent has freed would be used again */
        if (forget_largest()) {
            before = status_kib("VmRSS:");
            if (program_read_bytes(file->data, file->count, "program", &a, &e))
                grown = (status_kib("VmHWM:") - before) * 1024;
        }
        _exit(write(result[1], &grown, sizeof(grown)) != (ssize_t)sizeof(grown));
    }
    assert_true(child > 0);
    assert_int_equal(read(result[0], &grown, sizeof(grown)), sizeof(grown));
    waitpid(child, NULL, 0);
    close(result[0]);
    close(result[1]);
    return grown;
}

/* `declared`: bytes of what the file says beside itself */
static void check(const char *form, struct bytes file, size_t declared, double most)
{
    long grown = grown_by(&file);
    double times = (double)grown / (double)(file.count + declared);

    if (grown >= 0)
        printf("  %-26s %9zu bytes, %5.1f times that, declares %9zu more: %5.1f times all\n", form,
               file.count, (double)grown / (double)file.count, declared, times);
    if (grown >= 0 && times > most)
        fail_msg("reading %s takes %.1f times its bytes, and should at most %.0f", form, times,
                 most);
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
    check("HLO text, short lines", text, 0, 10);
    check("StableHLO text", pretty, 0, 10);
    check("StableHLO, generic form", generic, 0, 10);
    check("HloModuleProto", proto, 0, 10);
    free(text.data);
    free(pretty.data);
    free(generic.data);
    mem_free(proto.data);
}

TEST(reading_a_text_or_a_message_takes_at_most_ten_times_its_bytes)
{
#if SANITIZED_ADDRESS
    SKIP("the sanitizer's memory counts too");
#endif
    check_forms();
}

/* An artifact says an instruction in some 15 to 25 bytes, where its types and names have been said
 * once: what it declares is what the text of the program says of each. */
static void check_artifact(const char *name)
{
    struct bytes file, text;
    struct hlo_module *m;
    struct arena a;
    const char *path;
    struct err e;

    arena_init(&a);
    path = arena_printf(&a, "tests/import/data/programs/%s.mlirbc", name);
    file.data = program_file_read(path, &file.count);
    m = program_read(path, &a, &e);
    assert_non_null(m);
    text = printed(m, false);
    program_free(m);
    check(name, file, text.count, 5);
    free(file.data);
    free(text.data);
    arena_fini(&a);
}

TEST(reading_an_artifact_takes_at_most_five_times_its_bytes_and_what_they_declare)
{
    static const char *const names[] = {"vit_flax", "diffusion_unet", "llama_block", "gpt_block"};

#if SANITIZED_ADDRESS
    SKIP("the sanitizer's memory counts too");
#endif
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        check_artifact(names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_a_text_or_a_message_takes_at_most_ten_times_its_bytes),
        cmocka_unit_test(reading_an_artifact_takes_at_most_five_times_its_bytes_and_what_they_declare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
