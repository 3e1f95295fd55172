/*
 * Messages, and why nobody waits for ever.
 *
 * All devices do their part of one order of events: before node 0, node 0, behind it, before node
 * 1 and so on. A message is sent behind its node. It is received before the first node that needs
 * it, but not behind the messages that follow it between the same two devices, nor behind the
 * node of the one that takes its slot again. So each send and each receive waits only for what
 * stands earlier in the order, and what stands first of all that is not done can be done. A
 * device's messages are a chain of operands, which holds them in this order.
 *
 * A round of a loop ends, behind all of this, with waits for the slots that were used last. So the
 * next one finds all slots free and all flags as the first one did, and what stands first of all
 * rounds that is not done can be done again.
 */
#include "stack/spmd/assign.h"

#include <limits.h>
#include <string.h>

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/spmd/assign_impl.h"

#define PAIR_FLAGS (STAGE_SLOTS + 1)    /* of a core with each of the others: slots, and room */

int assign_flags(int device_count) { return PAIR_FLAGS * (device_count - 1); }

/* of a core's flags, the first one of those for another core */
static int pair_flag(const struct assign *x, int own, int other)
{
    return x->r->first_flag + PAIR_FLAGS * (other < own ? other : other - 1);
}

int assign_arrival_flag(const struct assign *x, int from, int to)
{
    return pair_flag(x, to, from);
}

int assign_room_flag(const struct assign *x, int from, int to)
{
    return pair_flag(x, from, to) + STAGE_SLOTS;
}

int64_t assign_bytes(const struct assign *x, int node)
{
    struct array a;

    array_init(&a, "", &x->g->node[node].shape, NULL);
    return a.bytes;
}

/* ----- who needs it */

/* first[node * device_count + device]: the first node there that takes it; INT_MAX: none does */
static int *find_uses(const struct assign *x)
{
    const struct graph *g = x->g;
    int devices = x->r->device_count;
    int *first = arena_array(x->arena, (size_t)(g->node_count + 1) * (size_t)devices,
                             sizeof(*first));

    for (int i = 0; i < g->node_count * devices; i++)
        first[i] = INT_MAX;
    for (int i = g->node_count - 1; i >= 0; i--)
        for (int k = 0; x->is_live[i] && x->device_of[i] >= 0 && k < g->node[i].operand_count; k++)
            first[g->node[i].operand[k] * devices + x->device_of[i]] = i;
    for (int i = 0; i < g->output_count; i++)
        for (int d = 0; g->output[i].alias_parameter >= 0 && d < devices; d++) {
            int *use = &first[g->output[i].node * devices + d];

            *use = *use < g->node_count ? *use : g->node_count;
        }
    return first;
}

static void list_messages(struct assign *x, const int *first)
{
    int devices = x->r->device_count;
    size_t room = 0;

    for (int i = 0; i < x->g->node_count * devices; i++)
        room += first[i] != INT_MAX;
    x->message = arena_array(x->arena, room + 1, sizeof(*x->message));
    for (int i = 0; i < x->g->node_count; i++)
        for (int d = 0; x->device_of[i] >= 0 && d < devices; d++)
            if (d != x->device_of[i] && first[i * devices + d] != INT_MAX)
                x->message[x->message_count++] = (struct assign_message){
                    .node = i, .from = x->device_of[i], .to = d,
                    .receive_at = first[i * devices + d]};
}

/* in the order of a pair of devices, and before its slot is used again */
static void order_messages(struct assign *x)
{
    int devices = x->r->device_count;
    /* by pair: those that follow, the next one first */
    struct assign_message *(*later)[STAGE_SLOTS] =
        arena_array(x->arena, (size_t)(devices * devices), sizeof(*later));

    x->sent_count = arena_array(x->arena, (size_t)(devices * devices), sizeof(*x->sent_count));
    for (int i = 0; i < x->message_count; i++) {
        struct assign_message *m = &x->message[i];

        m->number = x->sent_count[m->from * devices + m->to]++;
    }
    for (int i = x->message_count - 1; i >= 0; i--) {
        struct assign_message *m = &x->message[i], **next = later[m->from * devices + m->to];
        const struct assign_message *again = next[STAGE_SLOTS - 1];

        if (next[0] && next[0]->receive_at < m->receive_at)
            m->receive_at = next[0]->receive_at;
        if (again && again->node < m->receive_at)
            m->receive_at = again->node;
        m->gives_room = again || x->r->is_round;
        memmove(next + 1, next, (STAGE_SLOTS - 1) * sizeof(*next));
        next[0] = m;
    }
}

/* slots of each pair, as large as its largest message; a receiver's lie behind each other */
static void make_slots(struct assign *x)
{
    int devices = x->r->device_count;

    x->slot_bytes = arena_array(x->arena, (size_t)(devices * devices), sizeof(*x->slot_bytes));
    x->address = arena_array(x->arena, (size_t)(devices * devices), sizeof(*x->address));
    for (int i = 0; i < x->message_count; i++) {
        const struct assign_message *m = &x->message[i];
        int64_t bytes = round_up(assign_bytes(x, m->node), ARRAY_TILE_BYTES);
        int64_t *slot = &x->slot_bytes[m->from * devices + m->to];

        *slot = bytes > *slot ? bytes : *slot;
    }
    for (int to = 0; to < devices; to++) {
        int64_t at = 0;

        for (int from = 0; from < devices; from++) {
            x->address[from * devices + to] = at;
            at += STAGE_SLOTS * x->slot_bytes[from * devices + to];
        }
        x->out->bytes = at > x->out->bytes ? at : x->out->bytes;
    }
}

void assign_cut(const struct assign_request *r, struct arena *a, struct stages *out)
{
    size_t nodes = (size_t)r->g->node_count + 1;
    struct assign x = {.r = r, .arena = a, .g = r->g, .out = out};

    memset(out, 0, sizeof(*out));
    out->part = arena_array(a, (size_t)r->device_count, sizeof(*out->part));
    x.is_live = arena_array(a, nodes, sizeof(*x.is_live));
    x.device_of = arena_array(a, nodes, sizeof(*x.device_of));
    assign_devices(&x);
    list_messages(&x, find_uses(&x));
    order_messages(&x);
    make_slots(&x);
    for (int d = 0; d < r->device_count; d++)
        assign_emit(&x, d);
}
