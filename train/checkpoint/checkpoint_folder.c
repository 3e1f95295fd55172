/* Lists the checkpoints of a folder. */
#include "base/arena.h"
#include "train/checkpoint/checkpoint_impl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS_MAX 18

char *checkpoint_path(const char *folder, int64_t step, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "%s/" FILE_PREFIX "%08" PRId64 FILE_SUFFIX, folder, step);
    return buf;
}

/* Only a name that checkpoint_path would give: others are not ours to count or remove. */
int64_t checkpoint_step_of(const char *name)
{
    size_t prefix = strlen(FILE_PREFIX);
    char canonical[64];
    int64_t step = 0;

    if (strncmp(name, FILE_PREFIX, prefix) != 0)
        return -1;
    for (size_t i = 0; i < DIGITS_MAX && isdigit((unsigned char)name[prefix + i]); i++)
        step = step * 10 + (name[prefix + i] - '0');
    snprintf(canonical, sizeof(canonical), FILE_PREFIX "%08" PRId64 FILE_SUFFIX, step);
    return strcmp(name, canonical) == 0 ? step : -1;
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x > y ? -1 : x < y;
}

int64_t *checkpoint_list(const char *folder, int64_t *count, struct err *e)
{
    DIR *dir = opendir(folder);
    int64_t *step = NULL;
    size_t capacity = 0;
    struct dirent *entry;
    int code;

    *count = 0;
    if (!dir) {
        *count = err_at(e, folder, 0, 0, "the folder cannot be read: %s", strerror(errno));
        return NULL;
    }
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        int64_t number = checkpoint_step_of(entry->d_name);

        if (number < 0)
            continue;
        step = mem_grow(step, &capacity, (size_t)*count + 1, sizeof(*step));
        step[(*count)++] = number;
    }
    code = errno;
    closedir(dir);
    if (code) {
        mem_free(step);
        *count = err_at(e, folder, 0, 0, "the folder cannot be read: %s", strerror(code));
        return NULL;
    }
    if (*count > 0)
        qsort(step, (size_t)*count, sizeof(*step), newest_first);
    return step;
}

static int is_whole(const char *path, struct err *e)
{
    struct checkpoint c;
    int status;

    if (checkpoint_open(&c, path, e))
        return -1;
    status = checkpoint_verify(&c, e);
    checkpoint_close(&c);
    return status;
}

int checkpoint_make_folder(const char *folder, struct err *e)
{
    if (outfile_allow(folder, e))
        return -1;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return err_set(e, "cannot make the folder %s: %s", folder, strerror(errno));
    return 0;
}

int checkpoint_lock(struct outfile_lock *l, const char *folder, struct err *e)
{
    char path[4096];

    if (snprintf(path, sizeof(path), "%s/checkpoints", folder) >= (int)sizeof(path))
        return err_set(e, "the path of the folder of checkpoints is too long");
    if (checkpoint_make_folder(folder, e))
        return -1;
    return outfile_lock_named(l, path, folder, e) && !outfile_is_mine(path) ? -1 : 0;
}

int checkpoint_check_own(const char *folder, int64_t step, struct err *e)
{
    char path[4096];
    struct stat st;
    struct err why;
    int64_t count, *found;
    int status = 0;

    if (stat(folder, &st) != 0 && errno == ENOENT)
        return 0;
    found = checkpoint_list(folder, &count, e);
    if (count < 0)
        return -1;
    for (int64_t i = 0; i < count && found[i] > step && status == 0; i++)
        if (is_whole(checkpoint_path(folder, found[i], path, sizeof(path)), &why) == 0)
            status = err_at(e, folder, 0, 0, "has checkpoints of another training, up to step %"
                            PRId64 ", and this one is at step %" PRId64, found[i], step);
    mem_free(found);
    return status;
}

int checkpoint_clear(const char *folder, struct err *e)
{
    char path[4096];
    struct stat st;
    int64_t count, *found;
    int status = 0;

    if (stat(folder, &st) != 0 && errno == ENOENT)
        return 0;
    if (outfile_allow(folder, e))
        return -1;
    found = checkpoint_list(folder, &count, e);
    for (int64_t i = 0; i < count && status == 0; i++)
        if (unlink(checkpoint_path(folder, found[i], path, sizeof(path))) != 0)
            status = err_set(e, "cannot remove %s: %s", path, strerror(errno));
    mem_free(found);
    return count < 0 ? -1 : status;
}

int checkpoint_latest(const char *folder, char *path, size_t path_bytes, struct err *damaged,
                      struct err *e)
{
    int64_t count, *step;
    struct stat st;
    struct err why;
    int status;

    *damaged = (struct err){.line = 0};
    if (stat(folder, &st) != 0 && errno == ENOENT)
        return 0;
    step = checkpoint_list(folder, &count, e);
    status = count < 0 ? -1 : 0;
    for (int64_t i = 0; i < count && status == 0; i++) {
        status = is_whole(checkpoint_path(folder, step[i], path, path_bytes), &why) == 0;
        if (status == 0 && !damaged->msg[0])
            *damaged = why;
    }
    mem_free(step);
    return status;
}
