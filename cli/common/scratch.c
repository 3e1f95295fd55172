/* Makes a temporary folder and removes it with everything in it. */
#define _XOPEN_SOURCE 700               /* nftw */
#include "cli/common/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *scratch_make(struct arena *a, struct err *e)
{
    const char *parent = getenv("TMPDIR");
    char *folder = arena_printf(a, "%s/systole-XXXXXX", parent && *parent ? parent : "/tmp");
    char absolute[PATH_MAX];

    if (!mkdtemp(folder) || !realpath(folder, absolute)) {
        err_set(e, "cannot make a folder %s: %s", folder, strerror(errno));
        return NULL;
    }
    return arena_strdup(a, absolute);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void scratch_remove(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
