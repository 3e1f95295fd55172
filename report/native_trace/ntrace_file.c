/*
 * The chunks of a trace: found through the index at its end, or, where that is
 * missing, from header to header; read when they are wanted.
 */
#include "report/native_trace/ntrace_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_MOST 20
#define CACHE_BYTES ((size_t)128 << 20)
#define PAYLOAD_MOST ((uint32_t)1 << 28)
#define SEARCH_BYTES ((size_t)64 << 10)

void ntrace_add_note(struct ntrace *t, const char *format, ...)
{
    char text[400];
    va_list ap;

    if (t->note_count > NOTES_MOST)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (t->note_count == NOTES_MOST)
        snprintf(text, sizeof(text), "more could not be read");
    MEM_ADD(t->note, t->note_count, t->note_capacity) = arena_strdup(&t->arena, text);
}

size_t ntrace_note_count(const struct ntrace *t) { return t->note_count; }

const char *ntrace_note(const struct ntrace *t, size_t index)
{
    return index < t->note_count ? t->note[index] : "";
}

static bool read_at(struct ntrace *t, uint64_t offset, void *to, size_t bytes)
{
    uint8_t *at = to;

    while (bytes) {
        ssize_t n = pread(t->fd, at, bytes, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            t->read_code = errno;
        if (n <= 0)
            return false;
        at += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

/* ---- payloads in memory ---- */

static void unlink_loaded(struct ntrace *t, struct ntrace_loaded *l)
{
    *(l->newer ? &l->newer->older : &t->newest) = l->older;
    *(l->older ? &l->older->newer : &t->oldest) = l->newer;
    l->newer = l->older = NULL;
}

static void link_newest(struct ntrace *t, struct ntrace_loaded *l)
{
    l->older = t->newest;
    *(t->newest ? &t->newest->newer : &t->oldest) = l;
    t->newest = l;
}

static void throw_out(struct ntrace *t, struct ntrace_loaded *l)
{
    unlink_loaded(t, l);
    t->loaded_bytes -= l->bytes;
    l->chunk->loaded = NULL;
    if (l->index)
        l->forget_index(l->index);
    mem_free(l->data);
    mem_free(l);
}

static void keep_within_bound(struct ntrace *t)
{
    struct ntrace_loaded *l = t->oldest;

    while (l && t->loaded_bytes > CACHE_BYTES) {
        struct ntrace_loaded *next = l->newer;

        if (l->use_count == 0)
            throw_out(t, l);
        l = next;
    }
}

void ntrace_tell_bad(struct ntrace *t, struct ntrace_chunk *c, const char *why)
{
    if (!c->is_bad)
        ntrace_add_note(t, "a chunk of kind %d at byte %llu (cycles %lld to %lld) is left out: %s",
                        c->head.kind, (unsigned long long)c->offset, (long long)c->head.first,
                        (long long)c->head.last, why);
    c->is_bad = true;
}

static uint8_t *read_payload(struct ntrace *t, struct ntrace_chunk *c)
{
    uint8_t head_bytes[NTRACE_CHUNK_BYTES], *data;
    struct ntrace_chunk_head head;

    if (!read_at(t, c->offset, head_bytes, sizeof(head_bytes))
        || !ntrace_chunk_unpack(head_bytes, &head) || head.kind != c->head.kind
        || head.bytes != c->head.bytes || head.stream != c->head.stream) {
        ntrace_tell_bad(t, c, "the index points to something else");
        return NULL;
    }
    data = mem_alloc((size_t)head.bytes + 1);
    if (read_at(t, c->offset + NTRACE_CHUNK_BYTES, data, head.bytes)
        && ntrace_crc_of(data, head.bytes) == head.crc)
        return data;
    ntrace_tell_bad(t, c, "its checksum does not agree");
    mem_free(data);
    return NULL;
}

struct ntrace_loaded *ntrace_use(struct ntrace *t, struct ntrace_chunk *c)
{
    struct ntrace_loaded *l = c->loaded;
    uint8_t *data;

    if (l) {
        unlink_loaded(t, l);
    } else {
        data = c->is_bad ? NULL : read_payload(t, c);
        if (!data)
            return NULL;
        l = mem_alloc(sizeof(*l));
        *l = (struct ntrace_loaded){.chunk = c, .data = data, .bytes = c->head.bytes + sizeof(*l)};
        c->loaded = l;
        t->loaded_bytes += l->bytes;
    }
    link_newest(t, l);
    l->use_count++;
    keep_within_bound(t);
    return l;
}

void ntrace_keep_index(struct ntrace *t, struct ntrace_loaded *l, void *index,
                       void (*forget_index)(void *index), size_t bytes)
{
    l->index = index;
    l->forget_index = forget_index;
    l->bytes += bytes;
    t->loaded_bytes += bytes;
}

void ntrace_unuse(struct ntrace *t, struct ntrace_loaded *l)
{
    (void)t;
    l->use_count--;
}

/* ---- finding chunks ---- */

static bool is_plausible(const struct ntrace *t, const struct ntrace_chunk_head *h, uint64_t offset)
{
    return h->kind < CHUNK_KIND_COUNT && h->kind != CHUNK_INDEX && h->bytes <= PAYLOAD_MOST
           && offset <= t->file_bytes && h->bytes + NTRACE_CHUNK_BYTES <= t->file_bytes - offset
           && h->first >= 0 && h->last >= h->first && h->last <= NTRACE_TIME_MOST;
}

static void add_chunk(struct ntrace *t, const struct ntrace_chunk_head *h, uint64_t offset)
{
    struct ntrace_chunk *c = arena_alloc(&t->arena, sizeof(*c));

    *c = (struct ntrace_chunk){.head = *h, .offset = offset};
    MEM_ADD(t->chunk, t->chunk_count, t->chunk_capacity) = c;
}

static void tell_unknown(struct ntrace *t, const struct ntrace_chunk_head *h)
{
    if (h->kind >= CHUNK_KIND_COUNT)
        ntrace_add_note(t, "a part of kind %d, which this program does not know, is left out",
                        h->kind);
}

/* the index at the end of a file that was closed: true when it is whole */
static bool read_index(struct ntrace *t)
{
    uint8_t trailer[NTRACE_TRAILER_BYTES], head_bytes[NTRACE_CHUNK_BYTES], *entries;
    struct ntrace_chunk_head index, h;
    uint64_t at, offset;
    bool is_whole;

    if (t->file_bytes < NTRACE_HEADER_BYTES + NTRACE_CHUNK_BYTES + NTRACE_TRAILER_BYTES
        || !read_at(t, t->file_bytes - sizeof(trailer), trailer, sizeof(trailer))
        || memcmp(trailer + 16, NTRACE_TRAILER_MAGIC, 8) != 0)
        return false;
    at = ntrace_get_le(trailer, 8);
    if (at > t->file_bytes - NTRACE_CHUNK_BYTES - NTRACE_TRAILER_BYTES ||
        !read_at(t, at, head_bytes, sizeof(head_bytes)) ||
        !ntrace_chunk_unpack(head_bytes, &index) || index.kind != CHUNK_INDEX ||
        index.bytes != t->file_bytes - at - NTRACE_CHUNK_BYTES - NTRACE_TRAILER_BYTES)
        return false;
    entries = mem_alloc((size_t)index.bytes + 1);
    is_whole = read_at(t, at + NTRACE_CHUNK_BYTES, entries, index.bytes)
               && ntrace_crc_of(entries, index.bytes) == index.crc;
    for (size_t i = 0; is_whole && i + NTRACE_ENTRY_BYTES <= index.bytes;
         i += NTRACE_ENTRY_BYTES) {
        ntrace_entry_unpack(entries + i, &h, &offset);
        tell_unknown(t, &h);
        if (is_plausible(t, &h, offset))
            add_chunk(t, &h, offset);
    }
    mem_free(entries);
    t->indexed_to = is_whole ? t->file_bytes : t->indexed_to;
    return is_whole;
}

/* behind something damaged: where the next header is; the file's end where there is none */
static uint64_t find_header(struct ntrace *t, uint64_t from)
{
    uint8_t *block = mem_alloc(SEARCH_BYTES + NTRACE_CHUNK_BYTES);
    struct ntrace_chunk_head h;
    uint64_t found = t->file_bytes;

    for (; found == t->file_bytes && from + NTRACE_CHUNK_BYTES <= t->file_bytes;
         from += SEARCH_BYTES) {
        uint64_t left = t->file_bytes - from;
        size_t bytes = left < SEARCH_BYTES + NTRACE_CHUNK_BYTES
                       ? (size_t)left : SEARCH_BYTES + NTRACE_CHUNK_BYTES, i;

        if (!read_at(t, from, block, bytes))
            break;
        for (i = 0; i + NTRACE_CHUNK_BYTES <= bytes && found == t->file_bytes; i++)
            if (block[i] == NTRACE_CHUNK_MAGIC[0] && ntrace_chunk_unpack(block + i, &h))
                found = from + i;
    }
    mem_free(block);
    return found;
}

/* from header to header, up to the first that is not all there yet */
static void scan(struct ntrace *t)
{
    uint8_t bytes[NTRACE_CHUNK_BYTES];
    struct ntrace_chunk_head h;
    uint64_t at = t->indexed_to;

    while (at + NTRACE_CHUNK_BYTES <= t->file_bytes && read_at(t, at, bytes, sizeof(bytes))) {
        if (!ntrace_chunk_unpack(bytes, &h)) {
            uint64_t next = find_header(t, at + 1);

            if (next >= t->file_bytes)
                break;
            ntrace_add_note(t, "%llu bytes from byte %llu on are damaged and left out",
                            (unsigned long long)(next - at), (unsigned long long)at);
            at = next;
            continue;
        }
        if (h.bytes > t->file_bytes - at - NTRACE_CHUNK_BYTES)
            break;
        tell_unknown(t, &h);
        if (is_plausible(t, &h, at))
            add_chunk(t, &h, at);
        at += NTRACE_CHUNK_BYTES + h.bytes;
    }
    t->indexed_to = at;
}

static int compare_chunks(const void *x, const void *y)
{
    const struct ntrace_chunk *a = *(struct ntrace_chunk *const *)x,
                              *b = *(struct ntrace_chunk *const *)y;

    if (a->head.kind != b->head.kind)
        return a->head.kind < b->head.kind ? -1 : 1;
    if (a->head.level != b->head.level)
        return a->head.level < b->head.level ? -1 : 1;
    if (a->head.stream != b->head.stream)
        return a->head.stream < b->head.stream ? -1 : 1;
    if (a->head.first != b->head.first)
        return a->head.first < b->head.first ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_of_group(const struct ntrace_group *g, const struct ntrace_chunk *c)
{
    return g->kind == c->head.kind && g->level == c->head.level && g->stream == c->head.stream;
}

static void make_groups(struct ntrace *t)
{
    struct ntrace_group *g = NULL;

    if (t->chunk_count)
        qsort(t->chunk, t->chunk_count, sizeof(struct ntrace_chunk *), compare_chunks);
    t->group_count = 0;
    for (size_t i = 0; i < t->chunk_count; i++) {
        struct ntrace_chunk *c = t->chunk[i];

        if (!g || !is_of_group(g, c)) {
            g = &MEM_ADD(t->group, t->group_count, t->group_capacity);
            *g = (struct ntrace_group){.kind = c->head.kind, .level = c->head.level,
                                       .stream = c->head.stream, .chunk = &t->chunk[i]};
        }
        c->last_so_far = g->count ? later(g->chunk[g->count - 1]->last_so_far, c->head.last)
                                  : c->head.last;
        g->count++;
    }
}

static int compare_group(const struct ntrace_group *g, uint8_t kind, uint8_t level, uint32_t stream)
{
    if (g->kind != kind)
        return g->kind < kind ? -1 : 1;
    if (g->level != level)
        return g->level < level ? -1 : 1;
    return g->stream < stream ? -1 : g->stream > stream;
}

const struct ntrace_group *ntrace_group(const struct ntrace *t, enum ntrace_chunk_kind kind,
                                        int level, int64_t stream)
{
    size_t low = 0, high = t->group_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_group(&t->group[middle], (uint8_t)kind, (uint8_t)level,
                                  (uint32_t)stream);

        if (order == 0)
            return &t->group[middle];
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return NULL;
}

size_t ntrace_first_chunk(const struct ntrace_group *g, cycle_t from)
{
    size_t low = 0, high = g->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        *(g->chunk[middle]->last_so_far < from ? &low : &high) =
            g->chunk[middle]->last_so_far < from ? middle + 1 : middle;
    }
    return low;
}

/* ---- open, follow, close ---- */

static int check_header(struct ntrace *t, struct err *e)
{
    uint8_t header[NTRACE_HEADER_BYTES];
    uint32_t needs;

    if (t->file_bytes < sizeof(header) || !read_at(t, 0, header, sizeof(header))
        || memcmp(header, NTRACE_MAGIC, 8) != 0)
        return err_at(e, t->path, 0, 0, t->file_bytes == 0 ? "the file is empty"
                      : "not a .strace: it does not begin with \"" NTRACE_MAGIC "\"");
    t->info.version = NTRACE_VERSION;
    t->indexed_to = NTRACE_HEADER_BYTES;
    if (ntrace_get_le(header + 16, 4) != ntrace_crc_of(header, 16)) {
        ntrace_add_note(t, "the header is damaged; taken to be of version %u", NTRACE_VERSION);
        return 0;
    }
    t->info.version = (int)(ntrace_get_le(header + 8, 4) & INT32_MAX);
    needs = (uint32_t)ntrace_get_le(header + 12, 4);
    if (needs > NTRACE_VERSION)
        return err_at(e, t->path, 0, 0, "a trace of version %d, which a program must know"
                      " version %u to read; this one knows version %u", t->info.version,
                      (unsigned)needs, NTRACE_VERSION);
    if (t->info.version > (int)NTRACE_VERSION)
        ntrace_add_note(t, "the trace is of version %d, this program knows version %u: what is"
                        " new is left out", t->info.version, NTRACE_VERSION);
    return 0;
}

static int read_all(struct ntrace *t, struct err *e)
{
    if (check_header(t, e))
        return -1;
    t->info.is_complete = read_index(t);
    if (!t->info.is_complete) {
        scan(t);
        t->open_note = t->note_count;
        ntrace_add_note(t, "the trace was not closed: its run goes on, or was cut short");
    }
    make_groups(t);
    return ntrace_describe(t, e);
}

static bool take_size(struct ntrace *t)
{
    struct stat st;

    if (fstat(t->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    t->file_bytes = (uint64_t)st.st_size;
    return true;
}

int ntrace_check_reads(const struct ntrace *t, struct err *e)
{
    return t->read_code ? err_at(e, t->path, 0, 0, "cannot be read: %s", strerror(t->read_code)) : 0;
}

struct ntrace *ntrace_open(const char *path, struct err *e)
{
    struct ntrace *t = mem_alloc(sizeof(*t));

    arena_init(&t->arena);
    t->path = arena_strdup(&t->arena, path);
    t->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (t->fd < 0)
        err_at(e, path, 0, 0, "cannot read: %s", strerror(errno));
    else if (!take_size(t))
        err_at(e, path, 0, 0, "cannot read: not a regular file");
    else if (read_all(t, e) == 0 && ntrace_check_reads(t, e) == 0)
        return t;
    ntrace_close(t);
    return NULL;
}

int ntrace_refresh(struct ntrace *t, struct err *e)
{
    uint64_t before = t->indexed_to;
    uint8_t magic[8] = {0};

    if (t->info.is_complete)
        return 0;
    if (!take_size(t))
        return err_at(e, t->path, 0, 0, "cannot read: %s", strerror(errno));
    scan(t);
    t->info.is_complete = read_at(t, t->file_bytes - sizeof(magic), magic, sizeof(magic))
                          && memcmp(magic, NTRACE_TRAILER_MAGIC, sizeof(magic)) == 0;
    if (t->info.is_complete)
        memmove(t->note + t->open_note, t->note + t->open_note + 1,
                (--t->note_count - t->open_note) * sizeof(*t->note));
    if (t->indexed_to == before)
        return 0;
    make_groups(t);
    return ntrace_describe(t, e) ? -1 : 1;
}

void ntrace_close(struct ntrace *t)
{
    if (!t)
        return;
    while (t->newest)
        throw_out(t, t->newest);
    if (t->fd >= 0)
        close(t->fd);
    mem_free(t->note);
    mem_free(t->chunk);
    mem_free(t->group);
    mem_free(t->merged);
    arena_fini(&t->arena);
    mem_free(t);
}
