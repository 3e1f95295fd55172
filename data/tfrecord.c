/* Writes TFRecord files (length, masked CRC-32C, bytes), and checks whole files for damage. */
#include "data/tfrecord.h"

#include "base/arena.h"
#include "data/crc32c.h"
#include "data/record.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_BYTES (1 << 16)

struct tfrecord_writer {
    struct outfile file;
    bool is_packed;
    z_stream z;
    unsigned char *packed;
};

static enum data_compression by_name(const char *path)
{
    size_t length = strlen(path);

    return length > 3 && strcmp(path + length - 3, ".gz") == 0 ? DATA_COMPRESSION_GZIP
                                                               : DATA_COMPRESSION_NONE;
}

struct tfrecord_writer *tfrecord_begin(const char *path, enum data_compression c, struct err *e)
{
    struct tfrecord_writer *w = mem_alloc(sizeof(*w));

    if (outfile_begin(&w->file, path, e)) {
        mem_free(w);
        return NULL;
    }
    if (c == DATA_COMPRESSION_AUTO)
        c = by_name(path);
    if (c == DATA_COMPRESSION_NONE)
        return w;
    w->is_packed = true;
    w->packed = mem_alloc(CHUNK_BYTES);
    if (deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                     c == DATA_COMPRESSION_ZLIB ? 15 : 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return w;
    tfrecord_abandon(w);
    err_at(e, path, 0, 0, "cannot be packed: zlib does not start");
    return NULL;
}

/* What fwrite could not write outfile_commit finds out. */
static void put(struct tfrecord_writer *w, const void *from, size_t bytes, int flush)
{
    if (!w->is_packed) {
        fwrite(from, 1, bytes, w->file.to);
        return;
    }
    w->z.next_in = (unsigned char *)(uintptr_t)from;
    do {                                /* zlib counts in unsigned int */
        size_t step = bytes < (1u << 30) ? bytes : 1u << 30;

        w->z.avail_in = (uInt)step;
        bytes -= step;
        do {
            w->z.next_out = w->packed;
            w->z.avail_out = CHUNK_BYTES;
            deflate(&w->z, bytes == 0 ? flush : Z_NO_FLUSH);
            fwrite(w->packed, 1, CHUNK_BYTES - w->z.avail_out, w->file.to);
        } while (w->z.avail_out == 0);
    } while (bytes > 0);
}

static void put_little_endian(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

void tfrecord_write(struct tfrecord_writer *w, const void *record, int64_t bytes)
{
    unsigned char head[12], tail[4];

    assert(bytes >= 0);
    put_little_endian(head, (uint64_t)bytes, 8);
    put_little_endian(head + 8, crc32c_masked(head, 8), 4);
    put_little_endian(tail, crc32c_masked(record, (size_t)bytes), 4);
    put(w, head, sizeof(head), Z_NO_FLUSH);
    put(w, record, (size_t)bytes, Z_NO_FLUSH);
    put(w, tail, sizeof(tail), Z_NO_FLUSH);
}

static void fini(struct tfrecord_writer *w)
{
    if (w->is_packed)
        deflateEnd(&w->z);
    mem_free(w->packed);
    mem_free(w);
}

int tfrecord_commit(struct tfrecord_writer *w, struct err *e)
{
    int status;

    if (w->is_packed)
        put(w, "", 0, Z_FINISH);
    status = outfile_commit(&w->file, e);
    fini(w);
    return status;
}

void tfrecord_abandon(struct tfrecord_writer *w)
{
    outfile_abandon(&w->file);
    fini(w);
}
