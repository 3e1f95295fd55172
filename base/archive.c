/*
 * Saves and loads structures by tables of their fields: one walk serves both directions, and
 * memory that is mostly zero is stored as the blocks that are not.
 */
#include "base/archive.h"

#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK_BYTES ((size_t)4096)
#define TIME_MOST (INT64_MAX / 2)

void bytes_append(struct bytes *b, const void *from, size_t size)
{
    if (size == 0)
        return;
    b->data = mem_grow(b->data, &b->capacity, b->size + size, 1);
    memcpy(b->data + b->size, from, size);
    b->size += size;
}

void archive_check(struct archive *a, bool holds, const char *fmt, ...)
{
    char msg[sizeof(a->e->msg)];
    va_list ap;

    if (holds || a->is_failed || !archive_is_loading(a))
        return;
    a->is_failed = true;
    va_start(ap, fmt);
    text_print_args(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    err_set(a->e, "%s", msg);
}

void archive_bytes(struct archive *a, void *p, size_t bytes)
{
    if (!archive_is_loading(a)) {
        bytes_append(a->out, p, bytes);
        return;
    }
    archive_check(a, bytes <= (size_t)(a->end - a->at),
                  "the snapshot ends %zu bytes early", bytes - (size_t)(a->end - a->at));
    if (a->is_failed || bytes == 0)
        return;
    memcpy(p, a->at, bytes);
    a->at += bytes;
}

static bool is_allowed(const unsigned char *p, const struct field *f)
{
    int64_t time;

    if (f->kind == FIELD_BOOL)
        for (size_t i = 0; i < f->bytes; i++)
            if (p[i] > 1)
                return false;
    if (f->kind == FIELD_TIME)
        for (size_t i = 0; i < f->bytes; i += sizeof(time)) {
            memcpy(&time, p + i, sizeof(time));
            if (time < -TIME_MOST - 1 || time > TIME_MOST)
                return false;
        }
    return true;
}

void archive_fields(struct archive *a, const struct field *field, size_t count, void *p)
{
    for (size_t i = 0; i < count; i++) {
        const struct field *f = &field[i];

        if (f->kind == FIELD_APART)
            continue;
        if (archive_is_loading(a) && f->bytes <= (size_t)(a->end - a->at))
            archive_check(a, is_allowed(a->at, f), "the snapshot has an impossible %s", f->name);
        archive_bytes(a, (char *)p + f->offset, f->bytes);
    }
}

void archive_times(struct archive *a, int64_t *time, size_t count)
{
    const struct field f = {"time", 0, count * sizeof(*time), FIELD_TIME};

    archive_fields(a, &f, 1, time);
}

size_t archive_count(struct archive *a, size_t count, size_t elem_bytes)
{
    uint64_t n = count;

    archive_bytes(a, &n, sizeof(n));
    archive_check(a, n <= (size_t)(a->end - a->at) / elem_bytes,
                  "the snapshot ends before the last of %llu elements", (unsigned long long)n);
    return a->is_failed ? 0 : (size_t)n;
}

void archive_blob(struct archive *a, const void **p, size_t *size)
{
    *size = archive_count(a, *size, 1);
    if (!archive_is_loading(a)) {
        bytes_append(a->out, *p, *size);
        return;
    }
    *p = a->is_failed ? NULL : a->at;
    if (!a->is_failed)
        a->at += *size;
}

void archive_text(struct archive *a, const char **text)
{
    size_t size = archive_is_loading(a) ? 0 : strlen(*text) + 1;
    const void *p = *text;

    archive_blob(a, &p, &size);
    archive_check(a, size > 0 && memchr(p, '\0', size) == (const char *)p + size - 1,
                  "the snapshot has a text without an end");
    *text = a->is_failed ? "" : p;
}

bool archive_is_zero(const void *p, size_t bytes)
{
    const unsigned char *from = p;
    uint64_t word[8], any = 0;

    for (; bytes >= sizeof(word) && any == 0; bytes -= sizeof(word), from += sizeof(word)) {
        memcpy(word, from, sizeof(word));
        any = (word[0] | word[1]) | (word[2] | word[3])
              | ((word[4] | word[5]) | (word[6] | word[7]));
    }
    if (any)
        return false;
    for (; bytes > 0; bytes--)
        any |= *from++;
    return any == 0;
}

static size_t block_bytes(size_t at, size_t bytes)
{
    return bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
}

/* per block that is not zero its number, then its bytes; UINT32_MAX at the end */
static void save_sparse(struct archive *a, const unsigned char *p, size_t bytes)
{
    uint32_t number = 0;

    for (size_t at = 0; at < bytes; at += BLOCK_BYTES, number++) {
        size_t size = block_bytes(at, bytes);

        if (archive_is_zero(p + at, size))
            continue;
        bytes_append(a->out, &number, sizeof(number));
        bytes_append(a->out, p + at, size);
    }
    number = UINT32_MAX;
    bytes_append(a->out, &number, sizeof(number));
}

/* memory that nobody has touched stays so: what is zero is not written */
static void clear(unsigned char *p, size_t from, size_t to, size_t bytes)
{
    for (size_t at = from; at < to && at < bytes; at += BLOCK_BYTES) {
        size_t size = block_bytes(at, bytes);

        if (!archive_is_zero(p + at, size))
            memset(p + at, 0, size);
    }
}

static void load_sparse(struct archive *a, unsigned char *p, size_t bytes)
{
    size_t next = 0;                    /* behind the last block that was there */
    uint32_t number;

    for (;;) {
        number = UINT32_MAX;
        archive_bytes(a, &number, sizeof(number));
        if (a->is_failed || number == UINT32_MAX)
            break;
        archive_check(a, number * BLOCK_BYTES >= next && number * BLOCK_BYTES < bytes,
                      "the snapshot has block %u of an array of %zu bytes", (unsigned)number,
                      bytes);
        if (a->is_failed)
            break;
        clear(p, next, number * BLOCK_BYTES, bytes);
        archive_bytes(a, p + number * BLOCK_BYTES, block_bytes(number * BLOCK_BYTES, bytes));
        next = (number + 1) * BLOCK_BYTES;
    }
    clear(p, next, bytes, bytes);
}

void archive_sparse(struct archive *a, void *p, size_t bytes)
{
    if (archive_is_loading(a))
        load_sparse(a, p, bytes);
    else
        save_sparse(a, p, bytes);
}

uint32_t archive_table_crc(uint32_t crc, const struct field *field, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct field *f = &field[i];
        const uint32_t about[2] = {(uint32_t)f->bytes, (uint32_t)f->kind};

        if (f->kind == FIELD_APART)
            continue;
        crc = (uint32_t)crc32_z(crc, (const Bytef *)f->name, strlen(f->name) + 1);
        crc = (uint32_t)crc32_z(crc, (const Bytef *)about, sizeof(about));
    }
    return crc;
}

int64_t archive_unpacked_max(int64_t packed_bytes)
{
    const char *own = getenv("SYSTOLE_UNPACK_BYTES");
    int64_t bytes;

    if (own && text_parse_bytes(own, 0, INT64_MAX, &bytes) == 0)
        return bytes;
    return later(GIB, 64 * packed_bytes);
}
