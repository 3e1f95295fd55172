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
#include "interconnect/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A copy or signal that starts, a piece of one that has come to a chip, or a
 * flag that rises. All of it is here, 40 bytes, and nothing elsewhere: events of
 * a group lie in a row, what they would point to would not.
 */
struct collective_steps_event {
    ps_t there_at;                      /* the last byte at `place`, as far as links, port and
                                           source allow */
    int32_t value;                      /* that is added to the flag: granules, or a signal's */
    int32_t granules;                   /* that are still to be sent, or of the piece */
    int32_t engine_granules;            /* of the whole copy, in whole vectors of the engine */
    uint16_t core;                      /* that sends; of a flag: whose it is */
    uint16_t peer;                      /* that it goes to; of a flag: who gets a descriptor back */
    uint16_t place;                     /* chip that the first byte has come to */
    struct net_route way;               /* before it */
    int16_t flag, source_flag;          /* -1: none */
    uint8_t kind;
    bool from_hbm : 1, to_hbm : 1, is_signal : 1, is_last : 1;
};
#define STEPS_NOBODY UINT16_MAX         /* as peer: cores are fewer */

struct collective_steps_key {
    ps_t at;
    uint64_t order;                     /* less than 2^STEPS_ORDER_BITS */
};
#define STEPS_ORDER_BITS 56

struct collective_steps_queue;

struct collective_steps_queue *collective_steps_queue_create(void);
void collective_steps_queue_destroy(struct collective_steps_queue *q);
/* key.at must not lie before the instant of the event popped last */
void collective_steps_queue_push(struct collective_steps_queue *q, struct collective_steps_key key,
                                 const struct collective_steps_event *e);
/* false: empty */
bool collective_steps_queue_pop(struct collective_steps_queue *q, ps_t *at,
                                struct collective_steps_event *e);
#endif
