/*
 * Writes the training step around a model of the zoo: gradients of its loss, summed over replicas,
 * and the optimizer's updates.
 *
 * A variable that replicas hold in parts is gathered where the model reads it. The gradient of that
 * is a reduce-scatter, so that each replica gets the sum of its own part and updates that: what an
 * all-reduce moves, and 1 / replicas of the update and of the slots.
 */
#include "stack/nn/zoo_impl.h"

#include <string.h>

static int parameter_index(const struct zoo *z, int node)
{
    return z->g->node[node].parameter_index;
}

static void replace(struct zoo *z, int node, int update)
{
    graph_output(z->g, update, z->g->node[node].name, parameter_index(z, node));
}

static int new_slot(struct zoo *z, int variable, const char *kind)
{
    const struct graph_node *n = &z->g->node[variable];

    return graph_parameter(z->g, n->shape, arena_printf(z->g->arena, "%s/%s", n->name, kind));
}

/* or by LAMB, which takes Adam's change at a rate of its own for each variable */
static void update_by_adam(struct zoo *z, int variable, int gradient, int rate, int step,
                           bool is_part)
{
    const struct nn_adam adam = {0.9, 0.999, 1e-8, 0.01, .is_part = is_part},
                         lamb = {0.9, 0.999, 1e-6, 0.01, .is_part = is_part};
    bool is_lamb = z->optimizer == ZOO_LAMB;
    int first = new_slot(z, variable, "m"), second = new_slot(z, variable, "v");
    int moment[2] = {first, second};

    replace(z, variable, is_lamb ? nn_lamb(z->g, &lamb, variable, gradient, rate, step, moment)
                                 : nn_adam(z->g, &adam, variable, gradient, rate, step, moment));
    replace(z, first, moment[0]);
    replace(z, second, moment[1]);
}

static void update_by_momentum(struct zoo *z, int variable, int gradient, int rate)
{
    int slot = new_slot(z, variable, "momentum"), changed, moved;

    nn_sgd_momentum(z->g, variable, gradient, slot, rate, 0.9, 0.0, &changed, &moved);
    replace(z, variable, changed);
    replace(z, slot, moved);
}

/* where one replica's loss has a part of what all lose on average */
static int mean_loss(const struct zoo *z)
{
    return z->replica_count > 1 ? nn_scale(z->g, z->loss, 1.0 / z->replica_count) : z->loss;
}

/*
 * Over all replicas; of a part that has been done: what gathers it forward scatters sums backward.
 * What is bf16 but for the last step back, to the variable, is summed as bf16.
 */
static int summed(struct zoo *z, const struct zoo_variable *v, int gradient)
{
    const struct graph_node *n = &z->g->node[gradient];
    int narrow = n->op == HLO_CONVERT ? n->operand[0] : NODE_NONE;

    if (z->replica_count == 1 || v->is_part)
        return gradient;
    z->g->source = arena_printf(z->g->arena, "all-reduce/%s", z->g->node[v->node].name);
    if (narrow != NODE_NONE && z->g->node[narrow].shape.dtype == DTYPE_BF16)
        return graph_convert(z->g, graph_all_reduce(z->g, narrow), DTYPE_F32);
    return graph_all_reduce(z->g, gradient);
}

/* those that the optimizer changes come first; their number */
static int sort_variables(struct zoo *z)
{
    int count = 0;

    for (int i = 0; i < z->count; i++)
        if (z->variable[i].update == NODE_NONE) {
            struct zoo_variable v = z->variable[i];

            memmove(&z->variable[count + 1], &z->variable[count], (size_t)(i - count) * sizeof(v));
            z->variable[count++] = v;
        }
    return count;
}

static void replace_states(struct zoo *z, int first)
{
    for (int i = first; i < z->count; i++)
        if (z->variable[i].update != z->variable[i].node)
            replace(z, z->variable[i].node, z->variable[i].update);
}

int zoo_train(struct zoo *z, struct err *e)
{
    struct shape scalar = shape_scalar(DTYPE_F32);
    int rate = graph_parameter(z->g, scalar, "learning_rate");
    bool counts = z->optimizer != ZOO_MOMENTUM;
    int step = counts ? graph_parameter(z->g, scalar, "step") : NODE_NONE;
    int *wrt = mem_alloc(2 * (size_t)z->count * sizeof(*wrt)), *gradient = wrt + z->count;
    int count = sort_variables(z), status;

    graph_output(z->g, z->loss, "loss", -1);
    replace_states(z, count);
    for (int i = 0; i < count; i++)
        wrt[i] = z->variable[i].node;
    status = graph_grad(z->g, mean_loss(z), wrt, count, gradient, e);
    for (int i = 0; i < count && status == 0; i++)
        gradient[i] = summed(z, &z->variable[i], gradient[i]);
    for (int i = 0; i < count && status == 0; i++) {
        z->g->source = arena_printf(z->g->arena, "optimizer/%s", z->g->node[wrt[i]].name);
        if (counts)
            update_by_adam(z, wrt[i], gradient[i], rate, step, z->variable[i].is_part);
        else
            update_by_momentum(z, wrt[i], gradient[i], rate);
    }
    z->g->source = "";
    mem_free(wrt);
    return status;
}
