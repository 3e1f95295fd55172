/*
 * How full a queue is: for every request that was let in, when it leaves, in
 * whatever order. Room is allocated when it is first needed.
 */
#ifndef HBM_HBM_QUEUE_H
#define HBM_HBM_QUEUE_H
#include "base/archive.h"
#include "base/units.h"

#include <stdbool.h>

struct hbm_queue {
    struct hbm_held {
        ps_t leave_at;
        int64_t bursts;
    } *held;
    size_t first, count, capacity;      /* from first to count, in the order in which they leave */
    int64_t bursts;                     /* sum over held */
};

void hbm_queue_free(struct hbm_queue *q);
void hbm_queue_clear(struct hbm_queue *q);

/* `limit` is the size of the queue in bursts; what left before `now` is forgotten */
void hbm_queue_add(struct hbm_queue *q, int64_t limit, ps_t now, ps_t leave_at, int64_t bursts);

/* when from `at` on there is room for one more burst */
ps_t hbm_queue_room_at(struct hbm_queue *q, int64_t limit, ps_t at);

/* bursts that are in it at `at` */
int64_t hbm_queue_waiting(const struct hbm_queue *q, ps_t at);

/* what is in it at `at` leaves `ps` later */
void hbm_queue_delay(struct hbm_queue *q, ps_t at, ps_t ps);

void hbm_queue_archive(struct hbm_queue *q, int64_t limit, struct archive *a);
uint32_t hbm_queue_crc(uint32_t crc);
#endif
