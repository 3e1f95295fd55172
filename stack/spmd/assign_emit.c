/* The graph of one logical device: its nodes in the order of the whole graph, and its messages. */
#include "stack/spmd/assign_impl.h"

struct emit {
    const struct assign *x;
    struct graph *to;
    struct stage_part *part;
    int device;
    int *moved;                         /* by node of the whole graph: made here, or received */
    int last;                           /* message, which the next one takes */
};

static void emit_node(struct emit *m, int node)
{
    const struct graph_node *n = &m->x->g->node[node];
    int *operand;

    if (m->moved[node] != NODE_NONE)
        return;
    if (n->op == HLO_PARAMETER) {
        m->part->parameter[m->to->parameter_count] = n->parameter_index;
        m->to->source = n->source;
        m->moved[node] = graph_parameter(m->to, n->shape, n->name);
        return;
    }
    operand = arena_array(m->x->arena, (size_t)n->operand_count + 1, sizeof(*operand));
    for (int k = 0; k < n->operand_count; k++) {
        emit_node(m, n->operand[k]);
        operand[k] = m->moved[n->operand[k]];
    }
    m->to->source = n->source;
    m->moved[node] = graph_add(m->to, n, operand, n->operand_count);
}

/* ----- messages */

static struct graph_message *describe(const struct emit *m, const struct assign_message *w)
{
    const struct assign_request *r = m->x->r;
    struct graph_message *out = arena_alloc(m->to->arena, sizeof(*out));
    int32_t *peer = arena_array(m->to->arena, (size_t)r->replica_count, sizeof(*peer));
    int pair = w->from * r->device_count + w->to, slot = w->number % STAGE_SLOTS;
    bool is_send = w->from == m->device;

    for (int i = 0; i < r->replica_count; i++)
        peer[i] = r->core[i * r->device_count + (is_send ? w->to : w->from)];
    *out = (struct graph_message){
        .peer = peer, .address = m->x->address[pair] + slot * m->x->slot_bytes[pair],
        .arrival_flag = assign_arrival_flag(m->x, w->from, w->to) + slot,
        .room_flag = assign_room_flag(m->x, w->from, w->to),
        .arrival_bytes = assign_bytes(m->x, w->node),
        .rooms_awaited = is_send && w->number >= STAGE_SLOTS,
        .gives_room = !is_send && w->gives_room};
    return out;
}

static void receive_before(struct emit *m, int node)
{
    for (int i = 0; i < m->x->message_count; i++) {
        const struct assign_message *w = &m->x->message[i];

        if (w->to != m->device || w->receive_at != node)
            continue;
        m->to->source = "device/receive";
        m->moved[w->node] = m->last = graph_receive(m->to, m->x->g->node[w->node].shape, m->last,
                                                    describe(m, w));
    }
}

static void send_behind(struct emit *m, int node)
{
    for (int i = 0; i < m->x->message_count; i++) {
        const struct assign_message *w = &m->x->message[i];

        if (w->from != m->device || w->node != node)
            continue;
        m->to->source = "device/send";
        m->last = graph_send(m->to, m->moved[node], m->last, describe(m, w));
        m->part->sent_bytes += assign_bytes(m->x, node);
    }
}

/* until the slots that were used last are free, of every device that got messages */
static void end_round(struct emit *m)
{
    const struct assign *x = m->x;
    int zero;

    m->to->source = "device/end";
    zero = graph_constant(m->to, shape_scalar(DTYPE_U32), 0);
    for (int i = 0; i < x->message_count; i++) {
        const struct assign_message *w = &x->message[i];
        int sent = x->sent_count[w->from * x->r->device_count + w->to];
        struct graph_message *wait;

        if (w->from != m->device || w->number != sent - 1)
            continue;
        wait = describe(m, w);
        wait->is_wait = true;
        wait->rooms_awaited = sent < STAGE_SLOTS ? sent : STAGE_SLOTS;
        m->last = graph_send(m->to, zero, m->last, wait);
    }
}

/* ----- a device's graph */

static void emit_outputs(struct emit *m)
{
    const struct graph *g = m->x->g;

    for (int i = 0; i < g->output_count; i++) {
        const struct graph_output *o = &g->output[i];
        int alias = o->alias_parameter, device = m->x->device_of[o->node];

        if (alias < 0 && (device == DEVICE_ANY ? 0 : device) != m->device)
            continue;
        emit_node(m, o->node);
        if (alias >= 0) {
            emit_node(m, g->parameter[alias]);
            alias = m->to->node[m->moved[g->parameter[alias]]].parameter_index;
        }
        m->part->output[m->to->output_count] = i;
        graph_output(m->to, m->moved[o->node], o->name, alias);
    }
    /* what has been sent last is nobody's operand; a device with nothing to do makes a number */
    if (m->to->node[m->last].op == HLO_SEND || m->to->output_count == 0) {
        m->part->output[m->to->output_count] = -1;
        graph_output(m->to, m->last, "device.end", -1);
    }
}

void assign_emit(struct assign *x, int device)
{
    const struct graph *g = x->g;
    struct stage_part *part = &x->out->part[device];
    struct emit m = {.x = x, .to = &part->graph, .part = part, .device = device};

    graph_init(m.to, x->arena, arena_printf(x->arena, "%s.device.%d", g->name, device));
    part->parameter = arena_array(x->arena, (size_t)g->parameter_count + 1, sizeof(int));
    part->output = arena_array(x->arena, (size_t)g->output_count + 1, sizeof(int));
    m.moved = arena_array(x->arena, (size_t)g->node_count + 1, sizeof(int));
    for (int i = 0; i < g->node_count; i++)
        m.moved[i] = NODE_NONE;
    m.to->source = "device/begin";
    m.last = graph_constant(m.to, shape_scalar(DTYPE_U32), 0);
    for (int i = 0; i <= g->node_count; i++) {
        receive_before(&m, i);
        if (i < g->node_count && x->is_live[i] && x->device_of[i] == device)
            emit_node(&m, i);
        if (i < g->node_count)
            send_behind(&m, i);
    }
    if (x->r->is_round)
        end_round(&m);
    emit_outputs(&m);
    part->parameter_count = m.to->parameter_count;
    part->output_count = m.to->output_count;
}
