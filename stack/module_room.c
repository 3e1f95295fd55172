/* The lowest place that is free while a buffer lives. */
#include "stack/module_impl.h"

static int64_t find_place(const struct room *r, const struct buffer *b)
{
    int64_t at = r->base;

    for (int i = 0; i < r->count; i++) {
        const struct buffer *other = r->placed[i];

        if (other->first > b->last || other->last < b->first)
            continue;
        if (other->address >= at + b->bytes)
            break;
        if (other->address + other->bytes > at)
            at = other->address + other->bytes;
    }
    return at;
}

bool room_place(struct room *r, struct buffer *b, enum array_space space)
{
    int64_t at = find_place(r, b);
    int i;

    if (at + b->bytes > r->end)
        return false;
    b->address = at;
    b->space = space;
    for (i = r->count++; i > 0 && r->placed[i - 1]->address > at; i--)
        r->placed[i] = r->placed[i - 1];
    r->placed[i] = b;
    return true;
}
