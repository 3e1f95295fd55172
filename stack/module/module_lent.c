/*
 * A result has its place for the whole program (stack/module/module_lifetimes.c), but holds nothing
 * before it is written. So long its place is lent to what is temporary, one buffer after the other,
 * as XLA's assignment of buffers does: the largest come first, each takes the smallest place that
 * is no smaller than itself and that nobody has while it lives. What a result is made of element by
 * element, in the same places, may lie there, too.
 */
#include "stack/module/module_impl.h"

static bool live_at_once(const struct module_buffer *a, const struct module_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* `at` of the list has the place of `own`, or would have it, at the same time as an earlier guest */
static bool is_taken(struct module_buffer *const *list, int at, const struct module_buffer *own)
{
    for (int i = 0; i < at; i++)
        if (list[i]->is_guest && list[i]->address == own->address && live_at_once(list[i], list[at]))
            return true;
    return false;
}

bool module_lend(const struct module_plan *p, struct module_buffer *const *list, int at)
{
    struct module_buffer *b = list[at];

    if (b->role != BUFFER_TEMPORARY || b->made >= 0)
        return false;
    for (int i = at - 1; i >= 0; i--)   /* the smallest place that is large enough stands last */
        if (list[i]->bytes >= b->bytes &&
            (list[i]->made > b->last || module_plan_is_made_of(p, list[i], b)) &&
            !is_taken(list, at, list[i])) {
            b->address = list[i]->address;
            b->space = SPACE_HBM;
            return true;
        }
    return false;
}
