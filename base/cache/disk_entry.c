/*
 * Writes and reads the file of one entry: a head with sizes and check sums, the key, the value.
 *
 * Sums catch what a loss of power, a full disk or a stranger's hand has done; they are no defence
 * against the user, who owns the folder.
 */
#define _DEFAULT_SOURCE                 /* getentropy's header, O_NOFOLLOW */
#include "base/cache/disk_entry.h"

#include "base/arena.h"
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define NAME_DIGITS 24

static const char magic[8] = "sycache1";

struct head {
    char magic[8];
    uint64_t key_bytes, value_bytes;
    uint32_t body_crc, head_crc;        /* of key and value; of all before it */
};

void disk_entry_name(const void *key, size_t key_bytes, char name[DISK_ENTRY_NAME_BYTES])
{
    const unsigned char *byte = key;
    uint64_t hash = 0xcbf29ce484222325u;        /* FNV-1a */

    for (size_t i = 0; i < key_bytes; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    snprintf(name, DISK_ENTRY_NAME_BYTES, "%016" PRIx64 "%08lx", hash,
             crc32_z(0, key, key_bytes) & 0xffffffffu);
}

bool disk_entry_is_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS && name[NAME_DIGITS] == '\0';
}

int64_t disk_entry_bytes(size_t key_bytes, size_t value_bytes)
{
    return (int64_t)(sizeof(struct head) + key_bytes + value_bytes);
}

/* ----- reading */

static bool read_all(int fd, void *to, size_t bytes)
{
    char *at = to;

    while (bytes > 0) {
        ssize_t got = read(fd, at, bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

enum outcome { FOUND, DAMAGED, ANOTHER };

static uint32_t sum_head(const struct head *h)
{
    return (uint32_t)crc32_z(0, (const void *)h, offsetof(struct head, head_crc));
}

/* the head of a file of `size` bytes, of which neither part is larger than the file */
static bool is_head(const struct head *h, int64_t size)
{
    uint64_t rest = (uint64_t)size - sizeof(*h);

    return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->head_crc == sum_head(h) &&
           h->key_bytes <= rest && h->value_bytes == rest - h->key_bytes;
}

static enum outcome read_entry(int fd, int64_t size, const void *key, size_t key_bytes,
                               struct bytes *value)
{
    struct head h;
    unsigned char *body;
    size_t body_bytes;
    enum outcome found = DAMAGED;

    if (size < (int64_t)sizeof(h) || !read_all(fd, &h, sizeof(h)) || !is_head(&h, size))
        return DAMAGED;
    if (h.key_bytes != key_bytes)
        return ANOTHER;
    body_bytes = (size_t)size - sizeof(h);
    body = mem_alloc_unset(body_bytes + 1);
    if (read_all(fd, body, body_bytes) &&
        (uint32_t)crc32_z(0, body, body_bytes) == h.body_crc) {
        found = key_bytes == 0 || memcmp(body, key, key_bytes) == 0 ? FOUND : ANOTHER;
        if (found == FOUND)
            bytes_append(value, body + key_bytes, body_bytes - key_bytes);
    }
    mem_free(body);
    return found;
}

bool disk_entry_read(int folder, const char *name, const void *key, size_t key_bytes,
                     struct bytes *value)
{
    /* a pipe that somebody has put there must not keep us waiting */
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    enum outcome found = ANOTHER;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        found = read_entry(fd, st.st_size, key, key_bytes, value);
    if (found == FOUND)
        futimens(fd, NULL);             /* used now; where that fails it only seems older */
    close(fd);
    if (found == DAMAGED)
        unlinkat(folder, name, 0);
    return found == FOUND;
}

/* ----- writing */

static bool write_all(int fd, const void *from, size_t bytes)
{
    const char *at = from;

    while (bytes > 0) {
        ssize_t put = write(fd, at, bytes);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}

static bool write_entry(int fd, const void *key, size_t key_bytes, const void *value,
                        size_t value_bytes)
{
    struct head h = {.key_bytes = key_bytes, .value_bytes = value_bytes};

    memcpy(h.magic, magic, sizeof(magic));
    h.body_crc = (uint32_t)crc32_z(crc32_z(0, key, key_bytes), value, value_bytes);
    h.head_crc = sum_head(&h);
    return write_all(fd, &h, sizeof(h)) && write_all(fd, key, key_bytes) &&
           write_all(fd, value, value_bytes);
}

int disk_entry_write(const char *path, const char *temporary, const void *key, size_t key_bytes,
                     const void *value, size_t value_bytes, struct err *e)
{
    char *temp = outfile_temporary(temporary, e);
    int fd, code = 0;

    if (!temp)
        return -1;
    fd = open(temp, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || !write_entry(fd, key, key_bytes, value, value_bytes))
        code = errno ? errno : EIO;
    if (fd >= 0 && close(fd) != 0 && code == 0)
        code = errno;
    if (code == 0 && rename(temp, path) != 0)
        code = errno;
    outfile_drop(temp);
    return code ? err_set(e, "cannot write %s: %s", path, strerror(code)) : 0;
}
