/*
 * Zip archives in memory: members that are stored or deflated, of at most what archive_unpacked_max
 * allows together; written stored. Checksums are checked. Not read: what is encrypted or packed in
 * another way.
 */
#ifndef FILES_ZIPFILE_H
#define FILES_ZIPFILE_H
#include "base/arena.h"
#include "base/archive.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

bool zipfile_is(const uint8_t *bytes, size_t size);

struct zipfile {
    const char *path;                   /* for messages */
    void *zip;                          /* libzip's */
    int64_t left_bytes;
    const char **name;                  /* of all members */
    int count;
};

/* `bytes` must be there until zipfile_close; names lie in the arena */
int zipfile_open(struct zipfile *z, const uint8_t *bytes, size_t size, const char *path,
                 struct arena *a, struct err *e);
void zipfile_close(struct zipfile *z);
/* its number, or -1 */
int zipfile_find(const struct zipfile *z, const char *name);
/* A member whole, in the arena, with a NUL behind it that *size does not count. */
int zipfile_read(struct zipfile *z, int member, struct arena *a, uint8_t **bytes, size_t *size,
                 struct err *e);
/* "x_train.npy, y_train.npy, ...", for messages; returns buf */
char *zipfile_print(const struct zipfile *z, char *buf, size_t buf_bytes);

struct zipfile_member {
    const char *name;
    const void *data;
    size_t size;
};
/* The archive's bytes, the same for the same members; for the caller to mem_free `to->data`. */
int zipfile_write(const struct zipfile_member *member, int count, struct bytes *to, struct err *e);
#endif
