/*
 * What a DMA port has asked for and not yet got back.
 *
 * Bytes take their place in the staging memory when a chunk is asked for, and
 * leave it in that order, each chunk when its data are where they belong. A
 * chunk that finds no place waits. Times are known when a chunk is asked for,
 * so the port learns at once when the next may follow; nothing is polled.
 */
#ifndef SIM_STAGING_H
#define SIM_STAGING_H
#include "base/units.h"

#include <stddef.h>
#include <stdint.h>

struct staging {
    struct staged {
        ps_t end;                       /* its place is free from then on; never falls */
        int64_t bytes;
    } *item;                            /* a ring that grows; its own memory */
    size_t capacity;                    /* 0 or a power of two */
    size_t first, count;
    int64_t bytes;                      /* of all items */
};

void staging_reset(struct staging *s);
void staging_fini(struct staging *s);
/* the i-th chunk under way, the oldest first */
struct staged *staging_item(const struct staging *s, size_t i);
/* a chunk asked for now, with its place until `end` */
void staging_put(struct staging *s, ps_t end, int64_t bytes);
/* The first instant from `at` on with room for `bytes` of `limit`; forgets what is gone by then. */
ps_t staging_room(struct staging *s, ps_t at, int64_t bytes, int64_t limit);
#endif
