/* The file of one entry of a cache on disk: its name, its bytes, and what makes it be believed. */
#ifndef BASE_DISK_ENTRY_H
#define BASE_DISK_ENTRY_H
#include "base/archive.h"

#include <stdbool.h>

#define DISK_ENTRY_NAME_BYTES 32        /* with its NUL */

/* Two keys may have one name; the key in the file says whose it is. */
void disk_entry_name(const void *key, size_t key_bytes, char name[DISK_ENTRY_NAME_BYTES]);
/* whether a file of this name is an entry, by its form alone */
bool disk_entry_is_name(const char *name);
/* how many bytes the file takes */
int64_t disk_entry_bytes(size_t key_bytes, size_t value_bytes);

/*
 * The value is appended to `value`. False where the file is no entry of this key; one that is
 * damaged goes away.
 */
bool disk_entry_read(int folder, const char *name, const void *key, size_t key_bytes,
                     struct bytes *value);
/* Appears as `path` when it is complete, and is written beside `temporary` until then. */
int disk_entry_write(const char *path, const char *temporary, const void *key, size_t key_bytes,
                     const void *value, size_t value_bytes, struct err *e);
#endif
