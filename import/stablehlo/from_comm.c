/* Messages between devices and with the host: HLO has them in two steps, and results as tuples. */
#include "import/stablehlo/from.h"

#include <string.h>

static int add(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    i->place = f->b.place;
    i->line = op->line;
    i->col = hlo_column(op->col);
    return hlo_add(f->m, f->b.computation, i);
}

static struct hlo_type token_type(void)
{
    return (struct hlo_type){ .element = ELEMENT_TOKEN };
}

/* the first `count` of x as one value: itself, or a tuple */
static int together(struct from *f, int count, const int *x)
{
    return count == 1 ? x[0] : hlo_tuple(&f->b, count, x);
}

/* the data of an operation that gives a token behind it: one type, or a tuple of several */
static int data_type(struct from *f, const struct mlir_op *op, struct hlo_type *t)
{
    int count = op->result_count - 1;

    if (count < 0)
        return from_fail(f, op, "it gives no token");
    struct hlo_type *part = arena_array(f->scratch, (size_t)count + 1, sizeof(*part));
    for (int k = 0; k < count; k++) {
        if (from_type(f, op, op->result[k].type, &part[k]))
            return -1;
    }
    *t = count == 1 ? part[0] : hlo_tuple_type(f->scratch, count, part);
    return 0;
}

/* results of (data, token) */
static void define_data(struct from *f, const struct mlir_op *op, int pair)
{
    int count = op->result_count - 1, data = hlo_tuple_element(&f->b, pair, 0);

    for (int k = 0; k < count; k++)
        from_define(f, &op->result[k], count == 1 ? data : hlo_tuple_element(&f->b, data, k));
    from_define(f, &op->result[count], hlo_tuple_element(&f->b, pair, 1));
}

/* (data, context, token) of a send or recv that is under way */
static struct hlo_type started_type(struct from *f, const struct hlo_type *data)
{
    const struct hlo_type part[3] = { *data, hlo_scalar_type(ELEMENT_U32), token_type() };
    return hlo_tuple_type(f->scratch, 3, part);
}

/* shardings of data and token, as StableHLO says them: the context goes with the token */
static void shard_context(struct from *f, int data, struct hlo_instruction *i)
{
    struct hlo_sharding *all;

    if (i->detail->sharding_count != data + 1)
        return;
    all = arena_array(f->arena, (size_t)data + 2, sizeof(*all));
    memcpy(all, i->detail->sharding, (size_t)data * sizeof(*all));
    all[data] = all[data + 1] = i->detail->sharding[data];
    i->detail->sharding = all;
    i->detail->sharding_count = data + 2;
}

int from_send(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_SEND, .detail = HLO_NEW_DETAIL, .operand_count = 2 };
    int *x;

    if (op->operand_count < 1 || op->result_count != 1)
        return from_fail(f, op, "it has %d operands and %d results", op->operand_count,
                         op->result_count);
    if (from_devices(f, op, &i) || !(x = from_operands(f, op)) || from_extra(f, op, &i))
        return -1;
    int pair[2] = { together(f, op->operand_count - 1, x), x[op->operand_count - 1] };
    i.operand = pair;
    i.type = HLO_TYPE(started_type(f, hlo_type_of(&f->b, pair[0])));
    int started = add(f, op, &i);
    struct hlo_instruction done = {.op = OPCODE_SEND_DONE,
                                   .type = HLO_TYPE(token_type()),
                                   .operand_count = 1,
                                   .operand = &started,
                                   .detail = &(struct hlo_detail){.groups = i.detail->groups}};
    from_define(f, &op->result[0], add(f, op, &done));
    return 0;
}

int from_recv(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_RECV, .detail = HLO_NEW_DETAIL, .operand_count = 1 };
    struct hlo_type data;
    int *x;

    if (op->operand_count != 1)
        return from_fail(f, op, "it has %d operands and not one", op->operand_count);
    if (from_devices(f, op, &i) || !(x = from_operands(f, op)) || from_extra(f, op, &i) ||
        data_type(f, op, &data))
        return -1;
    i.operand = x;
    i.type = HLO_TYPE(started_type(f, &data));
    shard_context(f, op->result_count - 1, &i);
    int started = add(f, op, &i);
    const struct hlo_type part[2] = { data, token_type() };
    struct hlo_instruction done = {.op = OPCODE_RECV_DONE,
                                   .operand_count = 1,
                                   .type = HLO_TYPE(hlo_tuple_type(f->scratch, 2, part)),
                                   .operand = &started,
                                   .detail = &(struct hlo_detail){.groups = i.detail->groups}};
    define_data(f, op, add(f, op, &done));
    return 0;
}

/* infeed_config and outfeed_config */
static void config(const struct mlir_op *op, const char *name, struct hlo_instruction *i)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);

    if (a && a->kind == MLIR_STRING && a->text.bytes) {
        i->detail->target = a->text.data;
        i->detail->target_bytes = a->text.bytes;
    }
}

int from_infeed(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = {.op = OPCODE_INFEED, .detail = HLO_NEW_DETAIL, .operand_count = 1};
    struct hlo_type data;
    int *x;

    if (op->operand_count != 1)
        return from_fail(f, op, "it has %d operands and not one", op->operand_count);
    if (!(x = from_operands(f, op)) || data_type(f, op, &data) || from_extra(f, op, &i))
        return -1;
    const struct hlo_type part[2] = { data, token_type() };
    config(op, "infeed_config", &i);
    i.operand = x;
    i.type = HLO_TYPE(hlo_tuple_type(f->scratch, 2, part));
    define_data(f, op, add(f, op, &i));
    return 0;
}

int from_outfeed(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = {.op = OPCODE_OUTFEED,
                                .operand_count = 2,
                                .type = HLO_TYPE(token_type()),
                                .detail = HLO_NEW_DETAIL};
    int *x;

    if (op->operand_count < 1 || op->result_count != 1)
        return from_fail(f, op, "it has %d operands and %d results", op->operand_count,
                         op->result_count);
    if (!(x = from_operands(f, op)))
        return -1;
    int pair[2] = { together(f, op->operand_count - 1, x), x[op->operand_count - 1] };
    config(op, "outfeed_config", &i);
    i.operand = pair;
    return from_finish(f, op, &i);
}

int from_all_to_all(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = {
        .op = OPCODE_ALL_TO_ALL, .detail = HLO_NEW_DETAIL, .operand_count = op->operand_count};
    int64_t dims[3];
    int *x;

    if (from_int(f, op, "split_dimension", mlir_op_attr(op, "split_dimension"), 0, &dims[0]) ||
        from_int(f, op, "concat_dimension", mlir_op_attr(op, "concat_dimension"), 0, &dims[1]) ||
        from_int(f, op, "split_count", mlir_op_attr(op, "split_count"), 1, &dims[2]) ||
        from_devices(f, op, &i) || !(x = from_operands(f, op)) || from_result_type(f, op, &i.type))
        return -1;
    i.detail->dims = hlo_ints_copy(f->scratch, dims, 3);
    i.operand = x;
    return from_finish(f, op, &i);
}
