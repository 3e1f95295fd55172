/* Keeps an evaluation's tapes and carries them out. */
#include "import/eval/handlers.h"
#include "import/eval/tape_impl.h"

#include <string.h>

enum { TAPE_BYTES_MAX = 32 << 20 };

/* ----- steps */

/* leaves of a handler's result, which may lie elsewhere, into the registers */
static void take_result(struct value *v, struct tape_register *const *to, int *at)
{
    struct tape_register *r;

    for (int k = 0; k < v->part_count; k++)
        take_result(v->part[k], to, at);
    if (v->element == ELEMENT_TUPLE)
        return;
    r = to[(*at)++];
    if (v->is_splat)
        stride_fill(r->v.data, v->data, value_element_bytes(v), r->count);
    else if (v->data != r->v.data)
        memcpy(r->v.data, v->data, r->bytes);
}

static int run_handler(struct eval *ev, struct tape_step *s, int device)
{
    const struct hlo_instruction *i = &s->frame->c->instruction[s->index];
    struct call c = {.f = s->frame, .ev = ev, .i = i, .index = s->index, .device = device,
                     .operand = s->operand, .is_in_place = s->is_in_place};
    int status, at = 0;

    if (i->type->element != ELEMENT_TUPLE)
        c.place = &s->to[0]->v;
    if (s->is_in_place)
        s->to[0]->v.data = s->from[0]->v.data;
    status = s->handler(&c);
    if (!status)
        take_result(c.result, s->to, &at);
    value_drop(&ev->pool, c.result);
    return status;
}

static void run_apply(const struct tape_step *s)
{
    const void *from[APPLY_OPERANDS_MAX];

    for (int k = 0; k < s->from_count; k++)
        from[k] = s->from[k]->v.data;
    apply_array(s->apply, s->to[0]->v.data, from, s->to[0]->count);
}

static void run_kernel(const struct tape_step *s)
{
    s->direct.k(s->direct.to->v.data, s->direct.from[0]->v.data, s->direct.from[1]->v.data,
                s->direct.from[2]->v.data, s->direct.count);
}

static void run_view(const struct tape_step *s)
{
    s->to[0]->v.data = (char *)s->from[0]->v.data + s->offset;
}

/* ----- blocks */

static int run_block(struct eval *ev, struct tape_block *b, int device)
{
    if (b->instructions && eval_count_steps(ev, b->last, b->instructions))
        return -1;
    for (struct tape_step *s = b->step, *end = s + b->step_count; s < end; s++) {
        if (s->kind == TAPE_KERNEL)             /* most are of these kinds */
            run_kernel(s);
        else if (s->kind == TAPE_MOVE)
            s->move->copy(s);
        else if (tape_run_step(ev, s, device))
            return -1;
    }
    return 0;
}

/* The state of the next round: first what others may still write over, then the rest. */
static void carry_on(struct tape_loop *l)
{
    for (int k = 0; k < l->count; k++)
        if (l->carry[k] == CARRY_COPY)
            memcpy(l->room[k], l->body.result[k]->v.data, l->state[k]->bytes);
    for (int k = 0; k < l->count; k++) {
        struct value *now = &l->state[k]->v, *next = &l->body.result[k]->v;
        void *data = now->data;

        if (l->carry[k] == CARRY_SWAP) {
            now->data = next->data;
            next->data = data;
        }
    }
    for (int k = 0; k < l->count; k++)
        if (l->carry[k] == CARRY_COPY)
            memcpy(l->state[k]->v.data, l->room[k], l->state[k]->bytes);
}

static int run_loop(struct eval *ev, struct tape_step *s, int device)
{
    struct tape_loop *l = s->loop;

    for (int k = 0; k < l->count; k++)
        if (l->state[k] != s->from[k])
            memcpy(l->state[k]->v.data, s->from[k]->v.data, l->state[k]->bytes);
    for (;;) {
        if (run_block(ev, &l->condition, device))
            return -1;
        if (!value_int(&l->condition.result[0]->v, 0))
            return 0;
        if (run_block(ev, &l->body, device))
            return -1;
        carry_on(l);
    }
}

static int run_branch(struct eval *ev, struct tape_step *s, int device)
{
    const struct tape_branch *b = s->branch;
    int64_t n = value_int(&s->from[0]->v, 0);
    int taken = b->is_predicated ? !n : n < 0 || n >= b->count ? b->count - 1 : (int)n;

    if (run_block(ev, &b->block[taken], device))
        return -1;
    for (int k = 0; k < s->to_count; k++)
        memcpy(s->to[k]->v.data, b->block[taken].result[k]->v.data, s->to[k]->bytes);
    return 0;
}

int tape_run_step(struct eval *ev, struct tape_step *s, int device)
{
    switch (s->kind) {
    case TAPE_KERNEL:
        run_kernel(s);
        return 0;
    case TAPE_APPLY:
        run_apply(s);
        return 0;
    case TAPE_MOVE:
        s->move->copy(s);
        return 0;
    case TAPE_VIEW:
        run_view(s);
        return 0;
    case TAPE_HANDLER:
        return run_handler(ev, s, device);
    case TAPE_LOOP:
        return run_loop(ev, s, device);
    case TAPE_BRANCH:
        return run_branch(ev, s, device);
    }
    return -1;
}

/* ----- tapes */

static struct tape *make(struct eval *ev, int computation, int index)
{
    struct tape *t = mem_alloc(sizeof(*t));
    size_t left = ev->pool.limit_bytes - ev->pool.used_bytes;

    t->computation = computation;
    t->index = index;
    t->bytes_max = left < TAPE_BYTES_MAX ? left : TAPE_BYTES_MAX;
    arena_init(&t->arena);
    t->is_fine = tape_compile(ev, t) && tape_finish(t);
    mem_free(t->all);
    t->all = NULL;
    if (t->is_fine)
        ev->pool.used_bytes += t->bytes;
    else
        arena_fini(&t->arena);
    t->next = ev->tapes;
    return ev->tapes = t;
}

static struct tape *find_or_make(struct eval *ev, int computation, int index)
{
    struct tape *t = ev->tapes;

    while (t && (t->computation != computation || t->index != index))
        t = t->next;
    if (!t)
        t = make(ev, computation, index);
    return t->is_fine ? t : NULL;
}

struct tape *tape_of_computation(struct eval *ev, int computation)
{
    return find_or_make(ev, computation, -1);
}

struct tape *tape_of_loop(struct eval *ev, int computation, int index)
{
    return find_or_make(ev, computation, index);
}

void tape_free_all(struct eval *ev)
{
    while (ev->tapes) {
        struct tape *t = ev->tapes;

        ev->tapes = t->next;
        if (t->is_fine)
            arena_fini(&t->arena);
        mem_free(t);
    }
}

/* the arguments' leaves, all of them spread, where registers find them; false: no room for them */
static bool take_arguments(struct eval *ev, struct tape *t, struct value *v, int *at)
{
    for (int k = 0; k < v->part_count; k++)
        if (!take_arguments(ev, t, v->part[k], at))
            return false;
    if (v->element == ELEMENT_TUPLE)
        return true;
    if (!value_spread(&ev->pool, v))
        return false;
    t->argument[*at]->v.data = v->data;
    t->argument[(*at)++]->given = v;
    return true;
}

/* a result of that type of the block's leaves from *at on; NULL with the error set */
static struct value *give_result(struct eval *ev, const struct tape *t, const struct hlo_type *type,
                                 int *at)
{
    const struct tape_register *r;
    struct value *v;

    if (type->element == ELEMENT_TUPLE) {
        v = value_tuple(&ev->pool, type->part_count, NULL);
        for (int k = 0; k < type->part_count; k++)
            if (!(v->part[k] = give_result(ev, t, &type->part[k], at))) {
                value_drop(&ev->pool, v);
                return NULL;
            }
        return v;
    }
    r = t->block.result[(*at)++];
    if (r->given)
        return value_hold(r->given);
    v = value_array(&ev->pool, type->element, type->rank, type->dim);
    if (!v)
        eval_fail(ev, t->block.last, "its results do not fit into the limit of memory");
    else
        memcpy(v->data, r->v.data, r->bytes);
    return v;
}

int tape_run(struct eval *ev, struct tape *t, int device, struct value *const *argument,
             struct value **result)
{
    int at = 0;

    for (int p = 0; at < t->argument_count; p++)
        if (!take_arguments(ev, t, argument[p], &at))
            return eval_fail(ev, t->block.last, "its operands do not fit into the limit of memory");
    if (run_block(ev, &t->block, device))
        return -1;
    at = 0;
    *result = give_result(ev, t, t->type, &at);
    return *result ? 0 : -1;
}
