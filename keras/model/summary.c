/*
 * Counts parameters, operations and predicted cycles per layer, by tracing and compiling the model
 * once.
 */
#include "keras/model/summary.h"

#include <assert.h>
#include <string.h>

struct making {
    const struct model *m;
    const struct summary_options *o;
    struct arena *arena;
    struct summary *s;
    struct trace t;
};

/* ---- rows ---- */

static int row_of_layer(const struct summary *s, const struct layer *l)
{
    for (int i = 0; i < s->row_count; i++)
        if (s->row[i].layer == l)
            return i;
    return -1;
}

static void count_parameters(const struct making *k, struct summary_row *r)
{
    for (int i = 0; i < r->layer->variable_count; i++) {
        const struct variable *v = &k->m->set->variable[r->layer->variable[i]];

        r->parameters += shape_elems(&v->shape);
        r->trainable += v->is_trainable ? shape_elems(&v->shape) : 0;
    }
    if (r->layer->kind == LAYER_NORMALIZATION && r->layer->variable_count > 0)
        r->parameters++;                /* Keras's count of samples, which nothing here needs */
}

static void list_layers(struct making *k)
{
    k->s->row = arena_array(k->arena, (size_t)k->m->layer_count + 1, sizeof(*k->s->row));
    for (int i = 0; i < k->m->node_count; i++) {
        const struct model_node *n = &k->m->node[i];
        struct summary_row *r = &k->s->row[k->s->row_count];

        if (row_of_layer(k->s, k->m->layer[n->layer]) >= 0)
            continue;
        r->layer = k->m->layer[n->layer];
        r->output = n->shape;
        count_parameters(k, r);
        k->s->row_count++;
    }
    k->s->row[k->s->row_count++] = (struct summary_row){.layer = NULL};
}

/* "gradients/conv2d/MatMul" is conv2d's: the row whose layer's name is a part of the path */
static struct summary_row *row_of_source(const struct summary *s, const char *source)
{
    struct summary_row *best = &s->row[s->row_count - 1];
    size_t longest = 0;

    if (strncmp(source, "gradients/", 10) == 0)
        source += 10;
    for (int i = 0; i + 1 < s->row_count; i++) {
        size_t length = strlen(s->row[i].layer->name);

        if (length > longest && strncmp(source, s->row[i].layer->name, length) == 0 &&
            (source[length] == '/' || source[length] == '\0')) {
            best = &s->row[i];
            longest = length;
        }
    }
    return best;
}

/* ---- the graph ---- */

static void add_batch(struct shape *s, int64_t batch)
{
    memmove(s->dim + 1, s->dim, (size_t)s->rank * sizeof(*s->dim));
    s->dim[0] = batch;
    s->rank++;
}

static struct model_result *trace_model(struct making *k, int64_t batch, bool is_training)
{
    struct model_result *result = arena_array(k->arena, (size_t)k->m->output_count,
                                              sizeof(*result));
    int *input = arena_array(k->arena, (size_t)k->m->input_count, sizeof(*input));

    trace_init(&k->t, k->arena, k->m->name, k->m->set, 1, is_training);
    for (int i = 0; i < k->m->input_count; i++) {
        const struct model_node *n = &k->m->node[k->m->input[i]];
        struct shape s = n->shape;

        add_batch(&s, batch);
        input[i] = trace_input(&k->t, k->m->layer[n->layer]->name, &s);
    }
    model_forward(&k->t, k->m, input, result, NULL);
    return result;
}

static void count_flops(struct making *k)
{
    trace_model(k, 1, false);
    for (int i = 0; i < k->t.graph.node_count; i++)
        row_of_source(k->s, k->t.graph.node[i].source)->flops += graph_node_flops(&k->t.graph, i);
    trace_fini(&k->t);
}

/* the sum of y times a gradient that comes from outside */
static int seeded(struct making *k, int y, int number)
{
    struct graph *g = &k->t.graph;
    int seed, product;

    trace_source(&k->t, NULL, "loss");
    seed = trace_input(&k->t, arena_printf(k->arena, "seed_%d", number), &g->node[y].shape);
    product = graph_convert(g, graph_binary(g, HLO_MULTIPLY, y, seed), DTYPE_F32);
    return graph_reduce(g, REDUCE_ADD, product, (1u << g->node[y].shape.rank) - 1);
}

static int add_gradients(struct making *k, const struct model_result *result, struct err *e)
{
    struct graph *g = &k->t.graph;
    int loss = seeded(k, result[0].value, 0), count = 0;
    int *wrt = arena_array(k->arena, (size_t)k->m->set->count + 1, sizeof(*wrt));
    int *gradient = arena_array(k->arena, (size_t)k->m->set->count + 1, sizeof(*gradient));

    for (int i = 1; i < k->m->output_count; i++)
        loss = graph_binary(g, HLO_ADD, loss, seeded(k, result[i].value, i));
    for (int i = 0; i < k->t.known_count; i++)
        if (k->t.variable[i].parameter >= 0 && k->m->set->variable[i].is_trainable)
            wrt[count++] = g->parameter[k->t.variable[i].parameter];
    if (graph_grad(g, loss, wrt, count, gradient, e) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        trace_result(&k->t, arena_printf(k->arena, "gradient_%d", i), gradient[i]);
    return 0;
}

/* ---- cycles ---- */

static void add_kernel(const struct summary *s, const struct module_kernel *k)
{
    const struct kernel_cost *c = &k->segment->cost;
    bool is_backward = strncmp(k->source, "gradients", 9) == 0;
    struct summary_row *r = row_of_source(s, k->source);

    if (is_backward)
        r->backward_cycles += c->total_cycles * k->times;
    else
        r->forward_cycles += c->total_cycles * k->times;
    r->cost[BOUND_COMPUTE] += c->compute_cycles * k->times;
    r->cost[BOUND_COPIES] += c->copy_cycles * k->times;
    r->cost[BOUND_FIXED] += c->fixed_cycles * k->times;
}

static int count_cycles(struct making *k, struct err *e)
{
    struct module_settings settings = {.chip = k->o->chip, .codegen = k->o->codegen,
                                       .replica_count = 1};
    struct model_result *result = trace_model(k, k->o->batch, k->o->has_backward);
    struct module module;
    int status = 0;

    for (int i = 0; i < k->m->output_count; i++)
        trace_result(&k->t, arena_printf(k->arena, "output_%d", i), result[i].value);
    if (k->o->has_backward)
        status = add_gradients(k, result, e);
    trace_finish(&k->t);
    if (status == 0)
        status = module_compile(&k->t.graph, &settings, k->arena, &module, e);
    for (int i = 0; status == 0 && i < module.kernel_count; i++)
        add_kernel(k->s, &module.kernel[i]);
    trace_fini(&k->t);
    return status;
}

static void add_up(struct summary *s)
{
    for (int i = 0; i < s->row_count; i++) {
        const struct summary_row *r = &s->row[i];

        s->total.parameters += r->parameters;
        s->total.trainable += r->trainable;
        s->total.flops += r->flops;
        s->total.forward_cycles += r->forward_cycles;
        s->total.backward_cycles += r->backward_cycles;
        for (int c = 0; c < 4; c++)
            s->total.cost[c] += r->cost[c];
    }
}

int summary_make(const struct model *m, const struct summary_options *o, struct arena *a,
                 struct summary *out, struct err *e)
{
    struct making k = {.m = m, .o = o, .arena = a, .s = out};

    assert(m->set);
    *out = (struct summary){.model = m, .options = *o};
    list_layers(&k);
    count_flops(&k);
    if (o->chip && count_cycles(&k, e) != 0)
        return -1;
    add_up(out);
    return 0;
}

enum summary_bound summary_bound_of(const struct summary_row *r)
{
    enum summary_bound most = BOUND_NONE;

    for (int i = BOUND_COMPUTE; i <= BOUND_FIXED; i++)
        if (r->cost[i] > r->cost[most])
            most = (enum summary_bound)i;
    return most;
}
