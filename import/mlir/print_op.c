/* Operations as MLIR writes them, by their forms or in the general form; values numbered anew. */
#include "import/mlir/print.h"

#include <stdlib.h>
#include <string.h>

void mlir_print_use(struct mlir_printer *p, const struct mlir_value *v)
{
    struct mlir_printed n = p->name[v->id];

    if (n.letter == 'a') fprintf(p->to, "%%arg%d", n.number);
    else if (n.letter == 'i') fprintf(p->to, "%%iterArg%d", n.number);
    else fprintf(p->to, "%%%d", n.number);
    if (n.letter == 0 && n.part >= 0) fprintf(p->to, "#%d", n.part);
}

void mlir_print_uses(struct mlir_printer *p, int count, const struct mlir_value *const *v)
{
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", p->to);
        mlir_print_use(p, v[i]);
    }
}

void mlir_name_arguments(struct mlir_printer *p, const struct mlir_block *b, char letter)
{
    int *next = letter == 'a' ? &p->next_argument : &p->next_iteration;
    for (int i = 0; i < b->argument_count; i++)
        p->name[b->argument[i].id] = (struct mlir_printed){letter, (*next)++, -1};
}

static void new_line(struct mlir_printer *p)
{
    fputc('\n', p->to);
    for (int i = 0; i < p->depth; i++) fputs("  ", p->to);
}

void mlir_print_arguments(struct mlir_printer *p, const struct mlir_block *b)
{
    for (int i = 0; i < b->argument_count; i++) {
        if (i) fputs(", ", p->to);
        mlir_print_use(p, &b->argument[i]);
        fputs(": ", p->to);
        mlir_print_type(p->to, b->argument[i].type);
        if (b->argument[i].location && !p->o->no_locations) {
            fputc(' ', p->to);
            mlir_print_location(p->to, b->argument[i].location);
        }
    }
}

static void print_op(struct mlir_printer *p, const struct mlir_op *op);

void mlir_print_region(struct mlir_printer *p, const struct mlir_region *g, bool has_head)
{
    fputc('{', p->to);
    for (int k = 0; k < g->block_count; k++) {
        const struct mlir_block *b = &g->block[k];
        if (has_head && b->argument_count) {
            mlir_name_arguments(p, b, 'a');
            new_line(p);
            fputs("^bb0(", p->to);
            mlir_print_arguments(p, b);
            fputs("):", p->to);
        }
        p->depth++;
        for (int i = 0; i < b->op_count; i++) {
            new_line(p);
            print_op(p, b->op[i]);
        }
        p->depth--;
    }
    new_line(p);
    fputc('}', p->to);
}

static void print_type_list(FILE *to, int count, const struct mlir_value *const *v)
{
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", to);
        mlir_print_type(to, v[i]->type);
    }
}

static void print_result_types(FILE *to, const struct mlir_op *op, bool has_brackets)
{
    has_brackets = has_brackets && op->result_count != 1;
    if (has_brackets) fputc('(', to);
    for (int i = 0; i < op->result_count; i++) {
        if (i) fputs(", ", to);
        mlir_print_type(to, op->result[i].type);
    }
    if (has_brackets) fputc(')', to);
}

/* one type is all that operands and the one result have */
static bool is_same(const struct mlir_op *op)
{
    if (op->result_count != 1) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!mlir_type_equal(op->operand[i]->type, op->result[0].type)) return false;
    return true;
}

void mlir_print_types(struct mlir_printer *p, const struct mlir_op *op, enum mlir_results results)
{
    if (results == MLIR_RESULTS_SAME && is_same(op)) results = MLIR_RESULTS_EACH;
    if (results == MLIR_RESULTS_EACH) {
        print_result_types(p->to, op, false);
        return;
    }
    bool is_func = results == MLIR_RESULTS_FUNC || results == MLIR_RESULTS_SAME;
    if (is_func) fputc('(', p->to);
    print_type_list(p->to, op->operand_count, op->operand);
    if (is_func) fputc(')', p->to);
    if (results == MLIR_RESULTS_NONE) return;
    fputs(" -> ", p->to);
    print_result_types(p->to, op, true);
}

/* Is name one of the words between blanks? */
static bool is_among(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *w = words; (w = strstr(w, name)); w += n)
        if ((w == words || w[-1] == ' ') && (w[n] == ' ' || w[n] == '\0')) return true;
    return false;
}

void mlir_print_rest(struct mlir_printer *p, const struct mlir_op *op, const char *printed,
                     const char *keyword)
{
    int count = 0;

    for (int i = 0; i < op->attr_count; i++) {
        if (is_among(printed, op->attr[i].name)) continue;
        fprintf(p->to, count++ ? ", " : " %s{", keyword);
        mlir_print_key(p->to, op->attr[i].name);
        if (op->attr[i].attr->kind == MLIR_UNIT) continue;
        fputs(" = ", p->to);
        mlir_print_attr(p->to, op->attr[i].attr);
    }
    if (count) fputc('}', p->to);
}

void mlir_print_end(struct mlir_printer *p, const struct mlir_op *op)
{
    if (!op->location || p->o->no_locations) return;
    fputc(' ', p->to);
    mlir_print_location(p->to, op->location);
}

/* `"op"(%a) ({..}) {..} : (t) -> t` */
static void print_general(struct mlir_printer *p, const struct mlir_op *op)
{
    fprintf(p->to, "\"%s\"(", op->name);
    mlir_print_uses(p, op->operand_count, op->operand);
    fputc(')', p->to);
    for (int i = 0; i < op->region_count; i++) {
        fputs(i ? ", " : " (", p->to);
        mlir_print_region(p, &op->region[i], true);
    }
    if (op->region_count) fputc(')', p->to);
    mlir_print_rest(p, op, "", "");
    fputs(" : (", p->to);
    print_type_list(p->to, op->operand_count, op->operand);
    fputs(") -> ", p->to);
    print_result_types(p->to, op, true);
}

/* numbers of the results, printed but not known before the operation is */
static int print_results(struct mlir_printer *p, const struct mlir_op *op)
{
    int number = p->next;

    if (op->result_count == 0) return number;
    p->next++;
    if (op->result_count == 1) fprintf(p->to, "%%%d = ", number);
    else fprintf(p->to, "%%%d:%d = ", number, op->result_count);
    return number;
}

static void print_op(struct mlir_printer *p, const struct mlir_op *op)
{
    struct mlir_printer outer = *p;
    bool is_isolated = !strcmp(op->name, "func.func");
    int number = print_results(p, op);

    if (is_isolated) p->next = p->next_argument = p->next_iteration = 0;
    if (p->o->is_general || !mlir_print_pretty(p, op)) print_general(p, op);
    if (is_isolated) {
        p->next = outer.next;
        p->next_argument = outer.next_argument;
        p->next_iteration = outer.next_iteration;
    }
    mlir_print_end(p, op);
    for (int i = 0; i < op->result_count; i++)
        p->name[op->result[i].id] =
            (struct mlir_printed){0, number, op->result_count == 1 ? -1 : i};
}

void mlir_print(const struct mlir_tree *t, FILE *to, const struct mlir_print_options *o)
{
    struct mlir_printer p = {.to = to, .o = o};

    p.name = mem_alloc(((size_t)t->value_count + 1) * sizeof(*p.name));
    for (int i = 0; i < t->module_count; i++) {
        if (i) fputs("\n// -----\n\n", to);
        p.next = p.next_argument = p.next_iteration = 0;
        print_op(&p, t->module[i]);
        fputc('\n', to);
    }
    mem_free(p.name);
}
