#include "stack/collective_steps_queue.h"

#include "base/arena.h"

#include <assert.h>

#define SPAN_SHIFT 14                   /* spans of 16 ns: a few operations of a core */
#define ROUND_SHIFT 56

static int64_t span_of(ps_t at)
{
    return at >> SPAN_SHIFT;
}

void steps_queue_init(struct steps_queue *q)
{
    *q = (struct steps_queue){.free_first = -1, .beyond = -1, .ring_end = STEPS_SPAN_COUNT};
    for (int i = 0; i < STEPS_SPAN_COUNT; i++)
        q->span[i] = -1;
}

void steps_queue_fini(struct steps_queue *q)
{
    mem_free(q->pool);
    mem_free(q->heap);
}

static bool is_before(const struct steps_event *a, const struct steps_event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void heap_put(struct steps_queue *q, const struct steps_event *e)
{
    size_t i = q->heap_count++;

    if (q->heap_count > q->heap_capacity)
        q->heap = mem_grow(q->heap, &q->heap_capacity, q->heap_count, sizeof(*q->heap));
    while (i > 0 && is_before(e, &q->heap[(i - 1) / 2])) {
        q->heap[i] = q->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    q->heap[i] = *e;
}

static void heap_take(struct steps_queue *q, struct steps_event *e)
{
    const struct steps_event *last = &q->heap[--q->heap_count];
    size_t i = 0, child;

    *e = q->heap[0];
    while ((child = 2 * i + 1) < q->heap_count) {
        if (child + 1 < q->heap_count && is_before(&q->heap[child + 1], &q->heap[child]))
            child++;
        if (!is_before(&q->heap[child], last))
            break;
        q->heap[i] = q->heap[child];
        i = child;
    }
    q->heap[i] = *last;
}

static int32_t pool_take(struct steps_queue *q)
{
    int32_t index = q->free_first;

    if (index >= 0) {
        q->free_first = q->pool[index].next;
        return index;
    }
    q->pool = mem_grow(q->pool, &q->pool_capacity, (size_t)q->pool_count + 1, sizeof(*q->pool));
    return q->pool_count++;
}

static void list_put(struct steps_queue *q, int32_t index)
{
    int64_t span = span_of(q->pool[index].at);
    int32_t *list = span < q->ring_end ? &q->span[span % STEPS_SPAN_COUNT] : &q->beyond;

    q->pool[index].next = *list;
    *list = index;
}

void steps_queue_push(struct steps_queue *q, const struct steps_event *e)
{
    int64_t span = span_of(e->at);
    int32_t index;

    assert(e->at >= q->now && e->order >> ROUND_SHIFT == 0);
    q->count++;
    if (span == q->span_now) {
        struct steps_event next = *e;

        if (e->at == q->now)
            next.order |= (q->round + 1) << ROUND_SHIFT;
        heap_put(q, &next);
        return;
    }
    index = pool_take(q);
    q->pool[index] = *e;
    list_put(q, index);
}

/* The ring goes on from the first of the events beyond it. */
static void turn_ring(struct steps_queue *q)
{
    int32_t list = q->beyond, next;
    int64_t first = INT64_MAX;

    assert(list >= 0);
    for (int32_t i = list; i >= 0; i = q->pool[i].next)
        if (span_of(q->pool[i].at) < first)
            first = span_of(q->pool[i].at);
    q->span_now = first;
    q->ring_end = first + STEPS_SPAN_COUNT;
    q->beyond = -1;
    for (; list >= 0; list = next) {
        next = q->pool[list].next;
        list_put(q, list);
    }
}

static void open_span(struct steps_queue *q)
{
    int32_t *list = &q->span[q->span_now % STEPS_SPAN_COUNT], next;

    for (int32_t i = *list; i >= 0; i = next) {
        next = q->pool[i].next;
        heap_put(q, &q->pool[i]);
        q->pool[i].next = q->free_first;
        q->free_first = i;
    }
    *list = -1;
}

bool steps_queue_pop(struct steps_queue *q, struct steps_event *e)
{
    if (q->count == 0)
        return false;
    while (q->heap_count == 0) {
        if (++q->span_now == q->ring_end)
            turn_ring(q);
        open_span(q);
    }
    heap_take(q, e);
    q->count--;
    q->now = e->at;
    q->round = e->order >> ROUND_SHIFT;
    assert(q->round < UINT8_MAX);       /* as many times in one instant: a loop without time */
    return true;
}
