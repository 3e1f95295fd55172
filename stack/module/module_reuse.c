/*
 * Which memory a kernel or a loop may write its results over: that of an operand which nobody reads
 * any more.
 *
 * A dynamic update that takes its operand's place moves what it changes and nothing else; elsewhere
 * it has to copy the operand first. So a loop that adds a row to an array in each of its rounds, as
 * scans do, takes time for the row and not for the array.
 */
#include "stack/module/module_walk.h"

#include <string.h>

/* a value of the node lies in the buffer */
static bool lies_there(const struct module_walk *w, int node, int buffer)
{
    const struct graph_node *n = &w->g->node[node];
    int count = n->op == HLO_WHILE || n->op == HLO_TUPLE ? n->operand_count : n->tuple_count;

    if (w->node[node])
        return w->node[node]->buffer == buffer;
    for (int k = 0; w->element[node] && k < count; k++)
        if (w->element[node][k] && w->element[node][k]->buffer == buffer)
            return true;
    return false;
}

static bool is_read_later(const struct module_walk *w, int node, int buffer)
{
    for (int i = node + 1; i < w->g->node_count; i++)
        for (int k = 0; k < w->g->node[i].operand_count; k++)
            if (w->g->node[i].operand[k] < node && lies_there(w, w->g->node[i].operand[k], buffer))
                return true;
    for (int i = 0; i < w->g->output_count; i++)
        if (w->g->output[i].node < node && lies_there(w, w->g->output[i].node, buffer))
            return true;
    return false;
}

/* it has been made for this graph, or given to it as what its loop or branch changes */
static bool is_own(const struct module_walk *w, const struct module_value *v)
{
    const struct module_buffer *b = &w->plan->buffer[v->buffer];

    if (b->stands_for >= 0)
        return false;
    if (v->buffer >= w->first_buffer)
        return b->role == BUFFER_TEMPORARY || b->role == BUFFER_STATE;
    for (int k = 0; w->may_change && k < w->g->parameter_count; k++)
        if (w->may_change[k] && w->node[w->g->parameter[k]]->buffer == v->buffer)
            return true;
    return false;
}

/* a parameter that the program gives away for this result of the node, as its output says */
static bool is_given_away(const struct module_walk *w, int node, int result,
                          const struct module_value *v)
{
    for (int i = 0; w->is_main && i < w->g->output_count; i++) {
        int from = w->g->output[i].node, alias = w->g->output[i].alias_parameter, number = 0;

        if (w->g->node[from].op == HLO_GET_TUPLE_ELEMENT) {
            number = w->g->node[from].dim;
            from = w->g->node[from].operand[0];
        }
        if (from == node && number == result && alias >= 0 && w->plan->parameter[alias] == v)
            return true;
    }
    return false;
}

bool module_walk_may_become(const struct module_walk *w, int node, int k, int result)
{
    const struct graph_node *n = &w->g->node[node];
    const struct module_value *v = w->node[n->operand[k]];

    if (!v || (!is_own(w, v) && !is_given_away(w, node, result, v)))
        return false;
    for (int i = 0; i < n->operand_count; i++)
        if (i != k && lies_there(w, n->operand[i], v->buffer) &&
            (n->op != HLO_CONDITIONAL || i == 0))
            return false;               /* of a branch, its own steps tell who reads it when */
    return !is_read_later(w, node, v->buffer);
}

bool module_walk_may_take(const struct module_walk *w, int node, int k)
{
    return module_walk_may_become(w, node, k, w->g->node[node].op == HLO_WHILE ? k : 0);
}

int module_changed_operand(const struct graph_node *n)
{
    return n->op == HLO_DYNAMIC_UPDATE_SLICE || n->op == HLO_SCATTER ? 0 : -1;
}

bool module_plan_is_changed(const struct module_plan *p, const struct module_step *s,
                            const struct module_buffer *b)
{
    const struct graph *body = s->body;
    const struct graph_node *n = &body->node[body->output[0].node];
    int changed = module_changed_operand(n);

    if (body->output_count != 1 || changed < 0 || body->node[n->operand[changed]].op != HLO_PARAMETER)
        return false;
    changed = body->node[n->operand[changed]].parameter_index;
    for (int k = 0; k < s->operand_count; k++)
        if ((module_plan_buffer(p, s->operand[k]) == b) != (k == changed))
            return false;
    return true;
}

const struct module_value *module_plan_read(const struct module_plan *p, const struct module_step *s,
                                            int k)
{
    const struct module_value *v = s->operand[k], *slice;
    const struct graph_node *n = s->body ? &s->body->node[s->body->output[0].node] : NULL;

    if (k > 0 || !n || graph_op_kind(n->op) != KIND_INDEX)
        return v;
    slice = s->result[0];
    if (n->op == HLO_DYNAMIC_UPDATE_SLICE && module_plan_buffer(p, v) == module_plan_buffer(p, slice))
        slice = s->operand[s->body->node[n->operand[1]].parameter_index];
    return slice->array.bytes < v->array.bytes ? slice : v;
}
