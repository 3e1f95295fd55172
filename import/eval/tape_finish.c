/*
 * The last touches of a tape, for which all of its steps must be known: who reads what last, so
 * that updates can be made in their place, how loops hand their states on, where registers lie.
 */
#include "import/eval/tape_impl.h"

#include <limits.h>

/* elements of a step on average, above which frames, which go block by block, are the better way */
enum { ELEMENTS_MAX = 8192 };

void *tape_alloc(struct tape *t, size_t bytes)
{
    enum { POOL_BYTES = 16384, ALIGN = 16 };
    size_t size = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *p;

    if (size > POOL_BYTES / 16)
        return arena_alloc(&t->arena, size);
    if (size > t->pool_left) {
        t->pool = arena_alloc(&t->arena, POOL_BYTES);
        t->pool_left = POOL_BYTES;
    }
    p = t->pool;
    t->pool += size;
    t->pool_left -= size;
    return p;
}

bool tape_give_storage(struct tape *t, struct tape_register *r)
{
    if (r->bytes > t->bytes_max - t->bytes)
        return false;
    t->bytes += r->bytes;
    r->v.data = tape_alloc(t, r->bytes + 1);
    return true;
}

/* ----- who reads what last */

static void mark_block(const struct tape_block *of, int at, const struct tape_block *b);

static void mark_registers(const struct tape_block *of, int at, struct tape_register *const *r,
                           int count)
{
    for (int k = 0; k < count; k++) {
        struct tape_register *root = tape_root(r[k]);

        if (root->owner == of)
            root->last_use = at;
    }
}

/* what a step reads, and blocks within it, as uses of block `of` at its step number `at` */
static void mark_step(const struct tape_block *of, int at, const struct tape_step *s)
{
    mark_registers(of, at, s->from, s->from_count);
    if (s->kind == TAPE_LOOP) {
        mark_block(of, at, &s->loop->condition);
        mark_block(of, at, &s->loop->body);
    }
    for (int k = 0; s->kind == TAPE_BRANCH && k < s->branch->count; k++)
        mark_block(of, at, &s->branch->block[k]);
}

static void mark_block(const struct tape_block *of, int at, const struct tape_block *b)
{
    for (int k = 0; k < b->step_count; k++)
        mark_step(of, at, &b->step[k]);
    mark_registers(of, at, b->result, b->result_count);
}

/* ----- updates in their place */

/* an operation that hands its first operand on with some elements changed */
static bool is_update(const struct tape_step *s)
{
    enum hlo_opcode op;

    if (s->kind != TAPE_HANDLER || s->to_count != 1)
        return false;
    op = s->frame->c->instruction[s->index].op;
    return op == OPCODE_DYNAMIC_UPDATE_SLICE || (op == OPCODE_SCATTER && s->from_count == 3);
}

/* is it the last to read its first operand's elements, which the block has made itself? */
static bool may_overwrite(const struct tape_block *b, int at, const struct tape_step *s)
{
    struct tape_register *root = tape_root(s->from[0]);

    for (int k = 1; k < s->from_count; k++)
        if (tape_root(s->from[k]) == root)
            return false;
    return root->owner == b && root->last_use == at;
}

/* ----- states of loops */

static bool is_state(const struct tape_loop *l, const struct tape_register *r)
{
    for (int k = 0; k < l->count; k++)
        if (l->state[k] == r)
            return true;
    return false;
}

static bool is_earlier_result(const struct tape_loop *l, int k)
{
    for (int j = 0; j < k; j++)
        if (l->body.result[j] == l->body.result[k])
            return true;
    return false;
}

/* The next state's register may be written anew in the next round wherever it lies then. */
static bool may_swap(const struct tape_loop *l, int k)
{
    const struct tape_register *next = l->body.result[k];

    return next->has_storage && !next->is_constant && next->depth >= l->body.depth &&
           !is_state(l, next) && !is_earlier_result(l, k);
}

static bool finish_loop(struct tape *t, struct tape_loop *l)
{
    l->carry = arena_array(&t->arena, (size_t)l->count + 1, sizeof(*l->carry));
    l->room = arena_array(&t->arena, (size_t)l->count + 1, sizeof(*l->room));
    for (int k = 0; k < l->count; k++) {
        size_t bytes = l->state[k]->bytes;

        l->carry[k] = l->body.result[k] == l->state[k] ? CARRY_NOTHING
                      : may_swap(l, k)                 ? CARRY_SWAP
                                                       : CARRY_COPY;
        if (l->carry[k] == CARRY_SWAP)
            l->state[k]->is_moving = l->body.result[k]->is_moving = true;
        if (l->carry[k] != CARRY_COPY)
            continue;
        if (bytes > t->bytes_max - t->bytes)
            return false;
        t->bytes += bytes;
        l->room[k] = arena_alloc(&t->arena, bytes + 1);
    }
    return true;
}

/* ----- blocks */

static bool finish_block(struct tape *t, struct tape_block *b)
{
    for (int k = 0; k < b->step_count; k++)
        mark_step(b, k, &b->step[k]);
    mark_registers(b, INT_MAX, b->result, b->result_count);
    for (int k = 0; k < b->step_count; k++) {
        struct tape_step *s = &b->step[k];

        if (is_update(s) && may_overwrite(b, k, s)) {
            s->is_in_place = true;
            s->to[0]->has_storage = false;
            s->to[0]->is_moving = true;
        }
        if (s->kind == TAPE_LOOP &&
            (!finish_block(t, &s->loop->condition) || !finish_block(t, &s->loop->body) ||
             !finish_loop(t, s->loop)))
            return false;
        for (int n = 0; s->kind == TAPE_BRANCH && n < s->branch->count; n++)
            if (!finish_block(t, &s->branch->block[n]))
                return false;
    }
    return true;
}

/* Views of what always lies at the same place are seen now, and need no steps. */
static void settle_views(struct tape_block *b)
{
    int kept = 0;

    for (int k = 0; k < b->step_count; k++) {
        struct tape_step *s = &b->step[k];

        if (s->kind == TAPE_VIEW && !s->from[0]->is_moving) {
            tape_run_step(NULL, s, 0);
            continue;
        }
        if (s->kind == TAPE_VIEW)
            s->to[0]->is_moving = true;
        if (s->kind == TAPE_LOOP) {
            settle_views(&s->loop->condition);
            settle_views(&s->loop->body);
        }
        for (int n = 0; s->kind == TAPE_BRANCH && n < s->branch->count; n++)
            settle_views(&s->branch->block[n]);
        b->step[kept++] = *s;
    }
    b->step_count = kept;
}

static void count_elements(const struct tape_block *b, int64_t *elements, int64_t *steps)
{
    for (int k = 0; k < b->step_count; k++) {
        const struct tape_step *s = &b->step[k];

        if (s->kind == TAPE_KERNEL || s->kind == TAPE_APPLY)
            *elements += s->to[0]->count;
        ++*steps;
        if (s->kind == TAPE_LOOP)
            count_elements(&s->loop->body, elements, steps);
        for (int n = 0; s->kind == TAPE_BRANCH && n < s->branch->count; n++)
            count_elements(&s->branch->block[n], elements, steps);
    }
}

bool tape_finish(struct tape *t)
{
    int64_t elements = 0, steps = 0;

    for (int k = 0; k < t->argument_count; k++)
        t->argument[k]->is_moving = true;
    count_elements(&t->block, &elements, &steps);
    if (elements > steps * ELEMENTS_MAX || !finish_block(t, &t->block))
        return false;
    for (int k = 0; k < t->register_count; k++)
        if (t->all[k]->has_storage && !t->all[k]->v.data && !tape_give_storage(t, t->all[k]))
            return false;
    settle_views(&t->block);
    return true;
}
