/*
 * A calendar queue: a ring of short spans of time, a heap for the span under way, and groups of
 * events of equal key found by a hash.
 */
#include "stack/collective/collective_steps_queue.h"

#include "base/arena.h"

#include <assert.h>

#define SPAN_COUNT 4096
#define SPAN_SHIFT 14                   /* spans of 16 ns: a few operations of a core */
#define HASH_BITS 16
#define BLOCK_EVENTS 31

/* Events with one key: the first is here, the others in a list of blocks. */
struct group {
    struct collective_steps_key key;
    int32_t hash_next, span_next;       /* groups; span_next is also that of the free ones */
    int32_t first_block, last_block;    /* -1: none */
    int32_t count;
    struct collective_steps_event first;
};

struct block {
    struct collective_steps_event event[BLOCK_EVENTS];
    int32_t next;
};

struct waiting {                        /* in the heap */
    struct collective_steps_key key;
    int32_t group;
};

struct collective_steps_queue {
    struct group *group;
    struct block *block;
    struct waiting *heap;
    size_t group_capacity, block_capacity, heap_capacity, heap_count;
    int32_t group_count, block_count, free_group, free_block;
    int32_t hash[1 << HASH_BITS], span[SPAN_COUNT];     /* lists of groups, -1 ends them */
    int32_t beyond;                     /* groups after the end of the ring of spans */
    int64_t span_now, ring_end;         /* numbers of spans since instant 0 */
    int64_t group_waiting_count;
    ps_t now;                           /* of the event popped last */
    uint64_t round;                     /* 1: what events of round 0 put in at their instant */
    int32_t open, open_index, open_block;       /* group that is handed out, -1 none; how far */
};

struct collective_steps_queue *collective_steps_queue_create(void)
{
    struct collective_steps_queue *q = mem_alloc(sizeof(*q));

    q->free_group = q->free_block = q->beyond = q->open = -1;
    q->ring_end = SPAN_COUNT;
    q->now = -1;
    for (size_t i = 0; i < COUNT_OF(q->hash); i++)
        q->hash[i] = -1;
    for (size_t i = 0; i < COUNT_OF(q->span); i++)
        q->span[i] = -1;
    return q;
}

void collective_steps_queue_destroy(struct collective_steps_queue *q)
{
    mem_free(q->group);
    mem_free(q->block);
    mem_free(q->heap);
    mem_free(q);
}

static int64_t span_of(ps_t at)
{
    return at >> SPAN_SHIFT;
}

/* ----- the heap of the span that time has reached */

static bool is_before(struct collective_steps_key a, struct collective_steps_key b)
{
    return a.at < b.at || (a.at == b.at && a.order < b.order);
}

static void heap_put(struct collective_steps_queue *q, int32_t group)
{
    struct waiting w = {q->group[group].key, group};
    size_t i = q->heap_count++;

    q->heap = mem_grow(q->heap, &q->heap_capacity, q->heap_count, sizeof(*q->heap));
    for (; i > 0 && is_before(w.key, q->heap[(i - 1) / 2].key); i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = w;
}

static int32_t heap_take(struct collective_steps_queue *q)
{
    struct waiting last = q->heap[--q->heap_count];
    int32_t group = q->heap[0].group;
    size_t i = 0, child;

    while ((child = 2 * i + 1) < q->heap_count) {
        if (child + 1 < q->heap_count && is_before(q->heap[child + 1].key, q->heap[child].key))
            child++;
        if (!is_before(q->heap[child].key, last.key))
            break;
        q->heap[i] = q->heap[child];
        i = child;
    }
    q->heap[i] = last;
    return group;
}

/* ----- the ring of spans */

static void put_in_span(struct collective_steps_queue *q, int32_t group)
{
    int64_t span = span_of(q->group[group].key.at);
    int32_t *list = span < q->ring_end ? &q->span[span % SPAN_COUNT] : &q->beyond;

    if (span == q->span_now) {
        heap_put(q, group);
        return;
    }
    q->group[group].span_next = *list;
    *list = group;
}

/* The ring goes on from the first of the groups beyond it. */
static void turn_ring(struct collective_steps_queue *q)
{
    int32_t list = q->beyond, next;
    int64_t first = INT64_MAX;

    assert(list >= 0);
    for (int32_t i = list; i >= 0; i = q->group[i].span_next)
        if (span_of(q->group[i].key.at) < first)
            first = span_of(q->group[i].key.at);
    q->span_now = first;
    q->ring_end = first + SPAN_COUNT;
    q->beyond = -1;
    for (; list >= 0; list = next) {
        next = q->group[list].span_next;
        put_in_span(q, list);
    }
}

static void next_span(struct collective_steps_queue *q)
{
    int32_t *list, next;

    if (++q->span_now == q->ring_end) {
        turn_ring(q);
        return;
    }
    list = &q->span[q->span_now % SPAN_COUNT];
    for (int32_t i = *list; i >= 0; i = next) {
        next = q->group[i].span_next;
        heap_put(q, i);
    }
    *list = -1;
}

/* ----- groups */

static int32_t *hash_list(struct collective_steps_queue *q, struct collective_steps_key key)
{
    uint64_t bits = ((uint64_t)key.at ^ key.order << 20) * 0x9e3779b97f4a7c15u;

    return &q->hash[bits >> (64 - HASH_BITS)];
}

static int32_t find_group(struct collective_steps_queue *q, struct collective_steps_key key)
{
    int32_t i = *hash_list(q, key);

    while (i >= 0 && (q->group[i].key.at != key.at || q->group[i].key.order != key.order))
        i = q->group[i].hash_next;
    return i;
}

static int32_t take_free_group(struct collective_steps_queue *q)
{
    int32_t index = q->free_group;

    if (index >= 0) {
        q->free_group = q->group[index].span_next;
        return index;
    }
    q->group = mem_grow(q->group, &q->group_capacity, (size_t)q->group_count + 1,
                        sizeof(*q->group));
    return q->group_count++;
}

static void new_group(struct collective_steps_queue *q, struct collective_steps_key key,
                      const struct collective_steps_event *e)
{
    int32_t index = take_free_group(q), *list = hash_list(q, key);

    q->group[index] = (struct group){.key = key, .hash_next = *list, .first_block = -1,
                                     .last_block = -1, .count = 1, .first = *e};
    *list = index;
    q->group_waiting_count++;
    put_in_span(q, index);
}

static int32_t take_free_block(struct collective_steps_queue *q)
{
    int32_t index = q->free_block;

    if (index >= 0) {
        q->free_block = q->block[index].next;
    } else {
        q->block = mem_grow(q->block, &q->block_capacity, (size_t)q->block_count + 1,
                            sizeof(*q->block));
        index = q->block_count++;
    }
    q->block[index].next = -1;
    return index;
}

static void add_to_group(struct collective_steps_queue *q, struct group *g,
                         const struct collective_steps_event *e)
{
    int32_t place = (g->count++ - 1) % BLOCK_EVENTS;

    if (place == 0) {
        int32_t block = take_free_block(q);

        if (g->last_block >= 0)
            q->block[g->last_block].next = block;
        else
            g->first_block = block;
        g->last_block = block;
    }
    q->block[g->last_block].event[place] = *e;
}

void collective_steps_queue_push(struct collective_steps_queue *q, struct collective_steps_key key,
                                 const struct collective_steps_event *e)
{
    int32_t group;

    assert(key.at >= q->now && key.order >> STEPS_ORDER_BITS == 0);
    if (key.at == q->now)
        key.order |= (q->round + 1) << STEPS_ORDER_BITS;
    group = find_group(q, key);
    if (group >= 0)
        add_to_group(q, &q->group[group], e);
    else
        new_group(q, key, e);
}

static void open_group(struct collective_steps_queue *q)
{
    int32_t index = heap_take(q), *link = hash_list(q, q->group[index].key);

    while (*link != index)
        link = &q->group[*link].hash_next;
    *link = q->group[index].hash_next;
    q->group_waiting_count--;
    q->open = index;
    q->open_index = 0;
    q->open_block = q->group[index].first_block;
    q->now = q->group[index].key.at;
    q->round = q->group[index].key.order >> STEPS_ORDER_BITS;
    assert(q->round < UINT8_MAX);       /* as many times in one instant: a loop without time */
}

static void take_from_open(struct collective_steps_queue *q, struct collective_steps_event *e)
{
    struct group *g = &q->group[q->open];
    int32_t place = (q->open_index - 1) % BLOCK_EVENTS, block = q->open_block;

    if (q->open_index++ == 0) {
        *e = g->first;
    } else {
        *e = q->block[block].event[place];
        if (place == BLOCK_EVENTS - 1 || q->open_index == g->count) {
            q->open_block = q->block[block].next;
            q->block[block].next = q->free_block;
            q->free_block = block;
        }
    }
    if (q->open_index < g->count)
        return;
    g->span_next = q->free_group;
    q->free_group = q->open;
    q->open = -1;
}

bool collective_steps_queue_pop(struct collective_steps_queue *q, ps_t *at,
                                struct collective_steps_event *e)
{
    if (q->open < 0) {
        if (q->group_waiting_count == 0)
            return false;
        while (q->heap_count == 0)
            next_span(q);
        open_group(q);
    }
    *at = q->now;
    take_from_open(q, e);
    return true;
}
