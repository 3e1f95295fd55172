/* Copies a kernel, with other operations for those that a rule expands and bodies for calls. */
#include "stack/kernels/mosaic/expand/expand_impl.h"

#include <string.h>

#define CALLS_MAX 32

static expand_rule *const rules[MOSAIC_UNKNOWN] = {
    [MOSAIC_MATMUL] = expand_product, [MOSAIC_MULTI_REDUCTION] = expand_reduction,
    [MOSAIC_REDUCE_INDEX] = expand_index, [MOSAIC_CTPOP] = expand_bits,
    [MOSAIC_CTLZ] = expand_bits, [MOSAIC_DYNAMIC_ROTATE] = expand_rotation,
    [MOSAIC_PACK_ELEMENTWISE] = expand_pack, [MOSAIC_UNPACK_ELEMENTWISE] = expand_unpack,
    [MOSAIC_STOCHASTIC_CONVERT] = expand_stochastic, [MOSAIC_TPU_BITCAST] = expand_bitcast,
    [MOSAIC_ARITH_BITCAST] = expand_bitcast, [MOSAIC_REMSI] = expand_remainder,
    [MOSAIC_REMUI] = expand_remainder, [MOSAIC_SHAPE_CAST] = expand_reshape,
    [MOSAIC_TPU_RESHAPE] = expand_reshape, [MOSAIC_TRANSPOSE] = expand_transpose,
    [MOSAIC_VECTOR_TRANSPOSE] = expand_transpose};

/* ----- what is put in */

static expanded new_value(struct expand *e, const struct mosaic_type *type)
{
    struct mosaic_value *v = arena_alloc(e->a, sizeof(*v));

    *v = (struct mosaic_value){.id = e->to->value_count++, .type = *type};
    v->type.element = expand_wider(type->element);
    return v;
}

static void put(struct expand *e, struct mosaic_op *op)
{
    e->list = mem_grow(e->list, &e->capacity, (size_t)e->count + 1, sizeof(*e->list));
    e->list[e->count++] = op;
}

expanded expand_op(struct expand *e, enum mosaic_code code, const struct mosaic_type *type,
                   const expanded *operand, int count, const struct mosaic_attr *attr,
                   int attr_count)
{
    struct mosaic_op *op = arena_alloc(e->a, sizeof(*op));
    expanded same;

    *op = (struct mosaic_op){.code = code, .number = e->at->number, .name = mosaic_code_name(code),
                             .operand_count = count, .result_count = 1, .attr_count = attr_count,
                             .place = e->at->place};
    op->operand = arena_copy(e->a, operand, (size_t)count, sizeof(*operand));
    op->result = arena_array(e->a, 1, sizeof(*op->result));
    op->attr = arena_copy(e->a, attr, (size_t)attr_count, sizeof(*attr));
    op->result[0] = new_value(e, type);
    op->result[0]->op = op;
    same = expand_repeated(e, op, op->operand);
    if (same)
        return same;
    put(e, op);
    return op->result[0];
}

expanded expand_op1(struct expand *e, enum mosaic_code code, const struct mosaic_type *type,
                    expanded a)
{
    return expand_op(e, code, type, &a, 1, NULL, 0);
}

expanded expand_op2(struct expand *e, enum mosaic_code code, const struct mosaic_type *type,
                    expanded a, expanded b)
{
    const expanded operand[] = {a, b};

    return expand_op(e, code, type, operand, 2, NULL, 0);
}

expanded expand_constant(struct expand *e, const struct mosaic_type *type, uint32_t word)
{
    const uint32_t *element = arena_copy(e->a, &word, 1, sizeof(word));
    struct mosaic_attr value = {.name = "value", .kind = MOSAIC_ATTR_ELEMENTS, .count = 1,
                                .element = element, .is_splat = true, .type = *type};

    if (type->kind == MOSAIC_SCALAR)
        value = (struct mosaic_attr){.name = "value", .kind = MOSAIC_ATTR_INT,
                                     .integer = (int32_t)word};
    return expand_op(e, MOSAIC_CONSTANT, type, NULL, 0, &value, 1);
}

struct mosaic_type expand_type(const struct mosaic_type *t, enum mosaic_element element)
{
    struct mosaic_type made = *t;

    made.element = element;
    return made;
}

/* ----- the copy */

static int copy_ops(struct expand *e, const struct mosaic_block *b, bool with_end);

/* what was put in since the list began stands for a block */
static struct mosaic_block *copy_block(struct expand *e, const struct mosaic_block *b)
{
    struct mosaic_block *made = arena_alloc(e->a, sizeof(*made));
    struct mosaic_op **around = e->list;
    size_t capacity = e->capacity;
    int count = e->count, status;

    e->list = NULL;
    e->count = 0;
    e->capacity = 0;
    *made = (struct mosaic_block){.argument_count = b->argument_count};
    made->argument = arena_array(e->a, (size_t)b->argument_count + 1, sizeof(*made->argument));
    for (int i = 0; i < b->argument_count; i++) {
        made->argument[i] = new_value(e, &b->argument[i]->type);
        made->argument[i]->name = b->argument[i]->name;
        made->argument[i]->index = b->argument[i]->index;
        e->value[b->argument[i]->id] = made->argument[i];
    }
    status = copy_ops(e, b, true);
    made->op = arena_take(e->a, e->list, (size_t)e->count, sizeof(*e->list));
    made->op_count = e->count;
    e->list = around;
    e->count = count;
    e->capacity = capacity;
    return status ? NULL : made;
}

static int copy_op(struct expand *e, const struct mosaic_op *op)
{
    struct mosaic_op *made = arena_copy(e->a, op, 1, sizeof(*op));
    expanded same;

    if (expand_check_bits(e, op))
        return -1;
    made->operand = arena_array(e->a, (size_t)op->operand_count + 1, sizeof(*made->operand));
    made->result = arena_array(e->a, (size_t)op->result_count + 1, sizeof(*made->result));
    made->region = arena_array(e->a, (size_t)op->region_count + 1, sizeof(*made->region));
    for (int i = 0; i < op->operand_count; i++)
        made->operand[i] = expand_unsigned(e, op, e->value[op->operand[i]->id], i);
    same = expand_repeated(e, op, made->operand);
    if (same) {
        e->value[op->result[0]->id] = same;
        e->is_changed = true;
        return 0;
    }
    for (int i = 0; i < op->region_count; i++) {
        made->region[i] = copy_block(e, op->region[i]);
        if (!made->region[i])
            return -1;
    }
    for (int i = 0; i < op->result_count; i++) {
        made->result[i] = new_value(e, &op->result[i]->type);
        made->result[i]->op = made;
        made->result[i]->index = i;
        e->value[op->result[i]->id] = made->result[i];
    }
    put(e, made);
    return expand_wrap(e, op);
}

static const struct mosaic_function *callee(const struct mosaic_kernel *k, const struct mosaic_op *op)
{
    const char *name = mosaic_text(op, "callee", "");

    for (int i = 0; i < k->function_count; i++)
        if (!strcmp(k->function[i]->name, name))
            return k->function[i];
    return NULL;
}

/* the operations of the function that is called, its arguments being the call's operands */
static int put_call(struct expand *e, const struct mosaic_op *op)
{
    const struct mosaic_function *f = callee(e->from, op);
    const struct mosaic_op *end;
    int status;

    if (!f || f->body->argument_count != op->operand_count)
        return mosaic_refuse(e->from, op, e->err, "no function is called %s, of %d arguments",
                             mosaic_text(op, "callee", ""), op->operand_count);
    if (e->calls == CALLS_MAX)
        return mosaic_refuse(e->from, op, e->err, "calls within calls, more than %d", CALLS_MAX);
    for (int i = 0; i < op->operand_count; i++)
        e->value[f->body->argument[i]->id] = e->value[op->operand[i]->id];
    e->calls++;
    status = copy_ops(e, f->body, false);
    e->calls--;
    end = f->body->op_count ? f->body->op[f->body->op_count - 1] : NULL;
    if (status || !end || end->operand_count != op->result_count)
        return status ? -1 : mosaic_refuse(e->from, op, e->err, "the function gives %d results",
                                           end ? end->operand_count : 0);
    for (int i = 0; i < op->result_count; i++)
        e->value[op->result[i]->id] = e->value[end->operand[i]->id];
    return 0;
}

static int copy_ops(struct expand *e, const struct mosaic_block *b, bool with_end)
{
    for (int i = 0; i < b->op_count - !with_end; i++) {
        const struct mosaic_op *op = b->op[i];
        expand_rule *rule = op->code < MOSAIC_UNKNOWN ? rules[op->code] : NULL;

        e->at = op;
        if (op->code == MOSAIC_CALL ? put_call(e, op) : 0)
            return -1;
        if (op->code == MOSAIC_CALL || (rule && rule(e, op, &e->value[op->result[0]->id]))) {
            e->is_changed = true;
            continue;
        }
        if (copy_op(e, op))
            return -1;
    }
    return 0;
}

static const struct mosaic_function *same_function(const struct expand *e,
                                                   const struct mosaic_function *f)
{
    for (int i = 0; i < e->from->function_count; i++)
        if (e->from->function[i] == f)
            return e->to->function[i];
    return NULL;
}

static int copy_functions(struct expand *e)
{
    struct mosaic_kernel *k = e->to;
    struct mosaic_window *window = arena_copy(e->a, e->from->window, (size_t)k->operand_count,
                                              sizeof(*window));

    k->function = arena_array(e->a, (size_t)k->function_count + 1, sizeof(*k->function));
    for (int i = 0; i < k->function_count; i++) {
        k->function[i] = arena_copy(e->a, e->from->function[i], 1, sizeof(**k->function));
        k->function[i]->body = copy_block(e, e->from->function[i]->body);
        if (!k->function[i]->body)
            return -1;
    }
    k->main = same_function(e, e->from->main);
    for (int i = 0; i < k->operand_count; i++)
        if (window[i].transform)
            window[i].transform = same_function(e, window[i].transform);
    k->window = window;
    return 0;
}

const struct mosaic_kernel *expand_kernel(const struct mosaic_kernel *k, const struct chip *chip,
                                          struct arena *a, struct err *e)
{
    struct expand x = {.from = k, .chip = chip, .a = a, .err = e};
    int status;

    for (int i = 0; i < k->function_count; i++)
        x.is_changed = x.is_changed || expand_is_narrow(k->function[i]->body);
    x.to = arena_copy(a, k, 1, sizeof(*k));
    x.to->value_count = 0;
    x.to->array = expand_wider_arrays(k, a);
    x.value = mem_alloc(((size_t)k->value_count + 1) * sizeof(*x.value));
    status = copy_functions(&x);
    mem_free(x.value);
    if (status)
        return NULL;
    return x.is_changed ? x.to : k;
}
