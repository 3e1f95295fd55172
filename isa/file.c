/* Reads a whole file into an arena; pipes and devices as well. */
#include "isa/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES 65536

/* pipes and devices too, so the size is only known at the end */
static int read_all(FILE *f, const char *path, uint8_t **buf, size_t *size, struct err *e)
{
    size_t room = 0, got;

    *size = 0;
    do {
        *buf = mem_grow(*buf, &room, *size + CHUNK_BYTES, 1);
        got = fread(*buf + *size, 1, CHUNK_BYTES, f);
        *size += got;
        if (*size > ISA_FILE_MAX)
            return err_at(e, path, 0, 0, "file is larger than %ld bytes", ISA_FILE_MAX);
    } while (got > 0);
    if (ferror(f))
        return err_at(e, path, 0, 0, "cannot read: %s", strerror(errno));
    return 0;
}

int isa_file_read(const char *path, struct arena *a, uint8_t **bytes, size_t *size,
                  struct err *e)
{
    FILE *f = fopen(path, "rb");
    uint8_t *buf = NULL;
    int status;

    if (!f)
        return err_at(e, path, 0, 0, "cannot open: %s", strerror(errno));
    status = read_all(f, path, &buf, size, e);
    if (status == 0) {
        *bytes = arena_alloc(a, *size + 1);
        memcpy(*bytes, buf, *size);
    }
    mem_free(buf);
    fclose(f);
    return status;
}
