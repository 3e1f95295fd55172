/* Finds the lowest place that is free while a buffer lives. */
#include "stack/module/module_impl.h"

/* A copy keeps off what is read behind arrays; copies come last, so arrays need not look. */
static int64_t length(const struct module_buffer *b, bool is_for_copy)
{
    return b->bytes + (is_for_copy ? b->behind_bytes : 0);
}

static int64_t find_place(const struct module_room *r, const struct module_buffer *b)
{
    int64_t at = r->base;

    for (int i = 0; i < r->count; i++) {
        const struct module_buffer *other = r->placed[i];

        if (other->first > b->last || other->last < b->first)
            continue;
        if (other->address >= at + length(b, b->is_copied))
            break;
        if (other->address + length(other, b->is_copied) > at)
            at = other->address + length(other, b->is_copied);
    }
    return at;
}

bool module_room_place(struct module_room *r, struct module_buffer *b, enum array_space space)
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
