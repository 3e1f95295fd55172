/* What forms.def has no words for, of operations with regions. */
#include "import/mlir/print.h"

#include <string.h>

static bool has_blocks(const struct mlir_op *op, int regions)
{
    if (op->region_count != regions) return false;
    for (int i = 0; i < regions; i++)
        if (op->region[i].block_count != 1) return false;
    return true;
}

static bool has_text(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    return a && a->kind == MLIR_STRING;
}

bool mlir_can_module(const struct mlir_op *op)
{
    return has_blocks(op, 1) && (!mlir_op_attr(op, "sym_name") || has_text(op, "sym_name"));
}

static void print_symbol(struct mlir_printer *p, const struct mlir_op *op, const char *name)
{
    const struct mlir_attr symbol = {.kind = MLIR_SYMBOL, .text = mlir_op_attr(op, name)->text};
    mlir_print_attr(p->to, &symbol);
}

void mlir_print_module(struct mlir_printer *p, const struct mlir_op *op)
{
    if (mlir_op_attr(op, "sym_name")) {
        fputc(' ', p->to);
        print_symbol(p, op, "sym_name");
    }
    mlir_print_rest(p, op, "sym_name", "attributes ");
    fputc(' ', p->to);
    mlir_print_region(p, &op->region[0], false);
}

static const struct mlir_type *function_type(const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_op_attr(op, "function_type");
    return a && a->kind == MLIR_TYPE && a->type->kind == MLIR_FUNCTION ? a->type : NULL;
}

static bool has_dicts(const struct mlir_op *op, const char *name, int count)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    return !a || (a->kind == MLIR_ARRAY && (a->count == count || a->count == 0));
}

bool mlir_can_func(const struct mlir_op *op)
{
    const struct mlir_type *t = function_type(op);
    bool has_body = has_blocks(op, 1);
    return t && has_text(op, "sym_name") &&
           (!mlir_op_attr(op, "sym_visibility") || has_text(op, "sym_visibility")) &&
           op->region_count == 1 && (has_body || op->region[0].block_count == 0) &&
           (!has_body || op->region[0].block[0].argument_count == t->part_count) &&
           has_dicts(op, "arg_attrs", t->part_count) && has_dicts(op, "res_attrs", t->result_count);
}

static void print_dict(struct mlir_printer *p, const struct mlir_op *op, const char *name, int k)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    if (!a || k >= a->count || a->item[k]->count == 0) return;
    fputc(' ', p->to);
    mlir_print_attr(p->to, a->item[k]);
}

static void print_parameters(struct mlir_printer *p, const struct mlir_op *op,
                             const struct mlir_type *t)
{
    const struct mlir_block *b = op->region[0].block_count ? &op->region[0].block[0] : NULL;

    if (b) mlir_name_arguments(p, b, 'a');
    fputc('(', p->to);
    for (int k = 0; k < t->part_count; k++) {
        if (k) fputs(", ", p->to);
        if (b) {
            mlir_print_use(p, &b->argument[k]);
            fputs(": ", p->to);
        }
        mlir_print_type(p->to, t->part[k]);
        print_dict(p, op, "arg_attrs", k);
        if (!b || !b->argument[k].location || p->o->no_locations) continue;
        fputc(' ', p->to);
        mlir_print_location(p->to, b->argument[k].location);
    }
    fputc(')', p->to);
}

static void print_results(struct mlir_printer *p, const struct mlir_op *op,
                          const struct mlir_type *t)
{
    const struct mlir_attr *dicts = mlir_op_attr(op, "res_attrs");
    bool has_brackets = t->result_count != 1 ||
                        (dicts && dicts->count && dicts->item[0]->count) ||
                        t->result[0]->kind == MLIR_FUNCTION;

    if (t->result_count == 0) return;
    fputs(has_brackets ? " -> (" : " -> ", p->to);
    for (int k = 0; k < t->result_count; k++) {
        if (k) fputs(", ", p->to);
        mlir_print_type(p->to, t->result[k]);
        print_dict(p, op, "res_attrs", k);
    }
    if (has_brackets) fputc(')', p->to);
}

void mlir_print_func(struct mlir_printer *p, const struct mlir_op *op)
{
    const struct mlir_attr *visibility = mlir_op_attr(op, "sym_visibility");
    const struct mlir_type *t = function_type(op);

    fputc(' ', p->to);
    if (visibility && visibility->text.bytes) fprintf(p->to, "%s ", visibility->text.data);
    print_symbol(p, op, "sym_name");
    print_parameters(p, op, t);
    print_results(p, op, t);
    mlir_print_rest(p, op, "sym_name sym_visibility function_type arg_attrs res_attrs",
                    "attributes ");
    if (op->region[0].block_count == 0) return;
    fputc(' ', p->to);
    mlir_print_region(p, &op->region[0], false);
}

bool mlir_can_reduce(const struct mlir_op *op)
{
    const struct mlir_attr *dims = mlir_op_attr(op, "dimensions");
    return dims && dims->kind == MLIR_INTS && has_blocks(op, 1) && op->operand_count >= 2 &&
           op->operand_count % 2 == 0 &&
           op->region[0].block[0].argument_count == op->operand_count;
}

/* `(%a: t, %b: t) (%c: t, %d: t)`: a pair for each input */
static void print_pairs(struct mlir_printer *p, const struct mlir_block *b)
{
    int half = b->argument_count / 2;

    mlir_name_arguments(p, b, 'a');
    for (int k = 0; k < half; k++) {
        struct mlir_value pair[2] = {b->argument[k], b->argument[k + half]};
        const struct mlir_block two = {.argument_count = 2, .argument = pair};
        fputs(k ? " (" : "(", p->to);
        mlir_print_arguments(p, &two);
        fputc(')', p->to);
    }
}

void mlir_print_reduce(struct mlir_printer *p, const struct mlir_op *op)
{
    int half = op->operand_count / 2;

    for (int k = 0; k < half; k++) {
        fputs(k ? ", (" : "(", p->to);
        mlir_print_use(p, op->operand[k]);
        fputs(" init: ", p->to);
        mlir_print_use(p, op->operand[k + half]);
        fputc(')', p->to);
    }
    fputs(" across dimensions = ", p->to);
    mlir_print_int_list(p->to, mlir_op_attr(op, "dimensions"));
    mlir_print_rest(p, op, "dimensions", "");
    fputs(" : ", p->to);
    mlir_print_types(p, op, MLIR_RESULTS_FUNC);
    fputs(" reducer", p->to);
    print_pairs(p, &op->region[0].block[0]);
    fputc(' ', p->to);
    mlir_print_region(p, &op->region[0], false);
}

bool mlir_can_while(const struct mlir_op *op)
{
    return has_blocks(op, 2) && op->region[0].block[0].argument_count == op->operand_count &&
           op->region[1].block[0].argument_count == op->operand_count;
}

void mlir_print_while(struct mlir_printer *p, const struct mlir_op *op)
{
    const struct mlir_block *cond = &op->region[0].block[0], *body = &op->region[1].block[0];

    mlir_name_arguments(p, cond, 'i');
    fputc('(', p->to);
    for (int k = 0; k < op->operand_count; k++) {
        p->name[body->argument[k].id] = p->name[cond->argument[k].id];
        if (k) fputs(", ", p->to);
        mlir_print_use(p, &cond->argument[k]);
        fputs(" = ", p->to);
        mlir_print_use(p, op->operand[k]);
    }
    fputc(')', p->to);
    if (op->operand_count) {
        fputs(" : ", p->to);
        mlir_print_types(p, op, MLIR_RESULTS_EACH);
    }
    mlir_print_rest(p, op, "", "attributes ");
    fputs(" cond ", p->to);
    mlir_print_region(p, &op->region[0], false);
    fputs(" do ", p->to);
    mlir_print_region(p, &op->region[1], false);
}

static bool is_dialect(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    return a && a->kind == MLIR_DIALECT;
}

bool mlir_can_manual(const struct mlir_op *op)
{
    return has_blocks(op, 1) && is_dialect(op, "in_shardings") && is_dialect(op, "out_shardings") &&
           is_dialect(op, "manual_axes");
}

static void print_body(struct mlir_printer *p, const struct mlir_op *op)
{
    mlir_name_arguments(p, &op->region[0].block[0], 'a');
    fputs(" (", p->to);
    mlir_print_arguments(p, &op->region[0].block[0]);
    fputs(") ", p->to);
    mlir_print_region(p, &op->region[0], false);
}

static void print_kept(struct mlir_printer *p, const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);
    if (a) fprintf(p->to, " %s=%s", name, a->text.data);
}

void mlir_print_manual(struct mlir_printer *p, const struct mlir_op *op)
{
    print_kept(p, op, "in_shardings");
    print_kept(p, op, "out_shardings");
    print_kept(p, op, "manual_axes");
    print_body(p, op);
}

bool mlir_can_named(const struct mlir_op *op)
{
    return has_blocks(op, 1);
}

void mlir_print_named(struct mlir_printer *p, const struct mlir_op *op)
{
    print_kept(p, op, "in_shardings");
    print_kept(p, op, "out_shardings");
    print_body(p, op);
}
