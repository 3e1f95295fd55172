/* The programs that earlier processes have compiled, on disk. */
#ifndef PJRT_KEPT_H
#define PJRT_KEPT_H
#include "base/cache/disk_cache.h"

/*
 * One for the process, opened when it is asked for first, where the environment says then
 * (disk_cache_place). NULL: none is wanted, or it cannot be used, which stderr was told once.
 */
struct disk_cache *kept_programs(void);
#endif
