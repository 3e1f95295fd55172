/* Single events of a core in tiles of time. */
#include "viz/models/spans.h"

#include "base/arena.h"

static bool keep(void *context, const struct trace_event *e)
{
    struct tile *t = context;
    struct trace_event *event = mem_grow(t->content, &t->capacity, t->count + 1, sizeof(*e));

    t->content = event;
    event[t->count++] = *e;
    return true;
}

const struct trace_event *spans_tile(struct tiles *s, int core, int64_t number, size_t *count)
{
    bool is_new;
    struct tile *t = tiles_take(s, (struct tile_key){NTRACE_CORE, core, 0, number}, &is_new);

    if (t && is_new)
        ntrace_walk_core(s->run, core, number * SPANS_TILE_CYCLES,
                         (number + 1) * SPANS_TILE_CYCLES, true, false, keep, t);
    *count = t ? t->count : 0;
    return t ? t->content : NULL;
}
