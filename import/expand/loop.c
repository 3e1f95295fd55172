/* A while of a counter and arrays. */
#include "import/expand/loop.h"

static void open_state(struct hlo_builder *b, const char *name, const struct hlo_type *t, int count,
                       int *x)
{
    int state;

    b->computation = hlo_add_computation(b->module, name);
    state = hlo_parameter(b, 0, t);
    for (int i = 0; i < count; i++)
        x[i] = hlo_tuple_element(b, state, i);
}

void expand_loop(struct hlo_builder *b, struct expand_loop *l)
{
    struct hlo_builder body = *b, condition = *b;
    int x[LOOP_STATE_MAX + 1], tuple, more;
    struct hlo_type t;

    for (int i = 0; i < l->count; i++)
        x[i] = l->state[i];
    x[l->count] = ar_scalar(b, ELEMENT_S32, 0);
    tuple = hlo_tuple(b, l->count + 1, x);
    t = *hlo_type_of(b, tuple);
    open_state(&body, "loop", &t, l->count + 1, x);
    l->body(&body, x, x[l->count], l->user);
    x[l->count] = ar_addi(&body, x[l->count], 1);
    hlo_tuple(&body, l->count + 1, x);
    open_state(&condition, "loop_goes_on", &t, l->count + 1, x);
    more = ar_lt(&condition, x[l->count], ar_scalar(&condition, ELEMENT_S32, l->rounds));
    if (l->goes_on)
        ar_and(&condition, more, l->goes_on(&condition, x, x[l->count], l->user));
    tuple = hlo_while(b, tuple, body.computation, condition.computation);
    for (int i = 0; i < l->count; i++)
        l->state[i] = hlo_tuple_element(b, tuple, i);
}
