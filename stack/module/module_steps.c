/*
 * Lists the steps of a launch: kernels in the order of the nodes, with what loops and conditionals
 * need around them (module_flow.c).
 */
#include "stack/module/module_walk.h"

#include "stack/hlo/bitcast.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/registry.h"
#include "stack/mosaic/mosaic.h"

#include <string.h>

int module_plan_add_buffer(struct module_plan *p, enum buffer_role role, int64_t bytes)
{
    p->buffer = mem_grow(p->buffer, &p->buffer_capacity, (size_t)p->buffer_count + 1,
                         sizeof(*p->buffer));
    p->buffer[p->buffer_count] = (struct module_buffer){
        .role = role, .bytes = bytes, .first = -1, .last = -1, .stands_for = -1,
        .must_stay = role != BUFFER_TEMPORARY && role != BUFFER_STATE};
    return p->buffer_count++;
}

void module_plan_keep_value(struct module_plan *p, struct module_value *v)
{
    p->value = mem_grow(p->value, &p->value_capacity, (size_t)p->value_count + 1,
                        sizeof(*p->value));
    p->value[p->value_count++] = v;
}

struct module_value *module_plan_new_value(struct module_plan *p, const char *name,
                                           const struct shape *shape, enum buffer_role role,
                                           int buffer)
{
    struct module_value *v = arena_alloc(p->arena, sizeof(*v));

    array_init(&v->array, name, shape, NULL);
    v->buffer = buffer >= 0 ? buffer : module_plan_add_buffer(p, role, v->array.bytes);
    module_plan_keep_value(p, v);
    return v;
}

struct module_step *module_plan_add_step(struct module_plan *p, struct module_step s)
{
    p->step = mem_grow(p->step, &p->step_capacity, (size_t)p->step_count + 1, sizeof(*p->step));
    s.loop = p->loop;
    p->step[p->step_count] = s;
    return &p->step[p->step_count++];
}

void module_plan_insert_step(struct module_plan *p, int at, struct module_step s)
{
    module_plan_add_step(p, s);
    memmove(p->step + at + 1, p->step + at, (size_t)(p->step_count - 1 - at) * sizeof(s));
    p->step[at] = s;
    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].kind != STEP_KERNEL && p->step[i].other >= at)
            p->step[i].other++;
}

void module_plan_remove_step(struct module_plan *p, int at)
{
    p->step_count--;
    memmove(p->step + at, p->step + at + 1, (size_t)(p->step_count - at) * sizeof(*p->step));
    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].kind != STEP_KERNEL && p->step[i].other >= at)
            p->step[i].other--;
}

struct module_value **module_walk_values(struct module_plan *p, int count)
{
    return arena_array(p->arena, (size_t)count + 1, sizeof(struct module_value *));
}

void module_copy_body(struct graph *body, const struct shape *shape, struct arena *a)
{
    int x;

    graph_init(body, a, "copy");
    x = graph_parameter(body, *shape, "x");
    graph_output(body, graph_unary(body, HLO_COPY, x), "copy", -1);
    graph_freeze(body);
}

void module_plan_add_copy(struct module_plan *p, struct module_value *from, struct module_value *to)
{
    struct graph *body = arena_alloc(p->arena, sizeof(*body));
    struct module_value **operand = module_walk_values(p, 1), **result = module_walk_values(p, 1);

    module_copy_body(body, &from->array.shape, p->arena);
    operand[0] = from;
    result[0] = to;
    module_plan_add_step(p, (struct module_step){
        .kind = STEP_KERNEL, .body = body, .source = "",
        .name = arena_printf(p->arena, "copy.%s", to->array.name),
        .operand = operand, .result = result, .operand_count = 1, .result_count = 1});
}

/* a kernel that makes the node, with its operands; results are the caller's to set */
static struct module_step step_of(struct module_walk *w, int node)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_step s = {.kind = STEP_KERNEL, .name = n->name, .source = n->source,
                            .unit = n->unit, .operand_count = n->operand_count,
                            .result_count = n->tuple_count ? n->tuple_count : 1,
                            .is_in_hbm = n->op == HLO_DOT && n->dot.is_alone};

    s.operand = module_walk_values(w->plan, s.operand_count);
    s.result = module_walk_values(w->plan, s.result_count);
    for (int k = 0; k < n->operand_count; k++)
        s.operand[k] = w->node[n->operand[k]];
    return s;
}

static void take_results(struct module_walk *w, int node, const struct module_step *s)
{
    if (w->g->node[node].tuple_count)
        w->element[node] = s->result;
    else
        w->node[node] = s->result[0];
}

/*
 * A result of a kernel of Pallas that takes an operand's place: in its buffer, where nobody reads the
 * operand any more, else in that of a copy, which the kernel then takes for the operand.
 */
static struct module_value *in_place_of(struct module_walk *w, int node, struct module_step *s,
                                        int operand, const struct shape *shape)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_value *v = s->operand[operand];

    if (!module_walk_may_take(w, node, operand)) {
        struct module_value *copy = module_plan_new_value(w->plan, n->name, shape,
                                                          BUFFER_TEMPORARY, -1);

        module_plan_add_copy(w->plan, v, copy);
        v = s->operand[operand] = copy;
    }
    return module_plan_new_value(w->plan, n->name, shape, BUFFER_TEMPORARY, v->buffer);
}

/* the operand whose place result k takes; -1: none */
static int operand_replaced(const struct graph_node *n, int k)
{
    return n->op == HLO_MOSAIC && n->mosaic->alias && n->mosaic->alias[k] >= 0
               ? n->mosaic->dynamic_count + n->mosaic->alias[k] : -1;
}

static void add_kernel(struct module_walk *w, int node)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_plan *p = w->plan;
    struct module_step s = step_of(w, node);
    struct graph *body;

    for (int k = 0; k < s.result_count; k++) {
        const struct shape *shape = n->tuple_count ? &n->tuple[k] : &n->shape;
        int operand = operand_replaced(n, k), changed = module_changed_operand(n);
        bool is_changed = changed >= 0 && module_walk_may_take(w, node, changed);

        s.result[k] = operand >= 0
                          ? in_place_of(w, node, &s, operand, shape)
                          : module_plan_new_value(p, n->name, shape, BUFFER_TEMPORARY,
                                                  is_changed ? s.operand[changed]->buffer : -1);
    }
    take_results(w, node, &s);
    if (n->op == HLO_MOSAIC && mosaic_asks_devices(n->mosaic))
        module_plan_add_peers(p, &s, n->mosaic);
    if (n->op == HLO_FUSION) {
        s.body = n->called[0];
        s.is_fusion = true;
    } else {
        body = kernel_body_of(w->g, node, p->arena);
        graph_freeze(body);
        s.body = body;
    }
    module_plan_add_step(p, s);
}

static int add_collective(struct module_walk *w, int node, struct err *e)
{
    struct module_step s = step_of(w, node);
    struct graph *body = kernel_body_of(w->g, node, w->plan->arena);

    graph_freeze(body);
    s.body = body;
    if (module_plan_add_collective(w->plan, s, w->g, node, e))
        return -1;
    take_results(w, node, &s);
    return w->plan->fences ? module_plan_add_fence(w->plan, &w->g->node[node], e) : 0;
}

static int add_message(struct module_walk *w, int node, struct err *e)
{
    struct module_step s = step_of(w, node);
    struct graph *body = kernel_body_of(w->g, node, w->plan->arena);
    const struct graph_node *n = &w->g->node[node];

    graph_freeze(body);
    s.body = body;
    s.result[0] = module_plan_new_value(w->plan, n->name, &n->shape, BUFFER_TEMPORARY, -1);
    if (module_plan_add_message(w->plan, s, n, e))
        return -1;
    take_results(w, node, &s);
    return 0;
}

struct module_value *module_plan_add_literal(struct module_plan *p, const char *name,
                                             const struct shape *shape, const void *literal)
{
    struct module_value *v = module_plan_new_value(p, name, shape, BUFFER_CONSTANT, -1);

    p->constant = mem_grow(p->constant, &p->constant_capacity, (size_t)p->constant_count + 1,
                           sizeof(*p->constant));
    p->constant[p->constant_count++] = (struct module_constant){&v->array, literal, NULL};
    return v;
}

/* the same bytes as the operand, otherwise read */
static void stay_in_place(struct module_walk *w, int node)
{
    const struct graph_node *n = &w->g->node[node];

    w->node[node] = module_plan_new_value(w->plan, n->name, &n->shape, BUFFER_TEMPORARY,
                                          w->node[n->operand[0]]->buffer);
    w->node[node]->fetch = w->node[n->operand[0]]->fetch;
}

/* a single value is there before the launch, rather than made by a kernel in each round of a loop */
static const void *scalar_literal(struct module_plan *p, const struct graph_node *n)
{
    union { float f; int32_t i; uint32_t u; } *word = arena_alloc(p->arena, sizeof(*word));

    if (graph_dtype_is_float(n->shape.dtype))
        word->f = (float)n->value;
    else if (n->shape.dtype == DTYPE_U32 || n->shape.dtype == DTYPE_U8)
        word->u = (uint32_t)n->value;
    else
        word->i = (int32_t)n->value;
    return word;
}

static int visit(struct module_walk *w, int node, struct err *e)
{
    const struct graph_node *n = &w->g->node[node];
    struct module_plan *p = w->plan;

    switch (n->op) {
    case HLO_PARAMETER:
        return 0;
    case HLO_TUPLE:
        w->element[node] = module_walk_values(p, n->operand_count);
        for (int k = 0; k < n->operand_count; k++)
            w->element[node][k] = w->node[n->operand[k]];
        return 0;
    case HLO_GET_TUPLE_ELEMENT:
        w->node[node] = w->element[n->operand[0]][n->dim];
        return 0;
    case HLO_WHILE:
        return module_walk_while(w, node, e);
    case HLO_CONDITIONAL:
        return module_walk_conditional(w, node, e);
    case HLO_ALL_REDUCE:
    case HLO_REDUCE_SCATTER:
    case HLO_ALL_GATHER:
    case HLO_ALL_TO_ALL:
    case HLO_COLLECTIVE_PERMUTE:
        return add_collective(w, node, e);
    case HLO_SEND:
    case HLO_RECEIVE:
        return add_message(w, node, e);
    case HLO_ADD_DEPENDENCY:
        stay_in_place(w, node);
        if (n->edge)
            w->node[node] = module_plan_keep_edge(p, n->edge, w->node[n->operand[0]],
                                                  w->node[node]);
        return 0;
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
        if (n->op == HLO_RESHAPE && array_is_bitcast(&w->g->node[n->operand[0]].shape, &n->shape)) {
            stay_in_place(w, node);
            if (w->is_main)
                module_lay_out_renamed(p, w->g, node);
            return 0;
        }
        if (!w->is_main || module_entry_reader(p->settings, w->g, n->operand[0]) != node ||
            module_entry_moves(w->g, node))
            break;
        stay_in_place(w, node);
        return 0;
    case HLO_PARTITION_ID:              /* as pass_devices leaves it */
        w->node[node] = module_plan_add_literal(p, n->name, &n->shape, NULL);
        p->constant[p->constant_count - 1].by_device = n->literal;
        return 0;
    case HLO_CONSTANT:
        if (!n->literal && n->shape.rank > 0)
            break;
        w->node[node] = module_plan_add_literal(p, n->name, &n->shape,
                                                n->literal ? n->literal : scalar_literal(p, n));
        return 0;
    default:
        break;
    }
    add_kernel(w, node);
    return 0;
}

int module_walk_graph(struct module_plan *p, const struct graph *g,
                      struct module_value **parameter, const bool *may_change,
                      struct module_value **node, struct err *e)
{
    struct module_walk w = {.plan = p, .g = g, .node = node, .is_main = node == p->node,
                            .first_buffer = p->buffer_count, .may_change = may_change};

    w.element = arena_array(p->arena, (size_t)g->node_count + 1, sizeof(*w.element));
    for (int i = 0; i < g->parameter_count; i++)
        node[g->parameter[i]] = parameter[i];
    for (int i = 0; i < g->node_count; i++)
        if (visit(&w, i, e))
            return -1;
    return 0;
}

/*
 * Outputs that are parameters, literals, other outputs, or what a loop works on in VMEM get a copy
 * of their own.
 */
static void set_outputs(struct module_plan *p, const struct graph *g)
{
    for (int i = 0; i < g->output_count; i++) {
        struct module_value *v = p->node[g->output[i].node];
        int alias = g->output[i].alias_parameter;
        struct module_value *own;

        if (alias >= 0 && v->buffer == p->parameter[alias]->buffer) {
            p->output[i] = p->parameter[alias];
            continue;
        }
        own = p->buffer[v->buffer].role == BUFFER_TEMPORARY ? module_copy_result(p, g, i) : NULL;
        if (own) {
            p->output[i] = own;
            continue;
        }
        if (module_plan_may_be_output(p, v)) {
            p->buffer[v->buffer].role = BUFFER_OUTPUT;
            p->buffer[v->buffer].must_stay = true;
            p->output[i] = v;
            module_lay_out_result(p, g, i);
            continue;
        }
        own = module_plan_new_value(p, g->output[i].name, &v->array.shape, BUFFER_OUTPUT, -1);
        module_plan_add_copy(p, v, own);
        p->output[i] = own;
    }
}

int module_plan_steps(struct module_plan *p, const struct graph *g, struct err *e)
{
    struct module_value **read = module_walk_values(p, g->parameter_count);

    p->parameter = module_walk_values(p, g->parameter_count);
    p->parameter_count = g->parameter_count;
    p->output = module_walk_values(p, g->output_count);
    p->node = module_walk_values(p, g->node_count);
    for (int i = 0; i < g->parameter_count; i++) {
        const struct graph_node *n = &g->node[g->parameter[i]];

        p->parameter[i] = module_plan_new_value(p, n->name, &n->shape, BUFFER_PARAMETER, -1);
        module_lay_out_parameter(p, g, g->parameter[i]);
        read[i] = module_copy_parameter(p, g, g->parameter[i]);
    }
    if (module_walk_graph(p, g, read, NULL, p->node, e))
        return -1;
    set_outputs(p, g);
    module_plan_fill_buckets(p);
    module_plan_overlap(p);
    return module_plan_set_flags(p, e);
}

void module_plan_fini(struct module_plan *p)
{
    mem_free(p->step);
    mem_free(p->buffer);
    mem_free(p->value);
    mem_free(p->constant);
    mem_free(p->shadow);
    mem_free(p->fetch);
    mem_free(p->communicator);
}
