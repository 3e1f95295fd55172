/* Calls: of functions, of decomposed operations, of what only a name is known of; checks. */
#include "import/stablehlo/from.h"

#include <stdio.h>
#include <string.h>

static const struct mlir_attr *symbol_of(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    return a && (a->kind == MLIR_SYMBOL || a->kind == MLIR_STRING) ? a : NULL;
}

/* a call with the operation's operands; `i` may say more of it */
static int call(struct from *f, const struct mlir_op *op, const char *attribute,
                struct hlo_instruction *i)
{
    const struct mlir_attr *name = symbol_of(op, attribute);
    int *x, made;

    if (!name)
        return from_fail(f, op, "the attribute %s is missing", attribute);
    if ((made = from_function_of(f, op, name->text)) < 0)
        return -1;
    from_place(f, op);
    if (!(x = from_operands(f, op)) || from_result_type(f, op, &i->type))
        return -1;
    if (f->m->computation[made].parameter_count != op->operand_count)
        return from_fail(f, op, "@%s has %d parameters and not %d", name->text.data,
                         f->m->computation[made].parameter_count, op->operand_count);
    i->op = OPCODE_CALL;
    i->operand = x;
    i->operand_count = op->operand_count;
    i->detail->computation_count = 1;
    i->detail->computation = &made;
    return from_finish(f, op, i);
}

int from_call(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .detail = HLO_NEW_DETAIL };
    return call(f, op, "callee", &i);
}

int from_composite(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *name = symbol_of(op, "name");
    const struct mlir_attr *attributes = mlir_op_attr(op, "composite_attributes");
    struct hlo_instruction i = { .detail = HLO_NEW_DETAIL };
    int64_t version;

    if (!name)
        return from_fail(f, op, "the attribute name is missing");
    if (op->region_count)
        return from_fail(f, op, "a composite with regions is not known");
    if (from_int(f, op, "version", mlir_op_attr(op, "version"), 0, &version))
        return -1;
    i.detail->target = name->text.data;
    i.detail->target_bytes = name->text.bytes;
    from_add_pair(f, &i.detail->frontend, "composite.attributes",
                  attributes ? mlir_attr_text(f->arena, attributes) : "{}");
    from_add_pair(f, &i.detail->frontend, "composite.name", from_quoted(f, name->text));
    from_add_pair(f, &i.detail->frontend, "composite.version",
                  arena_printf(f->arena, "\"%lld\"", (long long)version));
    from_add_pair(f, &i.detail->other, "is_composite", "true");
    return call(f, op, "decomposition", &i);
}

/* (values, indices) of the largest k, whatever wrote it */
static int top_k(struct from *f, const struct mlir_op *op, const struct mlir_attr *k,
                 const struct mlir_attr *largest)
{
    struct hlo_instruction i = {.op = OPCODE_TOPK,
                                .detail = &(struct hlo_detail){.is_stable = true}};
    int *x;

    if (op->operand_count != 1 || op->result_count != 2 || !k)
        return from_fail(f, op, "it takes one operand and k, and has two results");
    if (from_int(f, op, "k", k, 0, &i.index) || from_result_type(f, op, &i.type) ||
        !(x = from_operands(f, op)))
        return -1;
    i.detail->is_largest = from_bool(largest, true);
    i.operand = x;
    i.operand_count = 1;
    return from_finish(f, op, &i);
}

int from_top_k(struct from *f, const struct mlir_op *op)
{
    return top_k(f, op, mlir_op_attr(op, "k"), mlir_op_attr(op, "largest"));
}

/* custom_call @mhlo.erf: an operation by another way; what it says beside is MHLO's own */
static int named_operation(struct from *f, const struct mlir_op *op, const char *name, bool *found)
{
    static const char *const dialects[] = { "stablehlo", "chlo" };
    enum hlo_opcode opcode = OPCODE_COUNT;
    char other[80];

    *found = true;
    if (!strcmp(name, "mhlo.topk")) {
        const struct mlir_attr *inner = mlir_op_attr(op, "mhlo.attributes");
        return top_k(f, op, mlir_attr_find(inner, "k"), mlir_attr_find(inner, "largest"));
    }
    for (int k = 0; k < 2 && opcode == OPCODE_COUNT && !strncmp(name, "mhlo.", 5); k++) {
        snprintf(other, sizeof(other), "%s.%s", dialects[k], name + 5);
        opcode = hlo_opcode_find_stablehlo(other, strlen(other));
    }
    *found = opcode != OPCODE_COUNT && hlo_opcode_attributes(opcode) == 0 &&
             hlo_opcode_arity(opcode) == op->operand_count && op->region_count == 0;
    return *found ? from_plain(f, op, opcode) : 0;
}

/* an attribute that HLO has under its own name, or nobody reads: kept as MLIR writes it */
static void keep(struct from *f, const struct mlir_op *op, const char *name,
                 struct hlo_instruction *i)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);

    if (a && (a->kind != MLIR_ARRAY || a->count))
        from_add_pair(f, &i->detail->other, name, mlir_attr_text(f->arena, a));
}

static int api_version(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    static const char *const names[] = {
        NULL, NULL, "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI"
    };
    int64_t version;

    if (from_int(f, op, "api_version", mlir_op_attr(op, "api_version"), 1, &version))
        return -1;
    if (version < 0 || version > 4)
        return from_fail(f, op, "no api_version is %lld", (long long)version);
    if (names[version])
        from_add_pair(f, &i->detail->other, "api_version", names[version]);
    return 0;
}

static int called_computations(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    const struct mlir_attr *a = mlir_op_attr(op, "called_computations");

    if (!a || a->kind != MLIR_ARRAY || a->count == 0)
        return 0;
    int *made = arena_array(f->scratch, (size_t)a->count, sizeof(*made));
    for (int k = 0; k < a->count; k++) {
        if ((made[k] = from_function_of(f, op, a->item[k]->text)) < 0)
            return -1;
    }
    i->detail->computation = made;
    i->detail->computation_count = a->count;
    return 0;
}

static int custom_call_fields(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    const struct mlir_attr *config = mlir_op_attr(op, "backend_config");

    if (config && (config->kind != MLIR_STRING || config->text.bytes))
        i->detail->config = mlir_attr_text(f->arena, config);
    if (from_bool(mlir_op_attr(op, "has_side_effect"), false))
        from_add_pair(f, &i->detail->other, "custom_call_has_side_effect", "true");
    keep(f, op, "operand_layouts", i);
    keep(f, op, "result_layouts", i);
    keep(f, op, "output_operand_aliases", i);
    return api_version(f, op, i) || called_computations(f, op, i) ? -1 : 0;
}

/* of this operation, its operands and result beside what is known of it */
static int finish_call(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    int *x;

    from_place(f, op);
    if (!(x = from_operands(f, op)) || from_result_type(f, op, &i->type))
        return -1;
    i->operand = x;
    i->operand_count = op->operand_count;
    return from_finish(f, op, i);
}

/* HLO's operation has no other form in StableHLO */
static int ragged_all_to_all(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = {.op = OPCODE_RAGGED_ALL_TO_ALL, .detail = HLO_NEW_DETAIL};

    if (op->operand_count != 6 || op->result_count != 1)
        return from_fail(f, op, "it takes six operands and has one result");
    if (from_devices_told(f, op, mlir_op_attr(op, "backend_config"), &i))
        return -1;
    return finish_call(f, op, &i);
}

int from_custom_call(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *name = symbol_of(op, "call_target_name");
    struct hlo_instruction i = { .op = OPCODE_CUSTOM_CALL, .detail = HLO_NEW_DETAIL };
    bool is_operation;

    if (!name)
        return from_fail(f, op, "the attribute call_target_name is missing");
    int status = named_operation(f, op, name->text.data, &is_operation);
    if (is_operation)
        return status;
    if (!strcmp(name->text.data, "ragged_all_to_all"))
        return ragged_all_to_all(f, op);
    i.detail->target = name->text.data;
    i.detail->target_bytes = name->text.bytes;
    if (custom_call_fields(f, op, &i))
        return -1;
    return finish_call(f, op, &i);
}

/* functions of a table of them, row by row; each row is a replica, its functions the partitions' */
static int table_of_functions(struct from *f, const struct mlir_op *op, const struct mlir_attr *a,
                              struct hlo_instruction *i)
{
    int count = 0;

    for (int row = 0; row < a->count; row++)
        count += a->item[row]->count;
    int *made = arena_array(f->scratch, (size_t)count + 1, sizeof(*made));
    for (int row = 0; row < a->count; row++) {
        for (int k = 0; k < a->item[row]->count; k++) {
            const struct mlir_attr *name = a->item[row]->item ? a->item[row]->item[k] : NULL;
            if (!name || name->kind != MLIR_SYMBOL)
                return from_fail(f, op, "programs is not a table of functions");
            if ((made[i->detail->computation_count++] = from_function_of(f, op, name->text)) < 0)
                return -1;
        }
    }
    i->detail->computation = made;
    /* the table is the only place that says on how many devices they run */
    if (a->count > f->m->replica_count)
        f->m->replica_count = a->count;
    if (a->count && count / a->count > f->m->partition_count)
        f->m->partition_count = count / a->count;
    from_add_pair(f, &i->detail->frontend, "programs", mlir_attr_text(f->arena, a));
    return 0;
}

int from_run_parallel(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *programs = mlir_op_attr(op, "programs");
    struct hlo_instruction i = {
        .op = OPCODE_CUSTOM_CALL,
        .detail = &(struct hlo_detail){.target = op->name, .target_bytes = strlen(op->name)}};

    if (!programs || programs->kind != MLIR_ARRAY)
        return from_fail(f, op, "the attribute programs is missing");
    if (table_of_functions(f, op, programs, &i))
        return -1;
    return finish_call(f, op, &i);
}

/* "check.expect_eq_const" with its constant as a second operand is "check.expect_eq" */
int from_check(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *value = mlir_op_attr(op, "value");
    size_t length = strlen(op->name), suffix = strlen("_const");
    struct hlo_instruction i = { .op = OPCODE_CUSTOM_CALL, .detail = HLO_NEW_DETAIL };
    const struct hlo_literal *l;
    int *x = from_operands(f, op);

    if (!x || from_result_type(f, op, &i.type))
        return -1;
    i.operand = x;
    i.operand_count = op->operand_count;
    if (value) {
        if (from_literal(f, op, value, &l))
            return -1;
        x[i.operand_count++] = hlo_constant_literal(&f->b, l);
        bool is_const = length > suffix && !strcmp(op->name + length - suffix, "_const");
        length -= is_const ? suffix : 0;
    }
    i.detail->target = arena_printf(f->arena, "%.*s", (int)length, op->name);
    i.detail->target_bytes = length;
    from_add_pair(f, &i.detail->other, "custom_call_has_side_effect", "true");
    for (int k = 0; k < op->attr_count; k++) {
        if (strcmp(op->attr[k].name, "value"))
            from_add_pair(f, &i.detail->frontend, op->attr[k].name,
                          mlir_attr_text(f->arena, op->attr[k].attr));
    }
    i.place = f->b.place;
    i.line = op->line;
    i.col = hlo_column(op->col);
    hlo_add(f->m, f->b.computation, &i);
    return 0;
}
