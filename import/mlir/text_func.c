/* Functions and modules in MLIR text. */
#include "import/mlir/text.h"

#include <string.h>

/* `%a: t {..} loc(..)` or, of a declaration, `t {..}` */
static int read_argument(struct mlir_reader *r)
{
    struct mlir_span name = {0};
    struct mlir_value v = {0};
    const struct mlir_attr *dict = NULL;

    if (mlir_accept(r, "%") && (mlir_read_suffix(r, &name) || mlir_expect(r, ":"))) return -1;
    if (!(v.type = mlir_read_type(r))) return -1;
    if (mlir_peek(r, "{") && !(dict = mlir_attr_dict(r))) return -1;
    if (mlir_read_location(r, &v.location)) return -1;
    MLIR_PUSH(r->values, v);
    MLIR_PUSH(r->value_names, name);
    MLIR_PUSH(r->signature, v.type);
    MLIR_PUSH(r->items, dict ? dict : mlir_dictionary(r->arena, 0, NULL));
    return 0;
}

static int read_arguments(struct mlir_reader *r)
{
    if (mlir_expect(r, "(")) return -1;
    if (mlir_accept(r, ")")) return 0;
    do
        if (read_argument(r)) return -1;
    while (mlir_accept(r, ","));
    return mlir_expect(r, ")");
}

/* `-> t` or `-> (t {..}, ..)` */
static int read_results(struct mlir_reader *r)
{
    if (!mlir_accept(r, "->")) return 0;
    bool has_brackets = mlir_accept(r, "(");
    if (has_brackets && mlir_accept(r, ")")) return 0;
    do {
        const struct mlir_attr *dict = NULL;
        const struct mlir_type *t = mlir_read_type(r);
        if (!t) return -1;
        if (has_brackets && mlir_peek(r, "{") && !(dict = mlir_attr_dict(r))) return -1;
        MLIR_PUSH(r->signature, t);
        MLIR_PUSH(r->items, dict ? dict : mlir_dictionary(r->arena, 0, NULL));
    } while (has_brackets && mlir_accept(r, ","));
    return has_brackets ? mlir_expect(r, ")") : 0;
}

/* one dictionary for each, if any of them says something */
static void add_dicts(struct mlir_reader *r, const char *name, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (r->items.item[i]->count) {
            mlir_add_attr(r, name, mlir_array(r->arena, (int)(to - from), r->items.item + from));
            return;
        }
}

static int add_text(struct mlir_reader *r, const char *name, struct mlir_text t)
{
    return mlir_add_attr(r, name, mlir_string(r->arena, t.data, t.bytes));
}

/* behind the name: types, attributes and body. Marks: where the arguments begin in each list. */
static int read_rest(struct mlir_reader *r, struct mlir_draft *d, size_t values, size_t names,
                     size_t items)
{
    if (read_arguments(r)) return -1;
    size_t inputs = r->signature.count - d->signature_mark, arguments = r->items.count;
    if (read_results(r)) return -1;
    const struct mlir_type *const *types = r->signature.item + d->signature_mark;
    size_t results = r->signature.count - d->signature_mark - inputs;
    const struct mlir_type *t =
        mlir_function_type(r->arena, (int)inputs, types, (int)results, types + inputs);
    if (mlir_add_attr(r, "function_type", mlir_type_attr(r->arena, t))) return -1;
    add_dicts(r, "arg_attrs", items, arguments);
    add_dicts(r, "res_attrs", arguments, r->items.count);
    r->signature.count = d->signature_mark;
    r->items.count = items;
    if (mlir_accept(r, "attributes") && mlir_read_attr_dict(r)) return -1;
    struct mlir_region g = {0};
    size_t count = r->values.count - values;
    struct mlir_value *argument =
        arena_copy(r->arena, r->values.item + values, count, sizeof(*argument));
    struct mlir_span *name =
        arena_copy(r->arena, r->value_names.item + names, count, sizeof(*name));
    r->values.count = values;
    r->value_names.count = names;
    for (size_t i = 0; i < count && mlir_peek(r, "{"); i++)
        if (!name[i].bytes) return mlir_fail(r, "argument %zu of a function has no name", i);
    if (mlir_peek(r, "{") && mlir_read_region_with(r, &g, (int)count, name, argument)) return -1;
    MLIR_PUSH(r->regions, g);
    return 0;
}

int mlir_form_func(struct mlir_reader *r, struct mlir_draft *d)
{
    static const char *const visibilities[] = {"public", "private", "nested"};
    size_t visible = r->visible;
    struct mlir_text name;

    for (size_t i = 0; i < sizeof(visibilities) / sizeof(visibilities[0]); i++)
        if (mlir_accept(r, visibilities[i]) &&
            add_text(r, "sym_visibility",
                     (struct mlir_text){visibilities[i], strlen(visibilities[i])})) return -1;
    if (mlir_read_symbol(r, &name) || add_text(r, "sym_name", name)) return -1;
    r->visible = r->names.count;
    int status = read_rest(r, d, r->values.count, r->value_names.count, r->items.count);
    r->visible = visible;
    return status;
}

int mlir_form_module(struct mlir_reader *r, struct mlir_draft *d)
{
    struct mlir_text name;
    struct mlir_region g;

    (void)d;
    if (mlir_next_char(r) == '@' && (mlir_read_symbol(r, &name) || add_text(r, "sym_name", name)))
        return -1;
    if (mlir_accept(r, "attributes") && mlir_read_attr_dict(r)) return -1;
    if (mlir_read_region(r, &g)) return -1;
    MLIR_PUSH(r->regions, g);
    return 0;
}
