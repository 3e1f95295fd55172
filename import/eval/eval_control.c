/* Operations that order others: calls, loops, branches, tuples, and what only hands on. */
#include "import/eval/handlers.h"
#include "import/eval/tape.h"

int eval_parameter(struct frame *f, int index)
{
    int64_t number = f->c->instruction[index].index;

    for (int k = 0; k < f->device_count; k++) {
        *frame_value(f, k, index) = f->argument[k][number];
        f->argument[k][number] = NULL;
    }
    return 0;
}

static struct value *of_literal(const struct call *c, const struct hlo_literal *l)
{
    const struct hlo_type *t = &l->type;
    struct value *v;

    if (t->element == ELEMENT_TUPLE) {
        v = value_tuple(&c->ev->pool, t->part_count, NULL);
        for (int k = 0; k < t->part_count; k++)
            if (!(v->part[k] = of_literal(c, &l->part[k]))) {
                value_drop(&c->ev->pool, v);
                return NULL;
            }
        return v;
    }
    if (t->element == ELEMENT_TOKEN)
        return value_token(&c->ev->pool);
    if (!l->data && hlo_type_elements(t) > 0) {
        call_fail(c, HLO_ELIDED);
        return NULL;
    }
    if (!l->is_splat || hlo_type_elements(t) <= 1)
        return value_borrow(&c->ev->pool, t->element, t->rank, t->dim, l->data);
    return value_splat(&c->ev->pool, t->element, t->rank, t->dim, l->data);
}

int eval_constant(struct call *c)
{
    if (!c->i->literal)
        return call_fail(c, "it has no value");
    c->result = of_literal(c, c->i->literal);
    return c->result ? 0 : -1;
}

/* the operand itself: copies, barriers, domains, annotations */
int eval_same(struct call *c)
{
    c->result = value_hold(c->operand[0]);
    return 0;
}

int eval_token(struct call *c)
{
    c->result = value_token(&c->ev->pool);
    return 0;
}

int eval_tuple(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];

    for (int k = 0; k < f->device_count; k++) {
        struct value *v = value_tuple(&f->ev->pool, i->operand_count, NULL);

        for (int o = 0; o < i->operand_count; o++)
            v->part[o] = frame_take(f, k, index, o);
        *frame_value(f, k, index) = v;
    }
    return 0;
}

int eval_get_tuple_element(struct call *c)
{
    struct value *tuple = c->operand[0];
    int64_t part = c->i->index;

    if (part < 0 || part >= tuple->part_count || !tuple->part[part])
        return call_fail(c, "the tuple has no part %lld", (long long)part);
    if (c->f->plan->moves[c->index] && tuple->holders == 1) {
        c->result = tuple->part[part];
        tuple->part[part] = NULL;
    } else {
        c->result = value_hold(tuple->part[part]);
    }
    return 0;
}

/* rows of arguments, one row for each device */
static struct value ***argument_rows(int devices, int count)
{
    size_t rows = (size_t)devices * sizeof(struct value **);
    struct value ***row = mem_alloc(rows + (size_t)devices * (size_t)count * sizeof(**row));

    for (int k = 0; k < devices; k++)
        row[k] = (struct value **)(void *)((char *)row + rows) + (size_t)k * (size_t)count;
    return row;
}

/* the computation's result is the instruction's; its operands from `first` are the parameters */
static int call_on(struct frame *f, int index, int computation, int first, int count)
{
    struct value ***argument = argument_rows(f->device_count, count);
    struct value **result = mem_alloc((size_t)f->device_count * sizeof(*result));
    int status;

    for (int k = 0; k < f->device_count; k++)
        for (int p = 0; p < count; p++)
            argument[k][p] = frame_take(f, k, index, first + p);
    status = eval_computation(f->ev, computation, f->device_count, f->device, argument, result);
    for (int k = 0; k < f->device_count && !status; k++)
        *frame_value(f, k, index) = result[k];
    mem_free(argument);
    mem_free(result);
    return status;
}

int eval_call(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];

    return call_on(f, index, hlo_detail(i)->computation[0], 0, i->operand_count);
}

/* devices that a loop goes on with: which of the frame's, their numbers, states, conditions */
struct loop {
    int count;
    int *place, *device;
    struct value **state, **next, ***row, **row_item;
};

static void loop_init(struct loop *l, struct frame *f, int index)
{
    size_t n = (size_t)f->device_count;

    l->count = f->device_count;
    l->place = mem_alloc(n * sizeof(*l->place));
    l->device = mem_alloc(n * sizeof(*l->device));
    l->state = mem_alloc(n * sizeof(*l->state));
    l->next = mem_alloc(n * sizeof(*l->next));
    l->row = mem_alloc(n * sizeof(*l->row));
    l->row_item = mem_alloc(n * sizeof(*l->row_item));
    for (int k = 0; k < l->count; k++) {
        l->place[k] = k;
        l->device[k] = f->device[k];
        l->row[k] = &l->row_item[k];
        l->state[k] = frame_take(f, k, index, 0);
    }
}

static void loop_fini(struct loop *l, struct frame *f)
{
    for (int k = 0; k < l->count; k++)
        value_drop(&f->ev->pool, l->state[k]);
    mem_free(l->place);
    mem_free(l->device);
    mem_free(l->state);
    mem_free(l->next);
    mem_free(l->row);
    mem_free(l->row_item);
}

/* devices whose condition is false leave with their state as the result */
static int loop_test(struct loop *l, struct frame *f, int index, int condition)
{
    int left = 0;

    for (int k = 0; k < l->count; k++)
        l->row_item[k] = value_hold(l->state[k]);
    if (eval_computation(f->ev, condition, l->count, l->device, l->row, l->next))
        return -1;
    for (int k = 0; k < l->count; k++) {
        bool goes_on = value_int(l->next[k], 0) != 0;

        value_drop(&f->ev->pool, l->next[k]);
        if (goes_on) {
            l->place[left] = l->place[k];
            l->device[left] = l->device[k];
            l->state[left++] = l->state[k];
        } else {
            *frame_value(f, l->place[k], index) = l->state[k];
        }
    }
    l->count = left;
    return 0;
}

static int loop_step(struct loop *l, struct frame *f, int body)
{
    int status;

    for (int k = 0; k < l->count; k++) {
        l->row_item[k] = l->state[k];
        l->state[k] = NULL;
    }
    status = eval_computation(f->ev, body, l->count, l->device, l->row, l->next);
    for (int k = 0; k < l->count && !status; k++)
        l->state[k] = l->next[k];
    return status;
}

/* the rest of the loop, device by device */
static int loop_by_tape(struct loop *l, struct frame *f, int index, struct tape *t)
{
    int status = 0;

    for (int k = 0; k < l->count && !status; k++)
        status = tape_run(f->ev, t, l->device[k], &l->state[k],
                          frame_value(f, l->place[k], index));
    return status;
}

/* Once round, then by a tape if there is one: a loop of one round is not worth it. */
int eval_while(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    struct tape *t = NULL;
    struct loop l;
    int status;

    loop_init(&l, f, index);
    while (!(status = loop_test(&l, f, index, hlo_detail(i)->computation[1])) && l.count &&
           !(status = loop_step(&l, f, hlo_detail(i)->computation[0])) &&
           !(t = tape_of_loop(f->ev, (int)(f->c - f->ev->m->computation), index)))
        continue;
    if (t && !status)
        status = loop_by_tape(&l, f, index, t);
    loop_fini(&l, f);
    return status;
}

/* the branch that device k takes; numbers outside the range take the last one */
static int branch_of(struct frame *f, int k, const struct hlo_instruction *i)
{
    int64_t n = value_int(*frame_value(f, k, i->operand[0]), 0);

    if (hlo_detail(i)->is_predicated)
        return n ? 0 : 1;
    return n < 0 || n >= hlo_detail(i)->computation_count ? hlo_detail(i)->computation_count - 1
                                                          : (int)n;
}

/* a branch on the devices that take it; with an operand, or with none */
static int run_branch(struct frame *f, int index, int branch, const int *taken)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    int parameters = f->ev->m->computation[hlo_detail(i)->computation[branch]].parameter_count,
        count = 0;
    int *device = mem_alloc((size_t)f->device_count * sizeof(*device));
    struct value ***row = argument_rows(f->device_count, parameters);
    struct value **result = mem_alloc((size_t)f->device_count * sizeof(*result));
    int status = 0;

    for (int k = 0; k < f->device_count; k++) {
        if (taken[k] != branch)
            continue;
        if (parameters)
            row[count][0] = frame_take(f, k, index, 1 + branch);
        device[count++] = f->device[k];
    }
    if (count)
        status =
            eval_computation(f->ev, hlo_detail(i)->computation[branch], count, device, row, result);
    for (int k = 0, n = 0; k < f->device_count && !status; k++)
        if (taken[k] == branch)
            *frame_value(f, k, index) = result[n++];
    mem_free(device);
    mem_free(row);
    mem_free(result);
    return status;
}

int eval_conditional(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    int *taken = mem_alloc((size_t)f->device_count * sizeof(*taken));
    int status = 0;

    for (int k = 0; k < f->device_count; k++)
        taken[k] = branch_of(f, k, i);
    for (int b = 0; b < hlo_detail(i)->computation_count && !status; b++)
        status = run_branch(f, index, b, taken);
    mem_free(taken);
    return status;
}

/* async-start carries its computation out at once and keeps the result for async-done */
int eval_async_start(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];

    return call_on(f, index, hlo_detail(i)->computation[0], 0, i->operand_count);
}

int eval_partition_id(struct call *c)
{
    int64_t partitions = c->ev->s.partition_count;

    if (call_result(c))
        return -1;
    hlo_element_store_int(c->result->element, c->device % partitions, c->result->data);
    return 0;
}

int eval_replica_id(struct call *c)
{
    int64_t partitions = c->ev->s.partition_count;

    if (call_result(c))
        return -1;
    hlo_element_store_int(c->result->element, c->device / partitions, c->result->data);
    return 0;
}
