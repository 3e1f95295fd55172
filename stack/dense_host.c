/* The strategy on the host: the interpreter runs the whole global batch in one piece. */
#include "stack/dense_impl.h"

#include <math.h>
#include <string.h>

static int64_t parameter_elems(const struct graph *g, int parameter)
{
    return shape_elems(&g->node[g->parameter[parameter]].shape);
}

void host_init(struct dense_strategy *s, struct arena *a, uint64_t seed)
{
    const struct graph *g = &s->train.graph;

    s->variable = arena_array(a, (size_t)g->parameter_count, sizeof(*s->variable));
    for (int i = 0; i < g->parameter_count; i++) {
        if (!role_is_variable(s->train.parameter[i].role))
            continue;
        s->variable[i].data = arena_array(a, (size_t)parameter_elems(g, i), sizeof(float));
        model_init_parameter(s->model, &s->train, i, seed, s->variable[i].data);
    }
}

/* The interpreter only reads its inputs: the casts take away no promise. */
static struct interp_value input_value(const struct dense_strategy *s, const struct model_graph *mg,
                                       int parameter, const struct step_input *in)
{
    switch (mg->parameter[parameter].role) {
    case ROLE_X:
        return (struct interp_value){(void *)in->x};
    case ROLE_LABELS:
        return (struct interp_value){(void *)in->labels};
    case ROLE_WEIGHTS:
        return (struct interp_value){(void *)in->weights};
    default:
        return s->variable[mg == &s->train ? parameter : s->variable_of_eval[parameter]];
    }
}

int host_step(struct dense_strategy *s, const struct step_input *in, struct dense_result *r,
              struct err *e)
{
    const struct model_graph *mg = in->weights ? &s->eval : &s->train;
    const struct graph *g = &mg->graph;
    struct arena *a = &s->step_arena;
    struct interp_value *input = arena_array(a, (size_t)g->parameter_count, sizeof(*input));
    struct interp_value *output = arena_array(a, (size_t)g->output_count, sizeof(*output));
    int status;

    for (int i = 0; i < g->parameter_count; i++)
        input[i] = input_value(s, mg, i, in);
    status = interp_run(g, s->reference_dot, input, output, a, e);
    if (status == 0) {
        for (int i = 0; i < g->output_count; i++) {
            int alias = g->output[i].alias_parameter;

            if (alias >= 0)
                memcpy(s->variable[alias].data, output[i].data,
                       (size_t)parameter_elems(g, alias) * sizeof(float));
        }
        r->loss_sum = (double)*(float *)output[mg->loss_output].data;
        r->correct = llround((double)*(float *)output[mg->correct_output].data);
    }
    arena_fini(a);
    return status;
}

void host_read_parameter(const struct dense_strategy *s, int parameter, float *to)
{
    memcpy(to, s->variable[parameter].data,
           (size_t)parameter_elems(&s->train.graph, parameter) * sizeof(float));
}
