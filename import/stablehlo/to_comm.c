/* Messages: HLO has data as one value and begins and ends apart, StableHLO neither. */
#include "import/stablehlo/to.h"

#include <string.h>

static int data_count(const struct hlo_type *t)
{
    return hlo_type_is_tuple(t) ? t->part_count : 1;
}

static const struct hlo_type *data_part(const struct hlo_type *t, int k)
{
    return hlo_type_is_tuple(t) ? &t->part[k] : t;
}

/* the elements of operand 0, if it is data, then the token, which is the last operand */
static void set_operands(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    bool has_data = i->operand_count == 2;
    struct to_value *data = to_operand(t, i, 0);
    int count = has_data ? data_count(data->type) : 0;

    o->operand = arena_array(t->arena, (size_t)count + 1, sizeof(*o->operand));
    for (int k = 0; k < count; k++)
        o->operand[k] = to_one(t, hlo_type_is_tuple(data->type) ? to_part(t, data, k) : data);
    o->operand[count] = to_one(t, to_operand(t, i, i->operand_count - 1));
    o->operand_count = count + 1;
}

/* results are the elements of `data`, unless that is NULL, and a token */
static void set_results(struct to *t, const struct hlo_type *data, struct to_op *o)
{
    int count = data ? data_count(data) : 0;

    o->result = arena_array(t->arena, (size_t)count + 1, sizeof(*o->result));
    for (int k = 0; k < count; k++)
        o->result[k] = to_type(t, data_part(data, k));
    o->result[count] = mlir_plain_type(t->arena, MLIR_TOKEN, "!stablehlo.token", 16);
    o->result_count = count + 1;
}

static struct to_value *one_value(struct to *t, const struct mlir_op *op, int k,
                                  const struct hlo_type *type)
{
    struct to_value *v = arena_alloc(t->arena, sizeof(*v));
    v->one = &op->result[k];
    v->type = type;
    return v;
}

/* (data, token) of an operation's results */
static struct to_value *pair_value(struct to *t, const struct mlir_op *op,
                                   const struct hlo_type *type)
{
    const struct hlo_type *data = &type->part[0];
    struct to_value *pair = arena_alloc(t->arena, sizeof(*pair)), *d;
    int count = data_count(data);

    pair->type = type;
    pair->part_count = 2;
    pair->part = arena_array(t->arena, 2, sizeof(*pair->part));
    d = hlo_type_is_tuple(data) ? arena_alloc(t->arena, sizeof(*d)) : one_value(t, op, 0, data);
    if (hlo_type_is_tuple(data)) {
        d->type = data;
        d->part_count = count;
        d->part = arena_array(t->arena, (size_t)count + 1, sizeof(*d->part));
        for (int k = 0; k < count; k++)
            d->part[k] = one_value(t, op, k, &data->part[k]);
    }
    pair->part[0] = d;
    pair->part[1] = one_value(t, op, count, &type->part[1]);
    return pair;
}

static struct to_op begin(const struct hlo_instruction *i, const char *name)
{
    return (struct to_op){ .name = name, .from = i };
}

static void add_config(struct to *t, const struct hlo_instruction *i, const char *name,
                       struct to_op *o)
{
    if (hlo_detail(i)->target)
        to_attr(o, name, mlir_string(t->arena, hlo_detail(i)->target, hlo_detail(i)->target_bytes));
}

int to_infeed(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o = begin(i, "stablehlo.infeed");

    set_operands(t, i, &o);
    set_results(t, &i->type->part[0], &o);
    add_config(t, i, "infeed_config", &o);
    to_extra(t, i, &o);
    *v = pair_value(t, to_make(t, &o), i->type);
    return 0;
}

int to_outfeed(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o = begin(i, "stablehlo.outfeed");

    set_operands(t, i, &o);
    set_results(t, NULL, &o);
    add_config(t, i, "outfeed_config", &o);
    to_extra(t, i, &o);
    *v = one_value(t, to_make(t, &o), 0, i->type);
    return 0;
}

int to_send(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o = begin(i, "stablehlo.send");

    set_operands(t, i, &o);
    set_results(t, NULL, &o);
    if (hlo_detail(i)->groups)
        to_devices(t, hlo_detail(i)->groups, &o);
    to_extra(t, i, &o);
    *v = one_value(t, to_make(t, &o), 0, i->type);
    return 0;
}

int to_recv(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    const struct hlo_type pair[2] = { i->type->part[0], i->type->part[2] };
    struct hlo_type *type = arena_alloc(t->arena, sizeof(*type));
    struct to_op o = begin(i, "stablehlo.recv");

    *type = hlo_tuple_type(t->arena, 2, pair);
    set_operands(t, i, &o);
    set_results(t, &i->type->part[0], &o);
    if (hlo_detail(i)->groups)
        to_devices(t, hlo_detail(i)->groups, &o);
    to_extra(t, i, &o);
    *v = pair_value(t, to_make(t, &o), type);
    return 0;
}

/* what was begun has given its results already */
int to_done(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    *v = to_operand(t, i, 0);
    if (i->op != OPCODE_SEND_DONE)
        return 0;
    struct to_value *token = arena_copy(t->arena, *v, 1, sizeof(*token));
    token->type = i->type;
    *v = token;
    return 0;
}
