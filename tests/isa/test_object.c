/* Object files: do they give back the program, is every damage found? */
#include "base/rng.h"
#include "base/units.h"
#include "isa/asm.h"
#include "isa/disasm.h"
#include "isa/file.h"
#include "isa/object.h"
#include "tests/generate/isa_samples.h"
#include "tests/test.h"

#include <unistd.h>
#include <zlib.h>

static const char text[] =
    ".note first\nstart:\n"
    "{ v1 = vld [vmem:s3 + 0x18] ss:2 sm:3 ;; p1 = scmp.lt.s32.totalorder s1, -1 }\n"
    "{ }\n.note second\n"
    "loop: { v2 = vpop.f32.mrf.mxu1 ;; sbr.rel (!p1) target = loop }\n{ shalt }\n";

static struct arena arena;
static char path[64];

static int set_up(void **state)
{
    int fd;

    (void)state;
    arena_init(&arena);
    snprintf(path, sizeof(path), "/tmp/systole_object_XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    arena_fini(&arena);
    return 0;
}

static struct isa_program sample_program(void)
{
    struct isa_errors errors;
    struct isa_program p;

    if (isa_assemble(text, strlen(text), "t.tasm", &arena, &p, &errors))
        fail_msg("%s", errors.err[0].msg);
    return p;
}

static uint8_t *written(const struct isa_program *p, size_t *size)
{
    uint8_t *bytes = NULL;
    struct err e;

    if (isa_object_write(p, path, &e) || isa_file_read(path, &arena, &bytes, size, &e))
        fail_msg("%s", e.msg);
    return bytes;
}

/* size and checksum made right again, so that the reader looks deeper */
static void mend(uint8_t *bytes, size_t size)
{
    uint32_t crc;

    if (size < ISA_OBJECT_HEADER_BYTES)
        return;
    crc = (uint32_t)crc32_z(0, bytes + 16, size - 16);
    for (int i = 0; i < 4; i++) {
        bytes[ISA_OBJECT_SIZE_AT + i] = (uint8_t)(size >> (8 * i));
        bytes[ISA_OBJECT_CRC_AT + i] = (uint8_t)(crc >> (8 * i));
    }
}

TEST(object_file_gives_back_the_whole_program)
{
    struct isa_program p = sample_program(), back;
    uint8_t *bytes;
    size_t size;
    struct err e;

    assert_int_equal(isa_object_write(&p, path, &e), 0);
    assert_int_equal(isa_file_read(path, &arena, &bytes, &size, &e), 0);
    assert_int_equal(isa_object_parse(bytes, size, path, &arena, &back, &e), 0);
    assert_string_equal(back.name, "t.tasm");
    assert_int_equal(back.op_count, p.op_count);
    assert_int_equal(back.bundle_count, 4);
    for (uint32_t i = 0; i < p.op_count; i++)
        assert_same_op(&p.op[i], &back.op[i]);
    for (uint32_t b = 0; b < p.bundle_count; b++) {
        assert_int_equal(back.bundle[b].first_op, p.bundle[b].first_op);
        assert_int_equal(back.bundle[b].op_count, p.bundle[b].op_count);
        assert_int_equal(back.bundle[b].line, p.bundle[b].line);
        assert_int_equal(back.bundle[b].note, p.bundle[b].note);
    }
    assert_int_equal(back.symbol_count, 2);
    assert_string_equal(back.symbol[1].name, "loop");
    assert_int_equal(back.symbol[1].bundle, 2);
    assert_int_equal(back.note_count, 2);
    assert_string_equal(back.note[1], "second");
}

TEST(missing_and_unwritable_files_are_named)
{
    struct isa_program p = sample_program();
    uint8_t *bytes;
    size_t size;
    struct err e;

    assert_int_equal(isa_file_read("/nowhere/x.syso", &arena, &bytes, &size, &e), -1);
    assert_string_equal(e.file, "/nowhere/x.syso");
    assert_non_null(strstr(e.msg, "cannot open"));
    assert_int_equal(isa_object_write(&p, "/nowhere/x.syso", &e), -1);
    assert_non_null(strstr(e.msg, "cannot write"));
}

TEST(every_truncation_is_refused)
{
    struct isa_program p = sample_program(), out;
    size_t size;
    uint8_t *bytes = written(&p, &size);
    struct err e;

    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = mem_alloc(cut + 1);

        memcpy(copy, bytes, cut);
        assert_int_equal(isa_object_parse(copy, cut, "f", &arena, &out, &e), -1);
        mend(copy, cut);
        assert_int_equal(isa_object_parse(copy, cut, "f", &arena, &out, &e), -1);
        mem_free(copy);
    }
}

/* what the reader accepts must be fit for printing */
TEST(mutated_objects_never_crash)
{
    struct isa_program p = sample_program(), out;
    size_t size;
    uint8_t *bytes = written(&p, &size);
    FILE *sink = fopen("/dev/null", "w");
    int accepted = 0, refused = 0;
    struct rng r;

    assert_non_null(sink);
    rng_init(&r, 2);
    for (int round = 0; round < 5000; round++) {
        uint8_t *copy = mem_alloc(size);
        uint32_t flips = 1 + rng_below(&r, 3);
        struct err e;

        memcpy(copy, bytes, size);
        for (uint32_t i = 0; i < flips; i++)
            copy[16 + rng_below(&r, (uint32_t)size - 16)] ^= (uint8_t)(1u << rng_below(&r, 8));
        mend(copy, size);
        if (isa_object_parse(copy, size, "f", &arena, &out, &e)) {
            assert_true(e.msg[0] != '\0');
            refused++;
        } else {
            isa_print_program(&out, sink);
            accepted++;
        }
        mem_free(copy);
    }
    fclose(sink);
    assert_true(accepted > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(object_file_gives_back_the_whole_program, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(missing_and_unwritable_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_truncation_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mutated_objects_never_crash, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
