/* Infeeds, outfeeds and messages: arrays that the host gives and takes while the program runs. */
#include "import/eval/handlers.h"

static struct eval_array array_of(const struct value *v)
{
    return (struct eval_array){
        .type = { .element = v->element, .rank = v->rank, .dim = v->dim }, .data = v->data };
}

static struct eval_queue queue_of(const struct call *c)
{
    return (struct eval_queue){ .computation = c->f->c, .instruction = c->i, .device = c->device };
}

static struct value *receive(struct call *c, struct eval_queue *q, const struct hlo_type *t)
{
    struct value *v;
    struct eval_array a;

    if (t->element == ELEMENT_TUPLE) {
        v = value_tuple(&c->ev->pool, t->part_count, NULL);
        for (int k = 0; k < t->part_count; k++)
            if (!(v->part[k] = receive(c, q, &t->part[k]))) {
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
    if (c->ev->s.infeed(c->ev->s.user, q, &a)) {
        call_fail(c, "the host has nothing more to give: its queue is empty");
        value_drop(&c->ev->pool, v);
        return NULL;
    }
    q->leaf++;
    return v;
}

int eval_infeed(struct call *c)
{
    struct eval_queue q = queue_of(c);

    if (!c->ev->s.infeed)
        return call_fail(c, "no host gives it anything");
    c->result = receive(c, &q, c->i->type);
    return c->result ? 0 : -1;
}

static int send(struct call *c, struct eval_queue *q, const struct value *v)
{
    struct eval_array a = array_of(v);

    for (int k = 0; k < v->part_count; k++)
        if (send(c, q, v->part[k]))
            return -1;
    if (v->element == ELEMENT_TUPLE || v->element == ELEMENT_TOKEN)
        return 0;
    if (c->ev->s.outfeed(c->ev->s.user, q, &a))
        return call_fail(c, "the host takes no more");
    q->leaf++;
    return 0;
}

int eval_outfeed(struct call *c)
{
    struct eval_queue q = queue_of(c);

    if (!c->ev->s.outfeed)
        return call_fail(c, "no host takes what it gives");
    c->result = value_token(&c->ev->pool);
    return send(c, &q, c->operand[0]);
}

/* messages between devices are told by their lack of a host */
static bool is_host_transfer(const struct call *c)
{
    return hlo_detail(c->i)->groups && hlo_detail(c->i)->groups->is_host_transfer;
}

/* (entry, context, token), which the end takes apart */
static int start(struct call *c, struct value *entry)
{
    struct value *context;

    if (!entry)
        return -1;
    c->result = value_tuple(&c->ev->pool, 3, NULL);
    c->result->part[0] = entry;
    if (!(context = call_array(c, ELEMENT_U32, 0, NULL)))
        return -1;
    hlo_element_store_int(ELEMENT_U32, 0, context->data);
    c->result->part[1] = context;
    c->result->part[2] = value_token(&c->ev->pool);
    return 0;
}

int eval_receive(struct call *c)
{
    struct eval_queue q = queue_of(c);

    if (!is_host_transfer(c))
        return call_fail(c, "messages between devices are not known; those of the host are");
    if (!c->ev->s.infeed || c->i->type->part_count < 1)
        return call_fail(c, "no host gives it anything");
    return start(c, receive(c, &q, &c->i->type->part[0]));
}

int eval_send(struct call *c)
{
    struct eval_queue q = queue_of(c);

    if (!is_host_transfer(c))
        return call_fail(c, "messages between devices are not known; those of the host are");
    if (!c->ev->s.outfeed)
        return call_fail(c, "no host takes what it gives");
    return send(c, &q, c->operand[0]) ? -1 : start(c, value_hold(c->operand[0]));
}

int eval_receive_done(struct call *c)
{
    struct value *pair[2];

    if (c->operand[0]->part_count != 3)
        return call_fail(c, "its operand is no receive under way");
    pair[0] = value_hold(c->operand[0]->part[0]);
    pair[1] = value_token(&c->ev->pool);
    c->result = value_tuple(&c->ev->pool, 2, pair);
    return 0;
}

int eval_send_done(struct call *c)
{
    c->result = value_token(&c->ev->pool);
    return 0;
}
