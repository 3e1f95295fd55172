/*
 * A library to be loaded before others (LD_PRELOAD), in which an allocation fails: with
 * FAULT_MEMORY=N the first one of the Nth stack of callers, counted from 1 as they come after
 * main() has begun. A loop that allocates a million times is one stack, or a few, so all N of a run
 * can be tried. Without FAULT_MEMORY nothing fails; in FAULT_REPORT, a file, is "hit" or "none COUNT".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* what glibc calls its own, for whoever replaces them */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

enum { DEPTH = 8, SLOTS = 1 << 16 };

static uint64_t seen[SLOTS];            /* stacks by their hash, open addressing */
static long count, target;
static bool is_running, was_hit;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_inside;    /* backtrace allocates, too */

/* 0: this stack was here before */
static bool is_new(uint64_t hash)
{
    size_t at = hash % SLOTS;

    for (int i = 0; i < SLOTS && seen[at]; i++, at = (at + 1) % SLOTS)
        if (seen[at] == hash)
            return false;
    seen[at] = hash;
    return true;
}

/* whether the allocation under way is the one that fails */
static bool fails(void)
{
    void *frames[DEPTH];
    uint64_t hash = 1469598103934665603u;
    bool answer = false;
    int depth;

    if (!is_running || is_inside || was_hit)
        return false;
    is_inside = true;
    depth = backtrace(frames, DEPTH);
    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    pthread_mutex_lock(&lock);
    if (is_new(hash | 1) && ++count == target)
        answer = was_hit = true;
    pthread_mutex_unlock(&lock);
    is_inside = false;
    if (answer)
        errno = ENOMEM;
    return answer;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(items, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **to, size_t align, size_t bytes)
{
    *to = fails() ? NULL : __libc_memalign(align, bytes);
    return *to ? 0 : ENOMEM;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (flags & MAP_ANONYMOUS && fails())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

/* Not at exit: the program may leave by _exit. */
static void report(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    char text[32];
    int length = was_hit ? snprintf(text, sizeof(text), "hit\n")
                         : snprintf(text, sizeof(text), "none %ld\n", count);

    if (fd >= 0 && write(fd, text, (size_t)length) != length)
        ftruncate(fd, 0);
    close(fd);
}

void _exit(int status)
{
    is_running = false;
    if (getenv("FAULT_REPORT"))
        report(getenv("FAULT_REPORT"));
    for (;;)
        syscall(SYS_exit_group, status);
}

static int (*real_main)(int, char **, char **);

static void report_at_exit(void)
{
    is_running = false;
    if (getenv("FAULT_REPORT"))
        report(getenv("FAULT_REPORT"));
}

static int counted_main(int argc, char **argv, char **environment)
{
    void *frame;

    backtrace(&frame, 1);               /* loads what it needs before anything is counted */
    atexit(report_at_exit);
    target = getenv("FAULT_MEMORY") ? atol(getenv("FAULT_MEMORY")) : 0;
    is_running = true;
    return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main_)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack)
{
    int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                 void (*)(void), void *);
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");

    memcpy(&start, &symbol, sizeof(start));
    real_main = main_;
    return start(counted_main, argc, argv, init, fini, rtld_fini, stack);
}
