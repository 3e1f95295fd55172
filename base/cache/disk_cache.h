/*
 * What was made before, on disk for processes to come: bytes under a key of bytes.
 *
 * An entry is a file of a folder that is the user's alone (mode 0700). The key lies in it and is
 * compared whole, so what is found is what was kept under this very key; an entry that is
 * damaged, somebody else's or no file is a miss. When the folder holds more than `bytes_max`, the
 * entries that were found or kept longest ago go first. Several processes and threads may use one
 * folder: entries appear whole, and one that goes away while it is read is read to its end. Nothing
 * is held open between calls, so a fork does no harm.
 *
 * Nothing is brought to the disk at once: a loss of power leaves damaged entries, that is misses.
 */
#ifndef BASE_DISK_CACHE_H
#define BASE_DISK_CACHE_H
#include "base/archive.h"

#include <stdbool.h>
#include <stdint.h>

#define DISK_CACHE_BYTES_MAX ((int64_t)2 << 30)         /* unless the environment says otherwise */

#define DISK_CACHE_PROGRAMS "programs"   /* name of the one that compiled programs lie in */

struct disk_cache {
    char *folder;
    int64_t bytes_max;
    int64_t bytes_free;                 /* that may be kept before the folder is counted again; */
                                        /* atomic, for it is all that changes */
};

struct disk_cache_use { int64_t entries, bytes; };

/*
 * Where the environment wants it: $XDG_CACHE_HOME/systole/NAME, else $HOME/.cache/systole/NAME,
 * for mem_free, and in *bytes_max how large it may be: SYSTOLE_CACHE, "500M". NULL without an error:
 * SYSTOLE_CACHE is 0, or there is no home. NULL with one, and *is_wrong: SYSTOLE_CACHE is no size.
 */
char *disk_cache_place(const char *name, int64_t *bytes_max, bool *is_wrong, struct err *e);

/* Makes the folder where it is not there. -1: it cannot be made, or others may write it. */
int disk_cache_open(struct disk_cache *c, const char *folder, int64_t bytes_max, struct err *e);
void disk_cache_close(struct disk_cache *c);

/* The value kept under this key is appended to `value`; false: there is none. */
bool disk_cache_find(const struct disk_cache *c, const void *key, size_t key_bytes,
                     struct bytes *value);
/* -1: it could not be written. A value larger than the cache is not kept, which is no error. */
int disk_cache_keep(struct disk_cache *c, const void *key, size_t key_bytes, const void *value,
                    size_t value_bytes, struct err *e);

int disk_cache_count(const struct disk_cache *c, struct disk_cache_use *use, struct err *e);
/* Removes all entries; `removed` says what went. */
int disk_cache_clear(struct disk_cache *c, struct disk_cache_use *removed, struct err *e);
#endif
