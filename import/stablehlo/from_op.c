/* Operations by their names: most are one instruction with the same operands. */
#include "import/stablehlo/from.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VALUES_FIRST 1000               /* of a text all are known at once */

static const struct special {
    const char *name;
    int (*make)(struct from *f, const struct mlir_op *op);
} specials[] = {
#define SPECIAL(name, function) { name, from_##function },
#include "import/stablehlo/special.def"
};

int from_fail(struct from *f, const struct mlir_op *op, const char *fmt, ...)
{
    char msg[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg, sizeof(msg), fmt, args);
    va_end(args);
    return err_at(f->err, f->tree->file, op->line, op->col, "%s: %s", op->name, msg);
}

void from_location(struct from *f, const struct mlir_attr *location)
{
    struct from_place *kept;
    struct hlo_place p;

    if (!location || location->location == MLIR_LOCATION_PLACE) {
        f->b.place = location ? location->data : NULL;
        return;
    }
    if (!f->places)
        f->places = mem_alloc(FROM_PLACES * sizeof(*f->places));
    kept = &f->places[(uintptr_t)location / sizeof(*location) % FROM_PLACES];
    if (kept->location != location) {
        mlir_place_of(f->arena, location, &p);
        *kept = (struct from_place){location, hlo_place_keep(f->arena, &p, f->b.place)};
    }
    f->b.place = kept->place;
}

void from_place(struct from *f, const struct mlir_op *op)
{
    if (op->place)
        f->b.place = op->place == &hlo_nowhere ? NULL : op->place;
    else
        from_location(f, op->location);
    f->b.line = op->line;
    f->b.col = op->col;
}

void from_know_values(struct from *f)
{
    size_t wanted = (size_t)f->tree->value_count + 1;

    if (!f->value && wanted > VALUES_FIRST)
        f->value = mem_alloc((f->value_capacity = wanted) * sizeof(*f->value));
    f->value = mem_grow(f->value, &f->value_capacity, wanted, sizeof(*f->value));
    while (f->value_count < f->tree->value_count)
        f->value[f->value_count++].computation = -1;
    f->value_count = f->tree->value_count;
}

#define SCRATCH_BYTES (8u * 1024u)      /* so much may gather */

void from_clear_scratch(struct from *f)
{
    if (f->scratch->used_bytes < SCRATCH_BYTES)
        return;
    arena_fini(f->scratch);
    arena_init(f->scratch);
    arena_pack(f->scratch, true);
}

void from_define(struct from *f, const struct mlir_value *v, int index)
{
    f->value[v->id] = (struct from_value){ f->b.computation, index };
}

int from_operand(struct from *f, const struct mlir_op *op, const struct mlir_value *v)
{
    struct from_value at = f->value[v->id];
    const struct hlo_literal *l;

    if (at.computation == f->b.computation)
        return at.index;
    if (!from_constant_of(v))
        return from_fail(f, op, at.computation < 0
                             ? "it uses a value before its definition"
                             : "its region uses a value from around it, which only while, case and "
                               "if may");
    if (from_literal(f, op, mlir_op_attr(v->op, "value"), &l))
        return -1;
    return hlo_constant_literal(&f->b, l);
}

int *from_operands(struct from *f, const struct mlir_op *op)
{
    int *x = arena_array(f->scratch, (size_t)op->operand_count + 1, sizeof(*x));

    for (int i = 0; i < op->operand_count; i++) {
        if ((x[i] = from_operand(f, op, op->operand[i])) < 0)
            return NULL;
    }
    return x;
}

void from_define_elements(struct from *f, const struct mlir_op *op, int tuple)
{
    for (int n = 0; n < op->result_count; n++)
        from_define(f, &op->result[n], hlo_tuple_element(&f->b, tuple, n));
}

int from_finish(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    if (from_extra(f, op, i))
        return -1;
    i->place = f->b.place;
    i->line = op->line;
    i->col = hlo_column(op->col);
    int index = hlo_add(f->m, f->b.computation, i);
    if (op->result_count == 1)
        from_define(f, &op->result[0], index);
    else
        from_define_elements(f, op, index);
    return 0;
}

/* scalars among the operands of select and clamp count for all elements */
static void spread_scalars(struct from *f, struct hlo_instruction *i, int *x)
{
    for (int k = 0; k < i->operand_count; k++) {
        if (hlo_type_of(&f->b, x[k])->rank == 0 && i->type->rank > 0)
            x[k] = hlo_splat(&f->b, x[k], i->type);
    }
}

/* how many operands an opcode takes, unless that varies */
static int check_arity(struct from *f, const struct mlir_op *op, enum hlo_opcode opcode)
{
    int arity = hlo_opcode_arity(opcode);

    if (arity >= 0 && arity != op->operand_count)
        return from_fail(f, op, "it has %d operands and not %d", op->operand_count, arity);
    return 0;
}

static int make_regions(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    int *made = arena_array(f->scratch, (size_t)op->region_count + 1, sizeof(*made));
    int wanted = hlo_opcode_computations(i->op);

    if (wanted >= 0 && wanted != op->region_count)
        return from_fail(f, op, "it has %d regions and not %d", op->region_count, wanted);
    for (int r = 0; r < op->region_count; r++) {
        if ((made[r] = from_region(f, op, &op->region[r], strrchr(op->name, '.') + 1)) < 0)
            return -1;
    }
    i->detail->computation_count = op->region_count;
    i->detail->computation = made;
    return 0;
}

/* HLO counts a dimension from the front, StableHLO's sort may count it from behind */
static void count_from_front(struct hlo_instruction *i, const struct mlir_op *op)
{
    int64_t *d = (int64_t *)(uintptr_t)hlo_detail(i)->dims.item;

    if (i->op == OPCODE_SORT && d[0] < 0 && op->operand_count)
        d[0] += op->operand[0]->type->rank;
}

int from_plain(struct from *f, const struct mlir_op *op, enum hlo_opcode opcode)
{
    struct hlo_instruction i = { .op = opcode, .detail = HLO_NEW_DETAIL };
    int *x;

    if (check_arity(f, op, opcode) || from_attributes(f, op, &i) || make_regions(f, op, &i) ||
        from_result_type(f, op, &i.type) || !(x = from_operands(f, op)))
        return -1;
    i.operand = x;
    i.operand_count = op->operand_count;
    if (opcode == OPCODE_SELECT || opcode == OPCODE_CLAMP)
        spread_scalars(f, &i, x);
    count_from_front(&i, op);
    return from_finish(f, op, &i);
}

/* "mhlo.add" is "stablehlo.add", and what one dialect has not may be the other's */
static enum hlo_opcode opcode_of(const char *name)
{
    static const char *const dialects[] = { "stablehlo", "chlo" };
    const char *dot = strchr(name, '.');
    char other[80];
    enum hlo_opcode op = hlo_opcode_find_stablehlo(name, strlen(name));

    if (!dot || (strncmp(name, "stablehlo.", 10) && strncmp(name, "chlo.", 5) &&
                 strncmp(name, "mhlo.", 5)))
        return op;
    for (int k = 0; k < 2 && op == OPCODE_COUNT; k++) {
        snprintf(other, sizeof(other), "%s%s", dialects[k], dot);
        op = hlo_opcode_find_stablehlo(other, strlen(other));
    }
    return op;
}

static const struct special *special_of(const char *name)
{
    bool is_mhlo = !strncmp(name, "mhlo.", 5);

    for (size_t k = 0; k < sizeof(specials) / sizeof(specials[0]); k++) {
        if (!strcmp(specials[k].name, name))
            return &specials[k];
        if (is_mhlo && !strncmp(specials[k].name, "stablehlo.", 10) &&
            !strcmp(specials[k].name + 10, name + 5))
            return &specials[k];
    }
    return NULL;
}

static int unknown(struct from *f, const struct mlir_op *op)
{
    const char *names[OPCODE_COUNT + sizeof(specials) / sizeof(specials[0])];
    size_t count = 0;

    for (int k = 0; k < OPCODE_COUNT; k++) {
        if (hlo_opcode_stablehlo_name((enum hlo_opcode)k))
            names[count++] = hlo_opcode_stablehlo_name((enum hlo_opcode)k);
    }
    for (size_t k = 0; k < sizeof(specials) / sizeof(specials[0]); k++)
        names[count++] = specials[k].name;
    return err_at(f->err, f->tree->file, op->line, op->col, "no operation \"%s\" is known%s",
                  op->name, text_did_you_mean(op->name, names, count).text);
}

int from_op(struct from *f, const struct mlir_op *op)
{
    const struct special *s = special_of(op->name);
    enum hlo_opcode opcode;

    from_place(f, op);
    if (s)
        return s->make(f, op);
    if (!strncmp(op->name, "check.", 6))
        return from_check(f, op);
    opcode = opcode_of(op->name);
    return opcode == OPCODE_COUNT ? unknown(f, op) : from_plain(f, op, opcode);
}
