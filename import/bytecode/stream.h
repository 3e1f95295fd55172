/*
 * The primitives of MLIR bytecode: varints, counts, indices, byte ranges, all held against the bytes
 * that are there.
 *
 * Streams of one artifact share one mistake: after the first, every call returns 0 or NULL and
 * reads nothing, so who reads a list looks at bytecode_is_failed once, at its end. A count is never
 * larger than the bytes that are left could hold, so that loops over it end.
 */
#ifndef IMPORT_BYTECODE_STREAM_H
#define IMPORT_BYTECODE_STREAM_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytecode_fault {                 /* of all streams of an artifact */
    const char *file;                   /* for the message */
    struct err *err;
    bool is_failed;
};

struct bytecode_stream {
    const unsigned char *start;         /* of the artifact: offsets and alignments count from it */
    const unsigned char *at, *end;
    struct bytecode_fault *fault;
};

/* Sets the message, with the offset at which the stream stands, unless there is one already. */
void bytecode_fail(const struct bytecode_stream *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static inline bool bytecode_is_failed(const struct bytecode_stream *s)
{
    return s->fault->is_failed;
}
static inline size_t bytecode_left(const struct bytecode_stream *s)
{
    return (size_t)(s->end - s->at);
}

uint8_t bytecode_byte(struct bytecode_stream *s);
uint64_t bytecode_varint(struct bytecode_stream *s);
int64_t bytecode_svarint(struct bytecode_stream *s);
uint64_t bytecode_flagged(struct bytecode_stream *s, bool *flag);       /* value, lowest bit */
/* a number of elements, of at least one byte each, that follow; `what` for the message */
size_t bytecode_count(struct bytecode_stream *s, const char *what);
/* an index below `limit` into the table of `what`; 0 when failed */
size_t bytecode_index(struct bytecode_stream *s, size_t limit, const char *what);
/* the same of a number that has been read */
size_t bytecode_check_index(struct bytecode_stream *s, uint64_t i, size_t limit, const char *what);
/* the next bytes, NULL when so many are not there */
const unsigned char *bytecode_take(struct bytecode_stream *s, uint64_t bytes, const char *what);
/* the next bytes as a stream, empty when failed */
struct bytecode_stream bytecode_part(struct bytecode_stream *s, uint64_t bytes, const char *what);
/* bytes 0xCB up to a multiple of a power of two */
void bytecode_align(struct bytecode_stream *s, uint64_t alignment);
/* A part must have been read to its end: what is left means that it was misunderstood. */
void bytecode_end(struct bytecode_stream *s, const char *what);

/* an integer of `bits`, at most 64, extended by its sign where it `is_signed` */
int64_t bytecode_integer(struct bytecode_stream *s, int bits, bool is_signed);
#endif
