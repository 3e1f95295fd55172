#include "hbm/hbm_queue.h"

#include "base/arena.h"

void hbm_queue_free(struct hbm_queue *q)
{
    mem_free(q->held);
    *q = (struct hbm_queue){.held = NULL};
}

void hbm_queue_clear(struct hbm_queue *q)
{
    q->count = 0;
    q->bursts = 0;
}

static void forget(struct hbm_queue *q, ps_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < q->count; i++) {
        if (q->held[i].leave_at > now)
            q->held[kept++] = q->held[i];
        else
            q->bursts -= q->held[i].bursts;
    }
    q->count = kept;
}

static size_t first_to_leave(const struct hbm_queue *q, ps_t after)
{
    size_t first = q->count;

    for (size_t i = 0; i < q->count; i++)
        if (q->held[i].leave_at > after &&
            (first == q->count || q->held[i].leave_at < q->held[first].leave_at))
            first = i;
    return first;
}

void hbm_queue_add(struct hbm_queue *q, int64_t limit, ps_t now, ps_t leave_at, int64_t bursts)
{
    if (leave_at <= now)
        return;
    if (q->count >= (size_t)limit || q->count == q->capacity)
        forget(q, now);
    if (q->count >= (size_t)limit) {    /* more than was let in: who asks finds it full so long */
        struct hbm_held *first = &q->held[first_to_leave(q, now)];

        q->bursts += bursts - first->bursts;
        *first = (struct hbm_held){leave_at, bursts};
        return;
    }
    q->held = mem_grow(q->held, &q->capacity, q->count + 1, sizeof(*q->held));
    q->held[q->count++] = (struct hbm_held){leave_at, bursts};
    q->bursts += bursts;
}

ps_t hbm_queue_room_at(struct hbm_queue *q, int64_t limit, ps_t at)
{
    int64_t bursts;

    if (q->bursts < limit)
        return at;
    forget(q, at);
    for (bursts = q->bursts; bursts >= limit;) {
        size_t first = first_to_leave(q, at);

        at = q->held[first].leave_at;
        for (size_t i = 0; i < q->count; i++)
            bursts -= q->held[i].leave_at == at ? q->held[i].bursts : 0;
    }
    return at;
}

static const struct field queue_fields[] = {
    APART(hbm_queue, held), APART(hbm_queue, count), APART(hbm_queue, capacity),
    APART(hbm_queue, bursts)};
static const struct field held_fields[] = {SAVED_TIME(hbm_held, leave_at),
                                           SAVED(hbm_held, bursts)};

void hbm_queue_archive(struct hbm_queue *q, int64_t limit, struct archive *a)
{
    size_t count = archive_count(a, q->count, sizeof(*q->held));

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
