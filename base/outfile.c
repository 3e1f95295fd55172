/*
 * Writes PATH.tmp and renames it over PATH on commit, so that a reader sees the whole file or the
 * one before.
 */
#include "base/outfile.h"

#include "base/arena.h"

#include <errno.h>
#include <stdbool.h>
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

int outfile_begin(struct outfile *f, const char *path, struct err *e)
{
    size_t length = strlen(path);
    struct stat st;
    bool exists = stat(path, &st) == 0;

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
