/* Goes through a computation's instructions, all devices in step. */
#include "import/eval/custom.h"
#include "import/eval/fused.h"
#include "import/eval/handlers.h"
#include "import/eval/tape.h"

#include <stdio.h>
#include <stdarg.h>
#include <string.h>

enum { FRAME_DEPTH_MAX = 200, PROGRESS_EVERY = 64 };

static int fail_at(struct eval *ev, const struct hlo_instruction *i, const char *fmt, va_list list)
{
    char text[400];

    vsnprintf(text, sizeof(text), fmt, list);
    return err_at(ev->err, ev->m->file ? ev->m->file : "", i->line, i->col, "%s: %s",
                  i->label ? hlo_name(i) : hlo_opcode_name(i->op), text);
}

int eval_fail(struct eval *ev, const struct hlo_instruction *i, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    fail_at(ev, i, fmt, list);
    va_end(list);
    return -1;
}

int call_fail(const struct call *c, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    fail_at(c->ev, c->i, fmt, list);
    va_end(list);
    return -1;
}

struct value *call_array(const struct call *c, enum hlo_element e, int rank, const int64_t *dim)
{
    struct value *v = value_array(&c->ev->pool, e, rank, dim);
    struct hlo_type t = { .element = e, .rank = rank, .dim = dim };
    char text[128];

    if (!v)
        call_fail(c, "%s does not fit beside %zu MB of other values into the limit of %zu MB",
                  hlo_type_print(&t, text, sizeof(text)), c->ev->pool.used_bytes >> 20,
                  c->ev->pool.limit_bytes >> 20);
    return v;
}

int call_result(struct call *c)
{
    int64_t dim[EVAL_RANK_MAX];

    if (c->place) {
        c->result = value_hold(c->place);
        return 0;
    }
    call_dims(c, c->i->type, dim);
    c->result = call_array(c, c->i->type->element, c->i->type->rank, dim);
    return c->result ? 0 : -1;
}

bool call_may_overwrite(const struct call *c, int k)
{
    int operand = c->i->operand[k];

    if (c->f->value == NULL)            /* of a tape, which knows it */
        return c->is_in_place && k == 0;
    if (c->f->plan->last_user[operand] != c->index || !value_is_writable(c->operand[k]))
        return false;
    for (int o = 0; o < c->i->operand_count; o++)
        if (o != k && c->i->operand[o] == operand)
            return false;
    return true;
}

int call_result_over(struct call *c, int k)
{
    struct value *v = c->operand[k];
    enum hlo_element e = c->i->type->element;
    int64_t dim[EVAL_RANK_MAX];

    call_dims(c, c->i->type, dim);
    if (!call_may_overwrite(c, k) || hlo_element_bytes(e) != value_element_bytes(v) ||
        value_count(v) != value_product(dim, 0, c->i->type->rank))
        return call_result(c);
    c->result = e == v->element ? value_hold(v) : value_view(&c->ev->pool, v, e, c->i->type->rank, dim);
    return 0;
}

int call_result_view(struct call *c, int k)
{
    int64_t dim[EVAL_RANK_MAX];

    call_dims(c, c->i->type, dim);
    c->result = value_view(&c->ev->pool, c->operand[k], c->i->type->element, c->i->type->rank, dim);
    return 0;
}

int call_dimension(const struct call *c, int *along)
{
    int rank = c->operand[0]->rank;
    int64_t d = hlo_detail(c->i)->dims.count ? hlo_detail(c->i)->dims.item[0] : rank - 1;

    *along = (int)d;
    return d < 0 || d >= rank ? call_fail(c, "dimension %lld of %d", (long long)d, rank) : 0;
}

int call_result_tuple(struct call *c)
{
    c->result = value_tuple(&c->ev->pool, c->i->type->part_count, NULL);
    return 0;
}

struct value *call_part(struct call *c, int part)
{
    const struct hlo_type *t = &c->i->type->part[part];
    int64_t dim[EVAL_RANK_MAX];

    call_dims(c, t, dim);
    return c->result->part[part] = call_array(c, t->element, t->rank, dim);
}

struct value *frame_take(struct frame *f, int k, int index, int operand)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    int from = i->operand[operand];
    struct value **slot = frame_value(f, k, from), *v = *slot;
    int uses = 0;

    for (int o = 0; o < i->operand_count; o++)
        uses += i->operand[o] == from;
    if (f->plan->last_user[from] != index || uses > 1)
        return value_hold(v);
    *slot = NULL;
    return v;
}

static int run_call(struct frame *f, int k, int index, eval_handler handler)
{
    enum { FEW = 16 };
    const struct hlo_instruction *i = &f->c->instruction[index];
    struct value *few[FEW], **operand = few;
    struct call c = { .f = f, .ev = f->ev, .i = i, .index = index, .device = f->device[k] };
    int status;

    if (i->operand_count > FEW)
        operand = mem_alloc((size_t)i->operand_count * sizeof(*operand));
    for (int o = 0; o < i->operand_count; o++)
        operand[o] = *frame_value(f, k, i->operand[o]);
    c.operand = operand;
    status = handler(&c);
    if (operand != few)
        mem_free(operand);
    if (status) {
        value_drop(&f->ev->pool, c.result);
        return -1;
    }
    *frame_value(f, k, index) = c.result;
    return 0;
}

/* values whose last user this was are let go */
static void drop_dead(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];

    for (int k = 0; k < f->device_count; k++) {
        for (int o = 0; o < i->operand_count; o++) {
            struct value **slot = frame_value(f, k, i->operand[o]);

            if (f->plan->last_user[i->operand[o]] == index) {
                value_drop(&f->ev->pool, *slot);
                *slot = NULL;
            }
        }
        if (f->plan->last_user[index] < 0) {
            value_drop(&f->ev->pool, *frame_value(f, k, index));
            *frame_value(f, k, index) = NULL;
        }
    }
}

int eval_count_steps(struct eval *ev, const struct hlo_instruction *i, int instructions)
{
    uint64_t before = ev->steps;

    ev->steps += (uint64_t)instructions;
    if (ev->s.step_limit && ev->steps > ev->s.step_limit)
        return eval_fail(ev, i, "the limit of %llu steps is reached",
                         (unsigned long long)ev->s.step_limit);
    if (ev->s.progress && before / PROGRESS_EVERY != ev->steps / PROGRESS_EVERY &&
        ev->s.progress(ev->s.user, ev->steps, i))
        return eval_fail(ev, i, "stopped");
    return 0;
}

/* does it hand its operands on, or read one number for all where they are splats? */
static bool takes_splats(enum hlo_opcode op)
{
    eval_handler h = eval_handler_of(op);

    switch (op) {
    case OPCODE_TUPLE: case OPCODE_CALL: case OPCODE_FUSION: case OPCODE_WHILE:
    case OPCODE_CONDITIONAL: case OPCODE_ASYNC_START: case OPCODE_PARAMETER:
        return true;
    default:
        return h == eval_elementwise || h == eval_convert || h == eval_select || h == eval_same ||
               h == eval_get_tuple_element || h == eval_broadcast;
    }
}

static int spread_operands(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    signed char *takes = &f->ev->takes_splats[i->op];

    if (*takes == 0)
        *takes = takes_splats(i->op) ? 1 : -1;
    if (*takes > 0)
        return 0;
    for (int k = 0; k < f->device_count; k++)
        for (int o = 0; o < i->operand_count; o++)
            if (!value_spread(&f->ev->pool, *frame_value(f, k, i->operand[o])))
                return eval_fail(f->ev, i, "operand %d does not fit into the limit of memory", o);
    return 0;
}

static int run_instruction(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    eval_group_handler group = eval_group_handler_of(i->op);
    eval_handler handler = eval_handler_of(i->op);
    bool was_run;

    if (eval_count_steps(f->ev, i, f->device_count) || spread_operands(f, index) || eval_kernel_between(f, index, &was_run))
        return -1;
    if (was_run)
        return 0;
    if (group)
        return group(f, index);
    if (!handler)
        return eval_fail(f->ev, i, "%s is not evaluated on the host",
                         hlo_opcode_name(i->op) ? hlo_opcode_name(i->op)
                                                : hlo_opcode_stablehlo_name(i->op));
    for (int k = 0; k < f->device_count; k++)
        if (run_call(f, k, index, handler))
            return -1;
    return 0;
}

static int run_fused(struct frame *f, const struct fused *w)
{
    for (int k = w->first; k <= w->last; k++)
        if (w->is_apart[k - w->first] && run_instruction(f, k))
            return -1;
    return eval_count_steps(f->ev, &f->c->instruction[w->last], w->steps * f->device_count) ||
                   fused_run(f, w) ? -1 : 0;
}

static int run_frame(struct frame *f, struct value **result)
{
    for (int k = 0; k < f->c->count; k++) {
        if (!f->plan->is_needed[k])
            continue;
        if (f->plan->fused && f->plan->fused[k]) {
            if (run_fused(f, f->plan->fused[k]))
                return -1;
            k = f->plan->fused[k]->last;
            continue;
        }
        if (run_instruction(f, k))
            return -1;
        drop_dead(f, k);
    }
    for (int k = 0; k < f->device_count; k++) {
        result[k] = *frame_value(f, k, f->c->root);
        *frame_value(f, k, f->c->root) = NULL;
    }
    return 0;
}

static void drop_arguments(struct frame *f)
{
    for (int k = 0; k < f->device_count; k++)
        for (int p = 0; p < f->c->parameter_count; p++) {
            value_drop(&f->ev->pool, f->argument[k][p]);
            f->argument[k][p] = NULL;
        }
}

/* A loop's body needs the same again in a moment. */
static struct value **take_values(struct eval_plan *p, size_t count)
{
    struct value **taken = p->spare;

    if (!taken || p->spare_count != count)
        return mem_alloc(count * sizeof(*taken));
    p->spare = NULL;
    return taken;
}

static void give_values(struct eval_plan *p, struct value **values, size_t count)
{
    mem_free(p->spare);
    p->spare = values;
    p->spare_count = count;
}

static int run_tape(struct frame *f, struct value **result)
{
    int status = 0, k = 0;

    for (; k < f->device_count && !status; k++)
        status = tape_run(f->ev, f->plan->tape, f->device[k], f->argument[k], &result[k]);
    while (status && --k > 0)
        value_drop(&f->ev->pool, result[k - 1]);
    drop_arguments(f);
    return status;
}

/* what comes again is worth a tape, or operations that are carried out together */
static void prepare(struct eval *ev, int computation)
{
    struct eval_plan *p = &ev->plan[computation];

    eval_plan_make(ev, computation);
    if (p->times == 2 || ++p->times < 2)
        return;
    p->tape = tape_of_computation(ev, computation);
    if (!p->tape)
        p->fused = fused_find(ev, computation);
}

int eval_computation(struct eval *ev, int computation, int device_count, const int *device,
                     struct value **const *argument, struct value **result)
{
    enum { FEW = 64 };
    struct value *few[FEW];
    struct frame f = { .ev = ev, .c = &ev->m->computation[computation],
                       .plan = &ev->plan[computation], .device_count = device_count,
                       .device = device, .argument = argument, .value = few };
    size_t count = (size_t)device_count * (size_t)f.c->count;
    int status;

    prepare(ev, computation);
    if (f.plan->tape)
        return run_tape(&f, result);
    if (count > FEW)
        f.value = take_values(&ev->plan[computation], count);
    else
        memset(few, 0, sizeof(few));
    if (ev->depth == FRAME_DEPTH_MAX) {
        status = eval_fail(ev, &f.c->instruction[f.c->root], "more than %d calls are nested",
                           FRAME_DEPTH_MAX);
    } else {
        ev->depth++;
        status = run_frame(&f, result);
        ev->depth--;
    }
    for (size_t k = 0; k < count; k++) {
        value_drop(&ev->pool, f.value[k]);
        f.value[k] = NULL;
    }
    drop_arguments(&f);
    if (f.value != few)
        give_values(&ev->plan[computation], f.value, count);
    return status;
}

int eval_one(struct eval *ev, int computation, int device, struct value **argument,
             struct value **result)
{
    return eval_computation(ev, computation, 1, &device, &argument, result);
}

int value_leaves(struct value *v, struct value **leaf, int room)
{
    int n = 0;

    if (v->element != ELEMENT_TUPLE) {
        if (room > 0)
            leaf[0] = v;
        return 1;
    }
    for (int k = 0; k < v->part_count; k++)
        n += value_leaves(v->part[k], leaf + (n < room ? n : room), n < room ? room - n : 0);
    return n;
}
