/* Infeeds and outfeeds: arrays that the caller gives and takes while the program runs. */
#include "import/eval/handlers.h"

static struct eval_array array_of(const struct value *v)
{
    return (struct eval_array){
        .type = { .element = v->element, .rank = v->rank, .dim = v->dim }, .data = v->data };
}

static struct value *receive(struct call *c, const struct hlo_type *t)
{
    struct value *v;
    struct eval_array a;

    if (t->element == ELEMENT_TUPLE) {
        v = value_tuple(&c->ev->pool, t->part_count, NULL);
        for (int k = 0; k < t->part_count; k++)
            if (!(v->part[k] = receive(c, &t->part[k]))) {
                value_drop(&c->ev->pool, v);
                return NULL;
            }
        return v;
    }
    if (t->element == ELEMENT_TOKEN)
        return value_token(&c->ev->pool);
    v = call_array(c, t->element, t->rank, t->dim);
    if (!v)
        return NULL;
    a = array_of(v);
    if (c->ev->s.infeed(c->ev->s.user, c->device, c->ev->infeed_leaf[c->device]++, &a)) {
        call_fail(c, "nothing more is fed in to device %d", c->device);
        value_drop(&c->ev->pool, v);
        return NULL;
    }
    return v;
}

int eval_infeed(struct call *c)
{
    if (!c->ev->s.infeed)
        return call_fail(c, "nobody feeds anything in");
    c->result = receive(c, &c->i->type);
    return c->result ? 0 : -1;
}

static int send(struct call *c, const struct value *v)
{
    struct eval_array a = array_of(v);

    for (int k = 0; k < v->part_count; k++)
        if (send(c, v->part[k]))
            return -1;
    if (v->element == ELEMENT_TUPLE || v->element == ELEMENT_TOKEN)
        return 0;
    if (c->ev->s.outfeed(c->ev->s.user, c->device, c->ev->outfeed_leaf[c->device]++, &a))
        return call_fail(c, "nobody takes more of device %d", c->device);
    return 0;
}

int eval_outfeed(struct call *c)
{
    if (!c->ev->s.outfeed)
        return call_fail(c, "nobody takes what is fed out");
    c->result = value_token(&c->ev->pool);
    return send(c, c->operand[0]);
}
