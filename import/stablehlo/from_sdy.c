/* Shardy: how values lie on devices, and regions that each device carries out for itself. */
#include "import/stablehlo/from.h"

#include "import/program/sharding.h"

#include <string.h>

int from_sharding_constraint(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_op_attr(op, "sharding");
    struct hlo_instruction i = {
        .op = OPCODE_CUSTOM_CALL,
        .detail = &(struct hlo_detail){.target = "Sharding", .target_bytes = strlen("Sharding")},
        .operand_count = 1};
    int *x;

    if (!a || op->operand_count != 1 || op->result_count != 1)
        return from_fail(f, op, "it takes a value and a sharding");
    if (!(x = from_operands(f, op)) || from_result_type(f, op, &i.type) ||
        from_sharding(f, op, a, &i))
        return -1;
    i.operand = x;
    return from_finish(f, op, &i);
}

/* one sharding for each of `count` values */
static int list(struct from *f, const struct mlir_op *op, const char *name, int count,
                const struct hlo_sharding **to)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    struct hlo_instruction i = { .detail = HLO_NEW_DETAIL };

    if (!a || a->kind != MLIR_DIALECT)
        return from_fail(f, op, "the attribute %s is missing", name);
    if (count && from_sharding(f, op, a, &i))
        return -1;
    if (hlo_detail(&i)->sharding_count != count)
        return from_fail(f, op, "%s has %d shardings for %d values", name,
                         hlo_detail(&i)->sharding_count, count);
    *to = hlo_detail(&i)->sharding;
    return 0;
}

struct manual {
    const struct hlo_mesh *mesh;
    const char *axes;
};

static int manual_sharding(struct from *f, const struct mlir_op *op, const struct manual *m,
                           int rank, struct hlo_sharding *to)
{
    struct err why = { 0 };

    if (hlo_sharding_parse_manual(f->m, m->mesh, m->axes, strlen(m->axes), rank, to, &why))
        return from_fail(f, op, "%s", why.msg);
    return 0;
}

static int read_manual(struct from *f, const struct mlir_op *op, struct manual *m)
{
    const struct mlir_attr *axes = mlir_op_attr(op, "manual_axes");
    const struct mlir_attr *in = mlir_op_attr(op, "in_shardings");
    const struct mlir_attr *out = mlir_op_attr(op, "out_shardings");

    if (!axes || axes->kind != MLIR_DIALECT || !in || !out)
        return from_fail(f, op, "the attribute manual_axes is missing");
    m->axes = axes->text.bytes && axes->text.data[0] == '{'
                  ? axes->text.data : arena_printf(f->arena, "{%s}", axes->text.data);
    const struct mlir_attr *any = op->operand_count ? in : out;
    m->mesh = hlo_sharding_mesh(f->m, any->text.data, any->text.bytes);
    if (!m->mesh)
        return from_fail(f, op, "its shardings name no mesh of the module");
    return 0;
}

/* the body as a computation, called with what each device has */
static int call_body(struct from *f, const struct mlir_op *op, int *x, const char *name)
{
    int body = from_region(f, op, &op->region[0], name);

    if (body < 0)
        return -1;
    from_place(f, op);
    if (f->m->computation[body].parameter_count != op->operand_count)
        return from_fail(f, op, "its region has %d arguments and not %d",
                         f->m->computation[body].parameter_count, op->operand_count);
    return hlo_call(&f->b, body, op->operand_count, x);
}

static int enter(struct from *f, const struct mlir_op *op, const struct manual *m, int *x)
{
    const struct mlir_block *b = &op->region[0].block[0];
    const struct hlo_sharding *cut = NULL;

    if (list(f, op, "in_shardings", op->operand_count, &cut))
        return -1;
    for (int k = 0; k < op->operand_count; k++) {
        struct hlo_type local;
        struct hlo_sharding manual;
        if (from_type(f, op, b->argument[k].type, &local) ||
            manual_sharding(f, op, m, local.rank, &manual))
            return -1;
        x[k] = hlo_enter_manual(&f->b, x[k], &cut[k], &manual, &local);
    }
    return 0;
}

static int leave(struct from *f, const struct mlir_op *op, const struct manual *m, int called)
{
    const struct hlo_sharding *cut = NULL;

    if (list(f, op, "out_shardings", op->result_count, &cut))
        return -1;
    for (int k = 0; k < op->result_count; k++) {
        struct hlo_type whole;
        struct hlo_sharding manual;
        int local = op->result_count == 1 ? called : hlo_tuple_element(&f->b, called, k);
        if (from_type(f, op, op->result[k].type, &whole) ||
            manual_sharding(f, op, m, whole.rank, &manual))
            return -1;
        from_define(f, &op->result[k],
                    hlo_leave_manual(&f->b, local, &cut[k], &manual, &whole));
    }
    return 0;
}

static int check_body(struct from *f, const struct mlir_op *op)
{
    if (op->region_count != 1 || op->region[0].block_count != 1 ||
        op->region[0].block[0].argument_count != op->operand_count)
        return from_fail(f, op, "its region does not take its operands");
    const struct mlir_op *end = from_terminator(&op->region[0].block[0]);
    if (!end || end->operand_count != op->result_count)
        return from_fail(f, op, "its region does not return its results");
    return 0;
}

int from_manual_computation(struct from *f, const struct mlir_op *op)
{
    struct manual m = { 0 };
    int *x, called;

    if (check_body(f, op) || read_manual(f, op, &m) || !(x = from_operands(f, op)) ||
        enter(f, op, &m, x) || (called = call_body(f, op, x, "manual")) < 0)
        return -1;
    return leave(f, op, &m, called);
}

int from_named_computation(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *name = mlir_op_attr(op, "name");
    int *x, called;

    if (check_body(f, op) || !(x = from_operands(f, op)) ||
        (called = call_body(f, op, x, name && name->text.bytes ? name->text.data : "named")) < 0)
        return -1;
    if (op->result_count == 1)
        from_define(f, &op->result[0], called);
    else
        from_define_elements(f, op, called);
    return 0;
}
