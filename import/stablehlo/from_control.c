/*
 * Regions as computations. Those of while, case and if may use values from around them: these
 * become operands, and in the region elements of its parameter.
 */
#include "import/stablehlo/from.h"

#include <string.h>

static bool is_return(const struct mlir_op *op)
{
    const char *dot = strrchr(op->name, '.');

    return dot && !strcmp(dot, ".return");
}

const struct mlir_op *from_terminator(const struct mlir_block *b)
{
    const struct mlir_op *last = b->op_count ? b->op[b->op_count - 1] : NULL;

    return last && is_return(last) ? last : NULL;
}

static const struct mlir_op *no_return(struct from *f, const struct mlir_op *last)
{
    err_at(f->err, f->tree->file, last ? last->line : 0, 0, "a region does not end in return");
    return NULL;
}

/* the same of operations that are read one by one */
static const struct mlir_op *later_ops(struct from *f, struct mlir_later *l)
{
    const struct mlir_op *op = NULL;

    while (l->op_count > 0) {
        op = l->next(l);
        from_know_values(f);
        if (l->is_failed || (l->op_count > 0 && from_op(f, op)))
            return NULL;
    }
    return op && is_return(op) ? op : no_return(f, op);
}

/* all but the return, which comes back; NULL after a mistake */
static const struct mlir_op *block_ops(struct from *f, const struct mlir_block *b)
{
    const struct mlir_op *end = b->later ? later_ops(f, b->later) : from_terminator(b);

    if (!end && !b->later)
        return no_return(f, b->op_count ? b->op[b->op_count - 1] : NULL);
    for (int k = 0; end && k < b->op_count - 1; k++) {
        if (from_op(f, b->op[k]))
            return NULL;
        if (f->depth == f->function_depth)
            from_clear_scratch(f);
    }
    if (end)
        from_place(f, end);
    return end;
}

const struct mlir_op *from_block(struct from *f, const struct mlir_block *b)
{
    const struct mlir_op *end = block_ops(f, b);
    int *x = end ? from_operands(f, end) : NULL;

    if (!x)
        return NULL;
    int root = end->operand_count == 1 ? x[0] : hlo_tuple(&f->b, end->operand_count, x);
    f->m->computation[f->b.computation].root = root;
    return end;
}

/* goes into a new computation; what comes back is where one was, for leave */
static struct hlo_builder enter(struct from *f, const char *name)
{
    struct hlo_builder was = f->b;

    f->b.computation = hlo_add_computation(f->m, name);
    f->depth++;
    return was;
}

static int leave(struct from *f, struct hlo_builder was)
{
    int made = f->b.computation;

    hlo_computation_trim(&f->m->computation[made]);
    f->b = was;
    f->depth--;
    return made;
}

static int check_region(struct from *f, const struct mlir_op *op, const struct mlir_region *g)
{
    if (g->block_count != 1)
        return from_fail(f, op, "a region has %d blocks and not one", g->block_count);
    if (f->depth >= FROM_DEPTH_MAX)
        return from_fail(f, op, "more than %d regions and calls are within each other",
                         FROM_DEPTH_MAX);
    return 0;
}

int from_region(struct from *f, const struct mlir_op *op, const struct mlir_region *g,
                const char *name)
{
    int *known;

    if (check_region(f, op, g))
        return -1;
    known = from_same_region(f, g, name);
    if (known && *known >= 0)
        return *known;
    struct hlo_builder was = enter(f, name);
    const struct mlir_block *b = &g->block[0];
    hlo_computation_reserve(&f->m->computation[f->b.computation], b->argument_count + b->op_count);
    for (int k = 0; k < b->argument_count; k++) {
        struct hlo_type t;
        if (from_type(f, op, b->argument[k].type, &t))
            return -1;
        from_location(f, b->argument[k].location);
        from_define(f, &b->argument[k], hlo_parameter(&f->b, k, &t));
    }
    if (!from_block(f, b))
        return -1;
    int made = leave(f, was);
    known = from_same_region(f, g, name);       /* others may have come in between */
    if (known)
        *known = made;
    return made;
}

/* Values that regions use and that are made around them. */
struct captures {
    const struct mlir_value **item;
    int count;
    size_t room;
    struct from_value *was;             /* where they are around the region */
};

/* Is it known where the region begins? Then it comes from around it; constants are made again. */
static void add_capture(struct from *f, struct captures *c, const struct mlir_value *v)
{
    if (f->value[v->id].computation != f->b.computation || from_constant_of(v))
        return;
    for (int k = 0; k < c->count; k++) {
        if (c->item[k]->id == v->id)
            return;
    }
    MEM_ADD(c->item, c->count, c->room) = v;
}

static void find_captures(struct from *f, struct captures *c, const struct mlir_region *g)
{
    for (int b = 0; b < g->block_count; b++) {
        const struct mlir_later *later = g->block[b].later;

        for (size_t k = 0; later && k < later->used_count; k++)
            add_capture(f, c, later->used[k]);
        for (int k = 0; k < g->block[b].op_count; k++) {
            const struct mlir_op *op = g->block[b].op[k];
            for (int n = 0; n < op->operand_count; n++)
                add_capture(f, c, op->operand[n]);
            for (int r = 0; r < op->region_count; r++)
                find_captures(f, c, &op->region[r]);
        }
    }
}

static void keep(struct from *f, struct captures *c)
{
    c->was = arena_array(f->scratch, (size_t)c->count + 1, sizeof(*c->was));
    for (int k = 0; k < c->count; k++)
        c->was[k] = f->value[c->item[k]->id];
}

static void put_back(struct from *f, const struct captures *c)
{
    for (int k = 0; k < c->count; k++)
        f->value[c->item[k]->id] = c->was[k];
}

/* a block's operations, and as its result a tuple of what it returns and of the captures */
static int kept_result(struct from *f, const struct mlir_block *b, const struct captures *c)
{
    const struct mlir_op *end = block_ops(f, b);

    if (!end)
        return -1;
    int count = end->operand_count + c->count;
    int *x = arena_array(f->scratch, (size_t)count + 1, sizeof(*x));
    for (int k = 0; k < count; k++) {
        bool is_own = k < end->operand_count;
        x[k] = from_operand(f, end, is_own ? end->operand[k] : c->item[k - end->operand_count]);
        if (x[k] < 0)
            return -1;
    }
    f->m->computation[f->b.computation].root = hlo_tuple(&f->b, count, x);
    return 0;
}

/* what stands in a region: its values are those of its tuple, `state` */
static int fill_region(struct from *f, const struct mlir_op *op, const struct mlir_block *b,
                       int state, struct captures *c, bool keeps)
{
    int parts = hlo_type_of(&f->b, state)->part_count;

    if (b->argument_count + c->count != parts)
        return from_fail(f, op, "a region takes %d values and not %d", b->argument_count,
                         parts - c->count);
    for (int k = 0; k < b->argument_count; k++)
        from_define(f, &b->argument[k], hlo_tuple_element(&f->b, state, k));
    for (int k = 0; k < c->count; k++)
        from_define(f, c->item[k], hlo_tuple_element(&f->b, state, b->argument_count + k));
    return (keeps ? kept_result(f, b, c) : from_block(f, b) ? 0 : -1);
}

/* One that is still in the file is opened for as long as its computation is made. */
static int fill_opened(struct from *f, const struct mlir_op *op, struct mlir_block *b, int state,
                       struct captures *c, bool keeps)
{
    struct mlir_later *later = b->later;
    struct arena *was = f->scratch;
    int status = later->open(later, b);

    from_know_values(f);
    f->scratch = &later->arena;
    if (!status) {
        hlo_computation_reserve(&f->m->computation[f->b.computation],
                                b->argument_count + c->count + later->op_count +
                                    later->op_count / 8);
        status = fill_region(f, op, b, state, c, keeps);
    }
    if (later->close(later))
        status = -1;
    from_know_values(f);
    f->scratch = was;
    return status;
}

/*
 * A computation of one tuple: the block's arguments first, captures behind them. Its result is
 * the block's, with the captures behind it if `keeps`.
 */
static int tuple_region(struct from *f, const struct mlir_op *op, const struct mlir_region *g,
                        const char *name, const struct hlo_type *state, struct captures *c,
                        bool keeps)
{
    int *known, parameter;

    if (check_region(f, op, g))
        return -1;
    known = from_same_region(f, g, name);
    if (known && *known >= 0)
        return *known;
    struct hlo_builder was = enter(f, name);
    parameter = hlo_parameter(&f->b, 0, state);
    if (g->block[0].later ? fill_opened(f, op, &g->block[0], parameter, c, keeps)
                          : fill_region(f, op, &g->block[0], parameter, c, keeps))
        return -1;
    put_back(f, c);
    return leave(f, was);
}

static int captured_operands(struct from *f, const struct mlir_op *op, const struct captures *c,
                             int *x)
{
    for (int k = 0; k < c->count; k++) {
        if ((x[k] = from_operand(f, op, c->item[k])) < 0)
            return -1;
    }
    return 0;
}

static int loop(struct from *f, const struct mlir_op *op, struct captures *c)
{
    int count = op->operand_count + c->count;
    int *x = arena_array(f->scratch, (size_t)count + 1, sizeof(*x));

    for (int k = 0; k < op->operand_count; k++) {
        if ((x[k] = from_operand(f, op, op->operand[k])) < 0)
            return -1;
    }
    if (captured_operands(f, op, c, x + op->operand_count))
        return -1;
    int state = hlo_tuple(&f->b, count, x);
    struct hlo_type t = *hlo_type_of(&f->b, state);
    int condition = tuple_region(f, op, &op->region[0], "while_condition", &t, c, false);
    int body = condition < 0 ? -1 : tuple_region(f, op, &op->region[1], "while_body", &t, c, true);
    if (body < 0)
        return -1;
    struct hlo_instruction i = {
        .op = OPCODE_WHILE,
        .type = &t,
        .operand_count = 1,
        .operand = &state,
        .detail =
            &(struct hlo_detail){.computation_count = 2, .computation = (int[]){body, condition}}};
    from_place(f, op);
    if (from_extra(f, op, &i))
        return -1;
    i.place = f->b.place;
    i.line = op->line;
    i.col = hlo_column(op->col);
    from_define_elements(f, op, hlo_add(f->m, f->b.computation, &i));
    return 0;
}

int from_while(struct from *f, const struct mlir_op *op)
{
    struct captures c = { 0 };
    int status;

    if (op->region_count != 2)
        return from_fail(f, op, "it has %d regions and not 2", op->region_count);
    if (op->result_count != op->operand_count)
        return from_fail(f, op, "it has %d operands and %d results", op->operand_count,
                         op->result_count);
    find_captures(f, &c, &op->region[0]);
    find_captures(f, &c, &op->region[1]);
    keep(f, &c);
    status = loop(f, op, &c);
    mem_free(c.item);
    return status;
}

/* one branch: its operand, a tuple of what it captures, and its computation */
static int branch(struct from *f, const struct mlir_op *op, int number, int *operand)
{
    struct captures c = { 0 };
    int made = -1;

    find_captures(f, &c, &op->region[number]);
    keep(f, &c);
    int *x = arena_array(f->scratch, (size_t)c.count + 1, sizeof(*x));
    if (!captured_operands(f, op, &c, x)) {
        *operand = hlo_tuple(&f->b, c.count, x);
        struct hlo_type t = *hlo_type_of(&f->b, *operand);
        made = tuple_region(f, op, &op->region[number], "branch", &t, &c, false);
    }
    mem_free(c.item);
    return made;
}

static int conditional(struct from *f, const struct mlir_op *op, bool is_predicated)
{
    int count = op->region_count;
    int *x = arena_array(f->scratch, (size_t)count + 1, sizeof(*x));
    int *made = arena_array(f->scratch, (size_t)count + 1, sizeof(*made));
    struct hlo_instruction i = {.op = OPCODE_CONDITIONAL,
                                .operand = x,
                                .operand_count = count + 1,
                                .detail = &(struct hlo_detail){.is_predicated = is_predicated,
                                                               .computation = made,
                                                               .computation_count = count}};

    if (op->operand_count != 1 || count < 1 || (is_predicated && count != 2))
        return from_fail(f, op, "it has %d operands and %d regions", op->operand_count, count);
    if ((x[0] = from_operand(f, op, op->operand[0])) < 0)
        return -1;
    for (int n = 0; n < count; n++) {
        if ((made[n] = branch(f, op, n, &x[n + 1])) < 0)
            return -1;
    }
    from_place(f, op);
    return from_result_type(f, op, &i.type) ? -1 : from_finish(f, op, &i);
}

int from_case(struct from *f, const struct mlir_op *op) { return conditional(f, op, false); }
int from_if(struct from *f, const struct mlir_op *op) { return conditional(f, op, true); }
