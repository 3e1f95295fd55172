/*
 * A ring of chunks in the order in which they were asked for, each with the instant at which it
 * leaves the staging memory.
 */
#include "sim/machine/staging.h"

#include "base/arena.h"

#include <assert.h>

#define CAPACITY_MIN 16

void staging_reset(struct staging *s)
{
    s->first = s->count = 0;
    s->bytes = 0;
}

void staging_fini(struct staging *s)
{
    mem_free(s->item);
    *s = (struct staging){.count = 0};
}

struct staged *staging_item(const struct staging *s, size_t i)
{
    return &s->item[(s->first + i) & (s->capacity - 1)];
}

static void grow(struct staging *s)
{
    size_t capacity = s->capacity ? 2 * s->capacity : CAPACITY_MIN, i;
    struct staged *item = mem_alloc(capacity * sizeof(*item));

    for (i = 0; i < s->count; i++)
        item[i] = *staging_item(s, i);
    mem_free(s->item);
    s->item = item;
    s->capacity = capacity;
    s->first = 0;
}

void staging_put(struct staging *s, ps_t end, int64_t bytes)
{
    if (s->count == s->capacity)
        grow(s);
    if (s->count > 0)
        end = later(end, staging_item(s, s->count - 1)->end);
    *staging_item(s, s->count++) = (struct staged){end, bytes};
    s->bytes += bytes;
}

ps_t staging_room(struct staging *s, ps_t at, int64_t bytes, int64_t limit)
{
    assert(bytes <= limit);
    while (s->count > 0) {
        const struct staged *oldest = staging_item(s, 0);

        if (oldest->end > at) {
            if (s->bytes + bytes <= limit)
                break;
            at = oldest->end;
        }
        s->bytes -= oldest->bytes;
        s->first = (s->first + 1) & (s->capacity - 1);
        s->count--;
    }
    return at;
}
