/* A sorted array of byte ranges, found by binary search and joined where they touch. */
#include "sim/core/ranges.h"

#include "base/arena.h"

#include <string.h>

void ranges_fini(struct ranges *r)
{
    mem_free(r->item);
    *r = (struct ranges){.count = 0};
}

/* index of the first range that ends at `at` or behind it */
static size_t lower_bound(const struct ranges *r, int64_t at)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r->item[middle].end < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* put `new_count` ranges in the place of old_count ones */
static void replace(struct ranges *r, size_t at, size_t old_count, const struct range *new,
                    size_t new_count)
{
    size_t behind = r->count - at - old_count;

    r->item = mem_grow(r->item, &r->capacity, r->count + new_count, sizeof(*r->item));
    memmove(&r->item[at + new_count], &r->item[at + old_count], behind * sizeof(*r->item));
    memcpy(&r->item[at], new, new_count * sizeof(*new));
    r->count = at + new_count + behind;
}

void ranges_add(struct ranges *r, int64_t first, int64_t end)
{
    struct range joined = {first, end};
    size_t at = lower_bound(r, first), last = at;

    if (first >= end)
        return;
    for (; last < r->count && r->item[last].first <= end; last++) {
        if (r->item[last].first < joined.first)
            joined.first = r->item[last].first;
        if (r->item[last].end > joined.end)
            joined.end = r->item[last].end;
    }
    replace(r, at, last - at, &joined, 1);
}

void ranges_remove(struct ranges *r, int64_t first, int64_t end)
{
    size_t at = lower_bound(r, first), last = at, count = 0;
    struct range rest[2];

    if (first >= end)
        return;
    for (; last < r->count && r->item[last].first < end; last++) {
        if (r->item[last].first < first)
            rest[count++] = (struct range){r->item[last].first, first};
        if (r->item[last].end > end)
            rest[count++] = (struct range){end, r->item[last].end};
    }
    if (last > at)
        replace(r, at, last - at, rest, count);
}

const struct range *ranges_find(const struct ranges *r, int64_t first, int64_t end)
{
    size_t at = lower_bound(r, first + 1);

    return at < r->count && r->item[at].first < end && first < end ? &r->item[at] : NULL;
}

bool ranges_cover(const struct ranges *r, int64_t first, int64_t end)
{
    const struct range *found = ranges_find(r, first, end);

    return first >= end || (found && found->first <= first && found->end >= end);
}

void ranges_copy(const struct ranges *from, int64_t first, int64_t end, struct ranges *to,
                 int64_t to_first)
{
    int64_t shift = to_first - first;
    const struct range *found;

    ranges_remove(to, to_first, end + shift);
    while ((found = ranges_find(from, first, end)) != NULL) {
        int64_t from_first = found->first > first ? found->first : first;

        first = found->end < end ? found->end : end;
        ranges_add(to, from_first + shift, first + shift);
    }
}
