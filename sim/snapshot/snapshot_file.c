/*
 * Snapshot files: a header, and deflated behind it what the state belongs to
 * (title, slice, options, chip parameters, programs), then the state.
 */
#include "sim/snapshot/snapshot.h"

#include "base/outfile.h"
#include "isa/file.h"
#include "isa/object.h"
#include "sim/snapshot/snapshot_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_BYTES ((size_t)1 << 20)
#define RAW_DEFLATE (-15)

static const unsigned char magic[4] = {'S', 'Y', 'S', 'N'};

/* magic, u32 version, u64 bytes of the file, u64 of the contents inflated, u32 CRC-32 behind it */
struct header {
    unsigned char magic[4];
    uint32_t version;
    uint64_t file_bytes, content_bytes;
};

/* ---- what the state belongs to ---- */

/* "section.key=value", so that the number read is the number written */
static char *print_assignment(const struct chip *c, size_t index, char *buf, size_t buf_bytes)
{
    const struct chip_param *p = &chip_params[index];
    int length = snprintf(buf, buf_bytes, "%s.%s=", p->section, p->key);
    double real;

    if (p->kind != CHIP_REAL) {
        chip_print_param(c, index, buf + length, buf_bytes - (size_t)length);
        return buf;
    }
    memcpy(&real, (const char *)c + p->offset, sizeof(real));
    snprintf(buf + length, buf_bytes - (size_t)length, "%.17g", real);
    return buf;
}

static void archive_chip(struct snapshot *s, struct archive *a)
{
    const char *assignment[512];
    size_t length;
    char name[160];

    assert(chip_param_count <= COUNT_OF(assignment));
    for (size_t i = 0; i < chip_param_count && !a->is_failed; i++) {
        assignment[i] = print_assignment(&s->chip, i, name, sizeof(name));
        length = strcspn(name, "=") + 1;
        archive_text(a, &assignment[i]);
        archive_check(a, strncmp(assignment[i], name, length) == 0,
                      "the snapshot comes from another version of systole: its chip has no %.*s",
                      (int)length - 1, name);
    }
    if (!archive_is_loading(a) || a->is_failed)
        return;
    a->is_failed = chip_set_all(&s->chip, assignment, (int)chip_param_count, NULL, NULL, a->e);
}

static void archive_about(struct snapshot *s, struct archive *a)
{
    uint32_t mode = s->options.mode;
    uint8_t options[3] = {s->options.check_races, s->options.check_unwritten,
                          s->options.shared_hbm};
    const char *slice = s->slice.name;

    archive_text(a, &s->title);
    archive_text(a, &slice);
    archive_bytes(a, &mode, sizeof(mode));
    archive_bytes(a, options, sizeof(options));
    archive_times(a, &s->options.cycle_limit, 1);
    archive_check(a, mode <= MODE_FUNCTIONAL && s->options.cycle_limit >= 0,
                  "the snapshot is in mode %u", (unsigned)mode);
    if (!archive_is_loading(a) || a->is_failed)
        return;
    s->options.mode = (enum run_mode)mode;
    s->options.check_races = options[0] != 0;
    s->options.check_unwritten = options[1] != 0;
    s->options.shared_hbm = options[2] != 0;
    a->is_failed = slice_parse(&s->slice, slice, a->e)
                   || chip_load_builtin(&s->chip, s->slice.chip_name, NULL, NULL, a->e);
}

/* as object files, which check themselves */
static void archive_programs(struct snapshot *s, const char *file, struct arena *arena,
                             struct archive *a)
{
    size_t size = 0;
    const void *bytes = NULL;

    s->program_count = archive_count(a, s->program_count, ISA_OBJECT_HEADER_BYTES);
    if (archive_is_loading(a))
        s->program = arena_array(arena, s->program_count, sizeof(*s->program));
    for (size_t i = 0; i < s->program_count && !a->is_failed; i++) {
        uint8_t *made = archive_is_loading(a) ? NULL : isa_object_bytes(&s->program[i], &size);

        bytes = made;
        archive_blob(a, &bytes, &size);
        mem_free(made);
        if (archive_is_loading(a) && !a->is_failed)
            a->is_failed = isa_object_parse(bytes, size, file, arena, &s->program[i], a->e);
    }
}

static void archive_cores(struct snapshot *s, struct arena *arena, struct archive *a)
{
    size_t count = archive_count(a, (size_t)s->core_count, sizeof(*s->core));

    archive_check(a, count == (size_t)s->slice.chip_count * (size_t)s->chip.chip_cores,
                  "the snapshot has %zu cores in a %s", count, s->slice.name);
    if (a->is_failed)
        return;
    s->core_count = (int)count;
    if (archive_is_loading(a))
        s->core = arena_array(arena, count, sizeof(*s->core));
    for (size_t i = 0; i < count; i++) {
        archive_bytes(a, &s->core[i], sizeof(s->core[i]));
        archive_check(a, s->core[i].program <= s->program_count && s->core[i].is_listing <= 1
                         && s->core[i].branch_delay_bundles <= INT32_MAX,
                      "core %zu of the snapshot has program %u of %zu", i,
                      (unsigned)s->core[i].program, s->program_count);
    }
}

static void archive_contents(struct snapshot *s, const char *file, struct arena *arena,
                             struct archive *a)
{
    archive_about(s, a);
    if (!a->is_failed)
        archive_chip(s, a);
    if (archive_is_loading(a) && !a->is_failed)
        a->is_failed = slice_fit(&s->slice, &s->chip, a->e);
    if (!a->is_failed)
        archive_programs(s, file, arena, a);
    if (!a->is_failed)
        archive_cores(s, arena, a);
}

/* the machine's programs, each once, and who runs them */
static void describe(const struct machine *m, struct arena *arena, struct snapshot *s)
{
    s->slice = m->slice;
    s->chip = m->chip;
    s->options = m->options;
    s->program_count = m->program_count;
    s->program = arena_array(arena, m->program_count, sizeof(*s->program));
    for (size_t i = 0; i < m->program_count; i++)
        s->program[i] = *m->program[i]->source;
    s->core_count = m->core_count;
    s->core = arena_array(arena, (size_t)m->core_count, sizeof(*s->core));
    for (int core = 0; core < m->core_count; core++) {
        const struct core *c = &m->core[core];

        for (size_t i = 0; i < m->program_count; i++)
            if (c->program == m->program[i])
                s->core[core] = (struct snapshot_core){(uint32_t)i + 1, c->is_listing,
                                                       (uint32_t)c->branch_delay_bundles};
    }
}

/* ---- files ---- */

static void deflate_onto(struct bytes *out, const struct bytes *from, int level)
{
    z_stream z = {0};
    unsigned char *room = mem_alloc(CHUNK_BYTES);
    size_t done = 0;
    int status = deflateInit2(&z, level, Z_DEFLATED, RAW_DEFLATE, 8, Z_DEFAULT_STRATEGY);

    if (status != Z_OK)
        mem_exhausted(0);               /* zlib asks for nothing else */
    do {
        if (z.avail_in == 0 && done < from->size) {
            z.next_in = from->data + done;
            z.avail_in = (uInt)(from->size - done < CHUNK_BYTES ? from->size - done : CHUNK_BYTES);
            done += z.avail_in;
        }
        z.next_out = room;
        z.avail_out = (uInt)CHUNK_BYTES;
        status = deflate(&z, done == from->size ? Z_FINISH : Z_NO_FLUSH);
        bytes_append(out, room, CHUNK_BYTES - z.avail_out);
    } while (status != Z_STREAM_END);
    deflateEnd(&z);
    mem_free(room);
}

static uint32_t crc_of(const unsigned char *p, size_t size)
{
    uint32_t crc = (uint32_t)crc32_z(0, p, SNAPSHOT_CRC_AT);

    return (uint32_t)crc32_z(crc, p + SNAPSHOT_HEADER_BYTES, size - SNAPSHOT_HEADER_BYTES);
}

void snapshot_bytes(const struct machine *m, const char *title, int level, struct bytes *out)
{
    struct header h = {.version = SNAPSHOT_VERSION};
    struct snapshot s = {.title = title};
    struct bytes contents = {0};
    struct archive a = {.out = &contents};
    size_t start = out->size;
    struct arena arena;
    uint32_t crc = 0;

    arena_init(&arena);
    describe(m, &arena, &s);
    archive_contents(&s, "", &arena, &a);
    machine_save(m, &contents);
    arena_fini(&arena);
    memcpy(h.magic, magic, sizeof(magic));
    h.content_bytes = contents.size;
    bytes_append(out, &h, sizeof(h));
    bytes_append(out, &crc, sizeof(crc));
    deflate_onto(out, &contents, level);
    mem_free(contents.data);
    h.file_bytes = out->size - start;
    memcpy(out->data + start, &h, sizeof(h));
    crc = crc_of(out->data + start, out->size - start);
    memcpy(out->data + start + SNAPSHOT_CRC_AT, &crc, sizeof(crc));
}

int snapshot_write(const struct machine *m, const char *title, const char *path, struct err *e)
{
    struct bytes b = {0};
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    snapshot_bytes(m, title, 1, &b);
    fwrite(b.data, 1, b.size, f.to);
    mem_free(b.data);
    return outfile_commit(&f, e);
}

static int check_header(const unsigned char *bytes, size_t size, const char *file,
                        struct header *h, struct err *e)
{
    uint32_t crc;

    if (size < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
        return err_at(e, file, 0, 0, "not a snapshot: it does not begin with \"SYSN\"");
    if (size < SNAPSHOT_HEADER_BYTES)
        return err_at(e, file, 0, 0, "truncated snapshot: %zu bytes, the header alone has %d",
                      size, SNAPSHOT_HEADER_BYTES);
    memcpy(h, bytes, sizeof(*h));
    if (h->version != SNAPSHOT_VERSION)
        return err_at(e, file, 0, 0, "snapshot of version %u, this program reads %u",
                      (unsigned)h->version, SNAPSHOT_VERSION);
    if (h->file_bytes != size)
        return err_at(e, file, 0, 0, "snapshot of %zu bytes says it has %llu", size,
                      (unsigned long long)h->file_bytes);
    memcpy(&crc, bytes + SNAPSHOT_CRC_AT, sizeof(crc));
    if (crc != crc_of(bytes, size))
        return err_at(e, file, 0, 0, "damaged snapshot: checksum 0x%08x, expected 0x%08x",
                      (unsigned)crc_of(bytes, size), (unsigned)crc);
    return 0;
}

/* room is taken as contents come out, never for what the header says alone */
static int inflate_contents(const unsigned char *bytes, size_t size, uint64_t content_bytes,
                            struct bytes *out)
{
    unsigned char *room = mem_alloc(CHUNK_BYTES);
    z_stream z = {0};
    size_t done = 0;
    int status = inflateInit2(&z, RAW_DEFLATE);

    while (status == Z_OK && out->size <= content_bytes) {
        if (z.avail_in == 0 && done < size) {
            z.next_in = (unsigned char *)bytes + done;
            z.avail_in = (uInt)(size - done < CHUNK_BYTES ? size - done : CHUNK_BYTES);
            done += z.avail_in;
        }
        z.next_out = room;
        z.avail_out = (uInt)CHUNK_BYTES;
        status = inflate(&z, Z_NO_FLUSH);
        bytes_append(out, room, CHUNK_BYTES - z.avail_out);
    }
    done -= z.avail_in;
    inflateEnd(&z);
    mem_free(room);
    return status == Z_STREAM_END && out->size == content_bytes && done == size ? 0 : -1;
}

static int parse_contents(const struct bytes *contents, const char *file, struct arena *arena,
                          struct snapshot *s, struct err *e)
{
    struct archive a = {.e = e};

    a.at = arena_copy(arena, contents->data, contents->size, 1);
    a.end = a.at + contents->size;
    archive_contents(s, file, arena, &a);
    s->state = a.at;
    s->state_bytes = (size_t)(a.end - a.at);
    if (a.is_failed)
        snprintf(e->file, sizeof(e->file), "%s", file);
    return a.is_failed ? -1 : 0;
}

int snapshot_parse(const void *bytes, size_t size, const char *file, struct arena *a,
                   struct snapshot *s, struct err *e)
{
    const unsigned char *at = bytes;
    struct bytes contents = {0};
    struct header h;
    uint64_t most;
    bool is_whole;
    int status = -1;

    memset(s, 0, sizeof(*s));
    if (check_header(at, size, file, &h, e))
        return -1;
    most = (uint64_t)archive_unpacked_max((int64_t)size);
    is_whole = inflate_contents(at + SNAPSHOT_HEADER_BYTES, size - SNAPSHOT_HEADER_BYTES,
                                h.content_bytes < most ? h.content_bytes : most, &contents) == 0;
    if (contents.size > most)
        err_at(e, file, 0, 0, "a snapshot of %zu bytes becomes %llu, allowed are %llu; "
               ARCHIVE_UNPACK_ADVICE, size, (unsigned long long)h.content_bytes,
               (unsigned long long)most);
    else if (!is_whole || contents.size != h.content_bytes)
        err_at(e, file, 0, 0, "damaged snapshot: its contents are not the %llu bytes that it says",
               (unsigned long long)h.content_bytes);
    else
        status = parse_contents(&contents, file, a, s, e);
    mem_free(contents.data);
    return status;
}

int snapshot_read(const char *path, struct arena *a, struct snapshot *s, struct err *e)
{
    uint8_t *bytes;
    size_t size;

    return isa_file_read(path, a, &bytes, &size, e) || snapshot_parse(bytes, size, path, a, s, e)
               ? -1 : 0;
}

static int load_programs(const struct snapshot *s, struct machine *m, struct err *e)
{
    for (int i = 0; i < s->core_count; i++) {
        const struct snapshot_core *c = &s->core[i];

        if (c->program == 0)
            continue;
        if (c->is_listing
                ? machine_load_listing(m, i, &s->program[c->program - 1],
                                       (int)c->branch_delay_bundles, e)
                : machine_load(m, i, &s->program[c->program - 1], e))
            return -1;
    }
    return 0;
}

struct machine *snapshot_open(const struct snapshot *s, const struct machine_options *options,
                              struct err *e)
{
    struct machine_options o = *options;
    struct machine *m;

    o.mode = o.mode ? o.mode : s->options.mode;
    o.check_races |= s->options.check_races;
    o.check_unwritten |= s->options.check_unwritten;
    o.shared_hbm = s->options.shared_hbm;
    o.cycle_limit = o.cycle_limit ? o.cycle_limit : s->options.cycle_limit;
    m = machine_create(&s->slice, &s->chip, &o, e);
    if (m && (load_programs(s, m, e) || machine_restore(m, s->state, s->state_bytes, e))) {
        machine_destroy(m);
        return NULL;
    }
    return m;
}
