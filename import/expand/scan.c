/*
 * scan as a loop: each round takes the next position of the inputs along one dimension, calls the
 * computation with it and the states, and puts the outputs in their place.
 */
#include "import/expand/loop.h"
#include "import/expand/site.h"

struct scan {
    const struct hlo_instruction *from;
    const struct hlo_computation *body; /* of the old module: types of its parameters */
    int inputs, outputs, states, dim;
    int64_t positions;
};

static const int *starts(struct hlo_builder *b, int rank, int dim, int at)
{
    int *start = arena_array(b->module->arena, (size_t)rank + 1, sizeof(*start));
    int zero = ar_scalar(b, ELEMENT_S32, 0);

    for (int d = 0; d < rank; d++)
        start[d] = d == dim ? at : zero;
    return start;
}

static int input_at(struct hlo_builder *b, int x, int dim, int at, const struct hlo_type *wanted)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t *sizes = arena_copy(b->module->arena, t.dim, (size_t)t.rank, sizeof(*sizes));

    sizes[dim] = 1;
    x = hlo_dynamic_slice(b, x, starts(b, t.rank, dim, at), sizes);
    return hlo_reshape(b, x, wanted->rank, wanted->dim);
}

static int with_output(struct hlo_builder *b, int all, int x, int dim, int at)
{
    struct hlo_type t = *hlo_type_of(b, all);
    int64_t *sizes = arena_copy(b->module->arena, t.dim, (size_t)t.rank, sizeof(*sizes));

    sizes[dim] = 1;
    x = hlo_reshape(b, x, t.rank, sizes);
    return hlo_dynamic_update_slice(b, all, x, starts(b, t.rank, dim, at));
}

/* state: inputs, outputs, states */
static void round_body(struct hlo_builder *b, int *x, int round, const void *user)
{
    const struct scan *s = user;
    int argument[LOOP_STATE_MAX], at = round, result, *output = x + s->inputs;
    int *state = output + s->outputs;

    if (hlo_detail(s->from)->is_reverse)
        at = ar_sub(b, ar_scalar(b, ELEMENT_S32, s->positions - 1), round);
    for (int k = 0; k < s->inputs; k++)
        argument[k] = input_at(b, x[k], s->dim, at,
                               s->body->instruction[s->body->parameter[k]].type);
    for (int k = 0; k < s->states; k++)
        argument[s->inputs + k] = state[k];
    result = hlo_call(b, hlo_detail(s->from)->computation[0], s->inputs + s->states, argument);
    for (int k = 0; k < s->outputs + s->states; k++) {
        int part = hlo_type_is_tuple(hlo_type_of(b, result)) ? hlo_tuple_element(b, result, k)
                                                             : result;

        output[k] = k < s->outputs ? with_output(b, output[k], part, s->dim, at) : part;
    }
}

int expand_scan(struct expand_site *s)
{
    const struct hlo_instruction *i = s->from;
    struct scan scan = {.from = i, .states = (int)i->index};
    struct expand_loop loop = {.body = round_body, .user = &scan};

    scan.body = &s->old->computation[hlo_detail(i)->computation[0]];
    scan.inputs = i->operand_count - scan.states;
    scan.outputs = i->type->part_count - scan.states;
    scan.dim = hlo_detail(i)->dims.count ? (int)hlo_detail(i)->dims.item[0] : 0;
    loop.count = scan.inputs + scan.outputs + scan.states;
    if (!hlo_type_is_tuple(i->type) || scan.inputs < 1 || scan.outputs < 0
        || loop.count > LOOP_STATE_MAX)
        return expand_refuse(s, "it needs an input, and at most %d arrays", LOOP_STATE_MAX);
    scan.positions = loop.rounds = expand_operand_type(s, 0)->dim[scan.dim];
    for (int k = 0; k < scan.inputs; k++)
        loop.state[k] = s->operand[k];
    for (int k = 0; k < scan.outputs; k++)
        loop.state[scan.inputs + k] = hlo_constant_int(s->b, &i->type->part[k], 0);
    for (int k = 0; k < scan.states; k++)
        loop.state[scan.inputs + scan.outputs + k] = s->operand[scan.inputs + k];
    expand_loop(s->b, &loop);
    return hlo_tuple(s->b, scan.outputs + scan.states, loop.state + scan.inputs);
}
