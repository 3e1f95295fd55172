/* Finds and reads programs of frameworks for tests. */
#include "tests/rigs/program_files.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void find(struct program_files *f, const char *folder, const char *pattern)
{
    char path[1000];
    glob_t found;

    *f = (struct program_files){NULL, 0};
    snprintf(path, sizeof(path), "%s/%s", folder, pattern);
    if (glob(path, 0, NULL, &found) == 0) {
        f->path = calloc(found.gl_pathc, sizeof(char *));
        for (; f->path && f->count < found.gl_pathc; f->count++)
            f->path[f->count] = strdup(found.gl_pathv[f->count]);
        globfree(&found);
    }
}

void program_files_own(struct program_files *f, const char *pattern)
{
    find(f, "tests/import/data", pattern);
}

void program_files_samples(struct program_files *f, const char *pattern)
{
    const char *shared = getenv("SYSTOLE_SHARED");
    char folder[600];

    snprintf(folder, sizeof(folder), "%s/samples", shared ? shared : "../shared");
    find(f, folder, pattern);
}

void program_files_end(struct program_files *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->path[i]);
    free(f->path);
}

char *program_file_read(const char *path, size_t *bytes)
{
    gzFile f = gzopen(path, "rb");
    size_t room = 1 << 16, used = 0;
    char *data = f ? malloc(room + 1) : NULL;
    int got;

    while (data && (got = gzread(f, data + used, (unsigned)(room - used))) > 0) {
        used += (size_t)got;
        if (used == room)
            data = realloc(data, (room *= 2) + 1);
    }
    if (f)
        gzclose(f);
    if (data)
        data[used] = 0;
    *bytes = used;
    return data;
}

char *program_file_read_beside(const char *path, const char *from, const char *to, size_t *bytes)
{
    char other[1000];
    size_t keep = strlen(path) - strlen(from);

    snprintf(other, sizeof(other), "%.*s%s", (int)keep, path, to);
    return program_file_read(other, bytes);
}
