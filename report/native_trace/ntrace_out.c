/*
 * Appends chunks to the trace file under a lock, and ends it with an index made from their
 * headers.
 */
#include "report/native_trace/ntrace_out.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"

#define INDEX_BLOCK ((size_t)1024)      /* entries at a time */

static int fail(const struct ntrace_out *o, int code, struct err *e)
{
    return err_set(e, "cannot write %s: %s", o->path, strerror(code ? code : EIO));
}

static void write_all(struct ntrace_out *o, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size && !o->error) {
        ssize_t n = pwrite(o->fd, at, size, (off_t)o->size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            o->error = n < 0 ? errno : ENOSPC;
            return;
        }
        at += n;
        size -= (size_t)n;
        o->size += (uint64_t)n;
    }
}

static void write_header(struct ntrace_out *o)
{
    uint8_t header[NTRACE_HEADER_BYTES] = {0};

    memcpy(header, NTRACE_MAGIC, 8);
    ntrace_put_le(header + 8, NTRACE_VERSION, 4);
    ntrace_put_le(header + 12, NTRACE_NEEDS, 4);
    ntrace_put_le(header + 16, ntrace_crc_of(header, 16), 4);
    write_all(o, header, sizeof(header));
}

int ntrace_out_open(struct ntrace_out *o, const char *path, struct err *e)
{
    size_t length = strlen(path) + 1;
    struct stat st;

    memset(o, 0, sizeof(*o));
    if (outfile_allow(path, e))
        return -1;
    o->path = mem_alloc(length);
    memcpy(o->path, path, length);
    o->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (o->fd < 0 || fstat(o->fd, &st) != 0)
        fail(o, errno, e);
    else if (!S_ISREG(st.st_mode))
        err_set(e, "cannot write %s: a .strace must be a regular file", path);
    else {
        pthread_mutex_init(&o->lock, NULL);
        write_header(o);
        return 0;
    }
    if (o->fd >= 0)
        close(o->fd);
    mem_free(o->path);
    return -1;
}

void ntrace_out_chunk(struct ntrace_out *o, struct ntrace_chunk_head *h, const void *payload,
                      size_t bytes)
{
    uint8_t head[NTRACE_CHUNK_BYTES];

    h->bytes = (uint32_t)bytes;
    h->crc = ntrace_crc_of(payload, bytes);
    ntrace_chunk_pack(h, head);
    pthread_mutex_lock(&o->lock);
    write_all(o, head, sizeof(head));
    write_all(o, payload, bytes);
    pthread_mutex_unlock(&o->lock);
}

int ntrace_out_check(struct ntrace_out *o, struct err *e)
{
    return o->error ? fail(o, o->error, e) : 0;
}

/* The headers of all chunks are read back: an index kept in memory would grow with the run. */
static uint64_t next_chunk(struct ntrace_out *o, uint64_t at, struct ntrace_chunk_head *h)
{
    uint8_t bytes[NTRACE_CHUNK_BYTES];

    if (pread(o->fd, bytes, sizeof(bytes), (off_t)at) != (ssize_t)sizeof(bytes)
        || !ntrace_chunk_unpack(bytes, h)) {
        o->error = o->error ? o->error : EIO;
        return UINT64_MAX;
    }
    return at + NTRACE_CHUNK_BYTES + h->bytes;
}

static uint32_t write_index(struct ntrace_out *o, uint64_t end)
{
    static const uint8_t no_head[NTRACE_CHUNK_BYTES];
    struct ntrace_chunk_head h, index = {.kind = CHUNK_INDEX};
    uint8_t head[NTRACE_CHUNK_BYTES];
    struct ntrace_buf b = {0};

    write_all(o, no_head, sizeof(no_head));
    for (uint64_t at = NTRACE_HEADER_BYTES; at < end && !o->error;) {
        uint64_t next = next_chunk(o, at, &h);

        ntrace_buf_reserve(&b, NTRACE_ENTRY_BYTES);
        ntrace_entry_pack(&h, at, b.data + b.size);
        b.size += NTRACE_ENTRY_BYTES;
        index.count++;
        at = next;
        if (index.count % INDEX_BLOCK && at < end)
            continue;
        index.crc = ntrace_crc_more(index.crc, b.data, b.size);
        write_all(o, b.data, b.size);
        b.size = 0;
    }
    mem_free(b.data);
    index.bytes = (uint32_t)(o->size - end - NTRACE_CHUNK_BYTES);
    ntrace_chunk_pack(&index, head);
    if (!o->error && pwrite(o->fd, head, sizeof(head), (off_t)end) != (ssize_t)sizeof(head))
        o->error = errno;
    return index.crc;
}

int ntrace_out_close(struct ntrace_out *o, struct err *e)
{
    uint8_t trailer[NTRACE_TRAILER_BYTES] = {0};
    uint64_t end = o->size;
    int status;

    ntrace_put_le(trailer, end, 8);
    ntrace_put_le(trailer + 8, write_index(o, end), 4);
    memcpy(trailer + 16, NTRACE_TRAILER_MAGIC, 8);
    write_all(o, trailer, sizeof(trailer));
    if (fsync(o->fd) != 0 && !o->error)
        o->error = errno;
    if (close(o->fd) != 0 && !o->error)
        o->error = errno;
    status = ntrace_out_check(o, e);
    pthread_mutex_destroy(&o->lock);
    mem_free(o->path);
    return status;
}

void ntrace_stream_flush(struct ntrace_stream_out *s, struct ntrace_out *o)
{
    if (s->head.count)
        ntrace_out_chunk(o, &s->head, s->buf.data, s->buf.size);
    s->head.count = 0;
    s->buf.size = 0;
}
