/*
 * Bytes of a file one after the other, plain or unpacked on the way.
 *
 * Every mistake names the file, and of packed data the byte of the file where it was met.
 */
#ifndef DATA_STREAM_H
#define DATA_STREAM_H
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum data_compression {
    DATA_COMPRESSION_AUTO,              /* gzip when it begins as such, else none */
    DATA_COMPRESSION_NONE, DATA_COMPRESSION_GZIP, DATA_COMPRESSION_ZLIB
};

struct stream;

struct stream *stream_open(const char *path, enum data_compression c, struct err *e);
/* of an open file, which it closes; `path` for messages */
struct stream *stream_of(FILE *from, const char *path, enum data_compression c, struct err *e);
void stream_close(struct stream *s);                    /* NULL does nothing */
const char *stream_path(const struct stream *s);

int64_t stream_offset(const struct stream *s);          /* unpacked bytes taken so far */
/*
 * Sees to it that the next `want` bytes are in memory; *at points to them, valid until the next
 * call. How many there are: fewer only at the end of the file; -1: cannot be read, damaged.
 */
int64_t stream_peek(struct stream *s, int64_t want, const unsigned char **at, struct err *e);
/* All of the file, of at most `most` bytes and archive_unpacked_max; how many there are, or -1. */
int64_t stream_whole(struct stream *s, int64_t most, const unsigned char **at, struct err *e);
void stream_take(struct stream *s, int64_t bytes);      /* of those that stream_peek has shown */
/* passes over up to `bytes`; how many there were, or -1 */
int64_t stream_skip(struct stream *s, int64_t bytes, struct err *e);
/* Bytes of a line without its end; -1: none left, -2: failed. Then the line end is taken too. */
int64_t stream_line(struct stream *s, const unsigned char **line, struct err *e);
#endif
