/*
 * Loops among the steps of a launch: where their arrays lie, and which steps stand around those of
 * their computations.
 */
#include "stack/module/module_walk.h"

#include "stack/backend/abi.h"
#include "stack/hlo/graph_shape.h"

struct module_value *module_walk_save(struct module_plan *p, struct module_value *v)
{
    struct module_value *saved = module_plan_new_value(p, v->array.name, &v->array.shape,
                                                       BUFFER_TEMPORARY, -1);

    module_plan_add_copy(p, v, saved);
    return saved;
}

static bool is_state(struct module_value *const *state, int count, const struct module_value *v)
{
    for (int k = 0; k < count; k++)
        if (state[k]->buffer == v->buffer)
            return true;
    return false;
}

/*
 * What a body makes goes back to where its parameters lie, or is made there. A
 * parameter that becomes another one is saved first.
 */
static void close_loop(struct module_plan *p, const struct graph *body,
                       struct module_value **inside, struct module_value **state, int begin)
{
    int count = body->output_count;
    struct module_value **from = module_walk_values(p, count);

    for (int k = 0; k < count; k++) {
        int node = body->output[k].node;

        from[k] = inside[node];
        if (from[k]->buffer == state[k]->buffer)
            from[k] = NULL;             /* unchanged */
        else if (is_state(state, count, from[k]))
            from[k] = module_walk_save(p, from[k]);
    }
    for (int k = 0; k < count; k++)
        if (from[k] && module_plan_may_advance(p, from[k], state[k], begin))
            p->buffer[from[k]->buffer].stands_for = state[k]->buffer;
        else if (from[k])
            module_plan_add_copy(p, from[k], state[k]);
}

/* operand k of the loop, a parameter, is read by nothing else and replaced by what it becomes */
static bool is_replaced(const struct module_walk *w, int node, int k)
{
    const struct graph *g = w->g;
    int operand = g->node[node].operand[k], index = g->node[operand].parameter_index;

    if (!w->is_main || g->node[operand].op != HLO_PARAMETER)
        return false;
    for (int i = 0; i < g->node_count; i++)
        for (int j = 0; j < g->node[i].operand_count; j++)
            if (g->node[i].operand[j] == operand && (i != node || j != k))
                return false;
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == operand)       /* wherever it goes, it is what it was */
            return false;
    for (int i = 0; i < g->output_count; i++) {
        const struct graph_node *n = &g->node[g->output[i].node];

        if (g->output[i].alias_parameter == index)
            return g->output[i].node == node ||
                   (n->op == HLO_GET_TUPLE_ELEMENT && n->operand[0] == node && n->dim == k);
    }
    return false;
}

/*
 * Where operand k of a loop lies inside: where it is if the body leaves it as it is, or if nobody
 * asks for it afterwards; else in memory of its own, copied before.
 */
static struct module_value *add_state(struct module_walk *w, int node, int k, bool is_copied)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_value *from = w->node[n->operand[k]], *state;

    if (!is_copied && (module_walk_is_unchanged(n, k) || is_replaced(w, node, k) ||
                       module_walk_may_take(w, node, k)))
        return from;
    state = module_plan_new_value(w->plan, arena_printf(w->plan->arena, "%s.state.%d", n->name, k),
                                  &from->array.shape, BUFFER_STATE, -1);
    module_plan_add_copy(w->plan, from, state);
    return state;
}

struct module_step module_walk_step(enum module_step_kind kind, const struct graph_node *n)
{
    return (struct module_step){.kind = kind, .name = n->name, .source = n->source};
}

void module_walk_guard(struct module_plan *p, struct module_step s, struct module_value *pred)
{
    s.operand = module_walk_values(p, 1);
    s.operand[0] = pred;
    s.operand_count = 1;
    module_plan_add_step(p, s);
}

/* out of the loop from step `begin` on, unless the condition holds */
static int add_exit(struct module_plan *p, const struct graph_node *n, struct module_value **state,
                    int begin, struct err *e)
{
    const struct graph *condition = n->called[1];
    struct module_value **inside = module_walk_values(p, condition->node_count);
    struct module_step s = module_walk_step(STEP_LOOP_EXIT, n);

    if (module_walk_graph(p, condition, state, NULL, inside, e))
        return -1;
    s.other = begin;
    module_walk_guard(p, s, inside[condition->output[0].node]);
    return 0;
}

static int add_round(struct module_plan *p, const struct graph_node *n, struct module_value **state,
                     int begin, struct err *e)
{
    const struct graph *body = n->called[0];
    struct module_value **inside = module_walk_values(p, body->node_count);
    bool *may_change = arena_alloc(p->arena, (size_t)n->operand_count * sizeof(*may_change));

    for (int k = 0; k < n->operand_count; k++)
        may_change[k] = !module_walk_is_unchanged(n, k);
    if (n->count == GRAPH_TRIPS_UNKNOWN && add_exit(p, n, state, begin, e))
        return -1;
    begin = p->step_count - 1;
    if (module_walk_graph(p, body, state, may_change, inside, e))
        return -1;
    close_loop(p, body, inside, state, begin);
    return 0;
}

/* loops around this place that count their rounds in a word of SMEM each, the outermost first */
static int counting_loops(const struct kernel_loop *loop)
{
    int count = 0;

    for (; loop; loop = loop->outer)
        count += loop->smem >= 0;
    return count;
}

/* one more around the steps that follow; who asks ends that by `p->loop = p->loop->outer` */
static void begin_rounds(struct module_plan *p, int64_t rounds, int64_t first, int64_t each,
                         bool is_assumed)
{
    struct kernel_loop *l = arena_alloc(p->arena, sizeof(*l));

    *l = (struct kernel_loop){.smem = -1, .rounds = rounds, .first = first, .each = each,
                              .is_assumed = is_assumed, .outer = p->loop};
    if (rounds > 0)
        l->smem = LINK_SMEM + 4 * counting_loops(p->loop);
    p->loop = l;
}

static bool has_collectives(const struct graph_node *n)
{
    return graph_has_collective(n->called[0]) || graph_has_collective(n->called[1]);
}

/*
 * Of the steps of a round, or of half of them; 0: until the condition fails. Where trips are
 * assumed each half counts as one by itself.
 */
static int64_t rounds_of(const struct module_plan *p, const struct graph_node *n, bool is_double)
{
    if (n->count == GRAPH_TRIPS_UNKNOWN)
        return p->settings->assume_trips;
    return is_double ? n->count / 2 : n->count;
}

/*
 * Collectives that follow each other have other flags (module_plan_set_flags), which one that
 * follows itself cannot have: then a round of the loop is two of the body, the odd one in front.
 * With fences (module_fence.c) none follows itself.
 */
static int add_rounds(struct module_plan *p, const struct graph_node *n,
                      struct module_value **state, struct err *e)
{
    bool is_double = p->settings->replica_count > 1 && p->fences == 0 &&
                     (n->count == GRAPH_TRIPS_UNKNOWN
                          ? has_collectives(n)
                          : n->count > 1 && module_plan_has_lone_collective(n->called[0]));
    bool has_odd = is_double && n->count % 2 == 1;
    const struct kernel_loop *around = p->loop;
    struct module_step s = module_walk_step(STEP_LOOP_BEGIN, n);
    int begin, status = 0;

    if (has_odd) {
        begin_rounds(p, 0, 0, 0, false);
        status = add_round(p, n, state, -1, e);
        p->loop = around;
    }
    begin = p->step_count;
    s.count = rounds_of(p, n, is_double);
    s.is_assumed = n->count == GRAPH_TRIPS_UNKNOWN && s.count > 0;
    module_plan_add_step(p, s);
    for (int i = 0; i < 1 + is_double && status == 0; i++) {
        begin_rounds(p, s.count, has_odd + i, 1 + is_double, s.is_assumed);
        status = add_round(p, n, state, begin, e);
        p->loop = around;
    }
    if (status)
        return -1;
    s = module_walk_step(STEP_LOOP_END, n);
    s.other = begin;
    p->step[begin].other = p->step_count;
    module_plan_add_step(p, s);
    return 0;
}

bool module_walk_begin_collectives(struct module_plan *p, const struct graph_node *n)
{
    bool has_fences;

    if (p->settings->replica_count <= 1 || !has_collectives(n))
        return false;
    has_fences = module_plan_is_in_flow(p);
    p->flow_has_collectives = true;
    p->fences += has_fences;
    return has_fences;
}

int module_walk_while(struct module_walk *w, int node, struct err *e)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_value **state = module_walk_values(w->plan, n->operand_count);
    struct module_value **result = module_walk_values(w->plan, n->operand_count);
    bool *is_kept = arena_array(w->plan->arena, (size_t)n->operand_count + 1, sizeof(*is_kept));
    bool has_fences = n->count == GRAPH_TRIPS_UNKNOWN && module_walk_begin_collectives(w->plan, n);
    int status;

    module_walk_keep_read(w, node, is_kept);
    for (int k = 0; k < n->operand_count; k++) {
        state[k] = add_state(w, node, k, is_kept[k]);
        result[k] = module_walk_is_unchanged(n, k) ? w->node[n->operand[k]] : state[k];
    }
    if (n->tuple_count)
        w->element[node] = result;
    else
        w->node[node] = result[0];
    status = n->count == 0 ? 0 : add_rounds(w->plan, n, state, e);
    w->plan->fences -= has_fences;
    return status;
}
