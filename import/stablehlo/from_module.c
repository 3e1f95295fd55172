/* Modules and functions of a tree as programs and computations. */
#include "import/stablehlo/from.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct from_function *)a)->name, ((const struct from_function *)b)->name);
}

static struct from_function *find_function(struct from *f, const char *name)
{
    struct from_function key = { .name = name };
    return bsearch(&key, f->function, (size_t)f->function_count, sizeof(key), by_name);
}

static bool is_function(const struct mlir_op *op)
{
    return !strcmp(op->name, "func.func");
}

static const char *text_of(const struct mlir_attr *a)
{
    return a && (a->kind == MLIR_STRING || a->kind == MLIR_SYMBOL) ? a->text.data : NULL;
}

static int list_functions(struct from *f, const struct mlir_block *b)
{
    f->function = arena_array(f->arena, (size_t)b->op_count + 1, sizeof(*f->function));
    for (int k = 0; k < b->op_count; k++) {
        const struct mlir_op *op = b->op[k];
        const char *name = text_of(mlir_op_attr(op, "sym_name"));
        if (!is_function(op))
            continue;
        if (!name)
            return from_fail(f, op, "a function without a name");
        f->function[f->function_count++] = (struct from_function){ name, op, -1, false, false };
    }
    qsort(f->function, (size_t)f->function_count, sizeof(*f->function), by_name);
    for (int k = 1; k < f->function_count; k++) {
        if (!strcmp(f->function[k - 1].name, f->function[k].name))
            return from_fail(f, f->function[k].op, "two functions are named @%s",
                             f->function[k].name);
    }
    return 0;
}

const struct mlir_attr *from_function_attr(struct from *f, const struct mlir_op *op,
                                           const char *name)
{
    bool has_body = op->region_count == 1 && op->region[0].block_count == 1;
    struct mlir_later *later = has_body ? op->region[0].block[0].later : NULL;

    return later ? later->attr(later, name, f->scratch) : mlir_op_attr(op, name);
}

static int make_parameters(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *dicts = from_function_attr(f, op, "arg_attrs");
    const struct mlir_block *b = &op->region[0].block[0];

    for (int k = 0; k < b->argument_count; k++) {
        const struct mlir_value *v = &b->argument[k];
        bool has_dict = dicts && dicts->kind == MLIR_ARRAY && k < dicts->count;
        struct hlo_instruction i = {.op = OPCODE_PARAMETER,
                                    .detail = HLO_NEW_DETAIL,
                                    .index = k,
                                    .line = op->line,
                                    .col = hlo_column(op->col)};
        struct hlo_type type;

        i.type = &type;
        if (from_type(f, op, v->type, &type) ||
            (has_dict && from_extra_of(f, op, dicts->item[k], &i)))
            return -1;
        if (v->name)
            i.label = hlo_label(arena_printf(
                f->arena, "%s%s", v->name[0] >= '0' && v->name[0] <= '9' ? "arg" : "", v->name));
        from_location(f, v->location);
        i.place = f->b.place;
        from_define(f, v, hlo_add(f->m, f->b.computation, &i));
    }
    return 0;
}

static bool is_same_list(struct hlo_ints a, struct hlo_ints b)
{
    return a.count == b.count &&
           (a.count == 0 || !memcmp(a.item, b.item, (size_t)a.count * sizeof(*a.item)));
}

/* whichever language says it */
static bool is_same_sharding(const struct hlo_sharding *a, const struct hlo_sharding *b)
{
    return a->kind == b->kind && a->device == b->device && is_same_list(a->tile, b->tile) &&
           is_same_list(a->id, b->id) && is_same_list(a->subgroup, b->subgroup);
}

/* a constraint that says the same already; one that says another thing is not how the result lies */
static bool says_sharding(const struct hlo_instruction *i, const struct hlo_sharding *wanted)
{
    return i->op == OPCODE_CUSTOM_CALL && !strcmp(hlo_detail(i)->target, "Sharding") &&
           hlo_detail(i)->sharding_count == 1 &&
           is_same_sharding(&hlo_detail(i)->sharding[0], wanted);
}

/* how the results lie: of a tuple its root says it, of one result a custom call behind it */
static bool is_sharded(const struct mlir_attr *dicts)
{
    for (int k = 0; k < dicts->count; k++)
        if (mlir_attr_find(dicts->item[k], "mhlo.sharding") ||
            mlir_attr_find(dicts->item[k], "sdy.sharding"))
            return true;
    return false;
}

static int result_shardings(struct from *f, const struct mlir_op *op, const struct mlir_attr *dicts)
{
    struct hlo_computation *c = &f->m->computation[f->b.computation];
    struct hlo_sharding *all;
    bool is_said = false;

    if (!is_sharded(dicts))
        return 0;
    all = arena_array(f->arena, (size_t)dicts->count, sizeof(*all));

    for (int k = 0; k < dicts->count; k++) {
        struct hlo_instruction one = { .detail = HLO_NEW_DETAIL };
        if (from_extra_of(f, op, dicts->item[k], &one))
            return -1;
        is_said = is_said || hlo_detail(&one)->sharding_count == 1;
        all[k] = hlo_detail(&one)->sharding_count == 1 ? hlo_detail(&one)->sharding[0]
                                         : (struct hlo_sharding){ .kind = HLO_UNKNOWN,
                                                                  .text = "{unknown}" };
    }
    if (!is_said)
        return 0;
    struct hlo_instruction *root = &c->instruction[c->root];
    if (root->op == OPCODE_TUPLE && root->operand_count == dicts->count) {
        hlo_own_detail(f->arena, root)->sharding_count = dicts->count;
        root->detail->sharding = all;
    } else if (dicts->count == 1 && !says_sharding(root, all)) {
        int x = c->root;
        struct hlo_instruction i = {.op = OPCODE_CUSTOM_CALL,
                                    .type = root->type,
                                    .operand_count = 1,
                                    .operand = &x,
                                    .detail =
                                        &(struct hlo_detail){.target = "Sharding",
                                                             .target_bytes = strlen("Sharding"),
                                                             .sharding_count = 1,
                                                             .sharding = all}};
        hlo_add(f->m, f->b.computation, &i);
    }
    return 0;
}

/* the head says how many results there are, and of which types */
static int check_results(struct from *f, const struct mlir_op *op, const struct mlir_op *end)
{
    const struct mlir_attr *t = from_function_attr(f, op, "function_type");

    if (!t || !t->type)
        return 0;
    if (t->type->result_count != end->operand_count)
        return from_fail(f, end, "%d values are returned, and the function has %d results",
                         end->operand_count, t->type->result_count);
    for (int k = 0; k < end->operand_count; k++) {
        struct hlo_type said, given;

        if (from_type(f, op, t->type->result[k], &said) ||
            from_type(f, end, end->operand[k]->type, &given))
            return -1;
        if (!hlo_type_equal(&said, &given))
            return from_fail(f, end, "value %d that is returned has another type than the function's "
                             "result", k);
    }
    return 0;
}

static bool says_something(const struct mlir_attr *dicts)
{
    for (int k = 0; k < dicts->count; k++)
        if (dicts->item[k]->kind != MLIR_DICTIONARY || dicts->item[k]->count)
            return true;
    return false;
}

/* Attributes of results stand with the root. */
static int mark_results(struct from *f, const struct mlir_op *op)
{
    const struct mlir_attr *dicts = from_function_attr(f, op, "res_attrs");

    if (!dicts || dicts->kind != MLIR_ARRAY || !says_something(dicts))
        return 0;
    if (result_shardings(f, op, dicts))
        return -1;
    struct hlo_computation *c = &f->m->computation[f->b.computation];
    from_add_pair(f, &hlo_own_detail(f->arena, &c->instruction[c->root])->other, "res_attrs",
                  mlir_attr_text(f->arena, dicts));
    return 0;
}

static int fill_function(struct from *f, const struct mlir_op *op)
{
    struct mlir_later *later = op->region[0].block[0].later;
    const struct mlir_op *end;

    if (make_parameters(f, op))
        return -1;
    from_clear_scratch(f);
    if (later)                          /* some operations become several instructions */
        hlo_computation_reserve(&f->m->computation[f->b.computation],
                                op->region[0].block[0].argument_count + later->op_count +
                                    later->op_count / 8);
    if (!(end = from_block(f, &op->region[0].block[0])) || check_results(f, op, end))
        return -1;
    hlo_computation_trim(&f->m->computation[f->b.computation]);
    return 0;
}

/* One whose body is still in the file is opened for as long as its computation is made. */
static int fill_opened(struct from *f, const struct mlir_op *op, struct mlir_later *later)
{
    struct mlir_block *b = &op->region[0].block[0];
    int status = later->open(later, b);

    from_know_values(f);
    f->scratch = &later->arena;
    if (!status)
        status = fill_function(f, op);
    if (later->close(later))
        status = -1;
    from_know_values(f);
    return status;
}

static int fill(struct from *f, const struct mlir_op *op)
{
    struct mlir_later *later = op->region[0].block[0].later;
    struct arena *was = f->scratch, scratch;
    int depth = f->function_depth, status;

    arena_init(&scratch);
    arena_pack(&scratch, true);
    f->scratch = &scratch;
    f->function_depth = f->depth;
    status = later ? fill_opened(f, op, later) : fill_function(f, op);
    f->scratch = &scratch;
    if (!status)
        status = mark_results(f, op);
    arena_fini(&scratch);
    f->scratch = was;
    f->function_depth = depth;
    return status;
}

static int make_function(struct from *f, struct from_function *fn)
{
    const struct mlir_op *op = fn->op;
    struct hlo_builder was = f->b;

    if (op->region_count != 1 || op->region[0].block_count != 1)
        return from_fail(f, op, "@%s has no body, or one of several blocks", fn->name);
    if (f->depth >= FROM_DEPTH_MAX)
        return from_fail(f, op, "more than %d functions call each other", FROM_DEPTH_MAX);
    f->depth++;
    fn->is_open = true;
    f->b.computation = hlo_add_computation(f->m, fn->name);
    f->m->computation[f->b.computation].line = op->line;
    f->m->computation[f->b.computation].col = op->col;
    if (fill(f, op))
        return -1;
    fn->computation = f->b.computation;
    fn->is_open = false;
    f->depth--;
    f->b = was;
    return 0;
}

int from_function_of(struct from *f, const struct mlir_op *op, struct mlir_text name)
{
    struct from_function *fn = find_function(f, name.data);

    if (!fn) {
        const char **names = arena_array(f->arena, (size_t)f->function_count + 1, sizeof(*names));
        for (int k = 0; k < f->function_count; k++)
            names[k] = f->function[k].name;
        return from_fail(f, op, "no function is named @%s%s", name.data,
                         text_did_you_mean(name.data, names, (size_t)f->function_count).text);
    }
    fn->is_called = true;
    if (fn->is_open)
        return from_fail(f, op, "@%s calls itself", fn->name);
    if (fn->computation < 0 && make_function(f, fn))
        return -1;
    return fn->computation;
}

/* "main", or the first in the file that is public and that nobody calls */
static struct from_function *entry_of(struct from *f)
{
    struct from_function *main = find_function(f, "main"), *best = NULL;

    for (int k = 0; !main && k < f->function_count; k++) {
        struct from_function *fn = &f->function[k];
        const char *visibility = text_of(mlir_op_attr(fn->op, "sym_visibility"));
        bool is_private = visibility && !strcmp(visibility, "private");
        if (!is_private && !fn->is_called && fn->computation >= 0 &&
            (!best || fn->computation < best->computation))
            best = fn;
    }
    return main ? main : best;
}

static int find_aliases(struct from *f, const struct mlir_op *entry)
{
    struct arena *was = f->scratch, scratch;
    int status;

    arena_init(&scratch);
    arena_pack(&scratch, true);
    f->scratch = &scratch;
    status = from_aliases(f, entry);
    f->scratch = was;
    arena_fini(&scratch);
    return status;
}

/* Functions without a body are nobody's mistake until they are called. */
static int make_functions(struct from *f, const struct mlir_block *b)
{
    for (int k = 0; k < b->op_count; k++) {
        const struct mlir_op *op = b->op[k];
        if (!is_function(op) || op->region_count != 1 || op->region[0].block_count == 0)
            continue;
        struct from_function *fn = find_function(f, text_of(mlir_op_attr(op, "sym_name")));
        if (fn->computation < 0 && make_function(f, fn))
            return -1;
    }
    struct from_function *entry = entry_of(f);
    f->m->entry = entry ? entry->computation : -1;
    return entry ? find_aliases(f, entry->op) : 0;
}

static int make_module(struct from *f, const struct mlir_op *op)
{
    static const struct mlir_block empty;
    const struct mlir_block *b = op->region[0].block_count ? &op->region[0].block[0] : &empty;

    f->function_count = 0;
    if (from_module_attributes(f, op) || list_functions(f, b))
        return -1;
    for (int k = 0; k < b->op_count; k++) {
        bool is_mesh = !strcmp(b->op[k]->name, "sdy.mesh");
        if (is_mesh ? from_mesh(f, b->op[k]) : !is_function(b->op[k]))
            return is_mesh ? -1 : from_fail(f, b->op[k], "no such operation stands in a module");
    }
    return make_functions(f, b);
}

static void begin_module(struct from *f, struct hlo_module *m, const struct mlir_op *op)
{
    const char *name = text_of(mlir_op_attr(op, "sym_name"));

    hlo_module_init(m, f->arena, name ? name : "module");
    m->file = f->tree->file;
    f->m = m;
    f->b = (struct hlo_builder){ .module = m };
    f->depth = 0;
}

struct hlo_module *stablehlo_to_program(const struct mlir_tree *t, struct arena *a, struct err *e)
{
    struct from f = { .tree = t, .arena = a, .err = e, .scratch = a };
    struct hlo_module *first = NULL, **last = &first;
    int status = 0;

    from_know_values(&f);
    for (int k = 0; k < t->module_count && !status; k++) {
        *last = arena_alloc(a, sizeof(**last));
        begin_module(&f, *last, t->module[k]);
        status = make_module(&f, t->module[k]);
        from_forget_regions(&f);
        last = &(*last)->next;
    }
    mem_free(f.value);
    mem_free(f.places);
    for (struct hlo_module *m = first; status && m; m = m->next)
        hlo_module_fini(m);
    return status ? NULL : first;
}

struct hlo_module *stablehlo_read_text(const char *text, size_t bytes, const char *file,
                                       struct arena *a, struct err *e)
{
    struct mlir_tree t;

    mlir_tree_init(&t, a, file);
    return mlir_read_text(&t, text, bytes, e) ? NULL : stablehlo_to_program(&t, a, e);
}
