/* Cuts files into records: TFRecord, lines of text, records of fixed size. */
#include "base/units.h"
#include "base/text.h"
#include "data/crc32c.h"
#include "data/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define LENGTH_BYTES 8
#define CRC_BYTES 4
#define RECORD_BYTES_MAX ((int64_t)1 << 40)

int record_fail(const struct record_place *p, struct err *e, const char *fmt, ...)
{
    char msg[400];
    va_list ap;

    va_start(ap, fmt);
    text_print_args(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    return err_at(e, stream_path(p->stream), 0, 0, "record %" PRId64 " at byte %" PRId64 ": %s",
                  p->number, p->offset, msg);
}

static uint32_t word_at(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* ---- TFRecord: length, its CRC, so many bytes, their CRC; all little-endian ---- */

static int tfrecord_length(struct record_place *p, int64_t *length, struct err *e)
{
    const unsigned char *head;
    int64_t got = stream_peek(p->stream, LENGTH_BYTES + CRC_BYTES, &head, e);
    uint32_t kept, is;
    uint64_t value;

    if (got <= 0)
        return (int)got;
    if (got < LENGTH_BYTES + CRC_BYTES)
        return record_fail(p, e, "truncated: its length and the checksum of that need %d bytes, %"
                           PRId64 " are there", LENGTH_BYTES + CRC_BYTES, got);
    kept = word_at(head + LENGTH_BYTES);
    is = crc32c_masked(head, LENGTH_BYTES);
    if (kept != is)
        return record_fail(p, e, "the length is damaged: checksum 0x%08" PRIx32 ", the file says "
                           "0x%08" PRIx32, is, kept);
    value = word_at(head) | (uint64_t)word_at(head + 4) << 32;
    if (value > (uint64_t)RECORD_BYTES_MAX)
        return record_fail(p, e, "%" PRIu64 " bytes long, at most %" PRId64 " are allowed", value,
                           RECORD_BYTES_MAX);
    *length = (int64_t)value;
    stream_take(p->stream, LENGTH_BYTES + CRC_BYTES);
    return 1;
}

static int truncated(const struct record_place *p, int64_t length, int64_t got, struct err *e)
{
    return record_fail(p, e, "truncated: it has %" PRId64 " bytes and a checksum of %d, only %"
                       PRId64 " bytes are there", length, CRC_BYTES, got);
}

static int tfrecord_next(struct record_place *p, const unsigned char **record, int64_t *size,
                         struct err *e)
{
    int64_t length = 0, got;
    uint32_t kept, is;
    int status = tfrecord_length(p, &length, e);

    if (status <= 0)
        return status;
    if (!record) {
        got = stream_skip(p->stream, length + CRC_BYTES, e);
        return got < 0 ? -1 : got < length + CRC_BYTES ? truncated(p, length, got, e) : 1;
    }
    got = stream_peek(p->stream, length + CRC_BYTES, record, e);
    if (got < 0)
        return -1;
    stream_take(p->stream, got);        /* damaged or not, the next record is behind it */
    if (got < length + CRC_BYTES)
        return truncated(p, length, got, e);
    kept = word_at(*record + length);
    is = crc32c_masked(*record, (size_t)length);
    if (kept != is)
        return record_fail(p, e, "its %" PRId64 " bytes are damaged: checksum 0x%08" PRIx32
                           ", the file says 0x%08" PRIx32, length, is, kept);
    *size = length;
    return 1;
}

const struct record_format tfrecord_format = {.name = "tfrecords", .next = tfrecord_next};

/* ---- lines ---- */

static int line_next(struct record_place *p, const unsigned char **record, int64_t *size,
                     struct err *e)
{
    const unsigned char *line;
    int64_t length = stream_line(p->stream, &line, e);

    if (length < 0)
        return length == -1 ? 0 : -1;
    if (record)
        *record = line;
    *size = length;
    return 1;
}

const struct record_format line_format = {.name = "lines", .next = line_next};

/* ---- records of fixed size, between a header and a footer ---- */

static int pass_header(struct record_place *p, int64_t bytes, struct err *e)
{
    int64_t got = stream_skip(p->stream, bytes, e);

    if (got < 0 || got == bytes)
        return got < 0 ? -1 : 0;
    return err_at(e, stream_path(p->stream), 0, 0, "truncated: a header of %" PRId64
                  " bytes, the file has %" PRId64, bytes, got);
}

static int fixed_next(struct record_place *p, const unsigned char **record, int64_t *size,
                      struct err *e)
{
    const struct data_fixed *f = p->options;
    const unsigned char *at;
    int64_t got;

    if (p->offset == 0 && pass_header(p, f->header_bytes, e))
        return -1;
    if (p->offset == 0)
        p->offset = f->header_bytes;
    got = stream_peek(p->stream, f->record_bytes + f->footer_bytes, &at, e);
    if (got < 0 || got == f->footer_bytes)
        return got < 0 ? -1 : 0;
    if (got < f->record_bytes + f->footer_bytes)
        return record_fail(p, e, "truncated: a record of %" PRId64 " and a footer of %" PRId64
                           " bytes, only %" PRId64 " bytes are there", f->record_bytes,
                           f->footer_bytes, got);
    if (record)
        *record = at;
    *size = f->record_bytes;
    stream_take(p->stream, f->record_bytes);
    return 1;
}

const struct record_format fixed_format = {.name = "fixed records", .next = fixed_next};
