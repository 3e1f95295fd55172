/* Finds which stage makes a node, and which ones need it. */
#include "stack/spmd/stages_impl.h"

static const struct graph_node *node_of(const struct stages_cut *c, int i)
{
    return &c->g->node[i];
}

static void mark_live(struct stages_cut *c)
{
    for (int i = 0; i < c->g->output_count; i++)
        c->is_live[c->g->output[i].node] = true;
    for (int i = c->g->node_count - 1; i >= 0; i--)
        for (int k = 0; c->is_live[i] && k < node_of(c, i)->operand_count; k++)
            c->is_live[node_of(c, i)->operand[k]] = true;
}

static bool is_scalar(const struct stages_cut *c, int node)
{
    return shape_elems(&node_of(c, node)->shape) == 1 && !node_of(c, node)->tuple_count;
}

/* a scalar as an array, which who needs it makes, and the scalar goes there */
static int spread_scalar(const struct stages_cut *c, int node)
{
    const struct graph_node *n = node_of(c, node);
    bool is_spread = n->op == HLO_BROADCAST && c->phase[node] == PHASE_REST &&
                     c->stage_of[node] == STAGE_ANY && is_scalar(c, n->operand[0]);

    return is_spread ? n->operand[0] : node;
}

struct seen {                           /* stages of a node's operands */
    int highest, lowest;                /* STAGE_ANY: none has one */
    int lowest_backward;                /* of those of the same backward pass */
};

static struct seen look(const struct stages_cut *c, int node)
{
    struct seen s = {STAGE_ANY, STAGE_ANY, STAGE_ANY};
    const struct graph_node *n = node_of(c, node);

    for (int k = 0; k < n->operand_count; k++) {
        int stage = c->stage_of[n->operand[k]], phase = c->phase[n->operand[k]];

        if (stage == STAGE_ANY)
            continue;
        if (stage > s.highest)
            s.highest = stage;
        if (s.lowest == STAGE_ANY || stage < s.lowest)
            s.lowest = stage;
        if (phase == c->phase[node] && phase % 2 == 1 &&
            (s.lowest_backward == STAGE_ANY || stage < s.lowest_backward))
            s.lowest_backward = stage;
    }
    return s;
}

/* made of constants alone */
static bool is_plain(const struct stages_cut *c, int node, const bool *plain)
{
    const struct graph_node *n = node_of(c, node);

    if (n->operand_count == 0)
        return n->op != HLO_PARAMETER;
    for (int k = 0; k < n->operand_count; k++)
        if (!plain[n->operand[k]])
            return false;
    return true;
}

static int refuse_mix(const struct stages_cut *c, int node, const struct seen *s, struct err *e)
{
    const char *source = node_of(c, node)->source;

    return err_set(e, "%s needs values of stages %d and %d behind the backward passes; what is of "
                   "all variables together can only be numbers, such as a norm",
                   *source ? source : node_of(c, node)->name, s->lowest, s->highest);
}

/*
 * Behind the passes arrays stay where they are, and scalars go: what is made of scalars alone is on
 * the highest of their stages.
 */
static int choose_rest(struct stages_cut *c, int node, const struct seen *s, struct err *e)
{
    const struct graph_node *n = node_of(c, node);
    int stage = STAGE_ANY;

    if (s->highest == s->lowest || is_scalar(c, node)) {
        c->stage_of[node] = s->highest;
        return 0;
    }
    for (int k = 0; k < n->operand_count; k++) {
        const struct graph_node *of = node_of(c, n->operand[k]);
        bool travels = is_scalar(c, n->operand[k]) ||
                       (of->op == HLO_BROADCAST && is_scalar(c, of->operand[0]));

        if (travels || c->stage_of[n->operand[k]] == STAGE_ANY)
            continue;
        if (stage != STAGE_ANY && stage != c->stage_of[n->operand[k]])
            return refuse_mix(c, node, s, e);
        stage = c->stage_of[n->operand[k]];
    }
    if (stage == STAGE_ANY)
        return refuse_mix(c, node, s, e);
    for (int k = 0; k < n->operand_count; k++)
        if (!is_scalar(c, n->operand[k]) && c->stage_of[n->operand[k]] != stage)
            c->stage_of[n->operand[k]] = STAGE_ANY;
    c->stage_of[node] = stage;
    return 0;
}

/* forward nobody is before what he reads, backward nobody behind it */
static int choose_stage(struct stages_cut *c, int node, bool is_plain_node, struct err *e)
{
    int tag = c->r->stage[node], phase = c->phase[node];
    struct seen s = look(c, node);

    if (tag == STAGE_OF_ENDS && s.highest != STAGE_ANY)
        tag = c->r->stage_count - 1;
    c->stage_of[node] = STAGE_ANY;
    if (is_plain_node || node_of(c, node)->operand_count == 0)
        return 0;
    if (node_of(c, node)->op == HLO_GET_TUPLE_ELEMENT || phase == PHASE_REST)
        return choose_rest(c, node, &s, e);
    if (phase % 2 == 0)
        c->stage_of[node] = tag > s.highest ? tag : s.highest;
    else if (tag >= 0 && (s.lowest_backward == STAGE_ANY || tag < s.lowest_backward))
        c->stage_of[node] = tag;
    else
        c->stage_of[node] = s.lowest_backward == STAGE_ANY ? s.highest : s.lowest_backward;
    return 0;
}

/* ----- who needs it */

static int refuse_way(const struct stages_cut *c, int node, int reader, struct err *e)
{
    const char *source = node_of(c, reader)->source;

    return err_set(e, "%s on stage %d needs a value of stage %d (%s): between stages values go to "
                   "later ones in the forward pass and to earlier ones in the backward pass of "
                   "the same micro batch", *source ? source : node_of(c, reader)->name,
                   c->stage_of[reader], c->stage_of[node], node_of(c, node)->source);
}

static int add_need(struct stages_cut *c, int operand, int reader, struct err *e)
{
    int node = spread_scalar(c, operand), from = c->stage_of[node], to = c->stage_of[reader];
    int made = c->phase[node], read = c->phase[reader];
    bool is_number = made == PHASE_REST && read == PHASE_REST && is_scalar(c, node);

    if (from == STAGE_ANY || to == STAGE_ANY || from == to)
        return 0;
    if (is_number)
        c->batches = c->r->micro_batches + 1;
    else if (made == PHASE_REST || read == PHASE_REST || made / 2 != read / 2 ||
        node_of(c, node)->tuple_count || (to > from && made % 2) || (to < from && read % 2 == 0))
        return refuse_way(c, node, reader, e);
    if (to > c->highest[node])
        c->highest[node] = to;
    if (to < c->lowest[node])
        c->lowest[node] = to;
    return 0;
}

/*
 * Numbers that go to other stages behind the passes: up first, then down. What comes down may be
 * used by nothing that goes up.
 */
static int order_numbers(struct stages_cut *c, struct err *e)
{
    bool *is_late = arena_array(c->arena, (size_t)c->g->node_count + 1, sizeof(*is_late));

    for (int i = 0; i < c->g->node_count; i++) {
        const struct graph_node *n = node_of(c, i);

        for (int k = 0; c->is_live[i] && k < n->operand_count; k++) {
            int of = spread_scalar(c, n->operand[k]);

            is_late[i] |= is_late[of] || (c->phase[i] < 0 && c->stage_of[i] != STAGE_ANY &&
                                          c->stage_of[of] > c->stage_of[i]);
        }
        if (c->phase[i] != PHASE_REST || c->highest[i] == c->lowest[i])
            continue;
        if (is_late[i] && c->highest[i] > c->stage_of[i])
            return err_set(e, "%s: behind the backward passes numbers go up once, then down; this "
                           "one is made of one that came down, and goes up", *n->source ? n->source
                           : n->name);
        c->phase[i] = c->highest[i] > c->stage_of[i] ? phase_forward(c->r->micro_batches)
                                                 : phase_backward(c->r->micro_batches);
    }
    return 0;
}

int stages_assign(struct stages_cut *c, struct err *e)
{
    bool *plain = arena_array(c->arena, (size_t)c->g->node_count + 1, sizeof(*plain));

    mark_live(c);
    for (int i = 0; i < c->g->node_count; i++) {
        plain[i] = is_plain(c, i, plain);
        if (c->is_live[i] && choose_stage(c, i, plain[i], e))
            return -1;
        c->highest[i] = c->lowest[i] = c->stage_of[i];
        c->passes = c->phase[i] % 2 == 1 ? 2 : c->passes;
    }
    for (int i = 0; i < c->g->node_count; i++)
        for (int k = 0; c->is_live[i] && k < node_of(c, i)->operand_count; k++)
            if (add_need(c, node_of(c, i)->operand[k], i, e))
                return -1;
    return c->batches > c->r->micro_batches ? order_numbers(c, e) : 0;
}
