/* Pretty forms, printed by the table forms.def. */
#include "import/mlir/print.h"

#include <string.h>

static const struct hook {
    const char *name, *attributes;
    bool (*can)(const struct mlir_op *op);
    void (*print)(struct mlir_printer *p, const struct mlir_op *op);
} hooks[] = {
#define HOOK(name, attributes) {#name, attributes, mlir_can_##name, mlir_print_##name},
#include "import/mlir/forms_hooks.def"
};

static const struct hook *hook_of(struct mlir_word w)
{
    size_t i = 0;
    while (!mlir_word_is((struct mlir_word){w.text + 1, w.length - 1}, hooks[i].name)) i++;
    return &hooks[i];
}

static const struct mlir_attr *attr_of(const struct mlir_op *op, struct mlir_word w)
{
    struct mlir_word name = mlir_word_name(w);
    for (int i = 0; i < op->attr_count; i++)
        if (mlir_word_is(name, op->attr[i].name)) return op->attr[i].attr;
    return NULL;
}

static bool is_kind(struct mlir_word kind, const struct mlir_attr *a)
{
    if (mlir_word_is(kind, "ints")) return a->kind == MLIR_INTS;
    if (mlir_word_is(kind, "int") || mlir_word_is(kind, "i32")) return a->kind == MLIR_INTEGER;
    if (mlir_word_is(kind, "bool")) return a->kind == MLIR_BOOL;
    if (mlir_word_is(kind, "symbol")) return a->kind == MLIR_SYMBOL;
    if (mlir_word_is(kind, "string") || mlir_word_is(kind, "name") || mlir_word_is(kind, "word"))
        return a->kind == MLIR_STRING;
    if (mlir_word_is(kind, "params")) return a->kind == MLIR_DIALECT && a->count > 0;
    if (!mlir_word_is(kind, "precisions")) return a->kind == MLIR_ENUM;
    for (int i = 0; a->kind == MLIR_ARRAY && i < a->count; i++)
        if (a->item[i]->kind != MLIR_ENUM) return false;
    return a->kind == MLIR_ARRAY;
}

/* Has the operation all that its form prints? Options may be missing. */
static bool can_print(const struct mlir_op *op, const struct mlir_form *f)
{
    bool is_option = false;
    struct mlir_word w;

    for (const char *p = f->text; (w = mlir_first_word(p)).length; p = w.text + w.length) {
        if (mlir_word_is(w, "(?")) is_option = true;
        else if (mlir_word_is(w, ")?")) is_option = false;
        if (w.text[0] == '!' && !hook_of(w)->can(op)) return false;
        if (!mlir_word_is_value(w)) continue;
        const struct mlir_attr *a = attr_of(op, w);
        if (a ? !is_kind(mlir_word_kind(w), a) : !is_option) return false;
    }
    return op->region_count == 0 || strchr(f->text, '!');
}

static void print_value(struct mlir_printer *p, const struct mlir_op *op, struct mlir_word w)
{
    const struct mlir_attr *a = attr_of(op, w);
    struct mlir_word kind = mlir_word_kind(w);

    if (a->kind == MLIR_INTS) {
        mlir_print_int_list(p->to, a);
    } else if (a->kind == MLIR_INTEGER) {
        fprintf(p->to, "%lld", (long long)a->integer);
    } else if (a->kind == MLIR_ENUM || mlir_word_is(kind, "word")) {
        fputs(a->text.data, p->to);
    } else if (mlir_word_is(kind, "name")) {
        const struct mlir_attr symbol = {.kind = MLIR_SYMBOL, .text = a->text};
        mlir_print_attr(p->to, &symbol);
    } else if (a->kind == MLIR_DIALECT) {
        fputc('<', p->to);
        mlir_print_params(p->to, a);
        fputc('>', p->to);
    } else if (mlir_word_is(kind, "precisions")) {
        fputc('[', p->to);
        for (int i = 0; i < a->count; i++)
            fprintf(p->to, "%s%s", i ? ", " : "", a->item[i]->text.data);
        fputc(']', p->to);
    } else {
        mlir_print_attr(p->to, a);
    }
}

/* what stands in a form: the text printed so far ends in `last` */
struct pretty {
    const struct mlir_op *op;
    const struct mlir_form *form;
    int operand;                        /* the next one */
    char last;
    char printed[256];                  /* attributes that words and hooks print, with blanks */
};

static void print_blank(struct mlir_printer *p, struct pretty *s, struct mlir_word w)
{
    bool is_glued = strchr(",)]>", w.text[0]) || !s->last || strchr("([<", s->last);
    bool is_list = mlir_word_is(w, "(") || mlir_word_is(w, "<") || mlir_word_is(w, "[");
    if (!is_glued && !is_list && !mlir_word_is(w, "{}")) fputc(' ', p->to);
}

static void find_printed(struct pretty *s)
{
    struct mlir_word w;
    size_t n = 0;

    for (const char *p = s->form->text; (w = mlir_first_word(p)).length; p = w.text + w.length) {
        bool is_hook = w.text[0] == '!';
        if (!is_hook && !mlir_word_is_value(w)) continue;
        struct mlir_word name = is_hook ? mlir_first_word("") : mlir_word_name(w);
        n += (size_t)snprintf(s->printed + n, sizeof(s->printed) - n, " %.*s%s", (int)name.length,
                              name.text, is_hook ? hook_of(w)->attributes : "");
    }
}

static void print_operands(struct mlir_printer *p, struct pretty *s, bool is_all)
{
    int count = is_all ? s->op->operand_count - s->operand : 1;
    mlir_print_uses(p, count, s->op->operand + s->operand);
    s->operand += count;
}

static void print_word(struct mlir_printer *p, struct pretty *s, struct mlir_word w)
{
    bool is_empty = mlir_word_is(w, "%*") && s->operand == s->op->operand_count;

    if (mlir_word_is(w, ":?") && s->op->operand_count == 0) return;
    if (!is_empty && w.text[0] != '!') print_blank(p, s, w);
    if (mlir_word_is(w, "%")) {
        print_operands(p, s, false);
    } else if (mlir_word_is(w, "%*")) {
        print_operands(p, s, true);
    } else if (mlir_word_is(w, "{}")) {
        mlir_print_rest(p, s->op, s->printed, "");
    } else if (mlir_word_is(w, ":") || mlir_word_is(w, ":?")) {
        fputs(": ", p->to);
        mlir_print_types(p, s->op, s->form->results);
    } else if (w.text[0] == '!') {
        hook_of(w)->print(p, s->op);
    } else if (mlir_word_is_value(w)) {
        print_value(p, s->op, w);
    } else {
        fwrite(w.text, 1, w.length, p->to);
    }
    s->last = w.text[w.length - 1];
}

/* the end of an option whose attribute is missing; NULL: it is there */
static const char *missing_option(const struct mlir_op *op, const char *text)
{
    struct mlir_word w;
    for (const char *p = text;; p = w.text + w.length) {
        w = mlir_first_word(p);
        if (mlir_word_is(w, ")?")) return w.text + w.length;
        if (mlir_word_is_value(w) && attr_of(op, w)) return NULL;
    }
}

bool mlir_print_pretty(struct mlir_printer *p, const struct mlir_op *op)
{
    const struct mlir_form *f = mlir_form_of(op->name);
    struct pretty s = {.op = op, .form = f, .last = 'x'};
    struct mlir_word w;

    if (!f || f->results == MLIR_RESULTS_GENERAL || !can_print(op, f)) return false;
    find_printed(&s);
    bool is_short = !strcmp(op->name, "func.return") || !strcmp(op->name, "func.call");
    if (!strcmp(op->name, "builtin.module")) fputs("module", p->to);
    else fputs(op->name + (is_short ? strlen("func.") : 0), p->to);
    for (const char *t = f->text; (w = mlir_first_word(t)).length; t = w.text + w.length) {
        if (mlir_word_is(w, ")?")) continue;
        if (!mlir_word_is(w, "(?")) {
            print_word(p, &s, w);
            continue;
        }
        const char *behind = missing_option(op, w.text + w.length);
        if (behind) w = (struct mlir_word){behind, 0};
    }
    return true;
}
