/* Pretty forms of reductions and loops, whose regions take arguments from the text before them. */
#include "import/mlir/text.h"

#include <string.h>

/* `(%x init: %c), (%y init: %d)`: inputs, then initial values, onto the operands */
static int read_inputs(struct mlir_reader *r)
{
    size_t mark = r->operands.count;

    do {
        const struct mlir_value *x, *init;
        if (mlir_expect(r, "(") || !(x = mlir_read_operand(r)) || mlir_expect(r, "init") ||
            mlir_expect(r, ":") || !(init = mlir_read_operand(r)) || mlir_expect(r, ")")) return -1;
        MLIR_PUSH(r->operands, x);
        MLIR_PUSH(r->inits, init);
    } while (mlir_accept(r, ","));
    size_t count = r->operands.count - mark;
    for (size_t i = 0; i < count; i++)
        MLIR_PUSH(r->operands, r->inits.item[r->inits.count - count + i]);
    r->inits.count -= count;
    return 0;
}

static const struct mlir_type *scalar_of(struct mlir_reader *r, const struct mlir_type *t)
{
    return t->kind == MLIR_TENSOR ? mlir_tensor_type(r->arena, t->item, 0, NULL, NULL) : t;
}

/* the region that `applies stablehlo.add` stands for: one operation of two scalars */
static void make_applied(struct mlir_reader *r, struct mlir_draft *d, const char *name)
{
    const struct mlir_type *t = scalar_of(r, r->operands.item[d->operand_mark]->type);
    struct mlir_block *b = arena_alloc(r->arena, sizeof(*b));
    struct mlir_op *op = arena_array(r->arena, 2, sizeof(*op));
    const struct mlir_value **use = arena_array(r->arena, 3, sizeof(*use));

    b->argument_count = 2;
    b->argument = arena_array(r->arena, 2, sizeof(*b->argument));
    for (int i = 0; i < 2; i++) {
        b->argument[i] = (struct mlir_value){.id = mlir_new_value(r), .type = t, .index = i};
        use[i] = &b->argument[i];
    }
    struct mlir_value *sum = arena_alloc(r->arena, sizeof(*sum));
    *sum = (struct mlir_value){.id = mlir_new_value(r), .type = t, .op = &op[0]};
    use[2] = sum;
    op[0] = (struct mlir_op){.name = name, .operand_count = 2, .operand = use, .result_count = 1,
                             .result = sum, .line = d->line, .col = d->col};
    op[1] = (struct mlir_op){.name = "stablehlo.return", .operand_count = 1, .operand = use + 2,
                             .line = d->line, .col = d->col};
    b->op_count = 2;
    b->op = arena_array(r->arena, 2, sizeof(*b->op));
    b->op[0] = &op[0];
    b->op[1] = &op[1];
    MLIR_PUSH(r->regions, ((struct mlir_region){1, b}));
}

static int read_pair_member(struct mlir_reader *r)
{
    struct mlir_span name;
    struct mlir_value v = {0};

    if (mlir_expect(r, "%") || mlir_read_suffix(r, &name) || mlir_expect(r, ":")) return -1;
    if (!(v.type = mlir_read_type(r)) || mlir_read_location(r, &v.location)) return -1;
    MLIR_PUSH(r->values, v);
    MLIR_PUSH(r->value_names, name);
    return 0;
}

/* `reducer(%a: t, %b: t) (%c: t, %d: t) {..}`: arguments a, c, b, d */
static int read_reducer(struct mlir_reader *r)
{
    size_t mark = r->values.count, names = r->value_names.count;

    do {
        if (mlir_expect(r, "(") || read_pair_member(r) || mlir_expect(r, ",") ||
            read_pair_member(r) || mlir_expect(r, ")")) return -1;
    } while (mlir_peek(r, "("));
    size_t count = r->values.count - mark, half = count / 2;
    struct mlir_value *argument = arena_array(r->arena, count, sizeof(*argument));
    struct mlir_span *name = arena_array(r->arena, count, sizeof(*name));
    for (size_t i = 0; i < count; i++) {
        size_t to = i / 2 + (i % 2) * half;
        argument[to] = r->values.item[mark + i];
        name[to] = r->value_names.item[names + i];
    }
    r->values.count = mark;
    r->value_names.count = names;
    struct mlir_region g;
    if (mlir_read_region_with(r, &g, (int)count, name, argument)) return -1;
    MLIR_PUSH(r->regions, g);
    return 0;
}

int mlir_form_reduce(struct mlir_reader *r, struct mlir_draft *d)
{
    struct mlir_span inner = {0};

    if (read_inputs(r)) return -1;
    if (mlir_accept(r, "applies") && mlir_read_word(r, &inner)) return -1;
    if (mlir_expect(r, "across") || mlir_expect(r, "dimensions") || mlir_expect(r, "=") ||
        mlir_add_attr(r, "dimensions", mlir_read_ints(r))) return -1;
    if (mlir_peek(r, "{") && mlir_read_attr_dict(r)) return -1;
    if (mlir_expect(r, ":") || mlir_read_functional(r, d)) return -1;
    if (inner.bytes) {
        if (r->operands.count - d->operand_mark != 2)
            return mlir_fail(r, "an operation that is applied has one input");
        make_applied(r, d, mlir_text_copy(r->arena, inner.data, inner.bytes).data);
        return 0;
    }
    return mlir_expect(r, "reducer") ? -1 : read_reducer(r);
}

/* `(%iterArg = %x, ..)`: operands, and names for the regions' arguments */
static int read_carried(struct mlir_reader *r)
{
    if (mlir_expect(r, "(")) return -1;
    if (mlir_accept(r, ")")) return 0;
    do {
        struct mlir_span name;
        const struct mlir_value *v;
        if (mlir_expect(r, "%") || mlir_read_suffix(r, &name) || mlir_expect(r, "=") ||
            !(v = mlir_read_operand(r))) return -1;
        MLIR_PUSH(r->operands, v);
        MLIR_PUSH(r->value_names, name);
    } while (mlir_accept(r, ","));
    return mlir_expect(r, ")");
}

static int read_loop_region(struct mlir_reader *r, struct mlir_draft *d, const char *keyword,
                            size_t names)
{
    size_t count = r->signature.count - d->signature_mark;
    struct mlir_value *argument = arena_array(r->arena, count + 1, sizeof(*argument));
    struct mlir_region g;

    for (size_t i = 0; i < count; i++)
        argument[i].type = r->signature.item[d->signature_mark + i];
    if (mlir_expect(r, keyword)) return -1;
    struct mlir_span *name = arena_copy(r->arena, r->value_names.item + names, count, sizeof(*name));
    if (mlir_read_region_with(r, &g, (int)count, name, argument)) return -1;
    MLIR_PUSH(r->regions, g);
    return 0;
}

int mlir_form_while(struct mlir_reader *r, struct mlir_draft *d)
{
    size_t names = r->value_names.count;

    if (read_carried(r)) return -1;
    if (mlir_accept(r, ":") && mlir_read_signature(r, d, MLIR_RESULTS_EACH)) return -1;
    size_t count = r->signature.count - d->signature_mark;
    if (count != r->operands.count - d->operand_mark)
        return mlir_fail(r, "a loop has %zu values and %zu types", r->operands.count - d->operand_mark,
                         count);
    if (mlir_accept(r, "attributes") && mlir_read_attr_dict(r)) return -1;
    if (mlir_read_location(r, &d->location)) return -1;
    if (read_loop_region(r, d, "cond", names) || read_loop_region(r, d, "do", names)) return -1;
    r->value_names.count = names;
    return 0;
}
