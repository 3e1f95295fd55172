/*
 * What is asked of a run in tiles of time and kept: at most so many tiles, the least recently used
 * given up first, and so many new ones in a frame, so that the window answers while it fills.
 */
#ifndef VIZ_TILES_H
#define VIZ_TILES_H
#include "report/native_trace/ntrace.h"

#include <stdbool.h>

struct tile_key {
    int series, index, level;           /* of a core, chip or link; columns of 2^level cycles */
    int64_t number;                     /* in time */
};

struct tile {
    struct tile_key key;
    int64_t used_at;
    struct tile *next;                  /* in its bucket */
    void *content;                      /* of mem_alloc or mem_grow */
    size_t count, capacity;             /* of it, for who made it */
};

struct tiles {
    struct ntrace *run;                 /* borrowed */
    struct tile *tile, **bucket;
    int count, most;
    int64_t uses, made;                 /* since the beginning */
    int budget;                         /* that may still be made; -1: any number */
    int64_t late_ns;                    /* 0: never; but one tile is made in any case */
    bool has_made;
    bool is_partial;                    /* some was not made since tiles_set_budget */
};

struct tiles *tiles_create(struct ntrace *run, int most);
void tiles_destroy(struct tiles *t);
void tiles_forget(struct tiles *t);     /* the run has grown */

/*
 * From now on make at most `budget` tiles (-1: any number), and none from that time of the clock
 * on (view.late_ns; 0: any time), after the first one.
 */
void tiles_set_budget(struct tiles *t, int budget, int64_t late_ns);

/* NULL: not there */
struct tile *tiles_find(struct tiles *t, struct tile_key key);
/* the same, or a new one, which *is_new says and which is to be made; NULL: none may be */
struct tile *tiles_take(struct tiles *t, struct tile_key key, bool *is_new);
#endif
