/*
 * Programs as HloModuleProto are those of their HLO text; broken bytes are refused; what is written
 * is read again as the same program.
 */
#define _GNU_SOURCE                     /* memmem */
#include "base/text.h"
#include "cli/hlo/hlo.h"
#include "import/hlo_proto/hlo_proto.h"
#include "import/hlo_text/hlo_text.h"
#include "import/read/read.h"
#include "tests/rigs/broken_bytes.h"
#include "tests/rigs/program_files.h"
#include "tests/test.h"

static struct hlo_module *read_path(const char *path, struct arena *a)
{
    struct err e = {.msg = ""};
    char buf[1000];
    struct hlo_module *m = program_read(path, a, &e);

    if (!m)
        fail_msg("%s", err_format(&e, buf, sizeof(buf)));
    return m;
}

/* ---- against text */

static void check_against_text(const char *path, const char *text_path)
{
    struct hlo_module *bytes, *text;
    struct err e = {.msg = ""};
    char buf[1000];
    struct arena a;

    arena_init(&a);
    bytes = read_path(path, &a);
    text = read_path(text_path, &a);
    if (hlo_verify(bytes, &e))
        fail_msg("%s", err_format(&e, buf, sizeof(buf)));
    if (hlo_print_diff(bytes, text))
        fail_msg("%s is not %s", path, text_path);
    assert_int_equal(bytes->alias_count, text->alias_count);
    assert_int_equal(bytes->computation_count, text->computation_count);
    program_free(bytes);
    program_free(text);
    arena_fini(&a);
}

TEST(bytes_are_the_program_that_their_text_is)
{
    struct program_files f;

    program_files_own(&f, "*.hlo.pb");
    assert_int_equal(f.count, 6);
    for (size_t i = 0; i < f.count; i++) {
        char text[1000];

        snprintf(text, sizeof(text), "%.*s.txt", (int)strlen(f.path[i]) - 3, f.path[i]);
        check_against_text(f.path[i], text);
    }
    program_files_end(&f);
}

TEST(samples_are_the_programs_that_their_texts_are)
{
    struct program_files f;

    program_files_samples(&f, "programs/*/*/program.hlo.pb*");
    if (f.count == 0)
        SKIP("no samples of programs");
    for (size_t i = 0; i < f.count; i++) {
        char text[1000];
        struct arena a;
        FILE *there;

        snprintf(text, sizeof(text), "%.*s.txt.gz", (int)(strstr(f.path[i], ".pb") - f.path[i]),
                 f.path[i]);
        there = fopen(text, "rb");
        if (there) {
            fclose(there);
            check_against_text(f.path[i], text);
            continue;
        }
        arena_init(&a);
        program_free(read_path(f.path[i], &a));
        arena_fini(&a);
    }
    program_files_end(&f);
}

/* ---- written */

static char *print_module(const struct hlo_module *m)
{
    const struct hlo_text_options o = {.no_metadata = false};
    char *text;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);

    hlo_text_print(m, to, &o);
    text_memory_end(to, &text);
    return text;
}

/* the first line in which they differ, for the message */
static void assert_same_text(const char *path, const char *a, const char *b)
{
    while (*a && *b) {
        size_t n = strcspn(a, "\n"), k = strcspn(b, "\n");

        if (n != k || memcmp(a, b, n) != 0)
            fail_msg("%s:\n%.*s\n%.*s", path, (int)(n < 1000 ? n : 1000), a,
                     (int)(k < 1000 ? k : 1000), b);
        a += n + (a[n] == '\n');
        b += k + (b[k] == '\n');
    }
    assert_int_equal(*a, *b);
}

/* Written once more, the bytes are the same. */
static void check_written_again(const struct hlo_module *m, const unsigned char *bytes,
                                size_t count, const char *path)
{
    struct err e = {.msg = ""};
    unsigned char *more;
    size_t more_count;

    if (hlo_proto_write(m, &more, &more_count, &e))
        fail_msg("%s: %s", path, e.msg);
    assert_int_equal(count, more_count);
    assert_memory_equal(bytes, more, count);
    mem_free(more);
}

/*
 * false: it has what the bytes do not have, and that is said. Text may leave out what bytes say, the
 * types of the entry; is_exact: this one does not.
 */
static bool check_written(const char *path, bool is_exact)
{
    struct hlo_module again;
    struct err e = {.msg = ""};
    unsigned char *bytes;
    struct hlo_module *m;
    char *before, *after;
    struct arena a;
    size_t count;
    int status;

    arena_init(&a);
    m = program_read(path, &a, &e);
    status = m && m->entry >= 0 ? hlo_proto_write(m, &bytes, &count, &e) : -1;
    if (status == 0) {
        assert_true(hlo_proto_is(bytes, count));
        if (hlo_proto_read(&again, bytes, count, path, &a, &e))
            fail_msg("%s: %s", path, e.msg);
        before = print_module(m);
        after = print_module(&again);
        if (is_exact)
            assert_same_text(path, before, after);
        else if (hlo_print_diff(m, &again))
            fail_msg("%s", path);
        check_written_again(&again, bytes, count, path);
        free(before);
        free(after);
        mem_free(bytes);
        hlo_module_fini(&again);
    } else {
        assert_string_not_equal(e.msg, "");
    }
    program_free(m);
    arena_fini(&a);
    return status == 0;
}

TEST(what_is_written_is_read_again_and_prints_the_same)
{
    struct program_files f;

    program_files_own(&f, "*.hlo.pb");
    for (size_t i = 0; i < f.count; i++)
        assert_true(check_written(f.path[i], true));
    program_files_end(&f);
    program_files_own(&f, "*.hlo.txt");
    for (size_t i = 0; i < f.count; i++)
        assert_true(check_written(f.path[i], true));
    program_files_end(&f);
}

/* Elements of a constant stand in the order of its layout. */
TEST(constants_keep_their_values_in_any_layout)
{
    static const char text[] = "HloModule m\nENTRY e {\n"
                               "  ROOT c = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}})\n}\n";
    static const int32_t values[6] = {1, 2, 3, 4, 5, 6};
    struct hlo_module *m, again;
    struct err e = {.msg = ""};
    unsigned char *bytes;
    struct arena a;
    size_t count;

    arena_init(&a);
    m = program_read_bytes(text, strlen(text), "text", &a, &e);
    assert_non_null(m);
    assert_int_equal(hlo_proto_write(m, &bytes, &count, &e), 0);
    /* field 4 of the literal: s32s, packed */
    assert_non_null(memmem(bytes, count, "\x22\x06\x01\x04\x02\x05\x03\x06", 8));
    assert_int_equal(hlo_proto_read(&again, bytes, count, "bytes", &a, &e), 0);
    assert_memory_equal(again.computation[0].instruction[0].literal->data, values, sizeof(values));
    assert_int_equal(again.computation[0].instruction[0].type->layout->minor_to_major.item[0], 0);
    mem_free(bytes);
    hlo_module_fini(&again);
    program_free(m);
    arena_fini(&a);
}

TEST(instructions_get_names_of_their_own_in_the_whole_module)
{
    static const char text[] = "HloModule m\nf {\n  p = s32[] parameter(0)\n"
                               "  ROOT r = s32[] negate(p)\n}\nENTRY e {\n"
                               "  p = s32[] parameter(0)\n"
                               "  ROOT r = s32[] call(p), to_apply=f\n}\n";
    struct hlo_module *m, again;
    struct err e = {.msg = ""};
    unsigned char *bytes;
    struct arena a;
    size_t count;

    arena_init(&a);
    m = program_read_bytes(text, strlen(text), "text", &a, &e);
    assert_non_null(m);
    assert_int_equal(hlo_proto_write(m, &bytes, &count, &e), 0);
    assert_int_equal(hlo_proto_read(&again, bytes, count, "bytes", &a, &e), 0);
    assert_string_equal(hlo_name(&again.computation[0].instruction[0]), "p");
    assert_string_not_equal(hlo_name(&again.computation[1].instruction[0]), "p");
    assert_string_not_equal(hlo_name(&again.computation[1].instruction[1]), "r");
    mem_free(bytes);
    hlo_module_fini(&again);
    program_free(m);
    arena_fini(&a);
}

static void check_frames(const struct hlo_module *m)
{
    const struct hlo_computation *c = &m->computation[m->entry];
    const struct hlo_place *in_frame = hlo_place_of(&c->instruction[1]);
    const struct hlo_place *own = hlo_place_of(&c->instruction[2]);

    assert_string_equal(in_frame->file, "/a/\"b\"/model.py");
    assert_int_equal(in_frame->line, 40);
    assert_int_equal(in_frame->end_col, 9);
    assert_string_equal(own->file, "own.py");
    assert_int_equal(own->line, 7);
    assert_null(hlo_place_of(&c->instruction[3])->file);
    assert_null(hlo_place_of(&c->instruction[4])->file);
}

TEST(frames_say_file_and_line_where_the_instruction_does_not)
{
    static const char text[] =
        "HloModule m\n\nFileNames\n1 \"other.py\"\n2 \"/a/\\\"b\\\"/model.py\"\n\nFunctionNames\n"
        "1 \"f\"\n\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=3 "
        "end_column=9}\n2 {file_name_id=2 function_name_id=1 line=40 end_line=41 column=3 "
        "end_column=9}\n3 {file_name_id=3 function_name_id=1 line=1 end_line=1 column=1 "
        "end_column=1}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
        "2 {file_location_id=2 parent_frame_id=2}\n3 {file_location_id=3 parent_frame_id=1}\n\n"
        "ENTRY %e (p: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n"
        "  %a = f32[] negate(%p), metadata={op_name=\"a\" stack_frame_id=2}\n"
        "  %b = f32[] negate(%a), metadata={source_file=\"own.py\" source_line=7 stack_frame_id=2}\n"
        "  %c = f32[] negate(%b), metadata={stack_frame_id=3}\n"
        "  ROOT %d = f32[] negate(%c), metadata={stack_frame_id=4}\n}\n";
    struct hlo_module *m, again;
    struct err e = {.msg = ""};
    unsigned char *bytes;
    struct arena a;
    size_t count;
    char *printed;

    arena_init(&a);
    m = program_read_bytes(text, strlen(text), "text", &a, &e);
    assert_non_null(m);
    check_frames(m);
    printed = print_module(m);
    assert_same_text("text", printed, text);
    free(printed);
    assert_int_equal(hlo_proto_write(m, &bytes, &count, &e), 0);
    assert_int_equal(hlo_proto_read(&again, bytes, count, "bytes", &a, &e), 0);
    check_frames(&again);
    assert_string_equal(again.tables, m->tables);
    mem_free(bytes);
    hlo_module_fini(&again);
    program_free(m);
    arena_fini(&a);
}

TEST(samples_are_written_and_read_again)
{
    static const char *const patterns[] = {"programs/*/*/program.hlo.pb*", "hlo/*.hlo",
                                           "programs/*/*/program.hlo.txt.gz",
                                           "hlo_tpu_optimized/*.txt"};
    struct program_files f;
    size_t all = 0, written = 0;

    for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
        program_files_samples(&f, patterns[p]);
        for (size_t i = 0; i < f.count; i++, all++)
            written += check_written(f.path[i], false);
        program_files_end(&f);
    }
    if (all == 0)
        SKIP("no samples of programs");
    printf("%zu of %zu written\n", written, all);
    assert_true(written > all / 2);
}

/* ---- broken bytes */

static int read_bytes(const void *data, size_t bytes, struct err *e)
{
    struct hlo_module m;
    struct arena a;
    int status;

    *e = (struct err){.msg = ""};
    arena_init(&a);
    status = hlo_proto_read(&m, data, bytes, "input", &a, e);
    hlo_module_fini(&m);
    arena_fini(&a);
    return status;
}

TEST(a_cut_module_is_no_program_or_lacks_what_was_cut)
{
    check_cut_files(read_bytes, "tests/import/data/images.hlo.pb", false);
}

TEST(changed_bytes_give_a_program_or_an_error)
{
    static const char *const path[] = {"tests/import/data/train_step.hlo.pb", "tests/import/data/control.hlo.pb",
                                        "tests/import/data/indices.hlo.pb", "tests/import/data/kinds.hlo.pb"};

    check_changed_files(read_bytes, path, 4, 2000);
}

/* field `id` of counted bytes around what is there already */
static size_t wrap(unsigned char *data, size_t count, int id)
{
    unsigned char head[12];
    size_t n = 0;

    head[n++] = (unsigned char)(id << 3 | 2);
    for (size_t left = count; left || n == 1; left >>= 7)
        head[n++] = (unsigned char)((left & 0x7f) | (left >> 7 ? 0x80 : 0));
    memmove(data + n, data, count);
    memcpy(data, head, n);
    return n + count;
}

TEST(messages_do_not_nest_without_end)
{
    static unsigned char data[100000];
    size_t count = 0;
    struct err e;

    for (int i = 0; i < 10000; i++)
        count = wrap(data, count, 4);           /* parts of a tuple's type */
    count = wrap(data, count, 2);               /* the result of the program's type */
    count = wrap(data, count, 4);
    memmove(data + 5, data, count);
    memcpy(data, "\x0a\x01m\x1a\x00", 5);       /* name, an empty computation */
    assert_int_equal(read_bytes(data, count + 5, &e), -1);
    assert_non_null(strstr(e.msg, "too deep"));
}

TEST(bytes_that_stand_for_far_more_memory_are_refused)
{
    size_t count = 8000000;
    unsigned char *data = malloc(count + 5);
    struct err e;

    memcpy(data, "\x0a\x01m\x1a\x00", 5);
    for (size_t i = 0; i < count; i += 2)
        memcpy(data + 5 + i, "\x1a\x00", 2);    /* empty computations */
    assert_int_equal(read_bytes(data, count + 5, &e), -1);
    assert_non_null(strstr(e.msg, "small messages"));
    free(data);
}

TEST(other_bytes_are_told_apart)
{
    assert_false(hlo_proto_is("\x0a\x04text", 6));
    assert_false(hlo_proto_is("HloModule m", 11));
    assert_true(hlo_proto_is("\x0a\x01m\x1a\x00", 5));
    assert_true(hlo_proto_is("\x0a\x05\x0a\x01m\x1a\x00", 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_the_program_that_their_text_is),
        cmocka_unit_test(samples_are_the_programs_that_their_texts_are),
        cmocka_unit_test(what_is_written_is_read_again_and_prints_the_same),
        cmocka_unit_test(constants_keep_their_values_in_any_layout),
        cmocka_unit_test(instructions_get_names_of_their_own_in_the_whole_module),
        cmocka_unit_test(frames_say_file_and_line_where_the_instruction_does_not),
        cmocka_unit_test(samples_are_written_and_read_again),
        cmocka_unit_test(a_cut_module_is_no_program_or_lacks_what_was_cut),
        cmocka_unit_test(changed_bytes_give_a_program_or_an_error),
        cmocka_unit_test(messages_do_not_nest_without_end),
        cmocka_unit_test(bytes_that_stand_for_far_more_memory_are_refused),
        cmocka_unit_test(other_bytes_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
