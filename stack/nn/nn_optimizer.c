/* Writes updates of variables, as optax has them. */
#include "stack/nn/nn_impl.h"

void nn_sgd_momentum(struct graph *g, int variable, int gradient, int slot, int rate,
                     double momentum, double weight_decay, int *new_variable, int *new_slot)
{
    gradient = graph_convert(g, gradient, DTYPE_F32);
    if (weight_decay != 0.0)
        gradient = nn_add(g, gradient, nn_scale(g, variable, weight_decay));
    *new_slot = nn_add(g, nn_scale(g, slot, momentum), gradient);
    *new_variable = nn_subtract(g, variable,
                                nn_multiply(g, nn_spread(g, rate, variable), *new_slot));
}

/* the moment by 1 - beta^step, which makes up for its start at 0 */
static int corrected(struct graph *g, int moment, double beta, int step)
{
    int power = graph_binary(g, HLO_POWER, graph_splat(g, step, beta), step);
    int weight = nn_subtract(g, graph_splat(g, power, 1.0), power);

    return graph_binary(g, HLO_DIVIDE, moment, nn_spread(g, weight, moment));
}

/* what Adam takes off a variable at a rate of 1 */
static int adam_change(struct graph *g, const struct nn_adam *o, int variable, int gradient,
                       int step, int moment[2])
{
    int change, root;

    gradient = graph_convert(g, gradient, DTYPE_F32);
    moment[0] = nn_moving_average(g, moment[0], gradient, o->beta_1);
    moment[1] = nn_moving_average(g, moment[1], nn_multiply(g, gradient, gradient), o->beta_2);
    root = graph_unary(g, HLO_SQRT, corrected(g, moment[1], o->beta_2, step));
    int fourth = nn_shift(g, root, o->epsilon);
    change = graph_binary(g, HLO_DIVIDE, corrected(g, moment[0], o->beta_1, step), fourth);
    if (o->weight_decay != 0.0)
        change = nn_add(g, change, nn_scale(g, variable, o->weight_decay));
    return change;
}

int nn_adam(struct graph *g, const struct nn_adam *o, int variable, int gradient, int rate,
            int step, int moment[2])
{
    int change = adam_change(g, o, variable, gradient, step, moment);

    return nn_subtract(g, variable, nn_multiply(g, nn_spread(g, rate, variable), change));
}

static int length_of(struct graph *g, int x, bool is_part)
{
    uint32_t all = (1u << g->node[x].shape.rank) - 1;
    int squares = graph_reduce(g, REDUCE_ADD, nn_multiply(g, x, x), all);

    return graph_unary(g, HLO_SQRT, is_part ? graph_all_reduce(g, squares) : squares);
}

int nn_lamb(struct graph *g, const struct nn_adam *o, int variable, int gradient, int rate,
            int step, int moment[2])
{
    int change = adam_change(g, o, variable, gradient, step, moment);
    int own = length_of(g, variable, o->is_part), length = length_of(g, change, o->is_part);
    int zero = graph_splat(g, own, 0.0), one = graph_splat(g, own, 1.0), ratio;

    ratio = graph_binary(g, HLO_DIVIDE, own, length);
    ratio = graph_select(g, graph_compare(g, COMPARE_GT, nn_multiply(g, own, length), zero), ratio,
                         one);
    int scaled = nn_multiply(g, rate, ratio);
    return nn_subtract(g, variable, nn_multiply(g, nn_spread(g, scaled, variable), change));
}
