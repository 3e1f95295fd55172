/* A binary heap of events, ordered by time, kind, core and sequence. */
#include "sim/time/events.h"

#include "base/arena.h"

static bool is_before(const struct event *a, const struct event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->core != b->core)
        return a->core < b->core;
    return a->sequence < b->sequence;
}

void event_append(struct event_list *l, const struct event *e)
{
    MEM_ADD(l->item, l->count, l->capacity) = *e;
}

void event_push(struct event_list *heap, const struct event *e)
{
    size_t at = heap->count;

    event_append(heap, e);
    while (at > 0) {
        size_t parent = (at - 1) / 2;

        if (!is_before(e, &heap->item[parent]))
            break;
        heap->item[at] = heap->item[parent];
        at = parent;
    }
    heap->item[at] = *e;
}

bool event_pop(struct event_list *heap, struct event *e)
{
    struct event last;
    size_t at = 0;

    if (heap->count == 0)
        return false;
    *e = heap->item[0];
    last = heap->item[--heap->count];
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && is_before(&heap->item[child + 1], &heap->item[child]))
            child++;
        if (!is_before(&heap->item[child], &last))
            break;
        heap->item[at] = heap->item[child];
        at = child;
    }
    if (heap->count > 0)
        heap->item[at] = last;
    return true;
}
