/* Computations as regions and functions. */
#include "import/stablehlo/to.h"

#include <string.h>

/* what is set aside while another block is written */
struct block_state {
    struct mlir_op **op;
    size_t op_count, op_room;
    const struct hlo_computation *c;
    struct to_value **value;
};

static struct block_state begin_block(struct to *t, int computation)
{
    struct block_state was = { t->op, t->op_count, t->op_room, t->c, t->value };

    t->op = NULL;
    t->op_count = t->op_room = 0;
    t->c = &t->m->computation[computation];
    t->value = arena_array(t->arena, (size_t)t->c->count + 1, sizeof(*t->value));
    t->depth++;
    return was;
}

static void end_block(struct to *t, struct block_state was, struct mlir_block *b)
{
    b->op_count = (int)t->op_count;
    b->op = arena_take(t->arena, t->op, t->op_count, sizeof(*t->op));
    t->op = was.op;
    t->op_count = was.op_count;
    t->op_room = was.op_room;
    t->c = was.c;
    t->value = was.value;
    t->depth--;
}

/* all instructions but the parameters, whose values are there */
static int write_body(struct to *t)
{
    if (t->depth > 2 * HLO_NESTING_MAX)
        return err_set(t->err, "more than %d computations are within each other", HLO_NESTING_MAX);
    for (int k = 0; k < t->c->count; k++) {
        const struct hlo_instruction *i = &t->c->instruction[k];
        if (i->op != OPCODE_PARAMETER && to_instruction(t, i, &t->value[k]))
            return -1;
    }
    return 0;
}

/* `stablehlo.return` of the first `count` elements of the root, or of it; count -1: all of it */
static void write_end(struct to *t, const char *name, int count)
{
    struct to_value *root = t->value[t->c->root];
    bool is_tuple = hlo_type_is_tuple(root->type);
    struct mlir_op *op = arena_alloc(t->arena, sizeof(*op));

    if (count < 0)
        count = is_tuple ? root->type->part_count : 1;
    const struct mlir_value **x = arena_array(t->arena, (size_t)count + 1, sizeof(*x));
    for (int k = 0; k < count; k++)
        x[k] = to_one(t, is_tuple ? to_part(t, root, k) : root);
    op->name = name;
    op->operand = x;
    op->operand_count = count;
    MEM_ADD(t->op, t->op_count, t->op_room) = op;
}

static struct to_value *argument_value(struct to *t, const struct mlir_value *v,
                                       const struct hlo_type *type)
{
    struct to_value *made = arena_alloc(t->arena, sizeof(*made));
    made->one = v;
    made->type = type;
    return made;
}

/* a block's argument for each parameter */
static void add_arguments(struct to *t, struct mlir_block *b)
{
    b->argument_count = t->c->parameter_count;
    b->argument = arena_array(t->arena, (size_t)b->argument_count + 1, sizeof(*b->argument));
    for (int k = 0; k < b->argument_count; k++) {
        const struct hlo_instruction *i = &t->c->instruction[t->c->parameter[k]];
        b->argument[k] = (struct mlir_value){ .id = t->tree->value_count++, .index = k,
                                              .type = to_type(t, i->type),
                                              .location = to_place(t, hlo_place_of(i)) };
        t->value[t->c->parameter[k]] = argument_value(t, &b->argument[k], i->type);
    }
}

static struct mlir_block *new_block(struct to *t, struct mlir_region *g)
{
    g->block_count = 1;
    g->block = arena_alloc(t->arena, sizeof(*g->block));
    return g->block;
}

int to_region(struct to *t, int computation, struct mlir_region *g, const char *end)
{
    struct mlir_block *b = new_block(t, g);
    struct block_state was = begin_block(t, computation);

    add_arguments(t, b);
    int status = write_body(t);
    if (!status)
        write_end(t, end, -1);
    end_block(t, was, b);
    return status;
}

/* types of a loop's values: the elements of its tuple, or the one that it has */
static const struct hlo_type *carried(const struct hlo_type *t, int k)
{
    return hlo_type_is_tuple(t) ? &t->part[k] : t;
}

static int carried_count(const struct hlo_type *t)
{
    return hlo_type_is_tuple(t) ? t->part_count : 1;
}

/* of a loop: its one parameter's elements are the block's arguments */
static int loop_region(struct to *t, int computation, struct mlir_region *g)
{
    struct mlir_block *b = new_block(t, g);
    struct block_state was = begin_block(t, computation);
    int parameter = t->c->parameter[0];
    const struct hlo_type *type = t->c->instruction[parameter].type;
    struct to_value *v = argument_value(t, NULL, type);

    b->argument_count = v->part_count = carried_count(type);
    b->argument = arena_array(t->arena, (size_t)b->argument_count + 1, sizeof(*b->argument));
    v->part = arena_array(t->arena, (size_t)b->argument_count + 1, sizeof(*v->part));
    for (int k = 0; k < b->argument_count; k++) {
        b->argument[k] = (struct mlir_value){ .id = t->tree->value_count++, .index = k,
                                              .type = to_type(t, carried(type, k)) };
        v->part[k] = argument_value(t, &b->argument[k], carried(type, k));
    }
    t->value[parameter] = hlo_type_is_tuple(type) ? v : v->part[0];
    int status = write_body(t);
    if (!status)
        write_end(t, "stablehlo.return", -1);
    end_block(t, was, b);
    return status;
}

int to_while(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    int count = carried_count(i->type);
    struct to_op o = { .name = "stablehlo.while", .from = i, .region_count = 2,
                       .operand_count = count, .result_count = count };
    struct to_value *state = to_operand(t, i, 0);

    o.operand = arena_array(t->arena, (size_t)count + 1, sizeof(*o.operand));
    o.result = arena_array(t->arena, (size_t)count + 1, sizeof(*o.result));
    for (int k = 0; k < count; k++) {
        o.operand[k] = to_one(t, hlo_type_is_tuple(i->type) ? to_part(t, state, k) : state);
        o.result[k] = to_type(t, carried(i->type, k));
    }
    to_extra(t, i, &o);
    o.region = arena_array(t->arena, 2, sizeof(*o.region));
    if (loop_region(t, hlo_detail(i)->computation[1], &o.region[0]) ||
        loop_region(t, hlo_detail(i)->computation[0], &o.region[1]))
        return -1;
    *v = to_emit(t, &o);
    return 0;
}

/* a value as it is seen in a region: constants are written there again where they are used */
static struct to_value *seen_within(struct to *t, const struct to_value *v)
{
    struct to_value *made = arena_copy(t->arena, v, 1, sizeof(*v));

    if (v->constant)
        made->one = NULL;
    if (!v->part)
        return made;
    made->one = NULL;
    made->part = arena_array(t->arena, (size_t)v->part_count + 1, sizeof(*made->part));
    for (int k = 0; k < v->part_count; k++)
        made->part[k] = seen_within(t, v->part[k]);
    return made;
}

/* a branch has no arguments: its parameter is the operand outside */
static int branch_region(struct to *t, int computation, struct to_value *operand,
                         struct mlir_region *g)
{
    struct mlir_block *b = new_block(t, g);
    struct to_value *inner = seen_within(t, operand);
    struct block_state was = begin_block(t, computation);

    t->value[t->c->parameter[0]] = inner;
    int status = write_body(t);
    if (!status)
        write_end(t, "stablehlo.return", -1);
    end_block(t, was, b);
    return status;
}

int to_conditional(struct to *t, const struct hlo_instruction *i, struct to_value **v)
{
    bool is_tuple = hlo_type_is_tuple(i->type);
    int count = is_tuple ? i->type->part_count : 1;
    const struct mlir_value *index = to_one(t, to_operand(t, i, 0));
    struct to_op o = {.name = hlo_detail(i)->is_predicated ? "stablehlo.if" : "stablehlo.case",
                      .from = i,
                      .operand_count = 1,
                      .region_count = hlo_detail(i)->computation_count,
                      .result_count = count};

    o.operand = arena_copy(t->arena, &index, 1, sizeof(index));
    o.result = arena_array(t->arena, (size_t)count + 1, sizeof(*o.result));
    for (int k = 0; k < count; k++)
        o.result[k] = to_type(t, is_tuple ? &i->type->part[k] : i->type);
    to_extra(t, i, &o);
    o.region = arena_array(t->arena, (size_t)o.region_count + 1, sizeof(*o.region));
    for (int k = 0; k < o.region_count; k++) {
        if (branch_region(t, hlo_detail(i)->computation[k], to_operand(t, i, k + 1), &o.region[k]))
            return -1;
    }
    *v = to_emit(t, &o);
    return 0;
}

/* what stands with each parameter: a dictionary, empty if nothing */
static const struct mlir_attr *argument_dicts(struct to *t, const struct hlo_computation *c)
{
    const struct mlir_attr **item =
        arena_array(t->arena, (size_t)c->parameter_count + 1, sizeof(*item));
    bool is_said = false;

    for (int k = 0; k < c->parameter_count; k++) {
        struct to_op o = { .attr_count = 0 };
        to_extra(t, &c->instruction[c->parameter[k]], &o);
        item[k] = mlir_dictionary(t->arena, o.attr_count, o.attr);
        is_said = is_said || o.attr_count;
    }
    return is_said ? mlir_array(t->arena, c->parameter_count, item) : NULL;
}

/* the results' dictionaries as they were read, or the shardings of a root that is a tuple */
static const struct mlir_attr *result_dicts(struct to *t, const struct hlo_computation *c, int count)
{
    const struct hlo_instruction *root = &c->instruction[c->root];
    const char *kept = to_pair(&hlo_detail(root)->other, "res_attrs");
    const struct mlir_attr **item = arena_array(t->arena, (size_t)count + 1, sizeof(*item));

    if (kept)
        return to_kept(t, kept);
    if (root->op != OPCODE_TUPLE || hlo_detail(root)->sharding_count != count || count < 2)
        return NULL;
    for (int k = 0; k < count; k++) {
        struct hlo_instruction one = {
            .detail = &(struct hlo_detail){.sharding = &hlo_detail(root)->sharding[k],
                                           .sharding_count = 1}};
        struct to_op o = { .attr_count = 0 };
        to_extra(t, &one, &o);
        item[k] = mlir_dictionary(t->arena, o.attr_count, o.attr);
    }
    return mlir_array(t->arena, count, item);
}

static const struct mlir_attr *function_type(struct to *t, const struct mlir_block *b)
{
    const struct mlir_op *end = b->op[b->op_count - 1];
    const struct mlir_type **in = arena_array(t->arena, (size_t)b->argument_count + 1, sizeof(*in));
    const struct mlir_type **out = arena_array(t->arena, (size_t)end->operand_count + 1, sizeof(*out));

    for (int k = 0; k < b->argument_count; k++)
        in[k] = b->argument[k].type;
    for (int k = 0; k < end->operand_count; k++)
        out[k] = end->operand[k]->type;
    return mlir_type_attr(t->arena, mlir_function_type(t->arena, b->argument_count, in,
                                                       end->operand_count, out));
}

int to_function(struct to *t, int computation, struct mlir_op **made)
{
    const struct hlo_computation *c = &t->m->computation[computation];
    bool is_entry = computation == t->m->entry;
    const char *visibility = is_entry ? "public" : "private";
    struct to_op o = { .name = "func.func" };
    struct mlir_region *g = arena_alloc(t->arena, sizeof(*g));
    struct mlir_op *op = arena_alloc(t->arena, sizeof(*op));

    if (to_region(t, computation, g, "func.return"))
        return -1;
    const struct mlir_block *b = &g->block[0];
    to_attr(&o, "sym_name", mlir_string(t->arena, c->name, strlen(c->name)));
    to_attr(&o, "function_type", function_type(t, b));
    to_attr(&o, "sym_visibility", mlir_string(t->arena, visibility, strlen(visibility)));
    const struct mlir_attr *in = argument_dicts(t, c);
    const struct mlir_attr *out = result_dicts(t, c, b->op[b->op_count - 1]->operand_count);
    if (in)
        to_attr(&o, "arg_attrs", in);
    if (out)
        to_attr(&o, "res_attrs", out);
    *op = (struct mlir_op){ .name = "func.func", .region_count = 1, .region = g,
                            .attr_count = o.attr_count };
    op->attr = arena_copy(t->arena, o.attr, (size_t)o.attr_count, sizeof(*o.attr));
    *made = op;
    return 0;
}
