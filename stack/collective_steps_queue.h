/*
 * The events of collective_steps.c in the order of their instants, events of
 * one instant in the order of `order`, those with the same of both as they were
 * put in. What is put in at the instant that is under way comes after all that
 * was there, whatever its order, so that equal chips see equal things in equal
 * order.
 *
 * Thousands of chips do the same at the same time: their events have one key
 * and share a group, which is found by a hash and handed out from first to
 * last. Only groups are ordered: a ring of short spans of time holds lists of
 * them, and the span that time has reached is a heap.
 */
#ifndef STACK_COLLECTIVE_STEPS_QUEUE_H
#define STACK_COLLECTIVE_STEPS_QUEUE_H
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct steps_event {
    int32_t core, slot;                 /* slot: of a copy, or a flag's increment */
    int32_t owner;                      /* core that gets a descriptor back, -1 none */
    int16_t flag;
    uint8_t kind;
};

struct steps_key {
    ps_t at;
    uint64_t order;                     /* less than 2^STEPS_ORDER_BITS */
};
#define STEPS_ORDER_BITS 56

struct steps_queue;

struct steps_queue *steps_queue_create(void);
void steps_queue_destroy(struct steps_queue *q);
/* key.at must not lie before the instant of the event popped last */
void steps_queue_push(struct steps_queue *q, struct steps_key key, const struct steps_event *e);
/* false: empty */
bool steps_queue_pop(struct steps_queue *q, ps_t *at, struct steps_event *e);
#endif
