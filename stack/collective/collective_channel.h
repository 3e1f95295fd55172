/*
 * Channels: the ring-like algorithms. A channel moves its part of every block
 * through phases, rings along one dim each: reduce-scatter along the first dim,
 * then the next, and all-gather back.
 */
#ifndef STACK_COLLECTIVE_CHANNEL_H
#define STACK_COLLECTIVE_CHANNEL_H
#include "stack/collective/collective_impl.h"

#define CHANNELS_MAX 6

struct plan_route {
    int dim_count, dim[PLAN_DIMS];      /* in the order of reduce-scatter; each of two ranks
                                           or more */
    int direction[PLAN_DIMS];           /* 1 or -1: along the ring of the dim */
};

/* How the channels of a plan work. */
struct collective_channel_mode {
    bool is_resident;                   /* the arrays stay in VMEM all the way */
    int64_t slots, group;               /* chunks that may be under way; that go together */
    int64_t chunk_bytes;                /* at most; exactly, if a user has chosen it */
    bool is_chosen;
};

/* all channels of a plan: all-reduce, reduce-scatter or all-gather; the dims are set */
int plan_channels(struct collective_plan *p, const struct plan_route *routes, int route_count,
                  struct arena *a, struct err *e);
#endif
