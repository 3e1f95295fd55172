/* Instructions as operations: most have the same operands and the attributes of their fields. */
#include "import/stablehlo/to.h"

#include <string.h>

struct to_value *to_operand(struct to *t, const struct hlo_instruction *i, int k)
{
    return t->value[i->operand[k]];
}

static struct to_value *new_value(struct to *t, const struct hlo_type *type)
{
    struct to_value *v = arena_alloc(t->arena, sizeof(*v));
    v->type = type;
    return v;
}

static struct to_value *value_of(struct to *t, const struct mlir_value *one,
                                 const struct hlo_type *type)
{
    struct to_value *v = new_value(t, type);
    v->one = one;
    return v;
}

/* the results as values: one, or several apart */
static struct to_value *result_values(struct to *t, const struct mlir_op *op,
                                      const struct hlo_type *type)
{
    if (!hlo_type_is_tuple(type) || (op->result_count == 1 && type->part_count != 1))
        return op->result_count ? value_of(t, &op->result[0], type) : new_value(t, type);
    struct to_value *v = new_value(t, type);
    v->part_count = type->part_count;
    v->part = arena_array(t->arena, (size_t)type->part_count + 1, sizeof(*v->part));
    for (int k = 0; k < type->part_count; k++)
        v->part[k] = value_of(t, &op->result[k], &type->part[k]);
    return v;
}

struct mlir_op *to_make(struct to *t, struct to_op *o)
{
    struct mlir_op *op = arena_alloc(t->arena, sizeof(*op));

    op->name = o->name;
    op->operand = (const struct mlir_value *const *)o->operand;
    op->operand_count = o->operand_count;
    op->attr = arena_copy(t->arena, o->attr, (size_t)o->attr_count, sizeof(*o->attr));
    op->attr_count = o->attr_count;
    op->region = o->region;
    op->region_count = o->region_count;
    op->location = o->from ? to_place(t, hlo_place_of(o->from)) : NULL;
    op->result_count = o->result_count;
    op->result = arena_array(t->arena, (size_t)o->result_count + 1, sizeof(*op->result));
    for (int k = 0; k < o->result_count; k++)
        op->result[k] = (struct mlir_value){ .id = t->tree->value_count++, .type = o->result[k],
                                             .op = op, .index = k };
    MEM_ADD(t->op, t->op_count, t->op_room) = op;
    return op;
}

struct to_value *to_emit(struct to *t, struct to_op *o)
{
    return result_values(t, to_make(t, o), o->from->type);
}

static const struct mlir_value *write_constant(struct to *t, struct to_value *v)
{
    const struct mlir_type *type = v->constant->type;
    struct to_op o = { .name = "stablehlo.constant", .result = &type, .result_count = 1 };

    to_attr(&o, "value", v->constant);
    v->one = &to_make(t, &o)->result[0];
    return v->one;
}

const struct mlir_value *to_one(struct to *t, struct to_value *v)
{
    if (v->one)
        return v->one;
    if (v->constant)
        return write_constant(t, v);
    struct to_op o = { .name = "stablehlo.tuple", .operand_count = v->part_count,
                       .result_count = 1 };
    const struct mlir_type *type = to_type(t, v->type);
    o.result = &type;
    o.operand = arena_array(t->arena, (size_t)v->part_count + 1, sizeof(*o.operand));
    for (int k = 0; k < v->part_count; k++)
        o.operand[k] = to_one(t, v->part[k]);
    v->one = &to_make(t, &o)->result[0];
    return v->one;
}

struct to_value *to_part(struct to *t, struct to_value *v, int k)
{
    if (v->part)
        return v->part[k];
    const struct mlir_value *tuple = to_one(t, v);
    const struct mlir_type *type = to_type(t, &v->type->part[k]);
    struct to_op o = { .name = "stablehlo.get_tuple_element", .operand = &tuple,
                       .operand_count = 1, .result = &type, .result_count = 1 };
    o.operand = arena_copy(t->arena, &tuple, 1, sizeof(tuple));
    to_attr(&o, "index", mlir_integer(t->arena, k, mlir_scalar_type(t->arena, "i32", 3)));
    return value_of(t, &to_make(t, &o)->result[0], &v->type->part[k]);
}

static void set_results(struct to *t, const struct hlo_type *type, struct to_op *o)
{
    bool is_tuple = hlo_type_is_tuple(type);
    int count = is_tuple ? type->part_count : 1;

    o->result = arena_array(t->arena, (size_t)count + 1, sizeof(*o->result));
    o->result_count = count;
    for (int k = 0; k < count; k++)
        o->result[k] = to_type(t, is_tuple ? &type->part[k] : type);
}

void to_begin(struct to *t, const struct hlo_instruction *i, const char *name, struct to_op *o)
{
    *o = (struct to_op){ .name = name, .from = i, .operand_count = i->operand_count };
    o->operand = arena_array(t->arena, (size_t)i->operand_count + 1, sizeof(*o->operand));
    for (int k = 0; k < i->operand_count; k++)
        o->operand[k] = to_one(t, to_operand(t, i, k));
    set_results(t, i->type, o);
    to_fields(t, i, o);
    to_groups(t, i, o);
    to_extra(t, i, o);
}

static int add_regions(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    o->region_count = hlo_detail(i)->computation_count;
    o->region =
        arena_array(t->arena, (size_t)hlo_detail(i)->computation_count + 1, sizeof(*o->region));
    for (int k = 0; k < hlo_detail(i)->computation_count; k++) {
        if (to_region(t, hlo_detail(i)->computation[k], &o->region[k], "stablehlo.return"))
            return -1;
    }
    return 0;
}

static int plain(struct to *t, const struct hlo_instruction *i, const char *name,
                 struct to_value **v)
{
    struct to_op o;

    to_begin(t, i, name, &o);
    if (add_regions(t, i, &o))
        return -1;
    *v = to_emit(t, &o);
    return 0;
}

static int to_constant(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o;

    if (hlo_type_is_tuple(i->type))
        return to_fail(t, i, "StableHLO has no constants that are tuples");
    to_begin(t, i, "stablehlo.constant", &o);
    to_attr(&o, "value", to_literal(t, i->literal));
    *v = to_emit(t, &o);
    (*v)->constant = mlir_op_attr((*v)->one->op, "value");
    return 0;
}

static int to_tuple(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    *v = new_value(t, i->type);
    (*v)->part_count = i->operand_count;
    (*v)->part = arena_array(t->arena, (size_t)i->operand_count + 1, sizeof(*(*v)->part));
    for (int k = 0; k < i->operand_count; k++)
        (*v)->part[k] = to_operand(t, i, k);
    return 0;
}

static int to_get_tuple_element(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    *v = to_part(t, to_operand(t, i, 0), (int)i->index);
    return 0;
}

static int to_broadcast(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o;

    to_begin(t, i, "stablehlo.broadcast_in_dim", &o);
    to_attr(&o, "broadcast_dimensions", to_ints(t, hlo_detail(i)->dims));
    *v = to_emit(t, &o);
    return 0;
}

static int to_dot(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    return plain(t, i, "stablehlo.dot_general", v);
}

static int to_ragged_dot(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    return plain(t, i, "chlo.ragged_dot", v);
}

static int to_copy(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    if (hlo_type_is_tuple(i->type)) {
        *v = to_operand(t, i, 0);
        return 0;
    }
    return plain(t, i, "mhlo.copy", v);
}

static int to_after_all(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    return plain(t, i, i->operand_count ? "stablehlo.after_all" : "stablehlo.create_token", v);
}

/* the shape as a third operand */
static int to_rng(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    const int64_t rank = i->type->rank;
    const struct mlir_type *i64 = mlir_scalar_type(t->arena, "i64", 3);
    const struct mlir_type *type = mlir_tensor_type(t->arena, i64, 1, &rank, NULL);
    struct to_op shape = { .name = "stablehlo.constant", .result = &type, .result_count = 1 }, o;
    const int64_t *dims = rank ? i->type->dim : &rank;

    to_attr(&shape, "value", mlir_dense(t->arena, type, dims, false));
    struct mlir_op *made = to_make(t, &shape);
    to_begin(t, i, "stablehlo.rng", &o);
    const struct mlir_value **x = arena_array(t->arena, 3, sizeof(*x));
    x[0] = o.operand[0];
    x[1] = o.operand[1];
    x[2] = &made->result[0];
    o.operand = x;
    o.operand_count = 3;
    *v = to_emit(t, &o);
    return 0;
}

static int to_barrier(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_value *state = to_operand(t, i, 0);
    int count = hlo_type_is_tuple(i->type) ? i->type->part_count : 1;
    struct to_op o = { .name = "stablehlo.optimization_barrier", .from = i,
                       .operand_count = count };

    o.operand = arena_array(t->arena, (size_t)count + 1, sizeof(*o.operand));
    for (int k = 0; k < count; k++)
        o.operand[k] = to_one(t, hlo_type_is_tuple(i->type) ? to_part(t, state, k) : state);
    set_results(t, i->type, &o);
    to_extra(t, i, &o);
    *v = to_emit(t, &o);
    return 0;
}

static int to_top_k(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o;

    to_begin(t, i, hlo_detail(i)->is_largest ? "chlo.top_k" : "mhlo.topk", &o);
    to_attr(&o, "k", to_i64(t, i->index));
    if (!hlo_detail(i)->is_largest)
        to_attr(&o, "largest", mlir_bool(t->arena, false));
    *v = to_emit(t, &o);
    return 0;
}

static int to_all_to_all(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o;

    if (hlo_detail(i)->dims.count != 3)
        return to_fail(t, i, "StableHLO has no all-to-all of tuples");
    to_begin(t, i, "stablehlo.all_to_all", &o);
    to_attr(&o, "concat_dimension", to_i64(t, hlo_detail(i)->dims.item[1]));
    to_attr(&o, "split_count", to_i64(t, hlo_detail(i)->dims.item[2]));
    to_attr(&o, "split_dimension", to_i64(t, hlo_detail(i)->dims.item[0]));
    *v = to_emit(t, &o);
    return 0;
}

static const struct mlir_attr *symbol(struct to *t, int computation)
{
    const char *name = t->m->computation[computation].name;
    return mlir_symbol(t->arena, name, strlen(name));
}

static int to_composite(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    const char *attributes = to_pair(&hlo_detail(i)->frontend, "composite.attributes");
    const char *version = to_pair(&hlo_detail(i)->frontend, "composite.version");
    int64_t number = version && version[0] == '"' ? version[1] - '0' : 0;
    struct to_op o;

    to_begin(t, i, "stablehlo.composite", &o);
    to_attr(&o, "name",
            mlir_string(t->arena, hlo_detail(i)->target, strlen(hlo_detail(i)->target)));
    if (attributes && strcmp(attributes, "{}"))
        to_attr(&o, "composite_attributes", to_kept(t, attributes));
    to_attr(&o, "decomposition", symbol(t, hlo_detail(i)->computation[0]));
    if (number > 0 && number < 10)
        to_attr(&o, "version", mlir_integer(t->arena, number, mlir_scalar_type(t->arena, "i32", 3)));
    *v = to_emit(t, &o);
    return 0;
}

static int to_call(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    struct to_op o;

    if (hlo_detail(i)->target)
        return to_composite(t, i, v);
    to_begin(t, i, "func.call", &o);
    to_attr(&o, "callee", symbol(t, hlo_detail(i)->computation[0]));
    *v = to_emit(t, &o);
    return 0;
}

static void add_api_version(struct to *t, const struct hlo_instruction *i, struct to_op *o)
{
    static const char *const names[] = { "API_VERSION_STATUS_RETURNING",
                                         "API_VERSION_STATUS_RETURNING_UNIFIED",
                                         "API_VERSION_TYPED_FFI" };
    const char *version = to_pair(&hlo_detail(i)->other, "api_version");

    for (int k = 0; version && k < 3; k++) {
        if (!strcmp(version, names[k]))
            to_attr(o, "api_version",
                    mlir_integer(t->arena, k + 2, mlir_scalar_type(t->arena, "i32", 3)));
    }
}

/* functions of StableHLO's tests that run beside each other */
static int to_run_parallel(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    const char *programs = to_pair(&hlo_detail(i)->frontend, "programs");
    struct to_op o;

    to_begin(t, i, hlo_detail(i)->target, &o);
    const struct mlir_attr *table = to_kept(t, programs ? programs : "[]");
    const struct mlir_attr **row = arena_array(t->arena, (size_t)table->count + 1, sizeof(*row));
    int next = 0;
    for (int r = 0; r < table->count; r++) {
        const struct mlir_attr **item =
            arena_array(t->arena, (size_t)table->item[r]->count + 1, sizeof(*item));
        for (int k = 0; k < table->item[r]->count && next < hlo_detail(i)->computation_count; k++)
            item[k] = symbol(t, hlo_detail(i)->computation[next++]);
        row[r] = mlir_array(t->arena, table->item[r]->count, item);
    }
    to_attr(&o, "programs", mlir_array(t->arena, table->count, row));
    *v = to_emit(t, &o);
    return 0;
}

static int to_custom_call(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    const struct mlir_attr **called =
        arena_array(t->arena, (size_t)hlo_detail(i)->computation_count + 1, sizeof(*called));
    struct to_op o;

    if (!strcmp(hlo_detail(i)->target, "interpreter.run_parallel"))
        return to_run_parallel(t, i, v);
    to_begin(t, i, "stablehlo.custom_call", &o);
    to_attr(&o, "call_target_name",
            mlir_string(t->arena, hlo_detail(i)->target, hlo_detail(i)->target_bytes));
    add_api_version(t, i, &o);
    if (hlo_detail(i)->config)
        to_attr(&o, "backend_config", to_kept(t, hlo_detail(i)->config));
    if (to_pair(&hlo_detail(i)->other, "custom_call_has_side_effect"))
        to_attr(&o, "has_side_effect", mlir_bool(t->arena, true));
    for (int k = 0; k < hlo_detail(i)->computation_count; k++)
        called[k] = symbol(t, hlo_detail(i)->computation[k]);
    if (hlo_detail(i)->computation_count)
        to_attr(&o, "called_computations",
                mlir_array(t->arena, hlo_detail(i)->computation_count, called));
    *v = to_emit(t, &o);
    return 0;
}

/* whose groups stand in its configuration */
static int to_ragged_all_to_all(struct to *t, const struct hlo_instruction *i,
                                struct to_value **v)
{
    static const char name[] = "ragged_all_to_all";
    struct to_op o;

    to_begin(t, i, "stablehlo.custom_call", &o);
    to_attr(&o, "api_version", mlir_integer(t->arena, 4, mlir_scalar_type(t->arena, "i32", 3)));
    to_attr(&o, "backend_config", to_devices_told(t, hlo_detail(i)->groups));
    to_attr(&o, "call_target_name", mlir_string(t->arena, name, strlen(name)));
    *v = to_emit(t, &o);
    return 0;
}

static const struct special {
    enum hlo_opcode op;
    int (*make)(struct to *t, const struct hlo_instruction *i, struct to_value **v);
} specials[] = {
    { OPCODE_CONSTANT, to_constant },
    { OPCODE_TUPLE, to_tuple },
    { OPCODE_GET_TUPLE_ELEMENT, to_get_tuple_element },
    { OPCODE_BROADCAST, to_broadcast },
    { OPCODE_DOT, to_dot },
    { OPCODE_RAGGED_DOT, to_ragged_dot },
    { OPCODE_COPY, to_copy },
    { OPCODE_AFTER_ALL, to_after_all },
    { OPCODE_RNG, to_rng },
    { OPCODE_OPT_BARRIER, to_barrier },
    { OPCODE_TOPK, to_top_k },
    { OPCODE_ALL_TO_ALL, to_all_to_all },
    { OPCODE_RAGGED_ALL_TO_ALL, to_ragged_all_to_all },
    { OPCODE_CALL, to_call },
    { OPCODE_CUSTOM_CALL, to_custom_call },
    { OPCODE_WHILE, to_while },
    { OPCODE_CONDITIONAL, to_conditional },
    { OPCODE_INFEED, to_infeed },
    { OPCODE_OUTFEED, to_outfeed },
    { OPCODE_SEND, to_send },
    { OPCODE_SEND_DONE, to_done },
    { OPCODE_RECV, to_recv },
    { OPCODE_RECV_DONE, to_done },
};

int to_instruction(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    const char *name = hlo_opcode_stablehlo_name(i->op);

    for (size_t k = 0; k < sizeof(specials) / sizeof(specials[0]); k++) {
        if (specials[k].op == i->op)
            return specials[k].make(t, i, v);
    }
    if (!name)
        return to_fail(t, i, "%s (%s) cannot be written as StableHLO", hlo_name(i),
                       hlo_opcode_name(i->op));
    return plain(t, i, name, v);
}
