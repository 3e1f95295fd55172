/*
 * Keeps and finds entries in the folder of a cache, and removes what was not used for longest.
 *
 * The folder is counted before the first entry is kept and again whenever what was kept since might
 * have filled it; others may have kept more meanwhile, so at most a sixteenth of the bound goes by
 * without counting.
 */
#define _DEFAULT_SOURCE                 /* O_DIRECTORY */
#include "base/cache/disk_cache.h"

#include "base/arena.h"
#include "base/cache/disk_entry.h"
#include "base/outfile.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNWRITTEN "unwritten"           /* folder of entries under way */

static char *path_of(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = mem_alloc(bytes);

    snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

/* ----- the folder */

char *disk_cache_place(const char *name, int64_t *bytes_max, bool *is_wrong, struct err *e)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *size = getenv("SYSTOLE_CACHE");
    const char *below = cache && cache[0] == '/' ? cache : home;
    char *base, *place;

    *is_wrong = false;
    *bytes_max = DISK_CACHE_BYTES_MAX;
    if (size && size[0] && text_parse_bytes(size, 0, INT64_MAX / 2, bytes_max)) {
        *is_wrong = true;
        err_set(e, "SYSTOLE_CACHE is \"%s\"; allowed are 0 (no cache) and sizes as 500M or 2G", size);
        return NULL;
    }
    if (*bytes_max == 0 || !below || below[0] != '/')
        return NULL;
    base = path_of(below, below == cache ? "systole" : ".cache/systole");
    place = path_of(base, name);
    mem_free(base);
    return place;
}

/* Makes a folder and those above it, for the user alone. */
static int make_folders(char *path)
{
    for (char *at = path + 1; ; at++) {
        char was = *at;

        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST && errno != EISDIR)
            return -1;
        *at = was;
        if (was == '\0')
            return 0;
    }
}

/* who else could write into it could have this process run what he likes */
static int check_folder(const char *folder, struct err *e)
{
    struct stat st;

    if (lstat(folder, &st) != 0)
        return err_set(e, "cannot use the cache %s: %s", folder, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, "cannot use the cache %s: it is no folder", folder);
    if (st.st_uid != geteuid() || (st.st_mode & 022))
        return err_set(e, "cannot use the cache %s: others may write into it; it must be yours, with "
                       "mode 0700", folder);
    return 0;
}

int disk_cache_open(struct disk_cache *c, const char *folder, int64_t bytes_max, struct err *e)
{
    char *unwritten = path_of(folder, UNWRITTEN);
    int status = outfile_allow(folder, e);

    if (status == 0 && make_folders(unwritten) != 0)
        status = err_set(e, "cannot make the cache %s: %s", folder, strerror(errno));
    if (status == 0)
        status = check_folder(folder, e) || check_folder(unwritten, e) ? -1 : 0;
    mem_free(unwritten);
    if (status)
        return -1;
    *c = (struct disk_cache){.folder = path_of(folder, "."), .bytes_max = bytes_max};
    c->folder[strlen(folder)] = '\0';
    return 0;
}

void disk_cache_close(struct disk_cache *c)
{
    mem_free(c->folder);
    *c = (struct disk_cache){.folder = NULL};
}

static int open_folder(const struct disk_cache *c)
{
    return open(c->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ----- all entries */

struct entry {
    char name[DISK_ENTRY_NAME_BYTES];
    int64_t bytes;
    struct timespec used;
};

struct listing {
    struct entry *entry;
    int64_t count, bytes;
    size_t capacity;
};

static int list_entries(const struct disk_cache *c, struct listing *l, struct err *e)
{
    DIR *dir = opendir(c->folder);
    struct dirent *d;
    struct stat st;

    *l = (struct listing){.entry = NULL};
    if (!dir)
        return err_set(e, "cannot read the cache %s: %s", c->folder, strerror(errno));
    while ((d = readdir(dir)) != NULL) {
        if (!disk_entry_is_name(d->d_name) ||
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        struct entry *now = &MEM_ADD(l->entry, l->count, l->capacity);
        memcpy(now->name, d->d_name, strlen(d->d_name) + 1);  /* it has the form of one */
        now->bytes = st.st_size;
        now->used = st.st_mtim;
        l->bytes += st.st_size;
    }
    closedir(dir);
    return 0;
}

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The oldest entries go until what is left has at most `bytes_left` bytes. */
static void remove_oldest(const struct disk_cache *c, struct listing *l, int64_t bytes_left,
                          struct disk_cache_use *removed)
{
    int folder = open_folder(c);

    if (folder < 0)
        return;
    if (l->count > 1)
        qsort(l->entry, (size_t)l->count, sizeof(*l->entry), by_age);
    for (int64_t i = 0; i < l->count && l->bytes > bytes_left; i++) {
        /* another process may have been faster */
        if (unlinkat(folder, l->entry[i].name, 0) == 0) {
            removed->entries++;
            removed->bytes += l->entry[i].bytes;
        }
        l->bytes -= l->entry[i].bytes;
    }
    close(folder);
}

/* Counts the folder and removes what is too much for `bytes` more. */
static int make_room(struct disk_cache *c, int64_t bytes, struct err *e)
{
    char *unwritten = path_of(c->folder, UNWRITTEN);
    struct disk_cache_use removed = {0};
    struct outfile_lock lock;
    struct listing l;
    struct err busy;
    int64_t unseen = c->bytes_max / 16, left;

    outfile_clean(unwritten);
    mem_free(unwritten);
    if (list_entries(c, &l, e))
        return -1;
    if (l.bytes > c->bytes_max - bytes && outfile_lock(&lock, c->folder, &busy) == 0) {
        /* a little more than must be, or every entry of a full cache would count it */
        remove_oldest(c, &l, c->bytes_max - bytes - unseen < 0 ? 0 : c->bytes_max - bytes - unseen,
                      &removed);
        outfile_unlock(&lock);
    }                                   /* else another process is just doing it */
    mem_free(l.entry);
    left = c->bytes_max - bytes - l.bytes;
    __atomic_store_n(&c->bytes_free, left < unseen ? left : unseen, __ATOMIC_RELAXED);
    return 0;
}

/* ----- one entry */

bool disk_cache_find(const struct disk_cache *c, const void *key, size_t key_bytes,
                     struct bytes *value)
{
    char name[DISK_ENTRY_NAME_BYTES];
    int folder = open_folder(c);
    bool found;

    if (folder < 0)
        return false;
    disk_entry_name(key, key_bytes, name);
    found = disk_entry_read(folder, name, key, key_bytes, value);
    close(folder);
    return found;
}

int disk_cache_keep(struct disk_cache *c, const void *key, size_t key_bytes, const void *value,
                    size_t value_bytes, struct err *e)
{
    int64_t bytes = disk_entry_bytes(key_bytes, value_bytes);
    char name[DISK_ENTRY_NAME_BYTES], *unwritten, *temporary, *path;
    int status;

    if (bytes > c->bytes_max)
        return 0;
    if (__atomic_sub_fetch(&c->bytes_free, bytes, __ATOMIC_RELAXED) < 0 && make_room(c, bytes, e))
        return -1;
    disk_entry_name(key, key_bytes, name);
    path = path_of(c->folder, name);
    unwritten = path_of(c->folder, UNWRITTEN);
    temporary = path_of(unwritten, name);
    status = disk_entry_write(path, temporary, key, key_bytes, value, value_bytes, e);
    mem_free(temporary);
    mem_free(unwritten);
    mem_free(path);
    return status;
}

int disk_cache_count(const struct disk_cache *c, struct disk_cache_use *use, struct err *e)
{
    struct listing l;

    if (list_entries(c, &l, e))
        return -1;
    *use = (struct disk_cache_use){.entries = l.count, .bytes = l.bytes};
    mem_free(l.entry);
    return 0;
}

int disk_cache_clear(struct disk_cache *c, struct disk_cache_use *removed, struct err *e)
{
    struct listing l;

    *removed = (struct disk_cache_use){0};
    if (list_entries(c, &l, e))
        return -1;
    remove_oldest(c, &l, -1, removed);
    mem_free(l.entry);
    return 0;
}
