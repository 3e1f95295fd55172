/*
 * Conditionals among the steps of a launch: where their arrays lie, and which steps stand around
 * those of their branches.
 *
 * A result that one branch passes on or changes where it lies has its operand's place, if nobody
 * reads the operand afterwards: that branch then moves what it changes and nothing else.
 */
#include "stack/module/module_walk.h"

#include "stack/hlo/in_place.h"

struct branches {
    struct module_walk *w;
    int node;
    struct module_value **operand, **result;
    bool *may_change;                   /* by operand: a branch may write there */
    bool *is_placed;                    /* by result: it has an operand's place */
};

static bool has_place_of(const struct branches *b, int result, const struct module_value *v)
{
    return b->is_placed[result] && b->result[result]->buffer == v->buffer;
}

/* it is what another result lies in, and is read before that is written there */
static bool is_overwritten(const struct branches *b, const struct module_value *v, int count)
{
    for (int k = 0; k < count; k++)
        if (has_place_of(b, k, v))
            return true;
    return false;
}

/* nobody else has written there, and it becomes the result without a copy */
static bool may_be_result(const struct branches *b, const struct module_value *from, int k,
                          int first_buffer, int begin)
{
    const struct module_plan *p = b->w->plan;
    const struct module_buffer *buffer = &p->buffer[from->buffer];

    if (from->buffer < first_buffer)
        return false;
    if (b->is_placed[k])
        return module_plan_may_advance(p, from, b->result[k], begin);
    return buffer->stands_for < 0 && buffer->bytes == b->result[k]->array.bytes &&
           (buffer->role == BUFFER_TEMPORARY || buffer->role == BUFFER_STATE);
}

/* Results of a branch, whose buffers are those from `first_buffer` on, go to where both have them. */
static void close_branch(struct branches *b, const struct graph *branch,
                         struct module_value **inside, int first_buffer, int begin)
{
    struct module_plan *p = b->w->plan;
    const struct graph_node *n = &b->w->g->node[b->node];
    struct module_value **from = module_walk_values(p, branch->output_count);

    for (int k = 0; k < branch->output_count; k++) {
        from[k] = inside[branch->output[k].node];
        if (graph_branch_passes(n, k) >= 0 || has_place_of(b, k, from[k]))
            from[k] = NULL;             /* it is there */
        else if (is_overwritten(b, from[k], branch->output_count))
            from[k] = module_walk_save(p, from[k]);
    }
    for (int k = 0; k < branch->output_count; k++)
        if (from[k] && may_be_result(b, from[k], k, first_buffer, begin))
            p->buffer[from[k]->buffer].stands_for = b->result[k]->buffer;
        else if (from[k])
            module_plan_add_copy(p, from[k], b->result[k]);
}

static int add_branch(struct branches *b, int which, struct err *e)
{
    struct module_plan *p = b->w->plan;
    const struct graph *branch = b->w->g->node[b->node].called[which];
    struct module_value **inside = module_walk_values(p, branch->node_count);
    int first_buffer = p->buffer_count, begin = p->step_count - 1;

    if (module_walk_graph(p, branch, b->operand, b->may_change, inside, e))
        return -1;
    close_branch(b, branch, inside, first_buffer, begin);
    return 0;
}

/* another result lies there: one before this one, or what both branches pass on */
static bool is_given(const struct branches *b, int result, const struct module_value *v)
{
    const struct graph_node *n = &b->w->g->node[b->node];

    for (int k = 0; k < n->called[0]->output_count; k++) {
        int passed = graph_branch_passes(n, k);

        if (passed >= 0 ? b->w->node[n->operand[passed]]->buffer == v->buffer
                        : k < result && has_place_of(b, k, v))
            return true;
    }
    return false;
}

/* the value of a result; one that is made anew has no place yet */
static struct module_value *result_value(struct branches *b, int k)
{
    struct module_walk *w = b->w;
    const struct graph_node *n = &w->g->node[b->node];
    const struct shape *shape = n->tuple_count ? &n->tuple[k] : &n->shape;
    int passed = graph_branch_passes(n, k), operand = graph_branch_operand(w->g, b->node, k);
    const struct module_value *place = operand >= 0 ? w->node[n->operand[operand]] : NULL;

    if (passed >= 0)
        return w->node[n->operand[passed]];
    b->is_placed[k] = place && !is_given(b, k, place) &&
                      module_walk_may_become(w, b->node, operand, k);
    if (b->is_placed[k])
        b->may_change[operand - 1] = true;
    return module_plan_new_value(w->plan, n->name, shape, BUFFER_TEMPORARY,
                                 b->is_placed[k] ? place->buffer : -1);
}

static void place_values(struct branches *b)
{
    struct module_walk *w = b->w;
    const struct graph_node *n = &w->g->node[b->node];
    int count = n->called[0]->output_count;

    b->operand = module_walk_values(w->plan, n->operand_count);
    b->result = module_walk_values(w->plan, count);
    b->may_change = arena_array(w->plan->arena, (size_t)n->operand_count + 1, sizeof(bool));
    b->is_placed = arena_array(w->plan->arena, (size_t)count + 1, sizeof(bool));
    for (int k = 1; k < n->operand_count; k++)
        b->operand[k - 1] = w->node[n->operand[k]];
    for (int k = 0; k < count; k++)
        b->result[k] = result_value(b, k);
    if (n->tuple_count)
        w->element[b->node] = b->result;
    else
        w->node[b->node] = b->result[0];
}

static int add_branches(struct module_walk *w, int node, struct err *e)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_plan *p = w->plan;
    struct branches b = {.w = w, .node = node};
    struct module_step s = module_walk_step(STEP_BRANCH, n);
    int begin = p->step_count;

    place_values(&b);
    s.is_assumed = p->settings->assume_branch != BRANCH_NONE;
    s.count = p->settings->assume_branch == BRANCH_TRUE;
    module_walk_guard(p, s, w->node[n->operand[0]]);
    if (add_branch(&b, 0, e))
        return -1;
    s = module_walk_step(STEP_ELSE, n);
    s.other = begin;
    module_plan_add_step(p, s);
    if (add_branch(&b, 1, e))
        return -1;
    s = module_walk_step(STEP_JOIN, n);
    s.other = begin;
    p->step[begin].other = p->step_count;
    module_plan_add_step(p, s);
    return 0;
}

int module_walk_conditional(struct module_walk *w, int node, struct err *e)
{
    bool has_fences = module_walk_begin_collectives(w->plan, &w->g->node[node]);
    int status = add_branches(w, node, e);

    w->plan->fences -= has_fences;
    return status;
}
