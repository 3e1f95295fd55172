/*
 * Counts the requests waiting in a queue by when they leave; requests that leave evenly spaced
 * share one entry.
 */
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
    q->requests = q->bursts = 0;
}

/* the first so many of the first entry */
static inline void drop(struct hbm_queue *q, int64_t times)
{
    struct hbm_held *i = &q->held[q->first];

    q->requests -= times;
    q->bursts -= times * i->bursts;
    if (times == i->times) {
        q->first++;
        return;
    }
    i->leave_at += times * i->step_ps;
    i->times -= (int32_t)times;
}

void hbm_queue_forget(struct hbm_queue *q, ps_t now)
{
    while (q->first < q->count && q->held[q->first].leave_at <= now) {
        const struct hbm_held *i = &q->held[q->first];

        drop(q, hbm_held_end(i) <= now ? i->times : (now - i->leave_at) / i->step_ps + 1);
    }
    if (q->first == q->count)
        q->first = q->count = 0;
}

/* room behind the last entry for so many more */
static void make_room(struct hbm_queue *q, size_t more)
{
    if (q->first > 0 && q->count + more > q->capacity) {
        q->count -= q->first;
        memmove(q->held, q->held + q->first, q->count * sizeof(*q->held));
        q->first = 0;
    }
    if (q->count + more > q->capacity)
        q->held = mem_grow(q->held, &q->capacity, q->count + more, sizeof(*q->held));
}

/* an entry for every request */
static void spread(struct hbm_queue *q)
{
    size_t to = q->first + (size_t)q->requests, from = q->count;

    if (to == from)
        return;
    make_room(q, to - from);
    from = q->count;
    to = q->first + (size_t)q->requests;
    q->count = to;
    while (from-- > q->first) {
        struct hbm_held i = q->held[from];

        while (i.times-- > 0)
            q->held[--to] = (struct hbm_held){.leave_at = i.leave_at + i.times * i.step_ps,
                                              .times = 1, .bursts = i.bursts};
    }
}

void hbm_queue_add(struct hbm_queue *q, int64_t limit, ps_t now, ps_t leave_at, int64_t bursts)
{
    size_t i;

    if (leave_at <= now)
        return;
    if (q->count == q->capacity || q->requests >= limit)
        hbm_queue_forget(q, now);                 /* not each time: it is seldom looked at */
    if (q->requests >= limit)           /* more than was let in: the first is let go */
        drop(q, 1);
    if (leave_at < hbm_queue_end(q))
        spread(q);
    make_room(q, 1);
    for (i = q->count++; i > q->first && q->held[i - 1].leave_at > leave_at; i--)
        q->held[i] = q->held[i - 1];
    q->held[i] = (struct hbm_held){.leave_at = leave_at, .times = 1, .bursts = (int32_t)bursts};
    q->requests++;
    q->bursts += bursts;
}

void hbm_queue_append_apart(struct hbm_queue *q, ps_t leave_at, ps_t step_ps, int64_t times)
{
    make_room(q, 1);
    q->held[q->count++] = (struct hbm_held){.leave_at = leave_at, .step_ps = step_ps,
                                            .times = (int32_t)times, .bursts = 1};
    q->requests += times;
    q->bursts += times;
}

ps_t hbm_queue_full_until(struct hbm_queue *q, int64_t limit, ps_t at)
{
    int64_t over;

    hbm_queue_forget(q, at);
    over = q->bursts - limit + 1;       /* so many have to leave */
    for (size_t k = q->first; over > 0; k++) {
        const struct hbm_held *i = &q->held[k];
        int64_t times = i->times;

        if (times > 1 && times * i->bursts > over)      /* divisions are dear */
            times = div_up(over, i->bursts);
        at = i->leave_at + (times - 1) * i->step_ps;
        over -= times * i->bursts;
    }
    return at;
}

void hbm_queue_delay(struct hbm_queue *q, ps_t at, ps_t ps)
{
    spread(q);
    for (size_t i = q->first; i < q->count; i++)
        q->held[i].leave_at += q->held[i].leave_at > at ? ps : 0;
}

static const struct field queue_fields[] = {
    APART(hbm_queue, held), APART(hbm_queue, first), APART(hbm_queue, count),
    APART(hbm_queue, capacity), APART(hbm_queue, requests), APART(hbm_queue, bursts)};
static const struct field held_fields[] = {
    SAVED_TIME(hbm_held, leave_at), SAVED(hbm_held, bursts),
    APART(hbm_held, step_ps), APART(hbm_held, times)};      /* saved one by one */

void hbm_queue_archive(struct hbm_queue *q, int64_t limit, ps_t now, struct archive *a)
{
    size_t count;

    if (!archive_is_loading(a)) {       /* what nobody will miss is not saved */
        hbm_queue_forget(q, now);
        spread(q);
    }
    count = archive_count(a, q->count - q->first, sizeof(ps_t) + sizeof(int32_t));
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
    for (size_t i = q->first; i < q->count; i++) {
        archive_fields(a, held_fields, COUNT_OF(held_fields), &q->held[i]);
        archive_check(a, q->held[i].bursts > 0,
                      "the snapshot has an empty place in a queue of an HBM channel");
        archive_check(a, i == q->first || q->held[i].leave_at >= q->held[i - 1].leave_at,
                      "the snapshot has a queue of an HBM channel out of order");
        if (archive_is_loading(a) && !a->is_failed) {
            q->held[i].times = 1;
            q->held[i].step_ps = 0;
            q->requests++;
            q->bursts += q->held[i].bursts;
        }
    }
    if (a->is_failed)
        hbm_queue_clear(q);
}

uint32_t hbm_queue_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, queue_fields, COUNT_OF(queue_fields));
    return archive_table_crc(crc, held_fields, COUNT_OF(held_fields));
}
