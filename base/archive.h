/*
 * Saving and loading by one description.
 *
 * A function that walks a structure with an archive either appends its bytes
 * or fills it from bytes, so that the two directions cannot drift apart.
 * Structures go by tables of their fields; padding is never written, so equal
 * states give equal bytes. Numbers are as the host has them (little-endian).
 *
 * Loading believes nothing: after the first thing that cannot be, archive_fail
 * has set the error and every later call does nothing.
 */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing byte string; starts as {0}, released by mem_free(data). */
struct bytes {
    unsigned char *data;
    size_t size, capacity;
};
void bytes_append(struct bytes *b, const void *from, size_t size);

enum field_kind {
    FIELD_PLAIN,                        /* any value will do */
    FIELD_BOOL,                         /* one or more bool */
    FIELD_TIME,                         /* one or more int64_t, far from overflow */
    FIELD_APART                         /* not by the table: walked by hand, or left out */
};
struct field {
    const char *name;
    size_t offset, bytes;
    enum field_kind kind;
};
#define FIELD(type, name, kind) \
    {#type "." #name, offsetof(struct type, name), sizeof(((struct type *)0)->name), kind}
#define SAVED(type, name) FIELD(type, name, FIELD_PLAIN)
#define SAVED_BOOL(type, name) FIELD(type, name, FIELD_BOOL)
#define SAVED_TIME(type, name) FIELD(type, name, FIELD_TIME)
#define APART(type, name) FIELD(type, name, FIELD_APART)

struct archive {
    struct bytes *out;                  /* saving appends here; NULL: loading */
    const unsigned char *at, *end;      /* loading: what is left */
    struct err *e;                      /* loading: the first mistake */
    bool is_failed;
};

static inline bool archive_is_loading(const struct archive *a) { return a->out == NULL; }

void archive_bytes(struct archive *a, void *p, size_t bytes);
void archive_times(struct archive *a, int64_t *time, size_t count);    /* as FIELD_TIME */
void archive_fields(struct archive *a, const struct field *field, size_t count, void *p);
/* The number of elements that follow, each of at least `elem_bytes`: never more than can. */
size_t archive_count(struct archive *a, size_t count, size_t elem_bytes);
/* A byte string of any size; when loading, *p points into what is loaded from, NULL if failed. */
void archive_blob(struct archive *a, const void **p, size_t *size);
/* the same for text that ends in NUL */
void archive_text(struct archive *a, const char **text);
/* A large array: only blocks of 4 KiB that are not all zeros take room. */
void archive_sparse(struct archive *a, void *p, size_t bytes);
/*
 * What a packed file may become at most: 64 times its bytes, 1 GiB if that is more; another limit
 * if the environment has SYSTOLE_UNPACK_BYTES ("8G"). A few packed megabytes from elsewhere can
 * stand for more than the host has.
 */
int64_t archive_unpacked_max(int64_t packed_bytes);
#define ARCHIVE_UNPACK_ADVICE "SYSTOLE_UNPACK_BYTES in the environment sets another limit"
bool archive_is_zero(const void *p, size_t bytes);

/* when loading and `holds` is false; the first one counts */
void archive_check(struct archive *a, bool holds, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* of names, sizes and kinds: tables of another build mean something else */
uint32_t archive_table_crc(uint32_t crc, const struct field *field, size_t count);
#endif
