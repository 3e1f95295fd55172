/*
 * Writes PATH.tmp and renames it over PATH on commit, so that a reader sees the whole file or the
 * one before.
 */
#define _XOPEN_SOURCE 700               /* realpath */
#include "base/outfile.h"

#include "base/arena.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".tmp"

static int fail(const struct outfile *f, int code, struct err *e)
{
    return err_set(e, "cannot write %s: %s", f->path, strerror(code ? code : EIO));
}

static bool is_in_place(const struct outfile *f)
{
    return strcmp(f->temp_path, f->path) == 0;
}

static void fini(struct outfile *f)
{
    mem_free(f->path);
    mem_free(f->temp_path);
}

static const char *confined_to;         /* NULL: the user's rights are the only bounds */

void outfile_confine(const char *folder)
{
    confined_to = folder;
}

/* Links in the path are followed first: what counts is where the file would lie. */
int outfile_allow(const char *path, struct err *e)
{
    const char *name = strrchr(path, '/');
    char parent[PATH_MAX] = ".", bounds[PATH_MAX], real[PATH_MAX];
    size_t length = name ? (size_t)(name - path) + 1 : 0;

    if (!confined_to)
        return 0;
    if (length > 0 && length < sizeof(parent)) {
        memcpy(parent, path, length);
        parent[length] = '\0';
    }
    if (length < sizeof(parent) && realpath(parent, real) && realpath(confined_to, bounds)) {
        length = strlen(bounds);
        if (strncmp(real, bounds, length) == 0 && (!real[length] || real[length] == '/'))
            return 0;
    }
    return err_set(e, "cannot write %s: this run may write below %s only", path, confined_to);
}

int outfile_begin(struct outfile *f, const char *path, struct err *e)
{
    size_t length = strlen(path);
    struct stat st;
    bool exists = stat(path, &st) == 0;

    if (outfile_allow(path, e))
        return -1;
    f->path = mem_alloc(length + 1);
    f->temp_path = mem_alloc(length + sizeof(SUFFIX));
    memcpy(f->path, path, length);
    memcpy(f->temp_path, path, length);
    if (!exists || S_ISREG(st.st_mode))
        memcpy(f->temp_path + length, SUFFIX, sizeof(SUFFIX));
    f->to = exists && S_ISDIR(st.st_mode) ? NULL : fopen(f->temp_path, "wb");
    if (f->to)
        return 0;
    fail(f, exists && S_ISDIR(st.st_mode) ? EISDIR : errno, e);
    fini(f);
    return -1;
}

int outfile_commit(struct outfile *f, struct err *e)
{
    bool is_written;
    int code, status = 0;

    errno = 0;
    is_written = fflush(f->to) == 0 && !ferror(f->to);
    code = errno;
    if (fclose(f->to) != 0 && is_written) {
        is_written = false;
        code = errno;
    }
    if (is_written && !is_in_place(f) && rename(f->temp_path, f->path) != 0) {
        is_written = false;
        code = errno;
    }
    if (!is_written) {
        status = fail(f, code, e);
        if (!is_in_place(f))
            unlink(f->temp_path);
    }
    fini(f);
    return status;
}

void outfile_abandon(struct outfile *f)
{
    fclose(f->to);
    if (!is_in_place(f))
        unlink(f->temp_path);
    fini(f);
}

int outfile_check(const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e) != 0)
        return -1;
    outfile_abandon(&f);
    return 0;
}
