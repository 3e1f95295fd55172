#include "hbm/hbm_queue.h"

#include <string.h>

#include "base/arena.h"

void hbm_queue_free(struct hbm_queue *q)
{
    mem_free(q->held);
    *q = (struct hbm_queue){.held = NULL};
}

void hbm_queue_clear(struct hbm_queue *q)
{
    q->first = q->count = 0;
    q->bursts = 0;
}

static void forget(struct hbm_queue *q, ps_t now)
{
    while (q->first < q->count && q->held[q->first].leave_at <= now)
        q->bursts -= q->held[q->first++].bursts;
    if (q->first == q->count)
        q->first = q->count = 0;
}

void hbm_queue_add(struct hbm_queue *q, int64_t limit, ps_t now, ps_t leave_at, int64_t bursts)
{
    size_t i;

    if (leave_at <= now)
        return;
    if (q->count == q->capacity || q->count - q->first >= (size_t)limit)
        forget(q, now);                 /* not each time: it is seldom looked at */
    if (q->count - q->first >= (size_t)limit)   /* more than was let in: the first is let go */
        q->bursts -= q->held[q->first++].bursts;
    if (q->first > 0 && q->count == q->capacity) {
        q->count -= q->first;
        memmove(q->held, q->held + q->first, q->count * sizeof(*q->held));
        q->first = 0;
    }
    if (q->count == q->capacity)
        q->held = mem_grow(q->held, &q->capacity, q->count + 1, sizeof(*q->held));
    for (i = q->count++; i > q->first && q->held[i - 1].leave_at > leave_at; i--)
        q->held[i] = q->held[i - 1];
    q->held[i] = (struct hbm_held){leave_at, bursts};
    q->bursts += bursts;
}

ps_t hbm_queue_room_at(struct hbm_queue *q, int64_t limit, ps_t at)
{
    int64_t bursts;

    if (q->bursts < limit)
        return at;
    forget(q, at);
    bursts = q->bursts;
    for (size_t i = q->first; bursts >= limit; i++) {
        at = q->held[i].leave_at;
        bursts -= q->held[i].bursts;
    }
    return at;
}

int64_t hbm_queue_waiting(const struct hbm_queue *q, ps_t at)
{
    int64_t bursts = 0;

    for (size_t i = q->first; i < q->count; i++)
        bursts += q->held[i].leave_at > at ? q->held[i].bursts : 0;
    return bursts;
}

void hbm_queue_delay(struct hbm_queue *q, ps_t at, ps_t ps)
{
    for (size_t i = q->first; i < q->count; i++)
        q->held[i].leave_at += q->held[i].leave_at > at ? ps : 0;
}

static const struct field queue_fields[] = {
    APART(hbm_queue, held), APART(hbm_queue, first), APART(hbm_queue, count),
    APART(hbm_queue, capacity), APART(hbm_queue, bursts)};
static const struct field held_fields[] = {SAVED_TIME(hbm_held, leave_at),
                                           SAVED(hbm_held, bursts)};

void hbm_queue_archive(struct hbm_queue *q, int64_t limit, struct archive *a)
{
    size_t count;

    if (!archive_is_loading(a)) {       /* from its beginning on */
        q->count -= q->first;
        memmove(q->held, q->held + q->first, q->count * sizeof(*q->held));
        q->first = 0;
    }
    count = archive_count(a, q->count, sizeof(*q->held));
    archive_check(a, count <= (size_t)limit, "the snapshot has a queue of an HBM channel that is "
                                             "too long");
    if (a->is_failed)
        return;
    if (archive_is_loading(a)) {
        hbm_queue_clear(q);
        if (count > 0)
            q->held = mem_grow(q->held, &q->capacity, count, sizeof(*q->held));
        q->count = count;
    }
    for (size_t i = 0; i < count; i++) {
        archive_fields(a, held_fields, COUNT_OF(held_fields), &q->held[i]);
        archive_check(a, q->held[i].bursts > 0 && q->held[i].bursts <= INT32_MAX,
                      "the snapshot has an empty place in a queue of an HBM channel");
        archive_check(a, i == 0 || q->held[i].leave_at >= q->held[i - 1].leave_at,
                      "the snapshot has a queue of an HBM channel out of order");
        q->bursts += archive_is_loading(a) && !a->is_failed ? q->held[i].bursts : 0;
    }
    if (a->is_failed)
        hbm_queue_clear(q);
}

uint32_t hbm_queue_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, queue_fields, COUNT_OF(queue_fields));
    return archive_table_crc(crc, held_fields, COUNT_OF(held_fields));
}
