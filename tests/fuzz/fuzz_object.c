/*
 * Any object file loads or gives an error; what loads is written back as the
 * same program, prints, and passes through the checks of every chip.
 *
 * An input is assembly text, a NUL, and changes to the object file made of it:
 * u16 place, u8 new byte each, after which checksum and size are mended. It so
 * outlives changes to the table of operations. An input that begins with the
 * magic of object files is one itself, mended likewise.
 */
#include "base/arena.h"
#include "isa/asm.h"
#include "isa/object.h"
#include "tests/rigs/round_trip.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void mend(uint8_t *bytes, size_t size, const uint8_t *good)
{
    if (size < ISA_OBJECT_HEADER_BYTES)
        return;
    put32(bytes + 4, ISA_OBJECT_VERSION);
    put32(bytes + ISA_OBJECT_SIZE_AT, (uint32_t)size);
    memcpy(bytes + ISA_OBJECT_TABLE_AT, good + ISA_OBJECT_TABLE_AT, 4);
    put32(bytes + ISA_OBJECT_CRC_AT, (uint32_t)crc32_z(0, bytes + 16, size - 16));
}

/* the object file of a text, with a size; NULL if the text does not assemble */
static uint8_t *object_of(const char *text, size_t length, size_t *size)
{
    static struct isa_errors errors;
    struct isa_program p;
    uint8_t *bytes = NULL;
    struct arena a;

    arena_init(&a);
    if (isa_assemble(text, length, "input", &a, &p, &errors) == 0)
        bytes = isa_object_bytes(&p, size);
    arena_fini(&a);
    return bytes;
}

static void check_object(const uint8_t *bytes, size_t size)
{
    struct isa_program p, again;
    const char *difference;
    uint8_t *written;
    size_t written_size;
    struct arena a;
    struct err e = { .msg = "" };

    arena_init(&a);
    if (isa_object_parse(bytes, size, "object", &a, &p, &e)) {
        if (e.msg[0] == '\0')
            fuzz_fail("an object is refused without a message", "");
        arena_fini(&a);
        return;
    }
    written = isa_object_bytes(&p, &written_size);
    if (isa_object_parse(written, written_size, "written", &a, &again, &e))
        fuzz_fail("what is written does not load", e.msg);
    difference = program_difference(&p, &again, SAME_ALL);
    if (difference)
        fuzz_fail("writing changes", difference);
    mem_free(written);
    if (p.bundle_count > 0)
        check_printing(&p, SAME_CODE);
    check_on_all_chips(&p);
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t text_length = 0, object_size, good_size;
    uint8_t *good = object_of("{ shalt }", 9, &good_size), *object;

    check_object(data, size);
    if (isa_object_is(data, size)) {
        object_size = size;
        object = memcpy(mem_alloc(size), data, size);
    } else {
        while (text_length < size && data[text_length] != '\0')
            text_length++;
        object = object_of((const char *)data, text_length, &object_size);
    }
    for (size_t at = text_length + 1; object && !isa_object_is(data, size) && at + 2 < size;
         at += 3) {
        size_t place = data[at] | (size_t)data[at + 1] << 8;

        object[place % object_size] = data[at + 2];
    }
    if (object) {
        mend(object, object_size, good);
        check_object(object, object_size);
    }
    mem_free(object);
    mem_free(good);
    return 0;
}
