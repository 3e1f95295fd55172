/*
 * Any snapshot file opens or gives an error; what opens can be saved and put
 * back, and nothing is read or written out of bounds on the way.
 *
 * An input is assembly text, a NUL, and changes to the snapshot of a machine
 * that runs it on chip tiny: u16 cycle of the pause; then u24 place, u8 new
 * byte each, after which checksum and size are mended. The snapshot is not
 * compressed, so that a place means something. An input that begins with the
 * magic of snapshots is one itself, mended likewise.
 */
#include "base/arena.h"
#include "isa/asm.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/round_trip.h"

#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *bytes, size_t size)
{
    uint64_t size_there = size;
    uint32_t crc;

    if (size < SNAPSHOT_HEADER_BYTES)
        return;
    memcpy(bytes + SNAPSHOT_SIZE_AT, &size_there, sizeof(size_there));
    crc = (uint32_t)crc32_z(0, bytes, SNAPSHOT_CRC_AT);
    crc = (uint32_t)crc32_z(crc, bytes + SNAPSHOT_HEADER_BYTES, size - SNAPSHOT_HEADER_BYTES);
    memcpy(bytes + SNAPSHOT_CRC_AT, &crc, sizeof(crc));
}

/* the same program on every core of a tiny, paused; NULL when the text is none */
static struct machine *paused_machine(const char *text, size_t length, cycle_t cycle,
                                      struct arena *a)
{
    static struct isa_errors errors;
    const struct machine_options options = {.thread_count = 1, .simd = "c",
                                            .cycle_limit = 1000000};
    struct isa_program *p = arena_alloc(a, sizeof(*p));
    struct machine *m;
    struct slice slice;
    struct chip chip;
    struct err e;

    if (isa_assemble(text, length, "input", a, p, &errors)
        || slice_parse(&slice, "tiny", &e) || chip_load_builtin(&chip, "tiny", NULL, a, &e))
        return NULL;
    m = machine_create(&slice, &chip, &options, &e);
    for (int i = 0; i < machine_core_count(m); i++)
        if (machine_load(m, i, p, &e)) {
            machine_destroy(m);
            return NULL;
        }
    machine_start(m);
    machine_advance(m, cycle);
    return m;
}

static void check_round_trip(struct machine *m)
{
    struct bytes once = {0}, twice = {0};
    struct err e;

    machine_save(m, &once);
    if (machine_restore(m, once.data, once.size, &e))
        fuzz_fail("what was restored and saved is refused", e.msg);
    machine_save(m, &twice);
    if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0)
        fuzz_fail("restoring changes what is saved", "");
    mem_free(once.data);
    mem_free(twice.data);
}

/* machines of other chips than tiny may be large */
static void check_snapshot(const uint8_t *bytes, size_t size)
{
    const struct machine_options options = {.thread_count = 1, .simd = "c"};
    struct err e = {.msg = ""};
    struct machine *m = NULL;
    struct snapshot s;
    struct arena a;

    arena_init(&a);
    if (snapshot_parse(bytes, size, "snapshot", &a, &s, &e) == 0) {
        if (strncmp(s.slice.name, "tiny", 4) != 0 || s.slice.chip_count > 2) {
            arena_fini(&a);
            return;
        }
        m = snapshot_open(&s, &options, &e);
    }
    if (m)
        check_round_trip(m);
    else if (e.msg[0] == '\0')
        fuzz_fail("a snapshot is refused without a message", "");
    machine_destroy(m);
    arena_fini(&a);
}

static void change(struct bytes *b, const uint8_t *data, size_t size)
{
    for (; size >= 4; data += 4, size -= 4) {
        size_t place = data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;

        b->data[place % b->size] = data[3];
    }
    mend(b->data, b->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = 0;
    struct bytes b = {0};
    struct machine *m;
    struct arena a;

    check_snapshot(data, size);
    while (length < size && data[length] != '\0')
        length++;
    if (size >= 4 && memcmp(data, "SYSN", 4) == 0) {
        bytes_append(&b, data, size);
        mend(b.data, b.size);
        check_snapshot(b.data, b.size);
        mem_free(b.data);
        return 0;
    }
    if (size < length + 3)
        return 0;
    arena_init(&a);
    m = paused_machine((const char *)data, length, data[length + 1] | data[length + 2] << 8, &a);
    if (m) {
        snapshot_bytes(m, "input", 0, &b);
        change(&b, data + length + 3, size - length - 3);
        check_snapshot(b.data, b.size);
    }
    machine_destroy(m);
    mem_free(b.data);
    arena_fini(&a);
    return 0;
}
