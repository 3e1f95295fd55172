/*
 * Any file of records is read to its end or to an error; passing over a record leads to where
 * reading it leads; whole records written again are the bytes they were read from.
 *
 * The first byte of an input chooses: 0 plain, 1 gzip, 2 zlib, 3 plain with its checksums mended
 * before, 4 lines, 5 records of 3 bytes between 2 and 1.
 */
#include "base/archive.h"
#include "base/arena.h"
#include "data/crc32c.h"
#include "data/record.h"
#include "tests/rigs/round_trip.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum choice { PLAIN, GZIP, ZLIB, MENDED, LINES, FIXED, CHOICE_COUNT };

static const struct data_fixed fixed = {.header_bytes = 2, .record_bytes = 3, .footer_bytes = 1};

static void set_crc(uint8_t *at, const uint8_t *of, size_t bytes)
{
    uint32_t crc = crc32c_masked(of, bytes);

    memcpy(at, &crc, sizeof(crc));
}

/* lengths are cut to two bytes, so that several records fit */
static void mend(uint8_t *file, size_t size)
{
    for (size_t at = 0; at + 16 <= size;) {
        size_t length = file[at] | (size_t)(file[at + 1] & 1) << 8;

        file[at + 1] &= 1;
        memset(file + at + 2, 0, 6);
        set_crc(file + at + 8, file + at, 8);
        if (at + 16 + length > size)
            return;
        set_crc(file + at + 12 + length, file + at + 12, length);
        at += 16 + length;
    }
}

static struct stream *open_bytes(uint8_t *file, size_t size, enum choice c, struct err *e)
{
    FILE *from = fmemopen(file, size, "rb");

    if (!from)
        fuzz_fail("fmemopen", "");
    return stream_of(from, "input", c == GZIP ? DATA_COMPRESSION_GZIP
                                    : c == ZLIB ? DATA_COMPRESSION_ZLIB
                                    : DATA_COMPRESSION_NONE, e);
}

static void write_again(struct bytes *to, const unsigned char *record, int64_t size)
{
    uint8_t head[12], tail[4];
    uint64_t length = (uint64_t)size;

    memcpy(head, &length, sizeof(length));
    set_crc(head + 8, head, 8);
    set_crc(tail, record, (size_t)size);
    bytes_append(to, head, sizeof(head));
    bytes_append(to, record, (size_t)size);
    bytes_append(to, tail, sizeof(tail));
}

static void check_bytes(const struct bytes *again, const uint8_t *file, size_t size)
{
    if (again->size > size || (again->size && memcmp(again->data, file, again->size) != 0))
        fuzz_fail("records written again differ", "");
}

/* reads one and passes over one, side by side */
static void walk(uint8_t *file, size_t size, enum choice c, const struct record_format *format)
{
    struct err e = {.msg = ""};
    struct record_place read = {.stream = open_bytes(file, size, c, &e), .options = &fixed};
    struct record_place over = {.stream = open_bytes(file, size, c, &e), .options = &fixed};
    struct bytes again = {0};
    int status = read.stream && over.stream ? 1 : 0;

    while (status > 0) {
        const unsigned char *record;
        int64_t length, unread;

        e.msg[0] = '\0';
        status = format->next(&read, &record, &length, &e);
        if (status < 0 && !e.msg[0])
            fuzz_fail("refused without a message", "");
        if (status <= 0)
            break;
        if ((c == PLAIN || c == MENDED))
            write_again(&again, record, length);
        if (format->next(&over, NULL, &unread, &e) != 1 ||
            stream_offset(over.stream) != stream_offset(read.stream))
            fuzz_fail("passing over leads elsewhere", format->name);
        read.offset = over.offset = stream_offset(read.stream);
        read.number = ++over.number;
    }
    check_bytes(&again, file, size);
    mem_free(again.data);
    stream_close(read.stream);
    stream_close(over.stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum choice c = size > 0 ? (enum choice)(data[0] % CHOICE_COUNT) : PLAIN;
    uint8_t *file;

    if (size < 2)
        return 0;
    file = mem_alloc(size);
    memcpy(file, data + 1, size - 1);
    if (c == MENDED)
        mend(file, size - 1);
    walk(file, size - 1, c, c == LINES ? &line_format : c == FIXED ? &fixed_format
                                                                   : &tfrecord_format);
    mem_free(file);
    return 0;
}
