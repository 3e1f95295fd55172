/*
 * Writes a file under a name of its own and renames it over PATH on commit, so that a reader sees
 * the whole file or the one before.
 */
#define _DEFAULT_SOURCE                 /* getentropy, realpath */
#include "base/outfile.h"

#include "base/arena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* a random number, and the process that writes */
#define SUFFIX_BYTES sizeof(".0123456789abcdef01234567.tmp")
#define RANDOM_DIGITS 16

/* ----- what goes away with the process */

static const char *unfinished[256];     /* paths, which whoever has begun them owns */
static pthread_mutex_t unfinished_lock = PTHREAD_MUTEX_INITIALIZER;

/* puts `path` where `old` was; NULL: nothing. A full table forgets. */
static void replace_unfinished(const char *old, const char *path)
{
    size_t i = 0;

    pthread_mutex_lock(&unfinished_lock);
    while (i < sizeof(unfinished) / sizeof(unfinished[0]) && unfinished[i] != old)
        i++;
    if (i < sizeof(unfinished) / sizeof(unfinished[0]))
        unfinished[i] = path;
    pthread_mutex_unlock(&unfinished_lock);
}

void outfile_abandon_all(void)
{
    pthread_mutex_lock(&unfinished_lock);
    for (size_t i = 0; i < sizeof(unfinished) / sizeof(unfinished[0]); i++)
        if (unfinished[i])
            unlink(unfinished[i]);
}

/* ----- one file */

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
    replace_unfinished(f->temp_path, NULL);
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

/*
 * An empty file of its own beside `path`, whose name nobody can guess and so lie in wait at: its
 * descriptor, and its name in `temp`. -1 with errno.
 */
static int open_beside(const char *path, char *temp, size_t temp_bytes)
{
    uint64_t number;
    int fd;

    do {
        if (getentropy(&number, sizeof(number)) != 0)
            return -1;
        snprintf(temp, temp_bytes, "%s.%016" PRIx64 "%08x.tmp", path, number, (unsigned)getpid());
        fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

/* whether it is the name of a temporary file whose writer is no more */
static bool is_left(const char *name)
{
    size_t length = strlen(name), suffix = SUFFIX_BYTES - 1;
    const char *at = name + length - suffix;
    unsigned long pid;

    if (length <= suffix || *at != '.' || strspn(at + 1, "0123456789abcdef") != RANDOM_DIGITS + 8 ||
        strcmp(at + 1 + RANDOM_DIGITS + 8, ".tmp") != 0)
        return false;
    pid = strtoul(at + 1 + RANDOM_DIGITS, NULL, 16);
    return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void clean(const char *folder, const char *prefix)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && is_left(entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}

void outfile_clean(const char *folder)
{
    clean(folder, "");
}

/* "folder/name" -> "folder", which is "." or "/" where there is none; the caller frees it */
static char *folder_of(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
    char *folder = mem_alloc(length + 1);

    *name = slash ? slash + 1 : path;
    return memcpy(folder, slash ? path : ".", length);
}

/* what killed writers of this very file have left */
static void clean_beside(const char *path)
{
    const char *name;
    char *folder = folder_of(path, &name);

    clean(folder, name);
    mem_free(folder);
}

char *outfile_temporary(const char *path, struct err *e)
{
    size_t bytes = strlen(path) + SUFFIX_BYTES;
    char *temp = mem_alloc(bytes);
    int fd = outfile_allow(path, e) ? -2 : open_beside(path, temp, bytes);

    if (fd >= 0) {
        close(fd);
        replace_unfinished(NULL, temp);
        clean_beside(path);
        return temp;
    }
    if (fd == -1)
        err_set(e, "cannot write %s: %s", path, strerror(errno));
    mem_free(temp);
    return NULL;
}

void outfile_drop(char *temp)
{
    unlink(temp);
    replace_unfinished(temp, NULL);
    mem_free(temp);
}

int outfile_begin(struct outfile *f, const char *path, struct err *e)
{
    size_t length = strlen(path);
    struct stat st;
    bool exists = stat(path, &st) == 0;
    int fd = -1;

    if (outfile_allow(path, e))
        return -1;
    f->path = mem_alloc(length + 1);
    f->temp_path = mem_alloc(length + SUFFIX_BYTES);
    memcpy(f->path, path, length);
    if (exists && !S_ISREG(st.st_mode)) {
        memcpy(f->temp_path, path, length);
        f->to = S_ISDIR(st.st_mode) ? NULL : fopen(path, "wb");
    } else {
        fd = open_beside(path, f->temp_path, length + SUFFIX_BYTES);
        if (fd >= 0 && exists)
            fchmod(fd, st.st_mode & 0777);
        f->to = fd < 0 ? NULL : fdopen(fd, "wb");
        if (f->to) {
            replace_unfinished(NULL, f->temp_path);
            clean_beside(path);
        }
    }
    if (f->to)
        return 0;
    fail(f, exists && S_ISDIR(st.st_mode) ? EISDIR : errno, e);
    if (fd >= 0) {
        close(fd);
        unlink(f->temp_path);
    }
    fini(f);
    return -1;
}

/* Of a stream that has failed before: why. It is asked once more, for nobody keeps the number. */
static int code_of(FILE *to)
{
    clearerr(to);
    errno = 0;
    return fputc(0, to) == EOF || fflush(to) != 0 ? errno : EIO;
}

int outfile_code(FILE *to)
{
    errno = 0;
    if (ferror(to))
        return code_of(to);
    return fflush(to) != 0 ? errno : 0;
}

/* A rename outlives a loss of power once the folder is on the disk. */
static void sync_folder_of(const char *path)
{
    const char *name;
    char *folder = folder_of(path, &name);
    int fd;

    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    mem_free(folder);
}

int outfile_publish(const char *temp, const char *path, struct err *e)
{
    if (rename(temp, path) != 0) {
        err_set(e, "cannot write %s: %s", path, strerror(errno));
        unlink(temp);
        return -1;
    }
    sync_folder_of(path);
    return 0;
}

int outfile_commit(struct outfile *f, struct err *e)
{
    int code = outfile_code(f->to), status;

    if (code == 0 && !is_in_place(f) && fsync(fileno(f->to)) != 0)
        code = errno;
    if (fclose(f->to) != 0 && code == 0)
        code = errno;
    if (code == 0) {
        status = is_in_place(f) ? 0 : outfile_publish(f->temp_path, f->path, e);
    } else {
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

/* ----- locks */

/* who has it says so in the file */
static int fail_locked(int fd, const char *name, struct err *e)
{
    char text[24] = "";
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

    return err_set(e, "%s is being written by %s%.*s", name, got > 0 ? "process " : "another process",
                   (int)strcspn(text, "\n"), text);
}

/* 1: it went away before it could be locked */
static int try_lock(struct outfile_lock *l, const char *name, struct err *e)
{
    struct stat mine, there;
    char text[24];
    int length, status = 0;

    l->fd = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (l->fd < 0)
        return err_set(e, "cannot write %s: %s", l->path, strerror(errno));
    if (flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        status = errno == EWOULDBLOCK ? fail_locked(l->fd, name, e)
                                      : err_set(e, "cannot lock %s: %s", name, strerror(errno));
        if (errno != EWOULDBLOCK)       /* where nobody can lock, nobody holds it */
            unlink(l->path);
    } else if (fstat(l->fd, &mine) != 0 || stat(l->path, &there) != 0 ||
             mine.st_ino != there.st_ino)
        status = 1;
    if (status) {
        close(l->fd);
        return status;
    }
    length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (pwrite(l->fd, text, (size_t)length, 0) == length)
        status = ftruncate(l->fd, length);
    return 0;                           /* held also where its number cannot be written */
}

int outfile_lock(struct outfile_lock *l, const char *path, struct err *e)
{
    return outfile_lock_named(l, path, path, e);
}

int outfile_lock_named(struct outfile_lock *l, const char *path, const char *name, struct err *e)
{
    size_t length = strlen(path);
    struct stat st;
    int status;

    *l = (struct outfile_lock){.path = NULL};
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return 0;
    if (outfile_allow(path, e))
        return -1;
    l->path = mem_alloc(length + sizeof(".lock"));
    snprintf(l->path, length + sizeof(".lock"), "%s.lock", path);
    while ((status = try_lock(l, name, e)) > 0)
        ;
    if (status == 0) {
        replace_unfinished(NULL, l->path);
        return 0;
    }
    mem_free(l->path);
    l->path = NULL;
    return -1;
}

bool outfile_is_mine(const char *path)
{
    size_t length = strlen(path) + sizeof(".lock");
    char *lock = mem_alloc(length), text[24] = "";
    ssize_t got = -1;
    int fd;

    snprintf(lock, length, "%s.lock", path);
    fd = open(lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        got = pread(fd, text, sizeof(text) - 1, 0);
        close(fd);
    }
    mem_free(lock);
    return got > 0 && strtol(text, NULL, 10) == (long)getpid();
}

void outfile_unlock(struct outfile_lock *l)
{
    if (!l->path)
        return;
    unlink(l->path);                    /* before it is free: nobody else holds this file */
    close(l->fd);
    replace_unfinished(l->path, NULL);
    mem_free(l->path);
    l->path = NULL;
}

/* ----- standard output */

static const char *program;

static void check_stdout(void)
{
    int code = outfile_code(stdout);

    if (code == 0)
        return;
    fprintf(stderr, "%s: standard output: %s\n", program, strerror(code));
    _exit(1);
}

void outfile_watch_stdout(const char *name)
{
    program = name;
    atexit(check_stdout);
}
