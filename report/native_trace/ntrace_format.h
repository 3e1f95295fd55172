/*
 * Inside report/native_trace/ntrace_*.c: the file format (docs/native_trace.md) and its numbers.
 * Whatever is read is checked; whatever does not fit ends the chunk it is in.
 */
#ifndef REPORT_NTRACE_FORMAT_H
#define REPORT_NTRACE_FORMAT_H
#include "base/arena.h"
#include "report/native_trace/ntrace_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NTRACE_MAGIC "SYSTRACE"
#define NTRACE_VERSION 1u               /* what this program writes */
#define NTRACE_NEEDS 1u                 /* a reader must know at least this version */
#define NTRACE_HEADER_BYTES 24          /* magic, u32 version, u32 needs, u32 CRC-32, u32 0 */
#define NTRACE_CHUNK_MAGIC "SYCK"
#define NTRACE_CHUNK_BYTES 48           /* the header before each payload */
#define NTRACE_TRAILER_MAGIC "SYSTEND\n"
#define NTRACE_TRAILER_BYTES 24         /* u64 offset of the index, u32 its CRC, u32 0, magic */
#define NTRACE_ENTRY_BYTES 40           /* of the index, per chunk */
#define NTRACE_TIME_MOST ((int64_t)1 << 60)
#define NTRACE_LEVEL_MAX 16             /* of cells: the widest has 64 * 8^15 cycles */

enum ntrace_chunk_kind {
    CHUNK_META = 1,                     /* JSON: what ran on what */
    CHUNK_PROGRAM,                      /* an object file; stream: its number */
    CHUNK_OPS,                          /* table of operations of a program */
    CHUNK_CORES,                        /* which programs each core runs */
    CHUNK_LAUNCH,                       /* JSON; the last of a launch counts */
    CHUNK_STATS,                        /* stats.json */
    CHUNK_TOTALS,                       /* JSON: records kept and left out; the last counts */
    CHUNK_RECORDS, CHUNK_DMAS, CHUNK_HBM, CHUNK_LINKS,
    CHUNK_CORE_CELLS, CHUNK_DMA_CELLS, CHUNK_HBM_CELLS, CHUNK_LINK_CELLS, CHUNK_NOTE_CELLS,
    CHUNK_INDEX,                        /* all chunks before it */
    CHUNK_LISTING,                      /* JSON: ntrace_listing.h */
    CHUNK_KIND_COUNT
};

struct ntrace_chunk_head {
    uint8_t kind, level;                /* level: of cells */
    uint32_t stream;                    /* core, chip, link, program, launch */
    uint32_t count;                     /* records or cells */
    uint32_t bytes, crc;                /* of the payload */
    cycle_t first, last;                /* what it tells about lies in first..last - 1 */
};
void ntrace_chunk_pack(const struct ntrace_chunk_head *h, uint8_t to[NTRACE_CHUNK_BYTES]);
/* false when these bytes are no header of a chunk */
bool ntrace_chunk_unpack(const uint8_t from[NTRACE_CHUNK_BYTES], struct ntrace_chunk_head *h);
void ntrace_entry_pack(const struct ntrace_chunk_head *h, uint64_t offset,
                       uint8_t to[NTRACE_ENTRY_BYTES]);
void ntrace_entry_unpack(const uint8_t from[NTRACE_ENTRY_BYTES], struct ntrace_chunk_head *h,
                         uint64_t *offset);
void ntrace_put_le(uint8_t *to, uint64_t value, int bytes);
uint64_t ntrace_get_le(const uint8_t *from, int bytes);
uint32_t ntrace_crc_of(const void *bytes, size_t size);
uint32_t ntrace_crc_more(uint32_t crc, const void *bytes, size_t size);

/* ---- writing: a buffer with room made beforehand ---- */

struct ntrace_buf {
    uint8_t *data;
    size_t size, capacity;
};
void ntrace_buf_grow(struct ntrace_buf *b, size_t room);

static inline void ntrace_buf_reserve(struct ntrace_buf *b, size_t room)
{
    if (b->capacity - b->size < room)
        ntrace_buf_grow(b, room);
}

static inline void ntrace_put_byte(struct ntrace_buf *b, unsigned value)
{
    b->data[b->size++] = (uint8_t)value;
}

#define VARINT_MAX 10
static inline void ntrace_put_varint(struct ntrace_buf *b, uint64_t value)
{
    uint8_t *at = b->data + b->size;

    while (value >= 128) {
        *at++ = (uint8_t)(value | 128);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    b->size = (size_t)(at - b->data);
}

static inline void ntrace_put_signed(struct ntrace_buf *b, int64_t value)
{
    ntrace_put_varint(b, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* ---- reading: behind the end, and after the first mistake, everything is 0 ---- */

struct ntrace_cursor {
    const uint8_t *at, *end;
    bool is_bad;
};

static inline unsigned ntrace_get_byte(struct ntrace_cursor *c)
{
    if (c->at == c->end) {
        c->is_bad = true;
        return 0;
    }
    return *c->at++;
}

uint64_t ntrace_get_varint_long(struct ntrace_cursor *c);
static inline uint64_t ntrace_get_varint(struct ntrace_cursor *c)
{
    if (c->at != c->end && *c->at < 128)
        return *c->at++;
    return ntrace_get_varint_long(c);
}

static inline int64_t ntrace_get_signed(struct ntrace_cursor *c)
{
    uint64_t v = ntrace_get_varint(c);

    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}
/* in lo..hi, else the cursor goes bad and lo is returned */
int64_t ntrace_get_within(struct ntrace_cursor *c, int64_t value, int64_t lo, int64_t hi);

/*
 * What `x` of `length` cycles have of `value`, which goes over all of them
 * evenly: differences of it at borders add up exactly.
 */
static inline int64_t ntrace_share_of(int64_t value, cycle_t x, cycle_t length)
{
    __extension__ typedef __int128 wide;

    return x == length ? value : (int64_t)((wide)value * x / length);
}
#endif
