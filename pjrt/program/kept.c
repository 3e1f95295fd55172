/* Opens the cache of compiled programs once. */
#include "pjrt/program/kept.h"

#include "base/arena.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct disk_cache cache;
static bool is_tried, is_open;

static void open_cache(void)
{
    int64_t bytes_max;
    bool is_wrong;
    struct err e;
    char *folder = disk_cache_place(DISK_CACHE_PROGRAMS, &bytes_max, &is_wrong, &e);

    is_open = folder && disk_cache_open(&cache, folder, bytes_max, &e) == 0;
    if (is_wrong || (folder && !is_open))
        fprintf(stderr, "systole: %s; programs are compiled each time\n", e.msg);
    mem_free(folder);
}

struct disk_cache *kept_programs(void)
{
    pthread_mutex_lock(&lock);
    if (!is_tried)
        open_cache();
    is_tried = true;
    pthread_mutex_unlock(&lock);
    return is_open ? &cache : NULL;
}
