/* Tiles by their keys, in buckets; the budget of a frame. */
#include "viz/models/tiles.h"

#include <string.h>

#include "base/arena.h"
#include "viz/view/view.h"

#define BUCKETS 1024

struct tiles *tiles_create(struct ntrace *run, int most)
{
    struct tiles *t = mem_alloc(sizeof(*t));

    t->run = run;
    t->most = most;
    t->budget = -1;
    t->tile = mem_alloc(sizeof(*t->tile) * (size_t)most);
    t->bucket = mem_alloc(sizeof(struct tile *) * BUCKETS);
    return t;
}

void tiles_forget(struct tiles *t)
{
    while (t->count)
        mem_free(t->tile[--t->count].content);
    memset(t->bucket, 0, sizeof(struct tile *) * BUCKETS);
}

void tiles_destroy(struct tiles *t)
{
    if (!t)
        return;
    tiles_forget(t);
    mem_free(t->tile);
    mem_free(t->bucket);
    mem_free(t);
}

void tiles_set_budget(struct tiles *t, int budget, int64_t late_ns)
{
    t->budget = budget;
    t->late_ns = late_ns;
    t->is_partial = t->has_made = false;
}

static struct tile **bucket_of(struct tiles *t, struct tile_key k)
{
    uint64_t hash = (uint64_t)k.number * 0x9e3779b97f4a7c15u
                    + (uint64_t)k.index * 0xbf58476d1ce4e5b9u + (uint64_t)k.level * 31
                    + (uint64_t)k.series;

    return &t->bucket[(hash ^ hash >> 32) % BUCKETS];
}

struct tile *tiles_find(struct tiles *t, struct tile_key k)
{
    struct tile *x = *bucket_of(t, k);

    while (x && (x->key.number != k.number || x->key.level != k.level || x->key.index != k.index
                 || x->key.series != k.series))
        x = x->next;
    return x;
}

/* a free place, or that of the tile that was not used for longest */
static struct tile *take_place(struct tiles *t)
{
    struct tile *oldest = &t->tile[0], **link;

    if (t->count < t->most)
        return &t->tile[t->count++];
    for (int i = 1; i < t->most; i++)
        if (t->tile[i].used_at < oldest->used_at)
            oldest = &t->tile[i];
    link = bucket_of(t, oldest->key);
    while (*link != oldest)
        link = &(*link)->next;
    *link = oldest->next;
    mem_free(oldest->content);
    return oldest;
}

struct tile *tiles_take(struct tiles *t, struct tile_key key, bool *is_new)
{
    struct tile *x = tiles_find(t, key), **bucket;

    *is_new = x == NULL;
    if (!x && (!t->budget || (t->has_made && view_is_late(t->late_ns)))) {
        t->is_partial = true;
        return NULL;
    }
    if (!x) {
        t->budget -= t->budget > 0;
        x = take_place(t);
        bucket = bucket_of(t, key);
        *x = (struct tile){.key = key, .next = *bucket};
        *bucket = x;
        t->made++;
        t->has_made = true;
    }
    x->used_at = ++t->uses;
    return x;
}
