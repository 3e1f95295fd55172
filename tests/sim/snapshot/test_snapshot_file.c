/*
 * Snapshots as files: is nothing else needed to go on, and does everything
 * that is no snapshot give a message?
 */
#include "base/archive.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* two programs, a listing's core among them, on a chip with a parameter of its own */
static const char sender[] = "start: { s1 = smov 3 ;; v1 = vld [vmem:0x8] }\n{ v2 = vadd.f32 v1, v1 }\n"
    "{ vst [vmem:0x0] v2 }\n{ dma.vmem_to_vmem.remote 0, 256, 64, [sflag:1], [sflag:2], 1 }\n"
    "{ vdelay 50 }\n{ dma.done.wait [sflag:2], 256 }\n{ vsyncadd [sflag:2], -256 }\n{ shalt }\n";
static const char receiver[] = "{ dma.done.wait [sflag:1], 256 }\n{ vsyncadd [sflag:1], -256 }\n"
    "{ v3 = vld [vmem:0x4] }\n{ vst [vmem:0x40] v3 }\n{ shalt }\n";
static const struct rig_options options = {.set = {"dma.core_gbps=7.0000000000000009"},
                                           .cycle_limit = 5000};

static void open_pair(struct rig *r, cycle_t at)
{
    static float data[2048];
    struct err e;

    for (int i = 0; i < 2048; i++)
        data[i] = (float)i;
    rig_open(r, "tiny", &options);
    rig_load(r, 0, sender);
    assert_int_equal(machine_load_listing(r->m, 1, rig_assemble(r, receiver), 0, &e), 0);
    assert_int_equal(machine_vmem_write(r->m, 0, 0, data, sizeof(data), &e), 0);
    machine_start(r->m);
    machine_advance(r->m, at);
}

static void image_of(struct rig *r, cycle_t at, int level, struct bytes *b)
{
    open_pair(r, at);
    snapshot_bytes(r->m, "the pair", level, b);
}

TEST(a_file_is_all_that_is_needed_to_go_on)
{
    char folder[] = "/tmp/systole_snapshot_XXXXXX", path[64];
    struct bytes end_state[2] = {{0}};
    struct machine_options own = {.thread_count = 2, .simd = "c"};
    struct snapshot s;
    struct machine *m;
    struct arena a;
    struct rig r;
    struct err e;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/pair.snap", folder);
    open_pair(&r, 30);
    assert_int_equal(snapshot_write(r.m, "the pair", path, &e), 0);
    machine_advance(r.m, CYCLE_NEVER);
    machine_save(r.m, &end_state[0]);
    machine_finish(r.m);

    arena_init(&a);
    if (snapshot_read(path, &a, &s, &e))
        fail_msg("%s", e.msg);
    assert_string_equal(s.title, "the pair");
    assert_int_equal(s.program_count, 2);
    assert_string_equal(s.program[0].symbol[0].name, "start");
    assert_int_equal(s.options.cycle_limit, 5000);
    m = snapshot_open(&s, &own, &e);
    if (!m)
        fail_msg("%s", e.msg);
    assert_true(machine_chip(m)->dma_core_gbps == r.chip.dma_core_gbps);
    assert_int_equal(machine_advance(m, CYCLE_NEVER), MACHINE_HALTED);
    machine_save(m, &end_state[1]);
    machine_finish(m);
    assert_int_equal(machine_cycles(m), machine_cycles(r.m));
    assert_int_equal(end_state[0].size, end_state[1].size);
    assert_int_equal(memcmp(end_state[0].data, end_state[1].data, end_state[0].size), 0);

    own.mode = MODE_TIMING;
    assert_null(snapshot_open(&s, &own, &e));
    assert_non_null(strstr(e.msg, "taken in mode both; this machine is in mode timing"));
    machine_destroy(m);
    arena_fini(&a);
    mem_free(end_state[0].data);
    mem_free(end_state[1].data);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    rig_close(&r);
}

/* the message for some bytes, "" when they are a snapshot */
static const char *message_for(const unsigned char *bytes, size_t size)
{
    static struct err e;
    struct snapshot s;
    struct arena a;
    int status;

    e = (struct err){.line = 0};
    arena_init(&a);
    status = snapshot_parse(bytes, size, "it", &a, &s, &e);
    assert_true(status == 0 || (e.msg[0] && strcmp(e.file, "it") == 0));
    arena_fini(&a);
    return status == 0 ? "" : e.msg;
}

static void expect(const unsigned char *bytes, size_t size, const char *part)
{
    const char *message = message_for(bytes, size);

    if (!strstr(message, part) || !*message)
        fail_msg("\"%s\" does not contain \"%s\"", message, part);
}

TEST(every_truncated_file_is_refused)
{
    struct bytes b = {0};
    struct rig r;

    image_of(&r, 30, 9, &b);
    assert_string_equal(message_for(b.data, b.size), "");
    expect(b.data, 0, "not a snapshot: it does not begin with \"SYSN\"");
    expect(b.data, 4, "truncated snapshot: 4 bytes, the header alone has 28");
    for (size_t size = SNAPSHOT_HEADER_BYTES; size < b.size; size += 1 + size / 50)
        expect(b.data, size, "says it has");
    expect(b.data, b.size - 1, "says it has");
    mem_free(b.data);
    rig_close(&r);
}

TEST(a_small_file_that_would_become_large_is_refused_unless_asked_for)
{
    struct bytes b = {0};
    struct rig r;

    image_of(&r, 30, 9, &b);
    setenv("SYSTOLE_UNPACK_BYTES", "1K", 1);
    expect(b.data, b.size, "allowed are 1024; SYSTOLE_UNPACK_BYTES");
    setenv("SYSTOLE_UNPACK_BYTES", "1G", 1);
    assert_string_equal(message_for(b.data, b.size), "");
    unsetenv("SYSTOLE_UNPACK_BYTES");
    assert_int_equal(archive_unpacked_max(3 << 20), INT64_C(1) << 30);
    assert_int_equal(archive_unpacked_max(INT64_C(1) << 30), INT64_C(1) << 36);
    mem_free(b.data);
    rig_close(&r);
}

TEST(every_flipped_bit_is_found)
{
    struct bytes b = {0};
    struct rig r;

    image_of(&r, 30, 9, &b);
    for (size_t i = 0; i < b.size; i += 1 + i / 100) {
        b.data[i] ^= (unsigned char)(1u << i % 8);
        if (message_for(b.data, b.size)[0] == '\0')
            fail_msg("bit %zu of byte %zu of %zu may be anything", i % 8, i, b.size);
        b.data[i] ^= (unsigned char)(1u << i % 8);
    }
    b.data[4] = 77;
    expect(b.data, b.size, "snapshot of version 77, this program reads 3");
    b.data[4] = SNAPSHOT_VERSION;
    b.data[b.size / 2] ^= 1;
    expect(b.data, b.size, "damaged snapshot: checksum 0x");
    mem_free(b.data);
    rig_close(&r);
}

/* checksum and size as they should be for what now is in the file */
static void mend(struct bytes *b)
{
    uint64_t size = b->size;
    uint32_t crc;

    memcpy(b->data + SNAPSHOT_SIZE_AT, &size, sizeof(size));
    crc = (uint32_t)crc32_z(0, b->data, SNAPSHOT_CRC_AT);
    crc = (uint32_t)crc32_z(crc, b->data + SNAPSHOT_HEADER_BYTES, b->size - SNAPSHOT_HEADER_BYTES);
    memcpy(b->data + SNAPSHOT_CRC_AT, &crc, sizeof(crc));
}

TEST(contents_that_are_not_what_the_header_says_are_refused)
{
    static const char part[] = "damaged snapshot: its contents are not the ";
    struct bytes b = {0};
    struct rig r;

    image_of(&r, 30, 9, &b);
    b.data[16]++;                       /* bytes of the contents */
    mend(&b);
    expect(b.data, b.size, part);
    b.data[23] = 0x7f;
    mend(&b);
    expect(b.data, b.size, part);
    b.data[23] = 0;
    b.data[16]--;
    bytes_append(&b, "x", 1);
    mend(&b);
    expect(b.data, b.size, part);
    b.size -= 20;
    mend(&b);
    expect(b.data, b.size, part);
    mem_free(b.data);
    rig_close(&r);
}

/* in the uncompressed image of a file, `from` becomes `to` */
static void expect_with(const char *from, const char *to, size_t size, const char *part)
{
    struct bytes b = {0};
    size_t i = SNAPSHOT_HEADER_BYTES;
    struct rig r;

    image_of(&r, 30, 0, &b);
    while (i + size <= b.size && memcmp(b.data + i, from, size) != 0)
        i++;
    assert_true(i + size <= b.size);
    memcpy(b.data + i, to, size);
    mend(&b);
    expect(b.data, b.size, part);
    mem_free(b.data);
    rig_close(&r);
}

TEST(what_a_file_says_of_its_machine_is_checked)
{
    expect_with("the pair", "the pair\1", 9, "a text without an end");
    expect_with("tiny\0", "tinz\0", 5, "tinz");
    expect_with("mxu.count=1", "mxu.count=9", 11, "mxu.count: expected an integer in 1..8");
    expect_with("mxu.count=1", "mxu.cuont=1", 11, "its chip has no mxu.count");
    expect_with("SYSO", "SYSX", 4, "not an object file");
}

static void expect_damage(const struct bytes *b, struct machine *m, const char *part)
{
    struct err e = {.line = 0};

    assert_int_equal(machine_restore(m, b->data, b->size, &e), -1);
    if (!strstr(e.msg, part))
        fail_msg("\"%s\" does not contain \"%s\"", e.msg, part);
}

TEST(a_state_that_ends_early_or_late_leaves_a_machine_that_can_be_started)
{
    struct bytes b = {0};
    struct rig r;
    cycle_t cycles;

    open_pair(&r, 30);
    machine_save(r.m, &b);
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    machine_finish(r.m);
    cycles = machine_cycles(r.m);
    bytes_append(&b, "x", 1);
    expect_damage(&b, r.m, "the snapshot has 1 bytes too many");
    for (b.size -= 2; b.size > 0; b.size -= 1 + b.size / 40)
        expect_damage(&b, r.m, "the snapshot ");
    machine_start(r.m);
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    machine_finish(r.m);
    assert_int_equal(machine_cycles(r.m), cycles);
    mem_free(b.data);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_all_that_is_needed_to_go_on),
        cmocka_unit_test(every_truncated_file_is_refused),
        cmocka_unit_test(a_small_file_that_would_become_large_is_refused_unless_asked_for),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(contents_that_are_not_what_the_header_says_are_refused),
        cmocka_unit_test(what_a_file_says_of_its_machine_is_checked),
        cmocka_unit_test(a_state_that_ends_early_or_late_leaves_a_machine_that_can_be_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
