/*
 * scan: a computation goes along one dimension of its inputs with a state that it hands on. Operands
 * are inputs and first states; the computation takes slices and states, and gives slices of outputs
 * and the next states, as the whole does.
 */
#include "import/eval/handlers.h"

struct scan {
    struct call *c;
    const struct hlo_computation *body;
    int inputs, outputs, states, along;
    int64_t n;
    struct value **argument, **leaf;
};

/* position p of an input, in the sizes that the computation's parameter has */
static struct value *slice_of(const struct scan *s, int k, int64_t p)
{
    const struct hlo_type *t = s->body->instruction[s->body->parameter[k]].type;
    const struct value *from = s->c->operand[k];
    struct value *made = call_array(s->c, t->element, t->rank, t->dim);
    struct stride_copy copy = { .rank = from->rank };
    int64_t step = 1, first;
    size_t bytes = value_element_bytes(from);

    if (!made)
        return NULL;
    value_strides(from, copy.from_step);
    first = p * copy.from_step[s->along];
    for (int d = from->rank; d-- > 0; step *= copy.dim[d]) {
        copy.dim[d] = d == s->along ? 1 : from->dim[d];
        copy.to_step[d] = step;
    }
    stride_copy(copy, bytes, made->data, (char *)from->data + (size_t)first * bytes);
    return made;
}

static void put_slice(const struct scan *s, int k, int64_t p, const struct value *from)
{
    struct value *to = s->c->result->part[k];
    struct stride_copy copy = { .rank = to->rank };
    int64_t step = 1, first;
    size_t bytes = value_element_bytes(to);

    value_strides(to, copy.to_step);
    first = p * copy.to_step[s->along];
    for (int d = to->rank; d-- > 0; step *= copy.dim[d]) {
        copy.dim[d] = d == s->along ? 1 : to->dim[d];
        copy.from_step[d] = step;
    }
    stride_copy(copy, bytes, (char *)to->data + (size_t)first * bytes, from->data);
}

/* states are held in c->result's last parts from step to step */
static int scan_step(const struct scan *s, int64_t p)
{
    struct value **state = s->c->result->part + s->outputs, *made;

    for (int k = 0; k < s->inputs; k++)
        if (!(s->argument[k] = slice_of(s, k, p)))
            return -1;
    for (int k = 0; k < s->states; k++) {
        s->argument[s->inputs + k] = state[k];
        state[k] = NULL;
    }
    if (eval_one(s->c->ev, hlo_detail(s->c->i)->computation[0], s->c->device, s->argument, &made))
        return -1;
    if (!value_spread(&s->c->ev->pool, made)) {
        value_drop(&s->c->ev->pool, made);
        return call_fail(s->c, "its outputs do not fit into the limit of memory");
    }
    value_leaves(made, s->leaf, s->outputs + s->states);
    for (int k = 0; k < s->outputs; k++)
        put_slice(s, k, p, s->leaf[k]);
    for (int k = 0; k < s->states; k++)
        state[k] = value_hold(s->leaf[s->outputs + k]);
    value_drop(&s->c->ev->pool, made);
    return 0;
}

int eval_scan(struct call *c)
{
    const struct hlo_instruction *i = c->i;
    struct scan s = { .c = c, .body = &c->ev->m->computation[hlo_detail(i)->computation[0]] };
    size_t room;
    int status = 0;

    s.states = (int)i->index;
    s.inputs = i->operand_count - s.states;
    s.outputs = i->type->part_count - s.states;
    s.along = hlo_detail(i)->dims.count ? (int)hlo_detail(i)->dims.item[0] : 0;
    if (i->type->element != ELEMENT_TUPLE || s.inputs < 1 || s.outputs < 0 ||
        s.body->parameter_count != i->operand_count)
        return call_fail(c, "%d operands with %d states do not fit its computation",
                         i->operand_count, s.states);
    s.n = c->operand[0]->dim[s.along];
    call_result_tuple(c);
    for (int k = 0; k < s.outputs; k++)
        if (!call_part(c, k))
            return -1;
    for (int k = 0; k < s.states; k++)
        c->result->part[s.outputs + k] = value_hold(c->operand[s.inputs + k]);
    room = (size_t)(i->operand_count + i->type->part_count);
    s.argument = mem_alloc(room * sizeof(*s.argument));
    s.leaf = s.argument + i->operand_count;
    for (int64_t p = 0; p < s.n && !status; p++)
        status = scan_step(&s, hlo_detail(i)->is_reverse ? s.n - 1 - p : p);
    mem_free(s.argument);
    return status;
}
