/* Files as bytes, those of a gzip unpacked as they are read. */
#include "import/read/read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { CHUNK_BYTES = 64 << 10, READ_BYTES_MAX = 1 << 30 };

/* zlib reads what is no gzip as it is: then there is room for all at once, and to see the end */
static int read_all(gzFile from, const char *path, size_t file_bytes, uint8_t **bytes, size_t *size,
                    struct err *e)
{
    size_t capacity = file_bytes + 2, left;
    int got;

    *size = 0;
    *bytes = mem_alloc(capacity);
    do {
        if (capacity - *size < 2)
            *bytes = mem_grow(*bytes, &capacity, *size + CHUNK_BYTES, 1);
        left = capacity - *size - 1;
        got = gzread(from, *bytes + *size, left < READ_BYTES_MAX ? (unsigned)left : READ_BYTES_MAX);
        if (got < 0) {
            int code;
            const char *why = gzerror(from, &code);

            return err_at(e, path, 0, 0, "cannot be read: %s",
                          code == Z_ERRNO ? strerror(errno) : why);
        }
        *size += (size_t)got;
        if ((int64_t)*size > PROGRAM_UNPACKED_MAX)
            return err_at(e, path, 0, 0, "unpacks to more than %lld GiB, which is refused",
                          (long long)(PROGRAM_UNPACKED_MAX >> 30));
    } while (got > 0);
    (*bytes)[*size] = 0;
    return *size ? 0 : err_at(e, path, 0, 0, "is empty");
}

int program_file_bytes(const char *path, uint8_t **bytes, size_t *size, struct err *e)
{
    struct stat s;
    gzFile from;
    int status, closed;

    *bytes = NULL;
    if (stat(path, &s) != 0)
        return err_at(e, path, 0, 0, "%s", strerror(errno));
    if (S_ISDIR(s.st_mode))
        return err_at(e, path, 0, 0, "is a folder, wanted is a program's file");
    from = gzopen(path, "rb");
    if (!from)
        return err_at(e, path, 0, 0, "cannot be opened: %s", strerror(errno));
    status = read_all(from, path, S_ISREG(s.st_mode) ? (size_t)s.st_size : CHUNK_BYTES, bytes, size,
                      e);
    closed = gzclose_r(from);
    if (status == 0 && closed == Z_BUF_ERROR)
        status = err_at(e, path, 0, 0, "the gzip ends too soon");
    if (status != 0) {
        mem_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
