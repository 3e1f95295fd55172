/* Damaged and foreign object files: is each refused for the reason that holds? */
#include "base/units.h"
#include "isa/asm.h"
#include "isa/file.h"
#include "isa/object.h"
#include "tests/test.h"

#include <ctype.h>
#include <unistd.h>
#include <zlib.h>

static const char text[] =
    ".note first\nstart: middle:\n{ v1 = vadd.f32 v2, v3 ;; shalt (p1) }\n"
    ".note second\nend:\n{ vrot.lane.b32.xlu0 v1, s1 }\n";

/* where a table of the file begins */
enum part { HEADER, OP0, OP1, OP2, BUNDLES, SYMBOLS, NOTES, STRINGS, END, PART_COUNT };

struct object {
    uint8_t *bytes;
    size_t size, at[PART_COUNT];
};

/*
 * `value` is written over `width` bytes at `offset` from a part's beginning. In
 * the message %z is the size of the file, %o the highest operation code.
 */
static const struct {
    enum part part;
    int offset, width;
    uint32_t value;
    bool keeps_checksum;                /* else it is made to fit */
    const char *msg;
} cases[] = {
    { HEADER, 0, 1, 'X', false, "not an object file: it does not begin with \"SYSO\"" },
    { HEADER, 4, 4, 1, false,
      "object file of version 1, this program reads 2: assemble its text again" },
    { HEADER, 4, 4, 3, false,
      "object file of version 3, this program reads 2: assemble its text again" },
    { HEADER, 8, 4, 7, false, "object file of %z bytes says it has 7" },
    { HEADER, ISA_OBJECT_TABLE_AT, 4, 0, false,
      "object file of another table of operations than this program's: assemble its text again" },
    { HEADER, 12, 4, 0, true, "damaged object file: checksum 0x%c, expected 0x00000000" },
    { HEADER, 16, 4, 1000, false, "object file of %z bytes holds at least %n by its counts" },
    { HEADER, 16, 4, 2, false, "tables of the object file do not fill it exactly" },
    { HEADER, 20, 4, 1, false, "tables of the object file do not fill it exactly" },
    { HEADER, 32, 4, 0, false, "strings of the object file do not end in NUL" },
    { END, -1, 1, 'x', false, "strings of the object file do not end in NUL" },
    { HEADER, 36, 4, 500, false, "string at 500 lies outside the %s bytes of strings" },
    { OP0, 0, 2, 0xffff, false, "operation 0: code 65535 (0..%o)" },
    { OP0, 2, 1, 14, false, "operation 0: vadd.f32: guard p14 (p0..p13)" },
    { OP0, 2, 1, 0x80 | 15, false, "operation 0: vadd.f32: guard !p15 (p0..p13)" },
    { OP0, 3, 1, 1, false, "operation 0: vadd.f32: unit 1 (0..0)" },
    { OP2, 3, 1, 8, false, "operation 2: vrot.lane.b32: unit 8 (0..7)" },
    { OP0, 4, 1, 2, false, "operation 0: vadd.f32: 2 operands, it takes 3" },
    { OP0, 6, 4, 64, false, "operation 0: vadd.f32: operand o0 is no vector register" },
    { OP0, 10, 1, 3, false,
      "operation 0: vadd.f32: operand o1 is no vector register or immediate" },
    { OP2, 10, 1, 0x80 | 1, false,
      "operation 2: vrot.lane.b32: operand o1 is no scalar register or immediate" },
    { BUNDLES, 0, 2, 17, false, "bundle 0 has 17 operations (0..16, 3 in all)" },
    { BUNDLES, 0, 2, 4, false, "bundle 0 has 4 operations (0..16, 3 in all)" },
    { BUNDLES, 10, 2, 0, false, "bundles hold 2 of 3 operations" },
    { BUNDLES, 6, 4, 3, false, "bundle 0 has note 3 of 2" },
    { SYMBOLS, 0, 4, 1000, false, "string at 1000 lies outside the %s bytes of strings" },
    { SYMBOLS, 4, 4, 2, false, "symbol 0 names bundle 2 of 2" },
    { SYMBOLS, 4, 4, 1, false,
      "symbol 1 names bundle 0, the one before it 1: they go by bundle" },
    { NOTES, 4, 4, 99, false, "string at 99 lies outside the %s bytes of strings" },
};

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static void put(uint8_t *to, int width, uint32_t value)
{
    for (int i = 0; i < width; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void find_parts(struct object *o, const struct isa_program *p)
{
    uint8_t encoded[ISA_ENCODED_MAX];
    size_t at = ISA_OBJECT_HEADER_BYTES;

    o->at[HEADER] = 0;
    for (int i = 0; i < 3; i++) {
        o->at[OP0 + i] = at;
        at += isa_encode(&p->op[i], encoded);
    }
    o->at[BUNDLES] = at;
    o->at[SYMBOLS] = at + 2 * 10;
    o->at[NOTES] = o->at[SYMBOLS] + 3 * 8;
    o->at[STRINGS] = o->at[NOTES] + 2 * 4;
    o->at[END] = o->size;
    assert_memory_equal(o->bytes + o->at[STRINGS], "t.tasm", 7);
}

static struct object good_object(void)
{
    char path[] = "/tmp/systole_object_XXXXXX";
    struct object o = { NULL, 0, { 0 } };
    struct isa_errors errors;
    struct isa_program p;
    struct err e;

    close(mkstemp(path));
    assert_int_equal(isa_assemble(text, strlen(text), "t.tasm", &arena, &p, &errors), 0);
    assert_int_equal(isa_object_write(&p, path, &e), 0);
    assert_int_equal(isa_file_read(path, &arena, &o.bytes, &o.size, &e), 0);
    unlink(path);
    find_parts(&o, &p);
    return o;
}

static void mend(uint8_t *bytes, size_t size)
{
    put(bytes + ISA_OBJECT_CRC_AT, 4, (uint32_t)crc32_z(0, bytes + 16, size - 16));
}

/* the message with its marks filled in */
static const char *expected(const char *msg, const struct object *o)
{
    char out[400];
    size_t length = 0;

    for (; *msg; msg++) {
        char *to = out + length;
        size_t room = sizeof(out) - length;

        if (*msg != '%') {
            out[length++] = *msg;
            continue;
        }
        switch (*++msg) {
        case 'z': snprintf(to, room, "%zu", o->size); break;
        case 'o': snprintf(to, room, "%d", OP_COUNT - 1); break;
        case 's': snprintf(to, room, "%zu", o->size - o->at[STRINGS]); break;
        case 'c': snprintf(to, room, "%08lx", crc32_z(0, o->bytes + 16, o->size - 16)); break;
        default:        /* 'n': 1000 operations of at least 5 bytes instead of ours */
            snprintf(to, room, "%zu", o->size - (o->at[BUNDLES] - o->at[OP0]) + 5000);
        }
        length += strlen(to);
    }
    out[length] = '\0';
    return arena_strdup(&arena, out);
}

TEST(every_damage_is_named)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct object o = good_object();
        struct isa_program p;
        struct err e;

        put(o.bytes + o.at[cases[i].part] + cases[i].offset, cases[i].width, cases[i].value);
        if (!cases[i].keeps_checksum)
            mend(o.bytes, o.size);
        assert_int_equal(isa_object_parse(o.bytes, o.size, "f.syso", &arena, &p, &e), -1);
        assert_string_equal(e.file, "f.syso");
        assert_int_equal(e.line, 0);
        assert_string_equal(e.msg, expected(cases[i].msg, &o));
    }
}

TEST(cut_files_are_named)
{
    struct object o = good_object();
    struct isa_program p;
    struct err e;

    assert_int_equal(isa_object_parse(o.bytes, 3, "f", &arena, &p, &e), -1);
    assert_string_equal(e.msg, "not an object file: it does not begin with \"SYSO\"");
    assert_int_equal(isa_object_parse(o.bytes, 20, "f", &arena, &p, &e), -1);
    assert_string_equal(e.msg, "truncated object file: 20 bytes, the header alone has 44");
    assert_int_equal(isa_object_parse(o.bytes, o.size - 1, "f", &arena, &p, &e), -1);
    assert_string_equal(e.msg, expected(arena_printf(&arena, "object file of %zu bytes says it "
                                                     "has %%z", o.size - 1), &o));
}

TEST(fifteen_different_damages_are_told_apart)
{
    static char seen[COUNT_OF(cases)][200];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t length = 0, k = 0;

        for (const char *c = cases[i].msg; *c && length < 199; c++) {
            if (!isdigit((unsigned char)*c))
                seen[count][length++] = *c;
        }
        seen[count][length] = '\0';
        while (strcmp(seen[k], seen[count]) != 0)
            k++;
        count += k == count;
    }
    print_message("%zu different damages in %zu object files\n", count, COUNT_OF(cases));
    assert_true(count >= 15);
}

TEST(good_object_is_accepted)
{
    struct object o = good_object();
    struct isa_program p;
    struct err e;

    assert_int_equal(get32(o.bytes + 4), ISA_OBJECT_VERSION);
    assert_int_equal(isa_object_parse(o.bytes, o.size, "f", &arena, &p, &e), 0);
    assert_string_equal(p.symbol[1].name, "middle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_damage_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fifteen_different_damages_are_told_apart, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(good_object_is_accepted, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
