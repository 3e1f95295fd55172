/* A cache of single events in tiles of time, of which the least recently used is given up first. */
#include "viz/models/spans.h"

#include <string.h>

#include "base/arena.h"
#include "viz/view/view.h"

#define TILE_MAX 96

struct tile {
    int core;
    int64_t number, used_at;
    struct trace_event *event;
    size_t count, capacity;
};

struct spans {
    struct ntrace *run;
    struct tile tile[TILE_MAX];
    int tile_count;
    int64_t uses;
    int budget;
    int64_t late_ns;
    bool is_partial, has_made;
};

struct spans *spans_create(struct ntrace *run)
{
    struct spans *s = mem_alloc(sizeof(*s));

    s->run = run;
    s->budget = -1;
    return s;
}

void spans_forget(struct spans *s)
{
    while (s->tile_count)
        mem_free(s->tile[--s->tile_count].event);
    memset(s->tile, 0, sizeof(s->tile));
}

void spans_destroy(struct spans *s)
{
    if (!s)
        return;
    spans_forget(s);
    mem_free(s);
}

static bool keep(void *context, const struct trace_event *e)
{
    struct tile *t = context;

    t->event = mem_grow(t->event, &t->capacity, t->count + 1, sizeof(*t->event));
    t->event[t->count++] = *e;
    return true;
}

static struct tile *take_place(struct spans *s)
{
    struct tile *oldest = &s->tile[0];

    if (s->tile_count < TILE_MAX)
        return &s->tile[s->tile_count++];
    for (int i = 1; i < TILE_MAX; i++)
        if (s->tile[i].used_at < oldest->used_at)
            oldest = &s->tile[i];
    return oldest;
}

const struct trace_event *spans_tile(struct spans *s, int core, int64_t number, size_t *count)
{
    struct tile *t = NULL;

    for (int i = 0; i < s->tile_count; i++)
        if (s->tile[i].number == number && s->tile[i].core == core)
            t = &s->tile[i];
    if (!t && (!s->budget || (s->has_made && view_is_late(s->late_ns)))) {
        s->is_partial = true;
        *count = 0;
        return NULL;
    }
    if (!t) {
        s->budget -= s->budget > 0;
        s->has_made = true;
        t = take_place(s);
        t->core = core;
        t->number = number;
        t->count = 0;
        ntrace_walk_core(s->run, core, number * SPANS_TILE_CYCLES,
                         (number + 1) * SPANS_TILE_CYCLES, true, false, keep, t);
    }
    t->used_at = ++s->uses;
    *count = t->count;
    return t->event;
}

void spans_set_budget(struct spans *s, int tiles)
{
    s->budget = tiles;
    s->late_ns = 0;
    s->is_partial = s->has_made = false;
}

void spans_set_late(struct spans *s, int64_t late_ns)
{
    s->late_ns = late_ns;
}

bool spans_is_partial(const struct spans *s)
{
    return s->is_partial;
}
