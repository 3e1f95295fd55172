/*
 * How full a queue is: for every request that was let in, when it leaves, in
 * whatever order. Single bursts that leave at equal distances take one entry.
 * Room is allocated when it is first needed.
 */
#ifndef HBM_HBM_QUEUE_H
#define HBM_HBM_QUEUE_H
#include "base/archive.h"
#include "base/units.h"

#include <stdbool.h>

struct hbm_queue {
    struct hbm_held {
        ps_t leave_at;                  /* of the first of them */
        ps_t step_ps;                   /* from each to the next one; if there is one, positive */
        int32_t times, bursts;          /* so many requests of so many bursts each */
    } *held;
    size_t first, count, capacity;      /* from first to count, in the order in which they leave */
    int64_t requests, bursts;           /* sums over held */
};

void hbm_queue_free(struct hbm_queue *q);
void hbm_queue_clear(struct hbm_queue *q);

/* `limit` is the size of the queue in bursts; what left before `now` is forgotten */
void hbm_queue_add(struct hbm_queue *q, int64_t limit, ps_t now, ps_t leave_at, int64_t bursts);

/* what left until `now` is of no interest any more */
void hbm_queue_forget(struct hbm_queue *q, ps_t now);

/* what is in it at `at` leaves `ps` later */
void hbm_queue_delay(struct hbm_queue *q, ps_t at, ps_t ps);

/* saving forgets what left until `now` */
void hbm_queue_archive(struct hbm_queue *q, int64_t limit, ps_t now, struct archive *a);
uint32_t hbm_queue_crc(uint32_t crc);

static inline ps_t hbm_held_end(const struct hbm_held *i)
{
    return i->leave_at + (i->times - 1) * i->step_ps;
}

/* the last one leaves it; far back if it is empty, as far as it knows */
static inline ps_t hbm_queue_end(const struct hbm_queue *q)
{
    return q->count > q->first ? hbm_held_end(&q->held[q->count - 1]) : INT64_MIN / 2;
}

void hbm_queue_append_apart(struct hbm_queue *q, ps_t leave_at, ps_t step_ps, int64_t times);

/* `times` single bursts that leave behind all others, from `leave_at` on each step_ps */
static inline void hbm_queue_append(struct hbm_queue *q, ps_t leave_at, ps_t step_ps,
                                    int64_t times)
{
    struct hbm_held *last;

    if (leave_at != hbm_queue_end(q) + step_ps) {
        hbm_queue_append_apart(q, leave_at, step_ps, times);
        return;
    }
    last = &q->held[q->count - 1];
    if (last->bursts != 1 || (last->times > 1 && last->step_ps != step_ps)) {
        hbm_queue_append_apart(q, leave_at, step_ps, times);
        return;
    }
    last->step_ps = step_ps;
    last->times += (int32_t)times;
    q->requests += times;
    q->bursts += times;
}

ps_t hbm_queue_full_until(struct hbm_queue *q, int64_t limit, ps_t at);

/* when from `at` on there is room for one more burst */
static inline ps_t hbm_queue_room_at(struct hbm_queue *q, int64_t limit, ps_t at)
{
    return q->bursts < limit ? at : hbm_queue_full_until(q, limit, at);
}
#endif
