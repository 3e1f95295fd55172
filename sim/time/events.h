/*
 * What happens between cores, in time order.
 *
 * Events are ordered by (time, kind, core, sequence), never by when they were
 * put in, so that a run does not depend on which host thread was first.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H
#include "base/units.h"
#include "interconnect/net.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * In order of precedence at one instant: what changes flags comes before who looks at them. First
 * of all is a question that a core asks only where it does not know the answer, so that asking it
 * does not make what follows later than it would have been.
 */
enum event_kind {
    EVENT_QUEUE,                        /* the core waits for room in its DMA queue */
    EVENT_ADD,                          /* flag of core `target` += value, by bundle `slot` */
    EVENT_STORE,                        /* flag of core `target` = value */
    EVENT_SENT,                         /* the source of a remote DMA has been read */
    EVENT_DONE,                         /* a DMA is complete */
    EVENT_HOP,                          /* the head of what is under way is at a chip between */
    EVENT_REMOTE_ADD,                   /* core sends an add to core `target` */
    EVENT_REMOTE_STORE,                 /* core sends a store to core `target` */
    EVENT_PORT,                         /* port `slot` of the core may take a chunk */
    EVENT_CHUNK,                        /* remote DMA `slot` may send a chunk */
    EVENT_ARRIVE,                       /* chunk `value` of remote DMA `slot` reaches an HBM */
    EVENT_DMA,                          /* the core issues DMA `slot` */
    EVENT_SET,                          /* the core sets its flag, and goes on */
    EVENT_READ,                         /* the core reads a flag, and goes on */
    EVENT_REMOTE_READ,                  /* the core asks core `target` for its flag */
    EVENT_PEEK,                         /* the question is at core `target` */
    EVENT_ANSWER,                       /* the answer is back, the core goes on */
    EVENT_WAIT,                         /* the core waits for a flag */
    EVENT_KIND_COUNT
};

/* Set in the sequence of events made in the serial phase: they count by themselves, so that how far
 * a core has run ahead does not change the order. */
#define EVENT_SERIAL 0x80000000u

enum event_cause { CAUSE_CORE, CAUSE_HBM, CAUSE_CMEM, CAUSE_ICI };

struct event {
    ps_t at;
    uint8_t kind, cause;                /* enum event_kind; enum event_cause of an add */
    uint16_t core;                      /* source */
    uint32_t sequence;                  /* per source core: its own posts, then EVENT_SERIAL ones */
    int32_t target, slot, flag, value;
    /* of EVENT_HOP: what it becomes at the end of its way, where the head is, what is left */
    uint16_t then;
    struct net_route way;
    int32_t chip;
    ps_t ready_at;                      /* of a chunk: it is not complete before */
};

struct event_list {
    struct event *item;
    size_t count, capacity;
};

void event_append(struct event_list *l, const struct event *e);

/* A heap over an event_list: the first in order is item[0]. */
void event_push(struct event_list *heap, const struct event *e);
bool event_pop(struct event_list *heap, struct event *e);
#endif
