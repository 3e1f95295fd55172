/*
 * Encodes numbers, chunk headers and index entries of the trace file, with a CRC-32 each, and
 * decodes them with every check.
 */
#include "report/native_trace/ntrace_format.h"

#include <zlib.h>

#define HEAD_CRC_AT 40

void ntrace_put_le(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

uint64_t ntrace_get_le(const uint8_t *from, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

uint32_t ntrace_crc_more(uint32_t crc, const void *bytes, size_t size)
{
    return size ? (uint32_t)crc32_z(crc, bytes, size) : crc;
}

uint32_t ntrace_crc_of(const void *bytes, size_t size)
{
    return ntrace_crc_more(0, bytes, size);
}

/* kind, level, 0, stream, count, bytes, crc, first, last: 36 bytes in a header and in the index */
static void pack(const struct ntrace_chunk_head *h, uint8_t *to)
{
    ntrace_put_le(to, h->kind, 1);
    ntrace_put_le(to + 1, h->level, 1);
    ntrace_put_le(to + 2, 0, 2);
    ntrace_put_le(to + 4, h->stream, 4);
    ntrace_put_le(to + 8, h->count, 4);
    ntrace_put_le(to + 12, h->bytes, 4);
    ntrace_put_le(to + 16, (uint64_t)h->first, 8);
    ntrace_put_le(to + 24, (uint64_t)h->last, 8);
}

static void unpack(const uint8_t *from, struct ntrace_chunk_head *h)
{
    h->kind = from[0];
    h->level = from[1];
    h->stream = (uint32_t)ntrace_get_le(from + 4, 4);
    h->count = (uint32_t)ntrace_get_le(from + 8, 4);
    h->bytes = (uint32_t)ntrace_get_le(from + 12, 4);
    h->first = (cycle_t)ntrace_get_le(from + 16, 8);
    h->last = (cycle_t)ntrace_get_le(from + 24, 8);
}

void ntrace_chunk_pack(const struct ntrace_chunk_head *h, uint8_t to[NTRACE_CHUNK_BYTES])
{
    memcpy(to, NTRACE_CHUNK_MAGIC, 4);
    pack(h, to + 4);
    ntrace_put_le(to + 36, h->crc, 4);
    ntrace_put_le(to + HEAD_CRC_AT, ntrace_crc_of(to, HEAD_CRC_AT), 4);
    ntrace_put_le(to + 44, 0, 4);
}

bool ntrace_chunk_unpack(const uint8_t from[NTRACE_CHUNK_BYTES], struct ntrace_chunk_head *h)
{
    if (memcmp(from, NTRACE_CHUNK_MAGIC, 4) != 0
        || ntrace_get_le(from + HEAD_CRC_AT, 4) != ntrace_crc_of(from, HEAD_CRC_AT))
        return false;
    unpack(from + 4, h);
    h->crc = (uint32_t)ntrace_get_le(from + 36, 4);
    return true;
}

void ntrace_entry_pack(const struct ntrace_chunk_head *h, uint64_t offset,
                       uint8_t to[NTRACE_ENTRY_BYTES])
{
    pack(h, to);
    ntrace_put_le(to + 32, offset, 8);
}

void ntrace_entry_unpack(const uint8_t from[NTRACE_ENTRY_BYTES], struct ntrace_chunk_head *h,
                         uint64_t *offset)
{
    unpack(from, h);
    h->crc = 0;
    *offset = ntrace_get_le(from + 32, 8);
}

void ntrace_buf_grow(struct ntrace_buf *b, size_t room)
{
    b->data = mem_grow(b->data, &b->capacity, b->size + room, 1);
}

uint64_t ntrace_get_varint_long(struct ntrace_cursor *c)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        unsigned byte = ntrace_get_byte(c);

        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    c->is_bad = true;
    return 0;
}

int64_t ntrace_get_within(struct ntrace_cursor *c, int64_t value, int64_t lo, int64_t hi)
{
    if (value >= lo && value <= hi)
        return value;
    c->is_bad = true;
    return lo;
}
