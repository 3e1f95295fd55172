/*
 * The events of collective_steps.c in the order of their instants.
 *
 * Instants never go back, so the near future is a ring of short spans: an event
 * is put into its span unsorted, and only the span that time has reached is a
 * heap. Events of one instant come in the order of `order` (56 bits); those that
 * are put in at the instant that is under way come after the ones already there,
 * whatever their order, so that equal chips see equal things in equal order.
 */
#ifndef STACK_COLLECTIVE_STEPS_QUEUE_H
#define STACK_COLLECTIVE_STEPS_QUEUE_H
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct steps_event {
    ps_t at;
    uint64_t order;
    int32_t core, slot;                 /* slot: of a copy, or a flag's increment */
    int32_t owner;                      /* core that gets a descriptor back, -1 none */
    int16_t flag;
    uint8_t kind;
    int32_t next;                       /* the queue's own */
};

#define STEPS_SPAN_COUNT 4096

struct steps_queue {
    struct steps_event *pool, *heap;    /* events waiting; those of the span under way */
    size_t pool_capacity, heap_capacity, heap_count, count;
    int32_t pool_count, free_first;     /* -1: none free */
    int32_t span[STEPS_SPAN_COUNT];     /* first event of each list, -1 none */
    int32_t beyond;                     /* list of those after the ring's end */
    int64_t span_now, ring_end;         /* numbers of spans since instant 0 */
    ps_t now;                           /* of the event taken last */
    uint64_t round;                     /* at this instant: 1 for what events of round 0 put in */
};

void steps_queue_init(struct steps_queue *q);
void steps_queue_fini(struct steps_queue *q);
void steps_queue_push(struct steps_queue *q, const struct steps_event *e);
bool steps_queue_pop(struct steps_queue *q, struct steps_event *e);     /* false: empty */
#endif
