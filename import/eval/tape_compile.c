/*
 * Makes steps of instructions. A step stands in the outermost block in which all that it reads is
 * known, so that loops do not repeat what they do not change; one of constants is carried out now.
 */
#include "import/eval/handlers.h"
#include "import/eval/tape_impl.h"

#include <string.h>

enum { STEPS_MAX = 50000, DEPTH_MAX = 24 };

struct compiler {
    struct eval *ev;
    struct tape *t;
    struct tape_block *block;           /* that is being written */
    struct frame *frame;                /* of the computation that is being read */
    int depth, steps;
};

static bool compile(struct compiler *c, int computation, const struct tape_leaves *argument,
                    struct tape_leaves *result);

/* ----- registers */

/* NULL: tapes have no such arrays */
static struct tape_register *add_register(struct compiler *c, const struct hlo_type *t)
{
    struct tape_register *r;

    if (!eval_is_fixed_array(t))
        return NULL;
    r = tape_alloc(c->t, sizeof(*r));
    r->v = (struct value){.holders = 1, .element = t->element, .rank = t->rank,
                          .dim = (int64_t *)(uintptr_t)t->dim};
    r->root = r;
    r->count = hlo_type_elements(t);
    r->bytes = (size_t)r->count * hlo_element_bytes(t->element);
    MEM_ADD(c->t->all, c->t->register_count, c->t->all_capacity) = r;
    return r;
}

/* registers of all leaves of a type, in no block yet */
static bool add_leaves(struct compiler *c, const struct hlo_type *t, struct tape_leaves *made)
{
    made->count = hlo_type_leaves(t);
    made->reg = arena_array(&c->t->arena, (size_t)made->count + 1, sizeof(struct tape_register *));
    for (int k = 0; k < made->count; k++)
        if (!(made->reg[k] = add_register(c, hlo_type_leaf(t, k))))
            return false;
    return true;
}

/* ----- steps */

static struct tape_step *put_step(struct tape_block *b, const struct tape_step *s)
{
    MEM_ADD(b->step, b->step_count, b->capacity) = *s;
    return &b->step[b->step_count - 1];
}

/* may it be carried out at any time: no effect, no failure? */
static bool is_pure(const struct tape_step *s)
{
    return s->kind <= TAPE_VIEW ||
           (s->kind == TAPE_HANDLER && (s->handler == eval_iota || s->handler == eval_broadcast));
}

static bool is_of_constants(const struct tape_step *s)
{
    for (int k = 0; k < s->from_count; k++)
        if (!s->from[k]->is_constant)
            return false;
    return true;
}

/* a step whose results have been added as registers, all of them written in this block */
static bool add_step(struct compiler *c, struct tape_step *s)
{
    struct tape_block *b = c->block;
    int depth = 0;

    for (int k = 0; k < s->from_count; k++)
        depth = s->from[k]->depth > depth ? s->from[k]->depth : depth;
    while (is_pure(s) && b->depth > depth)
        b = b->parent;
    for (int k = 0; k < s->to_count; k++) {
        s->to[k]->owner = b;
        s->to[k]->depth = b->depth;
        s->to[k]->has_storage = s->kind != TAPE_VIEW;
        s->to[k]->root = s->kind == TAPE_VIEW ? s->from[0] : s->to[k];
    }
    if (!is_pure(s) || !is_of_constants(s)) {
        put_step(b, s);
        return ++c->steps <= STEPS_MAX;
    }
    s->to[0]->is_constant = true;
    s->to[0]->owner = NULL;
    s->to[0]->depth = 0;
    return (!s->to[0]->has_storage || tape_give_storage(c->t, s->to[0])) &&
           !tape_run_step(c->ev, s, 0);
}

static void take_operands(struct compiler *c, const struct hlo_instruction *i,
                          const struct tape_leaves *at, struct tape_step *s)
{
    s->from_count = i->operand_count;
    s->from = arena_array(&c->t->arena, (size_t)i->operand_count + 1, sizeof(*s->from));
    for (int o = 0; o < i->operand_count; o++)
        s->from[o] = at[i->operand[o]].reg[0];
}

static bool add_view(struct compiler *c, const struct hlo_instruction *i,
                     const struct tape_leaves *at, struct tape_leaves *made)
{
    struct tape_step s = {.kind = TAPE_VIEW, .frame = c->frame, .to_count = 1};

    if (hlo_type_equal(i->type, c->frame->c->instruction[i->operand[0]].type)) {
        *made = at[i->operand[0]];
        return true;
    }
    if (at[i->operand[0]].count != 1 || !add_leaves(c, i->type, made))
        return false;
    take_operands(c, i, at, &s);
    s.to = made->reg;
    return s.from[0]->bytes == s.to[0]->bytes && add_step(c, &s);
}

/* does every operand have as many elements as the result, of a type that kernels have? */
static bool is_elementwise(const struct tape_step *s)
{
    if (s->handler != eval_elementwise && s->handler != eval_select && s->handler != eval_convert)
        return false;
    for (int k = 0; k < s->from_count; k++)
        if (s->from[k]->count != s->to[0]->count)
            return false;
    return s->from_count >= 1 && s->from_count <= APPLY_OPERANDS_MAX;
}

static bool make_elementwise(struct compiler *c, const struct hlo_instruction *i,
                             struct tape_step *s)
{
    struct apply a;

    if (!is_elementwise(s) || !apply_init(&a, i, s->from[i->op == OPCODE_SELECT]->v.element))
        return false;
    s->direct.k = apply_kernel(&a);
    s->direct.count = s->to[0]->count;
    s->direct.to = s->to[0];
    for (int k = 0; k < APPLY_OPERANDS_MAX; k++)
        s->direct.from[k] = s->from[k < s->from_count ? k : 0];
    s->kind = s->direct.k ? TAPE_KERNEL : TAPE_APPLY;
    s->apply = arena_copy(&c->t->arena, &a, 1, sizeof(a));
    return true;
}

/* what a handler does by itself, with no other device and nobody outside */
static bool is_own_work(enum hlo_opcode op)
{
    eval_handler h = eval_handler_of(op);

    switch (op) {
    case OPCODE_CUSTOM_CALL: case OPCODE_INFEED: case OPCODE_OUTFEED: case OPCODE_SEND:
    case OPCODE_SEND_DONE: case OPCODE_RECV: case OPCODE_RECV_DONE:
        return false;
    default:
        return h && h != eval_same && h != eval_token && !eval_group_handler_of(op);
    }
}

static bool add_operation(struct compiler *c, int index, const struct tape_leaves *at,
                          struct tape_leaves *made)
{
    const struct hlo_instruction *i = &c->frame->c->instruction[index];
    struct tape_step s = {.kind = TAPE_HANDLER, .handler = eval_handler_of(i->op),
                          .frame = c->frame, .index = index};

    if (!is_own_work(i->op) || !add_leaves(c, i->type, made))
        return false;
    for (int o = 0; o < i->operand_count; o++)
        if (at[i->operand[o]].count != 1)
            return false;
    take_operands(c, i, at, &s);
    s.to = made->reg;
    s.to_count = made->count;
    s.operand = arena_array(&c->t->arena, (size_t)s.from_count + 1, sizeof(*s.operand));
    for (int k = 0; k < s.from_count; k++)
        s.operand[k] = &s.from[k]->v;
    if (!make_elementwise(c, i, &s))
        tape_move_make(c->ev, c->t, &s);
    return add_step(c, &s);
}

static bool add_constant(struct compiler *c, const struct hlo_literal *l, struct tape_register **r)
{
    if ((!l->data && hlo_type_elements(&l->type) > 0) || !(*r = add_register(c, &l->type)))
        return false;
    (*r)->is_constant = true;
    (*r)->has_storage = !l->data;       /* no elements at all */
    if (!l->is_splat || (*r)->count <= 1) {
        (*r)->v.data = (void *)(uintptr_t)l->data;
        return true;
    }
    (*r)->has_storage = true;
    if (!tape_give_storage(c->t, *r))
        return false;
    stride_fill((*r)->v.data, l->data, hlo_element_bytes(l->type.element), (*r)->count);
    return true;
}

static bool add_literal(struct compiler *c, const struct hlo_literal *l, struct tape_leaves *made)
{
    if (l && !hlo_type_is_tuple(&l->type)) {
        *made = (struct tape_leaves){1, arena_array(&c->t->arena, 1, sizeof(*made->reg))};
        return add_constant(c, l, &made->reg[0]);
    }
    return false;
}

/* ----- tuples */

static void join_leaves(struct compiler *c, const struct hlo_instruction *i,
                        const struct tape_leaves *at, struct tape_leaves *made)
{
    int n = 0;

    for (int o = 0; o < i->operand_count; o++)
        n += at[i->operand[o]].count;
    *made = (struct tape_leaves){0, arena_array(&c->t->arena, (size_t)n + 1, sizeof(*made->reg))};
    for (int o = 0; o < i->operand_count; o++)
        for (int k = 0; k < at[i->operand[o]].count; k++)
            made->reg[made->count++] = at[i->operand[o]].reg[k];
}

static struct tape_leaves part_leaves(const struct compiler *c, const struct hlo_instruction *i,
                                      const struct tape_leaves *at)
{
    const struct hlo_type *t = c->frame->c->instruction[i->operand[0]].type;
    int first = 0;

    for (int k = 0; k < i->index; k++)
        first += hlo_type_leaves(&t->part[k]);
    return (struct tape_leaves){hlo_type_leaves(&t->part[i->index]),
                                at[i->operand[0]].reg + first};
}

/* ----- blocks */

static void begin_block(struct compiler *c, struct tape_block *b)
{
    b->parent = c->block;
    b->depth = c->block ? c->block->depth + 1 : 0;
    c->block = b;
}

static void end_block(struct compiler *c, struct tape_block *b, const struct tape_leaves *result)
{
    c->block = b->parent;
    b->result_count = result->count;
    b->result = result->reg;
    b->step = arena_take(&c->t->arena, b->step, (size_t)b->step_count, sizeof(*b->step));
}

/* a computation of another, with one parameter or none */
static bool compile_block(struct compiler *c, struct tape_block *b, int computation,
                          const struct tape_leaves *argument)
{
    struct tape_leaves result = {0};
    bool is_fine;

    begin_block(c, b);
    is_fine = compile(c, computation, argument, &result);
    end_block(c, b, &result);
    return is_fine;
}

/* does the body hand part k of its state on as it is? */
static bool is_kept(const struct hlo_computation *body, int k)
{
    const struct hlo_instruction *root = &body->instruction[body->root], *part;

    if (root->op != OPCODE_TUPLE)
        return false;
    part = &body->instruction[root->operand[k]];
    return part->op == OPCODE_GET_TUPLE_ELEMENT && part->index == k &&
           body->instruction[part->operand[0]].op == OPCODE_PARAMETER;
}

/* The state: what the body hands on is what came in, the rest has registers of the body. */
static bool make_state(struct compiler *c, const struct hlo_instruction *i, struct tape_loop *l,
                       const struct tape_leaves *from, struct tape_leaves *state)
{
    const struct hlo_computation *body = &c->ev->m->computation[hlo_detail(i)->computation[0]];

    if (!add_leaves(c, i->type, state))
        return false;
    for (int k = 0; k < state->count; k++) {
        if (i->type->part_count == state->count && is_kept(body, k)) {
            state->reg[k] = from->reg[k];
            continue;
        }
        state->reg[k]->owner = &l->body;
        state->reg[k]->depth = c->block->depth + 1;
        state->reg[k]->has_storage = true;
    }
    return true;
}

static bool add_loop(struct compiler *c, const struct hlo_instruction *i,
                     const struct tape_leaves *at, struct tape_leaves *made)
{
    struct tape_loop *l = arena_alloc(&c->t->arena, sizeof(*l));
    struct tape_step s = {.kind = TAPE_LOOP, .loop = l, .frame = c->frame};

    s.from_count = at[i->operand[0]].count;
    s.from = at[i->operand[0]].reg;
    if (!make_state(c, i, l, &at[i->operand[0]], made))
        return false;
    l->count = made->count;
    l->state = made->reg;
    if (!compile_block(c, &l->body, hlo_detail(i)->computation[0], made) ||
        !compile_block(c, &l->condition, hlo_detail(i)->computation[1], made))
        return false;
    put_step(c->block, &s);
    return l->body.result_count == l->count && ++c->steps <= STEPS_MAX;
}

static bool add_branch(struct compiler *c, const struct hlo_instruction *i,
                       const struct tape_leaves *at, struct tape_leaves *made)
{
    const struct hlo_detail *d = hlo_detail(i);
    struct tape_branch *b = arena_alloc(&c->t->arena, sizeof(*b));
    struct tape_step s = {.kind = TAPE_BRANCH, .branch = b, .frame = c->frame};
    bool is_fine = true;

    if (!add_leaves(c, i->type, made))
        return false;
    s.from = arena_copy(&c->t->arena, at[i->operand[0]].reg, 1, sizeof(*s.from));
    s.from_count = 1;
    s.to = made->reg;
    s.to_count = made->count;
    b->is_predicated = d->is_predicated;
    b->count = d->computation_count;
    b->block = arena_array(&c->t->arena, (size_t)b->count, sizeof(*b->block));
    for (int k = 0; k < b->count && is_fine; k++)
        is_fine = compile_block(c, &b->block[k], d->computation[k],
                                k + 1 < i->operand_count ? &at[i->operand[k + 1]] : NULL) &&
                  b->block[k].result_count == made->count;
    return is_fine && add_step(c, &s);
}

/* ----- computations */

static bool add_instruction(struct compiler *c, int index, const struct tape_leaves *argument,
                            struct tape_leaves *at)
{
    const struct hlo_instruction *i = &c->frame->c->instruction[index];
    struct tape_leaves *made = &at[index], *operands;

    switch (i->op) {
    case OPCODE_PARAMETER:
        *made = argument[i->index];
        return true;
    case OPCODE_TUPLE:
        join_leaves(c, i, at, made);
        return true;
    case OPCODE_GET_TUPLE_ELEMENT:
        *made = part_leaves(c, i, at);
        return true;
    case OPCODE_CONSTANT:
        return add_literal(c, i->literal, made);
    case OPCODE_COPY: case OPCODE_OPT_BARRIER: case OPCODE_DOMAIN:
        *made = at[i->operand[0]];
        return true;
    case OPCODE_RESHAPE:
        return add_view(c, i, at, made);
    case OPCODE_CONVERT:
        return hlo_type_equal(i->type, c->frame->c->instruction[i->operand[0]].type)
                   ? add_view(c, i, at, made) : add_operation(c, index, at, made);
    case OPCODE_CALL: case OPCODE_FUSION:
        operands = arena_array(&c->t->arena, (size_t)i->operand_count + 1, sizeof(*operands));
        for (int o = 0; o < i->operand_count; o++)
            operands[o] = at[i->operand[o]];
        return compile(c, hlo_detail(i)->computation[0], operands, made);
    case OPCODE_WHILE:
        return add_loop(c, i, at, made);
    case OPCODE_CONDITIONAL:
        return add_branch(c, i, at, made);
    default:
        return add_operation(c, index, at, made);
    }
}

/* its instructions as steps behind those of the block; leaves of its root */
static bool compile(struct compiler *c, int computation, const struct tape_leaves *argument,
                    struct tape_leaves *result)
{
    struct frame *outer = c->frame, *f = arena_alloc(&c->t->arena, sizeof(*f));
    struct tape_leaves *at;
    bool is_fine = ++c->depth <= DEPTH_MAX;

    *f = (struct frame){.ev = c->ev, .c = &c->ev->m->computation[computation],
                        .plan = &c->ev->plan[computation], .device_count = 1};
    at = arena_array(&c->t->arena, (size_t)f->c->count + 1, sizeof(*at));
    eval_plan_make(c->ev, computation);
    c->frame = f;
    for (int k = 0; k < f->c->count && is_fine; k++) {
        if (!f->plan->is_needed[k])
            continue;
        is_fine = add_instruction(c, k, argument, at);
        c->block->instructions++;
        c->block->last = &f->c->instruction[k];
    }
    if (is_fine)
        *result = at[f->c->root];
    c->frame = outer;
    c->depth--;
    return is_fine;
}

static bool add_arguments(struct compiler *c, const struct hlo_type *const *type, int count,
                          struct tape_leaves *argument)
{
    struct tape *t = c->t;
    int leaves = 0;

    for (int p = 0; p < count; p++) {
        if (!add_leaves(c, type[p], &argument[p]))
            return false;
        leaves += argument[p].count;
    }
    t->argument = arena_array(&t->arena, (size_t)leaves + 1, sizeof(*t->argument));
    for (int p = 0; p < count; p++)
        for (int k = 0; k < argument[p].count; k++)
            t->argument[t->argument_count++] = argument[p].reg[k];
    return true;
}

static bool compile_loop(struct compiler *c, const struct hlo_computation *of,
                         struct tape_leaves *result)
{
    const struct hlo_instruction *i = &of->instruction[c->t->index];
    struct tape_leaves *at = arena_array(&c->t->arena, (size_t)of->count, sizeof(*at));
    struct frame *f = arena_alloc(&c->t->arena, sizeof(*f));

    *f = (struct frame){.ev = c->ev, .c = of, .plan = &c->ev->plan[c->t->computation]};
    c->frame = f;
    c->block->last = i;
    c->t->type = i->type;
    return add_arguments(c, &i->type, 1, &at[i->operand[0]]) && add_loop(c, i, at, result);
}

static bool compile_whole(struct compiler *c, const struct hlo_computation *of,
                          struct tape_leaves *result)
{
    size_t count = (size_t)of->parameter_count + 1;
    const struct hlo_type **type = arena_array(&c->t->arena, count, sizeof(*type));
    struct tape_leaves *argument = arena_array(&c->t->arena, count, sizeof(*argument));

    for (int p = 0; p < of->parameter_count; p++)
        type[p] = of->instruction[of->parameter[p]].type;
    c->t->type = of->instruction[of->root].type;
    return add_arguments(c, type, of->parameter_count, argument) &&
           compile(c, c->t->computation, argument, result);
}

bool tape_compile(struct eval *ev, struct tape *t)
{
    struct compiler c = {.ev = ev, .t = t};
    const struct hlo_computation *of = &ev->m->computation[t->computation];
    struct tape_leaves result = {0};
    bool is_fine;

    begin_block(&c, &t->block);
    is_fine = t->index >= 0 ? compile_loop(&c, of, &result) : compile_whole(&c, of, &result);
    end_block(&c, &t->block, &result);
    return is_fine;
}
