/* Private to assign*.c: the state of an assignment of nodes to devices, which its files share. */
#ifndef STACK_ASSIGN_IMPL_H
#define STACK_ASSIGN_IMPL_H
#include "stack/spmd/assign.h"

#define DEVICE_ANY (-1)                 /* every device that needs the node makes it */

struct assign_message {
    int node, from, to;                 /* sent when the node has been made */
    int receive_at;                     /* before this node, in the graph's order */
    int number;                         /* among those of the same two devices */
    bool gives_room;                    /* somebody waits for its slot */
};

struct assign {
    const struct assign_request *r;
    struct arena *arena;
    const struct graph *g;
    struct stages *out;
    bool *is_live;
    int *device_of;                     /* by node: its device, or DEVICE_ANY */
    struct assign_message *message;     /* in the order of their nodes */
    int message_count;
    int *sent_count;                    /* messages by from * device_count + to, as below */
    int64_t *slot_bytes, *address;
};

/* assign_devices.c: who makes what */
void assign_devices(struct assign *x);
/* assign.c: the first slot's flag on the receiver's core; room, on the sender's */
int assign_arrival_flag(const struct assign *x, int from, int to);
int assign_room_flag(const struct assign *x, int from, int to);
int64_t assign_bytes(const struct assign *x, int node);
/* assign_emit.c: the graph of a device */
void assign_emit(struct assign *x, int device);
#endif
