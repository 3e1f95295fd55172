#include "tests/rigs/keras_rig.h"

#include "base/rng.h"
#include "tests/rigs/module_rig.h"
#include "tests/test.h"

#include <math.h>

void krig_init(struct keras_rig *k)
{
    *k = (struct keras_rig){.replica_count = 1, .batch = 2};
    arena_init(&k->arena);
    variable_set_init(&k->set, &k->arena);
    model_init(&k->m, &k->arena, "test");
    grig_init(&k->graph);
    k->graph.mode = INTERP_WIDE;
}

void krig_fini(struct keras_rig *k)
{
    if (k->is_traced) {
        graph_fini(&k->graph.g);
        memset(&k->t.graph, 0, sizeof(k->t.graph));
        trace_fini(&k->t);
    }
    arena_fini(&k->graph.arena);
    model_fini(&k->m);
    variable_set_fini(&k->set);
    arena_fini(&k->arena);
}

int krig_input(struct keras_rig *k, enum graph_dtype dtype, int rank, const int64_t *dim)
{
    struct shape s = shape_make(dtype, rank, dim);

    return model_input(&k->m, NULL, &s);
}

int krig_call(struct keras_rig *k, struct layer *l, int count, const int *input)
{
    int node = model_call(&k->m, l, input, count, &k->e);

    if (node < 0)
        fail_msg("%s", k->e.msg);
    return node;
}

int krig_on(struct keras_rig *k, struct layer *l, int rank, const int64_t *dim)
{
    int x = krig_input(k, DTYPE_F32, rank, dim);

    return krig_call(k, l, 1, &x);
}

const char *krig_refused(struct keras_rig *k, struct layer *l, int count, const int *input)
{
    assert_int_equal(model_call(&k->m, l, input, count, &k->e), -1);
    return k->e.msg;
}

/* -1..1, no two alike, in an order of the seed's */
static void spread_out(double *value, int64_t elems, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (int64_t i = 0; i < elems; i++)
        value[i] = -1 + 2 * ((double)i + 0.3 + 0.03 * (double)seed) / (double)elems;
    for (int64_t i = elems - 1; i > 0; i--) {
        int64_t other = rng_below(&rng, (uint32_t)i + 1);
        double t = value[i];

        value[i] = value[other];
        value[other] = t;
    }
}

static void set_values(struct keras_rig *k)
{
    struct graph *g = &k->t.graph;

    assert_true(g->parameter_count <= RIG_PARAMETERS);
    for (int i = 0; i < g->parameter_count; i++) {
        const struct graph_node *n = &g->node[g->parameter[i]];
        int64_t elems = shape_elems(&n->shape);
        double *value = arena_array(&k->arena, (size_t)elems, sizeof(*value));
        bool is_variance = strstr(n->name, "variance") != NULL;

        spread_out(value, elems, 5 + (uint64_t)i);
        for (int64_t j = 0; j < elems; j++)
            value[j] = is_variance ? 1 + value[j] / 2
                       : graph_dtype_is_float(n->shape.dtype) ? value[j] : (double)(j % 4);
        k->graph.value[i] = value;
    }
}

void krig_trace(struct keras_rig *k)
{
    int input[8];

    if (model_build(&k->m, &k->set, &k->e) != 0)
        fail_msg("%s", k->e.msg);
    trace_init(&k->t, &k->arena, "test", &k->set, k->replica_count, k->is_training);
    for (int i = 0; i < k->m.input_count; i++) {
        const struct model_node *n = &k->m.node[k->m.input[i]];
        struct shape s = n->shape;

        s.rank++;
        s.dim[0] = k->batch;
        for (int d = 0; d < n->shape.rank; d++)
            s.dim[1 + d] = n->shape.dim[d];
        input[i] = trace_input(&k->t, k->m.layer[n->layer]->name, &s);
    }
    assert_true(k->m.output_count <= 8 && k->m.input_count <= 8);
    model_forward(&k->t, &k->m, input, k->results, &k->penalty);
    k->result = k->results[0];
    set_values(k);
    k->graph.g = k->t.graph;
    k->is_traced = true;
}

double *krig_value(struct keras_rig *k, const char *name)
{
    const struct graph *g = &k->graph.g;

    for (int i = 0; i < g->parameter_count; i++) {
        const char *is = g->node[g->parameter[i]].name;
        size_t length = strlen(name);

        if (strncmp(is, name, length) == 0 && (is[length] == '\0' || is[length] == '.'))
            return k->graph.value[i];
    }
    fail_msg("no parameter %s", name);
    return NULL;
}

const double *krig_node(struct keras_rig *k, int node)
{
    return grig_run(&k->graph, node);
}

const double *krig_output(struct keras_rig *k)
{
    if (!k->is_traced)
        krig_trace(k);
    return krig_node(k, k->result.value);
}

void krig_check_gradients(struct keras_rig *k)
{
    k->graph.g.output_count = 0;
    grig_check_gradients(&k->graph, k->result.value);
}

/* the same with whole weights, so that sums stay small */
static int weighted_sum(struct graph *g, int y)
{
    int rank = g->node[y].shape.rank;

    y = graph_convert(g, y, DTYPE_F32);
    return graph_reduce(g, REDUCE_ADD, graph_binary(g, HLO_MULTIPLY, y, y), (1u << rank) - 1);
}

void krig_check_core(struct keras_rig *k, double tolerance)
{
    struct graph *g = &k->graph.g;
    struct module_rig rig = {.relative = tolerance, .absolute = tolerance,
                             .uses_fractions = true};
    int wrt[RIG_PARAMETERS], gradient[RIG_PARAMETERS], count = 0;

    for (int i = 0; i < g->parameter_count; i++)
        if (graph_dtype_is_float(g->node[g->parameter[i]].shape.dtype))
            wrt[count++] = g->parameter[i];
    if (graph_grad(g, weighted_sum(g, k->result.value), wrt, count, gradient, &k->e) != 0)
        fail_msg("%s", k->e.msg);
    g->output_count = 0;
    graph_output(g, k->result.value, "y", -1);
    for (int i = 0; i < count; i++)
        graph_output(g, gradient[i], arena_printf(&k->arena, "d%d", i), -1);
    module_rig_check(&rig, g, 3);
}
