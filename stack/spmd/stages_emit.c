/*
 * The graph of one stage: its part of every pass, in 1F1B order.
 *
 * Stage s of S does S - 1 - s forward passes ahead, then a forward and a backward pass by turns,
 * and at the end the backward passes that are left. Each pass begins with the messages that it
 * needs and ends with those it makes. Each message takes the one before it, so that all stand in
 * this order whatever the compiler moves; what a first stage reads of its inputs takes the message
 * before it, too.
 */
#include "stack/spmd/stages_impl.h"

#include "stack/hlo/array.h"

struct emit {
    struct stages_cut *c;
    const struct graph *from;
    struct graph *to;
    struct stage_part *part;
    int stage, micro;
    bool is_gated;                      /* inputs wait for the message before */
    int *moved;                         /* by node of `from`: its own, or as received */
    int *gated;                         /* by parameter: as this pass reads it */
    int last;                           /* what the next message stands behind */
    struct err *e;
};

/* ----- nodes */

static int emit_node(struct emit *x, int node);

static int emit_parameter(struct emit *x, int node)
{
    const struct graph_node *n = &x->from->node[node];
    int owner = x->c->r->parameter_stage[n->parameter_index];

    if (owner >= 0 && owner != x->stage)
        return err_set(x->e, "variable %s is of stage %d and read by stage %d; layers that share "
                       "variables must be in one stage", n->name, owner, x->stage);
    x->part->parameter[x->to->parameter_count] = n->parameter_index;
    x->moved[node] = graph_parameter(x->to, n->shape, n->name);
    return 0;
}

/* an input of a pass behind others: not before their messages */
static int operand_of(struct emit *x, int node)
{
    const struct graph_node *n = &x->from->node[node];
    int *gated;

    if (!x->is_gated || n->op != HLO_PARAMETER || !x->c->r->is_input[n->parameter_index])
        return x->moved[node];
    gated = &x->gated[n->parameter_index];
    if (*gated == NODE_NONE)
        *gated = graph_add_dependency(x->to, x->moved[node], x->last);
    return *gated;
}

static int emit_node(struct emit *x, int node)
{
    const struct graph_node *n = &x->from->node[node];
    int *operand;

    if (x->moved[node] != NODE_NONE)
        return 0;
    if (n->op == HLO_PARAMETER)
        return emit_parameter(x, node);
    operand = arena_array(x->c->arena, (size_t)n->operand_count + 1, sizeof(*operand));
    for (int k = 0; k < n->operand_count; k++) {
        if (emit_node(x, n->operand[k]))
            return -1;
        operand[k] = operand_of(x, n->operand[k]);
    }
    x->to->source = n->source;
    x->moved[node] = graph_add(x->to, n, operand, n->operand_count);
    return 0;
}

/* this stage's nodes of a phase; what they need of others has been received */
static int emit_phase(struct emit *x, int phase)
{
    for (int i = 0; i < x->from->node_count; i++)
        if (x->c->is_live[i] && x->c->phase[i] == phase && x->c->stage_of[i] == x->stage &&
            emit_node(x, i))
            return -1;
    return 0;
}

/* ----- messages */

struct way {                            /* messages of a kind between this stage and another */
    int other;                          /* stage */
    bool is_up;
    int64_t address, slot_bytes;
    int arrival_flag, room_flag;        /* of slot 0; */
};

static struct way way_of(const struct emit *x, bool is_up, bool is_send)
{
    const struct stages_cut *c = x->c;
    int first = c->r->first_flag + (is_up ? 0 : STAGE_SLOTS + 1);

    return (struct way){.other = x->stage + (is_up == is_send ? 1 : -1), .is_up = is_up,
                        .address = is_up ? 0 : STAGE_SLOTS * c->forward_bytes,
                        .slot_bytes = is_up ? c->forward_bytes : c->backward_bytes,
                        .arrival_flag = first, .room_flag = first + STAGE_SLOTS};
}

static const int32_t *peers_of(const struct emit *x, int other)
{
    const struct stages_request *r = x->c->r;
    int32_t *peer = arena_array(x->to->arena, (size_t)r->replica_count, sizeof(*peer));

    for (int i = 0; i < r->replica_count; i++)
        peer[i] = r->core[i * r->stage_count + other];
    return peer;
}

static bool goes(const struct emit *x, const struct way *w, int node, int from)
{
    return w->is_up ? stages_go_up(x->c, node, x->micro, from)
                    : stages_go_down(x->c, node, x->micro, from);
}

static int64_t array_bytes(const struct emit *x, int node)
{
    struct array a;

    array_init(&a, "", &x->from->node[node].shape, NULL);
    return a.bytes;
}

static void exchange(struct emit *x, int node, bool is_send, struct graph_message *m)
{
    x->to->source = is_send ? "pipeline/send" : "pipeline/receive";
    if (is_send) {
        x->last = graph_send(x->to, x->moved[node], x->last, m);
        x->part->sent_bytes += array_bytes(x, node);
        return;
    }
    x->moved[node] = x->last = graph_receive(x->to, x->from->node[node].shape, x->last, m);
}

/* all arrays of this micro batch's message: the first one waits, the last gives the room back */
static void exchange_all(struct emit *x, bool is_up, bool is_send)
{
    struct way w = way_of(x, is_up, is_send);
    int from = is_send ? x->stage : w.other, slot = x->micro % STAGE_SLOTS, left = 0;
    const int32_t *peer;
    int64_t bytes = 0, at = w.address + slot * w.slot_bytes;
    bool is_first = true;

    if (w.other < 0 || w.other >= x->c->r->stage_count)
        return;
    peer = peers_of(x, w.other);
    for (int i = 0; i < x->from->node_count; i++)
        if (goes(x, &w, i, from)) {
            bytes += array_bytes(x, i);
            left++;
        }
    for (int i = 0; i < x->from->node_count; i++) {
        struct graph_message *m;

        if (!goes(x, &w, i, from))
            continue;
        m = arena_alloc(x->to->arena, sizeof(*m));
        *m = (struct graph_message){
            .peer = peer, .address = at, .arrival_flag = w.arrival_flag + slot,
            .room_flag = w.room_flag, .arrival_bytes = is_first ? bytes : 0,
            .rooms_awaited = is_send && is_first && x->micro >= STAGE_SLOTS,
            .gives_room = !is_send && --left == 0 &&
                          x->micro + STAGE_SLOTS < x->c->batches};
        exchange(x, i, is_send, m);
        at += array_bytes(x, i);
        is_first = false;
    }
}

/* ----- passes */

static int pass(struct emit *x, int micro, bool is_backward)
{
    x->micro = micro;
    exchange_all(x, !is_backward, false);
    x->is_gated = x->stage == 0 && !is_backward && micro > 0;
    for (int p = 0; p < x->from->parameter_count; p++)
        x->gated[p] = NODE_NONE;
    if (emit_phase(x, is_backward ? phase_backward(micro) : phase_forward(micro)))
        return -1;
    x->is_gated = false;
    exchange_all(x, !is_backward, true);
    return 0;
}

static int all_passes(struct emit *x)
{
    int count = x->c->r->micro_batches, ahead = x->c->r->stage_count - 1 - x->stage, back = 0;

    if (ahead >= count)
        ahead = count - 1;
    for (int m = 0; m < count; m++) {
        if (pass(x, m, false))
            return -1;
        if (x->c->passes == 2 && m >= ahead && pass(x, back++, true))
            return -1;
    }
    x->part->kept_most = x->c->passes == 2 ? ahead + 1 : 0;
    while (x->c->passes == 2 && back < count)
        if (pass(x, back++, true))
            return -1;
    /* scalars of all stages: up to who makes something of them, and what that is down */
    return x->c->batches > count && (pass(x, count, false) || pass(x, count, true)) ? -1 : 0;
}

/* results and variables that this stage makes; what any stage could make the last one does */
static int emit_outputs(struct emit *x)
{
    const struct stages_request *r = x->c->r;

    for (int i = 0; i < x->from->output_count; i++) {
        const struct graph_output *o = &x->from->output[i];
        int stage = x->c->stage_of[o->node], alias = o->alias_parameter, last = r->stage_count - 1;
        int owner = alias < 0 ? last : r->parameter_stage[alias];

        if (stage != STAGE_ANY && alias >= 0 && stage != (owner < 0 ? last : owner))
            return err_set(x->e, "variable %s is changed by stage %d; %s", o->name, stage,
                           owner < 0 ? "those of no layer can only be by the last one"
                                     : "it is of another one");
        if (stage == STAGE_ANY ? owner >= 0 && owner != x->stage : stage != x->stage)
            continue;
        if (emit_node(x, o->node))
            return -1;
        if (alias >= 0) {
            if (emit_node(x, x->from->parameter[alias]))
                return -1;
            alias = x->to->node[x->moved[x->from->parameter[alias]]].parameter_index;
        }
        x->part->output[x->to->output_count] = i;
        graph_output(x->to, x->moved[o->node], o->name, alias);
    }
    return 0;
}

int stages_emit(struct stages_cut *c, int stage, struct err *e)
{
    const struct graph *g = c->g;
    struct stage_part *part = &c->out->part[stage];
    struct emit x = {.c = c, .from = g, .to = &part->graph, .part = part, .stage = stage, .e = e};

    graph_init(x.to, c->arena, arena_printf(c->arena, "%s.stage.%d", g->name, stage));
    part->parameter = arena_array(c->arena, (size_t)g->parameter_count + 1, sizeof(int));
    part->output = arena_array(c->arena, (size_t)g->output_count + 2, sizeof(int));
    x.moved = arena_array(c->arena, (size_t)g->node_count + 1, sizeof(int));
    x.gated = arena_array(c->arena, (size_t)g->parameter_count + 1, sizeof(int));
    for (int i = 0; i < g->node_count; i++)
        x.moved[i] = NODE_NONE;
    x.to->source = "pipeline/begin";
    x.last = graph_constant(x.to, shape_scalar(DTYPE_U32), 0);
    if (all_passes(&x) || emit_phase(&x, PHASE_REST) || emit_outputs(&x))
        return -1;
    part->parameter_count = x.to->parameter_count;
    if (x.to->node[x.last].op == HLO_SEND) {
        part->output[x.to->output_count] = -1;
        graph_output(x.to, x.last, "pipeline.sent", -1);
    }
    part->output_count = x.to->output_count;
    return 0;
}
