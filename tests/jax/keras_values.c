/*
 * Values of a Keras model for the test that compares them with Keras's own: reads the JSON file
 * that is named, prints a line "VAR name v..." for each variable, "IN name v..." for each input (a
 * batch of two), "OUT output v..." for each output, and "GRAD name v..." for each of the variables
 * that are trained: the gradient of the first output's sum, each element times sin of its place.
 * All as the interpreter computes it in doubles; "training" behind the name: as in training.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/rigs/keras_rig.h"
#include "tests/test.h"

static struct keras_rig k;

static void print(const char *what, const char *name, const double *v, int64_t count)
{
    printf("%s %s", what, name);
    for (int64_t i = 0; i < count; i++)
        printf(" %.17g", v[i]);
    printf("\n");
}

/* the sum of sin(i + 1) y[i] */
static int weighted_sum(struct graph *g, int y)
{
    struct shape s = g->node[y].shape;
    int64_t elems = shape_elems(&s);
    float *w = arena_array(g->arena, (size_t)elems, sizeof(*w));

    for (int64_t i = 0; i < elems; i++)
        w[i] = (float)sin((double)i + 1.0);
    s.dtype = DTYPE_F32;
    y = graph_binary(g, HLO_MULTIPLY, graph_convert(g, y, DTYPE_F32), graph_literal(g, s, w));
    return graph_reduce(g, REDUCE_ADD, y, (1u << s.rank) - 1);
}

static int print_gradients(void)
{
    struct graph *g = &k.graph.g;
    int wrt[RIG_PARAMETERS], variable[RIG_PARAMETERS], gradient[RIG_PARAMETERS], count = 0;

    for (int i = 0; i < g->parameter_count; i++) {
        const struct trace_parameter *p = &k.t.parameter[i];

        if (p->kind == TRACE_VARIABLE && k.set.variable[p->index].is_trainable) {
            variable[count] = p->index;
            wrt[count++] = g->parameter[i];
        }
    }
    if (count > 0 &&
        graph_grad(g, weighted_sum(g, k.result.value), wrt, count, gradient, &k.e) != 0) {
        fprintf(stderr, "%s\n", k.e.msg);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        const double *v = krig_node(&k, gradient[i]);

        print("GRAD", k.set.variable[variable[i]].name, v, shape_elems(&g->node[gradient[i]].shape));
    }
    return 0;
}

/* what only a training reads has no value else */
static bool is_read(int variable)
{
    for (int i = 0; i < k.graph.g.parameter_count; i++)
        if (k.t.parameter[i].kind == TRACE_VARIABLE && k.t.parameter[i].index == variable)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    int status;

    if (argc != 2 && !(argc == 3 && strcmp(argv[2], "training") == 0)) {
        fprintf(stderr, "usage: keras_values MODEL.json [training]\n");
        return 2;
    }
    krig_init(&k);
    model_fini(&k.m);
    k.is_training = argc == 3;
    if (model_from_json(&k.m, &k.arena, argv[1], &k.e) != 0) {
        fprintf(stderr, "%s\n", k.e.msg);
        return 1;
    }
    krig_trace(&k);
    for (int i = 0; i < k.set.count; i++)
        if (i != k.m.seed_variable && is_read(i))
            print("VAR", k.set.variable[i].name, krig_value(&k, k.set.variable[i].name),
                  shape_elems(&k.set.variable[i].shape));
    for (int i = 0; i < k.m.input_count; i++) {
        const struct model_node *n = &k.m.node[k.m.input[i]];
        const char *name = k.m.layer[n->layer]->name;

        print("IN", name, krig_value(&k, name), k.batch * shape_elems(&n->shape));
    }
    for (int i = 0; i < k.m.output_count; i++) {
        const double *v = krig_node(&k, k.results[i].value);

        print("OUT", "output", v, shape_elems(&k.graph.g.node[k.results[i].value].shape));
    }
    status = print_gradients();
    krig_fini(&k);
    return status;
}
