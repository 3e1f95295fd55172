/* Reads a file through a buffer, inflating gzip or zlib data on the way. */
#include "data/stream.h"

#include "base/arena.h"
#include "base/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define CHUNK_BYTES (1 << 16)
#define LINE_BYTES_MAX ((int64_t)1 << 30)

struct stream {
    FILE *from;
    char *path;
    int64_t size;                       /* of a plain regular file; -1: not known */
    int64_t unpacked_max;               /* of a packed file as a whole */
    int64_t offset;                     /* of buffer[begin], unpacked */
    unsigned char *buffer;              /* begin..end are waiting */
    size_t capacity, begin, end;
    bool is_over;                       /* nothing comes behind the buffer */
    bool is_packed, is_member_over;
    z_stream z;
    unsigned char *packed;
    int64_t packed_offset;              /* of the file, behind what `packed` holds */
};

static int fail_read(const struct stream *s, struct err *e)
{
    return err_at(e, s->path, 0, 0, "cannot be read: %s", strerror(errno ? errno : EIO));
}

static int fail_packed(const struct stream *s, const char *what, struct err *e)
{
    return err_at(e, s->path, 0, 0, "%s at byte %" PRId64 " of the file", what,
                  s->packed_offset - (int64_t)s->z.avail_in);
}

/* 1: there are packed bytes; 0: the end of the file */
static int refill(struct stream *s, struct err *e)
{
    if (s->z.avail_in > 0)
        return 1;
    s->z.next_in = s->packed;
    s->z.avail_in = (uInt)fread(s->packed, 1, CHUNK_BYTES, s->from);
    s->packed_offset += s->z.avail_in;
    if (s->z.avail_in == 0 && ferror(s->from))
        return fail_read(s, e);
    return s->z.avail_in > 0;
}

/* up to `room` unpacked bytes; 0 at the end. A file may be several packed ones in a row. */
static int64_t unpack(struct stream *s, unsigned char *to, size_t room, struct err *e)
{
    s->z.next_out = to;
    s->z.avail_out = (uInt)room;
    while (s->z.avail_out == (uInt)room) {
        int status = refill(s, e), code;

        if (status < 0)
            return -1;
        if (status == 0 && s->is_member_over)
            return 0;
        if (status == 0)
            return fail_packed(s, "truncated: the packed data ends", e);
        if (s->is_member_over && inflateReset(&s->z) != Z_OK)
            return fail_packed(s, "cannot be unpacked", e);
        s->is_member_over = false;
        code = inflate(&s->z, Z_NO_FLUSH);
        if (code == Z_STREAM_END)
            s->is_member_over = true;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return fail_packed(s, "damaged packed data", e);
    }
    return (int64_t)(room - s->z.avail_out);
}

static int64_t read_more(struct stream *s, unsigned char *to, size_t room, struct err *e)
{
    size_t got;

    if (s->is_packed)
        return unpack(s, to, room < CHUNK_BYTES ? room : CHUNK_BYTES, e);
    errno = 0;
    got = fread(to, 1, room, s->from);
    return got == 0 && ferror(s->from) ? fail_read(s, e) : (int64_t)got;
}

static bool begins_as_gzip(FILE *from)
{
    unsigned char magic[3];
    size_t got = fread(magic, 1, sizeof(magic), from);

    return got == sizeof(magic) && magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8;
}

static int begin_unpacking(struct stream *s, enum data_compression c, struct err *e)
{
    s->is_packed = true;
    s->unpacked_max = archive_unpacked_max(s->size);
    s->size = -1;
    s->packed = mem_alloc(CHUNK_BYTES);
    if (inflateInit2(&s->z, c == DATA_COMPRESSION_ZLIB ? 15 : 15 + 16) != Z_OK)
        return err_at(e, s->path, 0, 0, "cannot be unpacked: zlib does not start");
    return 0;
}

struct stream *stream_of(FILE *from, const char *path, enum data_compression c, struct err *e)
{
    struct stream *s = mem_alloc(sizeof(*s));
    int status = 0;
    struct stat st;

    s->from = from;
    s->path = mem_alloc(strlen(path) + 1);
    memcpy(s->path, path, strlen(path));
    s->size = fileno(from) >= 0 && fstat(fileno(from), &st) == 0 && S_ISREG(st.st_mode)
              ? st.st_size : -1;
    s->unpacked_max = INT64_MAX;
    if (c == DATA_COMPRESSION_AUTO) {
        c = begins_as_gzip(from) ? DATA_COMPRESSION_GZIP : DATA_COMPRESSION_NONE;
        if (fseeko(from, 0, SEEK_SET) != 0)
            status = fail_read(s, e);
    }
    if (status == 0 && c != DATA_COMPRESSION_NONE)
        status = begin_unpacking(s, c, e);
    if (status == 0)
        return s;
    stream_close(s);
    return NULL;
}

struct stream *stream_open(const char *path, enum data_compression c, struct err *e)
{
    FILE *from = fopen(path, "rb");
    struct stat st;

    if (from && (fstat(fileno(from), &st) != 0 || S_ISDIR(st.st_mode))) {
        fclose(from);
        from = NULL;
        errno = EISDIR;
    }
    if (from)
        return stream_of(from, path, c, e);
    err_at(e, path, 0, 0, "cannot be read: %s", strerror(errno));
    return NULL;
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    if (s->is_packed)
        inflateEnd(&s->z);
    fclose(s->from);
    mem_free(s->packed);
    mem_free(s->buffer);
    mem_free(s->path);
    mem_free(s);
}

const char *stream_path(const struct stream *s)
{
    return s->path;
}

int64_t stream_offset(const struct stream *s)
{
    return s->offset;
}

/* One more chunk behind what waits; 0 at the end. Memory grows with what the file really has. */
static int grow(struct stream *s, struct err *e)
{
    int64_t got;

    if (s->is_over)
        return 0;
    if (s->begin > 0) {
        memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    s->buffer = mem_grow(s->buffer, &s->capacity, s->end + CHUNK_BYTES, 1);
    got = read_more(s, s->buffer + s->end, s->capacity - s->end, e);
    if (got < 0)
        return -1;
    s->is_over = got == 0;
    s->end += (size_t)got;
    return got > 0;
}

int64_t stream_peek(struct stream *s, int64_t want, const unsigned char **at, struct err *e)
{
    int status = 1;

    while (status > 0 && (int64_t)(s->end - s->begin) < want)
        status = grow(s, e);
    if (status < 0)
        return -1;
    *at = s->buffer + s->begin;
    return (int64_t)(s->end - s->begin) < want ? (int64_t)(s->end - s->begin) : want;
}

void stream_take(struct stream *s, int64_t bytes)
{
    s->begin += (size_t)bytes;
    s->offset += bytes;
}

static int64_t waiting(const struct stream *s, int64_t most)
{
    int64_t have = (int64_t)(s->end - s->begin);

    return have < most ? have : most;
}

int64_t stream_skip(struct stream *s, int64_t bytes, struct err *e)
{
    int64_t done = waiting(s, bytes);

    stream_take(s, done);
    if (done < bytes && s->size >= 0 && !s->is_over) {
        int64_t left = s->size - s->offset, step = bytes - done < left ? bytes - done : left;

        if (step > 0 && fseeko(s->from, (off_t)(s->offset + step), SEEK_SET) != 0)
            return fail_read(s, e);
        s->offset += step > 0 ? step : 0;
        return done + (step > 0 ? step : 0);
    }
    while (done < bytes) {
        int status = grow(s, e);
        int64_t step = waiting(s, bytes - done);

        if (status <= 0)
            return status < 0 ? -1 : done;
        stream_take(s, step);
        done += step;
    }
    return done;
}

int64_t stream_line(struct stream *s, const unsigned char **line, struct err *e)
{
    size_t seen = 0;
    const unsigned char *end = NULL;
    int64_t length;

    while (!end) {
        size_t have = s->end - s->begin;
        int status;

        if (have > seen)
            end = memchr(s->buffer + s->begin + seen, '\n', have - seen);
        seen = have;
        if (end)
            break;
        if ((int64_t)seen > LINE_BYTES_MAX) {
            err_at(e, s->path, 0, 0, "a line of more than %" PRId64 " bytes at byte %" PRId64,
                   LINE_BYTES_MAX, s->offset);
            return -2;
        }
        status = grow(s, e);
        if (status < 0)
            return -2;
        if (status == 0)
            break;
    }
    if (!end && s->begin == s->end)
        return -1;
    *line = s->buffer + s->begin;
    length = end ? end - *line : (int64_t)(s->end - s->begin);
    stream_take(s, length + (end != NULL));
    return length > 0 && (*line)[length - 1] == '\r' ? length - 1 : length;
}

int64_t stream_whole(struct stream *s, int64_t most, const unsigned char **at, struct err *e)
{
    int64_t limit = s->unpacked_max < most ? s->unpacked_max : most;
    int64_t size = stream_peek(s, limit + 1, at, e);

    if (size <= limit)
        return size;
    return limit == most ? err_at(e, s->path, 0, 0, "more than %" PRId64 " bytes", most)
                         : err_at(e, s->path, 0, 0, "unpacked more than %" PRId64 " bytes; "
                                  ARCHIVE_UNPACK_ADVICE, limit);
}
